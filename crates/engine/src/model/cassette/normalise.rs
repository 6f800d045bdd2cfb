//! The parts that may differ between a recorded request and a replayed one: everything that depends on the machine and the moment.
//!
//! In this order: colours go, then line ends become line feeds and trailing blanks go. Then these become alike, each kind by its own
//! placeholder: UUIDs, instants, dates and times of day, durations with a unit, amounts of dollars, memory addresses, ports of loopback,
//! numbers of processes and threads, directories of absolute paths (the last name stays), and hexadecimal hashes of seven digits and more.

use std::sync::LazyLock;

use regex::Regex;

/// Patterns with what they become.
const RULES: [(&str, &str); 11] = [
    (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
    (r"[ \t\r]+\n", "\n"),
    (r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (
        r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?\b",
        "<time>",
    ),
    (r"\b[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?\b", "<time>"),
    (r"\b[0-9]+(\.[0-9]+)? ?(ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|h|hours?)\b", "<duration>"),
    (r"\$[0-9]+(\.[0-9]+)?", "<dollars>"),
    (r"\b0x[0-9a-fA-F]+\b", "<address>"),
    (r"(127\.0\.0\.1|localhost|\[::1\]):[0-9]+", "$1:<port>"),
    (r"(?i)(\b(?:pid|process|thread '[^'\n]*'|threadid) ?[(=:]? ?)[0-9]+", "$1<number>"),
    (r#"(^|[\s"'`(=\[<>,:])/(?:[^\s"'`/:,;()\[\]<>]+/)+"#, "$1<dir>/"),
];

/// Hashes. The pattern is applied where the match has both digits and letters, so that numbers and words stay.
const HASH: &str = r"\b[0-9a-f]{7,64}\b";

static COMPILED: LazyLock<Vec<(Regex, &'static str)>> =
    LazyLock::new(|| RULES.iter().filter_map(|(pattern, to)| Some((compiled(pattern)?, *to))).collect());
static COMPILED_HASH: LazyLock<Option<Regex>> = LazyLock::new(|| compiled(HASH));

/// Word boundaries by ASCII: by Unicode's tables they take several milliseconds to compile.
fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).ok()
}

/// The text with everything volatile replaced (see the module's page).
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut text = text.replace("\r\n", "\n");
    // The order counts: a UUID or an instant would be taken apart by the rules for numbers behind it.
    for (pattern, to) in COMPILED.iter() {
        if let std::borrow::Cow::Owned(changed) = pattern.replace_all(&text, *to) {
            text = changed;
        }
    }
    if let Some(hash) = COMPILED_HASH.as_ref() {
        let replaced = hash.replace_all(&text, |found: &regex::Captures<'_>| {
            let word = found.get(0).map_or("", |whole| whole.as_str());
            // `deadbeef` and `1234567` may be words of a test. `a1b2c3d` is hardly one.
            let mixed = word.bytes().any(|b| b.is_ascii_digit()) && word.bytes().any(|b| b.is_ascii_alphabetic());
            if mixed { "<hash>".to_owned() } else { word.to_owned() }
        });
        text = replaced.into_owned();
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        assert_eq!(COMPILED.len(), RULES.len());
        assert!(COMPILED_HASH.is_some());
    }

    #[test]
    fn the_machine_and_the_moment_make_no_difference() {
        for (one, other) in [
            ("test a ... ok (0.03s)", "test a ... ok (12.5s)"),
            ("finished in 120 ms", "finished in 3 seconds"),
            ("at /tmp/abc123/src/lib.rs:10:5", "at /home/me/repo/src/src/lib.rs:10:5"),
            ("http://127.0.0.1:4300/x", "http://127.0.0.1:51234/x"),
            ("commit 1a2b3c4d5e", "commit ffee001122334455"),
            ("thread 'main' (12345) panicked", "thread 'main' (9) panicked"),
            ("run f4a2c781-1111-4222-8333-444455556666", "run 00000000-1111-4222-8333-444455556666"),
            ("2026-02-17T14:23:01.456Z red", "2025-12-31T00:00:00Z red"),
            ("\u{1b}[31mred\u{1b}[0m  \r\nnext", "red\nnext"),
            ("spent $0.0123 of $2.00", "spent $1.5 of $3"),
            ("<0x7ffd1234>", "<0xdeadbeef>"),
        ] {
            assert_eq!(normalised(one), normalised(other), "{one}");
        }
    }

    #[test]
    fn what_matters_still_differs() {
        for (one, other) in [
            ("left: 3, right: 4", "left: 3, right: 5"),
            ("src/lib.rs:10", "src/main.rs:10"),
            ("/a/b/lib.rs", "/a/b/main.rs"),
            ("test cart::adds", "test cart::removes"),
            ("12 passed", "13 passed"),
            ("1234567 items", "7654321 items"),
        ] {
            assert_ne!(normalised(one), normalised(other), "{one}");
        }
    }
}
