//! Agents beside the roles (S1-18): `agent.advisors`, who read before the artisan works, `agent.router`, to whom a role may hand its task
//! over, and `agent.handoff`, who write once a change is proven.

use std::collections::BTreeMap;

use super::document::Document;
use super::error::Faults;
use super::file::AgentSection;
use super::ladder::DraftTargets;
use super::models::Registry;
use super::numbers::Dollars;
use super::pick::Picker;
use super::plan::{AdvisorPlan, HandoffPlan, Origin, PULL_REQUEST, SpecialistPlan};
use super::values::{CallerWord, Targets};
use crate::backend::Backend;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;

/// The turns of one session unless something else is said: an advisor reads a few files and speaks.
const DEFAULT_TURNS: u32 = 10;
/// The same of one that writes a text about a change that it is shown.
const TURNS_OF_A_TEXT: u32 = 5;
/// The most agents of a kind: each adds its words to a message, and its calls to the vendor's limits.
const MOST: usize = 8;
/// The longest name: it stands in prompts and reports.
const MAX_NAME: usize = 40;
/// The longest instructions, in characters.
const MAX_INSTRUCTIONS: usize = 4_000;

/// The instructions of a built-in text.
fn built_in(name: &str) -> Option<&'static str> {
    match name {
        PULL_REQUEST => Some(
            "Write the text of the pull request for its reviewer: the cause of the failure, what the change does about it, and what to \
             look at. No heading, at most 150 words.",
        ),
        "release_note" => Some(
            "Write one entry for the release notes, for the users of this project: one sentence, at most 40 words.",
        ),
        _ => None,
    }
}

/// The sections of a kind by name, with the document that they stand in. The tiers text goes before the configuration file.
struct Sections<'p, S> {
    sections: &'p BTreeMap<String, S>,
    document: &'p Document,
    key: &'static str,
}

impl<'p, S> Sections<'p, S> {
    fn of(
        picker: &Picker<'p>,
        key: &'static str,
        kind: &str,
        get: impl Fn(&AgentSection) -> Option<&BTreeMap<String, S>>,
    ) -> Option<Self> {
        let told = picker.documents().find_map(|document| Some((get(document.file.agent.as_ref()?)?, document)));
        let Some((sections, document)) = told else {
            picker.note(key, &"none", Origin::Default);
            return None;
        };
        // Noted, and the others are read on: a person mends all faults in one go.
        if sections.len() > MOST {
            document.faults.add(key, format!("names {} {kind}", sections.len()), format!("Name at most {MOST}."));
        }
        Some(Self { sections, document, key })
    }

    /// The sections with sound names, with their places.
    fn named(&self, kind: &str) -> Vec<(String, &'p String, &'p S)> {
        // Such a name can stand in a tool's name, in a path of the configuration and in a report without quotes.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let mut named = Vec::new();
        for (name, section) in self.sections {
            let path = format!("{}.{name}", self.key);
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
                let fix = format!("Use at most {MAX_NAME} letters, digits, `-` and `_`.");
                self.document.faults.add(&path, format!("is not a valid name of {kind}"), fix);
                continue;
            }
            named.push((path, name, section));
        }
        named
    }

    fn note(&self, picker: &Picker<'_>, names: Vec<&str>) {
        picker.note(self.key, &names.join(", "), self.document.origin());
    }
}

/// A text of the configuration's own, if it is one.
fn words(faults: &Faults, place: &str, text: Option<String>) -> Option<String> {
    let text = text?;
    let long = text.chars().count();
    // Words that are empty would make an agent that is asked for nothing.
    if text.trim().is_empty() || long > MAX_INSTRUCTIONS {
        let fix = format!("Say in 1 to {MAX_INSTRUCTIONS} characters what it is to look at.");
        faults.add(place, format!("has {long} characters"), fix);
        return None;
    }
    Some(text)
}

