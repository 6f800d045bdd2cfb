//! The way to one usable reply: recorded ones first, then targets by rotation, with its waits (S1-3 to S1-8).

use std::time::Duration;

use super::context_guard::Fit;
use super::conversation::Protocol;
use super::end::FailureReason;
use super::exchange::{Attempt, protocol_of};
use super::reading::{self, Reading, Unusable};
use super::turns::{Ending, Failed, Forced, Heard, Session, Told};
use crate::domain::account::{Account, Unavailability};
use crate::domain::chat::Reply;
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::CallStatus;
use crate::domain::session_exit::SessionExit;
use crate::model::CallFailure;
use crate::policy::rotation::{FailureClass, GiveUp, Jitter, Next, Reach};
use crate::policy::standing::Note;

/// Spread of an announced time over which no new line is worth telling, in milliseconds.
const SAME_TIME_MS: i64 = 30_000;

/// The status by which a vendor says that it knows no such model.
const NOT_FOUND: u16 = 404;

/// The last thing that went wrong in a turn.
#[derive(Debug, Clone)]
struct Trouble {
    status: CallStatus,
    /// Whether the vendor knows no such model.
    unknown_model: bool,
    what: String,
    /// The window's verdict, when the call did not fit.
    misfit: Option<Fit>,
    /// Whether a model answered in this turn, but would not do it: then a model could be used (DESIGN §2.1).
    declined: bool,
    /// The account that cannot be asked any more, and why.
    unavailable: Option<(Account, Note)>,
}

/// Whether a vendor's answer says that the request itself is wrong.
const fn is_of_request(status: u16) -> bool {
    matches!(status, 400 | 422)
}

impl Session<'_, '_> {
    /// Takes out the targets that cannot be asked. Ends the session when none is left.
    pub(super) fn prepare(&mut self) -> Option<Ending> {
        let mut last = "no target is given".to_owned();
        let mut missing = 0;
        for (index, target) in self.spec.targets.clone().iter().enumerate() {
            if !self.ports.providers.0.contains_key(&target.provider) {
                missing += 1;
                last = format!("the provider of {target} is not configured");
                self.rotation.refuse(index);
                self.warn_once(target, &format!("{last}; it is left out"));
            } else if let Some(before) = self.refused_before(target) {
                last = before;
                self.rotation.refuse(index);
            } else if !self.ports.facts.0.contains_key(target) {
                let window = self.ports.facts.of(target).context_window;
                self.warn_once(
                    target,
                    &format!("the context window of {target} is not known; {window} tokens are assumed. Set `models: {{\"{target}\": {{contextWindow: …}}}}`"),
                );
            }
        }
        self.leave_limited_alone();
        let none = self.spec.targets.is_empty() || !self.rotation.has_usable();
        none.then(|| {
            let exit =
                if missing == self.spec.targets.len() { SessionExit::NoProviders } else { SessionExit::AuthFailure };
            Ending::synthetic(FailureReason::NoUsableTarget { why: GiveUp::Refused, last }, exit)
        })
    }

    /// Targets whose account is known to be limited are not asked first.
    fn leave_limited_alone(&mut self) {
        let (now, unix) = (self.ports.clock.monotonic_ms(), self.ports.clock.unix_ms());
        for (index, target) in self.spec.targets.iter().enumerate() {
            let account = self.ports.memory.accounts.of(target);
            let note = self.ports.memory.standing.of(&account, unix).filter(|note| note.why.passes());
            if let Some(until) = note.and_then(|note| note.until_ms) {
                let left = u64::try_from(until.saturating_sub(unix)).unwrap_or_default();
                self.rotation.rest(index, now.saturating_add(left));
            }
        }
        self.rotation.begin_free(now);
    }

    /// The vendor's words when this target or its account was refused, if it was.
    fn refused_before(&self, target: &ModelId) -> Option<String> {
        let memory = &*self.ports.memory;
        let account = memory.accounts.of(target);
        let note = memory.standing.of(&account, self.ports.clock.unix_ms()).filter(|note| !note.why.passes());
        let of_account = note.map(|note| note.said.clone());
        of_account.or_else(|| memory.refused.contains(target).then(|| format!("the key may not use {target}")))
    }

    fn warn_once(&mut self, target: &ModelId, message: &str) {
        if self.ports.memory.warned.insert(target.clone()) {
            self.ports.journal.emit(&Event::Warning { message: message.to_owned() });
        }
    }

