//! Where the agents of a run live, and what their programs are made of.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::Backend;
use crate::config::{AgentProgram, Network, Sandbox};
use crate::domain::clock::Clock;
use crate::domain::spoken::Spoken;
use crate::http::Outward;
use crate::model::relay::Relay;
use crate::process::confine::{AgentRoom, AgentWish, ConfineError, Wish, arrange_agent};
use crate::streams::Streams;

/// Where the agents of a run live.
#[derive(Debug)]
pub struct Hosting {
    /// The ways to the vendors of the models behind agents, by provider and wire.
    pub relays: BTreeMap<(String, Spoken), Arc<Relay>>,
    /// The users' own command lines.
    pub programs: BTreeMap<String, AgentProgram>,
    /// How much confinement is asked for.
    pub sandbox: Sandbox,
    /// The network that is allowed.
    pub network: Network,
    /// The tree.
    pub checkout: PathBuf,
    /// The variables of the caller's environment that tools need.
    pub env: BTreeMap<OsString, OsString>,
    /// The variables that the configuration names for servers of tools, and their values.
    pub named: BTreeMap<String, OsString>,
    /// The way out for tools, to the hosts that the configuration names.
    pub outward: Outward,
    /// The paths that no child may reach.
    pub kept_out: Vec<PathBuf>,
    /// A folder outside every granted path for what must survive a crash.
    pub state: PathBuf,
    /// This program.
    pub helper: PathBuf,
    /// How much memory one process may take, in MiB.
    pub memory_mb: Option<u32>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Raw streams.
    pub streams: Option<Arc<Streams>>,
    /// Notices for a person about how agents are kept.
    pub notes: Vec<String>,
}

impl Hosting {
    /// The program of an agent, as its `PATH` leads to it, and what stands before our arguments.
    ///
    /// # Errors
    /// Why it cannot be started, in words.
    pub fn program(&self, backend: Backend) -> Result<(PathBuf, Vec<String>), String> {
        program_of(backend, self.programs.get(backend.as_str()), self.env.get(OsStr::new("PATH")), &self.checkout)
    }

    /// Makes a room for an agent.
    ///
    /// # Errors
    /// Why there is none.
    pub fn room(&self, program: &Path, reads_only: bool) -> Result<AgentRoom, ConfineError> {
        arrange_agent(&AgentWish {
            wish: Wish {
                sandbox: self.sandbox,
                network: self.network,
                checkout: &self.checkout,
                env: &self.env,
                kept_out: self.kept_out.clone(),
                state: self.state.clone(),
                helper: self.helper.clone(),
            },
            program: folders_of(program),
            reads_only,
        })
    }
}

/// The program of an agent, as the folders of `path` lead to it or the user names it, and what stands before our arguments.
///
/// # Errors
/// Why it cannot be started, in words.
pub fn program_of(
    backend: Backend,
    own: Option<&AgentProgram>,
    path: Option<&OsString>,
    checkout: &Path,
) -> Result<(PathBuf, Vec<String>), String> {
    let own = own.map(|program| program.command.as_slice()).unwrap_or_default();
    let (name, before) = own.split_first().map_or((backend.as_str(), &[][..]), |(name, rest)| (name.as_str(), rest));
    let found = find(name, path, checkout).ok_or_else(|| {
        if backend == Backend::Acp {
            return format!("`{name}` was not found → Fix: name the agent's command, as in `agents: {{acp: {{command: [gemini, --acp]}}}}`");
        }
        format!(
            "`{name}` is not installed, or not in PATH → Fix: `npm install -g {}`, or name it under `agents.{}.command`",
            backend.agent().package,
            backend.as_str()
        )
    })?;
    Ok((found, before.to_vec()))
}

/// A program by its name, where a folder of `PATH` has it.
#[must_use]
pub fn find(name: &str, path: Option<&OsString>, checkout: &Path) -> Option<PathBuf> {
    let is_file = |candidate: &PathBuf| candidate.metadata().is_ok_and(|found| found.is_file());
    if name.contains('/') {
        // `join` leaves an absolute path as it is.
        return Some(checkout.join(name)).filter(is_file);
    }
    std::env::split_paths(path?).map(|folder| checkout.join(folder).join(name)).find(is_file)
}

/// The folders that a program is made of: of an npm package all packages beside it, else the program itself. Behind links, each place.
fn folders_of(program: &Path) -> Vec<PathBuf> {
    let real = program.canonicalize().unwrap_or_else(|_gone| program.to_owned());
    let of_packages = |path: &Path| {
        // Packages lie inside of packages: all of them are below the outermost folder.
        let outermost = path.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
        outermost.map(Path::to_owned)
    };
    let mut folders: Vec<PathBuf> = [program, &real].into_iter().filter_map(of_packages).collect();
    folders.extend([program.to_owned(), real]);
    folders.dedup();
    folders
}
