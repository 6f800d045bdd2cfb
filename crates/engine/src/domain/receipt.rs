//! Receipts: one per model call, whatever became of it.

use serde::{Deserialize, Serialize};

use super::chat::Usage;
use super::clock::Timestamp;
use super::ladder::Role;
use super::model_id::ModelId;
use super::units::{Charge, MicroUsd};

/// The end of a name that stands for the side calls of the name before it: a session's, a model's.
pub const SIDE: &str = "-side";

/// The part of a path between an agent and a sub-agent that it calls: `artisan/agent/callers`.
pub const BELOW: &str = "/agent/";

/// The path of an agent in a run. Tiers count from one there, as people count and as `upshift show --tier 1 --iteration 2` does.
///
/// The path below the iteration is empty where the role alone names the agent.
#[must_use]
pub fn agent_path((tier_index, iteration): (u32, u32), role: Role, agent: &str) -> String {
    let who = if agent.is_empty() { role.as_str() } else { agent };
    // Tiers are counted from 0 inside, and from 1 for people.
    format!("tier-{}/iteration-{iteration}/{who}", tier_index.saturating_add(1))
}

/// Where in a run a call belongs. Iterations are counted within the tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallScope {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// The role that asked.
    pub role: Role,
    /// The path of who asked below the iteration, where the role alone does not name it: `advisor/security`. Empty elsewhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The session's id.
    pub session_id: String,
    /// The session that started this one, if any.
    pub parent_session_id: Option<String>,
    /// The first session of the tree. Its own id for a root.
    pub root_session_id: String,
    /// One-based turn within the session.
    pub turn: u32,
    /// One-based attempt within the turn.
    pub attempt: u32,
}

impl CallScope {
    /// The path of who asked, from the tier down: `tier-1/iteration-2/artisan`, `tier-1/iteration-2/advisor/security`.
    #[must_use]
    pub fn agent_path(&self) -> String {
        agent_path((self.tier_index, self.iteration), self.role, &self.agent)
    }

    /// Whether it is a side call of an agent's session: a title, a summary.
    #[must_use]
    pub fn is_side(&self) -> bool {
        let parent = self.parent_session_id.as_deref();
        // By the whole name, since a role's own session may end in such a word.
        parent.is_some_and(|parent| self.session_id.strip_prefix(parent) == Some(SIDE))
    }
}

/// The outcome of a call, as the vendor or the network told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// A reply arrived.
    Ok,
    /// Too many requests.
    RateLimited,
    /// The key was refused.
    AuthError,
    /// Quota or credit is used up.
    QuotaExceeded,
    /// The vendor refused or failed on this request.
    ModelError,
    /// The prompt was too long for the model.
    ContextOverflow,
    /// No connection, or a cut one.
    NetworkError,
    /// No answer in time.
    Timeout,
    /// An answer that could not be read.
    InvalidResponse,
    /// We ended the call (interrupt, abort).
    Aborted,
    /// The process died while the call was under way. It is found on resume.
    Lost,
}

impl CallStatus {
    /// The word in the audit log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::RateLimited => "rate_limited",
            Self::AuthError => "auth_error",
            Self::QuotaExceeded => "quota_exceeded",
            Self::ModelError => "model_error",
            Self::ContextOverflow => "context_overflow",
            Self::NetworkError => "network_error",
            Self::Timeout => "timeout",
            Self::InvalidResponse => "invalid_response",
            Self::Aborted => "aborted",
            Self::Lost => "lost",
        }
    }
}

/// One model call's audit row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Unique id of the call. The reservation has the same.
    pub call_id: String,
    /// Where it belongs.
    pub scope: CallScope,
    /// The target that was asked.
    pub target: ModelId,
    /// The model that the vendor says it billed, in its own words. `None` when it did not say, and in logs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billed_model: Option<String>,
    /// The outcome of the call.
    pub status: CallStatus,
    /// Tokens as the vendor counted them. `None` when it did not say.
    pub usage: Option<Usage>,
    /// The amount that had been set aside for the call.
    pub reserved: MicroUsd,
    /// The cost by its usage. Zero when that is unknown.
    pub cost: MicroUsd,
    /// The most that it cost, where its usage is unknown and money may have gone: the reservation. Zero in logs of older versions, which
    /// have it in `cost`.
    #[serde(default)]
    pub unknown_cost: MicroUsd,
    /// From sending to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// A short, redacted reason when it failed.
    pub error: Option<String>,
    /// When it was settled.
    pub timestamp: Timestamp,
}

impl Receipt {
    /// The charge that it is settled at.
    #[must_use]
    pub fn charge(&self) -> Charge {
        Charge { known: self.cost, unknown: self.unknown_cost }
    }
}
