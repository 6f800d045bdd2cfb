//! What a statement does beyond its own function, and whether that is still done.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::super::Language;
use super::super::nodes::{children, descendants, text_of};
use super::function::{Function, head, is_block, names, plain};

/// Words with which programs talk to whoever runs them.
const TALK: [&str; 9] = ["print", "pprint", "console", "log", "logger", "logging", "fmt", "warnings", "eprintln"];
/// Objects that are no object of their own: what they hold is.
const OWN: [&str; 3] = ["self", "this", "cls"];

/// What a statement does.
pub(super) enum Effect {
    /// It calls something, and nobody uses the value.
    Call {
        /// The name that is called.
        called: String,
        /// What it is called of: an object's name, or its own.
        of: String,
        /// The arguments.
        given: String,
        /// The call, where the statement waits for it.
        waits: Option<String>,
    },
    /// It raises, as a whole or under a condition.
    Refusal {
        /// The names that it asks about.
        asks: Vec<String>,
    },
    /// It stands around others.
    Around,
}

/// The names that a statement asks about before it raises, where it does nothing else.
fn asked(statement: Node<'_>, text: &str) -> Option<Vec<String>> {
    let owned = |node| names(node, text).into_iter().map(str::to_owned).collect();
    if is_refusal(statement, text) {
        return Some(owned(statement));
    }
    if !matches!(statement.kind(), "if_statement" | "expression_statement") || !guards(statement, text) {
        return None;
    }
    let first = if statement.kind() == "if_statement" { statement } else { *children(statement).first()? };
    first.child_by_field_name("condition").map(owned)
}

/// What a statement does, if anything.
pub(super) fn effect(language: Language, statement: Node<'_>, text: &str) -> Option<Effect> {
    if let Some(asks) = asked(statement, text) {
        return Some(Effect::Refusal { asks });
    }
    match statement.kind() {
        "expression_statement" | "defer_statement" => call(statement, text),
        // With a name bound the block inside would not run without it, so that its going is seen.
        "with_statement" => (!head(statement, text).contains(" as ")).then_some(Effect::Around),
        "try_statement" => (language != Language::Rust && reaches_out(statement, text)).then_some(Effect::Around),
        _ => None,
    }
}

fn call(statement: Node<'_>, text: &str) -> Option<Effect> {
    let mut node = *children(statement).first()?;
    let mut waits = None;
    if matches!(node.kind(), "await" | "await_expression") {
        let end = if text_of(statement, text).ends_with(';') { ";" } else { "" };
        node = *children(node).first()?;
        waits = Some(format!("{}{end}", plain(text_of(node, text))));
    }
    // `log.flush()?` in Rust.
    if node.kind() == "try_expression" {
        node = *children(node).first()?;
    }
    if !matches!(node.kind(), "call" | "call_expression") {
        return None;
    }
    let function = node.child_by_field_name("function")?;
    let given = node.child_by_field_name("arguments").map(|given| plain(text_of(given, text))).unwrap_or_default();
    let path = names(function, text);
    let (called, first) = (path.last()?, path.first()?);
    let of = match path.as_slice() {
        [own, part, _, ..] if OWN.contains(own) => format!("{own}.{part}"),
        _ if OWN.contains(&text_of(function, text).split('.').next().unwrap_or_default()) => {
            text_of(function, text).split('.').take(2).collect::<Vec<_>>().join(".")
        }
        _ => (*first).to_owned(),
    };
    // A print that is gone is what a clean-up looks like.
    let talks = TALK.iter().any(|word| first.eq_ignore_ascii_case(word));
    (!talks).then(|| Effect::Call { called: (*called).to_owned(), of, given, waits })
}

/// Whether a statement raises an error and does nothing else.
fn is_refusal(statement: Node<'_>, text: &str) -> bool {
    match statement.kind() {
        "raise_statement" | "throw_statement" | "assert_statement" => true,
        "expression_statement" | "macro_invocation" => {
            let spelled = text_of(statement, text);
            ["assert", "panic!"].iter().any(|word| spelled.starts_with(word)) && spelled.contains('!')
        }
        "return_expression" | "return_statement" => text_of(statement, text).starts_with("return Err("),
        _ => false,
    }
}

/// Whether a condition guards errors alone.
fn guards(statement: Node<'_>, text: &str) -> bool {
    let node = match statement.kind() {
        "expression_statement" => children(statement).first().copied().filter(|node| node.kind() == "if_expression"),
        _ => Some(statement),
    };
    let Some(node) = node.filter(|node| node.child_by_field_name("alternative").is_none()) else { return false };
    let Some(inside) = node.child_by_field_name("consequence") else { return false };
    let inside = if is_block(inside) { children(inside) } else { vec![inside] };
    let raises = |node: &Node<'_>| {
        let inner = if node.kind() == "expression_statement" { children(*node).first().copied() } else { None };
        is_refusal(*node, text) || inner.is_some_and(|inner| is_refusal(inner, text))
    };
    !inside.is_empty() && inside.iter().all(raises)
}

