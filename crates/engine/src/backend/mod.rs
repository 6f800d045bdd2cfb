//! Coding agents that users have installed, and what is known of each: one file an agent.
//!
//! A target `cli/NAME` or `cli/NAME:MODEL` is held by such a program instead of by a [`session`](crate::session) of ours. Owns the command
//! line, the settings that are written into its private home, and the reading of its stream into [`AgentEvent`]s. Pure: nothing here starts
//! a program or reads a file (`hosted` does).
//!
//! An agent that is none of these, but speaks the Agent Client Protocol, is asked by that ([`acp`]).
//!
//! Start reading at [`Backend`]. To add an agent, write its file and name it in [`Backend`] and [`Backend::agent`] (`known`).
//!
//! Invariants: what an agent says of its cost is never believed (the gateway bills), its prompt that it repeats is never read as its word,
//! and an event that nobody knows is kept as such, no error.

pub mod acp;
mod agent;
mod claude;
mod codex;
mod copilot;
mod event;
mod gemini;
mod known;
mod limits;
mod lines;
mod opencode;
mod qwen;
mod reading;
mod stream;
mod subagents;

pub use agent::{Agent, Invocation, Order};
pub use event::{AgentEvent, SubAgentState, Tokens};
pub use known::{Backend, PROVIDER, answering};
pub use limits::{Limit, limit_in};
pub use stream::AgentStream;
pub use subagents::{SubAgent, SubAgents};

#[cfg(test)]
mod tests;
