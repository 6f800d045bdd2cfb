//! The forms of what a command prints, as its `--format` names them.

use clap::ValueEnum;

use super::Failure;
use crate::config::Format;

/// The forms of a run's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RunForm {
    /// For a terminal.
    Text,
    /// The report for programs.
    Json,
    /// Every event as a line when it happens, then the report
    Jsonl,
}

impl RunForm {
    /// The same as configuration knows it.
    pub(super) const fn format(self) -> Format {
        match self {
            Self::Text => Format::Text,
            Self::Json => Format::Json,
            Self::Jsonl => Format::Jsonl,
        }
    }
}

/// The forms of what is no run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// For a terminal.
    #[default]
    Text,
    /// For programs.
    Json,
}

impl Form {
    /// The form of a command that shares its flags with `run`, but has no events to tell.
    ///
    /// # Errors
    /// Lines of JSON were asked for (exit 2).
    pub(super) fn of(format: Format, command: &str) -> anyhow::Result<Self> {
        match format {
            Format::Text => Ok(Self::Text),
            Format::Json => Ok(Self::Json),
            Format::Jsonl => Err(Failure::usage(format!(
                "`{command}` has no events to print line by line\n→ Fix: --format json, or leave it out"
            ))),
        }
    }
}
