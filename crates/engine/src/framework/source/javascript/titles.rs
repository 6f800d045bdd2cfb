//! The titles of tests, and what they are when they are printed.

use std::ops::Range;

use tree_sitter::Node;

use crate::framework::source::nodes::{children, text_of};

/// How a value that is not known before the run stands in a title.
const GAP: &str = "${}";
/// Sums of more parts than this are not titles.
const MOST_PARTS: usize = 64;

/// A title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Title {
    /// As it is printed, with [`GAP`] for what is not known.
    pub(super) value: String,
    /// Where a word can be added: the end is within the last quotes, or behind the expression.
    pub(super) place: Range<usize>,
    pub(super) has_gap: bool,
    /// Whether a table's row could fill it.
    pub(super) holds_mark: bool,
}

/// A title's value. `None` where nothing can be added to it.
pub(super) fn read(node: Node<'_>, text: &str) -> Option<Title> {
    let parts = parts_of(node, text)?;
    let last = *parts.last()?;
    let within = |part: Node<'_>| part.end_byte().saturating_sub(usize::from(is_quoted(part)));
    let first = *parts.first()?;
    let start = first.start_byte() + usize::from(is_quoted(first));
    let value: String = parts.iter().map(|part| value_of(*part, text)).collect();
    let has_gap = parts.iter().any(|part| !is_quoted(*part) || has_substitution(*part));
    let holds_mark = value.contains(['%', '$']);
    Some(Title { value, place: start..within(last), has_gap, holds_mark })
}

/// The parts of a sum, from the left. A title that is no sum is one part.
fn parts_of<'t>(node: Node<'t>, text: &str) -> Option<Vec<Node<'t>>> {
    let mut parts = Vec::new();
    let mut waiting = vec![node];
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "binary_expression" => {
                let operator = node.child_by_field_name("operator")?;
                (text_of(operator, text) == "+").then_some(())?;
                waiting.push(node.child_by_field_name("right")?);
                // The left one is taken off the stack first.
                waiting.push(node.child_by_field_name("left")?);
            }
            "string"
            | "template_string"
            | "identifier"
            | "member_expression"
            | "subscript_expression"
            | "call_expression"
            | "number" => parts.push(node),
            // A `+` behind it adds to all that is in the parentheses.
            "parenthesized_expression" => parts.push(node),
            _ => return None,
        }
        (parts.len() + waiting.len() <= MOST_PARTS).then_some(())?;
    }
    Some(parts)
}

fn is_quoted(node: Node<'_>) -> bool {
    matches!(node.kind(), "string" | "template_string")
}

fn has_substitution(node: Node<'_>) -> bool {
    children(node).iter().any(|child| child.kind() == "template_substitution")
}

fn value_of(part: Node<'_>, text: &str) -> String {
    if !is_quoted(part) {
        return GAP.to_owned();
    }
    let mut value = String::new();
    let mut at = part.start_byte() + 1;
    let end = part.end_byte().saturating_sub(1);
    for gap in children(part).into_iter().filter(|child| child.kind() == "template_substitution") {
        value.push_str(&unescaped(text.get(at..gap.start_byte()).unwrap_or_default()));
        value.push_str(GAP);
        at = gap.end_byte();
    }
    value.push_str(&unescaped(text.get(at..end).unwrap_or_default()));
    value
}

/// The string that is written like this.
pub(super) fn unescaped(written: &str) -> String {
    // In units of UTF-16, since `\ud83d\ude00` writes one character as two escapes.
    let mut units: Vec<u16> = Vec::with_capacity(written.len());
    let mut chars = written.chars();
    let push = |units: &mut Vec<u16>, c: char| units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut units, c);
            continue;
        }
        match chars.next() {
            Some('n') => push(&mut units, '\n'),
            Some('t') => push(&mut units, '\t'),
            Some('r') => push(&mut units, '\r'),
            Some('b') => push(&mut units, '\u{8}'),
            Some('f') => push(&mut units, '\u{c}'),
            Some('v') => push(&mut units, '\u{b}'),
            Some('0') => push(&mut units, '\0'),
            // A backslash at the line's end goes on in the next line, and writes nothing.
            Some('\n') | None => {}
            Some('x') => units.extend(unit(&chars.by_ref().take(2).collect::<String>())),
            Some('u') if chars.as_str().starts_with('{') => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                let c = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                push(&mut units, c.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some('u') => units.extend(unit(&chars.by_ref().take(4).collect::<String>())),
            Some(other) => push(&mut units, other),
        }
    }
    String::from_utf16_lossy(&units)
}

fn unit(digits: &str) -> Option<u16> {
    u16::from_str_radix(digits, 16).ok()
}
