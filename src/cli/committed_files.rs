//! Configuration as a commit of this clone has it.

use std::path::{Component, Path, PathBuf};

use super::environment::Environment;
use super::setup;
use crate::config::FileContent;
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::workspace::Revisions;

/// The most bytes of a file that are read.
const MOST_BYTES: usize = 1024 * 1024;

/// The files of a commit.
pub(super) struct Committed {
    checkout: PathBuf,
    environment: Environment,
    commit: CommitSha,
}

impl Committed {
    /// Those of a commit of the repository whose top a folder is.
    pub(super) fn of(checkout: PathBuf, environment: &Environment, commit: CommitSha) -> Self {
        Self { checkout, environment: environment.clone(), commit }
    }

    /// Where it reads.
    pub(super) fn place(&self) -> String {
        format!("the base {}", self.commit.0.get(..7).unwrap_or(&self.commit.0))
    }

    /// A file as it is there. One that is no text counts as none.
    pub(super) fn read(&self, typed: &str) -> FileContent {
        let path = Path::new(typed);
        // A path that leads out of the repository is in no commit.
        if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
            return FileContent::Missing;
        }
        let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
        let stop = Stop::never();
        let read = setup::block_on(async {
            let revisions = Revisions::open(&self.checkout, self.environment.raw(), &stop).await?;
            Ok(revisions.text_in(&self.commit, &path, MOST_BYTES).await?)
        });
        match read {
            Ok(Some(text)) => FileContent::Text(text),
            Ok(None) => FileContent::Missing,
            Err(error) => FileContent::Unreadable(error.to_string()),
        }
    }
}
