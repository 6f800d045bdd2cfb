//! The money of a session: what is set aside for each call, what it is settled at, and the end at the cap.
//!
//! Invariant: an [`OpenCall`] is settled exactly once, also when everybody who knew of it is gone.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Purpose;
use super::price::{self, Surcharge};
use super::tally::{Place, Tally};
use crate::audit::{CallReservation, Cap, Journal, Scope};
use crate::domain::bill::Bill;
use crate::domain::budget::{of_day, of_pull_request};
use crate::domain::catalogue::ModelInfo;
use crate::domain::chat::Usage;
use crate::domain::clock::Clock;
use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::{CallScope, CallStatus, Receipt, SIDE};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::MicroUsd;
use crate::model::catalogue::{billed_as, dearer_served};
use crate::policy::budget::{self, Billing};
use crate::redact::Redactor;

/// Characters of a failure's reason that a receipt keeps.
const MAX_ERROR_CHARS: usize = 300;
/// Warnings that a session writes down. A client that repeats itself must not fill the log.
const MOST_WARNINGS: u32 = 100;

/// The means of a ledger.
#[derive(Debug)]
pub struct Money {
    /// Where the calls belong.
    pub place: Place,
    /// The sum of the calls of the same session before: of an agent that is started again.
    pub so_far: Tally,
    /// The log of a run that has begun.
    pub journal: Journal,
    /// The caps that each call must fit under.
    pub caps: Vec<Cap>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Takes secrets out of what vendors say.
    pub redactor: Arc<Redactor>,
}

/// The money of one session.
#[derive(Debug)]
pub struct Ledger {
    /// Gone once the session is closed.
    journal: RefCell<Option<Journal>>,
    caps: Vec<Cap>,
    clock: Arc<dyn Clock>,
    redactor: Arc<Redactor>,
    place: Place,
    tally: RefCell<Tally>,
    warned: Cell<u32>,
    /// Calls that are under way.
    open: Cell<u32>,
    /// When the last one began or was settled, in real time.
    last_call: Cell<Instant>,
    /// Told whenever one of them is settled.
    settled: Notify,
    /// The model of the first call that offers tools: others are for side calls.
    main_model: RefCell<Option<String>>,
    capped: (StopSource, Stop),
    limited: (StopSource, Stop),
    /// When the vendor said that the limit is over, in milliseconds since the Unix epoch.
    limited_until: Cell<Option<i64>>,
    refusal: RefCell<Option<Refusal>>,
    /// Targets for which the vendor bills a dearer model, with that one's facts.
    dearer: RefCell<BTreeMap<ModelId, ModelInfo>>,
}

/// Why a session makes no more calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The end that it is.
    pub end: NoMoreCalls,
    /// It in words.
    pub message: String,
}

/// The ends of a session's calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoMoreCalls {
    /// This cap is reached.
    Cap(Scope),
    /// The vendor serves a dearer tier than was asked for.
    DearTier,
}

/// A reservation to be made.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The model that is asked.
    pub(super) target: ModelId,
    /// Its facts.
    pub(super) info: ModelInfo,
    /// The surcharge on its price.
    pub(super) surcharge: Surcharge,
    /// The most prompt tokens.
    pub(super) prompt_tokens: u64,
    /// The reply tokens that are wanted.
    pub(super) wanted: u64,
    /// The purpose of the call.
    pub(super) purpose: Purpose,
}

/// The result of a call.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) status: CallStatus,
    pub(super) usage: Option<Usage>,
    pub(super) bill: Bill,
    pub(super) billed_model: Option<String>,
    pub(super) billing: Billing,
    pub(super) error: Option<String>,
}

/// A call that is reserved and not settled.
#[derive(Debug)]
pub(super) struct OpenCall {
    ledger: Rc<Ledger>,
    order: Order,
    call_id: String,
    scope: CallScope,
    reserved: MicroUsd,
    /// The reply's limit that the reservation affords.
    pub(super) max_output: u64,
    began: u64,
    is_settled: bool,
}

