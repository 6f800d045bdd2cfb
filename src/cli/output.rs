//! Output of a command: results on standard output, messages on standard error, and a failure with its exit code.

use std::io::Write as _;

use super::console::{Console, Stream};
use crate::domain::outcome::{EXIT_REFUSED, EXIT_SUCCESS, EXIT_USAGE};
use crate::lifecycle::gate::Refusal;
use crate::report::plain;
use crate::report::wrap::wrap;

/// A failure of a command to do its work: a sentence for the user and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Failure {
    pub(super) message: String,
    pub(super) code: u8,
    /// Whether it is a refusal that asks nobody to do anything.
    pub(super) harmless: bool,
    /// Whether it may be over by the next time: the forge could not be asked.
    pub(super) passing: bool,
}

impl Failure {
    /// The user's to mend: exit 2.
    pub(super) fn usage(message: impl Into<String>) -> anyhow::Error {
        Self::with_code(EXIT_USAGE, message)
    }

    /// Any other.
    pub(super) fn with_code(code: u8, message: impl Into<String>) -> anyhow::Error {
        Self { message: message.into(), code, harmless: false, passing: false }.into()
    }

    /// No run may happen: exit 6.
    pub(super) fn refused(why: &Refusal) -> anyhow::Error {
        let message = format!("✖ Refused: {why}");
        let passing = matches!(why, Refusal::Unknown { .. });
        Self { message, code: EXIT_REFUSED, harmless: why.is_harmless(), passing }.into()
    }
}

/// Writes a result to standard output. A closed pipe (`upshift report | head`) is no error, nor is a terminal that hung up.
pub(super) fn print(text: &str) -> anyhow::Result<u8> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A full disk is told, since a report that is cut would look like a short one.
        Err(error) if !nobody_reads(&error) => Err(Failure::usage(format!(
            "standard output could not be written: {error}\n→ Fix: make room there, or send it elsewhere"
        ))),
        Ok(()) | Err(_) => Ok(EXIT_SUCCESS),
    }
}

/// As [`print`] for text that people read: no word is broken at the edge of a terminal.
pub(super) fn print_set(text: &str, console: Console) -> anyhow::Result<u8> {
    print(&wrap(text, console.columns(Stream::Out)))
}

/// Writes a message to standard error, where nothing in it is a command to a runner. A failure to write is ignored, because nobody could be
/// told.
pub(super) fn say(message: &str) {
    // One call for all lines, so that messages of two threads do not mix within one.
    let _closed = writeln!(std::io::stderr().lock(), "{}", inert_lines(message));
}

/// A message's lines, none of which is a workflow command.
pub(super) fn inert_lines(message: &str) -> String {
    message.lines().map(plain::inert).collect::<Vec<_>>().join("\n")
}

/// Whether writing to standard output failed because its reader is gone: the other end of a pipe, or the terminal.
#[cfg(unix)]
fn nobody_reads(error: &std::io::Error) -> bool {
    let hung_up = || {
        let out = rustix::fs::fstat(rustix::stdio::stdout());
        let is_device = out
            .is_ok_and(|out| rustix::fs::FileType::from_raw_mode(out.st_mode) == rustix::fs::FileType::CharacterDevice);
        // A terminal that hung up answers each write with EIO. The same error on a file is a broken disk.
        is_device && error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
    };
    error.kind() == std::io::ErrorKind::BrokenPipe || hung_up()
}

/// Whether a write failed because its reader is gone.
#[cfg(windows)]
fn nobody_reads(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::BrokenPipe
}
