//! Every touch of a file in the checkout: by directory handles, one name at a time, never through a link.
//!
//! Invariant: nothing outside the root is read, written, made or removed, whatever links, hard links, devices or races the
//! checkout holds. A write is a new file that is renamed over the old one, so a reader sees the one or the other, and a second
//! name (hard link) of the old one keeps the old content.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::rel_path::RelPath;

/// How files begin that are written and not yet renamed; left behind only by a crash.
pub(super) const UNFINISHED: &str = ".upshift-new-";
/// Permissions of new files and folders, before the user's umask.
pub(super) const NEW_FILE: u32 = 0o666;
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);
const PERMISSIONS: u32 = 0o7777;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// Opening a FIFO must not wait for its other end.
const READ: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// The root of everything.
#[derive(Debug)]
pub(super) struct Beneath {
    folder: OwnedFd,
    path: PathBuf,
}

/// What is at a path, itself, not what it links to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO, a device, a socket.
    Special,
}

/// Why a file could not be touched.
#[derive(Debug, thiserror::Error)]
pub(super) enum TouchError {
    /// There is nothing.
    #[error("`{0}` does not exist")]
    Missing(RelPath),
    /// A part of the path is a link.
    #[error(
        "`{path}`: `{link}` is a symbolic link to `{target}`; links are not followed, use the path of the file itself"
    )]
    Link { path: RelPath, link: String, target: String },
    /// Not a regular file, or not a folder.
    #[error("`{path}` is {found}, not {wanted}")]
    Wrong { path: RelPath, found: &'static str, wanted: &'static str },
    /// The system says no.
    #[error("`{path}`: {source}")]
    Io { path: RelPath, source: io::Error },
}

/// The place of a file: its folder's handle and its name.
struct Place {
    folder: OwnedFd,
    name: OsString,
}

