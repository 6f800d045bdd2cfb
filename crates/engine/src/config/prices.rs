//! The configuration's facts about a model, laid over the catalogue's: window, limits, price.

use crate::domain::catalogue::{ModelInfo, Price};
use crate::domain::model_id::ModelId;

use super::error::Faults;
use super::file::ModelSection;
use super::numbers::PerMillion;

/// Lays what configuration says over what the catalogue knows.
pub(super) fn apply(section: &ModelSection, info: &mut ModelInfo, id: &ModelId, faults: &Faults) {
    if *section == ModelSection::default() {
        return;
    }
    let path = format!("models[\"{id}\"]");
    // Reports say where a price came from. One that a person gave is theirs to answer for.
    info.source = info.configured_source();
    if let Some(window) = section.context_window {
        info.context_window = u64::from(window.0);
        // A smaller window must leave room for a prompt, and the catalogue's limit fits a larger one.
        info.max_output_tokens = info.max_output_tokens.min((info.context_window / 4).max(1));
    }
    if let Some(limit) = section.max_output_tokens {
        info.max_output_tokens = u64::from(limit.0);
    }
    if info.max_output_tokens >= info.context_window {
        let message = format!(
            "a reply of {} tokens leaves no room for a prompt in a window of {}",
            info.max_output_tokens, info.context_window
        );
        faults.add(&format!("{path}.maxOutputTokens"), message, "Make it smaller than the context window.");
    }
    if let Some(tools) = section.tools {
        info.tools = tools;
    }
    info.price = price(section, info.price, &path, faults);
}

fn price(section: &ModelSection, known: Option<Price>, path: &str, faults: &Faults) -> Option<Price> {
    let given = [section.input_per_1m, section.output_per_1m, section.cache_read_per_1m, section.cache_write_per_1m];
    if given.iter().all(Option::is_none) {
        return known;
    }
    let half_known = |key: &str| {
        faults.add(
            &format!("{path}.{key}"),
            "is required: the catalogue has no price for this model",
            "Give both \
            `inputPer1M` and `outputPer1M`; 0 if it costs nothing.",
        );
        None
    };
    let Some(input) = section.input_per_1m.map(|price| price.0).or(known.map(|price| price.input)) else {
        // A price that is known by half would book half of the cost.
        return half_known("inputPer1M");
    };
    let Some(output) = section.output_per_1m.map(|price| price.0).or(known.map(|price| price.output)) else {
        return half_known("outputPer1M");
    };
    // Another input price makes the catalogue's cache prices meaningless: a cached token then costs what a plain one does.
    let cached = |given: Option<PerMillion>, of_catalogue: fn(Price) -> u64| {
        let kept = known.filter(|_| section.input_per_1m.is_none()).map(of_catalogue);
        given.map(|price| price.0).or(kept).unwrap_or(input)
    };
    Some(Price {
        input,
        output,
        cache_read: cached(section.cache_read_per_1m, |price| price.cache_read),
        cache_write: cached(section.cache_write_per_1m, |price| price.cache_write),
    })
}
