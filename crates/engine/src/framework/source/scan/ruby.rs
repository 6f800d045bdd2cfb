//! Ruby: examples of RSpec and minitest and methods of minitest and test-unit, by the indentation of their `end`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::lexer::{self, Kind};
use super::values;
use super::view::View;
use crate::framework::source::{Edit, Expectation, Language, Means, Place, Poison, TestBody};

/// Words that group examples.
const GROUPS: [&str; 7] =
    ["describe", "context", "feature", "RSpec.describe", "RSpec.feature", "RSpec.context", "experiment"];
/// Words that begin an example.
const EXAMPLES: [&str; 6] = ["it", "specify", "example", "scenario", "test", "should"];

/// A group or a class that is open.
struct Around {
    indent: String,
    name: String,
}

/// A line of a text.
#[derive(Clone, Copy)]
struct Line<'t> {
    /// Where it begins, in bytes.
    start: usize,
    /// Its number, from one.
    number: u32,
    indent: &'t str,
    /// The code that stands on it behind its indentation.
    code: &'t str,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let read = |(line, number): (&'_ str, u32)| {
        let own = line.trim_end_matches(['\n', '\r']);
        let code = own.trim_start();
        let indent = own.get(..own.len() - code.len()).unwrap_or_default();
        let begin = start;
        start += line.len();
        (begin, number, indent.len(), own.len())
    };
    let places: Vec<_> = text.split_inclusive('\n').zip(1..).map(read).collect();
    let line = |(start, number, indent, end): (usize, u32, usize, usize)| Line {
        start,
        number,
        indent: text.get(start..start + indent).unwrap_or_default(),
        code: text.get(start + indent..start + end).unwrap_or_default(),
    };
    places.into_iter().map(line).collect()
}

/// A text in quotes on one line.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static TEXTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""(?:[^"\\\n]|\\[^\n])*"|'(?:[^'\\\n]|\\[^\n])*'"#).unwrap());

/// See [`super::literal_texts`].
pub(super) fn literal_texts(text: &str) -> Vec<Range<usize>> {
    TEXTS.find_iter(text).map(|found| found.range()).collect()
}

/// The tests of a file, in its order.
pub(super) fn tests(text: &str) -> Vec<TestBody> {
    let all = lines(text);
    let mut found = Vec::new();
    let mut around: Vec<Around> = Vec::new();
    let mut at = 0;
    while let Some(line) = all.get(at).copied() {
        at += 1;
        // Behind it stands data.
        if line.code == "__END__" {
            break;
        }
        if is_end(line) {
            // An `end` of another margin closes something that is no group.
            if around.last().is_some_and(|one| one.indent == line.indent) {
                around.pop();
            }
            continue;
        }
        if let Some(name) = group(line.code) {
            around.push(Around { indent: line.indent.to_owned(), name });
            continue;
        }
        let Some(head) = head(line) else { continue };
        let end = match head.closes {
            Some(close) => Some((line, close)),
            None => {
                let same = |one: &&Line<'_>| is_end(**one) && one.indent == line.indent;
                all.get(at..).and_then(|rest| rest.iter().find(same)).map(|one| (*one, one.start + one.indent.len()))
            }
        };
        let Some((last, close)) = end else { continue };
        // A test holds no other one, so its lines are passed over.
        at = at.max(usize::try_from(last.number).unwrap_or(at));
        let mut names: Vec<String> = around.iter().map(|one| one.name.clone()).collect();
        names.push(head.title);
        found.push(TestBody {
            names,
            is_template: head.is_template,
            lines: (line.number, last.number),
            whole: line.start + line.indent.len()..close + if head.closes.is_some() { 1 } else { 3 },
            name: head.name,
            body: head.opens..close,
        });
    }
    found
}

fn is_end(line: Line<'_>) -> bool {
    line.code
        .strip_prefix("end")
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'))
}

