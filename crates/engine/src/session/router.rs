//! The router (S1-18): a session hands its task over to one of the agents that the configuration names, in the place of a report.
//!
//! Invariant: only while no report is locked, and once. Who takes the task over, and what that costs, is the caller's affair.

use serde_json::{Value, json};

use super::action::Action;
use super::spec::Destination;
use super::tool::Tool;
use crate::domain::tool::ToolSpec;

/// The longest message that is passed on, in characters.
const MAX_MESSAGE_CHARS: usize = 4_000;

/// The description of the tool. `None` where there is nobody to hand over to.
pub(super) fn spec(destinations: &[Destination]) -> Option<ToolSpec> {
    if destinations.is_empty() {
        return None;
    }
    let names: Vec<&str> = destinations.iter().map(|one| one.name.as_str()).collect();
    let when: Vec<String> = destinations.iter().map(|one| format!("{}: {}", one.name, one.when.trim())).collect();
    Some(ToolSpec {
        name: Tool::HandOver.name().to_owned(),
        description: format!(
            "Hand your whole task over to a specialist instead of calling final_report, where one fits: your session ends with it. \
             Say in `message` what you found.\n{}",
            when.join("\n")
        ),
        parameters: json!({
            "type": "object",
            "properties": {"destination": {"type": "string", "enum": names}, "message": {"type": "string"}},
            "required": ["destination"],
        }),
    })
}

/// Checks a call's arguments.
///
/// # Errors
/// The fault, in words for the model.
pub(super) fn read(destinations: &[Destination], arguments: &Value) -> Result<Action, String> {
    let names: Vec<&str> = destinations.iter().map(|one| one.name.as_str()).collect();
    let asked = arguments.get("destination").and_then(Value::as_str).unwrap_or_default().trim();
    let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
    match names.iter().find(|name| **name == asked) {
        Some(name) => {
            Ok(Action::HandOver { to: (*name).to_owned(), message: message.chars().take(MAX_MESSAGE_CHARS).collect() })
        }
        None => Err(format!("`destination` must be one of {}, not `{asked}`", names.join(", "))),
    }
}
