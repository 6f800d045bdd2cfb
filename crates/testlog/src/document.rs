//! Reads JSON documents out of a log, of any size: one line that is a whole object, or one printed over many lines.
//!
//! A report is a list of tests with a few words around it. The elements of the lists that a reader names are handed on one at a time and
//! forgotten. The document's skeleton remains, with those lists empty. Long texts are cut, and long values and the surplus of an object are
//! left out, so that memory does not grow with the document and an oversized part costs only itself.
//!
//! The kept parts of a line are copied in runs as long as possible. An element that stands in one line whole is handed on from there. Most
//! are passed over in one go ([`express`]).
//!
//! Invariant: at most [`LONGEST_OBJECT`] and [`LONGEST_VALUE`] for each of [`MOST_LEVELS`] objects are held beside the
//! line, and what is handed on is valid JSON when the document is.

mod express;
mod left_out;
#[cfg(test)]
mod tests;
mod texts;

use self::express::Found;
pub(super) use self::express::plain_texts;
pub(super) use self::left_out::LeftOut;
use self::texts::Text;

/// The most that is kept of the members of one object that is taken apart: what follows them is left out.
const LONGEST_OBJECT: usize = 2 * 1024 * 1024;
/// The most of one value that is no named list: coverage reports stand in some documents.
const LONGEST_VALUE: usize = 1024 * 1024;
/// A line that is as long may be a piece of a longer one.
const PIECE: usize = 1024 * 1024;
/// The deepest that braces and brackets may stand in each other: one bit is kept for each.
const DEEPEST: u32 = 127;
/// How many lists of lists are taken apart.
const MOST_LEVELS: usize = 4;
/// The stand-in for a value that is left out.
const NOTHING: &str = "null";

