//! The wish for an agent's confinement and the room it gets, on every platform.

use std::net::TcpListener;
use std::path::PathBuf;

use super::{Confined, Door, Wish};

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
