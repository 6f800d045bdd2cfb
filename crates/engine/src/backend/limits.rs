//! Words about rate limits on an agent's standard error (S3-8): for one that found a way to a model past the gateway, which knows every other
//! limit from the vendor's answer itself.
//!
//! Pure. Invariant: an agent that says nothing there is never taken for a limited one.

use regex::{Regex, RegexBuilder};

use super::known::Backend;

/// Patterns of every agent.
const COMMON: [&str; 6] = [
    r"(?:HTTP|status|error|code|response)[\s:]*429",
    r"429\s*(?:too many|rate limit|error)",
    r"rate[- ]limit",
    r"too many requests",
    r"quota[- ]?exceeded",
    r"\boverloaded\b",
];
/// Words that mean a limit only beside an exit code that fits.
const LOOSE: [&str; 5] = [r"throttl", r"limit.*exceeded", r"exceeded.*limit", r"capacity", r"backoff"];
/// The exit codes that fit.
const LOOSE_CODES: [i32; 3] = [1, 2, 429];
/// How long the limit lasts, in seconds.
const RETRY_AFTER: [&str; 4] =
    [r"retry[- ]?after[:\s]+(\d+)\s*s", r"wait[:\s]+(\d+)\s*s", r"try again in[:\s]+(\d+)\s*s", r"(\d+)\s*seconds?"];
/// A longer time is no limit that an agent waits for, in seconds.
const LONGEST: u64 = 3_600;
/// Characters that are told: before the words that were found, behind them, and in all.
const BEFORE: usize = 50;
const BEHIND: usize = 100;
const MOST: usize = 200;

/// A limit that an agent tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The agent's words.
    pub said: String,
    /// How long it lasts, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// The limit on an agent's standard error. `code` is its exit code, where it had one.
#[must_use]
pub fn limit_in(backend: Backend, stderr: &str, code: Option<i32>) -> Option<Limit> {
    if stderr.trim().is_empty() {
        return None;
    }
    let own = backend.agent().limits;
    let loose = code.filter(|code| LOOSE_CODES.contains(code)).map_or(&[][..], |_| &LOOSE);
    let patterns = COMMON.iter().chain(own).chain(loose);
    let found = patterns.filter_map(|pattern| compiled(pattern)).find_map(|pattern| {
        let found = pattern.find(stderr)?;
        Some(found.range())
    })?;
    // The words around it often say how long the limit lasts.
    let before: Vec<char> = stderr.get(..found.start)?.chars().rev().take(BEFORE).collect();
    let words = before.into_iter().rev().chain(stderr.get(found.clone())?.chars());
    let around: String = words.chain(stderr.get(found.end..)?.chars().take(BEHIND)).collect();
    let said: String = around.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST).collect();
    Some(Limit { retry_after_ms: retry_after_ms(&said), said })
}

fn retry_after_ms(said: &str) -> Option<u64> {
    let seconds = RETRY_AFTER.iter().filter_map(|pattern| compiled(pattern)).find_map(|pattern| {
        let number = pattern.captures(said)?.get(1)?;
        number.as_str().parse::<u64>().ok()
    })?;
    (0 < seconds && seconds < LONGEST).then(|| seconds * 1_000)
}

fn compiled(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).case_insensitive(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_8_each_pattern_is_one_and_finds_its_words() {
        let all = COMMON.iter().chain(&LOOSE).chain(&RETRY_AFTER);
        let own = Backend::ALL.iter().flat_map(|backend| backend.agent().limits);
        assert!(all.chain(own).all(|pattern| compiled(pattern).is_some()));
        for said in [
            "HTTP 429",
            "status: 429",
            "429 Too Many Requests",
            "Rate-limit reached",
            "too many requests",
            "QuotaExceeded",
            "the server is overloaded",
        ] {
            assert!(limit_in(Backend::Codex, said, Some(0)).is_some(), "{said}");
        }
        for said in ["", " \n", "line 429 of the file", "it is done", "throttled", "overloadedness"] {
            assert_eq!(limit_in(Backend::Codex, said, Some(0)), None, "{said}");
        }
    }

    #[test]
    fn s3_8_loose_words_need_an_exit_code_that_fits() {
        let of = |code| limit_in(Backend::Gemini, "at capacity", code).is_some();
        assert_eq!(
            [Some(0), Some(1), Some(2), Some(3), Some(429), None].map(of),
            [false, true, true, false, true, false]
        );
    }

    #[test]
    fn b18_an_agents_own_words_are_no_other_agents() {
        let said = "12 requests per minute";
        assert!(limit_in(Backend::OpenCode, said, Some(3)).is_some());
        assert_eq!(limit_in(Backend::Claude, said, Some(3)), None);
        let said = "claude-x is currently overloadedd";
        assert!(limit_in(Backend::Claude, said, Some(3)).is_some());
        assert_eq!(limit_in(Backend::OpenCode, said, Some(3)), None);
    }

    #[test]
    fn s3_8_the_words_around_it_are_told_on_one_line_and_how_long_it_lasts() {
        let long = format!("{}\n\n status 429:   try again in 30 s {}", "é".repeat(300), "x".repeat(300));
        let Limit { said, retry_after_ms } = limit_in(Backend::Gemini, &long, Some(1)).unwrap();
        assert!(said.chars().count() <= MOST && said.contains("é status 429: try again in 30 s xxx"), "{said}");
        assert_eq!(retry_after_ms, Some(30_000));
        for (said, expected) in [
            ("rate limit, retry-after: 12 s", Some(12_000)),
            ("rate limit, wait 7s", Some(7_000)),
            ("rate limit for 90 seconds", Some(90_000)),
            ("rate limit for 0 seconds", None),
            ("rate limit for 3600 seconds", None),
            ("rate limit", None),
        ] {
            assert_eq!(limit_in(Backend::Qwen, said, Some(1)).unwrap().retry_after_ms, expected, "{said}");
        }
    }
}
