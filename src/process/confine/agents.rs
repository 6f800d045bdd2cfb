//! The room of one agent, and the one door in it (Linux).
//!
//! An agent gets a room of its own, made as that of the tests is: their private folder and their shared memory, by which it could judge
//! itself, are not in it. Its network is a namespace with loopback alone, and what answers there is a listener that was opened in that
//! namespace and handed to us: whatever else the agent tries to reach, there is nothing.
//!
//! Invariant: with the folder of the room goes everything that the agent kept outside the tree.

use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use super::agent_room::{AgentRoom, AgentWish};
use super::plan::{self, Access};
use super::{ConfineError, Confined, Confinement, Wish, doors, helper};
use crate::config::{Network, Sandbox};

/// Makes the room of an agent and opens its door.
///
/// # Errors
/// [`ConfineError`]: no namespace for the door, or no confinement at all, where nobody asked for that.
pub fn arrange_agent(wish: &AgentWish<'_>) -> Result<AgentRoom, ConfineError> {
    let here = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ConfineError::Private);
    if wish.wish.sandbox == Sandbox::Off {
        let confined = Confined { confinement: Confinement::None, env: wish.wish.env.clone() };
        return Ok(AgentRoom { confined, listener: here()? });
    }
    let access = Access { program: &wish.program, reads_only: wish.reads_only };
    let arranged = plan::arrange_with(&wish.wish, access)?;
    if arranged.gaps.iter().any(|gap| gap.contains("no Landlock")) {
        return Err(ConfineError::Unconfined(arranged.gaps.join("; ")));
    }
    let listener = match wish.wish.network {
        Network::On => here()?,
        Network::Auto | Network::Loopback | Network::Off => door(&arranged.tests.confinement, &wish.wish)?,
    };
    Ok(AgentRoom { confined: arranged.tests, listener })
}

/// Opens a listener in the room's network, by a helper that goes in, and takes it from there.
fn door(confinement: &Confinement, wish: &Wish<'_>) -> Result<TcpListener, ConfineError> {
    let none = |why: &str| ConfineError::NoDoor(why.to_owned());
    let Confinement::Within(bounds) = confinement else { return Err(none("nothing is confined")) };
    let way_in = bounds.door().ok_or_else(|| none("no namespaces can be made here"))?;
    let (ours, theirs) = UnixStream::pair().map_err(ConfineError::Private)?;
    #[expect(clippy::disallowed_methods, reason = "this module is part of the place that starts processes")]
    let mut command = std::process::Command::new(&wish.helper);
    command.arg(helper::WORD_DOOR).current_dir("/").env_clear();
    command.stdin(way_in).stdout(OwnedFd::from(theirs)).stderr(Stdio::piped());
    let ended = command.spawn().and_then(std::process::Child::wait_with_output).map_err(ConfineError::Private)?;
    let said = String::from_utf8_lossy(&ended.stderr);
    let why = said.trim().trim_start_matches("upshift: not started: ");
    if !ended.status.success() {
        return Err(none(why));
    }
    drop(command);
    let (mut handed, _) = doors::take_now(&ours).map_err(|error| none(&error.to_string()))?;
    handed.pop().map(TcpListener::from).ok_or_else(|| none("no listener was handed over"))
}
