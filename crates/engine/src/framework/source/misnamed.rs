//! A test that calls a method of the product by a name which nobody has: of a right product there is none, and the test fails.
//!
//! Only names are tried that the start's program could not answer to: those that no other test calls, and that the changed files do not
//! spell. A test that wants an error is left alone, since a missing method is one.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::edit::Edit;
use super::member::OtherPart;
use super::nodes::{descendants, text_of};
use super::{Language, Source, TestBody};

/// A call of a method in Ruby and PHP: what stands before the sign, and the name.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static CALL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"([$@\w]+|\))(?:\??->|&?\.)([a-z_]\w*)").unwrap());
/// Words of tests that want an error.
const WANT_ERRORS: [&str; 8] = ["raise", "Raise", "throw", "Throw", "reject", "Exception", "catch", "except"];
/// Assertions that want no error, in which those words stand.
const WANT_NONE: [&str; 5] =
    ["doesNotThrow", "DoesNotThrow", "not.toThrow", "not_to raise_error", "to_not raise_error"];
/// Words of stand-ins, which have every method.
const STAND_INS: [&str; 6] = ["Mock", "mock", "double(", "stub", "spy", "createStub"];
/// What RSpec makes of the class under test.
const SUBJECTS: [&str; 2] = ["subject", "described_class"];
/// Beginnings of names that are assertions'.
const ASSERTIONS: [&str; 7] = ["assert", "expect", "to_", "toBe", "toEqual", "not_to", "should"];

/// What is asked of names.
pub struct Known<'a> {
    /// Whether the product made what is called so, or holds it.
    pub is_meant: &'a dyn Fn(&str) -> bool,
    /// Whether the changed files spell a name.
    pub is_spelled: &'a dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

impl Source {
    /// The methods that a test calls of the product by a name that stands nowhere else, each with an edit by which it calls another one. The
    /// tests that failed at the start are `failed`.
    #[must_use]
    pub fn misnamed(&self, test: &TestBody, failed: &[&TestBody], known: &Known<'_>, word: &str) -> Vec<OtherPart> {
        let Some(body) = self.text.get(test.body.clone()) else { return Vec::new() };
        let wants = WANT_NONE.iter().fold(body.to_owned(), |body, none| body.replace(none, ""));
        let is_with_stand_ins = STAND_INS.iter().any(|word| self.text.contains(word));
        if is_with_stand_ins || self.expects_failure(test) || WANT_ERRORS.iter().any(|word| wants.contains(word)) {
            return Vec::new();
        }
        let called = match self.language {
            Language::Python | Language::JavaScript => self.of_grammar(test),
            Language::Php | Language::Ruby => of_text(body, test.body.start),
            Language::Rust | Language::Go | Language::Java | Language::Cpp => Vec::new(),
        };
        let mut found: Vec<OtherPart> = Vec::new();
        for Called { name, at, root } in called {
            let is_new = found.iter().all(|one| one.name != name);
            let is_assertion = ASSERTIONS.iter().any(|begin| name.starts_with(begin));
            let is_candidate =
                is_new && !is_assertion && !(known.is_spelled)(&name) && !self.is_elsewhere(&name, failed);
            if is_candidate && self.is_of_product(&root, known) {
                let edit = Edit { range: at, text: format!("{word}{name}") };
                found.push(OtherPart { name, edit });
            }
        }
        found
    }

    /// Whether a name stands outside of these tests.
    fn is_elsewhere(&self, name: &str, tests: &[&TestBody]) -> bool {
        let is_inside = |at: usize| tests.iter().any(|test| test.whole.contains(&at));
        places(&self.text, name).any(|at| !is_inside(at))
    }

    /// Whether the product made what a call is made on: a line names both.
    fn is_of_product(&self, root: &str, known: &Known<'_>) -> bool {
        let is_meant =
            |word: &str| (known.is_meant)(word) || self.language == Language::Ruby && SUBJECTS.contains(&word);
        let names_product = |text: &str| text.split(|c: char| !is_word(c)).any(is_meant);
        names_product(root)
            || !root.is_empty()
                && self.text.lines().any(|line| places(line, root).next().is_some() && names_product(line))
    }

