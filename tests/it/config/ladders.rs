//! All ways of giving the ladder.

use upshift::config::{Setting, Sources, TiersSource, classify_tiers};
use upshift::domain::ladder::Mode;
use upshift::domain::units::MicroUsd;

use super::{ONE_TIER, configured, flagged, keys, plan, tiered, told};

const SEED: &str = include_str!("../../../examples/legacy-tiers.json");

/// Name, mode, iterations and artisans of each tier, as one line per tier.
fn shape(sources: &Sources) -> Vec<String> {
    let line = |tier: &upshift::domain::ladder::Tier| {
        let artisans: Vec<String> = tier.artisan.iter().map(ToString::to_string).collect();
        format!("{} {} x{} {}", tier.name, tier.mode.as_str(), tier.max_iterations, artisans.join("|"))
    };
    plan(sources).tiers.iter().map(line).collect()
}

#[test]
fn a_seed_shaped_file_works_unchanged() {
    for sources in [tiered("tiers.json", SEED), flagged(Setting::Tiers, SEED)] {
        let plan = plan(&sources);
        assert_eq!(
            shape(&sources),
            [
                "Haiku-Simple simple x5 anthropic/claude-haiku-5-5",
                "Sonnet-Simple simple x10 anthropic/claude-sonnet-5-5",
                "Opus-Full full x15 anthropic/claude-opus-5-5",
            ]
        );
        let full = &plan.tiers[2];
        assert_eq!(full.librarian[0].to_string(), "gemini/gemini-2.5-flash");
        assert_eq!(full.critic[0].to_string(), "openai/gpt-6-luna");
        assert_eq!(plan.audit.as_deref(), Some("./.micro-agent/audit.db"), "kept as given");
        assert_eq!(plan.budget.max_cost, MicroUsd(5_000_000));
        assert_eq!(plan.budget.max_active_ms, 45 * 60_000);
        assert_eq!(plan.budget.max_iterations, 30);
        assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
    }
    assert_eq!(plan(&tiered("tiers.json", SEED)).tier_config_path, "tiers.json");
    assert_eq!(plan(&flagged(Setting::Tiers, SEED)).tier_config_path, "(inline)");
}

#[test]
fn the_total_of_iterations_grows_with_the_ladder_and_never_below_thirty() {
    let of = |ladder: &str| plan(&flagged(Setting::Tiers, ladder)).budget.max_iterations;
    assert_eq!(of("claude-haiku-4-5 x3"), 30);
    assert_eq!(of("claude-haiku-4-5 x40 > claude-sonnet-4-5 x7"), 47);
}

#[test]
fn librarian_and_critic_are_the_artisan_unless_given() {
    let text = "tiers:\n  - name: a\n    mode: full\n    maxIterations: 1\n    models: {artisan: [claude-haiku-4-5, gpt-5], critic: gpt-4o-mini}\n";
    let tier = plan(&configured(text)).tiers.remove(0);
    assert_eq!(tier.librarian, tier.artisan);
    assert_eq!(tier.artisan.len(), 2, "a list of targets stands where a model stands");
    assert_eq!(tier.critic[0].to_string(), "openai/gpt-4o-mini");
}

#[test]
fn a_shorthand_takes_count_and_mode_in_any_order_and_names_repeats() {
    let ladder = "claude-haiku-4-5 > claude-haiku-4-5 full x2>gpt-5 x3 full > claude-haiku-4-5 simple";
    assert_eq!(
        shape(&flagged(Setting::Tiers, ladder)),
        [
            "claude-haiku-4-5 simple x5 anthropic/claude-haiku-4-5",
            "claude-haiku-4-5-2 full x2 anthropic/claude-haiku-4-5",
            "gpt-5 full x3 openai/gpt-5",
            "claude-haiku-4-5-3 simple x5 anthropic/claude-haiku-4-5",
        ]
    );
    assert_eq!(plan(&flagged(Setting::Tiers, ladder)).tier_config_path, "(shorthand)");
    assert_eq!(shape(&configured("tiers: gpt-5 x2 > claude-haiku-4-5 x3\n")).len(), 2, "in the file too");
}

#[test]
fn a_shorthand_that_cannot_be_read_says_which_step_and_why() {
    for (ladder, why) in [
        ("gpt-5 x0 > gpt-5", "`x0` is not from x1 to x100"),
        ("gpt-5 x101", "`x101` is not from x1 to x100"),
        ("gpt-5 x5 x6", "`x6` comes after another of its kind"),
        ("gpt-5 x5 > > gpt-5", "tier 2 — is empty"),
        ("x5 > gpt-5", "begins with `x5`, not with a model"),
        ("gpt-5 x5 fast", "`fast` is neither `xN` nor `simple` nor `full`"),
        ("gpt-5 x5 > llama3 x2", "tier 2 'llama3' not found in provider registry"),
    ] {
        let told = told(&flagged(Setting::Tiers, ladder));
        assert!(told.contains(why), "{ladder}: {told}");
        assert!(told.contains("--tiers") && told.contains("→ Fix:"), "{told}");
    }
}

