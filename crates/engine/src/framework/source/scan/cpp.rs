//! C++: what the macros of GoogleTest, Catch2 and doctest define.

use super::lexer::Kind;
use super::view::View;
use crate::framework::source::{Edit, Means, Place, Poison, TestBody};

/// GoogleTest's, with a suite and a name.
const GOOGLE: [&str; 7] = ["TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P", "GTEST_TEST", "GTEST_TEST_F"];
/// Macros with a title.
const TITLED: [&str; 2] = ["TEST_CASE", "SCENARIO"];

/// The tests of a file, in its order.
pub(super) fn tests(view: View<'_>) -> Vec<TestBody> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < view.tokens.len() {
        let test = test_at(view, at);
        at = match &test {
            // A test holds no other one, and its body may call macros of the same names.
            Some((_, close)) => close + 1,
            None => at + 1,
        };
        found.extend(test.map(|(test, _)| test));
    }
    found
}

/// The test that begins here, with the number of its closing brace.
fn test_at(view: View<'_>, at: usize) -> Option<(TestBody, usize)> {
    (view.kind(at) == Some(Kind::Word) && view.is(at + 1, "(")).then_some(())?;
    let arguments = view.arguments(at + 1);
    let first = arguments.first()?;
    let (names, name) = if GOOGLE.contains(&view.word(at)) {
        let second = arguments.get(1)?;
        // Names that a macro puts together are not known before it is expanded.
        (arguments.len() == 2 && first.len() == 1 && second.len() == 1).then_some(())?;
        (vec![view.word(first.start).to_owned(), view.word(second.start).to_owned()], view.range(second.start)?)
    } else {
        TITLED.contains(&view.word(at)).then_some(())?;
        // Titles that are put together are left alone.
        (first.len() == 1 && view.kind(first.start) == Some(Kind::Text)).then_some(())?;
        let place = view.range(first.start)?;
        let title = view.word(first.start).strip_prefix('"')?.strip_suffix('"')?;
        let prefix = if view.is(at, "SCENARIO") { "Scenario: " } else { "" };
        (vec![format!("{prefix}{title}")], place.start + 1..place.end - 1)
    };
    let open = view.partner(at + 1)? + 1;
    view.is(open, "{").then_some(())?;
    let close = view.partner(open)?;
    let body = view.span(open, close)?;
    let (whole, lines) = (view.span(at, close)?, view.lines(at, close));
    Some((TestBody { names, is_template: false, lines, whole, name, body }, close))
}

/// See [`super::poisoned`].
pub(super) fn poisoned(text: &str, test: &TestBody, poison: &Poison, words: (&str, &str)) -> Option<Vec<Edit>> {
    let (word, other) = words;
    let head = text.get(test.whole.start..test.body.start)?;
    // Tests that may or should fail.
    (!head.contains("[!") && !head.contains("should_fail") && !head.contains("may_fail")).then_some(())?;
    let is_titled = TITLED.iter().any(|name| head.starts_with(name));
    let failure = match (is_titled, poison.place, poison.means) {
        // `ADD_FAILURE` does not leave the body, so `return` does. Without the condition what follows would be
        // unreachable.
        (false, Place::First, Means::Raise) => format!("if (true) {{ ADD_FAILURE() << \"{word}\"; return; }}"),
        (false, Place::First, Means::Assertion) => format!("ASSERT_STREQ(\"{word}\", \"{other}\");"),
        (false, Place::Last, Means::Raise) => format!("ADD_FAILURE() << \"{word}\";"),
        (false, Place::Last, Means::Assertion) => format!("EXPECT_STREQ(\"{word}\", \"{other}\");"),
        (true, Place::First, Means::Raise) => format!("if (true) {{ FAIL(\"{word}\"); }}"),
        (true, Place::First, Means::Assertion) => format!("REQUIRE(\"{word}\"[0] == '!');"),
        (true, Place::Last, Means::Raise) => format!("FAIL_CHECK(\"{word}\");"),
        (true, Place::Last, Means::Assertion) => format!("CHECK(\"{word}\"[0] == '!');"),
    };
    let inserted = match poison.place {
        Place::First => failure,
        // However the body ends, what it has made goes.
        Place::Last => format!("struct At_{word} {{ ~At_{word}() {{ {failure} }} }} at_{word};"),
    };
    Some(vec![Edit::insert(test.body.start + 1, format!(" {inserted}"))])
}
