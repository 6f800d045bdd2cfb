//! Anthropic's Messages (docs.claude.com: Messages, Tool use, Prompt caching, Service tiers, and npm `@anthropic-ai/sdk` 1.12.0).

use serde_json::{Value, json};

use super::fields::{Body, Unbounded, items, none_of, ordinary_tier, says, word};

/// Beginnings of the types of tools that the client runs. A tool without a type, or a `custom` one, is the client's as well.
const CLIENT_TOOLS: [&str; 5] = ["custom", "bash_", "text_editor_", "computer_", "memory_"];
/// The smallest thinking budget that the vendor takes.
const MIN_THINKING: u64 = 1_024;
/// The rest of the limit for the reply itself, in tokens, where the thinking budget has to be lowered.
const MIN_REPLY: u64 = 256;

pub(super) fn unbounded(body: &Body) -> Result<(), Unbounded> {
    for tool in items(body.get("tools")) {
        let kind = word(tool, "type");
        if !kind.is_empty() && !CLIENT_TOOLS.iter().any(|known| kind.starts_with(known)) {
            return Err(Unbounded::tool(kind));
        }
    }
    none_of(body, &["mcp_servers", "container"])?;
    ordinary_tier(body, "service_tier", &["auto", "standard_only"])?;
    ordinary_tier(body, "speed", &["standard"])?;
    ordinary_tier(body, "inference_geo", &["global", "not_available"])?;
    let edits = body.get("context_management").and_then(|management| management.get("edits"));
    if items(edits).any(|edit| word(edit, "type").starts_with("compact")) {
        return Err(Unbounded::field("context_management"));
    }
    blocks(body).try_for_each(check)
}

/// Every block of the conversation, those inside tool results and documents too.
fn blocks(body: &Body) -> impl Iterator<Item = &Value> {
    let said = items(body.get("messages")).filter_map(|message| message.get("content"));
    said.flat_map(|content| items(Some(content))).flat_map(with_inner)
}

fn with_inner(block: &Value) -> Vec<&Value> {
    let inner = match word(block, "type") {
        "tool_result" => block.get("content"),
        "document" => block.pointer("/source/content"),
        _ => None,
    };
    std::iter::once(block).chain(items(inner).flat_map(with_inner)).collect()
}

fn check(block: &Value) -> Result<(), Unbounded> {
    let (kind, source) = (word(block, "type"), block.get("source").map_or("", |source| word(source, "type")));
    match (kind, source) {
        ("container_upload", _) | ("image" | "document", "file") => Err(Unbounded::elsewhere("a file")),
        ("image" | "document", "url") => Err(Unbounded::elsewhere("the content behind an address")),
        ("document", "base64") => {
            Err(Unbounded::new("a compressed document has more tokens than bytes", "send its text"))
        }
        _ => Ok(()),
    }
}

pub(super) fn images(body: &Body) -> u64 {
    blocks(body).filter(|block| word(block, "type") == "image").count() as u64
}

/// Sets `max_tokens`, and keeps the thinking budget below it, as the vendor wants it.
pub(super) fn set_limit(body: &mut Body, tokens: u64) {
    body.insert("max_tokens".to_owned(), tokens.into());
    let Some(thinking) = body.get_mut("thinking").and_then(Value::as_object_mut) else { return };
    let Some(budget) = thinking.get("budget_tokens").and_then(Value::as_u64).filter(|budget| *budget >= tokens) else {
        return;
    };
    let room = tokens.saturating_sub(MIN_REPLY).min(budget);
    if room >= MIN_THINKING {
        thinking.insert("budget_tokens".to_owned(), room.into());
    } else {
        // The vendor refuses a smaller budget, and a reply without thinking is better than none.
        body.insert("thinking".to_owned(), json!({"type": "disabled"}));
    }
}

pub(super) fn caches_for_an_hour(body: &Body) -> bool {
    // Five minutes are the usual time. Whatever else is said is taken for the dearer hour.
    let lasts = |value: &Value| value.pointer("/cache_control/ttl").is_some_and(|ttl| ttl != "5m");
    let own = body.get("cache_control").and_then(|control| control.get("ttl")).is_some_and(|ttl| ttl != "5m");
    own || items(body.get("tools")).chain(items(body.get("system"))).chain(blocks(body)).any(lasts)
        || says(body, "cache_ttl")
}
