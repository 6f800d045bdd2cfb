//! Setup that is the same for every command that works on a checkout: its secrets, its clock, and the places of its log and its trees.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::environment::{Environment, from_here};
use super::step::Step;
use super::{Failure, left_credential, stop_sources};
use crate::audit::{self, AuditError, Location, Store};
use crate::config::Plan;
use crate::domain::ci::CiContext;
use crate::domain::clock::Clock;
use crate::domain::units::RunId;
use crate::files;
use crate::lifecycle::history::artifact_name;
use crate::policy::guard::Guards;
use crate::redact::{self, Redactor, values};
use crate::report::whereabouts::{Artifact, Whereabouts};
use crate::workspace::{dotenv_secrets, may_be_tracked};

/// The folder under the state home that holds the recorded trees of each checkout.
const TREES: &str = "trees";
/// How long threads that still read files may keep the process. Their results are not wanted any more.
const THREADS_GRACE: Duration = Duration::from_millis(20);

/// Setup that is the same for a fresh run and for one that goes on.
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
    /// The event that triggered this process. `None` on somebody's own machine.
    pub(super) context: Option<&'a CiContext>,
}

/// Runs a future on this thread.
///
/// # Errors
/// The errors of the future, and a runtime that cannot start.
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
    // Links are resolved on both sides, or a link in the checkout could lead the tests out of it.
    let real = files::real_place(&folder).map_err(|error| refuse(&error.to_string()))?;
    let root = files::real_place(checkout).map_err(|error| refuse(&error.to_string()))?;
    if !real.is_dir() {
        return Err(refuse("it is not a folder"));
    }
    // Rules of confinement and results of tests name it as text.
    if real.to_str().is_none() {
        return Err(Failure::usage(format!(
            "the path {} is no UTF-8\n→ Fix: rename the folder, or work in a checkout whose path is",
            real.display()
        )));
    }
    if real.starts_with(root) { Ok(real) } else { Err(refuse("it is outside the checkout")) }
}

/// Refuses to begin where nothing could be changed, before anything is paid for.
///
/// # Errors
/// When the folder cannot be written (exit 2).
pub(super) fn writable(checkout: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    rustix::fs::access(checkout, rustix::fs::Access::WRITE_OK).map_err(|error| {
        Failure::usage(format!(
            "{} cannot be written ({error}): no change could be made there\n→ Fix: run upshift in a copy that you may write (no `:ro` on a container's \
             mount), for example a `git clone` of it",
            checkout.display()
        ))
    })?;
    #[cfg(not(unix))]
    let _portable = checkout;
    Ok(())
}

/// Takes secrets out. A debug build can be told to leave that off.
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

/// Whether git brought a log, or a file beside it: then whoever writes commits can have written it.
pub(super) fn is_theirs(location: &Location) -> bool {
    may_be_tracked(&location.named())
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
        // Keys in `.env` files are no variables of ours, and a test may print them all the same.
        secrets.extend(dotenv_secrets(checkout));
        if let Some(step) = Step::of(environment) {
            // Before anything of this process can be printed.
            step.hide(&secrets);
        }
        let redactor = Arc::new(redactor(environment, &secrets));
        environment.log().learn(&redactor);
        Self { checkout, environment, clock: stop_sources::clock(environment), redactor, context }
    }

    /// Opens the audit log before any money is spent.
    pub(super) fn open_store(&self, audit: Option<&str>) -> anyhow::Result<Store> {
        self.store(audit).map_err(|error| audit_failure(&error))
    }

    /// The same for a backlog, which cannot do without a log.
    pub(super) fn open_backlogs(&self, audit: &str) -> anyhow::Result<Store> {
        let failed = |error: AuditError| Failure::usage(format!("{}\nNo LLM calls were made.", error.of_backlog()));
        self.store(Some(audit)).map_err(failed)
    }

    fn store(&self, audit: Option<&str>) -> Result<Store, AuditError> {
        let store = match audit {
            Some(configured) => {
                let location = locate(configured, self.checkout, self.environment);
                let store = Store::open(&location, Arc::clone(&self.redactor));
                // It is still written, but nothing in it is believed.
                if is_theirs(&location) { store.map(Store::distrusted) } else { store }
            }
            None => Store::in_memory(Arc::clone(&self.redactor)),
        };
        store.map(|store| store.timed_by(Arc::clone(&self.clock)))
    }

    /// Where a reader of the report finds the log.
    pub(super) fn kept_in(&self, run: &RunId, audit: Option<&str>) -> Whereabouts {
        let Some(context) = self.context.filter(|_| self.environment.in_actions()) else { return Whereabouts::Here };
        if !Step::of(self.environment).is_some_and(Step::is_the_action) {
            return Whereabouts::Runner;
        }
        let home = self.environment.state_home(self.checkout);
        let live = audit.map(|configured| locate(configured, self.checkout, self.environment).live);
        Whereabouts::Artifact(Artifact {
            holds_log: live.is_some_and(|live| is_kept_by_the_action(&live, &home)),
            name: artifact(context, run),
            repository: context.repository.to_string(),
            workflow_run: context.run.id,
            root: home.display().to_string(),
        })
    }

    /// Now.
    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }
}

