//! The policy that the helper applies, as it is handed to it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Reach;

/// The policy that the helper applies. Paths that do not exist are left out by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Policy {
    /// Read and execute.
    pub(super) read: Vec<PathBuf>,
    /// Everything.
    pub(super) write: Vec<PathBuf>,
    /// Devices: read, write, ioctl.
    pub(super) devices: Vec<PathBuf>,
    /// How far children reach.
    pub(super) reach: Reach,
    /// The mount namespace, if one is to be made.
    pub(super) room: Option<Room>,
    /// The process that must not be signalled.
    pub(super) guardian: i32,
    /// Whether the tree belongs to another user than root, which we are: then the right to pass over owners is kept, since what it
    /// could reach is fenced by Landlock.
    pub(super) writes_as_stranger: bool,
    /// Guards that a debug build was told to leave off, so that a test can show what each is for.
    #[serde(default)]
    pub(super) off: Vec<String>,
}

/// A mount namespace that holds granted paths alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Room {
    /// An empty folder: the place where the new root is put together.
    pub(super) root: PathBuf,
    /// The folder that is `/tmp` in there.
    pub(super) tmp: PathBuf,
    /// Paths that are seen: folders and files, at their own places.
    pub(super) show: Vec<PathBuf>,
    /// Paths that are seen and cannot be written: `.git`.
    pub(super) still: Vec<PathBuf>,
    /// Files that stand in for others, which cannot be written either: git's configuration without credentials.
    pub(super) stand_ins: Vec<(PathBuf, PathBuf)>,
    /// Secrets of the system, below what is seen: covered where they are there.
    pub(super) covered: Vec<PathBuf>,
    /// An empty file, which covers files.
    pub(super) nothing: PathBuf,
    /// An empty folder, which covers folders.
    pub(super) empty: PathBuf,
}

impl Policy {
    /// Whether a guard is on.
    pub(super) fn has(&self, guard: &str) -> bool {
        !self.off.iter().any(|off| off == guard)
    }
}
