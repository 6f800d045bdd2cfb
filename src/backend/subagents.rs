//! The tree of the agents that an agent starts (S3-12).

use std::collections::BTreeMap;

use super::event::{AgentEvent, SubAgentState};

/// The most sub-agents of a session that are told apart.
const MOST: usize = 1_000;

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

/// The sub-agents of a session, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubAgents(BTreeMap<String, SubAgent>);

impl SubAgents {
    /// Takes an event. Events of other kinds change nothing. Returns the sub-agent that began or ended by it.
    pub fn take(&mut self, event: &AgentEvent) -> Option<(String, SubAgent)> {
        let AgentEvent::SubAgent { id, parent, name, state, tokens } = event else { return None };
        let before = self.0.get(id).map(|known| known.state);
        if self.0.len() >= MOST && before.is_none() {
            return None;
        }
        let depth =
            parent.as_ref().and_then(|parent| self.0.get(parent)).map_or(1, |parent| parent.depth.saturating_add(1));
        let new = || SubAgent { name: name.clone(), parent: parent.clone(), depth, state: *state, tokens: 0 };
        let known = self.0.entry(id.clone()).or_insert_with(new);
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
        self.0.iter().map(|(id, agent)| (id.as_str(), agent))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
