//! Reservations: a cap is checked and used up in one transaction, so that processes sharing a database share it.
//!
//! Invariant: the grants for a scope, settled or not, never pass any cap that was asked about, whether the database can be written or not.
//! Two processes hold it together as long as either of them can write: the other one reads what was granted.
//! An amount that cannot be known counts as spent.

use super::batch::{Batch, Extra};
use super::query;
use super::rows;
use super::store::{DEGRADED_BUSY_TIMEOUT, Store};
use super::types::{CallReservation, Cap, Refused, Scope, Sync};
use crate::domain::receipt::Receipt;
use crate::domain::units::{Charge, MicroUsd, RunId};

impl Store {
    /// Reads what a run that is taken up again has spent and set aside, for times when the database cannot be read.
    pub(super) fn recall(&mut self, run: &RunId) -> rusqlite::Result<()> {
        for scope in query::scopes(&self.db, run)? {
            let sums = query::sums(&self.db, &scope)?;
            self.totals.note(&scope, sums);
        }
        for (scope, call_id, reserved) in query::open_calls(&self.db, run)? {
            self.totals.adopt(&scope, call_id, reserved);
        }
        Ok(())
    }

    /// Sets aside the worst case of a call if no cap can be passed by it, and records the `CallReserved` event.
    ///
    /// # Errors
    /// The first cap in the order given that it could pass. Nothing is recorded then.
    pub fn reserve(&mut self, call: &CallReservation, caps: &[Cap]) -> Result<(), Refused> {
        // Without a run there is no account that a call could be entered in.
        let Some(mut chain) = self.chain() else {
            // No run, no budget.
            let none = Cap { scope: Scope::Run(RunId("(none)".to_owned())), max: MicroUsd::ZERO };
            return check(&none, None, call.reserved);
        };
        let mut scopes = vec![
            Scope::Run(chain.run_id.clone()).to_string(),
            Scope::Tier(chain.run_id.clone(), call.scope.tier_index).to_string(),
        ];
        // A cap may be about the run or the tier itself, and an amount entered twice would count twice.
        for key in caps.iter().map(|cap| cap.scope.to_string()) {
            if !scopes.contains(&key) {
                scopes.push(key);
            }
        }
        let mut batch = Batch::new(chain.run_id.clone());
        let extra = Extra::Reservation { scopes: scopes.clone(), target: call.target.clone() };
        // Linked before the caps are checked, as the check and the write share one transaction. A refusal leaves the chain where it was.
        self.stamp();
        self.link(&mut chain, &mut batch, &call.event(), extra);
        match self.reserve_in_database(&batch, &scopes, caps, call) {
            Ok(granted) => {
                self.recovered();
                log_reservation(call, &granted);
                // Only what was granted goes on: a refused call must not move the chain or the sums.
                granted?;
                self.totals.reserve(&scopes, call);
                self.advance(chain);
            }
            Err(error) => {
                tracing::info!("the audit log cannot be written, caps are checked by what is known: {error}");
                let granted = self.check_known(caps, call);
                log_reservation(call, &granted);
                granted?;
                self.totals.reserve(&scopes, call);
                self.totals.note_unsaved(&scopes, (MicroUsd::ZERO, call.reserved));
                self.advance(chain);
                self.keep(batch, &error);
            }
        }
        Ok(())
    }

    /// Checks and writes in one transaction. The outer error is the database's.
    fn reserve_in_database(
        &mut self,
        batch: &Batch,
        scopes: &[String],
        caps: &[Cap],
        call: &CallReservation,
    ) -> rusqlite::Result<Result<(), Refused>> {
        let (transaction, replayed) = self.transaction(Sync::Now)?;
        let mut known = Vec::with_capacity(scopes.len());
        for scope in scopes {
            known.push((scope.as_str(), query::sums(&transaction, scope)?));
        }
        let of = |scope: &str| known.iter().find(|(key, _)| *key == scope).map(|(_, sums)| *sums);
        // Read in the transaction that writes, so that no other process can spend the same money in between.
        let granted = caps.iter().try_for_each(|cap| check(cap, of(&cap.scope.to_string()), call.reserved));
        if granted.is_ok() {
            rows::apply(&transaction, batch)?;
        }
        // Also after a refusal, since the waiting writes that were replayed are to stay.
        transaction.commit()?;
        self.replayed(replayed);
        for (scope, sums) in known {
            self.totals.note(scope, sums);
        }
        Ok(granted)
    }

