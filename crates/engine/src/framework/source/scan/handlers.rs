//! Handlers of Java, PHP, C++ and Ruby that take every error and look at none.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::lexer::{self, Kind};
use super::view::View;

/// Classes from which all errors descend, or those of programs.
const ALL_ERRORS: [&str; 4] = ["Throwable", "Exception", "RuntimeException", "Error"];
/// Words by which a handler gives an error on, or ends the program for it.
const GIVES_ON: [&str; 7] = ["throw", "exit", "die", "abort", "terminate", "rethrow_exception", "current_exception"];
/// Ruby's handler on a line of its own: the classes it takes, and the name of the error.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static RESCUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*rescue(?:\s+(?:StandardError|Exception))?(?:\s*=>\s*(\w+))?\s*(?:#.*)?$").unwrap()
});
/// Ruby's handler behind what it is for.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static BEHIND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[^#'\x22]*[\w\])}]\s+rescue\s+(?:nil|false|true|\d|\[|\{|''|\x22\x22)").unwrap());

/// The handlers of a text that look at no error: the one-based line of each, and it in words.
pub(in super::super) fn blind_handlers(language: Language, text: &str) -> Vec<(u32, String)> {
    if language == Language::Ruby {
        return of_ruby(text);
    }
    let Some(tokens) = lexer::tokens(language, text) else { return Vec::new() };
    let view = View { text, tokens: &tokens };
    let one = |at| of_catch(view, at).or_else(|| of_silence(view, at, language));
    (0..tokens.len()).filter_map(one).collect()
}

fn of_catch(view: View<'_>, at: usize) -> Option<(u32, String)> {
    if !view.is(at, "catch") || !view.is(at + 1, "(") {
        return None;
    }
    let close = view.partner(at + 1)?;
    let (open, mut words) = (close + 1, at + 2..close);
    let end = view.partner(open).filter(|_| view.is(open, "{"))?;
    // `catch (...)` is three dots.
    let takes_all = words.clone().any(|one| ALL_ERRORS.contains(&view.word(one)) || view.is(one, "."));
    let named = words.rfind(|one| view.kind(*one) == Some(Kind::Word)).map(|one| view.word(one));
    let is_looked_at = |one: usize| named == Some(view.word(one)) || GIVES_ON.contains(&view.word(one));
    (takes_all && !(open..end).any(is_looked_at)).then(|| (view.line(at), spelled(view.text, view.span(at, end))))
}

/// PHP's sign before a value by which its warnings are nobody's.
fn of_silence(view: View<'_>, at: usize, language: Language) -> Option<(u32, String)> {
    // What is asked whether it worked is looked at.
    let before = at.checked_sub(1).map(|before| view.word(before)).unwrap_or_default();
    let is_asked = ["!", "(", "&", "|", "="].contains(&before) && view.is(at + 2, "(");
    let is_silent = language == Language::Php && view.is(at, "@") && view.kind(at + 1) == Some(Kind::Word) && !is_asked;
    is_silent.then(|| (view.line(at), spelled(view.text, view.span(at, at + 1))))
}

fn spelled(text: &str, place: Option<std::ops::Range<usize>>) -> String {
    let part = place.and_then(|place| text.get(place)).unwrap_or_default();
    part.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_ruby(text: &str) -> Vec<(u32, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let one = |(at, line): (usize, &&str)| {
        let number = u32::try_from(at + 1).ok()?;
        if BEHIND.is_match(line) {
            return Some((number, line.trim().to_owned()));
        }
        let named = RESCUE.captures(line)?.get(1).map(|name| name.as_str());
        let margin = |line: &str| line.len() - line.trim_start().len();
        let inside: Vec<&str> = lines
            .get(at + 1..)?
            .iter()
            .take_while(|one| one.trim().is_empty() || margin(one) > margin(line))
            .map(|one| one.trim())
            .collect();
        let looks =
            |word: &str| Some(word) == named || matches!(word, "raise" | "fail" | "exit" | "abort" | "retry" | "$!");
        let is_blind =
            !inside.iter().any(|one| one.split(|c: char| !(c.is_alphanumeric() || "_$!".contains(c))).any(looks));
        is_blind.then(|| (number, [&[line.trim()], inside.as_slice()].concat().join(" ").trim().to_owned()))
    };
    lines.iter().enumerate().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blind(language: Language, text: &str) -> Vec<(u32, String)> {
        blind_handlers(language, text)
    }

    #[test]
    fn handlers_that_look_at_nothing_are_found() {
        let java = "class A { int f() { try { return g(); } catch (Exception ignored) { return 0; } } }";
        assert_eq!(blind(Language::Java, java), [(1, "catch (Exception ignored) { return 0; }".to_owned())]);
        for looks in ["log(ignored); return 0;", "throw new B();"] {
            assert_eq!(blind(Language::Java, &java.replace("return 0;", looks)), []);
        }
        assert_eq!(blind(Language::Java, &java.replace("Exception ", "IOException ")), []);
        let php = "<?php\nfunction f() {\n  try { return g(); } catch (\\Throwable) { return null; }\n  return @h(1);\n}\n#[A] class B {}\n";
        assert_eq!(blind(Language::Php, php).into_iter().map(|one| one.0).collect::<Vec<_>>(), [3, 4]);
        let cpp = "int f() { try { return g(); } catch (...) { return 0; } }";
        assert_eq!(blind(Language::Cpp, cpp).len(), 1);
        let ruby = "def f\n  g\nrescue StandardError\n  nil\nend\n\ndef h\n  a = g(1) rescue nil\nrescue => e\n  log(e)\nrescue KeyError\n  0\nend\n# to rescue it\n";
        let found = blind(Language::Ruby, ruby);
        assert_eq!(found, [(3, "rescue StandardError nil".to_owned()), (8, "a = g(1) rescue nil".to_owned())]);
    }
}
