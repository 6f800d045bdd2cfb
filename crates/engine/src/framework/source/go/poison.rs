//! A test that is made to fail.

use tree_sitter::Node;

use super::function::{Role, arguments, called, function_of, parameters, role_of};
use crate::framework::source::nodes::{children, descendants, reversed, text_of};
use crate::framework::source::{Edit, Means, Place, Poison, TestBody};

/// Packages whose `Equal(t, a, b)` is an assertion.
const ASSERTIONS: [&str; 4] = [
    "github.com/stretchr/testify/require",
    "github.com/stretchr/testify/assert",
    "gotest.tools/v3/assert",
    "gotest.tools/assert",
];

/// See [`crate::framework::source::Source::poisoned`].
pub(in super::super) fn poisoned(root: Node<'_>, text: &str, test: &TestBody, poison: &Poison) -> Option<Vec<Edit>> {
    let function = function_of(root, test)?;
    let word = &poison.word;
    if role_of(function, text)? == Role::Example {
        // It is judged by what it prints.
        let name = package(root, text, &["fmt"])?;
        let failure = format!("{name}.Println(\"{word}\")");
        let inserted = if poison.place == Place::First { failure } else { format!("defer {failure}") };
        return Some(vec![insertion(function, &inserted)?]);
    }
    let subtests = innermost_subtests(function, text);
    // A subtest's failure has to be its own: the parent's would not name it.
    let bodies = if subtests.is_empty() { vec![function] } else { subtests };
    let edit = |body: Node<'_>| {
        let argument = parameters(body, text).first().and_then(|(name, _)| *name).filter(|name| *name != "_")?;
        let inserted = match poison.place {
            Place::First => {
                // `FailNow` ends the test: nothing of the product has run in it.
                match assertion(root, function, argument, poison, text) {
                    Some(assertion) => assertion,
                    None => format!("if len(\"{word}\") > 0 {{ {argument}.Fatal(\"{word}\") }}"),
                }
            }
            Place::Last => {
                let failure = assertion(root, function, argument, poison, text)
                    .unwrap_or_else(|| format!("{argument}.Error(\"{word}\")"));
                // Deferred, so that it also comes when the test returns early. `Error` lets the rest run.
                format!("defer func() {{ {failure} }}()")
            }
        };
        insertion(body, &inserted)
    };
    bodies.into_iter().map(edit).collect()
}

/// The assertion that the file uses.
fn assertion(root: Node<'_>, function: Node<'_>, argument: &str, poison: &Poison, text: &str) -> Option<String> {
    (poison.means == Means::Assertion).then_some(())?;
    let (one, other) = (&poison.word, reversed(&poison.word));
    // `assert := assert.New(t)` hides the package.
    let is_hidden = |name: &str| {
        text_of(function, text).contains(&format!("{name} :="))
            || text_of(function, text).contains(&format!("{name} ="))
    };
    Some(match package(root, text, &ASSERTIONS).filter(|name| !is_hidden(name)) {
        Some(name) => format!("{name}.Equal({argument}, \"{one}\", \"{other}\")"),
        None => {
            format!("if \"{one}\" != \"{other}\" {{ {argument}.Errorf(\"got %q, want %q\", \"{one}\", \"{other}\") }}")
        }
    })
}

fn insertion(function: Node<'_>, statement: &str) -> Option<Edit> {
    let body = function.child_by_field_name("body")?;
    // In the same line, so that no line number of the test changes.
    Some(Edit::insert(body.start_byte() + 1, format!(" {statement};")))
}

/// The functions of `t.Run` that hold no other.
fn innermost_subtests<'t>(function: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let all: Vec<Node<'t>> = descendants(function).filter_map(|call| subtest(call, text)).collect();
    let holds_other = |one: &Node<'t>| all.iter().any(|other| other != one && contains(*one, *other));
    all.iter().filter(|one| !holds_other(one)).copied().collect()
}

fn subtest<'t>(call: Node<'t>, text: &str) -> Option<Node<'t>> {
    (call.kind() == "call_expression" && called(call, text)?.1 == "Run").then_some(())?;
    let function = arguments(call).get(1).copied().filter(|function| function.kind() == "func_literal")?;
    let kinds: Vec<&str> = parameters(function, text).into_iter().map(|(_, kind)| kind).collect();
    (kinds == ["*testing.T"]).then_some(function)
}

fn contains(one: Node<'_>, other: Node<'_>) -> bool {
    one.start_byte() <= other.start_byte() && other.end_byte() <= one.end_byte()
}

/// The file's name for the first of some packages that it imports.
fn package<'t>(root: Node<'_>, text: &'t str, wanted: &[&str]) -> Option<&'t str> {
    let imports: Vec<Node<'_>> = children(root)
        .into_iter()
        .filter(|item| item.kind() == "import_declaration")
        .flat_map(descendants)
        .filter(|node| node.kind() == "import_spec")
        .collect();
    let name_of = |path: &&str| {
        let spec = imports.iter().find(|spec| {
            spec.child_by_field_name("path").is_some_and(|one| text_of(one, text).trim_matches(['"', '`']) == *path)
        })?;
        match spec.child_by_field_name("name") {
            // Names of `import . "x"` have no package before them, and `_` binds none.
            Some(name) => Some(text_of(name, text)).filter(|name| !matches!(*name, "." | "_")),
            None => text_of(spec.child_by_field_name("path")?, text).trim_matches(['"', '`']).rsplit('/').next(),
        }
    };
    wanted.iter().find_map(name_of)
}
