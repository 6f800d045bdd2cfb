//! Providers, keys, prices and windows are checked before any call (B8, B9, S0-13, S0-24).

use upshift::config::{Setting, Sources, Wire};
use upshift::domain::catalogue::Price;
use upshift::domain::model_id::ModelId;

use super::{configured, flagged, keys, plan, told};

fn with(mut sources: Sources, name: &str, value: &str) -> Sources {
    sources.env.insert(name.to_owned(), value.to_owned());
    sources
}

#[test]
fn a_bare_name_goes_to_its_own_vendor() {
    let plan = plan(&flagged(Setting::Tiers, "claude-haiku-4 x1 > gpt-4o-mini x1 > gemini-2.5-flash x1"));
    let providers: Vec<&str> = plan.endpoints.keys().map(String::as_str).collect();
    assert_eq!(providers, ["anthropic", "gemini", "openai"]);
    assert_eq!(plan.endpoints["anthropic"].wire, Wire::Anthropic);
    assert_eq!(plan.endpoints["anthropic"].key_var.as_deref(), Some("ANTHROPIC_API_KEY"));
}

#[test]
fn an_unknown_provider_is_refused_before_any_call() {
    let text =
        "tiers:\n  - {name: a, mode: full, maxIterations: 1, models: {artisan: antropic/x, critic: [gpt-5, llama3]}}\n";
    let told = told(&configured(text));
    assert!(told.contains("Error 1: tiers[0].models.artisan 'antropic/x' not found in provider registry\n    → Fix: Did you mean `anthropic/x`?"), "{told}");
    assert!(told.contains("Error 2: tiers[0].models.critic[1] 'llama3' not found in provider registry"), "{told}");
    assert!(told.ends_with("Fix the errors above and re-run. No LLM calls were made."), "{told}");
}

#[test]
fn a_missing_key_is_named_once_per_provider() {
    let text = "tiers: claude-haiku-4-5 x5 > claude-sonnet-4-5 x3 > gemini-2.5-flash x1\n";
    let sources = Sources { env: [].into(), ..configured(text) };
    let told = told(&sources);
    assert_eq!(told.matches("ANTHROPIC_API_KEY is not set").count(), 1, "{told}");
    assert!(told.contains("provider `gemini` needs a key: GEMINI_API_KEY or GOOGLE_API_KEY is not set"), "{told}");
    assert!(told.contains("secrets.ANTHROPIC_API_KEY"), "{told}");
    let google = with(Sources { env: [].into(), ..configured("tiers: gemini-2.5-flash x1\n") }, "GOOGLE_API_KEY", "k");
    assert_eq!(plan(&google).endpoints["gemini"].key_var.as_deref(), Some("GOOGLE_API_KEY"));
}

#[test]
fn no_key_ever_stands_in_a_plan() {
    let sources = with(keys(), "ANTHROPIC_API_KEY", "very-secret-value");
    let plan = plan(&sources);
    assert!(!format!("{plan:?}").contains("very-secret-value"));
    let broken = with(keys(), "ANTHROPIC_API_KEY", "very secret value");
    let told = told(&broken);
    assert!(told.contains("ANTHROPIC_API_KEY — contains white space") && !told.contains("very secret"), "{told}");
    for stand_in in ["…", "...", "<your-key>", "sk-…", "YOUR_KEY", "sk-..."] {
        let told = crate::config::told(&with(keys(), "ANTHROPIC_API_KEY", stand_in));
        assert!(told.contains("ANTHROPIC_API_KEY — contains a placeholder, not a key"), "{stand_in}: {told}");
    }
}

#[test]
fn a_mistyped_model_is_told_which_was_meant_and_another_version_is_no_slip() {
    let meant = told(&configured("tiers: anthropic/claude-haikuu-4-5 x1\n"));
    assert!(meant.contains("Did you mean `anthropic/claude-haiku-4-5`? Check the spelling, or price it"), "{meant}");
    let newer = told(&configured("tiers: anthropic/claude-haiku-4-6 x1\n"));
    assert!(newer.contains("Fix: Known of that family: `anthropic/claude-haiku-4-5`. Check the spelling"), "{newer}");
    let bare = told(&configured("tiers: claud-haiku x1\n"));
    assert!(bare.contains("Known of that family: `anthropic/claude-haiku-4-5`. Write `provider/model`"), "{bare}");
}

#[test]
fn a_model_without_a_price_is_refused_and_can_be_priced() {
    let unpriced = "tiers: openai/gpt-secret x1\n";
    let told = told(&configured(unpriced));
    assert!(
        told.contains("`openai/gpt-secret` is in no catalogue: it has no known price, and the run has a cost cap"),
        "{told}"
    );
    assert!(told.contains("{\"openai/gpt-secret\": {inputPer1M: 3, outputPer1M: 15}}"), "{told}");
    let priced = format!("{unpriced}models: {{gpt-secret: {{inputPer1M: 3, outputPer1M: 15}}}}\n");
    let plan = plan(&configured(&priced));
    let info = plan.facts.of(&ModelId::parse("openai/gpt-secret").unwrap());
    assert_eq!(
        info.price,
        Some(Price { input: 3_000_000, output: 15_000_000, cache_read: 3_000_000, cache_write: 3_000_000 })
    );
    assert_eq!((info.context_window, info.source.as_str()), (8_000, "configuration"));
    assert!(plan.warnings.iter().any(|w| w.contains("the context window of `openai/gpt-secret` is unknown: 8000")));
    let half = format!("{unpriced}models: {{gpt-secret: {{inputPer1M: 3}}}}\n");
    let told = super::told(&configured(&half));
    assert!(told.contains("models[\"openai/gpt-secret\"].outputPer1M — is required"), "{told}");
    assert_eq!(told.matches("Error").count(), 1, "{told}");
}

