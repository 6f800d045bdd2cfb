//! One attempt at a reply: guard, quote, reservation, call, receipt.
//!
//! Invariant: a call is sent only after its worst case was set aside, and every call that was sent is settled with a receipt
//! before anything else happens: also when it failed, was cut, or was ended by us.

use std::time::Duration;

use super::context_guard::{self, Fit, Last};
use super::conversation::Protocol;
use super::reading::{self, Reading};
use super::turns::{Heard, Session};
use crate::audit::{CallReservation, Scope};
use crate::domain::bill::Bill;
use crate::domain::budget::{of_day, of_pull_request};
use crate::domain::catalogue::{ModelInfo, Price};
use crate::domain::chat::{ChatRequest, Reply, Usage};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::{CallScope, CallStatus, Receipt};
use crate::domain::stop::StopCause;
use crate::domain::units::{MicroUsd, human_duration};
use crate::model::catalogue::{billed_as, dearer_served};
use crate::model::{CallFailure, Provider};
use crate::policy::budget::{self, Billing, MAX_REPLY_TOKENS, Quote};

/// Characters of a failure's reason that a receipt keeps.
const MAX_ERROR_CHARS: usize = 300;
/// Characters of a model's words beside its calls that an event keeps.
const MAX_STATUS_CHARS: usize = 200;

/// The result of one attempt.
#[derive(Debug)]
pub(super) enum Attempt {
    /// A reply, settled and read.
    Heard { target: ModelId, protocol: Protocol, reply: Box<Reply>, reading: Reading },
    /// No reply. The call is settled.
    Failed(CallFailure),
    /// The call does not fit into the target's window and is not sent.
    TooLarge(Fit),
    /// No cap allows the call, and it is not sent.
    Unaffordable { scope: Scope, detail: String },
    /// We ended it. It is settled if it was under way.
    Stopped(StopCause),
}

/// A call that is about to be sent.
struct Call {
    id: String,
    target: ModelId,
    info: ModelInfo,
    scope: CallScope,
    reserved: MicroUsd,
}

/// The data that a call is settled with.
struct Settlement<'r> {
    status: CallStatus,
    usage: Option<Usage>,
    bill: Bill,
    billing: Billing,
    error: Option<String>,
    reply: Option<&'r Reply>,
}

impl Session<'_, '_> {
    /// Makes one attempt with a target.
    pub(super) async fn attempt(&mut self, target: &ModelId, attempt: u32) -> Attempt {
        let providers = self.ports.providers;
        let Some(provider) = providers.0.get(&target.provider) else {
            return Attempt::Failed(unknown_provider(target));
        };
        let info = self.ports.facts.of(target);
        let mut request = self.request(target, &info);
        let bytes = provider.request_bytes(&request);
        let last = if self.is_final() { Last::Yes } else { Last::No };
        let max_output = match context_guard::fit(&info, self.context_guard.project(bytes), last) {
            Fit::Call { max_output } => max_output,
            misfit @ (Fit::FinalOnly | Fit::Full) => return Attempt::TooLarge(misfit),
        };
        // Before the reservation, so that a stop leaves nothing to settle.
        if let Some(cause) = self.ports.stop.raised() {
            return Attempt::Stopped(cause);
        }
        let info = ModelInfo { max_output_tokens: max_output, ..info };
        let scope = self.scope(attempt);
        let (call, quote) = match self.reserve(target, info, scope, bytes) {
            Ok(reserved) => reserved,
            Err((scope, detail)) => return Attempt::Unaffordable { scope, detail },
        };
        // Only now: the money that is left may buy a shorter reply than the window has room for.
        request.max_output_tokens = quote.max_output_tokens;
        self.send(provider.as_ref(), &request, &call, bytes).await
    }

