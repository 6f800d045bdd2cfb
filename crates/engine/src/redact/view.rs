//! Text as an attacker may spell it, brought back to what it says: white space, terminal colours, hidden characters,
//! percent and JSON escapes undone, so that a secret split over lines, half escaped or parted by what nobody sees is found.

use std::ops::Range;

use crate::domain::hidden::is_hidden;

/// Whether escapes are undone. A secret may itself look like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `%41`, `\"`, `\u0041`, `&#65;` and the like are undone.
    Undone,
    /// They stay as they are.
    Kept,
    /// They stay, and so does white space: only what nobody sees is gone.
    Shown,
}

/// Whether something stands in the text that nobody would see.
pub(super) fn hides(text: &str) -> bool {
    // The bytes are looked at first, since decoding every character of a log is dear.
    text.bytes().any(|byte| is_special(byte) && !matches!(byte, b'%' | b'&' | b'\\') && !is_blank(byte))
        && text.chars().any(|c| is_hidden(c) && !c.is_ascii_whitespace())
}

/// The text without white space, colours and what nobody sees.
pub(super) fn normalised(text: &[u8], escapes: Escapes) -> Vec<u8> {
    let mut seen = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(special) = rest.iter().position(|&byte| is_special(byte)) {
        let (plain, from) = rest.split_at(special);
        seen.extend_from_slice(plain);
        let unit = unit(from, escapes);
        seen.extend_from_slice(unit.seen());
        rest = from.get(unit.len..).unwrap_or_default();
    }
    seen.extend_from_slice(rest);
    seen
}

/// As [`normalised`], with the place in the text that each byte comes from.
pub(super) fn normalised_with_sources(text: &[u8], escapes: Escapes) -> (Vec<u8>, Vec<Range<usize>>) {
    let mut seen = Vec::with_capacity(text.len());
    let mut sources = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(from) = text.get(at..).filter(|from| !from.is_empty()) {
        let unit = unit(from, escapes);
        for &byte in unit.seen() {
            seen.push(byte);
            sources.push(at..at + unit.len);
        }
        at += unit.len;
    }
    (seen, sources)
}

/// Where in the text the span of a view comes from.
pub(super) fn source(sources: &[Range<usize>], span: &Range<usize>) -> Option<Range<usize>> {
    let first = sources.get(span.start)?.start;
    let last = sources.get(span.end.checked_sub(1)?)?.end;
    Some(first..last)
}

/// How many white-space characters there are.
pub(super) fn count_blanks(text: &[u8]) -> usize {
    text.iter().filter(|byte| is_blank(**byte)).count()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Bytes that may be more than what they look like, as a table: all that is sent, shown or kept passes through here.
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut rest: &mut [bool] = &mut special;
    let mut byte = 0;
    while let [first, others @ ..] = rest {
        // White space, controls, percent, backslash, and what hidden characters begin with in UTF-8.
        *first = matches!(byte, 0..=b' ' | 0x7f | b'%' | b'&' | b'\\' | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3);
        byte = byte.wrapping_add(1);
        rest = others;
    }
    special
};

fn is_special(byte: u8) -> bool {
    SPECIAL.get(usize::from(byte)) == Some(&true)
}

/// One spelling unit: how long it is in the text, and what it says.
struct Unit {
    len: usize,
    says: [u8; 4],
    said: usize,
}

impl Unit {
    const fn nothing(len: usize) -> Self {
        Self { len, says: [0; 4], said: 0 }
    }

    const fn byte(len: usize, byte: u8) -> Self {
        Self { len, says: [byte, 0, 0, 0], said: 1 }
    }

    fn seen(&self) -> &[u8] {
        self.says.get(..self.said).unwrap_or_default()
    }
}

