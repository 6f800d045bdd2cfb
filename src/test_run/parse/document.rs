//! Reads JSON documents out of a log, of any size: one line that is a whole object, or one printed over many lines.
//!
//! A report is a list of tests with a few words around it. The elements of the lists that a reader names are handed on
//! one at a time and forgotten; what is left is the document's skeleton, with those lists empty. Longest texts are cut and
//! other long values are left out, so that memory does not grow with the document.
//!
//! Invariant: at most [`LONGEST`] bytes of a document are held, and what is handed on is valid JSON when the document is.

/// The longest element or skeleton that is kept; each is parsed in one piece.
const LONGEST: usize = 8 * 1024 * 1024;
/// The most of one text that is kept: no message of a test is longer.
const LONGEST_TEXT: usize = 32 * 1024;
/// The most of one value that no list is named for: coverage reports stand in some documents.
const LONGEST_VALUE: usize = 1024 * 1024;
/// A first line that is longer may be the beginning of a document whose line was cut.
const CUT_LINE: usize = 1024 * 1024;
/// Room for what must follow the beginning of an escape.
const ESCAPE: usize = 4;
/// The deepest lists of lists that are taken apart.
const DEEPEST: usize = 4;

/// A part of a document, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// An element of the list of this name.
    Element(&'static str, &'a str),
    /// The document itself, without those elements: the last part.
    Whole(&'a str),
}

/// A collector for one reader.
#[derive(Debug)]
pub(super) struct JsonDocument {
    /// The lists whose elements are handed on.
    lists: &'static [&'static str],
    open: bool,
    text: String,
    /// How many braces and brackets are open.
    depth: usize,
    string: Option<Text>,
    /// Where the last text began in `text`: a list's name stands before it.
    last: usize,
    /// The objects that are taken apart, the document itself first.
    levels: Vec<Level>,
    /// The depth of a value that is left out.
    skipping: Option<usize>,
}

/// A text that is being read.
#[derive(Debug, Default)]
struct Text {
    /// How much of it is kept.
    kept: usize,
    /// A backslash was the last byte.
    escaped: bool,
    /// How many bytes belong to the escape that began.
    owed: usize,
    cut: bool,
}

/// An object that is taken apart.
#[derive(Debug)]
struct Level {
    /// The depth inside it.
    depth: usize,
    /// Where its last value begins.
    value: usize,
    /// The list in it that is open, and where its element begins.
    list: Option<(&'static str, usize)>,
}
