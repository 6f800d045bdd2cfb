//! Tests that a program may call: without a test's attribute, seen from the whole crate.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::attributes::Attributes;
use super::function::function_of;
use crate::framework::source::nodes::{children, is_comment, text_of};
use crate::framework::source::{Edit, TestBody};

/// Attributes beside `#[test]` that change nothing about a call.
const HARMLESS: [&str; 6] = ["allow", "expect", "warn", "doc", "inline", "must_use"];
/// Items that tests may need beside themselves. An `impl` has no name to be needed by.
const HELPERS: [&str; 9] = [
    "const_item",
    "static_item",
    "function_item",
    "struct_item",
    "enum_item",
    "type_item",
    "trait_item",
    "macro_definition",
    "use_declaration",
];

/// The edits that put tests behind the condition `word` instead of `test`, and make them and the modules around them visible in the crate.
/// With them comes what stands beside them for tests alone and what they name. `None` where a test is more than a plain function, or is
/// there under a condition that is not understood.
pub(in super::super) fn callable(root: Node<'_>, text: &str, tests: &[&TestBody], word: &str) -> Option<Vec<Edit>> {
    // By place: two tests share their modules.
    let mut edits = BTreeMap::new();
    let mut said = Vec::new();
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
        said.push(text_of(function, text));
        for item in std::iter::successors(Some(function), Node::parent) {
            if item == function || item.kind() == "mod_item" {
                for (place, edit) in on_word(item, text, word)? {
                    edits.insert(place, edit);
                }
                show(item, &mut edits);
            }
        }
    }
    edits.extend(helpers(root, text, said, word));
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

/// The edits for the items of a file that are there for tests alone and that the tests name, or what they name in turn.
fn helpers<'t>(root: Node<'_>, text: &'t str, mut said: Vec<&'t str>, word: &str) -> Vec<(usize, Edit)> {
    let is_for_tests = |item: &Node<'_>| {
        HELPERS.contains(&item.kind()) && attribute_items(*item).any(|one| spelling(one, text) == "#[cfg(test)]")
    };
    let mut left: Vec<Node<'_>> = children(root).into_iter().filter(is_for_tests).collect();
    let mut edits = Vec::new();
    while let Some(spoken) = said.pop() {
        let spoken: BTreeSet<&str> = words(spoken).into_iter().collect();
        let (named, others): (Vec<Node<'_>>, Vec<Node<'_>>) =
            left.into_iter().partition(|item| names_of(*item, text).iter().any(|name| spoken.contains(name)));
        for item in named {
            edits.extend(on_word(item, text, word).into_iter().flatten());
            said.push(text_of(item, text));
        }
        left = others;
    }
    edits
}

/// The names that an item brings: its own, or all words of a `use`.
fn names_of<'t>(item: Node<'_>, text: &'t str) -> Vec<&'t str> {
    match item.child_by_field_name("name") {
        Some(name) => vec![text_of(name, text)],
        None => words(text_of(item, text)),
    }
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
    fn a_test_is_called_with_what_stands_there_for_tests_and_is_named_by_it() {
        let text = "#[cfg(test)]\nuse std::iter::once;\n#[cfg(test)]\nconst ROWS: &[u8] = FIRST;\n#[cfg(test)]\nconst FIRST: &[u8] = b\"1\";\n\
                    #[cfg(test)]\nfn other() {}\n#[test]\nfn a() {\n    assert_eq!(ROWS.len(), once(1).count());\n}\n";
        let wanted = "#[cfg(w)]\nuse std::iter::once;\n#[cfg(w)]\nconst ROWS: &[u8] = FIRST;\n#[cfg(w)]\nconst FIRST: &[u8] = b\"1\";\n\
                      #[cfg(test)]\nfn other() {}\n#[cfg(w)]\npub(crate) fn a() {\n    assert_eq!(ROWS.len(), once(1).count());\n}\n";
        assert_eq!(called(text, &["a"]).as_deref(), Some(wanted));
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
