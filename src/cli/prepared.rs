//! From a plan to the world a run acts on: models, tree, tests, confinement, signals.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::http_client::http;
use super::setup::{Setup, artifact, guards, trees_folder, working_directory};
use super::step::Step;
use super::stop_sources::{self, Place, StopSources};
use super::tasks::TASK_LIST;
use super::{Failure, commenting, delivery, judges, models, scripts, waiting};
use crate::config::Plan;
use crate::domain::ci::RedCi;
use crate::domain::event::{Event, RunFinished};
use crate::hosted::Hosting;
use crate::lifecycle::World;
use crate::lifecycle::comment::Writer;
use crate::lifecycle::outside::Outside;
use crate::lifecycle::state::RunState;
use crate::model::Providers;
use crate::policy::guard::Guard;
use crate::process::confine::Arranged;
use crate::process::{Program, Spec};
use crate::streams::Streams;
use crate::telemetry::{Settings, Telemetry};
use crate::test_run::{ResultFiles, TestCommand};
use crate::workspace::{PathRules, Workspace, WorkspaceError};

/// How much of the setup command's output is kept from each end, in bytes.
const SETUP_KEEP: usize = 16 * 1024;
/// The most time the setup command may take: it may download and build dependencies.
const SETUP_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How often it is looked whether a tree in use is given up.
const LOOKS: u32 = 10;
/// The time between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The resources of a run beside its state, made before the run is recorded, so that they fail before it.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) workspace: Arc<Workspace>,
    providers: Providers,
    folder: PathBuf,
    children: Arranged,
    pub(super) stops: StopSources,
    outside: Option<Outside>,
    pub(super) writer: Option<Writer>,
    pub(super) telemetry: Option<Telemetry>,
    pub(super) streams: Option<Arc<Streams>>,
    hosting: Hosting,
    /// How the run was last told to stand, where this process has none of its files.
    pub(super) only_hears: Option<RunFinished>,
}

