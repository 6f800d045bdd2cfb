//! Conditions in Java, PHP and C++ by their brackets, and in Ruby by its lines.

use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::super::choice::Choice;
use super::lexer::{self, Kind};
use super::parts;
use super::view::View;
use super::{answers, arms};

/// Tokens that a condition of `? :` cannot reach over.
const BOUNDS: [&str; 9] = ["return", "=", ",", ";", "{", "}", ":", "?", "=>"];
/// An escape that ends a line, a comment or a text of Java before anything is read.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static DISGUISED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:^|[^\\])(?:\\\\)*\\u+00(?:0[ad]|2[2af])").unwrap());
/// A condition of Ruby at the beginning of its line, or behind what hangs on it.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?:^|[ \t])(?:if|elsif|unless)(?: ([^#\n]+?)|(\([^#\n]+?))(?: then [^\n]*)?[ \t]*$").unwrap()
});

/// See [`super::super::choices`].
pub(in super::super) fn choices(language: Language, text: &str) -> Option<Vec<Choice>> {
    if language == Language::Ruby {
        return Some(of_ruby(text));
    }
    let tokens = lexer::tokens(language, text)?;
    let view = View { text, tokens: &tokens };
    if language == Language::Java && (DISGUISED.is_match(text) || (0..tokens.len()).any(|at| view.is(at, "\\"))) {
        return None;
    }
    let choice = |at| {
        of_branch(view, at, language)
            .or_else(|| of_ternary(view, at, language))
            .or_else(|| parts::of_block(view, at, language))
            .or_else(|| parts::of_trial(view, at, language))
            .or_else(|| arms::of_label(view, at, language))
            .or_else(|| of_group(view, at, language))
            .or_else(|| of_negation(view, at, language))
    };
    let asked = |at| {
        let of_php = || answers::of_php(view, at).or_else(|| answers::of_constant(view, at));
        (language == Language::Php).then(of_php).flatten()
    };
    let arms = |at| if language == Language::Php { arms::of_match(view, at) } else { Vec::new() };
    Some((0..tokens.len()).flat_map(|at| choice(at).into_iter().chain(arms(at)).chain(asked(at))).collect())
}

fn of_branch(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    if !(view.is(at, "if") || view.is(at, "elseif")) || !view.is(at + 1, "(") {
        return None;
    }
    let (first, last) = (at + 2, view.partner(at + 1)?.checked_sub(1)?);
    // C++ declares in its conditions, too.
    let declares = (first..=last).any(|one| view.is(one, ";") || is_assignment(view, one));
    if last < first || declares {
        return None;
    }
    Choice::of_condition(view.text, view.span(first, last)?, view.lines(first, last), language)
}

fn of_ternary(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    // `??`, `?:`, `?->` and `List<?>` hold the same sign.
    let beside = at.checked_sub(1).is_some_and(|before| view.is(before, "?") || view.is(before, "<"));
    if !view.is(at, "?") || beside || ["?", ":", "-", ">", ","].iter().any(|mark| view.is(at + 1, mark)) {
        return None;
    }
    let mut first = at;
    while let Some(before) = first.checked_sub(1) {
        match view.kind(before)? {
            // From behind over whole brackets: a call or an index belongs to the condition.
            Kind::Close if !view.is(before, "}") => first = view.partner(before)?,
            Kind::Open => break,
            Kind::Mark if view.is(before, "=") && !is_assignment(view, before) => first = before,
            _ if BOUNDS.iter().any(|bound| view.is(before, bound)) => break,
            Kind::Word | Kind::Number | Kind::Text | Kind::Char | Kind::Mark | Kind::Close => first = before,
        }
    }
    let last = at.checked_sub(1).filter(|last| *last >= first)?;
    Choice::of_condition(view.text, view.span(first, last)?, view.lines(first, last), language)
}

/// A comparison in brackets of its own, as one that is counted with.
fn of_group(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    let before = at.checked_sub(1).and_then(|before| view.kind(before));
    // Behind a word they are a head's or hold what a call is given.
    if !view.is(at, "(") || matches!(before, Some(Kind::Word | Kind::Text)) {
        return None;
    }
    let (first, last) = (at + 1, view.partner(at)?.checked_sub(1)?);
    let (mut one, mut compares) = (first, false);
    while one <= last {
        match view.kind(one)? {
            Kind::Open => one = view.partner(one)?,
            Kind::Mark if [";", ",", "?"].iter().any(|mark| view.is(one, mark)) || is_assignment(view, one) => {
                return None;
            }
            // `->`, `=>` and shifts are none.
            Kind::Mark if view.is(one, "=") => compares |= view.is(one + 1, "=") || !view.is(one + 1, ">"),
            Kind::Mark if view.is(one, "<") || view.is(one, ">") => {
                let beside = [one.saturating_sub(1), one + 1];
                compares |= !beside.iter().any(|at| ["-", "=", "<", ">"].iter().any(|mark| view.is(*at, mark)));
            }
            Kind::Mark | Kind::Word | Kind::Number | Kind::Text | Kind::Char | Kind::Close => {}
        }
        one += 1;
    }
    if !compares {
        return None;
    }
    Choice::of_condition(view.text, view.span(first, last)?, view.lines(first, last), language)
}

