//! A task: one thing to do, and what proves that it is done.

use serde::{Deserialize, Serialize};

/// The lowest priority. The highest is 0.
pub(super) const LOWEST_PRIORITY: u8 = 4;
/// The priority of a task that names none.
pub(super) const USUAL_PRIORITY: u8 = 2;
/// The longest id: it stands in commit messages and on one line of a table.
const MAX_ID_CHARS: usize = 80;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its name within its source, unique there.
    pub id: String,
    /// The subject, in a line.
    pub title: String,
    /// The details, in any length.
    pub description: String,
    /// How it stands.
    pub status: TaskStatus,
    /// 0 is first, 4 is last.
    pub priority: u8,
    /// The ids of the tasks that must be completed before it.
    pub depends_on: Vec<String>,
    /// The proof that it is done.
    pub proof: Proof,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody has begun.
    Open,
    /// It was begun.
    InProgress,
    /// It is done, and its change is on the branch.
    Completed,
    /// A person must say something first.
    Blocked,
    /// Nobody wants it any more.
    Cancelled,
}

impl TaskStatus {
    /// The word in lists and files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The proof that a task is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// Failing tests, by the names that their runner prints: they pass, and none that passed fails.
    Tests(Vec<String>),
    /// A command that fails and has to succeed, beside the repository's own tests.
    Command(String),
    /// Failing tests and a command: all of it has to hold.
    Both {
        /// The tests.
        tests: Vec<String>,
        /// The command.
        command: String,
    },
    /// Nothing that could be run: such a task is told and not begun.
    Nothing,
}

/// A fault of a backlog.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n→ Fix: {fix}")]
pub struct TaskFault {
    /// The fault, and the task that has it.
    pub what: String,
    /// The way to fix it.
    pub fix: String,
}

impl Proof {
    /// The proof by all of these tests and all of these commands.
    pub(super) fn of(tests: Vec<String>, commands: &[String]) -> Self {
        let command = match commands {
            [] => None,
            [one] => Some(one.clone()),
            // A comment in one must not take the next along.
            many => Some(many.iter().map(|command| format!("( {command}\n)")).collect::<Vec<_>>().join(" && ")),
        };
        match (tests.is_empty(), command) {
            (true, None) => Self::Nothing,
            (true, Some(command)) => Self::Command(command),
            (false, None) => Self::Tests(tests),
            (false, Some(command)) => Self::Both { tests, command },
        }
    }

    /// The failing tests that are to pass.
    #[must_use]
    pub fn tests(&self) -> &[String] {
        match self {
            Self::Tests(tests) | Self::Both { tests, .. } => tests,
            Self::Command(_) | Self::Nothing => &[],
        }
    }

    /// The command that is to succeed.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Command(command) | Self::Both { command, .. } => Some(command),
            Self::Tests(_) | Self::Nothing => None,
        }
    }
}

impl TaskFault {
    pub(super) fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

impl Task {
    /// Whether there is something left to do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.status, TaskStatus::Open | TaskStatus::InProgress)
    }
}

/// Refuses a file to which a task was added, unless that task is read again from it as it was meant.
///
/// # Errors
/// The fault, with the way to add it by hand.
pub(super) fn is_read_again(read: &[Task], task: &Task, form: &str) -> Result<(), TaskFault> {
    // The description is left out: it holds the criteria in one form and nothing in the other.
    let parts = |task: &Task| (task.id.clone(), one_line(&task.title), task.priority, task.depends_on.clone());
    match read.last() {
        Some(last) if parts(last) == parts(task) && last.proof == task.proof => Ok(()),
        Some(_) | None => {
            let what = format!("written here, {} would be read back differently", task.id);
            Err(TaskFault::new(
                what,
                format!("put a command with backticks into a script; or add the task by hand: {form}"),
            ))
        }
    }
}

/// An id as it may stand in a commit message and a table.
pub(super) fn checked_id(id: &str, place: &str) -> Result<String, TaskFault> {
    let id = id.trim();
    if id.is_empty() || id.chars().count() > MAX_ID_CHARS || id.contains(char::is_control) {
        let fix = format!("give it an `id` of one line and at most {MAX_ID_CHARS} characters, such as `US-001`");
        return Err(TaskFault::new(format!("{place} has no usable id"), fix));
    }
    Ok(id.to_owned())
}

/// A text in one line, without what a terminal would interpret.
pub(super) fn one_line(text: &str) -> String {
    text.split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The failing test that a line names: `Failing test: NAME`, or `the test NAME passes`.
pub(super) fn test_in(line: &str) -> Option<&str> {
    let line = line.trim();
    let lower = line.to_ascii_lowercase();
    let named = if lower.starts_with("failing test:") {
        // Lower case by ASCII keeps the lengths, so the places fit the line as it was written.
        line.get("failing test:".len()..)?
    } else if lower.starts_with("the test ") && lower.ends_with(" passes") {
        line.get("the test ".len()..line.len() - " passes".len())?
    } else {
        return None;
    };
    let name = named.trim().trim_matches('`').trim();
    (!name.is_empty()).then_some(name)
}

/// The command that a sentence names in backticks, where it says that it passes or succeeds: "`make lint` passes".
pub(super) fn command_in(criterion: &str) -> Option<&str> {
    let mut parts = criterion.split('`');
    let (before, command, after) = (parts.next()?, parts.next()?.trim(), parts.next()?.trim_start().to_lowercase());
    let promises = ["pass", "succeed", "exits 0", "exits with 0", "is green"];
    // "`make lint` passed before" tells of the past, and promises nothing.
    let promised = promises.iter().any(|word| after.starts_with(word)) && !after.starts_with("passed");
    // "it must not be that `make` passes" asks for the opposite.
    let denied = before.to_lowercase().split_whitespace().any(|word| matches!(word, "not" | "never" | "no"));
    // Two commands in one sentence: which of them is meant cannot be told.
    (parts.next().is_none() && promised && !denied && !command.is_empty()).then_some(command)
}
