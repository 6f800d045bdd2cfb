//! Calls of functions by their names, found in the text: grammars do not look into macros.

use std::ops::Range;

use super::super::Language;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::framework::source) struct Call {
    /// The function's own name.
    pub(in crate::framework::source) function: String,
    /// The whole call, without a wait before it.
    pub(in crate::framework::source) range: Range<usize>,
    /// The arguments, without the blanks around them.
    pub(in crate::framework::source) arguments: Vec<Range<usize>>,
    /// Whether it is waited for.
    pub(in crate::framework::source) is_awaited: bool,
}

/// Words before a name under which it is no plain call.
const NO_CALL: [&str; 5] = ["def", "fn", "function", "new", "class"];

/// The calls of such functions inside a range, in its order.
pub(in crate::framework::source) fn calls(
    text: &str,
    body: &Range<usize>,
    language: Language,
    is_meant: &dyn Fn(&str) -> bool,
) -> Vec<Call> {
    let inside = text.get(body.clone()).unwrap_or_default();
    let opened = inside.match_indices('(').map(|(at, _)| body.start + at);
    opened.filter_map(|open| call(text, body, open, language, is_meant)).collect()
}

fn call(
    text: &str,
    body: &Range<usize>,
    open: usize,
    language: Language,
    is_meant: &dyn Fn(&str) -> bool,
) -> Option<Call> {
    let before = text.get(body.start..open)?;
    let path = if is_scanned(language) { chain(before)? } else { path(before)? };
    let function = path.rsplit(|c: char| !is_name(c, language)).next().filter(|name| is_meant(name))?;
    let start = open - path.len();
    let ahead = text.get(body.start..start)?.trim_end();
    let last = ahead.rsplit(|c: char| !is_word(c)).next().unwrap_or_default();
    if NO_CALL.contains(&last) {
        return None;
    }
    let (arguments, end) = arguments(text, open, body.end, language)?;
    let after = text.get(end..)?;
    let is_awaited = last == "await" || after.starts_with(".await");
    Some(Call { function: function.to_owned(), range: start..end, arguments, is_awaited })
}

/// Whether a language's calls are written with chains in front of them, of objects that a test makes on the spot.
const fn is_scanned(language: Language) -> bool {
    match language {
        Language::Php | Language::Ruby => true,
        Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Java | Language::Cpp => {
            false
        }
    }
}

/// Whether a character belongs to a function's own name.
fn is_name(c: char, language: Language) -> bool {
    is_word(c) || language == Language::Ruby && matches!(c, '?' | '!')
}

/// `cart.total(` and `shop::total(`, from the bracket back to the first sign that is none of a path.
fn path(before: &str) -> Option<&str> {
    let path = before.rsplit(|c| !(is_word(c) || c == '.' || c == ':')).next()?;
    // The beginning of a chain stands before it.
    (!path.starts_with(['.', ':'])).then_some(path)
}

/// `$cart->total(`, `(new Cart(3))->total(` and `Cart.new(3).total(`, from the bracket back over the chain.
fn chain(before: &str) -> Option<&str> {
    let is_part = |c: char| is_word(c) || matches!(c, '.' | ':' | '$' | '@' | '\\' | '?' | '!');
    let mut left = before;
    loop {
        left = left.trim_end_matches(is_part);
        if let Some(object) = left.strip_suffix("->") {
            left = object;
        }
        // A chain goes on in front of a link alone: `f (` is none.
        let links = before.get(left.len()..)?.starts_with(['.', ':', '-']);
        match left.chars().next_back() {
            Some(')') if links => left = opened(left)?,
            _ if links && left.ends_with(is_part) => {}
            // `expect(` and `!` stand in front of a call, and are none of it.
            _ => {
                let path = before.get(left.len()..)?.trim_start_matches(['!', '?']);
                // The beginning of the chain is something else: `list[0].f(`, `'a'.f(`.
                return (!path.starts_with(['.', '-', '&', ':'])).then_some(path);
            }
        }
    }
}

/// The text in front of the bracket that its last one closes. A bracket in a text within leads to no call.
fn opened(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return text.get(..at);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The arguments behind an open bracket, and the end of the call.
fn arguments(text: &str, open: usize, end: usize, language: Language) -> Option<(Vec<Range<usize>>, usize)> {
    let mut found = Vec::new();
    let (mut depth, mut from, mut quote) = (0_usize, open + 1, None);
    let mut escaped = false;
    for (at, c) in text.get(open..end)?.char_indices().map(|(at, c)| (open + at, c)) {
        if let Some(own) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == own => quote = None,
                _ => {}
            }
            continue;
        }
        match c {
            '"' => quote = Some(c),
            // A single quote in Rust may begin a lifetime, which no other one ends.
            '\'' | '`' if language != Language::Rust => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    found.extend(trimmed(text, from..at));
                    return Some((found, at + c.len_utf8()));
                }
            }
            ',' if depth == 1 => {
                found.extend(trimmed(text, from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let inside = text.get(range.clone())?;
    let start = range.start + (inside.len() - inside.trim_start().len());
    let length = inside.trim().len();
    (length > 0).then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(language: Language, text: &str) -> Vec<String> {
        let found = calls(text, &(0..text.len()), language, &|name| name == "login" || name == "valid?");
        found.into_iter().filter_map(|call| text.get(call.range).map(str::to_owned)).collect()
    }

    #[test]
    fn chains_belong_to_their_calls() {
        let ruby = "expect(Account.new('ada', f(1)).login('ada', 'x ')).to be(true)\nassert !@user.valid?('a')\nlogin('b').size\n";
        let found = ["Account.new('ada', f(1)).login('ada', 'x ')", "@user.valid?('a')", "login('b')"];
        assert_eq!(called(Language::Ruby, ruby), found);
        let php = "$this->assertTrue($login->login('ada', 'x'));\n$this->assertFalse((new Login([]))->login('b'));\nA\\B::login('c');\n";
        let found = ["$login->login('ada', 'x')", "(new Login([]))->login('b')", "A\\B::login('c')"];
        assert_eq!(called(Language::Php, php), found);
        assert_eq!(called(Language::Python, "make().login('a')\na.login('b')\n"), ["a.login('b')"]);
    }
}
