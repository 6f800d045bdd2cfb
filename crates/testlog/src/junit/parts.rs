//! Parts of a test that were skipped: pytest writes an element for each subtest.

use std::collections::BTreeMap;

/// The most tests of which they are kept, the most of each, and the longest reason and name, in bytes.
const MOST_TESTS: usize = 5_000;
const MOST_PARTS: usize = 200;
const LONGEST_REASON: usize = 200;
const LONGEST_NAME: usize = 400;

/// The reasons for which the parts of one test were skipped.
#[derive(Debug, Default)]
pub(super) struct Parts {
    reasons: Vec<String>,
    /// Whether there were more, or longer ones, than are kept: then none are.
    too_many: bool,
}

impl Parts {
    /// Adds one.
    pub(super) fn skip(&mut self, reason: &str) {
        // Beyond the limits none is kept, since a part of them would look like all.
        self.too_many |= self.reasons.len() >= MOST_PARTS || reason.len() > LONGEST_REASON;
        if !self.too_many {
            self.reasons.push(reason.to_owned());
        }
    }

    /// Moves them to those of all tests, and is empty again.
    pub(super) fn keep(&mut self, name: &str, all: &mut BTreeMap<String, Vec<String>>) {
        let Self { reasons, too_many } = std::mem::take(self);
        if !reasons.is_empty() && !too_many && all.len() < MOST_TESTS && name.len() <= LONGEST_NAME {
            all.insert(name.to_owned(), reasons);
        }
    }
}
