//! The caps of a run, and those that it shares with other runs.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::units::{Charge, MicroUsd};

/// The caps that hold for a whole run, over all its tiers and invocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The most all model calls together may cost.
    pub max_cost: MicroUsd,
    /// Cap on iterations over all tiers.
    pub max_iterations: u32,
    /// The most active time in milliseconds. Waiting for CI or a person has its own clock (contradiction 11).
    pub max_active_ms: u64,
}

/// Caps over all runs in one audit log that work for the same pull request, or on the same repository on one day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedCaps {
    /// The most all runs for one pull request may cost. `None` for no cap.
    pub per_pull_request: Option<MicroUsd>,
    /// The most all runs on one repository may cost on one day (UTC). `None` for no cap.
    pub per_day: Option<MicroUsd>,
}

/// The words by which a refused call names the cap of a pull request.
pub const OF_PULL_REQUEST: &str = "the cap of all runs for the pull request";

/// The words by which a refused call names the cap of a day.
pub const OF_DAY: &str = "the cap of all runs of the day";

/// The words of a cap that all runs of a day use up. `name` is its key: a repository and a date, or a date alone on a laptop.
#[must_use]
pub fn of_day(name: &str) -> String {
    // Without a forge the repository is the checkout's folder, which says nothing to others.
    let said = match name.rsplit_once('@') {
        Some((folder, day)) if Path::new(folder).is_absolute() || folder == "." => day,
        _ => name,
    };
    format!(" ({OF_DAY}, {said})")
}

/// The words of a cap that all runs for a pull request use up.
#[must_use]
pub fn of_pull_request(name: &str) -> String {
    format!(" ({OF_PULL_REQUEST} {name})")
}

/// Whom a run works for: what [`SharedCaps`] are counted by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beneficiary {
    /// The repository: `owner/name` in lower case, or the checkout's path where no forge tells. Empty if unknown.
    pub repository: String,
    /// The pull request, if the run is about one.
    pub pull_request: Option<u64>,
}

/// The used part of a [`Budget`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Money of settled receipts, the worst case of failed calls included: what counts towards the cap.
    pub cost: MicroUsd,
    /// The share of it that may never have been billed.
    pub unknown_cost: MicroUsd,
    /// Iterations begun.
    pub iterations: u32,
    /// Active milliseconds.
    pub active_ms: u64,
}

impl Spent {
    /// The money, parted into what is known and what is not.
    #[must_use]
    pub fn charge(&self) -> Charge {
        // The cost holds both parts.
        Charge { known: self.cost.saturating_sub(self.unknown_cost), unknown: self.unknown_cost }
    }
}
