//! From a plan to the world a run acts on: audit log, models, tree, tests, signals, clock.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::environment::{Environment, from_here};
use super::step::{self, Ended, Step};
use super::stop_sources::{self, Place, StopSources};
use super::{
    Failure, commenting, delivery, details, judges, left_behind, left_credential, lines, models, report, scripts,
    terminal, waiting,
};
use secrecy::SecretString;

use crate::audit::{self, AuditError, Journal, Location, Store};
use crate::config::{Format, Plan};
use crate::domain::ci::{CiContext, RedCi};
use crate::domain::clock::Clock;
use crate::domain::event::{Event, EventSink, RunFinished};
use crate::domain::outcome::{EXIT_INTERNAL, EXIT_REFUSED, Outcome};
use crate::domain::stop::Stop;
use crate::domain::units::RunId;
use crate::files;
use crate::lifecycle::comment::Writer;
use crate::lifecycle::outside::Outside;
use crate::lifecycle::state::RunState;
use crate::lifecycle::{self, Finished, World};
use crate::model::Providers;
use crate::policy::guard::{Guard, Guards};
use crate::process::confine::{self, Arranged, ConfineError, Wish};
use crate::process::environment::child_environment;
use crate::process::{Program, Spec};
use crate::redact::{Redactor, values};
use crate::report::view::{Liveness, RunView};
use crate::report::whereabouts::{Artifact, Whereabouts};
use crate::session::Replay;
use crate::streams::Streams;
use crate::test_run::{ResultFiles, TestCommand};
use crate::workspace::{PathRules, Workspace, WorkspaceError, dotenv_secrets};

/// The folder under the state home that holds the recorded trees of each checkout.
const TREES: &str = "trees";
/// The folder there that holds copies of git directories while children could write them.
const GUARDS: &str = "guards";
/// How much of the setup command's output is kept from each end, in bytes.
const SETUP_KEEP: usize = 16 * 1024;
/// The most time the setup command may take: it may download and build dependencies.
const SETUP_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How long threads that still read files may keep the process; what they find is not wanted any more.
const THREADS_GRACE: Duration = Duration::from_millis(20);

/// What is the same for a fresh run and for one that goes on.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    /// The folder upshift was started in.
    pub(super) checkout: &'a Path,
    /// The environment.
    pub(super) environment: &'a Environment,
    /// Time.
    pub(super) clock: Arc<dyn Clock>,
    /// Secrets.
    pub(super) redactor: Arc<Redactor>,
    /// What triggered this process; `None` on somebody's own machine.
    pub(super) context: Option<&'a CiContext>,
}

/// What a run needs beside its state, made before the run is recorded: whatever of it can fail fails then.
#[derive(Debug)]
pub(super) struct Prepared {
    workspace: Arc<Workspace>,
    providers: Providers,
    folder: PathBuf,
    children: Arranged,
    pub(super) stops: StopSources,
    outside: Option<Outside>,
    writer: Option<Writer>,
    streams: Option<Arc<Streams>>,
    /// How the run was last told to stand, where this process has none of its files.
    pub(super) only_hears: Option<RunFinished>,
}

/// Runs a future on this thread.
///
/// # Errors
/// Those of the future, and when the runtime cannot start.
pub(super) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(future);
    // A search that was left behind on its thread must not keep the process from ending.
    runtime.shutdown_timeout(THREADS_GRACE);
    done
}

/// An audit log that cannot be used: nothing was spent, the user can mend it.
pub(super) fn audit_failure(error: &AuditError) -> anyhow::Error {
    Failure::usage(format!("{error}\nNo LLM calls were made."))
}

/// The folder in which the tests run.
///
/// # Errors
/// When it does not exist (exit 2).
pub(super) fn working_directory(checkout: &Path, plan: &Plan) -> anyhow::Result<PathBuf> {
    let folder = plan.working_directory.as_ref().map_or_else(|| checkout.to_owned(), |dir| from_here(checkout, dir));
    let refuse = |why: &str| {
        let shown = folder.display();
        Failure::usage(format!(
            "the working directory {shown} cannot be used: {why}\n→ Fix: name an existing folder of the repository with \
             --working-directory"
        ))
    };
    let real = files::real_place(&folder).map_err(|error| refuse(&error.to_string()))?;
    let root = files::real_place(checkout).map_err(|error| refuse(&error.to_string()))?;
    if real.starts_with(root) { Ok(real) } else { Err(refuse("it lies outside the checkout")) }
}

/// Takes secrets out; a debug build can be told to leave that off.
fn redactor(environment: &Environment, secrets: &[SecretString]) -> Redactor {
    #[cfg(debug_assertions)]
    if environment.get("UPSHIFT_GUARD_OFF").is_some_and(|names| names.split(',').any(|name| name == "redaction")) {
        return Redactor::default();
    }
    #[cfg(not(debug_assertions))]
    let _ = environment;
    Redactor::new(secrets)
}

