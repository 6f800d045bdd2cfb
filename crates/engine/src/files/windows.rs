//! Files as Windows has them: folders held by handles that let nobody rename or remove them.
//!
//! The standard library has no way to open a file relative to a handle. But a folder that is open without leave to delete it can
//! neither be renamed nor removed, so as long as it and all folders above it are held, their path leads to them. Paths are
//! used in their verbatim form (`\\?\`), in which every name is just a name.
//!
//! One gap remains: an *empty* folder can be turned into a junction while it is held. A program that does so in the very moment between its
//! opening and the next step could lead that step astray. Children of upshift are all gone by then.

use std::ffi::OsStr;
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bstr::ByteSlice as _;
use same_file::Handle;
use tempfile::NamedTempFile;

use super::{Found, Free, Identity, Kind, Refusal, names};

/// `FILE_LIST_DIRECTORY` and `FILE_READ_ATTRIBUTES`: with less the handle would keep nobody from renaming.
const LOOK: u32 = 0x1 | 0x80;
/// `FILE_SHARE_READ` and `FILE_SHARE_WRITE`, without `FILE_SHARE_DELETE`. Without leave to write no file could be renamed into it.
const HOLD: u32 = 0x1 | 0x2;
/// `FILE_FLAG_BACKUP_SEMANTICS`: folders can be opened.
const FOLDERS_TOO: u32 = 0x0200_0000;
/// `FILE_FLAG_OPEN_REPARSE_POINT`: a link itself, not where it leads.
const ITSELF: u32 = 0x0020_0000;
/// `FILE_ATTRIBUTE_REPARSE_POINT`.
const REPARSE: u32 = 0x400;
/// `ERROR_DIRECTORY`: a file where a folder was wanted.
const ERROR_DIRECTORY: i32 = 267;
/// A file's permissions where it may be written, and where it is marked as read-only.
const WRITABLE: u32 = 0o644;
const READ_ONLY: u32 = 0o444;
/// The bit that its owner may write.
const OWNER_WRITES: u32 = 0o200;
/// Between the epoch of Windows (1601) and that of Unix, in units of 100 ns.
const EPOCH: i128 = 116_444_736_000_000_000;

/// A folder that is held.
#[derive(Debug, Clone)]
pub struct Folder(Arc<Held>);

#[derive(Debug)]
struct Held {
    path: PathBuf,
    _handle: File,
    _above: Option<Folder>,
}

