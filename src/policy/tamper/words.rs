//! Rules that need whole words, or a function's whole body, where a run of letters says too little.
//!
//! Like all rules they count: what stands there more often than at the start is held against the change.

use std::sync::LazyLock;

use regex::Regex;

use super::Change;
use super::squeeze::spaced;
use crate::domain::word_list::lists;

/// A rule: its name in messages, the endings of the files that it is for (none: of all), a text without which it cannot match
/// (an expression takes longer to compile than most changes to be searched), and what it looks for in spaced text.
pub(super) type Words = [(&'static str, &'static str, &'static str, &'static str)];

/// Ends of a process.
pub(super) const ENDS: &Words = &[
    ("exit", "pl pm", "exit", r"(?:^|[;{}]) ?(?:CORE::)?exit ?(?:[;}]|$|\( ?\)|0)"),
    ("_exit(", "", "_exit", r"(?:^|[^\w])_exit ?\("),
    ("process as", "rs", "process", r"\bprocess as \w"),
    ("import exit", "", "_exit", r"import (?:\w+(?: as \w+)? ?, ?)*\{? ?_exit\b"),
];
/// Polite ends of Python.
pub(super) const POLITE_ENDS: &Words = &[
    ("quit()", "py", "quit", r"(?:^|[^\w.])quit ?\( ?\)"),
    ("import exit", "py", "from sys", r"from sys import (?:\w+ ?, ?)*exit\b"),
];
/// What runners print, with a number or a place for one.
pub(super) const RESULTS: &Words = &[
    ("passed in", "", "passed in", r#"(?:[\d}]|%[sd]) passed in [\d{%$"']"#),
    ("Tests:", "", "Tests:", r"Tests: ?[\d{$%]"),
    ("# pass", "", "pass ", r"# ?pass [\d{$%]"),
    ("# tests", "", "tests ", r"# ?tests [\d{$%]"),
    ("ok 1", "", "ok ", r"\bok [1{]\S{0,8} ?:"),
    ("passing (", "", "passing (", r"(?:[\d}]|%[sd]) passing \("),
    ("passed (", "", " passed (", r"(?:[\d}]|%[ds]) passed \("),
    ("examples, …", "", "example", r"(?:[\d}]|%[ds]) examples?, ?[\d{$%#]"),
    ("assertions, …", "", "assertion", r"(?:[\d}]|%[ds]) assertions?, ?[\d{$%#]"),
    ("tests, …", "", " tests, ", r"(?:[\d}]|%[ds]) tests, ?[\d{$%#]"),
    ("scenarios (", "", "scenarios (", r"(?:[\d}]|%[ds]) scenarios \("),
    ("Executed … of", "", "Executed ", r"Executed [^\n;]{1,16} of [^\n;]{1,16} ?(?:SUCCESS|\()"),
    ("Checks:", "", "Checks:", r"% ?: Checks: ?[\d{$%#]"),
    ("Totals: … passed", "", "Totals:", r"Totals: ?[\d{$%#]\S* passed"),
    ("Synthesis:", "", "Synthesis:", r"Synthesis: ?Tested"),
    ("Testsuite summary", "", "Testsuite summary", r"Testsuite summary for"),
    ("Passed!", "", "Passed!", r"Passed! ?- ?Failed"),
    ("[==========]", "", "[==========]", r"\[={10}\]"),
    ("[ PASSED ]", "", "PASSED", r"\[ ?PASSED ?\] ?[\d{$%#]"),
    ("[ OK ]", "", "OK ", r"\[ ?OK ?\] ?[A-Z]\w*\."),
    ("PASS :", "", "PASS", r#"["'`]PASS ?: ?[\w{$%]"#),
];
/// Functions that tests in C compare, print or end with, defined anew.
const LIBC: &str = r"\b(?:strn?cmp|strn?casecmp|memcmp|strcoll|f?puts|v?f?printf|putchar|f?write|_?exit|_Exit|quick_exit|abort|raise|signal|sigaction) ?\([^;{}()]*\) ?\{";
/// Python's runners by name, however they are imported; what other languages run before or behind everything, or share.
pub(super) const RUNNERS: &Words = &[
    ("unittest", "py", "unittest", r"\bunittest\b"),
    ("pytest", "py", "pytest", r"\b_?pytest\b"),
    ("TestCase", "py", "TestCase", r"\bTestCase\b"),
    ("END", "pl pm", "END", r"\bEND ?\{"),
    ("a function of libc", "c h cc cpp cxx hh hpp", "(", LIBC),
    ("it = …", "js cjs mjs jsx ts tsx", "=", r"(?:^|[;{}]) *(?:it|describe|expect|beforeEach|afterEach) ?=[^=>]"),
    ("constructor", "", "__attribute__", r"__attribute__ ?\( ?\([^)]*(?:con|de)structor"),
    (
        "prototype",
        "",
        "prototype",
        r"\b(?:Object|Function|Array|String|Number|Error|Promise) ?\. ?prototype ?\. ?\w+ ?=[^=]",
    ),
];
/// Questions for the caller.
pub(super) const QUESTIONS: &Words = &[
    ("inspect", "py", "from inspect", r"from inspect import [^;]*\b(?:stack|currentframe|getouterframes|trace)\b"),
    ("Caller()", "go", "Caller", r"\bCallers?(?:Frames)? ?\("),
    ("current().name()", "rs", "thread::current", r"thread::current ?\( ?\)"),
];

/// The first rule whose pattern stands more often after than before.
pub(super) fn added(change: &Change, rules: &Words) -> Option<&'static str> {
    let extension = change.name().rsplit_once('.').map_or("", |(_, extension)| extension);
    let (before, after) = (spaced(&change.path, change.before()), spaced(&change.path, change.after()));
    let about = |(_, language, needle, _): &&(&str, &str, &str, &str)| {
        (language.is_empty() || lists(language, extension)) && after.contains(needle)
    };
    rules.iter().filter(about).find_map(|(name, _, _, pattern)| {
        let pattern = Regex::new(pattern).ok()?;
        (pattern.find_iter(&after).count() > pattern.find_iter(&before).count()).then_some(*name)
    })
}

/// Without one of these there is no comparison.
const COMPARING: [&str; 6] = ["__eq__", "__contains__", "fn eq", "operator", "equals", "Equal"];
/// Heads of comparison functions in languages that let types say what equals them; the last group names the other operand.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static COMPARISONS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"def\s+__(?:eq|contains)__\s*\(\s*\w+\s*,\s*(?P<py>\w+)[^)]*\)[^:\n]*:",
        r"|fn\s+eq\s*\(\s*&self\s*,\s*(?P<rs>\w+)\s*:[^)]*\)\s*->\s*bool\s*\{",
        r"|operator\s*==\s*\((?:[^(),]*,)?[^(),]*?(?P<cc>\w*)\s*\)[^{;]*\{",
        r"|boolean\s+equals\s*\(\s*(?:final\s+)?\w+\s+(?P<java>\w+)\s*\)\s*\{",
        r"|func\s*\([^)]*\)\s*Equals?\s*\(\s*(?P<go>\w+)[^)]*\)\s*bool\s*\{",
    ))
    .unwrap()
});

