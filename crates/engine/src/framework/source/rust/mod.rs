//! Rust: functions with a test's attribute, in modules of any depth.

mod attributes;
mod brackets;
mod callable;
mod function;
mod literals;
mod poison;
#[cfg(test)]
mod tests;
mod values;

use std::rc::Rc;

use tree_sitter::Node;

pub(super) use self::callable::{callable, without_main};
pub(super) use self::literals::altered;
pub(super) use self::poison::poisoned;
pub(super) use self::values::{expectations, opposite};

use self::attributes::Attributes;
use self::function::function_of;
use super::TestBody;
use super::nodes::{children, lines_of, text_of};

/// See [`super::Source::expects_failure`].
pub(super) fn expects_failure(root: Node<'_>, text: &str, test: &TestBody) -> bool {
    function_of(root, test).is_some_and(|function| Attributes::of(function, text).expects_panic())
}

/// The tests of a file, in its order. Two of one name (for one platform each) are left out: which of them runs is not in the file.
pub(super) fn tests(root: Node<'_>, text: &str) -> Vec<TestBody> {
    let mut found: Vec<TestBody> = Vec::new();
    let mut waiting: Vec<(Node<'_>, Rc<Vec<String>>)> = vec![(root, Rc::new(Vec::new()))];
    while let Some((block, around)) = waiting.pop() {
        let mut before = Vec::new();
        for item in children(block) {
            if item.kind() == "attribute_item" {
                before.push(item);
                continue;
            }
            // Taken by whatever item comes next: attributes belong to that one alone.
            let attributes = std::mem::take(&mut before);
            let (Some(name), Some(body)) = (item.child_by_field_name("name"), item.child_by_field_name("body")) else {
                continue;
            };
            let mut names = (*around).clone();
            names.push(text_of(name, text).trim_start_matches("r#").to_owned());
            match item.kind() {
                "mod_item" => waiting.push((body, Rc::new(names))),
                "function_item" => {
                    let attributes = Attributes::read(&attributes, text);
                    if attributes.is_test() && !attributes.is_ignored() {
                        let start = attributes.start.unwrap_or(item);
                        found.push(TestBody {
                            names,
                            is_template: attributes.has_rows(),
                            lines: (lines_of(start).0, lines_of(item).1),
                            whole: start.start_byte()..item.end_byte(),
                            name: name.byte_range(),
                            body: body.byte_range(),
                        });
                    }
                }
                _ => {}
            }
        }
    }
    let is_single = |test: &TestBody| found.iter().filter(|other| other.names == test.names).count() == 1;
    let mut single: Vec<TestBody> = found.iter().filter(|test| is_single(test)).cloned().collect();
    // Modules wait on a stack, so that they come in another order than in the text.
    single.sort_by_key(|test| test.whole.start);
    single
}
