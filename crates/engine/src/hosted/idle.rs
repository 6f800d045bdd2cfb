//! Signs of life of an agent: its output, its calls to a model, and the files that change below the checkout.
//!
//! Invariant: a session ends for want of them only where all three were missing for the whole time. Real time counts, since a clock that
//! leaps over pauses must not leap while an agent works.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::domain::stop::StopCause;
use crate::gateway::Ledger;

/// The most entries of folders that are looked at for a change. In more of them a change is taken for granted.
const MOST_ENTRIES: usize = 500_000;
/// The least time between two looks at all files.
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
/// Folders that hold no work of an agent's: git's own, and that of our log.
const NOT_ITS_WORK: [&str; 2] = [".git", ".upshift"];

/// When an agent last printed something.
#[derive(Debug)]
pub(super) struct Heard(Cell<Instant>);

impl Heard {
    pub(super) fn now() -> Self {
        Self(Cell::new(Instant::now()))
    }

    /// Notes that it printed something.
    pub(super) fn note(&self) {
        self.0.set(Instant::now());
    }
}

/// Waits until an agent has shown no sign of life for so long. Returns the cause to end it.
pub(super) async fn silence(heard: &Heard, ledger: &Ledger, root: &Path, idle: Duration) -> StopCause {
    loop {
        let last = heard.0.get().max(ledger.last_call());
        let Some(rest) = idle.checked_sub(last.elapsed()).filter(|rest| !rest.is_zero()) else {
            // Only now, since a look at all files is not free.
            match since_last_change(root.to_owned(), idle).await {
                Some(since) => tokio::time::sleep(idle.saturating_sub(since).max(BETWEEN_LOOKS)).await,
                None => return StopCause::OwnTime(u32::try_from(idle.as_secs()).unwrap_or(u32::MAX)),
            }
            continue;
        };
        tokio::time::sleep(rest).await;
    }
}

/// The end of an agent that showed no sign of life for so many seconds.
pub(super) fn in_words(seconds: u32) -> String {
    let quiet = match (seconds / 60, seconds % 60) {
        (1, 0) => "a minute".to_owned(),
        (minutes, 0) => format!("{minutes} minutes"),
        (_, _) => format!("{seconds} s"),
    };
    format!("it said nothing for {quiet}, asked no model and changed no file")
}

/// How long ago a file below a folder changed last, where that is within a time.
async fn since_last_change(root: PathBuf, within: Duration) -> Option<Duration> {
    let looked = tokio::task::spawn_blocking(move || youngest(&root, within, MOST_ENTRIES));
    // A look that failed says nothing against the agent.
    looked.await.unwrap_or(Some(Duration::ZERO))
}

/// The age of the first change that is found within a time. Links are not followed.
fn youngest(root: &Path, within: Duration, most: usize) -> Option<Duration> {
    let mut folders = vec![root.to_owned()];
    let mut left = most;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else { return Some(Duration::ZERO) };
            left = fewer;
            let Ok(about) = entry.metadata() else { continue };
            if folder == root && NOT_ITS_WORK.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            // A time in the future, as a clock that was set back leaves it, says nothing.
            let age = about.modified().ok().and_then(|changed| changed.elapsed().ok()).filter(|age| *age < within);
            if age.is_some() {
                return age;
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_change_below_the_checkout_is_a_sign_of_life_and_one_of_git_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3_600);
        let long_ago = SystemTime::UNIX_EPOCH + hour;
        let aged = |path: &Path| File::open(path).unwrap().set_modified(long_ago).unwrap();
        for name in ["src", ".git"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("file"), "x").unwrap();
        }
        aged(&folder.path().join("src/file"));
        aged(&folder.path().join("src"));
        assert_eq!(youngest(folder.path(), hour, 100), None, "git's folder alone is young");
        std::fs::write(folder.path().join("src/file"), "y").unwrap();
        assert!(youngest(folder.path(), hour, 100).is_some_and(|age| age < hour));
        aged(&folder.path().join("src/file"));
        assert_eq!(youngest(folder.path(), hour, 1), Some(Duration::ZERO), "too many to say");
    }
}
