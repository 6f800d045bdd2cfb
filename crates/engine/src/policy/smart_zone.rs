//! The smart zone: how full each role's window is, and when a fresh context is due (S0-12 to S0-16).
//!
//! The percentage is the last call's occupancy over the window, not a sum over calls (contradiction 14). Invariant: each level is reported
//! once per session of an agent. Registering it anew begins a new session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::catalogue::UNKNOWN_CONTEXT_WINDOW;

/// From here on a person is informed: 30 %.
pub const SAFE_PERCENT: u64 = 30;
/// From here on a fresh context is required: 40 %.
pub const WARNING_PERCENT: u64 = 40;
/// From here on replies get noticeably worse: 50 %.
pub const CRITICAL_PERCENT: u64 = 50;

/// How far into its window an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// 30 % or more.
    Info,
    /// 40 % or more: reset required.
    Warning,
    /// 50 % or more: the dumb zone.
    Critical,
}

impl Level {
    /// The word in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }

    fn of(tokens: u64, window: u64) -> Option<Self> {
        [(CRITICAL_PERCENT, Self::Critical), (WARNING_PERCENT, Self::Warning), (SAFE_PERCENT, Self::Info)]
            .into_iter()
            // Compared as products: a percentage that is rounded down would report a level too late.
            .find(|&(percent, _)| u128::from(tokens) * 100 >= u128::from(window) * u128::from(percent))
            .map(|(_, level)| level)
    }
}

/// A level was crossed (S0-15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextWarning {
    /// Whose window.
    pub agent: String,
    /// Its model, as `provider/model`.
    pub model: String,
    /// Tokens in the window after the last call.
    pub usage: u64,
    /// The window in tokens.
    pub limit: u64,
    /// Percent of the window, rounded down.
    pub percentage: u32,
    /// The level crossed.
    pub level: Level,
    /// The same for people.
    pub message: String,
}

/// One agent's window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsage {
    /// Whose window.
    pub agent: String,
    /// Its model, as `provider/model`.
    pub model: String,
    /// Tokens in the window after the last call.
    pub tokens: u64,
    /// The window in tokens.
    pub limit: u64,
    /// Percent of the window, rounded down.
    pub percentage: u32,
}

/// Tokens were tracked for an agent that nobody registered (S0-14).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Agent \"{agent}\" not registered. Call registerAgent() first.")]
pub struct NotRegistered {
    /// The agent's name.
    pub agent: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Agent {
    model: String,
    limit: u64,
    tokens: u64,
    reported: Option<Level>,
}

/// The windows of all registered agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextMonitor {
    agents: BTreeMap<String, Agent>,
}

impl ContextMonitor {
    /// Registers an agent's session with its model and window: 8,000 tokens where nobody knows it (S0-13). An agent that was registered
    /// starts anew.
    pub fn register(&mut self, agent: &str, model: &str, window: Option<u64>) {
        // A window of 0 would make every call critical.
        let limit = window.filter(|&tokens| tokens > 0).unwrap_or(UNKNOWN_CONTEXT_WINDOW);
        self.agents.insert(agent.to_owned(), Agent { model: model.to_owned(), limit, tokens: 0, reported: None });
    }

    /// Notes the occupancy after a call. Returns the highest level that is crossed for the first time in this session.
    ///
    /// # Errors
    /// [`NotRegistered`] when the agent was not registered before.
    pub fn track(&mut self, agent: &str, occupancy: u64) -> Result<Option<ContextWarning>, NotRegistered> {
        let Some(state) = self.agents.get_mut(agent) else {
            return Err(NotRegistered { agent: agent.to_owned() });
        };
        state.tokens = occupancy;
        let level = Level::of(occupancy, state.limit);
        // `None` is below every level, and a window that shrank (a compacted context) reports nothing twice.
        if level <= state.reported {
            return Ok(None);
        }
        state.reported = level;
        let usage = usage_of(agent, state);
        Ok(level.map(|level| warning(usage, level)))
    }

    /// One agent's window. `None` when it is not registered.
    #[must_use]
    pub fn usage(&self, agent: &str) -> Option<ContextUsage> {
        self.agents.get(agent).map(|state| usage_of(agent, state))
    }
}

fn usage_of(name: &str, agent: &Agent) -> ContextUsage {
    let percent = (u128::from(agent.tokens) * 100).checked_div(u128::from(agent.limit)).unwrap_or(100);
    ContextUsage {
        agent: name.to_owned(),
        model: agent.model.clone(),
        tokens: agent.tokens,
        limit: agent.limit,
        percentage: u32::try_from(percent).unwrap_or(u32::MAX),
    }
}

fn warning(usage: ContextUsage, level: Level) -> ContextWarning {
    let advice = match level {
        Level::Info => "no action needed",
        Level::Warning => "a fresh context is due",
        Level::Critical => "replies get worse from here; a fresh context is overdue",
    };
    ContextWarning {
        message: format!(
            "{} uses {} % of the window of {} ({} of {} tokens): {advice}",
            usage.agent, usage.percentage, usage.model, usage.tokens, usage.limit
        ),
        agent: usage.agent,
        model: usage.model,
        usage: usage.tokens,
        limit: usage.limit,
        percentage: usage.percentage,
        level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_level_is_reported_once_on_the_way_up() {
        let mut monitor = ContextMonitor::default();
        monitor.register("artisan", "anthropic/claude", Some(1_000));
        let mut track =
            |tokens| monitor.track("artisan", tokens).unwrap().map(|warning| (warning.level, warning.percentage));
        assert_eq!(track(299), None);
        assert_eq!(track(300), Some((Level::Info, 30)));
        assert_eq!(track(350), None);
        assert_eq!(track(500), Some((Level::Critical, 50)), "a jump reports the highest level only");
        assert_eq!(track(450), None);
        assert_eq!(track(900), None);
    }

    #[test]
    fn percentage_is_the_last_calls_occupancy_and_not_a_sum() {
        let mut monitor = ContextMonitor::default();
        monitor.register("critic", "m", Some(1_000));
        monitor.track("critic", 200).unwrap();
        monitor.track("critic", 210).unwrap();
        assert_eq!(monitor.usage("critic").unwrap().percentage, 21);
    }

    #[test]
    fn an_unknown_window_is_eight_thousand_tokens() {
        let mut monitor = ContextMonitor::default();
        monitor.register("artisan", "x/y", None);
        let warning = monitor.track("artisan", 3_200).unwrap().unwrap();
        assert_eq!((warning.limit, warning.level), (8_000, Level::Warning));
    }

    #[test]
    fn tracking_an_agent_nobody_registered_is_an_error_in_the_contracts_words() {
        let error = ContextMonitor::default().track("x", 1).unwrap_err();
        assert_eq!(error.to_string(), "Agent \"x\" not registered. Call registerAgent() first.");
    }

    proptest! {
        #[test]
        fn levels_only_rise_and_come_at_most_three_times(tokens in prop::collection::vec(0u64..2_000, 0..30), window in 1u64..2_000) {
            let mut monitor = ContextMonitor::default();
            monitor.register("a", "m", Some(window));
            let levels: Vec<Level> =
                tokens.iter().filter_map(|&used| monitor.track("a", used).unwrap()).map(|warning| warning.level).collect();
            prop_assert!(levels.windows(2).all(|pair| pair[0] < pair[1]));
            let peak = tokens.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(levels.last().copied(), Level::of(peak, window));
        }
    }
}
