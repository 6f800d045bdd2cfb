//! External tools for one session: servers (MCP), started in a room that only reads the tree or asked at an address, and asked for their
//! tools before the first turn; requests to web services; and sub-agents. All of it ends with the session, whatever its end.
//!
//! Invariant: a server has no key but the variables that the configuration names for it. A source that cannot be had costs the session
//! nothing but its tools.

mod offer;
mod room;
mod servers;

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use serde_json::json;

use super::context::Context;
use crate::config::{AgentPlan, McpServer, RestTool};
use crate::domain::event::Event;
use crate::domain::foreign::Foreign;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::session_exit::SessionExit;
use crate::domain::tool::{ToolSource, ToolSpec};
use crate::mcp::{self, Offer};
use crate::rest::Rest;
use crate::session::{LostSource, Memory, OutsideTools, Replay, SessionEnd};
use offer::{Below, Source, name_of};
use servers::{Life, Served, Started, headers_of, start};

pub(super) use offer::Caller;

/// Why a server is not started: one word to each session that does without it.
const LEFT_OUT: &str = "left out, because it could not be used earlier in this tier";

/// The sources of a session's tools.
pub(super) struct Sources {
    all: Rc<Vec<Source>>,
    /// Those that the session itself is given. The others are its sub-agents'.
    given: Vec<String>,
    lives: Vec<Life>,
    below: Option<Rc<Below>>,
    /// Those that could not be had, until their session tells it.
    lost: Vec<LostSource>,
}

/// The sources that were opened, if any, and what is to be told of those that were not. Sessions side by side open theirs at once.
pub(super) type Opened = (Option<Sources>, News);
/// Events that belong to no session, in their order.
pub(super) type News = Vec<Event>;

/// The news of opening.
#[derive(Debug, Default)]
struct Found {
    news: News,
    lost: Vec<LostSource>,
}

/// Opens the sources that a role is given, and those of its sub-agents. There are none where it is given none, or no model of the session
/// could call a tool.
pub(super) async fn open(context: &Context<'_>, role: Role, targets: &[ModelId]) -> Opened {
    let mut found = Found::default();
    let sources = open_all(context, &mut found, role, targets).await;
    let Found { news, lost } = found;
    (sources.map(|sources| Sources { lost, ..sources }), news)
}

async fn open_all(context: &Context<'_>, found: &mut Found, role: Role, targets: &[ModelId]) -> Option<Sources> {
    let plan = &context.charter.plan;
    let given = given_to(&plan.agent, role);
    if given.is_empty() || !targets.iter().any(|target| plan.facts.of(target).tools) {
        return None;
    }
    let needed = with_sub_agents(&plan.agent, &given);
    let mut agents: Vec<Source> = plan.agent.sub_agents.iter().cloned().map(Source::Agent).collect();
    agents.retain(|source| needed.contains(&source.name()));
    let requests = requests(context, found, &needed);
    let wanted: Vec<&McpServer> =
        plan.agent.mcp.iter().filter(|server| needed.contains(&server_name(server))).collect();
    let (served, lives) = serve(context, found, wanted).await?;
    let all = served.into_iter().map(Source::Mcp).chain(requests).chain(agents).collect();
    Some(Sources { all: Rc::new(all), given, lives, below: None, lost: Vec::new() })
}

fn rest_name(tool: &RestTool) -> String {
    format!("{}{}", ToolSource::Rest.prefix(), tool.name)
}

fn server_name(server: &McpServer) -> String {
    format!("{}{}", ToolSource::Mcp.prefix(), server.name)
}

/// The sources that a role is given, by name.
pub(super) fn given_to(agent: &AgentPlan, role: Role) -> Vec<String> {
    let servers = agent.mcp.iter().filter(|server| server.roles.contains(&role)).map(server_name);
    let rest = agent.rest.iter().filter(|tool| tool.roles.contains(&role)).map(rest_name);
    servers.chain(rest).chain(agent.sub_agents.iter().filter(|sub| sub.roles.contains(&role)).map(name_of)).collect()
}

/// The same with what sub-agents among them are given.
fn with_sub_agents(agent: &AgentPlan, given: &[String]) -> Vec<String> {
    let mut needed = given.to_vec();
    // Each level may name agents of the next one. The bound also ends a circle of them.
    for _level in 0..offer::DEEPEST {
        let below = agent.sub_agents.iter().filter(|sub| needed.contains(&name_of(sub)));
        let more: Vec<String> = below.flat_map(|sub| sub.tools.iter().cloned()).collect();
        needed.extend(more);
    }
    needed
}

/// Starts servers and asks each for its tools. `None` when everything is to end.
async fn serve(context: &Context<'_>, found: &mut Found, wanted: Vec<&McpServer>) -> Option<(Vec<Served>, Vec<Life>)> {
    let mut started = Vec::new();
    let mut lives: Vec<Life> = Vec::new();
    for server in wanted {
        if context.lost.has(&server.name) {
            // Nobody waits twice in a tier for a server that is not to be had.
            let (name, exit) = (server_name(server), SessionExit::McpInitFailed);
            found.lost.push(LostSource { name, why: LEFT_OUT.to_owned(), exit });
            continue;
        }
        match start(context, server) {
            Ok(Started { client, life, remote, goes_out }) => {
                lives.push(life);
                started.push((server, client, remote, goes_out));
            }
            Err(why) => tell_no_server(context, found, (server, &why)),
        }
    }
    // All at once: the session waits for the slowest server, and not for the sum of them.
    let opening = join_all(started.iter().map(|(_, client, ..)| client.open()));
    let opened = tokio::select! {
        opened = opening => opened,
        // Their processes are driven here, or none of them could answer.
        never = keep_all(&mut lives) => match never {},
        _stopped = context.world.stop.wait() => return None,
    };
    let mut served = Vec::new();
    for ((server, client, remote, goes_out), opened) in started.into_iter().zip(opened) {
        match opened {
            Ok(described) => {
                let mut offer = mcp::offered(&server.name, &described, &server.allow);
                offer.tools.iter_mut().for_each(|tool| clean(context, &mut tool.spec));
                tell_left_out(context, &mut found.news, server, &offer);
                if offer.tools.is_empty() {
                    continue;
                }
                let limit = Duration::from_secs(u64::from(server.timeout_seconds));
                served.push(Served { name: server.name.clone(), client, limit, tools: offer.tools, remote, goes_out });
            }
            Err(error) => tell_no_server(context, found, (server, &error.to_string())),
        }
    }
    Some((served, lives))
}

