//! Code alone, without the insides of strings and comments, and the words and attributes in it.

use std::ops::Range;

use super::super::mask::{behind_match, blank, byte};

/// Attributes of test items whose names do not hold `test`.
const TEST_ATTRIBUTES: [&str; 6] = ["bench", "rstest", "quickcheck", "proptest", "case", "should_panic"];
/// Words before an item's own.
const QUALIFIERS: [&str; 6] = ["pub", "unsafe", "async", "default", "crate", "auto"];

/// Code alone: strings, characters and comments are blanked.
pub(super) fn code_alone(text: &str) -> Vec<u8> {
    let source = text.as_bytes();
    let mut mask = source.to_vec();
    let mut at = 0;
    while at < source.len() {
        let end = match (byte(source, at), byte(source, at + 1)) {
            (b'/', b'/') => line_end(source, at),
            (b'/', b'*') => comment_end(source, at),
            (b'"', _) => string_end(source, at + 1),
            (b'r', b'"' | b'#') if !continues_a_name(source, at) => match raw_end(source, at + 1) {
                Some(end) => end,
                // A raw identifier such as `r#type`.
                None => {
                    at += 1;
                    continue;
                }
            },
            (b'\'', _) => character_end(source, at),
            _ => {
                at += 1;
                continue;
            }
        };
        blank(&mut mask, at..end);
        at = end.max(at + 1);
    }
    mask
}

/// Whether the place is inside an identifier: `for"` is no raw string, `br"` is one.
fn continues_a_name(source: &[u8], at: usize) -> bool {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let before = |back: usize| at.checked_sub(back).map_or(0, |place| byte(source, place));
    match before(1) {
        // `br"` and `cr"` begin a raw string, unless the letter ends a longer name.
        b'b' | b'c' => is_name(before(2)),
        other => is_name(other),
    }
}

fn line_end(source: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', source.get(at..).unwrap_or_default()).map_or(source.len(), |length| at + length)
}

fn comment_end(source: &[u8], at: usize) -> usize {
    // Rust's block comments nest, unlike those of C.
    let (mut depth, mut place) = (0_usize, at);
    while place < source.len() {
        match (byte(source, place), byte(source, place + 1)) {
            (b'/', b'*') => {
                depth += 1;
                place += 2;
            }
            (b'*', b'/') => {
                depth = depth.saturating_sub(1);
                place += 2;
                if depth == 0 {
                    return place;
                }
            }
            _ => place += 1,
        }
    }
    source.len()
}

fn string_end(source: &[u8], at: usize) -> usize {
    let mut place = at;
    while place < source.len() {
        match byte(source, place) {
            b'\\' => place += 2,
            b'"' => return place + 1,
            _ => place += 1,
        }
    }
    source.len()
}

/// The end of `#*"…"#*`. `None` for a raw identifier.
fn raw_end(source: &[u8], at: usize) -> Option<usize> {
    let hashes = source.get(at..)?.iter().take_while(|&&found| found == b'#').count();
    if byte(source, at + hashes) != b'"' {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(hashes + 1, b'#');
    let start = at + hashes + 1;
    let length = memchr::memmem::find(source.get(start..)?, &closing);
    Some(length.map_or(source.len(), |length| start + length + closing.len()))
}

/// The end of a character, or the place behind the quote of a lifetime.
fn character_end(source: &[u8], at: usize) -> usize {
    if byte(source, at + 1) == b'\\' {
        let rest = source.get(at + 3..).unwrap_or_default();
        // Searched from behind the escaped character, which may be a quote itself (`'\''`).
        return memchr::memchr(b'\'', rest).map_or(source.len(), |length| at + 3 + length + 1);
    }
    // By the first byte of UTF-8, since a character of several bytes is no lifetime.
    let width = match byte(source, at + 1) {
        first if first < 0x80 => 1,
        first if first >= 0xf0 => 4,
        first if first >= 0xe0 => 3,
        _ => 2,
    };
    if byte(source, at + 1 + width) == b'\'' { at + width + 2 } else { at + 1 }
}

pub(super) fn skip_space(mask: &[u8], at: usize) -> usize {
    let rest = mask.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|found| found.is_ascii_whitespace()).count()
}

pub(super) fn opens_attribute(mask: &[u8], at: usize) -> bool {
    byte(mask, skip_space(mask, at + 1)) == b'['
}

/// The place behind a group of attributes, and whether one of them makes a test.
pub(super) fn attributes(mask: &[u8], at: usize) -> (usize, bool) {
    let (mut place, mut is_test) = (at, false);
    while byte(mask, place) == b'#' && opens_attribute(mask, place) {
        let open = skip_space(mask, place + 1);
        let end = behind_match(mask, open);
        is_test |= makes_a_test(&squeezed(mask, open + 1..end.saturating_sub(1)));
        place = skip_space(mask, end);
    }
    (place, is_test)
}

/// The attributes of a group, one by one.
pub(super) fn each_attribute(mask: &[u8], at: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = at;
    std::iter::from_fn(move || {
        let range = (byte(mask, at) == b'#' && opens_attribute(mask, at))
            .then(|| at..behind_match(mask, skip_space(mask, at + 1)))?;
        at = skip_space(mask, range.end);
        Some(range)
    })
}

/// `#![…]`.
pub(super) fn inner_attribute(mask: &[u8], at: usize) -> Option<Range<usize>> {
    let mark = (byte(mask, at) == b'#').then(|| skip_space(mask, at + 1))?;
    (byte(mask, mark) == b'!' && opens_attribute(mask, mark))
        .then(|| at..behind_match(mask, skip_space(mask, mark + 1)))
}

pub(super) fn squeezed(mask: &[u8], range: Range<usize>) -> String {
    let bytes = mask.get(range).unwrap_or_default();
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_whitespace()).collect()
}

fn makes_a_test(attribute: &str) -> bool {
    if let Some(condition) = attribute.strip_prefix("cfg(") {
        // `cfg(not(test))` is the product. A feature's name (`feature = "test"`) is blanked in the mask and cannot
        // match.
        let positive = condition.replace("not(test)", "");
        let words = positive.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        return words.into_iter().any(|word| matches!(word, "test" | "doctest"));
    }
    // It alters an item that is compiled with and without tests.
    if attribute.starts_with("cfg_attr(") {
        return false;
    }
    let name = attribute.split(['(', '=', '[', '{']).next().unwrap_or_default();
    let last = name.rsplit("::").next().unwrap_or(name);
    // `tokio::test`, `test_case`, `wasm_bindgen_test`, `rstest`
    last.contains("test") || TEST_ATTRIBUTES.contains(&last)
}

/// The words of an item before its body.
pub(super) fn words(mask: &[u8], at: usize, most: usize) -> Vec<String> {
    // The head of an item is near. A bound keeps a file of many attributes from being copied again for each.
    let rest = String::from_utf8_lossy(mask.get(at..(at + 400).min(mask.len())).unwrap_or_default()).into_owned();
    let parts = rest.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '{' | '<' | ':' | ';' | '=' | '!'));
    let own = parts.filter(|word| !word.is_empty() && !QUALIFIERS.contains(word));
    own.take(most).map(str::to_owned).collect()
}