/// Whether what handles errors calls something, so that it is more than another way to end.
fn reaches_out(statement: Node<'_>, text: &str) -> bool {
    let body = statement.child_by_field_name("body");
    let handlers = children(statement).into_iter().filter(|node| Some(*node) != body);
    handlers
        .flat_map(descendants)
        .any(|node| matches!(node.kind(), "expression_statement") && call(node, text).is_some())
}

/// How many statements of a file refuse something.
pub(super) fn refusals((root, text): (Node<'_>, &str)) -> usize {
    let refuses = |node: &Node<'_>| {
        // A macro is the child of its statement, and would count twice.
        let is_inner = node.parent().is_some_and(|around| around.kind() == "expression_statement");
        is_refusal(*node, text) && !(node.kind() == "macro_invocation" && is_inner)
    };
    descendants(root).filter(refuses).count()
}

fn count((root, text): (Node<'_>, &str), name: &str) -> usize {
    names(root, text).into_iter().filter(|other| *other == name).count()
}

impl Effect {
    /// Whether the file does it as often as before.
    pub(super) fn is_elsewhere(&self, old: (Node<'_>, &str), new: (Node<'_>, &str)) -> bool {
        match self {
            Self::Call { called, .. } => count(new, called) >= count(old, called),
            Self::Refusal { .. } => refusals(new) >= refusals(old),
            // Every block around others is one of its own: another lock elsewhere guards something else.
            Self::Around => false,
        }
    }

    /// Whether what it calls stands in its place, statement by statement.
    pub(super) fn is_inlined(
        &self,
        all: &BTreeMap<String, Function<'_>>,
        was: &Function<'_>,
        is: &Function<'_>,
        (before, after): (&str, &str),
    ) -> bool {
        let Self::Call { called, .. } = self else { return false };
        let is_called = |key: &str| key.rsplit('.').next() == Some(called);
        let inside = all.iter().filter(|(key, _)| is_called(key)).flat_map(|(_, function)| &function.statements);
        let inside: Vec<String> = inside.map(|node| plain(text_of(*node, before))).collect();
        is.added(was, before, after).any(|node| inside.contains(&plain(text_of(node, after))))
    }

    /// Whether another statement has its place, or it reaches no further than its function.
    pub(super) fn is_replaced(&self, was: &Function<'_>, is: &Function<'_>, before: &str, after: &str) -> bool {
        let mut added = is.added(was, before, after);
        match self {
            Self::Call { of, given, .. } => {
                is_local(of, was, is, before, after)
                    || added.any(|node| {
                        let head = head(node, after);
                        mentions(&head, of) || given.len() > 2 && head.contains(given.as_str())
                    })
            }
            Self::Refusal { asks } => added.any(|node| {
                let calls = descendants(node).filter(|node| matches!(node.kind(), "call" | "call_expression"));
                let passed = calls.filter_map(|call| call.child_by_field_name("arguments"));
                let mut passed = passed.flat_map(|given| names(given, after));
                let is_passed = is_of_its_own(node) && passed.any(|name| asks.iter().any(|asked| asked == name));
                is_passed || asked(node, after).is_some_and(|also| also.iter().any(|name| asks.contains(name)))
            }),
            Self::Around => added.any(|node| matches!(node.kind(), "with_statement" | "try_statement")),
        }
    }
}

/// Whether a statement only does something, or gives a variable its value.
fn is_of_its_own(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "expression_statement"
            | "lexical_declaration"
            | "variable_declaration"
            | "let_declaration"
            | "short_var_declaration"
    )
}

/// Whether a text names something as a whole.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(at, found)| {
        let (before, after) = (text.get(..at), text.get(at + found.len()..));
        !is_part(before.and_then(|text| text.chars().next_back()))
            && !is_part(after.and_then(|text| text.chars().next()))
    })
}

/// Whether a name is a variable of the function's own that holds a plain value, or another one than before.
fn is_local(name: &str, was: &Function<'_>, is: &Function<'_>, before: &str, after: &str) -> bool {
    let binds = |node: &Node<'_>| {
        let target = match node.kind() {
            "assignment" | "assignment_expression" | "short_var_declaration" => node.child_by_field_name("left"),
            "variable_declarator" => node.child_by_field_name("name"),
            "let_declaration" => node.child_by_field_name("pattern"),
            "for_statement" | "for_in_statement" | "for_expression" | "as_pattern" => {
                return names(*node, before).contains(&name);
            }
            _ => None,
        };
        target.is_some_and(|target| names(target, before).contains(&name))
    };
    // Bound nowhere in the function: it comes from outside, and what is done to it is seen there.
    let Some(binding) = descendants(was.body).find(binds) else { return false };
    let value = ["right", "value"].iter().find_map(|field| binding.child_by_field_name(field));
    let is_called = value.is_some_and(|value| {
        descendants(value).any(|node| matches!(node.kind(), "call" | "call_expression" | "new_expression"))
    });
    let stays = descendants(is.body).any(|node| plain(text_of(node, after)) == plain(text_of(binding, before)));
    !(is_called && stays)
}