    /// The request as this target is to get it. Its beginning is the same, byte for byte, on every turn.
    fn request(&self, target: &ModelId, info: &ModelInfo) -> ChatRequest {
        let protocol = protocol_of(info);
        let tools = match protocol {
            Protocol::Text => Vec::new(),
            Protocol::Tools => self.tool_specs.clone(),
        };
        let system = match protocol {
            Protocol::Tools => self.spec.system.clone(),
            Protocol::Text => {
                // Without tools no parameter can hold the blocks, so that words teach them.
                let blocks = self.meta.prompt().map(|prompt| format!("\n{prompt}")).unwrap_or_default();
                format!("{}\n\n{}{blocks}", self.spec.system, super::text_protocol::prompt(self.spec.role))
            }
        };
        ChatRequest {
            target: target.clone(),
            system,
            tools,
            messages: self.told(protocol).messages(target, protocol),
            // The largest that will be asked for, so that the bytes counted are no fewer than the bytes sent.
            max_output_tokens: MAX_REPLY_TOKENS,
            context_window: info.context_window,
            effort: self.spec.effort,
            temperature: self.spec.temperature,
        }
    }

    fn scope(&self, attempt: u32) -> CallScope {
        CallScope {
            tier_index: self.spec.tier_index,
            iteration: self.spec.iteration,
            role: self.spec.role,
            agent: self.spec.agent.clone(),
            session_id: self.id.clone(),
            parent_session_id: self.spec.lineage.as_ref().map(|lineage| lineage.parent.clone()),
            root_session_id: self.spec.lineage.as_ref().map_or_else(|| self.id.clone(), |lineage| lineage.root.clone()),
            turn: self.turn,
            attempt,
        }
    }

    /// Plans the call against what is left and sets its worst case aside.
    ///
    /// Another run may take from a shared cap between planning and reserving. Then the call is planned anew with the rest of that cap,
    /// which only shrinks.
    fn reserve(
        &mut self,
        target: &ModelId,
        info: ModelInfo,
        scope: CallScope,
        bytes: u64,
    ) -> Result<(Call, Quote), (Scope, String)> {
        // One id for all rounds: at most one of them is reserved.
        let id = uuid::Uuid::new_v4().hyphenated().to_string();
        let caps = self.caps();
        // At the price that the vendor was seen to bill, where that is higher.
        let dearer = self.ports.memory.dearer.get(target).copied();
        let quoted = ModelInfo {
            price: info.price.map(|price| dearer.map_or(price, |dearer| price.max_of(dearer))),
            ..info.clone()
        };
        let tightest = self.ports.journal.tightest(&caps);
        let (mut left, mut refused_by) =
            tightest.unwrap_or_else(|| (MicroUsd(u64::MAX), Scope::Day("none".to_owned())));
        // Each round another cap may refuse, and what is left only shrinks, so that few rounds are enough.
        for _ in 0..=caps.len().saturating_add(1) {
            let quote = budget::quote(&quoted, bytes, left).map_err(|error| refusal(&refused_by, &error.reason))?;
            let reservation = CallReservation {
                call_id: id.clone(),
                scope: scope.clone(),
                target: target.clone(),
                reserved: quote.reserve,
            };
            match self.ports.journal.reserve(&reservation, &caps) {
                Ok(()) => {
                    let target = target.clone();
                    return Ok((Call { id, target, info, scope, reserved: quote.reserve }, quote));
                }
                Err(refused) => {
                    left = left.min(refused.left());
                    refused_by = refused.scope;
                }
            }
        }
        Err(refusal(&refused_by, "the cap is being used up by others"))
    }

