//! A mark on a process that its descendants cannot shake off (Linux).
//!
//! A random limit on file locks (`RLIMIT_LOCKS`), which Linux has ignored since 2.4.25: inherited over fork and exec, readable
//! by everyone in `/proc`, and its hard half can be raised by no unprivileged process.
//!
//! Invariant: our own soft limit is what it was whenever nobody is in [`Brand::lend`]. Callers of it exclude each other.

use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// A random number that names one family of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Brand(u64);

impl Brand {
    /// A random number below our own limit, in the upper half: room for upshift inside upshift.
    pub(super) fn fresh() -> Self {
        // Not above our own hard limit, which an unprivileged process cannot raise for its children.
        let half = (own().1.unwrap_or(u64::MAX >> 1) / 2).max(1);
        let (random, _) = uuid::Uuid::new_v4().as_u64_pair();
        // Folded because the version bits in the middle are constant.
        Self(half.saturating_add((random ^ (random >> 32)) % half).saturating_sub(1))
    }

    /// The brand with this number.
    pub(super) const fn numbered(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub(super) const fn number(self) -> u64 {
        self.0
    }

    /// The brand of what this process keeps for the one that branded it: the next lower number. `None` for a process without a brand.
    pub(super) fn of_kept() -> Option<Self> {
        // From birth the soft limit is the brand, and the hard one only once it was burned.
        own().0.and_then(|own| own.checked_sub(1)).map(Self)
    }

    /// Whether this is the brand of what a process of the other one keeps.
    pub(super) const fn is_kept_by(self, keeper: Self) -> bool {
        matches!(self.0.checked_add(1), Some(above) if above == keeper.0)
    }

    /// Carries the brand as our own soft limit while a child is started, so that it is born with it.
    pub(super) fn lend<T>(self, start: impl FnOnce() -> T) -> T {
        let (soft, hard) = own();
        let lent = setrlimit(Resource::Locks, Rlimit { current: Some(self.0), maximum: hard }).is_ok();
        let started = start();
        if lent {
            setrlimit(Resource::Locks, Rlimit { current: soft, maximum: hard }).unwrap_or_default();
        }
        started
    }

    /// Makes the brand of a process final, by its hard limit.
    pub(super) fn burn(self, pid: Pid) {
        // One that is dead already has no use for it.
        // Both halves are alike: a process may lower its hard limit further, and `of` then finds a brand that nobody here has.
        let limit = Rlimit { current: Some(self.0), maximum: Some(self.0) };
        prlimit(Some(pid), Resource::Locks, limit).map(drop).unwrap_or_default();
    }

    /// The brand of a process. `None` for one that has none, or that is gone.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
        let mut halves = line.split_whitespace().map(|half| half.parse::<u64>().ok());
        let (soft, hard) = (halves.next()?, halves.next()?);
        let (own_soft, own_hard) = own();
        // Another hard limit than ours was burned into it, by us or by another upshift, or was lowered by the process itself.
        if hard != own_hard {
            return hard.map(Self);
        }
        // Only lent: a stranger that this process started in that very moment has it too, but stays in our group.
        if soft == own_soft || process_group(&pid.as_raw_nonzero().to_string()) == process_group("self") {
            None
        } else {
            soft.map(Self)
        }
    }
}

/// The process group of a process by its name in `/proc`. `None` if it is gone.
///
/// Read as text because a group may be 0, one that was founded outside of this container, and `rustix` has no word for that.
fn process_group(name: &str) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{name}/stat")).ok()?;
    // The program's name stands in brackets and may hold any character.
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// Our own soft and hard limit, which unbranded children of this process inherit.
fn own() -> (Option<u64>, Option<u64>) {
    static OWN: OnceLock<(Option<u64>, Option<u64>)> = OnceLock::new();
    *OWN.get_or_init(|| {
        let limit = getrlimit(Resource::Locks);
        (limit.current, limit.maximum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_a_process_is_read_and_of_none_is_none() {
        let own = rustix::process::getpgrp().as_raw_nonzero().to_string().parse().ok();
        assert_eq!(process_group("self"), own);
        assert_eq!(process_group("4194305"), None);
    }
}
