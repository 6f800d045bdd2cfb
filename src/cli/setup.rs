//! From a plan to the world a run acts on: audit log, models, tree, tests, signals, clock.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::environment::{Environment, from_here};
use super::{Failure, models, report, signals, terminal};
use crate::audit::{self, AuditError, Journal, Location, Store};
use crate::config::Plan;
use crate::domain::clock::{Clock, SystemClock};
use crate::domain::event::{Event, EventSink};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::lifecycle::state::RunState;
use crate::lifecycle::{self, Engine, World};
use crate::model::Providers;
use crate::process::environment::child_environment;
use crate::process::{Confinement, Program, Spec};
use crate::redact::Redactor;
use crate::session::Replay;
use crate::test_run::TestCommand;
use crate::workspace::{PathRules, Workspace, WorkspaceError};

/// The folder under the state home that holds the recorded trees of each checkout.
const TREES: &str = "trees";
/// Where a run leaves its patch when there is no audit log to leave it beside.
const DEFAULT_KEEP: &str = ".upshift";
/// How much of the setup command's output is kept from each end, in bytes.
const SETUP_KEEP: usize = 16 * 1024;
/// The most time the setup command may take: it may download and build dependencies.
const SETUP_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// What is the same for a fresh run and for one that goes on.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    /// The folder upshift was started in.
    pub(super) checkout: &'a Path,
    /// The environment.
    pub(super) environment: &'a Environment,
    /// Time.
    pub(super) clock: Arc<SystemClock>,
    /// Secrets.
    pub(super) redactor: Arc<Redactor>,
}

/// Runs a future on this thread.
///
/// # Errors
/// Those of the future, and when the runtime cannot start.
pub(super) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(future)
}

/// An audit log that cannot be used: nothing was spent, the user can mend it.
pub(super) fn audit_failure(error: &AuditError) -> anyhow::Error {
    Failure::usage(format!("the audit log cannot be used: {error}\nNo LLM calls were made."))
}

/// The folder in which the tests run.
///
/// # Errors
/// When it does not exist (exit 2).
pub(super) fn working_directory(checkout: &Path, plan: &Plan) -> anyhow::Result<PathBuf> {
    let folder = plan.working_directory.as_ref().map_or_else(|| checkout.to_owned(), |dir| from_here(checkout, dir));
    folder.canonicalize().map_err(|error| {
        let shown = folder.display();
        Failure::usage(format!(
            "the working directory {shown} cannot be used: {error}\n→ Fix: name an existing folder of the repository with \
             --working-directory"
        ))
    })
}

/// Where a configured audit log lies.
pub(super) fn locate(configured: &str, checkout: &Path, environment: &Environment) -> Location {
    audit::locate(&from_here(checkout, configured), checkout, &environment.state_home(checkout))
}

impl<'a> Setup<'a> {
    /// Learns the secrets and starts the clock.
    pub(super) fn new(checkout: &'a Path, environment: &'a Environment) -> Self {
        Self {
            checkout,
            environment,
            clock: Arc::new(SystemClock::new()),
            redactor: Arc::new(Redactor::new(&environment.secrets())),
        }
    }

    /// Opens the audit log before any money is spent.
    pub(super) fn open_store(&self, audit: Option<&str>) -> anyhow::Result<Store> {
        let store = match audit {
            Some(configured) => {
                Store::open(&locate(configured, self.checkout, self.environment), Arc::clone(&self.redactor))
            }
            None => Store::in_memory(Arc::clone(&self.redactor)),
        };
        store.map_err(|error| audit_failure(&error))
    }

    /// Those who listen to a run; `before` is what happened in it already, known but not shown again.
    pub(super) fn listeners(&self, before: &[Event]) -> Vec<Box<dyn EventSink>> {
        let listeners: Vec<Box<dyn EventSink>> =
            vec![Box::new(terminal::Terminal::new(self.environment.in_actions(), before))];
        #[cfg(debug_assertions)]
        let listeners = with_crash(listeners, self.environment);
        listeners
    }

    /// Carries a run to its end and prints its report.
    pub(super) async fn carry(
        &self,
        workspace: Arc<Workspace>,
        journal: Journal,
        state: RunState,
        replay: Replay,
    ) -> anyhow::Result<u8> {
        let stop = self.listen(&state)?;
        let providers = models::connect(&state.plan, self)?;
        let world = self.world(&state, workspace, &providers, stop)?;
        let (format, run_id) = (state.plan.format, state.run_id.clone());
        let mut engine = Engine::new(world, journal, state, replay);
        let outcome = lifecycle::run(&mut engine).await?;
        let events = engine.journal.store().load_run(&run_id)?.events;
        for warning in engine.journal.close() {
            super::say(&format!("⚠ {warning}"));
        }
        super::print(&report::render_ended(&events, format))?;
        Ok(outcome.exit_code())
    }

