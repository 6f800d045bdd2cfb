//! Java: methods that JUnit or TestNG calls.

use super::braces::in_braces;
use super::lexer::Kind;
use super::view::View;
use crate::framework::source::{Edit, Means, Poison, TestBody};

/// Annotations that mark a test.
const TESTS: [&str; 5] = ["Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"];
/// Keywords that declare a type with a body.
const TYPES: [&str; 4] = ["class", "record", "interface", "enum"];
/// The assertions of equality by what the file imports.
const ASSERTIONS: [(&str, &str); 4] = [
    ("org.junit.jupiter", "org.junit.jupiter.api.Assertions"),
    ("org.junit.", "org.junit.Assert"),
    ("junit.framework", "junit.framework.Assert"),
    ("org.testng", "org.testng.Assert"),
];

/// A type that is open.
struct Type {
    name: String,
    close: usize,
    /// Of JUnit 3, whose tests are known by their names.
    by_name: bool,
}

/// The tests of a file, in its order.
pub(super) fn tests(view: View<'_>) -> Vec<TestBody> {
    let mut found = Vec::new();
    let mut types: Vec<Type> = Vec::new();
    // Where the header of the next member begins.
    let (mut at, mut header) = (0, 0);
    while at < view.tokens.len() {
        if let Some(opened) = type_at(view, at) {
            let (open, one) = opened;
            // Types are entered, while all other brackets are passed over whole: members stand in types alone.
            types.push(one);
            (at, header) = (open + 1, open + 1);
            continue;
        }
        match view.kind(at) {
            Some(Kind::Open) => {
                let close = view.partner(at).unwrap_or(at);
                if view.is(at, "{") {
                    found.extend(test_at(view, header, at, &types));
                    header = close + 1;
                }
                at = close + 1;
                continue;
            }
            Some(Kind::Close) => {
                types.retain(|one| one.close > at);
                header = at + 1;
            }
            Some(Kind::Mark) if view.is(at, ";") => header = at + 1,
            _ => {}
        }
        at += 1;
    }
    found
}

/// A type that is declared here, with the number of its opening brace.
fn type_at(view: View<'_>, at: usize) -> Option<(usize, Type)> {
    (view.kind(at) == Some(Kind::Word) && TYPES.contains(&view.word(at))).then_some(())?;
    // `Cart.class` declares nothing.
    (at == 0 || !view.is(at - 1, ".")).then_some(())?;
    (view.kind(at + 1) == Some(Kind::Word)).then_some(())?;
    let open = view.next_block(at + 2)?;
    let by_name = (at + 2..open).any(|one| view.word(one).ends_with("TestCase"));
    Some((open, Type { name: view.word(at + 1).to_owned(), close: view.partner(open)?, by_name }))
}

/// The test whose body opens here, if what stands before says so.
fn test_at(view: View<'_>, header: usize, open: usize, types: &[Type]) -> Option<TestBody> {
    let own = types.last()?;
    let name = (header..open).find(|at| {
        let called = view.kind(*at) == Some(Kind::Word) && view.is(at + 1, "(");
        called && !is_annotation(view, header, *at)
    })?;
    let parameters_end = view.partner(name + 1)?;
    let is_marked = (header..name).any(|at| TESTS.contains(&view.word(at)) && is_annotation(view, header, at));
    // JUnit 3 calls methods without parameters by their names.
    let is_named = own.by_name && view.word(name).starts_with("test") && parameters_end == name + 2;
    // Anything else between the brackets and the body is no method's head.
    let throws = parameters_end + 1 == open || view.is(parameters_end + 1, "throws");
    (throws && (is_marked || is_named)).then_some(())?;
    let mut names: Vec<String> = types.iter().map(|one| one.name.clone()).collect();
    names.push(view.word(name).to_owned());
    let close = view.partner(open)?;
    Some(TestBody {
        names,
        is_template: false,
        lines: view.lines(header, close),
        whole: view.span(header, close)?,
        name: view.range(name)?,
        body: view.span(open, close)?,
    })
}

/// Whether a name is an annotation's: `@Test`, `@org.junit.Test`.
fn is_annotation(view: View<'_>, header: usize, mut at: usize) -> bool {
    while at >= header + 2 && view.is(at - 1, ".") {
        at -= 2;
    }
    at > header && view.is(at - 1, "@")
}

/// See [`super::poisoned`].
pub(super) fn poisoned(text: &str, test: &TestBody, poison: &Poison, words: (&str, &str)) -> Option<Vec<Edit>> {
    let head = text.get(test.whole.start..test.body.start)?;
    let expected = head.split_once("expected").and_then(|(_, rest)| rest.split_once(".class")).map(|(kind, _)| kind);
    let takes_any = |kind: &str| ["Throwable", "Error", "AssertionError"].iter().any(|one| kind.ends_with(one));
    // `@Test(expected = AssertionError.class)` would take the failure for the one that it waits for.
    if expected.is_some_and(|kind| takes_any(kind.trim_matches(['=', ' ']))) {
        return None;
    }
    let (word, other) = words;
    let assertion = ASSERTIONS.iter().find(|(import, _)| text.contains(import));
    let failure = match (poison.means, assertion) {
        (Means::Assertion, Some((_, class))) => format!("{class}.assertEquals(\"{word}\", \"{other}\");"),
        // `if (true)`: what follows counts as reachable.
        _ => format!("if (true) throw new java.lang.AssertionError(\"{word}\");"),
    };
    Some(in_braces(test, poison.place, &failure))
}
