//! The runners' names for the tests of a file.

use super::{Language, TestBody, scan};
use crate::domain::printed_path;

/// Marks between the parts of a name in the runners' prints.
const JOINTS: [&str; 4] = [" › ", " > ", "::", " | "];
/// A stand-in for a gap while a title is compared. Nobody prints it.
const GAP: &str = "\u{0}";

/// See [`super::Source::is_called`].
pub(super) fn is_called(language: Language, path: &str, test: &TestBody, name: &str) -> bool {
    match language {
        Language::Python => is_called_in_python(path, test, name),
        Language::JavaScript => fit_in_javascript(path, test, name).is_some(),
        Language::Rust => rows_in_rust(path, test, name).is_some(),
        Language::Go => test.names.first().is_some_and(|own| in_go(name).0 == own),
        language @ (Language::Java | Language::Php | Language::Cpp | Language::Ruby) => {
            scan::is_called(language, path, test, name)
        }
    }
}

/// See [`super::Source::renamed_name`].
pub(super) fn renamed(language: Language, test: &TestBody, name: &str, word: &str) -> Option<String> {
    let own = test.names.last()?;
    match language {
        Language::Python => Some(renamed_in_python(name, own, word)),
        // What rows fill in stands inside the title; the word comes behind it.
        Language::JavaScript => Some(format!("{name} {word}")),
        Language::Rust => renamed_in_rust(own, name, word),
        Language::Go => {
            let (test, parts) = in_go(name);
            (test == own).then(|| format!("{own}_{word}{parts}"))
        }
        language @ (Language::Java | Language::Php | Language::Cpp | Language::Ruby) => {
            scan::renamed(language, test, name, word)
        }
    }
}

/// See [`super::Source::printed_name`].
pub(super) fn printed(language: Language, path: &str, test: &TestBody, framework: &str) -> Option<String> {
    let joined = |joint: &str| test.names.join(joint);
    match language {
        Language::Python if framework == "unittest" => {
            let module = path.strip_suffix(".py").unwrap_or(path).replace('/', ".");
            Some(format!("{} ({module}.{})", test.names.last()?, joined(".")))
        }
        Language::Python => Some(format!("{path}::{}", joined("::"))),
        Language::JavaScript => Some(joined(match framework {
            "jest" => " › ",
            "vitest" => " > ",
            _ => " ",
        })),
        Language::Go => test.names.first().cloned(),
        Language::Rust | Language::Java | Language::Php | Language::Cpp | Language::Ruby => None,
    }
}

/// The file, the module and the row stay as they are, whatever they are called: `tests/test_a.py::test_a[test_a]`, and by unittest
/// `test_a (tests.test_a.Case.test_a) (i=1)`.
fn renamed_in_python(name: &str, own: &str, word: &str) -> String {
    let by = format!("{own}_{word}");
    if let Some((file, rest)) = name.split_once("::") {
        // A row may hold the test's name as a value, and stays as it is.
        let (called, row) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
        return format!("{file}::{}{row}", replace_word(called, own, &by));
    }
    let Some((called, rest)) = name.split_once(" (") else { return replace_word(name, own, &by) };
    let (place, row) = rest.split_at(rest.find(')').unwrap_or(rest.len()));
    let place = match place.rsplit_once('.') {
        Some((class, last)) if last == own => format!("{class}.{by}"),
        Some(_) | None => place.to_owned(),
    };
    format!("{} ({place}{row}", replace_word(called, own, &by))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Replaces whole words.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut result = String::with_capacity(text.len() + by.len());
    let mut rest = text;
    let mut before = None;
    while let Some((head, tail)) = rest.split_once(word) {
        // Where the head is empty the word follows the one found before: `test_atest_a` is one name.
        let left = head.chars().next_back().or(before);
        let whole = !left.is_some_and(is_word) && !tail.chars().next().is_some_and(is_word);
        result.push_str(head);
        result.push_str(if whole { by } else { word });
        before = word.chars().next_back();
        rest = tail;
    }
    result.push_str(rest);
    result
}

