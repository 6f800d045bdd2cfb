//! Text of others where nothing of it is Markdown (pure).

use crate::report::plain::{self, ZERO_WIDTH_SPACE};

/// A fenced block: the one form in which foreign text stands on its own lines.
pub(super) fn fence(text: &str, language: &str) -> String {
    let text = break_comments(&plain::block(text));
    let ticks = "`".repeat(longest_backtick_run(&text).max(2) + 1);
    format!("{ticks}{language}\n{text}\n{ticks}")
}

pub(super) fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Keeps foreign text from looking like a marker to whoever searches the raw comment.
pub(super) fn break_comments(text: &str) -> String {
    text.replace("<!--", &format!("<{ZERO_WIDTH_SPACE}!--")).replace("-->", &format!("--{ZERO_WIDTH_SPACE}>"))
}