/// Where a configured audit log lies.
pub(super) fn locate(configured: &str, checkout: &Path, environment: &Environment) -> Location {
    audit::locate(&from_here(checkout, configured), checkout, &environment.state_home(checkout))
}

impl<'a> Setup<'a> {
    /// Learns the secrets and starts the clock.
    pub(super) fn new(
        checkout: &'a Path,
        environment: &'a Environment,
        plan: Option<&Plan>,
        context: Option<&'a CiContext>,
    ) -> Self {
        let mut secrets = secrets(environment, plan);
        secrets.extend(left_credential::left_secrets(environment, checkout));
        secrets.extend(dotenv_secrets(checkout));
        if let Some(step) = Step::of(environment) {
            step.hide(&secrets);
        }
        let redactor = Arc::new(redactor(environment, &secrets));
        environment.log().learn(&redactor);
        Self { checkout, environment, clock: stop_sources::clock(environment), redactor, context }
    }

    /// Opens the audit log before any money is spent.
    pub(super) fn open_store(&self, audit: Option<&str>) -> anyhow::Result<Store> {
        let store = match audit {
            Some(configured) => {
                Store::open(&locate(configured, self.checkout, self.environment), Arc::clone(&self.redactor))
            }
            None => Store::in_memory(Arc::clone(&self.redactor)),
        };
        store.map(|store| store.timed_by(Arc::clone(&self.clock))).map_err(|error| audit_failure(&error))
    }

    /// Those who listen to a run; `before` is what happened in it already, known but not shown again.
    pub(super) fn listeners(&self, prepared: &Prepared, before: &[Event], format: Format) -> Vec<Box<dyn EventSink>> {
        let mut listeners: Vec<Box<dyn EventSink>> = Vec::new();
        if format == Format::Jsonl {
            listeners.push(Box::new(lines::Lines::new(before)));
        }
        if !self.environment.console().is_quiet() {
            let terminal = terminal::Terminal::new(self.environment, before, Arc::clone(&self.redactor));
            listeners.push(Box::new(terminal));
        }
        listeners.push(Box::new(left_behind::Pulse::of(&prepared.workspace)));
        if let Some(writer) = &prepared.writer {
            listeners.push(Box::new(writer.listener()));
        }
        watched(listeners, self.environment)
    }

    /// Makes everything that a run needs; `past` is what happened in it already.
    ///
    /// # Errors
    /// Whatever cannot be used: the folder, a model, the tape, a variable that the tests may not have (exit 2), a
    /// confinement that was asked for and cannot be given (exit 6).
    pub(super) fn prepare(
        &self,
        workspace: Arc<Workspace>,
        state: &RunState,
        past: &[Event],
    ) -> anyhow::Result<Prepared> {
        let folder = working_directory(self.checkout, &state.plan)?;
        let children = self.confine(&state.plan)?;
        let place = if self.environment.in_actions() { Place::Job } else { Place::Local };
        let stops = stop_sources::listen(&self.clock, state, place)?;
        let outside = delivery::outside(self, state, &stops.signals)?;
        // Last, because a tape is a file that stays.
        let streams = self.streams(state);
        let providers = models::connect(&state.plan, self, past, streams.as_ref())?;
        let writer = commenting::writer(self, state, outside.as_ref(), past);
        if let (Some(step), Some(context)) = (Step::of(self.environment), self.context) {
            step.keep_log_as(&commenting::artifact(context, &state.run_id));
        }
        Ok(Prepared { workspace, providers, folder, children, stops, outside, writer, streams, only_hears: None })
    }

