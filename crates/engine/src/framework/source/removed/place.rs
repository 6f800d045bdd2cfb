//! Where a statement belongs in the changed text, and what it needs there.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::super::Language;
use super::super::edit::Edit;
use super::super::nodes::{children, descendants, text_of};
use super::function::{Function, Sides, functions, is_block, names, plain};

/// The edits that put a statement where it was, and the place. Where nothing beside it is left, the function was written anew: `anew` says
/// whether it belongs there all the same.
pub(super) fn put_back(
    sides: &Sides<'_>,
    (was, is): (&Function<'_>, &Function<'_>),
    statement: Node<'_>,
    anew: bool,
) -> Option<(Vec<Edit>, usize)> {
    let ((_, before), (_, after)) = (sides.old, sides.new);
    let block = statement.parent()?;
    let beside = children(block);
    let at = beside.iter().position(|node| *node == statement)?;
    let there = |node: &Node<'_>| is.only(&plain(text_of(*node, before)), after);
    // The nearest one that is left: behind it the statement sees what that one bound.
    let behind = beside.iter().take(at).rev().find_map(there).filter(|node| !ends(*node));
    let front = || beside.iter().skip(at + 1).find_map(there);
    if let Some(anchor) = behind {
        return Some(below(sides, statement, anchor));
    }
    if let Some(anchor) = front() {
        return Some(above(sides, statement, anchor));
    }
    // Alone in a function that is written anew: it began it, or it ended it.
    let own = children(is.body);
    let own = if let [only] = own.as_slice()
        && is_block(*only)
    {
        children(*only)
    } else {
        own
    };
    let is_outermost = block == was.body || block.parent() == Some(was.body) && is_block(was.body);
    let is_text = |node: &Node<'_>| {
        node.kind() == "expression_statement" && node.named_child(0).is_some_and(|one| one.kind() == "string")
    };
    match (is_outermost && anew, at) {
        (true, 0) => own.iter().find(|node| !is_text(node)).map(|first| above(sides, statement, *first)),
        (true, _) => {
            let last = *own.last()?;
            // A block's last expression is its value, behind which nothing may stand.
            let is_value = sides.language == Language::Rust && !text_of(last, after).ends_with([';', '}']);
            Some(if ends(last) || is_value { above(sides, statement, last) } else { below(sides, statement, last) })
        }
        (false, _) => None,
    }
}

/// The edits that put a block around what it stood around, and the place.
pub(super) fn wrapped(sides: &Sides<'_>, is: &Function<'_>, statement: Node<'_>) -> Option<(Vec<Edit>, usize)> {
    let ((_, before), (_, after)) = (sides.old, sides.new);
    let body = statement.child_by_field_name("body")?;
    let inside: BTreeSet<String> = children(body).into_iter().map(|node| plain(text_of(node, before))).collect();
    let of_body = |node: &&Node<'_>| inside.contains(&plain(text_of(**node, after)));
    let blocks = descendants(is.node).filter(|node| is_block(*node));
    let (first, last) = blocks.map(children).find_map(|all| {
        let first = all.iter().find(of_body).copied()?;
        Some((first, all.iter().rev().find(of_body).copied()?))
    })?;
    let head = before.get(statement.start_byte()..body.start_byte())?;
    let tail = before.get(body.end_byte()..statement.end_byte())?;
    let (old_margin, margin) = (blanks_before(before, statement), blanks_before(after, first));
    let inner = after.get(first.start_byte()..last.end_byte())?;
    let step = if sides.language == Language::Python { "    " } else { "" };
    // Only Python's blocks are read by their margin.
    let deeper = inner.replace('\n', &format!("\n{step}"));
    let tail = tail.replace(&format!("\n{old_margin}"), &format!("\n{margin}"));
    let text = if sides.language == Language::Python {
        format!("{}\n{margin}{step}{deeper}{tail}", head.trim_end())
    } else {
        format!("{head}{{\n{margin}{deeper}\n{margin}}}{tail}")
    };
    Some((vec![Edit { range: first.start_byte()..last.end_byte(), text }], first.start_byte()))
}

