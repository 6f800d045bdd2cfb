//! The tests that a source file defines, and the edits that the court's experiments need.
//!
//! Each language has one file here, over its tree-sitter grammar or (`scan`) its tokens. Where a test's shape is not understood, an edit is `None`: the court
//! then says "not possible" and never guesses.
//!
//! Invariant: an edited file differs from the original inside the bodies and names of the tests that were asked for, in what these are given
//! and in functions that only they call, nowhere else, and still parses.

mod actual;
mod added;
mod alternatives;
mod angles;
mod another;
mod answers;
pub mod appended;
mod callers;
mod choice;
mod choices;
mod disguise;
mod edit;
mod embedded;
mod go;
mod hidden;
mod inputs;
mod javascript;
mod language;
mod larger;
pub mod marks;
mod member;
mod misnamed;
mod names;
mod nested;
mod nodes;
mod nothing;
mod number;
mod numbers;
mod opposed;
mod outline;
mod parse;
mod parts;
pub mod probe;
mod python;
mod relation;
pub mod removed;
mod repeated;
mod rust;
mod scan;
mod settings;
mod steps;
mod tables;
mod test_body;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tree_sitter::Tree;

pub use self::added::adds_tests_only;
pub use self::another::{PassedOn, passed_on};
pub use self::callers::{Left, altered_lists, left, made_plain};
pub use self::choice::{Choice, Way};
pub use self::choices::{choices, is_read};
pub use self::disguise::Guise;
pub use self::edit::{Edit, apply};
pub use self::inputs::Side;
pub use self::language::Language;
pub use self::larger::{Larger, answer};
pub use self::member::OtherPart;
pub use self::misnamed::Known;
pub use self::numbers::{Number, numbers};
pub use self::outline::{Definition, Import, Outline};
pub use self::parts::decides_when_built;
pub use self::relation::{Numbers, Twice};
pub use self::repeated::{Growth, Repeated};
pub use self::scan::{functions, java_test};
pub use self::settings::{Setting, Shortened, settings, shortened};
pub use self::test_body::{Expectation, Means, Place, Poison, TestBody};

use self::parse::parse;

/// The grammars' names for literals.
const LITERALS: [&str; 16] = [
    "integer",
    "float",
    "string",
    "list",
    "tuple",
    "dictionary",
    "set",
    "number",
    "template_string",
    "array",
    "object",
    "integer_literal",
    "float_literal",
    "string_literal",
    "int_literal",
    "interpreted_string_literal",
];

/// A parsed file.
#[derive(Debug)]
pub struct Source {
    path: String,
    text: String,
    language: Language,
    /// Of a language with a grammar.
    tree: Option<Tree>,
    tests: Vec<TestBody>,
}

impl Source {
    /// Parses a file and finds its tests. `None` where the language is not known or the text does not parse as a whole.
    #[must_use]
    pub fn read(path: &str, text: &str) -> Option<Self> {
        let language = Language::of(path)?;
        let tree = if language.has_grammar() { Some(parse(language, text)?) } else { None };
        let tests = match (language, tree.as_ref().map(Tree::root_node)) {
            (Language::Python, Some(root)) => python::tests(root, text),
            (Language::JavaScript, Some(root)) => javascript::tests(root, text),
            (Language::Rust, Some(root)) => rust::tests(root, text),
            (Language::Go, Some(root)) => go::tests(root, text),
            (language, _) => scan::tests(language, text)?,
        };
        Some(Self { path: path.to_owned(), text: text.to_owned(), language, tree, tests })
    }

    /// The file's path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tests that the file defines, in its order.
    #[must_use]
    pub fn tests(&self) -> &[TestBody] {
        &self.tests
    }

    /// Whether a test is the one, or one of the rows and parts, that a runner calls by this name.
    #[must_use]
    pub fn is_called(&self, test: &TestBody, name: &str) -> bool {
        let fit = |test: &TestBody| names::fit(self.language, &self.path, test, name);
        // A worse fit is none where another test of the file fits better: `adds` is not `cart adds` as well.
        fit(test).is_some_and(|own| !self.tests.iter().any(|other| fit(other) > Some(own)))
    }

