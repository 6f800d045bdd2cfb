//! Server-sent events out of bytes (WHATWG HTML, "Server-sent events"), cut wherever the network cut them.

/// One event: its name (empty when not given) and its data lines joined by line feeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Its data.
    pub data: String,
}

/// Collects bytes until they make lines, and lines until they make events.
///
/// Invariant: the events do not depend on how the bytes were cut.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    event: Event,
    has_data: bool,
}

impl Decoder {
    /// Takes some bytes and returns the events they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            // A line end of two signs may be cut between them.
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(rest.get(..end).unwrap_or_default());
            self.after_cr = rest.get(end) == Some(&b'\r');
            rest = rest.get(end + 1..).unwrap_or_default();
            events.extend(self.end_line());
        }
        events
    }

    /// The content of an unfinished last event: some servers close without the empty line.
    pub fn finish(&mut self) -> Option<Event> {
        if !self.line.is_empty() {
            let completed = self.end_line();
            if completed.is_some() {
                return completed;
            }
        }
        self.dispatch()
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        // A byte order mark may only stand at the very beginning.
        let bytes = if std::mem::replace(&mut self.begun, true) {
            bytes.as_slice()
        } else {
            bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)
        };
        if bytes.is_empty() {
            return self.dispatch();
        }
        let line = String::from_utf8_lossy(bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.to_owned(),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    // Several data lines are one text, by the specification.
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // A comment (empty field), `id`, `retry`, or something unheard of.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let event = std::mem::take(&mut self.event);
        // An event without data is none, by the specification.
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(bytes: &[u8]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = decoder.push(bytes);
        events.extend(decoder.finish());
        events
    }

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_cut_at_every_byte() {
        let stream = "\u{feff}: hello\nevent: a\ndata: {\"x\":\"é🦀\"}\n\ndata:1\r\ndata: 2\r\n\r\nid: 7\n\nevent: b\rdata: last\r\r"
            .as_bytes();
        let expected = vec![event("a", "{\"x\":\"é🦀\"}"), event("", "1\n2"), event("b", "last")];
        assert_eq!(events(stream), expected);
        for cut in 0..=stream.len() {
            let mut decoder = Decoder::default();
            let mut got = decoder.push(&stream[..cut]);
            got.extend(decoder.push(&stream[cut..]));
            got.extend(decoder.finish());
            assert_eq!(got, expected, "cut at {cut}");
        }
    }

    #[test]
    fn an_event_without_its_empty_line_is_still_read() {
        assert_eq!(events(b"data: a\n\ndata: b"), vec![event("", "a"), event("", "b")]);
        assert_eq!(events(b"data: b\n"), vec![event("", "b")]);
        assert_eq!(events(b": only a comment\n\n"), Vec::new());
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_events(bytes in proptest::collection::vec(any::<u8>(), 0..300), size in 1usize..20) {
            let mut decoder = Decoder::default();
            let mut got: Vec<_> = bytes.chunks(size).flat_map(|piece| decoder.push(piece)).collect();
            got.extend(decoder.finish());
            prop_assert_eq!(got, events(&bytes));
        }
    }
}
