//! External tools, as far as they can be had here: told by `check` and `doctor` before a run finds out.
//!
//! Invariant: nothing is started, and nothing is asked but by [`reached`], which sends no key and no words of a model.

use std::path::Path;
use std::time::Duration;

use http::Request;
use url::Url;

use super::check::ToolsThere;
use super::environment::Environment;
use super::http_client;
use crate::config::{McpServer, Plan, RestTool, SubAgentPlan};
use crate::hosted::find;
use crate::http::Outward;

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Every source that is configured.
pub(super) fn there(plan: &Plan, checkout: &Path, environment: &Environment) -> Vec<ToolsThere> {
    let agent = &plan.agent;
    let servers = agent.mcp.iter().map(|server| of_server(server, checkout, environment));
    let requests = agent.rest.iter().map(|tool| of_request(tool, environment));
    servers.chain(requests).chain(agent.sub_agents.iter().map(of_agent)).collect()
}

fn of_server(server: &McpServer, checkout: &Path, environment: &Environment) -> ToolsThere {
    let name = format!("mcp__{}", server.name);
    let variables = server.env.iter().chain(server.headers.values());
    let unset = unset(variables, environment);
    // A server at an address has no program here. `doctor --online` asks whether its host answers.
    if let Some(url) = &server.url {
        return ToolsThere { name, what: url.clone(), trouble: unset, url: Some(url.clone()) };
    }
    let program = server.command.first().map(String::as_str).unwrap_or_default();
    let path = environment.get("PATH").map(Into::into);
    let is_there = find(program, path.as_ref(), checkout).is_some();
    let trouble = if is_there { unset } else { Some(format!("`{program}` was not found")) };
    ToolsThere { name, what: server.command.join(" "), trouble, url: None }
}

fn of_request(tool: &RestTool, environment: &Environment) -> ToolsThere {
    ToolsThere {
        name: format!("rest__{}", tool.name),
        what: format!("{} {}", tool.method.as_str().to_ascii_uppercase(), tool.url),
        trouble: unset(tool.headers.values(), environment),
        url: Some(tool.url.clone()),
    }
}

fn of_agent(agent: &SubAgentPlan) -> ToolsThere {
    let models: Vec<String> = agent.models.iter().map(ToString::to_string).collect();
    let models = if models.is_empty() { "the models of its caller".to_owned() } else { models.join(", ") };
    let writes = if agent.allow_write { "; it may change files" } else { "" };
    ToolsThere { name: format!("agent__{}", agent.name), what: format!("{models}{writes}"), trouble: None, url: None }
}

fn unset<'v>(mut variables: impl Iterator<Item = &'v String>, environment: &Environment) -> Option<String> {
    let unset = variables.find(|name| environment.get(name).is_none())?;
    Some(format!("the variable {unset} is not set"))
}

/// Whether the host of an address answers at all. Its root is asked, without a key.
///
/// # Errors
/// Why it does not.
pub(super) async fn reached(url: &str, plan: &Plan, environment: &Environment) -> Result<String, String> {
    // A placeholder stands behind the host, which alone is asked.
    let mut url = Url::parse(&url.replace(['{', '}'], "_")).map_err(|error| error.to_string())?;
    // Asking the real address could do what the tool does, such as order something.
    url.set_path("/");
    url.set_query(None);
    let outward = Outward::to(http_client::http(environment), &plan.agent.tool_hosts);
    // No body and no key: it is only seen whether somebody answers.
    let request = Request::head(url.as_str()).body(Vec::new()).map_err(|error| error.to_string())?;
    match tokio::time::timeout(PATIENCE, outward.send(request)).await {
        // Any answer will do, a refusal as well: the request had no key.
        Ok(Ok(answer)) => Ok(format!("its host answers ({})", answer.status())),
        Ok(Err(error)) => Err(format!("its host cannot be reached: {error}")),
        Err(_elapsed) => Err(format!("its host did not answer within {} s", PATIENCE.as_secs())),
    }
}
