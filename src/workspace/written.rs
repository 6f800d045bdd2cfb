//! What a run writes into the tree, noted in the private folder before each write: so what a killed process left there is told from
//! what a person did since.
//!
//! Code under test and allowed commands write, too, and nobody is told. So the note is also a sign of life: it is added to at every event
//! and every second, and a file whose time of change, which no program can set, lies before the last sign was changed while the run lived.
//!
//! Invariant: what was changed after the last sign of life, or between a kill and a resume, counts as a person's, unless it is what the
//! run itself wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bstr::ByteVec as _;
use serde::{Deserialize, Serialize};

use super::beneath::Beneath;
use super::rel_path::RelPath;
use super::states::States;
use super::store::{Digest, Manifest, Store};
use super::{Workspace, WorkspaceError};
use crate::domain::units::{RunId, TreeId};
use crate::files;

/// The file in the private folder.
const NOTE: &str = "written";
/// A file there that says what time it is.
const NOW: &str = "now";
/// Stands in it for a file that was removed.
const REMOVED: &str = "-";
/// Begins a line about a time in which nobody worked on the run: from when to when.
const GAP: &str = "~";

/// The run that the note is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// The run.
    pub run: RunId,
    /// Its audit log, as it was configured.
    pub log: String,
    /// The tree that it started from.
    pub start: TreeId,
    /// Files that somebody wrote when it began; they belong to no state of it.
    #[serde(default)]
    pub open: Vec<String>,
}

/// A run that did not end, and how the tree differs from the one that it started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// The run.
    pub writer: Writer,
    /// Files that are as the run wrote them, or gone as it removed them; sorted.
    pub written: Vec<String>,
    /// Other files that were changed while it lived: by code under test, mostly; sorted.
    pub meanwhile: Vec<String>,
    /// Files that were changed later; sorted.
    pub later: Vec<String>,
}

/// The note of the run under way.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<Option<File>>);

/// Contents by path; `None` for a file that was removed.
type Contents = BTreeMap<RelPath, BTreeSet<Option<Digest>>>;

/// What the note says.
#[derive(Debug)]
struct Note {
    writer: Writer,
    contents: Contents,
    /// From when to when nobody worked on the run.
    gaps: Vec<(i64, i64)>,
    /// The last sign of life.
    last: i64,
}

impl Written {
    /// Begins a note, or goes on with that of the same run; returns which files were written when it began.
    fn begin(&self, store: &Store, writer: Writer) -> io::Result<Vec<String>> {
        let mut note = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before =
            read(store)?.filter(|before| before.writer.run == writer.run && before.writer.start == writer.start);
        let Some(before) = before else {
            let mut bytes = serde_json::to_vec(&writer)?;
            bytes.push(0);
            store.keep(NOTE, &bytes)?;
            *note = Some(store.open_kept(NOTE)?);
            return Ok(writer.open);
        };
        // The system's own time, since it is compared with those of other files; and at once, since the line is a sign of life itself.
        store.keep(NOW, &[])?;
        let now = store.kept_changed(NOW)?;
        store.drop_kept(NOW);
        let mut file = store.open_kept(NOTE)?;
        file.write_all(format!("\0{GAP} {} {now}\0", before.last).as_bytes())?;
        *note = Some(file);
        Ok(before.writer.open)
    }

    /// Gives a sign of life.
    fn beat(&self) {
        if let Some(file) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // As for lines: without it less is known.
            file.write_all(b"\0").unwrap_or_default();
        }
    }

    /// Notes what is about to be written; nothing where no run is noted.
    pub(super) fn add(&self, path: &RelPath, content: Option<&Digest>) {
        let mut note = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = note.as_mut() else { return };
        let mut line = content.map_or_else(|| REMOVED.to_owned(), Digest::hex).into_bytes();
        line.push(b' ');
        line.extend_from_slice(path.as_path().as_os_str().as_encoded_bytes());
        line.push(0);
        // A disk that is full must not end a run that needs it for nothing else.
        file.write_all(&line).unwrap_or_default();
    }

    fn forget(&self, store: &Store) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        store.drop_kept(NOTE);
    }
}

/// The note that is kept, if it can be read.
fn read(store: &Store) -> io::Result<Option<Note>> {
    let Some(bytes) = store.kept(NOTE)? else { return Ok(None) };
    let last = store.kept_changed(NOTE)?;
    let mut lines = bytes.split(|&byte| byte == 0);
    let Some(writer) = lines.next().and_then(|line| serde_json::from_slice(line).ok()) else { return Ok(None) };
    let (mut contents, mut gaps) = (Contents::new(), Vec::new());
    for line in lines {
        if let Some(gap) = parse_gap(line) {
            gaps.push(gap);
        } else if let Some((path, content)) = parse_line(line) {
            contents.entry(path).or_default().insert(content);
        }
    }
    Ok(Some(Note { writer, contents, gaps, last }))
}

