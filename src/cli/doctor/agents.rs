//! Whether each coding agent of the ladder works here: it is run for one turn, in its room, behind the gateway, against a model of the
//! doctor's own. Nothing is asked of a vendor, and nothing of the checkout is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use super::finding::Finding;
use super::inner_model;
use crate::audit::{Cap, Journal, Scope, Store};
use crate::backend::{Backend, answering};
use crate::cli::environment::Environment;
use crate::cli::hosting::{targets, version_of};
use crate::cli::http_client::http;
use crate::cli::models::wire_of;
use crate::cli::plan::Resolved;
use crate::cli::setup::Setup;
use crate::config::{Plan, all_spoken_by, spoken_by};
use crate::domain::budget::Budget;
use crate::domain::event::{Event, RunStarted};
use crate::domain::ladder::Role;
use crate::domain::model_id::ModelId;
use crate::domain::spoken::Spoken;
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::{MicroUsd, RunId};
use crate::hosted::{self, HostedPorts, HostedSpec, Hosting};
use crate::model::endpoint::Endpoint;
use crate::model::relay::Relay;
use crate::session::{FailureReason, FinalReport};
use crate::workspace::{PathRules, Workspace};

const ABOUT: &str = "agents";
/// The answer of the trial's model.
const WORDS: &str = "DONE\nIt works.";
/// The prompt of the trial.
const PROMPT: &str = "This is a trial of your installation. Use no tools. Answer with the word DONE.";
/// How long a turn may take: some agents need seconds to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// A cap that no trial comes near. It is imaginary money.
const CAP: MicroUsd = MicroUsd(100_000_000);

/// A line for each agent that the ladder names.
pub(super) async fn examine(resolved: &Resolved, environment: &Environment) -> Vec<Finding> {
    let Resolved { plan, checkout, context, .. } = resolved;
    let setup = Setup::new(checkout, environment, Some(plan), context.as_ref());
    let named: BTreeSet<&ModelId> = targets(plan).filter(|target| Backend::of(target).is_some()).collect();
    let mut findings = Vec::new();
    let mut tried = BTreeSet::new();
    for target in named {
        // An agent is tried once, whichever of its models the ladder names.
        let Some(backend) = Backend::of(target).filter(|backend| tried.insert(*backend)) else { continue };
        findings.push(match try_out(plan, &setup, target, backend).await {
            Ok(said) => Finding::ok(ABOUT, said),
            Err(error) => Finding::told(ABOUT, &format!("cli/{}: {error}", backend.as_str())),
        });
    }
    findings
}

