//! The one fold: a run's events become what every surface shows.
//!
//! Money comes from receipts alone, so the report's totals are the audit log's (SPEC "Tests that prove us better").
//! Invariant: total over any sequence of events, also a cut one, a resumed one or an empty one. Nothing is escaped here.

use std::collections::BTreeMap;

use crate::domain::attempt::{Attempt, AttemptStatus, TierExit};
use crate::domain::budget::{Budget, Spent};
use crate::domain::event::{BaselineFinished, DiffStat, Event, RunFinished, RunStarted};
use crate::domain::ladder::{Role, Tier};
use crate::domain::outcome::Outcome;
use crate::domain::units::MicroUsd;

/// Whether the process behind the events is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It is gone without having ended the run.
    Dead,
    /// It ended the run itself.
    Ended,
}

/// How the run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Still under way.
    Running,
    /// The process died; `upshift resume` may go on.
    Died,
    /// It ended.
    Finished(RunFinished),
}

impl Ending {
    /// The outcome, when the run ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Finished(finished) => Some(&finished.outcome),
            Self::Running | Self::Died => None,
        }
    }
}

/// What became of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierState {
    /// Its turn never came.
    NotReached,
    /// Under way.
    Running,
    /// It made the tests pass.
    Solved,
    /// Its iterations are used up.
    Failed,
    /// No more progress.
    Stalled,
    /// A cap ended it.
    BudgetLimit,
    /// No model of it could be used.
    NoModel,
    /// Green, but the critic rejected to the end.
    Rejected,
    /// A person is needed.
    Blocked,
    /// A signal or a crash ended it.
    Interrupted,
    /// Waiting outside the runner.
    Parked,
}

/// One tier as the report shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct TierView {
    /// Its place in the ladder, from 1.
    pub number: usize,
    /// Its configuration.
    pub tier: Tier,
    /// What became of it.
    pub state: TierState,
    /// How it ended, if it did.
    pub exit: Option<TierExit>,
    /// Why, in words, where the exit alone does not say it. Text from outside.
    pub reason: Option<String>,
    /// Iterations begun.
    pub iterations: u32,
    /// What its calls were settled at.
    pub cost: MicroUsd,
    /// Its finished iterations, in order.
    pub attempts: Vec<Attempt>,
}

impl TierView {
    /// The artisan's model that answered last, else the first configured one; as `provider/model`.
    #[must_use]
    pub fn model(&self) -> String {
        let answered = self.attempts.iter().rev().map(|attempt| attempt.model_artisan.clone()).find(|m| !m.is_empty());
        answered.or_else(|| self.tier.artisan.first().map(ToString::to_string)).unwrap_or_default()
    }

    /// Every model of this tier with its roles, in the order of roles: one entry when all roles share it.
    #[must_use]
    pub fn models(&self) -> Vec<(Vec<Role>, String)> {
        let mut models: Vec<(Vec<Role>, String)> = Vec::new();
        for &role in self.tier.roles() {
            let Some(target) = self.tier.targets(role).first().map(ToString::to_string) else { continue };
            match models.iter_mut().find(|(_, model)| *model == target) {
                Some((roles, _)) => roles.push(role),
                None => models.push((vec![role], target)),
            }
        }
        models
    }
}

/// A place in the ladder: where the run stood when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
}

/// Everything that a report says about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// What the run is about; `None` when it was refused before it began.
    pub run: Option<RunStarted>,
    /// How it stands.
    pub ending: Ending,
    /// What the tests said before any model was asked.
    pub baseline: Option<BaselineFinished>,
    /// Every tier of the ladder, reached or not.
    pub tiers: Vec<TierView>,
    /// Where the last iteration began; `None` before the first.
    pub position: Option<Position>,
    /// What is used of the budget.
    pub spent: Spent,
    /// What was set aside for calls that were never settled: it may have been billed too.
    pub unsettled: MicroUsd,
    /// Model calls that were settled.
    pub calls: u32,
    /// Failing tests at the start.
    pub failing_before: Vec<String>,
    /// Failing tests at the end, or after the last finished iteration; `None` when the tests never ran again.
    pub failing_after: Option<Vec<String>>,
    /// The most recent errors.
    pub recent_errors: Vec<String>,
    /// Warnings in order, each once.
    pub warnings: Vec<String>,
    /// Processes that worked on the run.
    pub invocations: u32,
}

/// Errors shown when the run did not say itself which were the most recent ones.
const RECENT_ERRORS: usize = 5;

impl RunView {
    /// Folds a run's events; `liveness` decides what a missing end means.
    #[must_use]
    pub fn from_events(events: &[Event], liveness: Liveness) -> Self {
        let mut fold = Fold::default();
        for event in events {
            fold.take(event);
        }
        fold.finish(liveness)
    }

