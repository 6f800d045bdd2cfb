//! The room that a child's files take: how much a run may use of a file system before it is ended.
//!
//! A limit on one file's size (`RLIMIT_FSIZE`) says nothing about many, and quotas need rights that nobody has here. So the file systems
//! that a child may write are looked at while it runs.
//!
//! Invariant: what was free before keeps a reserve, so that upshift can still write its log, and git its objects.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::Spec;
use super::spec::FILLING;
use crate::files::{self, Free};

/// The bytes that are kept free: the log, the recorded trees and the runner's own files fit, and the next look comes before they are gone.
const RESERVE_BYTES: u64 = 1 << 30;
/// The same in files.
const RESERVE_FILES: u64 = 1 << 16;

/// The file systems of one child, and what must stay free of each.
#[derive(Debug)]
pub(super) struct Disk {
    kept: Vec<(PathBuf, Free)>,
}

impl Disk {
    /// Looks at the tree and at the temporary folder of a child that is about to run.
    pub(super) fn of(spec: &Spec) -> Self {
        let temporary = spec.env.get(OsStr::new("TMPDIR")).map(PathBuf::from);
        // Both are asked although they are often one file system: a temporary folder may be memory with a bound of its own.
        let places = [Some(spec.cwd.clone()), temporary].into_iter().flatten();
        let kept = places.filter_map(|place| {
            let keep = reserve(files::free(&place)?);
            Some((place, keep))
        });
        Self { kept: kept.collect() }
    }

    /// The first of them that is nearly full.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        self.kept.iter().find_map(|(place, keep)| {
            let now = files::free(place).filter(|now| is_below(*now, *keep))?;
            Some(Shortage { place: place.clone(), now, keep: *keep })
        })
    }
}

/// A file system with less free than is kept.
#[derive(Debug)]
pub(super) struct Shortage {
    place: PathBuf,
    now: Free,
    keep: Free,
}

impl Shortage {
    /// The line behind the output of the child that was ended for it. It starts with [`FILLING`].
    pub(super) fn note(&self) -> String {
        let place = self.place.display();
        let left = match (self.now.files, self.keep.files) {
            _ if self.now.bytes < self.keep.bytes => {
                format!(
                    "{} MB are left on that of {place}, and {} MB are kept free",
                    self.now.bytes >> 20,
                    self.keep.bytes >> 20
                )
            }
            (Some(now), Some(keep)) => {
                format!("{now} files can still be made on that of {place}, and {keep} are kept free")
            }
            _ => format!("too little is left on that of {place}"),
        };
        format!("\n{FILLING}: {left}]\n")
    }
}

/// The part of it that must stay free. Where there was little, half of it.
fn reserve(free: Free) -> Free {
    Free { bytes: RESERVE_BYTES.min(free.bytes / 2), files: free.files.map(|files| RESERVE_FILES.min(files / 2)) }
}

fn is_below(now: Free, keep: Free) -> bool {
    let files = now.files.zip(keep.files).is_some_and(|(now, keep)| now < keep);
    now.bytes < keep.bytes || files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(bytes: u64, files: Option<u64>) -> Free {
        Free { bytes, files }
    }

    #[test]
    fn a_reserve_is_kept_of_bytes_and_of_files() {
        let large = reserve(free(100 << 30, Some(9 << 20)));
        assert!(!is_below(free(2 << 30, Some(1 << 20)), large));
        assert!(is_below(free(1 << 29, Some(1 << 20)), large));
        assert!(is_below(free(2 << 30, Some(9)), large));
    }

    #[test]
    fn a_shortage_tells_how_much_is_left_and_of_which_disk() {
        let told = |now, keep| Shortage { place: PathBuf::from("/repo"), now, keep }.note();
        let bytes = told(free(300 << 20, Some(9)), free(1 << 30, Some(9)));
        assert_eq!(
            bytes.trim(),
            "[ended: it was about to fill the disk: 300 MB are left on that of /repo, and 1024 MB are kept free]"
        );
        let files = told(free(2 << 30, Some(7)), free(1 << 30, Some(50)));
        assert!(files.contains("7 files can still be made on that of /repo, and 50 are kept free"), "{files}");
    }

    #[test]
    fn where_little_was_free_half_of_it_may_be_used() {
        let little = reserve(free(1 << 20, None));
        assert!(!is_below(free(6 << 17, None), little));
        assert!(is_below(free(3 << 17, None), little));
        assert!(!is_below(free(0, Some(0)), reserve(free(0, Some(0)))), "nothing was free before");
    }
}
