//! Servers of tools (MCP) for one session: started in a room that only reads the tree, asked for their tools before the first turn, and
//! ended with the session, whatever its end.
//!
//! Invariant: a server has no key but the variables that the configuration names for it. One that cannot be had costs the session nothing
//! but its tools.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use serde_json::{Value, json};

use super::context::Context;
use super::recorder::Recorder;
use crate::config::McpServer;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::session_exit::SessionExit;
use crate::domain::tool::ToolSpec;
use crate::hosted::find;
use crate::mcp::{self, Client, McpError, Offered};
use crate::process::{Confinement, Program, Spec};
use crate::session::{OutsideError, OutsideFuture, OutsideTools};

/// How much of a server's standard error is kept from each end, in bytes.
const KEEP: usize = 4 * 1024;
/// The most time of a server: no session is longer.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The life of a server's process, which never ends by itself.
type Life = Pin<Box<dyn Future<Output = Infallible>>>;

/// A server with the tools that are offered of it.
struct Served {
    name: String,
    client: Client,
    limit: Duration,
    tools: Vec<Offered>,
}

/// The servers of a session.
pub(super) struct Servers {
    served: Rc<Vec<Served>>,
    lives: Vec<Life>,
}

/// Starts the servers that a role is given. `None` where it is given none, or no model of the session could call a tool.
pub(super) async fn open(
    context: &Context<'_>,
    recorder: &mut Recorder<'_>,
    role: Role,
    targets: &[ModelId],
) -> Option<Servers> {
    let plan = &context.charter.plan;
    let wanted: Vec<&McpServer> = plan.agent.mcp.iter().filter(|server| server.roles.contains(&role)).collect();
    if wanted.is_empty() || !targets.iter().any(|target| plan.facts.of(target).tools) {
        return None;
    }
    let mut started = Vec::new();
    let mut lives: Vec<Life> = Vec::new();
    for server in wanted {
        match start(context, server) {
            Ok((client, life)) => {
                lives.push(life);
                started.push((server, client));
            }
            Err(why) => tell_lost(context, recorder, role, (&server.name, &why)),
        }
    }
    let opening = join_all(started.iter().map(|(_, client)| client.open()));
    let opened = tokio::select! {
        opened = opening => opened,
        never = keep_all(&mut lives) => match never {},
        _stopped = context.world.stop.wait() => return None,
    };
    let mut served = Vec::new();
    for ((server, client), opened) in started.into_iter().zip(opened) {
        match opened {
            Ok(described) => {
                let (mut tools, left_out) = mcp::offered(&server.name, &described, &server.allow);
                tools.iter_mut().for_each(|tool| clean(context, &mut tool.spec));
                for why in left_out {
                    tracing::info!(server = %server.name, %why, "tools are not offered");
                }
                let limit = Duration::from_secs(u64::from(server.timeout_seconds));
                served.push(Served { name: server.name.clone(), client, limit, tools });
            }
            Err(error) => tell_lost(context, recorder, role, (&server.name, &error.to_string())),
        }
    }
    served.retain(|server| {
        if server.tools.is_empty() {
            let message =
                format!("the server of tools `{}` offers none that may be used: name some under `allow`", server.name);
            recorder.emit(&Event::Warning { message });
        }
        !server.tools.is_empty()
    });
    Some(Servers { served: Rc::new(served), lives })
}

/// Takes secrets out of a description: it goes to a model.
fn clean(context: &Context<'_>, spec: &mut ToolSpec) {
    spec.description = context.redact(&spec.description);
    let parameters = serde_json::from_str(&context.redact(&spec.parameters.to_string()));
    spec.parameters = parameters.unwrap_or_else(|_masked| json!({"type": "object"}));
}

/// Tells that a server cannot be had.
fn tell_lost(context: &Context<'_>, recorder: &mut Recorder<'_>, role: Role, (name, why): (&str, &str)) {
    let why = context.redact(why);
    recorder.emit(&Event::ToolFinished {
        role,
        turn: 0,
        name: format!("mcp__{name}"),
        subject: why.chars().take(120).collect(),
        ok: false,
        duration_ms: 0,
        exit: SessionExit::McpInitFailed.as_str().to_owned(),
        session_id: String::new(),
    });
    recorder.emit(&Event::Warning { message: format!("the server of tools `{name}` cannot be used: {why}") });
}

/// A server's client, and the life of its process.
type Started = (Client, Life);