    /// Whether it holds a test that a runner finds by itself. Functions of any name are tests to what they are asked for by.
    #[must_use]
    pub fn has_tests(&self) -> bool {
        self.tests.iter().any(|test| self.is_collected(test))
    }

    /// Whether a runner would collect a test without being told more: in some languages any function may be one.
    #[must_use]
    pub fn is_collected(&self, test: &TestBody) -> bool {
        let own = test.names.last().map_or("", String::as_str);
        match self.language {
            Language::Python => own.starts_with("test"),
            Language::Go => own.starts_with("Test"),
            Language::JavaScript | Language::Rust | Language::Java | Language::Php | Language::Cpp | Language::Ruby => {
                true
            }
        }
    }

    /// The name under which a runner prints a failure of a test. `None` where that is not known of the language.
    #[must_use]
    pub fn printed_name(&self, test: &TestBody, framework: &str) -> Option<String> {
        names::printed(self.language, &self.path, test, framework)
    }

    /// The edits that make a test fail. `None` where its shape is not understood, or it expects to fail.
    #[must_use]
    pub fn poisoned(&self, test: &TestBody, poison: &Poison) -> Option<Vec<Edit>> {
        match (self.language, self.root()) {
            (Language::Python, Some(root)) => python::poisoned(root, &self.text, test, poison),
            (Language::JavaScript, Some(root)) => javascript::poisoned(root, &self.text, test, poison),
            (Language::Rust, Some(root)) => rust::poisoned(root, &self.text, test, poison),
            (Language::Go, Some(root)) => go::poisoned(root, &self.text, test, poison),
            (language, _) => scan::poisoned(language, &self.text, test, poison),
        }
    }

    /// Whether a test says that it is to fail, so that it passes where what it asserts does not hold.
    #[must_use]
    pub fn expects_failure(&self, test: &TestBody) -> bool {
        match (self.language, self.root()) {
            (Language::Python, Some(root)) => python::expects_failure(root, &self.text, test),
            (Language::JavaScript, Some(root)) => javascript::expects_failure(root, &self.text, test),
            (Language::Rust, Some(root)) => rust::expects_failure(root, &self.text, test),
            (
                Language::Python
                | Language::JavaScript
                | Language::Rust
                | Language::Go
                | Language::Java
                | Language::Php
                | Language::Cpp
                | Language::Ruby,
                _,
            ) => false,
        }
    }

    /// The literals that assertions of equality in a test expect.
    #[must_use]
    pub fn expectations(&self, test: &TestBody) -> Vec<Expectation> {
        match (self.language, self.root()) {
            (Language::Python, Some(root)) => python::expectations(root, &self.text, test),
            (Language::JavaScript, Some(root)) => javascript::expectations(root, &self.text, test),
            (Language::Rust, Some(root)) => rust::expectations(root, &self.text, test),
            (Language::Go, Some(root)) => go::expectations(root, &self.text, test),
            (language, _) => scan::expectations(language, &self.text, test),
        }
    }

    /// An expectation's literals, as written.
    #[must_use]
    pub fn written(&self, expectation: &Expectation) -> Vec<&str> {
        expectation.places.iter().filter_map(|place| self.text.get(place.clone())).collect()
    }

    /// Every literal in a test's whole definition, as written.
    #[must_use]
    pub fn literals(&self, test: &TestBody) -> Vec<&str> {
        let Some(root) = self.root() else { return scan::literals(self.language, &self.text, test) };
        let mut found = Vec::new();
        let mut waiting = vec![root];
        while let Some(node) = waiting.pop() {
            let (range, whole) = (node.byte_range(), &test.whole);
            if range.end <= whole.start || range.start >= whole.end {
                continue;
            }
            if LITERALS.contains(&node.kind()) && whole.start <= range.start && range.end <= whole.end {
                found.extend(self.text.get(range));
            }
            let count = u32::try_from(node.named_child_count()).unwrap_or(u32::MAX);
            waiting.extend((0..count).filter_map(|at| node.named_child(at)));
        }
        found
    }

