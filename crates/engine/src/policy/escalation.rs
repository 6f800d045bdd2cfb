//! Escalation: after each iteration, what comes next. The one place that knows when to go up a tier.
//!
//! Invariants (property-tested): every sequence of observations ends, a tier is never entered twice nor left downwards, no tier runs more
//! iterations than its cap, and nothing follows a green, approved tree. A tier that is limited or down is never entered because another one
//! was limited or down, and a refused one is never entered.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::entropy::{Entropy, EntropyState};
use super::rotation::GiveUp;
use super::standing::Readiness;
use crate::domain::attempt::TierExit;
use crate::domain::ladder::OnEntropy;
use crate::domain::outcome::Outcome;

/// The fixed part: what the configuration says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Each tier's iteration cap, in order. Never empty.
    pub tier_caps: Vec<u32>,
    /// The consequence of a stalled tier.
    pub on_entropy: OnEntropy,
    /// The same error this often in a row is a stall.
    pub entropy_threshold: u32,
}

/// The moving part: where on the ladder the run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Zero-based tier.
    pub tier_index: u32,
    /// Iterations that ended in this tier.
    pub iterations: u32,
    /// Repeated errors, counted per tier (contradiction 7).
    pub entropy: EntropyState,
    /// Patches already seen in this tier.
    pub patches: BTreeSet<String>,
    /// Whether a tier below said that a person is needed.
    #[serde(default)]
    pub was_blocked: bool,
}

impl Position {
    /// The foot of a tier.
    #[must_use]
    pub fn at(tier_index: u32, rules: &Rules) -> Self {
        Self {
            tier_index,
            iterations: 0,
            entropy: EntropyState::new(rules.entropy_threshold),
            patches: BTreeSet::new(),
            was_blocked: false,
        }
    }
}

/// The result of an iteration, as far as the ladder cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// The tests are green and nobody objects.
    Green,
    /// The tests are green, but the critic rejects.
    Rejected,
    /// The tests are not green.
    NotGreen {
        /// The failure and its words, to be normalised. `None` when nothing was judged.
        signature: Option<String>,
        /// A hash of the whole change so far. `None` when nothing was judged.
        patch: Option<String>,
        /// Whether it is further than every tree before it.
        progress: bool,
    },
    /// The model says that a person is needed.
    Blocked {
        /// Its reason.
        reason: String,
    },
    /// No target of a role could be used.
    NoModel {
        /// Why not.
        why: GiveUp,
    },
    /// The tier's own cost cap is reached.
    TierBudget,
    /// A cap of the run is reached.
    RunBudget,
    /// A signal.
    Interrupted {
        /// Its number.
        signal: i32,
    },
}

/// The next step of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Another iteration in the same tier.
    Iterate,
    /// On to the next tier.
    Escalate {
        /// Why this tier ended.
        exit: TierExit,
    },
    /// The run ends.
    End {
        /// Why this tier ended.
        exit: TierExit,
        /// How the run ends.
        outcome: Outcome,
    },
    /// The run leaves the runner in the middle of this iteration, and goes on with it when the limit is over.
    Park,
}

/// A decision, and the stall that was noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The next step.
    pub decision: Decision,
    /// Set when the same error was seen often enough.
    pub entropy: Option<Entropy>,
}

/// Takes one ended iteration into account and decides what follows. `above` tells of each tier above whether it can be entered.
///
/// A run's budget stops a run that would go on. It never turns an ended ladder into a budget stop, which is why the caller asks the budget
/// only after [`Decision::Iterate`] and [`Decision::Escalate`].
#[must_use]
pub fn step(rules: &Rules, position: &mut Position, observation: &Observation, above: &[Readiness]) -> Step {
    let plain = |decision| Step { decision, entropy: None };
    // Before the iteration is counted: a parked one has not ended, and goes on when the run is continued.
    if matches!(observation, Observation::NoModel { why: GiveUp::Limited }) && !above.contains(&Readiness::Ready) {
        return plain(Decision::Park);
    }
    position.iterations += 1;
    match observation {
        Observation::Green => {
            let outcome = Outcome::Fixed { tier_index: position.tier_index, iteration: position.iterations };
            plain(Decision::End { exit: TierExit::Success, outcome })
        }
        Observation::Interrupted { signal } => {
            plain(Decision::End { exit: TierExit::Interrupted, outcome: Outcome::Interrupted { signal: *signal } })
        }
        Observation::Blocked { reason } => {
            let outcome = Outcome::Blocked { reason: reason.clone() };
            plain(blocked(rules, position, outcome, &after_work(above)))
        }
        Observation::RunBudget => plain(Decision::End { exit: TierExit::BudgetExhausted, outcome: Outcome::Budget }),
        Observation::NoModel { why } => {
            plain(leave(rules, position, TierExit::ProviderError, Outcome::NoModel, &after_trouble(*why, above)))
        }
        Observation::TierBudget => {
            plain(leave(rules, position, TierExit::BudgetExhausted, Outcome::Budget, &after_work(above)))
        }
        Observation::Rejected => {
            plain(next(rules, position, TierExit::Objected, Outcome::Objected, &after_work(above)))
        }
        Observation::NotGreen { signature, patch, progress } => {
            // Reset before the error is counted, so that the tree which got further begins a new row.
            if *progress {
                position.entropy.reset();
            }
            not_green(rules, position, signature.as_deref(), patch.as_deref(), above)
        }
    }
}