impl Ledger {
    /// The ledger of a session. The journal's run has begun.
    #[must_use]
    pub fn new(money: Money) -> Rc<Self> {
        let Money { place, so_far, journal, caps, clock, redactor } = money;
        let (source, stop) = StopSource::new();
        Rc::new(Self {
            journal: RefCell::new(Some(journal)),
            caps,
            clock,
            redactor,
            place,
            tally: RefCell::new(so_far),
            warned: Cell::new(0),
            open: Cell::new(0),
            last_call: Cell::new(Instant::now()),
            settled: Notify::new(),
            main_model: RefCell::new(None),
            capped: (source, stop),
            limited: StopSource::new(),
            limited_until: Cell::new(None),
            refusal: RefCell::new(None),
            dearer: RefCell::default(),
        })
    }

    /// When a call was last under way, in real time.
    #[must_use]
    pub fn last_call(&self) -> Instant {
        if self.open.get() > 0 { Instant::now() } else { self.last_call.get() }
    }

    /// Raised by the first refusal at the cap.
    #[must_use]
    pub fn capped(&self) -> Stop {
        self.capped.1.clone()
    }

    /// Raised when a limited vendor was waited for in vain.
    #[must_use]
    pub fn limited(&self) -> Stop {
        self.limited.1.clone()
    }

