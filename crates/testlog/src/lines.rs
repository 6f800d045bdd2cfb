//! Turns the raw bytes of a log into clean lines, many at a time and in bounded memory.
//!
//! Owns everything about bytes: UTF-16 with or without a byte order mark, broken UTF-8, NULs and other control characters, ANSI escapes,
//! carriage returns that overwrite, CRLF, and lines without end. The output is texts of whole lines, without the last line's end: a text
//! that needs no cleaning is the log's own bytes. The module knows nothing of test frameworks. Wrappers that CI systems put around a line
//! are taken off by [`super::frames`].
//!
//! Invariant: at most [`MAX_LINE`] bytes of one line are held ([`MAX_DOCUMENT_LINE`] where it starts like XML or JSON, whose documents
//! often are one line), whatever the input. A longer line is cut, but for XML and JSON, which come in pieces of that length, each as a
//! line.

mod clean;

use self::clean::Controls;

/// The most of an ordinary line that is kept: no message of a test is longer, and noise without line ends costs no more.
pub(super) const MAX_LINE: usize = 64 * 1024;
/// The most of a line that starts like XML or JSON: reporters print whole documents as one line.
pub(super) const MAX_DOCUMENT_LINE: usize = 8 * 1024 * 1024;
/// A buffer that once held a document is given back above this size.
const KEEP_CAPACITY: usize = 256 * 1024;
/// How many bytes are looked at to recognise UTF-16 without a byte order mark.
const SNIFF: usize = 64;

/// How the bytes of the log are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Unknown,
    Utf8,
    Utf16Le,
    Utf16Be,
}

/// The content of a text that is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// Whole lines, one or many.
    Lines,
    /// A piece of one line that is a document.
    Piece,
}

/// Where texts go.
pub(super) type Sink<'a> = dyn FnMut(&str, Held) + 'a;

/// A push parser from bytes to clean lines.
#[derive(Debug)]
pub(super) struct Lines {
    encoding: Encoding,
    /// The first bytes, until the encoding is known, and later an odd byte or a lone surrogate of UTF-16.
    pending: Vec<u8>,
    /// The beginning of the line that is not ended yet.
    carry: Vec<u8>,
    /// Pieces of that line, a document, were given out.
    in_pieces: bool,
    /// That line goes on with a document that began on an earlier one.
    goes_on: bool,
    /// Scratch for cleaned text.
    clean: Vec<u8>,
}

impl Lines {
    /// Starts at the beginning of a log.
    pub(super) fn new() -> Self {
        Self {
            encoding: Encoding::Unknown,
            pending: Vec::new(),
            carry: Vec::new(),
            in_pieces: false,
            goes_on: false,
            clean: Vec::new(),
        }
    }

    /// Takes more bytes and gives the lines that end in them to `sink`, as texts of one line or many.
    pub(super) fn push(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        match self.encoding {
            Encoding::Unknown => {
                self.pending.extend_from_slice(bytes);
                if self.pending.len() >= SNIFF {
                    self.decide(sink);
                }
            }
            Encoding::Utf8 => self.push_utf8(bytes, sink),
            Encoding::Utf16Le | Encoding::Utf16Be => self.push_utf16(bytes, sink),
        }
    }

    /// Ends the log: the last line may have no line end.
    pub(super) fn finish(&mut self, sink: &mut Sink<'_>) {
        if self.encoding == Encoding::Unknown {
            self.decide(sink);
        }
        if !self.carry.is_empty() {
            let line = std::mem::take(&mut self.carry);
            let held = self.held();
            self.emit(&line, held, sink);
        }
    }

    /// The kind of the line that ends here.
    fn held(&mut self) -> Held {
        self.goes_on = false;
        if std::mem::take(&mut self.in_pieces) { Held::Piece } else { Held::Lines }
    }

