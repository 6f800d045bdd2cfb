//! The program before the program: upshift started once more, to take rights away from itself and become the command.
//!
//! `main` asks [`entry`] before anything else. Invariant: what the policy promises is done, or the command is not started.

use std::process::ExitCode;

#[cfg(unix)]
use crate::process::accompany;

/// The first argument that makes upshift the helper. The policy follows, and, if it is to become a command, its program, its own name for
/// itself and its arguments. Without a command it is a trial, and its standard input a socket that takes the room's [`doors`].
///
/// [`doors`]: super::doors
pub(in crate::process) const WORD: &str = "__confined";
/// The same where the room is there already, and standard input is a socket that holds its doors.
pub(in crate::process) const WORD_WITHIN: &str = "__confined_within";
/// The first argument that makes upshift open a listener in a room and hand it over standard output, a socket. Its standard input is a
/// socket that holds the room's doors.
pub(in crate::process) const WORD_DOOR: &str = "__door";
/// The shell's exit code for a command that cannot be executed. A test command's verdict then is "broken", never red.
#[cfg(target_os = "linux")]
const CANNOT_EXECUTE: u8 = 126;

/// Acts as the helper if this process was started as one. `None` otherwise.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next()?.to_str()? {
        WORD => Some(platform::act(arguments, Room::Own)),
        #[cfg(unix)]
        accompany::KEEPER => Some(accompany::keep(arguments)),
        WORD_DOOR => Some(platform::open_door()),
        WORD_WITHIN => Some(platform::act(arguments, Room::Shared)),
        _ => None,
    }
}

/// The owner of the room that the helper goes into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    Own,
    Shared,
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod platform {
    use std::ffi::OsString;
    use std::io::Write as _;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsFd as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::ExitCode;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

    use super::super::filter::UnixSockets;
    use super::super::policy::Policy;
    use super::super::{Reach, doors, fence, filter, guards, room};
    use super::{CANNOT_EXECUTE, Room};

    /// The largest file a child may write, in bytes: images of whole systems fit, a disk is not filled by one write.
    const LARGEST_FILE: u64 = 16 << 30;
    /// The most processes and threads where a user namespace counts them apart from the machine's. It is a little more than the number for
    /// which upshift ends a tree, whose look comes now and then.
    const MOST_TASKS: u64 = 4096 + 128;
    /// From this version on Landlock scopes abstract sockets and signals.
    const SCOPES: u32 = 6;
    /// From this version on Landlock keeps a child from sockets by path.
    const RESOLVES_SOCKETS: u32 = 9;

    pub(super) fn act(mut arguments: impl Iterator<Item = OsString>, whose: Room) -> ExitCode {
        let policy = arguments.next().unwrap_or_default();
        let policy: Policy = match serde_json::from_slice(policy.as_encoded_bytes()) {
            Ok(policy) => policy,
            Err(error) => return fail(&format!("the policy cannot be read: {error}")),
        };
        let (given, made) = match confine(&policy, whose) {
            Ok(given) => given,
            Err(why) => return fail(&why),
        };
        let Some(program) = arguments.next() else {
            // A trial: what this kernel gave. A socket that takes no doors leaves each child to make its own room.
            room::hand_out(made).unwrap_or_default();
            let told = writeln!(std::io::stdout().lock(), "landlock {given}");
            return if told.is_ok() { ExitCode::SUCCESS } else { fail("standard output is closed") };
        };
        let name = arguments.next().unwrap_or_else(|| program.clone());
        #[expect(clippy::disallowed_methods, reason = "becomes the program that `launch` was asked to start")]
        let mut command = std::process::Command::new(&program);
        let error = command.arg0(name).args(arguments).exec();
        fail(&format!("{} cannot be executed inside its confinement: {error}", program.display()))
    }

    pub(super) fn open_door() -> ExitCode {
        match listener_in_room() {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => fail(&why),
        }
    }

    fn listener_in_room() -> Result<(), String> {
        if !room::join()? {
            return Err("there is no room to go into".to_owned());
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| format!("a listener: {error}"))?;
        let sent = doors::send(rustix::stdio::stdout(), &[listener.as_fd()], doors::Shelf::OfRoom);
        sent.map_err(|error| format!("the listener cannot be handed over: {error}"))
    }

    fn fail(why: &str) -> ExitCode {
        let _closed = writeln!(std::io::stderr().lock(), "upshift: not started: {why}");
        ExitCode::from(CANNOT_EXECUTE)
    }

    /// Takes everything away. Returns the version of Landlock that the kernel has, and the namespaces that were made.
    fn confine(policy: &Policy, whose: Room) -> Result<(u32, UnshareFlags), String> {
        let shared = whose == Room::Shared && room::join()?;
        let made = if shared { UnshareFlags::empty() } else { room::enter(policy)? };
        if policy.room.is_some() && policy.has(guards::FILES) {
            room::renew_empty_input().map_err(|error| format!("standard input: {error}"))?;
        }
        limit(policy);
        if policy.has(guards::RIGHTS) {
            rustix::thread::set_no_new_privs(true).map_err(|error| format!("no_new_privs: {error}"))?;
            drop_capabilities(policy).map_err(|error| format!("capabilities: {error}"))?;
        }
        let landlock = fence::enforce(policy).map_err(|error| format!("Landlock: {error}"))?;
        filter::enforce(policy, unix_sockets(policy, landlock)).map_err(|error| format!("seccomp: {error}"))?;
        Ok((landlock, made))
    }

    /// Sockets by path lead out unless the room hides them or Landlock knows them. Abstract ones do, unless scoped or in a network of their
    /// own.
    fn unix_sockets(policy: &Policy, landlock: u32) -> UnixSockets {
        let by_path = policy.room.is_some() || landlock >= RESOLVES_SOCKETS;
        let abstract_ones = landlock >= SCOPES || (policy.room.is_some() && policy.reach == Reach::Loopback);
        if by_path && abstract_ones { UnixSockets::Allowed } else { UnixSockets::PairsOnly }
    }

    fn limit(policy: &Policy) {
        let lower = |resource, most: u64| {
            let now = getrlimit(resource);
            let most = now.maximum.map_or(most, |maximum| maximum.min(most));
            // Lowering one's own limit cannot fail.
            setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).unwrap_or_default();
        };
        lower(Resource::Core, 0);
        if policy.has(guards::SIZE) {
            lower(Resource::Fsize, LARGEST_FILE);
        }
        // An ordinary user's room is a user namespace of its own.
        if policy.has(guards::PROCESSES) && policy.room.is_some() && !rustix::process::geteuid().is_root() {
            lower(Resource::Nproc, MOST_TASKS);
        }
    }

    fn drop_capabilities(policy: &Policy) -> rustix::io::Result<()> {
        let kept = if policy.writes_as_stranger { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() };
        let before = rustix::thread::capabilities(None)?;
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
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod platform {
    use std::ffi::OsString;
    use std::process::ExitCode;

    pub(super) fn open_door() -> ExitCode {
        ExitCode::from(126)
    }

    pub(super) fn act(_arguments: impl Iterator<Item = OsString>, _whose: super::Room) -> ExitCode {
        // Nothing can be promised here, so nothing is started.
        ExitCode::from(126)
    }
}
