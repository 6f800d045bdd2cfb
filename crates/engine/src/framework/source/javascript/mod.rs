//! JavaScript and TypeScript: calls of `it`, `test` and their kin, in the suites around them.

mod calls;
mod literals;
mod poison;
#[cfg(test)]
mod tests;
mod titles;

use std::rc::Rc;

use tree_sitter::Node;

pub(super) use self::literals::{altered, expectations, wanted};
pub(super) use self::poison::poisoned;

use self::calls::{Call, Role, call_of};
use super::TestBody;
use super::nodes::{children, lines_of};

/// The tests of a file, in its order, at any depth of suites, blocks and other tests.
pub(super) fn tests(root: Node<'_>, text: &str) -> Vec<TestBody> {
    let mut found = Vec::new();
    // A stack of its own: how deep a hostile file nests is not ours to say.
    let mut waiting: Vec<(Node<'_>, Rc<Vec<String>>)> = vec![(root, Rc::new(Vec::new()))];
    while let Some((node, around)) = waiting.pop() {
        let inside = match Call::read(node, text) {
            // Nothing in it runs, so that an experiment on it would never be seen to fail.
            Some(call) if call.role == Role::LeftOut => continue,
            Some(call) => named(node, &call, text, &around, &mut found).unwrap_or(around),
            None => around,
        };
        // From behind onto the stack, so that tests come in the order of the text.
        waiting.extend(children(node).into_iter().rev().map(|child| (child, Rc::clone(&inside))));
    }
    found
}

/// See [`super::Source::expects_failure`].
pub(super) fn expects_failure(root: Node<'_>, text: &str, test: &TestBody) -> bool {
    call_of(root, text, test).is_some_and(|call| call.expects_failure)
}

/// Notes a test. Returns the names around the code inside the call.
fn named(
    node: Node<'_>,
    call: &Call<'_>,
    text: &str,
    around: &[String],
    found: &mut Vec<TestBody>,
) -> Option<Rc<Vec<String>>> {
    let title = titles::read(call.title, text)?;
    let mut names = around.to_vec();
    names.push(title.value);
    if call.role == Role::Test {
        let body = call.function?.child_by_field_name("body")?;
        let filled = call.table.is_some() && title.holds_mark;
        found.push(TestBody {
            names: names.clone(),
            is_template: title.has_gap || filled,
            lines: lines_of(node),
            whole: node.byte_range(),
            name: title.place,
            body: body.byte_range(),
        });
    }
    Some(Rc::new(names))
}
