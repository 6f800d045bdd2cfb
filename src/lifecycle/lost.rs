//! Servers of tools that could not be had in the tier under way: no later session of it waits for them again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

/// The servers that were lost, by name. Sessions side by side share it.
#[derive(Debug, Default)]
pub(super) struct LostServers {
    tier: Cell<Option<u32>>,
    names: RefCell<BTreeSet<String>>,
}

impl LostServers {
    /// Begins anew with another tier.
    pub(super) fn at_tier(&self, index: u32) {
        if self.tier.replace(Some(index)) != Some(index) {
            self.names.borrow_mut().clear();
        }
    }

    /// Notes a server that cannot be had.
    pub(super) fn note(&self, name: &str) {
        self.names.borrow_mut().insert(name.to_owned());
    }

    /// Whether a server could not be had in this tier.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.borrow().contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_server_is_tried_again_in_another_tier() {
        let lost = LostServers::default();
        lost.at_tier(0);
        lost.note("own");
        lost.at_tier(0);
        assert!(lost.has("own") && !lost.has("other"));
        lost.at_tier(1);
        assert!(!lost.has("own"));
    }
}
