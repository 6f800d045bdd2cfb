//! The flags by which `run` works off a backlog.

use clap::{Args, ValueEnum};

use crate::policy::backlog::ErrorStrategy;

/// The flags of a backlog.
#[derive(Debug, Clone, Args)]
pub(crate) struct BacklogFlags {
    /// Work off a backlog, a run and a commit for each task: `failing-tests`, a prd.json, or a list in YAML; --max-cost-usd is then for all together
    #[arg(long, value_name = "SOURCE")]
    pub(crate) tasks: Option<String>,
    /// Work on this task alone; may be given often, and hold several ids, one a line
    #[arg(long, value_name = "ID", requires = "tasks")]
    pub(super) task: Vec<String>,
    /// Work on so many tasks at a time, each in a clone of its own and with a fixed share; what they mended is merged at the end
    #[arg(long, value_name = "N", requires = "tasks", conflicts_with_all = ["max_tasks", "on_error", "task_retries", "retry_delay_seconds", "task_template"], value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) workers: Option<u32>,
    /// The most tasks that are worked on; 0 is no limit
    #[arg(long, value_name = "N", default_value_t = 10, requires = "tasks")]
    pub(super) max_tasks: u32,
    /// A file of the commit that is checked out whose text is the objective of each task: a template with the variables taskId, taskTitle and others
    #[arg(long, value_name = "FILE", requires = "tasks")]
    pub(super) task_template: Option<String>,
    /// What happens with a task that is not mended
    #[arg(long, value_enum, default_value = "skip", requires = "tasks")]
    pub(super) on_error: OnError,
    /// How often such a task is tried again, where --on-error is `retry`
    #[arg(long, value_name = "N", default_value_t = 3, requires = "tasks")]
    pub(super) task_retries: u32,
    /// How long is waited before it is
    #[arg(long, value_name = "SECONDS", default_value_t = 5, requires = "tasks")]
    pub(super) retry_delay_seconds: u64,
}

/// What happens with a task that is not mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnError {
    /// It is tried again
    Retry,
    /// It is left out
    Skip,
    /// The work ends
    Abort,
}

impl From<OnError> for ErrorStrategy {
    fn from(word: OnError) -> Self {
        match word {
            OnError::Retry => Self::Retry,
            OnError::Skip => Self::Skip,
            OnError::Abort => Self::Abort,
        }
    }
}
