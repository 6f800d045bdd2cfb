//! The values between brackets, which are words to the grammar.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::framework::source::Language;
use crate::framework::source::nodes::{children, text_of};
use crate::framework::source::parse::parse;

/// The text before the values that are parsed for themselves.
const BEFORE: &str = "const A: () = [";

/// A text with its place in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'t> {
    pub(super) text: &'t str,
    shift: isize,
}

impl<'t> Frame<'t> {
    pub(super) fn of_file(text: &'t str) -> Self {
        Self { text, shift: 0 }
    }

    pub(super) fn place(self, node: Node<'_>) -> Option<Range<usize>> {
        let start = node.start_byte().checked_add_signed(self.shift)?;
        Some(start..node.end_byte().checked_add_signed(self.shift)?)
    }
}

/// The values between a macro's or an attribute's brackets. To the grammar they are words, so here they are parsed for themselves.
#[derive(Debug)]
pub(super) struct Values {
    tree: Tree,
    text: String,
    shift: isize,
}

impl Values {
    pub(super) fn read(brackets: Node<'_>, frame: Frame<'_>) -> Option<Self> {
        let inside = text_of(brackets, frame.text);
        Self::parse(inside.get(1..inside.len().checked_sub(1)?)?, brackets, frame)
    }

    /// The values of a row, without its name or result: `#[test_case(1, 2 ; "named")]`, `#[test_case(1, 2 => 3)]`.
    pub(super) fn of_row(brackets: Node<'_>, frame: Frame<'_>) -> Option<Self> {
        let mut tokens = brackets.children(&mut brackets.walk()).collect::<Vec<_>>().into_iter();
        let end = tokens.find(|token| matches!(token.kind(), ";" | "=>"));
        let end = end.map_or(brackets.end_byte().checked_sub(1)?, |token| token.start_byte());
        Self::parse(frame.text.get(brackets.start_byte() + 1..end)?, brackets, frame)
    }

    fn parse(inside: &str, brackets: Node<'_>, frame: Frame<'_>) -> Option<Self> {
        // The last line may end with a comment.
        let text = format!("{BEFORE}{inside}\n];");
        let tree = parse(Language::Rust, &text)?;
        // By how much a place in the small text lies from that in the file. Frames within frames add up.
        let before = isize::try_from(brackets.start_byte() + 1).ok()? - isize::try_from(BEFORE.len()).ok()?;
        Some(Self { tree, text, shift: frame.shift + before })
    }

    pub(super) fn frame(&self) -> Frame<'_> {
        Frame { text: &self.text, shift: self.shift }
    }

    pub(super) fn nodes(&self) -> Vec<Node<'_>> {
        let list = self.tree.root_node().named_child(0).and_then(|item| item.child_by_field_name("value"));
        list.map(children).unwrap_or_default()
    }
}