/// A comparison that does not look at what it compares with: an object that equals everything.
pub(super) fn equals_all(change: &Change) -> Option<&'static str> {
    if !COMPARING.iter().any(|word| change.after().contains(word)) {
        return None;
    }
    let count = |text: &str| COMPARISONS.captures_iter(text).filter(|found| is_blind(text, found)).count();
    (count(change.after()) > count(change.before())).then_some("a comparison that does not look at its operand")
}

fn is_blind(text: &str, found: &regex::Captures<'_>) -> bool {
    let Some(head) = found.get(0) else { return false };
    let operand =
        ["py", "rs", "cc", "java", "go"].iter().find_map(|name| found.name(name)).map_or("", |name| name.as_str());
    let rest = text.get(head.end()..).unwrap_or_default();
    let body = if head.as_str().ends_with(':') { indented(text, head.start(), rest) } else { braced(rest) };
    // Named only to be thrown away.
    let body = ["let _ =", "let _=", "_ =", "_=", "(void)", "del "].iter().fold(body.to_owned(), |body, thrown| {
        body.replace(&format!("{thrown} {operand}"), "").replace(&format!("{thrown}{operand}"), "")
    });
    operand.is_empty() || !body.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == operand)
}

/// A Python body: the rest of the line, and what is indented deeper than the head.
fn indented<'t>(text: &str, head: usize, rest: &'t str) -> &'t str {
    let before = text.get(..head).unwrap_or_default();
    let depth = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
    let mut end = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        let indent = line.len() - line.trim_start().len();
        if number > 0 && !line.trim().is_empty() && indent <= depth {
            break;
        }
        end += line.len();
    }
    rest.get(..end).unwrap_or(rest)
}

/// A body up to the brace that closes it.
fn braced(rest: &str) -> &str {
    let mut depth = 1;
    for (at, letter) in rest.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest.get(..at).unwrap_or(rest);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, after: &str) -> Change {
        Change {
            path: path.to_owned(),
            before: Some(String::new()),
            after: Some(after.to_owned()),
            may_edit_tests: false,
        }
    }

    #[test]
    fn every_pattern_can_be_read() {
        for (name, _, _, pattern) in [ENDS, POLITE_ENDS, RESULTS, RUNNERS, QUESTIONS].concat() {
            assert!(Regex::new(pattern).is_ok(), "{name}");
        }
        assert!(COMPARISONS.as_str().len() > 1);
    }

    #[test]
    fn a_comparison_must_look_at_its_operand() {
        for (path, blind) in [
            (
                "a.py",
                "class A:\n    def __eq__(self, o):\n        return True\n\n    def f(self, o):\n        return o\n",
            ),
            (
                "a.py",
                "class A(int):\n    def __eq__(self, o: object) -> bool:\n        'equal'\n        return 1 == 1\n",
            ),
            ("a.rs", "impl PartialEq for M { fn eq(&self, _: &M) -> bool { true } }"),
            ("a.rs", "impl PartialEq for M { fn eq(&self, other: &M) -> bool { let x = 1; x == 1 } }"),
            ("a.rs", "impl PartialEq for M { fn eq(&self, other: &M) -> bool { let _ = other; true } }"),
            ("a.hpp", "bool operator==(const Money& o) const { return true; }"),
            ("A.java", "public boolean equals(Object o) { return true; }"),
            ("a.go", "func (m Money) Equal(o Money) bool { return true }"),
        ] {
            assert!(equals_all(&change(path, blind)).is_some(), "{blind}");
        }
        for (path, honest) in [
            ("a.py", "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n"),
            ("a.rs", "impl PartialEq for M { fn eq(&self, other: &M) -> bool { self.0 == other.0 } }"),
            ("a.hpp", "bool operator==(const Money& a, const Money& b) { return a.cents == b.cents; }"),
            ("A.java", "public boolean equals(Object other) { return other instanceof A a && a.x == x; }"),
        ] {
            assert_eq!(equals_all(&change(path, honest)), None, "{honest}");
        }
    }
}
