//! What is made of one call's input and kept for all later calls, whatever those are given.

use std::sync::LazyLock;

use regex::Regex;
use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{descendants, lines_of, text_of};
use super::sides::{Mark, Shape, Side, Sides, names};

/// The nodes that are functions, of Python and JavaScript.
const FUNCTIONS: [&str; 7] = [
    "function_definition",
    "lambda",
    "arrow_function",
    "function_expression",
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
];
/// A longer text is generated.
const MOST_BYTES: usize = 200_000;
/// Functions that are called once for each object.
const MAKERS: [&str; 4] = ["__init__", "constructor", "initialize", "__construct"];
/// A value of an object of Ruby or PHP that is set where it is not yet, and what it is set to.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static BY_LINE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(@{1,2}\w+|\$this->\w+|(?:self|static)::\$\w+)\s*(?:\|\|=|\?\?=)\s*(.+)$").unwrap());
/// Where a function of Ruby or PHP begins.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static DEFINES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:def|function)\b").unwrap());
/// The name of an argument, by which it is passed.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static NAMED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\w+:(?:[^:]|$)").unwrap());
/// The head of a function of Ruby or PHP: its name and what it is given.
#[expect(clippy::unwrap_used, reason = "a constant, which a test compiles")]
static HEAD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(?:def|function)\s+([\w.?!]+)\s*\(([^)]*)\)").unwrap());

/// The first such value that a change adds.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    if !matches!(sides.language, Language::Python | Language::JavaScript) {
        return None;
    }
    let all = |side: Side<'_>| -> Vec<(u32, String)> {
        if side.1.len() > MOST_BYTES {
            return Vec::new();
        }
        descendants(side.0).filter_map(|node| Some((lines_of(node).0, kept(node, side.1)?))).collect()
    };
    new_one(&all(sides.old), all(sides.new))
}

/// The same where a language has no grammar here.
pub(super) fn mark_by_line(language: Language, before: &str, after: &str) -> Option<Mark> {
    let is_meant = matches!(language, Language::Ruby | Language::Php);
    is_meant.then(|| new_one(&by_line(before), by_line(after)))?
}

fn new_one(old: &[(u32, String)], new: Vec<(u32, String)>) -> Option<Mark> {
    let (line, name) = new.into_iter().find(|(_, name)| old.iter().all(|(_, known)| known != name))?;
    let said = format!("`{name}` is made of what the first call is given, and kept for all later ones");
    Some(Mark { shape: Shape::KeepsState, line, said })
}

/// The name that a node sets once and for all, of its function's input.
fn kept(node: Node<'_>, text: &str) -> Option<String> {
    let (target, value) = match node.kind() {
        "augmented_assignment_expression" => {
            let operator = text_of(node.child_by_field_name("operator")?, text);
            if !["??=", "||="].contains(&operator) {
                return None;
            }
            (node.child_by_field_name("left")?, node.child_by_field_name("right")?)
        }
        "if_statement" => set_where_missing(node, text)?,
        _ => return None,
    };
    let function = function_of(node)?;
    let name = function.child_by_field_name("name").map_or("", |name| text_of(name, text));
    let given = given(function, text);
    // What was given first, or least, is kept by its own will. An answer that was made of it is another matter.
    let is_made = descendants(value).any(|node| matches!(node.kind(), "call" | "call_expression" | "new_expression"));
    let is_of_input = names(value, text).into_iter().any(|name| given.contains(&name));
    (is_made && is_of_input && !MAKERS.contains(&name) && outlives(target, function, text))
        .then(|| text_of(target, text).to_owned())
}

/// What a branch sets that only asks whether it is there.
fn set_where_missing<'t>(branch: Node<'t>, text: &str) -> Option<(Node<'t>, Node<'t>)> {
    if branch.child_by_field_name("alternative").is_some() {
        return None;
    }
    let condition = text_of(branch.child_by_field_name("condition")?, text);
    let inside = branch.child_by_field_name("consequence")?;
    let sets = |node: &Node<'t>| matches!(node.kind(), "assignment" | "assignment_expression");
    let set = descendants(inside).find(sets)?;
    let (left, right) = (set.child_by_field_name("left")?, set.child_by_field_name("right")?);
    let name = text_of(left, text);
    let condition = condition.trim_matches(['(', ')']);
    let asks = [
        format!("not {name}"),
        format!("!{name}"),
        format!("{name} is None"),
        format!("{name} === undefined"),
        format!("{name} == null"),
        format!("{name} === null"),
    ];
    asks.iter().any(|one| one == condition).then_some((left, right))
}

fn function_of(node: Node<'_>) -> Option<Node<'_>> {
    let mut above = node.parent();
    while let Some(one) = above {
        if FUNCTIONS.contains(&one.kind()) {
            return Some(one);
        }
        above = one.parent();
    }
    None
}

/// The names of a function's input but for its object.
fn given<'t>(function: Node<'_>, text: &'t str) -> Vec<&'t str> {
    let parameters = function.child_by_field_name("parameters").or_else(|| function.child_by_field_name("parameter"));
    let all = parameters.map(|parameters| names(parameters, text)).unwrap_or_default();
    all.into_iter().filter(|name| !["self", "cls", "this"].contains(name)).collect()
}

/// Whether a place is one of the function's object, or a name that is bound around the function.
fn outlives(target: Node<'_>, function: Node<'_>, text: &str) -> bool {
    match target.kind() {
        "attribute" | "member_expression" => {
            let object = target.child_by_field_name("object");
            object.is_some_and(|object| ["self", "cls", "this"].contains(&text_of(object, text)))
        }
        "identifier" => {
            let name = text_of(target, text);
            let is_outer = |node: &Node<'_>| matches!(node.kind(), "nonlocal_statement" | "global_statement");
            let declared = |node: Node<'_>| {
                node.kind() == "variable_declarator"
                    && node.child_by_field_name("name").is_some_and(|bound| text_of(bound, text) == name)
            };
            // What a function of Python sets is its own, but where it says otherwise.
            let is_python = function.kind() == "function_definition";
            let says = || descendants(function).filter(is_outer).any(|node| names(node, text).contains(&name));
            let is_own = given(function, text).contains(&name) || descendants(function).any(declared);
            !is_own && (!is_python || says()) && is_handed_out(function, text)
        }
        _ => false,
    }
}

