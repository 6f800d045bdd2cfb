//! A judged tree, and which of two is further.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::foreign::Foreign;
use crate::domain::units::TreeId;

/// A judged tree: what the next iteration or tier can build on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The recorded tree.
    pub tree: TreeId,
    /// Tests of F0 that were seen passing on it.
    pub fixed: BTreeSet<String>,
    /// Whether nothing can be built on it: something that passed before may fail or be gone on it, or it cannot be judged.
    pub lost: bool,
    /// Whether something that passed before was seen failing or gone on it. `None` where not all of that was run.
    #[serde(default)]
    pub breaks: Option<bool>,
    /// Whether its tests ran at all. Without that (it does not compile) none can be seen passing.
    #[serde(default)]
    pub ran: bool,
    /// Whether it was judged green, whatever a reviewer said of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub green: bool,
    /// Its failing tests by name.
    pub failing: Vec<String>,
    /// Its failures as a model is shown them.
    pub failures: Foreign,
    /// The places that its failures name: path and line.
    pub named: Vec<(String, Option<u32>)>,
}

impl Candidate {
    /// Whether this tree is further than the other: nothing lost, and more of F0 seen passing (DESIGN §4) or, where no test
    /// could run, tests that run.
    #[must_use]
    pub fn beats(&self, other: &Self) -> bool {
        // At an equal count alone: more tests seen passing outweigh a tree that merely runs.
        let runs_at_last = self.ran && !other.ran && self.fixed.len() == other.fixed.len();
        !self.lost && (self.fixed.len() > other.fixed.len() || runs_at_last)
    }
}