    async fn send(&mut self, provider: &dyn Provider, request: &ChatRequest, call: &Call, bytes: u64) -> Attempt {
        let started = self.ports.clock.monotonic_ms();
        let stop = self.ports.stop.clone();
        let limit = self.reply_limit();
        let answer = tokio::select! {
            biased;
            cause = stop.wait() => Err(cause),
            answer = tokio::time::timeout(limit, provider.ask(request)) => Ok(answer),
        };
        let latency = self.ports.clock.monotonic_ms().saturating_sub(started);
        if let Some(message) = provider.take_warning() {
            self.ports.journal.emit(&Event::Warning { message });
        }
        match answer {
            Err(cause) => {
                // The end must not wait for another program's lock on the log. A session's own time ends that session alone.
                if !matches!(cause, StopCause::OwnTime(_)) {
                    self.ports.journal.hasten();
                }
                let settlement = Settlement {
                    status: CallStatus::Aborted,
                    usage: None,
                    bill: Bill::default(),
                    // The vendor may bill the part of the reply that it has made.
                    billing: Billing::Possible,
                    error: Some(format!("ended by us after {} without a whole reply", human_duration(latency))),
                    reply: None,
                };
                self.settle(call, &settlement, latency);
                Attempt::Stopped(cause)
            }
            Ok(Err(_elapsed)) => self.failed(call, timed_out(limit), latency),
            Ok(Ok(Err(failure))) => self.failed(call, failure, latency),
            Ok(Ok(Ok(reply))) => self.heard(call, reply, latency, bytes),
        }
    }

    fn failed(&mut self, call: &Call, failure: CallFailure, latency: u64) -> Attempt {
        let settlement = Settlement {
            status: failure.status,
            usage: failure.usage,
            bill: (*failure.bill).clone(),
            billing: if failure.may_be_billed { Billing::Possible } else { Billing::Impossible },
            error: Some(failure.message.clone()),
            reply: None,
        };
        self.settle(call, &settlement, latency);
        Attempt::Failed(failure)
    }

    fn heard(&mut self, call: &Call, reply: Reply, latency: u64, bytes: u64) -> Attempt {
        let protocol = protocol_of(&call.info);
        // Read before it is settled, since the receipt says whether it was of use.
        let reading = reading::read(&reply, &self.rules(protocol));
        let (status, error) = match &reading {
            Reading::Usable { .. } => (CallStatus::Ok, None),
            Reading::Unusable(unusable) => (unusable.status, Some(unusable.what.clone())),
        };
        let (usage, bill) = (reply.usage, reply.bill.clone());
        let settlement = Settlement { status, usage, bill, billing: Billing::Possible, error, reply: Some(&reply) };
        self.settle(call, &settlement, latency);
        self.measure(&call.target, &reply, bytes);
        Attempt::Heard { target: call.target.clone(), protocol, reply: Box::new(reply), reading }
    }

    /// The model that the vendor says it billed, without secrets.
    pub(super) fn billed_model(&self, reply: &Reply) -> Option<String> {
        reply.billed_model.as_ref().map(|named| self.ports.redactor.redact(named).into_owned())
    }

    /// The words of a reply beside its calls, as events tell them: one line without secrets.
    pub(super) fn status_of(&self, heard: &Heard) -> String {
        let text = if heard.calls.is_empty() { "" } else { heard.reply.text.as_str() };
        // Taken out of the whole: a line may hold a part of a secret alone.
        let text = Foreign::revealed(&self.ports.redactor.redact(text));
        let line = text.as_str().lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        line.chars().take(MAX_STATUS_CHARS).collect()
    }

    /// Remembers that a vendor bills more than the catalogue's price, so that the next calls are reserved at that, and tells of it once.
    fn learn_price(&mut self, call: &Call, served: Option<(Price, &str)>, tier: Option<&str>) {
        let Some(price) = call.info.price else { return };
        let mut learn = |dearer: Price, message: String| {
            let known = self.ports.memory.dearer.get(&call.target).copied().unwrap_or(price);
            let most = known.max_of(dearer);
            if most != known {
                self.ports.memory.dearer.insert(call.target.clone(), most);
                let message = self.ports.redactor.redact(&message).into_owned();
                self.ports.journal.emit(&Event::Warning { message });
            }
        };
        if let Some((dearer, named)) = served {
            learn(dearer, billed_as(&call.target, named));
        }
        if let Some(tier) = tier {
            let target = &call.target;
            let message = format!(
                "the vendor served the service tier `{tier}` for {target}, which costs more than the catalogue says: what it may come to is counted \
                 as unknown cost"
            );
            learn(price.most_in_tier(tier), message);
        }
    }

