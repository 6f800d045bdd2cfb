//! The parts of a client's request that cost money, wire by wire. Parts that cannot be bounded are refused, and the reply's limit is read
//! and set.
//!
//! Pure: a body in, a decision or a changed body out. Invariant: a request that [`unbounded`] lets pass costs at most its bytes and
//! [`extra_tokens`] as prompt and [`limit`] as reply.

mod chat;
mod fields;
mod generate;
mod messages;
mod responses;

use fields::count;
pub(super) use fields::{Body, Unbounded};

use crate::model::meter::Spoken;

/// Prompt tokens that an image can come to beside its bytes: a small file may hold a large picture. Above the vendors' own limits for
/// one picture (Anthropic 4,784 in its newest models, OpenAI and Gemini less).
const IMAGE_TOKENS: u64 = 8_192;

/// Why a request cannot be held to a cap.
pub(super) fn unbounded(spoken: Spoken, body: &Body) -> Result<(), Unbounded> {
    match spoken {
        Spoken::Messages => messages::unbounded(body),
        Spoken::Responses => responses::unbounded(body),
        Spoken::Chat => chat::unbounded(body),
        Spoken::Generate => generate::unbounded(body),
    }
}

/// The reply's limit, where the request has one.
pub(super) fn limit(spoken: Spoken, body: &Body) -> Option<u64> {
    match spoken {
        Spoken::Messages => count(body, "max_tokens"),
        Spoken::Responses => count(body, "max_output_tokens"),
        Spoken::Chat => chat::limit(body),
        Spoken::Generate => generate::limit(body),
    }
}

/// Sets the reply's limit. `field` is the name that chat completions have for it where the request names none.
pub(super) fn set_limit(spoken: Spoken, body: &mut Body, tokens: u64, field: &str) {
    match spoken {
        Spoken::Messages => messages::set_limit(body, tokens),
        Spoken::Responses => drop(body.insert("max_output_tokens".to_owned(), tokens.into())),
        Spoken::Chat => chat::set_limit(body, tokens, field),
        Spoken::Generate => generate::set_limit(body, tokens),
    }
}

/// Prompt tokens that the request's bytes do not stand for.
pub(super) fn extra_tokens(spoken: Spoken, body: &Body) -> u64 {
    let images = match spoken {
        Spoken::Messages => messages::images(body),
        Spoken::Responses => responses::images(body),
        Spoken::Chat => chat::images(body),
        Spoken::Generate => generate::images(body),
    };
    images.saturating_mul(IMAGE_TOKENS)
}

/// Whether writing to the vendor's cache costs more than the catalogue's price: Anthropic's cache of an hour.
pub(super) fn caches_for_an_hour(spoken: Spoken, body: &Body) -> bool {
    spoken == Spoken::Messages && messages::caches_for_an_hour(body)
}

/// Asks for the vendor's ordinary service tier, where the vendor would choose one itself: a dearer one, perhaps. Returns whether that
/// changed the body.
pub(super) fn ask_for_ordinary_tier(spoken: Spoken, provider: &str, body: &mut Body) -> bool {
    let ordinary = match (spoken, provider) {
        (Spoken::Messages, "anthropic") => "standard_only",
        (Spoken::Responses | Spoken::Chat, "openai") => "default",
        // Others have no such field, or none that chooses by itself.
        (Spoken::Messages | Spoken::Responses | Spoken::Chat | Spoken::Generate, _) => return false,
    };
    let said = body.get("service_tier").filter(|said| !said.is_null());
    let chooses = said.is_none_or(|said| said.as_str().is_some_and(|said| said.eq_ignore_ascii_case("auto")));
    if chooses {
        body.insert("service_tier".to_owned(), ordinary.into());
    }
    chooses
}

/// Has a stream of chat completions tell its counts. Returns whether that changed the body.
pub(super) fn ask_for_counts(spoken: Spoken, body: &mut Body) -> bool {
    spoken == Spoken::Chat && chat::ask_for_counts(body)
}

#[cfg(test)]
mod tests;
