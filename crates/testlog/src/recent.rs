//! The last lines of a log: what a reader that wakes late is shown, and the log's closing words.
//!
//! Invariant: what is kept is bounded, whatever the log.

use std::ops::Range;

use crate::parser::KEPT_OF_LINE;

/// How many lines before its first mark a reader is given.
pub(super) const LOOK_BACK: usize = 32;
/// How much text may be kept before all but the last lines is dropped: seldom enough to cost nothing.
const KEPT_RECENT: usize = 256 * 1024;
/// How many of the last lines are the log's closing words: the summaries of all known runners fit.
const CLOSING_LINES: usize = 8;
/// How much of one closing line is kept.
const CLOSING_WIDTH: usize = 500;

/// The last lines: where they stand in the text at hand, and those of the texts before, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Recent {
    before: String,
    here: [Range<usize>; LOOK_BACK],
    /// How many lines of the text at hand there were.
    count: usize,
}

impl Recent {
    /// Adds a line of the text at hand.
    pub(super) fn push(&mut self, place: Range<usize>) {
        if let Some(slot) = self.here.get_mut(self.count % LOOK_BACK) {
            *slot = place;
        }
        self.count += 1;
    }

    /// Keeps the last lines of a text that is over.
    pub(super) fn text_ends(&mut self, text: &str) {
        let mut before = std::mem::take(&mut self.before);
        // This text alone has as many lines as are looked back at.
        if self.count >= LOOK_BACK {
            before.clear();
        } else if before.len() > KEPT_RECENT {
            let from = start_of_last(&before, LOOK_BACK);
            before.drain(..from);
        }
        for line in self.lines_here(text) {
            before.push_str(line);
            before.push('\n');
        }
        self.before = before;
        self.count = 0;
    }

    /// The last [`LOOK_BACK`] lines, some of which may stand in the text at hand.
    pub(super) fn lines<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let from = start_of_last(&self.before, LOOK_BACK.saturating_sub(self.count));
        self.before.get(from..).unwrap_or_default().lines().chain(self.lines_here(text))
    }

    fn lines_here<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        // A ring: behind the newest line stands the oldest.
        let (newer, older) = self.here.split_at(self.count % LOOK_BACK);
        let older = if self.count < LOOK_BACK { &[] } else { older };
        older.iter().chain(newer).map(|place| {
            let line = text.get(place.clone()).unwrap_or_default();
            line.get(..line.floor_char_boundary(KEPT_OF_LINE)).unwrap_or(line)
        })
    }
}

/// Where the last `count` lines of a text begin, each of which has its end.
fn start_of_last(text: &str, count: usize) -> usize {
    memchr::memrchr_iter(b'\n', text.as_bytes()).nth(count).map_or(0, |end| end + 1)
}

/// The last lines that are not empty, where runners sum up.
pub(super) fn closing_words(recent: &[&str]) -> String {
    let mut lines: Vec<&str> =
        recent.iter().rev().map(|line| line.trim_end()).filter(|line| !line.is_empty()).collect();
    lines.truncate(CLOSING_LINES);
    lines.reverse();
    let shown: Vec<&str> =
        lines.iter().map(|line| line.get(..line.floor_char_boundary(CLOSING_WIDTH)).unwrap_or(line)).collect();
    shown.join("\n")
}
