//! The token counts in an Ollama server's answer.

use serde_json::Value;

use crate::domain::chat::Usage;

/// The server's counts. The prompt's include the tokens that a cache served (`prompt_eval_cached_count`). Older servers leave it out where
/// all of it was cached, and say nothing then.
pub(super) fn usage_of(answer: &Value) -> Option<Usage> {
    let count = |key: &str| answer.get(key).and_then(Value::as_u64);
    let prompt = count("prompt_eval_count")?;
    // Never more than the prompt, or the rest would be negative.
    let cache_read = count("prompt_eval_cached_count").unwrap_or(0).min(prompt);
    let told = Usage {
        input: prompt - cache_read,
        output: count("eval_count").unwrap_or(0),
        cache_read,
        cache_write: 0,
        reasoning: 0,
    };
    Some(told.sane())
}
