//! Parts of Java, PHP, C++ and Ruby that are entered or not (functions, loops, handlers) and what they try, each with the edit by which it fails.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::Language;
use super::super::choice::{Choice, Way};
use super::super::edit::Edit;
use super::lexer::Kind;
use super::view::View;

/// Words before a bracket whose block is no part of its own: conditions are settled, and the others hold parts.
const OTHERS: [&str; 9] = ["if", "elseif", "switch", "match", "synchronized", "constexpr", "using", "declare", "try"];
/// The most tokens between a head's bracket and its block: `throws A, B`, `const noexcept`, `: ?int`.
const MOST_BETWEEN: usize = 12;
/// How much of a head is shown.
const LONGEST: usize = 80;

/// The part whose block begins with a token.
pub(super) fn of_block(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    if !view.is(at, "{") {
        return None;
    }
    let name = head(view, at)?.checked_sub(1)?;
    let is_made = name.checked_sub(1).is_some_and(|before| view.is(before, "new"));
    if view.kind(name)? != Kind::Word || is_made || OTHERS.contains(&view.word(name)) {
        return None;
    }
    let edit = Edit::insert(view.range(at)?.end, fails(language)?.to_owned());
    Some(choice(view, (name, name), name..at, edit, Way::Stops))
}

/// The statement that makes a part fail when it is entered.
pub(super) fn fails(language: Language) -> Option<&'static str> {
    match language {
        Language::Java => Some(" if (true) throw new Error(\"not entered\");"),
        Language::Php => Some(" throw new \\Error('not entered');"),
        Language::Cpp => Some(" throw 0;"),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Ruby => None,
    }
}

/// What is tried, behind the word `try`.
pub(super) fn of_trial(view: View<'_>, at: usize, language: Language) -> Option<Choice> {
    if !view.is(at, "try") {
        return None;
    }
    // Java opens what it closes again in brackets.
    let open = if view.is(at + 1, "(") { view.partner(at + 1)? + 1 } else { at + 1 };
    let close = view.partner(open).filter(|close| view.is(open, "{") && view.is(close + 1, "catch"))?;
    let error = caught(view, close + 2)?;
    let fails = match language {
        Language::Java => format!(" if (true) throw new {error}();"),
        Language::Php => format!(" throw new {error}();"),
        Language::Cpp if error == "..." => " throw 0;".to_owned(),
        Language::Cpp => format!(" throw {error}();"),
        Language::Python | Language::JavaScript | Language::Rust | Language::Go | Language::Ruby => return None,
    };
    let end = (open + 1..close).find(|one| view.is(*one, ";")).unwrap_or(open);
    let edit = Edit::insert(view.range(open)?.end, fails);
    (end > open).then(|| choice(view, (at, close), open + 1..end + 1, edit, Way::NotTried))
}

/// The opening bracket of the head of a block.
fn head(view: View<'_>, at: usize) -> Option<usize> {
    let mut before = at.checked_sub(1)?;
    for _ in 0..MOST_BETWEEN {
        match view.kind(before)? {
            Kind::Close => return view.is(before, ")").then(|| view.partner(before)).flatten(),
            Kind::Word => {}
            Kind::Mark if [":", "?", ",", "|", "&", "<", ">", "-", "\\", "."].contains(&view.word(before)) => {}
            Kind::Mark | Kind::Open | Kind::Number | Kind::Text | Kind::Char => return None,
        }
        before = before.checked_sub(1)?;
    }
    None
}

/// The error that a handler takes, the first of several: `catch (final IOException | Fault e)`, `catch (const std::exception &e)`.
fn caught(view: View<'_>, open: usize) -> Option<String> {
    let close = view.partner(open).filter(|_| view.is(open, "("))?;
    let is_named = |at: &usize| !["const", "final"].contains(&view.word(*at));
    let spelled: Vec<&str> = (open + 1..close).filter(is_named).map(|at| view.word(at)).collect();
    // The type ends before the next one, before a reference, or before its variable.
    let ends = |at: usize, word: &str| {
        let follows_word = at.checked_sub(1).and_then(|at| spelled.get(at)).is_some_and(|one| is_word(one));
        matches!(word, "|" | "&" | "*") || (follows_word && is_word(word))
    };
    let end = spelled.iter().enumerate().find(|(at, word)| ends(*at, word)).map_or(spelled.len(), |(at, _)| at);
    Some(spelled.get(..end)?.concat()).filter(|error| !error.is_empty())
}

/// Lines of Ruby behind which a part begins. Its end on the same line makes it none.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static RUBY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:def [^=]*|def \w+\(.*\)|rescue\b.*|when .*|else|(?:while|until) .*|\S.* do(?: \|[^|]*\|)?)$")
        .unwrap()
});

