//! The way of a run into its audit log.
//!
//! Invariant: a decision is recorded with the state that follows from it, in one transaction ([`Recorder::record`]). An event that is only
//! told is no decision ([`Recorder::emit`]).

use super::context::Context;
use super::portable::Portable;
use super::state::RunState;
use crate::audit::{Journal, Scope, Snapshot};
use crate::config::PULL_REQUEST;
use crate::domain::budget::Spent;
use crate::domain::event::Event;
use crate::domain::leftover::Leftover;
use crate::domain::proof::is_witnessed;
use crate::domain::units::{Charge, MicroUsd, RunId};

/// The open log of a run, and what was found out and is yet to be told.
#[derive(Debug)]
pub(super) struct Recorder<'j> {
    /// The log.
    pub(super) journal: &'j mut Journal,
    /// Removed files that tools run unasked, yet to be said.
    pub(super) swept: Vec<Leftover>,
    /// The part of the trees that is in the log.
    pub(super) portable: Portable,
    run: RunId,
}

impl<'j> Recorder<'j> {
    /// A recorder for the run of a saved state.
    pub(super) fn new(journal: &'j mut Journal, state: &RunState) -> Self {
        let portable = Portable::of(journal, &state.run_id);
        Self { journal, swept: state.swept.clone(), portable, run: state.run_id.clone() }
    }

    /// Makes events and the state that follows from them durable, in one transaction, with the trees that it builds on.
    pub(super) fn record(&mut self, context: &Context<'_>, events: &[Event], state: RunState) {
        let state = RunState { active_ms: context.active_ms(), swept: self.swept.clone(), ..state };
        let (trees, withheld) = self.portable.take(&context.world.workspace, &state);
        let events: Vec<Event> = withheld.into_iter().chain(events.iter().cloned()).collect();
        let state = serde_json::to_string(&state).unwrap_or_default();
        self.journal.record_with(&trees, &events, Some(&state));
    }

    /// Tells what nothing follows from.
    pub(super) fn emit(&mut self, event: &Event) {
        self.journal.emit(event);
    }

    /// Warns a person.
    pub(super) fn warn(&mut self, message: String) {
        self.emit(&Event::Warning { message });
    }

    /// Keeps a text for whoever looks into the run.
    pub(super) fn keep(&mut self, snapshot: &Snapshot<'_>) {
        self.journal.save_snapshot(snapshot);
    }

    /// A text that was kept. `None` where there is none, or the log cannot be read.
    pub(super) fn kept(&self, kind: &str, under: &str) -> Option<String> {
        self.journal.store().load_snapshot(&self.run, kind, under).ok().flatten()
    }

    /// The part of the budget that is used after so many iterations.
    pub(super) fn spent(&self, context: &Context<'_>, iterations: u32) -> Spent {
        Spent { cost: self.cost(), unknown_cost: self.charge().unknown, iterations, active_ms: context.active_ms() }
    }

    /// The sum of the receipts of the run.
    fn cost(&self) -> MicroUsd {
        self.journal.store().spent(&Scope::Run(self.run.clone()))
    }

    /// The same, parted into what is known and what is not.
    pub(super) fn charge(&self) -> Charge {
        self.journal.store().charge(&self.run, None)
    }

    /// The text for a pull request that a model wrote about the last proven change.
    pub(super) fn text_for_reviewers(&self) -> Option<String> {
        let told = |event: &Event| if let Event::HandedOff { blocks } = event { Some(blocks.clone()) } else { None };
        let blocks = self.journal.events().iter().rev().find_map(told)?;
        blocks.into_iter().find(|block| block.given && block.name == PULL_REQUEST).map(|block| block.said)
    }

    /// The run's events so far.
    pub(super) fn events(&self) -> &[Event] {
        self.journal.events()
    }

    /// Whether an experiment has shown of the last green that its tests can still fail.
    pub(super) fn is_proven(&self) -> bool {
        let events = self.journal.events().iter().rev();
        let mut proofs = events
            .filter_map(|event| if let Event::EvidenceGathered { proof, .. } = event { Some(proof) } else { None });
        // Only the last: an earlier one was of another tree.
        proofs.next().is_some_and(|proof| is_witnessed(proof))
    }

    /// The sum of the receipts of one iteration, lost calls included.
    pub(super) fn iteration_charge(&self, tier_index: u32, iteration: u32) -> Charge {
        self.journal.store().charge(&self.run, Some((tier_index, iteration)))
    }
}
