//! Fixed texts that are searched for in nearly every line: the searcher is made once, not per line as `str` does.

use std::sync::OnceLock;

use memchr::memmem::{Finder, FinderRev};

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
        for text in ["", "a ... b", "a ... b ... c", " ... ", "a...b", "é ... ü"] {
            assert_eq!(DOTS.split_once(text), text.split_once(" ... "));
            assert_eq!(DOTS.rsplit_once(text), text.rsplit_once(" ... "));
        }
    }
}