    /// Seeks one usable reply.
    ///
    /// Recorded replies of an interrupted run come first and cost nothing. Then targets are asked as rotation says, with its waits, until a
    /// reply is usable or the attempts are used up. A model's own mistakes (empty reply, text without a call, cut reply) are told to it
    /// before the next attempt in one message. The latest replaces the one before.
    pub(super) async fn reply(&mut self) -> Result<Heard, Ending> {
        self.rotation.begin_turn();
        self.failed = None;
        (self.calls, self.tries) = (0, 0);
        let mut misfit = None;
        let mut declined = false;
        loop {
            while let Some((target, reply)) = self.ports.replay.next(self.spec.role) {
                if let Some(heard) = self.replayed(target, reply) {
                    return Ok(heard);
                }
            }
            let Some(target) = self.spec.targets.get(self.rotation.target()).cloned() else {
                return Err(Ending::synthetic(FailureReason::NoReport, SessionExit::NoProviders));
            };
            let (failure, mut trouble) = match self.attempt(&target, self.calls + 1).await {
                Attempt::Stopped(cause) => return Err(Ending::stopped(cause)),
                Attempt::Unaffordable { scope, detail } => {
                    return Err(Ending::synthetic(
                        FailureReason::Budget { scope, detail },
                        SessionExit::BudgetExhausted,
                    ));
                }
                Attempt::TooLarge(found) => {
                    // One target with room for a report is enough to ask for it.
                    misfit = if misfit == Some(Fit::FinalOnly) { misfit } else { Some(found) };
                    too_large(&target, misfit)
                }
                Attempt::Failed(failure) => {
                    self.calls += 1;
                    if self.does_without_outside(&target, &failure) {
                        continue;
                    }
                    let class = self.class_of(&target, &failure);
                    // A call that was turned away at the door is no try, or a limit would use up the attempts.
                    self.tries += u32::from(!class.waitable);
                    let unavailable = self.remember(&target, &failure);
                    let what = format!("{target}: {}", failure.message);
                    let (status, unknown_model) = (failure.status, failure.http_status == Some(NOT_FOUND));
                    (class, Trouble { status, unknown_model, what, misfit: None, declined: false, unavailable })
                }
                Attempt::Heard { target, protocol, reply, reading } => {
                    self.calls += 1;
                    self.tries += 1;
                    // The wait is over: another one is told anew.
                    self.told = None;
                    let account = self.ports.memory.accounts.of(&target);
                    self.ports.memory.standing.answered(&account);
                    self.ports.memory.heard.insert(account.endpoint);
                    match reading {
                        Reading::Usable { wishes, calls } => {
                            self.rotation.after_success();
                            return Ok(Heard { target, protocol, reply: *reply, wishes, calls });
                        }
                        Reading::Unusable(unusable) => self.unusable(&target, &reply, unusable),
                    }
                }
            };
            declined |= trouble.declined;
            trouble.declined = declined;
            self.next(failure, &trouble).await?;
        }
    }

    /// Whether the request is to be made once more without tools from outside: a vendor that refuses it may refuse their schemas, and they
    /// are to cost a session nothing but themselves. A reply before may be another vendor's, or a killed run's.
    fn does_without_outside(&mut self, target: &ModelId, failure: &CallFailure) -> bool {
        let is_refusal = failure.status == CallStatus::ModelError && failure.http_status.is_some_and(is_of_request);
        // In the text protocol no schema is sent that could be refused.
        if !is_refusal || protocol_of(&self.ports.facts.of(target)) != Protocol::Tools {
            return false;
        }
        let said = self.ports.redactor.redact(&failure.message).into_owned();
        let Some(left) = self.outside.leave(&said, &mut self.tool_specs) else { return false };
        let message = format!("{target} refused a request, which is made once more without {left}. It said: {said}");
        self.ports.journal.emit(&Event::Warning { message });
        true
    }

    /// Reads a recorded reply as if it had just come.
    fn replayed(&mut self, target: ModelId, reply: Reply) -> Option<Heard> {
        let info = self.ports.facts.of(&target);
        let protocol = protocol_of(&info);
        self.measure(&target, &reply, 0);
        match reading::read(&reply, &self.rules(protocol)) {
            Reading::Usable { wishes, calls } => Some(Heard { target, protocol, reply, wishes, calls }),
            Reading::Unusable(unusable) => {
                let _told = self.unusable(&target, &reply, unusable);
                None
            }
        }
    }

