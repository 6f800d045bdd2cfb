//! The values that assertions of equality expect, and others in their place.

use std::ops::Range;

use super::super::number::{self, FAR};
use super::lexer::Kind;
use super::view::View;
use crate::framework::source::{Expectation, Language, TestBody};

/// Assertions over an expected and an actual value.
const EQUAL: [&str; 18] = [
    "assertEquals",
    "assertSame",
    "assertEqualsCanonicalizing",
    "assertCount",
    "EXPECT_EQ",
    "ASSERT_EQ",
    "EXPECT_STREQ",
    "ASSERT_STREQ",
    "EXPECT_FLOAT_EQ",
    "ASSERT_FLOAT_EQ",
    "EXPECT_DOUBLE_EQ",
    "ASSERT_DOUBLE_EQ",
    "CHECK_EQ",
    "REQUIRE_EQ",
    "assert_equal",
    "assertEqual",
    "assertStringEqualsStringIgnoringLineEndings",
    "assertIsEqual",
];
/// Methods that are called on the actual value with the expected one.
const ON_ACTUAL: [&str; 8] = ["isEqualTo", "isSameAs", "eq", "eql", "must_equal", "should_equal", "equalTo", "is"];
/// Conditions of C++ that compare by `==`.
const CONDITIONS: [&str; 6] = ["CHECK", "REQUIRE", "EXPECT_TRUE", "ASSERT_TRUE", "CHECK_THAT", "REQUIRE_THAT"];
/// Makers of a value that consists of the given ones, and of nothing else.
const MAKERS: [&str; 7] = ["of", "asList", "string", "vector", "array", "BigDecimal", "BigInteger"];

/// See [`super::expectations`].
pub(super) fn expectations(language: Language, view: View<'_>, test: &TestBody) -> Vec<Expectation> {
    let inside = view.inside(&test.body);
    let mut found = Vec::new();
    for at in inside.clone() {
        if view.kind(at) != Some(Kind::Word) || !view.is(at + 1, "(") {
            continue;
        }
        let place = expected(language, view, at, &inside);
        let last = view.partner(at + 1).unwrap_or(at);
        found.extend(place.map(|place| Expectation { lines: view.lines(at, last), places: vec![place] }));
    }
    found
}

/// The place of the value that the assertion called here expects.
fn expected(language: Language, view: View<'_>, at: usize, body: &Range<usize>) -> Option<Range<usize>> {
    let arguments = view.arguments(at + 1);
    let of = |one: &Range<usize>| literal(language, view, one.clone()).or_else(|| bound(language, view, one, body));
    let name = view.word(at);
    if EQUAL.contains(&name) {
        let is_text = |one: &Range<usize>| one.len() == 1 && view.kind(one.start) == Some(Kind::Text);
        // JUnit 4 says first what it is about.
        let about = language == Language::Java
            && !view.text.contains("org.junit.jupiter")
            && !view.text.contains("org.testng")
            && arguments.len() > 2
            && arguments.first().is_some_and(is_text);
        let values = arguments.get(usize::from(about)..)?;
        // The first literal of the two: people differ in which side they expect on. A third value is a tolerance or a
        // message.
        return values.iter().take(2).find_map(of);
    }
    if ON_ACTUAL.contains(&name) {
        let [one] = arguments.as_slice() else { return None };
        return of(one);
    }
    if CONDITIONS.contains(&name) {
        let condition = arguments.first()?.clone();
        let equals = condition.clone().find(|at| view.is(*at, "=") && view.is(at + 1, "="))?;
        return of(&(equals + 2..condition.end)).or_else(|| of(&(condition.start..equals)));
    }
    None
}