/// The models of a section, all of them ours.
fn models(registry: &mut Registry<'_>, faults: &Faults, path: &str, models: Option<&Targets>) -> Vec<ModelId> {
    let models = models.map(|models| models.0.clone()).unwrap_or_default();
    models_of(registry, format!("{path}.models"), models, faults)
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

/// The advisors in the order of their names.
pub(super) fn advisors(picker: &Picker<'_>, registry: &mut Registry<'_>) -> Vec<AdvisorPlan> {
    let Some(sections) = Sections::of(picker, "agent.advisors", "advisors", |agent| agent.advisors.as_ref()) else {
        return Vec::new();
    };
    let faults = &sections.document.faults;
    let mut advisors = Vec::new();
    for (path, name, section) in sections.named("an advisor") {
        let place = format!("{path}.instructions");
        let Some(instructions) = words(faults, &place, section.instructions.clone()) else { continue };
        advisors.push(AdvisorPlan {
            name: name.clone(),
            instructions,
            models: models(registry, faults, &path, section.models.as_ref()),
            max_cost: section.max_cost_usd.map(|Dollars(cost)| cost),
            max_turns: section.max_turns.map_or(DEFAULT_TURNS, |turns| turns.0),
            timeout_seconds: section.timeout_seconds.map(|seconds| seconds.0),
            each_iteration: section.each_iteration.unwrap_or_default(),
        });
    }
    sections.note(picker, advisors.iter().map(|one| one.name.as_str()).collect());
    advisors
}

/// The specialists in the order of their names.
pub(super) fn specialists(picker: &Picker<'_>, registry: &mut Registry<'_>) -> Vec<SpecialistPlan> {
    let Some(sections) = Sections::of(picker, "agent.router", "specialists", |agent| agent.router.as_ref()) else {
        return Vec::new();
    };
    let faults = &sections.document.faults;
    let mut specialists = Vec::new();
    for (path, name, section) in sections.named("a specialist") {
        let Some(when) = words(faults, &format!("{path}.when"), section.when.clone()) else { continue };
        let place = format!("{path}.instructions");
        let instructions = words(faults, &place, section.instructions.clone()).unwrap_or_default();
        let roles = section.roles.clone().unwrap_or_else(|| vec![CallerWord(Role::Librarian)]);
        let roles: Vec<Role> = roles.into_iter().map(|CallerWord(role)| role).collect();
        if roles.is_empty() {
            let fix = "Use librarian and artisan: no other role hands over tasks.";
            faults.add(&format!("{path}.roles"), "names no role that hands over", fix);
            continue;
        }
        specialists.push(SpecialistPlan {
            name: name.clone(),
            when,
            instructions,
            roles,
            models: models(registry, faults, &path, section.models.as_ref()),
            max_cost: section.max_cost_usd.map(|Dollars(cost)| cost),
            max_turns: section.max_turns.map(|turns| turns.0),
        });
    }
    sections.note(picker, specialists.iter().map(|one| one.name.as_str()).collect());
    specialists
}

/// The texts that follow a fix, in the order of their names.
pub(super) fn handoffs(picker: &Picker<'_>, registry: &mut Registry<'_>) -> Vec<HandoffPlan> {
    let Some(sections) = Sections::of(picker, "agent.handoff", "texts", |agent| agent.handoff.as_ref()) else {
        return Vec::new();
    };
    let faults = &sections.document.faults;
    let mut handoffs = Vec::new();
    for (path, name, section) in sections.named("a text") {
        let place = format!("{path}.instructions");
        // A text of the configuration's own may replace a built-in one of the same name.
        let Some(said) = section.instructions.clone().or_else(|| built_in(name).map(str::to_owned)) else {
            let fix = "Say what it is to write, or use a built-in one: `pull_request`, `release_note`.";
            faults.add(&place, "is required", fix);
            continue;
        };
        let Some(instructions) = words(faults, &place, Some(said)) else { continue };
        handoffs.push(HandoffPlan {
            name: name.clone(),
            instructions,
            models: models(registry, faults, &path, section.models.as_ref()),
            max_cost: section.max_cost_usd.map(|Dollars(cost)| cost),
            max_turns: section.max_turns.map_or(TURNS_OF_A_TEXT, |turns| turns.0),
            timeout_seconds: section.timeout_seconds.map(|seconds| seconds.0),
        });
    }
    sections.note(picker, handoffs.iter().map(|one| one.name.as_str()).collect());
    handoffs
}
