//! `upshift run`: the Action's command and the laptop's.

use std::path::Path;

use super::attempt_limit::{Asking, Counted};
use super::environment::Environment;
use super::left_behind::{self, Discard};
use super::left_judging;
use super::plan::{self, Flags, Resolved};
use super::reentry::{self, Claim, Entry, Visit};
use super::setup::{self, Setup};
use super::work::{beneficiary, test_command};
use super::{
    Failure, attempt_limit, commenting, guidance, models, obstacles, other_commit, red_ci, resume, retirement, tasks,
    trigger, waiting, way_in,
};
use crate::audit::Journal;
use crate::config::Plan;
use crate::domain::ci::CiContext;
use crate::domain::command::Command;
use crate::domain::event::{Event, RunStarted};
use crate::domain::outcome::EXIT_SUCCESS;
use crate::domain::units::MicroUsd;
use crate::lifecycle::gate;
use crate::lifecycle::state::RunState;
use crate::policy::attempts::Wish;
use crate::report::markdown;
use crate::session::Replay;
use crate::workspace::Workspace;
use crate::workspace::publish::checked_out;

/// The folder in the state home that fetched logs are put into. The step that keeps the log looks there.
const FETCHED: &str = "audit";

/// Resolves the configuration, runs to the end, prints the report.
pub(super) fn run(flags: Flags, discard: Discard, environment: &Environment) -> anyhow::Result<u8> {
    let resolved = plan::resolve(flags, environment)?;
    plan::refuse_to_start(&resolved)?;
    setup::writable(&resolved.checkout)?;
    start(resolved, discard, environment)
}

/// Starts a fresh run of a resolved plan.
pub(super) fn start(resolved: Resolved, discard: Discard, environment: &Environment) -> anyhow::Result<u8> {
    setup::block_on(begin(resolved, discard, environment))
}

/// Does everything that can fail, then records that the run began.
async fn begin(resolved: Resolved, discard: Discard, environment: &Environment) -> anyhow::Result<u8> {
    let Resolved { mut plan, checkout, mut context, .. } = resolved;
    let entered = match &mut context {
        Some(context) => enter(&plan, context, environment, &checkout).await?,
        None => Entered::Begins,
    };
    if let Entered::Done(code) = entered {
        return Ok(code);
    }
    let order = trigger::order(context.as_ref());
    // Behind the gate, so that only people with the right to write get an answer.
    if let Some(code) = trigger::not_a_start(&order, context.as_ref(), environment).await {
        return Ok(code);
    }
    // The gate has read from the API what the payload did not tell; only now is the head known.
    other_commit::refuse(context.as_ref(), &checkout, environment).await?;
    let destination = way_in::destination(&mut plan, context.as_ref(), &checkout, environment).await?;
    let pull_request = destination.as_ref().and_then(|destination| destination.pull_request);
    waiting::settle(&mut plan, context.as_ref(), pull_request, environment);
    // From the day itself on: before it, a look at the configuration says so.
    plan.warnings.extend(retirement::notices(&plan, environment, 0));
    tell(&plan, environment);
    let key = context.as_ref().map(|context| commenting::key(&plan, &context.run));
    // A job that the clock had run again says over what a person said once.
    let by_a_person = order.is(Command::Retry) && !context.as_ref().is_some_and(gate::only_runs_again);
    let wish = if by_a_person { Wish::Person } else { Wish::Event };
    let asking = Asking {
        key: key.as_deref().unwrap_or_default(),
        wish,
        comment: order.comment(),
        is_log_gone: entered == Entered::BeginsAnew,
    };
    let Some(Counted { mut runs, kept }) =
        attempt_limit::count(&plan, context.as_ref(), asking, environment, &checkout).await?
    else {
        return Ok(EXIT_SUCCESS);
    };
    let folder = setup::working_directory(&checkout, &plan)?;
    let (test_command, framework) = test_command(&plan, &folder)?;
    let setup = Setup::new(&checkout, environment, Some(&plan), context.as_ref());
    let told = plan.warnings.len();
    models::learn_served(&mut plan, &setup).await;
    warn(&plan, told);
    // The commands that failed decide which files are protected, so they are read before the workspace opens.
    let red_ci = red_ci::look(context.as_ref(), environment).await;
    let workspace = setup.open_workspace(&plan, &test_command, red_ci.as_ref()).await?;
    // Before the log is opened for a new run, which would hide the killed one from `resume`.
    in_order(&workspace, &setup, discard).await?;
    let mut store = setup.open_store(plan.audit.as_deref())?;
    if let Some(runs) = &mut runs
        && runs.last.as_ref().is_some_and(|last| store.is_ours(last) && store.find_run(&last.0).is_ok())
    {
        // The log outlived its job: what they cost stands in it.
        runs.spent_before = MicroUsd::ZERO;
    }
    // A task's run gets the name that its backlog has written down already, so that a killed backlog finds it.
    let mut state = RunState::new(tasks::run_id(environment), plan, test_command, framework)
        .working_for(beneficiary(context.as_ref(), &folder));
    state.destination = destination;
    state.base = checked_out(&checkout).head;
    state.red_ci = red_ci;
    state.comment_key = key;
    state.runs = runs;
    state.hearing = order.hearing(&state, setup.clock());
    order.place(&mut state);
    state.beside = guidance::gather(&setup, &store).await;
    // Before anything is recorded, as a run that is recorded is one that could begin.
    let prepared = setup.prepare(workspace, &state, &[])?;
    let started = started(&state, &folder, &setup);
    // The state is written with the run's first record, so that a kill right after it can be resumed.
    let saved = serde_json::to_string(&state)?;
    let invocation = store.begin_run(&started, std::process::id(), &saved);
    let invocation = invocation.map_err(|error| setup::audit_failure(&error))?;
    let mut journal = Journal::new(store, setup.listeners(&prepared, &[], state.plan.format));
    journal.tell(&Event::RunStarted(started));
    journal.tell(&invocation);
    if let Some(runs) = &state.runs {
        journal.emit(&Event::AttemptCounted {
            pull_request: runs.number,
            attempt: runs.attempt,
            allowed: state.plan.github.max_attempts_per_pr,
            spent_before: runs.spent_before,
        });
    }
    // Reports of earlier runs spare a librarian's session, where a person has switched that on.
    kept.into_iter().filter(|_| state.plan.agent.cache).for_each(|kept| journal.emit(&Event::ReportKept(kept)));
    if let Some(event) = order.answer() {
        journal.emit(&event);
    }
    setup.carry(prepared, journal, state, Replay::none()).await
}