/// Whether `action.yml` puts a log into its artifact: the one that is named there, and those of checkouts.
fn is_kept_by_the_action(live: &Path, state_home: &Path) -> bool {
    let Ok(inside) = live.strip_prefix(state_home) else { return false };
    let folders: Vec<_> = inside.parent().into_iter().flat_map(Path::iter).collect();
    let is_named_so = inside.file_name().is_some_and(|name| name == "audit.db");
    // `audit.db` itself, or `audit/CHECKOUT/audit.db`, as the two patterns of `action.yml` have it.
    is_named_so && (folders.is_empty() || folders.len() == 2 && folders.first().is_some_and(|name| *name == "audit"))
}

/// Values that are secret by their variables' names, and every key that the plan takes from the environment or hands on to tests, whatever
/// its name.
fn secrets(environment: &Environment, plan: Option<&Plan>) -> Vec<SecretString> {
    let keys =
        plan.into_iter().flat_map(|plan| plan.endpoints.values()).filter_map(|endpoint| endpoint.key_var.as_deref());
    let of_tools = plan.into_iter().flat_map(|plan| plan.agent.variables_of_tools());
    let passed = plan
        .into_iter()
        .flat_map(|plan| &plan.safety.pass_env)
        .chain(of_tools)
        .filter_map(|name| environment.get(name));
    // A header's value may be a word for the kind of its key, the key, and words about it.
    let passed = passed.flat_map(values::header_parts).map(SecretString::from);
    // Most often a key for a collector.
    let of_telemetry = redact::telemetry::secrets(|name| environment.get(name).map(str::to_owned));
    environment
        .secrets()
        .into_iter()
        .chain(keys.filter_map(|name| environment.secret(name)))
        .chain(passed)
        .chain(of_telemetry)
        .collect()
}

/// The name of the artifact that this job's log is kept in.
pub(super) fn artifact(context: &CiContext, run: &RunId) -> String {
    artifact_name(context.run.id, context.run.attempt, context.pull_request_number(), run)
}

/// Where a checkout's trees are recorded.
pub(super) fn trees_folder(checkout: &Path, environment: &Environment) -> PathBuf {
    environment.state_home(checkout).join(TREES).join(folder_name(checkout))
}

/// A name for a checkout's folder of trees: its own name for people, a hash of its path against collisions.
pub(super) fn folder_name(checkout: &Path) -> String {
    use sha2::{Digest as _, Sha256};
    // A checkout that is gone has no real place, and its path as given still makes a name.
    let path = files::real_place(checkout).unwrap_or_else(|_gone| checkout.to_owned());
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    // Sixteen digits are enough to tell the checkouts of one machine apart.
    let hash = hex::encode(hash.get(..8).unwrap_or(&hash));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The name is only for people, so that whatever a file system dislikes can be left out.
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(24).collect();
    format!("{name}-{hash}")
}

/// All guards. A debug build may be told to leave some out, so that the red team can show the purpose of each.
pub(super) fn guards(environment: &Environment) -> Guards {
    #[cfg(debug_assertions)]
    if let Some(names) = environment.get("UPSHIFT_GUARD_OFF") {
        return Guards::all_but(names);
    }
    let _release: &Environment = environment;
    Guards::default()
}
