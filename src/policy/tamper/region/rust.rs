//! Rust: items behind `#[cfg(test)]`, `#[test]` and their kin, and the examples in documentation.
//!
//! No parser: strings, comments and characters are blanked out, then brackets are counted.

mod documentation;
mod enclosing;

use std::ops::Range;

use self::enclosing::Enclosing;
pub(super) use self::enclosing::{Declared, declared};
use super::{Region, behind_match, blank, byte};

/// Attributes of test items whose names do not hold `test`.
const TEST_ATTRIBUTES: [&str; 6] = ["bench", "rstest", "quickcheck", "proptest", "case", "should_panic"];
/// Items that end at a semicolon even if braces stand in them.
const STATEMENTS: [&str; 5] = ["use", "static", "type", "let", "extern"];
/// Words before an item's own.
const QUALIFIERS: [&str; 6] = ["pub", "unsafe", "async", "default", "crate", "auto"];

/// The test regions of a Rust file, in order, none inside another.
pub(super) fn regions(text: &str) -> Vec<Region> {
    let mask = mask(text);
    let mut found = Vec::new();
    if has_inner_cfg_test(&mask) {
        let (range, key) = (0..text.len(), "the whole file".to_owned());
        return vec![Region { range, key, around: String::new(), is_top: true, may_grow: false, binds: false }];
    }
    let mut at = 0;
    let mut enclosing = Enclosing::new(text, &mask);
    while at < mask.len() {
        if let Some(range) = inner_attribute(&mask, at) {
            at = range.end;
            enclosing.passed(at);
            found.extend(from_file(&mask, range, &enclosing));
            continue;
        }
        if byte(&mask, at) == b'#' && opens_attribute(&mask, at) {
            let (start, (behind, is_test)) = (at, attributes(&mask, at));
            at = behind;
            if !is_test {
                found.extend(each_attribute(&mask, start).filter_map(|range| from_file(&mask, range, &enclosing)));
            }
            if is_test {
                let end = item_end(&mask, behind);
                let key = key(&mask, behind, end);
                let (around, is_top) = (enclosing.said(), enclosing.is_top());
                found.push(Region { range: start..end, key, around, is_top, may_grow: false, binds: false });
                enclosing.passed(end);
                at = end;
            }
            continue;
        }
        enclosing.take(at);
        at += 1;
    }
    let inside = |start: usize, found: &[Region]| found.iter().any(|region| region.range.contains(&start));
    let examples: Vec<Region> =
        documentation::examples(text).into_iter().filter(|example| !inside(example.range.start, &found)).collect();
    found.extend(examples);
    found.sort_by_key(|region| region.range.start);
    found
}

/// Code alone: strings, characters and comments are blanked.
pub(super) fn mask(text: &str) -> Vec<u8> {
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
        b'b' | b'c' => is_name(before(2)),
        other => is_name(other),
    }
}

fn line_end(source: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', source.get(at..).unwrap_or_default()).map_or(source.len(), |length| at + length)
}

fn comment_end(source: &[u8], at: usize) -> usize {
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

/// The end of `#*"…"#*`; `None` for a raw identifier.
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
        return memchr::memchr(b'\'', rest).map_or(source.len(), |length| at + 3 + length + 1);
    }
    let width = match byte(source, at + 1) {
        first if first < 0x80 => 1,
        first if first >= 0xf0 => 4,
        first if first >= 0xe0 => 3,
        _ => 2,
    };
    if byte(source, at + 1 + width) == b'\'' { at + width + 2 } else { at + 1 }
}

fn skip_space(mask: &[u8], at: usize) -> usize {
    let rest = mask.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|found| found.is_ascii_whitespace()).count()
}

fn opens_attribute(mask: &[u8], at: usize) -> bool {
    byte(mask, skip_space(mask, at + 1)) == b'['
}

