//! The table at which roles are asked, and a session there with models of ours.

use std::cell::RefCell;
use std::ffi::OsString;

use super::climb::{Climb, Sessions};
use super::commands;
use super::context::Context;
use super::own_time;
use super::recorder::Recorder;
use super::session_spec::{Aside, caps, spec_with};
use super::targets;
use super::tools::{self, Caller};
use crate::agent::Prompt;
use crate::domain::ladder::{Role, Tier};
use crate::domain::model_id::ModelId;
use crate::policy::rotation::Patience;
use crate::process::{self, ProcessError, Program, Spec};
use crate::session::{self, Book, Lineage, Ports, Replay, SessionEnd, Toolbox};
use crate::test_run;
use crate::trial::{self, Foresight};
use crate::workspace::ToolError;

/// The most characters that `run_tests` tells a model.
const RUN_TESTS_CHARS: usize = 3_000;
/// How much of an allowed command's output is kept from each end, in bytes. The session shortens it further.
const COMMAND_KEEP: usize = 64 * 1024;

/// The table at which the roles of an iteration are asked, one after the other.
#[derive(Debug)]
pub(super) struct Table<'t, 'a, 'j> {
    /// The context that is read.
    pub(super) context: &'t Context<'a>,
    /// Where it is written down.
    pub(super) recorder: &'t mut Recorder<'j>,
    /// This process's knowledge of its sessions.
    pub(super) sessions: &'t mut Sessions,
    /// The run, as it was when the iteration began.
    pub(super) climb: &'t Climb,
    /// The tier under way.
    pub(super) tier: &'t Tier,
}

/// Holds a role's session with models of ours: those of `targets`. `aside` names who stands in the role, if that is another agent: nobody
/// waits for its limits, and it hands nothing over.
pub(super) async fn with_models(
    table: &mut Table<'_, '_, '_>,
    (role, aside): (Role, Option<Aside>),
    prompt: Prompt,
    lineage: Option<Lineage>,
    targets: Vec<ModelId>,
) -> SessionEnd {
    let Table { context, climb, tier, .. } = *table;
    let sessions = &mut *table.sessions;
    let (world, plan) = (&context.world, &context.charter.plan);
    let patience = match &aside {
        Some(_) => Patience::default(),
        None => targets::patience(context, climb, &sessions.memory, tier, role),
    };
    // An agent beside the roles leaves no account refused or limited for them.
    let mut own = aside.as_ref().map(|_| sessions.memory.clone());
    let spec = spec_with(context, climb, (role, aside.as_ref()), prompt, (lineage, targets, patience));
    let (mut sources, news) = tools::open(context, role, &spec.targets).await;
    news.iter().for_each(|event| table.recorder.emit(event));
    let book = RefCell::new(&mut *table.recorder.journal);
    let caps = caps(context, climb, aside.as_ref());
    let (stop, timed) = own_time::of(&world.stop, aside.as_ref().and_then(|aside| aside.seconds));
    let caller = || Caller::of((context, climb), Book::over(&book), caps.clone(), (&spec, &stop));
    let outside = sources.as_mut().and_then(|sources| sources.tools(caller(), &sessions.memory, &mut sessions.replay));
    let watched = commands::watch_for_stop(context, climb);
    world.workspace.judged_from(climb.start());
    let run_tests = (role == Role::Artisan).then(|| tests_for_a_model(context, climb));
    let allow_commands = if role == Role::Artisan { plan.agent.allow_commands.clone() } else { Vec::new() };
    let run_command = (!allow_commands.is_empty()).then(|| commands_for_a_model(context, climb));
    let mut ports = Ports {
        providers: world.providers,
        facts: &plan.facts,
        toolbox: Toolbox { workspace: world.workspace.clone(), run_tests, run_command, allow_commands, outside },
        journal: Book::over(&book),
        caps,
        stop: stop.clone(),
        wrap_up: world.wrap_up.flag(),
        clock: world.clock,
        redactor: &world.redactor,
        replay: match &aside {
            Some(aside) => sessions.replay.of_agent(&aside.agent),
            None => std::mem::replace(&mut sessions.replay, Replay::none()),
        },
        memory: own.as_mut().unwrap_or(&mut sessions.memory),
    };
    let wrap_up = world.wrap_up.clone();
    wrap_up.set_in_session(true);
    let mut end = tokio::select! {
        end = session::converse(spec, &mut ports) => end,
        never = watched => match never {},
        never = tools::keep(&mut sources) => match never {},
        never = timed => match never {},
    };
    wrap_up.set_in_session(false);
    // Replies that this session has not used are those of the next role in the same iteration.
    let rest = std::mem::replace(&mut ports.replay, Replay::none());
    drop(ports);
    match own {
        Some(found) => sessions.memory.learn(found),
        None => sessions.replay = rest,
    }
    if let Some(sources) = sources {
        sources.close(&mut sessions.memory, &mut end).await;
    }
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
            // The exit may be red for the sake of tests that are set aside.
            let only_aside = failed > 0 && run.report.problems.is_empty() && !run.exit.is_success();
            let passed = trial::passed(&run.report);
            // A filter that fits no test often ends well: without `passed` that would read as a success.
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
