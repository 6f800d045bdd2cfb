//! The sessions of one iteration: librarian, artisan, critic, each with fresh context.

use std::ffi::OsString;

use super::climb::{Climb, Sessions};
use super::commands;
use super::context::Context;
use super::material;
use super::recorder::Recorder;
use super::targets;
use crate::agent::{self, Material, Prompt};
use crate::audit::Scope;
use crate::domain::blocker::{self, Blocker, BlockerKind};
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::{Mode, Role, Tier};
use crate::domain::review::{Issue, Review, ReviewVerdict};
use crate::domain::stop::StopCause;
use crate::policy::review;
use crate::policy::rotation::GiveUp;
use crate::process::{self, ProcessError, Program, Spec};
use crate::session::{
    self, FailureReason, FinalReport, Limits, Lineage, Ports, Replay, SessionEnd, SessionSpec, Toolbox,
};
use crate::test_run;
use crate::trial::{self, Foresight};
use crate::workspace::ToolError;

/// The longest brief that is passed on, in characters.
const BRIEF_CHARS: usize = 4_000;
/// How many of a critic's objections the next artisan is given: more are not worked off in one iteration.
const MOST_OBJECTIONS: usize = 20;
/// What `run_tests` tells a model, in characters at most.
const RUN_TESTS_CHARS: usize = 3_000;
/// How much of an allowed command's output is kept from each end, in bytes; the session shortens it further.
const COMMAND_KEEP: usize = 64 * 1024;

/// Whose cap does not allow another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cap {
    /// The tier's own: the next tier may have more.
    Tier,
    /// The run's, or one that runs share.
    Run,
}

/// What keeps an iteration from being judged on its tests alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// Something outside is needed: a person, or what is named.
    Blocked {
        /// Why, with what is in the way.
        reason: String,
        /// What is in the way, where the model says.
        on: Vec<Blocker>,
    },
    /// No target could be used.
    NoModel {
        /// Why not.
        why: GiveUp,
        /// What the last one said.
        last: String,
    },
    /// A cap: the tier's own or a wider one, in words.
    Budget(Cap, String),
    /// A signal, or the time is up.
    Stopped(StopCause),
    /// Nothing usable came: the iteration counts as an error.
    Unusable(String),
}

/// What came of the roles before the tests are run.
#[derive(Debug, Default)]
pub(super) struct RolesEnd {
    /// The librarian's end, in full mode.
    pub(super) librarian: Option<SessionEnd>,
    /// The artisan's end.
    pub(super) artisan: Option<SessionEnd>,
    /// Set when a session ended without doing its part.
    pub(super) halt: Option<Halt>,
}

/// The table at which the roles of an iteration are asked, one after the other.
#[derive(Debug)]
pub(super) struct Table<'t, 'a, 'j> {
    /// What is read.
    pub(super) context: &'t Context<'a>,
    /// Where it is written down.
    pub(super) recorder: &'t mut Recorder<'j>,
    /// What this process knows of its sessions.
    pub(super) sessions: &'t mut Sessions,
    /// The run, as it was when the iteration began.
    pub(super) climb: &'t Climb,
    /// The tier under way.
    pub(super) tier: &'t Tier,
}

/// Runs the librarian (in full mode) and the artisan.
pub(super) async fn change(table: &mut Table<'_, '_, '_>, material: &mut Material) -> RolesEnd {
    let mut end = RolesEnd::default();
    if table.tier.mode == Mode::Full {
        let prompt = agent::librarian(material, &Mark::random());
        let librarian = hold(table, Role::Librarian, prompt, None).await;
        end.halt = halt_of(&librarian.report);
        if let FinalReport::Briefed { summary, files } = &librarian.report {
            material.brief = Some(Foreign::capped(summary, BRIEF_CHARS));
            material::rerank(table.context, table.climb, files, material);
        }
        end.librarian = Some(librarian);
        // A librarian without a brief is a loss, not a reason to give the iteration up.
        if end.halt.as_ref().is_some_and(|halt| !matches!(halt, Halt::Unusable(_))) {
            return end;
        }
        if let Some(cause) = table.context.world.wrap_up.wished() {
            // An artisan who may only report has nothing to report.
            end.halt = Some(Halt::Stopped(cause));
            return end;
        }
    }
    let lineage = end.librarian.as_ref().map(lineage_of);
    let artisan = hold(table, Role::Artisan, agent::artisan(material, &Mark::random()), lineage).await;
    end.halt = halt_of(&artisan.report);
    end.artisan = Some(artisan);
    end
}