    fn decide(&mut self, sink: &mut Sink<'_>) {
        let first = std::mem::take(&mut self.pending);
        let (encoding, skip) = sniff(&first);
        self.encoding = encoding;
        let rest = first.get(skip..).unwrap_or_default();
        if encoding == Encoding::Utf8 {
            self.push_utf8(rest, sink);
        } else {
            self.push_utf16(rest, sink);
        }
    }

    fn push_utf16(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let mut joined = std::mem::take(&mut self.pending);
        joined.extend_from_slice(bytes);
        let little = self.encoding == Encoding::Utf16Le;
        let mut units: Vec<u16> = joined
            .chunks_exact(2)
            .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
            .map(|pair| if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
            .collect();
        let mut keep = joined.len() % 2;
        // The first half of a surrogate pair waits for its second.
        if units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            units.pop();
            keep += 2;
        }
        self.pending = joined.split_off(joined.len() - keep);
        let text = String::from_utf16_lossy(&units);
        self.push_utf8(text.as_bytes(), sink);
    }

    fn push_utf8(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let mut rest = bytes;
        if !self.carry.is_empty() {
            let Some(end) = memchr::memchr(b'\n', rest) else {
                self.extend_carry(rest, sink);
                return;
            };
            let (head, tail) = rest.split_at(end);
            self.extend_carry(head, sink);
            let line = std::mem::take(&mut self.carry);
            let held = self.held();
            self.emit(&line, held, sink);
            self.carry = line;
            self.carry.clear();
            if self.carry.capacity() > KEEP_CAPACITY {
                self.carry = Vec::new();
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        let Some(last) = memchr::memrchr(b'\n', rest) else {
            self.extend_carry(rest, sink);
            return;
        };
        let (whole, tail) = rest.split_at(last);
        // All whole lines at once, which costs less than one by one.
        self.emit(whole, Held::Lines, sink);
        self.extend_carry(tail.get(1..).unwrap_or_default(), sink);
    }

    /// Emits a run of whole lines. A run without control characters needs no cleaning.
    fn emit(&mut self, whole: &[u8], held: Held, sink: &mut Sink<'_>) {
        // Most logs need no cleaning, and are given out without a copy.
        let found = Controls::of(whole);
        if !found.any()
            && let Ok(text) = std::str::from_utf8(whole)
        {
            sink(text, held);
            return;
        }
        let mut clean = std::mem::take(&mut self.clean);
        clean.clear();
        found.clean(whole, &mut clean);
        match std::str::from_utf8(&clean) {
            Ok(text) => sink(text, held),
            Err(_) => sink(&String::from_utf8_lossy(&clean), held),
        }
        if clean.capacity() > KEEP_CAPACITY {
            clean = Vec::new();
        }
        self.clean = clean;
    }

    fn extend_carry(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        // How a line begins says whether it may be a document.
        let begins = start_limit(if self.carry.is_empty() { bytes } else { &self.carry });
        if self.carry.len() < MAX_LINE && self.carry.len() + bytes.len() > MAX_LINE {
            // Asked once, where it would be cut.
            self.goes_on = ends_a_case(&self.carry) || ends_a_case(bytes);
        }
        if self.in_pieces || self.goes_on || begins == MAX_DOCUMENT_LINE {
            self.extend_document(bytes, sink);
            return;
        }
        if self.carry.len() + bytes.len() > MAX_LINE {
            // A progress bar draws over itself for ever: what was overwritten is not kept.
            if let Some(cut) = memchr::memrchr(b'\r', &self.carry) {
                self.carry.drain(..=cut);
            }
        }
        let room = MAX_LINE.saturating_sub(self.carry.len()).min(bytes.len());
        // One at the very end may belong to the line's end, and nothing is drawn over yet.
        let drawn_over = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if room < bytes.len()
            && let Some(cut) = memchr::memrchr(b'\r', drawn_over)
        {
            // All that came before was drawn over.
            self.carry.clear();
            let tail = bytes.get(cut + 1..).unwrap_or_default();
            self.carry.extend_from_slice(tail.get(..MAX_LINE).unwrap_or(tail));
            return;
        }
        self.carry.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }

    /// Adds to a line that is a document, and gives out what is too long to be held.
    fn extend_document(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        let mut rest = bytes;
        while self.carry.len() + rest.len() > MAX_DOCUMENT_LINE {
            let room = MAX_DOCUMENT_LINE.saturating_sub(self.carry.len());
            let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            rest = later;
            self.carry.extend_from_slice(now);
            self.in_pieces = true;
            let mut piece = std::mem::take(&mut self.carry);
            let tail = piece.split_off(piece_end(&piece));
            self.emit(&piece, Held::Piece, sink);
            // The buffer stays for the next piece: it is large.
            piece.clear();
            piece.extend_from_slice(&tail);
            self.carry = piece;
        }
        self.carry.extend_from_slice(rest);
    }
}

/// The end of a test in JUnit XML.
const CASE_ENDS: &[u8] = b"</testcase>";

/// Whether a line holds the end of a test of a document. A runner that writes all tests on one line breaks it in the text of each failure.
fn ends_a_case(line: &[u8]) -> bool {
    memchr::memmem::find(line, CASE_ENDS).is_some()
}

/// Where a document may be cut: behind a test of JUnit XML, else between two characters.
fn piece_end(piece: &[u8]) -> usize {
    if let Some(at) = memchr::memmem::rfind(piece, CASE_ENDS) {
        return at + CASE_ENDS.len();
    }
    // The second and later bytes of a character.
    let is_inside = |at: &usize| piece.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let end = piece.len();
    (end.saturating_sub(3)..end).rev().find(|at| !is_inside(at)).unwrap_or(end)
}

fn sniff(first: &[u8]) -> (Encoding, usize) {
    match first {
        [0xFF, 0xFE, ..] => return (Encoding::Utf16Le, 2),
        [0xFE, 0xFF, ..] => return (Encoding::Utf16Be, 2),
        [0xEF, 0xBB, 0xBF, ..] => return (Encoding::Utf8, 3),
        _ => {}
    }
    let zeros = |offset: usize| first.iter().skip(offset).step_by(2).filter(|&&byte| byte == 0).count();
    let half = first.len() / 2;
    // Text in a Latin script has a NUL in nearly every second byte of UTF-16 and in none of UTF-8.
    if half >= 8 && zeros(1) * 10 >= half * 9 && zeros(0) * 10 < half {
        return (Encoding::Utf16Le, 0);
    }
    if half >= 8 && zeros(0) * 10 >= half * 9 && zeros(1) * 10 < half {
        return (Encoding::Utf16Be, 0);
    }
    (Encoding::Utf8, 0)
}

fn line_limit(line: &[u8]) -> usize {
    if ends_a_case(line) { MAX_DOCUMENT_LINE } else { start_limit(line) }
}

fn start_limit(start: &[u8]) -> usize {
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'<' | b'{' | b'[') => MAX_DOCUMENT_LINE,
        _ => MAX_LINE,
    }
}

