//! The express lane: members and elements that stand whole in a line and need not be taken apart are passed over in one
//! go, at a fraction of what it costs to look at each byte.
//!
//! It only looks for ends. Everything that it does not pass is read the slow way from the same place: all that is torn, spaced, too long,
//! named like a list or no JSON. A passed part leaves the collector as the slow way would have left it.

use super::texts::{DIGITS, LONGEST_TEXT, plain_length};
use super::{JsonDocument, LONGEST_OBJECT, LONGEST_VALUE, MOST_LEVELS, is_literal};

/// No brace is open but the mark that there is none.
const NONE_OPEN: u64 = 1;
/// One brace is open, that of an object.
const IN_OBJECT: u64 = (NONE_OPEN << 1) | 1;

/// Where some texts begin and end.
type Places<const N: usize> = [(usize, usize); N];

impl JsonDocument {
    /// Passes the members from `at` on of an object that is taken apart, where a key must come. Returns where it ends.
    pub(super) fn pass_members(&mut self, line: &str, at: usize) -> usize {
        let here = self.here(at);
        let Some(level) = self.levels.last_mut() else { return at };
        if level.depth != self.depth || level.full || self.skips {
            return at;
        }
        // Near the limit of an object the slow way has to decide what is left out.
        let most = LONGEST_OBJECT.saturating_sub(here.saturating_sub(level.start)).min(LONGEST_VALUE);
        let plain = Plain::new(line, at, most, self.lists);
        let mut passed = at;
        while let Some(value) = plain.unlisted(passed)
            && let Some(end) = plain.value(value)
        {
            // As the slow way would leave it, so that it can go on from any place.
            level.value = here + (value - at);
            self.wants_key = false;
            self.named = None;
            passed = end;
            if plain.byte(end) != Some(b',') {
                break;
            }
            level.member = here + (end - at);
            level.value = here + (end + 1 - at);
            self.wants_key = true;
            passed = end + 1;
        }
        passed
    }

    /// Passes an element that begins at `at` with a brace or bracket. Returns where it ends.
    pub(super) fn pass_element(&mut self, line: &str, at: usize) -> usize {
        let is_apart = self.levels.len() < MOST_LEVELS;
        self.found = None;
        let Some(level) = self.levels.last_mut() else { return at };
        if level.list.is_none() || level.depth + 1 != self.depth || self.skips {
            return at;
        }
        let plain = Plain::new(line, at, LONGEST_VALUE, self.lists);
        let is_object = plain.byte(at) == Some(b'{');
        let passed = match self.wanted.filter(|_| is_object) {
            Some(names) => plain.object(at, names),
            None => plain.value(at).map(|end| (end, None)),
        };
        let Some((end, found)) = passed else { return at };
        level.done |= is_apart && is_object;
        self.named = None;
        self.found = found.map(|texts| Found { element: (at, end), texts });
        end
    }
}

/// Where in a line an element begins and ends, and the texts in it that were asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    element: (usize, usize),
    texts: [(usize, usize); 2],
}

impl Found {
    /// The texts, when the element is all that stands from the one place to the other.
    pub(super) fn texts(self, line: &str, (begins, ends): (usize, usize)) -> Option<[&str; 2]> {
        if self.element != (begins, ends) {
            return None;
        }
        let [first, second] = self.texts;
        Some([line.get(first.0..first.1)?, line.get(second.0..second.1)?])
    }
}

/// The values of these members of an object, when it has each of them once and they are texts without escapes.
///
/// It is for the many elements that report only success. All others are worth being read with care.
pub(crate) fn plain_texts<'a, const N: usize>(object: &'a str, names: [&str; N]) -> Option<[&'a str; N]> {
    let (end, found) = Plain::new(object, 0, object.len(), &[]).object(0, names)?;
    let texts = found.filter(|_| end == object.len())?;
    Some(texts.map(|(begins, ends)| object.get(begins..ends).unwrap_or_default()))
}

/// The part of a line that may be passed, by the grammar of JSON. Only numbers and words are not looked at closely.
#[derive(Debug, Clone, Copy)]
struct Plain<'a> {
    bytes: &'a [u8],
    lists: &'static [&'static str],
}

