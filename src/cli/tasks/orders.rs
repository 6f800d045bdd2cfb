//! `upshift pause`, `resume`, `add` and `remove`: orders to the process that works off a backlog here, and `tasks status`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::super::environment::{Environment, current_dir};
use super::super::form::Form;
use super::super::{Failure, plan, print, print_set, setup, stop_sources};
use super::again::log_flag;
use super::book;
use super::entry::Entry;
use super::of_run::Told;
use super::ready::{deaf, who};
use super::told::lines;
use super::{load, lost, trusted};
use crate::audit::{Holder, Reader, Store};
use crate::domain::outcome::{EXIT_NOT_FIXED, EXIT_SUCCESS};
use crate::domain::shell::quote_path;
use crate::domain::units::CommitSha;
use crate::policy::course::Status;
use crate::redact::Redactor;
use crate::tracker::{Source, Task, TaskStatus};

/// How often it is looked for the answer of the process, which itself looks four times a second.
const PATIENCE: u32 = 100;
const BEAT: Duration = Duration::from_millis(50);

/// The arguments of `pause`.
#[derive(Debug, ClapArgs)]
pub(crate) struct OrderArgs {
    /// Audit log of the backlog [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
}

/// The arguments of `add` and `remove`.
#[derive(Debug, ClapArgs)]
pub(crate) struct CountArgs {
    /// Number of tasks
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    number: u32,
    #[command(flatten)]
    place: OrderArgs,
}

/// Asks it to pause.
pub(crate) fn pause(args: &OrderArgs, environment: &Environment) -> anyhow::Result<u8> {
    ask("pause", 0, args, environment)
}

/// Asks it to work on more tasks.
pub(crate) fn add(args: &CountArgs, environment: &Environment) -> anyhow::Result<u8> {
    ask("add", args.number, &args.place, environment)
}

/// Asks it to work on fewer.
pub(crate) fn remove(args: &CountArgs, environment: &Environment) -> anyhow::Result<u8> {
    ask("remove", args.number, &args.place, environment)
}

/// Asks it to go on, where a process is paused or about to be. `None` where none is, and `resume` means a run.
pub(crate) fn resume(audit_db: Option<&str>, environment: &Environment) -> anyhow::Result<Option<u8>> {
    let place = OrderArgs { audit_db: audit_db.map(str::to_owned) };
    // What is wrong with a log is told by whoever needs it.
    let Ok(Some(store)) = open(&place, &current_dir()?, environment) else { return Ok(None) };
    let here = current_dir()?.display().to_string();
    let holder = store.backlog_holder().map_err(|error| book::failed(&error))?;
    // One log may serve several checkouts. The order goes to the process that holds the lock.
    let folder = holder.as_ref().map_or(&here, |holder| &holder.cwd);
    let last = store.last_backlog(None, folder).map_err(|error| book::failed(&error))?;
    let pauses = [Status::Pausing.as_str(), Status::Paused.as_str()];
    let is_paused = last.as_ref().is_some_and(|(backlog, _)| pauses.contains(&backlog.course.status.as_str()));
    match (holder, last) {
        (Some(_), _) if is_paused => ask("resume", 0, &place, environment).map(Some),
        (Some(holder), _) if holder.cwd == here && deaf(holder.work).is_none() => Err(Failure::with_code(
            EXIT_NOT_FIXED,
            format!("the backlog here is not paused ({} works on it)", who(&holder)),
        )),
        // A process that is gone cannot be told anything, and a new one continues by itself.
        (None, Some((backlog, _))) if is_paused && backlog.stop_reason.is_none() => Err(Failure::usage(format!(
            "the backlog of {} was paused here, and its process is gone\n→ Fix: `upshift run --tasks {}{}` continues it, with the other flags that it was started with",
            backlog.source,
            quote_path(&backlog.source),
            log_flag(audit_db)
        ))),
        (_, _) => Ok(None),
    }
}

/// The log, where there is one.
pub(super) fn open(args: &OrderArgs, checkout: &Path, environment: &Environment) -> anyhow::Result<Option<Store>> {
    let path = plan::audit_path(args.audit_db.as_deref(), environment, checkout);
    let location = setup::locate(&path, checkout, environment);
    // Opening would make a log where somebody only asks.
    if !location.live.exists() {
        // A log that somebody names should be there, and be one.
        if args.audit_db.is_some() {
            Reader::open(&location).map_err(|error| setup::audit_failure(&error))?;
        }
        return Ok(None);
    }
    let redactor = Redactor::new(&environment.secrets());
    Store::open(&location, Arc::new(redactor)).map(Some).map_err(|error| setup::audit_failure(&error))
}