async fn try_out(plan: &Plan, setup: &Setup<'_>, target: &ModelId, backend: Backend) -> anyhow::Result<String> {
    // In a tree of its own an agent that edits regardless breaks nothing.
    let folder = tempfile::Builder::new().prefix("upshift-doctor-").tempdir()?;
    let (checkout, trees) = (folder.path().join("checkout"), folder.path().join("trees"));
    std::fs::create_dir(&checkout)?;
    std::fs::write(checkout.join("README.md"), "A trial.\n")?;
    // The sandbox grants real paths. On macOS a temporary folder lies behind a link.
    let checkout = checkout.canonicalize()?;
    let hosting = setup.bare_hosting(plan, None)?;
    let (program, before) = hosting.program(backend).map_err(anyhow::Error::msg)?;
    // It fails before the agent is started, with a message that says what the sandbox lacks.
    hosting.room(&program, false)?;
    let version = version_of(&program, &before, &hosting.env, &checkout).await;
    let version = version.unwrap_or_else(|| "it does not print its version".to_owned());
    // Port 0 lets the kernel choose, so that two doctors do not meet.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let (relays, spoken) = relays(plan, setup, (target, backend), &listener)?;
    let hosting = Hosting { relays, checkout: checkout.clone(), ..hosting };
    let workspace = Workspace::open(&checkout, &trees, PathRules::default()).await?;
    let spec = HostedSpec {
        role: Role::Artisan,
        tier_index: 0,
        iteration: 1,
        target: target.clone(),
        backend,
        spoken,
        side_model: None,
        // The trial's own time is shorter.
        idle: PATIENCE,
        prompt: PROMPT.to_owned(),
        meta: Vec::new(),
        lineage: None,
        tree: workspace.snapshot().await?,
        by_products: BTreeSet::new(),
    };
    let (end, stop) = StopSource::new();
    // The gateway books every call, so even a trial needs a ledger.
    let (mut journal, caps) = journal(setup, &checkout)?;
    let mut ports = HostedPorts {
        hosting: &hosting,
        facts: &plan.facts,
        journal: &mut journal,
        caps,
        workspace: &workspace,
        stop,
        wrap_up: Stop::never(),
        redactor: &setup.redactor,
    };
    let late = async {
        tokio::time::sleep(PATIENCE).await;
        end.raise(StopCause::TimeUp);
        // Raising the stop ends the session in an orderly way. This arm must not win the race against that.
        std::future::pending::<std::convert::Infallible>().await
    };
    let began = std::time::Instant::now();
    let ended = tokio::select! {
        ended = hosted::hold(spec, &mut ports) => ended.end,
        never = late => match never {},
        never = inner_model::serve(listener, WORDS) => match never {},
    };
    let name = backend.as_str();
    // An agent that says it is done without a call has not reached the gateway.
    if matches!(ended.report, FinalReport::Done { .. }) && ended.turns > 0 {
        let seconds = began.elapsed().as_secs_f32();
        return Ok(format!(
            "cli/{name} ({version}) works through the gateway: one turn in {seconds:.1} s, without a vendor"
        ));
    }
    if matches!(ended.report, FinalReport::Synthetic { reason: FailureReason::Stopped { .. } }) {
        let limit = PATIENCE.as_secs();
        anyhow::bail!("{version}: no turn in {limit} s → Fix: start `{name}` by hand and see what it waits for");
    }
    anyhow::bail!(
        "{version}: its turn failed ({}) → Fix: install a version that docs/agents.md names",
        ended.report.summary()
    )
}

/// The ways to the trial's own model, and what is usually spoken there.
type Ways = (BTreeMap<(String, Spoken), Arc<Relay>>, Spoken);

/// The way to the trial's own model.
fn relays(
    plan: &Plan,
    setup: &Setup<'_>,
    (target, backend): (&ModelId, Backend),
    listener: &TcpListener,
) -> anyhow::Result<Ways> {
    let provider = answering(target).provider;
    // The wire is that of the ladder's provider: an agent may speak another one with another vendor.
    let endpoint = plan.endpoints.get(&provider);
    let wires = endpoint.and_then(|endpoint| Some((endpoint, wire_of(endpoint)?, spoken_by(backend, endpoint.wire)?)));
    let (endpoint, wire, usual) =
        wires.ok_or_else(|| anyhow::anyhow!("provider `{provider}` cannot be reached this way"))?;
    let own = Endpoint::new(&provider, wire, format!("http://{}", listener.local_addr()?));
    let mut relays = BTreeMap::new();
    // An agent may ask on several wires, and a missing one would look like a broken agent.
    for spoken in all_spoken_by(backend, endpoint.wire) {
        let relay = Relay::new(&own, spoken, &http(setup.environment), Arc::clone(&setup.clock))?;
        relays.insert((provider.clone(), spoken), Arc::new(relay));
    }
    Ok((relays, usual))
}

/// A log in memory, of a run with imaginary money.
fn journal(setup: &Setup<'_>, checkout: &Path) -> anyhow::Result<(Journal, Vec<Cap>)> {
    let mut store = Store::in_memory(Arc::clone(&setup.redactor))?;
    let started = RunStarted {
        run_id: RunId::random(),
        objective: "a trial".to_owned(),
        working_directory: checkout.display().to_string(),
        test_command: String::new(),
        tier_config_path: "(doctor)".to_owned(),
        tiers: Vec::new(),
        // No time limit of the ledger: the patience of the trial ends it.
        budget: Budget { max_cost: CAP, max_iterations: 1, max_active_ms: 0 },
        audit_db: None,
        started_at: setup.clock().timestamp(),
        command: None,
        task: None,
    };
    store.begin_run(&started, std::process::id(), "{}")?;
    let caps = vec![Cap { scope: Scope::Run(started.run_id.clone()), max: CAP }];
    let mut journal = Journal::new(store, Vec::new());
    journal.tell(&Event::RunStarted(started));
    Ok((journal, caps))
}
