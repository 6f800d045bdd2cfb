//! The push parser: what stands behind the lines of a log, and the order in which the readers are shown them.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use crate::exit::Exit;
use crate::findings::{Budget, STORED_BYTES};
use crate::frames::Frames;
use crate::generic::Generic;
use crate::junit::Junit;
use crate::lines::{self, Held, Lines};
use crate::marks::{Filter, Scan};
use crate::merge;
use crate::readers::{EXPRESS, GENERIC, Mask, QUOTES, READERS, Readers, WRAPPERS};
use crate::recent::{Recent, closing_words};
use crate::report::{Reading, Report};

/// How much of a line is kept for those that wake later.
pub(crate) const KEPT_OF_LINE: usize = 4 * 1024;
/// How much is read at once from a log.
const CHUNK: usize = 128 * 1024;

/// A push parser from the bytes of a log to a report.
#[derive(Debug)]
pub struct Parser {
    hint: Option<String>,
    lines: Lines,
    shown: Shown,
}

/// The part behind the lines: the readers and what they were shown.
#[derive(Debug)]
struct Shown {
    frames: Frames,
    junit: Junit,
    generic: Generic,
    readers: Readers,
    awake: Mask,
    /// Passes the marks of those that are not awake.
    filter: Arc<Filter>,
    recent: Recent,
}

impl Parser {
    /// A parser at the beginning of a log. The name of a framework (one of [`names`](crate::names)) is a hint, not an order: its reader
    /// is awake from the first line, and what the log itself says goes before it.
    #[must_use]
    pub fn new(framework: Option<&str>) -> Self {
        let budget = Budget::new(STORED_BYTES);
        let hinted = framework.map_or(0, |wanted| {
            READERS
                .iter()
                .enumerate()
                .filter(|(_, (names, _))| names.contains(&wanted))
                .fold(0, |mask, (bit, _)| mask | 1 << bit)
        });
        Self {
            hint: framework.map(str::to_owned),
            lines: Lines::new(),
            shown: Shown {
                frames: Frames::default(),
                junit: Junit::new(&budget),
                generic: Generic::new(&budget),
                readers: Readers::new(&budget),
                // A framework that was named does not wait for its marks.
                awake: hinted,
                filter: Filter::of(!hinted),
                recent: Recent::default(),
            },
        }
    }

    /// Takes more bytes of the log. Where they are cut does not matter, not even within a character.
    pub fn push(&mut self, bytes: &[u8]) {
        let shown = &mut self.shown;
        self.lines.push(bytes, &mut |text, held| shown.text(text, held));
    }

    /// Ends the log. How the command ended decides where the output alone does not: green output with a red exit is no success.
    #[must_use]
    pub fn finish(self, exit: Option<Exit>) -> Report {
        self.finish_reading(exit).report
    }

    /// Ends the log. Returns the report and the log's own last words.
    #[must_use]
    pub fn finish_reading(mut self, exit: Option<Exit>) -> Reading {
        let shown = &mut self.shown;
        self.lines.finish(&mut |text, held| shown.text(text, held));
        // The lines of packages whose end was not announced.
        let rest = shown.frames.rest();
        shown.plain(&rest);
        let Shown { junit, generic, readers, awake, recent, .. } = self.shown;
        let mut found = readers.finish(awake, exit);
        found.extend(junit.finish());
        let last: Vec<&str> = recent.lines("").collect();
        let closing = closing_words(&last);
        let report = merge::merge(found, generic.finish(), &last, exit, self.hint.as_deref());
        Reading { report, closing }
    }
}

