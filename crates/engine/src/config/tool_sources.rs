//! What is said of tools from outside by their names: the tools of sub-agents, and the words for their failures.

use std::collections::BTreeMap;

use super::pick::Picker;
use super::plan::{AgentPlan, Origin};

/// The longest words for a failure, in characters: a model reads them each time.
const MAX_WORDS: usize = 1_000;

/// The sources of tools that are configured, as their tools' names begin.
fn sources(agent: &AgentPlan) -> Vec<String> {
    let servers = agent.mcp.iter().map(|server| format!("mcp__{}", server.name));
    let rest = agent.rest.iter().map(|tool| format!("rest__{}", tool.name));
    servers.chain(rest).chain(agent.sub_agents.iter().map(|sub| format!("agent__{}", sub.name))).collect()
}

/// Whether a name is that of a tool of a source, or stands for all of its tools.
fn is_of(name: &str, source: &str) -> bool {
    let Some(rest) = name.strip_prefix(source) else { return false };
    // Behind `mcp__NAME__` a tool or a star has to follow. The others are one tool each.
    if source.starts_with("mcp__") { rest.len() > 2 && rest.starts_with("__") } else { rest.is_empty() }
}

fn known(sources: &[String]) -> String {
    if sources.is_empty() { "none is configured".to_owned() } else { format!("these are: {}", sources.join(", ")) }
}

/// The words for failures, each checked to be for a tool that there can be. Faults in the tools of sub-agents are noted too.
pub(super) fn failures(picker: &Picker<'_>, agent: &AgentPlan) -> BTreeMap<String, String> {
    let sources = sources(agent);
    check_sub_agents(picker, agent, &sources);
    let told =
        picker.documents().find_map(|document| Some((document.file.agent.as_ref()?.tool_failures.as_ref()?, document)));
    let Some((words, document)) = told else {
        picker.note("agent.toolFailures", &"none", Origin::Default);
        return BTreeMap::new();
    };
    for (name, told) in words {
        let path = format!("agent.toolFailures.{name}");
        // The tools of a server are only known once it runs, so that its name is all that can be checked.
        if !sources.iter().any(|source| is_of(name, source)) {
            let fix =
                format!("Name an external tool, such as `mcp__SERVER__TOOL` or `mcp__SERVER__*`; {}.", known(&sources));
            document.faults.add(&path, "is not a configured external tool", fix);
        }
        let long = told.chars().count();
        if long > MAX_WORDS {
            let fix = format!("Use at most {MAX_WORDS} characters.");
            document.faults.add(&path, format!("has {long} characters"), fix);
        }
    }
    let names: Vec<&str> = words.keys().map(String::as_str).collect();
    picker.note("agent.toolFailures", &names.join(", "), document.origin());
    words.clone()
}

fn check_sub_agents(picker: &Picker<'_>, agent: &AgentPlan, sources: &[String]) {
    let Some(document) = picker
        .documents()
        .find(|document| document.file.agent.as_ref().is_some_and(|agent| agent.sub_agents.is_some()))
    else {
        return;
    };
    for sub in &agent.sub_agents {
        for (index, tool) in sub.tools.iter().enumerate().filter(|(_, tool)| !sources.contains(tool)) {
            let path = format!("agent.subAgents.{}.tools[{index}]", sub.name);
            let message = format!("'{}' is not a source of tools", tool.escape_debug());
            document.faults.add(&path, message, format!("Name one that is configured; {}.", known(sources)));
        }
    }
}
