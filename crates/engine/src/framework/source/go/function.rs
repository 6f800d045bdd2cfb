//! A function of a test: which kind it is, and what it is given.

use tree_sitter::Node;

use crate::framework::source::TestBody;
use crate::framework::source::nodes::{children, node_at, text_of};

/// The kind of test that a function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// `TestX(t *testing.T)`, `FuzzX(f *testing.F)`.
    Test,
    /// `ExampleX()` whose output is compared.
    Example,
}

pub(super) fn role_of(function: Node<'_>, text: &str) -> Option<Role> {
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
pub(super) fn parameters<'t>(function: Node<'_>, text: &'t str) -> Vec<(Option<&'t str>, &'t str)> {
    let list = function.child_by_field_name("parameters").map(children).unwrap_or_default();
    list.into_iter()
        .flat_map(|one| {
            let kind = one.child_by_field_name("type").map(|kind| text_of(kind, text)).unwrap_or_default();
            let names: Vec<_> = one.children_by_field_name("name", &mut one.walk()).collect();
            let names: Vec<Option<&str>> = names.into_iter().map(|name| Some(text_of(name, text))).collect();
            // A parameter without a name (`func(*testing.T)`) still has a type.
            let names = if names.is_empty() { vec![None] } else { names };
            names.into_iter().map(move |name| (name, kind))
        })
        .collect()
}

/// The function of a test.
pub(super) fn function_of<'t>(root: Node<'t>, test: &TestBody) -> Option<Node<'t>> {
    node_at(root, &test.whole, "function_declaration")
}

/// The operand and the field of a called selector: `t` and `Run` of `t.Run(…)`.
pub(super) fn called<'t>(call: Node<'t>, text: &'t str) -> Option<(&'t str, &'t str)> {
    let function = call.child_by_field_name("function").filter(|function| function.kind() == "selector_expression")?;
    Some((
        text_of(function.child_by_field_name("operand")?, text),
        text_of(function.child_by_field_name("field")?, text),
    ))
}

pub(super) fn arguments(call: Node<'_>) -> Vec<Node<'_>> {
    call.child_by_field_name("arguments").map(children).unwrap_or_default()
}
