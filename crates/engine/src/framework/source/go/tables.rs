//! Where a name's value, and a column of a table, are written.

use tree_sitter::Node;

use crate::framework::source::nodes::{children, descendants, text_of};

/// The value that a name is bound to, if it is bound once.
pub(super) fn binding<'t>(place: Node<'t>, name: &str, text: &str) -> Option<Node<'t>> {
    let mut values = descendants(place).filter_map(|node| bound(node, name, text));
    let value = values.next()?;
    // Bound twice, the value at the assertion depends on the way there.
    values.next().is_none().then_some(value)?
}

/// The value that a statement gives to a name. The inner `None` stands for a name without a value of its own.
fn bound<'t>(node: Node<'t>, name: &str, text: &str) -> Option<Option<Node<'t>>> {
    let position = |names: &[Node<'t>]| names.iter().position(|one| text_of(*one, text) == name);
    let list = |field: &str| node.child_by_field_name(field).map(children).unwrap_or_default();
    let (names, values) = match node.kind() {
        "short_var_declaration" | "assignment_statement" => (list("left"), list("right")),
        "var_spec" | "const_spec" => (node.children_by_field_name("name", &mut node.walk()).collect(), list("value")),
        "range_clause" => (list("left"), Vec::new()),
        "inc_statement" | "dec_statement" => (children(node), Vec::new()),
        _ => return None,
    };
    let at = position(&names)?;
    // `a, err := f()` binds two names to one call, of which neither is the value.
    Some(values.get(at).copied().filter(|_| values.len() == names.len()))
}

/// The values of `tc.want` in the table over whose rows the loop around an assertion goes.
pub(super) fn column<'t>(
    root: Node<'t>,
    body: Node<'t>,
    selector: Node<'t>,
    assertion: Node<'t>,
    text: &str,
) -> Option<Vec<Node<'t>>> {
    let row = text_of(selector.child_by_field_name("operand").filter(|row| row.kind() == "identifier")?, text);
    let field = text_of(selector.child_by_field_name("field")?, text);
    let table = rows_around(body, assertion, row, text)?;
    let table = if table.kind() == "identifier" {
        let name = text_of(table, text);
        // The function's own table hides one of the file.
        binding(body, name, text).or_else(|| binding(root, name, text))?
    } else {
        table
    };
    (table.kind() == "composite_literal").then_some(())?;
    let at = position_of(root, table, field, text);
    let rows = children(table.child_by_field_name("body")?);
    let cells: Option<Vec<Option<Node<'t>>>> = rows.into_iter().map(|row| cell(row, field, at, text)).collect();
    let cells: Vec<Node<'t>> = cells?.into_iter().flatten().collect();
    (!cells.is_empty()).then_some(cells)
}

/// The rows of the loop in which a name is a row.
fn rows_around<'t>(body: Node<'t>, assertion: Node<'t>, row: &str, text: &str) -> Option<Node<'t>> {
    let mut node = assertion;
    loop {
        node = node.parent().filter(|node| node.start_byte() > body.start_byte())?;
        let range = children(node).into_iter().find(|child| child.kind() == "range_clause");
        let Some(range) = range.filter(|_| node.kind() == "for_statement") else { continue };
        let names = range.child_by_field_name("left").map(children).unwrap_or_default();
        // The first name of a range is the index or the key.
        if names.get(1).is_some_and(|name| text_of(*name, text) == row) {
            return range.child_by_field_name("right");
        }
    }
}

/// A row's value of a field. The inner `None` stands for a field that the row leaves out.
fn cell<'t>(row: Node<'t>, field: &str, at: Option<usize>, text: &str) -> Option<Option<Node<'t>>> {
    let row = if row.kind() == "keyed_element" { row.child_by_field_name("value")? } else { row };
    let mut row = if row.kind() == "literal_element" { row.named_child(0)? } else { row };
    // `&Case{…}` in a table of pointers.
    if row.kind() == "unary_expression" {
        row = row.child_by_field_name("operand")?;
    }
    if row.kind() == "composite_literal" {
        row = row.child_by_field_name("body")?;
    }
    (row.kind() == "literal_value").then_some(())?;
    let cells = children(row);
    // Go takes either all cells with their names or none.
    if cells.iter().all(|cell| cell.kind() == "keyed_element") {
        let is_it = |cell: &&Node<'t>| cell.child_by_field_name("key").is_some_and(|key| text_of(key, text) == field);
        return Some(cells.iter().find(is_it).and_then(|cell| cell.child_by_field_name("value")));
    }
    Some(Some(*cells.get(at?)?))
}

/// Which of its type's fields a field is.
fn position_of(root: Node<'_>, table: Node<'_>, field: &str, text: &str) -> Option<usize> {
    let kind = table.child_by_field_name("type")?;
    let row = kind.child_by_field_name("element").or_else(|| kind.child_by_field_name("value"))?;
    let row = if row.kind() == "pointer_type" { row.named_child(0)? } else { row };
    let row = if row.kind() == "type_identifier" {
        let name = text_of(row, text);
        let is_it = |node: &Node<'_>| {
            node.kind() == "type_spec" && node.child_by_field_name("name").is_some_and(|one| text_of(one, text) == name)
        };
        descendants(root).find(is_it)?.child_by_field_name("type")?
    } else {
        row
    };
    (row.kind() == "struct_type").then_some(())?;
    descendants(row)
        .filter(|node| node.kind() == "field_declaration")
        .flat_map(|node| node.children_by_field_name("name", &mut node.walk()).collect::<Vec<_>>())
        .position(|name| text_of(name, text) == field)
}
