//! Fields that a compatible server turned out not to take.
//!
//! Nobody can list all servers that speak this wire. One that refuses an optional field by name (status 400 or 422: nothing was
//! processed, nothing is billed) is asked once more without it, and never offered it again.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::domain::receipt::CallStatus;
use crate::model::CallFailure;

/// How servers say that they do not know or want a field.
const REFUSALS: [&str; 7] =
    ["unsupported", "not support", "unrecognized", "unknown", "not permitted", "not allowed", "unexpected"];

/// OpenAI's word for its ordinary service tier.
pub(super) const ORDINARY_TIER: &str = "default";

/// Optional fields and what is known to be refused of them.
#[derive(Debug, Default)]
pub(super) struct Quirks {
    other_limit: AtomicBool,
    no_stream_options: AtomicBool,
    no_temperature: AtomicBool,
    no_effort: AtomicBool,
    no_tier: AtomicBool,
}

impl Quirks {
    /// Learns from a refusal. Returns whether there is something new to try.
    pub(super) fn learn(&self, failure: &CallFailure) -> bool {
        let said = failure.message.to_ascii_lowercase();
        let is_refusal = matches!(failure.http_status, Some(400 | 422)) && failure.status == CallStatus::ModelError;
        // "max_tokens is too large" must not make us drop the limit: a reply would be without one.
        if !is_refusal || !REFUSALS.iter().any(|word| said.contains(word)) {
            return false;
        }
        let known = [
            ("stream_options", &self.no_stream_options),
            ("reasoning_effort", &self.no_effort),
            ("reasoning.effort", &self.no_effort),
            ("service_tier", &self.no_tier),
            ("temperature", &self.no_temperature),
            ("max_completion_tokens", &self.other_limit),
            ("max_tokens", &self.other_limit),
        ];
        let named = known.iter().find(|(field, _)| said.contains(field));
        // Only the first refusal of a field is worth another try. A second one is about something else.
        named.is_some_and(|(_, flag)| !flag.swap(true, Ordering::Relaxed))
    }

    /// The field for the reply's limit, given the one first tried.
    pub(super) fn limit_field(&self, first: &'static str) -> &'static str {
        // The two names are each other's alternative, so that the limit itself is never given up.
        match (self.other_limit.load(Ordering::Relaxed), first) {
            (false, _) => first,
            (true, "max_tokens") => "max_completion_tokens",
            (true, _) => "max_tokens",
        }
    }

    pub(super) fn takes_stream_options(&self) -> bool {
        !self.no_stream_options.load(Ordering::Relaxed)
    }

    pub(super) fn takes_temperature(&self) -> bool {
        !self.no_temperature.load(Ordering::Relaxed)
    }

    /// Whether to ask for the ordinary service tier: the vendor would take a dearer one by itself, where the account is set so.
    pub(super) fn asks_tier(&self, provider: &str) -> bool {
        provider == "openai" && !self.no_tier.load(Ordering::Relaxed)
    }

    pub(super) fn takes_effort(&self) -> bool {
        !self.no_effort.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> CallFailure {
        CallFailure {
            status: CallStatus::ModelError,
            message: message.to_owned(),
            http_status: Some(400),
            retry_after_ms: None,
            retryable: false,
            usage: None,
            bill: Box::default(),
            may_be_billed: false,
        }
    }

    #[test]
    fn each_refused_field_is_learnt_once() {
        let quirks = Quirks::default();
        assert!(quirks.learn(&refused("Unrecognized request argument supplied: stream_options")));
        assert!(!quirks.learn(&refused("Unrecognized request argument supplied: stream_options")));
        assert!(!quirks.takes_stream_options() && quirks.takes_temperature());
        assert!(quirks.learn(&refused("Unsupported value: 'temperature' does not support 0.5 with this model.")));
        assert!(!quirks.takes_temperature());
        assert_eq!(quirks.limit_field("max_tokens"), "max_tokens");
    }

    #[test]
    fn a_limit_that_is_too_large_stays_a_limit() {
        let quirks = Quirks::default();
        assert!(!quirks.learn(&refused("max_tokens is too large: 32000. This model supports at most 4096")));
        assert!(
            !quirks.learn(&CallFailure { status: CallStatus::ContextOverflow, ..refused("unsupported max_tokens") })
        );
        assert!(!quirks.learn(&CallFailure { http_status: Some(500), ..refused("unknown max_tokens") }));
        assert_eq!(quirks.limit_field("max_tokens"), "max_tokens");
    }
}
