//! Go: functions that `go test` calls, with the subtests in them.

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

use super::nodes::{children, descendants, node_at, text_of};
use super::{TestBody, lines_of};

/// What kind of test a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// `TestX(t *testing.T)`, `FuzzX(f *testing.F)`.
    Test,
    /// `ExampleX()` whose output is compared.
    Example,
}

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

fn role_of(function: Node<'_>, text: &str) -> Option<Role> {
    let name = text_of(function.child_by_field_name("name")?, text);
    // `Testing` is none.
    let is_of = |kind: &str| name.strip_prefix(kind).is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()));
    let parameter = parameters(function, text);
    let takes = |kind: &str| parameter.iter().map(|(_, one)| *one).eq([kind]);
    if (is_of("Test") && takes("*testing.T")) || (is_of("Fuzz") && takes("*testing.F")) {
        return Some(Role::Test);
    }
    // Without this comment it is compiled only.
    let has_output = || {
        let body = text_of(function, text).to_ascii_lowercase();
        body.contains("// output:") || body.contains("// unordered output:")
    };
    (is_of("Example") && parameter.is_empty() && has_output()).then_some(Role::Example)
}

/// Each parameter's name and type.
fn parameters<'t>(function: Node<'_>, text: &'t str) -> Vec<(Option<&'t str>, &'t str)> {
    let list = function.child_by_field_name("parameters").map(children).unwrap_or_default();
    list.into_iter()
        .flat_map(|one| {
            let kind = one.child_by_field_name("type").map(|kind| text_of(kind, text)).unwrap_or_default();
            let names: Vec<_> = one.children_by_field_name("name", &mut one.walk()).collect();
            let names: Vec<Option<&str>> = names.into_iter().map(|name| Some(text_of(name, text))).collect();
            let names = if names.is_empty() { vec![None] } else { names };
            names.into_iter().map(move |name| (name, kind))
        })
        .collect()
}

/// The function of a test.
fn function_of<'t>(root: Node<'t>, test: &TestBody) -> Option<Node<'t>> {
    node_at(root, &test.whole, "function_declaration")
}

/// The operand and the field of a called selector: `t` and `Run` of `t.Run(…)`.
fn called<'t>(call: Node<'t>, text: &'t str) -> Option<(&'t str, &'t str)> {
    let function = call.child_by_field_name("function").filter(|function| function.kind() == "selector_expression")?;
    Some((
        text_of(function.child_by_field_name("operand")?, text),
        text_of(function.child_by_field_name("field")?, text),
    ))
}

fn arguments(call: Node<'_>) -> Vec<Node<'_>> {
    call.child_by_field_name("arguments").map(children).unwrap_or_default()
}
