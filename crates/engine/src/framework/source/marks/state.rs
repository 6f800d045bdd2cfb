//! Values of a module that functions store something in: what one caller stores, another one finds.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides, names_once};

/// The kinds of nodes that may store something.
const WRITING: [&str; 9] = [
    "assignment",
    "augmented_assignment",
    "assignment_expression",
    "augmented_assignment_expression",
    "update_expression",
    "subscript",
    "subscript_expression",
    "call_expression",
    "call",
];

/// The first value that functions store something in, and did not before.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    let is_meant = matches!(sides.language, Language::Python | Language::JavaScript);
    let stored = |side: Side<'_>| if is_meant { stored(side) } else { Vec::new() };
    let all = |side: Side<'_>| [stored(side), of_classes(side)].concat();
    let old: BTreeSet<String> = all(sides.old).into_iter().map(|(_, name)| name).collect();
    let (line, name) = all(sides.new).into_iter().find(|(_, name)| !old.contains(name))?;
    Some(Mark { shape: Shape::KeepsState, line, said: format!("`{name}`") })
}

/// The names that functions store something in, with the line where each is made.
fn stored((root, text): Side<'_>) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    // Once for all names: a module may bind hundreds.
    let writing: Vec<Node<'_>> = descendants(root).filter(|node| WRITING.contains(&node.kind())).collect();
    for (name, made, value) in bindings(root, text) {
        let is_empty = value.is_none_or(|value| is_empty(value, text));
        // An encoder of the language's own is asked for answers; a store is told something, and its answer is nobody's.
        let is_tool = value.is_some_and(|value| is_tool(value, root, text));
        let tells = |node: Node<'_>| !is_tool || node.kind().starts_with("subscript") || is_unused(node);
        let writes = |node: Node<'_>| {
            (is_set(node, &name, text) || is_empty && is_filled(node, &name, text) && tells(node))
                // A module that fills its own table while it is loaded stores nothing of a caller's.
                && is_inside_function(node)
                // Last, since all of the functions around it are read for that.
                && !hides(node, &name, text)
        };
        if writing.iter().copied().any(writes) {
            found.push((lines_of(made).0, name));
        }
    }
    found
}

/// Containers of Python by the call that makes an empty one.
const EMPTY_CALLS: [&str; 5] = ["list()", "dict()", "set()", "deque()", "Counter()"];

/// Containers of JavaScript, as they are made.
const CONTAINERS: [&str; 5] = ["new Map", "new Set", "new WeakMap", "new WeakSet", "new Array"];
/// Calls that fill a container or take something out of it.
const FILLING: [&str; 13] = [
    ".append(",
    ".add(",
    ".push(",
    ".set(",
    ".update(",
    ".extend(",
    ".insert(",
    ".setdefault(",
    ".pop(",
    ".shift(",
    ".unshift(",
    ".remove(",
    ".delete(",
];

/// What a class holds for all of its objects, empty at first and never set for one of them, with the line where it is made.
fn of_classes((root, text): Side<'_>) -> Vec<(u32, String)> {
    let held = |node: Node<'_>| {
        let (name, value, class) = match node.kind() {
            "field_definition" | "public_field_definition" => {
                children_of_all(node).any(|part| text_of(part, text) == "static").then_some(())?;
                (
                    node.child_by_field_name("property").or_else(|| node.child_by_field_name("name"))?,
                    node.child_by_field_name("value")?,
                    node.parent()?,
                )
            }
            "assignment" => {
                let block = node.parent()?.parent().filter(|block| block.kind() == "block")?;
                let class = block.parent().filter(|class| class.kind() == "class_definition")?;
                (node.child_by_field_name("left")?, node.child_by_field_name("right")?, class)
            }
            _ => return None,
        };
        let spelled = text_of(value, text);
        let is_empty = match value.kind() {
            "call" => EMPTY_CALLS.contains(&spelled),
            _ => is_empty(value, text),
        };
        let (name, whole) = (text_of(name, text), text_of(class, text));
        let is_own = ["self", "this"]
            .iter()
            .any(|one| [" =", ":"].iter().any(|sign| whole.contains(&format!("{one}.{name}{sign}"))));
        // What an object only reads may be set by a class below.
        let fills = |line: &str| {
            let behind = line.split_once(&format!(".{name}")).map(|(_, behind)| behind);
            behind.is_some_and(|behind| {
                FILLING.iter().any(|call| behind.starts_with(call))
                    || behind.starts_with('[') && behind.contains("] = ")
            })
        };
        let is_filled = whole.lines().any(fills);
        let is_container =
            !matches!(value.kind(), "new_expression") || CONTAINERS.iter().any(|one| spelled.starts_with(one));
        (is_empty && is_container && !is_own && is_filled).then(|| (lines_of(node).0, name.to_owned()))
    };
    descendants(root).filter_map(held).collect()
}

/// All parts of a node, its signs and keywords among them.
fn children_of_all(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    (0..node.child_count()).filter_map(move |at| node.child(u32::try_from(at).ok()?))
}

/// The names that a module binds, each with its place and value.
fn bindings<'t>(root: Node<'t>, text: &str) -> Vec<(String, Node<'t>, Option<Node<'t>>)> {
    let mut found = Vec::new();
    for statement in children(root) {
        let inner = if statement.kind() == "export_statement" {
            statement.child_by_field_name("declaration")
        } else {
            Some(statement)
        };
        for node in inner.into_iter().flat_map(children) {
            let (name, value) = match node.kind() {
                "assignment" => (node.child_by_field_name("left"), node.child_by_field_name("right")),
                "variable_declarator" => (node.child_by_field_name("name"), node.child_by_field_name("value")),
                _ => continue,
            };
            if let Some(name) = name.filter(|name| name.kind() == "identifier") {
                found.push((text_of(name, text).to_owned(), node, value));
            }
        }
    }
    found
}

