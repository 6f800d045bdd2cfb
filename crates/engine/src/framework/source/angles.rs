//! `<T>value` and `<T>(…) => …` in TypeScript: to the grammar with JSX they are elements.
//!
//! Instead of a second grammar of more than a megabyte the brackets are blanked, byte for byte, so that all places stay the same. Asked
//! only of a text that does not parse as it is. A bracket blanked wrongly makes it parse no better.

/// How long a type in angle brackets may be.
const LONGEST: usize = 300;
/// Words that a value follows.
const BEFORE_A_VALUE: [&str; 12] =
    ["return", "await", "async", "yield", "case", "default", "typeof", "void", "throw", "in", "of", "new"];

/// The text with blanks for types in angle brackets before a value. `None` where there are none.
pub(super) fn blanked(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let mut found = false;
    while let Some(open) = bytes.get(at..).and_then(|rest| memchr::memchr(b'<', rest)).map(|next| at + next) {
        let before = text.get(..open).unwrap_or_default();
        let length = if value_follows(before) { bytes.get(open..).and_then(type_length) } else { None };
        // All blanked bytes are ASCII by `type_length`, so that the text stays valid UTF-8.
        if let Some(bracket) = length.and_then(|length| bytes.get_mut(open..open + length)) {
            bracket.fill(b' ');
            found = true;
        }
        at = open + length.unwrap_or(1);
    }
    found.then(|| String::from_utf8(bytes).ok())?
}

/// Whether a value, not an operator, is what comes after this text.
fn value_follows(before: &str) -> bool {
    let before = before.trim_end();
    match before.bytes().next_back() {
        None => true,
        // Behind a name `<` compares or gives type arguments. Behind a keyword such as `return` a value comes.
        Some(last) if last.is_ascii_alphabetic() => {
            let start =
                before.rfind(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$' | '.')).map_or(0, |at| at + 1);
            before.get(start..).is_some_and(|word| BEFORE_A_VALUE.contains(&word))
        }
        Some(last) => b"(,=:?&|!~[{};+-*/%^>".contains(&last),
    }
}

/// The length of a type in angle brackets. `None` where there is none. A type holds nothing that could end a string or a comment, so that
/// no such end is ever blanked, and brackets of all kinds go with their partners.
fn type_length(text: &[u8]) -> Option<usize> {
    let mut open: Vec<u8> = Vec::new();
    let mut last = 0;
    for (at, &byte) in text.iter().enumerate().take(LONGEST) {
        // The arrow of a function's type (`<() => void>`) closes nothing.
        let is_arrow = byte == b'>' && last == b'=';
        match byte {
            b'<' => open.push(b'>'),
            b'(' => open.push(b')'),
            b'[' => open.push(b']'),
            b'{' => open.push(b'}'),
            b'>' if is_arrow => {}
            b'>' | b')' | b']' | b'}' if open.pop() != Some(byte) => return None,
            b'>' | b')' | b']' | b'}' if open.is_empty() => return (at > 1).then_some(at + 1),
            b'>' | b')' | b']' | b'}' | b' ' | b'_' | b'$' | b'.' | b',' | b'|' | b'&' | b'=' | b':' | b'?' | b'-'
            | b';' => {}
            byte if byte.is_ascii_alphanumeric() => {}
            _ => return None,
        }
        last = byte;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_before_a_value_is_blanked_and_nothing_moves() {
        for (text, brackets) in [
            ("f(<number>x)", "<number>"),
            ("const g = <T>(y: T) => y;", "<T>"),
            ("return <Map<string, A[]>>m;", "<Map<string, A[]>>"),
            ("x = <(a: B) => C>d", "<(a: B) => C>"),
            ("x = <{ a: B }>{ a }", "<{ a: B }>"),
            ("async <T,>(y: T) => y", "<T,>"),
        ] {
            assert_eq!(blanked(text), Some(text.replace(brackets, &" ".repeat(brackets.len()))));
        }
    }

    #[test]
    fn comparisons_and_what_holds_an_end_stay() {
        for text in [
            "a < b > c",
            "f<T>(x)",
            "it(1) < 2",
            "a[0] <b> c",
            "x = <'a' | 'b'>y",
            "= <a\n>b",
            "= <>a",
            "= <a)>b",
            "= <a*/>b",
        ] {
            assert_eq!(blanked(text), None, "{text}");
        }
    }
}
