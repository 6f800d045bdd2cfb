//! A test as a file defines it, what it expects, and how it is made to fail.

use std::ops::Range;

/// Where in a test's body it is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Before its first statement: nothing of the product has run in this body.
    First,
    /// After its last one, however it ends: the product has run first.
    Last,
}

/// How a test is made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Means {
    /// The language's own way: an exception, a panic.
    Raise,
    /// The assertion that the file itself uses, over two values that are not equal.
    Assertion,
}

/// A failure that is put into a test's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poison {
    /// Where.
    pub place: Place,
    /// How.
    pub means: Means,
    /// A random word of ASCII letters that the failure prints.
    pub word: String,
}

/// A test that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestBody {
    /// Its names from the outermost suite, class or module to its own. Titles are as they are printed, with `${}` for the parts that a
    /// template leaves open.
    pub names: Vec<String>,
    /// Whether its own name is a pattern that rows of a table fill (`%s`, `$value`, `${value}`).
    pub is_template: bool,
    /// The one-based first and last line of the whole definition.
    pub lines: (u32, u32),
    /// The definition with its decorators or call, in bytes.
    pub(super) whole: Range<usize>,
    /// The place of its own name (within its quotes, if any), in bytes.
    pub(super) name: Range<usize>,
    /// The body, in bytes.
    pub(super) body: Range<usize>,
}

/// A value that an assertion of a test expects, as a literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The one-based lines of the assertion, first and last.
    pub lines: (u32, u32),
    /// The literal's places, in bytes: one, or one for each row of a table.
    pub(super) places: Vec<Range<usize>>,
}
