//! The catalogue's names, prices and promises.

use super::*;
use crate::domain::chat::Usage;
use crate::domain::model_id::BUILT_IN_PROVIDERS;

fn known(text: &str) -> Option<ModelInfo> {
    lookup(&ModelId::parse(text).unwrap())
}

fn usd(text: &str) -> (f64, f64) {
    let price = known(text).unwrap().price.unwrap();
    (MicroUsd(price.input).as_usd(), MicroUsd(price.output).as_usd())
}

#[test]
fn the_file_parses_and_every_priced_vendor_has_only_priced_models() {
    let parsed: Catalogue = serde_json::from_str(TEXT).unwrap();
    assert!(parsed.vendors.len() >= 8 && !parsed.date.is_empty());
    for (&name, unread) in &parsed.vendors {
        let vendor: Vendor = serde_json::from_str(unread.text.get()).unwrap();
        assert!(vendor.source.starts_with("https://"), "{name}");
        for entry in &vendor.models {
            assert_eq!(entry.price().is_some(), name != "ollama", "{name}/{}", entry.name);
            assert!(entry.max_output_tokens <= entry.context_window / 2, "{name}/{}", entry.name);
            if let Some(price) = entry.price() {
                assert!(price.output >= price.input && price.input >= price.cache_read, "{name}/{}", entry.name);
            }
        }
    }
}

#[test]
fn the_seeds_model_names_are_known() {
    for name in [
        "claude-haiku-4",
        "claude-sonnet-4-20250514",
        "claude-opus-4-6",
        "gemini-2.5-flash",
        "gpt-4o-mini",
        "claude-haiku-4-5",
        "claude-haiku-4-5-20251001",
        "claude-sonnet-4-5",
        "ollama/codellama",
    ] {
        assert!(known(name).is_some_and(|info| info.price.is_some()), "{name}");
    }
    assert_eq!(usd("claude-sonnet-4-20250514"), (3.0, 15.0));
    assert_eq!(usd("claude-haiku-4"), (1.0, 5.0));
}

#[test]
fn aliases_are_sent_as_the_name_they_stand_for() {
    for (asked, sent) in [
        ("claude-haiku-4", "claude-haiku-4-5"),
        ("claude-sonnet-4-20250514", "claude-sonnet-4-20250514"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5-20251001"),
        ("my-proxy/claude-haiku-4", "claude-haiku-4"),
        ("openai/unheard-of", "unheard-of"),
    ] {
        assert_eq!(vendor_spelling(&ModelId::parse(asked).unwrap()), sent);
    }
}

#[test]
fn dated_names_share_the_price_of_the_undated_one() {
    assert_eq!(usd("claude-sonnet-4-5-20250929"), usd("claude-sonnet-4-5"));
    assert_eq!(usd("gpt-4.1-2025-04-14"), usd("gpt-4.1"));
    assert_eq!(usd("gpt-4o-mini-2024-07-18"), (0.15, 0.6));
    // The one snapshot that has a price of its own.
    assert_eq!((usd("gpt-4o-2024-05-13"), usd("gpt-4o-2024-08-06")), ((5.0, 15.0), usd("gpt-4o")));
    assert_eq!(usd("claude-haiku-4-5@20251001"), usd("claude-haiku-4-5"));
    assert_eq!(usd("gemini-2.5-flash-001"), usd("gemini-2.5-flash"));
}

#[test]
fn a_sibling_or_a_successor_is_never_priced_by_its_prefix() {
    for name in ["gpt-5-pro", "gpt-4", "gpt-4.15", "claude-sonnet-4-9", "gpt-6", "gemini-2.5-flash-image", "o3-pro"] {
        assert_eq!(known(name), None, "{name}");
    }
}

#[test]
fn a_dearer_model_that_was_served_is_known_by_its_price() {
    let asked = ModelId::parse("claude-haiku-4-5").unwrap();
    let info = lookup(&asked).unwrap();
    let served = |billed: &str| dearer_served(&asked, &info, Some(billed)).and_then(|info| info.price);
    assert_eq!(served("claude-opus-4-1"), known("claude-opus-4-1").unwrap().price);
    for same in ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-haiku-5-5", "a-model-of-nobody"] {
        assert_eq!(served(same), None, "{same}");
    }
    let own = ModelInfo { source: info.configured_source(), ..info };
    assert_eq!(dearer_served(&asked, &own, Some("claude-opus-4-1")), None, "the user gave a price");
}

