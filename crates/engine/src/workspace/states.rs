//! Recording the state of the tree and making it so again.
//!
//! A state holds every regular file and symbolic link that no ignore rule of the tree names, with its permissions and its bytes as they
//! are. It also holds files that git tracks, that a tool wrote, or that were recorded before, although ignored. It holds no `.git`, no
//! `.upshift`, and nothing of a nested repository that was there at the start: those are left alone.
//!
//! A file that somebody writes meanwhile ([`super::open_files`]) is in no state either.
//!
//! Of a file too large to be kept only the marks of its change are recorded: it is noticed and removed when it is new, but not put back.
//!
//! Invariant: restoring touches only what differs, file by file, each at once. A crash in between is mended by restoring again.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::WorkspaceError;
use super::beneath::{Beneath, Found, Kind, TouchError, UNFINISHED};
use super::frozen::Frozen;
use super::git_index;
use super::open_files::OpenFiles;
use super::rel_path::{RelPath, is_private};
use super::store::{Digest, Entry, Form, MAX_CONTENT, Manifest, Store};
use super::theirs::Theirs;
use super::walk::{files_below, find_nested, walker};
use super::written::Written;
use crate::domain::clock::{Clock, SystemClock};
use crate::domain::units::TreeId;

/// A file changed so recently may change again without its times telling: kernels stamp them a few milliseconds coarse.
const RACY_NANOSECONDS: i128 = 50_000_000;
/// The file that holds ignore rules.
const IGNORE_FILE: &str = ".gitignore";

/// The data remembered between two recordings.
#[derive(Debug, Default)]
struct Memory {
    /// Paths that belong to the state although a rule may name them.
    kept: BTreeSet<RelPath>,
    /// Whether a whole state was recorded or loaded, so that a file can be missing from it.
    recorded: bool,
    /// Folders of other repositories, as found first.
    nested: Option<BTreeSet<PathBuf>>,
    /// Contents of files whose status has not changed since.
    known: HashMap<RelPath, (Mark, Digest)>,
}

/// The part of a status that changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    modified: i128,
    changed: i128,
    size: i64,
    inode: u64,
}

/// Records and restores states.
#[derive(Debug)]
pub(super) struct States {
    store: Store,
    memory: Mutex<Memory>,
    written: Written,
    theirs: Theirs,
    frozen: Frozen,
    open: OpenFiles,
}

impl States {
    /// Prepares recording a tree. Files that other programs write are left out of it where they are not tracked and are no `judge`.
    pub(super) fn new(store: Store, root: &Path, is_judge: impl Fn(&Path) -> bool) -> Self {
        let tracked = git_index::tracked(root);
        let kept: BTreeSet<RelPath> = tracked.iter().filter_map(|path| RelPath::from_path(path).ok()).collect();
        let open = OpenFiles::look(root, |path| !kept.contains(path) && !is_judge(path.as_path()));
        let (memory, written, theirs) = (Memory { kept, ..Memory::default() }, Written::default(), Theirs::default());
        Self { store, memory: Mutex::new(memory), written, theirs, frozen: Frozen::default(), open }
    }

    /// The files that somebody writes, which belong to no state.
    pub(super) const fn open_files(&self) -> &OpenFiles {
        &self.open
    }

    /// The note of what is written.
    pub(super) const fn written(&self) -> &Written {
        &self.written
    }

    /// The files that somebody else changed meanwhile.
    pub(super) const fn theirs(&self) -> &Theirs {
        &self.theirs
    }

    /// Keeps a file that is about to be put back or removed, if it is somebody else's.
    pub(super) fn keep_theirs(&self, root: &Beneath, path: &RelPath) {
        self.theirs.keep(root, path, (&self.written, &self.store));
    }

    /// The file that is put back by no state.
    pub(super) const fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contents and manifests.
    pub(super) const fn store(&self) -> &Store {
        &self.store
    }

    /// Whether a file is kept in every state: git tracked it, or it was recorded.
    pub(super) fn is_kept(&self, path: &RelPath) -> bool {
        self.memory().kept.contains(path)
    }

    /// Lets a file belong to every later state, whatever an ignore rule says.
    pub(super) fn keep(&self, path: &RelPath) {
        self.memory().kept.insert(path.clone());
    }

    /// Whether a file is there that belongs to no recorded state: ignored, or made by somebody else since. Nothing is,
    /// as long as no state was recorded that it could be missing from.
    pub(super) fn is_users_own(&self, root: &Beneath, path: &RelPath) -> Result<bool, WorkspaceError> {
        let unknown = {
            let memory = self.memory();
            memory.recorded && !memory.kept.contains(path)
        };
        Ok(unknown && stat(root, path)?.is_some())
    }