/// The parts of a text of Ruby's, and what it tries below `begin`.
pub(super) fn of_ruby(text: &str) -> Vec<Choice> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut end = 0;
    for (at, (line, number)) in lines.iter().zip(1_u32..).enumerate() {
        end += line.len();
        let (code, indent) = (line.trim_end(), line.len() - line.trim_start().len());
        let space = line.get(..indent).unwrap_or_default();
        let mut add = |shown: &str, raised: String, way: Way| {
            let edit = Edit::insert(end, format!("{space}  raise {raised}\n"));
            let spelled: String = shown.trim().chars().take(LONGEST).collect();
            found.push(Choice::of_one((number, number), spelled, edit, way));
        };
        let is_whole = code.trim_start().starts_with("when ") && code.contains(" then ");
        if RUBY.is_match(code) && !is_whole {
            add(code, "SystemExit, 'not entered'".to_owned(), Way::Stops);
        } else if code.trim() == "begin" {
            let rescue = format!("{space}rescue");
            let handler = lines.iter().skip(at + 1).find(|line| line.starts_with(&rescue));
            let error = handler.map(|line| line.trim_start_matches(&rescue).split("=>").next().unwrap_or_default());
            let error = error.and_then(|error| error.split(',').next()).map(str::trim);
            if let (Some(error), Some(first)) = (error, lines.get(at + 1)) {
                add(first, if error.is_empty() { "StandardError" } else { error }.to_owned(), Way::NotTried);
            }
        }
    }
    found
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
}

fn choice(view: View<'_>, lines: (usize, usize), shown: Range<usize>, edit: Edit, way: Way) -> Choice {
    let last = shown.end.saturating_sub(1).max(shown.start);
    let text = view.span(shown.start, last).and_then(|range| view.text.get(range)).unwrap_or_default();
    let spelled: String = text.lines().next().unwrap_or_default().chars().take(LONGEST).collect();
    Choice::of_one(view.lines(lines.0, lines.1), spelled, edit, way)
}

#[cfg(test)]
mod tests {
    use super::super::super::edit::apply;
    use super::super::choices;
    use super::*;

    fn parts(language: Language, text: &str) -> Vec<(String, String)> {
        let all = choices(language, text).expect("text").into_iter();
        let each = |one: Choice| {
            let [(edit, Way::Stops | Way::NotTried)] = one.ways.as_slice() else { return None };
            let text = apply(text, std::slice::from_ref(edit)).expect("inside");
            Some((one.spelled, text.get(edit.range.start..edit.range.start + edit.text.len())?.to_owned()))
        };
        all.filter_map(each).collect()
    }

    fn names(language: Language, text: &str) -> Vec<String> {
        parts(language, text).into_iter().map(|(spelled, _)| spelled).collect()
    }

    #[test]
    fn what_is_entered_is_found_by_its_head() {
        let java = "class A { int f(int a) throws B, C { for (int b : c) { d(); } if (a > 1) { e(); } switch (a) { } try { g(a); } catch (final B | C e) { h(); } return new D() { }.i(); } }";
        let found = ["f(int a) throws B, C", "for (int b : c)", "g(a);", "catch (final B | C e)"];
        assert_eq!(names(Language::Java, java), found);
        let php = "<?php function f(int $a): ?int { foreach ($a as $b) { c(); } try { d(); } catch (\\A\\B $e) { return null; } }";
        assert_eq!(names(Language::Php, php), ["f(int $a): ?int", "foreach ($a as $b)", "d();", "catch (\\A\\B $e)"]);
        let cpp =
            "int f(int a) const { while (a) { b(); } try { c(); } catch (const std::exception& e) { return 1; } }";
        assert_eq!(
            names(Language::Cpp, cpp),
            ["f(int a) const", "while (a)", "c();", "catch (const std::exception& e)"]
        );
    }

    #[test]
    fn parts_of_ruby_begin_behind_their_lines() {
        let ruby = "def f(a)\n  a.each do |b|\n    c(b)\n  end\n  begin\n    d\n  rescue A, B => e\n    nil\n  end\nend\ndef g = 1\n";
        let found = parts(Language::Ruby, ruby);
        let heads = ["def f(a)", "a.each do |b|", "d", "rescue A, B => e"];
        assert_eq!(found.iter().map(|(head, _)| head.as_str()).collect::<Vec<_>>(), heads);
        assert_eq!(found[2].1, "    raise A\n");
        assert_eq!(found[3].1, "    raise SystemExit, 'not entered'\n");
    }

    #[test]
    fn a_trial_fails_by_the_error_that_its_handler_takes() {
        let tried = |language: Language, text: &str| parts(language, text).into_iter().next().map(|(_, edit)| edit);
        let java = "class A { { try { g(); } catch (final B | C e) { } } }";
        assert_eq!(tried(Language::Java, java).as_deref(), Some(" if (true) throw new B();"));
        assert_eq!(
            tried(Language::Php, "<?php try { d(); } catch (\\A\\B $e) { }").as_deref(),
            Some(" throw new \\A\\B();")
        );
        assert_eq!(tried(Language::Cpp, "try { c(); } catch (...) { }").as_deref(), Some(" throw 0;"));
        let named = "try { c(); } catch (const std::exception& e) { }";
        assert_eq!(tried(Language::Cpp, named).as_deref(), Some(" throw std::exception();"));
    }
}