/// The place of a literal that tokens are, as a whole.
pub(super) fn literal(language: Language, view: View<'_>, tokens: Range<usize>) -> Option<Range<usize>> {
    let (first, last) = (tokens.start, tokens.end.checked_sub(1)?);
    let is_plain = |at: usize| {
        matches!(view.kind(at), Some(Kind::Number | Kind::Text | Kind::Char))
            || matches!(view.word(at).to_ascii_lowercase().as_str(), "true" | "false")
    };
    match tokens.len() {
        0 => None,
        1 => is_plain(first).then(|| view.range(first))?,
        2 if view.is(first, "-") && view.kind(last) == Some(Kind::Number) => view.span(first, last),
        _ => {
            let has_lists = matches!(language, Language::Php | Language::Ruby);
            let open = view.partner(last).filter(|open| tokens.contains(open) && *open < last)?;
            let is_list = |at: usize| {
                is_plain(at)
                    || matches!(view.word(at), "," | "=" | ">" | "[" | "]" | "-" | "null" | "nil")
                    || (language == Language::Ruby
                        && [view.word(at), view.word(at + 1), view.word(at.saturating_sub(1))].contains(&":"))
            };
            if has_lists && open == first {
                let whole = view.is(first, "[") && (first..last).all(is_list);
                return whole.then(|| view.span(first, last))?;
            }
            let maker = (first..open).rev().find(|at| view.kind(*at) == Some(Kind::Word))?;
            let is_made = MAKERS.contains(&view.word(maker))
                || view.is(first, "new") && view.is(open, "{")
                || (first..open).any(|at| view.is(at, "vector"));
            let inner = view.arguments(open);
            // A maker of computed values expects more than its literals.
            let all = inner.iter().all(|one| one.clone().all(|at| is_plain(at) || view.is(at, "-")));
            let place = inner.first().filter(|_| is_made && all)?;
            view.span(place.start, place.end.checked_sub(1)?)
        }
    }
}

/// Where the value of a name is written: assigned once in the body, and used once.
fn bound(language: Language, view: View<'_>, name: &Range<usize>, body: &Range<usize>) -> Option<Range<usize>> {
    (name.len() == 1 && view.kind(name.start) == Some(Kind::Word)).then_some(())?;
    let word = view.word(name.start);
    let uses: Vec<usize> = body.clone().filter(|at| view.is(*at, word)).collect();
    // Once more would be a use by the product, which would get the altered value as well.
    let [defined, _] = uses.as_slice() else { return None };
    (view.is(defined + 1, "=") && !view.is(defined + 2, "=")).then_some(())?;
    let end = (defined + 2..body.end).find(|at| view.is(*at, ";"))?;
    literal(language, view, defined + 2..end)
}

/// See [`super::super::Source::altered`].
pub(in super::super) fn altered(language: Language, literal: &str, word: &str) -> Option<String> {
    if literal.starts_with('\'') && matches!(language, Language::Java | Language::Cpp) {
        return Some(if literal == "'q'" { "'z'" } else { "'q'" }.to_owned());
    }
    match literal {
        "true" => return Some("false".to_owned()),
        "false" => return Some("true".to_owned()),
        "TRUE" => return Some("FALSE".to_owned()),
        "FALSE" => return Some("TRUE".to_owned()),
        "[]" => return Some(format!("['{word}']")),
        _ => {}
    }
    let first = literal.chars().next()?;
    if first.is_ascii_digit() || first == '-' {
        return number(literal);
    }
    if first == '[' {
        return Some(format!("['{word}', {}", literal.get(1..)?));
    }
    // Their first line is no content, so a word cannot just be put behind the quotes.
    if literal.starts_with("\"\"\"") || literal.starts_with("<<<") {
        return None;
    }
    let quote = literal.find(['"', '\''])?;
    let is_raw = literal.get(..quote)?.ends_with('R');
    // `R"x(text)x"`
    let inside = if is_raw { literal.find('(')? } else { quote } + 1;
    let (before, rest) = literal.split_at_checked(inside)?;
    Some(format!("{before}{word}{rest}"))
}

fn number(literal: &str) -> Option<String> {
    let is_hex = literal.contains(['x', 'X']);
    let digits = literal.trim_end_matches(['l', 'L', 'f', 'F', 'd', 'D', 'u', 'U']);
    let (digits, suffix) = if is_hex { (literal, "") } else { literal.split_at_checked(digits.len())? };
    match number::far(digits) {
        Some(far) => Some(format!("{far}{suffix}")),
        None => Some(format!("({literal} + {FAR})")),
    }
}
