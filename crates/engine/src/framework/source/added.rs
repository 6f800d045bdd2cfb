//! Whether a text only adds tests to another one.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::Node;

use super::nodes::{children, is_comment, text_of};
use super::{Language, Source, TestBody};

/// The grammars' names for the statements that bring names in from elsewhere.
const IMPORTS: [&str; 6] = [
    "import_statement",
    "import_from_statement",
    "future_import_statement",
    "import_declaration",
    "use_declaration",
    "namespace_use_declaration",
];

/// Whether a file, compared with its earlier text, holds more tests and more imports and is otherwise the same. Of a new file, whether it
/// holds tests.
///
/// The earlier tests may still depend on the additions, since an import may bind a name anew. A file that passes here is no measure of the
/// change that brought it.
#[must_use]
pub fn adds_tests_only(path: &str, before: Option<&str>, after: &str) -> bool {
    let Some(after) = Source::read(path, after) else { return false };
    // Nothing of a new file can have been there before, so it only has to hold tests.
    let Some(before) = before else { return after.tests.iter().any(|test| is_test(&after, test)) };
    let Some(before) = Source::read(path, before) else { return false };
    let known: BTreeSet<&[String]> = before.tests.iter().map(|test| test.names.as_slice()).collect();
    let (old, new): (Vec<&TestBody>, Vec<&TestBody>) =
        after.tests.iter().partition(|test| known.contains(test.names.as_slice()));
    // A second test of an earlier one's name would take its place.
    !new.is_empty()
        && new.iter().all(|test| is_test(&after, test))
        && old.len() == before.tests.len()
        && imports(&before).is_subset(&imports(&after))
        && rest(&before, &old, &[], &BTreeSet::new()) == rest(&after, &old, &new, &comments(&before))
}

/// Whether a definition has a name by which runners call tests. Python's tests are told apart from helpers and fixtures by that alone.
fn is_test(source: &Source, test: &TestBody) -> bool {
    source.language != Language::Python || test.names.last().is_some_and(|name| name.starts_with("test"))
}

/// The lines of a file's imports.
fn imports(source: &Source) -> BTreeSet<&str> {
    let own = source.root().map(children).unwrap_or_default().into_iter().filter(|node| IMPORTS.contains(&node.kind()));
    own.flat_map(|node| text_of(node, &source.text).lines().map(str::trim)).collect()
}

/// The lines of a file without imports and without what holds new tests alone.
fn rest<'s>(source: &'s Source, old: &[&TestBody], new: &[&TestBody], known_comments: &BTreeSet<&str>) -> Vec<&'s str> {
    let mut without: Vec<Range<usize>> = Vec::new();
    let mut waiting: Vec<Node<'_>> = source.root().into_iter().collect();
    // Without a grammar's tree the tests are cut out by their own places.
    if waiting.is_empty() {
        without.extend(new.iter().map(|test| test.whole.clone()));
    }
    while let Some(node) = waiting.pop() {
        let range = node.byte_range();
        let holds = |tests: &[&TestBody]| tests.iter().any(|test| overlap(&test.whole, &range));
        let imports = IMPORTS.contains(&node.kind()) && node.parent().is_some_and(|parent| parent.parent().is_none());
        // A block that also holds an earlier test (`describe`) is looked into, not cut out.
        let is_new = node.parent().is_some() && holds(new) && !holds(old) && is_statement(node);
        if imports {
            without.push(range);
        } else if is_new {
            without.push(comments_above(node, &source.text, known_comments)..range.end);
        } else if node.parent().is_none() || holds(new) {
            waiting.extend(children(node));
        }
    }
    without.sort_by_key(|range| range.start);
    let mut kept = Vec::new();
    let mut from = 0;
    for range in without {
        kept.extend(source.text.get(from..range.start.max(from)).unwrap_or_default().lines());
        from = range.end.max(from);
    }
    kept.extend(source.text.get(from..).unwrap_or_default().lines());
    // A separator is left over where a test was cut out from between two others.
    kept.into_iter().map(str::trim).filter(|line| !matches!(*line, "" | ";" | ",")).collect()
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// Whether a node stands beside others in a block, so that the text is whole without it.
fn is_statement(node: Node<'_>) -> bool {
    let block = |kind: &str| {
        matches!(
            kind,
            "module" | "program" | "source_file" | "block" | "statement_block" | "declaration_list" | "statement_list"
        )
    };
    node.parent().is_some_and(|parent| block(parent.kind()))
}

/// The comments of a file.
fn comments(source: &Source) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<Node<'_>> = source.root().into_iter().collect();
    while let Some(node) = waiting.pop() {
        if is_comment(node) {
            found.insert(text_of(node, &source.text));
        }
        waiting.extend(node.named_children(&mut node.walk()));
    }
    found
}

/// The beginning of the new comments and attributes that stand right above a node. A comment may steer how the whole file is run.
fn comments_above(node: Node<'_>, text: &str, known: &BTreeSet<&str>) -> usize {
    let belongs = |above: &Node<'_>| {
        above.kind() == "attribute_item" || is_comment(*above) && !known.contains(text_of(*above, text))
    };
    let mut first = node;
    while let Some(above) = first.prev_named_sibling().filter(belongs) {
        first = above;
    }
    first.start_byte()
}
