//! A session's ports to the world.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::outside::OutsideTools;
use crate::audit::{CallReservation, Cap, Journal, Refused, Scope, Snapshot};
use crate::domain::account::Accounts;
use crate::domain::catalogue::{ModelFacts, Price};
use crate::domain::chat::Reply;
use crate::domain::clock::Clock;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::Receipt;
use crate::domain::stop::Stop;
use crate::domain::units::MicroUsd;
use crate::domain::waiting::Waiting;
use crate::model::Providers;
use crate::policy::standing::Standing;
use crate::redact::Redactor;
use crate::workspace::{ToolError, Workspace};

/// The world around a session. May serve many sessions, one after the other.
#[derive(Debug)]
pub struct Ports<'a> {
    /// The endpoints.
    pub providers: &'a Providers,
    /// The facts about the models.
    pub facts: &'a ModelFacts,
    /// Where events and money go.
    pub journal: Book<'a>,
    /// The caps that each call must fit under: the run's, the tier's, ….
    pub caps: Vec<Cap>,
    /// The tools' world.
    pub toolbox: Toolbox<'a>,
    /// Ends everything at once, without a final turn (S1-14 `abort`, `shutdown`).
    pub stop: Stop,
    /// Asks for the final turn next (S1-14 `stop`).
    pub wrap_up: Stop,
    /// Time.
    pub clock: &'a dyn Clock,
    /// Takes secrets out of everything that goes to a model.
    pub redactor: &'a Redactor,
    /// Replies that were paid for before the run was killed.
    pub replay: Replay,
    /// The run's knowledge of its targets.
    pub memory: &'a mut Memory,
}

/// The way to a journal that sessions side by side share. Each borrows it for one act, never over a wait.
#[derive(Debug, Clone, Copy)]
pub struct Book<'a>(&'a (dyn Acts + 'a));

/// The acts of a session on its journal. They hide how long the journal itself is borrowed for, which would tie every port to that time.
trait Acts: fmt::Debug {
    fn emit(&self, event: &Event);
    fn hasten(&self);
    fn save_snapshot(&self, snapshot: &Snapshot<'_>);
    fn reserve(&self, call: &CallReservation, caps: &[Cap]) -> Result<(), Refused>;
    fn settle(&self, receipt: &Receipt, reply: Option<&Reply>);
    fn left(&self, caps: &[Cap]) -> MicroUsd;
    fn tightest(&self, caps: &[Cap]) -> Option<(MicroUsd, Scope)>;
}

impl Acts for RefCell<&mut Journal> {
    fn emit(&self, event: &Event) {
        self.borrow_mut().emit(event);
    }

    fn hasten(&self) {
        self.borrow_mut().hasten();
    }

    fn save_snapshot(&self, snapshot: &Snapshot<'_>) {
        self.borrow_mut().save_snapshot(snapshot);
    }

    fn reserve(&self, call: &CallReservation, caps: &[Cap]) -> Result<(), Refused> {
        self.borrow_mut().reserve(call, caps)
    }

    fn settle(&self, receipt: &Receipt, reply: Option<&Reply>) {
        self.borrow_mut().settle(receipt, reply);
    }

    fn left(&self, caps: &[Cap]) -> MicroUsd {
        self.borrow().store().left(caps)
    }

    fn tightest(&self, caps: &[Cap]) -> Option<(MicroUsd, Scope)> {
        let journal = self.borrow();
        journal.store().tightest(caps).map(|(left, cap)| (left, cap.scope.clone()))
    }
}

impl<'a> Book<'a> {
    /// The way to a journal.
    #[must_use]
    pub fn over<'j: 'a>(journal: &'a RefCell<&'j mut Journal>) -> Self {
        Self(journal)
    }

    /// See [`Journal::emit`].
    pub fn emit(self, event: &Event) {
        self.0.emit(event);
    }

    /// See [`Journal::hasten`].
    pub(super) fn hasten(self) {
        self.0.hasten();
    }

    /// See [`Journal::save_snapshot`].
    pub(super) fn save_snapshot(self, snapshot: &Snapshot<'_>) {
        self.0.save_snapshot(snapshot);
    }

    /// See [`Journal::reserve`].
    pub(super) fn reserve(self, call: &CallReservation, caps: &[Cap]) -> Result<(), Refused> {
        self.0.reserve(call, caps)
    }

    /// See [`Journal::settle`].
    pub(super) fn settle(self, receipt: &Receipt, reply: Option<&Reply>) {
        self.0.settle(receipt, reply);
    }

    /// The least that is left over all caps.
    pub(super) fn left(self, caps: &[Cap]) -> MicroUsd {
        self.0.left(caps)
    }

    /// The cap that has least left, and how much that is. `None` without caps.
    pub(super) fn tightest(self, caps: &[Cap]) -> Option<(MicroUsd, Scope)> {
        self.0.tightest(caps)
    }
}

/// A run's knowledge of its targets. It outlives single sessions.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// The accounts that targets are asked with.
    pub accounts: Accounts,
    /// Which accounts are refused, limited or down.
    pub standing: Standing,
    /// Targets that their key may not use: not asked again.
    pub refused: BTreeSet<ModelId>,
    /// Endpoints that ever answered in this run: their silence is an outage, that of others may be a wrong address.
    pub heard: BTreeSet<String>,
    /// Counts waits for limits and outages, which do not eat the active time.
    pub waiting: Waiting,
    /// How long was waited for them, in milliseconds.
    pub waited_ms: u64,
    /// Targets about whose assumed window or missing provider a person was warned.
    pub warned: BTreeSet<ModelId>,
    /// Targets that the vendor bills at a higher price than the catalogue's, with the most that it may be.
    pub dearer: BTreeMap<ModelId, Price>,
}

impl Memory {
    /// Takes over what a session that was held beside or below found out about targets. Whether an account answers it does not say: the
    /// roles find that out by themselves.
    pub fn learn(&mut self, found: Self) {
        self.refused.extend(found.refused);
        self.heard.extend(found.heard);
        self.warned.extend(found.warned);
        for (target, price) in found.dearer {
            let known = self.dearer.entry(target).or_insert(price);
            *known = known.max_of(price);
        }
    }
}

/// A tool's answer that is on its way.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<String, ToolError>> + 'a>>;

/// Runs the tests with an optional filter and describes the result to the model.
pub type RunTests<'a> = Box<dyn Fn(Option<String>) -> ToolFuture<'a> + 'a>;

/// Runs a command, given as its words, and returns what it printed.
pub type RunCommand<'a> = Box<dyn Fn(Vec<String>) -> ToolFuture<'a> + 'a>;

/// The world of the tools of DESIGN §2.3.
pub struct Toolbox<'a> {
    /// The tree. It is shared, so that searches can run beside the session.
    pub workspace: Arc<Workspace>,
    /// `None` takes `run_tests` away.
    pub run_tests: Option<RunTests<'a>>,
    /// Used only with [`Self::allow_commands`].
    pub run_command: Option<RunCommand<'a>>,
    /// Commands that the artisan may run: each allows itself, and itself with more arguments.
    pub allow_commands: Vec<String>,
    /// External tools, where there are any.
    pub outside: Option<OutsideTools<'a>>,
}

