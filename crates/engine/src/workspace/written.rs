//! A run's writes into the tree, noted in the private folder before each write. So files that a killed process left there are told from
//! those that a person changed since.
//!
//! Code under test and allowed commands write, too, and nobody is told. So the note is also a sign of life: it is added to at every event
//! and every second, and a file whose time of change, which no program can set, lies before the last sign was changed while the run lived.
//!
//! Invariant: what was changed after the last sign of life, or between a kill and a resume, counts as a person's, unless it is what the
//! run itself wrote.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bstr::ByteVec as _;
use serde::{Deserialize, Serialize};

use super::rel_path::RelPath;
use super::store::{Digest, Manifest, Store};
use crate::domain::units::{RunId, TreeId};

/// The file in the private folder, of a run.
pub(super) const NOTE: &str = "written";
/// That of a judgement: a change may be judged over what a killed run left.
pub(super) const OF_JUDGEMENT: &str = "written-while-judging";
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
    /// Files that somebody wrote when it began. They belong to no state of it.
    #[serde(default)]
    pub open: Vec<String>,
}

/// The note of the run under way.
#[derive(Debug, Default)]
pub(super) struct Written {
    note: Mutex<Option<File>>,
    /// Whether it is that of a judgement.
    judges: AtomicBool,
    /// The contents that this process wrote, whether or not a run is noted.
    here: Mutex<HashMap<RelPath, HashSet<Digest>>>,
}

/// Contents by path. `None` for a file that was removed.
pub(super) type Contents = BTreeMap<RelPath, BTreeSet<Option<Digest>>>;

/// The content of the note.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) writer: Writer,
    pub(super) contents: Contents,
    /// The content of each path that was written last.
    last_of: BTreeMap<RelPath, Option<Digest>>,
    /// From when to when nobody worked on the run.
    gaps: Vec<(i64, i64)>,
    /// The last sign of life.
    last: i64,
}

impl Written {
    /// Notes from now on as a judgement does.
    pub(super) fn judge(&self) {
        self.judges.store(true, Ordering::Relaxed);
    }

    fn name(&self) -> &'static str {
        if self.judges.load(Ordering::Relaxed) { OF_JUDGEMENT } else { NOTE }
    }

    /// Begins a note, or goes on with that of the same run. Returns which files were written when it began.
    pub(super) fn begin(&self, store: &Store, writer: Writer) -> io::Result<Vec<String>> {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read(store, self.name())?
            .filter(|before| before.writer.run == writer.run && before.writer.start == writer.start);
        let Some(before) = before else {
            let mut bytes = serde_json::to_vec(&writer)?;
            bytes.push(0);
            store.keep(self.name(), &bytes)?;
            *note = Some(store.open_kept(self.name())?);
            return Ok(writer.open);
        };
        // The system's own time, since it is compared with those of other files; and at once, since the line is a sign of life itself.
        store.keep(NOW, &[])?;
        let now = store.kept_changed(NOW)?;
        store.drop_kept(NOW);
        let mut file = store.open_kept(self.name())?;
        // Behind a NUL of its own, since a kill may have cut the last line short.
        file.write_all(format!("\0{GAP} {} {now}\0", before.last).as_bytes())?;
        *note = Some(file);
        Ok(before.writer.open)
    }

    /// Gives a sign of life.
    pub(super) fn beat(&self) {
        if let Some(file) = self.note.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // As for lines: without it less is known.
            // An empty line, which says nothing but changes the time of the file.
            file.write_all(b"\0").unwrap_or_default();
        }
    }

    /// Whether this process wrote a content to a path.
    pub(super) fn holds(&self, path: &RelPath, content: &Digest) -> bool {
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.get(path).is_some_and(|contents| contents.contains(content))
    }

    /// Whether this process wrote a content to any path.
    pub(super) fn holds_anywhere(&self, content: &Digest) -> bool {
        let here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        here.values().any(|contents| contents.contains(content))
    }

    /// Notes a write that is about to happen.
    pub(super) fn add(&self, path: &RelPath, content: Option<&Digest>) {
        if let Some(content) = content {
            let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
            here.entry(path.clone()).or_default().insert(*content);
        }
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = note.as_mut() else { return };
        let mut line = content.map_or_else(|| REMOVED.to_owned(), Digest::hex).into_bytes();
        line.push(b' ');
        line.extend_from_slice(path.as_path().as_os_str().as_encoded_bytes());
        line.push(0);
        // A disk that is full must not end a run that needs it for nothing else.
        file.write_all(&line).unwrap_or_default();
    }

    pub(super) fn forget(&self, store: &Store) {
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = None;
        store.drop_kept(self.name());
        self.judges.store(false, Ordering::Relaxed);
    }
}

/// The note that is kept under a name, if it can be read.
pub(super) fn read(store: &Store, name: &str) -> io::Result<Option<Note>> {
    let Some(bytes) = store.kept(name)? else { return Ok(None) };
    let last = store.kept_changed(name)?;
    let mut lines = bytes.split(|&byte| byte == 0);
    let Some(writer) = lines.next().and_then(|line| serde_json::from_slice(line).ok()) else { return Ok(None) };
    let (mut contents, mut last_of, mut gaps) = (Contents::new(), BTreeMap::new(), Vec::new());
    for line in lines {
        if let Some(gap) = parse_gap(line) {
            gaps.push(gap);
        } else if let Some((path, content)) = parse_line(line) {
            last_of.insert(path.clone(), content);
            contents.entry(path).or_default().insert(content);
        }
    }
    Ok(Some(Note { writer, contents, last_of, gaps, last }))
}

fn parse_gap(line: &[u8]) -> Option<(i64, i64)> {
    let (from, to) = std::str::from_utf8(line).ok()?.strip_prefix(GAP)?.trim().split_once(' ')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

fn parse_line(line: &[u8]) -> Option<(RelPath, Option<Digest>)> {
    // A line goes `<digest> <path>`, or `- <path>` where the file was removed.
    let mut parts = line.splitn(2, |&byte| byte == b' ');
    let content = std::str::from_utf8(parts.next()?).ok()?;
    let content = if content == REMOVED { None } else { Some(Digest::from_hex(content)?) };
    let path = RelPath::from_path(&parts.next()?.to_vec().into_path_buf().ok()?).ok()?;
    Some((path, content))
}

impl Note {
    pub(super) fn is_as_written(&self, now: &Manifest, path: &RelPath) -> bool {
        let content = now.get(path).map(|entry| entry.content);
        self.contents.get(path).is_some_and(|written| written.contains(&content))
    }

    /// Whether the run left a file other than it found it.
    pub(super) fn left_changed(&self, start: &Manifest, path: &RelPath) -> bool {
        let found = start.get(path).map(|entry| entry.content);
        self.last_of.get(path).is_some_and(|left| *left != found)
    }

    /// Whether somebody worked on the run then. A time that falls together with the end of a life, as coarse as kernels' clocks are, came
    /// after.
    pub(super) fn lived(&self, when: i64) -> bool {
        when < self.last && !self.gaps.iter().any(|(from, to)| (*from..*to).contains(&when))
    }
}
