//! Functions that answer for every name that an object lacks, and look at none of them.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::sides::{Mark, Shape};

/// The head of such a function, and the name that it is given.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_PYTHON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*def\s+__getattr__\s*\(\s*(?:self\s*,\s*)?(\w+)").unwrap());
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_RUBY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*def\s+method_missing\s*\(\s*(\*?\w*)").unwrap());
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_PHP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bfunction\s+__(?:call|callStatic|get)\s*\(\s*(?:\w+\s+)?(\$\w+)").unwrap());

/// The first such function that a change adds.
pub(super) fn mark(language: Language, before: &str, after: &str) -> Option<Mark> {
    let head = match language {
        Language::Python => &*OF_PYTHON,
        Language::Ruby => &*OF_RUBY,
        Language::Php => &*OF_PHP,
        Language::JavaScript | Language::Rust | Language::Go | Language::Java | Language::Cpp => return None,
    };
    let old: Vec<&str> = blind(head, before).into_iter().map(|(_, line)| line).collect();
    let (line, spelled) = blind(head, after).into_iter().find(|(_, line)| !old.contains(line))?;
    let said = format!("`{spelled}` answers to every name alike, also to those that are misspelled");
    Some(Mark { shape: Shape::AnswersToAll, line, said })
}

/// The heads of those that do not read the name, with their one-based lines.
fn blind<'t>(head: &Regex, text: &'t str) -> Vec<(u32, &'t str)> {
    let margin = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let blind = |(at, line): (usize, &&'t str)| {
        let found = head.captures(line)?;
        let name = found.get(1)?;
        // A head over several lines may name what this one does not.
        if !line.contains(')') {
            return None;
        }
        let rest = line.get(name.end()..)?;
        let is_inside = |one: &&&str| one.trim().is_empty() || margin(one) > margin(line) || one.trim() == "{";
        let body = lines.get(at + 1..)?.iter().take_while(is_inside).copied();
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let name = name.as_str().trim_start_matches('*');
        let reads = |part: &str| part.split(|c| !is_word(c)).any(|word| word == name);
        // One that hands all on to `super` or to another object does not look at the name, and means it.
        let hands_on = |part: &str| ["super", "raise", "throw", "(...)", "(*"].iter().any(|word| part.contains(word));
        let mut parts = [rest].into_iter().chain(body);
        // What only says its type has no body.
        if lines.get(at + 1).is_some_and(|next| next.trim() == "...") || rest.trim_end().ends_with("...") {
            return None;
        }
        let is_blind = parts.all(|part| !hands_on(part) && (name.is_empty() || !reads(part)));
        is_blind.then(|| Some((u32::try_from(at + 1).ok()?, line.trim())))?
    };
    lines.iter().enumerate().filter_map(blind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_for_all_names_that_look_at_none_are_found() {
        let is_marked = |language, text: &str| mark(language, "", text).is_some();
        assert!(is_marked(
            Language::Python,
            "class A:\n    def __getattr__(self, name):\n        return lambda *a: None\n"
        ));
        assert!(!is_marked(
            Language::Python,
            "class A:\n    def __getattr__(self, name):\n        return getattr(self.b, name)\n"
        ));
        assert!(is_marked(Language::Ruby, "class A\n  def method_missing(*) = nil\nend\n"));
        assert!(!is_marked(Language::Ruby, "class A\n  def method_missing(name, *rest)\n    super\n  end\nend\n"));
        for open in ["  def method_missing(...) = @b.public_send(...)\n", "  def method_missing(\n    name\n  )\n"] {
            assert!(!is_marked(Language::Ruby, open), "{open}");
        }
        assert!(!is_marked(Language::Python, "    def __getattr__(self, name: str) -> Any: ...\n"));
        let php = "class A\n{\n    public function __call(string $name, array $given)\n    {\n        return $this;\n    }\n}\n";
        assert!(is_marked(Language::Php, php) && mark(Language::Php, php, php).is_none());
        assert!(!is_marked(Language::Php, &php.replace("$this;", "$this->$name;")));
    }
}
