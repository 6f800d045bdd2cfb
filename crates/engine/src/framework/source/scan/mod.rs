//! Java, PHP, C++ and Ruby without their grammars, which are as large as the rest of the program: by tokens and brackets, and Ruby by the
//! indentation of its `end`.
//!
//! Code that is not understood is not found. An edit that does not compile is a run that says nothing, never one that accuses.

mod answers;
mod arms;
mod braces;
mod choices;
mod cpp;
mod handlers;
mod java;
mod lexer;
mod names;
mod parts;
mod php;
mod ruby;
#[cfg(test)]
mod tests;
mod values;
mod view;

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use self::lexer::Kind;
use self::view::View;
use super::nodes::reversed;
use super::{Edit, Expectation, Language, Poison, TestBody};

pub(super) use self::choices::choices;
pub(super) use self::handlers::blind_handlers;
pub use self::names::java_test;
pub(super) use self::names::{is_called, renamed};
pub(super) use self::values::altered;

/// The name of a function that a line of PHP defines.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static FUNCTIONS_OF_PHP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bfunction\s+&?(\w+)\s*\(").unwrap());
/// The name of a method that a line of Ruby defines.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static FUNCTIONS_OF_RUBY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*def\s+(?:self\.)?(\w+[?!]?)").unwrap());

/// The tests of a text. `None` where it is not whole.
pub(super) fn tests(language: Language, text: &str) -> Option<Vec<TestBody>> {
    if language == Language::Ruby {
        return Some(ruby::tests(text));
    }
    let tokens = lexer::tokens(language, text)?;
    let view = View { text, tokens: &tokens };
    Some(match language {
        Language::Java => java::tests(view),
        Language::Php => php::tests(view),
        Language::Cpp => cpp::tests(view),
        Language::Ruby | Language::Python | Language::JavaScript | Language::Rust | Language::Go => Vec::new(),
    })
}

/// The numbers of a text with their one-based lines. None of Ruby's, and of a text that is not whole.
pub(super) fn numbers(language: Language, text: &str) -> Vec<(u32, Range<usize>)> {
    let tokens = if language == Language::Ruby { None } else { lexer::tokens(language, text) };
    let numbers = tokens.into_iter().flatten().filter(|token| token.kind == Kind::Number);
    numbers.map(|token| (token.line, token.range)).collect()
}

/// Where the literal texts of a program are, with their quotes. Of Ruby those on one line.
pub(super) fn literal_texts(language: Language, text: &str) -> Vec<Range<usize>> {
    if language == Language::Ruby {
        return ruby::literal_texts(text);
    }
    let texts = lexer::tokens(language, text).into_iter().flatten().filter(|token| token.kind == Kind::Text);
    texts.map(|token| token.range).collect()
}

/// The names of the functions that a file of PHP or Ruby defines, with their one-based lines. None of any other.
#[must_use]
pub fn functions(path: &str, text: &str) -> Vec<(String, u32)> {
    let pattern = match Language::of(path) {
        Some(Language::Php) => &FUNCTIONS_OF_PHP,
        Some(Language::Ruby) => &FUNCTIONS_OF_RUBY,
        Some(
            Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Java | Language::Cpp,
        )
        | None => return Vec::new(),
    };
    let named = |(line, number): (&str, u32)| Some((pattern.captures(line)?.get(1)?.as_str().to_owned(), number));
    text.lines().zip(1..).filter_map(named).collect()
}

/// Whether a text is whole, as far as it is understood.
pub(super) fn is_whole(language: Language, text: &str) -> bool {
    language == Language::Ruby || lexer::tokens(language, text).is_some()
}

/// See [`super::Source::poisoned`].
pub(super) fn poisoned(language: Language, text: &str, test: &TestBody, poison: &Poison) -> Option<Vec<Edit>> {
    let word = poison.word.as_str();
    let other = reversed(word);
    match language {
        Language::Java => java::poisoned(text, test, poison, (word, &other)),
        Language::Php => php::poisoned(test, poison, (word, &other)),
        Language::Cpp => cpp::poisoned(text, test, poison, (word, &other)),
        Language::Ruby => ruby::poisoned(text, test, poison, (word, &other)),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go => None,
    }
}

/// See [`super::Source::expectations`].
pub(super) fn expectations(language: Language, text: &str, test: &TestBody) -> Vec<Expectation> {
    if language == Language::Ruby {
        return ruby::expectations(text, test);
    }
    let Some(tokens) = lexer::tokens(language, text) else { return Vec::new() };
    values::expectations(language, View { text, tokens: &tokens }, test)
}

/// See [`super::Source::literals`].
pub(super) fn literals<'t>(language: Language, text: &'t str, test: &TestBody) -> Vec<&'t str> {
    let Some(part) = text.get(test.whole.clone()) else { return Vec::new() };
    // The definition alone: of Ruby, the rest may hold what is not understood.
    // A part of PHP's text without `<?php` before it would be no code.
    let part_tokens = if language == Language::Php { None } else { lexer::tokens(language, part) };
    let (base, tokens) = match part_tokens {
        Some(tokens) => (part, tokens),
        None => (text, lexer::tokens(language, text).unwrap_or_default()),
    };
    let place = if base.len() == text.len() { test.whole.clone() } else { 0..part.len() };
    let is_value = |kind: Kind| matches!(kind, Kind::Number | Kind::Text | Kind::Char);
    let own = tokens.into_iter().filter(|token| is_value(token.kind));
    own.filter(|token| place.start <= token.range.start && token.range.end <= place.end)
        .filter_map(|token| base.get(token.range))
        .collect()
}