    /// Whether a file's bytes are not recorded because they are too many.
    pub(super) fn is_too_large(root: &Beneath, path: &RelPath) -> Result<bool, WorkspaceError> {
        Ok(stat(root, path)?.is_some_and(|stat| stat.kind == Kind::File && stat.size > MAX_CONTENT))
    }

    /// Records one state with single files as they are in another. A folder stands for all that is in it.
    pub(super) fn overlay(&self, base: &TreeId, over: &TreeId, paths: &[PathBuf]) -> Result<TreeId, WorkspaceError> {
        let mut manifest = Arc::unwrap_or_clone(self.store.load(base)?);
        let over = self.store.load(over)?;
        let wanted = |path: &RelPath| paths.iter().any(|wanted| path.as_path().starts_with(wanted));
        manifest.retain(|path, _| !wanted(path));
        manifest.extend(over.iter().filter(|(path, _)| wanted(path)).map(|(path, entry)| (path.clone(), *entry)));
        self.store.save(&manifest)
    }

    /// The files of a state belong to the run from now on, whatever ignore rules say.
    fn keep_all(&self, manifest: &Manifest) {
        let mut memory = self.memory();
        memory.kept.extend(manifest.keys().cloned());
        memory.recorded = true;
    }

    /// Records the tree as it is.
    pub(super) fn record(&self, root: &Beneath) -> Result<TreeId, WorkspaceError> {
        let manifest = self.look(root)?;
        self.keep_all(&manifest);
        self.store.save(&manifest)
    }

    /// Records `base` with single files as they are now, as a run's change. A folder stands for all that is in it.
    pub(super) fn record_paths(
        &self,
        root: &Beneath,
        base: &TreeId,
        paths: &BTreeSet<String>,
    ) -> Result<TreeId, WorkspaceError> {
        let manifest = self.look_at(root, base, paths)?;
        // What a tool wrote is noted, and what a program wrote has its time.
        paths.iter().for_each(|path| self.theirs.name(root, Path::new(path), &self.written));
        self.note_all(&manifest, paths);
        self.memory().kept.extend(manifest.keys().cloned());
        self.store.save(&manifest)
    }

    /// Reads single files over `base`. Nothing is noted of who made them what they are.
    pub(super) fn look_at(
        &self,
        root: &Beneath,
        base: &TreeId,
        paths: &BTreeSet<String>,
    ) -> Result<Manifest, WorkspaceError> {
        let mut manifest = Arc::unwrap_or_clone(self.store.load(base)?);
        for path in paths {
            let path = RelPath::from_path(Path::new(path))
                .map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
            manifest.retain(|recorded, _| !recorded.as_path().starts_with(path.as_path()));
            let below = match stat(root, &path)?.map(|stat| stat.kind) {
                Some(Kind::Folder) => {
                    files_below(root.path(), path.as_path(), usize::MAX).into_iter().map(|(path, _)| path).collect()
                }
                Some(Kind::File | Kind::Link) => vec![path.as_path().to_owned()],
                Some(Kind::Special) | None => Vec::new(),
            };
            for file in below.iter().filter_map(|file| RelPath::from_path(file).ok()) {
                self.add_current(root, file, &mut manifest)?;
            }
        }
        Ok(manifest)
    }

    /// Notes that a run has made files what they are in a state. A folder stands for all that is in it.
    fn note_all(&self, manifest: &Manifest, paths: &BTreeSet<String>) {
        for path in paths.iter().map(Path::new) {
            let below = manifest.iter().filter(|(recorded, _)| recorded.as_path().starts_with(path));
            below.for_each(|(recorded, entry)| self.written.add(recorded, Some(&entry.content)));
        }
    }

    fn add_current(&self, root: &Beneath, path: RelPath, manifest: &mut Manifest) -> Result<(), WorkspaceError> {
        if self.open.holds(root.path(), &path) {
            return Ok(());
        }
        let Some(stat) = stat(root, &path)? else { return Ok(()) };
        if let Some(entry) = self.entry(root, &path, &stat, &mut self.memory().known, now())? {
            manifest.insert(path, entry);
        }
        Ok(())
    }

    /// Reads the tree as it is, and stores the contents.
    pub(super) fn look(&self, root: &Beneath) -> Result<Manifest, WorkspaceError> {
        let mut memory = self.memory();
        let now = now();
        let mut manifest = Manifest::new();
        for path in self.walk(root, &mut memory)? {
            let Some(stat) = stat(root, &path)? else { continue };
            if let Some(entry) = self.entry(root, &path, &stat, &mut memory.known, now)? {
                manifest.insert(path, entry);
            }
        }
        self.frozen.hold(&mut manifest);
        Ok(manifest)
    }

