//! The texts of a document: short ones at once, long ones piece by piece and cut, over the ends of lines.

use super::JsonDocument;

/// The most of one text that is kept: no message of a test is longer.
pub(super) const LONGEST_TEXT: usize = 32 * 1024;
/// How many digits follow `\u`.
pub(super) const DIGITS: usize = 4;

/// A text that is being read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Text {
    /// Where it stands, its quote included, in what is kept.
    pub(super) start: usize,
    /// How much of it is kept.
    pub(super) kept: usize,
    /// A backslash was the last byte.
    pub(super) escaped: bool,
    /// How many digits of an escape are still to come.
    pub(super) digits: usize,
    pub(super) cut: bool,
}

impl JsonDocument {
    /// Begins a text with the quote at `at`, and ends it, too, when it is short and plain. Returns where to read on.
    pub(super) fn begin_text(&mut self, line: &str, at: usize) -> usize {
        let start = self.here(at);
        let rest = line.as_bytes().get(at + 1..).unwrap_or_default();
        let length = plain_length(rest);
        // Not whole in this line, or with an escape: piece by piece from here on.
        if length > LONGEST_TEXT || rest.get(length) != Some(&b'"') {
            self.string = Some(Text { start, ..Text::default() });
            return at + 1;
        }
        let end = at + 1 + length + 1;
        if self.wants_colon {
            self.named = self.list_named(line, end, start);
        }
        end
    }

    /// Reads a text from `at` on, to its end or the line's. Returns where that is.
    pub(super) fn read_text(&mut self, line: &str, at: usize, mut text: Text) -> Option<usize> {
        let rest = line.get(at..)?;
        if text.escaped {
            let length = rest.chars().next()?.len_utf8();
            text.escaped = false;
            text.digits = if rest.starts_with('u') { DIGITS } else { 0 };
            text.kept += length;
            self.string = Some(text);
            return Some(at + length);
        }
        if text.digits > 0 {
            let digits = rest.get(..rest.floor_char_boundary(text.digits))?;
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            text.kept += digits.len();
            text.digits -= digits.len();
            self.string = Some(text);
            return Some(at + digits.len());
        }
        let length = plain_length(rest.as_bytes());
        let end = at + length;
        let room = LONGEST_TEXT.saturating_sub(text.kept);
        text.kept += length;
        // Cut at the boundary of a letter, and read on to its end without being kept.
        if room < length && !text.cut {
            self.flush(line, at + rest.floor_char_boundary(room));
            text.cut = true;
        }
        match rest.as_bytes().get(length) {
            Some(b'"') => {
                if text.cut {
                    self.from = end;
                }
                self.string = None;
                if self.wants_colon {
                    self.named = self.list_named(line, end + 1, text.start);
                }
                return Some(end + 1);
            }
            Some(_) => {
                // An escape is kept whole or not at all; nor is a pair of them torn.
                if text.kept >= LONGEST_TEXT && !text.cut {
                    self.flush(line, end);
                    text.cut = true;
                    self.drop_half_pair();
                }
                text.kept += 1;
                text.escaped = true;
            }
            None => {}
        }
        self.string = Some(text);
        Some(end + usize::from(text.escaped))
    }

    /// The list that the key which began at `start` and ends at `end` of the line names, where it is one's that is taken apart.
    fn list_named(&mut self, line: &str, end: usize, start: usize) -> Option<&'static str> {
        self.levels.last().filter(|level| level.depth == self.depth && !self.skips)?;
        // The key stands in this line, or its beginning was kept from an earlier one.
        let key = if let Some(offset) = start.checked_sub(self.text.len()) {
            line.get(self.from + offset..end)?
        } else {
            self.flush(line, end);
            self.text.get(start..)?
        };
        let name = key.strip_prefix('"')?.strip_suffix('"')?;
        self.lists.iter().copied().find(|list| *list == name)
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
        if is_half && slashes % 2 == 1 && !self.skips {
            self.text.truncate(start);
        }
    }
}

/// How much of a text is neither its end nor an escape. Most texts are shorter than what a search costs: they are looked
/// at eight bytes at a time.
#[inline]
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    const WORD: usize = size_of::<u64>();
    const NEAR: usize = 4 * WORD;
    /// One in each byte.
    const ONES: u64 = u64::MAX / 0xFF;
    // The high bit of the first byte of a word that is zero, and perhaps of some behind it.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let mut at = 0;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<WORD>)
        && at < NEAR
    {
        let word = u64::from_le_bytes(*chunk);
        let is = |byte: u8| zeros(word ^ (ONES * u64::from(byte)));
        let found = is(b'"') | is(b'\\');
        if found != 0 {
            return at + (found.trailing_zeros() / u8::BITS) as usize;
        }
        at += WORD;
    }
    // Long texts are worth a search.
    let rest = bytes.get(at..).unwrap_or_default();
    at + memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::plain_length;

    proptest! {
        #[test]
        fn eight_bytes_at_a_time_are_looked_at_as_each_would_be(text in "[\"\\\\!#\\[\\]a\u{80}\u{ff}é]{0,80}") {
            let bytes = text.as_bytes();
            let expected = bytes.iter().take_while(|byte| !matches!(byte, b'"' | b'\\')).count();
            prop_assert_eq!(plain_length(bytes), expected);
        }
    }
}
