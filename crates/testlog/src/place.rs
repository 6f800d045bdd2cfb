//! Finds places in source files (`src/cart.rs:12:5`) in what frameworks print.

use crate::needle::Seek as _;

/// The first `path:line` or `path:line:column` of a text, where the path has a file extension.
#[must_use]
pub fn find(text: &str) -> Option<(String, u32)> {
    places(text).next()
}

/// The last such place of a text.
pub(super) fn find_last(text: &str) -> Option<(String, u32)> {
    places(text).last()
}

/// The first place of a text that is not in a dependency or in the language's own library. Without one, the first place of all.
pub(super) fn in_repository(text: &str) -> Option<(String, u32)> {
    places(text).find(|(file, _)| is_own(file)).or_else(|| find(text))
}

/// Whether a path is not one of an installed package or of a language's own library.
#[must_use]
pub fn is_own(file: &str) -> bool {
    const FOREIGN: [&str; 14] = [
        "node_modules/",
        "node:",
        "site-packages/",
        "dist-packages/",
        "/lib/python3",
        "/rustc/",
        "/.cargo/registry/",
        "/rustlib/src/",
        "/gems/",
        "/usr/lib/",
        "/usr/include/",
        "/go/pkg/mod/",
        "vendor/",
        "internal/",
    ];
    !FOREIGN.iter().any(|part| file.contains(part)) && !file.starts_with('<')
}

/// Every `path:line` of a text.
pub fn places(text: &str) -> impl Iterator<Item = (String, u32)> + '_ {
    memchr::memchr_iter(b':', text.as_bytes()).filter_map(|colon| at_colon(text, colon))
}

fn at_colon(text: &str, colon: usize) -> Option<(String, u32)> {
    let (before, after) = text.split_at_checked(colon)?;
    let line = leading_number(after.get(1..)?)?;
    // A boundary may have several bytes.
    let start = before.rfind(is_boundary).map_or(0, |at| at + before.get(at..).map_or(1, first_char_len));
    let path = before.get(start..)?;
    // `C:\x\y.ts:3`: the drive's colon is a part of the path.
    let path = path.trim_start_matches("file://");
    is_path(path).then(|| (path.to_owned(), line))
}

fn first_char_len(text: &str) -> usize {
    text.chars().next().map_or(1, char::len_utf8)
}

fn is_boundary(character: char) -> bool {
    character.is_whitespace()
        || matches!(character, '(' | ')' | '"' | '\'' | '`' | '[' | ']' | '<' | '>' | '|' | ',' | '=' | '❯')
}

/// Whether a word looks like a path to a source file: a name and an extension of one to ten letters.
pub(super) fn is_path(path: &str) -> bool {
    const LONGEST_EXTENSION: usize = 10;
    let bytes = path.as_bytes();
    let Some(dot) = memchr::memrchr(b'.', bytes) else { return false };
    let Some((stem, extension)) = path.split_at_checked(dot).and_then(|(stem, rest)| Some((stem, rest.get(1..)?)))
    else {
        return false;
    };
    !stem.is_empty()
        && !stem.ends_with(['/', '\\'])
        && !extension.is_empty()
        && extension.len() <= LONGEST_EXTENSION
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
        && (memchr::memchr(b':', bytes).is_none() || !path.holds("://"))
}

/// The number at the start of a text.
pub(super) fn leading_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits).filter(|digits| !digits.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_what_frameworks_print() {
        let cases = [
            ("thread 'x' panicked at money/src/lib.rs:57:9:", ("money/src/lib.rs", 57)),
            ("tests/test_cart.py:20: AssertionError", ("tests/test_cart.py", 20)),
            ("    at Object.<anonymous> (test/cart.test.js:12:3)", ("test/cart.test.js", 12)),
            ("at file:///srv/app/x.mjs:3:1", ("/srv/app/x.mjs", 3)),
            ("    cart_test.go:14: want 3", ("cart_test.go", 14)),
            (" ❯ src/a.test.ts:9:2", ("src/a.test.ts", 9)),
        ];
        for (text, (file, line)) in cases {
            assert_eq!(find(text), Some((file.to_owned(), line)), "{text}");
        }
        for text in ["at 12:34:56", "http://localhost:8080", "took 1.5:3", "a:b"] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
