//! Tokens with their text: steps that the languages share.

use std::ops::Range;

use super::lexer::{Kind, Token};

/// A scanned text.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'t> {
    /// The text.
    pub(super) text: &'t str,
    /// Its tokens.
    pub(super) tokens: &'t [Token],
}

impl<'t> View<'t> {
    /// The text of a token. Empty behind the last.
    pub(super) fn word(&self, at: usize) -> &'t str {
        self.tokens.get(at).and_then(|token| self.text.get(token.range.clone())).unwrap_or_default()
    }

    /// Whether a token spells this. A text never does.
    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        self.word(at) == word
    }

    /// A token's kind.
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The place of a token, in bytes.
    pub(super) fn range(&self, at: usize) -> Option<Range<usize>> {
        self.tokens.get(at).map(|token| token.range.clone())
    }

    /// The place from a token to another one, in bytes.
    pub(super) fn span(&self, first: usize, last: usize) -> Option<Range<usize>> {
        Some(self.range(first)?.start..self.range(last)?.end)
    }

    /// The bracket that goes with one.
    pub(super) fn partner(&self, at: usize) -> Option<usize> {
        self.tokens.get(at).map(|token| token.partner)
    }

    /// The one-based line of a token.
    pub(super) fn line(&self, at: usize) -> u32 {
        self.tokens.get(at).map_or(1, |token| token.line)
    }

    /// The one-based lines from a token to the end of another one.
    pub(super) fn lines(&self, first: usize, last: usize) -> (u32, u32) {
        let breaks = self.word(last).matches('\n').count();
        (self.line(first), self.line(last) + u32::try_from(breaks).unwrap_or_default())
    }

    /// The numbers of the tokens that lie in a place of the text.
    pub(super) fn inside(&self, place: &Range<usize>) -> Range<usize> {
        // Tokens stand in the order of the text, so a file of many tests is not read anew for each.
        let first = self.tokens.partition_point(|token| token.range.start < place.start);
        let end = self.tokens.partition_point(|token| token.range.start < place.end);
        first..end.max(first)
    }

    /// The arguments behind an opening bracket: the numbers of their tokens.
    pub(super) fn arguments(&self, open: usize) -> Vec<Range<usize>> {
        let Some(close) = self.partner(open).filter(|close| *close > open) else { return Vec::new() };
        let mut found = Vec::new();
        let (mut at, mut begin) = (open + 1, open + 1);
        while at < close {
            if self.kind(at) == Some(Kind::Open) {
                at = self.partner(at).unwrap_or(close);
            } else if self.is(at, ",") {
                found.push(begin..at);
                begin = at + 1;
            }
            at += 1;
        }
        if begin < close {
            found.push(begin..close);
        }
        found
    }

    /// The first place behind a token where a bracket of this kind opens, over other brackets, before the statement ends.
    pub(super) fn next_block(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            match self.kind(at)? {
                Kind::Open if self.is(at, "{") => return Some(at),
                Kind::Open => at = self.partner(at)? + 1,
                // The block around ends first: what was declared has no body.
                Kind::Close => return None,
                Kind::Mark if self.is(at, ";") => return None,
                Kind::Word | Kind::Number | Kind::Text | Kind::Char | Kind::Mark => at += 1,
            }
        }
    }
}
