//! Room on the log's disk, taken while there is some and given up when there is none: what a run must not lose has a place then.
//!
//! Invariant: the room belongs to files without a name, so it is free again however the process ends.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// The room for what happens after the disk is full.
const FOR_RECORDS: usize = 1 << 20;
/// The room for the end of the run, whatever became of the rest.
const FOR_THE_END: usize = 1 << 16;

/// Room that is held. Nothing is held where the disk was full from the beginning.
#[derive(Debug, Default)]
pub(super) struct Reserve {
    records: Option<File>,
    end: Option<File>,
}

impl Reserve {
    /// Takes room on the disk of a folder.
    pub(super) fn on_the_disk_of(folder: &Path) -> Self {
        // The end first: it is small, and the one that is missed most.
        let end = room(folder, FOR_THE_END).ok();
        Self { records: room(folder, FOR_RECORDS).ok(), end }
    }

    /// Gives up the room for records. Returns whether there was any.
    pub(super) fn free_for_records(&mut self) -> bool {
        self.records.take().is_some()
    }

    /// Gives up all room.
    pub(super) fn free_for_the_end(&mut self) {
        drop((self.records.take(), self.end.take()));
    }
}

fn room(folder: &Path, bytes: usize) -> io::Result<File> {
    // Without a name, so that a kill leaves nothing behind.
    let mut file = tempfile::tempfile_in(folder)?;
    if !is_set_aside(&file, bytes) {
        // Written out: a file that only says how long it is takes no room.
        file.write_all(&vec![0; bytes])?;
    }
    Ok(file)
}

/// Asks the file system for the room, which it can give without a byte being written.
#[cfg(target_os = "linux")]
fn is_set_aside(file: &File, bytes: usize) -> bool {
    u64::try_from(bytes)
        .is_ok_and(|bytes| rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes).is_ok())
}

/// Other systems have no such call, or one that sets nothing aside.
#[cfg(not(target_os = "linux"))]
fn is_set_aside(_: &File, _: usize) -> bool {
    false
}
