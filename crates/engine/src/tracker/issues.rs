//! Issues with a label as a backlog. Their text is data that anybody may have written: it names tests, and commands only where its
//! author may be believed.

use std::sync::LazyLock;

use regex::Regex;

use super::next::validated;
use super::task::{LOWEST_PRIORITY, Proof, Task, TaskStatus, USUAL_PRIORITY, command_in, one_line, test_in};

/// The most characters of an issue's text that a task holds.
const MOST_CHARS: usize = 16_000;
/// The most issues that one waits for.
const MOST_AWAITED: usize = 20;
/// The numbers of issues in a line.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"#([1-9][0-9]{0,8})\b").unwrap());
/// A mark before what a line says: a list's, a box's.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static MARKS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:[-*+]\s+|[0-9]+[.)]\s+)?(?:\[[ xX]\]\s+)?").unwrap());

/// An issue as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueText {
    /// Its number.
    pub number: u64,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// Whether its author may have commands run here.
    pub is_trusted: bool,
}

impl IssueText {
    /// Whether it names a command to be run.
    #[must_use]
    pub fn names_a_command(&self) -> bool {
        // `the test x passes` with x in backticks also reads like a command.
        self.lines().any(|line| test_in(line).is_none() && command_in(line).is_some())
    }

    /// The issues that it waits for.
    #[must_use]
    pub fn awaited(&self) -> Vec<u64> {
        let waits = |line: &&str| {
            let line = line.to_ascii_lowercase();
            line.starts_with("depends on ") || line.starts_with("blocked by ")
        };
        let numbers = self.lines().filter(waits).flat_map(|line| NUMBERS.captures_iter(line));
        let numbers = numbers.filter_map(|found| found.get(1)?.as_str().parse().ok());
        // An issue that names itself would wait for ever.
        let mut numbers: Vec<u64> = numbers.filter(|number| *number != self.number).take(MOST_AWAITED).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.body
            .lines()
            .map(|line| MARKS.find(line).map_or(line, |mark| line.get(mark.end()..).unwrap_or(line)).trim())
    }

    /// The proof that it is done: all of its tests and all of its commands. An issue that names a command of somebody's who may have none run
    /// is not provable: its tests alone would leave something out that it asks for.
    fn proof(&self) -> Proof {
        if self.names_a_command() && !self.is_trusted {
            return Proof::Nothing;
        }
        let (tests, others): (Vec<&str>, Vec<&str>) = self.lines().partition(|line| test_in(line).is_some());
        let commands: Vec<String> = others.into_iter().filter_map(command_in).map(str::to_owned).collect();
        Proof::of(tests.into_iter().filter_map(test_in).map(str::to_owned).collect(), &commands)
    }

    /// Labels `P0` to `P4`, or `priority:0` to `priority:4`.
    fn priority(&self) -> u8 {
        let of = |label: &String| {
            // `priority: 1` and `Priority:1` are both in use.
            let label = label.to_ascii_lowercase().replace(' ', "");
            let number = label.strip_prefix("priority:").or_else(|| label.strip_prefix('p'))?;
            number.parse().ok().filter(|number| *number <= LOWEST_PRIORITY)
        };
        self.labels.iter().find_map(of).unwrap_or(USUAL_PRIORITY)
    }
}

/// The id of an issue's task, by which git hosts link it.
#[must_use]
pub fn issue_id(number: u64) -> String {
    format!("#{number}")
}

