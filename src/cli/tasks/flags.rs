//! The flags by which `run` works off a backlog.

use clap::{Args, ValueEnum};

use crate::policy::backlog::ErrorStrategy;

/// The flags of a backlog.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Backlog")]
pub(crate) struct BacklogFlags {
    /// Work through a backlog, one run and one commit per task: `failing-tests`, `issues:LABEL`, a prd.json or a YAML list; --max-cost-usd then covers all tasks together
    #[arg(long, value_name = "SOURCE")]
    pub(crate) tasks: Option<String>,
    /// Work only on this task; repeatable, or several ids, one per line
    #[arg(long, value_name = "ID", requires = "tasks")]
    pub(super) task: Vec<String>,
    /// Work on N tasks in parallel, each in its own clone with a fixed share of the budget; fixes are merged at the end
    #[arg(long, value_name = "N", requires = "tasks", conflicts_with_all = ["max_tasks", "on_error", "task_retries", "retry_delay_seconds", "task_template"], value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(super) workers: Option<u32>,
    /// Stop after N tasks; 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 10, requires = "tasks")]
    pub(super) max_tasks: u32,
    /// Template file (at the checked-out commit) for the objective of each task, with the variables taskId, taskTitle and others
    #[arg(long, value_name = "FILE", requires = "tasks")]
    pub(super) task_template: Option<String>,
    /// What to do when a task is not fixed
    #[arg(long, value_name = "WHAT", value_enum, default_value = "skip", requires = "tasks")]
    pub(super) on_error: OnError,
    /// Retries per task with --on-error retry
    #[arg(long, value_name = "N", default_value_t = 3, requires = "tasks")]
    pub(super) task_retries: u32,
    /// Pause before each retry
    #[arg(long, value_name = "SECONDS", default_value_t = 5, requires = "tasks")]
    pub(super) retry_delay_seconds: u64,
}

/// What happens with a task that is not mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnError {
    /// Try it again
    Retry,
    /// Leave it out and go on
    Skip,
    /// Stop the backlog
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
