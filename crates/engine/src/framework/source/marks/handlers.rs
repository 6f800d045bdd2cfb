//! Handlers that take every error and look at none.

use tree_sitter::Node;

use super::super::nodes::{children, descendants, lines_of, text_of};
use super::super::{Language, scan};
use super::sides::{Mark, Shape, Side, Sides, names};
use crate::domain::line_diff::{self, ChangedLine, changed_lines};

/// Classes of Python from which all errors descend.
const ALL_ERRORS: [&str; 2] = ["Exception", "BaseException"];

/// The first handler that a change adds.
pub(super) fn mark(sides: &Sides<'_>) -> Option<Mark> {
    let found = |(root, text): Side<'_>| {
        let of = |node: Node<'_>| swallows(sides.language, node, text).then(|| (lines_of(node).0, spelled(node, text)));
        descendants(root).filter_map(of).collect::<Vec<_>>()
    };
    new_one(found(sides.old), found(sides.new))
}

/// The same where a language has no grammar here.
pub(super) fn mark_by_tokens(language: Language, before: &str, after: &str) -> Option<Mark> {
    new_one(scan::blind_handlers(language, before), scan::blind_handlers(language, after))
}

/// The first handler that was not there. They are told apart by their words without blanks: one that moved or was indented is none.
fn new_one(old: Vec<(u32, String)>, new: Vec<(u32, String)>) -> Option<Mark> {
    let was = |spelled: &String| old.iter().any(|(_, known)| known == spelled);
    let (line, spelled) = new.into_iter().find(|(_, spelled)| !was(spelled))?;
    Some(Mark { shape: Shape::SwallowsErrors, line, said: format!("`{}`", spelled.replace('`', "'")) })
}

