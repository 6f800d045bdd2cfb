//! A process to be run, and how it went.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::confine::Confinement;
use crate::domain::stop::StopCause;
use crate::domain::verdict::Exit;

/// The writing end of a child's standard input.
pub(super) type Input = Box<dyn tokio::io::AsyncWrite + Send + Unpin>;

/// The program to run.
#[derive(Debug, Clone)]
pub enum Program {
    /// A shell command line, run by `sh -c`. On Windows it is run by the `sh` that comes with Git.
    Shell(String),
    /// A program and its arguments. A name without `/` is looked up in the `PATH` of [`Spec::env`].
    Argv(Vec<OsString>),
}

/// One process to be run to its end.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The program.
    pub program: Program,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment of the child. Nothing else is inherited.
    pub env: BTreeMap<OsString, OsString>,
    /// Bytes for its standard input, which is closed after them.
    pub stdin: Vec<u8>,
    /// The most time it may take.
    pub timeout: Duration,
    /// How many bytes of output are kept from the beginning, and as many from the end.
    pub keep: usize,
    /// Whether standard error is merged into the output in order (one pipe) or dropped into `stderr`.
    pub merge_stderr: bool,
    /// How much memory one of its processes may take, in MiB. All together may take what the machine has, but for a reserve, and where a
    /// control group is delegated, so much for each processor. `None` bounds neither. Linux.
    pub memory_mb: Option<u32>,
    /// Its confinement.
    pub confinement: Confinement,
}

/// The note behind the output of a child that was ended for the number of its processes.
pub(super) const TOO_MANY: &str = "[ended: it started too many processes]";
/// The beginning of the note behind the output of a child that was ended for the files it wrote.
pub(super) const FILLING: &str = "[ended: it was about to fill the disk";

impl Finished {
    /// Why we killed it, where no [`Exit`] says so. `None` where we did not.
    #[must_use]
    pub fn killed_for(&self) -> Option<String> {
        let output = String::from_utf8_lossy(&self.output);
        let is_ours = |line: &&str| *line == TOO_MANY || line.starts_with(FILLING) && line.ends_with(']');
        // Only the notes at the end count, as a test may print the same words before. What was put back is told behind this one.
        let mut notes = output.trim_end().lines().rev().take_while(|line| line.is_empty() || line.starts_with('['));
        // A child that ended well was not killed, whatever its last lines say.
        let note = notes.find(is_ours).filter(|_| !self.exit.is_success())?;
        Some(note.trim_matches(['[', ']']).to_owned())
    }
}

/// How it went.
#[derive(Debug, Clone)]
pub struct Finished {
    /// How it ended. [`Exit::Timeout`] when its time was up, whatever it said when told to end.
    pub exit: Exit,
    /// Standard output (and error, if merged): head and tail, with a line between that says what was left out.
    pub output: Vec<u8>,
    /// Standard error, if not merged, capped likewise.
    pub stderr: Vec<u8>,
    /// All bytes that were printed.
    pub output_bytes: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Set when a raised stop ended it.
    pub stopped: Option<StopCause>,
}

/// Why a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program or the folder does not exist or cannot be executed.
    #[error("failed to start `{program}` in {cwd}: {source}")]
    Start {
        /// The program that was to be started.
        program: String,
        /// Where.
        cwd: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Reading its output or waiting for it failed.
    #[error("failed to read the output of `{program}`: {source}")]
    Io {
        /// The program that was running.
        program: String,
        /// Why.
        source: std::io::Error,
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_of_ours_is_found_behind_what_was_printed_and_before_what_was_put_back() {
        let told = |output: &str, code| {
            let (output, exit) = (output.as_bytes().to_vec(), Exit::Code { code });
            let stderr = Vec::new();
            Finished { exit, output, stderr, output_bytes: 0, duration_ms: 0, stopped: None }.killed_for()
        };
        let note = format!("\n{TOO_MANY}\n");
        let put_back = "\n[upshift put back what was changed in the git directory: .git/config]\n";
        assert_eq!(told(&note, 137).as_deref(), Some("ended: it started too many processes"));
        assert_eq!(told(&format!("x{note}{put_back}"), 137).as_deref(), Some("ended: it started too many processes"));
        assert_eq!(told(&format!("{note}FAILED\n"), 1), None, "a test printed it");
        assert_eq!(told(&note, 0), None);
    }
}
