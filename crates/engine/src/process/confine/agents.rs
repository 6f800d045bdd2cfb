//! The room of one agent, and the one door in it (Linux).
//!
//! An agent gets a room of its own, made as that of the tests is: their private folder and their shared memory, by which it could judge
//! itself, are not in it. Its network is a namespace with loopback alone, and what answers there is a listener that was opened in that
//! namespace and handed to us: whatever else the agent tries to reach, there is nothing. Where no namespace can be made, the listener is
//! one of the machine's, and Landlock lets the agent connect to its port alone ([`Door::Port`] says what that leaves open).
//!
//! Invariant: with the folder of the room goes everything that the agent kept outside the tree.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use super::agent_room::{self, AgentRoom, AgentWish};
use super::plan::{self, Access};
use super::{ConfineError, Confined, Confinement, Door, Wish, doors, helper};
use crate::config::{Network, Sandbox};

/// Makes the room of an agent and opens its door: in a network of its own, else by Landlock's rule for one port.
///
/// # Errors
/// [`ConfineError`]: neither door, or no confinement at all, where nobody asked for that.
pub fn arrange_agent(wish: &AgentWish<'_>) -> Result<AgentRoom, ConfineError> {
    if wish.wish.sandbox == Sandbox::Off {
        return AgentRoom::open(wish);
    }
    let access = Access { program: &wish.program, reads_only: wish.reads_only, port: None };
    // No namespace for it: that would have loopback alone.
    if wish.wish.network == Network::On {
        let confined = confined(wish, access)?;
        return Ok(AgentRoom { confined, listener: agent_room::listener()?, door: Door::Network });
    }
    let own = confined(wish, access).and_then(|confined| {
        let listener = door(&confined.confinement, &wish.wish)?;
        Ok(AgentRoom { confined, listener, door: Door::Namespace })
    });
    // Only a missing namespace leads to the port. After any other failure the agent would have less than was promised.
    match own {
        Err(ConfineError::NoDoor(_) | ConfineError::Network(..)) => {
            let listener = agent_room::listener()?;
            let port = listener.local_addr().map_err(ConfineError::Private)?.port();
            let confined = confined(wish, Access { port: Some(port), ..access })?;
            Ok(AgentRoom { confined, listener, door: Door::Port })
        }
        Ok(_) | Err(_) => own,
    }
}

fn confined(wish: &AgentWish<'_>, access: Access<'_>) -> Result<Confined, ConfineError> {
    let arranged = plan::arrange_with(&wish.wish, access)?;
    // Older versions of Landlock leave lesser gaps. Without any, an agent could read every file of the user.
    if arranged.gaps.iter().any(|gap| gap.contains("no Landlock")) {
        return Err(ConfineError::Unconfined(arranged.gaps.join("; ")));
    }
    Ok(arranged.tests)
}

/// Opens a listener in the room's network, by a helper that goes in, and takes it from there.
fn door(confinement: &Confinement, wish: &Wish<'_>) -> Result<TcpListener, ConfineError> {
    let none = |why: &str| ConfineError::NoDoor(why.to_owned());
    let Confinement::Within(bounds) = confinement else { return Err(none("nothing is confined")) };
    let way_in = bounds.door().ok_or_else(|| none("no namespaces can be made here"))?;
    let (ours, theirs) = UnixStream::pair().map_err(ConfineError::Private)?;
    #[expect(clippy::disallowed_methods, reason = "this module is part of the place that starts processes")]
    let mut command = std::process::Command::new(&wish.helper);
    // Nothing of our environment, which may hold keys.
    command.arg(helper::WORD_DOOR).current_dir("/").env_clear();
    command.stdin(way_in).stdout(OwnedFd::from(theirs)).stderr(Stdio::piped());
    let ended = command.spawn().and_then(std::process::Child::wait_with_output).map_err(ConfineError::Private)?;
    let said = String::from_utf8_lossy(&ended.stderr);
    let why = said.trim().trim_start_matches("upshift: not started: ");
    if !ended.status.success() {
        return Err(none(why));
    }
    drop(command);
    let doors::Taken { spaces: mut handed, .. } = doors::take_now(&ours).map_err(|error| none(&error.to_string()))?;
    handed.pop().map(TcpListener::from).ok_or_else(|| none("no listener was handed over"))
}