impl Folder {
    /// Takes hold of a folder by its path, which the caller trusts but for its last name: that may be no link.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let whole = match (path.parent(), path.file_name()) {
            // The last name stays as it is, since a link there must be seen.
            (Some(parent), Some(name)) => parent.canonicalize()?.join(name),
            _ => path.canonicalize()?,
        };
        Ok(Self::hold(whole, None)?)
    }

    fn hold(path: PathBuf, above: Option<Self>) -> Result<Self, Refusal> {
        let handle = open(&path, LOOK, HOLD).map_err(refusal)?;
        let found = handle.metadata().map_err(refusal)?;
        // A junction is a folder and a link at once.
        if !found.is_dir() || found.file_attributes() & REPARSE != 0 {
            return Err(Refusal::Astray);
        }
        Ok(Self(Arc::new(Held { path, _handle: handle, _above: above })))
    }

    /// Takes hold of the same folder again.
    ///
    /// # Errors
    /// Never.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    /// Takes hold of a folder in this one.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn folder(&self, name: &OsStr) -> Result<Self, Refusal> {
        Self::hold(self.of(name).map_err(refusal)?, Some(self.clone()))
    }

    /// Makes a folder. Its access rights are inherited.
    ///
    /// # Errors
    /// When it cannot be made, or is there.
    pub fn make_folder(&self, name: &OsStr, _permissions: u32) -> io::Result<()> {
        std::fs::create_dir(self.of(name)?)
    }

    /// The metadata of a name. `None` if there is nothing.
    ///
    /// # Errors
    /// When the system says no.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Found>> {
        match self.of(name).and_then(|path| path.symlink_metadata()) {
            Ok(metadata) => Ok(Some(found(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens what is no link for reading.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn read(&self, name: &OsStr) -> Result<(File, Found), Refusal> {
        let path = self.of(name).map_err(refusal)?;
        let metadata = path.symlink_metadata().map_err(refusal)?;
        // Before it is opened, since opening a placeholder may fetch it from a cloud.
        if !metadata.is_dir() && metadata.file_attributes() & REPARSE != 0 {
            return Err(Refusal::Astray);
        }
        let file = OpenOptions::new().read(true).custom_flags(FOLDERS_TOO | ITSELF).open(&path).map_err(refusal)?;
        let found = found(&file.metadata().map_err(refusal)?);
        if found.kind == Kind::Link { Err(Refusal::Astray) } else { Ok((file, found)) }
    }

    /// Where a symbolic link points.
    ///
    /// # Errors
    /// When it is none, or its target is no text.
    pub fn read_link(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        let target = self.of(name)?.read_link()?;
        let bytes = <[u8]>::from_path(&target).ok_or(io::ErrorKind::InvalidData)?;
        // Git has links with the separators of Unix.
        Ok(bytes.replace("\\", "/"))
    }

    /// Makes a file. Its access rights are inherited.
    ///
    /// # Errors
    /// When it cannot be made, or is there.
    pub fn create(&self, name: &OsStr, _permissions: u32) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.of(name)?)
    }

    /// Makes a symbolic link, which the user needs the right to (developer mode).
    ///
    /// # Errors
    /// When it cannot be made, or is there.
    pub fn make_link(&self, name: &OsStr, target: &[u8]) -> io::Result<()> {
        let target = target.to_path().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        // With the separators of Windows, without which the link leads nowhere.
        let target: PathBuf = target.iter().collect();
        let link = self.of(name)?;
        if self.0.path.join(&target).is_dir() {
            std::os::windows::fs::symlink_dir(target, link)
        } else {
            std::os::windows::fs::symlink_file(target, link)
        }
    }

    /// Sets the permissions of a file that is no link.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn set_permissions(&self, name: &OsStr, permissions: u32) -> Result<(), Refusal> {
        let file = open_attributes(&self.of(name).map_err(refusal)?).map_err(refusal)?;
        let found = found(&file.metadata().map_err(refusal)?);
        if found.kind == Kind::Link {
            return Err(Refusal::Astray);
        }
        set_permissions(&file, permissions).map_err(refusal)
    }

    /// Renames a file or link over what is there.
    ///
    /// # Errors
    /// When the system says no.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let (from, to) = (self.of(from)?, self.of(to)?);
        // A file that is marked as read-only cannot be replaced here.
        make_writable(&to)?;
        std::fs::rename(from, to)
    }

    /// Removes a file or a link.
    ///
    /// # Errors
    /// When there is nothing, or the system says no.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        let path = self.of(name)?;
        make_writable(&path)?;
        // A link to a folder, and a junction, is removed as a folder; what it leads to stays.
        if path.symlink_metadata()?.file_type().is_symlink_dir() {
            std::fs::remove_dir(path)
        } else {
            std::fs::remove_file(path)
        }
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// When it is not empty or no folder, or the system says no.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_dir(self.of(name)?)
    }

    /// Removes a folder and all in it. Links in it are removed, not followed.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove_whole_folder(&self, name: &OsStr) -> io::Result<()> {
        std::fs::remove_dir_all(self.of(name)?)
    }

    /// The path of a name in this folder: one that Windows takes for nothing else, and no short name of another.
    fn of(&self, name: &OsStr) -> io::Result<PathBuf> {
        let text = name.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        if text.is_empty() || names::is_refused_on_windows(text) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "Windows takes this name for something else"));
        }
        // `GITHUB~1` may be the short name of `.github`, and pass each rule about that.
        let path = self.0.path.join(name);
        if names::may_be_short(text)
            && path.symlink_metadata().is_ok_and(|found| !found.is_symlink())
            && !path
                .canonicalize()
                .is_ok_and(|real| real.file_name().is_some_and(|real| real.eq_ignore_ascii_case(name)))
        {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is the short name of another file"));
        }
        Ok(path)
    }
}

fn open(path: &Path, access: u32, share: u32) -> io::Result<File> {
    OpenOptions::new().access_mode(access).share_mode(share).custom_flags(FOLDERS_TOO | ITSELF).open(path)
}

fn refusal(error: io::Error) -> Refusal {
    if error.kind() == io::ErrorKind::NotFound {
        Refusal::Missing
    } else if error.kind() == io::ErrorKind::NotADirectory || error.raw_os_error() == Some(ERROR_DIRECTORY) {
        Refusal::Astray
    } else {
        Refusal::Io(error)
    }
}

