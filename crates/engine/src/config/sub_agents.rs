//! `agent.subAgents`: models that roles call as tools.

use super::advisors::models_of;
use super::models::Registry;
use super::pick::Picker;
use super::plan::{Origin, SubAgentPlan};
use super::values::RoleWord;
use crate::domain::ladder::Role;

/// The turns of one session unless something else is said: a sub-agent has one question to answer.
const DEFAULT_TURNS: u32 = 10;
/// The time of one call, in seconds, unless something else is said. A single reply of a reasoning model may take as long.
const DEFAULT_TIMEOUT: u32 = 600;
/// The most sub-agents: each is a tool that is paid for in every uncached request.
const MOST: usize = 8;
/// The longest name: it stands in the name of its tool.
const MAX_NAME: usize = 40;
/// The longest description, in characters.
const MAX_DESCRIPTION: usize = 600;
/// The longest instructions, in characters.
const MAX_INSTRUCTIONS: usize = 4_000;

/// The sub-agents in the order of their names. The tiers text goes before the configuration file.
pub(super) fn sub_agents(picker: &Picker<'_>, registry: &mut Registry<'_>) -> Vec<SubAgentPlan> {
    let told =
        picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.sub_agents.as_ref()?, document)));
    let Some((sections, document)) = told else {
        picker.note("agent.subAgents", &"none", Origin::Default);
        return Vec::new();
    };
    let faults = &document.faults;
    if sections.len() > MOST {
        let fix = format!("Name at most {MOST}.");
        faults.add("agent.subAgents", format!("names {} sub-agents", sections.len()), fix);
    }
    let mut agents = Vec::new();
    for (name, section) in sections {
        let path = format!("agent.subAgents.{name}");
        // No `_`: two of them part the names of tools.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
            let fix = format!("Use at most {MAX_NAME} letters, digits and `-`: it becomes part of `agent__NAME`.");
            faults.add(&path, "is not a valid name of a sub-agent", fix);
            continue;
        }
        // Missing ones were noted when the document was read.
        let (Some(description), Some(instructions)) = (section.description.clone(), section.instructions.clone())
        else {
            continue;
        };
        for (key, text, most) in
            [("description", &description, MAX_DESCRIPTION), ("instructions", &instructions, MAX_INSTRUCTIONS)]
        {
            let long = text.chars().count();
            if long > most {
                let fix = format!("Use at most {most} characters.");
                faults.add(&format!("{path}.{key}"), format!("has {long} characters"), fix);
            }
        }
        let roles = section.roles.clone().unwrap_or_else(|| vec![RoleWord(Role::Artisan)]);
        let roles: Vec<Role> = roles.into_iter().map(|RoleWord(role)| role).collect();
        let allow_write = section.allow_write.unwrap_or_default();
        // A librarian or a critic that writes through a sub-agent would have the rights of an artisan.
        if allow_write && roles.iter().any(|role| *role != Role::Artisan) {
            let fix = "Name `artisan` alone, or leave `allowWrite` out.";
            faults.add(&format!("{path}.roles"), "names a role that may not change files", fix);
        }
        let models = section.models.as_ref().map(|models| models.0.clone()).unwrap_or_default();
        agents.push(SubAgentPlan {
            name: name.clone(),
            description,
            instructions,
            models: models_of(registry, format!("{path}.models"), models, faults),
            roles,
            tools: section.tools.clone().unwrap_or_default(),
            allow_write,
            max_cost: section.max_cost_usd.map(|cost| cost.0),
            max_turns: section.max_turns.map_or(DEFAULT_TURNS, |turns| turns.0),
            timeout_seconds: section.timeout_seconds.map_or(DEFAULT_TIMEOUT, |seconds| seconds.0),
        });
    }
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    picker.note("agent.subAgents", &names.join(", "), document.origin());
    agents
}