/// Cuts a line at its limit, on a character boundary.
pub(super) fn capped(line: &str) -> &str {
    if line.len() <= MAX_LINE {
        return line;
    }
    let limit = line_limit(line.as_bytes());
    if line.len() <= limit {
        return line;
    }
    line.get(..line.floor_char_boundary(limit)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut lines = Lines::new();
        let mut take = |text: &str, _: Held| seen.extend(text.split('\n').map(str::to_owned));
        for chunk in chunks {
            lines.push(chunk, &mut take);
        }
        lines.finish(&mut take);
        seen
    }

    #[test]
    fn a_document_that_goes_on_behind_a_failures_text_is_not_cut() {
        let rest = format!("E   assert 1 == 2</failure></testcase>{}", "<testcase name=\"a\" />".repeat(9_000));
        assert!(rest.len() > 2 * MAX_LINE);
        let document = format!("<testsuite>\n{rest}</testsuite>");
        let (first, second) = document.as_bytes().split_at(700);
        assert_eq!(lines(&[first, second]).concat().len(), document.len() - 1);
        let chunks: Vec<&[u8]> = document.as_bytes().chunks(MAX_LINE).collect();
        assert_eq!(lines(&chunks), document.split('\n').collect::<Vec<_>>());
        assert_eq!(capped(&rest), rest);
        // An ordinary line behind it is cut as before.
        let noise = "x".repeat(2 * MAX_LINE);
        let cut = lines(&[document.as_bytes(), b"\n", noise.as_bytes(), b"\ny\n"]);
        assert_eq!(cut.get(2).map(String::len), Some(MAX_LINE));
    }

    #[test]
    fn colours_and_crlf_are_removed() {
        assert_eq!(lines(&[b"\x1b[31mFAILED\x1b[0m x\r\nnext\n"]), ["FAILED x", "next"]);
    }

    #[test]
    fn a_carriage_return_overwrites_what_was_drawn() {
        assert_eq!(lines(&[b"10%\r50%\r100% done\nlast\r\n"]), ["100% done", "last"]);
    }

    #[test]
    fn a_long_line_that_ends_as_on_windows_is_the_same_however_it_comes() {
        let long = format!("{}\r\n", "x".repeat(MAX_LINE + 9));
        let (first, second) = long.as_bytes().split_at(MAX_LINE - 5);
        let [line, _] = &lines(&[first, second, b"next\n"])[..] else { panic!("two lines") };
        assert!(line.starts_with("xxx") && line.len() >= MAX_LINE, "{}", line.len());
    }

    #[test]
    fn lines_split_over_chunks_are_joined() {
        assert_eq!(lines(&[b"one li", b"ne\ntw", b"o"]), ["one line", "two"]);
    }

    #[test]
    fn utf16_with_and_without_a_mark_is_read() {
        let text = "assert caf\u{e9} \u{1F600} failed, says the log of PowerShell\r\nsecond\n";
        let mut with_mark = vec![0xFF, 0xFE];
        with_mark.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        let expected = ["assert caf\u{e9} \u{1F600} failed, says the log of PowerShell", "second"];
        assert_eq!(lines(&[&with_mark]), expected);
        let (first, second) = with_mark.split_at(27);
        assert_eq!(lines(&[first, second]), expected);
        let bare: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(lines(&[&bare]), expected);
    }

    #[test]
    fn broken_bytes_do_not_hide_the_rest() {
        assert_eq!(lines(&[b"a\xff\xfeb\0c\x07\n"]), ["a\u{fffd}\u{fffd}bc"]);
    }

    #[test]
    fn a_line_without_end_is_capped() {
        let long = vec![b'x'; 3 * MAX_LINE];
        let seen = lines(&[&long, b"\nnext\n"]);
        assert_eq!(seen.iter().map(String::len).collect::<Vec<_>>(), [MAX_LINE, 4]);
    }

    #[test]
    fn a_document_of_one_line_comes_in_pieces_and_whole() {
        let long = format!("{{\"a\":\"{}\"}}", "é".repeat(MAX_DOCUMENT_LINE));
        let seen = lines(&[long.as_bytes(), b"\nnext\n"]);
        assert_eq!(seen.last().map(String::as_str), Some("next"));
        assert_eq!(seen[..seen.len() - 1].concat(), long);
        assert!(seen.iter().all(|piece| piece.len() <= MAX_DOCUMENT_LINE));
        let case = format!("<testcase name=\"{}\"></testcase>", "x".repeat(1 << 20));
        let seen = lines(&[b"<testsuite>", case.repeat(20).as_bytes(), b"</testsuite>\n"]);
        assert!(seen.len() > 2 && seen[..seen.len() - 1].iter().all(|piece| piece.ends_with("</testcase>")));
    }

    #[test]
    fn an_endless_progress_bar_keeps_only_what_is_drawn_last() {
        let bar = b"\rprogress 12345678".repeat(10_000);
        assert_eq!(lines(&[&bar, b"\rdone\n"]), ["done"]);
    }
}
