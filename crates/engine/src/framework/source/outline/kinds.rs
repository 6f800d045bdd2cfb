//! The kinds of nodes that define something, in the four grammars.

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, text_of};

/// A node that defines something.
pub(super) struct Kind<'t> {
    /// The name.
    pub(super) name: String,
    /// The type or class that it belongs to, where that is written at it and not around it.
    pub(super) within: Option<String>,
    /// The body in which other definitions stand.
    pub(super) body: Option<Node<'t>>,
}

/// Nodes that are only around definitions.
const WRAPPERS: [&str; 22] = [
    "module",
    "program",
    "source_file",
    "export_statement",
    "decorated_definition",
    "if_statement",
    "else_clause",
    "elif_clause",
    "try_statement",
    "except_clause",
    "with_statement",
    "block",
    "ERROR",
    "expression_statement",
    "lexical_declaration",
    "variable_declaration",
    "ambient_declaration",
    "type_declaration",
    "const_declaration",
    "var_declaration",
    "var_spec_list",
    "foreign_mod_item",
];

/// Whether definitions may stand right below a node that is none itself.
pub(super) fn is_wrapper(node: Node<'_>) -> bool {
    WRAPPERS.contains(&node.kind())
}

/// Whether a node around a definition is written with it.
pub(super) fn is_part_of_definition(node: Node<'_>) -> bool {
    let own = matches!(node.kind(), "export_statement" | "decorated_definition" | "expression_statement");
    let alone = matches!(
        node.kind(),
        "lexical_declaration" | "variable_declaration" | "type_declaration" | "const_declaration" | "var_declaration"
    );
    own || (alone && node.named_child_count() == 1)
}

/// The definition that a node is. `None` where it is none.
pub(super) fn of<'t>(language: Language, node: Node<'t>, nested: bool, text: &str) -> Option<Kind<'t>> {
    match language {
        Language::Python => in_python(node, text),
        Language::JavaScript => in_javascript(node, nested, text),
        Language::Rust => in_rust(node, text),
        Language::Go => in_go(node, text),
        Language::Java | Language::Php | Language::Cpp | Language::Ruby => None,
    }
}

fn field(node: Node<'_>, name: &str, text: &str) -> Option<String> {
    node.child_by_field_name(name).map(|node| text_of(node, text).to_owned()).filter(|name| !name.is_empty())
}

fn named<'t>(node: Node<'t>, body: Option<Node<'t>>, text: &str) -> Option<Kind<'t>> {
    Some(Kind { name: field(node, "name", text)?, within: None, body })
}

fn in_python<'t>(node: Node<'t>, text: &str) -> Option<Kind<'t>> {
    match node.kind() {
        "function_definition" => named(node, None, text),
        "class_definition" => named(node, node.child_by_field_name("body"), text),
        "assignment" => {
            let left = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
            Some(Kind { name: text_of(left, text).to_owned(), within: None, body: None })
        }
        _ => None,
    }
}

fn in_javascript<'t>(node: Node<'t>, nested: bool, text: &str) -> Option<Kind<'t>> {
    let body = || node.child_by_field_name("body");
    match node.kind() {
        "function_declaration"
        | "generator_function_declaration"
        | "method_definition"
        | "type_alias_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "function_signature" => named(node, None, text),
        "public_field_definition" => {
            let function = node.child_by_field_name("value").filter(|value| is_function(*value));
            function.and_then(|_| named(node, None, text))
        }
        "class_declaration" | "abstract_class_declaration" | "internal_module" | "class" => named(node, body(), text),
        "variable_declarator" if !nested => {
            let name = node.child_by_field_name("name").filter(|name| name.kind() == "identifier")?;
            // `const cart = require('./cart')` is an import, told by `imports`.
            let required =
                node.child_by_field_name("value").is_some_and(|value| text_of(value, text).starts_with("require("));
            (!required).then(|| Kind { name: text_of(name, text).to_owned(), within: None, body: None })
        }
        // `exports.total = function …`, `Cart.prototype.total = …`
        "assignment_expression" => {
            node.child_by_field_name("right").filter(|right| is_function(*right) || right.kind() == "class")?;
            let left = node.child_by_field_name("left").filter(|left| left.kind() == "member_expression")?;
            Some(Kind { name: field(left, "property", text)?, within: None, body: None })
        }
        _ => None,
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "arrow_function" | "function_expression" | "generator_function" | "call_expression")
}

fn in_rust<'t>(node: Node<'t>, text: &str) -> Option<Kind<'t>> {
    let body = || node.child_by_field_name("body");
    match node.kind() {
        "function_item"
        | "struct_item"
        | "enum_item"
        | "union_item"
        | "const_item"
        | "static_item"
        | "type_item"
        | "macro_definition"
        | "function_signature_item" => named(node, None, text),
        "trait_item" => named(node, body(), text),
        // Without a body it names a file.
        "mod_item" => body().and_then(|body| named(node, Some(body), text)),
        "impl_item" => {
            let of = node.child_by_field_name("type")?;
            // `Cart` of `impl Cart<T>`.
            let of = of.child_by_field_name("type").unwrap_or(of);
            let name = text_of(of, text).rsplit("::").next().unwrap_or_default().to_owned();
            Some(Kind { name, within: None, body: body() })
        }
        _ => None,
    }
}

fn in_go<'t>(node: Node<'t>, text: &str) -> Option<Kind<'t>> {
    match node.kind() {
        "function_declaration" | "type_spec" | "type_alias" | "const_spec" | "var_spec" => named(node, None, text),
        "method_declaration" => {
            let within = node.child_by_field_name("receiver").and_then(|receiver| receiver_of(receiver, text));
            Some(Kind { within, ..named(node, None, text)? })
        }
        _ => None,
    }
}

/// `Cart` of `(c *Cart[T])`.
fn receiver_of(receiver: Node<'_>, text: &str) -> Option<String> {
    let declared = children(receiver).into_iter().next()?.child_by_field_name("type")?;
    let name = text_of(declared, text).trim_start_matches('*');
    Some(name.split('[').next().unwrap_or(name).to_owned())
}
