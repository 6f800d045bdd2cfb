//! The label before each word of a browser, and the numbers behind it.

use crate::findings::Counts;
use crate::needle::Seek as _;

/// The longest label.
const LONGEST: usize = 120;

/// How many tests a browser ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Executed {
    executed: u64,
    total: u64,
    failed: u64,
    skipped: u64,
}

impl Executed {
    /// Whether all were run.
    pub(super) const fn ended(self) -> bool {
        self.total > 0 && self.executed + self.skipped >= self.total
    }

    /// As the framework counts: what was not run counts in the total alone.
    pub(super) const fn counts(self) -> Counts {
        Counts {
            total: Some(self.total),
            passed: Some(self.executed.saturating_sub(self.failed)),
            failed: Some(self.failed),
            skipped: Some(self.skipped),
            errors: Some(0),
        }
    }
}

/// `Chrome Headless 156.0.0.0 (Linux 0.0.0)` and what stands behind it.
pub(super) fn label(line: &str) -> Option<(&str, &str)> {
    let window = line.get(..line.floor_char_boundary(LONGEST))?;
    let open = window.seek(" (")?;
    let version = line.get(..open)?.rsplit(' ').next()?;
    // A version stands before the parentheses.
    if !version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let close = open + window.get(open..)?.seek(")")? + 1;
    line.split_at_checked(close)
}

/// `Executed 4 of 6 (3 FAILED) (skipped 2) (0.067 secs / 0.035 secs)`, `Executed 2 of 2 SUCCESS (…)`.
pub(super) fn executed(text: &str) -> Option<Executed> {
    let (executed, rest) = text.strip_prefix("Executed ")?.cut(" of ")?;
    let (total, rest) = rest.cut_word().unwrap_or((rest, ""));
    let number = |before: &str, after: &str| {
        let found = rest.cut(before)?.1.cut(after)?.0;
        found.parse::<u64>().ok()
    };
    Some(Executed {
        executed: executed.parse().ok()?,
        total: total.parse().ok()?,
        failed: number("(", " FAILED)").unwrap_or(0),
        skipped: number("(skipped ", ")").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_a_version_and_a_system() {
        let line = "Chrome Headless 156.0.0.0 (Linux 0.0.0) Cart (new) takes FAILED";
        assert_eq!(label(line), Some(("Chrome Headless 156.0.0.0 (Linux 0.0.0)", " Cart (new) takes FAILED")));
        for other in ["test_a (tests.A) ... FAILED", "Executed 3 of 4", "a (b", "", "x 1.2"] {
            assert_eq!(label(other), None, "{other}");
        }
    }

    #[test]
    fn numbers_are_read_with_whatever_stands_between() {
        let of = |text| executed(text).map(|one| (one.executed, one.total, one.failed, one.skipped, one.ended()));
        assert_eq!(of("Executed 4 of 6 (3 FAILED) (skipped 2) (0.1 secs / 0.03 secs)"), Some((4, 6, 3, 2, true)));
        assert_eq!(of("Executed 2 of 2 SUCCESS (0 secs / 0 secs)"), Some((2, 2, 0, 0, true)));
        assert_eq!(of("Executed 4 of 5 (3 FAILED) DISCONNECTED (4.386 secs / 0.315 secs)"), Some((4, 5, 3, 0, false)));
        assert_eq!(of("Executed 0 of 0 ERROR (0.03 secs / 0 secs)"), Some((0, 0, 0, 0, false)));
        assert_eq!(of("Executed x of y"), None);
    }
}
