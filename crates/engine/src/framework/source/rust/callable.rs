//! Tests that a program may call: without a test's attribute, seen from the whole crate.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::attributes::Attributes;
use super::function::function_of;
use crate::framework::source::nodes::{children, is_comment, text_of};
use crate::framework::source::{Edit, TestBody};

/// Attributes beside `#[test]` that change nothing about a call.
const HARMLESS: [&str; 6] = ["allow", "expect", "warn", "doc", "inline", "must_use"];

/// The edits that put tests behind the condition `word` instead of `test`, and make them and the modules around them visible in the crate.
/// `None` where one is more than a plain function, or a module has a condition of its own.
pub(in super::super) fn callable(root: Node<'_>, text: &str, tests: &[&TestBody], word: &str) -> Option<Vec<Edit>> {
    // By place: two tests share their modules.
    let mut edits = BTreeMap::new();
    for test in tests {
        let function = function_of(root, test)?;
        let attributes = Attributes::of(function, text);
        let plain = attributes.all.iter().all(|one| one.name == "test" || HARMLESS.contains(&one.name));
        let takes = children(function.child_by_field_name("parameters")?).len();
        let is_async = children(function).iter().any(|child| child.kind() == "function_modifiers");
        (plain && takes == 0 && !is_async).then_some(())?;
        // `#[tokio::test]` starts a runtime around the body, which a plain call would lack.
        let own = attribute(function, text, "#[test]")?;
        edits.insert(own.start_byte(), Edit { range: own.byte_range(), text: format!("#[cfg({word})]") });
        show(function, &mut edits);
        let mut around = function.parent();
        while let Some(node) = around {
            if node.kind() == "mod_item" {
                let conditions =
                    Attributes::of(node, text).all.iter().filter(|one| one.name.starts_with("cfg")).count();
                let own = attribute(node, text, "#[cfg(test)]");
                // `#[cfg(test)]` alone can be exchanged. Under any other condition the module may not be there.
                (conditions == usize::from(own.is_some())).then_some(())?;
                if let Some(own) = own {
                    edits.insert(own.start_byte(), Edit { range: own.byte_range(), text: format!("#[cfg({word})]") });
                }
                show(node, &mut edits);
            }
            around = node.parent();
        }
    }
    Some(edits.into_values().collect())
}

/// The edit that gives the program's own entry another name, where a file has one.
pub(in super::super) fn without_main(root: Node<'_>, text: &str, word: &str) -> Option<Edit> {
    let is_main = |item: &Node<'_>| {
        item.kind() == "function_item"
            && item.child_by_field_name("name").is_some_and(|name| text_of(name, text) == "main")
    };
    let main = children(root).into_iter().find(is_main)?;
    Some(Edit { range: main.child_by_field_name("name")?.byte_range(), text: format!("{word}_entry") })
}

/// An item's attribute of exactly this spelling, white space aside.
fn attribute<'t>(item: Node<'t>, text: &str, spelling: &str) -> Option<Node<'t>> {
    let mut node = item;
    while let Some(before) = node.prev_named_sibling() {
        let plain: String = text_of(before, text).split_whitespace().collect();
        match before.kind() {
            "attribute_item" if plain == spelling => return Some(before),
            "attribute_item" => {}
            _ if is_comment(before) => {}
            _ => break,
        }
        node = before;
    }
    None
}

/// Makes an item visible in its crate, if it is not.
fn show(item: Node<'_>, edits: &mut BTreeMap<usize, Edit>) {
    let visible = children(item).iter().any(|child| child.kind() == "visibility_modifier");
    if !visible {
        edits.insert(item.start_byte(), Edit::insert(item.start_byte(), "pub(crate) ".to_owned()));
    }
}
