//! Agents where nothing can be confined.
//!
//! Invariant: same interface as on Linux.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use super::{ConfineError, Confined, Confinement, Wish};
use crate::config::Sandbox;

/// What an agent is to get.
#[derive(Debug)]
pub struct AgentWish<'a> {
    /// As for tests.
    pub wish: Wish<'a>,
    /// Folders and files that its program is made of.
    pub program: Vec<PathBuf>,
    /// Whether the tree is not to be written.
    pub reads_only: bool,
}

/// What an agent got.
#[derive(Debug)]
pub struct AgentRoom {
    /// Its bounds and its environment.
    pub confined: Confined,
    /// Where its model is to answer.
    pub listener: TcpListener,
}

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
    Ok(AgentRoom { confined, listener })
}
