//! Edits of a text: places and what stands there instead.

use std::ops::Range;

/// One edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The replaced range, in bytes of the original. Empty to insert.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// An insertion.
    #[must_use]
    pub fn insert(at: usize, text: String) -> Self {
        Self { range: at..at, text }
    }
}

/// The text with all edits. `None` where two overlap or one is out of the text. Insertions at one place keep their order.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    // A stable sort by both ends: an insertion comes before a replacement that begins at its place.
    sorted.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut result = String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut done = 0;
    for edit in sorted {
        // `get` of a range whose end is before its start is `None`, which is how an overlap is noticed.
        result.push_str(text.get(done..edit.range.start)?);
        result.push_str(&edit.text);
        done = edit.range.end;
    }
    result.push_str(text.get(done..)?);
    Some(result)
}
