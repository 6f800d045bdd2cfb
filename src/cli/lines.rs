//! `--format jsonl`: what happens goes to standard output as it happens, a line for each event.

use std::io::Write as _;

use crate::domain::clock::Timestamp;
use crate::domain::event::{Event, EventSink};
use crate::report::jsonl::Stream;

/// Writes lines of JSON as events come.
#[derive(Debug)]
pub(super) struct Lines {
    stream: Stream,
    at: Option<Timestamp>,
}

impl Lines {
    /// A stream that tells nothing of what happened `before`.
    pub(super) fn new(before: &[Event]) -> Self {
        let mut stream = Stream::default();
        for event in before {
            let _told_then = stream.lines(event, None);
        }
        Self { stream, at: None }
    }
}

impl EventSink for Lines {
    fn recorded(&mut self, at: &Timestamp) {
        self.at = Some(at.clone());
    }

    fn emit(&mut self, event: &Event) {
        let lines = self.stream.lines(event, self.at.as_ref());
        // One lock for all lines of an event, so that no other output comes between them.
        let mut out = std::io::stdout().lock();
        // Nobody may read any longer; the run goes on all the same.
        let _closed = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
    }
}
