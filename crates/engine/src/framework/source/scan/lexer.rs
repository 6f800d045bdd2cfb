//! The words, values and brackets of a text, without its comments.
//!
//! Invariant: brackets are paired, or there are no tokens at all. The depth to which a hostile file nests bounds no recursion here.

use std::ops::Range;

use super::super::Language;

/// Prefixes of C++'s raw texts.
const RAW: [&str; 5] = ["R", "u8R", "uR", "UR", "LR"];

/// A kind of token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    /// A name or a keyword. PHP's variables have their `$`.
    Word,
    /// A number with its suffix.
    Number,
    /// A text with its quotes.
    Text,
    /// A character with its quotes.
    Char,
    /// One sign.
    Mark,
    /// An opening bracket.
    Open,
    /// A closing bracket.
    Close,
}

/// A token.
#[derive(Debug, Clone)]
pub(in super::super) struct Token {
    /// The kind.
    pub(in super::super) kind: Kind,
    /// Its place, in bytes.
    pub(in super::super) range: Range<usize>,
    /// The one-based line on which it begins.
    pub(in super::super) line: u32,
    /// The number of the bracket that goes with this one.
    pub(in super::super) partner: usize,
}

/// The tokens of a text. `None` where a bracket or a text is not closed.
pub(in super::super) fn tokens(language: Language, text: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer { language, text, at: 0, line: 1, tokens: Vec::new(), open: Vec::new() };
    lexer.run()?;
    lexer.open.is_empty().then_some(lexer.tokens)
}

