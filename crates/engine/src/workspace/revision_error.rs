//! Why a repository of the user could not be read.

use super::WorkspaceError;
use crate::process::ProcessError;

/// Why a repository could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// The folder is in no repository, or below its top.
    #[error("{0}")]
    Place(String),
    /// There is no such commit here.
    #[error("there is no commit {revision} here: {said}{fix}")]
    Unknown {
        /// The revision as it was given.
        revision: String,
        /// Git's message.
        said: String,
        /// The advice that may mend it.
        fix: &'static str,
    },
    /// Git failed.
    #[error("git {command} failed: {said}")]
    Git {
        /// The subcommand.
        command: String,
        /// Git's message.
        said: String,
    },
    /// A program of the repository's would store a file in another form, and none is run.
    #[error(
        "`{path}` passes git's filter `{filter}` on its way into a commit, and no program of a repository is run\n→ Fix: commit such files \
         by hand, and list them under `safety.protectedPaths`"
    )]
    Filtered {
        /// The file.
        path: String,
        /// The filter's name, from `.gitattributes`.
        filter: String,
    },
    /// The run was stopped.
    #[error("stopped")]
    Stopped,
    /// Git could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A state could not be recorded.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}
