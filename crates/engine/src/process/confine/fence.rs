//! Landlock: which files, sockets and processes a child can reach (Linux).
//!
//! Invariant: rules only add rights, so nothing here may name a folder that holds something to be kept from children.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, NetPort, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{Mode, OFlags};

use super::policy::Policy;
use super::{Reach, guards};

/// The newest version of Landlock that the rules are written for. Older kernels enforce what they know of it.
const NEWEST: ABI = ABI::V9;

/// The rules of a policy, laid on nobody yet. `None` where the guard is off.
///
/// # Errors
/// When the kernel has Landlock and refuses the rules.
pub(super) fn rules_of(policy: &Policy) -> Result<Option<RulesetCreated>, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    if !policy.has(guards::DOMAIN) {
        return Ok(None);
    }
    let mut ruleset = Ruleset::default();
    if policy.has(guards::FILES) {
        ruleset = ruleset.handle_access(all)?;
    } else {
        // One harmless right: a ruleset cannot be empty.
        ruleset = ruleset.handle_access(AccessFs::MakeBlock)?;
    }
    // In a network namespace loopback is all there is, and tests may use every port of it.
    let closes = matches!(policy.reach, Reach::Nothing | Reach::Port(_)) && policy.has(guards::NETWORK);
    if closes {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    if policy.has(guards::SIGNALS) {
        ruleset = ruleset.scope(Scope::Signal)?;
    }
    if policy.has(guards::SOCKETS) {
        ruleset = ruleset.scope(Scope::AbstractUnixSocket)?;
    }
    let mut created = ruleset.create()?;
    if policy.has(guards::FILES) {
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
        created = created
            // `from_read` holds the right to execute too, as tools are programs.
            .add_rules(rules(&policy.read, AccessFs::from_read(NEWEST)))?
            .add_rules(rules(&policy.write, all))?
            .add_rules(rules(&policy.devices, device | AccessFs::ReadDir))?;
    }
    if let (Reach::Port(port), true) = (policy.reach, closes) {
        created = created.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
    }
    Ok(Some(created))
}

/// Fences this thread in for good, with all that it starts. Returns the version of Landlock that the kernel has, 0 for none.
///
/// # Errors
/// When the kernel has Landlock and refuses.
pub(super) fn enforce(rules: Option<RulesetCreated>) -> Result<u32, RulesetError> {
    // A guard that was left off on purpose is no gap of the kernel.
    let Some(rules) = rules else { return Ok(NEWEST as u32) };
    let status = rules.restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

/// A rule for each path that is there. Of the rights of a rule for a file landlock itself takes those that only folders have.
///
/// Each child has some two hundred rules where it has no room, so each is opened by one call of the system: the C library of the
/// shipped program would make three of it.
fn rules(
    paths: &[PathBuf],
    rights: impl Into<landlock::BitFlags<AccessFs>>,
) -> impl Iterator<Item = Result<PathBeneath<OwnedFd>, RulesetError>> {
    let rights = rights.into();
    let opened =
        // A path that is not there needs no rule. Most of the tools are not there.
        paths.iter().filter_map(|path| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok());
    opened.map(move |path| Ok(PathBeneath::new(path, rights)))
}
