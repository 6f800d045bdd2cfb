//! Differences between platforms about files: folders that are held, the metadata of a file, the users who may read it.
//!
//! A [`Folder`] is a folder that is held, and everything in it is touched by one name at a time, never through a link. On Unix it is a
//! descriptor, and the kernel is asked relative to it. Windows has nothing of the kind in the standard library: there a folder and
//! all above it are kept open in a way that lets nobody rename or remove them, so that their path goes on leading to them.
//!
//! Start reading at [`Folder`]. `names` lists names that Windows takes for something else than they look like. Nothing here knows a file's
//! purpose.
//!
//! Invariant: no method of a [`Folder`] follows a link, or reaches what lies outside of it.

use std::path::{Component, Path, PathBuf};

pub mod names;
#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod platform;
#[cfg(test)]
mod tests;

pub use platform::{
    Folder, changed, free, identity, is_at, make_ours, make_private_folder, name_for_user, own_outputs, private,
    set_permissions, stamp, temporary_for_all,
};

/// The bits of a file's permissions.
pub const PERMISSIONS: u32 = 0o7777;

/// The kind of a path itself, not of the target of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, on Windows also a junction.
    Link,
    /// A FIFO, a device, a socket.
    Special,
}

/// The metadata of a path itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The kind of file.
    pub kind: Kind,
    /// Its permissions. On Windows those that its read-only mark amounts to.
    pub permissions: u32,
    /// Its size in bytes.
    pub size: i64,
    /// When its content changed, in nanoseconds since the epoch.
    pub modified: i128,
    /// When it changed in any way, in nanoseconds since the epoch. On Windows when it came into being.
    pub changed: i128,
    /// The number that tells it from others of its file system. 0 on Windows.
    pub inode: u64,
    /// Whether it has another name. On Windows taken to be so.
    pub has_other_names: bool,
}

/// The identity that tells a file from all others of the machine, whatever its names are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its file system.
    pub device: u64,
    /// The file's number there.
    pub inode: u64,
}

/// The free room of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free {
    /// In bytes.
    pub bytes: u64,
    /// In files. `None` where the file system makes them as it needs them.
    pub files: Option<u64>,
}

/// Why something could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// There is nothing.
    #[error("it does not exist")]
    Missing,
    /// It is a link, or no folder where one is wanted.
    #[error("it is a link or no folder")]
    Astray,
    /// It is a socket, or a device without a driver.
    #[error("it is a device, pipe or socket")]
    Special,
    /// The system says no.
    #[error(transparent)]
    Io(std::io::Error),
}

impl From<Refusal> for std::io::Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Missing => std::io::ErrorKind::NotFound.into(),
            Refusal::Astray | Refusal::Special => Self::new(std::io::ErrorKind::InvalidInput, refusal.to_string()),
            Refusal::Io(error) => error,
        }
    }
}

/// A path as it is shown and compared everywhere: with `/` between folders.
#[must_use]
pub fn slashed(path: &Path) -> String {
    let shown = path.display().to_string();
    // Elsewhere a backslash is a letter of a name.
    if cfg!(windows) { shown.replace('\\', "/") } else { shown }
}

/// A path with `.` and `..` resolved by name.
#[must_use]
pub fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                // At the root there is nothing above, and `..` stays there as for the system.
                plain.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(component),
        }
    }
    plain
}

/// The place that a path leads to: `.`, `..` and links resolved as far as it exists. The file itself may be missing.
#[must_use]
pub fn settled(path: &Path) -> PathBuf {
    let path = lexical(path);
    let mut missing = Vec::new();
    let mut existing = path.as_path();
    loop {
        // From the end upwards: a file that is yet to be made has a folder that is there.
        if let Ok(real) = real_place(existing) {
            return missing.into_iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else { return path.clone() };
        missing.push(name);
        existing = parent;
    }
}

/// The real place of a path, all links resolved. On Windows it is in the spelling that programs understand.
///
/// # Errors
/// When there is nothing.
pub fn real_place(path: &Path) -> std::io::Result<PathBuf> {
    path.canonicalize().map(platform::plain)
}
