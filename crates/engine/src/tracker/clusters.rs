//! The failing tests as a backlog: one task for tests that seem to fail for one cause, the smallest first.
//!
//! Two tests seem to have one cause where their failures lead to the same file of the product, or say the same about a name in quotes.
//! A wrong guess costs a task too many or too large, never a wrong green: each is judged by its tests and by all that passed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::task::{Proof, Task, TaskStatus, USUAL_PRIORITY, one_line};
use crate::domain::test_report::{TestCase, TestReport};

/// Words that may be a path in a failure.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static PATHS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[\w.@+/\\-]*[\w@+-]\.[A-Za-z]\w{0,5}\b").unwrap());
/// A name in quotes: what a failure with one is about is no chance.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"['"`][A-Za-z_][\w./:-]{2,}['"`]"#).unwrap());
/// Python's traces have the innermost place at their end, others at their beginning.
const INNERMOST_LAST: &str = "most recent call last";
/// How many characters of what the first test said stand in a task.
const MOST_SAID: usize = 300;
/// How many characters an id has at most before what tells it from another.
const MOST_OF_ID: usize = 60;

/// A file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its path from the top.
    pub path: String,
    /// Whether it holds tests.
    pub is_test: bool,
}

/// The failing tests of a run as tasks. `named` tells which file of the repository a printed path is, where it is
/// one.
#[must_use]
pub fn clusters(report: &TestReport, named: &dyn Fn(&str) -> Option<Named>) -> Vec<Task> {
    let failing: Vec<&TestCase> = report.failing().collect();
    let keys: Vec<BTreeSet<String>> = failing.iter().map(|test| keys(test, named)).collect();
    let mut groups = joined(&keys);
    groups.sort_by_key(|group| (group.len(), group.first().copied()));
    let mut ids = BTreeSet::new();
    let task = |group: Vec<usize>| {
        let tests: Vec<&TestCase> = group.iter().filter_map(|at| failing.get(*at).copied()).collect();
        // A test can have failed twice in one report, so the names are told apart by a set below.
        let first = tests.first()?;
        let place = group.iter().find_map(|at| suspect(failing.get(*at)?, named));
        let place = place.or_else(|| file_of(first, named)).unwrap_or_else(|| first.name.clone());
        let names: BTreeSet<String> = tests.iter().map(|test| test.name.clone()).collect();
        let count =
            if names.len() == 1 { "1 failing test".to_owned() } else { format!("{} failing tests", names.len()) };
        let said: String = one_line(&first.message).chars().take(MOST_SAID).collect();
        Some(Task {
            id: unique(&place, &mut ids),
            title: format!("{}: {count}", one_line(&place)),
            description: format!("{}: {said}", one_line(&first.name)),
            status: TaskStatus::Open,
            priority: USUAL_PRIORITY,
            depends_on: Vec::new(),
            proof: Proof::Tests(names.into_iter().collect()),
        })
    };
    groups.into_iter().filter_map(task).collect()
}

/// Keys that a test shares with others of the same cause.
fn keys(test: &TestCase, named: &dyn Fn(&str) -> Option<Named>) -> BTreeSet<String> {
    // The last line with a name in quotes says mostly what was wrong. Lines above it lead there.
    let said = test.message.lines().rev().map(str::trim).find(|line| QUOTED.is_match(line));
    let place = suspect(test, named).or_else(|| file_of(test, named));
    let mut keys: BTreeSet<String> = said.map(|line| format!("said {line}")).into_iter().collect();
    keys.extend(place.map(|file| format!("file {file}")));
    keys
}

/// The file of the product that a failure leads to.
fn suspect(test: &TestCase, named: &dyn Fn(&str) -> Option<Named>) -> Option<String> {
    let mut files = PATHS.find_iter(&test.message).filter_map(|path| named(path.as_str()));
    // A failure leads through its test as well. The product's file is the one to mend.
    let mut files = files.by_ref().filter(|file| !file.is_test).map(|file| file.path);
    if test.message.contains(INNERMOST_LAST) { files.last() } else { files.next() }
}

