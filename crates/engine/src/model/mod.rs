//! Models: one request in, one folded reply out, whatever the vendor's wire.
//!
//! Owns the vendors' protocols, their error words, prices and windows, and recorded replies. Decides nothing about retries,
//! budgets or conversations: that is `session`'s.
//!
//! Start reading at [`Provider`]. [`endpoint`] makes one from configuration, [`cassette`] from a recording. Each wire is one file
//! (`anthropic`, `openai`, `gemini`, `ollama`) that writes requests and reads messages. `channel` carries the bytes, and `failure` turns
//! refusals into [`CallFailure`]s.
//!
//! Invariant: a key leaves this module only in a request's header.

mod anthropic;
mod bill;
pub mod cassette;
pub mod catalogue;
mod channel;
mod connect;
pub mod endpoint;
mod failure;
mod framing;
mod gemini;
pub mod meter;
pub mod ollama;
mod openai;
pub mod probe;
pub mod relay;
mod retry_after;
mod turn;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;

use crate::domain::account::Unavailability;
use crate::domain::bill::Bill;
use crate::domain::chat::{ChatRequest, Reply, Usage};
use crate::domain::receipt::CallStatus;
use crate::policy::rotation::Reach;

/// A future of a provider's reply.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, CallFailure>> + Send + 'a>>;

/// One vendor endpoint. Dropping the future ends the call.
pub trait Provider: Debug + Send + Sync {
    /// Sends one request and folds the stream of reply events into one reply.
    fn ask<'a>(&'a self, request: &'a ChatRequest) -> ReplyFuture<'a>;

    /// The size in bytes of the request as it would be sent: what a reservation counts.
    fn request_bytes(&self, request: &ChatRequest) -> u64;

    /// A warning for a person about this provider since the last call, given once. The call itself did not fail.
    fn take_warning(&self) -> Option<String> {
        None
    }
}

/// Why a call brought no reply: one typed space for all vendors (S1-5).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallFailure {
    /// The class, never [`CallStatus::Ok`].
    pub status: CallStatus,
    /// The failure in words for people, without secrets.
    pub message: String,
    /// The HTTP status, if one came.
    pub http_status: Option<u16>,
    /// How long the vendor wants us to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Whether the same request may succeed later on the same target.
    pub retryable: bool,
    /// The usage nevertheless, as far as the vendor told it.
    pub usage: Option<Usage>,
    /// The bill beside the counts. It is open where the vendor had not counted to the end.
    pub bill: Box<Bill>,
    /// Whether the vendor may have billed it: false only when the request surely was not processed.
    pub may_be_billed: bool,
}

/// How a refusal begins that is about one model, and not about the key.
const MODEL_REFUSED: &str = "access to this model was refused";

/// How the message of a vendor's own trouble begins, which vendors answer like a limit (529, `overloaded_error`).
const OVERLOADED: &str = "the vendor is overloaded";

impl CallFailure {
    /// The reach of a refusal: the account, unless the vendor speaks of this model alone.
    #[must_use]
    pub fn reach(&self) -> Reach {
        // By our own words, since only `failure` knows the vendor's, and a recorded failure has the message alone.
        let of_model = self.http_status == Some(403) && self.message.contains(MODEL_REFUSED);
        if of_model { Reach::Target } else { Reach::Account }
    }

    /// Why nothing of the account can be asked after this, if that follows from it.
    #[must_use]
    pub fn unavailability(&self) -> Option<Unavailability> {
        match self.status {
            // Another model of the same account may well answer.
            CallStatus::AuthError | CallStatus::QuotaExceeded if self.reach() == Reach::Target => None,
            CallStatus::AuthError => Some(Unavailability::KeyRefused),
            CallStatus::QuotaExceeded => Some(Unavailability::QuotaUsedUp),
            // An outage of the vendor's is not the account's limit: waiting for a reset would be in vain.
            CallStatus::RateLimited if self.message.contains(OVERLOADED) => Some(Unavailability::Outage),
            CallStatus::RateLimited => Some(Unavailability::RateLimited),
            CallStatus::NetworkError | CallStatus::Timeout => Some(Unavailability::Outage),
            CallStatus::ModelError if self.retryable => Some(Unavailability::Outage),
            CallStatus::ModelError
            | CallStatus::ContextOverflow
            | CallStatus::InvalidResponse
            | CallStatus::Ok
            | CallStatus::Aborted
            | CallStatus::Lost => None,
        }
    }
}

/// The endpoints of a run, by provider name.
#[derive(Debug, Default)]
pub struct Providers(pub BTreeMap<String, Box<dyn Provider>>);