    /// Notes what the model is to be told about a reply of no use.
    fn unusable(&mut self, target: &ModelId, reply: &Reply, unusable: Unusable) -> (FailureClass, Trouble) {
        let class = plain_class(unusable.status, unusable.retryable);
        let what = format!("{target}: {}", unusable.what);
        if !unusable.advice.is_empty() {
            let text = reply.text.clone();
            self.failed = Some(Failed { target: target.clone(), text, advice: unusable.advice });
        }
        let declined = unusable.status == CallStatus::ModelError;
        (
            class,
            Trouble { status: unusable.status, unknown_model: false, what, misfit: None, declined, unavailable: None },
        )
    }

    /// Rotation's view of a failure.
    fn class_of(&self, target: &ModelId, failure: &CallFailure) -> FailureClass {
        let memory = &*self.ports.memory;
        let unheard = !memory.heard.contains(&memory.accounts.of(target).endpoint);
        // A host that never answered is more likely misspelt or not started than down.
        let wrong_address = failure.status == CallStatus::NetworkError && unheard;
        let overloaded =
            failure.status == CallStatus::RateLimited && failure.unavailability() == Some(Unavailability::Outage);
        FailureClass {
            // Vendors answer their own trouble like a limit; it is none of ours.
            status: if overloaded { CallStatus::ModelError } else { failure.status },
            retryable: failure.retryable,
            retry_after_ms: failure.retry_after_ms,
            reach: failure.reach(),
            // A call that may have been billed would be paid for again by each wait.
            waitable: !failure.may_be_billed && !wrong_address,
        }
    }

    /// Notes what a failure says of its account or target: what was refused is not asked again in this run.
    fn remember(&mut self, target: &ModelId, failure: &CallFailure) -> Option<(Account, Note)> {
        let refused = matches!(failure.status, CallStatus::AuthError | CallStatus::QuotaExceeded);
        if refused && failure.reach() == Reach::Target {
            self.ports.memory.refused.insert(target.clone());
        }
        let account = self.ports.memory.accounts.of(target);
        // A host that answers at all is no misspelt address.
        if failure.http_status.is_some() {
            self.ports.memory.heard.insert(account.endpoint.clone());
        }
        let why = failure.unavailability()?;
        let at_ms = self.ports.clock.unix_ms();
        let until_ms = failure.retry_after_ms.map(|wait| at_ms.saturating_add_unsigned(wait));
        let said = self.ports.redactor.redact(&failure.message).into_owned();
        let note = Note { why, until_ms, said, at_ms };
        if !why.passes() && self.ports.memory.standing.note(&account, note.clone()) {
            self.tell_unavailable(&account, &note, None);
        }
        Some((account, note))
    }

    /// Lets rotation decide what follows a failure. Waits if it says so.
    async fn next(&mut self, failure: FailureClass, trouble: &Trouble) -> Result<(), Ending> {
        if self.is_locked() {
            // The report is there: what keeps its blocks away is neither waited for nor tried again.
            self.note_passing(trouble);
            return Err(self.gave_up(GiveUp::Garbled, trouble));
        }
        let now = self.ports.clock.monotonic_ms();
        let next = self.rotation.after_failure(failure, now, jitter());
        let spent = self.tries >= self.spec.limits.max_attempts.max(1);
        tracing::info!(tries = self.tries, spent, ?next, "the call failed");
        match next {
            Next::GiveUp { .. } if trouble.misfit == Some(Fit::FinalOnly) && !self.is_final() => {
                // No target has room for more than a report: ask for it now.
                self.forced = Some(Forced::Context);
                self.rotation.begin_turn();
                Ok(())
            }
            Next::GiveUp { reason } => Err(self.gave_up(reason, trouble)),
            Next::Switch { .. } | Next::Retry { .. } | Next::SleepAll { .. } if spent => {
                Err(self.gave_up(GiveUp::Garbled, trouble))
            }
            Next::Switch { .. } => {
                self.note_passing(trouble);
                Ok(())
            }
            Next::Retry { after_ms, .. } => self.pause(after_ms).await,
            Next::SleepAll { ms, .. } => {
                if let Some((account, note)) = &trouble.unavailable {
                    self.tell_unavailable(account, note, Some(ms));
                }
                self.sit_out(ms).await
            }
        }
    }

    /// Notes a limit or an outage: the tiers above are to know of it.
    fn note_passing(&mut self, trouble: &Trouble) {
        if let Some((account, note)) = trouble.unavailable.as_ref().filter(|(_, note)| note.why.passes()) {
            self.ports.memory.standing.note(account, note.clone());
        }
    }