/// Marks the tasks of a source that the log says are done, where there is a log and the source does not say so itself.
pub(super) fn mark_done(
    source: &Source,
    args: &OrderArgs,
    (checkout, environment): (&Path, &Environment),
    tasks: &mut [Task],
) -> anyhow::Result<()> {
    if source.says_what_is_done() {
        return Ok(());
    }
    let Some(store) = open(args, checkout, environment)? else { return Ok(()) };
    let place = (load::name_of(source, checkout), checkout.display().to_string());
    let done = book::done_before(&store, (&place.0, &place.1), tasks)?;
    let commits: Vec<CommitSha> = done.iter().filter_map(|(_, commit)| commit.clone()).collect();
    // A fix that was reverted since, or is on another branch, is to be made once more.
    let gone = lost::gone(&commits, checkout, environment);
    for (at, _commit) in done.iter().filter(|(_, commit)| commit.as_ref().is_none_or(|commit| !gone.contains(commit))) {
        if let Some(task) = tasks.get_mut(*at) {
            task.status = TaskStatus::Completed;
        }
    }
    Ok(())
}

/// Writes a list that a task was added to, also while a process works on it.
///
/// # Errors
/// The process would never look at it, or its run would put it back (exit 2). Or it cannot be written.
pub(super) fn write_list(path: &Path, (before, text): (&str, &str), environment: &Environment) -> anyhow::Result<()> {
    let (checkout, place) = (current_dir()?, OrderArgs { audit_db: None });
    let folder = checkout.display().to_string();
    let store = open(&place, &checkout, environment)?;
    let holder = match &store {
        Some(store) => store.backlog_holder().map_err(|error| book::failed(&error))?,
        None => None,
    };
    let (Some(store), Some(holder)) = (store, holder.filter(|holder| holder.cwd == folder)) else {
        // Nobody is at work here, so nobody puts the file back.
        return load::replace(path, text);
    };
    if let Some(command) = deaf(holder.work) {
        return Err(Failure::usage(format!(
            "{command} is running here ({}) and has read {} already: a task that is added now would be ignored\n→ Fix: add it once that has ended",
            who(&holder),
            path.display()
        )));
    }
    let last = store.last_backlog(None, &folder).map_err(|error| book::failed(&error))?;
    // The backlog has its source by the real path.
    let shown = path.strip_prefix(std::fs::canonicalize(&checkout)?).unwrap_or(path).display().to_string();
    match last {
        // The process reads this list between two tasks, and its run is told that the change is not its own.
        Some((backlog, _)) if backlog.source == shown => trusted::write(path, (before, text), (&checkout, environment)),
        // While it is paused no run watches the files.
        Some((backlog, _)) if backlog.course.status == Status::Paused.as_str() => load::replace(path, text),
        _ => Err(Failure::usage(format!(
            "a task of another backlog is under way here, and its run would restore {}\n→ Fix: `upshift pause`, add the task once `upshift tasks \
             status` says that it is paused, and `upshift resume`",
            path.display()
        ))),
    }
}

fn ask(verb: &str, amount: u32, args: &OrderArgs, environment: &Environment) -> anyhow::Result<u8> {
    let nobody = || {
        let fix = "start with `upshift run --tasks SOURCE`, or name its log with --audit-db";
        Failure::usage(format!("no backlog is being worked on here\n→ Fix: {fix}"))
    };
    let Some(mut store) = open(args, &current_dir()?, environment)? else { return Err(nobody()) };
    let held = |store: &Store| store.backlog_holder().map_err(|error| book::failed(&error));
    let Some(holder) = held(&store)? else { return Err(nobody()) };
    if let Some(command) = deaf(holder.work) {
        return Err(Failure::with_code(
            EXIT_NOT_FIXED,
            format!(
                "{command} is running here ({}), and takes no commands\n→ Fix: wait for it to end, or stop it (Ctrl-C): the same command continues",
                who(&holder)
            ),
        ));
    }
    let at = stop_sources::clock(environment).timestamp();
    // The order goes through the log, which both processes share, so that it also survives a slow answer.
    let order = store.give_order(verb, amount, &at).map_err(|error| book::failed(&error))?;
    for _ in 0..PATIENCE {
        if let Some(answer) = store.answer_to(order).map_err(|error| book::failed(&error))? {
            print(&format!("{}\n", answer.said))?;
            return Ok(if answer.obeyed { EXIT_SUCCESS } else { EXIT_NOT_FIXED });
        }
        // Otherwise a person would wait for a process that has just ended.
        if held(&store)?.is_none() {
            return Err(Failure::with_code(EXIT_NOT_FIXED, "the work on the backlog ended meanwhile"));
        }
        std::thread::sleep(BEAT);
    }
    // No failure: the order is in the log and will be read.
    print("the command was sent, and not answered yet\n")
}

