//! `upshift resume`: goes on with a run that was killed, interrupted or parked, without paying twice.

use std::path::Path;
use std::sync::Arc;

use clap::Args as ClapArgs;

use super::environment::{Environment, current_dir};
use super::form::RunForm;
use super::reentry::Visit;
use super::setup::{self, Setup};
use super::{Failure, context, forge, parked, plan, report};
use crate::audit::{AuditError, Journal, LoadedRun, Reader, RunStatus};
use crate::config::Plan;
use crate::domain::event::{Event, RunFinished, RunStarted};
use crate::domain::outcome::EXIT_REFUSED;
use crate::domain::units::TreeId;
use crate::lifecycle::state::{Phase, RunState};
use crate::lifecycle::{self, gate};
use crate::workspace::{Workspace, WorkspaceError};

/// What `resume` takes.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The run: its id or a unique beginning of it [default: the latest]
    run: Option<String>,
    /// The audit log it is recorded in
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// The form of the report [default: the one that the run was started with]
    #[arg(long, value_enum)]
    format: Option<RunForm>,
}

/// Takes the run up where its last decision left it.
pub(super) fn run(args: Args, environment: &Environment) -> anyhow::Result<u8> {
    setup::block_on(go_on(args, Files::Here, environment))
}

/// Goes on with a run from a log that another job kept.
pub(super) async fn from_log(log: &Path, visit: &Visit, environment: &Environment) -> anyhow::Result<u8> {
    let audit_db = Some(log.display().to_string());
    let files = if visit.needs_checkout() { Files::Here } else { Files::Elsewhere };
    go_on(Args { run: Some(visit.run().0.clone()), audit_db, format: None }, files, environment).await
}

/// Where the run's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// In this folder.
    Here,
    /// Nowhere on this machine: the run only hears what the outside says.
    Elsewhere,
}

async fn go_on(args: Args, files: Files, environment: &Environment) -> anyhow::Result<u8> {
    let checkout = current_dir()?;
    let path = plan::audit_path(args.audit_db.as_deref(), environment, &checkout);
    let has_log = report::exists(&path, &checkout, environment);
    let context = context::read(environment).ok().flatten();
    if let Some(context) = context.filter(|context| args.run.is_none() && parked::is_wanted(context, has_log)) {
        return parked::resume(&context, environment).await;
    }
    if !has_log {
        return Err(report::no_log(&path));
    }
    let loaded = look(&args, &path, &checkout, environment).map_err(|error| setup::audit_failure(&error))?;
    let run_id = loaded.run_id.clone();
    if loaded.status == RunStatus::Running {
        return Err(Failure::usage(format!("run {run_id} is still going on in another process; nothing was done")));
    }
    if loaded.events.iter().any(|event| matches!(event, Event::RunStarted(RunStarted { command: Some(_), .. }))) {
        return Err(Failure::usage(format!(
            "run {run_id} was a program behind `upshift gateway`, which cannot be continued\n→ Fix: name another run, or start the \
             program again"
        )));
    }
    let mut state = lifecycle::load(&loaded).map_err(|error| Failure::usage(error.to_string()))?;
    at_home(&loaded, &state.plan, &checkout)?;
    state.plan.audit = Some(path.clone());
    state.plan.format = args.format.map_or(state.plan.format, RunForm::format);
    let plan = state.plan.clone();
    let refused = |why: String| Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {why}"));
    let mut context = context::read(environment).map_err(|error| refused(error.to_string()))?;
    if let Some(why) = gate::refusal(context.as_ref()) {
        return Err(Failure::refused(&why));
    }
    if let Some(context) = &mut context {
        forge::admit_again(context, &state, environment).await?;
    }
    let setup = Setup::new(&checkout, environment, Some(&plan), context.as_ref());
    let mut store = setup.open_store(Some(&path))?;
    let workspace = setup.open_workspace(&state.plan, &state.test_command, state.red_ci.as_ref()).await?;
    workspace.spare_only_own_output();
    recall_start(&state, &workspace).await?;
    let mut prepared = setup.prepare(Arc::clone(&workspace), &state, &loaded.events)?;
    prepared.only_hears = last_told(&loaded.events).filter(|_| files == Files::Elsewhere);
    let invocation = store
        .continue_run(&run_id, std::process::id(), &setup.clock().timestamp())
        .map_err(|error| setup::audit_failure(&error))?;
    let mut journal = Journal::new(store, Vec::new());
    journal.remember(&loaded.events);
    let lost = lifecycle::settle_lost(&mut journal, &run_id, setup.clock())?;
    lifecycle::recall_touched(&journal, &mut state, &loaded.events, &workspace)?;
    let replay = lifecycle::replay_of(&journal, &state)?;
    for listener in setup.listeners(&prepared, &loaded.events, state.plan.format) {
        journal.listen(listener);
    }
    journal.tell(&invocation);
    if let Some(end) = lifecycle::end_of(&loaded, &state) {
        super::say("The run has ended already; how is told once more.");
        journal.emit(end);
    }
    if lost > 0 {
        super::say(&format!(
            "⚠ {lost} model call(s) were under way when the run was killed: counted at their worst case"
        ));
    }
    setup.carry(prepared, journal, state, replay).await
}