/// `tests/test_a.py::Case::test_b[row]` by pytest, `test_b (tests.test_a.Case.test_b)` or `test_b (tests.test_a.Case) (i=1)` by unittest.
fn is_called_in_python(path: &str, test: &TestBody, name: &str) -> bool {
    let names: Vec<&str> = test.names.iter().map(String::as_str).collect();
    if let Some((file, rest)) = name.split_once("::") {
        let row = rest.find('[').unwrap_or(rest.len());
        let parts: Vec<&str> = rest.get(..row).unwrap_or(rest).split("::").collect();
        return printed_path::may_be_same(path, file) && parts == names;
    }
    let Some((own, rest)) = name.split_once(" (") else {
        // A runner that gives the dotted path alone.
        let parts: Vec<&str> = name.split('.').collect();
        return ends_with(&parts, &names);
    };
    let place = rest.split(')').next().unwrap_or(rest);
    let mut parts: Vec<&str> = place.split('.').collect();
    // Up to Python 3.10 unittest names the class alone between the brackets.
    if parts.last() != Some(&own) {
        parts.push(own);
    }
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let module: Vec<&str> = stem.split('/').collect();
    let at = parts.len().saturating_sub(names.len());
    let (file, inside) = parts.split_at(at);
    // A file that is run as a program is called `__main__`, whatever its own name is.
    inside == names && (ends_with(&module, file) || file.iter().all(|part| *part == "__main__"))
}

/// How well a runner's name fits a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// Its own title alone, or all behind the file's stem, as some reports print it.
    Leaf,
    /// With what a row or a loop fills in.
    Filled,
    /// As it is written.
    Whole,
}

/// See [`is_called`].
pub(super) fn fit(language: Language, path: &str, test: &TestBody, name: &str) -> Option<Fit> {
    match language {
        Language::JavaScript => fit_in_javascript(path, test, name),
        Language::Python
        | Language::Rust
        | Language::Go
        | Language::Java
        | Language::Php
        | Language::Cpp
        | Language::Ruby => is_called(language, path, test, name).then_some(Fit::Whole),
    }
}

/// `title`, `suite › title`, `suite title` or `file > suite > title`.
fn fit_in_javascript(path: &str, test: &TestBody, name: &str) -> Option<Fit> {
    let is_place = |before: &str| before.is_empty() || (before.ends_with(' ') && names_file(path, before));
    let called = plain(name);
    let whole = plain(&test.names.join(" "));
    // From the best fit to the worst: the first that holds is the answer.
    if !test.is_template && called.strip_suffix(&whole).is_some_and(is_place) {
        return Some(Fit::Whole);
    }
    let gaps = test.is_template || test.names.iter().any(|name| holds_gap(name));
    let joined = filled(&test.names.join(" "));
    if gaps && matches_from(&called, &joined).and_then(|start| called.get(..start)).is_some_and(is_place) {
        return Some(Fit::Filled);
    }
    if called == plain(&format!("{} {whole}", stem_of(path))) {
        return Some(Fit::Leaf);
    }
    let own = test.names.last().filter(|_| test.names.len() > 1)?;
    let is_own = if test.is_template || holds_gap(own) {
        let pieces = filled(own);
        // A title of gaps alone fits any name and so says nothing.
        pieces.iter().any(|piece| !piece.trim().is_empty()) && matches_from(&called, &pieces) == Some(0)
    } else {
        plain(own) == called
    };
    is_own.then_some(Fit::Leaf)
}

