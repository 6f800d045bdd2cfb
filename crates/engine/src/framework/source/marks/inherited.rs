//! A method that a change adds to one class, in the place of the one that it inherits and that does nearly the same: the other classes below
//! still inherit that one.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides, names_once};

/// A class of a file.
struct Class<'t> {
    name: &'t str,
    above: Vec<&'t str>,
    methods: Vec<(&'t str, Node<'t>)>,
}

/// The method that others still inherit.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    let (old, new) = (classes(sides.language, sides.old), classes(sides.language, sides.new));
    let text = sides.new.1;
    for class in &new {
        // A class that is new or got another base has no methods that it inherited before.
        let Some(was) = old.iter().find(|one| one.name == class.name && one.above == class.above) else { continue };
        for (name, own) in class.methods.iter().filter(|(name, _)| was.method(name).is_none()) {
            let above = new.iter().filter(|one| class.above.contains(&one.name));
            let Some((base, inherited)) = above.filter_map(|one| Some((one, one.method(name)?))).next() else {
                continue;
            };
            // A special case beside the usual one does something else.
            let (told, meant) = (names_once(inherited, text), names_once(*own, text));
            let is_like = told.len() > 2 && told.is_subset(&meant) && !meant.contains("super");
            // The inherited one has to be the start's: where the change mended it as well, all below have that.
            let is_old = old.iter().any(|one| {
                one.name == base.name
                    && one.method(name).is_some_and(|was| text_of(was, sides.old.1) == text_of(inherited, text))
            });
            let below = |one: &&Class<'_>| {
                one.name != class.name && one.above.contains(&base.name) && one.method(name).is_none()
            };
            // A constructor that does more than its base's is what constructors are for.
            let Some(other) = new.iter().find(below).filter(|_| is_like && is_old && *name != "__init__") else {
                continue;
            };
            let said = format!("`{}` of `{}`, which `{}` inherits, too", name, base.name, other.name);
            return Some(Mark { shape: Shape::LeavesTheLike, line: lines_of(inherited).0, said });
        }
    }
    None
}

impl<'t> Class<'t> {
    fn method(&self, name: &str) -> Option<Node<'t>> {
        self.methods.iter().find(|(own, _)| *own == name).map(|(_, node)| *node)
    }
}

fn classes<'t>(language: Language, (root, text): Side<'t>) -> Vec<Class<'t>> {
    let field = |node: Node<'t>, name: &str| node.child_by_field_name(name).map(|node| text_of(node, text));
    let class = |node: Node<'t>| {
        let above: BTreeSet<&str> = match (language, node.kind()) {
            (Language::Python, "class_definition") => {
                node.child_by_field_name("superclasses").map(|above| names_once(above, text)).unwrap_or_default()
            }
            (Language::JavaScript, "class_declaration" | "class") => children(node)
                .into_iter()
                .filter(|child| child.kind() == "class_heritage")
                .flat_map(|child| names_once(child, text))
                .collect(),
            _ => return None,
        };
        let body = node.child_by_field_name("body")?;
        let method = |node: Node<'t>| {
            let inner =
                if node.kind() == "decorated_definition" { node.child_by_field_name("definition")? } else { node };
            let is_one = matches!(inner.kind(), "function_definition" | "method_definition");
            is_one.then(|| Some((field(inner, "name")?, inner)))?
        };
        let methods = children(body).into_iter().filter_map(method).collect();
        Some(Class { name: field(node, "name")?, above: above.into_iter().collect(), methods })
    };
    descendants(root).filter_map(class).collect()
}
