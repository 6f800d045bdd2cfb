//! Rotation: which target a role asks next after a failed call, and how long it waits (S1-3 to S1-6, S3-7, contradictions 16 to 19).
//!
//! Invariants: no turn makes more than `max_attempts` calls, but for calls that a limit or an outage turned away for nothing and
//! that [`Patience`] waits for. No target of an account whose key or quota was refused is asked again. A limit or an outage never
//! leads to a dearer model of the same account or host. It sleeps only when no other target could be asked, and never longer in
//! all than its patience and its attempts allow. Time and jitter are handed in.

mod terms;

pub use terms::{FailureClass, GiveUp, Identity, Jitter, Next, Patience, Reach};

use crate::domain::receipt::CallStatus;

/// The shortest and the longest wait for a rate limit, in milliseconds (S1-6).
pub const RATE_LIMIT_WAIT_MS: (u64, u64) = (1_000, 60_000);
/// The longest wait after a network failure or timeout, in milliseconds (S1-6).
pub const TRANSIENT_WAIT_MAX_MS: u64 = 30_000;
/// The first wait for a rate limit without advice, in milliseconds. Each further one is three times as long (S3-7).
pub const BASE_BACKOFF_MS: u64 = 5_000;
/// The factor of [`BASE_BACKOFF_MS`].
const BACKOFF_FACTOR: u64 = 3;
/// One step of the wait after network failures, in milliseconds (S1-6).
const TRANSIENT_STEP_MS: u64 = 1_000;
/// Failures in a row on one target before another one is tried. One hiccup is common, and staying keeps the vendor's prompt cache. A second
/// failure speaks against the target.
const PATIENCE: u32 = 2;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Target {
    identity: Identity,
    /// The key or quota was refused: out for the whole run.
    refused: bool,
    /// This request will not work here: out for the turn.
    rejected: bool,
    /// Rate-limited until this monotonic time.
    limited_until_ms: u64,
    /// Rate limits in a row, for the backoff.
    limits_in_a_row: u32,
    /// Other failures in a row.
    failures_in_a_row: u32,
}

impl Target {
    fn alive(&self) -> bool {
        !self.refused && !self.rejected
    }

    fn is_free(&self, now_ms: u64) -> bool {
        self.alive() && self.limited_until_ms <= now_ms
    }
}

/// The targets of one role and what is known of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    targets: Vec<Target>,
    cursor: usize,
    max_attempts: u32,
    attempts: u32,
    patience: Patience,
    /// Waits for an outage in a row, for the backoff.
    outages_in_a_row: u32,
}

impl Rotation {
    /// A rotation over `n_targets` targets of as many accounts, without patience beyond `max_attempts` calls per turn in total
    /// (contradiction 17). 0 of either counts as 1.
    #[must_use]
    pub fn new(n_targets: usize, max_attempts: u32) -> Self {
        let identity = |index| Identity { account: index, host: index, price: 0 };
        Self::over((0..n_targets).map(identity), max_attempts, Patience::default())
    }

    /// A rotation over these targets.
    #[must_use]
    pub fn over(targets: impl IntoIterator<Item = Identity>, max_attempts: u32, patience: Patience) -> Self {
        let target = |identity| Target { identity, ..Target::default() };
        let mut targets: Vec<Target> = targets.into_iter().map(target).collect();
        if targets.is_empty() {
            // The cursor always points at a target, so that no caller has to ask whether there is one.
            targets.push(Target::default());
        }
        Self { targets, cursor: 0, max_attempts: max_attempts.max(1), attempts: 0, patience, outages_in_a_row: 0 }
    }

    /// The target to ask now.
    #[must_use]
    pub fn target(&self) -> usize {
        self.cursor
    }

