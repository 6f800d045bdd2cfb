//! Reads JSON documents out of a log, of any size: one line that is a whole object, or one printed over many lines.
//!
//! A report is a list of tests with a few words around it. The elements of the lists that a reader names are handed on
//! one at a time and forgotten; what is left is the document's skeleton, with those lists empty. Long texts are cut and
//! other long values are left out, so that memory does not grow with the document.
//!
//! Invariant: at most [`LONGEST`] bytes of a document are held, and what is handed on is valid JSON when the document is.

#[cfg(test)]
mod tests;

/// The longest element or skeleton that is kept; each is parsed in one piece.
const LONGEST: usize = 8 * 1024 * 1024;
/// The most of one text that is kept: no message of a test is longer.
const LONGEST_TEXT: usize = 32 * 1024;
/// The most of one value that is no named list: coverage reports stand in some documents.
const LONGEST_VALUE: usize = 1024 * 1024;
/// A line that is as long may be a piece of a longer one.
const PIECE: usize = 1024 * 1024;
/// How many digits follow `\u`.
const DIGITS: usize = 4;
/// The deepest that braces and brackets may stand in each other: one bit is kept for each.
const DEEPEST: u32 = 127;
/// How many lists of lists are taken apart.
const MOST_LEVELS: usize = 4;

/// A part of a document, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// A document begins: what an earlier one said that never ended is void.
    Begin,
    /// An element of the list of this name.
    Element(&'static str, &'a str),
    /// The document itself, without those elements: the last part.
    Whole(&'a str),
}

/// A collector for one reader.
#[derive(Debug)]
pub(super) struct JsonDocument {
    /// The lists whose elements are handed on.
    lists: &'static [&'static str],
    open: bool,
    /// The last line may have been cut: a text may go on in the next.
    was_cut: bool,
    text: String,
    /// How many braces and brackets are open, and which of them are braces.
    depth: u32,
    braces: u128,
    /// Nothing but a key may come, or nothing but the colon behind it.
    wants_key: bool,
    wants_colon: bool,
    string: Option<Text>,
    /// Where the last text stands: a list's name, perhaps.
    last: usize,
    /// The objects that are taken apart, the document itself first.
    levels: Vec<Level>,
    /// A value is being left out.
    skips: bool,
}

/// A text that is being read.
#[derive(Debug, Clone, Copy, Default)]
struct Text {
    /// How much of it is kept.
    kept: usize,
    /// A backslash was the last byte.
    escaped: bool,
    /// How many digits of an escape are still to come.
    digits: usize,
    cut: bool,
}

/// An object that is taken apart.
#[derive(Debug)]
struct Level {
    /// The depth inside it.
    depth: u32,
    /// Where its last value begins.
    value: usize,
    /// The list in it that is open, and where its element begins.
    list: Option<(&'static str, usize)>,
}

impl JsonDocument {
    /// A collector that hands on the elements of these lists, wherever they stand in the document or in each other.
    pub(super) const fn new(lists: &'static [&'static str]) -> Self {
        Self {
            lists,
            open: false,
            was_cut: false,
            text: String::new(),
            depth: 0,
            braces: 0,
            wants_key: false,
            wants_colon: false,
            string: None,
            last: 0,
            levels: Vec::new(),
            skips: false,
        }
    }

