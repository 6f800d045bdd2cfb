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

    /// A file as it is there. One that cannot be read is never taken for none: caps and a sandbox may stand in it.
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
            let is_there = !revisions.which_in(&self.commit, &[&path.to_string_lossy()]).await?.is_empty();
            // One byte more tells a file that is too long from one that just fits.
            Ok((is_there, revisions.text_in(&self.commit, &path, MOST_BYTES + 1).await?))
        });
        match read {
            Ok((_, Some(text))) if text.len() > MOST_BYTES => {
                FileContent::Unreadable(format!("it has more than {MOST_BYTES} bytes"))
            }
            Ok((_, Some(text))) => FileContent::Text(text),
            Ok((true, None)) => FileContent::Unreadable("it is not a file of UTF-8 text".to_owned()),
            Ok((false, None)) => FileContent::Missing,
            Err(error) => FileContent::Unreadable(error.to_string()),
        }
    }
}
