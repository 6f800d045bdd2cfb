//! A catalogue of a few models: prices here never change, so tests of configuration need not follow the vendors'.

use upshift::config::{BuiltInEndpoint, Catalogue, Wire};
use upshift::domain::catalogue::{ModelInfo, Price};
use upshift::domain::model_id::ModelId;

/// The catalogue.
pub(super) const CATALOGUE: Catalogue = Catalogue { lookup, names, endpoint, default_ladder };

fn lookup(id: &ModelId) -> Option<ModelInfo> {
    let (window, input, output) = match (id.provider.as_str(), id.model.as_str()) {
        ("anthropic", "claude-haiku-4" | "claude-haiku-4-5" | "claude-haiku-5-5") => (200_000, 1_000_000, 5_000_000),
        ("anthropic", "claude-sonnet-4-20250514" | "claude-sonnet-4-5" | "claude-sonnet-5-5") => {
            (200_000, 3_000_000, 15_000_000)
        }
        ("anthropic", "claude-opus-4-6" | "claude-opus-5-5") => (200_000, 5_000_000, 25_000_000),
        ("gemini", "gemini-2.5-flash" | "gemini-3.8-flash") => (1_000_000, 300_000, 2_500_000),
        ("openai", "gpt-4o-mini" | "gpt-5" | "gpt-6-luna" | "gpt-6.1-terra" | "gpt-6.1-sol") => {
            (128_000, 150_000, 600_000)
        }
        ("ollama", "qwen3-coder") => (32_768, 0, 0),
        ("cassette", _) => (1_000_000, 0, 0),
        _ => return None,
    };
    let price = Price { input, output, cache_read: input / 10, cache_write: input + input / 4 };
    Some(ModelInfo {
        context_window: window,
        max_output_tokens: 8_192,
        price: Some(price),
        tools: true,
        source: "test, 2026-01-01".to_owned(),
    })
}

fn names(provider: &str) -> Vec<&'static str> {
    if provider == "anthropic" { vec!["claude-haiku-4-5", "claude-sonnet-4-5"] } else { Vec::new() }
}

fn endpoint(provider: &str) -> Option<BuiltInEndpoint> {
    let remote = |wire, default_base_url, base_url_vars, key_vars| {
        Some(BuiltInEndpoint { wire, default_base_url, base_url_vars, key_vars, local: false })
    };
    match provider {
        "anthropic" => {
            remote(Wire::Anthropic, "https://api.anthropic.com", &["ANTHROPIC_BASE_URL"], &["ANTHROPIC_API_KEY"])
        }
        "openai" => remote(Wire::OpenAi, "https://api.openai.com/v1", &["OPENAI_BASE_URL"], &["OPENAI_API_KEY"]),
        "gemini" => remote(
            Wire::Gemini,
            "https://generativelanguage.googleapis.com",
            &["GEMINI_BASE_URL"],
            &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        ),
        "azure" => remote(Wire::OpenAi, "", &["AZURE_OPENAI_ENDPOINT"], &["AZURE_OPENAI_API_KEY"]),
        "ollama" => Some(BuiltInEndpoint {
            wire: Wire::OpenAi,
            default_base_url: "http://127.0.0.1:11434",
            base_url_vars: &["OLLAMA_HOST"],
            key_vars: &[],
            local: true,
        }),
        _ => None,
    }
}

fn default_ladder(provider: &str) -> Option<&'static str> {
    match provider {
        "anthropic" => Some("claude-haiku-4-5 x5 > claude-sonnet-4-5 x3 > claude-opus-4-6 x2 full"),
        "openai" => Some("gpt-4o-mini x5 > gpt-5 x5 full"),
        "ollama" => Some("ollama/qwen3-coder x5"),
        _ => None,
    }
}
