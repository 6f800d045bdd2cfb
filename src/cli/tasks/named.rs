//! The source of a backlog as a flag names it.

use super::super::Failure;
use crate::tracker::Source;

/// The source that a text names.
///
/// # Errors
/// When it names none (exit 2).
pub(super) fn source(text: &str) -> anyhow::Result<Source> {
    text.parse().map_err(|fault| Failure::usage(format!("--tasks: {fault}")))
}