/// How the run was last told to stand.
fn last_told(events: &[Event]) -> Option<RunFinished> {
    events.iter().rev().find_map(|event| {
        let Event::RunFinished(finished) = event else { return None };
        Some(finished.clone())
    })
}

/// Reads the run that is meant; changes nothing.
fn look(args: &Args, path: &str, checkout: &Path, environment: &Environment) -> Result<LoadedRun, AuditError> {
    let reader = Reader::open(&setup::locate(path, checkout, environment))?;
    let run_id = match &args.run {
        Some(prefix) => reader.find_run(prefix)?,
        None => reader.latest_run()?,
    };
    reader.load_run(&run_id)
}

/// Records the start anew where the folder of recorded trees is gone, as in the next job of a hosted runner: a tree's name tells
/// whether the checkout is still the same. What iterations made of it is gone with that folder, so that a run which has come further
/// does not go on.
async fn recall_start(state: &RunState, workspace: &Workspace) -> anyhow::Result<()> {
    let at_work = matches!(state.phase, Phase::Ready | Phase::Iterating);
    let Some(start) = state.start.as_ref().filter(|_| at_work) else { return Ok(()) };
    match workspace.changed_since(start).await {
        Err(WorkspaceError::UnknownTree { .. }) => {}
        Ok(_) | Err(_) => return Ok(()),
    }
    let run = &state.run_id;
    let fresh = |tree: &TreeId| tree == start;
    let later = [&state.current, &state.best].into_iter().flatten().any(|candidate| !fresh(&candidate.tree));
    if !later && workspace.snapshot().await.is_ok_and(|tree| fresh(&tree)) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "run {run} cannot go on here: the trees that it recorded are not on this machine, and the checkout is not as it was when it \
         began\n→ Fix: start a new one with `upshift run`"
    )))
}

/// A run goes on in the folder that it was started in: its trees are recorded for that one.
fn at_home(loaded: &LoadedRun, plan: &Plan, checkout: &Path) -> anyhow::Result<()> {
    let started = loaded.events.iter().find_map(|event| {
        let Event::RunStarted(started) = event else { return None };
        Some(started.working_directory.as_str())
    });
    let here = setup::working_directory(checkout, plan).ok();
    match started {
        Some(folder) if here.as_deref() != Some(Path::new(folder)) => {
            let run = &loaded.run_id;
            Err(Failure::usage(format!(
                "run {run} belongs to {folder}\n→ Fix: call `upshift resume {run}` in the folder that it was started in"
            )))
        }
        Some(_) | None => Ok(()),
    }
}
