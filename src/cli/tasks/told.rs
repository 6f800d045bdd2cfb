//! Output about a backlog: lines for programs, as the seed names its events, and words for people.

use serde_json::{Map, Value, json};

use super::super::environment::Environment;
use super::super::output::{print, print_set, say};
use super::book::Book;
use super::ending::SHARED;
use super::entry::Entry;
use super::of_run::{Told, waits};
use crate::config::Format;
use crate::domain::clock::Timestamp;
use crate::domain::units::{Charge, MicroUsd};
use crate::report::plain;
use crate::report::words::count;
use crate::tracker::TaskStatus;

/// Tells in the form that was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Teller<'e> {
    pub(super) format: Format,
    pub(super) environment: &'e Environment,
}

impl Teller<'_> {
    /// An event: a line for programs, where they asked for lines.
    pub(super) fn event(&self, kind: &str, at: &Timestamp, payload: Value) {
        if self.format != Format::Jsonl {
            return;
        }
        let mut line = Map::new();
        line.insert("type".to_owned(), json!(kind));
        line.insert("timestamp".to_owned(), json!(at.0));
        if let Value::Object(payload) = payload {
            line.extend(payload);
        }
        let _closed = print(&format!("{}\n", Value::Object(line)));
    }

    /// A line for people.
    pub(super) fn word(&self, text: &str) {
        if !self.environment.console().is_quiet() {
            // A title or a reason may hold a line that a runner would take for a command.
            say(&harmless(text));
        }
    }

    /// The end: a table for people, a document for programs.
    pub(super) fn end(&self, book: &Book, reason: &str) -> anyhow::Result<()> {
        match self.format {
            Format::Text => print_set(&table(book, reason), self.environment.console()).map(drop),
            Format::Json => {
                let text = serde_json::to_string_pretty(&document(book, reason)).unwrap_or_default();
                print(&format!("{text}\n")).map(drop)
            }
            Format::Jsonl => {
                let Value::Object(mut line) = document(book, reason) else { return Ok(()) };
                line.insert("type".to_owned(), json!("backlog"));
                print(&format!("{}\n", Value::Object(line))).map(drop)
            }
        }
    }
}

fn document(book: &Book, reason: &str) -> Value {
    let tasks: Vec<Value> = book.told().iter().map(Told::document).collect();
    let cost = spent(book);
    json!({
        "backlogId": book.backlog.backlog_id,
        "source": book.backlog.source,
        "stopReason": reason,
        "tasksCompleted": completed(book),
        "totalTasks": book.shown().count(),
        "costMicroUsd": cost.known.0,
        "unknownCostMicroUsd": cost.unknown.0,
        "maxCostMicroUsd": book.backlog.max_cost.0,
        "tasks": tasks,
    })
}

pub(super) fn completed(book: &Book) -> usize {
    book.shown().filter(|entry| entry.task.status == TaskStatus::Completed).count()
}

fn spent(book: &Book) -> Charge {
    let known: MicroUsd = book.entries.iter().map(|entry| entry.cost.known).sum();
    let unknown: MicroUsd = book.entries.iter().map(|entry| entry.cost.unknown).sum();
    Charge { known, unknown }
}

/// The table of a backlog that was worked on.
fn table(book: &Book, reason: &str) -> String {
    let tasks = book.told();
    let (is_empty, halted) = (tasks.is_empty(), halted(book, waits(&tasks)));
    let why = match reason {
        // Two ends have this word: an empty source, and tasks that all wait for something.
        "no_tasks" if is_empty => "there is none",
        "completed" => "every task is done",
        "max_iterations" => "as many tasks were worked on as --max-tasks allows",
        "interrupted" => "interrupted; the same command continues it",
        "error" => "a task could not be worked on; once that is mended, the same command continues",
        _ => halted.as_deref().unwrap_or("no other task is ready"),
    };
    let (done, cost) = (completed(book), spent(book));
    let all = book.total();
    // Cancelled tasks are no part of the sum, or a backlog could never be complete.
    let gone = book.shown().count() - all;
    let mark = if reason == "completed" || is_empty { "✔" } else { "✖" };
    let gone = if gone == 0 { String::new() } else { format!(" ({gone} cancelled)") };
    let mut text = format!("{mark} {done} of {all} tasks completed{gone}, {cost}: {why}\n\n");
    text.push_str(&lines(tasks));
    text
}

/// What the tasks that are left need, where it is money or a limit's end.
fn halted(book: &Book, waits: Option<String>) -> Option<String> {
    // A cap that other runs share is told by its task: raising this one's own would not help.
    let is_poor = |entry: &&Entry| entry.wants_money && entry.task.is_open() && !entry.reason.contains(SHARED);
    let poor = u64::try_from(book.shown().filter(is_poor).count()).unwrap_or(u64::MAX);
    let money = (poor > 0).then(|| {
        let (some, cap) = (count(poor, "task"), book.backlog.max_cost);
        format!("{cap} is not enough for {some}; raise --max-cost-usd, and the same command continues")
    });
    let parts: Vec<String> = money.into_iter().chain(waits).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// A line in which a title or a reason is neither a command to a runner nor turns around what stands beside it.
pub(super) fn harmless(line: &str) -> String {
    let indent: String = line.chars().take_while(|letter| *letter == ' ').collect();
    plain::inert(&format!("{indent}{}", plain::command(line)))
}

/// A line a task, and below it the reason for its status or the places to look at in its change.
pub(super) fn lines<'e>(tasks: impl IntoIterator<Item = Told<'e>>) -> String {
    let mut text = String::new();
    for told in tasks {
        let entry = told.entry;
        let mark = match entry.task.status {
            TaskStatus::Completed => "✔",
            // A task that was never tried has not failed.
            TaskStatus::Open if entry.tries == 0 => "·",
            TaskStatus::InProgress => "…",
            TaskStatus::Open => "✖",
            TaskStatus::Blocked => "!",
            TaskStatus::Cancelled => "–",
        };
        let commit = entry.commit.as_ref().and_then(|commit| commit.0.get(..7)).map(|short| format!("  {short}"));
        let cost = if entry.tries == 0 { String::new() } else { format!("  {}", entry.cost) };
        let id = &entry.task.id;
        // Titles made of failing tests begin with the id, which stands in front already.
        let title = entry.task.title.strip_prefix(&format!("{id}: ")).unwrap_or(&entry.task.title);
        let head = format!("  {mark} {id}  {title}{cost}{}", commit.unwrap_or_default());
        text.push_str(&harmless(&head));
        text.push('\n');
        if !entry.reason.is_empty() && entry.task.status != TaskStatus::Completed {
            text.push_str(&harmless(&format!("      {}", entry.reason)));
            text.push('\n');
        }
        for place in told.places() {
            text.push_str(&harmless(&format!("      {place}")));
            text.push('\n');
        }
    }
    text
}