    /// As [`Self::look`], also at files that an ignore rule may name. Nothing of it is remembered.
    pub(super) fn look_also<'p>(
        &self,
        root: &Beneath,
        paths: impl Iterator<Item = &'p RelPath>,
    ) -> Result<Manifest, WorkspaceError> {
        let (kept, nested) = {
            let mut memory = self.memory();
            let before = (memory.kept.clone(), memory.nested.clone());
            memory.kept.extend(paths.cloned());
            before
        };
        let manifest = self.look(root);
        let mut memory = self.memory();
        (memory.kept, memory.nested) = (kept, nested);
        manifest
    }

    /// Makes the tree equal to a recorded state.
    pub(super) fn restore(&self, root: &Beneath, tree: &TreeId) -> Result<(), WorkspaceError> {
        let target = self.store.load(tree)?;
        self.memory().kept.extend(target.keys().cloned());
        let current = self.look(root)?;
        let mut rules_changed = self.remove_strangers(root, &target)?;
        for (path, entry) in &*target {
            if current.get(path) != Some(entry) {
                self.put(root, path, entry)?;
                rules_changed |= is_rules(path);
            }
        }
        if rules_changed {
            // Files that the other rules hid come to light only now.
            self.remove_strangers(root, &target)?;
        }
        Ok(())
    }

    /// Puts single files back. Files that the state does not have are removed. A folder stands for all that is in it.
    pub(super) fn restore_paths(&self, root: &Beneath, tree: &TreeId, paths: &[PathBuf]) -> Result<(), WorkspaceError> {
        let target = self.store.load(tree)?;
        self.keep_all(&target);
        let current = self.look(root)?;
        let wanted = |path: &RelPath| paths.iter().any(|wanted| path.as_path().starts_with(wanted));
        for path in paths {
            RelPath::from_path(path).map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
        }
        for path in current.keys().filter(|path| wanted(path) && !target.contains_key(path)) {
            self.remove(root, path)?;
        }
        for (path, entry) in target.iter().filter(|(path, _)| wanted(path)) {
            if current.get(path) != Some(entry) {
                self.put(root, path, entry)?;
            }
        }
        Ok(())
    }

    /// Removes files that the state does not have. Returns whether ignore rules were among them.
    fn remove_strangers(&self, root: &Beneath, target: &Manifest) -> Result<bool, WorkspaceError> {
        let paths = self.walk(root, &mut self.memory())?;
        let mut rules_changed = false;
        for path in paths.iter().filter(|path| !target.contains_key(path)) {
            // Kept paths may be gone; what is a folder now is not ours to judge.
            if stat(root, path)?.is_some_and(|stat| stat.kind != Kind::Folder) {
                self.remove(root, path)?;
                rules_changed |= is_rules(path);
            }
        }
        Ok(rules_changed)
    }

    /// Removes what a killed process was in the middle of writing.
    pub(super) fn remove_unfinished(&self, root: &Beneath) -> Result<(), WorkspaceError> {
        let paths = self.walk(root, &mut self.memory())?;
        for path in paths.iter().filter(|path| is_unfinished(path)) {
            if stat(root, path)?.is_some_and(|stat| stat.kind == Kind::File) {
                self.remove(root, path)?;
            }
        }
        Ok(())
    }

    /// Makes one file as it is recorded, or removes it.
    pub(super) fn put_or_remove(
        &self,
        root: &Beneath,
        path: &RelPath,
        entry: Option<&Entry>,
    ) -> Result<(), WorkspaceError> {
        match entry {
            Some(entry) => {
                self.memory().kept.insert(path.clone());
                self.put(root, path, entry)
            }
            None => self.remove(root, path),
        }
    }

    fn remove(&self, root: &Beneath, path: &RelPath) -> Result<(), WorkspaceError> {
        if self.open.holds(root.path(), path) || self.frozen.is(path) {
            return Ok(());
        }
        self.keep_theirs(root, path);
        self.written.add(path, None);
        root.remove(path)?;
        root.remove_empty_parents(path);
        Ok(())
    }

    fn put(&self, root: &Beneath, path: &RelPath, entry: &Entry) -> Result<(), WorkspaceError> {
        if entry.form == Form::Large || self.open.holds(root.path(), path) || self.frozen.is(path) {
            return Ok(());
        }
        self.keep_theirs(root, path);
        self.written.add(path, Some(&entry.content));
        root.clear_way(path)?;
        match entry.form {
            Form::Large => {}
            Form::Link => root.write_link(path, &self.store.content(&entry.content)?)?,
            Form::File => {
                let same_bytes = self.memory().known.get(path).is_some_and(|(_, known)| *known == entry.content);
                if same_bytes && stat(root, path)?.is_some_and(|stat| stat.kind == Kind::File && !stat.has_other_names)
                {
                    root.set_permissions(path, entry.permissions)?;
                } else {
                    root.write(path, &self.store.content(&entry.content)?, Some(entry.permissions))?;
                }
            }
        }
        self.memory().known.remove(path);
        Ok(())
    }

    /// The paths that belong to the state by the rules, and those kept beside, whether they are there or not.
    fn walk(&self, root: &Beneath, memory: &mut Memory) -> Result<BTreeSet<RelPath>, WorkspaceError> {
        let nested = match &memory.nested {
            Some(nested) => nested.clone(),
            None => find_nested(root.path()),
        };
        let top = root.path().to_owned();
        let (own, skipped) = (self.store.folder().to_owned(), nested.clone());
        let walker = walker(root.path())
            .filter_entry(move |entry| {
                !is_private(entry.file_name())
                    && entry.path() != own
                    && entry.path().strip_prefix(&top).is_ok_and(|path| !skipped.contains(path))
            })
            .build();
        let mut found = BTreeSet::new();
        for entry in walker {
            let Ok(entry) = entry else { continue };
            if entry.file_type().is_some_and(|form| form.is_dir()) {
                continue;
            }
            if let Ok(path) = entry
                .path()
                .strip_prefix(root.path())
                .map_err(drop)
                .and_then(|path| RelPath::from_path(path).map_err(drop))
            {
                found.insert(path);
            }
        }
        let inside = |path: &RelPath| path.as_path().ancestors().any(|ancestor| nested.contains(ancestor));
        found.extend(memory.kept.iter().filter(|path| !inside(path)).cloned());
        memory.nested = Some(nested);
        found.retain(|path| !self.open.holds(root.path(), path));
        Ok(found)
    }

    fn entry(
        &self,
        root: &Beneath,
        path: &RelPath,
        stat: &Found,
        known: &mut HashMap<RelPath, (Mark, Digest)>,
        now: i128,
    ) -> Result<Option<Entry>, WorkspaceError> {
        match stat.kind {
            Kind::File if !is_unfinished(path) => {}
            Kind::Link => {
                let target = root.read_link(path)?;
                let content = self.stored(path, self.store.take_bytes(&target))?;
                return Ok(Some(Entry { form: Form::Link, permissions: 0, content }));
            }
            Kind::File | Kind::Folder | Kind::Special => return Ok(None),
        }
        let mark = Mark::of(stat);
        if stat.size > MAX_CONTENT {
            let content = self.stored(path, self.store.take_bytes(&mark.description()))?;
            return Ok(Some(Entry { form: Form::Large, permissions: stat.permissions, content }));
        }
        let content = match known.get(path) {
            Some((marked, digest)) if *marked == mark => *digest,
            _ => {
                let (mut file, stat) = match root.open_file(path) {
                    Ok(opened) => opened,
                    // Gone meanwhile, or not for us to read.
                    Err(TouchError::Missing(_)) => return Ok(None),
                    Err(TouchError::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                        return Ok(None);
                    }
                    Err(error) => return Err(error.into()),
                };
                let digest = self.stored(path, self.store.take(&mut file))?;
                let mark = Mark::of(&stat);
                if mark.changed.max(mark.modified) + RACY_NANOSECONDS < now {
                    known.insert(path.clone(), (mark, digest));
                } else {
                    known.remove(path);
                }
                digest
            }
        };
        Ok(Some(Entry { form: Form::File, permissions: stat.permissions, content }))
    }

    fn stored(&self, path: &RelPath, result: std::io::Result<Digest>) -> Result<Digest, WorkspaceError> {
        result.map_err(|source| WorkspaceError::Store { path: path.as_path().to_owned(), source })
    }
}

impl Mark {
    /// The mark in place of a content. It is binary, so that no patch shows it as text.
    fn description(&self) -> Vec<u8> {
        format!("\0{} bytes, modified at {} ns", self.size, self.modified).into_bytes()
    }

    const fn of(stat: &Found) -> Self {
        Self { modified: stat.modified, changed: stat.changed, size: stat.size, inode: stat.inode }
    }
}

/// Nanoseconds since the epoch, as files' times are.
fn now() -> i128 {
    i128::from(SystemClock::new().unix_ms()) * 1_000_000
}

fn stat(root: &Beneath, path: &RelPath) -> Result<Option<Found>, WorkspaceError> {
    match root.stat(path) {
        // A link in a folder's place: nothing of ours is behind it.
        Err(TouchError::Link { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// Whether a file holds ignore rules.
fn is_rules(path: &RelPath) -> bool {
    path.as_path().file_name().is_some_and(|name| name == IGNORE_FILE)
}

/// Whether a file is written and not yet renamed.
fn is_unfinished(path: &RelPath) -> bool {
    path.as_path().file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()))
}
