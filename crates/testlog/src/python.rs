//! Python tracebacks: which frame of them is the repository's.

use super::place;
use crate::needle::Seek as _;

/// The place a Python text points at: the last frame in the repository, in pytest's form (`path.py:12: AssertionError`)
/// or Python's (`File "path.py", line 12`).
pub(super) fn place_of(text: &str) -> Option<(String, u32)> {
    if let Some((_, newest_first)) = text.cut("most recent call first") {
        // faulthandler prints the innermost frame first; the thread that died comes last, as "Current thread".
        let current = newest_first.cut_last("Current thread").map_or(newest_first, |(_, text)| text);
        return current.lines().filter_map(frame).find(|(file, _)| is_in_repository(file));
    }
    let mut found = None;
    let mut fallback = None;
    for line in text.lines() {
        // The output of a test may hold tracebacks of its own.
        if line.starts_with("---") && line.holds(" Captured ") {
            break;
        }
        let Some(frame) = frame(line) else { continue };
        if is_in_repository(&frame.0) {
            found = Some(frame);
        } else {
            fallback = Some(frame);
        }
    }
    found.or(fallback)
}

/// The frame of the test itself: the last one in a file that is named like a test, else what [`place_of`] finds.
pub(super) fn test_frame(text: &str) -> Option<(String, u32)> {
    let is_test = |file: &str| {
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        name.starts_with("test") || name.ends_with("_test.py") || name.ends_with("tests.py")
    };
    text.lines().filter_map(frame).rfind(|(file, _)| is_in_repository(file) && is_test(file)).or_else(|| place_of(text))
}

/// The place that one line of a traceback names.
fn frame(line: &str) -> Option<(String, u32)> {
    // Such as `INTERNALERROR>   File "/w/conftest.py", line 3, in pytest_configure`.
    let text = line.strip_prefix("INTERNALERROR>").unwrap_or(line);
    // `E` is the margin of pytest's errors, `|` and `+` are those of exception groups.
    let text = text.trim_start_matches(['E', ' ', '|', '+', '\t']);
    if let Some(rest) = text.strip_prefix("File \"") {
        let (file, rest) = rest.split_once('"')?;
        return Some((file.to_owned(), place::leading_number(rest.strip_prefix(", line ")?)?));
    }
    // pytest writes its places without indentation.
    let first = line.as_bytes().first()?;
    if *first == b' ' || *first == b'>' || line.starts_with("E ") {
        return None;
    }
    // Of a fixture that is not found: `file /w/test_cart.py, line 4`.
    if let Some(rest) = line.strip_prefix("file ") {
        let (file, rest) = rest.cut(", line ")?;
        return Some((file.to_owned(), place::leading_number(rest)?));
    }
    let (file, rest) = line.split_once(':')?;
    let number: u32 = place::leading_number(rest)?;
    (place::is_path(file) && !file.contains(' ')).then(|| (file.to_owned(), number))
}

/// Whether a path is not one of Python itself or of an installed package.
pub(super) fn is_in_repository(file: &str) -> bool {
    !(file.holds("site-packages/")
        || file.holds("dist-packages/")
        || file.holds("/lib/python3")
        || file.holds("\\lib\\")
        || file.starts_with('<'))
}

/// Whether a message says that a module could not be imported.
pub(super) fn is_import_error(message: &str) -> bool {
    message.lines().any(|line| {
        let line = line.trim_start_matches(['E', ' ']);
        line.starts_with("ModuleNotFoundError") || line.starts_with("ImportError: ")
    })
}
