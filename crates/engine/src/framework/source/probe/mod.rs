//! A test with one of its calls asked for more than its own answer: the product is called with the test's own values, and with others in the
//! place of one, and the test fails with what became of each.
//!
//! Answers and errors are told as short codes, so that two runs can be compared and no runner's report cuts them.
//!
//! Invariant: no other value names a path above the test's own, or means something to a shell.

mod call;
mod values;
mod written;

use std::ops::Range;

pub(super) use self::call::{Call, calls};
pub use self::values::{Family, Value};
use super::edit::Edit;
use super::{Language, Source, TestBody};

/// Literals of one call that are varied at most.
const MOST_VARIED: usize = 2;

/// A test whose call is asked for more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// The function that is called.
    pub function: String,
    /// The other values, in the order of the codes.
    pub values: Vec<Value>,
    /// The edit of the test.
    pub edit: Edit,
}

/// What became of one call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Became {
    /// It answered, by a code of its answer.
    Answered(String),
    /// It raised an error, by a code of its kind.
    Raised(String),
    /// It said no: false, none, or an error as a value.
    Denied,
    /// It answered with what cannot be compared.
    Unclear,
}

impl Became {
    /// Whether the value was refused.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Raised(_) | Self::Denied => true,
            Self::Answered(_) | Self::Unclear => false,
        }
    }
}

/// What a probe told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// What became of the test's own values.
    pub own: Became,
    /// What became of the others.
    pub others: Vec<Became>,
    /// What the call had begun and not awaited when it ended. `None` where nothing was watched.
    pub under_way: Option<usize>,
    /// Whether an error of what it was given to call reached the caller.
    pub passes_errors_on: Option<bool>,
}

impl Source {
    /// A test with the first of its calls of such a function asked for more. `None` where there is none, or it cannot be written.
    #[must_use]
    pub fn probed(&self, test: &TestBody, is_meant: &dyn Fn(&str) -> bool, word: &str) -> Option<Probe> {
        let calls = calls(&self.text, &test.body, self.language, is_meant);
        calls.iter().find_map(|call| self.probe(call, is_meant, word))
    }

    fn probe(&self, call: &Call, is_meant: &dyn Fn(&str) -> bool, word: &str) -> Option<Probe> {
        let own = self.text.get(call.range.clone())?;
        let varied = |argument: &Range<usize>| {
            let written = self.text.get(argument.clone())?;
            // A text that the product makes itself (a token, a sum) is varied by spoiling it: any other would be
            // refused for its form.
            let made =
                || calls(&self.text, argument, self.language, is_meant).into_iter().any(|one| one.range == *argument);
            let spoilt = || made().then(|| values::spoilt(written, self.language))?;
            values::values(written, self.language).or_else(spoilt)
        };
        let places = call.arguments.iter().enumerate();
        let literals = places.filter_map(|(place, range)| Some((place, range, varied(range)?)));
        let (mut values, mut calls) = (Vec::new(), vec![own.to_owned()]);
        for (place, range, others) in literals.take(MOST_VARIED) {
            let at = range.start - call.range.start..range.end - call.range.start;
            for value in others {
                calls.push(format!("{}{}{}", own.get(..at.start)?, value.written, own.get(at.end..)?));
                values.push(Value { instead: self.text.get(range.clone())?.to_owned(), place, ..value });
            }
        }
        let text = match self.language {
            // A call that is waited for says something even without other values: what it leaves under way.
            Language::Python if call.is_awaited => written::awaited_python(&calls, &self.watched(call), word),
            Language::Python if !values.is_empty() => written::python(&calls, word),
            Language::JavaScript if call.is_awaited => written::awaited(&calls, &self.watched(call), word),
            Language::JavaScript if !values.is_empty() => written::javascript(&calls, word),
            Language::Rust if !values.is_empty() && !call.is_awaited => written::rust(&calls, word),
            Language::Php if !values.is_empty() => written::php(&calls, word),
            Language::Ruby if !values.is_empty() => written::ruby(&calls, word),
            Language::Python
            | Language::JavaScript
            | Language::Rust
            | Language::Go
            | Language::Java
            | Language::Php
            | Language::Cpp
            | Language::Ruby => return None,
        };
        let edit = Edit { range: call.range.clone(), text };
        self.edited(std::slice::from_ref(&edit))?;
        Some(Probe { function: call.function.clone(), values, edit })
    }

    /// A call whose arguments are watched, or the call as it is where they cannot be.
    fn watched(&self, call: &Call) -> String {
        let mut text = self.text.get(call.range.clone()).unwrap_or_default().to_owned();
        // From behind, so that the places of those before stay right.
        for range in call.arguments.iter().rev() {
            let at = range.start - call.range.start..range.end - call.range.start;
            let argument = text.get(at.clone()).unwrap_or_default();
            let is_named = self.language == Language::Python
                && argument
                    .split_once('=')
                    .is_some_and(|(name, _)| name.trim_end().chars().all(|c| c.is_alphanumeric() || c == '_'));
            // `...rest`, `*given` and `name=value` are no values that a call could stand around.
            if !argument.starts_with(['.', '*']) && !is_named {
                text.replace_range(at.clone(), &format!("watched({argument})"));
            }
        }
        text
    }
}