#[test]
fn models_served_by_others_are_priced_as_their_vendors() {
    assert_eq!(usd("openrouter/anthropic/claude-sonnet-4.6"), usd("claude-sonnet-4-6"));
    assert_eq!(usd("azure/gpt-4o"), usd("gpt-4o"));
    assert_eq!(known("azure/our-deployment"), None);
}

#[test]
fn a_variant_that_costs_more_than_its_tokens_has_no_price() {
    let base = "openrouter/anthropic/claude-haiku-4.5";
    for dear in ["online", "nitro", "exacto", "extended"] {
        let info = known(&format!("{base}:{dear}")).unwrap();
        assert_eq!((info.price, info.context_window), (None, 200_000), "{dear}");
    }
    for other in ["free", "floor", "thinking"] {
        assert_eq!(usd(&format!("{base}:{other}")), (1.0, 5.0), "{other}");
    }
}

#[test]
fn local_models_cost_nothing_and_have_their_familys_window() {
    let info = known("ollama/qwen2.5-coder:7b-instruct-q4").unwrap();
    assert_eq!((info.price, info.context_window, info.tools), (Some(Price::default()), 32_768, true));
    assert!(!known("ollama/codellama:13b").unwrap().tools);
    let unheard = known("ollama/unheard-of").unwrap();
    assert_eq!((unheard.price, unheard.context_window), (Some(Price::default()), 8_000));
}

#[test]
fn a_long_context_surcharge_is_out_of_reach() {
    // gemini-2.5-pro costs twice as much above 200,000 prompt tokens.
    assert_eq!(known("gemini-2.5-pro").unwrap().context_window, 200_000);
    assert_eq!(known("claude-opus-4-6").unwrap().context_window, 1_000_000);
}

#[test]
fn a_model_ends_by_every_name_and_a_dated_one_is_sent_as_written() {
    let end = |name: &str| retirement(&ModelId::parse(name).unwrap()).map(|end| (end.day, end.instead));
    let sonnet = Some(("2026-11-30", "claude-sonnet-5-5"));
    for name in ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "openrouter/anthropic/claude-sonnet-4.5"] {
        assert_eq!(end(name), sonnet, "{name}");
    }
    assert_eq!(end("gpt-5-2025-08-07"), Some(("2026-12-11", "gpt-6.1-sol")));
    for name in ["claude-haiku-5-5", "ollama/gpt-5", "gpt-6-luna", "unheard-of/gpt-5"] {
        assert_eq!(end(name), None, "{name}");
    }
    for pinned in ["claude-sonnet-4-20250514", "claude-sonnet-4-5-20250929", "gpt-5-2025-08-07"] {
        assert_eq!(vendor_spelling(&ModelId::parse(pinned).unwrap()), pinned);
    }
}

#[test]
fn every_end_says_when_and_what_instead_and_where_that_is_said() {
    for &name in catalogue().vendors.keys() {
        let vendor = catalogue().vendor(name).unwrap();
        for entry in &vendor.models {
            assert_eq!(entry.ends.is_some(), entry.instead.is_some(), "{}", entry.name);
            let (Some(day), Some(instead)) = (&entry.ends, &entry.instead) else { continue };
            assert!(crate::domain::clock::days_until(day, 0).is_some(), "{}: {day}", entry.name);
            let instead = ModelId { provider: name.to_owned(), model: instead.clone() };
            assert!(lookup(&instead).is_some() && retirement(&instead).is_none(), "{instead}");
            assert!(!vendor.ends_source.is_empty(), "{name}");
        }
    }
}

#[test]
fn cached_tokens_are_priced_by_kind() {
    let price = known("claude-sonnet-4-5").unwrap().price.unwrap();
    let usage = Usage { input: 1_000, output: 100, cache_read: 10_000, cache_write: 2_000, reasoning: 50 };
    assert_eq!(price.cost(&usage), MicroUsd(3_000 + 1_500 + 3_000 + 7_500));
}

#[test]
fn every_default_ladder_names_priced_models_only() {
    for provider in BUILT_IN_PROVIDERS {
        let Some(ladder) = default_ladder(provider) else { continue };
        for step in ladder.split(" > ") {
            let name = step.split(' ').next().unwrap();
            let id = ModelId::parse(name).unwrap();
            assert_eq!(id.provider, provider);
            assert!(lookup(&id).is_some_and(|info| info.price.is_some() && info.tools), "{name}");
        }
    }
}

#[test]
fn every_built_in_provider_but_the_recorded_one_has_an_endpoint() {
    for provider in BUILT_IN_PROVIDERS {
        assert_eq!(built_in_endpoint(provider).is_some(), provider != "cassette", "{provider}");
    }
}
