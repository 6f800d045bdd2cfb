//! The function that a test is.

use tree_sitter::Node;

use crate::framework::source::TestBody;
use crate::framework::source::nodes::node_at;

/// The function of a test.
pub(super) fn function_of<'t>(root: Node<'t>, test: &TestBody) -> Option<Node<'t>> {
    node_at(root, &test.body, "block")?.parent().filter(|parent| parent.kind() == "function_item")
}