    /// The caps while the database cannot be written: by what is known here and what can be read. Another process may have spent since we
    /// last knew.
    fn check_known(&mut self, caps: &[Cap], call: &CallReservation) -> Result<(), Refused> {
        // It was waited for already; whoever holds it may hold it against readers, too.
        drop(self.db.busy_timeout(DEGRADED_BUSY_TIMEOUT));
        let mut granted = Ok(());
        for cap in caps {
            let key = cap.scope.to_string();
            let read = query::sums(&self.db, &key).ok();
            // Never over what is known here: the database has not taken our latest calls.
            if let Some(sums) = read.filter(|_sums| !self.totals.0.contains_key(&key)) {
                self.totals.note(&key, sums);
            }
            granted = granted.and_then(|()| check(cap, self.totals.at_most(&key, read), call.reserved));
        }
        if !self.is_degraded() {
            drop(self.db.busy_timeout(self.settings.busy_timeout));
        }
        granted
    }

    /// The least that is left over all caps, for planning the size of a call.
    #[must_use]
    pub fn left(&self, caps: &[Cap]) -> MicroUsd {
        self.tightest(caps).map_or(MicroUsd(u64::MAX), |(left, _)| left)
    }

    /// The first cap that has least left, and how much that is. `None` without caps.
    #[must_use]
    pub fn tightest<'c>(&self, caps: &'c [Cap]) -> Option<(MicroUsd, &'c Cap)> {
        let left = |cap: &Cap| {
            let sums = self.sums(&cap.scope.to_string());
            // Unknown sums leave nothing, so that no call is planned that would be refused.
            sums.map_or(MicroUsd::ZERO, |(settled, open)| cap.max.saturating_sub(settled + open))
        };
        caps.iter().map(|cap| (left(cap), cap)).min_by_key(|(left, _)| *left)
    }

    /// The cost of the settled calls of a scope. Reservations of others do not count.
    #[must_use]
    pub fn spent(&self, scope: &Scope) -> MicroUsd {
        self.sums(&scope.to_string()).map_or(MicroUsd::ZERO, |(settled, _)| settled)
    }

    /// The cost of the settled calls of a run, lost ones included. Of one iteration alone where tier and iteration are named.
    #[must_use]
    pub fn charge(&self, run: &RunId, of: Option<(u32, u32)>) -> Charge {
        let recorded = query::charges(&self.db, run, of).unwrap_or_default();
        let mut charge: Charge = recorded.iter().map(|(_, charge)| *charge).sum();
        // The receipts of this process may be in the spool, where no query finds them.
        if self.is_degraded() && self.chain().is_some_and(|chain| chain.run_id == *run) {
            let waiting = self.settled.values().filter(|receipt| {
                of.is_none_or(|of| (receipt.scope.tier_index, receipt.scope.iteration) == of)
                    && !recorded.iter().any(|(call, _)| *call == receipt.call_id)
            });
            charge += waiting.map(Receipt::charge).sum();
        }
        charge
    }

    /// A scope's sums, settled and open. `None` when they cannot be known.
    fn sums(&self, key: &str) -> Option<(MicroUsd, MicroUsd)> {
        let known = || self.totals.0.get(key).map(|total| (total.settled, total.open));
        // While writes wait in the spool the database knows less than we do.
        let waiting = if self.is_degraded() { known() } else { None };
        waiting.or_else(|| query::sums(&self.db, key).ok()).or_else(known)
    }
}

/// Whether a call fits under a cap whose scope has these sums, settled and open. Unknown sums count as spent.
fn check(cap: &Cap, sums: Option<(MicroUsd, MicroUsd)>, asked: MicroUsd) -> Result<(), Refused> {
    let (spent, reserved_elsewhere) = sums.unwrap_or((cap.max, MicroUsd::ZERO));
    let fits = sums.is_some() && spent + reserved_elsewhere + asked <= cap.max;
    if fits {
        return Ok(());
    }
    Err(Refused { scope: cap.scope.clone(), max: cap.max, spent, reserved_elsewhere, asked })
}

fn log_reservation(call: &CallReservation, granted: &Result<(), Refused>) {
    let (target, reserved) = (&call.target, call.reserved.exact());
    match granted {
        Ok(()) => tracing::debug!(%target, %reserved, call = call.call_id, "the call's worst case is reserved"),
        Err(refused) => tracing::info!(%target, %reserved, "the call could pass a cap: {refused:?}"),
    }
}
