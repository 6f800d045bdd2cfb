//! Tests that a run is asked to mend, by name: which of a run's tests a name means, and which names no test was seen under.
//!
//! Invariant: a name under which nothing was seen failing or passing proves nothing. A slip in a name is not a test that passes.

use std::collections::BTreeSet;

use strsim::normalized_levenshtein;

use crate::domain::test_report::{TestCase, TestReport, TestStatus};

/// How many near names are told, and how near they must be.
const MOST_NEAR: usize = 3;
const NEAR: f64 = 0.4;
/// Among how many names, and how much of each is compared and told, in characters.
const MOST_COMPARED: usize = 5_000;
const MOST_CHARS: usize = 160;
/// The ends that a name goes on with where it is that of a file, a suite, or a test with parts.
const PARTS: [&str; 8] = [": ", "::", " > ", " › ", " (", "[", " [", "/"];
/// Ends of files' names, which one runner prints and another does not.
const EXTENSIONS: [&str; 8] = ["py", "js", "ts", "jsx", "tsx", "mjs", "cjs", "rb"];

/// The names that were asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    names: &'a [String],
    report: &'a TestReport,
}

impl<'a> Asked<'a> {
    /// The names, beside what was printed. An empty list asks for all that fail.
    #[must_use]
    pub const fn new(names: &'a [String], report: &'a TestReport) -> Self {
        Self { names, report }
    }

    /// Whether a test is asked for.
    #[must_use]
    pub fn means(&self, test: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| self.is(name, test))
    }

    /// Why the names prove nothing, in words. `None` where each was seen failing or passing. `filed` is the runner's own result file.
    #[must_use]
    pub fn unproven(&self, filed: Option<&TestReport>) -> Option<String> {
        let lacking: Vec<String> = self.names.iter().filter_map(|name| self.lack(name, filed)).collect();
        (!lacking.is_empty()).then(|| lacking.join("; "))
    }

    /// Whether a name means a test: in the runner's words, or else in those of another form of the same name.
    fn is(&self, name: &str, test: &str) -> bool {
        let by_form = || is_end_of(name, test) || self.is_last_word(name, test);
        self.is_in_its_words(name, test)
            || (by_form() && !self.report.tests.iter().any(|one| self.is_in_its_words(name, &one.name)))
    }

    /// Whether a name is the last word of a test's, and of no other one's.
    fn is_last_word(&self, name: &str, test: &str) -> bool {
        ends_in(test, name) && self.report.tests.iter().filter(|one| ends_in(&one.name, name)).count() == 1
    }

    /// The same in the runner's words. Where a test has that very name, its parts in quotes mean no other.
    fn is_in_its_words(&self, name: &str, test: &str) -> bool {
        if test == name {
            return true;
        }
        let Some(rest) = test.strip_prefix(name) else { return false };
        // The name of a check stands for all that fails in it, also beside the check itself.
        rest.starts_with(PARTS[0])
            // A file's or suite's name means all in it only while no test bears that very name.
            || (PARTS.iter().any(|part| rest.starts_with(part))
                && !self.report.tests.iter().any(|one| one.name == name))
    }

    fn lack(&self, name: &str, filed: Option<&TestReport>) -> Option<String> {
        let seen = |wanted: fn(&TestCase) -> bool| {
            self.report.tests.iter().any(|test| wanted(test) && self.is(name, &test.name))
        };
        let ran = |test: &TestCase| test.status != TestStatus::Skipped;
        // A name of the file's own is believed of a test that passes alone: by it none could be told to be mended.
        let filed = || {
            let passing = || filed.into_iter().flat_map(TestReport::passing_names);
            passing().any(|one| is_same(name, one)) || passing().filter(|one| ends_in(one, name)).count() == 1
        };
        if seen(ran) || filed() {
            return None;
        }
        let asked_for = shown(name);
        if seen(|_any| true) {
            return Some(format!("the test {asked_for} is skipped"));
        }
        let near = self.nearest(name);
        let failing: Vec<String> = self.report.failing().take(MOST_NEAR).map(|test| shown(&test.name)).collect();
        let near = match (near.as_slice(), failing.as_slice()) {
            ([], []) => String::new(),
            ([], failing) => format!(" (failing: {})", failing.join(", ")),
            (near, _) => format!(" (the nearest: {})", near.join(", ")),
        };
        let quiet =
            if self.names_all() { "" } else { "; those that pass are not named in what the test command prints" };
        Some(format!("no test that was run is called {asked_for}{near}{quiet}"))
    }

    /// Whether every test that passed is named.
    fn names_all(&self) -> bool {
        let named = self.report.passing_names().count() as u64;
        self.report.passed_of_total().is_none_or(|passed| passed <= named)
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        let wanted = cut(name);
        // Each name once: parameters may repeat one thousands of times.
        let names: BTreeSet<&str> =
            self.report.tests.iter().take(MOST_COMPARED).map(|test| test.name.as_str()).collect();
        let scored = names.into_iter().map(|one| (normalized_levenshtein(&wanted, &cut(one)), one));
        let mut near: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= NEAR).collect();
        near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        near.into_iter().take(MOST_NEAR).map(|(_, one)| shown(one)).collect()
    }
}

fn cut(name: &str) -> String {
    name.chars().take(MOST_CHARS).collect()
}

/// A name between quotes, in one line.
fn shown(name: &str) -> String {
    // The name comes from a runner's output and goes to a terminal or a comment: a control character could fake a
    // line.
    let plain: String = cut(name).chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    format!("`{plain}`")
}

/// Whether two runners' names are those of one test: the same words, or the end of them.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (words(one), words(other));
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    // One word (`test_a`) is the end of too many names to tell a test by.
    short == long || (short.len() >= 2 && long.ends_with(&short))
}

