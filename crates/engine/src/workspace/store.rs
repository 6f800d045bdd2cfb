//! The private folder of recorded states: contents by their SHA-256, and manifests that list a state's files.
//!
//! Why not git: its own rules for what a byte is (attributes, filters, line ends), programs that a repository can make it run
//! (hooks, `core.fsmonitor`, filters), and two processes for every state. Nothing here starts a process, reads configuration, or
//! looks into the user's git directory beyond the list of tracked names ([`super::git_index`]).
//!
//! Invariant: the content under a name never changes. A name appears by rename, so that a crash leaves nothing half written.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bstr::ByteVec as _;
use sha2::{Digest as _, Sha256};

use super::WorkspaceError;
use super::rel_path::RelPath;
use crate::domain::units::TreeId;
use crate::files;

/// How much of a file is held in memory while it is hashed and copied.
const CHUNK: usize = 64 * 1024;
/// The largest file whose bytes are kept, in bytes: code under test that leaves larger ones (a sparse one costs it nothing) must
/// not fill the disk a second time, and no model edits such a file.
pub(super) const MAX_CONTENT: i64 = 64 * 1024 * 1024;

/// The SHA-256 of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    /// The digest of a content.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(super) fn hex(&self) -> String {
        hex::encode(self.0)
    }

    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }
}

/// One file of a recorded state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Whether it is a link. Then the content is its target.
    pub(super) form: Form,
    /// Permission bits. 0 for a link.
    pub(super) permissions: u32,
    /// Its content.
    pub(super) content: Digest,
}

/// The form of a recorded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A regular file too large to be kept ([`MAX_CONTENT`]): its content is what tells that it changed, not its bytes.
    Large,
}

/// A recorded state: every file by its path.
pub(super) type Manifest = BTreeMap<RelPath, Entry>;

/// The private folder.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    /// The lock, held as long as the store is open. `None` where contents are only named, never written.
    lock: Option<File>,
    recent: Mutex<Recent>,
}

/// The states that were asked for last: the same two or three are compared again and again, and a large tree's has 100,000 lines.
#[derive(Debug, Default)]
struct Recent(VecDeque<(Digest, Arc<Manifest>)>);

/// How many states are held: a start, the best so far, the one at hand.
const RECENT: usize = 3;

impl Recent {
    fn find(&self, name: &Digest) -> Option<Arc<Manifest>> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, manifest)| Arc::clone(manifest))
    }

    fn add(&mut self, name: Digest, manifest: &Arc<Manifest>) {
        self.0.truncate(RECENT - 1);
        self.0.push_front((name, Arc::clone(manifest)));
    }
}

impl Store {
    /// Opens the folder, made if missing, and locks it against other processes. The lock dies with the process.
    pub(super) fn open(folder: &Path) -> Result<Self, WorkspaceError> {
        let failed = |source| WorkspaceError::Store { path: folder.to_owned(), source };
        for name in ["contents", "trees"] {
            files::make_private_folder(&folder.join(name)).map_err(failed)?;
        }
        let folder = files::real_place(folder).map_err(failed)?;
        let lock =
            File::options().create(true).truncate(false).write(true).open(folder.join("lock")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(WorkspaceError::InUse { path: folder }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        Ok(Self { folder, lock: Some(lock), recent: Mutex::default() })
    }

    /// Looks into the folder of somebody who may be at work there: contents are named and none is written. `None` if there is no folder.
    pub(super) fn peek(folder: &Path) -> Option<Self> {
        let folder = files::real_place(folder).ok()?;
        Some(Self { folder, lock: None, recent: Mutex::default() })
    }

    /// The folder's canonical path.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Takes in a content from a reader, in bounded memory.
    pub(super) fn take(&self, reader: &mut dyn Read) -> io::Result<Digest> {
        self.take_in(reader).map_err(|error| self.placed(error))
    }

    fn take_in(&self, reader: &mut dyn Read) -> io::Result<Digest> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; CHUNK];
        let first = fill(reader, &mut buffer)?;
        let chunk = buffer.get(..first).unwrap_or_default();
        if first < CHUNK {
            // The usual file fits: known contents cost no write.
            return self.take_bytes(chunk);
        }
        let mut temporary = self.lock.is_some().then(|| self.temporary()).transpose()?;
        let mut take = |chunk: &[u8]| {
            hasher.update(chunk);
            temporary.as_mut().map_or(Ok(()), |temporary| temporary.write_all(chunk))
        };
        take(chunk)?;
        loop {
            let read = fill(reader, &mut buffer)?;
            take(buffer.get(..read).unwrap_or_default())?;
            if read < CHUNK {
                break;
            }
        }
        let digest = Digest(hasher.finalize().into());
        if let Some(temporary) = temporary {
            self.settle(temporary, &self.content_path(&digest))?;
        }
        Ok(digest)
    }

    /// Takes in a content from memory.
    pub(super) fn take_bytes(&self, bytes: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(bytes);
        if self.lock.is_some() {
            self.write_once(&self.content_path(&digest), bytes).map_err(|error| self.placed(error))?;
        }
        Ok(digest)
    }

    /// Gives a content back.
    pub(super) fn content(&self, digest: &Digest) -> Result<Vec<u8>, WorkspaceError> {
        let path = self.content_path(digest);
        std::fs::read(&path).map_err(|source| WorkspaceError::Store { path, source })
    }

    /// How long a content is, in bytes.
    pub(super) fn size(&self, digest: &Digest) -> Result<u64, WorkspaceError> {
        let path = self.content_path(digest);
        std::fs::metadata(&path).map(|found| found.len()).map_err(|source| WorkspaceError::Store { path, source })
    }

