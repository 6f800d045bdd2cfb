//! From what a vendor or the network says to one typed [`CallFailure`] (S1-5), for all wires.
//!
//! Judges by the HTTP status and the error object's own codes first, by known phrases of its message second, and never by
//! text that a model wrote. Every message says what happened and what to do, and no message holds a key.

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use crate::domain::outcome::WAIT_AND_RUN_AGAIN;
use crate::domain::receipt::CallStatus;

use super::{CallFailure, retry_after};

/// How much of a vendor's error text is passed on.
const MAX_VENDOR_TEXT_CHARS: usize = 300;
/// So many characters of a key in a word make it a piece of the key: vendors echo masked keys.
const KEY_WINDOW: usize = 6;

/// Takes a key, and pieces of it, out of texts.
#[derive(Clone, Default)]
pub(super) struct Scrubber(Option<SecretString>);

impl std::fmt::Debug for Scrubber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scrubber")
    }
}

impl Scrubber {
    pub(super) fn new(key: Option<SecretString>) -> Self {
        Self(key)
    }

    /// One line of at most [`MAX_VENDOR_TEXT_CHARS`], with every word that holds six or more consecutive characters of the
    /// key, or that looks like a masked key, replaced.
    pub(super) fn clean(&self, text: &str) -> String {
        let key = self.0.as_ref().map(ExposeSecret::expose_secret).unwrap_or_default();
        let characters: Vec<char> = key.trim().chars().collect();
        // A key shorter than the window is looked for as a whole.
        let window = KEY_WINDOW.min(characters.len()).max(1);
        let windows: Vec<String> = characters.windows(window).map(|window| window.iter().collect()).collect();
        // Vendors echo the key in part: `Incorrect API key provided: sk-ab***yz`.
        let hides = |word: &&str| word.contains("***") || windows.iter().any(|window| word.contains(window.as_str()));
        let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let line = words.map(|word| if hides(&word) { "***" } else { word }).collect::<Vec<_>>().join(" ");
        if line.chars().count() <= MAX_VENDOR_TEXT_CHARS {
            return line;
        }
        line.chars().take(MAX_VENDOR_TEXT_CHARS).chain(['…']).collect()
    }
}

/// The provider that failed, for messages.
#[derive(Debug, Clone)]
pub(super) struct Blamed {
    pub(super) provider: String,
    pub(super) key_variable: Option<String>,
    pub(super) scrubber: Scrubber,
}

/// The content of a vendor's error, whatever its shape.
#[derive(Debug, Default)]
pub(super) struct Complaint {
    /// Codes, types and statuses, in lower case, separated by spaces.
    kinds: String,
    /// The sentence.
    message: String,
    /// An HTTP status inside the body.
    code: Option<u16>,
    /// The whole error object in lower case, for structured details.
    details: String,
}

impl Complaint {
    /// Reads an error body: an `error` object or string, a list of such (Gemini), a bare `message` (Mistral), or plain text.
    pub(super) fn of_body(body: &[u8]) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::of_json(&value),
            Err(_) => Self { message: String::from_utf8_lossy(body).into_owned(), ..Self::default() },
        }
    }

    /// The same for a parsed body.
    pub(super) fn of_json(value: &Value) -> Self {
        // Gemini answers some requests with a list of one error.
        let first = value.get(0).unwrap_or(value);
        let error = first.get("error").filter(|error| !error.is_null()).unwrap_or(first);
        let word = |key: &str| match error.get(key) {
            Some(Value::String(text)) => text.to_ascii_lowercase(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        // OpenRouter puts the words of the vendor behind it there.
        let metadata = error.pointer("/metadata/raw").and_then(Value::as_str).unwrap_or_default();
        let sentence = || ["message", "detail", "msg"].iter().find_map(|key| error.get(*key)).map(readable);
        let message = error.as_str().map(str::to_owned).or_else(sentence).unwrap_or_default();
        let code = error.get("code").or_else(|| error.get("status"));
        Self {
            // Joined, as each vendor has the telling word under another key.
            kinds: ["type", "code", "status", "reason"].map(word).join(" "),
            message: if metadata.is_empty() { message } else { format!("{message} {metadata}") },
            code: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
            details: error.to_string().to_ascii_lowercase(),
        }
    }

    fn is(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.kinds.contains(kind))
    }

    /// Whether a refusal is about one model: OpenAI says so with `model_not_found` ("Project … does not have access to model …"),
    /// others in their sentence alone.
    fn is_about_a_model(&self) -> bool {
        self.is(&["model_not_found"])
            || self.says(&["access to model", "access to the model", "not allowed to sample from this model"])
    }

    /// Whether it is about one of Gemini's quotas per day (`GenerateRequestsPerDayPerProjectPerModel`).
    fn is_daily(&self) -> bool {
        self.details.contains("perday")
    }

    fn says(&self, phrases: &[&str]) -> bool {
        let lower = self.message.to_ascii_lowercase();
        phrases.iter().any(|phrase| lower.contains(phrase))
    }
}

