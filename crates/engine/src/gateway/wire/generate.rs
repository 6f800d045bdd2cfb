//! Gemini's `generateContent` (ai.google.dev/api/generate-content, npm `@google/genai` 2.32.0). Names may come in both spellings.

use serde_json::{Value, json};

use super::fields::{Body, Unbounded, asks_for_several, items, ordinary_tier, word};

/// The kinds of tools that the client runs.
const CLIENT_TOOLS: [&str; 2] = ["functionDeclarations", "function_declarations"];

pub(super) fn unbounded(body: &Body) -> Result<(), Unbounded> {
    if ["cachedContent", "cached_content"].iter().any(|key| super::fields::says(body, key)) {
        return Err(Unbounded::elsewhere("the content of `cachedContent`"));
    }
    ordinary_tier(body, "serviceTier", &["standard", "flex", "unspecified"])?;
    ordinary_tier(body, "service_tier", &["standard", "flex", "unspecified"])?;
    for tool in items(body.get("tools")).filter_map(Value::as_object) {
        if let Some(kind) = tool.keys().find(|kind| !CLIENT_TOOLS.contains(&kind.as_str())) {
            return Err(Unbounded::tool(kind));
        }
    }
    // The limit is set in one place, and nobody knows which of two the vendor reads.
    if configs(body).count() > 1 {
        return Err(Unbounded::twice("generationConfig"));
    }
    for config in configs(body) {
        if ["maxOutputTokens", "max_output_tokens"].iter().all(|key| config.get(*key).is_some()) {
            return Err(Unbounded::twice("maxOutputTokens"));
        }
        if ["candidateCount", "candidate_count"].iter().any(|key| asks_for_several(config.get(*key))) {
            return Err(Unbounded::several());
        }
        let kinds = items(config.get("responseModalities")).chain(items(config.get("response_modalities")));
        if kinds.filter_map(Value::as_str).any(|kind| !kind.eq_ignore_ascii_case("text")) {
            return Err(Unbounded::field("responseModalities"));
        }
    }
    parts(body).try_for_each(check)
}

fn configs(body: &Body) -> impl Iterator<Item = &Value> {
    ["generationConfig", "generation_config"].into_iter().filter_map(|key| body.get(key))
}

fn parts(body: &Body) -> impl Iterator<Item = &Value> {
    let system = ["systemInstruction", "system_instruction"].into_iter().filter_map(|key| body.get(key));
    items(body.get("contents")).chain(system).flat_map(|content| items(content.get("parts"))).flat_map(|part| {
        // A function's answer may bring pictures and files beside its words.
        let answers = ["functionResponse", "function_response"].into_iter().filter_map(|key| part.get(key));
        std::iter::once(part).chain(answers.flat_map(|answer| items(answer.get("parts"))))
    })
}

/// The contents of a part, in either spelling. A part may hold both.
fn inline(part: &Value) -> impl Iterator<Item = &Value> {
    ["inlineData", "inline_data"].into_iter().filter_map(|name| part.get(name))
}

fn check(part: &Value) -> Result<(), Unbounded> {
    if part.get("fileData").or_else(|| part.get("file_data")).is_some() {
        return Err(Unbounded::elsewhere("a file"));
    }
    for data in inline(part) {
        // Which of two spellings the vendor takes is its own, so each that is there must do.
        let mut kinds =
            ["mimeType", "mime_type"].map(|name| word(data, name)).into_iter().filter(|kind| !kind.is_empty());
        let is_bounded = |kind: &str| kind.starts_with("image/") || kind.starts_with("text/");
        let first = kinds.next().unwrap_or_default();
        if let Some(kind) = std::iter::once(first).chain(kinds).find(|kind| !is_bounded(kind)) {
            return Err(Unbounded::new(format!("the size of `{kind}` is unknown"), "send text"));
        }
    }
    Ok(())
}

pub(super) fn images(body: &Body) -> u64 {
    parts(body).flat_map(inline).count() as u64
}

pub(super) fn limit(body: &Body) -> Option<u64> {
    let of = |config: &Value| config.get("maxOutputTokens").or_else(|| config.get("max_output_tokens"))?.as_u64();
    configs(body).filter_map(of).max()
}

/// Sets the limit in one place, whatever spellings there were.
pub(super) fn set_limit(body: &mut Body, tokens: u64) {
    let spelling = if body.contains_key("generation_config") { "generation_config" } else { "generationConfig" };
    let config = body.entry(spelling).or_insert_with(|| json!({}));
    if !config.is_object() {
        *config = json!({});
    }
    let Some(config) = config.as_object_mut() else { return };
    config.remove("max_output_tokens");
    config.insert("maxOutputTokens".to_owned(), tokens.into());
    let thinking = config.get_mut("thinkingConfig").and_then(Value::as_object_mut);
    let over = |budget: &Value| budget.as_u64().is_some_and(|budget| budget >= tokens);
    if let Some(thinking) = thinking.filter(|thinking| thinking.get("thinkingBudget").is_some_and(over)) {
        // A budget as large as the limit would leave nothing for the reply.
        thinking.insert("thinkingBudget".to_owned(), (tokens / 2).into());
    }
}
