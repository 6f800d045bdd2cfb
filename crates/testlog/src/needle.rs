//! Fixed texts that are searched for in nearly every line: `str` prepares a search that lines are too short to repay.

use std::sync::OnceLock;

use memchr::memmem::{Finder, FinderRev};

use super::marks::rarity;

/// Searches a line for a fixed text by its rarest byte.
pub(super) trait Seek {
    /// Like [`str::find`].
    fn seek(&self, wanted: &str) -> Option<usize>;
    /// Like [`str::rfind`].
    fn seek_last(&self, wanted: &str) -> Option<usize>;
    /// Like [`str::contains`].
    fn holds(&self, wanted: &str) -> bool;
    /// Like [`str::split_once`].
    fn cut(&self, wanted: &str) -> Option<(&str, &str)>;
    /// Like [`str::rsplit_once`].
    fn cut_last(&self, wanted: &str) -> Option<(&str, &str)>;
    /// Like [`str::split_once`] with a space.
    fn cut_word(&self) -> Option<(&str, &str)>;
    /// Like [`str::trim_start_matches`] with a space.
    fn unindented(&self) -> &str;
}

impl Seek for str {
    #[inline]
    fn seek(&self, wanted: &str) -> Option<usize> {
        let (offset, byte) = rarest(wanted)?;
        let stands =
            |start: &usize| self.as_bytes().get(*start..).is_some_and(|text| text.starts_with(wanted.as_bytes()));
        memchr::memchr_iter(byte, self.as_bytes()).filter_map(|at| at.checked_sub(offset)).find(stands)
    }

    #[inline]
    fn seek_last(&self, wanted: &str) -> Option<usize> {
        let (offset, byte) = rarest(wanted)?;
        let stands =
            |start: &usize| self.as_bytes().get(*start..).is_some_and(|text| text.starts_with(wanted.as_bytes()));
        memchr::memrchr_iter(byte, self.as_bytes()).filter_map(|at| at.checked_sub(offset)).find(stands)
    }

    #[inline]
    fn holds(&self, wanted: &str) -> bool {
        self.seek(wanted).is_some()
    }

    #[inline]
    fn cut(&self, wanted: &str) -> Option<(&str, &str)> {
        let at = self.seek(wanted)?;
        Some((self.get(..at)?, self.get(at + wanted.len()..)?))
    }

    #[inline]
    fn cut_last(&self, wanted: &str) -> Option<(&str, &str)> {
        let at = self.seek_last(wanted)?;
        Some((self.get(..at)?, self.get(at + wanted.len()..)?))
    }

    #[inline]
    fn cut_word(&self) -> Option<(&str, &str)> {
        let at = memchr::memchr(b' ', self.as_bytes())?;
        Some((self.get(..at)?, self.get(at + 1..)?))
    }

    #[inline]
    fn unindented(&self) -> &str {
        let indent = self.bytes().take_while(|byte| *byte == b' ').count();
        self.get(indent..).unwrap_or_default()
    }
}

/// The place and the value of the byte of a text that lines hold least often. `None` for an empty text.
#[inline]
fn rarest(wanted: &str) -> Option<(usize, u8)> {
    let mut best = (0, *wanted.as_bytes().first()?);
    let mut most = 0;
    for (at, byte) in wanted.bytes().enumerate() {
        let rare = RARITY.get(usize::from(byte)).copied().unwrap_or(0);
        if rare > most {
            (best, most) = ((at, byte), rare);
        }
    }
    Some(best)
}

/// [`rarity`] of every byte.
static RARITY: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        #[expect(clippy::indexing_slicing, reason = "256 entries for a byte")]
        {
            table[byte as usize] = rarity(byte);
        }
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

/// A text with its searchers.
#[derive(Debug)]
pub(super) struct Needle {
    text: &'static str,
    forward: OnceLock<Finder<'static>>,
    backward: OnceLock<FinderRev<'static>>,
}

impl Needle {
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, forward: OnceLock::new(), backward: OnceLock::new() }
    }

    /// Where it first stands in a text.
    pub(super) fn find(&self, text: &str) -> Option<usize> {
        self.forward.get_or_init(|| Finder::new(self.text)).find(text.as_bytes())
    }

    /// Where it last stands in a text.
    pub(super) fn rfind(&self, text: &str) -> Option<usize> {
        self.backward.get_or_init(|| FinderRev::new(self.text)).rfind(text.as_bytes())
    }

    /// Like [`str::split_once`].
    pub(super) fn split_once<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        self.around(text, self.find(text)?)
    }

    /// Like [`str::rsplit_once`].
    pub(super) fn rsplit_once<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        self.around(text, self.rfind(text)?)
    }

    fn around<'a>(&self, text: &'a str, at: usize) -> Option<(&'a str, &'a str)> {
        Some((text.get(..at)?, text.get(at + self.text.len()..)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_splits_as_text_does() {
        static DOTS: Needle = Needle::new(" ... ");
        for text in ["", "a b c", "a ... b", "a ... b ... c", " ... ", "a...b", "é ... ü"] {
            assert_eq!(DOTS.split_once(text), text.split_once(" ... "));
            assert_eq!(DOTS.rsplit_once(text), text.rsplit_once(" ... "));
            assert_eq!(text.cut_word(), text.split_once(' '));
            assert_eq!(text.unindented(), text.trim_start_matches(' '));
            for wanted in [" ... ", "b", "...", "ü", ". c"] {
                assert_eq!(text.seek(wanted), text.find(wanted), "{wanted:?} in {text:?}");
                assert_eq!(text.seek_last(wanted), text.rfind(wanted), "{wanted:?} in {text:?}");
                assert_eq!(text.cut(wanted), text.split_once(wanted), "{wanted:?} in {text:?}");
                assert_eq!(text.cut_last(wanted), text.rsplit_once(wanted), "{wanted:?} in {text:?}");
                assert_eq!(text.holds(wanted), text.contains(wanted), "{wanted:?} in {text:?}");
            }
        }
    }
}
