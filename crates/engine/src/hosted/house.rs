//! Where an agent lives: its room, its home with the settings of one session, its environment and its program.
//!
//! Invariant: the environment of the child is that of the tests without the variables that a user hands on to those, plus the variables
//! that the agent's own file names. No key is in it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::hosting::Hosting;
use super::spec::{HostedPorts, HostedSpec};
use crate::backend::Order;
use crate::domain::ladder::Role;
use crate::domain::spoken::Spoken;
use crate::gateway::{Lane, Pin, Token};
use crate::policy::budget::MAX_REPLY_TOKENS;
use crate::process::confine::AgentRoom;
use crate::process::{Confinement, Program, Spec};

/// The most time of one session. The run's own time ends it before, where less is left.
const SESSION_LIMIT: Duration = Duration::from_secs(60 * 60);
/// How much of its output is kept in memory from each end, in bytes. The stream is read as it comes, and kept on disk.
const KEEP: usize = 16 * 1024;
/// The longest prompt that is an argument: Linux takes 128 KiB for one.
const LONGEST_ARGUMENT: usize = 100_000;
/// The file of the home that holds a longer one.
const TASK: &str = "task.md";
/// Variables that lead a client to a proxy.
const PROXIES: [&str; 8] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"];
/// Variables that lead to a user's own places, and the same place in the private home.
const PLACES: [(&str, &str); 4] = [
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];
/// The same of Windows, where they are set.
const PLACES_ON_WINDOWS: [(&str, &str); 3] =
    [("USERPROFILE", ""), ("APPDATA", "AppData/Roaming"), ("LOCALAPPDATA", "AppData/Local")];
/// Variables that lead to sockets and settings of the user's own.
const USERS_OWN: [&str; 3] = ["XDG_RUNTIME_DIR", "HOMEDRIVE", "HOMEPATH"];

/// The house of one session.
#[derive(Debug)]
pub(super) struct House {
    /// The process to start.
    pub(super) spec: Spec,
    /// Where its model is to answer.
    pub(super) listener: TcpListener,
    /// The placeholder key.
    pub(super) token: Token,
    /// The ways to the vendor, by what is spoken.
    pub(super) lanes: BTreeMap<Spoken, Lane>,
    /// Removed when the session is over, where there is no room with a home in it.
    _home: Option<TempDir>,
}

impl House {
    /// Makes everything that an agent needs for one session.
    ///
    /// # Errors
    /// Why it cannot be had, in words.
    pub(super) fn open(spec: &HostedSpec, ports: &HostedPorts<'_>) -> Result<Self, String> {
        let hosting = ports.hosting;
        let pin = spec.pin().ok_or("it names no model")?;
        let (side_model, Pin { main: model, .. }) = (pin.side_name(), pin);
        let lanes = lanes(spec, hosting, &model.provider);
        if !lanes.contains_key(&spec.spoken) {
            return Err(format!("provider `{}` cannot be reached this way", model.provider));
        }
        let (program, before) = hosting.program(spec.backend)?;
        let reads_only = spec.role != Role::Artisan;
        let AgentRoom { confined, listener, .. } =
            hosting.room(&program, reads_only).map_err(|error| error.to_string())?;
        let failed = |error: io::Error| format!("its home cannot be made: {error}");
        let is_confined = matches!(confined.confinement, Confinement::Within(_));
        // Outside of the sandbox no room brings a private home.
        let made = if is_confined {
            None
        } else {
            Some(tempfile::Builder::new().prefix("upshift-agent-").tempdir().map_err(failed)?)
        };
        let home = made.as_ref().map(|folder| folder.path().to_owned());
        let home = home.or_else(|| confined.env.get(OsStr::new("HOME")).map(PathBuf::from)).ok_or("it has no home")?;
        let address = listener.local_addr().map_err(failed)?;
        // New for each session: a word that somebody read in one opens no other.
        let token = Token::random();
        let info = ports.facts.of(&model);
        let prompt = prompt(&spec.prompt, &home).map_err(failed)?;
        let invocation = spec.backend.invoke(&Order {
            prompt: &prompt,
            model: &model.model,
            side_model: &side_model,
            spoken: spec.spoken,
            url: &format!("http://{address}"),
            token: token.word(),
            home: &home,
            window: info.context_window,
            max_output: info.max_output_tokens.min(MAX_REPLY_TOKENS),
            reads_only,
            is_confined,
        });
        for (name, text) in &invocation.files {
            let path = home.join(name);
            path.parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(failed)?;
        }
        let own = hosting.programs.get(spec.backend.as_str()).map(|program| program.args.clone()).unwrap_or_default();
        let words = [before, invocation.arguments, own].concat();
        let words = std::iter::once(program.into_os_string()).chain(words.into_iter().map(OsString::from));
        Ok(Self {
            spec: Spec {
                program: Program::Argv(words.collect()),
                cwd: hosting.checkout.clone(),
                env: environment(confined.env, &home, invocation.variables),
                stdin: Vec::new(),
                timeout: SESSION_LIMIT,
                keep: KEEP,
                merge_stderr: false,
                memory_mb: hosting.memory_mb,
                confinement: confined.confinement,
            },
            listener,
            token,
            lanes,
            _home: made,
        })
    }
}

/// The ways to the vendor of the session's model that this agent may take.
fn lanes(spec: &HostedSpec, hosting: &Hosting, provider: &str) -> BTreeMap<Spoken, Lane> {
    let speaks = spec.backend.agent().speaks.iter();
    let way = |spoken: &Spoken| {
        let relay = hosting.relays.get(&(provider.to_owned(), *spoken))?;
        Some((*spoken, Lane { provider: provider.to_owned(), relay: Arc::clone(relay) }))
    };
    speaks.filter_map(way).collect()
}

/// The argument that tells an agent its task: the task itself, or where it stands.
fn prompt(task: &str, home: &Path) -> io::Result<String> {
    // No argument of a program can hold a NUL byte.
    if task.len() <= LONGEST_ARGUMENT && !task.contains('\0') {
        return Ok(task.to_owned());
    }
    let file = home.join(TASK);
    std::fs::write(&file, task)?;
    Ok(format!(
        "Your task stands in the file {}. Read all of it before you begin, and do what it says.",
        file.display()
    ))
}

/// Has every variable that leads to a user's own places lead into a private home.
pub fn at_home(env: &mut BTreeMap<OsString, OsString>, home: &Path) {
    for name in USERS_OWN {
        env.remove(OsStr::new(name));
    }
    env.insert("HOME".into(), home.into());
    for (name, place) in PLACES {
        env.insert(name.into(), home.join(place).into());
    }
    for (name, place) in PLACES_ON_WINDOWS {
        env.entry(name.into()).and_modify(|there| *there = home.join(place).into());
    }
}

fn environment(
    mut env: BTreeMap<OsString, OsString>,
    home: &Path,
    own: Vec<(&'static str, String)>,
) -> BTreeMap<OsString, OsString> {
    // The gateway is on loopback, where no proxy finds it.
    for name in PROXIES {
        env.remove(OsStr::new(name));
    }
    at_home(&mut env, home);
    for (name, value) in [("NO_PROXY", "*"), ("no_proxy", "*"), ("TERM", "dumb")] {
        env.insert(name.into(), value.into());
    }
    // Last, so that the agent's own file decides.
    env.extend(own.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    env
}