/// What is counted with as the opposite of something (`- !f()`).
fn of_negation(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    let before = at.checked_sub(1).map(|before| view.word(before)).unwrap_or_default();
    if !view.is(at, "!") || view.is(at + 1, "=") || !["-", "+", "*", "/", "%", ","].contains(&before) {
        return None;
    }
    let mut end = at + 1;
    loop {
        if view.kind(end) == Some(Kind::Word) || [":", ".", "\\"].contains(&view.word(end)) {
            end += 1;
        } else if view.kind(end) == Some(Kind::Open) && !view.is(end, "{") {
            end = view.partner(end)? + 1;
        } else if view.is(end, "-") && view.is(end + 1, ">") {
            end += 2;
        } else {
            break;
        }
    }
    let last = end.checked_sub(1).filter(|last| *last > at)?;
    Choice::of_condition(view.text, view.span(at, last)?, view.lines(at, last), language)
}

/// Whether a sign assigns: no other sign of a comparison stands beside it.
fn is_assignment(view: View<'_>, at: usize) -> bool {
    let beside = |at: usize| ["=", "!", "<", ">"].iter().any(|mark| view.is(at, mark));
    view.is(at, "=") && !beside(at + 1) && !at.checked_sub(1).is_some_and(beside)
}

fn of_ruby(text: &str) -> Vec<Choice> {
    let choice = |found: regex::Captures<'_>| {
        let range = found.get(1).or(found.get(2))?.range();
        let line = u32::try_from(text.get(..range.start)?.matches('\n').count() + 1).ok()?;
        Choice::of_condition(text, range, (line, line), Language::Ruby)
    };
    let mut all: Vec<Choice> = RUBY.captures_iter(text).filter_map(choice).collect();
    all.extend(ternaries_of_ruby(text));
    all.extend(parts::of_ruby(text));
    all.extend(answers::of_ruby(text));
    all
}

/// Where the last round bracket stands that a line opens and does not close.
fn open_bracket(line: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, c) in line.char_indices() {
        match c {
            '(' => open.push(at),
            ')' => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

/// Conditions before ` ? ` in lines that also hold ` : `. One that stands in brackets begins behind them.
fn ternaries_of_ruby(text: &str) -> impl Iterator<Item = Choice> {
    let mut begin = 0;
    text.split_inclusive('\n').zip(1_u32..).filter_map(move |(line, number)| {
        let at = begin;
        begin += line.len();
        let (head, tail) = line.split_once(" ? ")?;
        let is_code = tail.contains(" : ") && !head.contains('#');
        let behind = |mark: &str| head.rfind(mark).map_or(0, |found| found + mark.len());
        let open = open_bracket(head).map_or(0, |found| found + 1);
        // The last of them: `total = max(a > b ? a : b)` asks behind the bracket.
        let first = [behind("return "), behind(" = "), open].into_iter().max()?;
        let condition = head.get(first..)?;
        let start = at + first + (condition.len() - condition.trim_start().len());
        let range = start..start + condition.trim().len();
        let lines = (number, number);
        is_code.then(|| Choice::of_condition(text, range, lines, Language::Ruby)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(language: Language, text: &str) -> Vec<String> {
        choices(language, text).unwrap().into_iter().filter(|one| one.ways.len() == 2).map(|one| one.spelled).collect()
    }

    #[test]
    fn conditions_are_found_by_their_brackets() {
        let java = "class A { int f(Map<?, B> m, int a) { if (a == (1) && g(a)) { return 2; } int c = a <= 3 ? f(m, 1) : 4; return (a != 1) ? 5 : 6; } }";
        assert_eq!(spelled(Language::Java, java), ["a == (1) && g(a)", "a <= 3", "(a != 1)"]);
        for hidden in [
            "int f() { // a \\u000a if (a) return 1;\n return 2; }",
            "int f() { \\u0069f (a) { return 1; } return 2; }",
        ] {
            assert_eq!(choices(Language::Java, &format!("class A {{ {hidden} }}")), None, "{hidden}");
        }
        assert!(choices(Language::Java, "class A { String a = \"\\u001b[0m\"; }").is_some());
        let php = "<?php function f($a) { if ($a) { return 1; } elseif (!$a->b) {} $x = $a['k'] ?? 1; $y = $a?->b; return h($a > 2 ? 1 : 2, $a ?: 3); }";
        assert_eq!(spelled(Language::Php, php), ["$a", "!$a->b", "$a > 2"]);
        let cpp = "int f(int a) { if (auto it = g(a); it) { return 1; } if (int b = a) { return b; } else if (a < 2) { return 2; } return a ? 1 : 2; }";
        assert_eq!(spelled(Language::Cpp, cpp), ["a < 2", "a"]);
        let ruby =
            "def f(a)\n  return 1 if a.nil?\n  unless a > 2 # few\n  elsif b then 3\n  end\n  x = 'if so'\nend\n";
        assert_eq!(spelled(Language::Ruby, ruby), ["a.nil?", "b"]);
        let ruby = "return 0 if(a > 1)\nif(b)\nend\n";
        assert_eq!(spelled(Language::Ruby, ruby), ["(a > 1)", "(b)"]);
        let ruby = "x = a.end_with?('b') ? 1 : 2\nreturn f(a > 1 ? b : c)\nwhat? 'a : b'\n  a.nil? ? 1 : 2\n";
        assert_eq!(spelled(Language::Ruby, ruby), ["a.end_with?('b')", "a > 1", "a.nil?"]);
        let ruby = "String(x.is_a?(Time) ? a : b)\n";
        assert_eq!(spelled(Language::Ruby, ruby), ["x.is_a?(Time)"]);
    }
}