impl Setup<'_> {
    /// Makes everything that a run needs. `past` holds the events of the run so far.
    ///
    /// # Errors
    /// A part that cannot be used: the folder, a model, the tape, a variable that the tests may not have (exit 2), a
    /// confinement that was asked for and cannot be given (exit 6).
    pub(super) fn prepare(
        &self,
        workspace: Arc<Workspace>,
        state: &RunState,
        past: &[Event],
    ) -> anyhow::Result<Prepared> {
        self.prepare_for(workspace, state, past, None)
    }

    /// The same for a run that may have none of its files here: then `only_hears` is how it was last told to stand, and no model is asked.
    ///
    /// # Errors
    /// As of [`Self::prepare`].
    pub(super) fn prepare_for(
        &self,
        workspace: Arc<Workspace>,
        state: &RunState,
        past: &[Event],
        only_hears: Option<RunFinished>,
    ) -> anyhow::Result<Prepared> {
        let folder = working_directory(self.checkout, &state.plan)?;
        // Before anything is opened: what was asked for and cannot be given ends here, with nothing to undo.
        let mut children = self.confine(&state.plan)?;
        let place = if self.environment.in_actions() { Place::Job } else { Place::Local };
        let stops = stop_sources::listen(&self.clock, state, place)?;
        let outside = delivery::outside(self, state, &stops.signals)?;
        // Last, because a tape is a file that stays.
        let streams = self.streams(state);
        // Recordings, a tape and agents lie in the checkout, or are put on a machine for the work.
        let is_at_work = only_hears.is_none();
        let providers = match is_at_work {
            true => models::connect(&state.plan, self, past, (&workspace, streams.as_ref()))?,
            false => Providers::default(),
        };
        let writer = commenting::writer(self, state, outside.as_ref(), past);
        // Told before the first call, since a step that is killed can no longer tell it.
        if let (Some(step), Some(context)) = (Step::of(self.environment), self.context) {
            step.keep_log_as(&artifact(context, &state.run_id));
        }
        let host = if is_at_work { Self::hosting } else { Self::bare_hosting };
        let hosting = host(self, &state.plan, streams.as_ref())?;
        children.notes.extend(hosting.notes.iter().cloned());
        let telemetry = self.telemetry();
        Ok(Prepared {
            workspace,
            providers,
            folder,
            children,
            stops,
            outside,
            writer,
            telemetry,
            streams,
            hosting,
            only_hears,
        })
    }

    /// Opens the tree and keeps it for this process alone.
    ///
    /// # Errors
    /// When another upshift works on the same checkout (exit 2), and when the tree cannot be read.
    pub(super) async fn open_workspace(
        &self,
        plan: &Plan,
        test_command: &str,
        red_ci: Option<&RedCi>,
    ) -> anyhow::Result<Arc<Workspace>> {
        let rules = PathRules {
            allow_test_edits: plan.safety.allow_test_edits.clone(),
            guards: guards(self.environment),
            ..judges::rules(self.checkout, plan, test_command, red_ci)
        };
        let trees = trees_folder(self.checkout, self.environment);
        match opened(self.checkout, &trees, &rules).await {
            Ok(workspace) => {
                let workspace = workspace.hiding(Arc::clone(&self.redactor));
                // The list of tasks may lie in the checkout, and the backlog writes it while this run is at work.
                if let Some(list) = self.environment.get(TASK_LIST) {
                    workspace.spare_list(Path::new(list));
                }
                Ok(Arc::new(workspace))
            }
            // Two runs in one tree would take each other's edits for a person's.
            Err(WorkspaceError::InUse { .. }) => Err(Failure::usage(format!(
                "another upshift is running in {}\n→ Fix: wait for it to end, or stop it. No LLM calls were made.",
                self.checkout.display()
            ))),
            Err(other) => Err(Failure::usage(other.to_string())),
        }
    }

    pub(super) fn world<'w>(&'w self, state: &RunState, prepared: &'w Prepared) -> World<'w> {
        let plan = &state.plan;
        let Prepared {
            workspace,
            providers,
            folder,
            children,
            stops,
            outside,
            writer: _,
            telemetry: _,
            streams,
            hosting,
            only_hears,
        } = prepared;
        let Arranged { tests, setup, .. } = children.clone();
        let setup_command = plan.test.setup_command.as_ref().map(|command| Spec {
            program: Program::Shell(command.clone()),
            cwd: folder.clone(),
            env: setup.env,
            stdin: Vec::new(),
            timeout: SETUP_TIMEOUT,
            keep: SETUP_KEEP,
            merge_stderr: true,
            // Builds of dependencies take more than tests do, and the limit is meant for tests.
            memory_mb: None,
            confinement: setup.confinement,
        });
        World {
            workspace: Arc::clone(workspace),
            providers,
            hosting,
            tests: TestCommand {
                command: state.test_command.clone(),
                checks: judges::checks(plan, &state.test_command, folder),
                cwd: folder.clone(),
                env: tests.env,
                timeout: Duration::from_secs(plan.test.timeout_seconds),
                memory_mb: plan.test.memory_limit(),
                framework: state.framework.clone(),
                // The path is the tests', so it starts where they do.
                junit: plan.test.junit.as_ref().map(|path| folder.join(path)),
                confinement: tests.confinement,
                results: self.result_files(state),
                streams: streams.clone(),
            },
            setup: setup_command,
            children: children.clone(),
            clock: &*self.clock,
            stop: stops.stop.clone(),
            wrap_up: stops.wrap_up.clone(),
            waiting: stops.waiting.clone(),
            // The caller's own, for git and for names of folders. Tests get the confined one of `tests`.
            environment: self.environment.raw(),
            outside: outside.as_ref(),
            redactor: Arc::clone(&self.redactor),
            keep: self.keep_folder(plan),
            guards: guards(self.environment),
            import_roots: scripts::reached(self.checkout, plan.working_directory.as_deref(), &state.test_command)
                .import_roots,
            is_woken: self.context.is_some_and(|context| waiting::is_woken(context, self.environment)),
            starts_ci: waiting::starts_ci(self.environment),
            // The writer is taken out before a run is carried, which puts its word in.
            naming: None,
            only_hears: only_hears.as_ref(),
        }
    }

    /// The sender of telemetry, where a collector is named. One that cannot be used is told of, and is no reason to stop.
    fn telemetry(&self) -> Option<Telemetry> {
        match Settings::read(|name| self.environment.get(name).map(str::to_owned)) {
            Ok(settings) => Some(Telemetry::start(settings?.redacted(&self.redactor), http(self.environment))),
            Err(why) => {
                super::say(&format!("⚠ no telemetry is sent: {why}"));
                None
            }
        }
    }

    fn result_files(&self, state: &RunState) -> ResultFiles {
        let wanted = guards(self.environment).has(Guard::ResultFiles) && !state.no_result_files;
        if wanted { ResultFiles::Wanted } else { ResultFiles::Unwanted }
    }
}

/// The opened tree. A process that was killed a moment ago still has it, until the system has ended the last of its children.
async fn opened(checkout: &Path, trees: &Path, rules: &PathRules) -> Result<Workspace, WorkspaceError> {
    for _ in 0..LOOKS {
        match Workspace::open(checkout, trees, rules.clone()).await {
            Err(WorkspaceError::InUse { .. }) => tokio::time::sleep(BETWEEN_LOOKS).await,
            other => return other,
        }
    }
    Workspace::open(checkout, trees, rules.clone()).await
}
