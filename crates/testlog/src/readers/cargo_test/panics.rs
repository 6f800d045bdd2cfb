//! Rust's panic messages: where the panic was, old form and new.

use crate::needle::Seek as _;
use crate::place;

/// Where a test failed: the panic of the test's own thread in the repository, else the first in the repository, else
/// any place that is named.
pub(crate) fn place_of(text: &str, test: &str) -> Option<(String, u32)> {
    let mut first = None;
    for (at, line) in text.lines().enumerate() {
        let Some((thread, rest)) = line.cut("panicked at ") else { continue };
        // Until Rust 1.73: `thread 'x' panicked at 'message', src/lib.rs:10:5`; the message may have several lines.
        let found = if rest.starts_with('\'') || rest.starts_with('"') {
            text.lines().skip(at).take(40).find_map(place::find_last)
        } else {
            place::find(rest)
        };
        let Some(found) = found.filter(|(file, _)| is_in_repository(file)) else { continue };
        if thread.contains(&format!("'{test}'")) {
            return Some(found);
        }
        first = first.or(Some(found));
    }
    first
        .or_else(|| doctest_place(test))
        .or_else(|| rustc_arrow(text))
        .or_else(|| place::places(text).find(|(file, _)| is_in_repository(file)))
}

/// Whether a path is not one of the standard library or of a dependency.
pub(crate) fn is_in_repository(file: &str) -> bool {
    !file.starts_with("/rustc/") && !file.holds("/.cargo/registry/") && !file.holds("/rustlib/src/")
}

/// `money/src/lib.rs - split (line 17)`.
fn doctest_place(test: &str) -> Option<(String, u32)> {
    let (file, rest) = test.cut(" - ")?;
    let (_, line) = rest.cut_last("(line ")?;
    place::is_path(file).then_some((file.to_owned(), place::leading_number(line)?))
}

/// `  --> src/lib.rs:3:9`.
pub(super) fn rustc_arrow(text: &str) -> Option<(String, u32)> {
    text.lines().find_map(|line| place::find(line.trim_start().strip_prefix("--> ")?))
}
