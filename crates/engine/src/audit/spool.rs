//! Writes that the database did not take: JSON lines beside it, or on another disk where its own takes nothing, replayed in order before
//! anything else is written.
//!
//! Invariant: a line is removed only after its batch was committed. A batch that is applied twice changes nothing. The order of the places
//! is that of the batches: once one has something, no place before it gets more.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::batch::Batch;
use super::{Location, lock};
use crate::files;

/// The spool of a database. Processes that share the database share it.
#[derive(Debug, Clone)]
pub(super) struct Spool {
    /// The file beside the database, and the one elsewhere if there is one.
    places: Vec<PathBuf>,
}

/// The spool's content, locked until it is dropped.
#[derive(Debug)]
pub(super) struct Content {
    files: Vec<(PathBuf, File)>,
    pub(super) batches: Vec<Batch>,
    /// Lines that no batch could be read from: a torn last one after a crash.
    pub(super) unreadable: usize,
}

impl Spool {
    pub(super) fn of(location: &Location) -> Self {
        let beside = [Some(&location.live), location.refuge.as_ref()];
        Self { places: beside.into_iter().flatten().map(|db| lock::beside(db, ".spool.jsonl")).collect() }
    }

    /// Adds batches and waits until they are on disk. Returns where they are.
    pub(super) fn add(&self, batches: &[Batch]) -> io::Result<&Path> {
        let mut lines = Vec::new();
        for batch in batches {
            serde_json::to_writer(&mut lines, batch)?;
            lines.push(b'\n');
        }
        // Never before a place that has something, or the order would be lost at the replay.
        let last_used = self.places.iter().rposition(|place| !is_empty(place)).unwrap_or(0);
        let mut failed = None;
        for place in self.places.iter().skip(last_used) {
            match append(place, &lines) {
                Ok(()) => return Ok(place),
                // The log's own disk says best what is wrong with it.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
    }

    /// Whether anything is waiting. The check is cheap enough to be made before every write.
    pub(super) fn is_empty(&self) -> bool {
        self.places.iter().all(|place| is_empty(place))
    }

    /// Reads what is waiting without locking or changing it: for readers.
    pub(super) fn peek(&self) -> Vec<Batch> {
        let texts = self.places.iter().filter_map(|place| std::fs::read(place).ok());
        texts.flat_map(|text| parse(&text).0).collect()
    }

    /// Locks and reads the waiting writes. `None` where there are none.
    pub(super) fn take(&self) -> io::Result<Option<Content>> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut content = Content { files: Vec::new(), batches: Vec::new(), unreadable: 0 };
        for place in self.places.iter().filter(|place| !is_empty(place)) {
            // Kept locked until the replay is committed: a line that is added meanwhile would be removed unread.
            let mut file = lock::wait_for(place)?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            let (batches, unreadable) = parse(&text);
            content.files.push((place.clone(), file));
            content.batches.extend(batches);
            content.unreadable += unreadable;
        }
        Ok(Some(content))
    }
}

impl Content {
    /// Empties the spool: all of it is committed.
    pub(super) fn clear(self) -> io::Result<()> {
        for (path, file) in self.files {
            // Emptied first: where it cannot be removed, an empty one is as none.
            file.set_len(0)?;
            std::fs::remove_file(&path)?;
        }
        Ok(())
    }
}

/// Whether there is nothing in a file.
pub(super) fn is_empty(place: &Path) -> bool {
    std::fs::metadata(place).map_or(true, |file| file.len() == 0)
}

fn append(place: &Path, lines: &[u8]) -> io::Result<()> {
    if let Some(folder) = place.parent().filter(|folder| !folder.exists()) {
        files::make_private_folder(folder)?;
    }
    let mut file = lock::wait_for(place)?;
    let before = file.metadata()?.len();
    let added = file.write_all(lines).and_then(|()| file.sync_data());
    if added.is_err() {
        // Half a line would spoil the next one.
        file.set_len(before)?;
    }
    added
}

fn parse(text: &[u8]) -> (Vec<Batch>, usize) {
    let mut batches = Vec::new();
    let mut unreadable = 0;
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(batch) => batches.push(batch),
            Err(_torn) => unreadable += 1,
        }
    }
    (batches, unreadable)
}
