//! The phases of a run, each owning what it may change, and the step from one to the next.

use std::ops::ControlFlow;

use super::climb::Climb;
use super::context::{Charter, LifecycleError};
use super::measured::{Measuring, Origin, TestSetup};
use super::state::{Fix, Hold, Phase, RunState, Wait};
use crate::domain::account::Limited;
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::units::TreeId;

/// A run that is not over.
#[derive(Debug)]
pub(super) enum Stage {
    /// It is found out what fails.
    Measuring(Box<Measuring>),
    /// An iteration is to begin.
    Ready(Box<Climb>),
    /// An iteration is under way.
    Iterating(Box<Climb>),
    /// A green tree is on its way out.
    Delivering(Box<Delivering>),
    /// Something outside is in the way of the work.
    Held(Box<Held>),
    /// It is decided how the run ends.
    Ending(Box<Ending>),
}

/// A run whose last tree is green.
#[derive(Debug)]
pub(super) struct Delivering {
    /// The climb that led to it. This phase changes its `delivered`.
    pub(super) climb: Climb,
    /// The next leg.
    pub(super) leg: Leg,
}

/// A run that something outside keeps from its work.
#[derive(Debug)]
pub(super) struct Held {
    /// How far it came.
    pub(super) climb: Climb,
    /// The blockers in the way.
    pub(super) hold: Hold,
}

/// The way of a green tree out.
#[derive(Debug, Clone)]
pub(super) enum Leg {
    /// It is to be pushed.
    Publish(Fix),
    /// Somebody pushed meanwhile: it is to be judged on top of that.
    Rebase(Fix),
    /// A pull request is to propose it.
    Propose(Fix),
    /// The outside is to say what it thinks of it.
    Wait(Wait),
}

impl Leg {
    /// The saved form.
    pub(super) fn phase(self) -> Phase {
        match self {
            Self::Publish(fix) => Phase::Publishing { fix },
            Self::Rebase(fix) => Phase::Rebasing { fix },
            Self::Propose(fix) => Phase::Proposing { fix },
            Self::Wait(wait) => Phase::Waiting { wait },
        }
    }
}

/// A run of which it is decided how it ends. Only the files are yet to be put in order: nothing of it changes any more.
#[derive(Debug)]
pub(super) struct Ending {
    /// How far it came.
    pub(super) reached: Reached,
    /// How it ends.
    pub(super) outcome: Outcome,
    /// Why, in words.
    pub(super) stop_reason: String,
    /// The rate limit that a parked run waits for.
    pub(super) limited: Option<Limited>,
    /// Where a resume takes it up again.
    pub(super) resume_at: Option<Phase>,
}

/// How far a run came.
#[derive(Debug)]
pub(super) enum Reached {
    /// It has no baseline.
    Measuring(Box<Measuring>),
    /// It has.
    Climb(Box<Climb>),
}

impl Ending {
    /// The tree as the user had it, where it was recorded.
    pub(super) fn origin(&self) -> Option<&Origin> {
        match &self.reached {
            Reached::Measuring(measuring) => measuring.origin.as_ref(),
            Reached::Climb(climb) => Some(&climb.measured.origin),
        }
    }

    /// The climb, if there was one.
    pub(super) fn climb(&self) -> Option<&Climb> {
        match &self.reached {
            Reached::Measuring(_) => None,
            Reached::Climb(climb) => Some(climb),
        }
    }

    /// The first and the last tree of a run that mended something.
    pub(super) fn change(&self) -> Option<(TreeId, TreeId)> {
        let climb = self.climb()?;
        Some((climb.start().clone(), climb.trees.current.tree.clone()))
    }

    /// The saved form, as it is in a phase.
    pub(super) fn saved(&self, charter: &Charter, phase: Phase) -> RunState {
        let state = match &self.reached {
            Reached::Measuring(measuring) => measuring.saved(charter, phase),
            Reached::Climb(climb) => climb.saved(charter, phase),
        };
        RunState { limited: self.limited.clone(), resume_at: self.resume_at.clone().map(Box::new), ..state }
    }
}

impl Stage {
    /// Whether what follows is done with the files, in a checkout that is ready for it.
    pub(super) fn works_with_files(&self) -> bool {
        match self {
            Self::Ready(_) | Self::Iterating(_) => true,
            // A push takes the recorded tree. Only judging once more needs the files.
            Self::Delivering(delivering) => matches!(delivering.leg, Leg::Rebase(_)),
            Self::Measuring(_) | Self::Held(_) | Self::Ending(_) => false,
        }
    }

    /// A run that something is in the way of.
    pub(super) fn held(climb: Climb, hold: Hold) -> Self {
        Self::Held(Box::new(Held { climb, hold }))
    }

    /// The tree as the user had it, where it was recorded.
    pub(super) fn start(&self) -> Option<&TreeId> {
        match self {
            Self::Measuring(measuring) => measuring.origin.as_ref().map(|origin| &origin.tree),
            Self::Ready(climb) | Self::Iterating(climb) => Some(climb.start()),
            Self::Delivering(delivering) => Some(delivering.climb.start()),
            Self::Held(held) => Some(held.climb.start()),
            Self::Ending(ending) => ending.origin().map(|origin| &origin.tree),
        }
    }

