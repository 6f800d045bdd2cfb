//! Inputs that a function no longer reads, and values that nothing fills any more.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::super::nodes::{children, descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides, names_once};

/// The first part that a change drops.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    let mark = |(line, said): (u32, String)| Mark { shape: Shape::DropsAPart, line, said };
    input(sides).or_else(|| filling(sides)).map(mark)
}

/// A function, with its parameters and its body.
struct Function<'t> {
    node: Node<'t>,
    given: Vec<&'t str>,
    body: Node<'t>,
}

/// The functions of a file that are called alike once, by name.
fn functions<'t>((root, text): (Node<'t>, &'t str)) -> BTreeMap<String, Function<'t>> {
    let mut found: BTreeMap<String, Option<Function<'t>>> = BTreeMap::new();
    for node in descendants(root) {
        let Some((name, function)) = named(node, text) else { continue };
        let parameters =
            function.child_by_field_name("parameters").or_else(|| function.child_by_field_name("parameter"));
        let (Some(parameters), Some(body)) = (parameters, function.child_by_field_name("body")) else { continue };
        let given = given_names(parameters, text);
        let one = Function { node: function, given, body };
        // Two of one name (methods of two classes) cannot be told apart, so neither is looked at.
        found.entry(name).and_modify(|other| *other = None).or_insert(Some(one));
    }
    found.into_iter().filter_map(|(name, one)| Some((name, one?))).collect()
}

/// The names in a function's parameters, but for those within a type: what a callback is given is its own affair.
fn given_names<'t>(parameters: Node<'_>, text: &'t str) -> Vec<&'t str> {
    let is_in_type = |node: Node<'_>| {
        let mut above = node.parent();
        while let Some(one) = above.filter(|one| one.id() != parameters.id()) {
            if one.kind() == "type_annotation" {
                return true;
            }
            above = one.parent();
        }
        false
    };
    let is_type = |node: &Node<'_>| matches!(node.kind(), "type_identifier" | "package_identifier");
    let is_name = |node: &Node<'_>| node.kind().ends_with("identifier") && !is_type(node) && !is_in_type(*node);
    descendants(parameters).filter(is_name).map(|node| text_of(node, text)).collect()
}

/// A function with the name by which it is called.
fn named<'t>(node: Node<'t>, text: &str) -> Option<(String, Node<'t>)> {
    let name = |field| Some(text_of(node.child_by_field_name(field)?, text).to_owned());
    let function = |field| {
        node.child_by_field_name(field).filter(|node| matches!(node.kind(), "arrow_function" | "function_expression"))
    };
    match node.kind() {
        "function_definition"
        | "function_declaration"
        | "method_definition"
        | "method_declaration"
        | "function_item" => Some((name("name")?, node)),
        "variable_declarator" => Some((name("name")?, function("value")?)),
        "assignment_expression" => Some((name("left")?, function("right")?)),
        _ => None,
    }
}

/// A function that no longer reads what it is given, or gives it back as it is.
fn input(sides: &Sides<'_>) -> Option<(u32, String)> {
    let (old, new) = (functions(sides.old), functions(sides.new));
    new.iter().find_map(|(name, now)| {
        let was = old.get(name)?;
        if text_of(was.node, sides.old.1) == text_of(now.node, sides.new.1) {
            return None;
        }
        let (read, reads) = (names_once(was.body, sides.old.1), names_once(now.node, sides.new.1));
        // The parameters themselves name what is given, so only the body tells whether it is read.
        let in_body = names_once(now.body, sides.new.1);
        // One of another name takes the place of one that is gone.
        let is_gone = |given: &str| {
            if now.given.contains(&given) {
                !in_body.contains(given)
            } else {
                !reads.contains(given) && now.given.len() < was.given.len()
            }
        };
        let gone: Vec<String> = was
            .given
            .iter()
            .filter(|given| read.contains(**given) && is_gone(given))
            .map(|given| format!("`{given}`"))
            .collect();
        let line = lines_of(now.node).0;
        if !gone.is_empty() {
            return Some((line, format!("`{name}` no longer reads {}", gone.join(", "))));
        }
        let back = given_back(now, sides.new)?;
        // A function that gave its input back at the start does so by a person's will.
        given_back(was, sides.old).is_none().then(|| (line, format!("`{name}` only gives `{back}` back")))
    })
}

