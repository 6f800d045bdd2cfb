//! Marks of a change's shape that no test shows: an error that ends in a handler, a value that all callers share, an input that is no
//! longer read, the like of what was changed and still stands.
//!
//! Each compares a file with what it was. What was there before is nobody's mark.

mod dropped;
mod handlers;
mod like;
mod state;

use std::collections::BTreeSet;

use super::Language;
use super::parse::parse;

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
    /// The code that was changed here still stands at another place.
    LeavesTheLike,
}

/// The marks of a file, one of each shape. None where a text is not understood.
#[must_use]
pub fn marks(path: &str, before: &str, after: &str) -> Vec<Mark> {
    let Some(language) = Language::of(path).filter(|language| language.has_grammar()) else { return Vec::new() };
    let (Some(old), Some(new)) = (parse(language, before), parse(language, after)) else { return Vec::new() };
    let sides = Sides { language, old: (old.root_node(), before), new: (new.root_node(), after) };
    let found = [handlers::mark(&sides), state::mark(&sides), dropped::mark(&sides), like::mark(before, after)];
    found.into_iter().flatten().collect()
}

/// A parsed text.
type Side<'s> = (tree_sitter::Node<'s>, &'s str);

/// A file before and after.
struct Sides<'s> {
    language: Language,
    old: Side<'s>,
    new: Side<'s>,
}

/// The names in a node, as often as they stand there.
fn names<'t>(node: tree_sitter::Node<'_>, text: &'t str) -> Vec<&'t str> {
    let is_name = |node: &tree_sitter::Node<'_>| node.kind().ends_with("identifier");
    super::nodes::descendants(node).filter(is_name).map(|node| super::nodes::text_of(node, text)).collect()
}

/// The names in a node, each once.
fn names_once<'t>(node: tree_sitter::Node<'_>, text: &'t str) -> BTreeSet<&'t str> {
    names(node, text).into_iter().collect()
}

#[cfg(test)]
mod tests;
