//! Python: functions, in classes or not, that pytest or unittest call.

use std::ops::Range;

use tree_sitter::Node;

use super::nodes::lines_of;
use super::number::{self, FAR};
use super::parse::parse;
use super::{Edit, Expectation, Language, Means, Place, Poison, TestBody};

/// Decorators of tests that expect to fail: a failure would make them pass.
const EXPECT_FAILURE: [&str; 2] = ["xfail", "expectedFailure"];
/// unittest's assertions of equality, and their camel-cased kin.
const EQUALITY: [&str; 8] = [
    "assertEqual",
    "assertEquals",
    "assertListEqual",
    "assertDictEqual",
    "assertTupleEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
];
/// The nodes of a definition.
const WHOLE: [&str; 2] = ["decorated_definition", "function_definition"];

/// The functions at the top of a file and in its classes.
pub(super) fn tests(root: Node<'_>, text: &str) -> Vec<TestBody> {
    let mut found = Vec::new();
    collect(root, text, &[], &mut found);
    found
}

fn collect(block: Node<'_>, text: &str, around: &[String], found: &mut Vec<TestBody>) {
    for child in children(block) {
        let definition =
            if child.kind() == "decorated_definition" { child.child_by_field_name("definition") } else { Some(child) };
        let Some(definition) = definition else { continue };
        let (Some(name), Some(body)) = (definition.child_by_field_name("name"), definition.child_by_field_name("body"))
        else {
            // Definitions under a condition (`if sys.platform …:`, `try:`) are the file's all the same.
            if matches!(
                child.kind(),
                "if_statement" | "try_statement" | "with_statement" | "else_clause" | "elif_clause" | "block"
            ) {
                collect(child, text, around, found);
            }
            continue;
        };
        let mut names = around.to_vec();
        names.push(text_of(name, text).to_owned());
        match definition.kind() {
            "class_definition" => collect(body, text, &names, found),
            "function_definition" => found.push(TestBody {
                names,
                is_template: false,
                lines: lines_of(child),
                whole: child.byte_range(),
                name: name.byte_range(),
                body: body.byte_range(),
            }),
            _ => {}
        }
    }
}

/// See [`super::Source::expects_failure`].
pub(super) fn expects_failure(root: Node<'_>, text: &str, test: &TestBody) -> bool {
    let Some(whole) = node_at(root, &test.whole, &WHOLE) else { return false };
    // `@pytest.mark.xfail(…)`, `@unittest.expectedFailure`
    let marks = |decorator: Node<'_>| EXPECT_FAILURE.iter().any(|word| text_of(decorator, text).contains(word));
    children(whole).filter(|child| child.kind() == "decorator").any(marks)
}

/// See [`super::Source::poisoned`].
pub(super) fn poisoned(root: Node<'_>, text: &str, test: &TestBody, poison: &Poison) -> Option<Vec<Edit>> {
    if expects_failure(root, text, test) {
        return None;
    }
    let whole = node_at(root, &test.whole, &WHOLE)?;
    let body = node_at(root, &test.body, &["block"])?;
    // Behind the documentation, which is one only as the first statement.
    let first = statements(body, text).next()?;
    let indent = indent_of(text, first.start_byte());
    let word = &poison.word;
    let failure = match poison.means {
        Means::Raise => format!("raise AssertionError(\"{word}\")"),
        Means::Assertion if uses_self_assertions(text, test) => {
            format!("self.assertEqual(\"{word}\", \"{}\")", reversed(word))
        }
        Means::Assertion => format!("assert \"{word}\" == \"{}\"", reversed(word)),
    };
    match (poison.place, indent) {
        (Place::First, Some(indent)) => Some(vec![Edit::insert(first.start_byte(), format!("{failure}\n{indent}"))]),
        // The body stands on its definition's line.
        (Place::First, None) => Some(vec![Edit::insert(first.start_byte(), format!("{failure}; "))]),
        (Place::Last, Some(indent)) => {
            // One column less than the body's is still inside the definition: nothing of the body has to move.
            let outer = indent.strip_suffix(' ').filter(|outer| !outer.contains('\t') && !outer.is_empty())?;
            let deeper_than_definition = outer.len() > column_of(text, whole_definition(whole).start_byte());
            deeper_than_definition.then(|| {
                vec![
                    Edit::insert(first.start_byte() - indent.len(), format!("{outer}try:\n")),
                    Edit::insert(end_of_line(text, test.body.end), format!("\n{outer}finally:\n{indent}{failure}")),
                ]
            })
        }
        // A body on its definition's line cannot hold `try`.
        (Place::Last, None) => None,
    }
}

