//! Functions of a file by their names, and their statements.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, text_of};

/// The longest beginning of a statement that is shown.
const LONGEST: usize = 80;

/// A file before and after.
pub(super) struct Sides<'s> {
    pub(super) language: Language,
    pub(super) old: (Node<'s>, &'s str),
    pub(super) new: (Node<'s>, &'s str),
}

/// A function.
pub(super) struct Function<'t> {
    pub(super) node: Node<'t>,
    pub(super) body: Node<'t>,
    /// All of its statements, also those inside of others.
    pub(super) statements: Vec<Node<'t>>,
}

impl<'t> Function<'t> {
    /// Whether a statement of this text stands in it.
    pub(super) fn holds(&self, plain_text: &str, text: &str) -> bool {
        self.statements.iter().any(|node| plain(text_of(*node, text)) == plain_text)
    }

    /// The one statement of this text.
    pub(super) fn only(&self, plain_text: &str, text: &str) -> Option<Node<'t>> {
        let mut found = self.statements.iter().filter(|node| plain(text_of(**node, text)) == plain_text);
        found.next().copied().filter(|_| found.next().is_none())
    }

    /// The statements that it holds and another one does not, from which it came.
    pub(super) fn added<'f>(
        &'f self,
        was: &'f Function<'_>,
        before: &'f str,
        after: &'f str,
    ) -> impl Iterator<Item = Node<'t>> + 'f {
        self.statements.iter().copied().filter(move |node| !was.holds(&plain(text_of(*node, after)), before))
    }
}

/// The functions of a file that are called alike once, by name.
pub(super) fn functions<'t>((root, text): (Node<'t>, &str)) -> BTreeMap<String, Function<'t>> {
    let mut found: BTreeMap<String, Option<Function<'t>>> = BTreeMap::new();
    for node in descendants(root) {
        let Some((name, function)) = named(node, text) else { continue };
        let Some(body) = function.child_by_field_name("body") else { continue };
        let statements = descendants(body).filter(|node| node.parent().is_some_and(is_block)).collect();
        let one = Function { node: function, body, statements };
        // Two of one name cannot be told apart over a change, so neither is compared.
        found.entry(name).and_modify(|other| *other = None).or_insert(Some(one));
    }
    found.into_iter().filter_map(|(name, one)| Some((name, one?))).collect()
}

/// Whether a node holds statements, one after another.
pub(super) fn is_block(node: Node<'_>) -> bool {
    matches!(node.kind(), "block" | "statement_block" | "statement_list")
}

/// A function with the name by which it is called, behind that of its class.
fn named<'t>(node: Node<'t>, text: &str) -> Option<(String, Node<'t>)> {
    let name = |field| Some(text_of(node.child_by_field_name(field)?, text).to_owned());
    let function = |field| {
        node.child_by_field_name(field).filter(|node| matches!(node.kind(), "arrow_function" | "function_expression"))
    };
    let (own, function) = match node.kind() {
        "function_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "method_definition"
        | "method_declaration"
        | "function_item" => (name("name")?, node),
        "variable_declarator" => (name("name")?, function("value")?),
        "assignment_expression" => (name("left")?, function("right")?),
        _ => return None,
    };
    let mut names = vec![own];
    let mut around = node.parent();
    while let Some(outer) = around {
        if matches!(outer.kind(), "class_definition" | "class_declaration" | "impl_item") {
            let class = outer.child_by_field_name("name").or_else(|| outer.child_by_field_name("type"));
            names.extend(class.map(|class| text_of(class, text).to_owned()));
        }
        around = outer.parent();
    }
    names.reverse();
    Some((names.join("."), function))
}

/// A text in one line.
pub(super) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How often a statement of this text stands in a file.
pub(super) fn often((root, text): (Node<'_>, &str), plain_text: &str) -> usize {
    let is_statement = |node: &Node<'_>| node.parent().is_some_and(is_block);
    descendants(root).filter(is_statement).filter(|node| plain(text_of(*node, text)) == plain_text).count()
}

/// What a statement says before its own block begins.
pub(super) fn head(statement: Node<'_>, text: &str) -> String {
    // Rust wraps an `if` that stands alone into a statement.
    let inner = children(statement).first().copied().filter(|node| node.kind() == "if_expression").unwrap_or(statement);
    if inner.kind() == "try_statement" {
        // What it does is what stands behind it.
        let body = inner.child_by_field_name("body").map_or(inner.end_byte(), |body| body.end_byte());
        return shortened(&plain(text.get(body..inner.end_byte()).unwrap_or_default()));
    }
    let block = children(inner).into_iter().find(|node| is_block(*node));
    let end = block.map_or(statement.end_byte(), |block| block.start_byte());
    let head = plain(text.get(statement.start_byte()..end).unwrap_or_default());
    let head = head.trim_end_matches([':', '{', ' ', ';']);
    shortened(head)
}

fn shortened(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    if cut == text { cut } else { format!("{cut}…") }
}

/// The names in a node.
pub(super) fn names<'t>(node: Node<'_>, text: &'t str) -> Vec<&'t str> {
    descendants(node).filter(|node| node.kind().ends_with("identifier")).map(|node| text_of(node, text)).collect()
}
