//! The literals that assertions of equality expect, and other ones of their type.

use std::ops::Range;

use tree_sitter::Node;

use super::calls::{Call, call_of};
use super::poison::first_parameter;
use crate::framework::source::nodes::{children, descendants, lines_of, text_of};
use crate::framework::source::number::{self, FAR};
use crate::framework::source::parse::parse;
use crate::framework::source::{Expectation, Language, TestBody};

/// Matchers of jest and its like: `expect(value).toBe(wanted)`.
const MATCHERS: [&str; 3] = ["toBe", "toEqual", "toStrictEqual"];
/// The ends of chai's sentences: `expect(value).to.deep.equal(wanted)`.
const SENTENCES: [&str; 5] = ["equal", "equals", "eq", "eql", "eqls"];
/// Functions of two values: `assert.strictEqual(value, wanted)`.
const FUNCTIONS: [&str; 7] = ["equal", "strictEqual", "deepEqual", "deepStrictEqual", "is", "same", "strictSame"];
/// No sentence is longer than this.
const MOST_LINKS: usize = 12;
/// A number of this size may swallow what is added to it.
const LARGE: f64 = 1e15;

/// See [`crate::framework::source::Source::expectations`].
pub(in super::super) fn expectations(root: Node<'_>, text: &str, test: &TestBody) -> Vec<Expectation> {
    let Some(call) = call_of(root, text, test) else { return Vec::new() };
    let Some(function) = call.function else { return Vec::new() };
    let Some(body) = function.child_by_field_name("body") else { return Vec::new() };
    let context = first_parameter(function, text);
    let mut found = Vec::new();
    for node in descendants(body) {
        let Some((value, wanted)) = compared(node, context, text) else { continue };
        let literal = |side: Node<'_>| is_literal(side).then(|| vec![side.byte_range()]);
        let named = |side: Node<'_>| {
            let is_name = side.kind() == "identifier";
            is_name.then(|| bound(text_of(side, text), body, &call, root, text)).flatten()
        };
        let places = literal(wanted).or_else(|| literal(value)).or_else(|| named(wanted)).or_else(|| named(value));
        found.extend(places.map(|places| Expectation { lines: lines_of(node), places }));
    }
    found.sort_by_key(|expectation| expectation.lines);
    found
}

/// See [`crate::framework::source::Source::joined`].
pub(in super::super) fn wanted(root: Node<'_>, text: &str, test: &TestBody) -> Vec<((u32, u32), Range<usize>)> {
    let function = call_of(root, text, test).and_then(|call| call.function);
    let Some(body) = function.and_then(|function| function.child_by_field_name("body")) else { return Vec::new() };
    let context = function.and_then(|function| first_parameter(function, text));
    let of = |node| {
        let (_, wanted) = compared(node, context, text)?;
        // `...args` is no value that could be put into a list by itself.
        (wanted.kind() != "spread_element").then(|| (lines_of(node), wanted.byte_range()))
    };
    descendants(body).filter_map(of).collect()
}

/// The two sides of an assertion of equality: the value, and what is expected.
fn compared<'t>(node: Node<'t>, context: Option<&str>, text: &str) -> Option<(Node<'t>, Node<'t>)> {
    (node.kind() == "call_expression").then_some(())?;
    let function = node.child_by_field_name("function")?;
    let arguments = children(node.child_by_field_name("arguments")?);
    if function.kind() == "identifier" {
        // Without its object `equal`, `is` or `same` may be any function. `strictEqual` and `deepEqual` are not.
        let is_equality = FUNCTIONS.iter().skip(1).take(3).any(|name| *name == text_of(function, text));
        return is_equality.then(|| Some((*arguments.first()?, *arguments.get(1)?))).flatten();
    }
    (function.kind() == "member_expression").then_some(())?;
    let property = text_of(function.child_by_field_name("property")?, text);
    let object = function.child_by_field_name("object")?;
    if MATCHERS.contains(&property) || SENTENCES.contains(&property) {
        let by_sentence = subject(object, text).and_then(|value| Some((value, *arguments.first()?)));
        if by_sentence.is_some() {
            return by_sentence;
        }
    }
    let name = text_of(object, text);
    let asserts = matches!(name, "assert" | "assert.strict" | "chai.assert" | "t" | "t.assert")
        || context.is_some_and(|context| name == context || name == format!("{context}.assert"));
    (asserts && FUNCTIONS.contains(&property)).then_some(())?;
    Some((*arguments.first()?, *arguments.get(1)?))
}

