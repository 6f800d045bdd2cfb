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
    /// Own calls under way, with what is set aside for each.
    calls: BTreeMap<String, MicroUsd>,
}

impl Totals {
    /// Takes over what the database says.
    pub(super) fn note(&mut self, scope: &str, (settled, open): (MicroUsd, MicroUsd)) {
        let total = self.0.entry(scope.to_owned()).or_default();
        (total.settled, total.open) = (settled, open);
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

    /// Settles an own call in every scope that it was reserved for.
    pub(super) fn settle(&mut self, receipt: &Receipt) {
        for total in self.0.values_mut() {
            if let Some(reserved) = total.calls.remove(&receipt.call_id) {
                total.open = total.open.saturating_sub(reserved);
                total.settled += receipt.charge().total();
            }
        }
    }
}
