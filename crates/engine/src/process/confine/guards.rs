//! Names of single guards. A debug build can leave one off, so that the red team shows that its attack is real.
//!
//! Invariant: a release build knows no such switch, and the switch is read from upshift's own environment alone, which no
//! repository can set.

/// Names the guards that are left off, separated by commas.
#[cfg(debug_assertions)]
const VARIABLE: &str = "UPSHIFT_GUARD_OFF";

/// Landlock as a whole.
pub(super) const DOMAIN: &str = "domain";
/// Files outside the tree.
pub(super) const FILES: &str = "files";
/// System calls.
pub(super) const CALLS: &str = "calls";
/// Capabilities and new privileges.
pub(super) const RIGHTS: &str = "rights";
/// Signals to processes outside.
pub(super) const SIGNALS: &str = "signals";
/// The network.
pub(super) const NETWORK: &str = "network";
/// Unix sockets outside.
pub(super) const SOCKETS: &str = "sockets";
/// The git directory.
pub(super) const GIT: &str = "git";
/// Files of unbearable size.
pub(super) const SIZE: &str = "size";
/// The mount namespace: what it protects is then left to the other means.
pub(super) const ROOM: &str = "room";
/// Descendants that outlive the command: in upshift itself, not in the helper.
pub(in crate::process) const DESCENDANTS: &str = "descendants";
/// How many processes there may be.
pub(in crate::process) const PROCESSES: &str = "processes";
/// How much of the disk may be filled.
pub(in crate::process) const DISK: &str = "disk";
/// How much memory may be taken.
pub(in crate::process) const MEMORY: &str = "memory";
/// How long a command may take.
pub(in crate::process) const TIME: &str = "time";
/// How much output is kept.
pub(in crate::process) const OUTPUT: &str = "output";
/// The repair of the git directory that a killed run left, at the next start.
pub(super) const RECOVERY: &str = "recovery";
/// The private home and temporary folder.
pub(super) const HOME: &str = "home";

/// Whether a guard of upshift's own process is off.
#[cfg(debug_assertions)]
pub(in crate::process) fn is_off(guard: &str) -> bool {
    off().iter().any(|off| off == guard)
}

/// Whether a guard of upshift's own process is off: none is.
#[cfg(not(debug_assertions))]
pub(in crate::process) const fn is_off(_guard: &str) -> bool {
    false
}

/// The guards that are off.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "a switch of debug builds, for the red team alone")]
pub(in crate::process) fn off() -> Vec<String> {
    let names = std::env::var(VARIABLE).unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The guards that are off: none.
#[cfg(not(debug_assertions))]
pub(in crate::process) const fn off() -> Vec<String> {
    Vec::new()
}
