//! The one place that starts a process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::stop::{Stop, StopCause};
use crate::domain::verdict::Exit;

/// What to run.
#[derive(Debug, Clone)]
pub enum Program {
    /// A shell command line, run by `sh -c`.
    Shell(String),
    /// A program and its arguments.
    Argv(Vec<OsString>),
}

/// One process to be run to its end.
#[derive(Debug, Clone)]
pub struct Spec {
    /// What.
    pub program: Program,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment of the child; nothing else is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// Bytes for its standard input, which is closed after them.
    pub stdin: Vec<u8>,
    /// The most time it may take.
    pub timeout: Duration,
    /// How many bytes of output are kept from the beginning, and as many from the end.
    pub keep: usize,
    /// Whether standard error is merged into the output in order (one pipe) or dropped into `stderr`.
    pub merge_stderr: bool,
}

/// How it went.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// Standard output (and error, if merged): head and tail, with a line between that says what was left out.
    pub output: Vec<u8>,
    /// Standard error, if not merged; capped likewise.
    pub stderr: Vec<u8>,
    /// All bytes that were printed.
    pub output_bytes: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Set when [`Stop`] ended it.
    pub stopped: Option<StopCause>,
}

/// Why a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program or the folder does not exist or cannot be executed.
    #[error("failed to start `{program}` in {cwd}: {source}")]
    Start {
        /// What was to be started.
        program: String,
        /// Where.
        cwd: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Reading its output or waiting for it failed.
    #[error("failed to read the output of `{program}`: {source}")]
    Io {
        /// What was running.
        program: String,
        /// Why.
        source: std::io::Error,
    },
}

/// Runs a process to its end, handing every chunk of output to `sink` as it comes.
///
/// # Errors
/// [`ProcessError`]; a non-zero exit, a signal and a timeout are no errors.
pub async fn run(_spec: &Spec, _stop: &Stop, _sink: &mut (dyn FnMut(&[u8]) + Send)) -> Result<Finished, ProcessError> {
    todo!()
}
