//! Targets that coding agents hold: `cli/NAME`, `cli/NAME:MODEL`, and the users' own command lines for them.

use std::collections::BTreeMap;

use crate::backend::Backend;
use crate::domain::model_id::{BUILT_IN_PROVIDERS, ModelId};
use crate::domain::spoken::Spoken;

use super::error::Faults;
use super::models::Registry;
use super::pick::Picker;
use super::plan::{AgentProgram, Wire};
use super::suggest::nearest;

/// How targets begin that agents hold.
const AGENTS: &str = "cli/";
/// The provider whose models are recordings.
const CASSETTE: &str = "cassette";

impl Registry<'_> {
    /// Reads `cli/NAME` or `cli/NAME:MODEL`, where the model is one of a known provider.
    pub(super) fn agent(&self, path: &str, text: &str, faults: &Faults) -> Option<ModelId> {
        let known = |name: &str| BUILT_IN_PROVIDERS.contains(&name) || self.providers.contains_key(name);
        // Arguments belong under `agents`, not behind the name.
        let id = ModelId::parse(text).filter(|_| !text.contains(char::is_whitespace));
        let backend = id.as_ref().and_then(Backend::of);
        let (Some(id), Some(backend)) = (id, backend) else {
            let names = || Backend::ALL.into_iter().chain([Backend::Acp]).map(Backend::as_str);
            let named = text.trim_start_matches(AGENTS).split(':').next().unwrap_or_default();
            let fix = match nearest(named, names()) {
                Some(near) => format!("Did you mean `cli/{near}`?"),
                None => format!(
                    "Use one of {}, as in `cli/claude` or `cli/claude:MODEL`.",
                    names().collect::<Vec<_>>().join(", ")
                ),
            };
            faults.add(path, format!("'{}' is not an agent that upshift knows", text.escape_debug()), fix);
            return None;
        };
        match backend.model_of(&id) {
            // A recording speaks no wire that an agent could be given.
            Some(model) if known(&model.provider) && model.provider != CASSETTE => Some(id),
            Some(_) | None => {
                let fix = "After the colon comes a model: its vendor's name for it, or `provider/model`.";
                faults.add(path, format!("'{}' names no model of a known provider", text.escape_debug()), fix);
                None
            }
        }
    }

    /// Finds out how the model behind an agent is reached and what it costs. The agent's target is known by the same.
    pub(super) fn hosted(&mut self, path: &str, id: &ModelId, backend: Backend, faults: &Faults) {
        let Some(model) = backend.model_of(id) else { return };
        self.endpoint(path, &model.provider, faults);
        self.learn(path, &model, faults);
        let Some((endpoint, _)) = self.endpoints.get(&model.provider) else { return };
        if spoken_by(backend, endpoint.wire).is_none() || model.provider == "azure" {
            let fix = format!(
                "Name a model of a provider that it speaks with, as in `cli/{}`, which asks `{}`.",
                backend.as_str(),
                backend.agent().default_model
            );
            let message = format!("{} does not speak the API of provider `{}`", backend.as_str(), model.provider);
            faults.add(path, message, fix);
        }
        // Budgets ask for the target by its own name, which holds the agent and the model.
        if let Some(info) = self.facts.0.get(&model).cloned() {
            self.facts.0.insert(id.clone(), info);
        }
    }

    /// The model of agents' side calls. The tiers text goes before the configuration file.
    pub(super) fn side_model(&mut self, picker: &Picker<'_>) -> Option<ModelId> {
        const KEY: &str = "agent.sideModel";
        let mut told =
            picker.documents().filter_map(|document| Some((document.file.agent.as_ref()?, &document.faults)));
        let (text, faults) = told.find_map(|(section, faults)| Some((section.side_model.as_ref()?, faults)))?;
        let id = self.model(KEY, text, faults)?;
        if Backend::of(&id).is_some() {
            faults.add(KEY, "names an agent", "Name the model that answers side calls, such as `claude-haiku-5-5`.");
            return None;
        }
        // Only the vendors of the ladder have a way out of an agent's room.
        if !self.endpoints.contains_key(&id.provider) {
            self.warnings.push(format!("{KEY} `{id}` is not used: no model of the ladder is of its provider"));
            return None;
        }
        self.learn(KEY, &id, faults);
        Some(id)
    }
}

/// The users' own command lines, by the agent's name. The tiers text goes before the configuration file.
pub(super) fn programs(picker: &Picker<'_>) -> BTreeMap<String, AgentProgram> {
    let mut programs = BTreeMap::new();
    for document in picker.documents() {
        for (name, section) in document.file.agents.iter().flatten() {
            let path = format!("agents.{name}");
            if Backend::named(name).is_none() {
                let names: Vec<&str> = Backend::ALL.into_iter().chain([Backend::Acp]).map(Backend::as_str).collect();
                let fix = format!("Use one of {}.", names.join(", "));
                document.faults.add(&path, "is not an agent that upshift knows", fix);
                continue;
            }
            let command = section.command.clone().unwrap_or_default();
            // An empty list is a slip. The default is taken where the key is left out.
            if section.command.as_ref().is_some_and(Vec::is_empty) {
                document.faults.add(
                    &format!("{path}.command"),
                    "names no program",
                    "Name it: `command: [/opt/bin/claude]`.",
                );
            }
            let program = AgentProgram { command, args: section.args.clone().unwrap_or_default() };
            programs.entry(name.clone()).or_insert(program);
        }
    }
    programs
}

/// The agent's usual protocol over a wire, which is the first in its list. `None` where it speaks none over it.
#[must_use]
pub fn spoken_by(backend: Backend, wire: Wire) -> Option<Spoken> {
    all_spoken_by(backend, wire).next()
}

/// Everything that an agent may speak over a wire.
pub fn all_spoken_by(backend: Backend, wire: Wire) -> impl Iterator<Item = Spoken> {
    let speaks = move |spoken: &&Spoken| match spoken {
        Spoken::Messages => wire == Wire::Anthropic,
        Spoken::Responses | Spoken::Chat => wire == Wire::OpenAi,
        Spoken::Generate => wire == Wire::Gemini,
    };
    backend.agent().speaks.iter().filter(speaks).copied()
}
