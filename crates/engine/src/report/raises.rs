//! Raises of a run's caps: by a comment's allowance, and by iterations that are given back because nobody judged their change.

use crate::domain::attempt::TierExit;
use crate::domain::budget::Budget;
use crate::domain::command::{Command, CommandAnswer};
use crate::domain::delivery::Answer;
use crate::domain::event::Event;
use crate::domain::ladder::Tier;
use crate::domain::units::MicroUsd;

/// The listener that knows which events raise a cap.
#[derive(Debug, Default)]
pub(super) struct Raises {
    /// The zero-based tier at work.
    at: u32,
    /// The tier whose last iteration a signal ended.
    cut: Option<u32>,
}

/// One raise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raise {
    tier_index: u32,
    of_tier: u32,
    of_run: u32,
    cost: MicroUsd,
}

impl Raises {
    /// The raise that an event brings.
    pub(super) fn hear(&mut self, event: &Event) -> Option<Raise> {
        if let Event::IterationStarted { tier_index, .. } = event {
            self.at = *tier_index;
            return self.cut.take().map(|tier_index| Raise { tier_index, ..self.iterations(1, 1) });
        }
        if let Event::TierFinished { tier_index, exit, .. } = event {
            self.cut = (*exit == TierExit::Interrupted).then_some(*tier_index);
        }
        if let Event::BreakpointCleared { answer: Answer::Resolved, .. } = event {
            return Some(self.iterations(1, 0));
        }
        let Event::CommandAnswered { command, answer: CommandAnswer::Obeyed, tier_index, .. } = event else {
            return None;
        };
        match (*command)? {
            Command::Add { iterations } => {
                Some(Raise { tier_index: *tier_index, ..self.iterations(iterations, iterations) })
            }
            Command::Budget { more } => Some(Raise { cost: more, ..self.iterations(0, 0) }),
            Command::Fix
            | Command::Stop
            | Command::Retry
            | Command::Escalate
            | Command::Pause
            | Command::Resume
            | Command::Remove { .. } => None,
        }
    }

    fn iterations(&self, of_tier: u32, of_run: u32) -> Raise {
        Raise { tier_index: self.at, of_tier, of_run, cost: MicroUsd::ZERO }
    }
}

impl Raise {
    /// Raises the cap of the tier that it is for.
    pub(super) fn raise_tier(self, tiers: &mut [Tier]) {
        let index = usize::try_from(self.tier_index).unwrap_or(usize::MAX);
        if let Some(tier) = tiers.get_mut(index) {
            tier.max_iterations = tier.max_iterations.saturating_add(self.of_tier);
        }
    }

    /// Raises the caps of the run.
    pub(super) fn raise_run(self, budget: &mut Budget) {
        budget.max_iterations = budget.max_iterations.saturating_add(self.of_run);
        budget.max_cost.0 = budget.max_cost.0.saturating_add(self.cost.0);
    }
}