/// The edits that put back what a statement names and the changed text does not hold any more: imports, and what objects are given. `None`
/// where it is not found.
pub(super) fn definitions(sides: &Sides<'_>, statement: Node<'_>) -> Option<Vec<Edit>> {
    let ((old, before), (new, after)) = (sides.old, sides.new);
    let held: BTreeSet<&str> = names(new, after).into_iter().collect();
    let mut known: BTreeSet<&str> = names(statement, before).into_iter().collect();
    let (mut open, mut edits): (Vec<&str>, Vec<Edit>) = (known.iter().copied().collect(), Vec::new());
    let (was, is) = (functions(sides.old), functions(sides.new));
    while let Some(name) = open.pop() {
        if held.contains(name) {
            continue;
        }
        let import = children(old).into_iter().find(|node| binds(*node, name, before));
        if let Some(import) = import {
            // Imports go to the front: what stands above may not be moved (`from __future__`, `package`, `'use
            // strict'`).
            let first = children(new).into_iter().find(|node| !is_preamble(*node, after))?;
            edits.push(Edit::insert(first.start_byte(), format!("{}\n", text_of(import, before))));
            // An import that is put back may itself name something that is gone. `known` ends the search.
            open.extend(names(import, before).into_iter().filter(|name| known.insert(name)));
            continue;
        }
        // A part of an object is given in another of its functions.
        let given = was.iter().find_map(|(key, function)| {
            let gives = |node: &&Node<'_>| gives(**node, name, before);
            Some((key, function, *function.statements.iter().find(gives)?))
        });
        if let Some((key, function, given)) = given {
            edits.extend(put_back(sides, (function, is.get(key)?), given, true)?.0);
            open.extend(names(given, before).into_iter().filter(|name| known.insert(name)));
        }
        // Else it may be a part of something that is still there.
    }
    Some(edits)
}

/// Whether a statement of a file's own binds a name.
fn binds(node: Node<'_>, name: &str, text: &str) -> bool {
    let target = match node.kind() {
        "import_statement" | "import_from_statement" | "future_import_statement" | "use_declaration" => Some(node),
        "expression_statement" => node.named_child(0).and_then(|one| one.child_by_field_name("left")),
        "lexical_declaration" | "variable_declaration" => {
            node.named_child(0).and_then(|one| one.child_by_field_name("name"))
        }
        _ => None,
    };
    target.is_some_and(|target| names(target, text).contains(&name))
}

/// Whether a statement gives an object a part of this name.
fn gives(node: Node<'_>, name: &str, text: &str) -> bool {
    let left = node.named_child(0).and_then(|one| one.child_by_field_name("left"));
    left.is_some_and(|left| {
        matches!(left.kind(), "attribute" | "member_expression") && names(left, text).last() == Some(&name)
    })
}

/// Whether nothing may stand before it.
fn is_preamble(node: Node<'_>, text: &str) -> bool {
    let is_text =
        node.kind() == "expression_statement" && node.named_child(0).is_some_and(|one| one.kind() == "string");
    is_text
        || matches!(
            node.kind(),
            "future_import_statement" | "inner_attribute_item" | "package_clause" | "hash_bang_line"
        )
        || text_of(node, text).starts_with("'use strict'")
}

/// Whether nothing behind it is reached.
fn ends(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "return_statement" | "raise_statement" | "throw_statement" | "break_statement" | "continue_statement"
    )
}

fn above(sides: &Sides<'_>, statement: Node<'_>, anchor: Node<'_>) -> (Vec<Edit>, usize) {
    let margin = blanks_before(sides.new.1, anchor);
    let text = moved(sides, statement, &margin);
    (vec![Edit::insert(anchor.start_byte(), format!("{text}\n{margin}"))], anchor.start_byte())
}

fn below(sides: &Sides<'_>, statement: Node<'_>, anchor: Node<'_>) -> (Vec<Edit>, usize) {
    let margin = blanks_before(sides.new.1, anchor);
    let text = moved(sides, statement, &margin);
    (vec![Edit::insert(anchor.end_byte(), format!("\n{margin}{text}"))], anchor.end_byte() + 1)
}

/// A statement with another margin.
fn moved(sides: &Sides<'_>, statement: Node<'_>, margin: &str) -> String {
    let before = sides.old.1;
    let own = blanks_before(before, statement);
    text_of(statement, before).replace(&format!("\n{own}"), &format!("\n{margin}"))
}

/// The blanks before a node in its line.
fn blanks_before(text: &str, node: Node<'_>) -> String {
    let line = text.get(..node.start_byte()).map_or("", |before| before.rsplit('\n').next().unwrap_or(before));
    line.chars().take_while(|c| c.is_whitespace()).collect()
}
