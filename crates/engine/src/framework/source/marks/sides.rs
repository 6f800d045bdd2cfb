//! A file before and after a change, and what is marked in it.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{descendants, text_of};

/// A shape that a reviewer should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// The shape.
    pub shape: Shape,
    /// Its one-based line in the changed file.
    pub line: u32,
    /// It in words, with the code between backticks.
    pub said: String,
}

/// The shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A handler takes every error and looks at none.
    SwallowsErrors,
    /// Functions store something in the module.
    KeepsState,
    /// A function no longer reads what it is given, or nothing fills what it returns.
    DropsAPart,
    /// A rule says when two values are equal.
    DecidesEquality,
    /// The code that was changed here still stands at another place.
    LeavesTheLike,
    /// A function writes into what its caller passes in.
    AltersTheCallers,
    /// A function answers for every name that an object lacks.
    AnswersToAll,
}

/// A parsed text.
pub(super) type Side<'s> = (Node<'s>, &'s str);

/// A file before and after.
pub(super) struct Sides<'s> {
    pub(super) language: Language,
    pub(super) old: Side<'s>,
    pub(super) new: Side<'s>,
}

/// The names in a node, as often as they stand there.
pub(super) fn names<'t>(node: Node<'_>, text: &'t str) -> Vec<&'t str> {
    let is_name = |node: &Node<'_>| node.kind().ends_with("identifier");
    descendants(node).filter(is_name).map(|node| text_of(node, text)).collect()
}

/// The names in a node, each once.
pub(super) fn names_once<'t>(node: Node<'_>, text: &'t str) -> BTreeSet<&'t str> {
    names(node, text).into_iter().collect()
}