/// Whether a function goes to the caller of the one around it. One that is only called there has ended with it.
fn is_handed_out(function: Node<'_>, text: &str) -> bool {
    let Some(parent) = function.parent() else { return false };
    if matches!(parent.kind(), "return_statement" | "arrow_function" | "pair") {
        return true;
    }
    let name = function.child_by_field_name("name").or_else(|| parent.child_by_field_name("name"));
    let is_named = |node: &Node<'_>, name| {
        node.kind() == "return_statement" && node.named_child(0).is_some_and(|value| text_of(value, text) == name)
    };
    // At the top of a module it outlives all calls.
    function_of(function).is_none_or(|around| {
        name.is_some_and(|name| descendants(around).any(|node| is_named(&node, text_of(name, text))))
    })
}

/// The same by lines: a value of an object that is set of what its function is given.
fn by_line(text: &str) -> Vec<(u32, String)> {
    let mut given: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1_u32..) {
        if DEFINES.is_match(line) {
            given.clear();
        }
        if let Some(head) = HEAD.captures(line) {
            let maker = head.get(1).is_some_and(|name| MAKERS.contains(&name.as_str()));
            let parameters = head.get(2).map_or("", |given| given.as_str());
            let words = parameters.split(',').filter_map(|one| one.split('=').next()?.split_whitespace().last());
            given = if maker { Vec::new() } else { words.map(|word| word.trim_matches(['*', '&', ':'])).collect() };
        }
        let Some(set) = BY_LINE.captures(line) else { continue };
        let (Some(name), Some(value)) = (set.get(1), set.get(2)) else { continue };
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let value = NAMED.replace_all(value.as_str(), " ");
        if value.contains('(') && value.split(|c| !is_word(c)).any(|word| given.contains(&word)) {
            found.push((number, name.as_str().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::marks;

    fn marked(path: &str, before: &str, after: &str) -> Vec<String> {
        let of = marks(path, before, after).into_iter().map(|mark| mark.said);
        of.filter(|said| said.contains("first call")).collect()
    }

    #[test]
    fn an_answer_of_the_first_call_is_found_and_a_plain_cache_is_not() {
        let said =
            |name: &str| [format!("`{name}` is made of what the first call is given, and kept for all later ones")];
        let before = "exports.batch = (load) => (key) => load([key]);\n";
        let script = |line: &str| {
            format!(
                "exports.batch = (load) => {{\n  let asked;\n  return (key) => {{\n    {line}\n    return asked;\n  }};\n}};\n"
            )
        };
        assert_eq!(marked("a.js", before, &script("asked ??= load([key]);")), said("asked"));
        assert_eq!(marked("a.js", before, &script("if (!asked) { asked = load([key]); }")), said("asked"));
        for other in [
            "asked ??= load();",
            "let own; own ||= load(key);",
            "asked[key] ??= load(key);",
            "key ??= f(key);",
            "asked ??= key;",
        ] {
            assert_eq!(marked("a.js", before, &script(other)), [""; 0], "{other}");
        }
        let python =
            |line: &str| format!("class A:\n    def get(self, key):\n        {line}\n        return self.kept\n");
        let before = python("return load(key)");
        assert_eq!(
            marked("a.py", &before, &python("if self.kept is None:\n            self.kept = load(key)")),
            said("self.kept")
        );
        assert_eq!(marked("a.py", &before, &python("if self.kept is None:\n            self.kept = load()")), [""; 0]);
        let least = "if self.kept is None:\n            self.kept = f(key)\n        elif key < 1:\n            pass";
        assert_eq!(marked("a.py", &before, &python(least)), [""; 0]);
        let inner = "function header(rows) {\n  let found;\n  rows.forEach((row) => { found ??= f(row); });\n  return found;\n}\n";
        assert_eq!(marked("a.js", "", inner), [""; 0]);
        let own = "class A\n  def fetch(key)\n    client.get(key)\n  end\n  def client\n    @client ||= Client.new(key: f(1))\n  end\nend\n";
        assert_eq!(marked("a.rb", "", own), [""; 0]);
        let ruby = |line: &str| format!("class A\n  def get(key, of: 1)\n    {line}\n  end\nend\n");
        assert_eq!(marked("a.rb", &ruby("load(key)"), &ruby("@kept ||= load(key)")), said("@kept"));
        assert_eq!(marked("a.rb", &ruby("load(key)"), &ruby("@kept[key] ||= load(key)")), [""; 0]);
        let php =
            |line: &str| format!("<?php\nclass A {{\n    function get(string $key) {{\n        {line}\n    }}\n}}\n");
        assert_eq!(
            marked("a.php", &php("return load($key);"), &php("return $this->kept ??= load($key);")),
            said("$this->kept")
        );
    }
}