/// Whether a name is the end of a test's, word by word. A name with more words than a test has slipped somewhere.
fn is_end_of(name: &str, test: &str) -> bool {
    // One word is the end of too many names.
    let name = words(name);
    name.len() >= 2 && words(test).ends_with(&name)
}

/// Whether a name ends in one word.
fn ends_in(name: &str, word: &str) -> bool {
    matches!(words(word).as_slice(), [word] if words(name).last() == Some(word))
}

/// The words of a name, without what is the form of one runner's: `test_a (tests.test_cart.CartTest.test_a)` is the part in brackets.
fn words(name: &str) -> Vec<&str> {
    let full = name.strip_suffix(')').and_then(|name| name.split_once(" ("));
    let name = full.filter(|(test, full)| full.ends_with(test)).map_or(name, |(_, full)| full);
    let parts = name.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    parts.filter(|part| !part.is_empty() && !EXTENSIONS.contains(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_report::{RunKind, RunStatus};

    fn report(tests: &[(&str, TestStatus)], passed: Option<u64>) -> TestReport {
        let case = |(name, status): &(&str, TestStatus)| TestCase {
            name: (*name).to_owned(),
            status: *status,
            message: String::new(),
            file: None,
            line: None,
        };
        let tests = tests.iter().map(case).collect();
        let (status, kind) = (RunStatus::Failed, RunKind::Tests);
        TestReport { status, kind, tests, passed, ..TestReport::unreadable("pytest") }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    use TestStatus::{Failed, Passed, Skipped};

    #[test]
    fn a_slip_in_a_name_is_no_test_that_passes() {
        let report = report(&[("cart::adds", Failed), ("cart::empties", Passed), ("rates::doubles", Passed)], Some(2));
        let asked = names(&["cart::adds", "cart::emptes"]);
        let said = Asked::new(&asked, &report).unproven(None).unwrap();
        assert_eq!(said, "no test that was run is called `cart::emptes` (the nearest: `cart::empties`, `cart::adds`)");
        for seen in [&["cart::adds", "cart::empties"][..], &["cart::adds"], &[]] {
            let asked = names(seen);
            assert_eq!(Asked::new(&asked, &report).unproven(None), None, "{seen:?}");
        }
    }

    #[test]
    fn what_is_skipped_or_not_named_is_not_seen() {
        let skipped = report(&[("a", Skipped), ("b", Failed)], Some(0));
        let asked = names(&["a"]);
        assert_eq!(Asked::new(&asked, &skipped).unproven(None).unwrap(), "the test `a` is skipped");
        let quiet = report(&[("b", Failed)], Some(7));
        let said = Asked::new(&asked, &quiet).unproven(None).unwrap();
        assert!(said.contains("those that pass are not named"), "{said}");
    }

    #[test]
    fn a_result_file_names_tests_in_its_own_words_where_they_pass() {
        let quiet = report(&[("tests/test_b.py::test_b", Failed)], Some(7));
        let asked = names(&["tests/test_a.py::ATest::test_a"]);
        let filed = |name, status| report(&[(name, status)], Some(1));
        let unproven = |filed: &TestReport| Asked::new(&asked, &quiet).unproven(Some(filed)).is_some();
        assert!(!unproven(&filed("tests.test_a.ATest.test_a", Passed)));
        assert!(unproven(&filed("tests.test_a.ATest.test_a", Failed)), "it fails, and is not told to be mended");
        assert!(unproven(&filed("tests.test_a.ATest.test_ab", Passed)));
        assert!(is_same("test_a (tests.test_a.ATest.test_a)", "tests.test_a.ATest.test_a"));
    }

    #[test]
    fn another_form_of_a_name_means_the_test_where_it_means_no_other() {
        let report = report(
            &[
                ("test_a (tests.test_a.ATest.test_a)", Failed),
                ("test_b (tests.A.test_b)", Failed),
                ("test_b (tests.B.test_b)", Failed),
            ],
            Some(2),
        );
        for (name, means) in [
            ("tests.test_a.ATest.test_a", &[0][..]),
            ("ATest.test_a", &[0]),
            ("A.test_b", &[1]),
            ("tests.B.test_b", &[2]),
            // A name with parts behind it means all of them.
            ("test_b", &[1, 2]),
            ("test_c", &[]),
            ("test_x (tests.test_a.ATest.test_a)", &[]),
        ] {
            let asked = names(&[name]);
            let asked = Asked::new(&asked, &report);
            let found: Vec<usize> = (0..3).filter(|at| asked.means(&report.tests[*at].name)).collect();
            assert_eq!(found, means, "{name}");
        }
        let filed = |name| self::report(&[(name, Passed)], Some(1));
        let asked = names(&["test_c"]);
        assert_eq!(Asked::new(&asked, &report).unproven(Some(&filed("tests.C.test_c"))), None);
    }

    #[test]
    fn the_name_of_a_file_a_suite_or_a_check_means_what_is_in_it() {
        let report = report(
            &[
                ("lint: line 3", Failed),
                ("a.py::test_x[1]", Failed),
                ("a.py::test_xy", Passed),
                ("b", Failed),
                ("b/c", Failed),
            ],
            None,
        );
        let asked = names(&["lint", "a.py::test_x", "b"]);
        let asked = Asked::new(&asked, &report);
        assert!(asked.means("lint: line 3") && asked.means("a.py::test_x[1]") && asked.means("b"));
        assert!(!asked.means("a.py::test_xy") && !asked.means("b/c"), "a test of that very name is the one");
        assert_eq!(asked.unproven(None), None);
    }
}
