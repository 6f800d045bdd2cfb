//! Coding agents in the progress: who is asked in whose place, the agents that agents start, and advisors.

use super::phrases::{model, speech};
use crate::domain::advice::Advice;
use crate::domain::agents::{AgentRecovery, AgentSwitch, AllLimited, SubAgentChange};
use crate::domain::clock::Timestamp;
use crate::domain::kept_report::ReusedReport;
use crate::report::words::reused_report;

/// Levels of sub-agents that are shown by more room at the left.
const DEEPEST: u32 = 8;

pub(super) fn switched(switch: &AgentSwitch) -> String {
    let (from, to) = (model(&switch.from), model(&switch.to));
    format!("    ◆ {to} is asked in the place of {from}: {}{}", speech(&switch.reason), until(switch.until.as_ref()))
}

pub(super) fn all_limited(all: &AllLimited) -> String {
    let targets: Vec<String> = all.targets.iter().map(|target| model(target)).collect();
    format!("    ◆ {}: nobody can be asked now{}", targets.join(", "), until(all.until.as_ref()))
}

pub(super) fn recovery(recovery: &AgentRecovery) -> String {
    let came = if recovery.recovered { "was asked first again, and answers" } else { "still does not answer" };
    format!("    ◆ {} {came}", model(&recovery.target))
}

/// A line for each advisor that gave no advice.
pub(super) fn unadvised(blocks: &[Advice]) -> impl Iterator<Item = String> {
    let failed = blocks.iter().filter(|block| !block.given);
    failed.map(|block| format!("advisor {} gave no advice: {}", block.name, block.said))
}

/// The line for a report that was used again.
pub(super) fn reused(reused: &ReusedReport) -> String {
    format!("    {}", reused_report(reused))
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
