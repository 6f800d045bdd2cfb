//! What runners call the tests of a file.

use super::{Language, TestBody};

/// What stands between the parts of a name in the runners' prints.
const JOINTS: [&str; 4] = [" › ", " > ", "::", " | "];

/// See [`super::Source::is_called`].
pub(super) fn is_called(language: Language, path: &str, test: &TestBody, name: &str) -> bool {
    match language {
        Language::Python => is_called_in_python(path, test, name),
        Language::JavaScript => is_called_in_javascript(path, test, name),
    }
}

/// See [`super::Source::renamed_name`].
pub(super) fn renamed(language: Language, test: &TestBody, name: &str, word: &str) -> Option<String> {
    let own = test.names.last()?;
    match language {
        // unittest names the test twice: `test_a (tests.test_x.Case.test_a)`.
        Language::Python => Some(replace_word(name, own, &format!("{own}_{word}"))),
        // What rows fill in stands inside the title; the word comes behind it.
        Language::JavaScript => Some(format!("{name} {word}")),
    }
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
        return is_same_file(path, file) && parts == names;
    }
    let Some((own, rest)) = name.split_once(" (") else {
        // A runner that gives the dotted path alone.
        let parts: Vec<&str> = name.split('.').collect();
        return ends_with(&parts, &names);
    };
    let place = rest.split(')').next().unwrap_or(rest);
    let mut parts: Vec<&str> = place.split('.').collect();
    if parts.last() != Some(&own) {
        parts.push(own);
    }
    let stem = path.strip_suffix(".py").unwrap_or(path);
    let module: Vec<&str> = stem.split('/').collect();
    let at = parts.len().saturating_sub(names.len());
    let (file, inside) = parts.split_at(at);
    inside == names && (ends_with(&module, file) || file.iter().all(|part| *part == "__main__"))
}

/// `title`, `suite › title`, `suite title` or `file > suite > title`.
fn is_called_in_javascript(path: &str, test: &TestBody, name: &str) -> bool {
    let plain = |text: &str| {
        let joined = JOINTS.iter().fold(text.to_owned(), |text, joint| text.replace(joint, " "));
        joined.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let own: Vec<String> = test.names.iter().map(|name| plain(name)).collect();
    let whole = own.join(" ");
    let called = plain(name);
    if !test.is_template && !test.names.iter().any(|name| holds_gap(name)) {
        // What stands before the outermost suite is the file, a project or a browser.
        let Some(before) = called.strip_suffix(&whole) else { return false };
        return before.is_empty() || (before.ends_with(' ') && names_file(path, before));
    }
    let Some(start) = matches_from(&called, &whole) else { return false };
    called.get(..start).is_some_and(|before| before.trim().is_empty() || names_file(path, before))
}

fn names_file(path: &str, before: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    before.split_whitespace().any(|word| word.ends_with(file) || path.ends_with(word))
}

fn holds_gap(title: &str) -> bool {
    title.contains('%') || title.contains('$')
}

/// Where in a name a title with gaps begins that fills it to its end.
fn matches_from(name: &str, title: &str) -> Option<usize> {
    let mut pieces = pieces_of(title).into_iter();
    let first = pieces.next().unwrap_or_default();
    let start = name.find(&first)?;
    let mut at = start + first.len();
    let mut last = first;
    for piece in pieces {
        at += name.get(at..)?.find(&piece)? + piece.len();
        last = piece;
    }
    (last.is_empty() || name.ends_with(&last)).then_some(start)
}

/// What of a title is written as it is, between its gaps (`%s`, `$value`, `$a.b`, `${value}`).
fn pieces_of(title: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = title.chars().peekable();
    while let Some(c) = chars.next() {
        let gap = match (c, chars.peek().copied()) {
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

/// Whether one path is the other's end, part by part.
fn is_same_file(path: &str, printed: &str) -> bool {
    let (path, printed): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), printed.split(['/', '\\']).collect());
    ends_with(&path, &printed) || ends_with(&printed, &path)
}

fn ends_with(whole: &[&str], end: &[&str]) -> bool {
    whole.len() >= end.len() && whole.iter().rev().zip(end.iter().rev()).all(|(one, other)| one == other)
}
