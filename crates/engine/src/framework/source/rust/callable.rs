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
/// `None` where a test is more than a plain function, or is there under a condition that is not understood. What stands beside them for tests
/// alone stays away: a product that is another one for its tests is to be seen by that.
pub(in super::super) fn callable(root: Node<'_>, text: &str, tests: &[&TestBody], word: &str) -> Option<Vec<Edit>> {
    // By place: two tests share their modules.
    let mut edits = BTreeMap::new();
    for test in tests {
        let function = function_of(root, test)?;
        let attributes = Attributes::of(function, text);
        let plain = |name: &str| ["test", "cfg"].contains(&name) || HARMLESS.contains(&name);
        let takes = children(function.child_by_field_name("parameters")?).len();
        let is_async = children(function).iter().any(|child| child.kind() == "function_modifiers");
        (attributes.all.iter().all(|one| plain(one.name)) && takes == 0 && !is_async).then_some(())?;
        // `#[tokio::test]` starts a runtime around the body, which a plain call would lack.
        let own = attribute_items(function).find(|item| spelling(*item, text) == "#[test]")?;
        edits.insert(own.start_byte(), Edit { range: own.byte_range(), text: format!("#[cfg({word})]") });
        for item in std::iter::successors(Some(function), Node::parent) {
            if item == function || item.kind() == "mod_item" {
                for (place, edit) in on_word(item, text, word)? {
                    edits.insert(place, edit);
                }
                show(item, &mut edits);
            }
        }
    }
    Some(edits.into_values().collect())
}

/// The edits by which an item is there on `word` where it was there for tests. `None` where one of its conditions also says when it is not.
fn on_word(item: Node<'_>, text: &str, word: &str) -> Option<Vec<(usize, Edit)>> {
    let conditions = attribute_items(item).filter(|one| spelling(*one, text).starts_with("#[cfg"));
    let changed = conditions.map(|condition| {
        let said = spelling(condition, text);
        let denied = said.split("not(").skip(1).filter_map(|behind| behind.split(')').next());
        // `cfg_attr` adds other attributes, and whatever is there without `test` is another item than the tests see.
        if said.starts_with("#[cfg_attr") || denied.flat_map(words).any(|part| part == "test") {
            return None;
        }
        let names = words(&said).into_iter().map(|part| if part == "test" { word } else { part });
        Some((condition.start_byte(), Edit { range: condition.byte_range(), text: names.collect() }))
    });
    changed.collect()
}

/// The words of a text and what stands between them, in their order.
fn words(text: &str) -> Vec<&str> {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |letter: char| is_of_word(letter) == is_of_word(first);
        let end = rest.find(|letter| !same(letter)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(end);
        found.push(part);
        rest = behind;
    }
    found
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

/// The attributes in front of an item, the nearest first.
fn attribute_items(item: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let before = std::iter::successors(item.prev_named_sibling(), Node::prev_named_sibling);
    let in_front = before.take_while(|node| node.kind() == "attribute_item" || is_comment(*node));
    in_front.filter(|node| node.kind() == "attribute_item")
}

/// The spelling of an attribute, white space aside.
fn spelling(attribute: Node<'_>, text: &str) -> String {
    text_of(attribute, text).split_whitespace().collect()
}

/// Makes an item visible in its crate, if it is not.
fn show(item: Node<'_>, edits: &mut BTreeMap<usize, Edit>) {
    let visible = children(item).iter().any(|child| child.kind() == "visibility_modifier");
    if !visible {
        edits.insert(item.start_byte(), Edit::insert(item.start_byte(), "pub(crate) ".to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use crate::framework::source::Source;

    fn called(text: &str, name: &[&str]) -> Option<String> {
        let source = Source::read("src/lib.rs", text).unwrap();
        let body = source.tests().iter().find(|test| test.names == name).unwrap();
        source.edited(&source.callable(&[body], "w")?)
    }

    #[test]
    fn a_condition_beside_that_of_tests_is_kept_and_one_without_tests_is_not_understood() {
        let within = |condition: &str| {
            format!(
                "{condition}\nmod tests {{\n    #[test]\n    #[cfg(feature = \"x\")]\n    fn a() {{\n        assert!(true);\n    }}\n}}\n"
            )
        };
        for (condition, kept) in [
            ("#[cfg(test)]", Some("#[cfg(w)]")),
            ("#[cfg(all(test, feature = \"std\"))]", Some("#[cfg(all(w,feature=\"std\"))]")),
            ("#[cfg(all(test, not(miri)))]", Some("#[cfg(all(w,not(miri)))]")),
            ("#[cfg(not(any(test, miri)))]", None),
            ("#[cfg_attr(test, allow(unused))]", None),
        ] {
            let found = called(&within(condition), &["tests", "a"]);
            let wanted = kept.map(|kept| {
                format!("{kept}\npub(crate) mod tests {{\n    #[cfg(w)]\n    #[cfg(feature=\"x\")]\n    pub(crate) fn a() {{\n        assert!(true);\n    }}\n}}\n")
            });
            assert_eq!(found, wanted, "{condition}");
        }
    }
}
