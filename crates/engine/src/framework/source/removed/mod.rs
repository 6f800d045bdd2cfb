//! Statements that a change takes out of a function, each put back alone into the changed text: a call whose value nobody used, a check that
//! raises, a wait, a block around others (a lock, a handler).
//!
//! Only what is gone is put back. What stands elsewhere in the file, what another statement has the place of, and what reaches no further
//! than its own function are left out: too few are found rather than one that was only written otherwise.

mod by_lines;
mod effect;
mod function;
mod place;
mod replaced;

use std::collections::BTreeMap;

use self::by_lines::Lines;
use self::effect::{Effect, effect};
use self::function::{Function, Sides, functions};
use self::place::{definitions, put_back, wrapped};
pub use self::replaced::replaced;
use super::Language;
use super::edit::{Edit, apply};
use super::nodes::text_of;
use super::parse::parse;

/// A statement that is gone, put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The one-based line of the changed text where it belongs.
    pub line: u32,
    /// The statement, up to what is inside of it.
    pub spelled: String,
    /// The changed text with it.
    pub text: String,
}

/// The statements that a change takes out of a file's functions. Empty where it is not understood.
#[must_use]
pub fn removed(path: &str, before: &str, after: &str) -> Vec<Removed> {
    let Some(language) = Language::of(path) else { return Vec::new() };
    if !language.has_grammar() {
        let found = by_lines::removed(language, before, after).into_iter();
        return found.map(|Lines { line, spelled, text }| Removed { line, spelled, text }).collect();
    }
    let (Some(old), Some(new)) = (parse(language, before), parse(language, after)) else { return Vec::new() };
    let sides = Sides { language, old: (old.root_node(), before), new: (new.root_node(), after) };
    let (all, now) = (functions(sides.old), functions(sides.new));
    let mut found = Vec::new();
    for (name, was) in &all {
        let Some(is) = now.get(name).filter(|is| text_of(is.body, after) != text_of(was.body, before)) else {
            continue;
        };
        found.extend(was.statements.iter().filter_map(|statement| {
            let (edits, at) = with(&sides, &all, (was, is), *statement)?;
            let line = u32::try_from(after.get(..at)?.matches('\n').count() + 1).ok()?;
            // Put back in the wrong place it may not parse. Tests that fail for that would say nothing.
            let text = apply(after, &edits).filter(|text| parse(language, text).is_some())?;
            Some(Removed { line, spelled: function::head(*statement, before), text })
        }));
    }
    found
}

/// The edits that put one statement back, and the place of it.
fn with(
    sides: &Sides<'_>,
    all: &BTreeMap<String, Function<'_>>,
    (was, is): (&Function<'_>, &Function<'_>),
    statement: tree_sitter::Node<'_>,
) -> Option<(Vec<Edit>, usize)> {
    let ((_, before), (_, after)) = (sides.old, sides.new);
    let text = function::plain(text_of(statement, before));
    // It was only moved.
    if function::often(sides.new, &text) >= function::often(sides.old, &text) || is.holds(&text, after) {
        return None;
    }
    let effect = effect(sides.language, statement, before)?;
    if let Effect::Call { waits: Some(waited), .. } = &effect
        && let Some(left) = is.added(was, before, after).find(|node| function::plain(text_of(*node, after)) == *waited)
    {
        // It is still begun, and nobody waits for it.
        return Some((
            vec![Edit { range: left.byte_range(), text: text_of(statement, before).to_owned() }],
            left.start_byte(),
        ));
    }
    if effect.is_elsewhere(sides.old, sides.new)
        || effect.is_inlined(all, was, is, (before, after))
        || effect.is_replaced(was, is, before, after)
    {
        return None;
    }
    let mut edits = definitions(sides, statement)?;
    let (own, at) = match effect {
        Effect::Around => wrapped(sides, is, statement)?,
        Effect::Refusal { .. } => put_back(sides, (was, is), statement, true)?,
        Effect::Call { .. } => put_back(sides, (was, is), statement, false)?,
    };
    // Tests need no more than what they find: a name that is still missing has them fail.
    edits.extend(own);
    Some((edits, at))
}

#[cfg(test)]
mod tests;
