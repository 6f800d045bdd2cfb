//! The wish for an agent's confinement and the room it gets, on every platform.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use super::{ConfineError, Confined, Confinement, Door, Wish};

/// The wish for one agent's confinement.
#[derive(Debug)]
pub struct AgentWish<'a> {
    /// As for tests.
    pub wish: Wish<'a>,
    /// Folders and files that its program is made of.
    pub program: Vec<PathBuf>,
    /// Whether the tree is not to be written.
    pub reads_only: bool,
}

/// The confined room of one agent.
#[derive(Debug)]
pub struct AgentRoom {
    /// Its bounds and its environment.
    pub confined: Confined,
    /// Where its model is to answer.
    pub listener: TcpListener,
    /// Its way there.
    pub door: Door,
}

impl AgentRoom {
    /// No room at all, where a person said so.
    pub(super) fn open(wish: &AgentWish<'_>) -> Result<Self, ConfineError> {
        let confined = Confined { confinement: Confinement::None, env: wish.wish.env.clone() };
        Ok(Self { confined, listener: listener()?, door: Door::Open })
    }
}

/// A listener on a port of the machine.
pub(super) fn listener() -> Result<TcpListener, ConfineError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(ConfineError::Private)
}