/// The name of a group or class that this line opens.
fn group(code: &str) -> Option<String> {
    if let Some(rest) = code.strip_prefix("class ").or_else(|| code.strip_prefix("module ")) {
        // `class Error < StandardError; end` has no `end` of its own line, `class << self` no name.
        let closed = rest.contains("; end") || rest.starts_with("<<") || rest.contains("Class.new");
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
        return (!closed && !name.is_empty()).then_some(name);
    }
    let (word, _) = code.split_at_checked(code.find(['(', ' '])?)?;
    GROUPS.contains(&word).then_some(())?;
    let tokens =
        // A block in braces that is closed below is not whole on this line.
        lexer::tokens(Language::Ruby, code).or_else(|| lexer::tokens(Language::Ruby, code.split_once(" do")?.0))?;
    let view = View { text: code, tokens: &tokens };
    let first = (0..tokens.len()).find(|at| view.kind(*at) == Some(Kind::Word) && word.ends_with(view.word(*at)))?;
    let mut name = String::new();
    for argument in arguments(view, first + 1) {
        let said = argument.clone().map(|at| view.word(at)).collect::<String>();
        let part = match view.kind(argument.start)? {
            Kind::Text if argument.len() == 1 => unquoted(&said).0,
            Kind::Word if said.starts_with(|c: char| c.is_uppercase()) => said,
            Kind::Text | Kind::Word | Kind::Number | Kind::Char | Kind::Mark | Kind::Open | Kind::Close => break,
        };
        name = joined(&name, &part);
    }
    Some(name)
}

/// The arguments of a call with or without brackets, up to its block.
fn arguments(view: View<'_>, from: usize) -> Vec<std::ops::Range<usize>> {
    if view.is(from, "(") {
        return view.arguments(from);
    }
    let mut found = Vec::new();
    let (mut at, mut begin) = (from, from);
    while at < view.tokens.len() && !view.is(at, "do") && !view.is(at, "{") {
        if view.is(at, ",") {
            found.push(begin..at);
            begin = at + 1;
        }
        at = view.partner(at).filter(|close| *close > at).unwrap_or(at) + 1;
    }
    if begin < at {
        found.push(begin..at);
    }
    found
}

/// Joins descriptions as RSpec does: methods (`#add`, `.new`) stand close.
pub(in super::super) fn joined(before: &str, name: &str) -> String {
    let close = name.starts_with('#') || name.starts_with('.') || name.starts_with("::");
    let between = if before.is_empty() || name.is_empty() || close { "" } else { " " };
    format!("{before}{between}{name}")
}

/// A text without its quotes, gaps as `${}`, and whether there are any.
fn unquoted(literal: &str) -> (String, bool) {
    let inside = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    let quote = literal.chars().next().unwrap_or('"');
    let mut text = String::new();
    let mut rest = inside;
    let mut has_gap = false;
    while let Some((before, after)) = rest.split_once("#{").filter(|_| quote == '"') {
        text.push_str(before);
        text.push_str("${}");
        has_gap = true;
        rest = after.split_once('}').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    (text.replace(&format!("\\{quote}"), &quote.to_string()), has_gap)
}

/// The line that begins a test.
struct Head {
    title: String,
    is_template: bool,
    /// The place of the name, within its quotes.
    name: std::ops::Range<usize>,
    /// Behind the words that open the body.
    opens: usize,
    /// The brace that closes it, where that is on the same line.
    closes: Option<usize>,
}

fn head(line: Line<'_>) -> Option<Head> {
    let begin = line.start + line.indent.len();
    if let Some(rest) = line.code.strip_prefix("def test") {
        let own = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '?' | '!'))).unwrap_or(rest.len());
        let title = line.code.get(4..8 + own)?.to_owned();
        let behind = rest.get(own..)?.split('#').next()?.trim();
        (behind.is_empty() || behind == "()").then_some(())?;
        let opens = begin + 8 + own + if behind.is_empty() { 0 } else { rest.get(own..)?.find(')')? + 1 };
        return Some(Head { title, is_template: false, name: begin + 4..begin + 8 + own, opens, closes: None });
    }
    let (word, _) = line.code.split_at_checked(line.code.find(['(', ' '])?)?;
    EXAMPLES.contains(&word).then_some(())?;
    let tokens = lexer::tokens(Language::Ruby, line.code);
    // A block in braces that goes on below is none of these.
    let tokens = tokens?;
    let view = View { text: line.code, tokens: &tokens };
    let title = arguments(view, 1).into_iter().next().filter(|one| one.len() == 1)?.start;
    (view.kind(title) == Some(Kind::Text)).then_some(())?;
    let place = view.range(title)?;
    let (text, is_template) = unquoted(view.word(title));
    let name = begin + place.start + 1..begin + place.end - 1;
    // `->` with braces would be a lambda.
    let opening = (title..tokens.len()).find(|at| matches!(view.word(*at), "do" | "{") && !view.is(at + 1, ">"))?;
    if view.is(opening, "{") {
        let close = view.partner(opening)?;
        let (opens, closes) = (begin + view.range(opening)?.end, Some(begin + view.range(close)?.start));
        return Some(Head { title: text, is_template, name, opens, closes });
    }
    // `do |x|` is the last on its line.
    let last = tokens.len() - 1;
    let is_last = last == opening || (view.is(opening + 1, "|") && view.is(last, "|"));
    is_last.then_some(())?;
    Some(Head { title: text, is_template, name, opens: begin + view.range(last)?.end, closes: None })
}

