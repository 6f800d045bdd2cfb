//! Calls of functions by their names, found in the text: grammars do not look into macros.

use std::ops::Range;

use super::super::Language;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::framework::source) struct Call {
    /// The function's own name.
    pub(in crate::framework::source) function: String,
    /// The whole call, without a wait before it.
    pub(in crate::framework::source) range: Range<usize>,
    /// The arguments, without the blanks around them.
    pub(in crate::framework::source) arguments: Vec<Range<usize>>,
    /// Whether it is waited for.
    pub(in crate::framework::source) is_awaited: bool,
}

/// Words before a name under which it is no plain call.
const NO_CALL: [&str; 5] = ["def", "fn", "function", "new", "class"];

/// The calls of such functions inside a range, in its order.
pub(in crate::framework::source) fn calls(
    text: &str,
    body: &Range<usize>,
    language: Language,
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<Call> {
    let inside = text.get(body.clone()).unwrap_or_default();
    let opened = inside.match_indices('(').map(|(at, _)| body.start + at);
    opened.filter_map(|open| call(text, body, open, language, is_meant)).collect()
}

fn call(
    text: &str,
    body: &Range<usize>,
    open: usize,
    language: Language,
    is_meant: &dyn Fn(&str) -> bool,
) -> Option<Call> {
    let before = text.get(body.start..open)?;
    let is_path = |c: char| is_word(c) || c == '.' || c == ':';
    // `cart.total(` and `shop::total(`, from the bracket back to the first sign that is none of a path.
    let path = before.rsplit(|c| !is_path(c)).next()?;
    let function = path.rsplit(['.', ':']).next().filter(|name| is_meant(name))?;
    // What a chain begins with stands before it.
    if path.starts_with(['.', ':']) {
        return None;
    }
    let start = open - path.len();
    let ahead = text.get(body.start..start)?.trim_end();
    let last = ahead.rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
    if NO_CALL.contains(&last) {
        return None;
    }
    let (arguments, end) = arguments(text, open, body.end, language)?;
    let after = text.get(end..)?;
    let is_awaited = last == "await" || after.starts_with(".await");
    Some(Call { function: function.to_owned(), range: start..end, arguments, is_awaited })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The arguments behind an open bracket, and the end of the call.
fn arguments(text: &str, open: usize, end: usize, language: Language) -> Option<(Vec<Range<usize>>, usize)> {
    let mut found = Vec::new();
    let (mut depth, mut from, mut quote) = (0_usize, open + 1, None);
    let mut escaped = false;
    for (at, c) in text.get(open..end)?.char_indices().map(|(at, c)| (open + at, c)) {
        if let Some(own) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == own => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => quote = Some(c),
            // A single quote in Rust may begin a lifetime, which no other one ends.
            '\'' | '`' if language != Language::Rust => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    found.extend(trimmed(text, from..at));
                    return Some((found, at + c.len_utf8()));
                }
            }
            ',' if depth == 1 => {
                found.extend(trimmed(text, from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let inside = text.get(range.clone())?;
    let start = range.start + (inside.len() - inside.trim_start().len());
    let length = inside.trim().len();
    (length > 0).then_some(start..start + length)
}