    /// The one-based attempt that the next call of this turn would be.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempts.saturating_add(1)
    }

    /// Whether any target is left whose key and quota were not refused.
    #[must_use]
    pub fn has_usable(&self) -> bool {
        self.targets.iter().any(|target| !target.refused)
    }

    /// Takes a target out for the whole run. Meant for refusals that another role or tier met.
    pub fn refuse(&mut self, target: usize) {
        if let Some(target) = self.targets.get_mut(target) {
            target.refused = true;
        }
        if !self.current().alive() {
            self.cursor = self.next_where(Target::alive).unwrap_or(self.cursor);
        }
    }

    /// Leaves a target alone until a monotonic time. Meant for limits that another role or tier met.
    pub fn rest(&mut self, target: usize, until_ms: u64) {
        if let Some(target) = self.targets.get_mut(target) {
            target.limited_until_ms = target.limited_until_ms.max(until_ms);
        }
    }

    /// Begins at the first target that is free at a monotonic time. Where none is free, the first that may be asked is asked, since a limit
    /// may have been lifted.
    pub fn begin_free(&mut self, now_ms: u64) {
        let free = self.targets.iter().position(|target| target.is_free(now_ms));
        self.cursor = free.unwrap_or(self.cursor);
    }

    /// Begins a turn: attempts count anew, and targets that rejected the last turn's request may be asked again.
    pub fn begin_turn(&mut self) {
        self.attempts = 0;
        for target in &mut self.targets {
            target.rejected = false;
        }
    }

    /// Notes that the current target answered.
    pub fn after_success(&mut self) {
        self.outages_in_a_row = 0;
        self.update(|target| {
            target.limits_in_a_row = 0;
            target.failures_in_a_row = 0;
            target.limited_until_ms = 0;
        });
    }

    /// Decides what follows a failed call to the current target at the monotonic time `now_ms`.
    pub fn after_failure(&mut self, failure: FailureClass, now_ms: u64, jitter: Jitter) -> Next {
        self.attempts = self.attempts.saturating_add(1);
        // Noted before anything is decided: what follows reads the targets as they are after this failure.
        self.note(failure, now_ms);
        if !self.has_usable() {
            return Next::GiveUp { reason: GiveUp::Refused };
        }
        let reason = self.reason(failure, now_ms);
        // The run itself ended the call, so the target is not to blame and the cursor stays.
        if reason == GiveUp::Aborted {
            return Next::GiveUp { reason };
        }
        if self.attempts >= self.max_attempts {
            return self.wait_on(failure, reason, now_ms, jitter);
        }
        let here = self.current();
        if here.is_free(now_ms) && here.failures_in_a_row < PATIENCE {
            return self.retry(failure, jitter);
        }
        // Trouble of the vendor is no reason to ask a dearer model of the same host.
        let dearer = |target: &Target| {
            reason == GiveUp::Unreachable
                && target.identity.host == here.identity.host
                && target.identity.price > here.identity.price
        };
        match self.next_where(|target| target.is_free(now_ms) && !dearer(target)) {
            Some(target) if target != self.cursor => {
                self.cursor = target;
                return Next::Switch { target };
            }
            Some(_only_this_one) => return self.retry(failure, jitter),
            None => {}
        }
        self.sleep_all(now_ms, jitter).unwrap_or_else(|| {
            self.leave_spent_target(now_ms);
            Next::GiveUp { reason }
        })
    }

    fn note(&mut self, failure: FailureClass, now_ms: u64) {
        let retryable = failure.retryable;
        // Kept from before the failure is noted, for its account and price. The refusal itself is read from `noted`.
        let here = self.current();
        self.update(|target| match failure.status {
            CallStatus::AuthError | CallStatus::QuotaExceeded => target.refused = true,
            CallStatus::RateLimited => {
                let (shortest, longest) = RATE_LIMIT_WAIT_MS;
                // The vendor's own time is not cut: where it is longer than the longest wait, patience decides in
                // `sleep_all`.
                let wait = failure.retry_after_ms.unwrap_or_else(|| backoff(target.limits_in_a_row).min(longest));
                target.limited_until_ms = now_ms.saturating_add(wait.max(shortest));
                target.limits_in_a_row = target.limits_in_a_row.saturating_add(1);
            }
            // Another target may have a larger window. A fresh turn with a shorter request may come back here.
            CallStatus::ContextOverflow => target.rejected = true,
            CallStatus::ModelError | CallStatus::NetworkError | CallStatus::Timeout => {
                target.rejected = !retryable;
                target.failures_in_a_row = target.failures_in_a_row.saturating_add(1);
            }
            CallStatus::InvalidResponse | CallStatus::Ok => {
                // It answered, so its limit is over.
                target.limited_until_ms = 0;
                target.failures_in_a_row = target.failures_in_a_row.saturating_add(1);
            }
            // We ended it or do not know how it ended: neither speaks against the target.
            CallStatus::Aborted | CallStatus::Lost => {}
        });
        let noted = self.current();
        for target in self.targets.iter_mut().filter(|target| target.identity.account == here.identity.account) {
            target.refused |= noted.refused && failure.reach == Reach::Account;
            // A cheaper model of the account may be tried meanwhile, a dearer one never: a limit must not raise the
            // bill.
            if failure.status == CallStatus::RateLimited && target.identity.price > here.identity.price {
                target.limited_until_ms = target.limited_until_ms.max(noted.limited_until_ms);
            }
        }
    }

    /// Why it would be given up now: a limit that passes says more than a refusal elsewhere.
    fn reason(&self, failure: FailureClass, now_ms: u64) -> GiveUp {
        let reason = give_up_reason(failure);
        let waits = || self.targets.iter().any(|target| target.alive() && target.limited_until_ms > now_ms);
        // A run that is parked for a limit can be continued. One that is told to be refused ends.
        let passes = matches!(reason, GiveUp::Refused | GiveUp::Rejected) && waits();
        if passes { GiveUp::Limited } else { reason }
    }

    /// The attempts are used up: what was turned away for nothing is waited for, as far as patience goes.
    fn wait_on(&mut self, failure: FailureClass, reason: GiveUp, now_ms: u64, jitter: Jitter) -> Next {
        let next = match reason {
            GiveUp::Limited if failure.waitable && self.patience.limit_ms > 0 => self.sleep_all(now_ms, jitter),
            GiveUp::Unreachable if failure.waitable => self.sleep_off_an_outage(failure, jitter),
            GiveUp::Refused
            | GiveUp::Limited
            | GiveUp::Unreachable
            | GiveUp::Rejected
            | GiveUp::Garbled
            | GiveUp::Aborted => None,
        };
        next.unwrap_or_else(|| {
            self.leave_spent_target(now_ms);
            Next::GiveUp { reason }
        })
    }

    fn sleep_off_an_outage(&mut self, failure: FailureClass, jitter: Jitter) -> Option<Next> {
        let (shortest, longest) = RATE_LIMIT_WAIT_MS;
        let wait = failure.retry_after_ms.unwrap_or_else(|| backoff(self.outages_in_a_row).min(longest)).max(shortest);
        // A wait that does not fit is not begun: half of one would end in the same outage.
        self.patience.outage_ms = self.patience.outage_ms.checked_sub(wait)?;
        self.outages_in_a_row = self.outages_in_a_row.saturating_add(1);
        Some(Next::SleepAll { target: self.cursor, ms: wait.saturating_add(jitter.spread(wait.min(longest))) })
    }

    /// Moves the cursor so that a later turn does not begin at a target that is known not to answer.
    fn leave_spent_target(&mut self, now_ms: u64) {
        if self.current().is_free(now_ms) {
            return;
        }
        let free = self.next_where(|target| target.is_free(now_ms));
        self.cursor = free.or_else(|| self.next_where(Target::alive)).unwrap_or(self.cursor);
        // All are dead for this turn. One that only rejected the request may be asked in the next turn, a refused one
        // may not.
        if self.current().refused {
            self.cursor = self.next_where(|target| !target.refused).unwrap_or(self.cursor);
        }
    }

    fn retry(&self, failure: FailureClass, jitter: Jitter) -> Next {
        let wait = match failure.status {
            CallStatus::NetworkError | CallStatus::Timeout | CallStatus::ModelError => {
                let step = u64::from(self.attempts).saturating_mul(TRANSIENT_STEP_MS);
                let wait = failure.retry_after_ms.unwrap_or(step).clamp(TRANSIENT_STEP_MS, TRANSIENT_WAIT_MAX_MS);
                wait.saturating_add(jitter.spread(wait)).min(TRANSIENT_WAIT_MAX_MS)
            }
            CallStatus::Ok
            | CallStatus::RateLimited
            | CallStatus::AuthError
            | CallStatus::QuotaExceeded
            | CallStatus::ContextOverflow
            | CallStatus::InvalidResponse
            | CallStatus::Aborted
            | CallStatus::Lost => 0,
        };
        Next::Retry { target: self.cursor, after_ms: wait }
    }

    /// Waits for the longest limit of the targets that are still alive (S1-6), as far as that is short. Where all are long and patience
    /// allows it, waits for the shortest. Goes on with the next target that is free then.
    fn sleep_all(&mut self, now_ms: u64, jitter: Jitter) -> Option<Next> {
        let (shortest, longest) = RATE_LIMIT_WAIT_MS;
        let waits = || {
            let alive = self.targets.iter().filter(|target| target.alive());
            alive.map(|target| target.limited_until_ms.saturating_sub(now_ms))
        };
        // With limits of 5, 20 and 300 s and a longest wait of 60 s that is 60 s: all but the last are free then.
        let wait = waits().min()?.max(waits().max()?.min(longest)).max(shortest);
        if wait > longest || self.attempts >= self.max_attempts {
            self.patience.limit_ms = self.patience.limit_ms.checked_sub(wait)?;
        }
        let target = self.next_where(|target| target.is_free(now_ms.saturating_add(wait)))?;
        self.cursor = target;
        let spread = jitter.spread(wait.min(longest));
        // Jitter may not lift a short wait over the longest one, which needs no patience.
        let ms = if wait > longest { wait.saturating_add(spread) } else { wait.saturating_add(spread).min(longest) };
        Some(Next::SleepAll { target, ms })
    }

    /// The next target after the current one, round robin. The current one comes last.
    fn next_where(&self, wanted: impl Fn(&Target) -> bool) -> Option<usize> {
        let count = self.targets.len();
        (1..=count).map(|step| (self.cursor + step) % count).find(|&index| self.targets.get(index).is_some_and(&wanted))
    }

    fn current(&self) -> Target {
        self.targets.get(self.cursor).copied().unwrap_or_default()
    }

    fn update(&mut self, change: impl FnOnce(&mut Target)) {
        if let Some(target) = self.targets.get_mut(self.cursor) {
            change(target);
        }
    }
}

/// 5, 15, 45 … seconds (S3-7).
fn backoff(limits_before: u32) -> u64 {
    BASE_BACKOFF_MS.saturating_mul(BACKOFF_FACTOR.saturating_pow(limits_before))
}

fn give_up_reason(failure: FailureClass) -> GiveUp {
    match failure.status {
        CallStatus::AuthError | CallStatus::QuotaExceeded => GiveUp::Refused,
        CallStatus::RateLimited => GiveUp::Limited,
        CallStatus::NetworkError | CallStatus::Timeout => GiveUp::Unreachable,
        CallStatus::ModelError if failure.retryable => GiveUp::Unreachable,
        CallStatus::ModelError | CallStatus::ContextOverflow => GiveUp::Rejected,
        CallStatus::InvalidResponse | CallStatus::Ok => GiveUp::Garbled,
        CallStatus::Aborted | CallStatus::Lost => GiveUp::Aborted,
    }
}

#[cfg(test)]
mod tests;
