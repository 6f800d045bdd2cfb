//! The money of a session: what is set aside for each call, what it is settled at, and the end at the cap.
//!
//! Invariant: an [`OpenCall`] is settled exactly once, also when everybody who knew of it is gone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::Notify;

use super::Purpose;
use super::price::{self, Surcharge};
use crate::audit::{CallReservation, Cap, Journal};
use crate::domain::catalogue::ModelInfo;
use crate::domain::chat::Usage;
use crate::domain::clock::Clock;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::{CallScope, CallStatus, Receipt};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::MicroUsd;
use crate::policy::budget::{self, Billing};
use crate::redact::Redactor;

/// Characters of a failure's reason that a receipt keeps.
const MAX_ERROR_CHARS: usize = 300;
/// Warnings that a session writes down; a client that repeats itself must not fill the log.
const MOST_WARNINGS: u32 = 100;

/// What a ledger writes with.
#[derive(Debug)]
pub struct Money {
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
    session: String,
    calls: Cell<u32>,
    warned: Cell<u32>,
    /// Calls that are under way.
    open: Cell<u32>,
    /// Told whenever one of them is settled.
    settled: Notify,
    /// The model of the first call that offers tools: others are for side calls.
    main_model: RefCell<Option<String>>,
    capped: (StopSource, Stop),
    refusal: RefCell<Option<String>>,
}

/// What is to be reserved.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// Who is asked.
    pub(super) target: ModelId,
    /// What is known of it.
    pub(super) info: ModelInfo,
    /// What makes it dearer.
    pub(super) surcharge: Surcharge,
    /// The most prompt tokens.
    pub(super) prompt_tokens: u64,
    /// The reply tokens that are wanted.
    pub(super) wanted: u64,
    /// What it is for.
    pub(super) purpose: Purpose,
}

/// What a call came to.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) status: CallStatus,
    pub(super) usage: Option<Usage>,
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
    /// The ledger of a session; the journal's run has begun.
    #[must_use]
    pub fn new(money: Money) -> Rc<Self> {
        let Money { journal, caps, clock, redactor } = money;
        let (source, stop) = StopSource::new();
        Rc::new(Self {
            journal: RefCell::new(Some(journal)),
            caps,
            clock,
            redactor,
            session: uuid::Uuid::new_v4().hyphenated().to_string(),
            calls: Cell::new(0),
            warned: Cell::new(0),
            open: Cell::new(0),
            settled: Notify::new(),
            main_model: RefCell::new(None),
            capped: (source, stop),
            refusal: RefCell::new(None),
        })
    }

    /// Raised by the first refusal at the cap.
    #[must_use]
    pub fn capped(&self) -> Stop {
        self.capped.1.clone()
    }

    /// Why a call was refused at the cap, if one was.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.refusal.borrow().clone()
    }

    /// Gives the log back; calls that are settled later would not be written any more.
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

    fn emit(&self, event: &Event) {
        if let Some(journal) = self.journal.borrow_mut().as_mut() {
            journal.emit(event);
        }
    }

    /// One line without secrets.
    fn clean(&self, text: &str) -> String {
        let redacted = self.redactor.redact(text);
        redacted.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_ERROR_CHARS).collect()
    }

    /// What a call without a pin is for.
    pub(super) fn purpose(&self, model: &str, offers_tools: bool) -> Purpose {
        let mut main = self.main_model.borrow_mut();
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
    /// Why the cap refuses it; from then on it refuses every call.
    pub(super) async fn reserve(self: &Rc<Self>, order: Order) -> Result<OpenCall, String> {
        loop {
            if let Some(reason) = self.refusal() {
                return Err(reason);
            }
            match self.try_reserve(&order) {
                Ok(Some(call)) => return Ok(call),
                // Somebody else took from a shared cap meanwhile, or a call under way holds what this one wants.
                Ok(None) if self.open.get() == 0 => {}
                Ok(None) => self.settled.notified().await,
                Err(_) if self.open.get() > 0 => self.settled.notified().await,
                Err(reason) => return Err(self.refuse(&reason)),
            }
        }
    }

    fn try_reserve(self: &Rc<Self>, order: &Order) -> Result<Option<OpenCall>, String> {
        let mut slot = self.journal.borrow_mut();
        let Some(journal) = slot.as_mut() else { return Err("the session is over".to_owned()) };
        let price = price::of(&order.info, order.surcharge, order.prompt_tokens);
        let price = price.ok_or_else(|| "the model has no price".to_owned())?;
        let left = journal.store().left(&self.caps);
        let quote = budget::quote_of(price, order.prompt_tokens, order.wanted, left).map_err(|error| error.reason)?;
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
            return if refused.left() < left { Ok(None) } else { Err(refused.to_string()) };
        }
        self.open.set(self.open.get() + 1);
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

    fn refuse(&self, reason: &str) -> String {
        let message = format!("upshift: the cost cap is reached, this session makes no more model calls: {reason}");
        *self.refusal.borrow_mut() = Some(message.clone());
        self.warn(&format!("A model call was refused at the cost cap: {reason}"));
        self.capped.0.raise(StopCause::TimeUp);
        message
    }

    /// Where a call stands: side calls have a session of their own below the main one.
    fn scope(&self, purpose: Purpose) -> CallScope {
        let turn = self.calls.get() + 1;
        self.calls.set(turn);
        let (session_id, parent_session_id) = match purpose {
            Purpose::Main => (self.session.clone(), None),
            Purpose::Side => (format!("{}-side", self.session), Some(self.session.clone())),
        };
        CallScope {
            tier_index: 0,
            iteration: 1,
            role: Role::Artisan,
            session_id,
            parent_session_id,
            root_session_id: self.session.clone(),
            turn,
            attempt: 1,
        }
    }

    fn settle(&self, call: &OpenCall, outcome: Outcome) {
        let prompt_tokens = outcome.usage.map_or(call.order.prompt_tokens, |usage| usage.prompt());
        let info = ModelInfo {
            price: price::of(&call.order.info, call.order.surcharge, prompt_tokens),
            ..call.order.info.clone()
        };
        let charge = budget::settle(&info, outcome.usage.as_ref(), call.reserved, outcome.billing);
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
        if let Some(journal) = self.journal.borrow_mut().as_mut() {
            journal.settle(&receipt, None);
        }
        tracing::info!(target = %receipt.target, status = receipt.status.as_str(), cost = %receipt.charge(), error = receipt.error, "passed on");
        self.open.set(self.open.get().saturating_sub(1));
        self.settled.notify_waiters();
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
                billed_model: None,
                billing: Billing::Possible,
                error: Some("the client hung up before the answer began".to_owned()),
            };
            ledger.settle(self, outcome);
        }
    }
}

#[cfg(test)]
mod tests;