fn readable(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A class of failure with what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    status: CallStatus,
    retryable: bool,
    may_be_billed: bool,
    what: &'static str,
    fix: Fix,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fix {
    Key,
    Access,
    Credit,
    Shorten,
    Wait,
    Name,
    BaseUrl,
    Request,
}

const fn class(status: CallStatus, retryable: bool, may_be_billed: bool, what: &'static str, fix: Fix) -> Class {
    Class { status, retryable, may_be_billed, what, fix }
}

const AUTH: Class = class(CallStatus::AuthError, false, false, "the key was refused", Fix::Key);
const FORBIDDEN: Class = class(CallStatus::AuthError, false, false, "access was refused", Fix::Access);
const FORBIDDEN_MODEL: Class = class(CallStatus::AuthError, false, false, super::MODEL_REFUSED, Fix::Access);
const QUOTA: Class =
    class(CallStatus::QuotaExceeded, false, false, "the account's quota or credit is used up", Fix::Credit);
const OVERFLOW: Class =
    class(CallStatus::ContextOverflow, false, false, "the request is too long for the model", Fix::Shorten);
const LIMITED: Class = class(CallStatus::RateLimited, true, false, "too many requests", Fix::Wait);
const LIMITED_FOR_THE_DAY: Class =
    class(CallStatus::RateLimited, true, false, "the requests of the day are used up", Fix::Credit);
const OVERLOADED: Class = class(CallStatus::RateLimited, true, false, super::OVERLOADED, Fix::Wait);
const NOT_FOUND: Class = class(CallStatus::ModelError, false, false, "no such model or path", Fix::Name);
const TIMED_OUT: Class = class(CallStatus::Timeout, true, true, "the vendor ran out of time", Fix::Wait);
const BROKEN: Class = class(CallStatus::ModelError, true, true, "the vendor failed", Fix::Wait);
const UNAVAILABLE: Class = class(CallStatus::ModelError, true, false, "the vendor is not available", Fix::Wait);
const FILTERED: Class =
    class(CallStatus::ModelError, false, true, "the vendor's content filter refused the prompt", Fix::Request);
const REFUSED: Class = class(CallStatus::ModelError, false, false, "the vendor refused the request", Fix::Request);
const REDIRECTED: Class = class(CallStatus::ModelError, false, false, "redirected to another address", Fix::BaseUrl);

/// Codes for a prompt that does not fit.
const OVERFLOW_KINDS: [&str; 4] =
    ["context_length_exceeded", "exceed_context_size", "tokens_limit_reached", "request_too_large"];
/// The vendors' sentences for the same, where they have no code of their own.
const OVERFLOW_PHRASES: [&str; 13] = [
    "prompt is too long",
    // Ollama 0.33, llm/llama_server.go, where it was asked not to cut the prompt (public source, read 2026-11-23).
    "prompt is longer than the context length",
    "maximum context length",
    "maximum prompt length",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "exceeds the available context size",
    "exceeds the context window",
    "context window exceeds",
    "reduce the length of the messages",
    "input is too long",
    "too large for model",
    "request too large",
];
const QUOTA_KINDS: [&str; 4] = ["insufficient_quota", "billing", "insufficient_balance", "payment_required"];
const QUOTA_PHRASES: [&str; 6] = [
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "requires more credits",
    "doesn't have any credits",
    "used all available credits",
];
const LIMIT_KINDS: [&str; 5] = ["rate_limit", "rate-limit", "resource_exhausted", "too_many_requests", "throttl"];
const KEY_KINDS: [&str; 4] = ["authentication_error", "invalid_api_key", "unauthenticated", "unauthorized"];
const KEY_PHRASES: [&str; 3] = ["api key not valid", "api_key_invalid", "invalid api key"];

/// Words by which a limit announces itself in a text with status 200 (S3-8).
const LIMIT_PHRASES: [&str; 7] = [
    "rate limit",
    "rate-limit",
    "too many requests",
    "quota exceeded",
    "usage limit reached",
    "overloaded",
    "error 429",
];
/// A longer text is no announcement.
const LONGEST_ANNOUNCEMENT: usize = 400;

/// Whether a short text that stands where an answer should be (never a model's words) announces a limit.
pub(super) fn announces_limit(text: &str) -> bool {
    // Short texts alone: a whole page that speaks of limits is something else.
    let lower = text.to_ascii_lowercase();
    text.len() <= LONGEST_ANNOUNCEMENT && LIMIT_PHRASES.iter().any(|phrase| lower.contains(phrase))
}

/// Whether a reply that nobody was billed for is an announcement dressed up as a reply, as some gateways do: it must begin
/// with one, since a model may well speak of rate limits.
pub(super) fn opens_with_limit(reply: &str) -> bool {
    let lower = reply.trim_start().to_ascii_lowercase();
    let opening = lower.strip_prefix("error: ").unwrap_or(&lower);
    reply.len() <= LONGEST_ANNOUNCEMENT && LIMIT_PHRASES.iter().any(|phrase| opening.starts_with(phrase))
}

fn classify(status: u16, complaint: &Complaint) -> Class {
    // Errors inside an answer with status 200 carry their own code, if any.
    let code = if status == 200 { complaint.code.unwrap_or(status) } else { status };
    let too_long = complaint.is(&OVERFLOW_KINDS) || complaint.says(&OVERFLOW_PHRASES);
    match code {
        // The order decides: what the status says for certain comes first, then codes, then sentences.
        300..=399 => REDIRECTED,
        401 => AUTH,
        402 => QUOTA,
        // Before 429: used-up credit comes with that status too, and waiting does not refill it.
        _ if complaint.is(&QUOTA_KINDS) || complaint.says(&QUOTA_PHRASES) => QUOTA,
        // A limit of 0 is a model that the plan does not have, which no day brings.
        429 if complaint.is_daily() && complaint.says(&["limit: 0"]) => QUOTA,
        429 if complaint.is_daily() => LIMITED_FOR_THE_DAY,
        400 if complaint.says(&KEY_PHRASES) || complaint.details.contains("api_key_invalid") => AUTH,
        // Each of these is what some vendor answers to a prompt that does not fit.
        400 | 413 | 422 | 429 | 200 | 500 if too_long => OVERFLOW,
        413 => OVERFLOW,
        429 => LIMITED,
        403 if complaint.is_about_a_model() => FORBIDDEN_MODEL,
        403 => FORBIDDEN,
        404 => NOT_FOUND,
        408 | 504 | 524 => TIMED_OUT,
        529 => OVERLOADED,
        // With 400 the word alone is no sign: the message may quote the request.
        _ if complaint.is(&["overloaded"]) || (code != 400 && complaint.says(&["overloaded"])) => OVERLOADED,
        _ if complaint.is(&LIMIT_KINDS) => LIMITED,
        200 if complaint.is(&KEY_KINDS) => AUTH,
        200 if complaint.is(&["not_found"]) => NOT_FOUND,
        200 if complaint.is(&["permission"]) => FORBIDDEN,
        200 if complaint.is(&["invalid_request"]) => REFUSED,
        200 if announces_limit(&complaint.message) => LIMITED,
        503 => UNAVAILABLE,
        400 if complaint.is(&["content_filter"]) => FILTERED,
        // All that is left of the client's side: the same request fails the same way.
        400..=499 => REFUSED,
        _ => BROKEN,
    }
}

impl Blamed {
    /// The failure that an error answer, or an error inside an answer, stands for.
    pub(super) fn refused(&self, status: u16, headers: &HeaderMap, now: i64, complaint: &Complaint) -> CallFailure {
        let class = classify(status, complaint);
        // Gemini names a delay of seconds beside a quota that comes back at midnight.
        // Before the headers, since a wait of seconds would be tried in vain until the evening.
        let of_the_day = (class == LIMITED_FOR_THE_DAY).then(|| retry_after::until_the_pacific_day_ends(now));
        let wait = of_the_day
            .or_else(|| retry_after::from_headers(headers, now))
            .or_else(|| retry_after::from_text(&complaint.message))
            .or_else(|| retry_after::from_text(&complaint.details));
        let said = self.scrubber.clean(&complaint.message);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let message =
            format!("{}: {} (HTTP {status}){said} → Fix: {}", self.provider, class.what, self.remedy(class.fix));
        CallFailure {
            status: class.status,
            message,
            http_status: Some(status),
            // Where nothing comes of a repetition, a wait would only be in the way.
            retry_after_ms: wait.filter(|_| class.retryable),
            retryable: class.retryable,
            usage: None,
            bill: Box::default(),
            may_be_billed: class.may_be_billed,
        }
    }

    fn remedy(&self, fix: Fix) -> String {
        match fix {
            Fix::Key => match &self.key_variable {
                Some(variable) => format!("check the key in {variable}"),
                None => "this endpoint wants a key: name its variable as apiKeyEnv".to_owned(),
            },
            Fix::Access => "check that this key may use this model, and that the address is right".to_owned(),
            Fix::Credit => {
                "add credit or raise the limit at the vendor, or name a model of another provider".to_owned()
            }
            Fix::Shorten => "name a model with a larger window, or set its contextWindow under `models`".to_owned(),
            Fix::Wait => WAIT_AND_RUN_AGAIN.to_owned(),
            Fix::Name => "check the model's name and the base URL".to_owned(),
            Fix::BaseUrl => {
                "set the base URL to the final address; redirects to other hosts are not followed".to_owned()
            }
            Fix::Request => "see the vendor's words; `upshift check` shows the effective settings".to_owned(),
        }
    }

    /// No connection, or one that broke.
    pub(super) fn network(&self, what: &str, may_be_billed: bool) -> CallFailure {
        let what = self.scrubber.clean(what);
        CallFailure {
            status: CallStatus::NetworkError,
            message: format!("{}: {what} → Fix: check the base URL, the network and the proxy settings", self.provider),
            http_status: None,
            retry_after_ms: None,
            retryable: true,
            usage: None,
            bill: Box::default(),
            may_be_billed,
        }
    }

    /// No answer in time.
    pub(super) fn timed_out(&self, what: &str, may_be_billed: bool) -> CallFailure {
        CallFailure {
            status: CallStatus::Timeout,
            message: format!("{}: {what} → Fix: {}", self.provider, self.remedy(Fix::Wait)),
            http_status: None,
            retry_after_ms: None,
            retryable: true,
            usage: None,
            bill: Box::default(),
            may_be_billed,
        }
    }

    /// An answer that makes no sense, but was paid for.
    pub(super) fn unreadable(&self, what: &str) -> CallFailure {
        let what = self.scrubber.clean(what);
        let fix = "run again; if it persists, check that the base URL speaks this provider's wire";
        CallFailure {
            status: CallStatus::InvalidResponse,
            message: format!("{}: {what} → Fix: {fix}", self.provider),
            http_status: Some(200),
            retry_after_ms: None,
            retryable: true,
            usage: None,
            bill: Box::default(),
            may_be_billed: true,
        }
    }
}

/// Whether a server refuses the service tier that we ask for: it speaks like the vendor and is none.
pub(super) fn refuses_tier(failure: &CallFailure) -> bool {
    matches!(failure.http_status, Some(400 | 422)) && failure.message.contains("service_tier")
}

#[cfg(test)]
mod tests;