impl Beneath {
    /// Takes hold of the root.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let path = root.canonicalize()?;
        let folder = rustix::fs::open(&path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { folder, path })
    }

    /// The root's canonical path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of a path itself; `None` if there is nothing.
    pub(super) fn stat(&self, path: &RelPath) -> Result<Option<Stat>, TouchError> {
        let place = match self.place(path, MakeFolders::No) {
            Ok(place) => place,
            Err(TouchError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        match rustix::fs::statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed(path, error)),
        }
    }

    /// Opens a regular file for reading.
    pub(super) fn open_file(&self, path: &RelPath) -> Result<(File, Stat), TouchError> {
        let place = self.place(path, MakeFolders::No)?;
        let handle = rustix::fs::openat(&place.folder, &place.name, READ, Mode::empty())
            .map_err(|error| self.explain(path, path.as_path(), &place, error))?;
        let stat = rustix::fs::fstat(&handle).map_err(|error| failed(path, error))?;
        match kind(&stat) {
            Kind::File => Ok((File::from(handle), stat)),
            other @ (Kind::Folder | Kind::Link | Kind::Special) => {
                Err(TouchError::Wrong { path: path.clone(), found: other.words(), wanted: Kind::File.words() })
            }
        }
    }

    /// A regular file's bytes.
    pub(super) fn read(&self, path: &RelPath) -> Result<Vec<u8>, TouchError> {
        let (mut file, stat) = self.open_file(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(|source| TouchError::Io { path: path.clone(), source })?;
        Ok(bytes)
    }

    /// Where a symbolic link points.
    pub(super) fn read_link(&self, path: &RelPath) -> Result<Vec<u8>, TouchError> {
        let place = self.place(path, MakeFolders::No)?;
        let target =
            rustix::fs::readlinkat(&place.folder, &place.name, Vec::new()).map_err(|error| failed(path, error))?;
        Ok(target.into_bytes())
    }

    /// Writes a file, new or over an old one; `permissions` are set as they are, absent ones are a new file's.
    pub(super) fn write(&self, path: &RelPath, bytes: &[u8], permissions: Option<u32>) -> Result<(), TouchError> {
        let place = self.place(path, MakeFolders::Yes)?;
        self.put(path, &place, |temporary| {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let handle = rustix::fs::openat(&place.folder, temporary, flags, Mode::from_raw_mode(NEW_FILE))?;
            if let Some(permissions) = permissions {
                rustix::fs::fchmod(&handle, Mode::from_raw_mode(permissions & PERMISSIONS))?;
            }
            File::from(handle).write_all(bytes)
        })
    }

    /// Makes a symbolic link, new or over an old file; only restoring a recorded state does this.
    pub(super) fn write_link(&self, path: &RelPath, target: &[u8]) -> Result<(), TouchError> {
        let place = self.place(path, MakeFolders::Yes)?;
        self.put(path, &place, |temporary| {
            Ok(rustix::fs::symlinkat(OsString::from_vec(target.to_vec()), &place.folder, temporary)?)
        })
    }

    /// Sets a regular file's permissions.
    pub(super) fn set_permissions(&self, path: &RelPath, permissions: u32) -> Result<(), TouchError> {
        let (file, _) = self.open_file(path)?;
        rustix::fs::fchmod(file, Mode::from_raw_mode(permissions & PERMISSIONS)).map_err(|error| failed(path, error))
    }

    /// Removes a file or a link (not what it points to), then the folders that this emptied; nothing there is no error.
    pub(super) fn remove(&self, path: &RelPath) -> Result<(), TouchError> {
        let place = match self.place(path, MakeFolders::No) {
            Ok(place) => place,
            Err(TouchError::Missing(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        match rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(failed(path, error)),
        }
    }

    /// Removes empty folders from the parent of `path` upwards.
    pub(super) fn remove_empty_parents(&self, path: &RelPath) {
        for parent in path.as_path().ancestors().skip(1) {
            let Ok(parent) = RelPath::from_path(parent) else { return };
            let Ok(place) = self.place(&parent, MakeFolders::No) else { return };
            if rustix::fs::unlinkat(&place.folder, &place.name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }

    /// Clears the way for a recorded file: a folder in its place goes with all it holds, a file or link in its folders' place too.
    pub(super) fn clear_way(&self, path: &RelPath) -> Result<(), TouchError> {
        for ancestor in path.as_path().ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let Ok(ancestor) = RelPath::from_path(ancestor) else { continue };
            match self.stat(&ancestor)?.map(|stat| kind(&stat)) {
                Some(Kind::Folder) => {}
                Some(_) => self.remove(&ancestor)?,
                None => return Ok(()),
            }
        }
        if self.stat(path)?.is_some_and(|stat| kind(&stat) == Kind::Folder) {
            let place = self.place(path, MakeFolders::No)?;
            remove_folder(&place.folder, &place.name).map_err(|error| failed(path, error))?;
        }
        Ok(())
    }

    fn put(
        &self,
        path: &RelPath,
        place: &Place,
        make: impl FnOnce(&OsStr) -> io::Result<()>,
    ) -> Result<(), TouchError> {
        let temporary = OsString::from(format!("{UNFINISHED}{}", uuid::Uuid::new_v4().simple()));
        let made = make(&temporary)
            .and_then(|()| Ok(rustix::fs::renameat(&place.folder, &temporary, &place.folder, &place.name)?));
        made.map_err(|source| {
            // The error is what counts; a leftover is cleared by the next restore.
            rustix::fs::unlinkat(&place.folder, &temporary, AtFlags::empty()).unwrap_or_default();
            TouchError::Io { path: path.clone(), source }
        })
    }

    /// Walks down to the folder that holds `path`.
    fn place(&self, path: &RelPath, make: MakeFolders) -> Result<Place, TouchError> {
        let whole = path.as_path();
        let name = whole.file_name().ok_or_else(|| TouchError::Missing(path.clone()))?.to_owned();
        let mut folder = self.folder.try_clone().map_err(|source| TouchError::Io { path: path.clone(), source })?;
        let mut walked = PathBuf::new();
        for part in whole.parent().into_iter().flat_map(Path::iter) {
            walked.push(part);
            let place = Place { folder, name: part.to_owned() };
            let opened = match rustix::fs::openat(&place.folder, part, FOLDER, Mode::empty()) {
                Err(Errno::NOENT) if make == MakeFolders::Yes => {
                    match rustix::fs::mkdirat(&place.folder, part, NEW_FOLDER) {
                        Ok(()) | Err(Errno::EXIST) => rustix::fs::openat(&place.folder, part, FOLDER, Mode::empty()),
                        Err(error) => Err(error),
                    }
                }
                opened => opened,
            };
            folder = opened.map_err(|error| self.explain(path, &walked, &place, error))?;
        }
        Ok(Place { folder, name })
    }

    /// Says what stood in the way at `walked`.
    fn explain(&self, path: &RelPath, walked: &Path, place: &Place, error: Errno) -> TouchError {
        match error {
            Errno::NOENT => TouchError::Missing(path.clone()),
            Errno::LOOP | Errno::NOTDIR => match rustix::fs::readlinkat(&place.folder, &place.name, Vec::new()) {
                Ok(target) => TouchError::Link {
                    path: path.clone(),
                    link: walked.display().to_string(),
                    target: target.to_string_lossy().into_owned(),
                },
                Err(_no_link) => TouchError::Missing(path.clone()),
            },
            // A socket or a device without a driver.
            Errno::NXIO => {
                TouchError::Wrong { path: path.clone(), found: Kind::Special.words(), wanted: Kind::File.words() }
            }
            other => failed(path, other),
        }
    }
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Special => "a device, pipe or socket",
        }
    }
}

/// Whether missing folders on the way are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MakeFolders {
    Yes,
    No,
}

/// What a status describes.
pub(super) fn kind(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            Kind::Special
        }
    }
}

/// The permission bits of a status.
pub(super) const fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & PERMISSIONS
}

fn failed(path: &RelPath, error: Errno) -> TouchError {
    TouchError::Io { path: path.clone(), source: error.into() }
}

/// Removes a folder and all in it, by handles; links in it are removed, not followed.
fn remove_folder(parent: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let folder = rustix::fs::openat(parent, name, FOLDER, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        if matches!(bytes, b"." | b"..") {
            continue;
        }
        match rustix::fs::unlinkat(&folder, entry.file_name(), AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => remove_folder(&folder, &OsString::from_vec(bytes.to_vec()))?,
            other => other?,
        }
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}
