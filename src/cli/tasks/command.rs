//! `upshift tasks`: a backlog looked at and added to, without a model.

use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;

use super::super::environment::{Environment, current_dir};
use super::super::form::Form;
use super::super::plan::{self, TestFlags};
use super::super::setup;
use super::super::{Failure, print, print_set, say};
use super::entry::Entry;
use super::matrix::{self, MatrixArgs};
use super::named::source;
use super::of_run::Told;
use super::orders::OrderArgs;
use super::{load, orders, reset, told};
use crate::tracker::{List, Proof, Source, Task, TaskFault, TaskStatus, next};

/// The arguments of `tasks`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the tasks of a source; `failing-tests` runs the tests to find them
    List(Look),
    /// Show the task that would be worked on first; exits 1 if none is ready
    Next(Look),
    /// Print a backlog as a job matrix for `fromJSON`: the tasks of each job and its share of the budget
    Matrix(MatrixArgs),
    /// Add a task to a prd.json or a YAML list
    Add {
        /// The prd.json or YAML list
        #[arg(long, value_name = "SOURCE")]
        tasks: String,
        /// Id of the task, unique in the file
        id: String,
        /// Title of the task, one line
        title: String,
        /// Command that fails until the task is done
        #[arg(long, value_name = "CMD", conflicts_with = "test")]
        command: Option<String>,
        /// Failing test that passes when the task is done; repeatable
        #[arg(long, value_name = "NAME")]
        test: Vec<String>,
        /// Priority, 0 (first) to 4 (last)
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=4))]
        priority: u8,
    },
    /// Show the progress of the last backlog here, and the process that works on it
    Status {
        /// Audit log of the backlog [default: .upshift/audit.db]
        #[arg(long, value_name = "PATH")]
        audit_db: Option<String>,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: Form,
    },
    /// Mark tasks as not done: in a prd.json, or in the log for any other source
    Reset {
        /// Task source: `failing-tests`, `issues:LABEL`, a prd.json or a YAML list
        #[arg(long, value_name = "SOURCE")]
        tasks: String,
        /// Audit log that knows which tasks are done [default: .upshift/audit.db]
        #[arg(long, value_name = "PATH")]
        audit_db: Option<String>,
        /// Ids of the tasks [default: all]
        ids: Vec<String>,
    },
}

#[derive(Debug, ClapArgs)]
struct Look {
    /// Task source: `failing-tests`, `issues:LABEL`, a prd.json or a YAML list
    #[arg(long, value_name = "SOURCE")]
    tasks: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,
    // Says of a list in YAML and of issues which tasks are done: they do not.
    #[command(flatten)]
    place: OrderArgs,
    #[command(flatten)]
    tests: TestFlags,
}

/// Carries it out.
pub(crate) fn run(args: Args, environment: &Environment) -> anyhow::Result<u8> {
    match args.verb {
        Verb::List(look) => {
            let (form, tasks) = (look.format, read(look, environment)?);
            show(&tasks, form, environment)
        }
        Verb::Next(look) => {
            let (form, tasks) = (look.format, read(look, environment)?);
            // Nothing stands aside here: what the log knows of earlier tries is not asked.
            match next(&tasks, &std::collections::BTreeSet::new()) {
                Some(task) => show(std::slice::from_ref(task), form, environment),
                None => {
                    // A program reads a document, whatever the answer.
                    if form == Form::Json {
                        show(&[], form, environment)?;
                    }
                    Err(Failure::with_code(crate::domain::outcome::EXIT_NOT_FIXED, "no task is ready"))
                }
            }
        }
        Verb::Matrix(args) => matrix::run(args, environment),
        Verb::Add { tasks, id, title, command, test, priority } => {
            let proof = match command {
                Some(command) => Proof::Command(command),
                None if test.is_empty() => Proof::Nothing,
                None => Proof::Tests(test),
            };
            let (description, depends_on) = (String::new(), Vec::new());
            let status = TaskStatus::Open;
            let task = Task { id, title, description, status, priority, depends_on, proof };
            add(&source(&tasks)?, task, environment)
        }
        Verb::Status { audit_db, format } => orders::status(audit_db.as_deref(), format, environment),
        Verb::Reset { tasks, ids, audit_db } => reset::run(&source(&tasks)?, &ids, audit_db.as_deref(), environment),
    }
}

fn read(look: Look, environment: &Environment) -> anyhow::Result<Vec<Task>> {
    // In a job the event's gate would refuse a listing, which runs no model and pushes nothing.
    let quiet = environment.without_event();
    let source = source(&look.tasks)?;
    let resolved = plan::resolve_to_judge(look.tests, &quiet, None)?;
    let mut tasks = setup::block_on(load::tasks(&source, &resolved, (&quiet, environment)))?;
    orders::mark_done(&source, &look.place, (&resolved.checkout, environment), &mut tasks)?;
    Ok(tasks)
}

fn show(tasks: &[Task], form: Form, environment: &Environment) -> anyhow::Result<u8> {
    match form {
        Form::Json => {
            let text = serde_json::to_string_pretty(&json!({ "tasks": tasks }))?;
            print(&format!("{text}\n"))
        }
        Form::Text if tasks.is_empty() => print("no tasks\n"),
        Form::Text => {
            let entries: Vec<Entry> = tasks.iter().cloned().map(with_reason).collect();
            print_set(&told::lines(entries.iter().map(Told::plain)), environment.console())
        }
    }
}

/// A task as it is listed: with its tests, its command, or why it cannot be worked on.
fn with_reason(task: Task) -> Entry {
    let command = task.proof.command().map(|command| format!("`{command}`"));
    let named: Vec<String> = task.proof.tests().iter().cloned().chain(command).collect();
    let reason = if named.is_empty() { "no test or command proves it".to_owned() } else { named.join(", ") };
    Entry { reason, ..Entry::of(task) }
}

fn add(source: &Source, task: Task, environment: &Environment) -> anyhow::Result<u8> {
    let checkout = current_dir()?;
    let Some(path) = load::file_of(source, &checkout) else {
        return Err(Failure::usage(
            "tasks can be added to a file only; otherwise write a failing test or open an issue\n→ Fix: name a prd.json or a list in YAML with --tasks",
        ));
    };
    let wrong = |fault: TaskFault| load::wrong(&path, &fault);
    match source {
        Source::Prd(_) => {
            let text = load::text_of(&path)?;
            let mut prd = load::prd(&path)?;
            prd.add(&task).map_err(wrong)?;
            // The text as it was read goes along, so that a change by somebody else meanwhile is seen.
            orders::write_list(&path, (&text, &prd.write()), environment)?;
        }
        Source::List(_) | Source::FailingTests | Source::Issues(_) => {
            // The first task of a list makes the list.
            let text = if path.exists() { load::text_of(&path)? } else { "tasks:\n".to_owned() };
            orders::write_list(&path, (&text, &List::with(&text, &task).map_err(wrong)?), environment)?;
        }
    }
    if task.proof == Proof::Nothing {
        say(&format!(
            "⚠ {} is not worked on before something proves it: name its failing tests there (or with --test), or a command",
            task.id.trim()
        ));
    }
    print(&format!("added {} to {}\n", task.id.trim(), path.display()))
}
