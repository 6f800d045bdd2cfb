//! PHP: methods that PHPUnit calls.

use super::braces::in_braces;
use super::lexer::Kind;
use super::view::View;
use crate::framework::source::{Edit, Means, Poison, TestBody};

/// The tests of a file, in its order.
pub(super) fn tests(view: View<'_>) -> Vec<TestBody> {
    let mut found = Vec::new();
    let mut namespace = String::new();
    let mut class: Option<(String, usize)> = None;
    let mut at = 0;
    while at < view.tokens.len() {
        if class.as_ref().is_some_and(|(_, close)| at > *close) {
            class = None;
        }
        if view.kind(at) != Some(Kind::Word) {
            at += 1;
            continue;
        }
        if view.is(at, "namespace") && class.is_none() {
            let named = (at + 1..view.tokens.len()).take_while(|at| !matches!(view.word(*at), ";" | "{" | "("));
            namespace = named.map(|at| view.word(at)).collect();
        } else if let Some((name, open)) = class_at(view, at) {
            let full = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}\\{name}") };
            class = view.partner(open).map(|close| (full, close));
            at = open;
        } else if view.is(at, "function")
            && let Some((name, _)) = &class
            && let Some(open) = view.next_block(at + 1)
        {
            let close = view.partner(open).unwrap_or(open);
            found.extend(test_at(view, at, open, name));
            at = close;
        }
        at += 1;
    }
    found
}

/// The name of a class that is declared here, with the number of its opening brace.
fn class_at(view: View<'_>, at: usize) -> Option<(&str, usize)> {
    (matches!(view.word(at), "class" | "trait") && (at == 0 || !view.is(at - 1, ":"))).then_some(())?;
    let is_anonymous = at > 0 && view.is(at - 1, "new");
    (!is_anonymous && view.kind(at + 1) == Some(Kind::Word)).then_some(())?;
    Some((view.word(at + 1), view.next_block(at + 2)?))
}

fn test_at(view: View<'_>, function: usize, open: usize, class: &str) -> Option<TestBody> {
    let name = function + 1;
    let own = view.word(name);
    view.is(name + 1, "(").then_some(())?;
    // Modifiers and attributes stand before it.
    let mut header = function;
    while header > 0 && !matches!(view.word(header - 1), ";" | "{" | "}") {
        header -= 1;
    }
    let modifiers = header..function;
    // PHPUnit calls public methods alone, and without a word a method is public.
    let is_hidden = modifiers.clone().any(|at| matches!(view.word(at), "private" | "protected" | "abstract"));
    let has_attribute = modifiers.clone().any(|at| view.is(at, "Test") && at > header);
    let begin = view.range(header)?.start;
    let above = header.checked_sub(1).and_then(|before| view.range(before)).map_or(0, |before| before.end);
    // `@test` in the comment above, which is no token.
    let has_mark = view.text.get(above..begin).is_some_and(|comments| comments.contains("@test"));
    (!is_hidden && (own.starts_with("test") || has_attribute || has_mark)).then_some(())?;
    let close = view.partner(open)?;
    Some(TestBody {
        names: vec![class.to_owned(), own.to_owned()],
        is_template: false,
        lines: view.lines(header, close),
        whole: view.span(header, close)?,
        name: view.range(name)?,
        body: view.span(open, close)?,
    })
}

/// See [`super::poisoned`].
pub(super) fn poisoned(test: &TestBody, poison: &Poison, (word, other): (&str, &str)) -> Option<Vec<Edit>> {
    let failure = match poison.means {
        Means::Assertion => format!("$this->assertSame('{word}', '{other}');"),
        Means::Raise => format!("if (true) {{ throw new \\Exception('{word}'); }}"),
    };
    Some(in_braces(test, poison.place, &failure))
}