/// `#![cfg(test)]`: the file is one of the tests.
fn has_inner_cfg_test(mask: &[u8]) -> bool {
    let head = squeezed(mask, 0..mask.len());
    let mut depth = 0_usize;
    for (at, c) in head.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '#' if depth == 0 => {
                let rest = head.get(at..).unwrap_or_default();
                if rest.starts_with("#![cfg(test)]") || rest.starts_with("#![cfg(all(test") {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// The place behind a group of attributes, and whether one of them makes a test.
fn attributes(mask: &[u8], at: usize) -> (usize, bool) {
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
fn each_attribute(mask: &[u8], at: usize) -> impl Iterator<Item = Range<usize>> {
    let mut at = at;
    std::iter::from_fn(move || {
        let range = (byte(mask, at) == b'#' && opens_attribute(mask, at))
            .then(|| at..behind_match(mask, skip_space(mask, at + 1)))?;
        at = skip_space(mask, range.end);
        Some(range)
    })
}

/// `#![…]`.
fn inner_attribute(mask: &[u8], at: usize) -> Option<Range<usize>> {
    let mark = (byte(mask, at) == b'#').then(|| skip_space(mask, at + 1))?;
    (byte(mask, mark) == b'!' && opens_attribute(mask, mark))
        .then(|| at..behind_match(mask, skip_space(mask, mark + 1)))
}

/// An attribute that takes documentation from a file, whose examples are run.
fn from_file(mask: &[u8], range: Range<usize>, enclosing: &Enclosing<'_>) -> Option<Region> {
    memchr::memmem::find(mask.get(range.clone())?, b"include_str!")?;
    let (key, around) = ("documentation from a file".to_owned(), enclosing.said());
    Some(Region { range, key, around, is_top: false, may_grow: true, binds: false })
}

fn squeezed(mask: &[u8], range: Range<usize>) -> String {
    let bytes = mask.get(range).unwrap_or_default();
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_whitespace()).collect()
}

fn makes_a_test(attribute: &str) -> bool {
    if let Some(condition) = attribute.strip_prefix("cfg(") {
        let positive = condition.replace("not(test)", "");
        let words = positive.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        return words.into_iter().any(|word| matches!(word, "test" | "doctest"));
    }
    if attribute.starts_with("cfg_attr(") {
        return false;
    }
    let name = attribute.split(['(', '=', '[', '{']).next().unwrap_or_default();
    let last = name.rsplit("::").next().unwrap_or(name);
    last.contains("test") || TEST_ATTRIBUTES.contains(&last)
}

/// The words of an item before its body.
fn words(mask: &[u8], at: usize, most: usize) -> Vec<String> {
    let rest = String::from_utf8_lossy(mask.get(at..(at + 400).min(mask.len())).unwrap_or_default()).into_owned();
    let parts = rest.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '{' | '<' | ':' | ';' | '=' | '!'));
    let own = parts.filter(|word| !word.is_empty() && !QUALIFIERS.contains(word));
    own.take(most).map(str::to_owned).collect()
}

fn key(mask: &[u8], at: usize, end: usize) -> String {
    let head = mask.get(..end).unwrap_or(mask);
    words(head, at, 2).join(" ")
}

/// Where an item ends: behind its semicolon or its body.
fn item_end(mask: &[u8], at: usize) -> usize {
    let first = words(mask, at, 2);
    let word = first.first().map_or("", String::as_str);
    let is_const = word == "const"
        && first.get(1).is_none_or(|next| !matches!(next.as_str(), "fn" | "unsafe" | "async" | "extern"));
    let is_statement =
        STATEMENTS.contains(&word) && !(word == "extern" && first.get(1).is_some_and(|next| next == "fn")) || is_const;
    let is_item = is_statement
        || matches!(
            word,
            "fn" | "mod" | "struct" | "enum" | "impl" | "trait" | "union" | "macro_rules" | "const" | "extern"
        );
    let mut place = at;
    while place < mask.len() {
        match byte(mask, place) {
            b'(' | b'[' => place = behind_match(mask, place),
            b'{' if is_statement => place = behind_match(mask, place),
            b'{' => {
                let end = behind_match(mask, place);
                // `macro! { … };` and a struct's braces in an expression.
                return end;
            }
            b';' => return place + 1,
            b',' if !is_item => return place + 1,
            b'}' => return place,
            _ => place += 1,
        }
    }
    mask.len()
}
