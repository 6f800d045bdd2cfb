//! Text as an attacker may spell it, brought back to what it says: white space, terminal colours, percent and JSON
//! escapes undone, so that a secret split over lines or half escaped is seen.

use std::ops::Range;

/// Whether escapes are read as what they stand for; a secret may itself look like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// `%41`, `\"`, `\u0041` and the like are undone.
    Undone,
    /// They stay as they are.
    Kept,
}

/// The text without white space and colours.
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

/// How many white-space characters there are.
pub(super) fn count_blanks(text: &[u8]) -> usize {
    text.iter().filter(|byte| is_blank(**byte)).count()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

const fn is_special(byte: u8) -> bool {
    // White space, escape, percent, backslash.
    byte <= b' ' && (is_blank(byte) || byte == 0x1b) || byte == b'%' || byte == b'\\'
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
        [byte @ (b'%' | b'\\'), ..] if escapes == Escapes::Kept => Unit::byte(1, byte),
        [b'%', high, low, ..] => match (hex(high), hex(low)) {
            (Some(high), Some(low)) => Unit::byte(3, high << 4 | low),
            _ => Unit::byte(1, b'%'),
        },
        [b'\\', b'n' | b'r' | b't', ..] => Unit::nothing(2),
        [b'\\', quoted @ (b'"' | b'\\' | b'/' | b'\''), ..] => Unit::byte(2, quoted),
        // A line continued by a backslash.
        [b'\\', b'\n' | b'\r', ..] => Unit::nothing(2),
        [b'\\', b'u', a, b, c, d, ..] => unicode_escape([a, b, c, d]).unwrap_or(Unit::byte(1, b'\\')),
        [0x1b, b'[', ref rest @ ..] => {
            let parameters = rest.iter().take_while(|byte| (0x20..0x40).contains(*byte)).count();
            Unit::nothing((2 + parameters + 1).min(text.len()))
        }
        [byte, ..] if is_blank(byte) => Unit::nothing(1),
        [byte, ..] => Unit::byte(1, byte),
        [] => Unit::nothing(1),
    }
}

fn unicode_escape(digits: [u8; 4]) -> Option<Unit> {
    let mut code = 0;
    for digit in digits {
        code = code << 4 | u32::from(hex(digit)?);
    }
    // Surrogates say half a character; a secret with such characters is found unescaped only.
    let c = char::from_u32(code)?;
    if c.is_ascii_whitespace() {
        return Some(Unit::nothing(6));
    }
    let mut says = [0; 4];
    let said = c.encode_utf8(&mut says).len();
    Some(Unit { len: 6, says, said })
}

const fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}
