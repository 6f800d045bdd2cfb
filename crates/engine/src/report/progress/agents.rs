//! Coding agents in the progress: who is asked in whose place, the agents that agents start, and advisors.

use std::collections::BTreeMap;

use super::phrases::{model, speech};
use crate::domain::agents::{AgentRecovery, AgentSwitch, AllLimited, SubAgentChange};
use crate::domain::clock::Timestamp;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::report::words::reused_report;

/// Levels of sub-agents that are shown by more room at the left.
const DEEPEST: u32 = 8;

/// The names of agents beside the roles, by the ids of their sessions: several may speak at the same time.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    pub(super) fn hear(&mut self, event: &Event) {
        if let Event::SessionStarted { session_id, agent, .. } = event
            && !agent.is_empty()
        {
            self.0.insert(session_id.clone(), agent.clone());
        }
    }

    /// The agent of a session, else its role.
    pub(super) fn of(&self, role: Role, session_id: &str) -> &str {
        who(role, self.0.get(session_id).map_or("", String::as_str))
    }
}

/// An agent by its path below the iteration, else by its role.
pub(super) fn who(role: Role, agent: &str) -> &str {
    if agent.is_empty() { role.as_str() } else { agent }
}

pub(super) fn switched(switch: &AgentSwitch) -> String {
    let (from, to) = (model(&switch.from), model(&switch.to));
    format!("    ◆ {to} is asked in the place of {from}: {}{}", speech(&switch.reason), until(switch.until.as_ref()))
}

pub(super) fn all_limited(all: &AllLimited) -> String {
    let targets: Vec<String> = all.targets.iter().map(|target| model(target)).collect();
    format!("    ◆ {}: no model can be asked now{}", targets.join(", "), until(all.until.as_ref()))
}

pub(super) fn recovery(recovery: &AgentRecovery) -> String {
    let came = if recovery.recovered { "was asked first again, and answers" } else { "still does not answer" };
    format!("    ◆ {} {came}", model(&recovery.target))
}

/// A line for each advisor that gave no advice, and for each text that was not written.
#[expect(clippy::wildcard_enum_match_arm, reason = "two events tell of such agents")]
pub(super) fn unsaid(event: &Event) -> impl Iterator<Item = String> {
    let (blocks, who, what) = match event {
        Event::Advised { blocks } => (blocks.as_slice(), "advisor", "gave no advice"),
        Event::HandedOff { blocks } => (blocks.as_slice(), "text", "was not written"),
        _ => (&[][..], "", ""),
    };
    let failed = blocks.iter().filter(|block| !block.given);
    failed.map(move |block| format!("{who} {} {what}: {}", block.name, block.said))
}

/// The line for whoever speaks in the place of a role: a specialist, or an earlier report of its own.
#[expect(clippy::wildcard_enum_match_arm, reason = "two events tell of them")]
pub(super) fn instead(event: &Event) -> String {
    match event {
        Event::Routed { role, to, .. } => format!("    {}: hands over to {to}", role.as_str()),
        Event::ReportReused(reused) => format!("    {}", reused_report(reused)),
        _ => String::new(),
    }
}

pub(super) fn sub_agent(change: &SubAgentChange) -> String {
    let indent = "  ".repeat(usize::try_from(change.depth.min(DEEPEST)).unwrap_or(1));
    let cost = change.cost.map(|cost| format!(", about {}", cost.exact())).unwrap_or_default();
    format!("    {indent}sub-agent {}: {}{cost}", speech(&change.name), speech(&change.state))
}

pub(super) fn told_until(at: Option<&Timestamp>) -> String {
    at.map(|at| format!(", until {}", at.for_people())).unwrap_or_default()
}

fn until(at: Option<&Timestamp>) -> String {
    at.map(|at| format!(", limited until {}", at.for_people())).unwrap_or_default()
}