    /// The edits that put another value of the same type, far from it, in an expected literal's place. `None` where it cannot be said.
    #[must_use]
    pub fn altered(&self, expectation: &Expectation, word: &str) -> Option<Vec<Edit>> {
        let altered = |place: &Range<usize>| {
            let literal = self.text.get(place.clone())?;
            let text = match self.language {
                Language::Python => python::altered(literal, word),
                Language::JavaScript => javascript::altered(literal, word),
                Language::Rust => rust::altered(literal, word),
                Language::Go => go::altered(literal, word),
                language @ (Language::Java | Language::Php | Language::Cpp | Language::Ruby) => {
                    scan::altered(language, literal, word)
                }
            };
            Some(Edit { range: place.clone(), text: text? })
        };
        expectation.places.iter().map(altered).collect()
    }

    /// The edits that put a list in the place of the values that the assertions of equality on a line expect: the value and a word.
    /// Nothing that a product says is equal to it. `None` where no assertion of that kind is understood.
    #[must_use]
    pub fn joined(&self, test: &TestBody, line: u32, word: &str) -> Option<Vec<Edit>> {
        let wanted = match (self.language, self.root()?) {
            (Language::Python, root) => python::wanted(root, &self.text, test),
            (Language::JavaScript, root) => javascript::wanted(root, &self.text, test),
            _ => return None,
        };
        let on_line = wanted.into_iter().filter(|((first, last), _)| (*first..=*last).contains(&line));
        let joined = |(_, range): (_, Range<usize>)| {
            let text = format!("[{}, \"{word}\"]", self.text.get(range.clone())?);
            Some(Edit { range, text })
        };
        on_line.map(joined).collect::<Option<Vec<Edit>>>().filter(|edits| !edits.is_empty())
    }

    /// The edits that have a test fail whatever the product says, and call it with other values. `None` where the test has no values to
    /// vary, or it is not known which are expected. `is_free` denies words that mean something to the product.
    #[must_use]
    pub fn with_other_inputs(
        &self,
        test: &TestBody,
        expectations: &[Expectation],
        side: Side,
        word: &str,
        is_free: &dyn Fn(&str) -> bool,
    ) -> Option<Vec<Edit>> {
        // An answer of yes or no may be right for any input, so it tells nothing.
        let is_value = |literal: &&str| literal.contains(|c: char| c.is_ascii_digit() || c == '"' || c == '\'');
        if expectations.is_empty() || !expectations.iter().flat_map(|one| self.written(one)).all(|one| is_value(&one)) {
            return None;
        }
        let all = self.expectations(test);
        let mut kept: Vec<Range<usize>> = all.iter().flat_map(|one| one.places.iter().cloned()).collect();
        // With other values an assertion before these would fail in their place.
        kept.extend(all.iter().filter(|one| !expectations.contains(one)).map(|one| self.bytes_of(one.lines)));
        let collected = self.tests().iter().filter(|other| self.is_collected(other));
        let bodies: Vec<Range<usize>> = collected.map(|other| other.body.clone()).collect();
        let inputs = inputs::other_inputs(&self.text, (&test.body, &bodies), &kept, side, is_free);
        let altered: Option<Vec<Vec<Edit>>> = expectations.iter().map(|one| self.altered(one, word)).collect();
        (!inputs.is_empty()).then_some([inputs, altered?.concat()].concat())
    }

