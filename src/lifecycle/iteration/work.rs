//! The work of one iteration.

use crate::lifecycle::roles::{Halt, RolesEnd};
use crate::session::SessionEnd;
use crate::trial::Judged;
use crate::workspace::Diff;

/// The work of one iteration, before it is judged by the ladder.
pub(super) struct Work {
    pub(super) ends: RolesEnd,
    pub(super) critic: Option<SessionEnd>,
    pub(super) halt: Option<Halt>,
    pub(super) judged: Option<Judged>,
    /// The whole change since the start.
    pub(super) diff: Diff,
    pub(super) changed: bool,
}
