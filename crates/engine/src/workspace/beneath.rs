//! Every touch of a file in the checkout: by directory handles, one name at a time, never through a link.
//!
//! Invariant: nothing outside the root is read, written, made or removed, whatever links, hard links, devices or races the
//! checkout holds. A write is a new file that is renamed over the old one, so a reader sees the one or the other, and a second
//! name (hard link) of the old one keeps the old content.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub(super) use crate::files::{Found, Kind};

use super::rel_path::RelPath;
use crate::files::{self, Folder, Refusal};

/// The beginning of the names of files that are written and not yet renamed. Only a crash leaves them behind.
pub(super) const UNFINISHED: &str = ".upshift-new-";
/// Permissions of new files and folders, before the user's umask.
pub(super) const NEW_FILE: u32 = 0o666;
const NEW_FOLDER: u32 = 0o777;

/// The root of everything.
#[derive(Debug)]
pub(super) struct Beneath {
    folder: Folder,
    path: PathBuf,
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
    folder: Folder,
    name: OsString,
}

impl Beneath {
    /// Takes hold of the root.
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let path = files::real_place(root)?;
        let folder = Folder::open(&path)?;
        Ok(Self { folder, path })
    }

    /// The root's canonical path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The status of a path itself. `None` if there is nothing.
    pub(super) fn stat(&self, path: &RelPath) -> Result<Option<Found>, TouchError> {
        let place = match self.place(path, MakeFolders::No) {
            Ok(place) => place,
            Err(TouchError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        place.folder.look(&place.name).map_err(|error| failed(path, error))
    }

    /// Opens a regular file for reading.
    pub(super) fn open_file(&self, path: &RelPath) -> Result<(File, Found), TouchError> {
        let place = self.place(path, MakeFolders::No)?;
        let (file, found) =
            place.folder.read(&place.name).map_err(|refusal| explain(path, path.as_path(), &place, refusal))?;
        match found.kind {
            Kind::File => Ok((file, found)),
            other @ (Kind::Folder | Kind::Link | Kind::Special) => {
                Err(TouchError::Wrong { path: path.clone(), found: words(other), wanted: words(Kind::File) })
            }
        }
    }

    /// A regular file's bytes.
    pub(super) fn read(&self, path: &RelPath) -> Result<Vec<u8>, TouchError> {
        let (mut file, stat) = self.open_file(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(|source| TouchError::Io { path: path.clone(), source })?;
        Ok(bytes)
    }

    /// Where a symbolic link points.
    pub(super) fn read_link(&self, path: &RelPath) -> Result<Vec<u8>, TouchError> {
        let place = self.place(path, MakeFolders::No)?;
        place.folder.read_link(&place.name).map_err(|error| failed(path, error))
    }

    /// Writes a file, new or over an old one. `permissions` are set as they are. Absent ones are a new file's.
    pub(super) fn write(&self, path: &RelPath, bytes: &[u8], permissions: Option<u32>) -> Result<(), TouchError> {
        let place = self.place(path, MakeFolders::Yes)?;
        self.put(path, &place, |temporary| {
            let mut file = place.folder.create(temporary, NEW_FILE)?;
            // While it is still empty: nobody reads the content meanwhile who may not.
            if let Some(permissions) = permissions {
                files::set_permissions(&file, permissions)?;
            }
            file.write_all(bytes)
        })
    }

    /// Makes a symbolic link, new or over an old file. Only restoring a recorded state does this.
    pub(super) fn write_link(&self, path: &RelPath, target: &[u8]) -> Result<(), TouchError> {
        let place = self.place(path, MakeFolders::Yes)?;
        self.put(path, &place, |temporary| place.folder.make_link(temporary, target))
    }

    /// Sets a regular file's permissions.
    pub(super) fn set_permissions(&self, path: &RelPath, permissions: u32) -> Result<(), TouchError> {
        let place = self.place(path, MakeFolders::No)?;
        let set = place.folder.set_permissions(&place.name, permissions);
        set.map_err(|refusal| explain(path, path.as_path(), &place, refusal))
    }

    /// Removes a file or a link (not the file it points to). A path with nothing there is no error.
    pub(super) fn remove(&self, path: &RelPath) -> Result<(), TouchError> {
        let place = match self.place(path, MakeFolders::No) {
            Ok(place) => place,
            Err(TouchError::Missing(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        match place.folder.remove_file(&place.name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path, error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Moves a file to a place where there is nothing.
    pub(super) fn rename(&self, from: &RelPath, to: &RelPath) -> Result<(), TouchError> {
        // Each of the two places is reached without a link, and no child runs between two runs of the tests.
        drop((self.place(from, MakeFolders::No)?, self.place(to, MakeFolders::Yes)?));
        if self.stat(to)?.is_some() {
            return Err(failed(to, io::ErrorKind::AlreadyExists.into()));
        }
        std::fs::rename(self.path.join(from.as_path()), self.path.join(to.as_path())).map_err(|error| failed(to, error))
    }

    /// Removes empty folders from the parent of `path` upwards.
    pub(super) fn remove_empty_parents(&self, path: &RelPath) {
        for parent in path.as_path().ancestors().skip(1) {
            let Ok(parent) = RelPath::from_path(parent) else { return };
            let Ok(place) = self.place(&parent, MakeFolders::No) else { return };
            // One that still holds something refuses, which is the end of the way up.
            if place.folder.remove_folder(&place.name).is_err() {
                return;
            }
        }
    }

    /// Clears the way for a recorded file: a folder in its place goes with all it holds, a file or link in its folders' place too.
    pub(super) fn clear_way(&self, path: &RelPath) -> Result<(), TouchError> {
        // From the top, since nothing may be looked at behind a link.
        for ancestor in path.as_path().ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            let Ok(ancestor) = RelPath::from_path(ancestor) else { continue };
            match self.stat(&ancestor)?.map(|found| found.kind) {
                Some(Kind::Folder) => {}
                Some(_) => self.remove(&ancestor)?,
                None => return Ok(()),
            }
        }
        if self.stat(path)?.is_some_and(|found| found.kind == Kind::Folder) {
            let place = self.place(path, MakeFolders::No)?;
            place.folder.remove_whole_folder(&place.name).map_err(|error| failed(path, error))?;
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
        let made = make(&temporary).and_then(|()| place.folder.rename(&temporary, &place.name));
        made.map_err(|source| {
            // The error is what counts; a leftover is cleared by the next restore.
            place.folder.remove_file(&temporary).unwrap_or_default();
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
            let opened = match place.folder.folder(part) {
                Err(Refusal::Missing) if make == MakeFolders::Yes => match place.folder.make_folder(part, NEW_FOLDER) {
                    // Somebody may have made it meanwhile. It is opened like any other then.
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Refusal::Io(error)),
                    Ok(()) | Err(_) => place.folder.folder(part),
                },
                opened => opened,
            };
            folder = opened.map_err(|refusal| explain(path, &walked, &place, refusal))?;
        }
        Ok(Place { folder, name })
    }
}

/// Says what stood in the way at `walked`.
fn explain(path: &RelPath, walked: &Path, place: &Place, refusal: Refusal) -> TouchError {
    match refusal {
        Refusal::Missing => TouchError::Missing(path.clone()),
        // The target is read for the message alone: the refusal stands in either case.
        Refusal::Astray => match place.folder.read_link(&place.name) {
            Ok(target) => TouchError::Link {
                path: path.clone(),
                link: walked.display().to_string(),
                target: String::from_utf8_lossy(&target).into_owned(),
            },
            Err(_no_link) => TouchError::Missing(path.clone()),
        },
        Refusal::Special => {
            TouchError::Wrong { path: path.clone(), found: words(Kind::Special), wanted: words(Kind::File) }
        }
        Refusal::Io(error) => failed(path, error),
    }
}

const fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Folder => "a folder",
        Kind::Link => "a symbolic link",
        Kind::Special => "a device, pipe or socket",
    }
}

/// Whether missing folders on the way are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MakeFolders {
    Yes,
    No,
}

fn failed(path: &RelPath, source: io::Error) -> TouchError {
    TouchError::Io { path: path.clone(), source }
}
