//! Played tasks: what models did on red tasks of the past, for advice on ladders.

use super::units::MicroUsd;

/// A model that worked on fewer tasks says nothing yet.
pub const MIN_TASKS: usize = 5;

/// One red task that models worked on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlayedTask {
    /// The tiers that worked on it, in order.
    pub visits: Vec<Visit>,
}

/// A model's work on one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The artisan's model, as `provider/model`.
    pub model: String,
    /// The cost of each iteration, in order.
    pub costs: Vec<MicroUsd>,
    /// Whether the last iteration fixed the task.
    pub solved: bool,
}

impl Visit {
    /// Whether the task was fixed within so many iterations.
    #[must_use]
    pub fn solved_within(&self, iterations: usize) -> bool {
        self.solved && self.costs.len() <= iterations
    }

    /// The cost of the first so many iterations.
    #[must_use]
    pub fn cost_of(&self, iterations: usize) -> MicroUsd {
        // More iterations than were played cost what was played.
        self.costs.iter().take(iterations).copied().sum()
    }
}

/// The source of what a suggestion is drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The runs of the log.
    History,
    /// The public table: SWE-bench Verified, one attempt a model.
    PublicTable,
}

/// One rung of a suggested ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// The model, as `provider/model`.
    pub model: String,
    /// The most iterations. `None` where the source tells nothing of iterations.
    pub iterations: Option<u32>,
}

/// A ladder that would have done as well for less.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The records that it is drawn from.
    pub basis: Basis,
    /// Its rungs, the first one first.
    pub rungs: Vec<Rung>,
    /// How many tasks it was played on.
    pub tasks: usize,
    /// How many of them it would have fixed. It is a sum of chances where a model did not work on a task.
    pub fixes: f64,
    /// The cost that it would have had on all of them, in dollars.
    pub cost_usd: f64,
    /// How many of them were fixed in fact. In the public table, by any model.
    pub fixed_in_fact: usize,
    /// The money that was spent on all of them in fact, in dollars.
    pub spent_in_fact_usd: f64,
}
