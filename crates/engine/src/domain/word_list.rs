//! Lists of words that stand in one text, as the tables of names do.

/// Whether a text of words between spaces holds a word.
#[must_use]
pub fn lists(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|listed| listed == word)
}
