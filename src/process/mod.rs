//! The one place that starts a process.
//!
//! [`run`] takes a [`Spec`] to its end: in a process group of its own, with the environment exactly as given, its output read on
//! at full speed in bounded memory, within a time limit. [`environment`] builds the environment that repository code may see.
//!
//! Start reading at [`run`]; `launch` starts the child, `family` finds and ends whatever it leaves behind, `capture` keeps the
//! head and the tail of what it prints.
//!
//! Invariant: when [`run`] returns, or its future is dropped, no descendant of the child goes on living, also not one that left
//! the group or was adopted (Linux; on Windows the job that it was born into is ended, elsewhere the process group). Nothing here
//! decides what a result means.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::stop::{Stop, StopCause};
use crate::domain::verdict::Exit;

pub use confine::Confinement;
pub use secret_dir::SecretDir;

#[cfg(target_os = "linux")]
mod brand;
mod capture;
#[cfg(target_os = "linux")]
mod cgroup;
pub mod confine;
mod disk;
pub mod environment;
#[cfg_attr(windows, path = "family_windows.rs")]
#[cfg_attr(not(any(target_os = "linux", windows)), path = "family_portable.rs")]
mod family;
#[cfg_attr(windows, path = "launch_windows.rs")]
mod launch;
mod memory;
pub mod open_files;
#[cfg_attr(windows, path = "pipe_windows.rs")]
mod pipe;
mod secret_dir;
mod supervise;
mod taken;
#[cfg(test)]
mod tests;
pub mod traces;

/// What to run.
#[derive(Debug, Clone)]
pub enum Program {
    /// A shell command line, run by `sh -c`; on Windows by the `sh` that comes with Git.
    Shell(String),
    /// A program and its arguments; a name without `/` is looked up in the `PATH` of [`Spec::env`].
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
    /// How much memory one of its processes may take, in MiB; all together may take what the machine has, but for a reserve, and where
    /// a control group is delegated, so much for each processor. `None`
    /// bounds neither. Linux.
    pub memory_mb: Option<u32>,
    /// What else it may not do.
    pub confinement: Confinement,
}

/// How it went.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended; [`Exit::Timeout`] when its time was up, whatever it said when told to end.
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

/// Runs a process to its end, handing every chunk of standard output to `sink` as it comes.
///
/// Its time up, or `stop` raised: SIGTERM to all its descendants, a short grace, SIGKILL to all that are left (on Windows, which
/// knows no request to end, they are ended at once). What outlives
/// the program itself is ended too. Needs a runtime with I/O and time enabled.
///
/// # Errors
/// [`ProcessError`]; a non-zero exit, a signal and a timeout are no errors.
pub async fn run(spec: &Spec, stop: &Stop, sink: &mut (dyn FnMut(&[u8]) + Send)) -> Result<Finished, ProcessError> {
    let failed = |source| ProcessError::Io { program: spec.program.to_string(), source };
    tracing::debug!(program = %spec.program, cwd = %spec.cwd.display(), "starts");
    let launched = launch::launch(spec).inspect_err(|error| tracing::info!("{error}"))?;
    let mut finished = supervise::supervise(spec, launched, stop, sink).await.map_err(failed)?;
    let Finished { exit, duration_ms, output_bytes, .. } = &finished;
    tracing::debug!(program = %spec.program, ?exit, ms = duration_ms, output_bytes, "ended");
    if let Some(note) = spec.confinement.put_back().map_err(failed)? {
        finished.output.extend_from_slice(note.as_bytes());
    }
    Ok(finished)
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(command) => f.write_str(command),
            Self::Argv(words) => {
                for (index, word) in words.iter().enumerate() {
                    let space = if index == 0 { "" } else { " " };
                    write!(f, "{space}{}", word.to_string_lossy())?;
                }
                Ok(())
            }
        }
    }
}