    /// Signals and the clock of the active time raise one flag.
    fn listen(&self, state: &RunState) -> anyhow::Result<Stop> {
        let (source, stop) = StopSource::new();
        let source = Arc::new(source);
        signals::listen(&source)?;
        let left = state.plan.budget.max_active_ms.saturating_sub(state.active_ms);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(left)).await;
            source.raise(StopCause::TimeUp);
        });
        Ok(stop)
    }

    /// Opens the tree and keeps it for this process alone; before a run is recorded, so that none begins that cannot go on.
    ///
    /// # Errors
    /// When another upshift works on the same checkout (exit 2), and when the tree cannot be read.
    pub(super) fn open_workspace(&self, plan: &Plan) -> anyhow::Result<Arc<Workspace>> {
        let rules = PathRules {
            protected: plan.safety.protected_paths.clone(),
            allow_test_edits: plan.safety.allow_test_edits.clone(),
        };
        let trees = self.environment.state_home(self.checkout).join(TREES).join(folder_name(self.checkout));
        match block_on(async { Ok(Workspace::open(self.checkout, &trees, rules).await) })? {
            Ok(workspace) => Ok(Arc::new(workspace)),
            Err(WorkspaceError::InUse { .. }) => Err(Failure::usage(format!(
                "another upshift is at work in {}\n→ Fix: wait for it to end, or stop it. No LLM calls were made.",
                self.checkout.display()
            ))),
            Err(other) => Err(Failure::usage(other.to_string())),
        }
    }

    fn world<'w>(
        &'w self,
        state: &RunState,
        workspace: Arc<Workspace>,
        providers: &'w Providers,
        stop: Stop,
    ) -> anyhow::Result<World<'w>> {
        let plan = &state.plan;
        let folder = working_directory(self.checkout, plan)?;
        let env = self.child_environment(plan)?;
        let setup = plan.test.setup_command.as_ref().map(|command| Spec {
            program: Program::Shell(command.clone()),
            cwd: folder.clone(),
            env: env.clone(),
            stdin: Vec::new(),
            timeout: SETUP_TIMEOUT,
            keep: SETUP_KEEP,
            merge_stderr: true,
            confinement: Confinement::None,
        });
        Ok(World {
            workspace,
            providers,
            tests: TestCommand {
                command: state.test_command.clone(),
                cwd: folder.clone(),
                env,
                timeout: Duration::from_secs(plan.test.timeout_seconds),
                framework: state.framework.clone(),
                junit: plan.test.junit.as_ref().map(|path| folder.join(path)),
            },
            setup,
            clock: &*self.clock,
            stop,
            redactor: Arc::clone(&self.redactor),
            keep: self.keep_folder(plan),
        })
    }

    fn child_environment(&self, plan: &Plan) -> anyhow::Result<BTreeMap<OsString, OsString>> {
        let keys: Vec<String> = plan.endpoints.values().filter_map(|endpoint| endpoint.key_var.clone()).collect();
        child_environment(self.environment.raw(), &plan.safety.pass_env, &keys)
            .map_err(|error| Failure::usage(error.to_string()))
    }

    /// Beside the audit log as the user named it.
    fn keep_folder(&self, plan: &Plan) -> PathBuf {
        let beside = plan.audit.as_ref().map(|configured| locate(configured, self.checkout, self.environment).shown);
        let folder = beside.and_then(|shown| shown.parent().map(Path::to_owned));
        folder.unwrap_or_else(|| self.checkout.join(DEFAULT_KEEP))
    }

    /// The audit log as the user named it, from the checkout if it lies in it.
    pub(super) fn shown_audit(&self, plan: &Plan) -> Option<String> {
        let shown = locate(plan.audit.as_ref()?, self.checkout, self.environment).shown;
        Some(shown.strip_prefix(self.checkout).unwrap_or(&shown).display().to_string())
    }

    /// Now.
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }
}

/// A name for a checkout's folder of trees: its own name for people, a hash of its path against collisions.
fn folder_name(checkout: &Path) -> String {
    use sha2::{Digest as _, Sha256};
    let path = checkout.canonicalize().unwrap_or_else(|_gone| checkout.to_owned());
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    format!("{name}-{hash}")
}

#[cfg(debug_assertions)]
fn with_crash(mut listeners: Vec<Box<dyn EventSink>>, environment: &Environment) -> Vec<Box<dyn EventSink>> {
    if let Some(crash) = super::crash::CrashAfter::from(environment) {
        listeners.push(Box::new(crash));
    }
    listeners
}
