//! The surroundings of a command: the variables, and the console and the log that they and the flags ask for.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use super::console::{self, Console};
use super::logging::Log;
use super::variables::Variables;

/// The variables of the process, taken once, and the console and the log that flags and variables ask for.
#[derive(Debug, Clone, Default)]
pub(super) struct Environment {
    variables: Variables,
    console: Console,
    log: Log,
}

/// An environment is above all its variables.
impl Deref for Environment {
    type Target = Variables;

    fn deref(&self) -> &Variables {
        &self.variables
    }
}

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub(super) fn read() -> Self {
        Self { variables: Variables::read(), ..Self::default() }
    }

    /// The environment with the global flags.
    #[must_use]
    pub(super) fn with_flags(mut self, flags: console::Flags) -> Self {
        // The console reads the variables that this environment was made of, so it is built last.
        self.console = Console::new(flags, &self);
        self
    }

    /// The environment with the log that flags and variables ask for.
    ///
    /// # Errors
    /// The variable that filters it cannot be read (exit 2).
    pub(super) fn logging(mut self) -> anyhow::Result<Self> {
        self.log = Log::begin(self.console.verbosity(), &self)?;
        Ok(self)
    }

    /// The log, for those who learn of secrets.
    #[must_use]
    pub(super) const fn log(&self) -> &Log {
        &self.log
    }

    /// How to speak to whoever started this.
    #[must_use]
    pub(super) const fn console(&self) -> Console {
        self.console
    }

    /// Just these variables.
    #[cfg(test)]
    #[must_use]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self { variables: Variables::of(pairs), ..Self::default() }
    }

    /// The same environment without what tells of a GitHub event.
    #[must_use]
    pub(super) fn without_event(&self) -> Self {
        Self { variables: self.variables.without_event(), console: self.console, log: self.log.clone() }
    }

    /// The same environment without what configures upshift or tells of a GitHub event: for the demo.
    #[must_use]
    pub(super) fn without_settings(&self) -> Self {
        Self { variables: self.variables.without_settings(), console: self.console, log: self.log.clone() }
    }
}

/// The folder this process was started in.
///
/// # Errors
/// When it is gone.
pub(super) fn current_dir() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_dir()?)
}

/// A path as a person typed it, from the folder they typed it in.
#[must_use]
pub(super) fn from_here(here: &Path, typed: &str) -> PathBuf {
    here.join(typed)
}