/// What a probe with this word told in a run's output. `None` where it did not finish, or says what cannot be compared.
#[must_use]
pub fn told(output: &str, word: &str) -> Option<Told> {
    let (_, rest) = output.split_once(&format!("~{word}="))?;
    let (said, _) = rest.split_once('~')?;
    let (codes, watched) = said.split_once('|')?;
    let became = |code: &str| match code.split_at_checked(1)? {
        ("L", "") => Some(Became::Unclear),
        ("D", "") => Some(Became::Denied),
        ("A", of) => Some(Became::Answered(of.to_owned())),
        ("R", of) => Some(Became::Raised(of.to_owned())),
        _ => None,
    };
    // One code that is not understood makes the whole report none: the product may print into it.
    let mut all: Vec<Became> = codes.split_terminator(';').map(became).collect::<Option<_>>()?;
    if all.is_empty() {
        return None;
    }
    // The test's own values come first, by the order in `probe`.
    let own = all.remove(0);
    let digits: String = watched.chars().filter(char::is_ascii_digit).collect();
    let passes_errors_on = match watched.chars().next_back() {
        Some('E') => Some(true),
        Some('N') => Some(false),
        Some(_) | None => None,
    };
    Some(Told { own, others: all, under_way: digits.parse().ok(), passes_errors_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(path: &str, text: &str) -> Option<Probe> {
        let source = Source::read(path, text).expect("a file of tests");
        source.probed(&source.tests()[0], &|name| name == "check" || name == "save", "word")
    }

    #[test]
    fn a_call_of_a_changed_function_is_found_with_its_literals() {
        let found = probe("test_a.py", "def test_a():\n    assert check(3, 'a,b', x) is True\n").expect("a call");
        assert_eq!(found.function, "check");
        assert!(found.values.iter().any(|value| value.family == Family::Number));
        assert!(found.values.iter().any(|value| value.family == Family::Part(0) && value.written == "'q,b'"));
        assert!(found.edit.text.contains("lambda refusing: check(refusing, 'a,b', x)"), "{}", found.edit.text);
        for text in [
            "def test_a():\n    assert other('a') is True\n",
            "def test_a():\n    assert uncheck('a') is True\n",
            "def test_a():\n    assert check(x) is True\n",
            "def test_a():\n    assert make().check('a') is True\n",
        ] {
            assert_eq!(probe("test_a.py", text), None, "{text}");
        }
    }

    #[test]
    fn a_script_that_waits_is_watched() {
        let text = "test('a', async () => { assert.equal(await save(store, { id: 4 }, ...rest), 4); });\n";
        let found = probe("a.test.js", text).expect("a call");
        assert!(found.values.is_empty());
        assert!(found.edit.text.contains("save(watched(store), watched({ id: 4 }), ...rest)"), "{}", found.edit.text);
        let plain = "test('a', () => { assert.equal(save(store), 4); });\n";
        assert_eq!(probe("a.test.js", plain), None);
    }

    #[test]
    fn python_that_waits_is_watched_and_what_is_made_is_spoilt() {
        let found = probe("test_a.py", "async def test_a():\n    assert await save(store, *rest, id=4) == 4\n")
            .expect("a call");
        assert!(found.edit.text.contains("save(watched(store), *rest, id=4)"), "{}", found.edit.text);
        let found = probe("test_a.py", "def test_a():\n    assert check(save('a')) == 'a'\n").expect("a call");
        assert!(found.values.iter().all(|value| value.family == Family::Spoilt), "{:?}", found.values);
        assert!(found.edit.text.contains("check((save('a'))[:-1])"), "{}", found.edit.text);
    }

    #[test]
    fn php_and_ruby_are_asked_with_other_values() {
        let php = "<?php\nfinal class ATest extends TestCase\n{\n    public function testA(): void\n    {\n        $this->assertTrue((new A(1))->check('x', 'secret'));\n    }\n}\n";
        let found = probe("tests/ATest.php", php).expect("a call");
        assert!(found.edit.text.contains("fn () => (new A(1))->check('zzzz', 'secret'), "), "{}", found.edit.text);
        let ruby = "RSpec.describe A do\n  it 'is' do\n    expect(A.new(1).check('x')).to be(true)\n  end\nend\n";
        let found = probe("spec/a_spec.rb", ruby).expect("a call");
        assert!(found.edit.text.contains("lambda { A.new(1).check('zzzz') }, "), "{}", found.edit.text);
    }

    #[test]
    fn a_call_inside_of_a_macro_is_found() {
        let text = "use shop::check;\n\n#[test]\nfn a() {\n    assert_eq!(shop::check(\"1,,2\", &mut left), 3);\n}\n";
        let found = probe("tests/a.rs", text).expect("a call");
        assert!(found.edit.text.contains("shop::check(\"1,q,2\", &mut left)"), "{}", found.edit.text);
    }

    #[test]
    fn codes_are_read_and_what_cannot_be_compared_is_nothing() {
        let read = told("E   AssertionError: ~word=D;A1f;R2;|3E~\n", "word").expect("codes");
        assert_eq!(read.own, Became::Denied);
        assert_eq!(read.others, [Became::Answered("1f".to_owned()), Became::Raised("2".to_owned())]);
        assert_eq!((read.under_way, read.passes_errors_on), (Some(3), Some(true)));
        assert_eq!(told("~word=D;X;|~", "word"), None);
        assert_eq!(told("~word=|~", "word"), None);
        assert_eq!(told("~other=D;|~", "word"), None);
    }
}
