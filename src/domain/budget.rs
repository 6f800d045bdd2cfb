//! The caps of a run.

use serde::{Deserialize, Serialize};

use super::units::MicroUsd;

/// The caps that hold for a whole run, over all its tiers and invocations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The most all model calls together may cost.
    pub max_cost: MicroUsd,
    /// The most iterations over all tiers.
    pub max_iterations: u32,
    /// The most active time in milliseconds; waiting for CI or a person has its own clock (contradiction 11).
    pub max_active_ms: u64,
}

/// What of a [`Budget`] is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Money of settled receipts.
    pub cost: MicroUsd,
    /// Iterations begun.
    pub iterations: u32,
    /// Active milliseconds.
    pub active_ms: u64,
}
