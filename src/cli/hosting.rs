//! Where the coding agents of a run live: made before the run is recorded, so that whatever of it can fail fails then.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Failure;
use super::check::AgentThere;
use super::confining::{Keeping, refusal};
use super::environment::Environment;
use super::http_client::http;
use super::models::{endpoint_of, wire_of};
use super::setup::Setup;
use crate::backend::{Backend, answering};
use crate::config::{Plan, all_spoken_by};
use crate::domain::clock::Clock;
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::spoken::Spoken;
use crate::domain::stop::Stop;
use crate::hosted::{self, Hosting};
use crate::http::Outward;
use crate::model::relay::Relay;
use crate::process::environment::{child_environment, withheld};
use crate::process::{self, Confinement, Program, Spec};
use crate::streams::Streams;

/// The folder beside the tests' state for what of an agent's room must survive a crash.
const AGENTS: &str = "agents";
/// The most memory that one process of an agent may take, in MiB, where tests may take less: they are large programs.
const MEMORY_MB: u32 = 8_192;

impl Setup<'_> {
    /// Makes where agents live. Where the ladder names agents it is tried whether each is installed and can be kept.
    ///
    /// # Errors
    /// An agent that is not installed (exit 2), or that this machine cannot keep (exit 6).
    pub(super) fn hosting(&self, plan: &Plan, streams: Option<&Arc<Streams>>) -> anyhow::Result<Hosting> {
        let mut hosting = self.bare_hosting(plan, streams)?;
        // Two models behind one agent need one trial.
        let backends: BTreeSet<Backend> = targets(plan).filter_map(Backend::of).collect();
        for backend in backends {
            let found = hosting.program(backend);
            let (program, _) = found.map_err(|why| Failure::usage(format!("cli/{}: {why}", backend.as_str())))?;
            let room = hosting.room(&program, false).map_err(refusal)?;
            hosting.notes.extend(room.door.note());
        }
        // Most agents have the same door, and one line about it is enough.
        hosting.notes.dedup();
        Ok(hosting)
    }

    /// The same, without trying anything.
    ///
    /// # Errors
    /// A variable that children may not have, or a key that is not there (exit 2).
    pub(super) fn bare_hosting(&self, plan: &Plan, streams: Option<&Arc<Streams>>) -> anyhow::Result<Hosting> {
        let setup = self;
        let Keeping { checkout, kept_out, state } = setup.keeping(plan)?;
        let keys: Vec<String> = plan.endpoints.values().filter_map(|endpoint| endpoint.key_var.clone()).collect();
        // What a user hands on to the tests may be a secret; an agent sends what it reads to its model.
        let env = child_environment(setup.environment.raw(), &[], &keys);
        let clock: Arc<dyn Clock> = setup.clock.clone();
        Ok(Hosting {
            relays: relays(plan, setup)?,
            programs: plan.agents.clone(),
            sandbox: plan.safety.sandbox,
            network: plan.safety.network,
            checkout,
            env: env.map_err(|error| Failure::usage(error.to_string()))?,
            named: named(plan, setup.environment)?,
            outward: Outward::to(http(setup.environment), &plan.agent.tool_hosts),
            kept_out,
            state: state.join(AGENTS),
            helper: std::env::current_exe()?,
            memory_mb: plan.test.memory_limit().map(|mb| mb.max(MEMORY_MB)),
            clock,
            streams: streams.map(Arc::clone),
            notes: Vec::new(),
        })
    }
}

/// The variables that servers of tools get by name.
fn named(plan: &Plan, environment: &Environment) -> anyhow::Result<BTreeMap<String, OsString>> {
    let names = || plan.agent.variables_of_tools();
    // A model's key or a token of the job must not be lent to a tool by naming its variable.
    if let Some((name, why)) = names().find_map(|name| Some((name, withheld(name, &[])?))) {
        return Err(Failure::usage(format!(
            "`agent.mcp` or `agent.rest` names {name}, {why}: tools that a model calls never get it\n→ Fix: give the tool a variable of its own"
        )));
    }
    Ok(names().filter_map(|name| Some((name.clone(), OsString::from(environment.get(name)?)))).collect())
}

/// The targets of the roles that speak.
pub(super) fn targets(plan: &Plan) -> impl Iterator<Item = &ModelId> {
    let of_role = |role: &Role, tier| crate::domain::ladder::Tier::targets(tier, *role).iter();
    plan.tiers.iter().flat_map(move |tier| tier.roles().iter().flat_map(move |role| of_role(role, tier)))
}

/// The ways to the vendors of the models behind agents.
fn relays(plan: &Plan, setup: &Setup<'_>) -> anyhow::Result<BTreeMap<(String, Spoken), Arc<Relay>>> {
    let http = http(setup.environment);
    let mut relays = BTreeMap::new();
    for (target, backend) in targets(plan).filter_map(|target| Some((target, Backend::of(target)?))) {
        let provider = answering(target).provider;
        // A cassette or a missing provider has no way out, and was reported where the plan was resolved.
        let Some(endpoint) = plan.endpoints.get(&provider) else { continue };
        let Some(wire) = wire_of(endpoint) else { continue };
        let reached = endpoint_of(&provider, wire, endpoint, setup.environment)?;
        for spoken in all_spoken_by(backend, endpoint.wire) {
            let relay = Relay::new(&reached, spoken, &http, Arc::clone(&setup.clock));
            let relay = relay.map_err(|error| Failure::usage(error.to_string()))?;
            relays.insert((provider.clone(), spoken), Arc::new(relay));
        }
    }
    Ok(relays)
}

