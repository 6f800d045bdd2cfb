//! The agents that are known, and the targets that name them.

use super::agent::{Agent, Invocation, Order};
use super::{acp, claude, codex, copilot, gemini, opencode, qwen};
use crate::domain::model_id::ModelId;

/// The provider of targets that agents hold.
pub const PROVIDER: &str = "cli";

/// An agent that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Backend {
    /// Claude Code.
    Claude,
    /// OpenAI's Codex.
    Codex,
    /// opencode.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot CLI.
    Copilot,
    /// Qwen Code.
    Qwen,
    /// Any agent that speaks the Agent Client Protocol, by the command that a user names.
    Acp,
}

impl Backend {
    /// Every agent that is known by its name.
    pub const ALL: [Self; 6] = [Self::Claude, Self::Codex, Self::OpenCode, Self::Gemini, Self::Copilot, Self::Qwen];

    /// The facts about it.
    #[must_use]
    pub const fn agent(self) -> &'static Agent {
        match self {
            Self::Claude => &claude::AGENT,
            Self::Codex => &codex::AGENT,
            Self::OpenCode => &opencode::AGENT,
            Self::Gemini => &gemini::AGENT,
            Self::Copilot => &copilot::AGENT,
            Self::Qwen => &qwen::AGENT,
            Self::Acp => &acp::AGENT,
        }
    }

    /// Its name behind `cli/`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.agent().name
    }

    /// The agent of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Acp]).find(|backend| backend.as_str() == name)
    }

    /// The agent that holds a target. `None` where the target is an ordinary model.
    #[must_use]
    pub fn of(target: &ModelId) -> Option<Self> {
        let name = target.model.split_once(':').map_or(target.model.as_str(), |(name, _)| name);
        if target.provider == PROVIDER { Self::named(name) } else { None }
    }

    /// The model behind a target of this agent: the one that it names, or the agent's usual one.
    ///
    /// A name without a provider is one of the usual model's vendor, unless it says another by its beginning (`gpt-…`).
    #[must_use]
    pub fn model_of(self, target: &ModelId) -> Option<ModelId> {
        let usual = ModelId::parse(self.agent().default_model)?;
        let Some((_, named)) = target.model.split_once(':') else { return Some(usual) };
        let plain =
            || Some(ModelId { provider: usual.provider, model: named.to_owned() }).filter(|id| !id.model.is_empty());
        if named.contains('/') { ModelId::parse(named) } else { ModelId::parse(named).or_else(plain) }
    }

    /// How it is started.
    #[must_use]
    pub fn invoke(self, order: &Order<'_>) -> Invocation {
        (self.agent().invoke)(order)
    }
}

/// The model that answers for a target: the one behind an agent, or the target itself.
#[must_use]
pub fn answering(target: &ModelId) -> ModelId {
    Backend::of(target).and_then(|backend| backend.model_of(target)).unwrap_or_else(|| target.clone())
}
