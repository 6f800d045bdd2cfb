//! How a stream says where one event ends: server-sent events, or a line of JSON each.

use crate::http::sse::{self, Event};

/// The two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// Server-sent events.
    Events,
    /// Newline-delimited JSON (`application/x-ndjson`), as Ollama sends it.
    Lines,
}

impl Framing {
    /// The framing that a content type announces. `None` for an answer in one piece.
    pub(super) fn of_content_type(text: &str) -> Option<Self> {
        let text = text.trim_start().to_ascii_lowercase();
        let is = |kind: &&str| text.starts_with(kind);
        match () {
            () if is(&"text/event-stream") => Some(Self::Events),
            () if ["application/x-ndjson", "application/ndjson", "application/jsonl"].iter().any(is) => {
                Some(Self::Lines)
            }
            () => None,
        }
    }

    /// The framing of a body that is no JSON value, whatever its content type said.
    pub(super) fn of_body(body: &[u8]) -> Option<Self> {
        let text = body.trim_ascii();
        // A line that begins with a colon is a comment, by which servers keep a connection open.
        if [&b"data:"[..], b"event:", b": "].iter().any(|start| text.starts_with(start)) {
            return Some(Self::Events);
        }
        // Reached only by a body that is no JSON as a whole, so that several lines are several values.
        let has_lines = text.first() == Some(&b'{') && memchr::memchr(b'\n', text).is_some();
        has_lines.then_some(Self::Lines)
    }

    /// Whether the first bytes of a stream show that it is a plain JSON answer instead.
    pub(super) fn is_broken_by(self, first: &[u8]) -> bool {
        // Lines of JSON begin with a bracket by right.
        self == Self::Events && matches!(first.trim_ascii_start().first(), Some(b'{' | b'['))
    }

    pub(super) fn decoder(self) -> Decoder {
        match self {
            Self::Events => Decoder::Events(sse::Decoder::default()),
            Self::Lines => Decoder::Lines(Vec::new()),
        }
    }
}

/// Collects bytes until they make events. The events do not depend on how the bytes were cut.
#[derive(Debug)]
pub(super) enum Decoder {
    /// A decoder of server-sent events.
    Events(sse::Decoder),
    /// A decoder of lines, with the bytes of the next one that have come.
    Lines(Vec<u8>),
}

impl Decoder {
    /// Takes some bytes and returns the events that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let begun = match self {
            Self::Events(decoder) => return decoder.push(bytes),
            Self::Lines(begun) => begun,
        };
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            begun.extend_from_slice(rest.get(..end).unwrap_or_default());
            events.push(line(&std::mem::take(begun)));
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        begun.extend_from_slice(rest);
        events
    }

    /// The content of an unfinished last event.
    pub(super) fn finish(&mut self) -> Option<Event> {
        match self {
            Self::Events(decoder) => decoder.finish(),
            Self::Lines(begun) => (!begun.is_empty()).then(|| line(&std::mem::take(begun))),
        }
    }
}

fn line(bytes: &[u8]) -> Event {
    // Lossy, since a line that is no UTF-8 is no JSON either, and is told of there.
    Event { name: String::new(), data: String::from_utf8_lossy(bytes).trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_depend_on_how_they_were_cut() {
        let whole = "{\"a\":\"ä\"}\n{\"b\":2}\r\n\n{\"c\":3}";
        for size in 1..=whole.len() {
            let mut decoder = Framing::Lines.decoder();
            let mut data: Vec<String> = Vec::new();
            for piece in whole.as_bytes().chunks(size) {
                data.extend(decoder.push(piece).into_iter().map(|event| event.data));
            }
            data.extend(decoder.finish().map(|event| event.data));
            assert_eq!(data, ["{\"a\":\"ä\"}", "{\"b\":2}", "", "{\"c\":3}"], "in pieces of {size}");
        }
    }

    #[test]
    fn the_framing_is_told_by_the_content_type_or_by_the_body() {
        assert_eq!(Framing::of_content_type("application/x-ndjson; charset=utf-8"), Some(Framing::Lines));
        assert_eq!(Framing::of_content_type(" Text/Event-Stream"), Some(Framing::Events));
        assert_eq!(Framing::of_content_type("application/json"), None);
        assert_eq!(Framing::of_body(b"{\"a\":1}\n{\"b\":2}\n"), Some(Framing::Lines));
        assert_eq!(Framing::of_body(b"data: {}\n\n"), Some(Framing::Events));
        assert_eq!(Framing::of_body(b"<html>\n</html>"), None);
    }
}
