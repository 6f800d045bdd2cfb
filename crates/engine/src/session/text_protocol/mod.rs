//! The text protocol: how a model without tool calling reads, edits and reports.
//!
//! Owns the reading of a reply into [`Item`]s and the prompt that teaches the protocol (`text_protocol.md`). Tolerant of the replies that
//! small models really write: prose around everything, wrong fence languages, tildes, CRLF, paths in five places. Invariant: pure. An edit
//! is understood for certain or refused with a reason, never guessed (issue 3, must-show 6).
//!
//! Start reading at [`read`].

mod commands;
mod item;
mod json_calls;
mod paths;
mod scan;

pub(super) use self::item::Item;
use self::scan::{Naming, Piece};
use super::action::{Action, Existing, Matching, Source};
use crate::domain::ladder::Role;

/// The text that teaches the protocol to a role. It is appended to the system prompt of models without tool calling.
pub(super) fn prompt(role: Role) -> &'static str {
    match role {
        Role::Artisan => include_str!("../text_protocol.md"),
        Role::Librarian => include_str!("../text_protocol_librarian.md"),
        Role::Critic => include_str!("../text_protocol_critic.md"),
        Role::Advisor => include_str!("../text_protocol_advisor.md"),
    }
}

/// The parts of a text that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heed {
    /// Edits, files, JSON calls and line commands: the model was taught the protocol.
    Everything,
    /// Edits, files and JSON calls: the model has tools but answered in text.
    EditsAndCalls,
}

/// Reads a reply. The items come in the order of the text.
pub(super) fn read(text: &str, role: Role, heed: Heed) -> Vec<Item> {
    if let Some(report) = json_calls::bare_report(text, role) {
        return vec![report];
    }
    let mut items = Vec::new();
    for piece in scan::pieces(text) {
        match piece {
            Piece::Edit { path, search, replace } => items.push(edit(path, search, replace)),
            Piece::File { path, naming, header, content } => {
                // A path that a sentence only mentions is no order to make a new file.
                let existing = if naming == Naming::Mentioned { Existing::Required } else { Existing::Either };
                let source = Source::Block { existing, header };
                items.push(Item::Act(Action::WriteFile { path, content, source }));
            }
            Piece::Code(code) => {
                items.extend(json_calls::in_text(&code, role));
                if heed == Heed::Everything && commands::only_commands(&code, role) {
                    items.extend(commands::in_prose(&code, role));
                }
            }
            Piece::Prose(prose) => {
                items.extend(json_calls::in_text(&prose, role));
                if heed == Heed::Everything {
                    items.extend(commands::in_prose(&prose, role));
                }
            }
            Piece::Broken { path, why } => items.push(Item::Refuse { subject: path, why }),
        }
    }
    items
}

fn edit(path: String, search: String, replace: String) -> Item {
    if search.trim().is_empty() {
        let source = Source::Block { existing: Existing::Forbidden, header: None };
        let content = if replace.is_empty() { replace } else { replace + "\n" };
        return Item::Act(Action::WriteFile { path, content, source });
    }
    if search == replace {
        return Item::Refuse { subject: path, why: "old and new text are the same: nothing would change".to_owned() };
    }
    Item::Act(Action::EditFile { path, old: search, new: replace, matching: Matching::Lines })
}

#[cfg(test)]
mod tests;
