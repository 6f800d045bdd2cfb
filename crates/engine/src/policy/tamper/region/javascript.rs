//! JavaScript and TypeScript: vitest's tests inside sources, `if (import.meta.vitest) { … }`.

use super::mask::{behind_match, blank, byte};
use super::span::Region;

/// A condition that holds only while vitest runs a source for its tests.
pub(super) const VITEST: &str = "import.meta.vitest";
/// Bytes behind which a slash begins a regular expression.
const BEFORE_REGEX: &[u8] = b"(,=:[!&|?{};\n+-*%<>~^";
/// Words behind which a value begins, so that a slash there opens a regular expression.
const BEFORE_VALUE: [&[u8]; 14] = [
    b"return",
    b"typeof",
    b"case",
    b"in",
    b"of",
    b"delete",
    b"void",
    b"throw",
    b"new",
    b"do",
    b"else",
    b"await",
    b"yield",
    b"instanceof",
];

/// The in-source tests of a file, in order.
pub(super) fn regions(text: &str) -> Vec<Region> {
    // Nearly every file ends here, before the work of masking it.
    if !text.contains(VITEST) {
        return Vec::new();
    }
    let mask = mask(text);
    let mut found: Vec<Region> = Vec::new();
    for at in memchr::memmem::find_iter(&mask, VITEST) {
        let head = mask.get(..at).unwrap_or_default();
        let Some(start) = head.windows(2).rposition(|two| two == b"if") else { continue };
        let between = mask.get(start + 2..at).unwrap_or_default();
        // `if (import.meta.vitest)` counts, `if (debug && import.meta.vitest)` does not.
        let is_condition = between.iter().all(|found| found.is_ascii_whitespace() || *found == b'(');
        if !is_condition || found.iter().any(|region| region.range.contains(&start)) {
            continue;
        }
        let Some(open) = memchr::memchr(b'{', mask.get(at..).unwrap_or_default()) else { continue };
        let end = behind_match(&mask, at + open);
        let opened = |bracket: u8| head.iter().filter(|found| **found == bracket).count();
        // A block that was moved into a function nobody calls has the same text at another depth.
        let depth = opened(b'{').saturating_sub(opened(b'}'));
        found.push(Region {
            around: format!("{depth} braces"),
            range: start..end,
            key: "if (import.meta.vitest)".to_owned(),
            is_top: true,
            may_grow: false,
            binds: false,
        });
    }
    found
}

/// Code alone: strings, templates, regular expressions and comments are blanked.
fn mask(text: &str) -> Vec<u8> {
    let source = text.as_bytes();
    let mut mask = source.to_vec();
    let mut at = 0;
    let mut last = b'\n';
    // The end of the code before, by which a keyword is told from a name.
    let mut name_end = 0;
    while at < source.len() {
        let found = byte(source, at);
        let is_comment = found == b'/' && matches!(byte(source, at + 1), b'/' | b'*');
        let end = match (found, byte(source, at + 1)) {
            (b'/', b'/') => {
                memchr::memchr(b'\n', source.get(at..).unwrap_or_default()).map_or(source.len(), |length| at + length)
            }
            (b'/', b'*') => memchr::memmem::find(source.get(at + 2..).unwrap_or_default(), b"*/")
                .map_or(source.len(), |length| at + 2 + length + 2),
            (b'"' | b'\'' | b'`', _) => quoted_end(source, at + 1, found),
            // Behind a name or a closing bracket a slash divides. A division taken for a regular expression would
            // blank the code behind it.
            (b'/', _) if BEFORE_REGEX.contains(&last) || ends_with_keyword(source, name_end) => {
                quoted_end(source, at + 1, b'/')
            }
            _ => {
                if !found.is_ascii_whitespace() {
                    last = found;
                    name_end = at + 1;
                }
                at += 1;
                continue;
            }
        };
        blank(&mut mask, at..end);
        at = end.max(at + 1);
        // A slash behind a string divides, so that it counts as the end of a name. A comment is nothing.
        if !is_comment {
            last = b'a';
            name_end = 0;
        }
    }
    mask
}

/// Whether the code up to a place ends with a word behind which a value begins.
fn ends_with_keyword(source: &[u8], end: usize) -> bool {
    let code = source.get(..end).unwrap_or_default();
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
    let length = code.iter().rev().take_while(|byte| is_of_name(byte)).count();
    // `a.return` is a name: the dot belongs to it.
    code.get(end - length.min(end)..).is_some_and(|word| BEFORE_VALUE.contains(&word))
}

fn quoted_end(source: &[u8], at: usize, quote: u8) -> usize {
    let mut place = at;
    while place < source.len() {
        match byte(source, place) {
            b'\\' => place += 2,
            // A quote that is open at the line's end was none (an apostrophe in JSX). Templates go on.
            b'\n' if quote != b'`' => return place,
            found if found == quote => return place + 1,
            _ => place += 1,
        }
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_behind_a_word_that_asks_for_a_value_opens_a_regular_expression() {
        let masked = |text: &str| String::from_utf8(mask(text)).unwrap();
        assert!(masked("function f() { return /`/.test(x) }\nif (a) {}\n").ends_with("if (a) {}\n"));
        assert!(masked("f( // first\n/`/)\nlast()\n").ends_with("last()\n"));
        assert!(masked("a.return / 2; b / `x`\n").contains("a.return / 2; b /"));
        assert!(masked("x = (a) / 2; y = 'b' / 2\nlast()\n").contains("(a) / 2; y ="));
    }
}
