//! The program before the program: upshift started once more, to take rights away from itself and become the command.
//!
//! `main` asks [`entry`] before anything else. Invariant: what the policy promises is done, or the command is not started.

use std::process::ExitCode;

#[cfg(unix)]
use crate::process::accompany;
#[cfg(target_os = "linux")]
use crate::process::warden;

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
        #[cfg(target_os = "linux")]
        warden::WORD => Some(warden::end(arguments)),
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

    use rustix::thread::UnshareFlags;

    use super::super::policy::Policy;
    use super::super::{doors, fence, guards, renounce, room};
    use super::{CANNOT_EXECUTE, Room};

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
        // It comes back only when it has failed.
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
        // A room that cannot be entered any more is made anew, which is slower and as tight.
        let made = if shared { UnshareFlags::empty() } else { room::enter(policy)? };
        if policy.room.is_some() && policy.has(guards::FILES) {
            room::renew_empty_input().map_err(|error| format!("standard input: {error}"))?;
        }
        renounce::limit(policy, None).map_err(|error| format!("limits: {error}"))?;
        // Only now, since a rule holds a file as it is mounted in the room.
        let rules = fence::rules_of(policy).map_err(|error| format!("Landlock: {error}"))?;
        Ok((renounce::rights(policy, rules)?, made))
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
