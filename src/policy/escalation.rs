//! Escalation: after each iteration, what comes next. The one place that knows when to go up a tier.
//!
//! Invariants (property-tested): every sequence of observations ends; a tier is never entered twice nor left
//! downwards; no tier runs more iterations than its cap; nothing follows a green, approved tree.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::entropy::{Entropy, EntropyState};
use crate::domain::attempt::TierExit;
use crate::domain::ladder::OnEntropy;
use crate::domain::outcome::Outcome;

/// The fixed part: what the configuration says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Each tier's iteration cap, in order; never empty.
    pub tier_caps: Vec<u32>,
    /// What a stalled tier leads to.
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
        }
    }
}

/// What an iteration came to, as far as the ladder cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// The tests are green and nobody objects.
    Green,
    /// The tests are green, but the critic rejects.
    Rejected,
    /// The tests are not green.
    NotGreen {
        /// What failed and how, to be normalised; `None` when nothing was judged.
        signature: Option<String>,
        /// A hash of the whole change so far; `None` when nothing was judged.
        patch: Option<String>,
    },
    /// The model says that a person is needed.
    Blocked {
        /// Its reason.
        reason: String,
    },
    /// No target of a role could be used.
    NoModel,
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

/// What to do next.
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
}

/// A decision, and the stall that was noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub decision: Decision,
    /// Set when the same error was seen often enough.
    pub entropy: Option<Entropy>,
}

/// Takes one ended iteration into account and decides what follows.
///
/// A run's budget stops a run that would go on; it never turns an ended ladder into a budget stop, which is why
/// the caller asks the budget only after [`Decision::Iterate`] and [`Decision::Escalate`].
#[must_use]
pub fn step(rules: &Rules, position: &mut Position, observation: &Observation) -> Step {
    position.iterations += 1;
    let plain = |decision| Step { decision, entropy: None };
    match observation {
        Observation::Green => {
            let outcome = Outcome::Fixed { tier_index: position.tier_index, iteration: position.iterations };
            plain(Decision::End { exit: TierExit::Success, outcome })
        }
        Observation::Interrupted { signal } => {
            plain(Decision::End { exit: TierExit::Interrupted, outcome: Outcome::Interrupted { signal: *signal } })
        }
        Observation::Blocked { reason } => {
            plain(Decision::End { exit: TierExit::Blocked, outcome: Outcome::Blocked { reason: reason.clone() } })
        }
        Observation::RunBudget => plain(Decision::End { exit: TierExit::BudgetExhausted, outcome: Outcome::Budget }),
        Observation::NoModel => plain(leave(rules, position, TierExit::ProviderError, Outcome::NoModel)),
        Observation::TierBudget => plain(leave(rules, position, TierExit::BudgetExhausted, Outcome::Budget)),
        Observation::Rejected => plain(next(rules, position, TierExit::Objected, Outcome::Objected)),
        Observation::NotGreen { signature, patch } => {
            not_green(rules, position, signature.as_deref(), patch.as_deref())
        }
    }
}

/// Takes into account that a fix which was green here was refused outside: red CI, or a reviewer. Its iteration is counted
/// already.
#[must_use]
pub fn refused_outside(rules: &Rules, position: &mut Position, signature: &str) -> Step {
    not_green(rules, position, Some(signature), None)
}

fn not_green(rules: &Rules, position: &mut Position, signature: Option<&str>, patch: Option<&str>) -> Step {
    let repeated = patch.is_some_and(|patch| !position.patches.insert(patch.to_owned()));
    let entropy = signature.and_then(|signature| position.entropy.observe(signature));
    let stall = match rules.on_entropy {
        OnEntropy::Continue => None,
        OnEntropy::Escalate | OnEntropy::Halt if repeated => Some(TierExit::NoProgress),
        OnEntropy::Escalate | OnEntropy::Halt => entropy.as_ref().map(|_| TierExit::EntropyDetected),
    };
    let exhausted = position.iterations >= cap(rules, position);
    let decision = match (stall, rules.on_entropy) {
        (Some(exit), OnEntropy::Halt) => Decision::End { exit, outcome: Outcome::Stalled },
        // A cap reached in the same iteration says more than the stall: the tier had its full budget.
        (Some(exit), _) if !exhausted => leave(rules, position, exit, Outcome::Stalled),
        (_, _) => next(rules, position, TierExit::IterationsExhausted, Outcome::Exhausted),
    };
    Step { decision, entropy }
}

/// Another iteration if the tier has one left, else out of the tier.
fn next(rules: &Rules, position: &mut Position, exit: TierExit, at_the_end: Outcome) -> Decision {
    if position.iterations < cap(rules, position) {
        return Decision::Iterate;
    }
    leave(rules, position, exit, at_the_end)
}

/// Out of the tier: up if there is a tier above, else the end.
fn leave(rules: &Rules, position: &mut Position, exit: TierExit, at_the_end: Outcome) -> Decision {
    let above = position.tier_index + 1;
    if usize::try_from(above).is_ok_and(|above| above < rules.tier_caps.len()) {
        *position = Position::at(above, rules);
        Decision::Escalate { exit }
    } else {
        Decision::End { exit, outcome: at_the_end }
    }
}

