//! The one sanitiser: text from models, tests and repositories before a person or a runner reads it.
//!
//! Invariant: what leaves here holds no control character (but `\n` from [`block`]), no escape sequence, no invisible
//! or direction-changing character of the author's, and nothing that the Actions runner takes for a command inside a line.

use crate::domain::hidden::is_hidden;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands for what was cut.
const ELLIPSIS: char = '…';

/// Breaks a sequence that some reader would interpret, without showing.
pub(super) const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Zero-width marks in a row that are kept: enough for real scripts, too few to cover neighbouring lines.
const MAX_COMBINING: usize = 4;

/// The runner's old command prefix, which it finds anywhere in a line.
const OLD_COMMAND_PREFIX: &str = "##[";

/// Makes one harmless line: escape sequences and hidden characters go, line breaks and tabs become single spaces.
#[must_use]
pub fn line(text: &str) -> String {
    let visible = visible(text);
    let mut out = String::with_capacity(visible.len());
    for word in visible.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    break_old_commands(&out)
}

/// Makes one harmless line to be copied (a command, a path): as [`line()`], but runs of spaces stay as they are.
#[must_use]
pub fn command(text: &str) -> String {
    break_old_commands(visible(text).replace('\n', " ").trim())
}

/// Makes harmless lines: as [`line()`], but line breaks and indentation stay, and no line begins with `::`.
#[must_use]
pub fn block(text: &str) -> String {
    let visible = visible(text);
    let lines: Vec<String> = visible.lines().map(|line| inert(line.trim_end())).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Makes one line that the Actions runner takes for text, whatever it holds: neither `::` at its start nor `##[`
/// anywhere survives unbroken.
#[must_use]
pub fn inert(line: &str) -> String {
    let broken = break_old_commands(line);
    // The runner looks behind blanks as well.
    if broken.trim_start().starts_with("::") { format!("{ZERO_WIDTH_SPACE}{broken}") } else { broken }
}

fn break_old_commands(text: &str) -> String {
    text.replace(OLD_COMMAND_PREFIX, &format!("##{ZERO_WIDTH_SPACE}["))
}

fn visible(text: &str) -> String {
    // Sequences first and whole: without their escape character the rest of one would stand as text.
    let text = anstream::adapter::strip_str(text).to_string();
    let mut out = String::with_capacity(text.len());
    let mut combining = 0_usize;
    for c in text.chars() {
        match c {
            // Unicode's own line breaks are seen by browsers, and would begin a line that nobody has checked.
            '\n' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' => out.push_str("    "),
            _ if is_hidden(c) => continue,
            _ if c.width() == Some(0) => {
                combining += 1;
                if combining <= MAX_COMBINING {
                    out.push(c);
                }
                continue;
            }
            _ => out.push(c),
        }
        combining = 0;
    }
    out
}

/// How many terminal columns a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text to at most `max_width` columns, between words where the last one leaves most of the room to the others. A cut shows as `…`.
#[must_use]
pub fn clip(text: &str, max_width: usize) -> String {
    if width(text) <= max_width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let columns = c.width().unwrap_or(0);
        // One column is kept for the mark of the cut.
        if used + columns + 1 > max_width {
            break;
        }
        used += columns;
        out.push(c);
    }
    if let Some(whole) = whole_words(text, &out) {
        out.truncate(whole);
    }
    out.truncate(out.trim_end().len());
    // In no room at all not even the mark of the cut fits.
    if max_width > 0 {
        out.push(ELLIPSIS);
    }
    out
}

/// Where the last whole word of a cut text ends, if the cut went through a word. One that takes more than a third of the room (a path,
/// an id) is cut: little would be left without it.
fn whole_words(text: &str, cut: &str) -> Option<usize> {
    let within = text.get(cut.len()..).is_some_and(|rest| !rest.starts_with(' '));
    let end = cut.rfind(' ').filter(|_| within)?;
    (cut.len() - end <= cut.len() / 3).then_some(end)
}

/// [`line()`], then [`clip`].
#[must_use]
pub fn clipped_line(text: &str, max_width: usize) -> String {
    clip(&line(text), max_width)
}

/// Fills a text with spaces up to `to_width` columns.
#[must_use]
pub fn pad(text: &str, to_width: usize) -> String {
    let missing = to_width.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escape_sequences_and_hidden_characters_never_arrive() {
        for (raw, shown) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;https://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\", "click"),
            ("a\u{9b}31mb", "a31mb"),
            ("over\rwrite\u{8}\u{7}", "overwrite"),
            ("abc\u{202e}fdp.exe", "abcfdp.exe"),
            ("z\u{200b}w\u{feff}\u{e0041}", "zw"),
            ("one\ntwo\tthree", "one two three"),
            ("日本語 テスト", "日本語 テスト"),
            ("x ##[error]boo", "x ##\u{200b}[error]boo"),
        ] {
            assert_eq!(line(raw), shown, "{raw:?}");
        }
    }

    #[test]
    fn stacked_marks_are_thinned_out() {
        let zalgo = format!("a{}b", "\u{301}".repeat(50));
        assert_eq!(line(&zalgo).chars().count(), 2 + MAX_COMBINING);
    }

    #[test]
    fn blocks_keep_their_lines_and_none_of_them_is_a_workflow_command() {
        assert_eq!(block("a\r\n  b\n\n::error::x\n  ::x\n"), "a\n  b\n\n\u{200b}::error::x\n\u{200b}  ::x");
    }

    #[test]
    fn clipping_counts_columns_and_not_characters() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("abcdef", 4), "abc…");
        assert_eq!(clip("日本語テスト", 7), "日本語…");
        assert_eq!(clip("日本語", 6), "日本語");
        assert_eq!(clip("ab", 0), "");
        assert_eq!(clip("the sum of all prices is wrong", 20), "the sum of all…");
        assert_eq!(clip("the sum of all prices is wrong", 22), "the sum of all prices…");
        assert_eq!(clip("see a/path/that/is/very/long", 20), "see a/path/that/is/…");
        assert_eq!(pad("日本", 6), "日本  ");
    }

    proptest! {
        #[test]
        fn a_line_is_one_line_without_hidden_characters(raw in any::<String>(), limit in 0usize..40) {
            let line = line(&raw);
            let ours = format!("##{ZERO_WIDTH_SPACE}[");
            prop_assert!(!line.replace(&ours, "").chars().any(is_hidden), "{:?}", line);
            prop_assert!(!line.contains(OLD_COMMAND_PREFIX));
            prop_assert!(width(&clip(&line, limit)) <= limit);
        }

        #[test]
        fn a_block_holds_no_command_whatever_it_is_made_of(parts in prop::collection::vec("(::|##\\[|\n|\r|\t| |\u{2028}|\u{200b}|error|\u{1b}\\[1m|]|\\PC)", 0..30)) {
            for line in block(&parts.concat()).lines() {
                prop_assert!(!line.trim_start().starts_with("::"), "{:?}", line);
                prop_assert!(!line.contains(OLD_COMMAND_PREFIX), "{:?}", line);
                prop_assert!(!line.contains(char::from(27)));
            }
        }
    }
}