fn found(metadata: &Metadata) -> Found {
    let nanoseconds = |time: u64| (i128::from(time) - EPOCH) * 100;
    Found {
        kind: kind(metadata.file_type(), metadata.file_attributes()),
        permissions: if metadata.permissions().readonly() { READ_ONLY } else { WRITABLE },
        size: i64::try_from(metadata.file_size()).unwrap_or(i64::MAX),
        modified: nanoseconds(metadata.last_write_time()),
        changed: nanoseconds(metadata.creation_time()),
        // Neither is told with the rest, and the careful answer is that there are other names.
        inode: 0,
        has_other_names: true,
    }
}

/// Other reparse points than links (placeholders of a cloud, sockets) are not what they look like.
fn kind(form: FileType, attributes: u32) -> Kind {
    if form.is_symlink() {
        Kind::Link
    } else if attributes & REPARSE != 0 {
        Kind::Special
    } else if form.is_dir() {
        Kind::Folder
    } else {
        Kind::File
    }
}

/// Takes away the mark that keeps a file from being replaced or removed. A missing file is no error.
fn make_writable(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.permissions().readonly() && !found.is_symlink() => {
            let file = open_attributes(path)?;
            set_permissions(&file, WRITABLE)
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a file, itself, to read and write its attributes alone.
fn open_attributes(path: &Path) -> io::Result<File> {
    /// `FILE_READ_ATTRIBUTES` and `FILE_WRITE_ATTRIBUTES`.
    const ATTRIBUTES: u32 = 0x80 | 0x100;
    /// All sharing.
    const SHARED: u32 = 0x7;
    open(path, ATTRIBUTES, SHARED)
}

/// Sets an open file's read-only mark, which is all that Windows has of permissions.
///
/// # Errors
/// When the system says no.
pub fn set_permissions(file: &File, permissions: u32) -> io::Result<()> {
    let mut now = file.metadata()?.permissions();
    let readonly = permissions & OWNER_WRITES == 0;
    if now.readonly() == readonly {
        return Ok(());
    }
    now.set_readonly(readonly);
    file.set_permissions(now)
}

/// Makes a temporary file. The right to read it is inherited from the folder.
///
/// # Errors
/// When it cannot be made.
pub fn temporary_for_all(folder: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(folder)
}

/// Makes a folder and those above it. Below a user's own folders nobody else may look into it.
///
/// # Errors
/// When it cannot be made.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Leaves a file to be made as it is: who may read it is inherited from its folder.
pub const fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The number that tells that a file changed: its times and its size, all of which a program can set.
#[must_use]
pub fn changed(found: &Metadata) -> i64 {
    // Turned against each other, so that two equal parts do not take each other out.
    let mixed = found.last_write_time() ^ found.creation_time().rotate_left(21) ^ found.file_size().rotate_left(42);
    mixed.cast_signed()
}

/// The stamp that tells a file from another that is put in its place.
#[must_use]
pub fn stamp(found: &Metadata) -> String {
    format!("{}:{}:{}", found.creation_time(), found.file_size(), found.last_write_time())
}

/// The identity that tells a file from all others: not known without opening it.
#[must_use]
pub const fn identity(_found: &Metadata) -> Option<Identity> {
    None
}

/// None: what a program has open for its output nobody else can remove here.
#[must_use]
pub const fn own_outputs() -> Vec<Identity> {
    Vec::new()
}

/// Whether an open file is still the one at a path.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    let open = file.try_clone().and_then(Handle::from_file);
    matches!((open, Handle::from_path(path)), (Ok(open), Ok(there)) if open == there)
}

/// Does nothing: what is closed on Windows is closed by a list of rights, which the standard library does not know.
///
/// # Errors
/// Never.
pub const fn make_ours(_folder: &Path, _found: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Nothing: the standard library cannot tell what is free.
#[must_use]
pub const fn free(_place: &Path) -> Option<Free> {
    None
}

/// A file name in the temporary folder, which is the user's own.
#[must_use]
pub fn name_for_user(name: &str) -> String {
    name.to_owned()
}

/// A canonical path as other programs understand it.
pub(super) fn plain(path: PathBuf) -> PathBuf {
    path.to_str().and_then(names::without_prefix).map_or(path, PathBuf::from)
}
