//! Where events and money go: the store first, then everyone who listens.
//!
//! Invariant: an event that a listener hears is durable already and without secrets, so log, terminal and report cannot disagree (DESIGN
//! §3). Told events are kept, too: a report is made of them, also where the database could not be written in the end.

use std::collections::BTreeSet;

use super::store::recorded;
use super::{CallReservation, Cap, Refused, Snapshot, Store};
use crate::domain::chat::Reply;
use crate::domain::event::{Event, EventSink};
use crate::domain::receipt::Receipt;
use crate::domain::tree_patch::RecordedTree;
use crate::domain::units::MicroUsd;

/// The one object through which a run records what happens.
#[derive(Debug)]
pub struct Journal {
    store: Store,
    listeners: Vec<Box<dyn EventSink>>,
    events: Vec<Event>,
    /// Models whose vendor billed more for a call than it could cost.
    overbilled: BTreeSet<String>,
}

impl Journal {
    /// A journal over an open store.
    #[must_use]
    pub fn new(store: Store, listeners: Vec<Box<dyn EventSink>>) -> Self {
        Self { store, listeners, events: Vec::new(), overbilled: BTreeSet::new() }
    }

    /// Takes what happened in the run before this process worked on it.
    pub fn remember(&mut self, past: &[Event]) {
        self.events.extend_from_slice(past);
    }

    /// The run's events so far, without secrets.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Adds a listener, which hears all later events.
    pub fn listen(&mut self, listener: Box<dyn EventSink>) {
        self.listeners.push(listener);
    }

    /// Tells the listeners of an event that the store has recorded by itself (`begin_run`, `continue_run`).
    pub fn tell(&mut self, event: &Event) {
        let Self { store, listeners, events, .. } = self;
        let masked = store.masked(event);
        // The time goes first, as a listener needs it with the event.
        for listener in listeners.iter_mut() {
            if let Some(at) = store.recorded_at() {
                listener.recorded(at);
            }
            listener.emit(&masked);
        }
        if let Some(head) = store.chain_head() {
            listeners.iter_mut().for_each(|listener| listener.chained(head));
        }
        events.push(masked.into_owned());
    }

    /// Makes one event durable, then tells it.
    pub fn emit(&mut self, event: &Event) {
        // First the log, so that nobody acts on what a kill could undo.
        self.store.append(event, None);
        self.tell(event);
    }

    /// Makes the events of one decision durable together, with the lifecycle's serialised state, then tells them.
    pub fn record(&mut self, events: &[Event], state: Option<&str>) {
        self.record_with(&[], events, state);
    }

    /// As [`Self::record`], with trees that the state builds on.
    pub fn record_with(&mut self, trees: &[RecordedTree], events: &[Event], state: Option<&str>) {
        self.store.append_with(trees, events, state);
        for event in trees.iter().map(recorded).chain(events.iter().cloned()) {
            self.tell(&event);
        }
    }

    /// Sets aside the worst case of a call. See [`Store::reserve`].
    ///
    /// # Errors
    /// The cap that the call could pass. Nothing is recorded or told then.
    pub fn reserve(&mut self, call: &CallReservation, caps: &[Cap]) -> Result<(), Refused> {
        self.store.reserve(call, caps)?;
        self.tell(&call.event());
        Ok(())
    }

    /// Settles a reservation. See [`Store::settle`].
    pub fn settle(&mut self, receipt: &Receipt, reply: Option<&Reply>) {
        self.store.settle(receipt, reply);
        self.tell(&Event::CallSettled(receipt.clone()));
        // Of what nobody set aside for, nothing was expected.
        let is_more = receipt.reserved > MicroUsd::ZERO && receipt.cost > receipt.reserved;
        if is_more && self.overbilled.insert(receipt.target.to_string()) {
            self.emit(&Event::Warning { message: overbilled(receipt) });
        }
    }

    /// Lets no write wait for another program any longer. See [`Store::hasten`].
    pub fn hasten(&mut self) {
        self.store.hasten();
    }

    /// Keeps a snapshot. See [`Store::save_snapshot`].
    pub fn save_snapshot(&mut self, snapshot: &Snapshot<'_>) {
        self.store.save_snapshot(snapshot);
    }

    /// The store, to read from.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Puts the log in order before the report is made, and tells how it stands: the report says so. What is told of the log is not recorded
    /// in it. See [`Store::settle_up`].
    pub fn settle_up(&mut self) -> u64 {
        let standing = self.store.settle_up();
        for message in standing.warnings {
            self.tell(&Event::Warning { message });
        }
        self.listeners.iter_mut().for_each(|listener| listener.lacks(standing.lacks));
        standing.lacks
    }

    /// Closes the store. See [`Store::close`]. Returns its last warnings.
    pub fn close(self) -> Vec<String> {
        self.store.close()
    }
}

/// Nothing holds a vendor to what was set aside, so a cap can be passed by as much.
fn overbilled(receipt: &Receipt) -> String {
    let Receipt { target, cost, reserved, .. } = receipt;
    format!(
        "{target}: a call was billed at {}, and could cost {} by the prices and the limit of the reply that upshift knows: caps may be passed by as much. \
         Look at its prices and maxOutputTokens under `models`, or at the endpoint",
        cost.at_most(),
        reserved.at_most()
    )
}
