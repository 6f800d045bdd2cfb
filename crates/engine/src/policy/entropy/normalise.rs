//! Normalised errors: the parts that differ between two sightings of the same error are taken out, such as times, addresses, ports,
//! temporary paths and lines.
//!
//! Invariant: a number that a test compares stays as it is, for it tells one wrong answer from another.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Patterns to take out and their replacements, in the order of work: a date holds parts that look like a line number. Quoted text is a
/// value, so dates and durations inside quotes stay. The third field tells whether a value that is compared is left alone, too: addresses
/// differ between any two runs.
const RULES: [(&str, &str, bool); 13] = [
    // 2026-11-24T10:20:30.123Z, 2026-11-24 10:20, 2026-11-24
    (
        r"(^|[\s(\[,=:<])\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?)?\b",
        "${1}DATE",
        true,
    ),
    // Tue Nov 24 10:20:30 2026, Tue, 24 Nov 2026 10:20:30 GMT
    (
        r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} [A-Z][a-z]{2})(?: \d{4})?(?: \d{2}:\d{2}:\d{2}(?: (?:GMT|UTC|[+-]\d{4}))?)?(?: \d{4})?\b",
        "DATE",
        true,
    ),
    // 10:20:30.123
    (r"(^|[\s(\[,=<])\d{2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "${1}TIME", true),
    // 0.02s, 12 ms, 1m 4s, 3 seconds
    (
        r"(^|[\s(\[,=:<>])(?:\d+(?:\.\d+)?h ?)?(?:\d+(?:\.\d+)?m ?)?\d+(?:\.\d+)? ?(?:ns|µs|μs|us|ms|s|secs?|seconds?|milliseconds?|minutes?|hours?)\b",
        "${1}DURATION",
        true,
    ),
    // An address of an object. Shorter ones are values (`0x10 != 0x20`).
    (r"\b0[xX][0-9a-fA-F]{6,16}\b", "ADDRESS", false),
    // thread 'adds' (30932) panicked at src/lib.rs:1:2
    (r"\b(thread '[^'\n]*' )\(\d+\)", "${1}(ID)", false),
    (r"\b(pid|PID|process)([ =:]+)\d+\b", "${1}${2}ID", false),
    // Only the name at the end of a temporary path says what it is about.
    (
        r#"(?:/private)?(?:/var/folders|/tmp|/var/tmp|/dev/shm)/(?:[^\s/'"`:;,()\[\]]+/)*([^\s/'"`:;,()\[\]]*)"#,
        "TEMPORARY/$1",
        false,
    ),
    // C:\Users\me\AppData\Local\Temp\tmp12\x.txt
    (r#"\b[A-Za-z]:\\(?:[^\s\\'"]+\\)*Temp\\(?:[^\s\\'"]+\\)*([^\s\\'"]*)"#, "TEMPORARY/$1", false),
    // cart.py:12, cart.ts:12:5, cart.ts(12,5)
    (r"(\.[A-Za-z][A-Za-z0-9_+]{0,9}|<anonymous>|\bMakefile)(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))", "${1}:LINE", false),
    // line 12, lines 3-5, column 7, but not `got line 4`.
    (r"\b([Ll]ines?|[Cc]olumn|[Cc]ol)([ :]+)\d+(?:-\d+)?\b", "${1}${2}LINE", true),
    // The numbers that stand beside code that is shown.
    (r"(?m)^([ \t]*>?[ \t]*)\d+([ \t]*\|)", "${1}LINE${2}", false),
    // 127.0.0.1:54321, port 8080
    (r"\b(localhost|\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]|[Pp]ort)([ =:]+)\d{2,5}\b", "${1}${2}PORT", true),
];

/// The first words of a comparison: a date, time, duration, port or line behind one of them is the value that a test compares.
const COMPARING: [&str; 10] =
    ["left", "right", "got", "want", "wanted", "expected", "actual", "received", "but was", "assert"];

/// How random the end of a temporary path may look before it is taken out as well.
const RANDOM_NAME: &str = r"TEMPORARY/[^\s'\x22]*\d[^\s'\x22]*";

/// Whether text ends where the value of a comparison is to stand.
fn is_compared(before: &str) -> bool {
    let before = before.trim_end();
    // Behind an operator stands a compared value, whatever word is before it: the `10s` of `2s != 10s`.
    if before.ends_with("!=") || before.ends_with("==") {
        return true;
    }
    // Between the word and its value stand marks: `left: `, `expected: <`, `` got `  ``.
    let before = before.trim_end_matches([' ', ':', '=', '<', '(', '`']);
    COMPARING.iter().any(|word| {
        let Some(at) = before.len().checked_sub(word.len()) else { return false };
        let (Some(end), Some(rest)) = (before.get(at..), before.get(..at)) else { return false };
        // `forgot` ends with `got` and compares nothing.
        end.eq_ignore_ascii_case(word) && !rest.ends_with(|char: char| char.is_alphanumeric() || char == '_')
    })
}

/// The text with what a pattern matches replaced, but for the values of comparisons where those are to be spared.
fn replaced<'t>(text: &'t str, pattern: &Regex, with: &str, spares: bool) -> Cow<'t, str> {
    pattern.replace_all(text, |found: &Captures<'_>| {
        let whole = found.get_match();
        let mut new = String::new();
        if spares && text.get(..whole.start()).is_some_and(is_compared) {
            new.push_str(whole.as_str());
        } else {
            found.expand(with, &mut new);
        }
        new
    })
}

