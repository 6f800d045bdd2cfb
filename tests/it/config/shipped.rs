//! Configuration over the catalogue that ships: examples load, and every built-in ladder can be paid for.

use upshift::config::{BuiltInEndpoint, Catalogue, Plan, Setting, Sources, Wire, resolve};
use upshift::domain::model_id::BUILT_IN_PROVIDERS;
use upshift::domain::units::{MicroUsd, RunId};
use upshift::lifecycle::state::RunState;
use upshift::model::{catalogue, endpoint as model_endpoint};

use super::{configured, flagged, keys};

const SHIPPED: Catalogue = Catalogue {
    lookup: catalogue::lookup,
    names: catalogue::names,
    endpoint,
    default_ladder: catalogue::default_ladder,
};

fn endpoint(provider: &str) -> Option<BuiltInEndpoint> {
    let known = catalogue::built_in_endpoint(provider)?;
    let wire = match known.wire {
        model_endpoint::Wire::Anthropic => Wire::Anthropic,
        model_endpoint::Wire::OpenAi => Wire::OpenAi,
        model_endpoint::Wire::Gemini => Wire::Gemini,
        model_endpoint::Wire::Ollama => Wire::Ollama,
    };
    Some(BuiltInEndpoint {
        wire,
        default_base_url: known.default_base_url,
        base_url_vars: known.base_url_vars,
        key_vars: known.key_vars,
        local: known.local,
    })
}

fn plan(sources: &Sources) -> Plan {
    resolve(sources, &SHIPPED).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Whether a configuration file loads over the shipped catalogue where every key that it could need is set.
pub(crate) fn loads(text: &str) -> Result<(), String> {
    let mut sources = configured(text);
    let known = BUILT_IN_PROVIDERS.into_iter().filter_map(endpoint);
    let keys = known.filter_map(|known| known.key_vars.first().copied()).map(str::to_owned);
    let own = text.lines().filter_map(|line| line.split_once("apiKeyEnv:"));
    let own = own.filter_map(|(_, rest)| rest.split_whitespace().next()).map(str::to_owned);
    for name in keys.chain(own).collect::<Vec<_>>() {
        sources.env.insert(name, "test-key".to_owned());
    }
    sources.env.insert("AZURE_OPENAI_ENDPOINT".to_owned(), "https://example.openai.azure.com".to_owned());
    let plan = resolve(&sources, &SHIPPED).map_err(|errors| errors.to_string())?;
    if plan.warnings.is_empty() { Ok(()) } else { Err(plan.warnings.join("; ")) }
}

#[test]
fn every_example_loads_over_the_shipped_catalogue() {
    for (name, text) in super::schema::EXAMPLES {
        let plan = plan(&configured(text));
        assert!(plan.warnings.is_empty(), "{name}: {:?}", plan.warnings);
    }
    plan(&configured(upshift::cli::init::CONFIG));
    plan(&flagged(Setting::Tiers, super::schema::EXAMPLES[3].1));
}

#[test]
fn every_built_in_ladder_is_known_priced_and_shared_out_by_its_own_variable() {
    let mut seen = 0;
    for provider in BUILT_IN_PROVIDERS {
        let (Some(known), Some(_)) = (endpoint(provider), catalogue::default_ladder(provider)) else { continue };
        let variable = known.key_vars.first().or(known.base_url_vars.first()).unwrap();
        let mut sources = Sources::default();
        sources.env.insert((*variable).to_owned(), "localhost".to_owned());
        let plan = plan(&sources);
        assert!(plan.tiers.iter().flat_map(|tier| &tier.artisan).all(|id| id.provider == provider), "{provider}");
        assert_eq!(plan.worst_case == MicroUsd::ZERO, known.local, "{provider}");
        assert!(!plan.warnings.iter().any(|warning| warning.contains("window")), "{:?}", plan.warnings);
        seen += 1;
    }
    assert!(seen >= 5, "{seen} built-in ladders were found");
}

#[test]
fn a_plan_survives_being_stored() {
    let plan = plan(&keys());
    let state = RunState::new(RunId::random(), plan.clone(), String::new(), None);
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<RunState>(&text).unwrap().plan, plan.into());
}