/// Shows how the last backlog of this folder stands, and who works on it.
pub(super) fn status(audit_db: Option<&str>, form: Form, environment: &Environment) -> anyhow::Result<u8> {
    let checkout = current_dir()?;
    let place = OrderArgs { audit_db: audit_db.map(str::to_owned) };
    let store = open(&place, &checkout, environment)?;
    let folder = checkout.display().to_string();
    let last = match &store {
        Some(store) => store.last_backlog(None, &folder).map_err(|error| book::failed(&error))?,
        None => None,
    };
    // A backlog of another folder may use the same log.
    let holder = store.as_ref().and_then(|store| store.backlog_holder().ok().flatten());
    let holder = holder.filter(|holder| holder.cwd == folder);
    if let Some((holder, command)) = holder.as_ref().and_then(|holder| Some((holder, deaf(holder.work)?))) {
        return told_of_deaf(form, holder, command);
    }
    let Some((backlog, tasks)) = last else {
        return Err(Failure::with_code(
            EXIT_NOT_FIXED,
            "no backlog was worked on here; `upshift runs` lists the runs that are in the log",
        ));
    };
    let mut entries: Vec<Entry> = tasks.into_iter().filter_map(Entry::from_record).collect();
    for entry in &mut entries {
        let key = format!("{}/{}", backlog.backlog_id, entry.task.id);
        // What a task costs is noted at its end, and a killed one has none.
        let all = store.as_ref().and_then(|store| store.cost_of_task(&key).ok());
        entry.cost = all.filter(|all| all.total() > entry.cost.total()).unwrap_or(entry.cost);
    }
    // A process at work looks itself, between two tasks.
    if holder.is_none() && !says_what_is_done(&backlog.source) {
        lost::reopen(&mut entries, &checkout, environment);
    }
    // Whoever died said nothing of it.
    let status = if holder.is_some() { backlog.course.status.as_str() } else { Status::Idle.as_str() };
    let done = entries.iter().filter(|entry| entry.task.status == TaskStatus::Completed).count();
    let told: Vec<Told<'_>> = match &store {
        Some(store) => entries.iter().map(|entry| Told::of(store, entry)).collect(),
        None => Vec::new(),
    };
    match form {
        Form::Json => {
            let tasks: Vec<Value> = told.iter().map(Told::document).collect();
            let document = json!({
                "backlogId": backlog.backlog_id,
                "source": backlog.source,
                "status": status,
                "stopReason": backlog.stop_reason,
                "currentIteration": backlog.course.iteration,
                "maxIterations": backlog.course.max_iterations,
                "tasksCompleted": done,
                "totalTasks": entries.len(),
                "heldBy": holder,
                "tasks": tasks,
            });
            print(&format!("{}\n", serde_json::to_string_pretty(&document)?))
        }
        Form::Text => {
            let by = holder.as_ref().map(|holder| format!(", {}", who(holder))).unwrap_or_default();
            let mut text =
                format!("{status}: {done} of {} tasks of {} completed{by}\n\n", entries.len(), backlog.source);
            text.push_str(&lines(told));
            print_set(&text, environment.console())
        }
    }
}

/// Whether a source by that name tells itself which of its tasks are done.
fn says_what_is_done(name: &str) -> bool {
    name.parse().is_ok_and(|source: Source| source.says_what_is_done())
}

/// The status of a process that keeps none: it is at work, and tells how far it is itself.
fn told_of_deaf(form: Form, holder: &Holder, command: &str) -> anyhow::Result<u8> {
    let status = Status::Running.as_str();
    match form {
        Form::Json => {
            let document = json!({ "status": status, "heldBy": holder, "tasks": [] });
            print(&format!("{}\n", serde_json::to_string_pretty(&document)?))
        }
        Form::Text => print(&format!("{status}: {command}, {}; it prints its own progress\n", who(holder))),
    }
}
