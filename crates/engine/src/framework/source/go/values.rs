//! The literals that a test's comparisons expect.

use std::ops::Range;

use tree_sitter::Node;

use super::function::{arguments, called, function_of};
use super::tables;
use crate::framework::source::nodes::{children, descendants, lines_of, text_of};
use crate::framework::source::{Expectation, TestBody};

/// Assertions of equality: `assert.Equal(t, wanted, value)`.
const EQUALITY: [&str; 8] =
    ["Equal", "Equalf", "EqualValues", "EqualValuesf", "Exactly", "Exactlyf", "EqualExportedValues", "DeepEqual"];
/// Packages whose `Equal` only answers.
const ANSWERS: [&str; 7] = ["bytes", "slices", "maps", "strings", "reflect", "cmp", "utf8"];
/// Methods that report a failure, in the branch of a comparison.
const FAILURES: [&str; 6] = ["Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"];
/// Types that a constant is converted to.
const CONVERSIONS: [&str; 17] = [
    "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "byte", "rune", "float32",
    "float64", "string", "[]byte", "bool",
];
/// No literal is wrapped deeper than this.
const MOST_DEPTH: usize = 12;

/// A comparison for equality in a test.
struct Comparison<'t> {
    /// The whole assertion.
    whole: Node<'t>,
    /// The nodes that are compared, or computed for it.
    compares: Vec<Node<'t>>,
    left: Node<'t>,
    right: Node<'t>,
}

/// See [`crate::framework::source::Source::expectations`].
pub(in super::super) fn expectations(root: Node<'_>, text: &str, test: &TestBody) -> Vec<Expectation> {
    let Some(function) = function_of(root, test) else { return Vec::new() };
    let Some(body) = function.child_by_field_name("body") else { return Vec::new() };
    let mut found = Vec::new();
    for node in descendants(body) {
        for one in comparisons(node, text) {
            let literal = |side: Node<'_>| leaf(side, text, MOST_DEPTH).map(|place| vec![place]);
            let named = |side: Node<'_>| bound(root, body, side, &one, text);
            // The right side first, where Go's people write what they want (`got != want`). A literal goes before a
            // name.
            let places = literal(one.right)
                .or_else(|| literal(one.left))
                .or_else(|| named(one.right))
                .or_else(|| named(one.left));
            found.extend(places.map(|places| Expectation { lines: lines_of(one.whole), places }));
        }
    }
    found
}

fn comparisons<'t>(node: Node<'t>, text: &'t str) -> Vec<Comparison<'t>> {
    match node.kind() {
        "if_statement" => of_branch(node, text).unwrap_or_default(),
        "call_expression" => of_call(node, text).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// `assert.Equal(t, wanted, value)`, `s.Equal(wanted, value)`.
fn of_call<'t>(call: Node<'t>, text: &'t str) -> Option<Comparison<'t>> {
    let (object, method) = called(call, text)?;
    (EQUALITY.contains(&method) && !ANSWERS.contains(&object)).then_some(())?;
    let all = arguments(call);
    let skip = usize::from(
        all.first()
            .is_some_and(|first| matches!(text_of(*first, text), "t" | "tt" | "b" | "f" | "s.T()" | "suite.T()")),
    );
    let (left, right) = (*all.get(skip)?, *all.get(skip + 1)?);
    // `want.Equal(value)` only answers.
    is_statement(call).then(|| Comparison { whole: call, compares: vec![left, right], left, right })
}

fn is_statement(call: Node<'_>) -> bool {
    call.parent().is_some_and(|parent| matches!(parent.kind(), "expression_statement" | "statement_list" | "block"))
}

/// `if got != wanted { t.Errorf(…) }`.
fn of_branch<'t>(branch: Node<'t>, text: &'t str) -> Option<Vec<Comparison<'t>>> {
    let consequence = branch.child_by_field_name("consequence")?;
    let fails = |node: Node<'_>| {
        node.kind() == "call_expression" && called(node, text).is_some_and(|(_, method)| FAILURES.contains(&method))
    };
    // A branch that reports nothing is no assertion: it may prepare something for one case.
    descendants(consequence).any(fails).then_some(())?;
    let condition = branch.child_by_field_name("condition")?;
    let computed = branch.child_by_field_name("initializer");
    let mut found = Vec::new();
    let mut waiting = vec![condition];
    while let Some(node) = waiting.pop() {
        let sides = match node.kind() {
            "binary_expression" => {
                let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
                match node.child_by_field_name("operator").map(|operator| text_of(operator, text))? {
                    // Each side alone makes the test fail. With `&&` neither does.
                    "||" => {
                        waiting.extend([right, left]);
                        continue;
                    }
                    "!=" => match computed.and_then(|computed| difference(computed, text)) {
                        Some(sides) => Some(sides),
                        None => Some((left, right)),
                    },
                    _ => None,
                }
            }
            "unary_expression" if text_of(node, text).starts_with('!') => {
                node.child_by_field_name("operand").and_then(|call| answered(call, text, &["Equal", "DeepEqual"]))
            }
            _ => None,
        };
        let Some((left, right)) = sides else { continue };
        let compares = computed.into_iter().chain([condition]).collect();
        found.push(Comparison { whole: branch, compares, left, right });
    }
    Some(found)
}

/// `diff := cmp.Diff(wanted, got)`.
fn difference<'t>(computed: Node<'t>, text: &'t str) -> Option<(Node<'t>, Node<'t>)> {
    descendants(computed).find_map(|call| answered(call, text, &["Diff"]))
}

