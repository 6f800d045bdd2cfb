//! What a reply in text asks for.

use crate::session::action::Action;

/// One thing that a reply asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) enum Item {
    /// Understood.
    Act(Action),
    /// Not understood for certain: not done.
    Refuse {
        /// What it was about.
        subject: String,
        /// Why, in words for the model.
        why: String,
    },
}