    /// Whether a document is being read: its lines are nobody else's.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// Takes a line; says whether it belongs to a document, whose parts are handed on as they end.
    ///
    /// A document begins with a line `{`, or is one line that begins like an object.
    pub(super) fn line(&mut self, line: &str, on: &mut dyn FnMut(Part<'_>)) -> bool {
        let first = !self.open;
        if first {
            if !(line == "{" || line.starts_with("{\"")) {
                return false;
            }
            *self = Self {
                text: std::mem::take(&mut self.text),
                levels: std::mem::take(&mut self.levels),
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
        self.open = !ended && (!first || line == "{" || self.was_cut);
        if !self.open && self.text.capacity() > PIECE {
            self.text = String::new();
        }
        ended || self.open
    }

    /// Reads on; says whether the document ended, or nothing when it is none.
    fn read(&mut self, line: &str, on: &mut dyn FnMut(Part<'_>)) -> Option<bool> {
        let mut at = 0;
        while at < line.len() {
            if let Some(mut text) = self.string {
                at = self.read_text(line, at, &mut text)?;
                continue;
            }
            let byte = *line.as_bytes().get(at)?;
            at += 1;
            if byte.is_ascii_whitespace() {
                continue;
            }
            if self.wants_key && !matches!(byte, b'"' | b'}') {
                return None;
            }
            if self.wants_colon && byte != b':' {
                return None;
            }
            self.wants_colon = self.wants_key && byte == b'"';
            self.wants_key = false;
            if self.byte(byte, on)? {
                return Some(true);
            }
            self.keep_short()?;
        }
        Some(false)
    }

    /// Reads a text from `at` on, to its end or the line's; returns where that is.
    fn read_text(&mut self, line: &str, mut at: usize, text: &mut Text) -> Option<usize> {
        let rest = line.get(at..)?;
        if text.escaped {
            let length = rest.chars().next()?.len_utf8();
            text.escaped = false;
            text.digits = if rest.starts_with('u') { DIGITS } else { 0 };
            self.keep(rest.get(..length)?, text);
            self.string = Some(*text);
            return Some(at + length);
        }
        if text.digits > 0 {
            let digits = rest.get(..rest.floor_char_boundary(text.digits))?;
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            self.keep(digits, text);
            text.digits -= digits.len();
            self.string = Some(*text);
            return Some(at + digits.len());
        }
        let end = memchr::memchr2(b'"', b'\\', rest.as_bytes()).unwrap_or(rest.len());
        let room = LONGEST_TEXT.saturating_sub(text.kept);
        let plain = rest.get(..end)?;
        self.keep(plain.get(..plain.floor_char_boundary(room))?, text);
        text.cut |= room < plain.len();
        at += end;
        self.string = Some(*text);
        match rest.as_bytes().get(end) {
            Some(b'"') => {
                self.put("\"");
                self.string = None;
                at += 1;
            }
            Some(_) => {
                // An escape is kept whole or not at all; nor is a pair of them torn.
                if text.kept >= LONGEST_TEXT && !text.cut {
                    text.cut = true;
                    self.drop_half_pair();
                }
                self.keep("\\", text);
                text.escaped = true;
                self.string = Some(*text);
                at += 1;
            }
            None => {}
        }
        Some(at)
    }

    /// Keeps a piece of a text, unless the text was cut before.
    fn keep(&mut self, piece: &str, text: &mut Text) {
        if !text.cut {
            text.kept += piece.len();
            self.put(piece);
        }
    }

    /// Takes the first half of a pair of escapes (`\ud83d`) off the end.
    fn drop_half_pair(&mut self) {
        const HALF: usize = "\\ud83d".len();
        let start = self.text.len().saturating_sub(HALF);
        let is_half = self.text.get(start..).is_some_and(|tail| {
            let tail = tail.to_ascii_lowercase();
            ["\\ud8", "\\ud9", "\\uda", "\\udb"].iter().any(|half| tail.starts_with(half))
        });
        // Behind an escaped backslash these are letters.
        let slashes = self.text.bytes().rev().skip(HALF - 1).take_while(|byte| *byte == b'\\').count();
        if is_half && slashes % 2 == 1 {
            self.text.truncate(start);
        }
    }

    fn put(&mut self, piece: &str) {
        if !self.skips {
            self.text.push_str(piece);
        }
    }

    /// Takes a byte outside of texts; says whether the document ended, or nothing when it is none.
    fn byte(&mut self, byte: u8, on: &mut dyn FnMut(Part<'_>)) -> Option<bool> {
        match byte {
            b'"' => {
                self.last = self.text.len();
                self.put("\"");
                self.string = Some(Text::default());
            }
            b'{' | b'[' => self.opens(byte)?,
            b'}' | b']' => return self.closes(byte, on),
            b',' => {
                self.value_ends();
                self.wants_key = self.in_braces();
                if !self.element_ends(on) {
                    self.put(",");
                }
            }
            b':' => {
                self.put(":");
                let (depth, here) = (self.depth, self.text.len());
                if let Some(level) = self.levels.last_mut().filter(|level| level.depth == depth) {
                    level.value = here;
                }
            }
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'a'..=b'z' | b'E' => {
                if !self.skips {
                    self.text.push(char::from(byte));
                }
            }
            _ => return None,
        }
        Some(false)
    }

    const fn in_braces(&self) -> bool {
        self.braces & 1 == 1
    }

    fn opens(&mut self, byte: u8) -> Option<()> {
        if self.depth >= DEEPEST {
            return None;
        }
        let list = self.list_named(byte);
        let is_element =
            self.levels.last().map_or(self.depth == 0, |level| level.list.is_some() && self.depth == level.depth + 1);
        self.put(if byte == b'{' { "{" } else { "[" });
        self.depth += 1;
        self.braces = self.braces << 1 | u128::from(byte == b'{');
        self.wants_key = byte == b'{';
        let (depth, here) = (self.depth, self.text.len());
        if let Some(name) = list
            && let Some(level) = self.levels.last_mut()
        {
            level.list = Some((name, here));
        } else if byte == b'{' && is_element && !self.skips && self.levels.len() < MOST_LEVELS {
            self.levels.push(Level { depth, value: here, list: None });
        }
        Some(())
    }

    /// The list that begins with this bracket, if it is one that is taken apart.
    fn list_named(&self, byte: u8) -> Option<&'static str> {
        let level = self.levels.last().filter(|level| level.depth == self.depth && byte == b'[' && !self.skips)?;
        let name = self.text.get(self.last..level.value)?.strip_suffix(':')?.trim_matches('"');
        self.lists.iter().copied().find(|list| *list == name)
    }

    fn closes(&mut self, byte: u8, on: &mut dyn FnMut(Part<'_>)) -> Option<bool> {
        if self.in_braces() != (byte == b'}') {
            return None;
        }
        self.value_ends();
        self.element_ends(on);
        let depth = self.depth;
        if let Some(level) = self.levels.last_mut().filter(|level| level.list.is_some() && level.depth + 1 == depth) {
            level.list = None;
        } else if self.levels.last().is_some_and(|level| level.depth == depth) {
            self.levels.pop();
        }
        self.put(if byte == b'}' { "}" } else { "]" });
        self.depth -= 1;
        self.braces >>= 1;
        if self.depth == 0 {
            on(Part::Whole(&self.text));
        }
        Some(self.depth == 0)
    }

    /// Ends a value that was left out, when this is its end.
    fn value_ends(&mut self) {
        if self.skips && self.levels.last().is_some_and(|level| level.depth == self.depth) {
            self.skips = false;
        }
    }

    /// Hands on the element of a list that ends here; says whether there is such a list.
    fn element_ends(&mut self, on: &mut dyn FnMut(Part<'_>)) -> bool {
        let Some(level) = self.levels.last().filter(|level| level.depth + 1 == self.depth) else { return false };
        let Some((name, start)) = level.list else { return false };
        if let Some(element) = self.text.get(start..).filter(|element| !element.is_empty()) {
            on(Part::Element(name, element));
        }
        self.text.truncate(start);
        true
    }

    /// Leaves out a value that is too long, and gives up a document that is too long all the same.
    fn keep_short(&mut self) -> Option<()> {
        let (depth, long) = (self.depth, self.text.len());
        if let Some(level) = self.levels.last()
            && level.list.is_none()
            && depth > level.depth
            && long - level.value.min(long) > LONGEST_VALUE
        {
            self.text.truncate(level.value);
            self.text.push_str("null");
            self.skips = true;
        }
        (self.text.len() <= LONGEST).then_some(())
    }
}