impl Shown {
    /// Takes whole lines, or a piece of a document.
    fn text(&mut self, text: &str, held: Held) {
        self.frames.look_at(text);
        let mut scan = Scan::new(text);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len())) {
            let mut whole = text.get(start..end).unwrap_or_default();
            if held == Held::Lines {
                whole = lines::capped(whole);
            }
            if let Some(line) = self.frames.strip(whole) {
                let at = start + (whole.len() - line.len());
                self.line(text, at..at + line.len(), line, &mut scan);
            } else if let Some(ready) = self.frames.ready() {
                // At once: the order of the lines must not depend on how the log arrives.
                self.recent.text_ends(text);
                self.plain(&ready);
            }
            start = end + 1;
        }
        self.recent.text_ends(text);
    }

    /// Takes whole lines that have no frames any more.
    fn plain(&mut self, text: &str) {
        let Some(text) = text.strip_suffix('\n') else { return };
        let mut scan = Scan::new(text);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain(std::iter::once(text.len())) {
            self.line(text, start..end, text.get(start..end).unwrap_or_default(), &mut scan);
            start = end + 1;
        }
        self.recent.text_ends(text);
    }

    /// Shows a line that a test printed to the readers that quote it, and says whether there are any: whatever it
    /// looks like, it is nobody's result.
    fn quoted(&mut self, line: &str) -> bool {
        if self.awake & QUOTES == 0 {
            return false;
        }
        let quoting = self.readers.quoting(self.awake & QUOTES);
        if quoting == 0 {
            return false;
        }
        // A runner of runners quotes the inner one's quotations.
        let outer = quoting & WRAPPERS;
        let shown = if outer == 0 { quoting | self.awake & WRAPPERS } else { outer };
        self.readers.line(shown, line);
        true
    }

    /// A line of nothing holds no mark.
    fn blank_line(&mut self, line: &str, place: Range<usize>) {
        if self.junit.is_open() && self.junit.wants(line) {
            return;
        }
        if self.generic.wants_more() {
            self.generic.more(line);
        }
        if self.awake != 0 && !self.quoted(line) {
            self.readers.line(self.awake, line);
        }
        self.recent.push(place);
    }

    /// Takes one line, which stands in `text` at `place`.
    fn line(&mut self, text: &str, place: Range<usize>, line: &str, scan: &mut Scan) {
        let Some(first) = line.bytes().find(|byte| !byte.is_ascii_whitespace()) else {
            self.blank_line(line, place);
            return;
        };
        if self.junit.is_open() && self.junit.wants(line) {
            return;
        }
        // While the fallback collects a message, this line may be a part of it.
        if self.awake & EXPRESS != 0 && !self.generic.wants_more() && self.readers.express(self.awake, line) {
            self.recent.push(place);
            return;
        }
        if self.quoted(line) {
            self.recent.push(place);
            return;
        }
        // Not before the quotations, since a test may print XML.
        if first == b'<' && !self.junit.is_open() && self.junit.wants(line) {
            return;
        }
        let wanted = if self.generic.listens() { !self.awake } else { !(self.awake | GENERIC) };
        let hits = scan.wakes(&self.filter, text, place.clone(), first, wanted);
        if hits & GENERIC != 0 {
            self.generic.hit(line.get(..line.floor_char_boundary(KEPT_OF_LINE)).unwrap_or(line));
        } else if self.generic.wants_more() {
            self.generic.more(line);
        }
        let woken = hits & !self.awake & !GENERIC;
        if woken != 0 {
            // A mark may stand late in what belongs together, so the lines before it are shown too.
            for earlier in self.recent.lines(text) {
                self.readers.line(woken, earlier);
            }
            self.frames.framework_speaks();
            self.awake |= woken;
            // Marks of readers that are awake need not be found again.
            self.filter = Filter::of(!self.awake);
        }
        if self.awake != 0 {
            self.readers.line(self.awake, line);
        }
        self.recent.push(place);
    }
}

/// A log as plain text: colours, control characters and CI frames gone.
#[must_use]
pub fn plain_text(bytes: &[u8]) -> String {
    let mut plain = String::with_capacity(bytes.len());
    let mut frames = Frames::default();
    let mut add = |text: &str, _: Held| {
        frames.look_at(text);
        for line in text.split('\n').filter_map(|line| frames.strip(lines::capped(line))) {
            plain.push_str(line);
            plain.push('\n');
        }
    };
    let mut lines = Lines::new();
    lines.push(bytes, &mut add);
    lines.finish(&mut add);
    plain.push_str(&frames.rest());
    plain
}

/// Reads a whole log, with a hint which framework it is of.
pub(crate) fn read(log: &mut dyn Read, exit: Option<Exit>, framework: Option<&str>) -> std::io::Result<Reading> {
    let mut parser = Parser::new(framework);
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match log.read(&mut chunk) {
            Ok(0) => return Ok(parser.finish_reading(exit)),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        parser.push(chunk.get(..count).unwrap_or_default());
    }
}