/// Takes into account that a fix which was green here was refused outside: red CI, or a reviewer. Its iteration is counted
/// already.
#[must_use]
pub fn refused_outside(rules: &Rules, position: &mut Position, signature: &str, above: &[Readiness]) -> Step {
    not_green(rules, position, Some(signature), None, above)
}

/// How tiers above count for one that no model could be used in: an outage is not met by another one, since waiting was tried.
fn after_trouble(why: GiveUp, above: &[Readiness]) -> Vec<Readiness> {
    let counts = |readiness: &Readiness| match (why, readiness) {
        (GiveUp::Unreachable, Readiness::Down) => Readiness::Refused,
        (_, other) => *other,
    };
    above.iter().map(counts).collect()
}

/// How they count for one that did its work: trouble that was met on the way may well be over, and is waited for there.
#[must_use]
pub fn after_work(above: &[Readiness]) -> Vec<Readiness> {
    let counts = |readiness: &Readiness| match readiness {
        Readiness::Ready | Readiness::Pausing | Readiness::Down => Readiness::Ready,
        other @ (Readiness::Limited | Readiness::Refused) => *other,
    };
    above.iter().map(counts).collect()
}

fn not_green(
    rules: &Rules,
    position: &mut Position,
    signature: Option<&str>,
    patch: Option<&str>,
    above: &[Readiness],
) -> Step {
    let above = &after_work(above);
    // Inserted in any case, also where stalls have no consequence: the position is saved and must tell what was seen.
    let repeated = patch.is_some_and(|patch| !position.patches.insert(patch.to_owned()));
    let entropy = signature.and_then(|signature| position.entropy.observe(signature));
    let stall = match rules.on_entropy {
        // The stall is still told in the step, it only has no consequence.
        OnEntropy::Continue => None,
        OnEntropy::Escalate | OnEntropy::Halt if repeated => Some(TierExit::NoProgress),
        OnEntropy::Escalate | OnEntropy::Halt => entropy.as_ref().map(|_| TierExit::EntropyDetected),
    };
    let exhausted = position.iterations >= cap(rules, position);
    let decision = match (stall, rules.on_entropy) {
        (Some(exit), OnEntropy::Halt) => Decision::End { exit, outcome: Outcome::Stalled },
        // A cap reached in the same iteration says more than the stall: the tier had its full budget.
        (Some(exit), _) if !exhausted => leave(rules, position, exit, Outcome::Stalled, above),
        (_, _) => next(rules, position, TierExit::IterationsExhausted, Outcome::Exhausted, above),
    };
    Step { decision, entropy }
}

/// Another iteration if the tier has one left, else out of the tier.
fn next(rules: &Rules, position: &mut Position, exit: TierExit, at_the_end: Outcome, above: &[Readiness]) -> Decision {
    if position.iterations < cap(rules, position) {
        return Decision::Iterate;
    }
    leave(rules, position, exit, at_the_end, above)
}

/// A cheap model may only have given up: a tier above is asked for its opinion, and believed.
fn blocked(rules: &Rules, position: &mut Position, outcome: Outcome, above: &[Readiness]) -> Decision {
    // Two tiers agree by now, so that one opinion more would only cost.
    if position.was_blocked {
        return Decision::End { exit: TierExit::Blocked, outcome };
    }
    let decision = leave(rules, position, TierExit::Blocked, outcome, above);
    position.was_blocked = true;
    decision
}

/// Out of the tier: up if a tier above can be entered, else the end.
fn leave(rules: &Rules, position: &mut Position, exit: TierExit, at_the_end: Outcome, above: &[Readiness]) -> Decision {
    match next_tier(rules, position.tier_index, above) {
        Some(tier_index) => {
            *position = Position { was_blocked: position.was_blocked, ..Position::at(tier_index, rules) };
            Decision::Escalate { exit }
        }
        None => Decision::End { exit, outcome: at_the_end },
    }
}

/// The tier that follows: the first that is ready. Without one, the limited tier with the shortest limit, then the first that is down.
/// Tiers that `above` does not tell of count as ready.
#[must_use]
pub fn next_tier(rules: &Rules, tier_index: u32, above: &[Readiness]) -> Option<u32> {
    let ladder = u32::try_from(rules.tier_caps.len()).unwrap_or(u32::MAX);
    // The infinite tail lets `zip` end with the ladder, not with what is known of it.
    let told = above.iter().copied().chain(std::iter::repeat(Readiness::Ready));
    let tiers: Vec<(u32, Readiness)> = (tier_index.saturating_add(1)..ladder).zip(told).collect();
    let first = |wanted| tiers.iter().find(|(_, readiness)| *readiness == wanted).map(|(index, _)| *index);
    [Readiness::Ready, Readiness::Pausing, Readiness::Limited, Readiness::Down].into_iter().find_map(first)
}

fn cap(rules: &Rules, position: &Position) -> u32 {
    let index = usize::try_from(position.tier_index).unwrap_or(usize::MAX);
    // A saved position beyond the ladder leaves at once rather than run without a cap.
    rules.tier_caps.get(index).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
