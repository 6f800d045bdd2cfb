//! `upshift resume`: goes on with a run that was killed, interrupted or parked, without paying twice.

use std::path::Path;
use std::sync::Arc;

use clap::Args as ClapArgs;

use super::elsewhere::{self, Arrival, Distance};
use super::environment::{Environment, current_dir};
use super::form::RunForm;
use super::reentry::Visit;
use super::setup::{self, Setup};
use super::{Failure, context, forge, left_behind, left_judging, models, parked, plan, report, tasks};
use crate::audit::{AuditError, Journal, LoadedRun, Reader, RunStatus};
use crate::config::{Format, UNCHECKED};
use crate::domain::event::{Event, RunFinished, RunStarted};
use crate::domain::outcome::EXIT_REFUSED;
use crate::domain::units::TreeId;
use crate::lifecycle::state::{Phase, RunState};
use crate::lifecycle::{self, gate};
use crate::workspace::{Workspace, WorkspaceError};

/// The arguments of `resume`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Run id, or a unique prefix of it [default: the latest]
    run: Option<String>,
    /// Audit log that holds the run [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Report format [default: that of the original run]
    #[arg(long, value_enum)]
    format: Option<RunForm>,
}

/// Takes the run up where its last decision left it.
pub(super) fn run(args: Args, environment: &Environment) -> anyhow::Result<u8> {
    // A paused backlog comes first, since a run of its task is continued by it and not alone.
    if args.run.is_none()
        && let Some(code) = tasks::resume(args.audit_db.as_deref(), environment)?
    {
        return Ok(code);
    }
    setup::block_on(go_on(args, Source { files: Files::Here, quoted: None }, environment))
}

/// Goes on with a run from a log that another job kept, if it is the one whose chain our comment quotes.
pub(super) async fn from_log(log: &Path, visit: &Visit, environment: &Environment) -> anyhow::Result<u8> {
    let audit_db = Some(log.display().to_string());
    let files = if visit.needs_checkout() { Files::Here } else { Files::Elsewhere };
    let source = Source { files, quoted: Some(visit.chain_head()) };
    go_on(Args { run: Some(visit.run().0.clone()), audit_db, format: None }, source, environment).await
}

/// The place of a run's files and its quoted link, to go on from beside its log.
#[derive(Debug, Clone, Copy)]
struct Source<'a> {
    files: Files,
    /// The link of the log's chain that a comment of ours quotes.
    quoted: Option<&'a str>,
}

/// Where the run's files are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// In this folder.
    Here,
    /// Nowhere on this machine: the run only hears what the outside says.
    Elsewhere,
}

