//! Go: functions that `go test` calls, with the subtests in them.

mod function;
mod literals;
mod poison;
mod tables;
#[cfg(test)]
mod tests;
mod values;

use tree_sitter::Node;

pub(super) use self::literals::altered;
pub(super) use self::poison::poisoned;
pub(super) use self::values::expectations;

use self::function::role_of;
use super::TestBody;
use super::nodes::{children, lines_of, text_of};

/// The tests of a file, in its order. Subtests belong to their function.
pub(super) fn tests(root: Node<'_>, text: &str) -> Vec<TestBody> {
    let mut found = Vec::new();
    for function in children(root).into_iter().filter(|item| item.kind() == "function_declaration") {
        let (Some(name), Some(body)) = (function.child_by_field_name("name"), function.child_by_field_name("body"))
        else {
            continue;
        };
        if role_of(function, text).is_some() {
            found.push(TestBody {
                names: vec![text_of(name, text).to_owned()],
                is_template: false,
                lines: lines_of(function),
                whole: function.byte_range(),
                name: name.byte_range(),
                body: body.byte_range(),
            });
        }
    }
    found
}
