//! This process's knowledge of the sums that caps are about.

use std::collections::BTreeMap;

use super::types::CallReservation;
use crate::domain::receipt::Receipt;
use crate::domain::units::MicroUsd;

/// This process's knowledge of the sums of scopes: the database's last word and its own calls since.
#[derive(Debug)]
pub(super) struct Totals(pub(super) BTreeMap<String, Total>);

/// One scope's sums.
#[derive(Debug, Clone, Default)]
pub(super) struct Total {
    pub(super) settled: MicroUsd,
    pub(super) open: MicroUsd,
    /// The growth by own calls since the database last took our word, in micro dollars.
    unsaved: i64,
    /// Own calls under way, with what is set aside for each.
    calls: BTreeMap<String, MicroUsd>,
}

impl Totals {
    /// Takes over what the database says.
    pub(super) fn note(&mut self, scope: &str, (settled, open): (MicroUsd, MicroUsd)) {
        let total = self.0.entry(scope.to_owned()).or_default();
        (total.settled, total.open, total.unsaved) = (settled, open, 0);
    }

    /// The sums of a scope at their most: as we know them, or as the database says now, with own calls that it has not taken. `None` where
    /// nothing is known.
    pub(super) fn at_most(&self, scope: &str, read: Option<(MicroUsd, MicroUsd)>) -> Option<(MicroUsd, MicroUsd)> {
        let total = self.0.get(scope)?;
        let known = total.settled + total.open;
        // The database has the calls of other processes, and not the own ones that it did not take.
        let said = read.map_or(0, |(settled, open)| (settled + open).0.saturating_add_signed(total.unsaved));
        let said = MicroUsd(said);
        Some((total.settled, total.open + said.saturating_sub(known)))
    }

    /// Remembers an own call's amount that the database did not take.
    pub(super) fn note_unsaved(&mut self, scopes: &[String], (before, after): (MicroUsd, MicroUsd)) {
        let signed = |amount: MicroUsd| i64::try_from(amount.0).unwrap_or(i64::MAX);
        for scope in scopes {
            // A scope of which nothing is known counts as spent, and needs no correction.
            let Some(total) = self.0.get_mut(scope) else { continue };
            total.unsaved = total.unsaved.saturating_add(signed(after).saturating_sub(signed(before)));
        }
    }

    /// Takes over a call under way whose amount is in the sums already.
    pub(super) fn adopt(&mut self, scope: &str, call_id: String, reserved: MicroUsd) {
        self.0.entry(scope.to_owned()).or_default().calls.insert(call_id, reserved);
    }

    pub(super) fn reserve(&mut self, scopes: &[String], call: &CallReservation) {
        for scope in scopes {
            let total = self.0.entry(scope.clone()).or_default();
            total.open += call.reserved;
            total.calls.insert(call.call_id.clone(), call.reserved);
        }
    }

    /// Forgets what the database did not take: by now it has all of it.
    pub(super) fn all_saved(&mut self) {
        self.0.values_mut().for_each(|total| total.unsaved = 0);
    }

    /// Settles an own call in every scope that it was reserved for. Returns those.
    pub(super) fn settle(&mut self, receipt: &Receipt) -> Vec<String> {
        let mut scopes = Vec::new();
        for (scope, total) in &mut self.0 {
            if let Some(reserved) = total.calls.remove(&receipt.call_id) {
                // From set aside to spent in one step, so that no moment shows less than both.
                total.open = total.open.saturating_sub(reserved);
                total.settled += receipt.charge().total();
                scopes.push(scope.clone());
            }
        }
        scopes
    }
}