/// See [`super::poisoned`].
pub(super) fn poisoned(text: &str, test: &TestBody, poison: &Poison, words: (&str, &str)) -> Option<Vec<Edit>> {
    let (word, other) = words;
    let body = text.get(test.body.clone())?;
    let failure = match poison.means {
        Means::Raise => format!("raise \"{word}\""),
        // By the body's own words: RSpec knows no `assert_equal`, minitest no `expect … to`.
        Means::Assertion if body.contains("must_") || body.contains("assert") => {
            format!("assert_equal \"{word}\", \"{other}\"")
        }
        Means::Assertion if body.contains("expect") || body.contains(".should") => {
            format!("expect(\"{word}\").to eq(\"{other}\")")
        }
        Means::Assertion => format!("raise \"{word}\""),
    };
    let is_block = text.get(..test.body.start)?.ends_with('{');
    let before = if is_block { " " } else { "; " };
    Some(match poison.place {
        Place::First => vec![Edit::insert(test.body.start, format!("{before}{failure};"))],
        Place::Last => vec![
            Edit::insert(test.body.start, format!("{before}begin;")),
            Edit::insert(test.body.end, format!("{}ensure; {failure}; end; ", if is_block { "; " } else { "" })),
        ],
    })
}

/// See [`super::expectations`].
pub(super) fn expectations(text: &str, test: &TestBody) -> Vec<Expectation> {
    let mut found = Vec::new();
    let body = test.body.clone();
    let inside =
        |line: &Line<'_>| line.start < body.end && line.start + line.indent.len() + line.code.len() > body.start;
    for line in lines(text).into_iter().filter(inside) {
        // A line that goes on below is left out, the others are still read.
        let Some(tokens) = lexer::tokens(Language::Ruby, line.code) else { continue };
        let view = View { text: line.code, tokens: &tokens };
        let place = (0..tokens.len()).find_map(|at| expected(view, at));
        let begin = line.start + line.indent.len();
        let place = place.map(|place| begin + place.start..begin + place.end);
        let place = place.filter(|place| body.start <= place.start && place.end <= body.end);
        found.extend(place.map(|place| Expectation { lines: (line.number, line.number), places: vec![place] }));
    }
    found
}

/// The value that an assertion expects whose name stands here.
fn expected(view: View<'_>, at: usize) -> Option<std::ops::Range<usize>> {
    (view.kind(at) == Some(Kind::Word)).then_some(())?;
    let is_negated = (0..at).any(|one| matches!(view.word(one), "not_to" | "to_not" | "should_not"));
    let literal = |one: std::ops::Range<usize>| values::literal(Language::Ruby, view, one);
    match view.word(at) {
        "assert_equal" => arguments(view, at + 1).into_iter().take(2).find_map(literal),
        "eq" | "eql" | "must_equal" | "equal" if !is_negated => {
            let arguments = arguments(view, at + 1);
            let [one] = arguments.as_slice() else { return None };
            literal(one.clone())
        }
        "should" if view.is(at + 1, "=") && view.is(at + 2, "=") => literal(at + 3..view.tokens.len()),
        _ => None,
    }
}
