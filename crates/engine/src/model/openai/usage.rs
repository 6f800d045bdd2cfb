//! The token counts in an OpenAI-like answer.

use serde_json::Value;

use crate::domain::chat::Usage;

/// The vendor's counts. `prompt_tokens` includes tokens that a cache served or took in. DeepSeek says the first in a field of its own, and
/// Groq puts the counts of a stream elsewhere.
pub(in crate::model) fn usage_of(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage").filter(|usage| usage.is_object()).or_else(|| answer.pointer("/x_groq/usage"))?;
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let prompt = count("/prompt_tokens")?;
    let cache_read = count("/prompt_tokens_details/cached_tokens")
        .or_else(|| count("/prompt_cache_hit_tokens"))
        .unwrap_or(0)
        // Never more than the whole, or the rest would be negative.
        .min(prompt);
    let cache_write = count("/prompt_tokens_details/cache_write_tokens").unwrap_or(0).min(prompt - cache_read);
    let completion = count("/completion_tokens").unwrap_or(0);
    let reasoning = count("/completion_tokens_details/reasoning_tokens").unwrap_or(0);
    // xAI counts reasoning beside the completion: only the total tells.
    let beside = count("/total_tokens").is_some_and(|total| total == prompt + completion + reasoning);
    Some(Usage {
        input: prompt - cache_read - cache_write,
        output: if beside { completion + reasoning } else { completion },
        cache_read,
        cache_write,
        reasoning,
    })
}
