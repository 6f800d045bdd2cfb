//! The literals that a test's assertions of equality expect.

use std::ops::Range;

use tree_sitter::Node;

use super::attributes::Attributes;
use super::brackets::{Frame, Values};
use super::function::function_of;
use crate::framework::source::nodes::{children, descendants, lines_of, text_of};
use crate::framework::source::{Edit, Expectation, TestBody};

/// Macros of two values that are to be equal.
const EQUALITY: [&str; 3] = ["assert_eq", "debug_assert_eq", "assert_str_eq"];
/// Macros of a condition.
const CONDITION: [&str; 2] = ["assert", "debug_assert"];
/// Constructors in which a literal is wrapped. Other constructors may compare as they like.
const WRAPPERS: [&str; 4] = ["Some", "Ok", "Err", "String::from"];
/// Methods that make another type of a literal.
const CONVERSIONS: [&str; 8] = ["to_string", "to_owned", "into", "to_vec", "as_bytes", "as_slice", "iter", "into_iter"];
/// No literal is wrapped deeper than this.
const MOST_DEPTH: usize = 12;
/// See [`crate::framework::source::Source::expectations`].
pub(in super::super) fn expectations(root: Node<'_>, text: &str, test: &TestBody) -> Vec<Expectation> {
    let Some(function) = function_of(root, test) else { return Vec::new() };
    let Some(body) = function.child_by_field_name("body") else { return Vec::new() };
    let attributes = Attributes::of(function, text);
    // Another failure is a panic as well.
    if attributes.expects_panic() || attributes.has_row_that_panics() {
        return Vec::new();
    }
    let scope = Scope { function, body, text, attributes };
    let macros = descendants(body).filter(|node| node.kind() == "macro_invocation");
    macros.filter_map(|node| Some(Expectation { lines: lines_of(node), places: scope.expected(node)? })).collect()
}

/// The edits that have a macro ask the opposite. See [`crate::framework::source::Source::opposed`].
pub(in super::super) fn opposite(node: Node<'_>, text: &str) -> Option<Vec<Edit>> {
    (node.kind() == "macro_invocation").then_some(())?;
    let path = node.child_by_field_name("macro")?;
    let other = match text_of(path, text) {
        "assert_eq" => Some("assert_ne"),
        "assert_ne" => Some("assert_eq"),
        name if CONDITION.contains(&name) => None,
        _ => return None,
    };
    if let Some(other) = other {
        return Some(vec![Edit { range: path.byte_range(), text: other.to_owned() }]);
    }
    let values = Values::read(brackets_of(node)?, Frame::of_file(text))?;
    let place = values.frame().place(*values.nodes().first()?)?;
    let text = format!("!({})", text.get(place.clone())?);
    Some(vec![Edit { range: place, text }])
}

/// A test's function.
struct Scope<'t> {
    function: Node<'t>,
    body: Node<'t>,
    text: &'t str,
    attributes: Attributes<'t>,
}