/// How long an agent may take to say its version (S3-18).
const DETECTION: Duration = Duration::from_secs(15);
/// The most characters of a version that are shown.
const VERSION_CHARS: usize = 60;

/// The agents in `PATH`, each with the version that it prints. Where the ladder names none, those alone that are there.
///
/// # Errors
/// When no runtime can be had.
pub(super) fn there(plan: &Plan, checkout: &Path, environment: &Environment) -> anyhow::Result<Vec<AgentThere>> {
    let named: BTreeSet<Backend> = targets(plan).filter_map(Backend::of).collect();
    // It stands for any agent that speaks the protocol, so only a ladder that names one says what to look for.
    let looked_for = Backend::ALL.into_iter().chain(named.contains(&Backend::Acp).then_some(Backend::Acp));
    let path = environment.raw().get(OsStr::new("PATH"));
    let programs = looked_for.map(|backend| {
        let own = plan.agents.get(backend.as_str());
        (backend, hosted::program_of(backend, own, path, checkout).ok())
    });
    // An agent that the ladder names is shown when it is missing, too. Any other only where it is there.
    let programs: Vec<_> = programs.filter(|(_, program)| !named.is_empty() || program.is_some()).collect();
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<String> = plan.endpoints.values().filter_map(|endpoint| endpoint.key_var.clone()).collect();
    let env = child_environment(environment.raw(), &[], &keys).map_err(|error| Failure::usage(error.to_string()))?;
    let hosting = Setup::new(checkout, environment, Some(plan), None);
    // Without agents in the ladder nothing has to be confined, and keys may be missing.
    let hosting = if named.is_empty() { None } else { hosting.bare_hosting(plan, None).ok() };
    super::setup::block_on(async {
        let mut found = Vec::new();
        for (backend, program) in programs {
            let hosting = hosting.as_ref().filter(|_| named.contains(&backend));
            let kept =
                program.as_ref().zip(hosting).map(|((program, _), hosting)| match hosting.room(program, false) {
                    Ok(room) => format!("agents {}", room.door.words()),
                    Err(error) => error.to_string(),
                });
            let version = match program {
                Some((program, before)) => version_of(&program, &before, &env, checkout).await,
                None => None,
            };
            found.push(AgentThere { name: backend.as_str(), version, kept });
        }
        Ok(found)
    })
}

/// The first line that a program answers `--version` with, in an empty home. `None` for one that does not answer in time.
pub(super) async fn version_of(
    program: &Path,
    before: &[String],
    env: &BTreeMap<OsString, OsString>,
    checkout: &Path,
) -> Option<String> {
    version_within(DETECTION, program, before, env, checkout).await
}

async fn version_within(
    limit: Duration,
    program: &Path,
    before: &[String],
    env: &BTreeMap<OsString, OsString>,
    checkout: &Path,
) -> Option<String> {
    // An agent may write settings on its first start, and the user's own home must not get them.
    let home = tempfile::tempdir().ok()?;
    let mut env = env.clone();
    hosted::at_home(&mut env, home.path());
    let words = before.iter().map(OsString::from).chain([OsString::from("--version")]);
    let spec = Spec {
        program: Program::Argv(std::iter::once(program.into()).chain(words).collect()),
        cwd: checkout.to_owned(),
        env,
        stdin: Vec::new(),
        timeout: limit,
        // A version stands in the first line. More is a broken program's output.
        keep: 4_096,
        merge_stderr: false,
        memory_mb: None,
        confinement: Confinement::None,
    };
    let finished = process::run(&spec, &Stop::never(), &mut |_chunk| {}).await.ok()?;
    let said = String::from_utf8_lossy(&finished.output);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?;
    finished.exit.is_success().then(|| line.chars().take(VERSION_CHARS).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn s3_18_an_agent_that_hangs_instead_of_saying_its_version_is_ended_in_time() {
        assert_eq!(DETECTION, Duration::from_secs(15));
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("agent");
        // It says something first, leaves a child behind that holds its output, and hears no signal.
        let script = "#!/bin/sh\ntrap '' TERM INT\necho 1.2.3\nsleep 600 &\necho $! > child\nwait\nsleep 600\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let env = BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]);
        let asked = version_within(Duration::from_millis(300), &program, &[], &env, folder.path());
        let said = tokio::time::timeout(Duration::from_secs(60), asked).await.expect("it ends");
        assert_eq!(said, None, "who did not end has no version");
        let child = std::fs::read_to_string(folder.path().join("child")).unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        let lives = !stat.is_empty() && !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z');
        assert!(!lives, "its child lives on: {stat}");
    }
}
