//! The bounds of a child (Linux): who applies them, and what is looked after around each child.

use std::ffi::OsStr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::direct::Direct;
use super::{doors, git, helper, home};

/// The bounds of a child, ready to be handed to the helper.
#[derive(Debug)]
pub struct Bounds {
    /// The program that applies them: upshift itself.
    pub(super) helper: PathBuf,
    /// The [`Policy`] as the helper reads it.
    pub(super) policy: String,
    /// The way that needs no helper, where there is one.
    pub(super) direct: Option<Direct>,
    /// The way into the room that this policy's children share.
    pub(super) doors: Option<doors::Doors>,
    /// Whether somebody went through the doors since what was in the room was last known to be harmless.
    pub(super) used: AtomicBool,
    /// Whether what is in the room may judge nobody any more.
    pub(super) stale: AtomicBool,
    /// The git directory's guard, which compares and puts back after each child, where the kernel cannot protect it.
    pub(super) git: Option<Arc<git::GitGuard>>,
    /// Removed with the last child's bounds.
    pub(super) private: Arc<home::Private>,
}

impl Bounds {
    /// The way into a room that is there already, for a child without input of its own: it becomes its standard input, and the helper
    /// puts an empty one in its place.
    pub(in crate::process) fn door(&self) -> Option<Stdio> {
        self.used.store(true, Ordering::Relaxed);
        let stale = self.stale.load(Ordering::Relaxed);
        let door = self.doors.as_ref()?.open(if stale { doors::Shelf::Empty } else { doors::Shelf::OfRoom });
        door.map(Stdio::from)
    }

    /// The same for a child that is spoken to: its standard input, and the end to write to. `None` where there is no room. Then a pipe
    /// does.
    pub(in crate::process) fn door_with_line(&self) -> Option<(Stdio, UnixStream)> {
        self.used.store(true, Ordering::Relaxed);
        let stale = self.stale.load(Ordering::Relaxed);
        let shelf = if stale { doors::Shelf::Empty } else { doors::Shelf::OfRoom };
        let (door, line) = self.doors.as_ref()?.open_with_line(shelf)?;
        Some((Stdio::from(door), line))
    }

    /// The way for a child that needs no namespace.
    pub(in crate::process) const fn direct(&self) -> Option<&Direct> {
        self.direct.as_ref()
    }

    /// The helper, which becomes the command once it has taken everything away from itself. `name` is the command's own name, as it is
    /// told.
    #[expect(clippy::disallowed_methods, reason = "part of the one place that starts a process")]
    pub(in crate::process) fn around(&self, plain: &Command, name: &OsStr, door: Option<&Stdio>) -> Command {
        let word = if door.is_some() { helper::WORD_WITHIN } else { helper::WORD };
        let mut command = Command::new(&self.helper);
        command.arg(word).arg(&self.policy).arg(plain.get_program()).arg(name).args(plain.get_args());
        command
    }

    pub(super) fn remember(&self) {
        self.private.remember();
        self.used.store(false, Ordering::Relaxed);
    }

    pub(super) fn forget(&self) -> std::io::Result<()> {
        // Whoever was in the room may have left something in its shared memory, and can be asked for nothing back.
        self.stale.fetch_or(self.used.load(Ordering::Relaxed), Ordering::Relaxed);
        self.private.forget()
    }

    pub(super) fn put_back(&self) -> std::io::Result<Option<String>> {
        let Some(git) = &self.git else { return Ok(None) };
        let changed = git.put_back()?;
        if changed.is_empty() {
            return Ok(None);
        }
        // A few tell what happened, and a child that rewrote `.git` has changed thousands.
        let names: Vec<String> = changed.iter().take(5).map(|path| path.display().to_string()).collect();
        Ok(Some(format!("\n[upshift put back what was changed in the git directory: {}]\n", names.join(", "))))
    }
}