impl<'a> Plain<'a> {
    fn new(line: &'a str, at: usize, most: usize, lists: &'static [&'static str]) -> Self {
        let bytes = line.as_bytes();
        Self { bytes: bytes.get(..at.saturating_add(most)).unwrap_or(bytes), lists }
    }

    #[inline]
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// The name of the member at `at`, and where its value begins.
    #[inline]
    fn key(&self, at: usize) -> Option<(&'a [u8], usize)> {
        if self.byte(at)? != b'"' {
            return None;
        }
        let end = self.text(at)?;
        (self.byte(end)? == b':').then_some((self.bytes.get(at + 1..end - 1)?, end + 1))
    }

    /// Where the value of the member at `at` begins. `None` when it may be a list that is taken apart.
    #[inline]
    fn unlisted(&self, at: usize) -> Option<usize> {
        let (name, value) = self.key(at)?;
        (!self.names_list(name)).then_some(value)
    }

    /// Where the object at `at` ends, and the texts of these members, unless one is not there once or not plain. `None` when one of its
    /// members may be a list that is taken apart.
    #[inline]
    fn object<const N: usize>(&self, at: usize, names: [&str; N]) -> Option<(usize, Option<Places<N>>)> {
        // Deeper down no list is taken apart.
        let inner = Self { lists: &[], ..*self };
        let (mut found, mut is_plain) = ([None; N], true);
        let mut at = at + 1;
        if self.byte(at - 1)? != b'{' {
            return None;
        }
        if self.byte(at)? == b'}' {
            return Some((at + 1, None));
        }
        loop {
            let (name, value) = self.key(at)?;
            if self.names_list(name) {
                return None;
            }
            let end = inner.value(value)?;
            if let Some(slot) = names.iter().position(|wanted| wanted.as_bytes() == name) {
                let place = self.plain_text(value, end);
                let is_second =
                    place.is_none_or(|place| found.get_mut(slot).is_none_or(|slot| slot.replace(place).is_some()));
                is_plain &= !is_second;
            }
            at = end + 1;
            match self.byte(end)? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        let is_whole = is_plain && found.iter().all(Option::is_some);
        Some((at, is_whole.then(|| found.map(Option::unwrap_or_default))))
    }

    /// Where the text is that the value from `at` to `end` is, unless it is none, or has escapes.
    fn plain_text(&self, at: usize, end: usize) -> Option<(usize, usize)> {
        let text = self.bytes.get(at..end)?.strip_prefix(b"\"")?;
        (plain_length(text) + 1 == text.len()).then_some((at + 1, end - 1))
    }

    fn names_list(&self, name: &[u8]) -> bool {
        self.lists.iter().any(|list| list.as_bytes() == name)
    }

    /// Where the value that begins at `at` ends. `None` when it is an object with such a list.
    #[inline]
    fn value(&self, mut at: usize) -> Option<usize> {
        // The braces and brackets that are open in each other: ones and zeros, behind a mark.
        let mut open = NONE_OPEN;
        loop {
            match self.byte(at)? {
                b'"' => at = self.text(at)?,
                byte @ (b'{' | b'[') => {
                    // The mark has reached the top: what is nested deeper is read the slow way.
                    if open.leading_zeros() == 0 {
                        return None;
                    }
                    open = (open << 1) | u64::from(byte == b'{');
                    at += 1;
                    match self.byte(at)? {
                        b'}' if byte == b'{' => {}
                        b']' if byte == b'[' => {}
                        _ => {
                            at = self.next(at, open)?;
                            continue;
                        }
                    }
                    open >>= 1;
                    at += 1;
                }
                byte if is_literal(byte) => {
                    at += 1;
                    while self.byte(at).is_some_and(is_literal) {
                        at += 1;
                    }
                }
                _ => return None,
            }
            // Behind a value stand the ends of what it is the last of, and then a comma.
            loop {
                if open == NONE_OPEN {
                    return Some(at);
                }
                match self.byte(at)? {
                    b'}' if open & 1 == 1 => {}
                    b']' if open & 1 == 0 => {}
                    b',' => break,
                    _ => return None,
                }
                open >>= 1;
                at += 1;
            }
            at = self.next(at + 1, open)?;
        }
    }

    /// Where the value begins of what comes at `at` in what is open.
    #[inline]
    fn next(&self, at: usize, open: u64) -> Option<usize> {
        match open {
            IN_OBJECT => self.unlisted(at),
            _ if open & 1 == 1 => Some(self.key(at)?.1),
            _ => Some(at),
        }
    }

    /// Where the text that begins at `at` ends.
    #[inline]
    fn text(&self, at: usize) -> Option<usize> {
        let mut end = at + 1;
        loop {
            end += plain_length(self.bytes.get(end..)?);
            match self.byte(end)? {
                b'"' => break,
                _ => end = self.escape(end + 1)?,
            }
        }
        // A longer text has to be cut, which is not done here.
        (end - at <= LONGEST_TEXT).then_some(end + 1)
    }

    /// Where the escape ends of which the letter stands at `at`.
    fn escape(&self, at: usize) -> Option<usize> {
        if self.byte(at)? != b'u' {
            return Some(at + 1);
        }
        let end = at + 1 + DIGITS;
        self.bytes.get(at + 1..end)?.iter().all(u8::is_ascii_hexdigit).then_some(end)
    }
}

#[cfg(test)]
mod tests;
