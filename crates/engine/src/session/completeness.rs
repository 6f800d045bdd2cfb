//! Whether text that is to replace a whole file is whole (issue 3, must-show 6).
//!
//! Small models often send a part of a file as if it were all of it, or stand-ins such as `// rest unchanged`. Writing that would destroy
//! code, so it is refused with a reason that says what is missing. Invariant: pure. When in doubt it refuses, because a refusal costs a
//! turn and a wrong write costs the tree.

use std::collections::BTreeSet;

/// How sure we are that a model means to replace the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// It called `write_file`: only stand-ins and gross losses are refused.
    Explicit,
    /// It showed a code block: anything that looks like a part is refused.
    Shown,
}

/// Longest line that is taken for a stand-in. Real code with such words is longer or has none of them.
const MAX_STAND_IN_CHARS: usize = 120;
/// Lines that a shown file may lose without suspicion, whatever its size.
const SMALL_LOSS_LINES: usize = 3;
/// The most names in one refusal.
const MAX_NAMES: usize = 5;

const COMMENT_STARTS: [&str; 12] = ["//", "/*", "*/", "*", "#", "--", ";", "<!--", "%", "\"\"\"", "'''", "{/*"];
const PROSE_EXTENSIONS: [&str; 6] = ["md", "mdx", "markdown", "rst", "txt", "adoc"];
const DEFINING_WORDS: [&str; 13] = [
    "fn",
    "def",
    "class",
    "function",
    "func",
    "fun",
    "struct",
    "enum",
    "trait",
    "interface",
    "module",
    "namespace",
    "macro_rules",
];
const CONTROL_WORDS: [&str; 16] = [
    "if", "for", "while", "switch", "catch", "match", "return", "with", "foreach", "elif", "else", "do", "try", "fn",
    "func", "function",
];

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line is the wrapping of a reply (a fence, a mark of the text protocol), which no code file has.
fn is_wrapping(path: &str, line: &str) -> bool {
    const SIGNS: [&str; 4] = ["```", "~~~", "<<<<<<< SEARCH", ">>>>>>> REPLACE"];
    let is_prose = path.rsplit_once('.').is_some_and(|(_, ending)| PROSE_EXTENSIONS.contains(&ending));
    !is_prose && SIGNS.iter().any(|sign| line.starts_with(sign))
}

/// Finds the first stand-in line (`...`, `// rest unchanged`) of `new` that `old` does not have.
pub(super) fn stand_in<'a>(path: &str, old: &str, new: &'a str) -> Option<&'a str> {
    // Such a line of the file's own may stay.
    let known: BTreeSet<&str> = old.lines().map(str::trim).collect();
    let mut before = "";
    for line in new.lines() {
        let trimmed = line.trim();
        if !trimmed.is_empty() {
            let deeper = indentation(line) > indentation(before);
            // In Python `...` alone below a `def f():` is a whole body.
            let python_body = is_python(path) && trimmed == "..." && deeper && before.trim_end().ends_with(':');
            if !python_body && !known.contains(trimmed) && (is_stand_in(trimmed) || is_wrapping(path, trimmed)) {
                return Some(line);
            }
            before = line;
        }
    }
    None
}

fn is_python(path: &str) -> bool {
    path.ends_with(".py") || path.ends_with(".pyi")
}

fn is_stand_in(trimmed: &str) -> bool {
    if trimmed.chars().count() > MAX_STAND_IN_CHARS {
        return false;
    }
    let (body, marked) = strip_marks(trimmed);
    let dots = |text: &str| text.starts_with("...") || text.starts_with('…');
    let ends_in_dots = body.ends_with("...") || body.ends_with('…');
    let bare: String =
        body.trim_matches(|c: char| c == '.' || c == '…' || c.is_whitespace()).to_ascii_lowercase().to_owned();
    // Nothing but dots: `...`, or `// …`.
    if bare.is_empty() {
        return !body.is_empty() && dots(body);
    }
    let words = ["rest", "existing", "remaining", "remainder", "unchanged", "same", "previous", "other", "omitted"];
    let more = ["as before", "keep", "snip", "code", "implementation", "methods", "functions", "etc"];
    let speaks = words.iter().chain(&more).any(|word| has_phrase(&bare, word));
    let dotted = (dots(body) || ends_in_dots) && speaks;
    let openings =
        ["rest of", "the rest of", "existing code", "remaining code", "unchanged", "same as before", "omitted"];
    let closings = ["unchanged", "as before", "remains the same", "stays the same", "remain the same", "omitted"];
    let plain = openings.iter().any(|phrase| bare.starts_with(phrase)) || closings.iter().any(|p| bare.ends_with(p));
    // Without a comment sign only dots or brackets tell a stand-in from a sentence in a string.
    (marked && (dotted || plain)) || (dotted && dots(body)) || (bracketed(trimmed) && (dotted || plain))
}

fn bracketed(trimmed: &str) -> bool {
    (trimmed.starts_with('[') && trimmed.ends_with(']')) || (trimmed.starts_with('(') && trimmed.ends_with(')'))
}