impl Scope<'_> {
    /// The literals that an assertion of equality expects.
    fn expected(&self, assertion: Node<'_>) -> Option<Vec<Range<usize>>> {
        let path = text_of(assertion.child_by_field_name("macro")?, self.text);
        let name = path.rsplit("::").next()?;
        let is_equality = EQUALITY.contains(&name);
        (is_equality || CONDITION.contains(&name)).then_some(())?;
        let frame = Frame::of_file(self.text);
        let values = Values::read(brackets_of(assertion)?, frame)?;
        let (nodes, frame) = (values.nodes(), values.frame());
        let (value, wanted) = if is_equality {
            (*nodes.first()?, *nodes.get(1)?)
        } else {
            let condition = nodes.first().filter(|node| node.kind() == "binary_expression")?;
            let is_equal = text_of(condition.child_by_field_name("operator")?, frame.text) == "==";
            is_equal.then_some(())?;
            (condition.child_by_field_name("left")?, condition.child_by_field_name("right")?)
        };
        let literal = |side: Node<'_>| leaf(side, frame, MOST_DEPTH).map(|place| vec![place]);
        let named = |side: Node<'_>| {
            // `assert_eq!(total, &wanted)`
            let side = if side.kind() == "reference_expression" { side.child_by_field_name("value")? } else { side };
            (side.kind() == "identifier").then(|| self.bound(text_of(side, frame.text), assertion)).flatten()
        };
        // What stands on the right is what is expected, by most people's habit; a literal before a name in any case.
        literal(wanted).or_else(|| literal(value)).or_else(|| named(wanted)).or_else(|| named(value))
    }

    /// Where the value of a name is written: bound once in the body, in the loop around it or in the table that the test is called with,
    /// and used for this assertion alone. One that is used for more may be what the product is given as well.
    fn bound(&self, name: &str, assertion: Node<'_>) -> Option<Vec<Range<usize>>> {
        let frame = Frame::of_file(self.text);
        let is_named = |node: &Node<'_>| {
            matches!(node.kind(), "identifier" | "shorthand_field_identifier") && text_of(*node, self.text) == name
        };
        // `format!("{wanted}")` uses it too.
        let is_printed = text_of(self.body, self.text).contains(&format!("{{{name}"));
        // A use in a text counts as many, so that the name is left alone.
        let count = descendants(self.body).filter(is_named).count() + usize::from(is_printed) * MOST_DEPTH;
        match count {
            1 => self.column(name),
            2 => {
                let is_bound = |node: &Node<'_>| {
                    node.kind() == "let_declaration"
                        && node
                            .child_by_field_name("pattern")
                            .is_some_and(|pattern| text_of(pattern, self.text) == name)
                };
                if let Some(binding) = descendants(self.body).find(is_bound) {
                    return Some(vec![leaf(binding.child_by_field_name("value")?, frame, MOST_DEPTH)?]);
                }
                self.rows_around(name, assertion)
            }
            _ => None,
        }
    }

    /// `for (given, wanted) in [(1, 2), (3, 4)] { … }`.
    fn rows_around(&self, name: &str, assertion: Node<'_>) -> Option<Vec<Range<usize>>> {
        let mut node = assertion;
        let (at, rows) = loop {
            node = node.parent().filter(|node| node.start_byte() > self.body.start_byte())?;
            if node.kind() == "for_expression" {
                let pattern = node.child_by_field_name("pattern")?;
                let pattern = if pattern.kind() == "reference_pattern" { pattern.named_child(0)? } else { pattern };
                let parts = if pattern.kind() == "tuple_pattern" { children(pattern) } else { Vec::new() };
                if let Some(at) = parts.iter().position(|part| text_of(*part, self.text) == name) {
                    break (at, self.table(node.child_by_field_name("value")?)?);
                }
            }
        };
        let cell = |row: &Node<'_>| {
            let cell = children(*row).get(at).copied().filter(|_| row.kind() == "tuple_expression")?;
            leaf(cell, Frame::of_file(self.text), MOST_DEPTH)
        };
        rows.iter().map(cell).collect::<Option<Vec<_>>>().filter(|cells| !cells.is_empty())
    }

    /// The rows of a loop's table: an array, or a name that is bound to one.
    fn table<'n>(&'n self, value: Node<'n>) -> Option<Vec<Node<'n>>> {
        let mut value = value;
        for _ in 0..MOST_DEPTH {
            value = match value.kind() {
                "array_expression" => return Some(children(value)),
                "reference_expression" => value.child_by_field_name("value")?,
                "call_expression" => {
                    let method = value.child_by_field_name("function")?;
                    let field = text_of(method.child_by_field_name("field")?, self.text);
                    CONVERSIONS.contains(&field).then_some(())?;
                    method.child_by_field_name("value")?
                }
                "identifier" => {
                    let name = text_of(value, self.text);
                    let is_it = |node: &Node<'n>| {
                        node.kind() == "let_declaration"
                            && node.child_by_field_name("pattern").is_some_and(|one| text_of(one, self.text) == name)
                    };
                    let mut bindings = descendants(self.body).filter(is_it);
                    let binding = bindings.next()?;
                    // A name that is bound twice may be another table at this place.
                    bindings.next().is_none().then_some(())?;
                    binding.child_by_field_name("value")?
                }
                _ => return None,
            };
        }
        None
    }

    /// The literals of a parameter, one of each `#[case(…)]` or `#[test_case(…)]`.
    fn column(&self, name: &str) -> Option<Vec<Range<usize>>> {
        let parameters = Parameters::of(self.function, self.text)?;
        let (at, attribute) = parameters.cell(name)?;
        let rows = self.attributes.all.iter().filter(|one| one.name == attribute);
        let cell = |brackets: Node<'_>| {
            let values = Values::of_row(brackets, Frame::of_file(self.text))?;
            leaf(*values.nodes().get(at)?, values.frame(), MOST_DEPTH)
        };
        let cells: Option<Vec<_>> = rows.map(|row| cell(row.arguments?)).collect();
        cells.filter(|cells| !cells.is_empty())
    }
}

