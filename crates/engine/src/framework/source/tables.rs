//! Tables in which a program looks up what it answers: each row is settled for all of them. A table of which one row would do every time
//! decides by something that no test varies, as a condition does.

use std::ops::Range;

use tree_sitter::Node;

use super::choice::{Choice, Way};
use super::edit::Edit;
use super::nodes::{children, lines_of, text_of};

/// The rows of a table that is settled: a longer one is data.
const MOST_ROWS: usize = 6;

/// The table that a node is, where the program looks something up in it.
pub(super) fn of_table(node: Node<'_>, text: &str) -> Option<Choice> {
    let values = values(node)?;
    if !(2..=MOST_ROWS).contains(&values.len()) || !is_looked_up(node, text) {
        return None;
    }
    let (first, last) = (row_of(*values.first()?), row_of(*values.last()?));
    let spelled = text_of(node, text).to_owned();
    let same = |value: &Node<'_>| values.first().is_some_and(|first| text_of(*first, text) == text_of(*value, text));
    if values.iter().all(same) {
        // Rows that answer alike are told apart from what is not in the table.
        let none = Edit { range: first.start_byte()..last.end_byte(), text: String::new() };
        // A list of equal values has no keys, so nothing can be missing from it.
        let is_table = first.kind() != values.first()?.kind();
        return is_table.then(|| Choice {
            lines: lines_of(node),
            spelled,
            ways: vec![(none, Way::Unused)],
            either_tells: false,
            is_within_text: false,
        });
    }
    let ways = (0..).zip(&values).map(|(number, kept)| {
        let value = text_of(*kept, text);
        let row = text.get(row_of(*kept).byte_range()).unwrap_or(value).to_owned();
        (Edit { range: node.byte_range(), text: settled(node, text, &values, value) }, Way::Row(number, row))
    });
    Some(Choice { lines: lines_of(node), spelled, ways: ways.collect(), either_tells: false, is_within_text: false })
}

/// The values of its rows.
fn values<'t>(node: Node<'t>) -> Option<Vec<Node<'t>>> {
    let of_pair = |pair: Node<'t>| (pair.kind() == "pair").then(|| pair.child_by_field_name("value"))?;
    match node.kind() {
        "dictionary" | "object" => children(node).into_iter().map(of_pair).collect(),
        "list" | "tuple" | "array" => Some(children(node)),
        "composite_literal" => {
            let of_element = |element: Node<'t>| match element.kind() {
                // The value is the last of the two.
                "keyed_element" => children(element).pop(),
                _ => Some(element),
            };
            let typed = node.child_by_field_name("type")?;
            let is_table = matches!(typed.kind(), "map_type" | "slice_type" | "array_type");
            is_table.then(|| children(node.child_by_field_name("body")?).into_iter().map(of_element).collect())?
        }
        _ => None,
    }
}

/// A row: its key with its value, where it has one.
fn row_of(value: Node<'_>) -> Node<'_> {
    value.parent().filter(|parent| matches!(parent.kind(), "pair" | "keyed_element")).unwrap_or(value)
}

/// The table with one value in all rows.
fn settled(node: Node<'_>, text: &str, values: &[Node<'_>], value: &str) -> String {
    let mut settled = String::new();
    let mut done = node.start_byte();
    for each in values {
        let Range { start, end } = each.byte_range();
        settled.push_str(text.get(done..start).unwrap_or_default());
        settled.push_str(value);
        done = end;
    }
    settled.push_str(text.get(done..node.end_byte()).unwrap_or_default());
    settled
}

/// Whether something is looked up in a table: where it stands, or by its name anywhere in the file.
fn is_looked_up(node: Node<'_>, text: &str) -> bool {
    let mut outer = node;
    while let Some(parent) = outer.parent().filter(|parent| parent.kind() == "parenthesized_expression") {
        outer = parent;
    }
    let Some(parent) = outer.parent() else { return false };
    let is_field = |name| parent.child_by_field_name(name) == Some(outer);
    if parent.kind().starts_with("subscript") || parent.kind() == "index_expression" {
        return ["value", "object", "operand"].into_iter().any(is_field);
    }
    if matches!(parent.kind(), "attribute" | "member_expression") {
        return [".get", ".at"].iter().any(|name| text_of(parent, text).ends_with(name));
    }
    let name = match parent.kind() {
        "assignment" | "assignment_expression" => parent.child_by_field_name("left"),
        "variable_declarator" => parent.child_by_field_name("name"),
        // Go names its values in lists.
        "expression_list" | "var_spec" => {
            let holder = if parent.kind() == "var_spec" { Some(parent) } else { parent.parent() };
            holder.and_then(|holder| holder.child_by_field_name("name").or_else(|| holder.child_by_field_name("left")))
        }
        _ => None,
    };
    let Some(name) = name.map(|name| text_of(name, text)).filter(|name| !name.is_empty()) else { return false };
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        // A name's end may be another's: `rates[` is no look-up in `es`.
        let is_whole = !before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.');
        let behind = text.get(at + name.len()..).unwrap_or_default();
        is_whole && ["[", ".get(", ".at(", "?.["].iter().any(|call| behind.starts_with(call))
    })
}

#[cfg(test)]
mod tests {
    use super::super::choices::choices;
    use super::super::edit::apply;
    use super::*;

    fn settled(path: &str, text: &str) -> Vec<String> {
        let found = choices(path, text).unwrap().into_iter().flat_map(|choice| choice.ways);
        let tables = found.filter(|(_, way)| matches!(way, Way::Row(..)));
        tables.map(|(edit, _)| apply(text, &[edit]).unwrap()).collect()
    }

    #[test]
    fn each_row_of_a_table_stands_for_all() {
        let python = "RATE = {'a': 1, 'b': f(2)}\nLEFT = {'a': 1, 'b': 2}\n\ndef g(k, c):\n    return RATE.get(k, (0, k)[c > 1])\n";
        let found = settled("a.py", python);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(
            found[0].starts_with("RATE = {'a': 1, 'b': 1}\n")
                && found[1].starts_with("RATE = {'a': f(2), 'b': f(2)}\n")
        );
        assert!(
            found[2].ends_with("RATE.get(k, (0, 0)[c > 1])\n") && found[3].ends_with("RATE.get(k, (k, k)[c > 1])\n")
        );
        let script = "const first = { linux: -0, darwin: -1 };\nexport const f = (p) => first[p] + ['a', 'b'][+p];\n";
        let found = settled("a.js", script);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(found[1].starts_with("const first = { linux: -1, darwin: -1 };"), "{found:#?}");
        let go = "package a\n\nvar first = map[string]int{\"a\": -1, \"b\": 2}\n\nfunc f(k string) int {\n\tother := []int{3, 4}\n\treturn first[k] + other[1] + g([]int{5, 6})\n}\n";
        let found = settled("a.go", go);
        assert_eq!(found.len(), 4, "{found:#?}");
        let alike = choices("a.py", "A = {'a': 1, 'b': 1}\nB = A[c]\nD = [2, 2][c]\n").unwrap();
        let [unused] = alike.as_slice() else { panic!("{alike:?}") };
        let [(edit, Way::Unused)] = unused.ways.as_slice() else { panic!("{unused:?}") };
        assert_eq!(apply("A = {'a': 1, 'b': 1}\n", std::slice::from_ref(edit)).unwrap(), "A = {}\n");
        assert!(found[1].contains("{\"a\": 2, \"b\": 2}") && found[2].contains("[]int{3, 3}"), "{found:#?}");
    }
}