    /// Whether some lines hold a word.
    #[must_use]
    pub fn names_on(&self, lines: (u32, u32), word: &str) -> bool {
        let text = self.text.get(self.bytes_of(lines)).unwrap_or_default();
        text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|one| one == word)
    }

    /// The bytes of some lines, from one.
    fn bytes_of(&self, (first, last): (u32, u32)) -> Range<usize> {
        let lines = |count: u32| {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            self.text.split_inclusive('\n').take(count).map(str::len).sum()
        };
        lines(first.saturating_sub(1))..lines(last)
    }

    /// The edit that has an expectation expect the value that the test had when it failed in these words. `None` where they name none, or
    /// the expectation is a row of a table.
    #[must_use]
    pub fn as_it_was(&self, expectation: &Expectation, said: &str) -> Option<Edit> {
        let [place] = expectation.places.as_slice() else { return None };
        let text = actual::actual(self.text.get(place.clone())?, said)?;
        Some(Edit { range: place.clone(), text })
    }

    /// The edit that adds a word to a test's own name.
    #[must_use]
    pub fn renamed(&self, test: &TestBody, word: &str) -> Edit {
        let quoted = self.text.get(test.name.end..).is_some_and(|rest| rest.starts_with(['"', '\'', '`']));
        let added = match self.language {
            // The title is an expression.
            Language::JavaScript if !quoted => format!(" + \" {word}\""),
            // Titles stand in quotes, names do not.
            Language::JavaScript => format!(" {word}"),
            Language::Cpp | Language::Ruby if quoted => format!(" {word}"),
            Language::Python
            | Language::Rust
            | Language::Go
            | Language::Java
            | Language::Php
            | Language::Cpp
            | Language::Ruby => format!("_{word}"),
        };
        Edit::insert(test.name.end, added)
    }

    /// A test's own name with a word added.
    #[must_use]
    pub fn name_with(&self, own: &str, word: &str) -> String {
        match self.language {
            Language::JavaScript => format!("{own} {word}"),
            Language::Ruby if !own.starts_with("test_") => format!("{own} {word}"),
            Language::Cpp if own.contains(' ') => format!("{own} {word}"),
            Language::Python
            | Language::Rust
            | Language::Go
            | Language::Java
            | Language::Php
            | Language::Cpp
            | Language::Ruby => format!("{own}_{word}"),
        }
    }

    /// A runner's name of a test without the row of a table that stands in it: rows are called by their values, which change.
    #[must_use]
    pub fn without_row<'n>(&self, name: &'n str) -> &'n str {
        match self.language {
            Language::Python => name.find('[').and_then(|row| name.get(..row)).unwrap_or(name),
            // Rows fill in the title itself, so there is no part to be cut off.
            Language::JavaScript => name,
            // Subtests are run with their test.
            Language::Go => name.split('/').next().unwrap_or(name),
            Language::Rust => names::without_row_in_rust(&self.path, &self.tests, name),
            Language::Php => name.split(" with data set").next().unwrap_or(name),
            Language::Java | Language::Cpp | Language::Ruby => name,
        }
    }

    /// A runner's name of a test after [`Self::renamed`].
    #[must_use]
    pub fn renamed_name(&self, test: &TestBody, name: &str, word: &str) -> Option<String> {
        names::renamed(self.language, test, name, word)
    }

    /// The edits that let a program call tests, behind a condition of compilation of this name: Rust's alone, and plain functions alone.
    #[must_use]
    pub fn callable(&self, tests: &[&TestBody], word: &str) -> Option<Vec<Edit>> {
        rust::callable(self.root_of_rust()?, &self.text, tests, word)
    }

    /// The edit that gives a program's own entry another name.
    #[must_use]
    pub fn without_main(&self, word: &str) -> Option<Edit> {
        rust::without_main(self.root_of_rust()?, &self.text, word)
    }

    fn root_of_rust(&self) -> Option<tree_sitter::Node<'_>> {
        self.root().filter(|_| self.language == Language::Rust)
    }

    fn root(&self) -> Option<tree_sitter::Node<'_>> {
        self.tree.as_ref().map(Tree::root_node)
    }

    /// The text with edits. `None` where they overlap or the result does not parse.
    #[must_use]
    pub fn edited(&self, edits: &[Edit]) -> Option<String> {
        let text = apply(&self.text, edits)?;
        let is_whole = match self.tree {
            Some(_) => parse(self.language, &text).is_some(),
            None => scan::is_whole(self.language, &text),
        };
        is_whole.then_some(text)
    }
}
