//! Writes that the database did not take: JSON lines beside it, replayed in order before anything else is written.
//!
//! Invariant: a line is removed only after its batch was committed. A batch that is applied twice changes nothing.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::batch::Batch;
use super::lock;

/// The spool of a database. Processes that share the database share it.
#[derive(Debug, Clone)]
pub(super) struct Spool {
    path: PathBuf,
}

/// The spool's content, locked until it is dropped.
#[derive(Debug)]
pub(super) struct Content {
    path: PathBuf,
    file: File,
    pub(super) batches: Vec<Batch>,
    /// Lines that no batch could be read from: a torn last one after a crash.
    pub(super) unreadable: usize,
}

impl Spool {
    pub(super) fn of(db: &Path) -> Self {
        Self { path: lock::beside(db, ".spool.jsonl") }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds batches and waits until they are on disk.
    pub(super) fn add(&self, batches: &[Batch]) -> io::Result<()> {
        let mut lines = Vec::new();
        for batch in batches {
            serde_json::to_writer(&mut lines, batch)?;
            lines.push(b'\n');
        }
        let mut file = lock::wait_for(&self.path)?;
        let before = file.metadata()?.len();
        let added = file.write_all(&lines).and_then(|()| file.sync_data());
        if added.is_err() {
            // Half a line would spoil the next one.
            file.set_len(before)?;
        }
        added
    }

    /// Whether anything is waiting. The check is cheap enough to be made before every write.
    pub(super) fn is_empty(&self) -> bool {
        std::fs::metadata(&self.path).map_or(true, |file| file.len() == 0)
    }

    /// Reads what is waiting without locking or changing it: for readers.
    pub(super) fn peek(&self) -> Vec<Batch> {
        std::fs::read(&self.path).map(|text| parse(&text).0).unwrap_or_default()
    }

    /// Locks and reads the waiting writes. `None` where there are none.
    pub(super) fn take(&self) -> io::Result<Option<Content>> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut file = lock::wait_for(&self.path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (batches, unreadable) = parse(&text);
        Ok(Some(Content { path: self.path.clone(), file, batches, unreadable }))
    }
}

impl Content {
    /// Empties the spool: all of it is committed.
    pub(super) fn clear(self) -> io::Result<()> {
        self.file.set_len(0)?;
        std::fs::remove_file(&self.path)
    }
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
