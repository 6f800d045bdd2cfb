//! Commands that a person may give upshift by a comment on the pull request.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::units::MicroUsd;

/// A command, as `policy::command` reads it from a comment's first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Command {
    /// Start a run.
    Fix,
    /// End the run after the iteration under way.
    Stop,
    /// Start a run even if those for this pull request are used up.
    Retry,
    /// Go on with the next tier.
    Escalate,
    /// Allow more iterations, in the tier and in the run.
    Add {
        /// How many more.
        iterations: u32,
    },
    /// Pause the work on a backlog behind the task under way.
    Pause,
    /// Go on with it.
    Resume,
    /// Work on fewer tasks of it.
    Remove {
        /// How many fewer.
        iterations: u32,
    },
    /// Allow the run to cost more.
    Budget {
        /// How much more.
        more: MicroUsd,
    },
}

impl fmt::Display for Command {
    /// As it is written: `/upshift add 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fix => f.write_str("/upshift fix"),
            Self::Stop => f.write_str("/upshift stop"),
            Self::Retry => f.write_str("/upshift retry"),
            Self::Escalate => f.write_str("/upshift escalate"),
            Self::Add { iterations } => write!(f, "/upshift add {iterations}"),
            Self::Pause => f.write_str("/upshift pause"),
            Self::Resume => f.write_str("/upshift resume"),
            Self::Remove { iterations } => write!(f, "/upshift remove {iterations}"),
            // In the form in which a person would write it, so that it can be copied.
            Self::Budget { more } => write!(f, "/upshift budget +{}", more.exact().trim_start_matches('$')),
        }
    }
}

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandAnswer {
    /// It is done.
    Obeyed,
    /// Its work is under way.
    UnderWay,
    /// It is understood, and not done.
    Refused,
    /// It is not understood.
    NotUnderstood,
}