/// The subject of a sentence that holds no `not`: `expect(value).to.deep`, `value.should`.
fn subject<'t>(sentence: Node<'t>, text: &str) -> Option<Node<'t>> {
    let mut node = sentence;
    for _ in 0..MOST_LINKS {
        match node.kind() {
            "member_expression" => {
                let word = text_of(node.child_by_field_name("property")?, text);
                let object = node.child_by_field_name("object")?;
                match word {
                    "not" => return None,
                    "should" => return Some(object),
                    _ => node = object,
                }
            }
            "call_expression" => {
                let function = text_of(node.child_by_field_name("function")?, text);
                let is_expect = matches!(function, "expect" | "expect.soft" | "chai.expect");
                return is_expect.then(|| children(node.child_by_field_name("arguments")?).first().copied()).flatten();
            }
            _ => return None,
        }
    }
    None
}

/// Where the value of a name is written: once in the body, or in the table that the test is called with.
fn bound(name: &str, body: Node<'_>, call: &Call<'_>, root: Node<'_>, text: &str) -> Option<Vec<Range<usize>>> {
    let values = written(name, body, text);
    let uses = uses(name, body, text);
    match values.as_slice() {
        // Where it is bound and where it is compared.
        [Some(value)] if uses == 2 => is_literal(*value).then(|| vec![value.byte_range()]),
        [] if uses == 1 => column(name, call, root, text),
        _ => None,
    }
}

/// How often a name stands in a body: what else uses it would move with the expectation (`decode(encode(x))` is `x` for every `x`).
fn uses(name: &str, body: Node<'_>, text: &str) -> usize {
    let is_name = |node: &Node<'_>| {
        matches!(node.kind(), "identifier" | "shorthand_property_identifier" | "shorthand_property_identifier_pattern")
            && text_of(*node, text) == name
    };
    descendants(body).filter(is_name).count()
}

/// The values that a name gets. `None` among them for one that is only declared or changed.
fn written<'t>(name: &str, place: Node<'t>, text: &str) -> Vec<Option<Node<'t>>> {
    let value = |node: Node<'t>| {
        let is_named =
            |field: &str| node.child_by_field_name(field).is_some_and(|target| text_of(target, text) == name);
        match node.kind() {
            "variable_declarator" if is_named("name") => Some(node.child_by_field_name("value")),
            "assignment_expression" if is_named("left") => Some(node.child_by_field_name("right")),
            "augmented_assignment_expression" if is_named("left") => Some(None),
            "update_expression" if is_named("argument") => Some(None),
            _ => None,
        }
    };
    descendants(place).filter_map(value).collect()
}

/// Where in a row a parameter's value stands.
enum Cell<'t> {
    /// The whole row, if it is no list. Else its only value.
    Whole,
    At(usize),
    Key(&'t str),
}

/// The literals of one column of a table.
fn column(name: &str, call: &Call<'_>, root: Node<'_>, text: &str) -> Option<Vec<Range<usize>>> {
    let cell = cell_of(name, call.function?, text)?;
    let table = call.table?;
    let cells: Option<Vec<Node<'_>>> = if table.kind() == "template_string" {
        let Cell::Key(key) = cell else { return None };
        // The first line names the columns: `` each`a | b | sum` ``.
        let head = text.get(table.start_byte() + 1..children(table).iter().find(|part| is_gap(part))?.start_byte())?;
        let heads: Vec<&str> = head.lines().find(|line| !line.trim().is_empty())?.split('|').map(str::trim).collect();
        let at = heads.iter().position(|one| *one == key)?;
        let gaps = children(table).into_iter().filter(is_gap);
        // A gap for each cell, row by row.
        gaps.skip(at).step_by(heads.len()).map(|gap| gap.named_child(0)).collect()
    } else {
        let rows = unwrapped(children(table).first().copied()?);
        let rows = match rows.kind() {
            "array" => rows,
            "identifier" => match written(text_of(rows, text), root, text).as_slice() {
                [Some(value)] => unwrapped(*value),
                _ => return None,
            },
            _ => return None,
        };
        (rows.kind() == "array").then_some(())?;
        children(rows).into_iter().map(|row| cell_in(unwrapped(row), &cell, text)).collect()
    };
    let places = |cells: Vec<Node<'_>>| cells.iter().map(Node::byte_range).collect::<Vec<_>>();
    cells.filter(|cells| !cells.is_empty() && cells.iter().all(|cell| is_literal(*cell))).map(places)
}

fn is_gap(part: &Node<'_>) -> bool {
    part.kind() == "template_substitution"
}