/// The unit that a non-empty text begins with.
fn unit(text: &[u8], escapes: Escapes) -> Unit {
    match *text {
        [byte @ (b'%' | b'&' | b'\\'), ..] if escapes != Escapes::Undone => Unit::byte(1, byte),
        [byte, ..] if is_blank(byte) && escapes == Escapes::Shown => Unit::byte(1, byte),
        [b'%', high, low, ..] => match (hex(high), hex(low)) {
            (Some(high), Some(low)) => Unit::byte(3, high << 4 | low),
            _ => Unit::byte(1, b'%'),
        },
        [b'\\', b'n' | b'r' | b't', ..] => Unit::nothing(2),
        [b'\\', quoted @ (b'"' | b'\\' | b'/' | b'\''), ..] => Unit::byte(2, quoted),
        // A line continued by a backslash.
        [b'\\', b'\n' | b'\r', ..] => Unit::nothing(2),
        [b'\\', b'x', high, low, ..] => match (hex(high), hex(low)) {
            (Some(high), Some(low)) => Unit::byte(4, high << 4 | low),
            _ => Unit::byte(1, b'\\'),
        },
        [b'&', b'#', ref rest @ ..] => html_entity(rest).unwrap_or(Unit::byte(1, b'&')),
        [b'\\', b'u', b'0', b'0', b'1', b'b' | b'B', ref rest @ ..] => {
            Unit::nothing(6 + terminal_sequence(rest, ESCAPED_ENDS))
        }
        [b'\\', b'u', a, b, c, d, ..] => unicode_escape([a, b, c, d]).unwrap_or(Unit::byte(1, b'\\')),
        [0x1b, ref rest @ ..] => Unit::nothing(1 + terminal_sequence(rest, RAW_ENDS)),
        [byte, ..] if is_blank(byte) || byte < b' ' || byte == 0x7f => Unit::nothing(1),
        [byte, ..] if byte.is_ascii() => Unit::byte(1, byte),
        [_, ..] => character(text),
        [] => Unit::nothing(1),
    }
}

/// Bytes that end a string for the terminal, or break it off. In JSON the ends are written with a backslash.
const RAW_ENDS: &[u8] = &[0x07, 0x18, 0x1a, 0x1b];
const ESCAPED_ENDS: &[u8] = &[0x07, 0x18, 0x1a, 0x1b, b'\\'];

/// How much behind an escape character belongs to it (ECMA-48): a colour, a title, another command.
fn terminal_sequence(text: &[u8], ends: &[u8]) -> usize {
    let while_in =
        |from: usize, range: Range<u8>| text.iter().skip(from).take_while(|byte| range.contains(*byte)).count();
    let is_in = |at: usize, range: Range<u8>| usize::from(text.get(at).is_some_and(|byte| range.contains(byte)));
    match text.first() {
        Some(b'[') => {
            let parameters = 1 + while_in(1, 0x20..0x40);
            parameters + is_in(parameters, 0x40..0x7f)
        }
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            let length = text.iter().take_while(|byte| !ends.contains(byte)).count();
            length + is_in(length, 0x07..0x08)
        }
        Some(byte) if ends.contains(byte) => 0,
        _ => {
            let intermediates = while_in(0, 0x20..0x30);
            intermediates + is_in(intermediates, 0x30..0x7f)
        }
    }
}

/// A character of several bytes, or nothing when it is hidden.
fn character(text: &[u8]) -> Unit {
    /// The longest character in UTF-8.
    const LONGEST: usize = 4;
    let first = text.first().copied().unwrap_or_default();
    let len = (first.leading_ones() as usize).clamp(1, LONGEST);
    let bytes = text.get(..len).unwrap_or(text);
    match std::str::from_utf8(bytes).ok().and_then(|text| text.chars().next()) {
        Some(c) if is_hidden(c) => Unit::nothing(len),
        Some(_) => {
            let mut says = [0; LONGEST];
            says.iter_mut().zip(bytes).for_each(|(says, byte)| *says = *byte);
            Unit { len, says, said: len }
        }
        None => Unit::byte(1, first),
    }
}

fn unicode_escape(digits: [u8; 4]) -> Option<Unit> {
    let mut code = 0;
    for digit in digits {
        code = code << 4 | u32::from(hex(digit)?);
    }
    // Surrogates say half a character; a secret with such characters is found unescaped only.
    let c = char::from_u32(code)?;
    if c.is_ascii_whitespace() || is_hidden(c) {
        return Some(Unit::nothing(6));
    }
    let mut says = [0; 4];
    let said = c.encode_utf8(&mut says).len();
    Some(Unit { len: 6, says, said })
}

/// `65;` or `x41;` behind `&#`.
fn html_entity(text: &[u8]) -> Option<Unit> {
    /// More digits than any character needs.
    const LONGEST: usize = 8;
    let end = text.iter().take(LONGEST).position(|byte| *byte == b';')?;
    let digits = std::str::from_utf8(text.get(..end)?).ok()?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let c = char::from_u32(code.ok()?)?;
    let len = b"&#".len() + end + b";".len();
    if is_hidden(c) {
        return Some(Unit::nothing(len));
    }
    let mut says = [0; 4];
    let said = c.encode_utf8(&mut says).len();
    Some(Unit { len, says, said })
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
