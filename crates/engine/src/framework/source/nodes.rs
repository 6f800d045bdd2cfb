//! Steps over syntax trees that several grammars need.

use std::ops::Range;

use tree_sitter::Node;

/// The children of a node, without comments.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.named_children(&mut node.walk()).filter(|child| !is_comment(*child)).collect()
}

/// Whether a node is a comment, in any of the grammars.
pub(super) fn is_comment(node: Node<'_>) -> bool {
    matches!(node.kind(), "comment" | "line_comment" | "block_comment")
}

/// A node and all below it, in the order of the text. It keeps a stack of its own: how deep a hostile file nests is not ours to say.
pub(super) fn descendants(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut waiting = vec![node];
    std::iter::from_fn(move || {
        let node = waiting.pop()?;
        waiting.extend(children(node).into_iter().rev());
        Some(node)
    })
}

/// The text of a node.
pub(super) fn text_of<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The node of a kind that is exactly this long.
pub(super) fn node_at<'t>(root: Node<'t>, range: &Range<usize>, kind: &str) -> Option<Node<'t>> {
    let mut node = root.descendant_for_byte_range(range.start, range.end)?;
    // A node and its only child have the same range. The search begins at the innermost one.
    while node.byte_range() == *range {
        if node.kind() == kind {
            return Some(node);
        }
        node = node.parent()?;
    }
    None
}

/// The one-based lines of a node, first and last.
pub(super) fn lines_of(node: Node<'_>) -> (u32, u32) {
    let line = |row: usize| u32::try_from(row + 1).unwrap_or(u32::MAX);
    (line(node.start_position().row), line(node.end_position().row))
}

/// A word that differs from its own and is as long.
pub(super) fn reversed(word: &str) -> String {
    word.chars().rev().collect()
}