    /// When that limit is over by the vendor's own words, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn limited_until(&self) -> Option<i64> {
        self.limited_until.get()
    }

    pub(super) fn give_up(&self, retry_after_ms: Option<u64>) {
        self.limited_until.set(retry_after_ms.map(|wait| self.clock.unix_ms().saturating_add_unsigned(wait)));
        self.limited.0.raise(StopCause::TimeUp);
    }

    /// Waits for a limited vendor.
    pub(super) async fn pause(&self, ms: u64) {
        self.warn(&format!("The vendor limits the requests: it is asked again in {} s", ms.div_ceil(1_000)));
        self.clock.sleep(Duration::from_millis(ms)).await;
    }

    /// Why no more calls are made, if so.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal.borrow().clone()
    }

    /// The sum of the calls so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally.borrow().clone()
    }

    /// Gives the log back. Calls that are settled later would not be written any more.
    #[must_use]
    pub fn close(&self) -> Option<Journal> {
        self.journal.borrow_mut().take()
    }

    /// Notes something that a person should know.
    pub fn warn(&self, message: &str) {
        let warned = self.warned.get();
        if warned < MOST_WARNINGS {
            self.warned.set(warned + 1);
            self.emit(&Event::Warning { message: self.clean(message) });
        }
    }

    /// Makes an event durable, and tells it.
    pub fn emit(&self, event: &Event) {
        if let Some(journal) = self.journal.borrow_mut().as_mut() {
            journal.emit(event);
        }
    }

    /// One line without secrets.
    fn clean(&self, text: &str) -> String {
        let redacted = self.redactor.redact(text);
        redacted.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_ERROR_CHARS).collect()
    }

    /// The purpose of a call whose model does not tell it.
    pub(super) fn purpose(&self, model: &str, offers_tools: bool) -> Purpose {
        let mut main = self.main_model.borrow_mut();
        // Titles and summaries are asked for without tools.
        if main.is_none() && offers_tools {
            *main = Some(model.to_owned());
        }
        match main.as_deref() {
            Some(main) if main != model || !offers_tools => Purpose::Side,
            Some(_) | None => Purpose::Main,
        }
    }

    /// Sets the worst case of a call aside. While others are under way it waits for what they leave of their reservations, rather than
    /// being cut short or refused.
    ///
    /// # Errors
    /// The cap's reason to refuse it. From then on the cap refuses every call.
    pub(super) async fn reserve(self: &Rc<Self>, order: Order) -> Result<OpenCall, String> {
        loop {
            if let Some(Refusal { message, .. }) = self.refusal() {
                return Err(message);
            }
            match self.try_reserve(&order) {
                Ok(Some(call)) => return Ok(call),
                // Somebody else took from a shared cap meanwhile, or a call under way holds what this one wants.
                Ok(None) if self.open.get() == 0 => {}
                Ok(None) => self.settled.notified().await,
                // Too dear for now: a call under way may leave enough of its reservation.
                Err(_) if self.open.get() > 0 => self.settled.notified().await,
                Err((scope, reason)) => return Err(self.refuse(scope, &reason)),
            }
        }
    }

    fn try_reserve(self: &Rc<Self>, order: &Order) -> Result<Option<OpenCall>, (Scope, String)> {
        let mut slot = self.journal.borrow_mut();
        let Some(journal) = slot.as_mut() else { return Err((self.scope_of_caps(), "the session is over".to_owned())) };
        // The cap that has least left is the one that refuses.
        let (left, tightest) = journal
            .store()
            .tightest(&self.caps)
            .map_or_else(|| (MicroUsd(u64::MAX), self.scope_of_caps()), |(left, cap)| (left, cap.scope.clone()));
        let price = price::of(&order.info, order.surcharge, order.prompt_tokens);
        let dearer = self
            .dearer
            .borrow()
            .get(&order.target)
            .and_then(|info| price::of(info, order.surcharge, order.prompt_tokens));
        let price = price.map(|price| dearer.map_or(price, |dearer| price.max_of(dearer)));
        let price = price.ok_or_else(|| (tightest.clone(), "the model has no price".to_owned()))?;
        let quote = budget::quote_of(price, order.prompt_tokens, order.wanted, left)
            .map_err(|error| (tightest.clone(), error.reason))?;
        // Calls under way give back most of what they hold, so that waiting brings a longer reply.
        if quote.max_output_tokens < order.wanted && self.open.get() > 0 {
            return Ok(None);
        }
        let call_id = uuid::Uuid::new_v4().hyphenated().to_string();
        let scope = self.scope(order.purpose);
        let reservation = CallReservation {
            call_id: call_id.clone(),
            scope: scope.clone(),
            target: order.target.clone(),
            reserved: quote.reserve,
        };
        if let Err(refused) = journal.reserve(&reservation, &self.caps) {
            // What is left now was read anew by then: only a cap that others use up as well shrinks in between.
            return if refused.left() < left { Ok(None) } else { Err((refused.scope.clone(), refused.to_string())) };
        }
        self.open.set(self.open.get() + 1);
        self.last_call.set(Instant::now());
        Ok(Some(OpenCall {
            ledger: Rc::clone(self),
            order: order.clone(),
            call_id,
            scope,
            reserved: quote.reserve,
            max_output: quote.max_output_tokens,
            began: self.clock.monotonic_ms(),
            is_settled: false,
        }))
    }

    fn scope_of_caps(&self) -> Scope {
        self.caps.first().map_or_else(|| Scope::Day("none".to_owned()), |cap| cap.scope.clone())
    }

    fn refuse(&self, scope: Scope, reason: &str) -> String {
        // A cap that other runs use up as well is named: raising this program's own would change nothing.
        let whose = match &scope {
            Scope::Run(_) | Scope::Tier(..) | Scope::Agent(..) => String::new(),
            Scope::PullRequest(name) => of_pull_request(name),
            Scope::Day(name) => of_day(name),
        };
        let reason = format!("{reason}{whose}");
        let message = format!("upshift: the cost cap is reached, this session makes no more model calls: {reason}");
        self.warn(&format!("A model call was refused at the cost cap: {reason}"));
        self.end(NoMoreCalls::Cap(scope), message.clone());
        message
    }

    fn end(&self, end: NoMoreCalls, message: String) {
        // The first reason is the one that ended the session.
        self.refusal.borrow_mut().get_or_insert(Refusal { end, message });
        self.capped.0.raise(StopCause::TimeUp);
    }

    /// Where a call stands: side calls have a session of their own below the main one.
    fn scope(&self, purpose: Purpose) -> CallScope {
        let turn = {
            let mut tally = self.tally.borrow_mut();
            tally.calls = tally.calls.saturating_add(1);
            tally.calls
        };
        let Place { tier_index, iteration, role, session_id, lineage } = self.place.clone();
        let (parent, root) = lineage.unzip();
        let root_session_id = root.unwrap_or_else(|| session_id.clone());
        let (session_id, parent_session_id) = match purpose {
            Purpose::Main => (session_id, parent),
            Purpose::Side => (format!("{session_id}{SIDE}"), Some(session_id)),
        };
        // Clients try again by themselves, and each try is a call of its own here.
        let attempt = 1;
        CallScope {
            tier_index,
            iteration,
            role,
            agent: String::new(),
            session_id,
            parent_session_id,
            root_session_id,
            turn,
            attempt,
        }
    }

    fn settle(&self, call: &OpenCall, outcome: Outcome) {
        // Without the vendor's count, the bound that was reserved is all there is.
        let prompt_tokens = outcome.usage.map_or(call.order.prompt_tokens, |usage| usage.prompt());
        let at = |info: &ModelInfo| price::of(info, call.order.surcharge, prompt_tokens);
        let info = ModelInfo { price: at(&call.order.info), ..call.order.info.clone() };
        let served = dearer_served(&call.order.target, &call.order.info, outcome.billed_model.as_deref());
        let served_price = served.as_ref().and_then(at);
        let told = budget::Told { usage: outcome.usage.as_ref(), bill: &outcome.bill, served: served_price.as_ref() };
        let charge = budget::settle(&info, told, call.reserved, outcome.billing);
        if let (Some(served), Some(named)) = (served, &outcome.billed_model) {
            self.serves_dearer(&call.order.target, served, named);
        }
        let receipt = Receipt {
            call_id: call.call_id.clone(),
            scope: call.scope.clone(),
            target: call.order.target.clone(),
            billed_model: outcome.billed_model.map(|named| self.redactor.redact(&named).into_owned()),
            status: outcome.status,
            usage: outcome.usage,
            reserved: call.reserved,
            cost: charge.known,
            unknown_cost: charge.unknown,
            latency_ms: self.clock.monotonic_ms().saturating_sub(call.began),
            error: outcome.error.map(|error| self.clean(&error)),
            timestamp: self.clock.timestamp(),
        };
        self.tally.borrow_mut().count(&receipt, call.order.purpose);
        if let Some(journal) = self.journal.borrow_mut().as_mut() {
            journal.settle(&receipt, None);
        }
        tracing::info!(target = %receipt.target, status = receipt.status.as_str(), cost = %receipt.charge(), error = receipt.error, "passed on");
        self.open.set(self.open.get().saturating_sub(1));
        self.last_call.set(Instant::now());
        // Before the others are woken: they have to find the refusal.
        if let Some(tier) = outcome.bill.dear_tier {
            self.refuse_dear(&tier);
        }
        self.settled.notify_waiters();
    }

    /// Reserves at the dearer price from now on, and tells of it once.
    fn serves_dearer(&self, target: &ModelId, served: ModelInfo, named: &str) {
        if self.dearer.borrow_mut().insert(target.clone(), served).is_none() {
            self.warn(&billed_as(target, named));
        }
    }

    /// Makes no more calls for a vendor that serves a dearer tier than was asked for: their price cannot be reserved.
    fn refuse_dear(&self, tier: &str) {
        let tier: String = self.clean(tier).chars().take(40).collect();
        let why =
            format!("the vendor served the service tier `{tier}`, which costs more than what is reserved for a call");
        self.end(NoMoreCalls::DearTier, format!("upshift: this session makes no more model calls: {why}"));
        self.warn(&format!("No more model calls are made: {why}"));
    }
}

impl OpenCall {
    /// Settles it.
    pub(super) fn settle(mut self, outcome: Outcome) {
        self.is_settled = true;
        let ledger = Rc::clone(&self.ledger);
        ledger.settle(&self, outcome);
    }
}

impl Drop for OpenCall {
    /// Nobody waits for the answer any more, and none had come.
    fn drop(&mut self) {
        if !self.is_settled {
            self.is_settled = true;
            let ledger = Rc::clone(&self.ledger);
            let outcome = Outcome {
                status: CallStatus::Aborted,
                usage: None,
                bill: Bill::default(),
                billed_model: None,
                billing: Billing::Possible,
                error: Some("the client disconnected before the answer began".to_owned()),
            };
            ledger.settle(self, outcome);
        }
    }
}

#[cfg(test)]
mod tests;