/// Sees to it that a run begins with a tree that is as a person left it.
async fn in_order(workspace: &Workspace, setup: &Setup<'_>, discard: Discard) -> anyhow::Result<()> {
    left_judging::put_back(workspace, setup).await?;
    left_behind::settle(workspace, setup, discard).await?;
    obstacles::without_conflicts(setup.checkout, setup.environment).await
}

/// The result of a job at the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// Its end, with this exit code.
    Done(u8),
    /// A run is to begin.
    Begins,
    /// The same, in the place of one whose log is gone.
    BeginsAnew,
}

/// Passes the gate, and goes on with a run that waited for this job.
async fn enter(
    plan: &Plan,
    context: &mut CiContext,
    environment: &Environment,
    checkout: &Path,
) -> anyhow::Result<Entered> {
    // Only the comment of this workflow, job and folder: others on the same pull request have runs of their own.
    let marker = markdown::marker(&commenting::key(plan, &context.run));
    match reentry::admit(context, plan, &marker, environment).await? {
        Entry::Begins => Ok(Entered::Begins),
        Entry::Waits(what) => {
            super::say(&format!("Nothing to do yet: the run that pushed this commit is still waiting for {what}."));
            Ok(Entered::Done(EXIT_SUCCESS))
        }
        Entry::GoesOn(visit) => taken_up(&visit, context, environment, checkout).await,
    }
}

/// Goes on with a run that waited for this job.
async fn taken_up(
    visit: &Visit,
    context: &CiContext,
    environment: &Environment,
    checkout: &Path,
) -> anyhow::Result<Entered> {
    let run = visit.run();
    let folder = environment.state_home(checkout).join(FETCHED).join(run.short());
    match visit.claim(context, &folder).await? {
        Claim::Ours(log) => {
            super::say(&format!("Continuing run {run}: {}.", visit.because()));
            // The claim is ours, so no other job goes on if this one cannot. The comment must not wait for ever then.
            let gone_on = resume::from_log(&log, visit, environment).await;
            // While nobody can be asked, nothing is over: the claim is this job's, and its next attempt goes on.
            let is_over = |why: &&anyhow::Error| !why.downcast_ref::<Failure>().is_some_and(|failure| failure.passing);
            if let Some(why) = gone_on.as_ref().err().filter(is_over)
                && let Err(error) = visit.end_because(&why.to_string()).await
            {
                super::say(&format!("⚠ the comment on the pull request could not be updated: {error}"));
            }
            gone_on.map(Entered::Done)
        }
        Claim::Theirs => {
            super::say(&format!("Nothing to do: another job continues run {run}."));
            Ok(Entered::Done(EXIT_SUCCESS))
        }
        // CI is red and there is work to do, so the failure starts a new run in place of the lost one.
        Claim::LogGone(why) if visit.needs_checkout() => {
            super::say(&format!("⚠ run {run} cannot continue, a new one starts: {why}"));
            Ok(Entered::BeginsAnew)
        }
        Claim::LogGone(why) => {
            super::say(&format!("Nothing to do: no check failed, and the log of run {run} is gone: {why}"));
            if let Err(error) = visit.end_without_log().await {
                super::say(&format!("⚠ the comment on the pull request could not be updated: {error}"));
            }
            Ok(Entered::Done(EXIT_SUCCESS))
        }
    }
}

/// Tells the plan's warnings, and which ladder it is where nobody named one.
fn tell(plan: &Plan, environment: &Environment) {
    warn(plan, 0);
    if let Some(which) = plan.built_in_ladder.as_ref().filter(|_| !environment.console().is_quiet()) {
        let price = match plan.worst_case {
            MicroUsd::ZERO => "its models are free".to_owned(),
            most => format!("it costs at most {}", most.exact()),
        };
        let file = crate::config::DEFAULT_CONFIG_PATH;
        super::say(&format!("◆ Ladder: {which}; {price}; another: --tiers, --model or {file}"));
    }
}

/// Tells the plan's warnings, but for those that were told already.
fn warn(plan: &Plan, told: usize) {
    for warning in plan.warnings.iter().skip(told) {
        super::say(&format!("⚠ {warning}"));
    }
}

pub(super) fn started(state: &RunState, folder: &Path, setup: &Setup<'_>) -> RunStarted {
    let plan = &state.plan;
    RunStarted {
        run_id: state.run_id.clone(),
        objective: plan.objective.clone(),
        working_directory: folder.display().to_string(),
        test_command: state.test_command.clone(),
        tier_config_path: plan.tier_config_path.clone(),
        tiers: plan.tiers.clone(),
        budget: plan.budget.clone(),
        audit_db: setup.shown_audit(plan),
        started_at: setup.clock().timestamp(),
        command: None,
        task: setup.environment.get(tasks::TASK).map(str::to_owned),
    }
}