    /// The caps; all zero when the run never began.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let none = Budget { max_cost: MicroUsd::ZERO, max_iterations: 0, max_active_ms: 0 };
        self.run.as_ref().map_or(none, |run| run.budget.clone())
    }

    /// The outcome, when the run ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.ending.outcome()
    }

    /// What was changed; empty while running.
    #[must_use]
    pub fn diff_stat(&self) -> DiffStat {
        match &self.ending {
            Ending::Finished(finished) => finished.diff_stat.clone(),
            Ending::Running | Ending::Died => DiffStat::default(),
        }
    }

    /// Which cap, signal or condition ended the run; empty while running.
    #[must_use]
    pub fn stop_reason(&self) -> &str {
        match &self.ending {
            Ending::Finished(finished) => &finished.stop_reason,
            Ending::Running | Ending::Died => "",
        }
    }

    /// Where the best patch of a failed run was kept.
    #[must_use]
    pub fn best_patch(&self) -> Option<&str> {
        match &self.ending {
            Ending::Finished(finished) => finished.best_patch.as_deref(),
            Ending::Running | Ending::Died => None,
        }
    }

    /// The tier at a zero-based place of the ladder.
    #[must_use]
    pub fn tier(&self, tier_index: u32) -> Option<&TierView> {
        self.tiers.get(usize::try_from(tier_index).ok()?)
    }

    /// The tier and iteration that made the tests pass.
    #[must_use]
    pub fn resolved(&self) -> Option<(&TierView, u32)> {
        match self.outcome() {
            Some(&Outcome::Fixed { tier_index, iteration }) => Some((self.tier(tier_index)?, iteration)),
            _ => None,
        }
    }

    /// Tests that failed at the start and do not any more.
    #[must_use]
    pub fn fixed_tests(&self) -> Vec<&str> {
        let Some(after) = &self.failing_after else { return Vec::new() };
        self.failing_before.iter().filter(|name| !after.contains(name)).map(String::as_str).collect()
    }

    /// Whether a cap of the budget ended the run.
    #[must_use]
    pub fn budget_cap_hit(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Budget))
    }
}

/// What is gathered on the way.
#[derive(Debug, Default)]
struct Fold {
    run: Option<RunStarted>,
    finished: Option<RunFinished>,
    baseline: Option<BaselineFinished>,
    tiers: BTreeMap<u32, TierFold>,
    position: Option<Position>,
    reserved: BTreeMap<String, MicroUsd>,
    settled: BTreeMap<String, (u32, MicroUsd)>,
    warnings: Vec<String>,
    invocations: u32,
}

#[derive(Debug, Default)]
struct TierFold {
    exit: Option<TierExit>,
    reason: Option<String>,
    begun: u32,
    attempts: BTreeMap<u32, Attempt>,
}

impl Fold {
    fn take(&mut self, event: &Event) {
        match event {
            Event::RunStarted(run) => self.run = Some(run.clone()),
            Event::InvocationStarted { .. } => {
                self.invocations += 1;
                // A parked run that goes on has not ended.
                self.finished = None;
            }
            Event::BaselineFinished(baseline) => self.baseline = Some(baseline.clone()),
            Event::TierStarted { tier_index, .. } => {
                let tier = self.tiers.entry(*tier_index).or_default();
                tier.exit = None;
                tier.reason = None;
            }
            Event::IterationStarted { tier_index, iteration, .. } => {
                let tier = self.tiers.entry(*tier_index).or_default();
                tier.begun = tier.begun.max(*iteration);
                self.position = Some(Position { tier_index: *tier_index, iteration: *iteration });
            }
            Event::CallReserved { call_id, reserved, .. } => {
                self.reserved.insert(call_id.clone(), *reserved);
            }
            Event::CallSettled(receipt) => {
                self.reserved.remove(&receipt.call_id);
                self.settled.insert(receipt.call_id.clone(), (receipt.scope.tier_index, receipt.cost));
            }
            Event::IterationFinished(attempt) => {
                let tier = self.tiers.entry(attempt.tier_index).or_default();
                tier.begun = tier.begun.max(attempt.iteration);
                tier.attempts.insert(attempt.iteration, attempt.clone());
            }
            Event::TierFinished { tier_index, exit, reason, iterations, .. } => {
                let tier = self.tiers.entry(*tier_index).or_default();
                tier.exit = Some(*exit);
                tier.reason.clone_from(reason);
                tier.begun = tier.begun.max(*iterations);
            }
            Event::Warning { message } => {
                if !self.warnings.contains(message) {
                    self.warnings.push(message.clone());
                }
            }
            Event::RunFinished(finished) => self.finished = Some(finished.clone()),
            Event::SessionStarted { .. }
            | Event::ToolFinished { .. }
            | Event::ContextThreshold { .. }
            | Event::SessionFinished { .. }
            | Event::TestsFinished { .. }
            | Event::EntropyDetected { .. }
            | Event::ContextReset { .. }
            | Event::BudgetWarning { .. }
            | Event::Escalated { .. } => {}
        }
    }