    /// Writes a manifest down and names it.
    pub(super) fn save(&self, manifest: &Manifest) -> Result<TreeId, WorkspaceError> {
        let mut bytes = Vec::new();
        for (path, entry) in manifest {
            let form = match entry.form {
                Form::File => 'f',
                Form::Link => 'l',
                Form::Large => 'h',
            };
            bytes.extend_from_slice(format!("{form} {:o} {} ", entry.permissions, entry.content.hex()).as_bytes());
            bytes.extend_from_slice(path.as_path().as_os_str().as_encoded_bytes());
            // The one byte that no path holds.
            bytes.push(0);
        }
        let name = Digest(Sha256::digest(&bytes).into()).hex();
        let path = self.folder.join("trees").join(&name);
        self.write_once(&path, &bytes).map_err(|source| WorkspaceError::Store { path, source })?;
        Ok(TreeId(name))
    }

    /// A state's manifest.
    pub(super) fn load(&self, tree: &TreeId) -> Result<Arc<Manifest>, WorkspaceError> {
        let name = Digest::from_hex(&tree.0).ok_or_else(|| WorkspaceError::UnknownTree { tree: tree.clone() })?;
        if let Some(known) = self.recent().find(&name) {
            return Ok(known);
        }
        let manifest = Arc::new(self.read(tree, &name)?);
        self.recent().add(name, &manifest);
        Ok(manifest)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, tree: &TreeId, name: &Digest) -> Result<Manifest, WorkspaceError> {
        let unknown = || WorkspaceError::UnknownTree { tree: tree.clone() };
        let path = self.folder.join("trees").join(name.hex());
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unknown()),
            Err(source) => return Err(WorkspaceError::Store { path, source }),
        };
        let mut manifest = Manifest::new();
        for line in bytes.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
            let (file, entry) = parse_line(line).ok_or_else(unknown)?;
            manifest.insert(file, entry);
        }
        Ok(manifest)
    }

    /// Keeps bytes under a name beside the states. They appear whole or not at all.
    pub(super) fn keep(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let kept = self.temporary().and_then(|mut temporary| {
            temporary.write_all(bytes)?;
            self.settle(temporary, &self.folder.join(name))
        });
        kept.map_err(|error| self.placed(error))
    }

    /// A full disk with the folder that lies on it: a message about it names the file of the checkout that was to be recorded.
    fn placed(&self, error: io::Error) -> io::Error {
        // Once: what is taken in from memory passes here, too.
        let is_placed = error.raw_os_error().is_none();
        if is_placed || !matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return error;
        }
        io::Error::new(error.kind(), format!("{error} in the state folder {}", self.folder.display()))
    }

    /// The bytes kept under a name. `None` if there are none.
    pub(super) fn kept(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.folder.join(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// When what is kept under a name was last added to, in nanoseconds, as files' times of change are.
    pub(super) fn kept_changed(&self, name: &str) -> io::Result<i64> {
        self.folder.join(name).metadata().map(|found| files::changed(&found))
    }

    /// Opens what is kept under a name, to add to it.
    pub(super) fn open_kept(&self, name: &str) -> io::Result<File> {
        File::options().append(true).open(self.folder.join(name))
    }

    /// Keeps nothing under a name any more.
    pub(super) fn drop_kept(&self, name: &str) {
        // What stays is of another run for the next one.
        std::fs::remove_file(self.folder.join(name)).unwrap_or_default();
    }

    /// The file with a content's bytes.
    pub(super) fn content_path(&self, digest: &Digest) -> PathBuf {
        self.folder.join("contents").join(digest.hex())
    }

    fn write_once(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // The name is the digest of the content, so that whatever is there is the same.
        if path.try_exists()? {
            return Ok(());
        }
        let mut temporary = self.temporary()?;
        temporary.write_all(bytes)?;
        self.settle(temporary, path)
    }

    fn temporary(&self) -> io::Result<Temporary> {
        // Beside the place that it is for, since a rename does not cross file systems.
        let path = self.folder.join(format!("new-{}", uuid::Uuid::new_v4().simple()));
        let file = files::private(File::options().write(true).create_new(true)).open(&path)?;
        Ok(Temporary { file, path })
    }

    #[expect(clippy::unused_self, reason = "belongs to the store's files")]
    fn settle(&self, temporary: Temporary, path: &Path) -> io::Result<()> {
        std::fs::rename(&temporary.path, path)
    }
}

struct Temporary {
    file: File,
    path: PathBuf,
}

/// A file that was not settled takes room that others need, most of all where there is none left.
impl Drop for Temporary {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).unwrap_or_default();
    }
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads until the buffer is full or the end is reached.
fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn parse_line(line: &[u8]) -> Option<(RelPath, Entry)> {
    // The path comes last, as it may hold blanks.
    let mut parts = line.splitn(4, |&byte| byte == b' ');
    let form = match parts.next()? {
        b"f" => Form::File,
        b"l" => Form::Link,
        b"h" => Form::Large,
        _ => return None,
    };
    let permissions = u32::from_str_radix(std::str::from_utf8(parts.next()?).ok()?, 8).ok()?;
    let content = Digest::from_hex(std::str::from_utf8(parts.next()?).ok()?)?;
    let path = RelPath::from_path(&parts.next()?.to_vec().into_path_buf().ok()?).ok()?;
    Some((path, Entry { form, permissions, content }))
}
