//! What a run writes into the tree, noted in the private folder before each write: so what a killed process left there is told from
//! what a person did since.
//!
//! Invariant: nothing is in the note that the run did not write, so that what is put back by it can be lost. What the note lacks (a
//! write of it failed, or code under test changed the file) counts as a person's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bstr::ByteVec as _;
use serde::{Deserialize, Serialize};

use super::rel_path::RelPath;
use super::states::States;
use super::store::{Digest, Manifest, Store};
use super::{Workspace, WorkspaceError};
use crate::domain::units::{RunId, TreeId};

/// The file in the private folder.
const NOTE: &str = "written";
/// Stands in it for a file that was removed.
const REMOVED: &str = "-";

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
    /// Other files that are not as they were; sorted.
    pub others: Vec<String>,
}

/// The note of the run under way.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<Option<File>>);

/// Contents by path; `None` for a file that was removed.
type Contents = BTreeMap<RelPath, BTreeSet<Option<Digest>>>;

impl Written {
    /// Begins a note, or goes on with that of the same run; returns which files were written when it began.
    fn begin(&self, store: &Store, writer: Writer) -> io::Result<Vec<String>> {
        let mut note = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read(store)?.map(|(before, _)| before);
        let writer = match before.filter(|before| before.run == writer.run && before.start == writer.start) {
            Some(before) => before,
            None => {
                let mut bytes = serde_json::to_vec(&writer)?;
                bytes.push(0);
                store.keep(NOTE, &bytes)?;
                writer
            }
        };
        *note = Some(store.open_kept(NOTE)?);
        Ok(writer.open)
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
fn read(store: &Store) -> io::Result<Option<(Writer, Contents)>> {
    let Some(bytes) = store.kept(NOTE)? else { return Ok(None) };
    let mut lines = bytes.split(|&byte| byte == 0);
    let Some(writer) = lines.next().and_then(|line| serde_json::from_slice(line).ok()) else { return Ok(None) };
    let mut contents = Contents::new();
    for (path, content) in lines.filter_map(parse_line) {
        contents.entry(path).or_default().insert(content);
    }
    Ok(Some((writer, contents)))
}

fn parse_line(line: &[u8]) -> Option<(RelPath, Option<Digest>)> {
    let mut parts = line.splitn(2, |&byte| byte == b' ');
    let content = std::str::from_utf8(parts.next()?).ok()?;
    let content = if content == REMOVED { None } else { Some(Digest::from_hex(content)?) };
    let path = RelPath::from_path(&parts.next()?.to_vec().into_path_buf().ok()?).ok()?;
    Some((path, content))
}

/// How the tree differs from the start of the run that is noted.
fn compare(states: &States, root: &super::Beneath) -> Result<Option<LeftBehind>, WorkspaceError> {
    let unreadable = |source| WorkspaceError::Store { path: NOTE.into(), source };
    let Some((writer, contents)) = read(states.store()).map_err(unreadable)? else { return Ok(None) };
    let start = match states.store().load(&writer.start) {
        Ok(start) => start,
        // Nothing could be compared or put back.
        Err(WorkspaceError::UnknownTree { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let now = states.look_also(root, contents.keys().chain(start.keys()))?;
    let differs = |path: &&RelPath| {
        let is_open = states.open_files().holds(root.path(), path) || writer.open.contains(&path.to_string());
        start.get(path) != now.get(path) && !is_open
    };
    let paths: BTreeSet<&RelPath> = start.keys().chain(now.keys()).filter(differs).collect();
    let is_written = |path: &&RelPath| is_as_written(&contents, &now, path);
    let (written, others): (Vec<&RelPath>, Vec<&RelPath>) = paths.into_iter().partition(is_written);
    let names = |paths: Vec<&RelPath>| paths.into_iter().map(ToString::to_string).collect();
    Ok(Some(LeftBehind { writer, written: names(written), others: names(others) }))
}

fn is_as_written(contents: &Contents, now: &Manifest, path: &RelPath) -> bool {
    contents.get(path).is_some_and(|written| written.contains(&now.get(path).map(|entry| entry.content)))
}

/// Looks for what a run left that did not end, without waiting for anybody and without writing anything.
///
/// # Errors
/// When the checkout or the private folder cannot be read.
pub fn look_for_left_behind(root: &Path, shadow: &Path) -> Result<Option<LeftBehind>, WorkspaceError> {
    let Some(store) = Store::peek(shadow) else { return Ok(None) };
    let root = super::Beneath::open(root).map_err(|source| WorkspaceError::Root { path: root.to_owned(), source })?;
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

    /// Makes the files that a run wrote those that it started from.
    ///
    /// # Errors
    /// As [`Self::restore`].
    pub async fn put_back_written(&self, left: &LeftBehind) -> Result<(), WorkspaceError> {
        let start = self.states.store().load(&left.writer.start)?;
        for name in &left.written {
            let path = RelPath::from_path(Path::new(name));
            let path = path.map_err(|error| WorkspaceError::Path { reason: error.to_string() })?;
            self.states.put_or_remove(&self.root, &path, start.get(&path))?;
        }
        self.states.remove_unfinished(&self.root)
    }
}