/// A name without what one runner prints and another does not: what joins its parts, the backslashes and hashes of TAP.
fn plain(text: &str) -> String {
    let joined = JOINTS.iter().fold(text.to_owned(), |text, joint| text.replace(joint, " "));
    let kept: String = joined.chars().filter(|c| !matches!(c, '\\' | '#')).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The pieces between a title's gaps, each [`plain`].
fn filled(title: &str) -> Vec<String> {
    plain(&pieces_of(title).join(GAP)).split(GAP).map(str::to_owned).collect()
}

/// Whether what stands before a name ends with the file's path (`|unit| tests/a.test.ts`, `a.spec.ts:3:5`).
fn names_file(path: &str, before: &str) -> bool {
    let last = before.split_whitespace().next_back().unwrap_or_default();
    printed_path::may_be_same(path, last.split(':').next().unwrap_or(last))
}

/// The file's name up to its first dot, as ava prints it.
fn stem_of(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split('.').next().unwrap_or(file)
}

fn holds_gap(title: &str) -> bool {
    title.contains('%') || title.contains('$')
}

/// Where in a name a title with gaps begins that fills it to its end.
fn matches_from(name: &str, pieces: &[String]) -> Option<usize> {
    let (first, rest) = pieces.split_first()?;
    let start = name.find(first.as_str())?;
    let mut at = start + first.len();
    // Each piece as early as can be, which leaves the most room for the ones behind it.
    for piece in rest {
        at += name.get(at..)?.find(piece.as_str())? + piece.len();
    }
    let last = pieces.last()?;
    (last.is_empty() || name.ends_with(last.as_str())).then_some(start)
}

/// The literal pieces of a title, between its gaps (`%s`, `$value`, `$a.b`, `${value}`).
fn pieces_of(title: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = title.chars().peekable();
    while let Some(c) = chars.next() {
        let gap = match (c, chars.peek().copied()) {
            // `%s` and `%#` of `each`. A percent sign before a blank is one.
            ('%', Some(letter)) if letter.is_ascii_alphabetic() || letter == '#' || letter == '$' => {
                chars.next();
                true
            }
            ('$', Some('{')) => {
                while chars.next().is_some_and(|c| c != '}') {}
                true
            }
            ('$', Some(letter)) if letter.is_ascii_alphabetic() || letter == '_' || letter == '#' => {
                while chars.peek().is_some_and(|c| is_word(*c) || *c == '.' || *c == '#') {
                    chars.next();
                }
                true
            }
            _ => false,
        };
        if gap {
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// How many segments of a name behind a test's own one are a row's: `ledger::tests::adds` by cargo, `money ledger::tests::adds` by
/// nextest, `adds::case_1` where the test has rows. `None` where it is the name of another test.
fn rows_in_rust(path: &str, test: &TestBody, name: &str) -> Option<usize> {
    // nextest puts the binary before it.
    let name = name.split_whitespace().next_back()?;
    // `r#type` is called `type` by some runners.
    let called: Vec<&str> = name.split("::").map(|part| part.trim_start_matches("r#")).collect();
    let own: Vec<&str> = test.names.iter().map(String::as_str).collect();
    let fits = |rows: &usize| {
        let called = called.get(..called.len().saturating_sub(*rows)).unwrap_or_default();
        let modules = called.get(..called.len().saturating_sub(own.len())).unwrap_or_default();
        ends_with(called, &own) && is_module_of(path, modules)
    };
    (0..=usize::from(test.is_template)).find(fits)
}

/// Whether a file may be the module of this path. Directories tell it where cargo's layout is kept. `#[path]` is beyond them.
fn is_module_of(path: &str, modules: &[&str]) -> bool {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Vec<&str> = stem.split('/').collect();
    if matches!(parts.last(), Some(&"mod")) {
        parts.pop();
    }
    if !modules.is_empty() {
        return ends_with(&parts, modules);
    }
    let root = parts.iter().rposition(|part| matches!(*part, "src" | "tests" | "benches" | "examples"));
    let inside = root.and_then(|at| parts.get(at..)).unwrap_or_default();
    // The root of a crate; `src/cli.rs` is one too where the manifest says so, but far more often a module.
    matches!(parts.last(), Some(&"lib" | &"main"))
        || matches!(inside, [] | ["tests" | "benches" | "examples", ..] | ["src", "bin", _])
}

/// See [`super::Source::without_row`].
pub(super) fn without_row_in_rust<'n>(path: &str, tests: &[TestBody], name: &'n str) -> &'n str {
    let has_row = tests.iter().any(|test| rows_in_rust(path, test, name) == Some(1));
    name.rsplit_once("::").filter(|_| has_row).map_or(name, |(test, _)| test)
}

/// The word stands behind the function's name, which a row's may follow.
fn renamed_in_rust(own: &str, name: &str, word: &str) -> Option<String> {
    let (before, last) = name.rsplit_once("::").map_or(("", name), |(before, last)| (before, last));
    // nextest's `money adds`.
    let is_own =
        |segment: &str| segment.split_whitespace().next_back().is_some_and(|one| one.trim_start_matches("r#") == own);
    // The last segment first: a row may be called like its test.
    if is_own(last) {
        return Some(format!("{name}_{word}"));
    }
    is_own(before.rsplit("::").next()?).then(|| format!("{before}_{word}::{last}"))
}

/// The test and the rest of a name: `TestAdds/by_two`.
fn in_go(name: &str) -> (&str, &str) {
    name.split_at(name.find('/').unwrap_or(name.len()))
}

fn ends_with(whole: &[&str], end: &[&str]) -> bool {
    whole.len() >= end.len() && whole.iter().rev().zip(end.iter().rev()).all(|(one, other)| one == other)
}
