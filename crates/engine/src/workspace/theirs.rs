//! Files that somebody changed while a run was at work: what takes their place keeps them, so that nothing is lost without a word.
//!
//! Nobody tells who changes a file. A run writes by tools, which note each content, and its programs run at known times: a file that changed
//! at another time, to a content that no tool wrote, is somebody else's. A program cannot set the time of change, so that none of ours can
//! pass for a person. Two who write at the same time cannot be told apart: then it counts as a program's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::beneath::{Beneath, Kind};
use super::rel_path::RelPath;
use super::store::{Digest, Store};
use super::walk::files_below;
use super::written::Written;
use crate::process::busy;

/// The most bytes of one file that are kept in memory, and of all together. What is more goes to the disk.
const MOST_OF_ONE: i64 = 8 * 1024 * 1024;
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The most bytes of one file that are copied on the disk: more takes minutes. And of all together: tests may pass for a person while a
/// change is judged.
const MOST_OF_COPY: i64 = 1024 * 1024 * 1024;
const MOST_COPIED: u64 = 4 * 1024 * 1024 * 1024;
/// What is found so often while a change is judged is a by-product of its tests.
const TIMES_OF_TESTS: u32 = 3;
/// The file by which a folder is known as a cache (bford.info/cachedir).
const CACHE_TAG: &str = "CACHEDIR.TAG";
/// The most files: an archive that a person unpacks has many.
const MOST_FILES: usize = 50_000;

/// A file's content that was put back or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stood {
    /// The content.
    Bytes(Vec<u8>),
    /// A copy of it.
    Copy(PathBuf),
    /// The file was gone: somebody had deleted it.
    Deleted,
    /// No copy could be made.
    Lost,
}

/// Files of somebody else's, by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// What stood in those that were put back or removed.
    pub put_back: BTreeMap<String, Stood>,
    /// Those of them that changed while a program of the run was at work: it may have written them as well as a person.
    pub perhaps: BTreeSet<String>,
    /// Those that became part of the run's change.
    pub in_change: Vec<String>,
}

/// The files that were found so far.
#[derive(Debug)]
pub(super) struct Theirs {
    /// When the checkout was opened. What changed before was there at the start.
    since: i128,
    /// Whether files that changed while a program of ours was at work are kept, too.
    all: AtomicBool,
    found: Mutex<Taken>,
    /// The bytes that were taken into memory since the last time, and those that were copied at all. What was found again counts again.
    in_memory: AtomicUsize,
    copied: AtomicU64,
    /// How often each was found.
    times: Mutex<BTreeMap<String, u32>>,
}

impl Default for Theirs {
    fn default() -> Self {
        Self {
            since: busy::now(),
            all: AtomicBool::new(false),
            found: Mutex::default(),
            in_memory: AtomicUsize::new(0),
            copied: AtomicU64::new(0),
            times: Mutex::default(),
        }
    }
}

/// Whether a file lies in a folder that its maker calls a cache, by the tag that cargo, pytest and others write there. It is nobody's work
/// where git ignores it as well: tests could put such a tag beside a person's sources.
pub(super) fn is_in_cache(root: &Beneath, path: &RelPath) -> bool {
    let folders = path.as_path().ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.into_iter().any(|folder| root.path().join(folder).join(CACHE_TAG).exists())
}