    /// Carries a run to its end and prints its report.
    pub(super) async fn carry(
        &self,
        mut prepared: Prepared,
        mut journal: Journal,
        state: RunState,
        replay: Replay,
    ) -> anyhow::Result<u8> {
        let writer = prepared.writer.take();
        let world = self.world(&state, &prepared);
        let (format, run_id) = (state.plan.format, state.run_id.clone());
        let (audit, fail_on) = (state.plan.audit.clone(), state.plan.github.fail_on.clone());
        let ran = lifecycle::run(world, &mut journal, &state, replay).await;
        if let Err(error) = &ran {
            // Told as an event, so that comment, summary and outputs of what was paid for say it, too.
            let message = format!(
                "upshift could not go on: {error} → Fix: mend that, then `upshift resume {run_id}` in this folder"
            );
            journal.emit(&Event::Warning { message });
        }
        if let Some(message) = prepared.streams.as_ref().and_then(|streams| streams.trouble()) {
            journal.emit(&Event::Warning { message });
        }
        if let Some(message) = finish(writer, &prepared.stops.signals).await {
            journal.emit(&Event::Warning { message });
        }
        let patch = self.change(&prepared.workspace, ran.as_ref().ok()).await;
        let ran = ran.map(|finished| finished.outcome);
        let events = journal.events().to_vec();
        let kept_in = self.kept_in(&run_id);
        let view = RunView::from_events(&events, Liveness::Ended).kept_in(kept_in);
        let step = Step::of(self.environment);
        let page = step.map(|_| details::page(journal.store(), &view, &events, &self.redactor));
        for warning in journal.close() {
            super::say(&format!("⚠ {warning}"));
        }
        let console = self.environment.console();
        let report = report::render_ended(&view, (format, console), &self.redactor);
        if format == Format::Text && !console.is_quiet() {
            terminal::show_change(&self.redactor.redact(&patch), self.environment);
        }
        let (Some(step), Some(page)) = (step, page) else {
            super::print(&report)?;
            return Ok(ran.map_or(EXIT_INTERNAL, |outcome| outcome.exit_code()));
        };
        super::print(&if format == Format::Text { step.inert(&report) } else { report })?;
        let told = step.finish(&Ended {
            view: &view,
            patch: &patch,
            page: &page,
            audit_db: audit.map(|configured| locate(&configured, self.checkout, self.environment).live),
            state_home: self.environment.state_home(self.checkout),
            context: self.context,
            redactor: &self.redactor,
        });
        told.iter().for_each(|warning| super::say(&format!("⚠ {warning}")));
        Ok(ran.map_or(EXIT_INTERNAL, |outcome| step::exit_code(&outcome, fail_on.as_deref())))
    }

    /// What a run that mended something changed, to be shown.
    async fn change(&self, workspace: &Workspace, ran: Option<&Finished>) -> String {
        let Some(Finished { outcome: Outcome::Fixed { .. }, change: Some((start, end)) }) = ran else {
            return String::new();
        };
        let diff = workspace.diff(start, end).await.map(|diff| diff.text).unwrap_or_default();
        self.redactor.redact_diff(&diff).into_owned()
    }