/// See [`super::Source::expectations`].
pub(super) fn expectations(root: Node<'_>, text: &str, test: &TestBody) -> Vec<Expectation> {
    let (Some(body), Some(whole)) = (node_at(root, &test.body, &["block"]), node_at(root, &test.whole, &WHOLE)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut waiting = vec![body];
    while let Some(node) = waiting.pop() {
        if let Some((left, right)) = compared(node, text) {
            let literal = |side: Node<'_>| is_literal(side).then(|| vec![side.byte_range()]);
            let named =
                |side: Node<'_>| (side.kind() == "identifier").then(|| bound(side, body, whole, text)).flatten();
            // What stands on the right is what is expected, by most people's habit; a literal before a name in any case.
            let places = literal(right).or_else(|| literal(left)).or_else(|| named(right)).or_else(|| named(left));
            found.extend(places.map(|places| Expectation { lines: lines_of(node), places }));
        }
        waiting.extend(children(node));
    }
    found.sort_by_key(|expectation| expectation.lines);
    found
}

/// See [`super::Source::joined`].
pub(super) fn wanted(root: Node<'_>, text: &str, test: &TestBody) -> Vec<((u32, u32), Range<usize>)> {
    let Some(body) = node_at(root, &test.body, &["block"]) else { return Vec::new() };
    // `msg="…"` and `*values` are no side of a comparison.
    let is_value = |side: &Node<'_>| !matches!(side.kind(), "keyword_argument" | "list_splat" | "dictionary_splat");
    let mut found = Vec::new();
    let mut waiting = vec![body];
    while let Some(node) = waiting.pop() {
        let right = compared(node, text).map(|(_, right)| right).filter(is_value);
        found.extend(right.map(|right| (lines_of(node), right.byte_range())));
        waiting.extend(children(node));
    }
    found
}

/// The two sides of an assertion of equality.
fn compared<'t>(node: Node<'t>, text: &str) -> Option<(Node<'t>, Node<'t>)> {
    match node.kind() {
        "assert_statement" => {
            let condition = node.named_child(0).filter(|condition| condition.kind() == "comparison_operator")?;
            let is_equal =
                condition.child_by_field_name("operators").is_some_and(|operator| text_of(operator, text) == "==");
            // `a == b == c` compares three.
            (is_equal && condition.named_child_count() == 2).then_some(())?;
            Some((condition.named_child(0)?, condition.named_child(1)?))
        }
        "call" => {
            let function = node.child_by_field_name("function").filter(|function| function.kind() == "attribute")?;
            let method = text_of(function.child_by_field_name("attribute")?, text);
            EQUALITY.contains(&method).then_some(())?;
            let arguments = node.child_by_field_name("arguments")?;
            Some((arguments.named_child(0)?, arguments.named_child(1)?))
        }
        _ => None,
    }
}

/// Where the value of a name is written: assigned once in the body, or in the table that the test is called with.
fn bound(name: Node<'_>, body: Node<'_>, whole: Node<'_>, text: &str) -> Option<Vec<Range<usize>>> {
    let name = text_of(name, text);
    let mut values = Vec::new();
    // What else uses it would move with the expectation: `decode(encode(x)) == x` for every `x`.
    let mut uses = 0;
    let mut waiting = vec![body];
    while let Some(node) = waiting.pop() {
        uses += usize::from(node.kind() == "identifier" && text_of(node, text) == name);
        let target = (node.kind() == "assignment").then(|| node.child_by_field_name("left")).flatten();
        if target.is_some_and(|target| text_of(target, text) == name) {
            values.push(node.child_by_field_name("right")?);
        }
        waiting.extend(children(node));
    }
    match values.as_slice() {
        // Where it is assigned and where it is compared.
        [value] if uses == 2 => is_literal(*value).then(|| vec![value.byte_range()]),
        [] if uses == 1 => {
            children(whole).filter(|child| child.kind() == "decorator").find_map(|table| column(table, name, text))
        }
        _ => None,
    }
}

/// The literals of one column of `@pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])`.
fn column(decorator: Node<'_>, name: &str, text: &str) -> Option<Vec<Range<usize>>> {
    let call = decorator.named_child(0).filter(|call| call.kind() == "call")?;
    let function = call.child_by_field_name("function")?;
    text_of(function, text).ends_with("parametrize").then_some(())?;
    let arguments = call.child_by_field_name("arguments")?;
    let (names, rows) = (arguments.named_child(0)?, arguments.named_child(1)?);
    let quotes = |c: char| c == '"' || c == '\'' || c.is_whitespace();
    let names: Vec<&str> = match names.kind() {
        "string" => text_of(names, text).split(',').map(|name| name.trim_matches(quotes)).collect(),
        "list" | "tuple" => children(names).map(|name| text_of(name, text).trim_matches(quotes)).collect(),
        _ => return None,
    };
    let at = u32::try_from(names.iter().position(|one| *one == name)?).ok()?;
    matches!(rows.kind(), "list" | "tuple").then_some(())?;
    // A row for one name is the value itself, even where that is a tuple.
    let single = names.len() == 1;
    let cell = |row: Node<'_>| {
        // `pytest.param(1, 2, id="…")`
        let row = if row.kind() == "call" { row.child_by_field_name("arguments") } else { Some(row) };
        let cell =
            row.and_then(|row| if single && row.kind() != "argument_list" { Some(row) } else { row.named_child(at) });
        cell.filter(|cell| is_literal(*cell)).map(|cell| cell.byte_range())
    };
    let cells: Option<Vec<_>> = children(rows).filter(|row| row.kind() != "comment").map(cell).collect();
    cells.filter(|cells| !cells.is_empty())
}