/// An error without the parts that differ between two sightings of it. Runs of white space become one space.
#[must_use]
pub fn normalise(error: &str) -> String {
    static COMPILED: LazyLock<Vec<(Regex, &'static str, bool)>> = LazyLock::new(|| {
        let compile = |rule: &(&'static str, &'static str, bool)| Some((Regex::new(rule.0).ok()?, rule.1, rule.2));
        // Last, since it works on what the rules before it left of a path.
        RULES.iter().chain(&[(RANDOM_NAME, "TEMPORARY", false)]).filter_map(compile).collect()
    });
    let text = COMPILED.iter().fold(Cow::Borrowed(error), |text, (pattern, with, spares)| {
        let replaced = match replaced(&text, pattern, with, *spares) {
            Cow::Borrowed(_) => None,
            Cow::Owned(replaced) => Some(replaced),
        };
        replaced.map_or(text, Cow::Owned)
    });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_rule_is_a_pattern() {
        for (pattern, ..) in RULES.iter().chain(&[(RANDOM_NAME, "", false)]) {
            Regex::new(pattern).unwrap();
        }
    }

    #[test]
    fn a5_numbers_that_a_test_compares_are_kept() {
        for (one, other) in [
            ("AssertionError: 2 != 10", "AssertionError: 4 != 10"),
            ("assert 5 == 6\n +  where 5 = total([1, 2])", "assert 6 == 7\n +  where 6 = total([1, 2])"),
            ("Expected: 12, received: NaN", "Expected: 13, received: NaN"),
            ("left: 1\n right: 2", "left: 1\n right: 3"),
            ("Error: 0x10 != 0x20", "Error: 0x11 != 0x20"),
            ("expected 2 items, got 3", "expected 2 items, got 4"),
            ("KeyError: 'a1'", "KeyError: 'a2'"),
            ("want 1:2, got 1:3", "want 1:2, got 1:4"),
            ("status 404 instead of 200", "status 500 instead of 200"),
            ("no such file /tmp/pytest-1/a.txt", "no such file /tmp/pytest-1/b.txt"),
            ("Expected true", "expected TRUE"),
            ("'2026-11-24' != '2026-12-24'", "'2026-11-25' != '2026-12-24'"),
            ("expected \"5s\", got \"6s\"", "expected \"5s\", got \"7s\""),
            ("left: 2s\n right: 10s", "left: 3s\n right: 10s"),
            ("left: 2026-11-24\n right: 2026-12-24", "left: 2026-11-25\n right: 2026-12-24"),
            ("delay: got 4s, want 10s", "delay: got 6s, want 10s"),
            ("assert 12:30:00 == 13:00:00", "assert 12:45:00 == 13:00:00"),
            ("want port 8080, got port 80", "want port 8080, got port 81"),
            ("expected line 10, got line 4", "expected line 10, got line 6"),
        ] {
            assert_ne!(normalise(one), normalise(other));
        }
    }

    #[test]
    fn a5_what_differs_between_two_runs_of_the_same_code_is_taken_out() {
        for (one, other) in [
            ("took 0.02s", "took 1.30s"),
            ("timeout after 12 ms", "timeout after 1 ms"),
            ("ran for 1m 4s", "ran for 59s"),
            ("in 3 seconds", "in 1 second"),
            ("<Cart object at 0x7f3a9b1c2d>", "<Cart object at 0x7fffffff00>"),
            ("2026-11-24T10:20:30.123Z boom", "2026-11-25T23:59:59Z boom"),
            ("at 2026-11-24 boom", "at 2027-01-01 boom"),
            ("Tue Nov 24 10:20:30 2026 boom", "Wed Nov 25 00:00:00 2026 boom"),
            ("10:20:30 boom", "23:59:59.9 boom"),
            ("shop/cart.py:12: AssertionError", "shop/cart.py:13: AssertionError"),
            ("File \"cart.py\", line 12, in total", "File \"cart.py\", line 99, in total"),
            ("at total (cart.js:1:2)", "at total (cart.js:33:44)"),
            ("cart.ts(12,5): error TS2322", "cart.ts(13,7): error TS2322"),
            ("--> src/lib.rs:3:5\n 3 | boom", "--> src/lib.rs:14:5\n14 | boom"),
            ("thread 'adds' (30932) panicked at src/lib.rs:1:2:", "thread 'adds' (7) panicked at src/lib.rs:9:9:"),
            ("connect ECONNREFUSED 127.0.0.1:54321", "connect ECONNREFUSED 127.0.0.1:60000"),
            ("listen on port 8080", "listen on port 8081"),
            ("http://localhost:54321/a", "http://localhost:1234/a"),
            (
                "no such file /tmp/pytest-of-me/pytest-12/test_a0/x.db",
                "no such file /tmp/pytest-of-me/pytest-13/test_a0/x.db",
            ),
            ("lock /var/folders/zz/T/tmp8fj2k failed", "lock /var/folders/zz/T/tmp0a9dk failed"),
            (r"open C:\Users\me\AppData\Local\Temp\tmp12\x.txt", r"open C:\Users\me\AppData\Local\Temp\tmp13\x.txt"),
            ("  tabs\t\tand\r\nlines ", "tabs and lines"),
        ] {
            assert_eq!(normalise(one), normalise(other));
        }
    }

    proptest! {
        #[test]
        fn two_compared_numbers_never_fall_together(one in 0u32..100_000, other in 0u32..100_000) {
            prop_assume!(one != other);
            let say = |value: u32| format!("AssertionError: {value} != 10 : total of the cart");
            prop_assert_ne!(normalise(&say(one)), normalise(&say(other)));
        }
    }
}
