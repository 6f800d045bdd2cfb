//! Common parts of reading agents' lines: texts and numbers at a place, the subject of a call, the meaning of a complaint.

use serde_json::Value;

use super::event::AgentEvent;

/// A text at a place. Empty where there is none.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A text at a place, where there is one that is not empty.
pub(super) fn some_text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A number at a place. 0 where there is none.
pub(super) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

/// The subject of a tool call, by the names that agents have for it.
pub(super) fn subject(arguments: &Value) -> String {
    const NAMES: [&str; 13] = [
        "file_path",
        "filePath",
        "path",
        "absolute_path",
        "notebook_path",
        "command",
        "cmd",
        "pattern",
        "query",
        "url",
        "dir_path",
        "description",
        "prompt",
    ];
    NAMES.iter().find_map(|name| arguments.get(name)?.as_str()).unwrap_or_default().to_owned()
}

/// Whether words are about a rate limit.
pub(super) fn is_limit(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["429", "rate limit", "rate_limit", "too many requests", "overloaded"].iter().any(|sign| said.contains(sign))
}

/// A limit or a trouble, by its words.
pub(super) fn trouble(said: &str) -> AgentEvent {
    let said = said.to_owned();
    if is_limit(&said) { AgentEvent::RateLimit { retry_after_ms: None, said } } else { AgentEvent::Trouble { said } }
}
