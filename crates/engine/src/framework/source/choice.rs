//! A place at which a program goes one way or the other, and the edits that settle it.

use std::ops::Range;

use super::edit::Edit;
use super::language::Language;

/// A place at which a program goes one way or the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The one-based lines, first and last.
    pub lines: (u32, u32),
    /// The place as written.
    pub spelled: String,
    /// The two ways, those of a table's rows, or the one that stops where it is entered.
    pub ways: Vec<(Edit, Way)>,
    /// Whether either operand alone is a finding of its own: of two values that are multiplied, of which a factor of none or one is a
    /// condition, of the lesser or greater of two, and of a call's answers.
    pub either_tells: bool,
    /// Whether it stands in a text that the program gives to another language: where both ways fail, the text may only be broken.
    pub is_within_text: bool,
}

/// One of the ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// The condition holds.
    Holds,
    /// It does not.
    Fails,
    /// The left operand stays alone.
    Left,
    /// The right one does.
    Right,
    /// Code that enters it fails.
    Stops,
    /// It is left out.
    LeftOut,
    /// Its value is nought.
    Nothing,
    /// A call has this answer, whatever it is asked.
    Answered(String),
    /// It fails before anything of it is tried.
    NotTried,
    /// A table has no rows.
    Unused,
    /// Every row of a table holds what this one does: its number, and the row as written.
    Row(u8, String),
}

impl Choice {
    /// Whether it is a call with answers in its place.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.ways.iter().any(|(_, way)| matches!(way, Way::Answered(_)))
    }

    /// A place with one edit.
    pub(super) fn of_one(lines: (u32, u32), spelled: impl Into<String>, edit: Edit, way: Way) -> Self {
        Self { lines, spelled: spelled.into(), ways: vec![(edit, way)], either_tells: false, is_within_text: false }
    }

    /// A condition, settled by what is put around it.
    pub(super) fn of_condition(text: &str, range: Range<usize>, lines: (u32, u32), language: Language) -> Option<Self> {
        let spelled = text.get(range.clone())?;
        let edit = |text: String| Edit { range: range.clone(), text };
        // The condition is still asked, so that what it does on the way is done and its names stay used.
        let (or, and) = match language {
            Language::Python => ("or True", "and False"),
            Language::JavaScript
            | Language::Rust
            | Language::Go
            | Language::Java
            | Language::Php
            | Language::Cpp
            | Language::Ruby => ("|| true", "&& false"),
        };
        let ways =
            vec![(edit(format!("(({spelled}) {or})")), Way::Holds), (edit(format!("(({spelled}) {and})")), Way::Fails)];
        Some(Self { lines, spelled: spelled.to_owned(), ways, either_tells: false, is_within_text: false })
    }
}