fn is_literal(node: Node<'_>) -> bool {
    match node.kind() {
        "integer" | "float" | "string" | "true" | "false" | "list" | "tuple" | "dictionary" | "set" => true,
        "unary_operator" => {
            node.child_by_field_name("argument").is_some_and(|value| matches!(value.kind(), "integer" | "float"))
        }
        _ => false,
    }
}

/// Another literal of the same type, far from the given one.
pub(super) fn altered(literal: &str, word: &str) -> Option<String> {
    let inside = |open: &str, close: &str, what: &str| {
        let rest = literal.strip_prefix(open)?.strip_suffix(close)?;
        // A tuple of one value needs its comma.
        Some(format!("{open}{what}{}{rest}{close}", if rest.trim().is_empty() && open != "(" { "" } else { ", " }))
    };
    match literal {
        "True" => return Some("False".to_owned()),
        "False" => return Some("True".to_owned()),
        _ => {}
    }
    if let Some(far) = number::far(literal) {
        return Some(far);
    }
    match literal.chars().next()? {
        '[' => inside("[", "]", &format!("\"{word}\"")),
        '(' => inside("(", ")", &format!("\"{word}\"")),
        '{' if is_dictionary(literal) => inside("{", "}", &format!("\"{word}\": \"{word}\"")),
        '{' => inside("{", "}", &format!("\"{word}\"")),
        c if c.is_ascii_digit() || c == '-' || c == '+' || c == '.' => {
            let digits = literal.replace('_', "");
            // A sum is far away in every notation, and stays a literal to the compiler.
            (digits.parse::<i128>().is_ok() || digits.parse::<f64>().is_ok() || digits.starts_with("0"))
                .then(|| format!("({literal} + {FAR})"))
        }
        _ => {
            let quote = literal.find(['"', '\''])?;
            let (prefix, rest) = literal.split_at(quote);
            let open = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|open| rest.starts_with(open))?;
            Some(format!("{prefix}{open}{word}{}", rest.strip_prefix(open)?))
        }
    }
}

/// Whether braces hold pairs. Empty ones are a dictionary.
fn is_dictionary(literal: &str) -> bool {
    let Some(tree) = parse(Language::Python, literal) else { return false };
    let expression = tree.root_node().named_child(0).and_then(|statement| statement.named_child(0));
    expression.is_some_and(|expression| expression.kind() == "dictionary")
}

/// Whether the test is a method whose class uses unittest's assertions.
fn uses_self_assertions(text: &str, test: &TestBody) -> bool {
    test.names.len() > 1 && text.get(test.body.clone()).is_some_and(|body| body.contains("self.assert"))
}

/// The statements of a body behind its documentation.
fn statements<'t>(body: Node<'t>, text: &'t str) -> impl Iterator<Item = Node<'t>> {
    let is_doc = |statement: &Node<'_>| {
        statement.kind() == "expression_statement"
            && text_of(*statement, text).starts_with(['"', '\'', 'r', 'u'])
            && statement.named_child(0).is_some_and(|value| value.kind() == "string")
    };
    let all: Vec<Node<'t>> = children(body).filter(|child| child.kind() != "comment").collect();
    // A body of documentation alone has nothing behind it, so the failure goes before it.
    let skip = usize::from(all.len() > 1 && all.first().is_some_and(is_doc));
    all.into_iter().skip(skip)
}

fn whole_definition(whole: Node<'_>) -> Node<'_> {
    if whole.kind() == "decorated_definition" {
        whole.child_by_field_name("definition").unwrap_or(whole)
    } else {
        whole
    }
}

/// The white space before a place, where nothing else stands before it on its line.
fn indent_of(text: &str, at: usize) -> Option<&str> {
    let before = text.get(..at)?;
    let line = before.get(before.rfind('\n').map_or(0, |end| end + 1)..)?;
    line.chars().all(|c| c == ' ' || c == '\t').then_some(line)
}

fn column_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(0, |before| at - before.rfind('\n').map_or(0, |end| end + 1))
}

fn end_of_line(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| at + end)
}

fn reversed(word: &str) -> String {
    word.chars().rev().collect()
}

fn text_of<'t>(node: Node<'_>, text: &'t str) -> &'t str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The node of one of these kinds that is exactly this long: a body of one statement is as long as the statement.
fn node_at<'t>(root: Node<'t>, range: &Range<usize>, kinds: &[&str]) -> Option<Node<'t>> {
    let mut node = root.descendant_for_byte_range(range.start, range.end)?;
    while node.byte_range() == *range {
        if kinds.contains(&node.kind()) {
            return Some(node);
        }
        node = node.parent()?;
    }
    None
}

fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let count = u32::try_from(node.named_child_count()).unwrap_or(u32::MAX);
    (0..count).filter_map(move |at| node.named_child(at))
}
