//! Seeking one usable reply: recorded ones first, then targets by rotation, with its waits (S1-3 to S1-8).

use std::time::Duration;

use super::end::{FailureReason, SessionExit};
use super::exchange::{Attempt, protocol_of};
use super::gauge::Fit;
use super::reading::{self, Reading, Unusable};
use super::turns::{Ending, Failed, Forced, Heard, Session};
use crate::domain::chat::Reply;
use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::CallStatus;
use crate::policy::rotation::{FailureClass, GiveUp, Jitter, Next};

/// The last thing that went wrong in a turn.
#[derive(Debug, Clone)]
struct Trouble {
    status: CallStatus,
    what: String,
    /// The window's verdict, when the call did not fit.
    misfit: Option<Fit>,
    /// Whether a model answered in this turn, but would not do it: then a model could be used (DESIGN §2.1).
    declined: bool,
}

impl Session<'_, '_> {
    /// Takes out the targets that cannot be asked; ends the session when none is left.
    pub(super) fn prepare(&mut self) -> Option<Ending> {
        let mut last = "no target is given".to_owned();
        let mut missing = 0;
        for (index, target) in self.spec.targets.clone().iter().enumerate() {
            if !self.ports.providers.0.contains_key(&target.provider) {
                missing += 1;
                last = format!("the provider of {target} is not configured");
                self.rotation.refuse(index);
                self.warn_once(target, &format!("{last}; it is left out"));
            } else if self.ports.memory.refused.contains(target) {
                last = format!("the key or quota of {target} was refused before");
                self.rotation.refuse(index);
            } else if !self.ports.facts.0.contains_key(target) {
                let window = self.ports.facts.of(target).context_window;
                self.warn_once(
                    target,
                    &format!("the context window of {target} is not known; {window} tokens are assumed. Set `models: {{\"{target}\": {{contextWindow: …}}}}`"),
                );
            }
        }
        let none = self.spec.targets.is_empty() || !self.rotation.has_usable();
        none.then(|| {
            let exit =
                if missing == self.spec.targets.len() { SessionExit::NoProviders } else { SessionExit::AuthFailure };
            Ending::synthetic(FailureReason::NoUsableTarget { why: GiveUp::Refused, last }, exit)
        })
    }

    fn warn_once(&mut self, target: &ModelId, message: &str) {
        if self.ports.memory.warned.insert(target.clone()) {
            self.ports.journal.emit(&Event::Warning { message: message.to_owned() });
        }
    }

    /// Seeks one usable reply.
    ///
    /// Recorded replies of an interrupted run come first and cost nothing. Then targets are asked as rotation says, with
    /// its waits, until a reply is usable or the attempts are used up. A model's own mistakes (empty reply, text without a
    /// call, cut reply) are told to it before the next attempt in one message; the latest replaces the one before.
    pub(super) async fn reply(&mut self) -> Result<Heard, Ending> {
        self.rotation.begin_turn();
        self.failed = None;
        self.calls = 0;
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
                    misfit = if misfit == Some(Fit::FinalOnly) { misfit } else { Some(found) };
                    too_large(&target, misfit)
                }
                Attempt::Failed(failure) => {
                    self.calls += 1;
                    self.remember(&target, failure.status);
                    let class = FailureClass {
                        status: failure.status,
                        retryable: failure.retryable,
                        retry_after_ms: failure.retry_after_ms,
                    };
                    let what = format!("{target}: {}", failure.message);
                    (class, Trouble { status: failure.status, what, misfit: None, declined: false })
                }
                Attempt::Heard { target, protocol, reply, reading } => {
                    self.calls += 1;
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
        let class = FailureClass { status: unusable.status, retryable: unusable.retryable, retry_after_ms: None };
        let what = format!("{target}: {}", unusable.what);
        if !unusable.advice.is_empty() {
            let text = reply.text.clone();
            self.failed = Some(Failed { target: target.clone(), text, advice: unusable.advice });
        }
        let declined = unusable.status == CallStatus::ModelError;
        (class, Trouble { status: unusable.status, what, misfit: None, declined })
    }

    /// A refused key or quota is not asked again in this run.
    fn remember(&mut self, target: &ModelId, status: CallStatus) {
        if matches!(status, CallStatus::AuthError | CallStatus::QuotaExceeded) {
            self.ports.memory.refused.insert(target.clone());
        }
    }

    /// Lets rotation decide what follows a failure; waits if it says so.
    async fn next(&mut self, failure: FailureClass, trouble: &Trouble) -> Result<(), Ending> {
        let now = self.ports.clock.monotonic_ms();
        let next = self.rotation.after_failure(failure, now, jitter());
        let spent = self.calls >= self.spec.limits.max_attempts.max(1);
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
            Next::Switch { .. } => Ok(()),
            Next::Retry { after_ms, .. } => self.pause(after_ms).await,
            Next::SleepAll { ms, .. } => {
                let message = format!(
                    "every model of the {} is rate-limited; waiting {} s",
                    self.spec.role.as_str(),
                    ms.div_ceil(1_000)
                );
                self.ports.journal.emit(&Event::Warning { message });
                self.pause(ms).await
            }
        }
    }

    /// Waits; ends at once when everything is to end.
    async fn pause(&self, ms: u64) -> Result<(), Ending> {
        tokio::select! {
            biased;
            cause = self.ports.stop.wait() => Err(Ending::stopped(cause)),
            () = self.ports.clock.sleep(Duration::from_millis(ms)) => Ok(()),
        }
    }

    fn gave_up(&self, why: GiveUp, trouble: &Trouble) -> Ending {
        let last = self.ports.redactor.redact(&trouble.what).into_owned();
        let exit = match trouble.status {
            CallStatus::AuthError => SessionExit::AuthFailure,
            CallStatus::QuotaExceeded => SessionExit::QuotaExceeded,
            CallStatus::ModelError => SessionExit::ModelError,
            CallStatus::ContextOverflow => SessionExit::TokenLimit,
            CallStatus::InvalidResponse if last.ends_with("an empty reply") => SessionExit::EmptyResponse,
            CallStatus::Ok | CallStatus::InvalidResponse => SessionExit::MaxRetries,
            CallStatus::RateLimited
            | CallStatus::NetworkError
            | CallStatus::Timeout
            | CallStatus::Aborted
            | CallStatus::Lost => SessionExit::NoLlmResponse,
        };
        match (why, trouble.status) {
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
    (FailureClass { status, retryable: false, retry_after_ms: None }, Trouble { status, what, misfit, declined: false })
}

/// A random spread for waits.
fn jitter() -> Jitter {
    let random = uuid::Uuid::new_v4().as_u128() % 1_001;
    Jitter(u16::try_from(random).unwrap_or_default())
}