fn start(context: &Context<'_>, server: &McpServer) -> Result<Started, String> {
    let hosting = context.world.hosting;
    let (name, arguments) = server.command.split_first().ok_or("it names no program")?;
    let path = hosting.env.get(std::ffi::OsStr::new("PATH"));
    let program = find(name, path, &hosting.checkout).ok_or_else(|| format!("`{name}` was not found"))?;
    let room = hosting.room(&program, true).map_err(|error| error.to_string())?;
    let mut env = room.confined.env;
    let mut cwd = hosting.checkout.clone();
    if !server.env.is_empty() {
        apart(&program, arguments, &hosting.checkout)?;
        // Where it starts, too, nothing of the tree may lie that it would take for a part of itself.
        cwd = env.get(OsStr::new("HOME")).map(PathBuf::from).ok_or("it has no folder of its own")?;
        for steers in ["PYTHONPATH", "NODE_PATH", "NODE_OPTIONS"] {
            env.remove(OsStr::new(steers));
        }
    }
    for variable in &server.env {
        if let Some(value) = hosting.named.get(variable) {
            env.entry(OsString::from(variable)).or_insert_with(|| value.clone());
        }
    }
    if matches!(room.confined.confinement, Confinement::None) {
        tracing::info!(server = %server.name, "the server of tools is not confined, as the configuration says");
    }
    let words = std::iter::once(program.into_os_string()).chain(arguments.iter().map(OsString::from));
    let spec = Spec {
        program: Program::Argv(words.collect()),
        cwd,
        env,
        stdin: Vec::new(),
        timeout: LONGEST,
        keep: KEEP,
        merge_stderr: false,
        memory_mb: hosting.memory_mb,
        confinement: room.confined.confinement,
    };
    let (client, words) = Client::new();
    let (keeper, stop, listener) = (hosting.helper.clone(), context.world.stop.clone(), room.listener);
    let server = client.clone();
    let life: Life = Box::pin(async move {
        // Nothing answers in its network, but a port that is free could be taken by somebody.
        let _held = listener;
        mcp::live(server, &keeper, spec, stop, words).await
    });
    Ok((client, life))
}

/// Refuses a server with a secret of which a part lies in the tree: a model writes there, and whoever opened the pull request did.
fn apart(program: &Path, arguments: &[String], checkout: &Path) -> Result<(), String> {
    let root = checkout.canonicalize().unwrap_or_else(|_gone| checkout.to_owned());
    let is_inside = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&root) && real.is_file());
    let part = std::iter::once(program.to_owned())
        .chain(arguments.iter().map(|word| checkout.join(word)))
        .find(|path| is_inside(path));
    match part {
        Some(path) => Err(format!("it has variables of its own, and `{}` is a file of the tree", path.display())),
        None => Ok(()),
    }
}

async fn keep_all(lives: &mut [Life]) -> Infallible {
    if lives.is_empty() {
        return std::future::pending().await;
    }
    select_all(lives.iter_mut()).await.0
}

/// Keeps servers alive for as long as it is waited for.
pub(super) async fn keep(servers: &mut Option<Servers>) -> Infallible {
    match servers {
        Some(servers) => keep_all(&mut servers.lives).await,
        None => std::future::pending().await,
    }
}

impl Servers {
    /// Their tools, as a session offers and calls them.
    pub(super) fn tools<'a>(&self) -> Option<OutsideTools<'a>> {
        let specs: Vec<_> = self.served.iter().flat_map(|server| &server.tools).map(|tool| tool.spec.clone()).collect();
        let served = Rc::clone(&self.served);
        let call = Box::new(move |name: String, arguments: Value| {
            let served = Rc::clone(&served);
            let called: OutsideFuture<'a> = Box::pin(async move { call(&served, &name, &arguments).await });
            called
        });
        (!specs.is_empty()).then_some(OutsideTools { specs, call })
    }
}

async fn call(served: &[Served], name: &str, arguments: &Value) -> Result<String, OutsideError> {
    let known =
        served.iter().find_map(|server| Some((server, server.tools.iter().find(|tool| tool.spec.name == name)?)));
    let none =
        || OutsideError { exit: Some(SessionExit::ToolNotAvailable), told: format!("there is no tool `{name}`.") };
    let (server, tool) = known.ok_or_else(none)?;
    match server.client.call(&tool.tool, arguments, server.limit).await {
        Ok((text, true)) => Ok(text),
        Ok((text, false)) => Err(OutsideError { exit: None, told: text }),
        Err(error) => Err(OutsideError {
            exit: match error {
                McpError::Lost(_) => Some(SessionExit::McpConnectionLost),
                McpError::TimedOut(_) => Some(SessionExit::ToolTimeout),
                McpError::Refused(_) => None,
            },
            told: format!("`{name}` failed: {error}. Do without it."),
        }),
    }
}