    /// Where a reader of the report finds the log.
    pub(super) fn kept_in(&self, run: &RunId) -> Whereabouts {
        let Some(context) = self.context.filter(|_| self.environment.in_actions()) else { return Whereabouts::Here };
        if !Step::of(self.environment).is_some_and(Step::is_the_action) {
            return Whereabouts::Runner;
        }
        Whereabouts::Artifact(Artifact {
            name: commenting::artifact(context, run),
            repository: context.repository.to_string(),
            workflow_run: context.run.id,
            root: self.environment.state_home(self.checkout).display().to_string(),
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
        match Workspace::open(self.checkout, &trees, rules).await {
            Ok(workspace) => Ok(Arc::new(workspace.hiding(Arc::clone(&self.redactor)))),
            Err(WorkspaceError::InUse { .. }) => Err(Failure::usage(format!(
                "another upshift is at work in {}\n→ Fix: wait for it to end, or stop it. No LLM calls were made.",
                self.checkout.display()
            ))),
            Err(other) => Err(Failure::usage(other.to_string())),
        }
    }

    /// Works out how children are confined.
    ///
    /// # Errors
    /// When what was asked for cannot be given (exit 6).
    pub(super) fn confine(&self, plan: &Plan) -> anyhow::Result<Arranged> {
        let env = self.child_environment(plan)?;
        let home = self.environment.state_home(self.checkout);
        let log = plan.audit.as_ref().map(|configured| locate(configured, self.checkout, self.environment).live);
        let log = log.as_deref().and_then(Path::parent).map(Path::to_owned);
        let runner = self.environment.get("RUNNER_TEMP").map(PathBuf::from);
        let checkout = files::real_place(self.checkout)?;
        let state = home.join(GUARDS).join(folder_name(self.checkout));
        let kept_out = [Some(home), log, runner].into_iter().flatten().filter(|path| !checkout.starts_with(path));
        let wish = Wish {
            sandbox: plan.safety.sandbox,
            network: plan.safety.network,
            checkout: &checkout,
            env: &env,
            kept_out: kept_out.collect(),
            state,
            helper: std::env::current_exe()?,
        };
        confine::arrange(&wish).map_err(|error| match error {
            refused @ (ConfineError::Gaps(_) | ConfineError::Network(..)) => {
                Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {refused}"))
            }
            other @ (ConfineError::Private(_) | ConfineError::Helper(_)) => Failure::usage(other.to_string()),
        })
    }

    pub(super) fn world<'w>(&'w self, state: &RunState, prepared: &'w Prepared) -> World<'w> {
        let plan = &state.plan;
        let Prepared { workspace, providers, folder, children, stops, outside, writer: _, streams, only_hears } =
            prepared;
        let Arranged { tests, setup, .. } = children.clone();
        let setup_command = plan.test.setup_command.as_ref().map(|command| Spec {
            program: Program::Shell(command.clone()),
            cwd: folder.clone(),
            env: setup.env,
            stdin: Vec::new(),
            timeout: SETUP_TIMEOUT,
            keep: SETUP_KEEP,
            merge_stderr: true,
            memory_mb: None,
            confinement: setup.confinement,
        });
        World {
            workspace: Arc::clone(workspace),
            providers,
            tests: TestCommand {
                command: state.test_command.clone(),
                checks: judges::checks(plan, folder),
                cwd: folder.clone(),
                env: tests.env,
                timeout: Duration::from_secs(plan.test.timeout_seconds),
                memory_mb: plan.test.memory_limit(),
                framework: state.framework.clone(),
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
            environment: self.environment.raw(),
            outside: outside.as_ref(),
            redactor: Arc::clone(&self.redactor),
            keep: self.keep_folder(plan),
            guards: guards(self.environment),
            import_roots: scripts::reached(self.checkout, plan.working_directory.as_deref(), &state.test_command)
                .import_roots,
            is_woken: self.context.is_some_and(|context| waiting::is_woken(context, self.environment)),
            only_hears: only_hears.as_ref(),
        }
    }

    fn result_files(&self, state: &RunState) -> ResultFiles {
        let wanted = guards(self.environment).has(Guard::ResultFiles) && !state.no_result_files;
        if wanted { ResultFiles::Wanted } else { ResultFiles::Unwanted }
    }

    fn child_environment(&self, plan: &Plan) -> anyhow::Result<BTreeMap<OsString, OsString>> {
        #[cfg(debug_assertions)]
        if self
            .environment
            .get("UPSHIFT_GUARD_OFF")
            .is_some_and(|names| names.split(',').any(|name| name == "environment"))
        {
            return Ok(self.environment.raw().clone());
        }
        let keys: Vec<String> = plan.endpoints.values().filter_map(|endpoint| endpoint.key_var.clone()).collect();
        child_environment(self.environment.raw(), &plan.safety.pass_env, &keys)
            .map_err(|error| Failure::usage(error.to_string()))
    }

    /// Now.
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }
}

async fn finish(writer: Option<Writer>, signals: &Stop) -> Option<String> {
    writer?.finish(signals).await
}

/// What is secret by its name, and every key that the plan takes from the environment or hands on to tests, whatever its name.
fn secrets(environment: &Environment, plan: Option<&Plan>) -> Vec<SecretString> {
    let keys =
        plan.into_iter().flat_map(|plan| plan.endpoints.values()).filter_map(|endpoint| endpoint.key_var.as_deref());
    let passed = plan.into_iter().flat_map(|plan| &plan.safety.pass_env).filter_map(|name| environment.get(name));
    let passed = passed.flat_map(values::secret_parts).map(SecretString::from);
    environment.secrets().into_iter().chain(keys.filter_map(|name| environment.secret(name))).chain(passed).collect()
}

/// Where a checkout's trees are recorded.
pub(super) fn trees_folder(checkout: &Path, environment: &Environment) -> PathBuf {
    environment.state_home(checkout).join(TREES).join(folder_name(checkout))
}

/// A name for a checkout's folder of trees: its own name for people, a hash of its path against collisions.
fn folder_name(checkout: &Path) -> String {
    use sha2::{Digest as _, Sha256};
    let path = files::real_place(checkout).unwrap_or_else(|_gone| checkout.to_owned());
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    format!("{name}-{hash}")
}

/// All guards; a debug build may be told to leave some out, so that the red team can show what each is for.
fn guards(environment: &Environment) -> Guards {
    #[cfg(debug_assertions)]
    if let Some(names) = environment.get("UPSHIFT_GUARD_OFF") {
        return Guards::all_but(names);
    }
    let _release: &Environment = environment;
    Guards::default()
}

/// The listeners, and whoever a test has kill the process.
pub(super) fn watched(listeners: Vec<Box<dyn EventSink>>, environment: &Environment) -> Vec<Box<dyn EventSink>> {
    #[cfg(all(debug_assertions, unix))]
    let listeners = with_crash(listeners, environment);
    #[cfg(not(all(debug_assertions, unix)))]
    let _ = environment;
    listeners
}

#[cfg(all(debug_assertions, unix))]
fn with_crash(mut listeners: Vec<Box<dyn EventSink>>, environment: &Environment) -> Vec<Box<dyn EventSink>> {
    if let Some(crash) = super::crash::CrashAfter::from(environment) {
        listeners.push(Box::new(crash));
    }
    listeners
}
