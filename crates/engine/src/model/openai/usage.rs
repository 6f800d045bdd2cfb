//! The token counts in an OpenAI-like answer.

use serde_json::Value;

use crate::domain::chat::Usage;

/// The vendor's counts. `prompt_tokens` includes tokens that a cache served or took in. DeepSeek says the first in a field of its own, and
/// Groq puts the counts of a stream elsewhere.
pub(in crate::model) fn usage_of(answer: &Value) -> Option<Usage> {
    let usage = answer.get("usage").filter(|usage| usage.is_object()).or_else(|| answer.pointer("/x_groq/usage"))?;
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_u64);
    let counts = Whole {
        prompt: count("/prompt_tokens")?,
        cache_read: count("/prompt_tokens_details/cached_tokens")
            .or_else(|| count("/prompt_cache_hit_tokens"))
            .unwrap_or(0),
        cache_write: count("/prompt_tokens_details/cache_write_tokens").unwrap_or(0),
        completion: count("/completion_tokens").unwrap_or(0),
        reasoning: count("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
        total: count("/total_tokens"),
    };
    Some(counts.parted())
}

/// Counts of which some are said to be parts of others: the cached tokens of the prompt, the reasoning of the completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole {
    pub(super) prompt: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) completion: u64,
    pub(super) reasoning: u64,
    pub(super) total: Option<u64>,
}

impl Whole {
    /// The counts as kinds that do not overlap. Where a part is larger than its whole it can only stand beside it, and a total that is more
    /// than the rest counts tokens of the reply that stand nowhere else: so no reading books too little.
    pub(super) fn parted(self) -> Usage {
        let Self { prompt, cache_read, cache_write, completion, reasoning, total } = self;
        let cached = cache_read.saturating_add(cache_write);
        let input = prompt.checked_sub(cached).unwrap_or(prompt);
        let all_input = input.saturating_add(cached);
        // xAI counts reasoning beside the completion: only the total tells.
        let beside = all_input.saturating_add(completion).saturating_add(reasoning);
        let output = if reasoning > completion { completion.saturating_add(reasoning) } else { completion };
        let told = total.map_or(0, |total| total.saturating_sub(all_input));
        let output = if total == Some(beside) { completion.saturating_add(reasoning) } else { output.max(told) };
        Usage { input, output, cache_read, cache_write, reasoning }.sane()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_that_contradict_themselves_are_never_read_as_less() {
        let read = |usage: Value| {
            let usage = usage_of(&json!({ "usage": usage })).unwrap();
            (usage.input, usage.cache_read, usage.output)
        };
        let cached = |cached: u64| json!({"cached_tokens": cached});
        let thought = |tokens: u64| json!({"reasoning_tokens": tokens});
        let plain = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "prompt_tokens_details": cached(60),
            "completion_tokens_details": thought(5)});
        assert_eq!(read(plain), (40, 60, 10));
        let cached = json!({"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": cached(500)});
        assert_eq!(read(cached), (100, 500, 10), "more is cached than was sent");
        let thought_more =
            json!({"prompt_tokens": 100, "completion_tokens": 10, "completion_tokens_details": thought(500)});
        assert_eq!(read(thought_more), (100, 0, 510), "more was thought than said");
        let beside = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 115, "completion_tokens_details": thought(5)});
        assert_eq!(read(beside), (100, 0, 15), "xAI");
        let hidden = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 610});
        assert_eq!(read(hidden), (100, 0, 510), "the rest of the total");
        let absurd = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX, "total_tokens": u64::MAX});
        assert_eq!(read(absurd), (1_000_000_000, 0, 1_000_000_000));
    }
}
