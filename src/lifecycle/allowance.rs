//! Changes that comments may make to a run that is under way: how much it may use up, and which of them were heard.

use std::collections::BTreeMap;

use super::state::{RunState, rules};
use crate::config::Plan;
use crate::domain::budget::Budget;
use crate::policy::budget::Warnings;
use crate::policy::command::Rank;
use crate::policy::escalation::Rules;

/// The caps that may be used up: the plan's, as comments have raised them. Changed by commands alone, but for the warnings.
#[derive(Debug, Clone)]
pub(super) struct Allowance {
    /// The caps of the run.
    pub(super) budget: Budget,
    /// The ladder's rules, with the caps of its tiers.
    pub(super) rules: Rules,
    /// Which budget warnings were given.
    pub(super) warned: Warnings,
}

impl Allowance {
    /// The allowance of a saved state.
    pub(super) fn of(state: &RunState) -> Self {
        let budget = state.plan.budget.clone();
        Self { budget, rules: rules(&state.plan), warned: state.warned.clone() }
    }

    /// Puts it into the saved form.
    pub(super) fn save(&self, state: &mut RunState) {
        // Saved within the plan, so that a resumed run begins with what comments have allowed.
        let caps = state.plan.tiers.iter().map(|tier| tier.max_iterations);
        // Only where they did, since a plan that changes is written anew.
        if state.plan.budget != self.budget || !caps.eq(self.rules.tier_caps.iter().copied()) {
            let plan: &mut Plan = &mut state.plan;
            plan.budget = self.budget.clone();
            for (tier, cap) in plan.tiers.iter_mut().zip(&self.rules.tier_caps) {
                tier.max_iterations = *cap;
            }
        }
        state.warned = self.warned.clone();
    }

    /// Allows more iterations, in the run and in a tier.
    pub(super) fn add_iterations(&mut self, tier_index: u32, more: u32) {
        self.budget.max_iterations = self.budget.max_iterations.saturating_add(more);
        let index = usize::try_from(tier_index).unwrap_or(usize::MAX);
        if let Some(cap) = self.rules.tier_caps.get_mut(index) {
            *cap = cap.saturating_add(more);
        }
    }

    /// Gives a tier an iteration back that it could do nothing in. The run's own cap stays.
    pub(super) fn give_back_an_iteration(&mut self, tier_index: u32) {
        let index = usize::try_from(tier_index).unwrap_or(usize::MAX);
        if let Some(cap) = self.rules.tier_caps.get_mut(index) {
            *cap = cap.saturating_add(1);
        }
    }
}

/// The comments that people wrote, as far as they were heard. Changed by commands alone.
#[derive(Debug, Default)]
pub(super) struct Comments {
    /// The last comment that was looked at. 0 for none.
    pub(super) last: u64,
    /// Iterations that comments have added.
    pub(super) added: u32,
    /// How far people may command, as this process has asked.
    pub(super) ranks: BTreeMap<String, Rank>,
    /// When it is looked for comments again after a look that failed.
    pub(super) not_before_ms: u64,
    /// Whether it was said that comments cannot be read.
    pub(super) complained: bool,
}

impl Comments {
    /// The comments that a saved state has heard.
    pub(super) fn of(state: &RunState) -> Self {
        Self { last: state.hearing.last, added: state.hearing.added, ..Self::default() }
    }

    /// Puts it into the saved form.
    pub(super) fn save(&self, state: &mut RunState) {
        state.hearing.last = self.last;
        state.hearing.added = self.added;
    }
}
