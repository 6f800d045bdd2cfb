//! Lines that a change only takes out of Java, PHP, C++ and Ruby, each run of them put back into the changed text: a check, or a call for its
//! effect.
//!
//! What defines something, or sets a variable that nobody might read any more, is left out: with it a program says the same.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::line_diff;
use crate::framework::source::{Language, scan};

/// Words by which code leaves a function early.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static LEAVES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:return|throw|raise|abort|exit|assert|next)\b").unwrap());
/// The beginning of something that is defined or loaded.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static DEFINES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:#|//|/\*|\*|def |class |module |struct |enum |interface |trait |namespace |template|typedef|public |private |protected |static |final |abstract |function |require|include|import |package |use |using |attr_)").unwrap()
});
/// A call that stands for itself.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static CALLS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*[$@]?[\w.:>?&-]+[!?]?(?:\(.*\);?|\s+[^=\s].*)?\s*$").unwrap());
/// What sets a value.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static SETS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[^=!<>]=[^=>~]").unwrap());

/// Lines that are gone, put back.
#[derive(Debug)]
pub(super) struct Lines {
    /// The one-based line of the changed text where they belong.
    pub(super) line: u32,
    /// The first of them.
    pub(super) spelled: String,
    /// The changed text with them.
    pub(super) text: String,
}

/// The lines that a change takes out of a text, each run of them.
pub(super) fn removed(language: Language, before: &str, after: &str) -> Vec<Lines> {
    let (old, new) = (line_diff::lines(before.as_bytes()), line_diff::lines(after.as_bytes()));
    let all = line_diff::groups(&old, &new, 0, None).into_iter().flatten();
    let gone = all.filter(|part| !part.is_equal && part.new.is_empty());
    let put_back = |part: line_diff::Part| {
        let text = |lines: &[&[u8]]| String::from_utf8_lossy(&lines.concat()).into_owned();
        let lines = text(old.get(part.old.clone())?);
        let shown = lines.lines().map(str::trim).find(|line| line.len() > 1)?.to_owned();
        // What was moved stands elsewhere.
        if !is_effect(&lines) || after.contains(lines.trim()) {
            return None;
        }
        let text = [text(new.get(..part.new.start)?), lines, text(new.get(part.new.start..)?)].concat();
        let line = u32::try_from(part.new.start + 1).ok()?;
        scan::is_whole(language, &text).then_some(Lines { line, spelled: shown, text })
    };
    gone.filter_map(put_back).collect()
}

/// Whether lines are a check or calls for their effect.
fn is_effect(lines: &str) -> bool {
    let told = || lines.lines().filter(|line| line.trim().len() > 1);
    if told().any(|line| DEFINES.is_match(line)) {
        return false;
    }
    let calls = |line: &str| CALLS.is_match(line) && !SETS.is_match(line);
    LEAVES.is_match(lines) || told().next().is_some() && told().all(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(language: Language, before: &str, after: &str) -> Vec<String> {
        removed(language, before, after).into_iter().map(|one| one.spelled).collect()
    }

    #[test]
    fn checks_and_calls_are_put_back_and_values_are_not() {
        let ruby = |inside: &str| format!("def f(a)\n  b = 1\n{inside}  b\nend\n");
        for line in ["  return false unless a == 2\n", "  log(a)\n", "  @lock.lock!\n"] {
            let found = removed(Language::Ruby, &ruby(line), &ruby(""));
            assert_eq!(
                found.iter().map(|one| (one.line, one.text.as_str())).collect::<Vec<_>>(),
                [(3, ruby(line).as_str())]
            );
        }
        assert_eq!(gone(Language::Ruby, &ruby("  c = a + 2\n"), &ruby("")), Vec::<String>::new());
        assert_eq!(gone(Language::Ruby, &ruby("  # a word\n"), &ruby("")), Vec::<String>::new());
        let php = |inside: &str| format!("<?php\nfunction f($a) {{\n{inside}    return 1;\n}}\n");
        let check = "    if (!$a) {\n        return 2;\n    }\n";
        assert_eq!(gone(Language::Php, &php(check), &php("")), ["if (!$a) {"]);
        let moved = php("").replace("return 1;", &format!("return 1;\n{check}"));
        assert_eq!(gone(Language::Php, &php(check), &moved), Vec::<String>::new());
        let java = |inside: &str| format!("class A {{\n  int f(int a) {{\n    return a;\n  }}\n{inside}}}\n");
        assert_eq!(
            gone(Language::Java, &java("  private int g() {\n    return 1;\n  }\n"), &java("")),
            Vec::<String>::new()
        );
    }
}
