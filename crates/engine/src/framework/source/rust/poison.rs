//! A test that is made to fail.

use tree_sitter::Node;

use super::attributes::Attributes;
use super::function::function_of;
use crate::framework::source::nodes::{is_comment, reversed, text_of};
use crate::framework::source::{Edit, Means, Place, Poison, TestBody};

/// A condition that holds and of which no compiler knows it: none sees code that is never reached. Older than `black_box`.
const HOLDS: &str = "!::std::thread::panicking()";

/// See [`crate::framework::source::Source::poisoned`].
pub(in super::super) fn poisoned(root: Node<'_>, text: &str, test: &TestBody, poison: &Poison) -> Option<Vec<Edit>> {
    let function = function_of(root, test)?;
    let attributes = Attributes::of(function, text);
    // One row would pass by the failure and the others fail, under names that are not known.
    if attributes.has_row_that_panics() {
        return None;
    }
    let word = &poison.word;
    let inserted = if attributes.expects_panic() {
        // A test that is to panic fails by returning.
        let can_return = function.child_by_field_name("return_type").is_none();
        (poison.place == Place::First && can_return && !attributes.has_rows()).then_some(())?;
        // What a failing test printed is shown.
        format!("if {HOLDS} {{ println!(\"{word}\"); return; }}")
    } else {
        let failure = match poison.means {
            Means::Raise => format!("panic!(\"{word}\");"),
            Means::Assertion => format!("assert_eq!(\"{word}\", \"{}\");", reversed(word)),
        };
        match poison.place {
            Place::First => format!("if {HOLDS} {{ {failure} }}"),
            Place::Last => at_the_end(word, &failure),
        }
    };
    let start = start_of(function.child_by_field_name("body")?, text);
    Some(vec![Edit::insert(start, format!(" {inserted}"))])
}

/// A local value that is dropped after all others, however the body ends.
fn at_the_end(word: &str, failure: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter();
    // A type's name in capitals, or the compiler warns, which some crates deny.
    let kind: String = "At".chars().chain(first).chain(letters).collect();
    // A panic while another one is under way ends the process.
    format!(
        "struct {kind}; impl ::std::ops::Drop for {kind} {{ fn drop(&mut self) {{ if {HOLDS} {{ {failure} }} }} }} let _{word} = {kind};"
    )
}

/// Where the statements of a body begin: behind its inner attributes and documentation.
fn start_of(body: Node<'_>, text: &str) -> usize {
    let is_inner = |node: &Node<'_>| match node.kind() {
        "inner_attribute_item" => true,
        "line_comment" | "block_comment" => {
            text_of(*node, text).starts_with("//!") || text_of(*node, text).starts_with("/*!")
        }
        _ => false,
    };
    let is_comment = |node: &Node<'_>| is_comment(*node);
    let leading = body
        .named_children(&mut body.walk())
        .take_while(|node| is_inner(node) || is_comment(node))
        .filter(is_inner)
        .last();
    leading.map_or(body.start_byte() + 1, |node| node.end_byte())
}