/// Whether a value is made by what the language brings along and is none that holds others: `new TextEncoder()`, `string.Formatter()`.
fn is_tool(value: Node<'_>, root: Node<'_>, text: &str) -> bool {
    const CONTAINERS: [&str; 12] = [
        "Map",
        "Set",
        "WeakMap",
        "WeakSet",
        "Array",
        "Object",
        "Counter",
        "OrderedDict",
        "defaultdict",
        "deque",
        "count",
        "SimpleNamespace",
    ];
    let Some(made) = value.child_by_field_name("constructor").or_else(|| value.child_by_field_name("function")) else {
        return false;
    };
    let spelled = text_of(made, text);
    let (module, name) = spelled.rsplit_once('.').unwrap_or(("", spelled));
    let brings =
        |node: Node<'_>| matches!(node.kind(), "import_statement" | "class_declaration" | "function_declaration");
    // A module of Python's is imported whole by its name; a name of JavaScript's own is bound nowhere.
    let is_theirs = match made.kind() {
        "attribute" => descendants(root).any(|node| {
            node.kind() == "import_statement"
                && text_of(node, text).strip_prefix("import ").map(str::trim) == Some(module)
        }),
        "identifier" if value.kind() == "new_expression" => {
            !descendants(root).any(|node| brings(node) && names_once(node, text).contains(name))
        }
        _ => false,
    };
    is_theirs && !CONTAINERS.contains(&name)
}

/// Whether nobody asks for the value of a call.
fn is_unused(call: Node<'_>) -> bool {
    call.parent().is_some_and(|around| around.kind() == "expression_statement")
}

/// Whether a value holds nothing yet: what is stored in it comes from callers.
fn is_empty(value: Node<'_>, text: &str) -> bool {
    match value.kind() {
        "list" | "dictionary" | "array" | "object" => children(value).is_empty(),
        // `new Map([[…]])` is a table that is there from the start.
        "new_expression" => value.child_by_field_name("arguments").is_none_or(|given| children(given).is_empty()),
        // Another value may be made by any call; one with a text in it, or before it, is told what it is for.
        "call" if is_of_text(value) => false,
        "call" => value.child_by_field_name("arguments").is_some_and(|given| {
            children(given).iter().all(|one| one.kind() == "identifier" && !text_of(*one, text).starts_with("__"))
        }),
        _ => false,
    }
}

/// Whether a method of a text is called.
fn is_of_text(call: Node<'_>) -> bool {
    let called = call.child_by_field_name("function").and_then(|called| called.child_by_field_name("object"));
    called.is_some_and(|object| object.kind() == "string")
}

fn is_inside_function(node: Node<'_>) -> bool {
    let mut around = node.parent();
    while let Some(node) = around {
        if is_function(node) {
            return true;
        }
        around = node.parent();
    }
    false
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_definition"
            | "function_declaration"
            | "arrow_function"
            | "method_definition"
            | "function_expression"
            | "lambda"
    )
}

/// Whether a name means something else where a node stands: a function around it has one of its own.
fn hides(node: Node<'_>, name: &str, text: &str) -> bool {
    let mut around = node.parent();
    while let Some(node) = around {
        if is_function(node) && binds(node, name, text) {
            return true;
        }
        around = node.parent();
    }
    false
}

fn binds(function: Node<'_>, name: &str, text: &str) -> bool {
    let given = function.child_by_field_name("parameters").or_else(|| function.child_by_field_name("parameter"));
    let is_given = given.is_some_and(|given| names_once(given, text).contains(name));
    let is_python = matches!(function.kind(), "function_definition" | "lambda");
    let mut inner = descendants(function);
    // In Python an assignment binds a name of the function's own, unless `global` says otherwise.
    let is_global = is_python
        && descendants(function).any(|node| node.kind() == "global_statement" && names_once(node, text).contains(name));
    is_given
        || inner.any(|node| match node.kind() {
            "variable_declarator" => is_field(node, "name", name, text),
            "assignment" => is_python && !is_global && is_field(node, "left", name, text),
            _ => false,
        })
}

fn is_field(node: Node<'_>, field: &str, name: &str, text: &str) -> bool {
    node.child_by_field_name(field).is_some_and(|node| node.kind() == "identifier" && text_of(node, text) == name)
}

/// Whether a node gives the name another value.
fn is_set(node: Node<'_>, name: &str, text: &str) -> bool {
    let sets = matches!(
        node.kind(),
        "assignment" | "augmented_assignment" | "assignment_expression" | "augmented_assignment_expression"
    );
    let counts = node.kind() == "update_expression" && is_field(node, "argument", name, text);
    counts || sets && is_field(node, "left", name, text)
}

/// Whether a node stores something in what the name stands for, or takes a part out of it that others get too.
fn is_filled(node: Node<'_>, name: &str, text: &str) -> bool {
    match node.kind() {
        "subscript" => is_field(node, "value", name, text),
        "subscript_expression" => is_field(node, "object", name, text),
        "call_expression" | "call" => {
            let called = node.child_by_field_name("function");
            called.is_some_and(|called| {
                matches!(called.kind(), "member_expression" | "attribute") && is_field(called, "object", name, text)
            })
        }
        _ => false,
    }
}