impl fmt::Debug for Toolbox<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox")
            .field("run_tests", &self.run_tests.is_some())
            .field("allow_commands", &self.allow_commands)
            .field("outside", &self.outside)
            .finish_non_exhaustive()
    }
}

/// Replies of an interrupted iteration, consumed in order instead of calling: free of charge, no new receipt.
#[derive(Debug, Default)]
pub struct Replay(VecDeque<(Receipt, Option<Reply>)>);

impl Replay {
    /// Nothing to replay.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The settled calls of an iteration, oldest first, as the store hands them out.
    #[must_use]
    pub fn of(calls: Vec<(Receipt, Option<Reply>)>) -> Self {
        Self(calls.into())
    }

    /// Whether nothing is left of it.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out the replies of one named agent and of those below it, which may stand between those of others that were held beside it.
    #[must_use]
    pub fn of_agent(&mut self, agent: &str) -> Self {
        // `advisor/ab` is not below `advisor/a`.
        let is_own = |of: &str| of.strip_prefix(agent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let (own, rest) =
            std::mem::take(&mut self.0).into_iter().partition(|(receipt, _)| is_own(&receipt.scope.agent));
        self.0 = rest;
        Self(own)
    }

    /// Takes out the replies of all agents below a speaker, by the speaker's path.
    #[must_use]
    pub fn below(&mut self, path: &str) -> Self {
        let is_below = |agent: &str| agent.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let (below, rest) =
            std::mem::take(&mut self.0).into_iter().partition(|(receipt, _)| is_below(&receipt.scope.agent));
        self.0 = rest;
        Self(below)
    }

    /// Takes out the replies of the first session of an agent that is left.
    #[must_use]
    pub fn session_of(&mut self, agent: &str) -> Self {
        let first = self.0.iter().find(|(receipt, _)| receipt.scope.agent == agent);
        // The replies of an agent's sessions may stand among each other's: the id tells them apart.
        let Some(session) = first.map(|(receipt, _)| receipt.scope.session_id.clone()) else { return Self::none() };
        let (own, rest) =
            std::mem::take(&mut self.0).into_iter().partition(|(receipt, _)| receipt.scope.session_id == session);
        self.0 = rest;
        Self(own)
    }

    /// Whether the next recorded reply is this role's.
    #[must_use]
    pub fn is_of(&self, role: Role) -> bool {
        self.0.front().is_some_and(|(receipt, _)| receipt.scope.role == role)
    }

    /// The next recorded reply if it is this role's. Failed calls before it are skipped, not repeated.
    pub(super) fn next(&mut self, role: Role) -> Option<(ModelId, Reply)> {
        // The order of roles in the log is that of the iteration, so another role's reply at the front ends this one's.
        while let Some((receipt, reply)) = self.0.pop_front_if(|(receipt, _)| receipt.scope.role == role) {
            if let Some(reply) = reply {
                return Some((receipt.target, reply));
            }
        }
        None
    }
}
