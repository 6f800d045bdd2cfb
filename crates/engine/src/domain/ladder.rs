//! The ladder: ordered tiers of models, as resolved from configuration.

use serde::{Deserialize, Serialize};

use super::model_id::ModelId;
use super::units::MicroUsd;

/// The roles that a tier's iterations run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Artisan, then tests.
    Simple,
    /// Librarian, artisan, critic, then tests.
    Full,
}

impl Mode {
    /// The word of configuration, database and report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Full => "full",
        }
    }
}

/// The role in which a model is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads the repository and briefs the artisan.
    Librarian,
    /// Edits the code.
    Artisan,
    /// Reviews the artisan's diff.
    Critic,
    /// Reads and gives its word before the artisan works. Several may do so side by side.
    Advisor,
}

impl Role {
    /// The word of prompts, receipts and reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Librarian => "librarian",
            Self::Artisan => "artisan",
            Self::Critic => "critic",
            Self::Advisor => "advisor",
        }
    }
}

/// One tier with everything resolved: absent librarian and critic are the artisan's models (contradiction 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// The label in reports and the audit log. It is unique in a ladder.
    pub name: String,
    /// The roles that run.
    pub mode: Mode,
    /// How many iterations this tier may run, 1 to 100.
    pub max_iterations: u32,
    /// The artisan's targets in order. The list is never empty.
    pub artisan: Vec<ModelId>,
    /// The librarian's targets. They equal the artisan's unless given.
    pub librarian: Vec<ModelId>,
    /// The critic's targets. They equal the artisan's unless given.
    pub critic: Vec<ModelId>,
    /// The most this tier may cost, if less than the run's cap.
    pub max_cost: Option<MicroUsd>,
}

impl Tier {
    /// The targets of one role.
    #[must_use]
    pub fn targets(&self, role: Role) -> &[ModelId] {
        match role {
            Role::Librarian => &self.librarian,
            // Of an advisor without models of its own. Those of a role that does not speak here may lack a key.
            Role::Advisor if self.mode == Mode::Full => &self.librarian,
            Role::Advisor => &self.artisan,
            Role::Artisan => &self.artisan,
            Role::Critic => &self.critic,
        }
    }

    /// The roles that run in this tier's iterations, in order (contradiction 5).
    #[must_use]
    pub fn roles(&self) -> &'static [Role] {
        match self.mode {
            // In the order in which they speak.
            Mode::Simple => &[Role::Artisan],
            Mode::Full => &[Role::Librarian, Role::Artisan, Role::Critic],
        }
    }
}

/// The consequence of a stalled tier (contradiction 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnEntropy {
    /// The next tier takes over. On the last one the run ends as stalled.
    Escalate,
    /// Neither detector ends a tier: it runs its full iteration budget.
    Continue,
    /// The run ends as stalled.
    Halt,
}