#[test]
fn the_ways_of_giving_tiers_are_told_apart() {
    use TiersSource::{Inline, Path, Shorthand};
    let provider = |name: &str| matches!(name, "anthropic" | "ollama" | "github" | "openai" | "cassette");
    for (text, way) in [
        ("{\"tiers\": []}", Inline("{\"tiers\": []}")),
        ("tiers:\n  - name: a", Inline("tiers:\n  - name: a")),
        ("a x5 > b", Shorthand("a x5 > b")),
        ("a x5", Shorthand("a x5")),
        ("claude-haiku-4-5", Shorthand("claude-haiku-4-5")),
        ("claude-haiku-4-5 full\n", Shorthand("claude-haiku-4-5 full")),
        ("ollama/qwen3-coder", Shorthand("ollama/qwen3-coder")),
        ("cassette/a/b.json", Shorthand("cassette/a/b.json")),
        ("tiers.json", Path("tiers.json")),
        (".github/tiers.yml", Path(".github/tiers.yml")),
        ("github/tiers.yml", Path("github/tiers.yml")),
        ("gpt-tiers.json", Path("gpt-tiers.json")),
        ("my tiers/x y.json", Path("my tiers/x y.json")),
        ("own/model", Path("own/model")),
    ] {
        assert_eq!(classify_tiers(text, provider), way, "{text:?}");
    }
}

#[test]
fn a_declared_provider_makes_its_model_a_ladder_and_no_path() {
    let file = "providers: {own: {wire: openai, baseUrl: 'http://localhost:8000/v1'}}\n\
                models: {own/m: {contextWindow: 32000, inputPer1M: 0, outputPer1M: 0}}\n";
    let mut sources = configured(file);
    sources.flags = sources.flags.with(Setting::Tiers, "own/m");
    assert_eq!(sources.tiers_path(), None);
    assert_eq!(shape(&sources), ["own/m simple x5 own/m"]);
    assert_eq!(flagged(Setting::Tiers, "own/m").tiers_path(), Some("own/m"));
}

#[test]
fn one_model_alone_is_the_two_mode_path() {
    let plan = plan(&flagged(Setting::Model, "claude-haiku-4-5"));
    let [simple, full] = plan.tiers.as_slice() else { panic!("{:?}", plan.tiers) };
    assert_eq!((simple.mode, simple.max_iterations), (Mode::Simple, 5));
    assert_eq!((full.mode, full.max_iterations), (Mode::Full, 10));
    assert_eq!(plan.tier_config_path, "(none)");
    assert!(plan.audit.is_some(), "audited like any run");
}

#[test]
fn a_model_by_flag_outranks_the_file_and_contradicts_tiers_by_flag() {
    let mut sources = configured(ONE_TIER);
    sources.flags = sources.flags.with(Setting::Model, "gpt-5");
    assert_eq!(shape(&sources).len(), 2, "the file's ladder is replaced");
    sources.env.insert("UPSHIFT_TIERS".to_owned(), "claude-haiku-4-5 x1".to_owned());
    assert_eq!(shape(&sources).len(), 2, "a flag outranks a variable");
    sources.flags = sources.flags.with(Setting::Tiers, "claude-haiku-4-5 x1");
    assert!(told(&sources).contains("--model — contradicts `tiers`"));
}

#[test]
fn nothing_given_is_the_ladder_of_the_first_provider_with_a_key() {
    let mut sources = Sources::default();
    let mut expect = |name: &str, value: &str, first: &str| {
        sources.env.insert(name.to_owned(), value.to_owned());
        let plan = plan(&sources);
        assert!(plan.tiers[0].artisan[0].to_string().starts_with(first), "{name}: {:?}", plan.tiers[0]);
        assert_eq!(plan.tier_config_path, "(built-in)");
        let which = plan.built_in_ladder.as_deref().unwrap();
        assert!(which.contains(name) && plan.warnings.is_empty(), "{which}: {:?}", plan.warnings);
    };
    expect("OLLAMA_HOST", "localhost:11434", "ollama/");
    expect("OPENAI_API_KEY", "k", "openai/");
    expect("ANTHROPIC_API_KEY", "k", "anthropic/");
}

#[test]
fn a_jobs_token_is_no_key_for_models() {
    let mut sources = Sources::default();
    sources.env.insert("GITHUB_TOKEN".to_owned(), "t".to_owned());
    assert!(told(&sources).contains("No model to use"));
    sources.env.insert("OPENAI_API_KEY".to_owned(), "k".to_owned());
    assert_eq!(plan(&sources).tiers[0].artisan[0].provider, "openai");
}

#[test]
fn no_key_and_no_ladder_says_which_keys_to_set() {
    insta::assert_snapshot!(told(&Sources::default()));
    let mut empty = Sources::default();
    empty.env.insert("ANTHROPIC_API_KEY".to_owned(), " ".to_owned());
    assert!(told(&empty).contains("No model to use"), "an empty key is no key");
}

#[test]
fn an_empty_configuration_file_is_as_good_as_none() {
    for text in ["", "# nothing\n", "{}", "tiers:\n"] {
        assert_eq!(plan(&configured(text)).tiers, plan(&keys()).tiers, "{text:?}");
    }
}

#[test]
fn models_of_a_simple_tier_that_never_speak_need_no_key() {
    let text = "tiers:\n  - {name: a, mode: simple, maxIterations: 1, models: {artisan: gpt-5, critic: azure/x}}\n";
    let plan = plan(&configured(text));
    assert!(plan.warnings.iter().any(|w| w.contains("tiers[0].models.critic is not used")), "{:?}", plan.warnings);
    assert!(!plan.endpoints.contains_key("azure"));
}