/// Open issues as tasks. `is_open` tells of an issue that is not among them whether it is open still.
#[must_use]
pub fn issue_tasks(issues: &[IssueText], is_open: &dyn Fn(u64) -> bool) -> Vec<Task> {
    let is_listed = |number: &u64| issues.iter().any(|issue| issue.number == *number);
    let task = |issue: &IssueText| {
        let (listed, others): (Vec<u64>, Vec<u64>) = issue.awaited().into_iter().partition(is_listed);
        // A closed issue that is not listed holds nobody up any more.
        let waits_outside = others.into_iter().any(is_open);
        Task {
            id: issue_id(issue.number),
            title: one_line(&issue.title),
            description: issue.body.chars().take(MOST_CHARS).collect(),
            status: if waits_outside { TaskStatus::Blocked } else { TaskStatus::Open },
            priority: issue.priority(),
            depends_on: listed.into_iter().map(issue_id).collect(),
            proof: issue.proof(),
        }
    };
    let tasks: Vec<Task> = issues.iter().map(task).collect();
    // Whoever writes that issues wait for one another in a circle must not keep the others from being worked on.
    validated(tasks.clone())
        .unwrap_or_else(|_circle| tasks.into_iter().map(|task| Task { depends_on: Vec::new(), ..task }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(number: u64, body: &str, is_trusted: bool) -> IssueText {
        IssueText {
            number,
            title: format!("Issue\u{7} {number}"),
            body: body.to_owned(),
            labels: Vec::new(),
            is_trusted,
        }
    }

    #[test]
    fn an_issue_is_proven_by_a_test_or_by_a_command_of_who_may_be_believed() {
        let of = |body: &str, is_trusted| issue(1, body, is_trusted).proof();
        let tests = |names: &[&str]| Proof::Tests(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(
            of("It breaks.\n\n- [ ] the test `a::b` passes\n- Failing test: c d\n", false),
            tests(&["a::b", "c d"])
        );
        let command = "## Done when\n\n1. `make lint` passes\n2. It is nice\n";
        assert_eq!(of(command, true), Proof::Command("make lint".to_owned()));
        assert_eq!(of(command, false), Proof::Nothing, "nobody else's command is run");
        assert!(issue(1, command, false).names_a_command());
        let both = "Failing test: c d\n- `make lint` passes\n";
        let wanted = Proof::Both { tests: vec!["c d".to_owned()], command: "make lint".to_owned() };
        assert_eq!((of(both, true), of(both, false)), (wanted, Proof::Nothing), "neither is left out in silence");
        assert_eq!(of("* `a` passes\n* `b` succeeds", true), Proof::Command("( a\n) && ( b\n)".to_owned()));
        for nothing in ["", "please fix", "`rm -rf /`", "Failing test: ``", "the test passes"] {
            assert_eq!(of(nothing, true), Proof::Nothing, "{nothing}");
        }
    }

    #[test]
    fn issues_wait_for_each_other_and_for_open_ones_elsewhere_but_not_in_a_circle() {
        let mut first = issue(1, "Depends on #2, #1 and #9", false);
        first.labels = vec!["bug".to_owned(), "P1".to_owned()];
        let second = issue(2, "- blocked by #8\n", false);
        let tasks = issue_tasks(&[first.clone(), second.clone()], &|number| number == 8);
        assert_eq!((tasks[0].id.as_str(), tasks[0].priority, &tasks[0].depends_on), ("#1", 1, &vec!["#2".to_owned()]));
        assert_eq!((tasks[0].status, tasks[1].status), (TaskStatus::Open, TaskStatus::Blocked));
        assert_eq!(tasks[0].title, "Issue 1");
        let back = IssueText { body: "depends on #1".to_owned(), ..second };
        let tasks = issue_tasks(&[first, back], &|_number| false);
        assert!(tasks.iter().all(|task| task.depends_on.is_empty()));
    }

    proptest::proptest! {
        #[test]
        fn whatever_issues_say_makes_a_backlog_of_them_all(bodies in proptest::collection::vec("(depends on |blocked by |#[0-9]{1,3}|`|passes|the test |\n|- \\[ \\] |\\PC){0,12}", 0..8)) {
            let issues: Vec<IssueText> = bodies.iter().zip(1..).map(|(body, number)| issue(number, body, false)).collect();
            let tasks = issue_tasks(&issues, &|number| number % 2 == 0);
            proptest::prop_assert_eq!(tasks.len(), issues.len());
            proptest::prop_assert!(validated(tasks.clone()).is_ok());
            let commands = tasks.iter().any(|task| matches!(task.proof, Proof::Command(_)));
            proptest::prop_assert!(!commands, "a stranger's command");
        }
    }
}
