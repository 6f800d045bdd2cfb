//! Lists of words that stand in one text, as the tables of names do.

use memchr::memmem;

/// Whether a text of words between spaces holds a word.
#[must_use]
pub fn lists(words: &str, word: &str) -> bool {
    if word.is_empty() || word.contains(|letter: char| letter.is_ascii_whitespace()) {
        return false;
    }
    let (words, word) = (words.as_bytes(), word.as_bytes());
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    memmem::find_iter(words, word).any(|at| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        ends(before) && ends(words.get(at + word.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_listed_whole_wherever_it_stands() {
        let words = "one two-three\n    four";
        for word in ["one", "two-three", "four"] {
            assert!(lists(words, word), "{word}");
        }
        for word in ["", " ", "on", "two", "three", "our", "one two-three", "five"] {
            assert!(!lists(words, word), "{word}");
        }
    }
}
