//! Code without what may be written in many ways: white space, comments, joints between literals, other spellings of a name.
//!
//! Invariant: nothing that runs is left out. A line is a comment only if nothing on it could end a string, a block comment or a
//! here-document that began before it.

/// Languages in which `#` begins a comment.
const HASH_COMMENTS: [&str; 8] = ["py", "rb", "sh", "bash", "mk", "yml", "yaml", "toml"];
/// The joints at which a literal can be split without changing it.
const JOINTS: [&str; 6] = ["\"+\"", "'+'", "\"\"", "''", "\"'+'", "`+`"];
/// What ends a string or a comment of any language, and what is run inside of some strings.
const ENDS: [char; 5] = ['"', '\'', '`', '$', '\\'];
/// Python reads these letters as the ASCII ones; so many each, capitals first.
const MATHEMATICAL: std::ops::RangeInclusive<u32> = 0x1_D400..=0x1_D6A3;
const FULL_WIDTH: std::ops::RangeInclusive<u32> = 0xFF01..=0xFF5E;

/// A text without comments, white space and joints of literals.
pub(super) fn squeeze(path: &str, text: &str) -> String {
    let mut squeezed: String = code_lines(path, text).flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
    for joint in JOINTS {
        if squeezed.contains(joint) {
            squeezed = squeezed.replace(joint, "");
        }
    }
    squeezed
}

/// The same followed by its plainest spelling, in one text: a pattern is found in either.
pub(super) fn spellings(path: &str, text: &str) -> String {
    let squeezed = squeeze(path, text);
    let plain: String = without_block_comments(&squeezed).chars().map(plain).collect();
    let plain = without_brackets_around_names(&decode_escapes(&plain).replace("r#", ""));
    format!("{squeezed}\n{plain}")
}

/// A text without comments, with one space for each run of white space, where words are to be told from parts of words.
pub(super) fn spaced(path: &str, text: &str) -> String {
    let words: Vec<&str> = code_lines(path, text).flat_map(str::split_whitespace).collect();
    words.join(" ")
}

fn code_lines<'t>(path: &str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned();
    let mut continued = false;
    text.lines().filter(move |line| {
        let is_comment = !continued && is_comment(&extension, line.trim_start());
        continued = line.ends_with('\\');
        !is_comment
    })
}

/// Whether a line is a comment whatever stood before it.
fn is_comment(extension: &str, line: &str) -> bool {
    let hash = HASH_COMMENTS.contains(&extension);
    let begins = if hash { line.starts_with('#') } else { line.starts_with("//") };
    // Ruby's literals end with whatever bracket they like.
    let brackets = extension == "rb" && line.contains(['(', ')', '[', ']', '{', '}', '<', '>', '|', '!', '/']);
    begins && !line.contains(ENDS) && !line.contains("*/") && !brackets
}

/// The ASCII letter that a language takes this one for.
fn plain(letter: char) -> char {
    let code = u32::from(letter);
    let ascii = if FULL_WIDTH.contains(&code) {
        char::from_u32(code - FULL_WIDTH.start() + 0x21)
    } else if MATHEMATICAL.contains(&code) {
        let place = (code - MATHEMATICAL.start()) % 52;
        char::from_u32(if place < 26 { 0x41 + place } else { 0x61 + place - 26 })
    } else {
        None
    };
    ascii.unwrap_or(letter)
}

fn without_block_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        let Some((_, after)) = after.split_once("*/") else {
            rest = "";
            break;
        };
        rest = after;
    }
    out.push_str(rest);
    out
}

/// `\u0045`, `\u{45}` and `\x45` as what they stand for.
fn decode_escapes(text: &str) -> String {
    if !text.contains("\\u") && !text.contains("\\x") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let (digits, length) = match after.strip_prefix('u') {
            Some(braced) if braced.starts_with('{') => {
                let digits = braced.split(['{', '}']).nth(1).unwrap_or_default();
                (digits, digits.len() + 3)
            }
            Some(four) => (four.get(..4).unwrap_or_default(), 5),
            None => (after.strip_prefix('x').and_then(|two| two.get(..2)).unwrap_or_default(), 3),
        };
        match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).filter(char::is_ascii_graphic) {
            Some(letter) => {
                out.push(letter);
                rest = after.get(length..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Words behind which a bracket is no call's.
const KEYWORDS: [&str; 8] = ["in", "and", "or", "not", "return", "if", "else", "await"];

/// `(sys).modules` as `sys.modules`.
fn without_brackets_around_names(text: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('(') {
        out.push_str(before);
        let (name, tail) = after.split_once(')').unwrap_or(("", after));
        let behind_word =
            KEYWORDS.iter().any(|word| out.strip_suffix(word).is_some_and(|before| !before.ends_with(is_name)));
        let called = !behind_word && out.ends_with(|c: char| is_name(c) || c == ')' || c == ']');
        if !called && !name.is_empty() && name.chars().all(is_name) && tail.starts_with(['.', '[']) {
            out.push_str(name);
            rest = tail;
        } else {
            out.push('(');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The first of the patterns that stands more often in the text after than before.
pub(super) fn first_added<'p>(before: &str, after: &str, patterns: &[&'p str]) -> Option<&'p str> {
    patterns.iter().copied().find(|pattern| after.matches(pattern).count() > before.matches(pattern).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_could_end_something_is_no_comment() {
        for (path, text) in [
            ("a.js", "/*\n// */ assert.strictEqual = () => {};"),
            ("a.js", "const x = `\n// `; assert.strictEqual = 1;"),
            ("a.rs", "/* /* */\n// */ assert.strictEqual = 1"),
            ("a.py", "'''\n# '''; assert.strictEqual = 1"),
            ("a.py", "(8\n// int(assert.strictEqual = 1))"),
            ("a.sh", "cat <<E\n# $(assert.strictEqual = 1)\nE"),
            ("a.sh", "x=1\\\n#assert.strictEqual = 1"),
            ("a.rb", "x = %q(\n# ); assert.strictEqual = 1"),
        ] {
            assert!(squeeze(path, text).contains("assert.strictEqual="), "{path}: {text}");
        }
        for (path, text) in [("a.js", "  // assert.strictEqual = 1;"), ("a.py", "# assert.strictEqual = (1)")] {
            assert_eq!(squeeze(path, text), "", "{path}");
        }
    }

    #[test]
    fn other_spellings_are_seen_through() {
        for (path, text, plain) in [
            ("a.rs", "cfg!(/* */ test)", "cfg!(test)"),
            ("a.js", "a./* x */strictEqual = 1", "a.strictEqual=1"),
            ("a.js", "a.strict\\u0045qual = 1", "a.strictEqual=1"),
            ("a.js", "a.strict\\u{45}qual = 1", "a.strictEqual=1"),
            ("a.py", "sys.\u{ff4d}odules", "sys.modules"),
            ("a.py", "sys.\u{1d426}odules", "sys.modules"),
            ("a.py", "x = (sys).modules", "sys.modules"),
            ("a.py", "x = 'a' in (sys).modules", "sys.modules"),
            ("a.rs", "macro_rules! r#assert_eq", "macro_rules!assert_eq"),
        ] {
            assert!(spellings(path, text).contains(plain), "{text}: {}", spellings(path, text));
        }
        assert_eq!(spellings("a.py", "f(x).y"), "f(x).y\nf(x).y", "a call stays");
    }
}
