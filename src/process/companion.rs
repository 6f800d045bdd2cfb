//! A program that is run beside us and has our terminal, as it is asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// A program to be run beside us.
#[derive(Debug, Clone)]
pub struct Companion {
    /// The program and its arguments; a name without `/` is looked up in the `PATH` of `env`.
    pub command: Vec<OsString>,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment of it.
    pub env: BTreeMap<OsString, OsString>,
    /// The program of this process, which becomes the keeper (Linux); without one a kill of this process leaves the program alive.
    pub keeper: Option<PathBuf>,
}
