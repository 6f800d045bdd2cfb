//! Agents where nothing can be confined.
//!
//! Invariant: same interface as on Linux.

use super::ConfineError;
use super::agent_room::{AgentRoom, AgentWish};
use crate::config::Sandbox;

/// As it is, where a person said so.
///
/// # Errors
/// [`ConfineError::Unconfined`] where nobody did.
pub fn arrange_agent(wish: &AgentWish<'_>) -> Result<AgentRoom, ConfineError> {
    if wish.wish.sandbox != Sandbox::Off {
        return Err(ConfineError::Unconfined(super::plan::of_platform()));
    }
    AgentRoom::open(wish)
}
