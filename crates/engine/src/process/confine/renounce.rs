//! The rights that a thread takes away from itself for good, and with it from all that it starts (Linux).
//!
//! Of the kernel's means those here belong to a thread, not to its process. A helper has one thread alone, and [`direct`] has one that
//! ends before the child's first command.
//!
//! [`direct`]: super::direct

use landlock::RulesetCreated;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::filter::UnixSockets;
use super::policy::Policy;
use super::{Reach, fence, filter, guards};

/// The largest file a child may write, in bytes: images of whole systems fit, a disk is not filled by one write.
const LARGEST_FILE: u64 = 16 << 30;
/// The most processes and threads where a user namespace counts them apart from the machine's. It is a little more than the number for
/// which upshift ends a tree, whose look comes now and then.
const MOST_TASKS: u64 = 4096 + 128;
/// From this version on Landlock scopes abstract sockets and signals.
const SCOPES: u32 = 6;
/// From this version on Landlock keeps a child from sockets by path.
const RESOLVES_SOCKETS: u32 = 9;

/// Takes the rights away from this thread. Returns the version of Landlock that the kernel has.
///
/// # Errors
/// When something could not be taken away. Some of the rights may be gone already.
pub(super) fn rights(policy: &Policy, rules: Option<RulesetCreated>) -> Result<u32, String> {
    if policy.has(guards::RIGHTS) {
        rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"))?;
        drop_capabilities(policy).map_err(|error| format!("capabilities: {error}"))?;
    }
    let landlock = fence::enforce(rules).map_err(|error| format!("Landlock: {error}"))?;
    // Last, as it has to make up for what this kernel's Landlock cannot do.
    filter::enforce(policy, unix_sockets(policy, landlock)).map_err(|error| format!("seccomp: {error}"))?;
    Ok(landlock)
}

/// Lowers the limits of a process. `None` is this one.
///
/// # Errors
/// When the kernel refuses, or the process is gone.
pub(super) fn limit(policy: &Policy, process: Option<Pid>) -> rustix::io::Result<()> {
    let lower = |resource, most: u64| {
        // A child's are still those of its parent.
        let now = getrlimit(resource);
        let most = now.maximum.map_or(most, |maximum| maximum.min(most));
        prlimit(process, resource, Rlimit { current: Some(most), maximum: Some(most) }).map(drop)
    };
    lower(Resource::Core, 0)?;
    if policy.has(guards::SIZE) {
        lower(Resource::Fsize, LARGEST_FILE)?;
    }
    // An ordinary user's room is a user namespace of its own.
    if policy.has(guards::PROCESSES) && policy.room.is_some() && !rustix::process::geteuid().is_root() {
        lower(Resource::Nproc, MOST_TASKS)?;
    }
    Ok(())
}

/// Sockets by path lead out unless the room hides them or Landlock knows them. Abstract ones do, unless scoped or in a network of their
/// own.
fn unix_sockets(policy: &Policy, landlock: u32) -> UnixSockets {
    let by_path = policy.room.is_some() || landlock >= RESOLVES_SOCKETS;
    let abstract_ones = landlock >= SCOPES || (policy.room.is_some() && policy.reach == Reach::Loopback);
    if by_path && abstract_ones { UnixSockets::Allowed } else { UnixSockets::PairsOnly }
}

fn drop_capabilities(policy: &Policy) -> rustix::io::Result<()> {
    let kept = if policy.writes_as_stranger { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() };
    let before = rustix::thread::capabilities(None)?;
    // Without this right the set cannot be lowered, and no new privileges means that nothing of it can be gained either.
    if before.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().difference(kept).iter() {
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                // A capability that this kernel does not know.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(error) => return Err(error),
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let left = before.permitted.intersection(kept);
    let sets = CapabilitySets { effective: left, permitted: left, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets)
}
