//! Calls of PHP by their brackets, and of Ruby by what it asks of things that are there for all: its constants.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::super::answers;
use super::super::choice::Choice;
use super::lexer::Kind;
use super::view::View;

/// Words of PHP before a round bracket that are no calls.
const NO_CALLS: [&str; 22] = [
    "if", "elseif", "for", "foreach", "while", "switch", "match", "function", "fn", "catch", "declare", "array",
    "list", "isset", "unset", "empty", "echo", "print", "return", "exit", "die", "use",
];
/// Words of PHP behind which an answer is words alone, or all of a result.
const ENDS: [&str; 3] = ["throw", "return", "echo"];
/// A chain of calls of Ruby that begins at a constant, one whose last link is given values in brackets, and its question for a name.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"defined\?\([^()\n]*\)|\b[a-z_]\w*(?:\.[a-z_]\w*[?!]?)*\.[a-z_]\w*[?!]?\([^()\n]+\)|(?:\b[A-Z]\w*(?:::[A-Z]\w*)*|\$\w+)(?:\.[a-z_]\w*[?!]?(?:\([^()\n]*\))?)+").unwrap()
});

/// The call that a round bracket of PHP opens the arguments of.
pub(super) fn of_php(view: View<'_>, at: usize) -> Option<Choice> {
    let named = at.checked_sub(1).filter(|named| view.is(at, "(") && view.kind(*named) == Some(Kind::Word))?;
    if NO_CALLS.contains(&view.word(named)) {
        return None;
    }
    let (mut first, last) = (named, view.partner(at)?);
    // `$a->b(`, `A::b(` and `\a\b(`: what it is called on belongs to it.
    while let Some(before) = first.checked_sub(1) {
        let is_link = [":", ">", "-", "\\"].contains(&view.word(before));
        let is_name = view.kind(before) == Some(Kind::Word) && first < named && !ENDS.contains(&view.word(before));
        if !is_link && !is_name {
            break;
        }
        first = before;
    }
    let before = first.checked_sub(1);
    if before.is_some_and(|before| view.is(before, "function") || view.is(before, "new")) {
        return None;
    }
    let is_at_end =
        before.is_none_or(|before| ENDS.contains(&view.word(before)) || [";", "{", "}"].contains(&view.word(before)));
    // A chain goes on, or it is all of a statement or a result.
    let behind = view.word(last + 1);
    if behind == "-" && view.is(last + 2, ">") || is_at_end && behind == ";" || is_in_words(view, first) {
        return None;
    }
    answers::choice(Language::Php, view.text, view.span(first, last)?, view.lines(first, last))
}

/// A constant of PHP's or of the program's.
pub(super) fn of_constant(view: View<'_>, at: usize) -> Option<Choice> {
    let word = view.word(at);
    let is_constant = word.len() > 2
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && !["TRUE", "FALSE", "NULL"].contains(&word);
    let before = at.checked_sub(1).map(|before| view.word(before)).unwrap_or_default();
    let is_named = [":", ">", "const", "case", "use", "namespace", "function", "class", "new"].contains(&before);
    let is_part = ["(", ":", "\\", "="].contains(&view.word(at + 1)) && !(view.is(at + 1, "=") && view.is(at + 2, "="));
    if view.kind(at) != Some(Kind::Word) || !is_constant || is_named || is_part {
        return None;
    }
    // `\\PHP_OS`: the sign of the global namespace belongs to it.
    let first = if before == "\\" { at - 1 } else { at };
    answers::choice(Language::Php, view.text, view.span(first, at)?, view.lines(first, at))
}

/// Whether the statement around only says something: it throws, or calls with a text among what it gives.
fn is_in_words(view: View<'_>, first: usize) -> bool {
    let (mut at, mut says) = (first, false);
    while let Some(before) = at.checked_sub(1) {
        match view.kind(before) {
            Some(Kind::Close) if view.is(before, "}") => break,
            Some(Kind::Close) => at = view.partner(before).unwrap_or(before),
            Some(Kind::Open) if view.is(before, "{") => break,
            Some(Kind::Mark) if view.is(before, ";") => break,
            kind => {
                says |= kind == Some(Kind::Text);
                at = before;
            }
        }
    }
    // A statement begins with a call: nobody takes what that answers.
    let is_call = view.kind(at) == Some(Kind::Word) && view.is(at + 1, "(") && !NO_CALLS.contains(&view.word(at));
    view.is(at, "throw") || says && is_call
}

/// The calls of Ruby's.
pub(super) fn of_ruby(text: &str) -> Vec<Choice> {
    let choice = |found: regex::Match<'_>| {
        let before = text.get(..found.start())?;
        let line = u32::try_from(before.matches('\n').count() + 1).ok()?;
        let head = before.rsplit('\n').next().unwrap_or_default();
        let rest = text.get(found.end()..)?.split('\n').next().unwrap_or_default();
        // A statement of its own, an error's words, and what a comment or a text holds.
        let is_alone = head.trim().is_empty() && rest.trim().is_empty();
        let is_shown =
            head.contains('#') || head.contains("raise") || head.contains("def ") || head.matches('"').count() % 2 == 1;
        (!is_alone && !is_shown).then(|| answers::choice(Language::Ruby, text, found.range(), (line, line))).flatten()
    };
    RUBY.find_iter(text).filter_map(choice).collect()
}