    /// The stage that a saved state tells of, or how its run ended.
    ///
    /// # Errors
    /// [`LifecycleError::State`] when the state lacks what its phase builds on.
    pub(super) fn of(setup: &TestSetup, state: &RunState) -> Result<ControlFlow<Outcome, Self>, LifecycleError> {
        let climb = || {
            let climb = Climb::of(setup, state);
            climb.ok_or_else(|| LifecycleError::State("there is no baseline".to_owned()))
        };
        let delivering = |leg| Ok::<_, LifecycleError>(Self::Delivering(Box::new(Delivering { climb: climb()?, leg })));
        Ok(ControlFlow::Continue(match state.phase.clone() {
            Phase::Baseline => Self::Measuring(Box::new(Measuring::of(setup, state))),
            Phase::Ready => Self::Ready(Box::new(climb()?)),
            Phase::Iterating => Self::Iterating(Box::new(climb()?)),
            Phase::Publishing { fix } => delivering(Leg::Publish(fix))?,
            Phase::Rebasing { fix } => delivering(Leg::Rebase(fix))?,
            Phase::Proposing { fix } => delivering(Leg::Propose(fix))?,
            Phase::Waiting { wait } => delivering(Leg::Wait(wait))?,
            Phase::Held { hold } => Self::held(climb()?, hold),
            Phase::Ending { outcome, stop_reason } => {
                // A run that ends before its baseline is over has no climb.
                let climb = Climb::of(setup, state).map(Reached::from);
                let reached = climb.unwrap_or_else(|| Reached::from(Measuring::of(setup, state)));
                let (limited, resume_at) = (state.limited.clone(), state.resume_at.as_deref().cloned());
                Self::Ending(Box::new(Ending { reached, outcome, stop_reason, limited, resume_at }))
            }
            Phase::Ended { outcome } => return Ok(ControlFlow::Break(outcome)),
        }))
    }

    /// The saved form.
    pub(super) fn saved(&self, charter: &Charter) -> RunState {
        match self {
            Self::Measuring(measuring) => measuring.saved(charter, Phase::Baseline),
            Self::Ready(climb) => climb.saved(charter, Phase::Ready),
            Self::Iterating(climb) => climb.saved(charter, Phase::Iterating),
            Self::Delivering(delivering) => delivering.climb.saved(charter, delivering.leg.clone().phase()),
            Self::Held(held) => held.climb.saved(charter, Phase::Held { hold: held.hold.clone() }),
            Self::Ending(ending) => {
                let Ending { outcome, stop_reason, .. } = &**ending;
                ending.saved(charter, Phase::Ending { outcome: outcome.clone(), stop_reason: stop_reason.clone() })
            }
        }
    }
}

/// The decision of a phase: the stage that follows, and what happened on the way. Both are recorded in one transaction before the stage is
/// acted on.
#[derive(Debug)]
pub(super) struct Next {
    /// The stage that follows.
    pub(super) stage: Stage,
    /// The events that happened.
    pub(super) events: Vec<Event>,
    /// The facts that a fresh agent would need to know at the breakpoint that is reached: its key and a JSON document.
    pub(super) breakpoint: Option<(String, String)>,
}

impl Next {
    /// Another stage, with nothing to keep.
    pub(super) fn to(stage: Stage, events: Vec<Event>) -> Self {
        Self { stage, events, breakpoint: None }
    }

    /// The baseline once more.
    pub(super) fn measure_again(measuring: Measuring, events: Vec<Event>) -> Self {
        Self::to(Stage::Measuring(Box::new(measuring)), events)
    }

    /// The next iteration.
    pub(super) fn ready(climb: Climb, events: Vec<Event>) -> Self {
        Self::to(Stage::Ready(Box::new(climb)), events)
    }

    /// An iteration that has begun.
    pub(super) fn iterating(climb: Climb, events: Vec<Event>) -> Self {
        Self::to(Stage::Iterating(Box::new(climb)), events)
    }

    /// A leg of the way out.
    pub(super) fn deliver(climb: Climb, leg: Leg, events: Vec<Event>) -> Self {
        Self::to(Stage::Delivering(Box::new(Delivering { climb, leg })), events)
    }

    /// The end of the run.
    pub(super) fn end(reached: impl Into<Reached>, outcome: Outcome, stop_reason: String, events: Vec<Event>) -> Self {
        Self::ending(Ending { reached: reached.into(), outcome, stop_reason, limited: None, resume_at: None }, events)
    }

    /// An end from which a resume goes on.
    pub(super) fn ending(ending: Ending, events: Vec<Event>) -> Self {
        Self::to(Stage::Ending(Box::new(ending)), events)
    }
}

impl From<Measuring> for Reached {
    fn from(measuring: Measuring) -> Self {
        Self::Measuring(Box::new(measuring))
    }
}

impl From<Climb> for Reached {
    fn from(climb: Climb) -> Self {
        Self::Climb(Box::new(climb))
    }
}

#[cfg(test)]
mod tests;