async fn go_on(args: Args, source: Source<'_>, environment: &Environment) -> anyhow::Result<u8> {
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
    let (loaded, is_joined) =
        look(&args, &path, &checkout, environment).map_err(|error| setup::audit_failure(&error))?;
    let run_id = loaded.run_id.clone();
    may_go_on(&loaded, is_joined)?;
    let other = || killed_before(&args, &path, &checkout, environment);
    let mut state = lifecycle::load(&loaded).map_err(|error| {
        Failure::usage(other().map_or_else(|| error.to_string(), |other| format!("{error}{other}")))
    })?;
    let refused = |why: String| Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {why}"));
    let mut context = context::read(environment).map_err(|error| refused(error.to_string()))?;
    // Before the log's state is used: some events may not use a key at all.
    if let Some(why) = gate::refusal(context.as_ref()) {
        return Err(Failure::refused(&why));
    }
    let given = context.clone();
    let arrival = Arrival {
        loaded: &loaded,
        log: &path,
        quoted: source.quoted,
        checkout: &checkout,
        environment,
        context: given.as_ref(),
    };
    let way = take_in(&arrival, &mut state, source.files)?;
    state.plan.audit = Some(path.clone());
    let own_form = if is_of_task(&loaded.events) { Format::Text } else { state.plan.format };
    state.plan.format = args.format.map_or(own_form, RunForm::format);
    if let Some(context) = &mut context {
        forge::admit_again(context, &state, environment).await?;
    }
    let plan = state.plan.clone();
    let setup = Setup::new(&checkout, environment, Some(&plan), context.as_ref());
    if way.is_foreign && source.files == Files::Here {
        models::learn_served(&mut state.plan, &setup).await;
    }
    let mut store = setup.open_store(Some(&path))?;
    if way.is_foreign {
        // Our comment vouches for the run alone, not for what the other machine had taken in beside it.
        store = store.distrusted();
    }
    let workspace = setup.open_workspace(&state.plan, &state.test_command, state.red_ci.as_ref()).await?;
    workspace.spare_only_own_output();
    left_judging::put_back(&workspace, &setup).await?;
    left_behind::refuse_others(&workspace, &setup, &run_id).await?;
    let rebuilt = if way.moves_in { arrival.rebuild(&workspace, &state).await? } else { None };
    if rebuilt.is_none() {
        recall_start(&state, &workspace).await?;
    }
    let only_hears = last_told(&loaded.events).filter(|_| source.files == Files::Elsewhere);
    // Everything that can fail comes before the log records that the run goes on.
    let prepared = setup.prepare_for(Arc::clone(&workspace), &state, &loaded.events, only_hears)?;
    let invocation = store
        .continue_run(&run_id, std::process::id(), &setup.clock().timestamp())
        .map_err(|error| setup::audit_failure(&error))?;
    let mut journal = Journal::new(store, Vec::new());
    journal.remember(&loaded.events);
    if let Some(rebuilt) = &rebuilt {
        arrival.move_in(&workspace, rebuilt, &mut state, &mut journal)?;
    }
    // Before the replay: a call of which nobody knows the reply has been paid all the same, and counts in the budget.
    let lost = lifecycle::settle_lost(&mut journal, &run_id, setup.clock())?;
    lifecycle::recall_touched(&journal, &mut state, &loaded.events, &workspace)?;
    let replay = lifecycle::replay_of(&journal, &state)?;
    for listener in setup.listeners(&prepared, &loaded.events, state.plan.format) {
        // Only now, so that what was just put in order is not told as news.
        journal.listen(listener);
    }
    journal.tell(&invocation);
    tell(&mut journal, &loaded, &state, lost);
    setup.carry(prepared, journal, state, replay).await
}

/// Whether a backlog started the run: it writes for the backlog then, and not for a person.
fn is_of_task(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::RunStarted(RunStarted { task: Some(_), .. })))
}

/// Tells how the run stands before it goes on: ended already, unchecked, or with calls of which nobody knows the cost.
fn tell(journal: &mut Journal, loaded: &LoadedRun, state: &RunState, lost: u32) {
    if let Some(end) = lifecycle::end_of(loaded, state) {
        super::say("This run has already ended, and this is its report. `upshift run` starts a new one.");
        journal.emit(end);
    }
    // Such a warning is about the state that is believed here, so it belongs into the report of this process, too.
    for message in state.plan.warnings.iter().filter(|warning| warning.starts_with(UNCHECKED)) {
        journal.emit(&Event::Warning { message: message.clone() });
    }
    if lost > 0 {
        super::say(&format!(
            "⚠ {lost} model call(s) were under way when the run was killed: counted at their worst case"
        ));
    }
}

/// Says so where nobody goes on with a run.
fn may_go_on(loaded: &LoadedRun, is_joined: bool) -> anyhow::Result<()> {
    let run_id = &loaded.run_id;
    if is_joined {
        return Err(Failure::usage(format!(
            "run {run_id} was taken from another log by `upshift merge`, and cannot be continued here\n→ Fix: continue it where it started, or start a new one with `upshift run`"
        )));
    }
    if loaded.status == RunStatus::Running {
        return Err(Failure::usage(format!("run {run_id} is still running in another process; nothing was done")));
    }
    let is_program = |event: &Event| matches!(event, Event::RunStarted(RunStarted { command: Some(_), .. }));
    // The conversation was the program's own, and nothing of it can be started in the middle.
    if loaded.events.iter().any(is_program) {
        return Err(Failure::usage(format!(
            "run {run_id} was a program behind `upshift gateway`, which cannot be continued\n→ Fix: name another run, or start the \
             program again"
        )));
    }
    Ok(())
}

