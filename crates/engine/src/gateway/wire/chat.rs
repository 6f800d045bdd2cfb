//! Chat completions, as OpenAI and most others offer them (npm `openai` 6.49.0, and the own fields of OpenRouter and xAI).

use serde_json::{Value, json};

use super::fields::{Body, Unbounded, asks_for_several, count, is_data, items, none_of, ordinary_tier, says, word};

/// Fields that switch a search on by being there, whatever they hold.
const SEARCHES: [&str; 2] = ["web_search_options", "search_parameters"];
/// Fields that bring in searches, other models, other providers, or replies of another price.
const COSTLY: [&str; 8] =
    ["plugins", "models", "route", "provider", "prediction", "audio", "background", "previous_response_id"];

pub(super) fn unbounded(body: &Body) -> Result<(), Unbounded> {
    if ["n", "best_of"].iter().any(|key| asks_for_several(body.get(*key))) {
        return Err(Unbounded::several());
    }
    let is_set = |key: &&&str| body.get(**key).is_some_and(|value| !value.is_null() && *value != false);
    if let Some(search) = SEARCHES.iter().find(is_set) {
        return Err(Unbounded::field(search));
    }
    none_of(body, &COSTLY)?;
    ordinary_tier(body, "service_tier", &["auto", "default", "standard", "flex"])?;
    if items(body.get("modalities")).any(|kind| kind != "text") {
        return Err(Unbounded::field("modalities"));
    }
    for tool in items(body.get("tools")) {
        let kind = word(tool, "type");
        if !["", "function", "custom"].contains(&kind) {
            return Err(Unbounded::tool(kind));
        }
    }
    // `:online` and the like are OpenRouter's words for a search, or for dearer providers.
    let model = body.get("model").and_then(Value::as_str).unwrap_or_default();
    if let Some((_, variant)) =
        model.rsplit_once(':').filter(|(_, variant)| ["online", "nitro", "exacto", "extended"].contains(variant))
    {
        return Err(Unbounded::tier(variant));
    }
    parts(body).try_for_each(check)
}

fn parts(body: &Body) -> impl Iterator<Item = &Value> {
    items(body.get("messages")).flat_map(|message| items(message.get("content")))
}

fn check(part: &Value) -> Result<(), Unbounded> {
    match word(part, "type") {
        "" | "text" | "refusal" | "thinking" => Ok(()),
        "image_url" if is_data(address(part)) => Ok(()),
        "image_url" => Err(Unbounded::elsewhere("the content behind an address")),
        "file" => Err(Unbounded::elsewhere("a file")),
        other => Err(Unbounded::new(format!("the size of a part of type `{other}` is unknown"), "send text")),
    }
}

fn address(part: &Value) -> &str {
    let url = part.get("image_url").unwrap_or(&Value::Null);
    url.as_str().unwrap_or_else(|| word(url, "url"))
}

pub(super) fn images(body: &Body) -> u64 {
    parts(body).filter(|part| word(part, "type") == "image_url").count() as u64
}

/// The names of the reply's limit. Which one counts depends on the server.
const LIMITS: [&str; 2] = ["max_completion_tokens", "max_tokens"];

/// The larger of both fields. `None` where one of them is no whole number: a server may read `"9000"` as one, so that both are set anew.
pub(super) fn limit(body: &Body) -> Option<u64> {
    let said = || LIMITS.into_iter().filter(|key| says(body, key));
    let all_are_numbers = said().all(|key| count(body, key).is_some());
    said().filter_map(|key| count(body, key)).max().filter(|_| all_are_numbers)
}

pub(super) fn set_limit(body: &mut Body, tokens: u64, field: &str) {
    let named: Vec<&str> = LIMITS.into_iter().filter(|key| says(body, key)).collect();
    for key in if named.is_empty() { vec![field] } else { named } {
        body.insert(key.to_owned(), tokens.into());
    }
}

pub(super) fn ask_for_counts(body: &mut Body) -> bool {
    let streams = body.get("stream").is_some_and(|stream| stream == true);
    let options = body.get("stream_options").and_then(Value::as_object);
    if !streams || options.is_some_and(|options| options.get("include_usage").is_some_and(|asked| asked == true)) {
        return false;
    }
    let mut options = options.cloned().unwrap_or_default();
    // A stream of chat completions tells no counts unless it is asked to.
    options.insert("include_usage".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), Value::Object(options));
    true
}