    fn of_grammar(&self, test: &TestBody) -> Vec<Called> {
        let body = self.root().and_then(|root| root.descendant_for_byte_range(test.body.start, test.body.end));
        let called = |node: Node<'_>| {
            let function = node.child_by_field_name("function")?;
            let (of, name) = match (node.kind(), function.kind()) {
                ("call", "attribute") => ("object", "attribute"),
                ("call_expression", "member_expression") => ("object", "property"),
                _ => return None,
            };
            let (of, name) = (function.child_by_field_name(of)?, function.child_by_field_name(name)?);
            let root = text_of(of, &self.text).to_owned();
            Some(Called { name: text_of(name, &self.text).to_owned(), at: name.byte_range(), root })
        };
        body.map(|body| descendants(body).filter_map(called).collect()).unwrap_or_default()
    }
}

/// A method that is called.
struct Called {
    name: String,
    at: std::ops::Range<usize>,
    /// The expression that it is called on, or its last word.
    root: String,
}

fn of_text(body: &str, start: usize) -> Vec<Called> {
    let called = |found: regex::Captures<'_>| {
        let (before, name) = (found.get(1)?, found.get(2)?);
        let line = body.get(..before.start())?.rsplit('\n').next()?;
        // Within a text it is no call, and behind `=` it is set.
        let is_said = ["\"", "'", "#", "//"].iter().any(|mark| line.matches(mark).count() % 2 == 1);
        let is_set =
            body.get(name.end()..)?.trim_start().strip_prefix('=').is_some_and(|rest| !rest.starts_with(['=', '~']));
        let at = start + name.start()..start + name.end();
        let root = if before.as_str() == ")" { line.to_owned() } else { before.as_str().to_owned() };
        (!is_said && !is_set && name.as_str() != "new").then(|| Called { name: name.as_str().to_owned(), at, root })
    };
    CALL.captures_iter(body).filter_map(called).collect()
}

/// The places of a name as a word of its own.
fn places<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    text.match_indices(name).filter_map(move |(at, found)| {
        let (before, after) = (text.get(..at)?, text.get(at + found.len()..)?);
        (!before.ends_with(is_word) && !after.starts_with(is_word)).then_some(at)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    fn misnamed(path: &str, text: &str) -> Vec<String> {
        let source = Source::read(path, text).expect("a file of tests");
        let tests = source.tests();
        let failed: Vec<&TestBody> = tests.iter().take(1).collect();
        let known = Known { is_meant: &|name| name == "Order", is_spelled: &|name| name == "total" };
        let found = source.misnamed(&tests[0], &failed, &known, "no_");
        found.iter().map(|one| apply(text, std::slice::from_ref(&one.edit)).expect("a text")).collect()
    }

    #[test]
    fn methods_of_the_product_are_called_by_another_name() {
        let python = |name: &str| {
            format!(
                "def test_a():\n    order = Order(1)\n    order.{name}()\n    assert order.total() == str(1).strip()\n\n\ndef test_b():\n    assert Order(2).size() == 1\n"
            )
        };
        assert_eq!(misnamed("test_a.py", &python("ship")), [python("no_ship")]);
        assert_eq!(misnamed("test_a.py", &python("size")), Vec::<String>::new(), "another test calls it");
        let script =
            |name: &str| format!("test('a', () => {{ const a = new Order(1); expect(a.{name}(2)).toBe(3); }});\n");
        assert_eq!(misnamed("a.test.js", &script("ship")), [script("no_ship")]);
        let thrown = script("ship").replace("toBe(3)", "toThrow()");
        assert_eq!(misnamed("a.test.js", &thrown), Vec::<String>::new(), "a missing method is an error, too");
        let ruby = |name: &str| {
            format!(
                "RSpec.describe Order do\n  it 'ships' do\n    order = Order.new(1)\n    expect(order.{name}).to eq('a.ship')\n  end\nend\n"
            )
        };
        assert_eq!(misnamed("spec/a_spec.rb", &ruby("ship")), [ruby("no_ship")]);
        let php = |name: &str| {
            format!(
                "<?php\nclass ATest extends TestCase {{\n  public function testA(): void {{\n    $o = new Order(1);\n    $this->assertSame(3, $o->{name}());\n  }}\n}}\n"
            )
        };
        assert_eq!(misnamed("tests/ATest.php", &php("ship")), [php("no_ship")]);
    }
}