/// `reflect.DeepEqual(got, wanted)`. Options may leave a part of the values out.
fn answered<'t>(call: Node<'t>, text: &'t str, names: &[&str]) -> Option<(Node<'t>, Node<'t>)> {
    (call.kind() == "call_expression").then_some(())?;
    let (object, method) = called(call, text)?;
    (ANSWERS.contains(&object) && names.contains(&method)).then_some(())?;
    match arguments(call).as_slice() {
        [left, right] => Some((*left, *right)),
        _ => None,
    }
}

/// Where the value of a name is written: bound once in the body or in the table of the loop around, and compared here alone. One that is
/// used for more may be what the product is given as well.
fn bound(
    root: Node<'_>,
    body: Node<'_>,
    side: Node<'_>,
    comparison: &Comparison<'_>,
    text: &str,
) -> Option<Vec<Range<usize>>> {
    let name = text_of(side, text);
    let is_used = |node: &Node<'_>| node.kind() == side.kind() && text_of(*node, text) == name;
    let compared: usize = comparison.compares.iter().map(|node| descendants(*node).filter(is_used).count()).sum();
    let inside = descendants(comparison.whole).filter(is_used).count();
    let elsewhere = descendants(body).filter(is_used).count().checked_sub(inside)?;
    // A name that stands on both sides would move both.
    (compared == 1).then_some(())?;
    match side.kind() {
        // The one other place is the one where it is bound.
        "identifier" if elsewhere == 1 => {
            let value = tables::binding(body, name, text)?;
            Some(vec![leaf(value, text, MOST_DEPTH)?])
        }
        // A column is bound in the table, by its field's name and not by this expression.
        "selector_expression" if elsewhere == 0 => {
            let cells = tables::column(root, body, side, comparison.whole, text)?;
            cells.into_iter().map(|cell| leaf(cell, text, MOST_DEPTH)).collect()
        }
        _ => None,
    }
}

/// The first literal of a value that is one, or is made of some.
fn leaf(node: Node<'_>, text: &str, depth: usize) -> Option<Range<usize>> {
    let depth = depth.checked_sub(1)?;
    let inside = |node: Option<Node<'_>>| node.and_then(|node| leaf(node, text, depth));
    match node.kind() {
        "int_literal"
        | "float_literal"
        | "interpreted_string_literal"
        | "raw_string_literal"
        | "rune_literal"
        | "true"
        | "false" => Some(node.byte_range()),
        // `-3` and `&Case{…}`: the sign stays, and what it stands before is altered.
        "unary_expression" if text_of(node, text).starts_with(['-', '&']) => {
            inside(node.child_by_field_name("operand"))
        }
        "composite_literal" => inside(node.child_by_field_name("body")),
        "keyed_element" => inside(node.child_by_field_name("value")),
        "parenthesized_expression" | "literal_element" | "literal_value" => {
            children(node).into_iter().find_map(|child| leaf(child, text, depth))
        }
        "type_conversion_expression" => inside(node.child_by_field_name("operand")),
        "call_expression" => {
            let function = text_of(node.child_by_field_name("function")?, text);
            CONVERSIONS.contains(&function).then(|| inside(arguments(node).first().copied())).flatten()
        }
        _ => None,
    }
}