    /// Tells of an account that cannot be asked. A wait is told once, and again when the vendor names another time.
    fn tell_unavailable(&mut self, account: &Account, note: &Note, wait_ms: Option<u64>) {
        if wait_ms.is_some() {
            let near = |one: Option<i64>, other: Option<i64>| match (one, other) {
                (Some(one), Some(other)) => one.abs_diff(other) <= SAME_TIME_MS.unsigned_abs(),
                (one, other) => one == other,
            };
            if self.told.is_some_and(|told| told.why == note.why && near(told.until_ms, note.until_ms)) {
                return;
            }
            self.told = Some(Told { why: note.why, until_ms: note.until_ms });
        }
        self.ports.journal.emit(&Event::ModelsUnavailable {
            host: account.host().to_owned(),
            key_variable: account.key_variable.clone(),
            reason: note.why,
            until: note.until_ms.map(Timestamp::from_unix_ms),
            wait_ms,
            said: note.said.clone(),
        });
    }

    /// Waits for a limit or an outage, on a clock of its own: the active time is for work.
    async fn sit_out(&mut self, ms: u64) -> Result<(), Ending> {
        let began = self.ports.clock.monotonic_ms();
        self.ports.memory.waiting.begin(began);
        let ended = self.pause(ms).await;
        let now = self.ports.clock.monotonic_ms();
        self.ports.memory.waiting.end(now);
        self.ports.memory.waited_ms = self.ports.memory.waited_ms.saturating_add(now.saturating_sub(began));
        ended
    }

    /// Waits. Ends at once when everything is to end.
    async fn pause(&self, ms: u64) -> Result<(), Ending> {
        tokio::select! {
            biased;
            cause = self.ports.stop.wait() => Err(Ending::stopped(cause)),
            () = self.ports.clock.sleep(Duration::from_millis(ms)) => Ok(()),
        }
    }

    fn gave_up(&mut self, why: GiveUp, trouble: &Trouble) -> Ending {
        self.note_passing(trouble);
        let passing = trouble.unavailable.as_ref().filter(|(_, note)| note.why.passes());
        if let Some((account, note)) = passing.filter(|_| matches!(why, GiveUp::Limited | GiveUp::Unreachable)) {
            self.tell_unavailable(account, note, None);
        }
        let last = self.ports.redactor.redact(&trouble.what).into_owned();
        let exit = match trouble.status {
            CallStatus::AuthError => SessionExit::AuthFailure,
            CallStatus::QuotaExceeded => SessionExit::QuotaExceeded,
            CallStatus::ModelError if trouble.unknown_model => SessionExit::InvalidModel,
            CallStatus::ModelError => SessionExit::ModelError,
            CallStatus::Timeout => SessionExit::InactivityTimeout,
            CallStatus::ContextOverflow => SessionExit::TokenLimit,
            CallStatus::InvalidResponse if last.ends_with("an empty reply") => SessionExit::EmptyResponse,
            CallStatus::Ok | CallStatus::InvalidResponse => SessionExit::MaxRetries,
            CallStatus::RateLimited | CallStatus::NetworkError | CallStatus::Aborted | CallStatus::Lost => {
                SessionExit::NoLlmResponse
            }
        };
        match (why, trouble.status) {
            // A model answered, and would not do it: the tier could be used, so its iteration counts.
            (_, _) if trouble.declined && !self.is_final() => {
                Ending::synthetic(FailureReason::UnusableReplies { last }, exit)
            }
            (_, CallStatus::ContextOverflow) => Ending::synthetic(FailureReason::ContextFull, exit),
            (GiveUp::Garbled | GiveUp::Aborted, _) if self.is_final() => {
                Ending::synthetic(FailureReason::NoReport, SessionExit::MaxTurnsNoResponse)
            }
            (GiveUp::Garbled | GiveUp::Aborted, _) => Ending::synthetic(FailureReason::UnusableReplies { last }, exit),
            _ => Ending::synthetic(FailureReason::NoUsableTarget { why, last }, exit),
        }
    }
}

fn too_large(target: &ModelId, misfit: Option<Fit>) -> (FailureClass, Trouble) {
    let status = CallStatus::ContextOverflow;
    let what = format!("{target}: the conversation does not fit into its context window");
    (
        plain_class(status, false),
        Trouble { status, unknown_model: false, what, misfit, declined: false, unavailable: None },
    )
}

/// A failure that is no vendor's refusal.
const fn plain_class(status: CallStatus, retryable: bool) -> FailureClass {
    FailureClass { status, retryable, retry_after_ms: None, reach: Reach::Target, waitable: false }
}

/// A random spread for waits.
fn jitter() -> Jitter {
    // Runs that were limited together should not come back together.
    let random = uuid::Uuid::new_v4().as_u128() % 1_001;
    Jitter(u16::try_from(random).unwrap_or_default())
}