/// Takes secrets out of a description: it goes to a model.
fn clean(context: &Context<'_>, spec: &mut ToolSpec) {
    spec.description = context.redact(&spec.description);
    let parameters = serde_json::from_str(&context.redact(&spec.parameters.to_string()));
    // A masked secret may have broken the JSON. The tool stays, without a description of its arguments.
    spec.parameters = parameters.unwrap_or_else(|_masked| json!({"type": "object"}));
}

/// Tells which of a server's tools are not offered, and why.
fn tell_left_out(context: &Context<'_>, news: &mut News, server: &McpServer, offer: &Offer) {
    let name = &server.name;
    if !offer.unsaid.is_empty() {
        let tools = offer.unsaid.join(", ");
        tracing::info!(server = %name, %tools, "tools that are not marked as read-only are not offered");
    }
    let mut tell = |message: String| news.push(Event::Warning { message: context.redact(&message) });
    if !offer.refused.is_empty() {
        tell(format!("tools of the server `{name}` are left out: {}", room::named(&offer.refused)));
    }
    if offer.tools.is_empty() {
        let hint = if offer.unsaid.is_empty() { "" } else { ": name some under `allow`" };
        tell(format!("the server of tools `{name}` offers none that may be used{hint}"));
    }
}

fn tell_no_server(context: &Context<'_>, found: &mut Found, (server, why): (&McpServer, &str)) {
    context.lost.note(&server.name);
    let what = format!("the server of tools `{}`", server.name);
    tell_lost(context, found, (&server_name(server), &what, why), SessionExit::McpInitFailed);
}

/// Tells that a source cannot be had.
fn tell_lost(context: &Context<'_>, found: &mut Found, (name, what, why): (&str, &str, &str), exit: SessionExit) {
    let why = Foreign::revealed(&context.redact(why)).as_str().to_owned();
    found.news.push(Event::Warning { message: format!("{what} cannot be used: {why}") });
    found.lost.push(LostSource { name: name.to_owned(), why, exit });
}

/// The requests to web services that can be made.
fn requests(context: &Context<'_>, found: &mut Found, needed: &[String]) -> Vec<Source> {
    let mut sources = Vec::new();
    let wanted = context.charter.plan.agent.rest.iter().filter(|tool| needed.contains(&rest_name(tool)));
    for tool in wanted {
        match headers_of(context, &tool.headers) {
            Ok(headers) => {
                let outward = context.world.hosting.outward.clone();
                sources.push(Source::Rest(Rest::new(tool.clone(), headers, outward)));
            }
            Err(why) => {
                let name = rest_name(tool);
                let what = format!("the tool `{name}`");
                tell_lost(context, found, (&name, &what, &why), SessionExit::ToolNotAvailable);
            }
        }
    }
    sources
}

async fn keep_all(lives: &mut [Life]) -> Infallible {
    // `select_all` panics over an empty list.
    if lives.is_empty() {
        return std::future::pending().await;
    }
    select_all(lives.iter_mut().map(|life| Box::pin(life.go_on()))).await.0
}

/// Keeps servers alive for as long as it is waited for.
pub(super) async fn keep(sources: &mut Option<Sources>) -> Infallible {
    match sources {
        Some(sources) => keep_all(&mut sources.lives).await,
        None => std::future::pending().await,
    }
}

impl Sources {
    /// Their tools, as a session offers and calls them. Sub-agents begin with what the session knows of its targets.
    pub(super) fn tools<'t, 'a: 't>(
        &mut self,
        caller: Caller<'t, 'a>,
        memory: &Memory,
        replay: &mut Replay,
    ) -> Option<OutsideTools<'t>> {
        let below = Rc::new(Below {
            replay: RefCell::new(replay.below(caller.path())),
            memory: RefCell::new(memory.clone()),
            wrote: RefCell::default(),
        });
        self.below = Some(Rc::clone(&below));
        offer::tools_of(&self.all, (&self.given, std::mem::take(&mut self.lost)), caller, &below)
    }

    /// Ends them with their session, which learns what sub-agents did and found out.
    pub(super) async fn close(self, memory: &mut Memory, end: &mut SessionEnd) {
        // What is on its way is of no use any more.
        join_all(self.lives.into_iter().map(Life::end)).await;
        join_all(self.all.iter().filter_map(Source::remote).map(|(remote, client)| remote.close(client))).await;
        let Some(below) = self.below else { return };
        memory.learn(below.memory.take());
        for path in below.wrote.take() {
            if !end.wrote.contains(&path) {
                end.wrote.push(path);
            }
        }
    }
}