fn parse_gap(line: &[u8]) -> Option<(i64, i64)> {
    let (from, to) = std::str::from_utf8(line).ok()?.strip_prefix(GAP)?.trim().split_once(' ')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

fn parse_line(line: &[u8]) -> Option<(RelPath, Option<Digest>)> {
    let mut parts = line.splitn(2, |&byte| byte == b' ');
    let content = std::str::from_utf8(parts.next()?).ok()?;
    let content = if content == REMOVED { None } else { Some(Digest::from_hex(content)?) };
    let path = RelPath::from_path(&parts.next()?.to_vec().into_path_buf().ok()?).ok()?;
    Some((path, content))
}

/// How the tree differs from the start of the run that is noted.
fn compare(states: &States, root: &Beneath) -> Result<Option<LeftBehind>, WorkspaceError> {
    let unreadable = |source| WorkspaceError::Store { path: NOTE.into(), source };
    let Some(note) = read(states.store()).map_err(unreadable)? else { return Ok(None) };
    let start = match states.store().load(&note.writer.start) {
        Ok(start) => start,
        // Nothing could be compared or put back.
        Err(WorkspaceError::UnknownTree { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let now = states.look_also(root, note.contents.keys().chain(start.keys()))?;
    let differs = |path: &&RelPath| {
        let is_open = states.open_files().holds(root.path(), path) || note.writer.open.contains(&path.to_string());
        start.get(path) != now.get(path) && !is_open
    };
    let (mut written, mut meanwhile, mut later) = (Vec::new(), Vec::new(), Vec::new());
    for path in start.keys().chain(now.keys()).filter(differs).collect::<BTreeSet<_>>() {
        let name = path.to_string();
        if note.is_as_written(&now, path) {
            written.push(name);
        } else if changed(root, path).is_some_and(|when| note.lived(when)) {
            meanwhile.push(name);
        } else {
            later.push(name);
        }
    }
    Ok(Some(LeftBehind { writer: note.writer, written, meanwhile, later }))
}

impl Note {
    fn is_as_written(&self, now: &Manifest, path: &RelPath) -> bool {
        let content = now.get(path).map(|entry| entry.content);
        self.contents.get(path).is_some_and(|written| written.contains(&content))
    }

    /// Whether somebody worked on the run then. What falls together with the end of a life, as coarse as kernels' clocks are, came after.
    fn lived(&self, when: i64) -> bool {
        when < self.last && !self.gaps.iter().any(|(from, to)| (*from..*to).contains(&when))
    }
}

/// When a file was changed; of one that is gone, when its folder was.
fn changed(root: &Beneath, path: &RelPath) -> Option<i64> {
    let whole = root.path().join(path.as_path());
    let found = whole.symlink_metadata().or_else(|_gone| whole.parent().unwrap_or(&whole).symlink_metadata());
    found.ok().map(|found| files::changed(&found))
}

/// Looks for what a run left that did not end, without waiting for anybody and without writing anything.
///
/// # Errors
/// When the checkout or the private folder cannot be read.
pub fn look_for_left_behind(root: &Path, shadow: &Path) -> Result<Option<LeftBehind>, WorkspaceError> {
    let Some(store) = Store::peek(shadow).filter(|store| store.kept_changed(NOTE).is_ok()) else { return Ok(None) };
    let root = Beneath::open(root).map_err(|source| WorkspaceError::Root { path: root.to_owned(), source })?;
    compare(&States::new(store, root.path(), |_| true), &root)
}

impl Workspace {
    /// Notes from now on what is written, for a run or for one that goes on.
    ///
    /// # Errors
    /// When it cannot be written down; then it is not known of a killed process what it left.
    pub fn note_writes(&self, run: &RunId, log: &str, start: &TreeId) -> io::Result<()> {
        let open = self.states.open_files().names();
        let writer = Writer { run: run.clone(), log: log.to_owned(), start: start.clone(), open };
        let open = self.states.written().begin(self.states.store(), writer)?;
        self.states.open_files().add(self.root.path(), &open);
        Ok(())
    }

    /// Gives a sign of life of the run whose writes are noted.
    pub fn beat(&self) {
        self.states.written().beat();
    }

    /// Forgets what was written: the run has ended.
    pub fn forget_writes(&self) {
        self.states.written().forget(self.states.store());
    }

    /// The run before, if it did not end, and how the tree differs from the one that it started from.
    ///
    /// # Errors
    /// When the checkout or the private folder cannot be read.
    pub async fn left_behind(&self) -> Result<Option<LeftBehind>, WorkspaceError> {
        compare(&self.states, &self.root)
    }

    /// Makes files those that a run started from, and clears away what it was in the middle of writing.
    ///
    /// # Errors
    /// As [`Self::restore`].
    pub async fn put_back_left(&self, writer: &Writer, names: &[String]) -> Result<(), WorkspaceError> {
        let start = self.states.store().load(&writer.start)?;
        for name in names {
            let path = RelPath::from_path(Path::new(name));
            let path = path.map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
            self.states.put_or_remove(&self.root, &path, start.get(&path))?;
        }
        self.states.remove_unfinished(&self.root)
    }
}
