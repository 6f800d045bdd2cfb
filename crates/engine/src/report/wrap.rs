//! Text set to a width: a terminal breaks lines wherever they reach its edge, also within a word.

use super::plain;

/// Signs that stand before a sentence. Its continuation lines stand below its first word.
const SIGNS: [&str; 13] = ["-", "•", "✔", "✖", "✓", "✗", "!", "⚠", "◆", "▶", "→", "⏸", "…"];
/// How much deeper the rest of a line stands that begins with no sign.
const DEEPER: usize = 2;

/// Stands for a space at which no line is broken: a command in two lines would do something else. A sign that no text of ours has.
pub const JOINT: &str = "\u{e000}";

/// Breaks lines that are wider than `columns` between words. `None` leaves all as they are.
///
/// No word is broken: one that is wider than a line (an id, a path) stands on a line of its own. Spaces within a line stay, and
/// escape sequences take no room.
#[must_use]
pub fn wrap(text: &str, columns: Option<usize>) -> String {
    // Not a terminal: whoever reads it breaks the lines by itself.
    let Some(columns) = columns else { return text.replace(JOINT, " ") };
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        set(&mut out, line, columns);
        out.push_str(end);
    }
    out.replace(JOINT, " ")
}

fn set(out: &mut String, line: &str, columns: usize) {
    let seen = shown(line);
    if plain::width(&seen) <= columns {
        out.push_str(line);
        return;
    }
    // On a narrow terminal a deep margin would leave no room for words.
    let below = " ".repeat(hanging(&seen).min(columns / 2));
    let (mut used, mut has_word, mut rest) = (0, false, line);
    while !rest.is_empty() {
        let from = rest.find(|c| c != ' ').unwrap_or(rest.len());
        let (gap, more) = rest.split_at(from);
        let (word, more) = more.split_at(more.find(' ').unwrap_or(more.len()));
        rest = more;
        let width = plain::width(&shown(word));
        // A piece that shows nothing (an escape sequence) breaks no line, and the first word stays on its own.
        if has_word && width > 0 && used + gap.len() + width > columns {
            out.push('\n');
            out.push_str(&below);
            used = below.len() + width;
        } else {
            out.push_str(gap);
            used += gap.len() + width;
        }
        out.push_str(word);
        has_word |= width > 0;
    }
}

fn shown(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Where the rest of a line goes on.
fn hanging(line: &str) -> usize {
    let words = line.trim_start();
    let indent = line.len() - words.len();
    let first = words.split(' ').next().unwrap_or_default();
    indent + if SIGNS.contains(&first) { plain::width(first) + 1 } else { DEEPER }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::style::{Style, Tone};

    #[test]
    fn lines_break_between_words_and_go_on_below_the_text() {
        let set = |line: &str| wrap(line, Some(20));
        assert_eq!(set("short\n\nlines stay\n"), "short\n\nlines stay\n");
        assert_eq!(set("  - a point that is long\n"), "  - a point that is\n    long\n");
        assert_eq!(set("✔ Fixed by the second tier"), "✔ Fixed by the\n  second tier");
        assert_eq!(
            set("  Audit:   /a/path/that/is/very/long/indeed x"),
            "  Audit:\n    /a/path/that/is/very/long/indeed\n    x"
        );
        let command = format!("  - Take it: git{JOINT}apply{JOINT}/a/path/best.patch");
        assert_eq!(set(&command), "  - Take it:\n    git apply /a/path/best.patch");
        assert_eq!(wrap(&command, None), "  - Take it: git apply /a/path/best.patch");
        assert_eq!(wrap("as long as it is, it stays as it is", None), "as long as it is, it stays as it is");
    }

    #[test]
    fn colours_take_no_room_and_stay() {
        let line = Style::Colour.paint(Tone::Good, "✔ Fixed by the second tier");
        let set = wrap(&line, Some(20));
        assert_eq!(shown(&set), "✔ Fixed by the\n  second tier");
        assert_eq!(set.replace("\n  ", " "), line);
        assert_eq!(wrap(&Style::Colour.paint(Tone::Good, "exactly twenty cols."), Some(20)).lines().count(), 1);
    }

    proptest! {
        #[test]
        fn no_word_is_broken_or_lost_and_no_line_is_wide_that_could_be_narrow(
            text in "([a-zé✔界]{1,30}| {1,5}|\n){0,30}", columns in 20_usize..80,
        ) {
            let set = wrap(&text, Some(columns));
            prop_assert_eq!(
                set.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>()
            );
            for line in set.lines().filter(|line| plain::width(line.trim_end()) > columns) {
                prop_assert_eq!(line.split_whitespace().count(), 1, "{:?}", line);
            }
        }
    }
}
