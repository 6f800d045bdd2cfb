//! Where the calls of a session belong, and what they came to.

use super::Purpose;
use crate::domain::chat::Usage;
use crate::domain::ladder::Role;
use crate::domain::receipt::{CallStatus, Receipt};
use crate::domain::units::Charge;

/// Where the calls of a session belong.
#[derive(Debug, Clone)]
pub struct Place {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// The role that asks.
    pub role: Role,
    /// The session's id.
    pub session_id: String,
    /// The session that started it and the first one of the tree. `None` for a root.
    pub lineage: Option<(String, String)>,
}

impl Place {
    /// A session that belongs to no ladder.
    #[must_use]
    pub fn alone() -> Self {
        let session_id = uuid::Uuid::new_v4().hyphenated().to_string();
        Self { tier_index: 0, iteration: 1, role: Role::Artisan, session_id, lineage: None }
    }
}

/// The sum of a session's calls so far.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Calls that were begun.
    pub calls: u32,
    /// Their cost.
    pub cost: Charge,
    /// Their tokens, as far as the vendors told them.
    pub usage: Usage,
    /// Calls that brought a reply.
    pub replies: u32,
    /// The model that the vendor says it billed last.
    pub billed_model: Option<String>,
    /// The failure of the last call that counts, `None` where that brought a reply. Side calls count until the session's own model has
    /// replied: a title that could not be made says nothing about finished work.
    pub trouble: Option<Trouble>,
    /// Whether a call of the session's own brought a reply.
    own_reply: bool,
}

/// A call that brought no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Its status.
    pub status: CallStatus,
    /// Why, without secrets.
    pub why: String,
}

impl Tally {
    /// Counts a call that was settled.
    pub(super) fn count(&mut self, receipt: &Receipt, purpose: Purpose) {
        let counts = purpose == Purpose::Main || !self.own_reply;
        self.cost += receipt.charge();
        if let Some(usage) = &receipt.usage {
            self.usage.add(usage);
        }
        if receipt.status == CallStatus::Ok {
            self.replies += 1;
            self.billed_model.clone_from(&receipt.billed_model);
            self.own_reply |= purpose == Purpose::Main;
            if counts {
                self.trouble = None;
            }
        } else if counts {
            let why = receipt.error.clone().unwrap_or_default();
            self.trouble = Some(Trouble { status: receipt.status, why });
        }
    }
}
