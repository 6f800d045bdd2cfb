//! What this process knows of those who comment.

use std::collections::BTreeMap;

use crate::policy::command::Rank;

/// What this process knows of those who comment.
#[derive(Debug, Default)]
pub(super) struct Listening {
    pub(super) ranks: BTreeMap<String, Rank>,
    pub(super) not_before_ms: u64,
    pub(super) complained: bool,
}