/// The parameter that is all that a function returns.
fn given_back<'t>(function: &Function<'_>, (_, text): Side<'t>) -> Option<&'t str> {
    let mut node = function.body;
    while matches!(
        node.kind(),
        "block"
            | "statement_block"
            | "return_statement"
            | "parenthesized_expression"
            | "statement_list"
            | "expression_list"
    ) {
        let inner = children(node);
        let [only] = inner.as_slice() else { return None };
        node = *only;
    }
    (node.kind() == "identifier").then(|| text_of(node, text)).filter(|name| function.given.contains(name))
}

/// A variable or a field that was filled, and now only stands.
fn filling(sides: &Sides<'_>) -> Option<(u32, String)> {
    let (was, is) = (filled(sides.old), filled(sides.new));
    let (root, text) = sides.new;
    was.into_keys().filter(|name| !is.contains_key(name)).find_map(|name| {
        let mut still =
            descendants(root).filter(|node| node.kind().ends_with("identifier") && text_of(*node, text) == name);
        let first = still.next()?;
        // It is made, and somebody looks at it: where it is made in a list of its own, nobody else does.
        let assigned = assignments(sides.new, name);
        let was_assigned = assignments(sides.old, name);
        // One assignment more may have taken the place of filling it, and one less is another variable of the name that is gone.
        (assigned > 0 && assigned == was_assigned && !is_filled_otherwise(sides, name))
            .then(|| (lines_of(first).0, format!("nothing fills `{name}` any more")))
    })
}

/// Whether a call that the start does not hold does something to it: `map.entry(a).or_insert(0)`, `if found.pop(a):`.
fn is_filled_otherwise(sides: &Sides<'_>, name: &str) -> bool {
    let ((root, text), (_, was)) = (sides.new, sides.old);
    let of = |node: Node<'_>| {
        let called = node.child_by_field_name("function")?;
        let of = called.child_by_field_name("object").or_else(|| called.child_by_field_name("value"))?;
        last_name(of, text)
    };
    let is_call = |node: &Node<'_>| matches!(node.kind(), "call" | "call_expression");
    descendants(root).filter(is_call).any(|node| of(node) == Some(name) && !was.contains(text_of(node, text)))
}

/// The names, of variables and fields, that statements of their own add something to.
fn filled<'t>((root, text): Side<'t>) -> BTreeMap<&'t str, u32> {
    let mut found = BTreeMap::new();
    for node in descendants(root) {
        let target = match node.kind() {
            "augmented_assignment" | "augmented_assignment_expression" => node.child_by_field_name("left"),
            "update_expression" => node.child_by_field_name("argument"),
            "expression_statement" => {
                let call = children(node).into_iter().find(|node| matches!(node.kind(), "call" | "call_expression"));
                let called = call.and_then(|call| call.child_by_field_name("function"));
                called.and_then(|called| {
                    called.child_by_field_name("object").or_else(|| called.child_by_field_name("value"))
                })
            }
            _ => None,
        };
        if let Some(name) = target.and_then(|target| last_name(target, text)) {
            *found.entry(name).or_insert(0) += 1;
        }
    }
    found
}

/// How often a name is given a value as a whole.
fn assignments((root, text): Side<'_>, name: &str) -> usize {
    let is_made = |node: &Node<'_>| {
        let target = match node.kind() {
            "assignment" | "assignment_expression" => node.child_by_field_name("left"),
            "variable_declarator" => node.child_by_field_name("name"),
            "let_declaration" => node.child_by_field_name("pattern"),
            _ => None,
        };
        target.is_some_and(|target| {
            // `a, b = [], []`
            let parts = if target.kind() == "pattern_list" { children(target) } else { vec![target] };
            parts.into_iter().any(|part| last_name(part, text) == Some(name))
        })
    };
    descendants(root).filter(is_made).count()
}

/// The name of a variable, or of a field of `self` or `this`.
fn last_name<'t>(node: Node<'_>, text: &'t str) -> Option<&'t str> {
    match node.kind() {
        "identifier" => Some(text_of(node, text)),
        "attribute" => of_self(node, "attribute", text),
        "member_expression" => of_self(node, "property", text),
        _ => None,
    }
}

fn of_self<'t>(node: Node<'_>, field: &str, text: &'t str) -> Option<&'t str> {
    let (object, own) = (node.child_by_field_name("object")?, node.child_by_field_name(field)?);
    matches!(text_of(object, text), "self" | "this").then(|| text_of(own, text))
}
