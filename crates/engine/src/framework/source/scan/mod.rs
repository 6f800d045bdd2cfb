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

use self::lexer::Kind;
use self::view::View;
use super::nodes::reversed;
use super::{Edit, Expectation, Language, Poison, TestBody};

pub(super) use self::choices::choices;
pub(super) use self::handlers::blind_handlers;
pub use self::names::java_test;
pub(super) use self::names::{is_called, renamed};
pub(super) use self::values::altered;

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
