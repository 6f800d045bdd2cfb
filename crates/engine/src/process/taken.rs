//! The memory that a family of processes holds, and where and how Linux tells it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Where the kernel shows cgroups.
pub(super) const CGROUPS: &str = "/sys/fs/cgroup";

/// The memory of a family, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Of the process that holds most.
    pub(super) most: u64,
    /// Of all of them.
    pub(super) all: u64,
}

/// A file of `/proc` or of a cgroup, whole. The kernel makes the text anew for each read, and tells no size before: room for all of it
/// spares the small reads by which a size is felt for.
pub(super) fn told(path: &Path) -> io::Result<String> {
    /// More than `/proc/meminfo` has.
    const ROOM: usize = 8 * 1024;
    let mut text = String::with_capacity(ROOM);
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// A line of `/proc` that counts kilobytes, in bytes.
pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    // The line goes `VmSwap:      1234 kB`.
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}