fn cap(rules: &Rules, position: &Position) -> u32 {
    let index = usize::try_from(position.tier_index).unwrap_or(usize::MAX);
    rules.tier_caps.get(index).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(caps: &[u32], on_entropy: OnEntropy) -> Rules {
        Rules { tier_caps: caps.to_vec(), on_entropy, entropy_threshold: 3 }
    }

    fn red(signature: &str, patch: &str) -> Observation {
        Observation::NotGreen { signature: Some(signature.to_owned()), patch: Some(patch.to_owned()) }
    }

    #[test]
    fn a_tier_uses_its_iterations_and_then_the_next_takes_over() {
        let rules = rules(&[2, 1], OnEntropy::Escalate);
        let mut position = Position::at(0, &rules);
        assert_eq!(step(&rules, &mut position, &red("a", "1")).decision, Decision::Iterate);
        let exit = TierExit::IterationsExhausted;
        assert_eq!(step(&rules, &mut position, &red("b", "2")).decision, Decision::Escalate { exit });
        let end = Decision::End { exit, outcome: Outcome::Exhausted };
        assert_eq!(step(&rules, &mut position, &red("c", "3")).decision, end);
    }

    #[test]
    fn the_same_patch_twice_ends_the_tier_at_once() {
        let rules = rules(&[9, 9], OnEntropy::Escalate);
        let mut position = Position::at(0, &rules);
        assert_eq!(step(&rules, &mut position, &red("a", "1")).decision, Decision::Iterate);
        assert_eq!(step(&rules, &mut position, &red("b", "2")).decision, Decision::Iterate);
        let decision = step(&rules, &mut position, &red("c", "1")).decision;
        assert_eq!(decision, Decision::Escalate { exit: TierExit::NoProgress });
    }

    #[test]
    fn the_same_error_three_times_ends_the_tier() {
        let rules = rules(&[9], OnEntropy::Escalate);
        let mut position = Position::at(0, &rules);
        for patch in ["1", "2"] {
            assert_eq!(step(&rules, &mut position, &red("at 7", patch)).decision, Decision::Iterate);
        }
        let last = step(&rules, &mut position, &red("at  8", "3"));
        let end = Decision::End { exit: TierExit::EntropyDetected, outcome: Outcome::Stalled };
        assert_eq!(last.decision, end);
        assert_eq!(last.entropy.map(|entropy| entropy.count), Some(3));
    }

    #[test]
    fn continue_turns_both_detectors_off_and_halt_ends_the_run() {
        let keep_on = rules(&[5, 1], OnEntropy::Continue);
        let mut position = Position::at(0, &keep_on);
        for _ in 0..4 {
            assert_eq!(step(&keep_on, &mut position, &red("a", "1")).decision, Decision::Iterate);
        }
        let halt = rules(&[5, 1], OnEntropy::Halt);
        let mut position = Position::at(0, &halt);
        assert_eq!(step(&halt, &mut position, &red("a", "1")).decision, Decision::Iterate);
        let end = Decision::End { exit: TierExit::NoProgress, outcome: Outcome::Stalled };
        assert_eq!(step(&halt, &mut position, &red("a", "1")).decision, end);
    }

    #[test]
    fn a_provider_that_fails_ends_its_tier_and_on_the_last_the_run() {
        let rules = rules(&[5, 5], OnEntropy::Escalate);
        let mut position = Position::at(0, &rules);
        let exit = TierExit::ProviderError;
        assert_eq!(step(&rules, &mut position, &Observation::NoModel).decision, Decision::Escalate { exit });
        let end = Decision::End { exit, outcome: Outcome::NoModel };
        assert_eq!(step(&rules, &mut position, &Observation::NoModel).decision, end);
    }

    #[test]
    fn green_with_an_objection_is_not_a_success() {
        let rules = rules(&[2], OnEntropy::Escalate);
        let mut position = Position::at(0, &rules);
        assert_eq!(step(&rules, &mut position, &Observation::Rejected).decision, Decision::Iterate);
        let end = Decision::End { exit: TierExit::Objected, outcome: Outcome::Objected };
        assert_eq!(step(&rules, &mut position, &Observation::Rejected).decision, end);
    }

    fn observation() -> impl Strategy<Value = Observation> {
        prop_oneof![
            1 => Just(Observation::Green),
            2 => Just(Observation::Rejected),
            8 => ("[ab]", "[a-f]").prop_map(|(signature, patch)| Observation::NotGreen {
                signature: Some(signature),
                patch: Some(patch)
            }),
            2 => Just(Observation::NotGreen { signature: None, patch: None }),
            1 => Just(Observation::NoModel),
            1 => Just(Observation::TierBudget),
            1 => Just(Observation::RunBudget),
        ]
    }

    proptest! {
        #[test]
        fn every_run_ends_and_never_goes_down(
            caps in proptest::collection::vec(1_u32..6, 1..5),
            observations in proptest::collection::vec(observation(), 40),
            policy in prop_oneof![Just(OnEntropy::Escalate), Just(OnEntropy::Continue), Just(OnEntropy::Halt)],
        ) {
            let rules = rules(&caps, policy);
            let mut position = Position::at(0, &rules);
            let (mut tier, mut ran, mut ended) = (0, 0, false);
            for seen in &observations {
                ran += 1;
                prop_assert!(ran <= caps[tier]);
                match step(&rules, &mut position, seen).decision {
                    Decision::Iterate => prop_assert!(!matches!(seen, Observation::Green)),
                    Decision::Escalate { .. } => {
                        tier += 1;
                        ran = 0;
                        prop_assert_eq!(position.tier_index as usize, tier);
                    }
                    Decision::End { .. } => { ended = true; break; }
                }
            }
            prop_assert!(ended, "forty observations outlast four tiers of five");
        }
    }
}