fn spelled(node: Node<'_>, text: &str) -> String {
    text_of(node, text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn swallows(language: Language, node: Node<'_>, text: &str) -> bool {
    match (language, node.kind()) {
        (Language::Python, "except_clause") => of_python(node, text),
        (Language::JavaScript, "catch_clause") => {
            let body = node.child_by_field_name("body");
            body.is_some_and(|body| children(body).is_empty())
        }
        (Language::Python, "function_definition") => is_forgiving_exit(node, text),
        (Language::JavaScript, "call_expression") => {
            of_promise(node, text).is_some_and(|swallows| swallows) || is_settled_for_nobody(node, text)
        }
        (Language::Go, "call_expression") => {
            let is_recover = node.child_by_field_name("function").is_some_and(|f| text_of(f, text) == "recover");
            is_recover && (is_unused(node, text) || is_only_compared(node, text))
        }
        _ => false,
    }
}

/// Whether a clause takes all errors, gives none of them on and says none.
fn of_python(clause: Node<'_>, text: &str) -> bool {
    let parts = children(clause);
    let Some((body, heads)) = parts.split_last() else { return false };
    let is_all = |class: Node<'_>| ALL_ERRORS.contains(&text_of(class, text));
    // A bare `except:` has no heads, and takes even more.
    let takes_all = heads.iter().all(|head| {
        let class = if head.kind() == "as_pattern" { head.named_child(0) } else { Some(*head) };
        class.is_some_and(|class| is_all(class) || class.kind() == "tuple" && children(class).into_iter().any(is_all))
    });
    // What it does with an error is its own affair, where it does something.
    let is_idle = |node: &Node<'_>| matches!(node.kind(), "pass_statement" | "return_statement" | "continue_statement");
    takes_all && children(*body).iter().all(is_idle)
}

/// Values that stand for yes, whatever the error.
const YES: [&str; 3] = ["True", "self", "1"];

/// Whether the end of a Python context says that nothing went wrong, whatever did.
fn is_forgiving_exit(function: Node<'_>, text: &str) -> bool {
    let name = function.child_by_field_name("name").map(|name| text_of(name, text));
    let forgives = |node: &Node<'_>| {
        let value = node.named_child(0).map(|value| text_of(value, text));
        node.kind() == "return_statement" && value.is_some_and(|value| YES.contains(&value))
    };
    // Within a branch it is for some errors.
    let body = function.child_by_field_name("body");
    matches!(name, Some("__exit__" | "__aexit__")) && body.is_some_and(|body| children(body).iter().any(forgives))
}

/// Whether promises are waited for, and nobody asks what became of them.
fn is_settled_for_nobody(call: Node<'_>, text: &str) -> bool {
    let called = call.child_by_field_name("function").map(|called| text_of(called, text));
    let waits = |node: &Node<'_>| matches!(node.kind(), "await_expression" | "parenthesized_expression");
    let mut around = call.parent();
    while let Some(node) = around.filter(waits) {
        around = node.parent();
    }
    called == Some("Promise.allSettled") && around.is_some_and(|node| node.kind() == "expression_statement")
}

/// Whether a caught panic of Go is only asked for, and not given on.
fn is_only_compared(call: Node<'_>, text: &str) -> bool {
    let compared = call.parent().filter(|node| node.kind() == "binary_expression");
    let branch = compared.and_then(|node| node.parent()).filter(|node| node.kind() == "if_statement");
    branch.is_some_and(|branch| !text_of(branch, text).contains("panic("))
}

/// Functions that are there for all, and make no use of an error that they are given.
const IDLE: [&str; 6] = ["String", "Boolean", "Object", "Array", "Number", "Symbol"];

/// Whether a promise's handler looks at no error. `None` where it is none.
fn of_promise(call: Node<'_>, text: &str) -> Option<bool> {
    let called = call.child_by_field_name("function")?;
    let property = called.child_by_field_name("property")?;
    let given = children(call.child_by_field_name("arguments")?);
    let handler = match (text_of(property, text), given.as_slice()) {
        ("catch", [handler]) | ("then", [_, handler]) => *handler,
        _ => return None,
    };
    if handler.kind() == "identifier" {
        let name = text_of(handler, text);
        // What takes the answer as well knows no error.
        return Some(
            IDLE.contains(&name) || given.len() == 2 && given.first().is_some_and(|one| text_of(*one, text) == name),
        );
    }
    let named = handler.child_by_field_name("parameters").or_else(|| handler.child_by_field_name("parameter"))?;
    let body = handler.child_by_field_name("body")?;
    let given: Vec<&str> = names(named, text);
    // A handler that names its error looks at it, and one that throws passes on that there was one.
    Some(!names(body, text).iter().any(|name| given.contains(name)) && !text_of(body, text).contains("throw"))
}

/// Whether a call's value goes nowhere.
fn is_unused(call: Node<'_>, text: &str) -> bool {
    let mut around = call.parent();
    // The grammar puts `_ = recover()` into lists of one on both sides.
    while let Some(node) = around.filter(|node| node.kind() == "expression_list") {
        around = node.parent();
    }
    around.is_some_and(|node| match node.kind() {
        "expression_statement" | "block" | "statement_list" => true,
        "assignment_statement" => node.child_by_field_name("left").is_some_and(|left| text_of(left, text) == "_"),
        _ => false,
    })
}

/// Ends of a shell's command whose failure counts for nothing.
const COUNTS_NOT: [&str; 2] = ["|| true", "|| :"];

/// The first command of a shell's script whose failure counts no more.
pub(super) fn of_shell(before: &str, after: &str) -> Vec<Mark> {
    let lines = changed_lines(before, after);
    let is_new =
        |line: &&ChangedLine<'_>| line.side == line_diff::Side::New && !line.text.trim_start().starts_with('#');
    let ends = |line: &ChangedLine<'_>| COUNTS_NOT.into_iter().find(|end| line.text.trim_end().ends_with(end));
    let found = lines.iter().filter(is_new).find_map(|line| Some((line.number, ends(line)?)));
    let mark = |(line, end)| Mark { shape: Shape::SwallowsErrors, line, said: format!("`{end}`") };
    found.map(mark).into_iter().collect()
}
