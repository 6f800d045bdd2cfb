//! The tree of the agents that an agent starts (S3-12).

use std::collections::BTreeMap;

use super::event::{AgentEvent, SubAgentState};

/// The most sub-agents of a session that are told apart.
const MOST: usize = 1_000;
/// The most calls of sub-agents that are known by their caller.
const MOST_CALLS: usize = 10_000;
/// The longest id of a call that is kept, in bytes.
const MAX_ID: usize = 200;

/// One sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgent {
    /// The sub-agent's name.
    pub name: String,
    /// The sub-agent that started it.
    pub parent: Option<String>,
    /// How deep in the tree, from 1.
    pub depth: u32,
    /// How it stands.
    pub state: SubAgentState,
    /// The tokens it used by its own count.
    pub tokens: u64,
}

/// The sub-agents of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubAgents {
    /// Each by its id.
    agents: BTreeMap<String, SubAgent>,
    /// The sub-agent that a call started.
    started: BTreeMap<String, String>,
    /// The calls of sub-agents: each with the call that started its caller.
    calls: BTreeMap<String, String>,
}

impl SubAgents {
    /// Takes an event: a sub-agent's own, or a call, which may start one. Others change nothing. Returns the sub-agent that began or
    /// ended by it.
    pub fn take(&mut self, event: &AgentEvent) -> Option<(String, SubAgent)> {
        let fits = |id: &str| id.len() <= MAX_ID;
        if let AgentEvent::ToolUse { id, by: Some(by), .. } = event
            && self.calls.len() < MOST_CALLS
            && fits(id)
            && fits(by)
        {
            self.calls.insert(id.clone(), by.clone());
        }
        let AgentEvent::SubAgent { id, call, depth, name, state, tokens } = event else { return None };
        let before = self.agents.get(id).map(|known| known.state);
        if self.agents.len() >= MOST && before.is_none() {
            return None;
        }
        let callers = call.as_ref().and_then(|call| self.calls.get(call));
        // Nobody is its own parent, whatever a stream says.
        let parent = callers.and_then(|callers| self.started.get(callers)).filter(|parent| *parent != id).cloned();
        if let Some(call) = call.as_ref().filter(|call| before.is_none() && fits(call)) {
            self.started.insert(call.clone(), id.clone());
        }
        let below = parent.as_ref().and_then(|parent| self.agents.get(parent));
        let depth = depth.unwrap_or_else(|| below.map_or(1, |parent| parent.depth.saturating_add(1)));
        let new = || SubAgent { name: name.clone(), parent, depth, state: *state, tokens: 0 };
        let known = self.agents.entry(id.clone()).or_insert_with(new);
        known.tokens = tokens.unwrap_or(known.tokens);
        // What ended stays so: a late progress report says nothing against it.
        if known.state == SubAgentState::Running {
            known.state = *state;
        }
        if !name.is_empty() {
            known.name.clone_from(name);
        }
        (before != Some(known.state)).then(|| (id.clone(), known.clone()))
    }

    /// Each with its id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SubAgent)> {
        self.agents.iter().map(|(id, agent)| (id.as_str(), agent))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.agents.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}