/// Without `as const` and its like.
fn unwrapped(node: Node<'_>) -> Node<'_> {
    if matches!(node.kind(), "as_expression" | "satisfies_expression") {
        node.named_child(0).unwrap_or(node)
    } else {
        node
    }
}

/// Which cell of a row a name of a function's parameters is.
fn cell_of<'t>(name: &str, function: Node<'_>, text: &'t str) -> Option<Cell<'t>> {
    if let Some(single) = function.child_by_field_name("parameter") {
        return (text_of(single, text) == name).then_some(Cell::Whole);
    }
    let parameters = children(function.child_by_field_name("parameters")?);
    for (at, parameter) in parameters.iter().enumerate() {
        let pattern = parameter.child_by_field_name("pattern").unwrap_or(*parameter);
        match pattern.kind() {
            "identifier" if text_of(pattern, text) == name => {
                return Some(if parameters.len() == 1 { Cell::Whole } else { Cell::At(at) });
            }
            "object_pattern" if at == 0 => {
                if let Some(key) = children(pattern).iter().find_map(|part| key_of(*part, name, text)) {
                    return Some(Cell::Key(key));
                }
            }
            "array_pattern" if at == 0 => {
                if let Some(at) = children(pattern).iter().position(|part| text_of(*part, text) == name) {
                    return Some(Cell::At(at));
                }
            }
            _ => {}
        }
    }
    None
}

/// The key whose value a part of a pattern binds to a name.
fn key_of<'t>(part: Node<'_>, name: &str, text: &'t str) -> Option<&'t str> {
    match part.kind() {
        "shorthand_property_identifier_pattern" => Some(text_of(part, text)).filter(|key| *key == name),
        "pair_pattern" => {
            let value = part.child_by_field_name("value")?;
            (text_of(value, text) == name).then(|| part.child_by_field_name("key").map(|key| text_of(key, text)))?
        }
        _ => None,
    }
}

fn cell_in<'t>(row: Node<'t>, cell: &Cell<'_>, text: &str) -> Option<Node<'t>> {
    match (cell, row.kind()) {
        // jest spreads a row that is a list over the parameters, so a single one gets its first value.
        (Cell::Whole, "array") => children(row).first().copied(),
        (Cell::Whole, _) => Some(row),
        (Cell::At(at), "array") => children(row).get(*at).copied(),
        (Cell::Key(key), "object") => children(row).into_iter().find_map(|pair| {
            let is_key = pair.child_by_field_name("key").is_some_and(|one| text_of(one, text) == *key);
            is_key.then(|| pair.child_by_field_name("value")).flatten()
        }),
        _ => None,
    }
}

fn is_literal(node: Node<'_>) -> bool {
    match node.kind() {
        "number" | "string" | "true" | "false" | "array" | "object" => true,
        "template_string" => !children(node).iter().any(is_gap),
        "unary_expression" => node.child_by_field_name("argument").is_some_and(|value| value.kind() == "number"),
        _ => false,
    }
}

/// Another literal of the same type, far from the given one.
pub(in super::super) fn altered(literal: &str, word: &str) -> Option<String> {
    // In brackets an object is a value. Without them `{ … }` would be a block.
    let wrapped = format!("({literal})");
    let tree = parse(Language::JavaScript, &wrapped)?;
    let value = tree.root_node().named_child(0)?.named_child(0)?.named_child(0)?;
    is_literal(value).then_some(())?;
    let in_front = |what: &str| {
        let open: String = literal.chars().take(1).collect();
        let rest = literal.get(1..)?;
        let joint = if children(value).is_empty() { "" } else { ", " };
        Some(format!("{open}{what}{joint}{rest}"))
    };
    match value.kind() {
        "true" => Some("false".to_owned()),
        "false" => Some("true".to_owned()),
        "string" | "template_string" => {
            let (quote, rest) = literal.split_at_checked(1)?;
            Some(format!("{quote}{word}{rest}"))
        }
        "array" => in_front(&element_like(children(value).first().copied(), &wrapped, word)),
        "object" => in_front(&format!("\"{word}\": \"{word}\"")),
        _ => Some(far_from(literal)),
    }
}

/// A sum stays a number to the compiler, in every notation.
fn far_from(number: &str) -> String {
    if let Some(far) = number::far(number) {
        return far;
    }
    let plain = number.replace('_', "");
    if let Some(integer) = plain.strip_suffix('n').filter(|_| !plain.contains(['x', 'X'])) {
        return format!("({integer}n + {FAR}n)");
    }
    let is_large = plain.trim_start_matches('-').parse::<f64>().is_ok_and(|value| value >= LARGE);
    if is_large { format!("({number} / 2)") } else { format!("({number} + {FAR})") }
}

/// An element for a list, of the kind of its first one.
fn element_like(first: Option<Node<'_>>, text: &str, word: &str) -> String {
    match first.map(|first| (first.kind(), first)) {
        Some(("number" | "unary_expression", _)) => FAR.to_string(),
        Some(("true" | "false", _)) => "true".to_owned(),
        // Once more: the list gets longer than what is expected.
        Some(("array" | "object", first)) => text_of(first, text).to_owned(),
        _ => format!("\"{word}\""),
    }
}
