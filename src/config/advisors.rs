//! `agent.advisors`: models that read before the artisan works (S1-18).

use super::error::Faults;
use super::ladder::DraftTargets;
use super::models::Registry;
use super::pick::Picker;
use super::plan::{AdvisorPlan, Origin};
use crate::backend::Backend;
use crate::domain::model_id::ModelId;

/// The turns of one session unless something else is said: an advisor reads a few files and speaks.
const DEFAULT_TURNS: u32 = 10;
/// The most advisors: each adds its words to the artisan's first message, and its calls to the vendor's limits.
const MOST: usize = 8;
/// The longest name: it stands in prompts and reports.
const MAX_NAME: usize = 40;
/// The longest instructions, in characters.
const MAX_INSTRUCTIONS: usize = 4_000;

/// The advisors in the order of their names. The tiers text goes before the configuration file.
pub(super) fn advisors(picker: &Picker<'_>, registry: &mut Registry<'_>) -> Vec<AdvisorPlan> {
    let told =
        picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.advisors.as_ref()?, document)));
    let Some((sections, document)) = told else {
        picker.note("agent.advisors", &"none", Origin::Default);
        return Vec::new();
    };
    let faults = &document.faults;
    if sections.len() > MOST {
        faults.add("agent.advisors", format!("names {} advisors", sections.len()), format!("Name at most {MOST}."));
    }
    let mut advisors = Vec::new();
    for (name, section) in sections {
        let path = format!("agent.advisors.{name}");
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let fix = format!("Use at most {MAX_NAME} letters, digits, `-` and `_`.");
            faults.add(&path, "is no name of an advisor", fix);
            continue;
        }
        let Some(instructions) = section.instructions.clone() else { continue };
        let long = instructions.chars().count();
        if instructions.trim().is_empty() || long > MAX_INSTRUCTIONS {
            let fix = format!("Say in 1 to {MAX_INSTRUCTIONS} characters what it is to look at.");
            faults.add(&format!("{path}.instructions"), format!("has {long} characters"), fix);
            continue;
        }
        let models = section.models.as_ref().map(|models| models.0.clone()).unwrap_or_default();
        advisors.push(AdvisorPlan {
            name: name.clone(),
            instructions,
            models: models_of(registry, format!("{path}.models"), models, faults),
            max_cost: section.max_cost_usd.map(|cost| cost.0),
            max_turns: section.max_turns.map_or(DEFAULT_TURNS, |turns| turns.0),
            each_iteration: section.each_iteration.unwrap_or_default(),
        });
    }
    let names: Vec<&str> = advisors.iter().map(|advisor| advisor.name.as_str()).collect();
    picker.note("agent.advisors", &names.join(", "), document.origin());
    advisors
}

/// The models of a named agent, resolved. A coding agent is none.
pub(super) fn models_of(
    registry: &mut Registry<'_>,
    path: String,
    models: Vec<String>,
    faults: &Faults,
) -> Vec<ModelId> {
    let targets = DraftTargets { path, models };
    let mut resolved = Vec::new();
    for (place, text) in targets.placed() {
        let Some(id) = registry.model(&place, text, faults) else { continue };
        if Backend::of(&id).is_some() {
            faults.add(&place, "names a coding agent", "Name a model, such as `claude-haiku-5-5`.");
            continue;
        }
        registry.endpoint(&place, &id.provider, faults);
        registry.learn(&place, &id, faults);
        resolved.push(id);
    }
    resolved
}