/// A function's parameters: each one's name, and whether `#[case]` stands before it.
struct Parameters<'t> {
    all: Vec<(&'t str, bool)>,
}

impl<'t> Parameters<'t> {
    fn of(function: Node<'_>, text: &'t str) -> Option<Self> {
        let mut all = Vec::new();
        let mut is_case = false;
        for child in children(function.child_by_field_name("parameters")?) {
            match child.kind() {
                "attribute_item" => is_case |= text_of(child, text).replace(' ', "") == "#[case]",
                "parameter" => {
                    all.push((text_of(child.child_by_field_name("pattern")?, text), is_case));
                    is_case = false;
                }
                _ => return None,
            }
        }
        Some(Self { all })
    }

    /// Which cell of which attribute's rows a parameter is.
    fn cell(&self, name: &str) -> Option<(usize, &'static str)> {
        let has_cases = self.all.iter().any(|(_, is_case)| *is_case);
        let mut cells = self.all.iter().filter(|(_, is_case)| *is_case == has_cases);
        let at = cells.position(|(one, _)| *one == name)?;
        Some((at, if has_cases { "case" } else { "test_case" }))
    }
}

fn brackets_of(invocation: Node<'_>) -> Option<Node<'_>> {
    children(invocation).into_iter().find(|child| child.kind() == "token_tree")
}

/// The first literal of a value that is one, or is made of some.
fn leaf(node: Node<'_>, frame: Frame<'_>, depth: usize) -> Option<Range<usize>> {
    let depth = depth.checked_sub(1)?;
    let inside = |node: Option<Node<'_>>| node.and_then(|node| leaf(node, frame, depth));
    match node.kind() {
        "integer_literal" | "float_literal" | "string_literal" | "raw_string_literal" | "char_literal"
        | "boolean_literal" => frame.place(node),
        "unary_expression" if text_of(node, frame.text).starts_with('-') => inside(node.named_child(0)),
        "reference_expression" | "type_cast_expression" => inside(node.child_by_field_name("value")),
        // `[0; 5]`: the length is no value of it.
        "array_expression" if node.child_by_field_name("length").is_some() => inside(node.named_child(0)),
        "array_expression" | "tuple_expression" | "parenthesized_expression" => {
            children(node).into_iter().find_map(|child| leaf(child, frame, depth))
        }
        "call_expression" => {
            let function = node.child_by_field_name("function")?;
            if function.kind() == "field_expression" {
                let method = text_of(function.child_by_field_name("field")?, frame.text);
                return CONVERSIONS.contains(&method).then(|| inside(function.child_by_field_name("value"))).flatten();
            }
            WRAPPERS.contains(&text_of(function, frame.text)).then_some(())?;
            inside(children(node.child_by_field_name("arguments")?).first().copied())
        }
        "macro_invocation" => {
            (text_of(node.child_by_field_name("macro")?, frame.text) == "vec").then_some(())?;
            let values = Values::read(brackets_of(node)?, frame)?;
            // `vec![0; 5]`
            let repeats = text_of(brackets_of(node)?, frame.text).contains(';');
            let nodes = values.nodes();
            let mut nodes = nodes.iter().take(if repeats { 1 } else { nodes.len() });
            nodes.find_map(|value| leaf(*value, values.frame(), depth))
        }
        _ => None,
    }
}
