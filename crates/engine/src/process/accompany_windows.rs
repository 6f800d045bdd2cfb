//! A program that has our terminal: not on Windows, where nothing here was seen working yet.

use std::io;

use super::companion::Companion;
use super::{ProcessError, Program};
use crate::domain::stop::Stop;
use crate::domain::verdict::Exit;

/// Says that this is not to be had here.
///
/// # Errors
/// Always.
pub async fn accompany(companion: &Companion, _stop: &Stop) -> Result<Exit, ProcessError> {
    Err(ProcessError::Start {
        program: Program::Argv(companion.command.clone()).to_string(),
        cwd: companion.cwd.clone(),
        source: io::Error::new(io::ErrorKind::Unsupported, "this does not run on Windows yet"),
    })
}