impl Theirs {
    fn found(&self) -> MutexGuard<'_, Taken> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that were found since the last time. None while a change is judged: only its end shows which are by-products.
    pub(super) fn take(&self) -> Taken {
        if self.all.load(Ordering::Relaxed) {
            return Taken::default();
        }
        self.in_memory.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.found())
    }

    /// A copy of a file that is too large for the memory.
    fn copied(&self, root: &Beneath, path: &RelPath, store: &Store) -> Stood {
        let opened = root.open_file(path).ok().filter(|(_, stat)| stat.size <= MOST_OF_COPY);
        let fits = |size: i64| self.may_copy(u64::try_from(size).unwrap_or(u64::MAX));
        let opened = opened.filter(|(_, stat)| fits(stat.size));
        let taken = opened.and_then(|(mut file, _)| store.take(&mut file).ok());
        taken.map_or(Stood::Lost, |content| Stood::Copy(store.content_path(&content)))
    }

    /// Counts so many bytes as copied, if they still may be.
    fn may_copy(&self, bytes: u64) -> bool {
        self.copied.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= MOST_COPIED
    }

    /// Those that were found while a change was judged, without what its tests write each time.
    pub(super) fn take_judged(&self) -> Taken {
        self.take_no_more();
        self.take()
    }

    /// Ends [`Self::take_all`]. What the tests wrote each time is nobody's.
    pub(super) fn take_no_more(&self) {
        self.all.store(false, Ordering::Relaxed);
        let times = std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner));
        self.found().put_back.retain(|path, _| times.get(path).is_none_or(|&times| times < TIMES_OF_TESTS));
    }

    /// Keeps from now on whatever is not known, also where tests may have written it: they run nearly all the time.
    /// Whether that is new.
    pub(super) fn take_all(&self) -> bool {
        !self.all.swap(true, Ordering::Relaxed)
    }

    /// The bytes of a file, if it is there and somebody else changed it. `None` inside where they are too many.
    pub(super) fn look(&self, root: &Beneath, path: &RelPath, written: &Written) -> Option<Option<Vec<u8>>> {
        let stat = root.stat(path).ok().flatten().filter(|stat| stat.kind == Kind::File)?;
        // By the time of the inode's change, which no program can set back.
        let all = self.all.load(Ordering::Relaxed);
        if stat.changed < self.since || !all && busy::was_at_work(stat.changed) {
            return None;
        }
        if stat.size > MOST_OF_ONE {
            return Some(None);
        }
        let bytes = root.read(path).ok()?;
        let content = Digest::of(&bytes);
        // An experiment moves files. A content that stands elsewhere is not lost.
        let is_ours = written.holds(path, &content) || all && written.holds_anywhere(&content);
        (!is_ours).then_some(Some(bytes))
    }

    /// Keeps a file that is about to be put back or removed, if it is somebody else's, and such files in a folder.
    pub(super) fn keep(&self, root: &Beneath, path: &RelPath, (written, store): (&Written, &Store)) {
        if root.stat(path).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == Kind::Folder)) {
            let below = files_below(root.path(), path.as_path(), MOST_FILES);
            let below = below.iter().filter_map(|(file, _)| RelPath::from_path(file).ok());
            below.for_each(|file| self.keep(root, &file, (written, store)));
            return;
        }
        let found = self.look(root, path, written);
        if found.is_some() && root.stat(path).is_ok_and(|stat| stat.is_some_and(|stat| busy::was_at_work(stat.changed)))
        {
            self.doubt(path);
        }
        match found {
            Some(Some(bytes)) => self.add(path, bytes, store),
            Some(None) => self.insert(path, self.copied(root, path, store)),
            None => {}
        }
    }

    /// Notes that a program of the run may have written a file.
    pub(super) fn doubt(&self, path: &RelPath) {
        self.found().perhaps.insert(path.to_string());
    }

    /// Keeps what stands in a file that is known to be somebody else's.
    pub(super) fn claim(&self, root: &Beneath, path: &RelPath, store: &Store) {
        let Some(stat) = root.stat(path).ok().flatten().filter(|stat| stat.kind == Kind::File) else { return };
        if stat.size > MOST_OF_ONE {
            return self.insert(path, self.copied(root, path, store));
        }
        match root.read(path) {
            Ok(bytes) => self.add(path, bytes, store),
            Err(_) => self.insert(path, Stood::Lost),
        }
    }

    /// Keeps what stood in a file.
    pub(super) fn add(&self, path: &RelPath, bytes: Vec<u8>, store: &Store) {
        let length = bytes.len();
        let stood = if self.in_memory.load(Ordering::Relaxed).saturating_add(length) <= MOST_BYTES {
            self.in_memory.fetch_add(length, Ordering::Relaxed);
            Stood::Bytes(bytes)
        } else if self.may_copy(length as u64) {
            store.take_bytes(&bytes).map_or(Stood::Lost, |content| Stood::Copy(store.content_path(&content)))
        } else {
            Stood::Lost
        };
        self.insert(path, stood);
    }

    /// Notes that somebody had deleted a file.
    pub(super) fn add_deleted(&self, path: &RelPath) {
        self.insert(path, Stood::Deleted);
    }

    fn insert(&self, path: &RelPath, stood: Stood) {
        *self.times.lock().unwrap_or_else(PoisonError::into_inner).entry(path.to_string()).or_default() += 1;
        self.found().put_back.insert(path.to_string(), stood);
    }

    /// Names a file that is part of the change, if somebody else changed it last.
    pub(super) fn name(&self, root: &Beneath, path: &Path, written: &Written) {
        let Ok(path) = RelPath::from_path(path) else { return };
        let name = path.to_string();
        if self.look(root, &path, written).is_some() && !self.found().in_change.contains(&name) {
            self.found().in_change.push(name);
        }
    }
}
