//! pytest's last line: `2 failed, 1 passed, 1 skipped, 3 warnings, 1 error in 0.79s`.

use crate::findings::{Counts, sum};
use crate::needle::Needle;

/// The text before the time.
static IN: Needle = Needle::new(" in ");

/// The title in a line drawn with `fill`: `==== FAILURES ====`.
pub(super) fn title(line: &str, fill: char) -> Option<&str> {
    let line = line.trim_end();
    let inner = line.trim_start_matches(fill);
    let left = line.len() - inner.len();
    let bare = inner.trim_end_matches(fill);
    let right = inner.len() - bare.len();
    let title = bare.strip_prefix(' ')?.strip_suffix(' ')?;
    (left > 0 && right > 0 && !title.trim().is_empty()).then_some(title.trim())
}

/// The numbers by pytest's own words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    failed: u64,
    passed: u64,
    skipped: u64,
    xfailed: u64,
    xpassed: u64,
    errors: u64,
    /// Whether it names subtests, whose failures stand among the others.
    has_subtests: bool,
}

impl Numbers {
    /// Reads the line without its frame.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let begin = text.trim_start();
        let number = begin.bytes().take_while(u8::is_ascii_digit).count();
        if !(begin.as_bytes().get(number) == Some(&b' ') && number > 0 || begin.starts_with("no tests ran")) {
            return None;
        }
        // `in 0.79s`, `in 65.00s (0:01:05)`, and until 5.x `in 0.79 seconds`.
        let (words, time) = IN.rsplit_once(text)?;
        let seconds = time.split([' ', '(']).next().unwrap_or_default();
        let digits = seconds.strip_suffix('s').unwrap_or(seconds);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        let mut numbers = Self::default();
        if words.trim() == "no tests ran" {
            return Some(numbers);
        }
        words.split(", ").all(|part| numbers.add(part)).then_some(numbers)
    }

    /// Adds one part (`12 failed`). Returns whether it was one.
    pub(super) fn add(&mut self, part: &str) -> bool {
        let Some((number, word)) = part.trim().split_once(' ') else { return part.trim() == "no tests ran" };
        let Ok(number) = number.parse::<u64>() else { return false };
        match word {
            "failed" => self.failed = self.failed.saturating_add(number),
            "passed" => self.passed = self.passed.saturating_add(number),
            "skipped" => self.skipped = self.skipped.saturating_add(number),
            "xfailed" => self.xfailed = self.xfailed.saturating_add(number),
            "xpassed" => self.xpassed = self.xpassed.saturating_add(number),
            "error" | "errors" => self.errors = self.errors.saturating_add(number),
            "subtests passed" | "subtest passed" | "subtests skipped" => self.has_subtests = true,
            "warning" | "warnings" | "deselected" | "rerun" | "reruns" | "snapshots passed" | "snapshot passed" => {}
            "subtests failed" | "subtest failed" => self.failed = self.failed.saturating_add(number),
            _ => return false,
        }
        true
    }

    /// The counts. `collected` is the number of tests that the session said it found, `untested` how many errors hide a test's result, and
    /// `subtests` how many of the failures are of subtests, which pytest counts beside their test. Where nothing tells that of failures
    /// among subtests, nobody knows how many tests there were.
    pub(super) fn counts(&self, collected: Option<u64>, untested: u64, subtests: u64) -> Counts {
        let results = sum(&[self.failed, self.passed, self.skipped, self.xfailed, self.xpassed]);
        let tests = results.saturating_sub(subtests).saturating_add(untested);
        // Then nobody knows how many of the failures are those of subtests.
        let mixed = self.has_subtests && self.failed > 0 && subtests == 0;
        Counts {
            total: collected.or_else(|| (!mixed).then_some(tests)),
            passed: Some(sum(&[self.passed, self.xpassed])),
            failed: Some(self.failed),
            skipped: Some(sum(&[self.skipped, self.xfailed])),
            errors: Some(self.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_old_and_new_versions_is_read() {
        let counts = |text: &str| Numbers::parse(text).map(|numbers| numbers.counts(None, 0, 0));
        let expected = |total, passed, failed, skipped, errors| {
            Some(Counts {
                total: Some(total),
                passed: Some(passed),
                failed: Some(failed),
                skipped: Some(skipped),
                errors: Some(errors),
            })
        };
        assert_eq!(counts("1 failed, 2 passed, 1 xfailed, 1 xpassed, 6 errors in 0.73s"), expected(5, 3, 1, 1, 6));
        assert_eq!(counts("5 passed in 65.00s (0:01:05)"), expected(5, 5, 0, 0, 0));
        assert_eq!(counts("1 failed, 3 passed, 2 warnings in 0.12 seconds"), expected(4, 3, 1, 0, 0));
        assert_eq!(counts("no tests ran in 0.01s"), expected(0, 0, 0, 0, 0));
        let mixed = Numbers::parse("5 failed, 2 passed, 4 subtests passed in 0.03s").unwrap();
        assert_eq!(mixed.counts(None, 0, 0).total, None, "any of the five may be a subtest's");
        assert_eq!(mixed.counts(None, 0, 4).total, Some(3));
        assert_eq!(mixed.counts(Some(3), 0, 0).total, Some(3));
        for other in ["3 apples in 1s", "passed in 1s", "12 failed", "1 failed in a row"] {
            assert_eq!(counts(other), None, "{other}");
        }
    }
}
