//! A program that has our terminal: not on Windows, where nothing here was seen working yet.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::{ProcessError, Program};
use crate::domain::stop::Stop;
use crate::domain::verdict::Exit;

/// A program to be run beside us.
#[derive(Debug, Clone)]
pub struct Companion {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Where.
    pub cwd: PathBuf,
    /// The whole environment of it.
    pub env: BTreeMap<OsString, OsString>,
    /// The program of this process.
    pub keeper: Option<PathBuf>,
}

/// Says that this is not to be had here.
///
/// # Errors
/// Always.
pub async fn accompany(companion: &Companion, _stop: &Stop) -> Result<Exit, ProcessError> {
    Err(ProcessError::Start {
        program: Program::Argv(companion.command.clone()).to_string(),
        cwd: companion.cwd.clone(),
        source: io::Error::new(io::ErrorKind::Unsupported, "upshift gateway does not run on Windows yet"),
    })
}
