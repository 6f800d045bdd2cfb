//! Agents where nothing can be confined.
//!
//! Invariant: same interface as on Linux.

use std::net::{Ipv4Addr, TcpListener};

use super::agent_room::{AgentRoom, AgentWish};
use super::{ConfineError, Confined, Confinement, Door};
use crate::config::Sandbox;

/// As it is, where a person said so.
///
/// # Errors
/// [`ConfineError::Unconfined`] where nobody did.
pub fn arrange_agent(wish: &AgentWish<'_>) -> Result<AgentRoom, ConfineError> {
    if wish.wish.sandbox != Sandbox::Off {
        return Err(ConfineError::Unconfined(super::plan::of_platform()));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ConfineError::Private)?;
    let confined = Confined { confinement: Confinement::None, env: wish.wish.env.clone() };
    Ok(AgentRoom { confined, listener, door: Door::Open })
}