    fn finish(self, liveness: Liveness) -> RunView {
        let ending = match (&self.finished, liveness) {
            (Some(finished), _) => Ending::Finished(finished.clone()),
            (None, Liveness::Alive) => Ending::Running,
            (None, Liveness::Dead | Liveness::Ended) => Ending::Died,
        };
        let tiers = self.tier_views(&ending);
        let attempts: Vec<&Attempt> = tiers.iter().flat_map(|tier| &tier.attempts).collect();
        let spent = Spent {
            cost: self.settled.values().map(|&(_, cost)| cost).sum(),
            iterations: tiers.iter().fold(0, |sum, tier| sum.saturating_add(tier.iterations)),
            active_ms: self.active_ms(&attempts),
        };
        let failing_after = match &ending {
            Ending::Finished(finished) if !matches!(finished.outcome, Outcome::Refused { .. }) => {
                Some(finished.still_failing.clone())
            }
            _ => attempts.last().map(|attempt| attempt.failed_tests.clone()),
        };
        let recent_errors = match &ending {
            Ending::Finished(finished) => finished.recent_errors.clone(),
            Ending::Running | Ending::Died => recent_errors(&attempts),
        };
        RunView {
            ending,
            position: self.position,
            spent,
            unsettled: self.reserved.values().copied().sum(),
            calls: u32::try_from(self.settled.len()).unwrap_or(u32::MAX),
            failing_before: self.baseline.as_ref().map(|baseline| baseline.failing.clone()).unwrap_or_default(),
            failing_after,
            recent_errors,
            warnings: self.warnings,
            invocations: self.invocations,
            tiers,
            run: self.run,
            baseline: self.baseline,
        }
    }

    fn active_ms(&self, attempts: &[&Attempt]) -> u64 {
        match &self.finished {
            Some(finished) => finished.active_ms,
            None => {
                let baseline = self.baseline.as_ref().map_or(0, |baseline| baseline.duration_ms);
                attempts.iter().fold(baseline, |sum, attempt| sum.saturating_add(attempt.duration_ms))
            }
        }
    }

    fn tier_views(&self, ending: &Ending) -> Vec<TierView> {
        let configured = self.run.as_ref().map(|run| run.tiers.as_slice()).unwrap_or_default();
        let reached = self.tiers.keys().max().copied();
        (0_u32..)
            .zip(configured)
            .map(|(index, tier)| {
                let fold = self.tiers.get(&index);
                TierView {
                    number: usize::try_from(index).unwrap_or(usize::MAX).saturating_add(1),
                    tier: tier.clone(),
                    state: fold.map_or(TierState::NotReached, |fold| state(index, fold, reached, ending)),
                    exit: fold.and_then(|fold| fold.exit),
                    reason: fold.and_then(|fold| fold.reason.clone()),
                    iterations: fold.map_or(0, |fold| fold.begun),
                    cost: self.settled.values().filter(|(tier, _)| *tier == index).map(|&(_, cost)| cost).sum(),
                    attempts: fold.map(|fold| fold.attempts.values().cloned().collect()).unwrap_or_default(),
                }
            })
            .collect()
    }
}

/// What became of a tier that was begun: its own end, overruled by how the run ended where the run stood in it.
fn state(index: u32, fold: &TierFold, last: Option<u32>, ending: &Ending) -> TierState {
    let outcome = ending.outcome();
    if last == Some(index) {
        match outcome {
            Some(Outcome::Fixed { tier_index, .. }) if *tier_index == index => return TierState::Solved,
            Some(Outcome::Parked) => return TierState::Parked,
            Some(Outcome::Interrupted { .. }) => return TierState::Interrupted,
            _ => {}
        }
    }
    match (fold.exit, outcome) {
        (Some(exit), _) => state_of_exit(exit),
        (None, Some(Outcome::Budget)) => TierState::BudgetLimit,
        (None, Some(Outcome::Blocked { .. })) => TierState::Blocked,
        (None, Some(Outcome::Stalled)) => TierState::Stalled,
        (None, Some(Outcome::Objected)) => TierState::Rejected,
        (None, Some(Outcome::NoModel)) => TierState::NoModel,
        (None, Some(_)) => TierState::Failed,
        (None, None) if *ending == Ending::Running => TierState::Running,
        (None, None) => TierState::Interrupted,
    }
}

fn state_of_exit(exit: TierExit) -> TierState {
    match exit {
        TierExit::Success => TierState::Solved,
        TierExit::IterationsExhausted => TierState::Failed,
        TierExit::BudgetExhausted => TierState::BudgetLimit,
        TierExit::ProviderError => TierState::NoModel,
        TierExit::EntropyDetected | TierExit::NoProgress => TierState::Stalled,
        TierExit::Blocked => TierState::Blocked,
        TierExit::Objected => TierState::Rejected,
        TierExit::Interrupted => TierState::Interrupted,
    }
}

fn recent_errors(attempts: &[&Attempt]) -> Vec<String> {
    let mut recent: Vec<String> = Vec::new();
    for attempt in attempts.iter().rev().filter(|attempt| attempt.test_status != AttemptStatus::Passed) {
        for message in &attempt.error_messages {
            if recent.len() < RECENT_ERRORS && !recent.contains(message) {
                recent.push(message.clone());
            }
        }
    }
    recent
}

#[cfg(test)]
mod tests;