#[test]
fn configuration_lays_over_the_catalogue() {
    let text = "tiers: claude-haiku-4-5 x1\nmodels: {claude-haiku-4-5: {contextWindow: 100000, maxOutputTokens: 4096, outputPer1M: 9, tools: false}}\n";
    let info = plan(&configured(text)).facts.of(&ModelId::parse("claude-haiku-4-5").unwrap());
    assert_eq!((info.context_window, info.max_output_tokens, info.tools), (100_000, 4_096, false));
    let price = info.price.unwrap();
    assert_eq!((price.input, price.output, price.cache_write), (1_000_000, 9_000_000, 1_250_000));
    let tight =
        "tiers: claude-haiku-4-5 x1\nmodels: {claude-haiku-4-5: {contextWindow: 4000, maxOutputTokens: 4000}}\n";
    assert!(told(&configured(tight)).contains("leaves no room for a prompt"));
}

#[test]
fn local_models_cost_nothing_whatever_their_name() {
    let plan = plan(&flagged(Setting::Tiers, "ollama/nobody-knows x1 > cassette/a/b.json x1"));
    assert!(plan.facts.0.values().all(|info| info.price == Some(Price::default())));
    assert!(plan.endpoints.values().all(|endpoint| endpoint.key_var.is_none() && endpoint.local));
    assert_eq!(plan.endpoints["cassette"].wire, Wire::Cassette);
}

#[test]
fn customary_variables_move_an_endpoint() {
    let moved = with(flagged(Setting::Tiers, "gpt-5 x1"), "OPENAI_BASE_URL", "http://127.0.0.1:9/v1/");
    assert_eq!(plan(&moved).endpoints["openai"].base_url, "http://127.0.0.1:9/v1");
    let value = plan(&moved).values.into_iter().find(|value| value.key == "providers.openai.baseUrl").unwrap();
    assert_eq!(value.origin.to_string(), "variable OPENAI_BASE_URL");
    let wrong = with(flagged(Setting::Tiers, "gpt-5 x1"), "OPENAI_BASE_URL", "file:///etc");
    assert!(told(&wrong).contains("OPENAI_BASE_URL — must be an http(s) address"));
    for (host, url) in [
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("http://box:1234/", "http://box:1234"),
        (":5000", "http://127.0.0.1:5000"),
        ("https://ollama.example.com", "https://ollama.example.com"),
    ] {
        let sources = with(flagged(Setting::Tiers, "ollama/qwen3-coder"), "OLLAMA_HOST", host);
        assert_eq!(plan(&sources).endpoints["ollama"].base_url, url, "{host}");
    }
}

#[test]
fn an_own_endpoint_needs_wire_address_and_the_key_it_names() {
    let file = |provider: &str| {
        format!(
            "tiers: own/m x1\nproviders: {{own: {provider}}}\nmodels: {{own/m: {{contextWindow: 32000, inputPer1M: 0, outputPer1M: 0}}}}\n"
        )
    };
    let plan_of = |sources: &Sources| plan(sources).endpoints["own"].clone();
    let open = plan_of(&configured(&file("{wire: anthropic, baseUrl: 'https://models.example.com/'}")));
    assert_eq!(
        (open.wire, open.base_url.as_str(), open.key_var, open.local),
        (Wire::Anthropic, "https://models.example.com", None, false)
    );
    let keyed = configured(&file("{wire: openai, baseUrl: 'http://models.example.com', apiKeyEnv: OWN_KEY}"));
    assert!(told(&keyed).contains("provider `own` needs a key: OWN_KEY is not set"));
    let keyed = with(keyed, "OWN_KEY", "k");
    assert_eq!(plan_of(&keyed).key_var.as_deref(), Some("OWN_KEY"));
    assert!(plan(&keyed).warnings.iter().any(|w| w.contains("without encryption")));
    let bare = told(&configured(&file("{}")));
    assert!(
        bare.contains("providers.own.wire — is required") && bare.contains("providers.own.baseUrl — is required"),
        "{bare}"
    );
    assert!(
        told(&configured("providers: {'a/b': {wire: openai, baseUrl: 'http://x'}}\n"))
            .contains("is not a valid name of a provider")
    );
    assert!(told(&configured("providers: {cassette: {}}\n")).contains("is built in and has no endpoint"));
}

#[test]
fn a_built_in_provider_can_be_redirected_and_azure_must_be() {
    let azure =
        "tiers: azure/gpt-5 x1\nmodels: {azure/gpt-5: {contextWindow: 128000, inputPer1M: 1, outputPer1M: 1}}\n";
    let sources = with(configured(azure), "AZURE_OPENAI_API_KEY", "k");
    let told = told(&sources);
    assert!(
        told.contains("provider `azure` has no common address") && told.contains("Set AZURE_OPENAI_ENDPOINT"),
        "{told}"
    );
    assert_eq!(told.matches("Error").count(), 1, "{told}");
    let by_variable = with(sources, "AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com");
    assert_eq!(plan(&by_variable).endpoints["azure"].base_url, "https://mine.openai.azure.com");
    let by_file = configured(
        "tiers: gpt-5 x1\nproviders: {openai: {baseUrl: 'https://proxy.example.com/v1', apiKeyEnv: GEMINI_API_KEY}}\n",
    );
    let endpoint = plan(&by_file).endpoints["openai"].clone();
    assert_eq!(
        (endpoint.base_url.as_str(), endpoint.key_var.as_deref()),
        ("https://proxy.example.com/v1", Some("GEMINI_API_KEY"))
    );
}
