//! The one place that starts a process.
//!
//! [`run`] takes a [`Spec`] to its end: in a process group of its own, with the environment exactly as given, its output read on
//! at full speed in bounded memory, within a time limit. [`environment`] builds the environment that repository code may see.
//!
//! [`accompany`] is for a program that has the terminal, and stays until it wants to end.
//!
//! Start reading at [`run`]. `launch` starts the child, `family` finds and ends whatever it leaves behind, `capture` keeps the head and the
//! tail of what it prints.
//!
//! Invariant: when [`run`] returns, or its future is dropped, no descendant of the child goes on living, also not one that left the group
//! or was adopted (Linux). On Windows the job that it was born into is ended, elsewhere the process group. Nothing here decides what a
//! result means.

use std::path::Path;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::domain::stop::Stop;

pub use confine::Confinement;
pub use secret_dir::SecretDir;
pub use spec::{Finished, ProcessError, Program, Spec};

#[cfg_attr(windows, path = "accompany_windows.rs")]
pub mod accompany;
#[cfg(target_os = "linux")]
mod brand;
pub mod busy;
mod capture;
#[cfg(target_os = "linux")]
mod cgroup;
pub mod companion;
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
#[cfg(target_os = "linux")]
mod process_table;
mod secret_dir;
mod spec;
mod supervise;
mod taken;
#[cfg(test)]
mod tests;
pub mod traces;
#[cfg(target_os = "linux")]
mod warden;

/// Runs a process to its end, handing every chunk of standard output to `sink` as it comes.
///
/// Its time up, or `stop` raised: SIGTERM to all its descendants, a short grace, SIGKILL to all that are left (on Windows, which knows no
/// request to end, they are ended at once). Processes that outlive the program itself are ended too. Needs a runtime with I/O and time
/// enabled.
///
/// # Errors
/// [`ProcessError`]. A non-zero exit, a signal and a timeout are no errors.
pub async fn run(spec: &Spec, stop: &Stop, sink: &mut (dyn FnMut(&[u8]) + Send)) -> Result<Finished, ProcessError> {
    run_behind(None, spec, stop, sink, None).await
}

/// As [`run`], behind a `keeper` (the program of this process), which ends it and all that it started when this process is killed (Linux).
///
/// # Errors
/// As [`run`]'s.
pub async fn run_kept(
    keeper: &Path,
    spec: &Spec,
    stop: &Stop,
    sink: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Finished, ProcessError> {
    run_behind(Some(keeper), spec, stop, sink, None).await
}

/// As [`run_kept`], with a program that is spoken to: it reads `words` as they come, and the end of its input when nobody sends any more.
///
/// # Errors
/// As [`run`]'s.
pub async fn run_talking(
    keeper: &Path,
    spec: &Spec,
    stop: &Stop,
    sink: &mut (dyn FnMut(&[u8]) + Send),
    words: UnboundedReceiver<Vec<u8>>,
) -> Result<Finished, ProcessError> {
    run_behind(Some(keeper), spec, stop, sink, Some(words)).await
}

async fn run_behind(
    keeper: Option<&Path>,
    spec: &Spec,
    stop: &Stop,
    sink: &mut (dyn FnMut(&[u8]) + Send),
    words: Option<UnboundedReceiver<Vec<u8>>>,
) -> Result<Finished, ProcessError> {
    let failed = |source| ProcessError::Io { program: spec.program.to_string(), source };
    tracing::debug!(program = %spec.program, cwd = %spec.cwd.display(), "starts");
    // Begun before the start and dropped after the end, so that no file the child writes falls outside.
    let _busy = busy::Busy::begin();
    let launched = launch::launch(spec, keeper, words.is_some()).inspect_err(|error| tracing::info!("{error}"))?;
    let mut finished = supervise::supervise(spec, launched, stop, sink, words).await.map_err(failed)?;
    let Finished { exit, duration_ms, output_bytes, .. } = &finished;
    tracing::debug!(program = %spec.program, ?exit, ms = duration_ms, output_bytes, "ended");
    // Only when all descendants are gone: one that lives could change the files again behind our back.
    if let Some(note) = spec.confinement.put_back().map_err(failed)? {
        finished.output.extend_from_slice(note.as_bytes());
    }
    Ok(finished)
}
