//! The usage of an answer that is passed on to somebody else, read while it passes.
//!
//! Owns the four shapes in which vendors tell their counts ([`Spoken`]). Nothing of the answer is kept but an unfinished event, or the
//! body where it comes as one JSON value or as an error, which has to be read whole to be understood.
//!
//! Invariant: the result does not depend on how the network cut the bytes. A count is believed when the vendor has counted to the end.
//! Before that the bill is open ([`Metered::bill`]), and the rest of what was set aside counts as unknown.

mod counts;
mod told;

use std::io::Write as _;

use self::counts::Counts;
pub use self::told::{Metered, Spoken};
use super::framing::{Decoder, Framing};

/// The most bytes of an answer in one piece that are kept to be read: far above any reply.
const MOST_WHOLE: usize = 16 * 1024 * 1024;
/// How much of an error answer is kept.
const MOST_ERROR: usize = 64 * 1024;

/// The head of an answer, as far as reading it depends on that.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The HTTP status.
    pub status: u16,
    /// `content-type`, empty if there is none.
    pub content_type: &'a str,
    /// `content-encoding`, empty if there is none.
    pub encoding: &'a str,
}

/// Reads the counts of one answer.
#[derive(Debug)]
pub struct Meter {
    counts: Counts,
    unpacker: Option<flate2::write::MultiGzDecoder<Vec<u8>>>,
    form: Form,
}

/// How the bytes make events.
#[derive(Debug)]
enum Form {
    Events(Decoder),
    Whole {
        body: Vec<u8>,
        most: usize,
    },
    /// Packed in a way that is not read here.
    Unread,
}

impl Meter {
    /// A meter for an answer.
    #[must_use]
    pub fn new(spoken: Spoken, head: Head<'_>) -> Self {
        let encoding = head.encoding.trim().to_ascii_lowercase();
        let unpacker =
            matches!(encoding.as_str(), "gzip" | "x-gzip").then(|| flate2::write::MultiGzDecoder::new(Vec::new()));
        let form = match (Framing::of_content_type(head.content_type), encoding.as_str()) {
            // An error is no stream, whatever its content type says.
            (_, "" | "identity" | "gzip" | "x-gzip") if head.status != 200 => {
                Form::Whole { body: Vec::new(), most: MOST_ERROR }
            }
            (Some(framing), "" | "identity" | "gzip" | "x-gzip") => Form::Events(framing.decoder()),
            (None, "" | "identity" | "gzip" | "x-gzip") => Form::Whole { body: Vec::new(), most: MOST_WHOLE },
            _ => Form::Unread,
        };
        Self { counts: Counts::new(spoken, head.status), unpacker, form }
    }

    /// Takes the next bytes of the answer.
    pub fn push(&mut self, bytes: &[u8]) {
        // Some gateways pack an answer although nobody asked for that.
        let Some(unpacker) = &mut self.unpacker else { return self.form.push(bytes, &mut self.counts) };
        // What is no gzip tells nothing: the call is settled at what was set aside for it.
        if unpacker.write_all(bytes).is_err() || unpacker.flush().is_err() {
            self.form = Form::Unread;
            return;
        }
        let plain = std::mem::take(unpacker.get_mut());
        self.form.push(&plain, &mut self.counts);
    }

    /// The measure of the answer as far as it was there.
    #[must_use]
    pub fn finish(mut self) -> Metered {
        match &mut self.form {
            Form::Events(decoder) => {
                // The last event need not have an empty line behind it.
                if let Some(event) = decoder.finish() {
                    self.counts.event(&event);
                }
            }
            Form::Whole { body, .. } => self.counts.whole(std::mem::take(body)),
            Form::Unread => {}
        }
        self.counts.metered()
    }

    /// Whether the vendor has said that the reply is complete, and counted it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.counts.is_complete()
    }
}

impl Form {
    fn push(&mut self, bytes: &[u8], counts: &mut Counts) {
        match self {
            Self::Events(decoder) => decoder.push(bytes).iter().for_each(|event| counts.event(event)),
            Self::Whole { body, most } => {
                // Past the limit the rest is passed on unread: the meter must never slow or break the answer.
                let room = most.saturating_sub(body.len()).min(bytes.len());
                body.extend_from_slice(bytes.get(..room).unwrap_or_default());
            }
            Self::Unread => {}
        }
    }
}

#[cfg(test)]
mod tests;
