//! The configuration of `upshift gateway`: no ladder and no tests, every vendor whose key is there, what is said of models.

use std::collections::BTreeMap;

use crate::domain::budget::SharedCaps;
use crate::domain::catalogue::ModelFacts;
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;

use super::error::{ConfigErrors, Faults, SourceErrors};
use super::models::Registry;
use super::pick::Picker;
use super::plan::EndpointPlan;
use super::resolve::{config_document, declared_providers, overrides};
use super::sections;
use super::sources::{Catalogue, Setting, Sources};

/// The providers behind the wires of the gateway, where the session is held to no other.
pub const GATEWAY_PROVIDERS: [&str; 3] = ["anthropic", "openai", "gemini"];

/// Everything that `upshift gateway` needs to know before it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct GatewayPlan {
    /// The most all model calls together may cost.
    pub max_cost: MicroUsd,
    /// The most all runs on one repository may cost on one day.
    pub per_day: Option<MicroUsd>,
    /// The most all runs for one pull request may cost.
    pub per_pull_request: Option<MicroUsd>,
    /// Where the audit log is written, as given. `None` is off.
    pub audit: Option<String>,
    /// How each provider with a key is reached.
    pub endpoints: BTreeMap<String, EndpointPlan>,
    /// The configuration's facts about models, laid over the catalogue.
    pub facts: ModelFacts,
    /// The model that the session is held to.
    pub model: Option<ModelId>,
    /// The model of its side calls.
    pub side_model: Option<ModelId>,
    /// Variables handed to the program whatever their names.
    pub pass_env: Vec<String>,
    /// Warnings for a person, to be shown before.
    pub warnings: Vec<String>,
}

/// Resolves the gateway's configuration: flag, variable, configuration file, default.
///
/// # Errors
/// [`ConfigErrors`] with every fault of every source. Also when there is no key at all.
pub fn resolve_gateway(
    sources: &Sources,
    side_model: Option<&str>,
    catalogue: &Catalogue,
) -> Result<GatewayPlan, ConfigErrors> {
    let setting_faults = Faults::default();
    let config = config_document(sources);
    // There is no ladder, and so no text of tiers that could outrank the file.
    let picker = Picker::new(sources, None, config.as_ref(), &setting_faults);
    let providers = declared_providers(&picker);
    let mut registry = Registry::new(sources, catalogue, &setting_faults, providers, overrides(&picker));
    registry.check_declared();
    let model = picker.setting::<String>(Setting::Model).map(|picked| (picked.value, picked.origin.name().to_owned()));
    let model = model.and_then(|(text, path)| registry.target(&path, &text, &setting_faults));
    let side_model = side_model.and_then(|text| registry.target("--side-model", text, &setting_faults));
    registry.learn_configured();
    // A program that is held to one model needs one vendor. Otherwise it may ask any whose key is here.
    if model.is_none() {
        GATEWAY_PROVIDERS.iter().for_each(|provider| registry.endpoint_with_key(provider, &setting_faults));
    }
    let max_cost = sections::budget(&picker, &[]).max_cost;
    let SharedCaps { per_pull_request, per_day } = sections::shared_caps(&picker);
    let audit = sections::audit(&picker);
    let key_vars: Vec<&str> =
        registry.endpoints.values().filter_map(|(endpoint, _)| endpoint.key_var.as_deref()).collect();
    // Only the variables count here: the program is not confined.
    let pass_env = sections::safety(&picker, &key_vars, &mut Vec::new()).pass_env;
    // A broken key is told by itself, and is no missing one.
    if registry.endpoints.is_empty() && setting_faults.is_empty() {
        let fix = "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY in the environment, or name a model of another provider with \
                   --model.";
        setting_faults.add("gateway", "has no vendor to pass calls on to: no provider's key is set", fix);
    }
    let plan = GatewayPlan {
        max_cost,
        per_day,
        per_pull_request,
        audit,
        endpoints: std::mem::take(&mut registry.endpoints).into_iter().map(|(name, (plan, _))| (name, plan)).collect(),
        facts: std::mem::take(&mut registry.facts),
        model,
        side_model,
        pass_env,
        warnings: std::mem::take(&mut registry.warnings),
    };
    drop(registry);
    let mut errors: Vec<SourceErrors> = Vec::new();
    errors.extend(SourceErrors::of("Invalid flags or variables:".to_owned(), setting_faults));
    errors.extend(config.and_then(super::document::Document::into_errors));
    if errors.is_empty() { Ok(plan) } else { Err(ConfigErrors { sources: errors }) }
}
