//! The memory that a family of processes holds, and where and how Linux tells it.

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

/// A line of `/proc` that counts kilobytes, in bytes.
pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}
