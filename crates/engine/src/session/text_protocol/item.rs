//! The requests of a reply in text.

use crate::session::action::Action;

/// One thing that a reply asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) enum Item {
    /// Understood.
    Act(Action),
    /// Not understood for certain: not done.
    Refuse {
        /// The subject of the request.
        subject: String,
        /// Why, in words for the model.
        why: String,
    },
}
