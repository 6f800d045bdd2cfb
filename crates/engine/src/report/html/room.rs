//! Room for foreign text: a page that cannot grow without end.

use std::cell::Cell;

use crate::report::plain;

/// The most of one text that is shown, in characters: a quarter from its beginning, the rest from its end.
const MAX_TEXT: usize = 200_000;
/// The share of a cut text that comes from its beginning, as a divisor.
const HEAD_SHARE: usize = 4;

/// Room that is left on a page, in bytes.
#[derive(Debug)]
pub(super) struct Room {
    left: Cell<usize>,
}

impl Room {
    /// So many bytes.
    pub(super) fn of(bytes: usize) -> Self {
        Self { left: Cell::new(bytes) }
    }

    /// A text made harmless and cut where it is long. `None` where there is no room for it any more.
    pub(super) fn take(&self, text: &str) -> Option<String> {
        // Measured as it is shown: a tab becomes four blanks, and hidden characters go.
        let shown = cut(&plain::block(text));
        // Nothing is taken where it does not fit, so a shorter text behind may still be shown.
        let left = self.left.get().checked_sub(shown.len())?;
        self.left.set(left);
        Some(shown)
    }
}

fn cut(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= MAX_TEXT {
        return text.to_owned();
    }
    let (head, tail) = (MAX_TEXT / HEAD_SHARE, MAX_TEXT - MAX_TEXT / HEAD_SHARE);
    let begin: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(chars - tail).collect();
    format!("{begin}\n… {} characters are left out here …\n{end}", chars - MAX_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let room = Room::of(usize::MAX);
        let text = format!("first{}last", "x".repeat(MAX_TEXT));
        let shown = room.take(&text).unwrap();
        assert!(shown.starts_with("first") && shown.ends_with("last") && shown.contains("9 characters are left out"));
    }

    #[test]
    fn a_page_that_is_full_takes_no_more() {
        let room = Room::of(10);
        assert_eq!(room.take("123456").as_deref(), Some("123456"));
        assert_eq!(room.take("12345"), None);
        assert_eq!(room.take("1234").as_deref(), Some("1234"), "a shorter one still fits");
    }
}