/// Takes comment signs and brackets off both ends. Returns whether there was a comment sign.
fn strip_marks(trimmed: &str) -> (&str, bool) {
    let mut text = trimmed;
    let mut marked = false;
    // Several signs may stand in a row: `{/* ... */}`.
    while let Some(rest) = COMMENT_STARTS.iter().find_map(|sign| text.strip_prefix(sign)) {
        text = rest.trim_start();
        marked = true;
    }
    for sign in ["*/}", "*/", "-->", "\"\"\"", "'''"] {
        text = text.strip_suffix(sign).unwrap_or(text).trim_end();
    }
    (text.trim_matches(|c| matches!(c, '[' | ']' | '(' | ')' | '{' | '}' | ' ')), marked)
}

fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, found)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// Says why `new` must not replace the file's present text. `None` when it may.
pub(super) fn objection(path: &str, old: &str, new: &str, intent: Intent) -> Option<String> {
    if let Some(line) = stand_in(path, old, new) {
        return Some(format!(
            "`{}` stands for code that is not there. Nothing was written. Send the whole file, or edit only the lines \
             that change.",
            line.trim()
        ));
    }
    let kept = (count_lines(old), count_lines(new));
    let lost = lost_names(path, old, new);
    match intent {
        // Whoever calls `write_file` means all of it: only lost names in a file of half the size speak against that.
        Intent::Explicit if lost.is_empty() || kept.1 * 2 > kept.0 => None,
        Intent::Explicit | Intent::Shown if !lost.is_empty() => {
            let names: Vec<String> = lost.iter().take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
            Some(format!(
                "this is not the whole file: {} of {path} {} missing. Nothing was written. Edit only the lines that \
                 change; to drop the rest on purpose, delete the file first.",
                names.join(", "),
                if names.len() == 1 { "is" } else { "are" },
            ))
        }
        Intent::Shown if kept.0.saturating_sub(kept.1) > (kept.0 / 4).max(SMALL_LOSS_LINES) => Some(format!(
            "this is not the whole file: {path} has {} lines, this has {}. Nothing was written. Edit only the lines \
             that change; to drop the rest on purpose, delete the file first.",
            kept.0, kept.1
        )),
        Intent::Shown | Intent::Explicit => None,
    }
}

fn count_lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Definitions and top-level lines of `old` of which `new` has no trace.
fn lost_names(path: &str, old: &str, new: &str) -> Vec<String> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    if PROSE_EXTENSIONS.contains(&extension) {
        return Vec::new();
    }
    let words: BTreeSet<&str> = words(new).collect();
    let tops: Vec<BTreeSet<&str>> = top_lines(new).map(|line| self::words(line).collect()).collect();
    let mut lost: Vec<String> =
        definitions(old).into_iter().filter(|name| !words.contains(name)).map(str::to_owned).collect();
    for (first, second) in top_lines(old).filter_map(top_key) {
        let there = tops.iter().any(|line| line.contains(first) && second.is_none_or(|word| line.contains(word)));
        let shown = second.map_or_else(|| first.to_owned(), |word| format!("{first} {word}"));
        // A definition that is lost is named once, though its line is lost with it.
        let named = lost.iter().any(|name| Some(name.as_str()) == second || name == first);
        if !there && !named && !lost.contains(&shown) {
            lost.push(shown);
        }
    }
    lost
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).filter(|word| !word.is_empty())
}

fn is_comment(trimmed: &str) -> bool {
    let code = ["#include", "#define", "#[", "#!", "#if", "#pragma", "#import"];
    !code.iter().any(|sign| trimmed.starts_with(sign)) && COMMENT_STARTS.iter().any(|sign| trimmed.starts_with(sign))
}

fn definitions(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim).filter(|line| !is_comment(line)) {
        let mut line_words = words(line);
        while let Some(word) = line_words.next() {
            // Behind Go's `func (` stands a receiver: `method_name` finds the method's name.
            if DEFINING_WORDS.contains(&word) && !line.contains("func (") {
                found.extend(line_words.next().filter(|name| !name.starts_with(|c: char| c.is_ascii_digit())));
                break;
            }
        }
        found.extend(method_name(line));
    }
    found
}

/// The name in `name(…) {`. For a Go method the one after the receiver.
fn method_name(line: &str) -> Option<&str> {
    let line = line.strip_suffix('{')?;
    let line = line.strip_prefix("func (").and_then(|rest| rest.split_once(')')).map_or(line, |(_, rest)| rest);
    let (head, _) = line.split_once('(')?;
    let name = words(head).last()?;
    let directly_before = head.ends_with(name);
    // `if a.ready() {` and `x = make() {` call something and define nothing.
    (directly_before && !CONTROL_WORDS.contains(&name) && !head.contains(['=', '.'])).then_some(name)
}

fn top_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with(char::is_whitespace) && !is_comment(line))
}

/// The one or two words by which a top-level line is recognised again.
fn top_key(line: &str) -> Option<(&str, Option<&str>)> {
    let mut line_words = words(line);
    let first = line_words.next()?;
    let after = line.split_once(first).map_or("", |(_, rest)| rest).trim_start();
    // `MAX = 3`, `run(x)`, `jobs:`, `a.b()`: what follows may change, the first word may not.
    let stands_alone = after.starts_with(['=', '(', ':', '.', '[', '+', '-', ',', '<']) && !after.starts_with("<\"");
    let second = line_words.next().filter(|word| !stands_alone && !word.starts_with(|c: char| c.is_ascii_digit()));
    Some((first, second))
}

#[cfg(test)]
#[path = "completeness/tests.rs"]
mod tests;