/// The file that a failing test names itself by.
fn file_of(test: &TestCase, named: &dyn Fn(&str) -> Option<Named>) -> Option<String> {
    let printed = test.file.as_ref()?;
    Some(named(printed).map_or_else(|| printed.clone(), |file| file.path))
}

/// The numbers of those that share a key with one another, directly or through others.
fn joined(keys: &[BTreeSet<String>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(BTreeSet<&str>, Vec<usize>)> = Vec::new();
    for (number, own) in keys.iter().enumerate() {
        let mut group: (BTreeSet<&str>, Vec<usize>) = (own.iter().map(String::as_str).collect(), vec![number]);
        let (same, others): (Vec<_>, Vec<_>) =
            // A test can join two groups that had nothing in common before.
            std::mem::take(&mut groups).into_iter().partition(|(held, _)| !held.is_disjoint(&group.0));
        for (held, numbers) in same {
            group.0.extend(held);
            group.1.extend(numbers);
        }
        // The order of the report stays within a group, however its parts came together.
        group.1.sort_unstable();
        groups = others;
        groups.push(group);
    }
    groups.into_iter().map(|(_, numbers)| numbers).collect()
}

/// An id after a place, told from those that were given already.
fn unique(place: &str, given: &mut BTreeSet<String>) -> String {
    let place: String = one_line(place).chars().take(MOST_OF_ID).collect();
    let numbered = |number: u32| if number == 1 { place.clone() } else { format!("{place}-{number}") };
    // Counted on until one is free: two places can be alike in their first sixty signs.
    let free = (1_u32..).map(numbered).find(|id| !given.contains(id)).unwrap_or_default();
    given.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::test_report::TestStatus;

    fn case(name: &str, file: Option<&str>, message: &str) -> TestCase {
        let (name, message) = (name.to_owned(), message.to_owned());
        TestCase { name, status: TestStatus::Failed, message, file: file.map(str::to_owned), line: None }
    }

    fn told(tests: Vec<TestCase>) -> Vec<(String, Vec<String>)> {
        let mut report = testlog::read(&b""[..], None).unwrap();
        report.tests = tests;
        let named = |path: &str| {
            let path = path.trim_start_matches("/w/").to_owned();
            let is_known = path.ends_with(".py") && !path.contains("unknown");
            is_known.then(|| Named { is_test: path.contains("test_"), path })
        };
        let of = |task: Task| match task.proof {
            Proof::Tests(tests) => (task.id, tests),
            Proof::Command(_) | Proof::Both { .. } | Proof::Nothing => unreachable!("tests"),
        };
        clusters(&report, &named).into_iter().map(of).collect()
    }

    #[test]
    fn tests_of_one_cause_are_one_task_and_the_smallest_comes_first() {
        let trace = |file: &str| {
            format!(
                "Traceback (most recent call last):\n  File \"/w/tests/test_x.py\", line 3\n  File \"/w/shop/{file}\", line 9\nTypeError: no"
            )
        };
        let found = told(vec![
            case("a", Some("tests/test_a.py"), &trace("cart.py")),
            case("b", Some("tests/test_b.py"), &trace("cart.py")),
            case("c", Some("tests/test_c.py"), &trace("tax.py")),
            case("d", Some("tests/test_d.py"), "AssertionError: 1 != 2"),
            case("e", Some("tests/test_e.py"), "AssertionError: 1 != 2"),
            case("f", None, "ModuleNotFoundError: No module named 'shop.rates'"),
            case("g", None, "ModuleNotFoundError: No module named 'shop.rates'"),
            case("h", None, ""),
        ]);
        let names = |tests: &[&str]| tests.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                ("shop/tax.py".to_owned(), names(&["c"])),
                ("tests/test_d.py".to_owned(), names(&["d"])),
                ("tests/test_e.py".to_owned(), names(&["e"])),
                ("h".to_owned(), names(&["h"])),
                ("shop/cart.py".to_owned(), names(&["a", "b"])),
                ("f".to_owned(), names(&["f", "g"])),
            ]
        );
    }
}
