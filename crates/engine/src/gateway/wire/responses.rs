//! OpenAI's Responses (npm `openai` 6.49.0 `resources/responses`, and requests of codex 0.169.0).

use serde_json::Value;

use super::fields::{Body, Unbounded, is_data, items, none_of, ordinary_tier, says, word};

/// Types of tools that the client runs. A namespace holds others, which are looked at as well.
const CLIENT_TOOLS: [&str; 7] =
    ["function", "custom", "local_shell", "apply_patch", "computer", "computer_use_preview", "namespace"];

pub(super) fn unbounded(body: &Body) -> Result<(), Unbounded> {
    for key in ["previous_response_id", "conversation", "prompt"] {
        if says(body, key) {
            return Err(Unbounded::elsewhere(&format!("the content of `{key}`")));
        }
    }
    none_of(body, &["background", "max_tool_calls"])?;
    ordinary_tier(body, "service_tier", &["auto", "default", "standard", "flex"])?;
    if items(body.get("context_management")).next().is_some() {
        return Err(Unbounded::field("context_management"));
    }
    items(body.get("tools")).try_for_each(tool)?;
    items(body.get("input")).try_for_each(item)
}

fn tool(tool: &Value) -> Result<(), Unbounded> {
    let kind = word(tool, "type");
    // A shell is the client's unless it names a container of the vendor's.
    let local_shell =
        kind == "shell" && matches!(word(tool.get("environment").unwrap_or(&Value::Null), "type"), "" | "local");
    if !CLIENT_TOOLS.contains(&kind) && !local_shell {
        return Err(Unbounded::tool(kind));
    }
    items(tool.get("tools")).try_for_each(self::tool)
}

fn item(item: &Value) -> Result<(), Unbounded> {
    // A reference need not name its type, and a message without one has a role.
    let kind = word(item, "type");
    if kind == "item_reference" || (kind.is_empty() && word(item, "role").is_empty()) {
        return Err(Unbounded::elsewhere("the content of an `item_reference`"));
    }
    parts(item).try_for_each(check)
}

/// The parts of a message, or of a tool's output.
fn parts(item: &Value) -> impl Iterator<Item = &Value> {
    // A screenshot comes as one object, other outputs as a list of parts or as a text.
    let output = item.get("output");
    items(item.get("content")).chain(items(output)).chain(output.filter(|output| output.is_object()))
}

fn check(part: &Value) -> Result<(), Unbounded> {
    match word(part, "type") {
        "input_image" | "computer_screenshot" if is_data(word(part, "image_url")) => Ok(()),
        "input_image" | "computer_screenshot" => Err(Unbounded::elsewhere("a picture")),
        "input_file" => Err(Unbounded::elsewhere("a file")),
        "input_audio" => Err(Unbounded::new("the size of audio is unknown", "send text")),
        _ => Ok(()),
    }
}

pub(super) fn images(body: &Body) -> u64 {
    let is_image = |part: &&Value| matches!(word(part, "type"), "input_image" | "computer_screenshot");
    items(body.get("input")).flat_map(parts).filter(is_image).count() as u64
}
