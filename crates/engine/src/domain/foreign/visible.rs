//! Hidden characters in tool output, shown for what they are.
//!
//! Text that a model reads but a person does not see (zero-width, bidirectional and tag characters, terminal controls) is how a hostile
//! file speaks to a model behind the reader's back (Unicode TR36, DESIGN §5). It is not dropped, because a model that edits such a line has
//! to know what stands there.

use std::borrow::Cow;

/// More hidden characters in a row are counted, not shown: they can spell whole messages.
const MAX_SHOWN: usize = 4;

/// Joiners and variation selectors stay: emoji and several scripts need them.
const fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}'..='\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Variation selectors: one after a character chooses its looks, more in a row spell hidden bytes.
const fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// The text with every hidden character written as its escape, and long runs of them only counted.
pub(super) fn reveal(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| is_hidden(c) || is_selector(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut run: Vec<char> = Vec::new();
    let mut last = None;
    for c in text.chars() {
        // A single selector is part of an emoji. Several in a row carry bytes.
        if is_hidden(c) || (is_selector(c) && (last.is_some_and(is_selector) || !run.is_empty())) {
            run.push(c);
        } else {
            flush(&mut run, &mut shown);
            shown.push(c);
        }
        last = Some(c);
    }
    flush(&mut run, &mut shown);
    if shown == text { Cow::Borrowed(text) } else { Cow::Owned(shown) }
}

fn flush(run: &mut Vec<char>, shown: &mut String) {
    // A long run is a message to a model, and spelled out it would still be one.
    if run.len() > MAX_SHOWN {
        shown.push_str(&format!("[{} hidden characters]", run.len()));
    } else {
        shown.extend(run.iter().flat_map(|c| c.escape_unicode()));
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_and_long_runs_counted() {
        assert_eq!(reveal("if admin\u{202e} {"), "if admin\\u{202e} {");
        assert_eq!(reveal("\u{1b}[31mred"), "\\u{1b}[31mred");
        let message: String = "ignore all".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        assert_eq!(reveal(&format!("x{message}y")), "x[10 hidden characters]y");
    }

    #[test]
    fn ordinary_text_of_any_script_is_left_alone() {
        for text in ["a\tb\r\nc", "naïve 日本語 👩\u{200d}💻 ❤\u{fe0f}", "می\u{200c}خواهم"] {
            assert!(matches!(reveal(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