/// Runs the critic over the whole change; returns its end.
pub(super) async fn review(
    table: &mut Table<'_, '_, '_>,
    material: &Material,
    diff: &Foreign,
    before: &RolesEnd,
) -> SessionEnd {
    let prompt = agent::critic(material, diff, &Mark::random());
    let lineage = before.librarian.as_ref().or(before.artisan.as_ref()).map(lineage_of);
    hold(table, Role::Critic, prompt, lineage).await
}

/// What a critic's report says of the change; `None` where it is no review.
pub(super) fn review_of(report: &FinalReport) -> Option<Review> {
    match report {
        FinalReport::Approve { summary, issues } => Some(review::review(ReviewVerdict::Approve, summary, issues)),
        FinalReport::Reject { summary, issues } => Some(review::review(ReviewVerdict::Reject, summary, issues)),
        FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Blocked { .. }
        | FinalReport::Synthetic { .. } => None,
    }
}

/// What the critic objects to; empty when it approves. Anything but an approval is a rejection (S0-33).
pub(super) fn objections(report: &FinalReport) -> Vec<Foreign> {
    let said = |text: &str| vec![Foreign::capped(text, BRIEF_CHARS)];
    let Some(review) = review_of(report) else {
        return said(&format!("no readable review: {}", report.summary()));
    };
    if review.approves() {
        return Vec::new();
    }
    // Of an approval only what overrules it must be mended.
    let counts = |issue: &&Issue| !review.overruled || review::forces_reject(issue);
    let issues: Vec<&Issue> = review.issues.iter().filter(counts).collect();
    if issues.is_empty() {
        return said(&review.summary);
    }
    issues.iter().take(MOST_OBJECTIONS).map(|issue| Foreign::capped(&issue.said, BRIEF_CHARS)).collect()
}

/// What a report means for the iteration beyond its tests.
pub(super) fn halt_of(report: &FinalReport) -> Option<Halt> {
    match report {
        FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Approve { .. }
        | FinalReport::Reject { .. } => None,
        FinalReport::Blocked { reason, on, .. } => {
            let told = match on.as_slice() {
                [] => reason.clone(),
                on if on.iter().any(|on| on.kind == BlockerKind::Test) => format!("a test is wrong: {reason}"),
                on => format!("{reason} (blocked on {})", blocker::list(on)),
            };
            Some(Halt::Blocked { reason: told, on: on.clone() })
        }
        FinalReport::Synthetic { reason } => Some(match reason {
            FailureReason::Budget { scope: Scope::Tier(..), detail } => Halt::Budget(Cap::Tier, detail.clone()),
            FailureReason::Budget { detail, .. } => Halt::Budget(Cap::Run, detail.clone()),
            FailureReason::NoUsableTarget { why, last } => Halt::NoModel { why: *why, last: last.clone() },
            FailureReason::Stopped { cause } => Halt::Stopped(*cause),
            FailureReason::UnusableReplies { .. }
            | FailureReason::ContextFull
            | FailureReason::NoReport
            | FailureReason::ToolFailed { .. } => Halt::Unusable(reason.to_string()),
        }),
    }
}

fn lineage_of(end: &SessionEnd) -> Lineage {
    Lineage { parent: end.session_id.clone(), root: end.session_id.clone() }
}

