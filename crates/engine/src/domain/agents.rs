//! Events of coding agents on the ladder: targets that are asked in place of others, and the agents that agents start.

use serde::{Deserialize, Serialize};

use super::clock::Timestamp;
use super::ladder::Role;
use super::units::MicroUsd;

/// Another target is asked (S3-9, `agent:switched`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSwitch {
    /// The role that holds the session.
    pub role: Role,
    /// The target that is left.
    pub from: String,
    /// The target that is asked instead. The first one, where several of ours share a session.
    pub to: String,
    /// The reason, in words. Foreign text is in it.
    pub reason: String,
    /// When the limit that it is left for is over, where the vendor said so.
    pub until: Option<Timestamp>,
}

/// Every target of a role is limited or cannot be asked, at least one of them for a limit alone (S3-9, `agent:all-limited`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllLimited {
    /// The role that holds the session.
    pub role: Role,
    /// All of them, in their order.
    pub targets: Vec<String>,
    /// When the first of them can be asked again, where a vendor said so.
    pub until: Option<Timestamp>,
    /// The last target's words. Foreign text is in it.
    pub reason: String,
}

/// A target that an earlier iteration left at a limit was asked again before those that stood in for it (S3-10,
/// `agent:recovery-attempted`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecovery {
    /// The role that holds the session.
    pub role: Role,
    /// The target.
    pub target: String,
    /// The target that stood in for it. Empty where none did.
    pub instead: String,
    /// Whether it answered.
    pub recovered: bool,
}

/// How an agent that an agent started stands now (S3-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgentChange {
    /// The role whose session started it.
    pub role: Role,
    /// Its id by the agent's own account.
    pub id: String,
    /// The sub-agent that started it. `None` where the session itself did.
    pub parent: Option<String>,
    /// How deep in the tree, from 1.
    pub depth: u32,
    /// The sub-agent's name.
    pub name: String,
    /// `running`, `completed` or `failed`.
    pub state: String,
    /// The tokens it used, by the agent's own count. 0 where it tells none.
    pub tokens: u64,
    /// Its share of what the session was billed so far, by these tokens: an estimate, since the vendor bills calls and no sub-agents.
    /// `None` where it tells no tokens.
    pub cost: Option<MicroUsd>,
}