    fn settle(&mut self, call: &Call, settlement: &Settlement<'_>, latency_ms: u64) {
        let billed = settlement.reply.and_then(|reply| reply.billed_model.as_deref());
        let served = dearer_served(&call.target, &call.info, billed);
        let told = budget::Told {
            usage: settlement.usage.as_ref(),
            bill: &settlement.bill,
            served: served.as_ref().and_then(|info| info.price.as_ref()),
        };
        let charge = budget::settle(&call.info, told, call.reserved, settlement.billing);
        self.learn_price(call, served.and_then(|info| info.price).zip(billed), settlement.bill.dear_tier.as_deref());
        let error = settlement.error.as_ref().map(|error| {
            // Redacted before it is cut: half a secret would not be known.
            let redacted = self.ports.redactor.redact(error);
            redacted.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_ERROR_CHARS).collect()
        });
        let receipt = Receipt {
            call_id: call.id.clone(),
            scope: call.scope.clone(),
            target: call.target.clone(),
            billed_model: settlement.reply.and_then(|reply| self.billed_model(reply)),
            status: settlement.status,
            usage: settlement.usage,
            reserved: call.reserved,
            cost: charge.known,
            unknown_cost: charge.unknown,
            latency_ms,
            error,
            timestamp: self.ports.clock.timestamp(),
        };
        log_settled(&receipt);
        self.ports.journal.settle(&receipt, settlement.reply);
        self.cost += charge;
        if let Some(usage) = &settlement.usage {
            self.usage.add(usage);
        }
    }
}

fn log_settled(receipt: &Receipt) {
    let Receipt { scope, target, status, latency_ms, usage, .. } = receipt;
    tracing::info!(
        %target,
        turn = scope.turn,
        attempt = scope.attempt,
        status = status.as_str(),
        ms = latency_ms,
        input = usage.map(|usage| usage.input),
        cached = usage.map(|usage| usage.cache_read),
        output = usage.map(|usage| usage.output),
        cost = %receipt.charge(),
        error = receipt.error,
        "model call"
    );
}

/// The cap that refuses a call, and the reason. Caps that other runs use up as well are named.
fn refusal(scope: &Scope, reason: &str) -> (Scope, String) {
    let whose = match scope {
        Scope::Run(_) | Scope::Tier(..) => String::new(),
        Scope::Agent(_, name) => format!(" (its own cap, {name})"),
        Scope::PullRequest(name) => of_pull_request(name),
        Scope::Day(name) => of_day(name),
    };
    (scope.clone(), format!("{reason}{whose}"))
}

/// How a model is spoken with.
pub(super) const fn protocol_of(info: &ModelInfo) -> Protocol {
    if info.tools { Protocol::Tools } else { Protocol::Text }
}

fn timed_out(limit: Duration) -> CallFailure {
    CallFailure {
        status: CallStatus::Timeout,
        message: format!("no reply within {} s", limit.as_secs()),
        http_status: None,
        retry_after_ms: None,
        retryable: true,
        usage: None,
        bill: Box::default(),
        // The vendor may finish the reply, and bill it, after we hung up.
        may_be_billed: true,
    }
}

/// A target whose provider is not configured is out like one whose key is refused.
fn unknown_provider(target: &ModelId) -> CallFailure {
    CallFailure {
        status: CallStatus::AuthError,
        message: format!("the provider `{}` is not configured", target.provider),
        http_status: None,
        retry_after_ms: None,
        retryable: false,
        usage: None,
        bill: Box::default(),
        may_be_billed: false,
    }
}
