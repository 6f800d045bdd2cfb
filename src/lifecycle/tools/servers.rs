//! The servers of a session: each started in a room that only reads the tree, or asked at its address.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde_json::Value;
use url::Url;

use super::super::context::Context;
use crate::config::{McpServer, Network};
use crate::domain::session_exit::SessionExit;
use crate::domain::tool::ToolSpec;
use crate::hosted::find;
use crate::mcp::{self, Client, McpError, Offered, Remote};
use crate::process::{Confinement, Program, Spec};
use crate::session::{DO_WITHOUT, OutsideError};

/// How much of a server's standard error is kept from each end, in bytes.
const KEEP: usize = 4 * 1024;
/// Files that an interpreter runs when it is given their folder.
const ENTRIES: [&str; 5] = ["package.json", "index.js", "index.mjs", "index.cjs", "__main__.py"];
/// The most time of a server: no session is longer.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The life of a server, which never ends by itself.
pub(super) struct Life {
    future: Pin<Box<dyn Future<Output = Infallible>>>,
    /// The client of a server with processes here.
    here: Option<Client>,
}

impl Life {
    /// Goes on with it.
    pub(super) async fn go_on(&mut self) -> Infallible {
        self.future.as_mut().await
    }

    /// Ends it, and waits until its processes are gone.
    pub(super) async fn end(mut self) {
        let Some(client) = self.here.take() else { return };
        tokio::select! {
            // The processes are driven by the other branch: without it they would never hear that they are to end.
            () = client.end() => {}
            never = self.go_on() => match never {},
        }
    }
}

/// A server with the tools that are offered of it.
pub(super) struct Served {
    pub(super) name: String,
    pub(super) client: Client,
    pub(super) limit: Duration,
    pub(super) tools: Vec<Offered>,
    /// The way to it, where it is behind an address.
    pub(super) remote: Option<Remote>,
    /// Whether the words of a call may leave this machine.
    pub(super) goes_out: bool,
}

impl Served {
    /// The descriptions of its tools.
    pub(super) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone())
    }

    /// Calls a tool by the name on offer.
    pub(super) async fn call(&self, name: &str, arguments: &Value) -> Result<String, OutsideError> {
        let own = self.tools.iter().find(|tool| tool.spec.name == name);
        let tool = own.map_or(name, |tool| tool.tool.as_str());
        match self.client.call(tool, arguments, self.limit).await {
            Ok((text, true)) => Ok(text),
            Ok((told, false)) => Err(OutsideError { exit: Some(SessionExit::ToolFailure), told, instead: None }),
            Err(error) => Err(OutsideError {
                exit: match error {
                    McpError::Lost(_) => Some(SessionExit::McpConnectionLost),
                    McpError::TimedOut(_) => Some(SessionExit::ToolTimeout),
                    McpError::Refused(_) => Some(SessionExit::ToolFailure),
                },
                told: format!("`{name}` failed: {error}.{DO_WITHOUT}"),
                instead: None,
            }),
        }
    }
}

/// A server that was started, or that is about to be asked at its address.
pub(super) struct Started {
    pub(super) client: Client,
    pub(super) life: Life,
    pub(super) remote: Option<Remote>,
    pub(super) goes_out: bool,
}

/// Starts a server, or opens the way to it.
pub(super) fn start(context: &Context<'_>, server: &McpServer) -> Result<Started, String> {
    let Some(url) = &server.url else { return start_here(context, server) };
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let remote = Remote::new(context.world.hosting.outward.clone(), url, headers_of(context, &server.headers)?);
    let (client, words) = Client::new();
    let (way, own) = (remote.clone(), client.clone());
    let life = Life { future: Box::pin(async move { way.live(own, words).await }), here: None };
    Ok(Started { client, life, remote: Some(remote), goes_out: true })
}

/// The headers of a source, their values from the variables that it names.
pub(super) fn headers_of(
    context: &Context<'_>,
    headers: &BTreeMap<String, String>,
) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let one = |(name, variable): (&String, &String)| {
        let value = context.world.hosting.named.get(variable).ok_or(format!("the variable {variable} is not set"))?;
        let value = value.to_str().and_then(|value| HeaderValue::from_str(value.trim()).ok());
        let mut value = value.ok_or(format!("the value of {variable} cannot be used in a header"))?;
        // Keeps the value out of whatever prints the headers of a request.
        value.set_sensitive(true);
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        Ok((name, value))
    };
    headers.iter().map(one).collect()
}

fn start_here(context: &Context<'_>, server: &McpServer) -> Result<Started, String> {
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
        // Each makes an interpreter load code that lies elsewhere, which may be in the tree.
        for steers in ["PYTHONPATH", "NODE_PATH", "NODE_OPTIONS"] {
            env.remove(OsStr::new(steers));
        }
    }
    for variable in &server.env {
        if let Some(value) = hosting.named.get(variable) {
            // A named variable does not undo what the room sets.
            env.entry(OsString::from(variable)).or_insert_with(|| value.clone());
        }
    }
    let is_free = matches!(room.confined.confinement, Confinement::None);
    if is_free {
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
    let here = Some(client.clone());
    let future = Box::pin(async move {
        // Nothing answers in its network, but a port that is free could be taken by somebody.
        let _held = listener;
        mcp::live(server, &keeper, spec, stop, words).await
    });
    let life = Life { future, here };
    // With the network, or unconfined, it may send on whatever it is told.
    Ok(Started { client, life, remote: None, goes_out: is_free || hosting.network == Network::On })
}

/// Refuses a server with a secret of which a part lies in the tree: a model writes there, and whoever opened the pull request did.
fn apart(program: &Path, arguments: &[String], checkout: &Path) -> Result<(), String> {
    // Links are followed on both sides, or one of them would lead past the comparison.
    let root = checkout.canonicalize().unwrap_or_else(|_gone| checkout.to_owned());
    let is_code =
        |real: &Path| real.is_file() || real.is_dir() && ENTRIES.iter().any(|entry| real.join(entry).is_file());
    let is_inside = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&root) && is_code(&real));
    let values = arguments.iter().filter_map(|word| Some(word.split_once('=')?.1));
    let words = arguments.iter().map(String::as_str).chain(values);
    // `join` leaves an absolute path as it is, and a word that is no path has no file.
    let part = std::iter::once(program.to_owned())
        // `--import=./x.mjs` names one behind its sign.
        .chain(words.map(|word| checkout.join(word)))
        .find(|path| is_inside(path));
    match part {
        Some(path) => Err(format!("it has variables of its own, and `{}` lies in the tree", path.display())),
        None => Ok(()),
    }
}
