//! Files as Unix has them: folders held by descriptors.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use super::{Found, Free, Identity, Kind, PERMISSIONS, Refusal};

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// Opening a FIFO must not wait for its other end.
const READ: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
const CREATE: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The mode that lets us look into, and empty, a folder of our own.
const OURS: u32 = 0o700;

/// A folder that is held.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Takes hold of a folder by its path, which the caller trusts but for its last name: that may be no link.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?))
    }

    /// Takes hold of the same folder again.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Takes hold of a folder in this one.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn folder(&self, name: &OsStr) -> Result<Self, Refusal> {
        rustix::fs::openat(&self.0, name, FOLDER, Mode::empty()).map(Self).map_err(refusal)
    }

    /// Makes a folder, with these permissions before the user's umask.
    ///
    /// # Errors
    /// When it cannot be made, or is there.
    pub fn make_folder(&self, name: &OsStr, permissions: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, mode(permissions))?)
    }

    /// The metadata of a name. `None` if there is nothing.
    ///
    /// # Errors
    /// When the system says no.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Found>> {
        match rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(found(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens what is no link for reading.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn read(&self, name: &OsStr) -> Result<(File, Found), Refusal> {
        let handle = rustix::fs::openat(&self.0, name, READ, Mode::empty()).map_err(refusal)?;
        // Of what was opened, since another file may have the name by now.
        let stat = rustix::fs::fstat(&handle).map_err(refusal)?;
        Ok((File::from(handle), found(&stat)))
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    /// When it is none.
    pub fn read_link(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Makes a file, with these permissions before the user's umask.
    ///
    /// # Errors
    /// When it cannot be made, or is there.
    pub fn create(&self, name: &OsStr, permissions: u32) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(&self.0, name, CREATE, mode(permissions))?))
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// When it cannot be made, or is there.
    pub fn make_link(&self, name: &OsStr, target: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(OsStr::from_bytes(target), &self.0, name)?)
    }

    /// Sets the permissions of a file that is no link.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn set_permissions(&self, name: &OsStr, permissions: u32) -> Result<(), Refusal> {
        // Through a handle: there is no call that sets a mode by name and follows no link everywhere.
        let (file, _) = self.read(name)?;
        set_permissions(&file, permissions).map_err(Refusal::Io)
    }

    /// Renames a file or link over what is there.
    ///
    /// # Errors
    /// When the system says no.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// When there is nothing, or the system says no.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        // Removes a link itself.
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// When it is not empty or no folder, or the system says no.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder and all in it. Links in it are removed, not followed.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove_whole_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(remove_whole(&self.0, name)?)
    }
}

fn remove_whole(parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    // Opened without following, so that a link in its place ends the removal.
    let folder = rustix::fs::openat(parent, name, FOLDER, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if matches!(bytes, b"." | b"..") {
            continue;
        }
        match rustix::fs::unlinkat(&folder, entry.file_name(), AtFlags::empty()) {
            // Linux says the one of a folder, macOS the other.
            Err(Errno::ISDIR | Errno::PERM) => remove_whole(&folder, OsStr::from_bytes(bytes))?,
            other => other?,
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

fn refusal(error: Errno) -> Refusal {
    match error {
        Errno::NOENT => Refusal::Missing,
        // Linux says LOOP of a link that must not be followed, and NOTDIR where a folder was wanted.
        Errno::LOOP | Errno::NOTDIR => Refusal::Astray,
        // A socket cannot be opened, nor a device without a driver.
        Errno::NXIO => Refusal::Special,
        other => Refusal::Io(other.into()),
    }
}

fn found(stat: &Stat) -> Found {
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Found {
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Special,
        },
        permissions: wide(stat.st_mode) & PERMISSIONS,
        size: stat.st_size,
        modified: nanoseconds(stat.st_mtime, narrow(stat.st_mtime_nsec)),
        changed: nanoseconds(stat.st_ctime, narrow(stat.st_ctime_nsec)),
        inode: stat.st_ino,
        has_other_names: stat.st_nlink != 1,
    }
}

/// Systems differ in how many bits a mode has.
fn wide(bits: impl Into<u32>) -> u32 {
    bits.into()
}

/// The same for the part of a second, and for a mode the other way round.
fn narrow<T, U: TryFrom<T> + Default>(number: T) -> U {
    U::try_from(number).unwrap_or_default()
}

fn mode(permissions: u32) -> Mode {
    Mode::from_raw_mode(narrow(permissions & PERMISSIONS))
}

/// Sets an open file's permissions.
///
/// # Errors
/// When the system says no.
pub fn set_permissions(file: &File, permissions: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(permissions & PERMISSIONS))
}

/// Makes a temporary file that everybody may read.
///
/// # Errors
/// When it cannot be made.
pub fn temporary_for_all(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o644)).tempfile_in(folder)
}

/// Makes a folder that nobody else may look into, and those above it. One that is there stays as it is.
///
/// # Errors
/// When it cannot be made.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Has a file that is made be nobody else's to read.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// When a file changed in any way, which no other program can set, in nanoseconds.
#[must_use]
pub fn changed(found: &Metadata) -> i64 {
    found.ctime().wrapping_mul(1_000_000_000).wrapping_add(found.ctime_nsec())
}

/// The stamp that tells a file from another that is put in its place.
#[must_use]
pub fn stamp(found: &Metadata) -> String {
    // Without the time of the inode's change, which a mere link or a new mode would move.
    format!("{}:{}:{}:{}.{}", found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec())
}

/// The identity that tells a file from all others. It is always known here.
#[must_use]
pub fn identity(found: &Metadata) -> Option<Identity> {
    Some(Identity { device: found.dev(), inode: found.ino() })
}

/// The regular files that this process's standard output and standard error go to.
#[must_use]
pub fn own_outputs() -> Vec<Identity> {
    let outputs = [rustix::stdio::stdout(), rustix::stdio::stderr()];
    let known = |output: std::os::fd::BorrowedFd<'_>| File::from(output.try_clone_to_owned().ok()?).metadata().ok();
    let regular = outputs.into_iter().filter_map(known).filter(Metadata::is_file);
    let mut found: Vec<Identity> = regular.filter_map(|found| identity(&found)).collect();
    // Both often go to one file.
    found.dedup();
    found
}

/// Whether an open file is still the one at a path.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Gives us back the rights over a folder of ours.
///
/// # Errors
/// When it is not ours.
pub fn make_ours(folder: &Path, found: &Metadata) -> io::Result<()> {
    // Only added, so that the other bits stay as they were found.
    std::fs::set_permissions(folder, Permissions::from_mode(found.mode() | OURS))
}

/// The free room of the file system that a path lies on. `None` if that cannot be known.
#[must_use]
pub fn free(place: &Path) -> Option<Free> {
    let found = rustix::fs::statvfs(place).ok()?;
    // Btrfs and others say 0, since they make files as they need them.
    let files = (found.f_files > 0).then_some(found.f_favail);
    Some(Free { bytes: found.f_bavail.saturating_mul(found.f_frsize), files })
}

/// A file name in a folder that all users share, which no two of them have.
#[must_use]
pub fn name_for_user(name: &str) -> String {
    format!("{name}-{}", rustix::process::getuid().as_raw())
}

/// A canonical path is the plain one.
pub(super) const fn plain(path: PathBuf) -> PathBuf {
    path
}
