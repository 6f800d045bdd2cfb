//! The attributes in front of a function.

use tree_sitter::Node;

use super::brackets::{Frame, Values};
use crate::framework::source::nodes::{children, is_comment, text_of};

/// The last segment of the attributes that make a function a test: `#[test]`, `#[tokio::test]` and their like first.
const TESTS: [&str; 4] = ["test", "rstest", "test_case", "test_matrix"];
/// Attributes of [`TESTS`] by which one function is several tests.
const ROWS: [&str; 3] = ["rstest", "test_case", "test_matrix"];

/// One attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attribute<'t> {
    /// The last segment of its path. `case` for `#[case::named(…)]`.
    pub(super) name: &'t str,
    /// The text in its brackets, with them.
    pub(super) arguments: Option<Node<'t>>,
    text: &'t str,
}

/// The attributes of a function.
#[derive(Debug)]
pub(super) struct Attributes<'t> {
    pub(super) all: Vec<Attribute<'t>>,
    /// The first one.
    pub(super) start: Option<Node<'t>>,
}

impl<'t> Attributes<'t> {
    pub(super) fn of(function: Node<'t>, text: &'t str) -> Self {
        let mut items = Vec::new();
        let mut node = function;
        while let Some(before) = node.prev_named_sibling() {
            match before.kind() {
                "attribute_item" => items.push(before),
                // Documentation may stand between two attributes.
                _ if is_comment(before) => {}
                _ => break,
            }
            node = before;
        }
        items.reverse();
        Self::read(&items, text)
    }

    /// From the items themselves, in their order.
    pub(super) fn read(items: &[Node<'t>], text: &'t str) -> Self {
        let start = items.first().copied();
        Self { all: items.iter().filter_map(|item| read(*item, text)).collect(), start }
    }

    pub(super) fn is_test(&self) -> bool {
        self.all.iter().any(|one| TESTS.contains(&one.name) || one.is_test_on_condition())
    }

    pub(super) fn is_ignored(&self) -> bool {
        self.has("ignore")
    }

    pub(super) fn has_rows(&self) -> bool {
        ROWS.iter().any(|name| self.has(name))
    }

    /// Whether it is to panic.
    pub(super) fn expects_panic(&self) -> bool {
        self.has("should_panic") || self.all.iter().any(|one| one.has_word("should_panic"))
    }

    /// Whether a row of it is to panic: `#[test_case(0 => panics "…")]`.
    pub(super) fn has_row_that_panics(&self) -> bool {
        self.all.iter().any(|one| one.name == "test_case" && one.has_word("panics"))
    }

    fn has(&self, name: &str) -> bool {
        self.all.iter().any(|one| one.name == name)
    }
}

impl Attribute<'_> {
    /// `#[cfg_attr(not(miri), test)]`.
    fn is_test_on_condition(&self) -> bool {
        let Some(arguments) = self.arguments.filter(|_| self.name == "cfg_attr") else { return false };
        let Some(values) = Values::read(arguments, Frame::of_file(self.text)) else { return false };
        // The first one is the condition.
        let names = values.nodes().into_iter().skip(1).map(|value| {
            let path = value.child_by_field_name("function").unwrap_or(value);
            text_of(path, values.frame().text).rsplit("::").next().unwrap_or_default()
        });
        names.into_iter().any(|name| TESTS.contains(&name))
    }

    fn has_word(&self, word: &str) -> bool {
        let words = self.arguments.map(|arguments| text_of(arguments, self.text)).unwrap_or_default();
        words.split(|c: char| !c.is_alphanumeric() && c != '_').any(|one| one == word)
    }
}

fn read<'t>(item: Node<'t>, text: &'t str) -> Option<Attribute<'t>> {
    let attribute = children(item).into_iter().find(|child| child.kind() == "attribute")?;
    let path = text_of(*children(attribute).first()?, text);
    let name = if path.starts_with("case::") { "case" } else { path.rsplit("::").next()?.trim() };
    Some(Attribute { name, arguments: attribute.child_by_field_name("arguments"), text })
}
