//! The calls that brought no reply.

use crate::domain::receipt::{CallStatus, Receipt};

/// The calls of a run that brought no reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedCalls {
    /// How many there were.
    pub count: u32,
    /// The error of the last call, foreign text. `None` where that brought a reply. A side call counts until another one had a reply.
    pub last: Option<String>,
    has_reply: bool,
}

impl FailedCalls {
    pub(super) fn settle(&mut self, receipt: &Receipt) {
        let is_side = receipt.scope.is_side();
        let is_ok = receipt.status == CallStatus::Ok;
        self.count += u32::from(!is_ok);
        // A title that could not be made says nothing of whether the model can be asked.
        if is_side && self.has_reply {
            return;
        }
        self.has_reply |= is_ok && !is_side;
        let status = || receipt.status.as_str().replace('_', " ");
        self.last = (!is_ok).then(|| receipt.error.clone().filter(|error| !error.is_empty()).unwrap_or_else(status));
    }
}
