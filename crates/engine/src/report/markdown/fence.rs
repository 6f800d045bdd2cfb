//! Text of others where nothing of it is Markdown (pure).

use crate::report::plain::{self, ZERO_WIDTH_SPACE};

/// A fenced block: the one form in which foreign text stands on its own lines.
pub(super) fn fence(text: &str, language: &str) -> String {
    let text = break_comments(&plain::block(text));
    // Longer than any run inside, so that no text can close its own fence.
    let ticks = "`".repeat(longest_backtick_run(&text).max(2) + 1);
    format!("{ticks}{language}\n{text}\n{ticks}")
}

/// A code span on one line: the one form in which foreign text stands inside a sentence or a list.
pub(in crate::report) fn code(text: &str, max_width: usize) -> String {
    let text = plain::clip(&plain::command(text), max_width);
    if text.is_empty() {
        // A code span of nothing is two backticks as text.
        return "—".to_owned();
    }
    let text = break_comments(&text);
    let ticks = "`".repeat(longest_backtick_run(&text) + 1);
    // A backtick at the edge would join those around it. GitHub takes one blank on each side away again.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Keeps foreign text from looking like a marker to whoever searches the raw comment.
fn break_comments(text: &str) -> String {
    text.replace("<!--", &format!("<{ZERO_WIDTH_SPACE}!--")).replace("-->", &format!("--{ZERO_WIDTH_SPACE}>"))
}