/// A part of a document, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A document begins: what an earlier one said that never ended is void.
    Begin,
    /// An element of the list of this name, and the texts in it that were asked for, when it was passed over and has them.
    Element(&'static str, &'a str, Option<[&'a str; 2]>),
    /// Members of the next element of this list, or the whole of it, were too long and left out.
    LeftOut(&'static str),
    /// The document itself, without those elements: the last part.
    Whole(&'a str),
}

/// A collector for one reader.
#[derive(Debug)]
pub(super) struct JsonDocument {
    /// The lists whose elements are handed on.
    lists: &'static [&'static str],
    /// The members whose texts are handed on with an element, and where the last one that was passed over has them.
    wanted: Option<[&'static str; 2]>,
    found: Option<Found>,
    open: bool,
    /// The last line may have been cut: a text may go on in the next.
    was_cut: bool,
    text: String,
    /// From where on the line is kept and not copied yet.
    from: usize,
    /// How many braces and brackets are open, and which of them are braces.
    depth: u32,
    braces: u128,
    /// Nothing but a key may come, or nothing but the colon behind it.
    wants_key: bool,
    wants_colon: bool,
    string: Option<Text>,
    /// The list that the last key names.
    named: Option<&'static str>,
    /// The objects that are taken apart, the document itself first.
    levels: Vec<Level>,
    /// A value is being left out.
    skips: bool,
    /// The document that ended last had too many members of its own.
    cut: bool,
}

/// An object that is taken apart.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent observation")]
struct Level {
    /// The depth inside it.
    depth: u32,
    /// Where it begins, behind its brace.
    start: usize,
    /// Where its last member that is whole ends.
    member: usize,
    /// Where its last value begins.
    value: usize,
    /// The list in it that is open, and where its element begins.
    list: Option<(&'static str, usize)>,
    /// Nothing more is kept of it.
    full: bool,
    /// Something of it was left out.
    lost: bool,
    /// Something was left out of the element of its list.
    torn: bool,
    /// The element of its list is an object, which is over.
    done: bool,
}

impl JsonDocument {
    /// A collector that hands on the elements of these lists, wherever they stand in the document or in each other.
    pub(super) const fn new(lists: &'static [&'static str]) -> Self {
        Self {
            lists,
            wanted: None,
            found: None,
            open: false,
            was_cut: false,
            text: String::new(),
            from: 0,
            depth: 0,
            braces: 0,
            wants_key: false,
            wants_colon: false,
            string: None,
            named: None,
            levels: Vec::new(),
            skips: false,
            cut: false,
        }
    }

    /// Also hands on the texts of these two members, with each element that has them once, plain and in one line.
    pub(super) const fn with_texts(mut self, names: [&'static str; 2]) -> Self {
        self.wanted = Some(names);
        self
    }

    /// Whether a document is being read: its lines are nobody else's.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// Whether the document that ended last, whose last part was handed on, had more members beside its lists than are kept.
    pub(super) const fn is_cut(&self) -> bool {
        self.cut
    }

    /// Takes a line. Returns whether it belongs to a document, whose parts are handed on as they end.
    ///
    /// A document begins with a line `{`, or is one line that begins like an object.
    pub(super) fn line(&mut self, line: &str, on: &mut dyn FnMut(Part<'_>)) -> bool {
        let first = !self.open;
        if first {
            if !(line == "{" || line.starts_with("{\"")) {
                return false;
            }
            // A log may hold many documents, so the buffers are used again.
            *self = Self {
                text: std::mem::take(&mut self.text),
                levels: std::mem::take(&mut self.levels),
                wanted: self.wanted,
                ..Self::new(self.lists)
            };
            self.text.clear();
            self.levels.clear();
            self.open = true;
            on(Part::Begin);
        } else if self.string.is_some() && !self.was_cut {
            // No text has an end of line in it.
            self.open = false;
            return false;
        }
        self.was_cut = line.len() >= PIECE;
        let Some(ended) = self.read(line, on) else {
            self.open = false;
            return false;
        };
        // An object with more behind its brace is a line of JSON and ends in it, unless it is a piece of a longer one.
        self.open = !ended && (!first || line == "{" || self.was_cut);
        // One large document must not hold its memory for the rest of the log.
        if !self.open && self.text.capacity() > PIECE {
            self.text = String::new();
        }
        ended || self.open
    }

    /// Reads on. Returns whether the document ended, `None` when it is no document.
    fn read(&mut self, line: &str, on: &mut dyn FnMut(Part<'_>)) -> Option<bool> {
        let bytes = line.as_bytes();
        self.from = 0;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if let Some(text) = self.string {
                at = self.read_text(line, at, text)?;
                self.keep_short(line, at);
                continue;
            }
            if byte.is_ascii_whitespace() {
                // Indentation is a large part of a printed document, and is not kept.
                self.flush(line, at);
                at += bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                self.from = at;
                continue;
            }
            if self.wants_key && !matches!(byte, b'"' | b'}') {
                return None;
            }
            if self.wants_colon && byte != b':' {
                return None;
            }
            let passed = match byte {
                b'"' if self.wants_key => self.pass_members(line, at),
                b'{' | b'[' => self.pass_element(line, at),
                _ => at,
            };
            if passed > at {
                at = passed;
                self.keep_short(line, at);
                continue;
            }
            self.wants_colon = self.wants_key && byte == b'"';
            self.wants_key = false;
            match byte {
                b'"' => at = self.begin_text(line, at),
                _ if is_literal(byte) => at += bytes.get(at..)?.iter().take_while(|byte| is_literal(**byte)).count(),
                _ if self.byte(line, at, byte, on)? => return Some(true),
                _ => at += 1,
            }
            self.keep_short(line, at);
        }
        self.flush(line, at);
        Some(false)
    }

    /// Whether what is read now is not kept.
    #[inline]
    fn drops(&self) -> bool {
        self.skips || self.string.is_some_and(|text| text.cut)
    }

    /// Where in what is kept of the document the place `at` of the line stands.
    #[inline]
    fn here(&self, at: usize) -> usize {
        if self.drops() { self.text.len() } else { self.text.len() + at.saturating_sub(self.from) }
    }

    /// Copies what is kept of the line up to `at`.
    fn flush(&mut self, line: &str, at: usize) {
        if !self.drops() {
            self.text.push_str(line.get(self.from..at).unwrap_or_default());
        }
        self.from = at;
    }

    /// Takes the byte at `at` outside of texts. Returns whether the document ended, `None` when it is no document.
    fn byte(&mut self, line: &str, at: usize, byte: u8, on: &mut dyn FnMut(Part<'_>)) -> Option<bool> {
        match byte {
            b'{' | b'[' => self.opens(byte, at + 1)?,
            b'}' | b']' => return self.closes(line, at, byte, on),
            b',' => {
                self.value_ends(at);
                self.wants_key = self.in_braces();
                if self.element_ends(line, at, on) || self.member_ends(line, at) {
                    self.from = at + 1;
                }
                self.value_begins(at + 1);
            }
            b':' => self.value_begins(at + 1),
            _ => return None,
        }
        Some(false)
    }

    const fn in_braces(&self) -> bool {
        self.braces & 1 == 1
    }

    /// A member's key, or its value, begins at `at` of the line when it is one of an object that is taken apart.
    #[inline]
    fn value_begins(&mut self, at: usize) {
        let (depth, here) = (self.depth, self.here(at));
        if let Some(level) = self.levels.last_mut().filter(|level| level.depth == depth) {
            level.value = here;
        }
    }

    /// A brace or bracket opens, behind which `at` stands.
    fn opens(&mut self, byte: u8, at: usize) -> Option<()> {
        if self.depth >= DEEPEST {
            return None;
        }
        let named = self.named.take();
        // Only a member of the object that is taken apart, not one of the same name further inside.
        let list = named.filter(|_| {
            byte == b'[' && !self.skips && self.levels.last().is_some_and(|level| level.depth == self.depth)
        });
        let is_element =
            self.levels.last().map_or(self.depth == 0, |level| level.list.is_some() && self.depth == level.depth + 1);
        self.depth += 1;
        self.braces = self.braces << 1 | u128::from(byte == b'{');
        self.wants_key = byte == b'{';
        let (depth, here) = (self.depth, self.here(at));
        if let Some(name) = list
            && let Some(level) = self.levels.last_mut()
        {
            level.list = Some((name, here));
        } else if byte == b'{' && is_element && !self.skips && self.levels.len() < MOST_LEVELS {
            self.levels.push(Level {
                depth,
                start: here,
                member: here,
                value: here,
                list: None,
                full: false,
                lost: false,
                torn: false,
                done: false,
            });
        }
        Some(())
    }

    /// The brace or bracket at `at` closes.
    fn closes(&mut self, line: &str, at: usize, byte: u8, on: &mut dyn FnMut(Part<'_>)) -> Option<bool> {
        if self.in_braces() != (byte == b'}') {
            return None;
        }
        self.value_ends(at);
        if !self.element_ends(line, at, on) {
            self.member_ends(line, at);
        }
        let depth = self.depth;
        if let Some(level) = self.levels.last_mut().filter(|level| level.list.is_some() && level.depth + 1 == depth) {
            level.list = None;
        } else if let Some(level) = self.levels.pop_if(|level| level.depth == depth) {
            match self.levels.last_mut() {
                Some(outer) => {
                    // An element that lost a member is not whole.
                    outer.torn |= level.lost;
                    outer.done = true;
                }
                None => self.cut = level.full,
            }
        }
        self.depth -= 1;
        self.braces >>= 1;
        if self.depth == 0 {
            self.flush(line, at + 1);
            on(Part::Whole(&self.text));
        }
        Some(self.depth == 0)
    }

    /// Ends a value that was left out, when this is its end.
    #[inline]
    fn value_ends(&mut self, at: usize) {
        let is_end = |level: &Level| self.depth == level.depth + u32::from(level.list.is_some());
        if self.skips && self.levels.last().is_some_and(is_end) {
            self.skips = false;
            self.from = at;
        }
    }

    /// Ends a member of an object that is taken apart. Returns whether it is dropped, because there are too many.
    #[inline]
    fn member_ends(&mut self, line: &str, at: usize) -> bool {
        let (depth, here) = (self.depth, self.here(at));
        let Some(level) = self.levels.last_mut().filter(|level| level.depth == depth && !self.skips) else {
            return false;
        };
        if !level.full {
            level.member = here;
            return false;
        }
        let end = level.member;
        self.flush(line, at);
        self.text.truncate(end);
        true
    }

    /// Hands on the element of a list that ends here. Returns whether there is such a list.
    #[inline]
    fn element_ends(&mut self, line: &str, at: usize, on: &mut dyn FnMut(Part<'_>)) -> bool {
        let depth = self.depth;
        let Some(level) = self.levels.last_mut().filter(|level| level.depth + 1 == depth) else { return false };
        let Some((name, start)) = level.list else { return false };
        level.done = false;
        let found = self.found.take();
        if std::mem::take(&mut level.torn) {
            on(Part::LeftOut(name));
        }
        // Whole in this line, or begun in an earlier one.
        let (element, texts) = if let Some(offset) = start.checked_sub(self.text.len()) {
            let begins = self.from + offset;
            self.flush(line, begins);
            (line.get(begins..at), found.and_then(|found| found.texts(line, (begins, at))))
        } else {
            self.flush(line, at);
            (self.text.get(start..), None)
        };
        if let Some(element) = element.filter(|element| !element.is_empty()) {
            on(Part::Element(name, element, texts));
        }
        self.text.truncate(start);
        self.from = at;
        true
    }

    /// Leaves out a value that is too long, and what follows in an object that has too much.
    #[inline]
    fn keep_short(&mut self, line: &str, at: usize) {
        if self.text.len() + at.saturating_sub(self.from) > LONGEST_VALUE && !self.drops() {
            self.shorten(line, at);
        }
    }

    fn shorten(&mut self, line: &str, at: usize) {
        let here = self.here(at);
        let Some(level) = self.levels.last_mut().filter(|level| !level.done) else { return };
        let begins = level.list.map_or(level.value, |(_, start)| start);
        if here.saturating_sub(begins) > LONGEST_VALUE {
            match level.list {
                Some(_) => level.torn = true,
                None => level.lost = true,
            }
            self.flush(line, at);
            self.text.truncate(begins);
            self.text.push_str(NOTHING);
            self.skips = true;
        } else if level.list.is_none() && here.saturating_sub(level.start) > LONGEST_OBJECT {
            level.full = true;
            level.lost = true;
        }
    }
}

/// Whether a byte stands in a number or a word.
const fn is_literal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'a'..=b'z' | b'E')
}
