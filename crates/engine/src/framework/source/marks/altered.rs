//! Lists that a caller passes in and a function of Ruby or Java now writes into: the caller finds another list than it gave.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::sides::{Mark, Shape};

/// Words of Java before a bracket that begin no function.
const BRANCHES: [&str; 8] = ["if", "for", "while", "switch", "catch", "synchronized", "try", "return"];

/// The head of a function: its name, and what it is given.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_RUBY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*def\s+([\w.?!]+)\s*(?:\(([^)]*)\))?").unwrap());
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static OF_JAVA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:\w[\w<>\[\], ?]*\s)?(\w+)\s*\(([^()]*)\)\s*(?:throws\s[\w, .]+)?\{").unwrap());
/// Calls of Ruby that only a list has, and that write into it.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WRITES_RUBY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(\w+)\.(?:(?:sort|sort_by|map|collect|reverse|uniq|select|filter|reject|compact|flatten|shuffle|rotate)!|(?:shift|pop|clear)\b)").unwrap()
});
/// Calls of Java that do. What is only added to may be what the caller collects in.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static WRITES_JAVA: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:Collections\.(?:sort|reverse|shuffle|swap|rotate|fill)|Arrays\.(?:sort|fill))\(\s*(\w+)|\b(\w+)\.(?:sort|removeIf|removeFirst|removeLast|clear|retainAll|removeAll|replaceAll)\(").unwrap()
});

/// The first input that a change has a function write into, where the file wrote into none of that name before.
pub(super) fn mark(language: Language, before: &str, after: &str) -> Option<Mark> {
    let old = written(language, before);
    let (line, name) = written(language, after).into_iter().find(|(_, name)| old.iter().all(|(_, own)| own != name))?;
    Some(Mark { shape: Shape::AltersTheCallers, line, said: format!("`{name}` is the caller's own") })
}

/// The inputs that functions write into, with the line of each.
fn written(language: Language, text: &str) -> Vec<(u32, &str)> {
    let (head, writes) = match language {
        Language::Ruby => (&*OF_RUBY, &*WRITES_RUBY),
        Language::Java => (&*OF_JAVA, &*WRITES_JAVA),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Php | Language::Cpp => {
            return Vec::new();
        }
    };
    let mut given: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1_u32..) {
        let begun = head.captures(line);
        let begun = begun.filter(|begun| begun.get(1).is_some_and(|name| !BRANCHES.contains(&name.as_str())));
        if let Some(begun) = begun {
            let parameters = begun.get(2).map_or("", |given| given.as_str()).split(',');
            // A rest and a block are the function's own.
            let passed = parameters.filter(|one| !one.trim_start().starts_with(['*', '&']));
            let names = passed.filter_map(|one| one.split('=').next()?.split_whitespace().last());
            given = names.map(|name| name.trim_end_matches(':')).collect();
        }
        // From here on the name means a copy.
        given.retain(|name| !is_set(line, name));
        let writes = writes.captures_iter(line).filter_map(|set| set.get(1).or_else(|| set.get(2)));
        found.extend(writes.map(|name| (number, name.as_str())).filter(|(_, name)| given.contains(name)));
    }
    found
}

/// Whether a line gives a name another value.
fn is_set(line: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '@';
    line.match_indices(name).any(|(at, found)| {
        let is_whole = line.get(..at).is_some_and(|before| !before.ends_with(is_word));
        let behind = line.get(at + found.len()..).map(str::trim_start).and_then(|behind| behind.strip_prefix('='));
        is_whole && behind.is_some_and(|behind| !behind.starts_with(['=', '~']))
    })
}

#[cfg(test)]
mod tests {
    use super::super::marks;
    use super::*;

    fn altered(path: &str, before: &str, after: &str) -> bool {
        marks(path, before, after).iter().any(|mark| mark.shape == Shape::AltersTheCallers)
    }

    #[test]
    fn a_list_of_ruby_that_is_written_into_is_found() {
        let ruby = |body: &str| format!("def top(scores, most = 3)\n  {body}\nend\n");
        let before = ruby("scores.first");
        for writes in ["scores.sort!.reverse!", "scores.shift", "scores.clear"] {
            assert!(altered("a.rb", &before, &ruby(writes)), "{writes}");
        }
        for other in [
            "scores.sort.last",
            "scores = scores.dup\n  scores.sort!",
            "own = [1]\n  own.pop",
            "scores.update!(a: 1)",
            "scores << 1",
            "1\nend\n\ndef others\n  scores.shift",
        ] {
            assert!(!altered("a.rb", &before, &ruby(other)), "{other}");
        }
        assert!(!altered("a.rb", &ruby("scores.pop"), &ruby("scores.shift")), "it did so before");
    }

    #[test]
    fn a_list_of_java_that_is_written_into_is_found() {
        let java = |body: &str| {
            format!("class A {{\n    static int top(List<Integer> scores, int most) {{\n        {body}\n    }}\n}}\n")
        };
        let before = java("return scores.get(0);");
        for writes in [
            "Collections.sort(scores); return scores.get(0);",
            "if (most > 1) {\n        scores.clear();\n        }\n        return 1;",
        ] {
            assert!(altered("A.java", &before, &java(writes)), "{writes}");
        }
        for other in [
            "scores = new ArrayList<>(scores);\n        Collections.sort(scores);",
            "synchronized (listeners) {\n        listeners.clear();\n        }\n        return 1;",
            "return 1;\n    }\n    int all() {\n        List<Integer> scores = f();\n        scores.clear();\n        return 1;",
            "scores.add(1);\n        return 1;",
        ] {
            assert!(!altered("A.java", &before, &java(other)), "{other}");
        }
    }
}
