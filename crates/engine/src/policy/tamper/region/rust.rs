//! Rust: items behind `#[cfg(test)]`, `#[test]` and their kin, and the examples in documentation.
//!
//! No parser: strings, comments and characters are blanked out, then brackets are counted.

mod documentation;
mod enclosing;
mod lexing;

use std::ops::Range;

use self::enclosing::Enclosing;
pub(super) use self::enclosing::{Declared, declared};
use self::lexing::{attributes, code_alone, each_attribute, inner_attribute, opens_attribute, squeezed, words};
use super::mask::{behind_match, byte};
use super::span::Region;

/// Items that end at a semicolon even if braces stand in them.
const STATEMENTS: [&str; 5] = ["use", "static", "type", "let", "extern"];
/// The test regions of a Rust file, in order, none inside another.
pub(super) fn regions(text: &str) -> Vec<Region> {
    let mask = code_alone(text);
    let mut found = Vec::new();
    if has_inner_cfg_test(&mask) {
        // The file is judged as one: parts of it have no life of their own.
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
                // `#[doc = include_str!("../README.md")]` on an item that is no test.
                found.extend(each_attribute(&mask, start).filter_map(|range| from_file(&mask, range, &enclosing)));
            }
            if is_test {
                let end = item_end(&mask, behind);
                let key = key(&mask, behind, end);
                let (around, is_top) = (enclosing.said(), enclosing.is_top());
                found.push(Region { range: start..end, key, around, is_top, may_grow: false, binds: false });
                // The brackets of a test are passed over as a whole, so they are never open in what encloses later
                // ones.
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

/// `#![cfg(test)]`: the file is one of the tests.
fn has_inner_cfg_test(mask: &[u8]) -> bool {
    let head = squeezed(mask, 0..mask.len());
    let mut depth = 0_usize;
    for (at, c) in head.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            // Deeper it is about a module inside of the file.
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

/// An attribute that takes documentation from a file, whose examples are run.
fn from_file(mask: &[u8], range: Range<usize>, enclosing: &Enclosing<'_>) -> Option<Region> {
    memchr::memmem::find(mask.get(range.clone())?, b"include_str!")?;
    let (key, around) = ("documentation from a file".to_owned(), enclosing.said());
    Some(Region { range, key, around, is_top: false, may_grow: true, binds: false })
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
            // `use a::{b, c};` and `static T: [u8; 1] = { … };` go on behind their braces.
            b'{' if is_statement => place = behind_match(mask, place),
            b'{' => {
                let end = behind_match(mask, place);
                // `macro! { … };` and a struct's braces in an expression.
                return end;
            }
            b';' => return place + 1,
            // A field, a variant or an argument behind `#[cfg(test)]`.
            b',' if !is_item => return place + 1,
            // The bracket that encloses it: the last field or expression has no mark of its own end.
            b'}' => return place,
            _ => place += 1,
        }
    }
    mask.len()
}