async fn hold(table: &mut Table<'_, '_, '_>, role: Role, prompt: Prompt, lineage: Option<Lineage>) -> SessionEnd {
    let Table { context, climb, tier, .. } = *table;
    let sessions = &mut *table.sessions;
    let (world, plan) = (&context.world, &context.charter.plan);
    let spec = SessionSpec {
        role,
        tier_index: climb.position.tier_index,
        iteration: climb.iteration(),
        targets: tier.targets(role).to_vec(),
        system: prompt.system.to_owned(),
        first_message: prompt.first_message,
        mark: prompt.mark,
        lineage,
        limits: Limits {
            max_turns: plan.agent.max_turns,
            max_attempts: plan.agent.max_attempts,
            patience: targets::patience(context, climb, &sessions.memory, tier, role),
            ..Limits::default()
        },
        effort: plan.agent.effort,
        temperature: plan.agent.temperature,
    };
    let watched = commands::watch_for_stop(context, climb);
    world.workspace.judged_from(climb.start());
    let run_tests = (role == Role::Artisan).then(|| tests_for_a_model(context, climb));
    let allow_commands = if role == Role::Artisan { plan.agent.allow_commands.clone() } else { Vec::new() };
    let run_command = (!allow_commands.is_empty()).then(|| commands_for_a_model(context, climb));
    let mut ports = Ports {
        providers: world.providers,
        facts: &plan.facts,
        toolbox: Toolbox { workspace: world.workspace.clone(), run_tests, run_command, allow_commands },
        journal: table.recorder.journal,
        caps: climb.caps(context),
        stop: world.stop.clone(),
        wrap_up: world.wrap_up.flag(),
        clock: world.clock,
        redactor: &world.redactor,
        replay: std::mem::replace(&mut sessions.replay, Replay::none()),
        memory: &mut sessions.memory,
    };
    let wrap_up = world.wrap_up.clone();
    wrap_up.set_in_session(true);
    let end = tokio::select! {
        end = session::converse(spec, &mut ports) => end,
        never = watched => match never {},
    };
    wrap_up.set_in_session(false);
    sessions.replay = std::mem::replace(&mut ports.replay, Replay::none());
    end
}

/// The `run_tests` tool: the whole command or a part of it, told as a model reads it best.
fn tests_for_a_model<'t>(context: &Context<'_>, climb: &Climb) -> session::RunTests<'t> {
    let (world, measured) = (&context.world, &climb.measured);
    let (tests, stop) = (measured.setup.tests.clone(), world.stop.clone());
    let root = world.workspace.root().to_owned();
    let aside = measured.baseline.flaky.clone();
    let foresight = Foresight {
        workspace: world.workspace.clone(),
        start: measured.origin.tree.clone(),
        guards: world.guards.clone(),
        import_roots: world.import_roots.clone(),
        by_products: measured.origin.by_products.clone(),
    };
    Box::new(move |filter| {
        let (tests, stop, root) = (tests.clone(), stop.clone(), root.clone());
        let (aside, foresight) = (aside.clone(), foresight.clone());
        Box::pin(async move {
            let run = test_run::run(&tests, filter.as_deref(), &stop).await;
            let mut run = run.map_err(|error: ProcessError| ToolError::Fatal(error.to_string()))?;
            let failed = run.report.failing().count();
            trial::leave_out(&mut run.report, &aside);
            let only_aside = failed > 0 && run.report.problems.is_empty() && !run.exit.is_success();
            let passed = trial::passed(&run.report);
            if (run.exit.is_success() || only_aside) && run.report.failing().next().is_none() && passed > 0 {
                let objection = foresight.objection().await;
                let objection = objection.map_err(|error| ToolError::Fatal(error.to_string()))?;
                let but = objection.map(|why| format!(" But this would not count, because {why}")).unwrap_or_default();
                return Ok(format!("{passed} tests passed, none failed.{but}"));
            }
            let described = test_run::describe(&run, &root, RUN_TESTS_CHARS);
            Ok(format!("{} ({passed} tests passed)\n{described}", run.exit))
        })
    })
}

/// The `run_command` tool: a program that the configuration allows, without a shell, where the tests run and as they run.
fn commands_for_a_model<'t>(context: &Context<'_>, climb: &Climb) -> session::RunCommand<'t> {
    let (tests, stop) = (climb.measured.setup.tests.clone(), context.world.stop.clone());
    Box::new(move |words| {
        let spec = Spec {
            program: Program::Argv(words.into_iter().map(OsString::from).collect()),
            cwd: tests.cwd.clone(),
            env: tests.env.clone(),
            stdin: Vec::new(),
            timeout: tests.timeout,
            keep: COMMAND_KEEP,
            merge_stderr: true,
            memory_mb: tests.memory_mb,
            confinement: tests.confinement.clone(),
        };
        let stop = stop.clone();
        Box::pin(async move {
            let finished = process::run(&spec, &stop, &mut |_chunk| {}).await;
            // A program that does not exist is the model's to mend: it may name another that is allowed.
            let finished = finished.map_err(|error| ToolError::ForModel(error.to_string()))?;
            Ok(format!("{}\n{}", finished.exit, String::from_utf8_lossy(&finished.output)))
        })
    })
}
