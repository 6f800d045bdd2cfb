//! How the children of a run are confined, and what is kept from all of them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Failure;
use super::environment::Environment;
use super::setup::{Setup, folder_name, locate};
use crate::config::{Plan, Sandbox};
use crate::domain::outcome::EXIT_REFUSED;
use crate::files;
use crate::process::confine::{self, Arranged, ConfineError, Wish};
use crate::process::environment::child_environment;

/// The folder in the state home that holds copies of git directories while children could write them.
const GUARDS: &str = "guards";

/// Where copies of a checkout's git directory outlive a crash.
pub(super) fn guards_folder(checkout: &Path, environment: &Environment) -> PathBuf {
    environment.state_home(checkout).join(GUARDS).join(folder_name(checkout))
}

/// Paths that children may work in, and paths that are kept from them.
#[derive(Debug)]
pub(super) struct Keeping {
    /// The tree that they work in.
    pub(super) checkout: PathBuf,
    /// Folders and files that none may reach.
    pub(super) kept_out: Vec<PathBuf>,
    /// A folder for what must survive a crash.
    pub(super) state: PathBuf,
}

/// A confinement that was asked for and cannot be given (exit 6), or one that fails (exit 2).
pub(super) fn refusal(error: ConfineError) -> anyhow::Error {
    match error {
        // The machine cannot give these, so the run is refused. The others are mistakes that a person can mend.
        refused @ (ConfineError::Gaps(_)
        | ConfineError::Network(..)
        | ConfineError::NoDoor(_)
        | ConfineError::Unconfined(_)) => Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {refused}")),
        other @ (ConfineError::Private(_) | ConfineError::Helper(_)) => Failure::usage(other.to_string()),
    }
}

impl Setup<'_> {
    /// Works out how children are confined.
    ///
    /// # Errors
    /// When what was asked for cannot be given (exit 6).
    pub(super) fn confine(&self, plan: &Plan) -> anyhow::Result<Arranged> {
        let env = self.child_environment(plan)?;
        let Keeping { checkout, kept_out, state } = self.keeping(plan)?;
        let wish = Wish {
            sandbox: plan.safety.sandbox,
            network: plan.safety.network,
            checkout: &checkout,
            env: &env,
            kept_out,
            state,
            helper: std::env::current_exe()?,
        };
        confine::arrange(&wish).map_err(refusal)
    }

    /// Paths that are kept out of children's reach, and the folder for data that must survive a crash.
    ///
    /// # Errors
    /// When the checkout cannot be found, or holds what must be kept from children (exit 2).
    pub(super) fn keeping(&self, plan: &Plan) -> anyhow::Result<Keeping> {
        let home = self.environment.state_home(self.checkout);
        let log = plan.audit.as_ref().map(|configured| locate(configured, self.checkout, self.environment).live);
        // Its folder, not the file: SQLite writes its journal beside it, and children could swap that.
        let log = log.as_deref().and_then(Path::parent).map(Path::to_owned);
        let runner = self.environment.get("RUNNER_TEMP").map(|path| files::settled(Path::new(path)));
        let checkout = files::real_place(self.checkout)?;
        let is_inside = |path: &&PathBuf| path.starts_with(&checkout) && **path != checkout;
        if let Some(inside) = runner.as_ref().filter(is_inside)
            && plan.safety.sandbox != Sandbox::Off
        {
            // Beside it the tree could be granted file by file alone, and a file that is replaced is another one: tests would go on seeing
            // what was there before a change, and a right one would be judged red.
            return Err(Failure::usage(format!(
                "RUNNER_TEMP ({}) is inside the checkout, and tests must not reach it\n→ Fix: set RUNNER_TEMP to a folder outside the checkout\nNo LLM calls were made.",
                inside.display()
            )));
        }
        // Copies of `.git` outlive a crash only where no child can reach them.
        let state = guards_folder(self.checkout, self.environment);
        // A folder above the checkout cannot be kept out: the checkout would be gone with it.
        let kept_out = [Some(home), log, runner].into_iter().flatten().filter(|path| !checkout.starts_with(path));
        Ok(Keeping { kept_out: kept_out.collect(), checkout, state })
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
        // A model's key never reaches a child, not even where `pass-env` names it.
        let keys: Vec<String> = plan.endpoints.values().filter_map(|endpoint| endpoint.key_var.clone()).collect();
        child_environment(self.environment.raw(), &plan.safety.pass_env, &keys)
            .map_err(|error| Failure::usage(error.to_string()))
    }
}
