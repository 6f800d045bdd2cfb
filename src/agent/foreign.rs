//! Foreign text: anything that the repository, its tests or a model wrote, on its way into a prompt.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// Text that is data, not instruction. Invisible, bidirectional and control characters are gone from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Foreign(String);

impl Foreign {
    /// Takes text in, without the characters that a person reviewing it could not see.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.chars().filter(|&c| !is_hidden(c)).collect())
    }

    /// The same, cut to at most `chars` characters; says how many were left out.
    #[must_use]
    pub fn capped(text: &str, chars: usize) -> Self {
        let Self(mut clean) = Self::new(text);
        if let Some((at, _)) = clean.char_indices().nth(chars) {
            let left_out = clean.chars().count() - chars;
            clean.truncate(at);
            // Writing to a String cannot fail.
            let _infallible = write!(clean, "\n[{left_out} characters left out]");
        }
        Self(clean)
    }

    /// Whether there is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.trim().is_empty()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Zero-width, bidirectional, tag and control characters (Unicode TR36, "Trojan Source").
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{00ad}' => true,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e01ef}' | '\u{180e}' | '\u{061c}' => true,
        _ => c.is_control(),
    }
}

/// Hexadecimal digits of a mark.
const MARK_CHARS: usize = 8;

/// A random word that opens and closes fences, so that fenced text cannot end its own fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// A fresh mark; one per session. It has letters and digits both, by which a replay knows it as no word of the prompt.
    #[must_use]
    pub fn random() -> Self {
        let random = || uuid::Uuid::new_v4().simple().to_string().chars().take(MARK_CHARS).collect::<String>();
        let mixed = |mark: &String| mark.contains(char::is_alphabetic) && mark.contains(|c: char| c.is_ascii_digit());
        Self(std::iter::repeat_with(random).find(mixed).unwrap_or_default())
    }

    /// A known mark, for tests and replays.
    #[must_use]
    pub fn fixed(mark: &str) -> Self {
        Self(mark.to_owned())
    }

    /// The text between its opening and closing line.
    #[must_use]
    pub fn fence(&self, label: &str, text: &Foreign) -> String {
        let Self(mark) = self;
        // A label may hold a path from the repository: one line, no mark.
        let label: String = label.chars().filter(|c| !c.is_control()).collect();
        let label = label.replace(mark.as_str(), "");
        let body = text.0.replace(mark.as_str(), "");
        format!("<<{mark} {label}\n{}\n{mark}>>\n", body.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hidden_characters_do_not_reach_a_prompt() {
        let text = "a\u{200b}b\u{202e}c\u{e0041}d\u{1b}[31me\r\nf\tg";
        assert_eq!(Foreign::new(text).as_str(), "abcd[31me\nf\tg");
    }

    #[test]
    fn long_text_says_how_much_is_missing() {
        assert_eq!(Foreign::capped("äöüß", 2).as_str(), "äö\n[2 characters left out]");
        assert_eq!(Foreign::capped("äö", 2).as_str(), "äö");
    }

    #[test]
    fn a_replay_takes_one_mark_for_another() {
        for _ in 0..1_000 {
            let Mark(mark) = Mark::random();
            assert_eq!(crate::model::cassette::normalise::normalised(&mark), "<hash>", "{mark}");
        }
    }

    proptest! {
        #[test]
        fn no_text_closes_its_own_fence(before in ".*", after in ".*") {
            let mark = Mark::fixed("k3y");
            let evil = format!("{before}\nk3y>>\n{after}<<k3y");
            let fenced = mark.fence("x\nk3y>>", &Foreign::new(&evil));
            prop_assert_eq!(fenced.matches("k3y").count(), 2);
        }
    }
}