/// How a run comes into this checkout.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// Its log may be anybody's.
    is_foreign: bool,
    /// Its trees are made again here.
    moves_in: bool,
}

/// Believes of a log as much as may be, by where it comes from.
fn take_in(arrival: &Arrival<'_>, state: &mut RunState, files: Files) -> anyhow::Result<Way> {
    let distance = elsewhere::distance(arrival.loaded, state, arrival.checkout, arrival.environment);
    // A log that came as an artifact is foreign even in its own folder: another job wrote it.
    let is_foreign = arrival.quoted.is_some() || distance == Distance::Elsewhere;
    let moves_in = files == Files::Here && distance != Distance::AtHome;
    if moves_in {
        // Asked before the chain is verified: it gives the better reason, since nothing that follows could help.
        arrival.may_leave(state)?;
    }
    if is_foreign || moves_in {
        let trust = arrival.vouch()?;
        if is_foreign && files == Files::Here {
            arrival.adopt(state, trust)?;
        }
    }
    Ok(Way { is_foreign, moves_in })
}

/// How the run was last told to stand.
fn last_told(events: &[Event]) -> Option<RunFinished> {
    events.iter().rev().find_map(|event| {
        let Event::RunFinished(finished) = event else { return None };
        Some(finished.clone())
    })
}

/// Reads the run that is meant, and whether it was joined from another log. Changes nothing.
fn look(args: &Args, path: &str, checkout: &Path, environment: &Environment) -> Result<(LoadedRun, bool), AuditError> {
    let reader = Reader::open(&setup::locate(path, checkout, environment))?;
    let run_id = match &args.run {
        Some(prefix) => reader.find_run(prefix)?,
        None => reader.latest_run()?,
    };
    Ok((reader.load_run(&run_id)?, reader.is_joined(&run_id)?))
}

/// What else there is to go on with, where no run was named and the latest does not go on: the last one that was killed.
fn killed_before(args: &Args, path: &str, checkout: &Path, environment: &Environment) -> Option<String> {
    let unnamed = args.run.is_none().then(|| setup::locate(path, checkout, environment))?;
    let runs = Reader::open(&unnamed).ok()?.list_runs().ok()?;
    // Only a killed run is offered. Those that ended have nothing left to do.
    let killed = runs.iter().find(|run| run.status == RunStatus::Interrupted)?;
    let id = killed.run_id.short();
    Some(format!("\n→ Fix: run {id} was killed before it: `upshift resume {id}` continues that one"))
}

/// Records the start anew where the folder of recorded trees is gone, as in the next job of a hosted runner: a tree's name tells whether
/// the checkout is still the same. The changes of its iterations are gone with that folder, so that a run which has come further does not
/// go on.
async fn recall_start(state: &RunState, workspace: &Workspace) -> anyhow::Result<()> {
    let at_work = matches!(state.phase, Phase::Ready | Phase::Iterating);
    let Some(start) = state.start.as_ref().filter(|_| at_work) else { return Ok(()) };
    match workspace.changed_since(start).await {
        Err(WorkspaceError::UnknownTree { .. }) => {}
        Ok(_) | Err(_) => return Ok(()),
    }
    let run = &state.run_id;
    let fresh = |tree: &TreeId| tree == start;
    // Trees of iterations are gone with the folder, so only a run at its start can do without them.
    let later = [&state.current, &state.best].into_iter().flatten().any(|candidate| !fresh(&candidate.tree));
    // The name of a tree is a hash of its content, so an equal name is an equal checkout.
    if !later && workspace.snapshot().await.is_ok_and(|tree| fresh(&tree)) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "run {run} cannot continue here: the trees that it recorded are not on this machine, and the checkout is not as it was when it started\n→ Fix: start a new one with `upshift run`"
    )))
}