struct Lexer<'t> {
    language: Language,
    text: &'t str,
    at: usize,
    line: u32,
    tokens: Vec<Token>,
    /// The numbers of the brackets that are open.
    open: Vec<usize>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Option<()> {
        if self.language == Language::Php {
            self.skip_to_php();
        }
        while let Some(c) = self.rest().chars().next() {
            if c.is_whitespace() {
                self.advance(c.len_utf8());
            } else if !self.skipped(c)? {
                self.token(c)?;
            }
        }
        Some(())
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn advance(&mut self, bytes: usize) {
        let end = self.text.len().min(self.at + bytes);
        let lines = self.text.as_bytes().get(self.at..end).map_or(0, |part| memchr::memchr_iter(b'\n', part).count());
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.at = end;
    }

    /// Goes behind the next place of a text. To the end where there is none.
    fn advance_behind(&mut self, what: &str) {
        let bytes = self.rest().find(what).map_or(self.rest().len(), |at| at + what.len());
        self.advance(bytes);
    }

    /// PHP begins behind `<?php`, and what is around it is printed.
    fn skip_to_php(&mut self) {
        self.advance_behind("<?");
        if self.rest().starts_with("php") {
            self.advance(3);
        }
    }

    /// Skips a comment, a directive, or other text that is no code. `None` where it does not end.
    fn skipped(&mut self, c: char) -> Option<bool> {
        use Language::{Cpp, Php, Ruby};
        let rest = self.rest();
        if self.language != Ruby && rest.starts_with("/*") {
            let end = rest.get(2..)?.find("*/")? + 4;
            self.advance(end);
        } else if self.language != Ruby && rest.starts_with("//") {
            self.end_of_line();
        } else if self.language == Php && rest.starts_with("?>") {
            self.skip_to_php();
        } else if c == '#' && self.language == Cpp && self.is_first_on_line() {
            self.directive();
        } else if c == '#' && (self.language == Ruby || self.language == Php && !rest.starts_with("#[")) {
            self.end_of_line();
        } else {
            return Some(false);
        }
        Some(true)
    }

    fn end_of_line(&mut self) {
        let bytes = self.rest().find('\n').unwrap_or(self.rest().len());
        self.advance(bytes);
    }

    fn is_first_on_line(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars().all(char::is_whitespace)
    }

    /// A directive with the lines that continue it. Of several branches the first is read: their brackets need not be paired together.
    fn directive(&mut self) {
        // The first branch was read as code. The others are passed over to their `#endif`.
        if !matches!(self.directive_name(), "else" | "elif" | "elifdef" | "elifndef") {
            return self.directive_line();
        }
        let mut depth = 0_u32;
        while !self.rest().is_empty() {
            let name = if self.rest().trim_start().starts_with('#') { self.directive_name() } else { "" };
            match name {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth == 0 => return self.directive_line(),
                "endif" => depth -= 1,
                _ => {}
            }
            self.directive_line();
            self.advance(1);
        }
    }

    fn directive_name(&self) -> &str {
        let line = self.rest().trim_start().strip_prefix('#').unwrap_or_default().trim_start();
        line.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
    }

    fn directive_line(&mut self) {
        loop {
            self.end_of_line();
            let before = self.text.get(..self.at).unwrap_or_default();
            if self.rest().is_empty() || !before.trim_end_matches('\r').ends_with('\\') {
                return;
            }
            self.advance(1);
        }
    }

    fn token(&mut self, c: char) -> Option<()> {
        let (kind, bytes) = match c {
            '(' | '[' | '{' => (Kind::Open, 1),
            ')' | ']' | '}' => (Kind::Close, 1),
            '"' | '\'' | '`' => (self.quoted_kind(c), self.quoted(c)?),
            '<' if self.language == Language::Php && self.rest().starts_with("<<<") => match self.heredoc() {
                Some(bytes) => (Kind::Text, bytes),
                None => (Kind::Mark, 1),
            },
            _ if c.is_ascii_digit() => (Kind::Number, self.number()),
            _ if is_word(c) => self.word()?,
            _ => (Kind::Mark, c.len_utf8()),
        };
        let own = self.tokens.len();
        let mut partner = own;
        match kind {
            Kind::Open => self.open.push(own),
            Kind::Close => {
                // A closing bracket too many: the text is not understood as a whole.
                partner = self.open.pop()?;
                let opening = self.tokens.get_mut(partner)?;
                let pair = (self.text.as_bytes().get(opening.range.start).copied()?, c);
                matches!(pair, (b'(', ')') | (b'[', ']') | (b'{', '}')).then_some(())?;
                opening.partner = own;
            }
            Kind::Word | Kind::Number | Kind::Text | Kind::Char | Kind::Mark => {}
        }
        self.tokens.push(Token { kind, range: self.at..self.at + bytes, line: self.line, partner });
        self.advance(bytes);
        Some(())
    }

    fn quoted_kind(&self, quote: char) -> Kind {
        let has_chars = matches!(self.language, Language::Java | Language::Cpp);
        if quote == '\'' && has_chars { Kind::Char } else { Kind::Text }
    }

    /// How long a quoted value is.
    fn quoted(&self, quote: char) -> Option<usize> {
        let rest = self.rest();
        if self.language == Language::Java && rest.starts_with("\"\"\"") {
            return Some(rest.get(3..)?.find("\"\"\"")? + 6);
        }
        // Single quotes fill nothing in.
        let fills_in = quote != '\'';
        let bytes = rest.as_bytes();
        let mut at = 1;
        loop {
            let byte = *bytes.get(at)?;
            let next = bytes.get(at + 1).copied();
            match byte {
                b'\\' => at += 2,
                // A text in these languages ends on its line. PHP's and Ruby's may go over several.
                b'\n' if self.language == Language::Java || self.language == Language::Cpp => return None,
                b'{' if fills_in && self.language == Language::Php && next == Some(b'$') => at += closed(bytes, at)?,
                b'#' if fills_in && self.language == Language::Ruby && next == Some(b'{') => {
                    at += 1 + closed(bytes, at + 1)?;
                }
                _ if char::from(byte) == quote => return Some(at + 1),
                _ => at += 1,
            }
        }
    }

    /// How long a text is that begins as `<<<ID`.
    fn heredoc(&self) -> Option<usize> {
        let rest = self.rest();
        let (first, _) = rest.split_once('\n')?;
        let name = first.strip_prefix("<<<")?.trim().trim_matches(['"', '\'']);
        (!name.is_empty() && name.chars().all(is_word)).then_some(())?;
        let mut at = first.len() + 1;
        for line in rest.get(at..)?.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let ends = line.trim_start().strip_prefix(name).is_some_and(|behind| !behind.starts_with(is_word));
            if ends {
                return Some(at + indent + name.len());
            }
            at += line.len();
        }
        None
    }

    fn number(&self) -> usize {
        let bytes = self.rest().as_bytes();
        let is_hex = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        let mut at = 1;
        while let Some(&byte) = bytes.get(at) {
            let next = bytes.get(at + 1).copied();
            let is_part = match byte {
                b'.' => {
                    next.is_some_and(|next| next.is_ascii_digit()) || (next != Some(b'.') && self.ends_by_dot(next))
                }
                // `1'000'000`
                b'\'' => self.language == Language::Cpp && next.is_some_and(|next| next.is_ascii_alphanumeric()),
                // `1e-5`, while `0xe-1` subtracts.
                b'+' | b'-' => !is_hex && matches!(bytes.get(at - 1), Some(b'e' | b'E')),
                _ => byte.is_ascii_alphanumeric() || byte == b'_',
            };
            if !is_part {
                break;
            }
            at += 1;
        }
        at
    }

    /// Whether `1.` may be a whole number: of Java and C++, where nothing that could be a name follows.
    fn ends_by_dot(&self, next: Option<u8>) -> bool {
        let is_name = next.is_some_and(|next| next.is_ascii_alphabetic() && !matches!(next, b'f' | b'F' | b'e' | b'd'));
        matches!(self.language, Language::Java | Language::Cpp) && !is_name
    }

    fn word(&self) -> Option<(Kind, usize)> {
        let rest = self.rest();
        let mut bytes = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let word = rest.get(..bytes)?;
        let behind = rest.get(bytes..)?;
        if self.language == Language::Cpp && RAW.contains(&word) && behind.starts_with('"') {
            let (name, _) = behind.get(1..)?.split_once('(')?;
            let end = format!("){name}\"");
            return Some((Kind::Text, bytes + behind.find(end.as_str())? + end.len()));
        }
        // `empty?` and `save!` are names, `a!=b` is not.
        if self.language == Language::Ruby && behind.starts_with(['?', '!']) && !behind.starts_with("!=") {
            bytes += 1;
        }
        Some((Kind::Word, bytes))
    }
}

/// How long a part in braces is that begins at a place.
fn closed(bytes: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in bytes.get(from..)?.iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}
