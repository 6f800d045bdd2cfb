//! The names that JUnit, PHPUnit, RSpec, minitest, GoogleTest and their like give to their tests.

use super::super::{Language, TestBody};
use super::ruby::joined;

/// See [`super::super::Source::is_called`].
pub(in super::super) fn is_called(language: Language, path: &str, test: &TestBody, name: &str) -> bool {
    match language {
        Language::Java => is_called_in_java(path, test, name),
        Language::Php => is_called_in_php(test, name),
        Language::Cpp => is_called_in_cpp(test, name),
        Language::Ruby => is_called_in_ruby(test, name),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go => false,
    }
}

/// See [`super::super::Source::renamed_name`].
pub(in super::super) fn renamed(language: Language, test: &TestBody, name: &str, word: &str) -> Option<String> {
    let own = test.names.last()?;
    let method = |at: usize, between: &str| {
        let (before, rest) = name.split_at_checked(at)?;
        Some(format!("{before}{own}{between}{word}{}", rest.strip_prefix(own.as_str())?))
    };
    match language {
        Language::Java => {
            let (_, found) = java_test(name)?;
            // With its bracket first: the class may hold the method's word.
            method(name.find(&format!("{found}(")).or_else(|| name.rfind(found))?, "_")
        }
        Language::Php => method(name.find("::")? + 2, "_"),
        Language::Cpp if test.names.len() == 1 => Some(format!("{name} {word}")),
        Language::Cpp => method(name.find('.')? + 1, "_"),
        Language::Ruby if own.starts_with("test_") => match name.find('#') {
            Some(at) => method(at + 1, "_"),
            None => method(0, "_"),
        },
        Language::Ruby if name.contains("#test_") && !name.contains(' ') => Some(format!("{name}_{word}")),
        Language::Ruby => Some(format!("{name} {word}")),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go => None,
    }
}

/// The class and the method of a test as Maven, Gradle or JUnit print it: `adds(org.example.CartTest)`, `org.example.CartTest.adds`,
/// `org.example.CartTest > adds(int) > [1] 3`. The class is `*` where it is not printed.
#[must_use]
pub fn java_test(name: &str) -> Option<(&str, &str)> {
    let plain = |method: &'_ str| method.find(['(', '[', '{', ' ']).unwrap_or(method.len());
    let is_class =
        |class: &str| !class.is_empty() && class.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '$'));
    if let Some((class, rest)) = name.split_once(" > ") {
        // `CartTest > Inner > adds()` stands for a nested class; its own name is enough.
        let method = rest.get(..plain(rest))?;
        return (is_class(class) && !method.is_empty()).then_some((class, method));
    }
    let behind = name.strip_suffix(')').and_then(|name| name.rsplit_once('('));
    if let Some((method, class)) = behind
        && is_class(class)
        && !method.contains('.')
    {
        return Some((class, method.get(..plain(method))?));
    }
    let whole = name.get(..plain(name))?;
    // Surefire 2 names JUnit 5's tests by their methods alone.
    if !whole.is_empty() && !name.contains(' ') && whole.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return Some(("*", whole));
    }
    let (class, method) = whole.rsplit_once(['.', '#'])?;
    (is_class(class) && !method.is_empty()).then_some((class, method))
}

fn is_called_in_java(path: &str, test: &TestBody, name: &str) -> bool {
    let Some((class, method)) = java_test(name) else { return false };
    let Some((own, types)) = test.names.split_last() else { return false };
    if class == "*" {
        return own == method;
    }
    let segments: Vec<&str> = class.split(['.', '$']).collect();
    let at = segments.len().saturating_sub(types.len());
    let (package, inside) = segments.split_at(at);
    let folders: Vec<&str> = path.split('/').collect();
    let folders = folders.split_last().map_or(&[][..], |(_, folders)| folders);
    // A package is the end of the file's folders, by Java's own rule.
    own == method && inside == types && folders.ends_with(package)
}

fn is_called_in_php(test: &TestBody, name: &str) -> bool {
    let [class, own] = test.names.as_slice() else { return false };
    let Some((printed, method)) = name.split_once("::") else { return false };
    // Behind it stands the data set: `testAdds with data set #0`, `testAdds#0`, `testAdds@empty`.
    let method = method.split([' ', '#', '@']).next().unwrap_or(method);
    let last = |class: &str| class.rsplit('\\').next().map(str::to_owned);
    let same = printed == class || (!printed.contains('\\') && last(class).as_deref() == Some(printed));
    same && method == own
}

/// `Cart.Adds`, `All/Cart.Adds/0`, `Cart/0.Adds`, with what GoogleTest says of a parameter behind it.
fn is_called_in_cpp(test: &TestBody, name: &str) -> bool {
    match test.names.as_slice() {
        [title] => {
            let name = name.trim();
            name == title || name.strip_prefix(title.as_str()).is_some_and(|rest| rest.starts_with(" > "))
        }
        [suite, own] => {
            let name = name.split(", where ").next().unwrap_or(name);
            let Some((before, rest)) = name.split_once('.') else { return false };
            let method = rest.split('/').next().unwrap_or(rest);
            // `All/Cart/0`: around the suite stand the instance and the number of the type.
            before.split('/').any(|part| part == suite) && method == own
        }
        _ => false,
    }
}

fn is_called_in_ruby(test: &TestBody, name: &str) -> bool {
    let Some((own, around)) = test.names.split_last() else { return false };
    let name = name.trim();
    let classes = around.join("::");
    let is_class = |printed: &str| printed == classes || classes.ends_with(&format!("::{printed}"));
    if let Some((class, method)) = name.split_once("#test_") {
        // minitest counts examples: `Cart::total#test_0001_adds`; Rails joins the words of a title.
        let title = method.trim_start_matches(|c: char| c.is_ascii_digit());
        let title = if title.len() < method.len() { title.strip_prefix('_').unwrap_or(title) } else { method };
        let is_own = own.strip_prefix("test_") == Some(method) || own == title || own.replace(' ', "_") == method;
        if is_own && is_class(class) {
            return true;
        }
    }
    if let Some((method, class)) = name.strip_suffix(')').and_then(|name| name.rsplit_once('(')) {
        // test-unit.
        if method == own && is_class(class) {
            return true;
        }
    }
    let whole = test.names.iter().fold(String::new(), |before, one| joined(&before, one));
    // Behind a text in a class's place, methods do not stand close.
    fills(&close(&whole), &close(name))
}

/// A description with methods close to what is before them.
fn close(name: &str) -> String {
    name.replace(" #", "#").replace(" .", ".").replace(" ::", "::")
}

/// Whether a name is a title with its gaps filled.
fn fills(title: &str, name: &str) -> bool {
    let mut pieces = title.split("${}");
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = title.split("${}").skip(1).last() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.is_empty() || (!last.is_empty() && name.ends_with(last)) || last.is_empty()
}
