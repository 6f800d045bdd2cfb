//! From the plan's endpoints to providers: keys come from the environment here and go nowhere else.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Failure;
use super::environment::{Environment, from_here};
use super::http_client::http;
use super::setup::Setup;
use crate::config::{EndpointPlan, Plan, Wire};
use crate::domain::clock::Clock;
use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::receipt::CallStatus;
use crate::model::cassette::{self, Cassette, Cassettes, Tape};
use crate::model::endpoint::{self, Endpoint};
use crate::model::ollama::{self, Learnt};
use crate::model::{Provider, Providers};
use crate::streams::Streams;
use crate::workspace::Workspace;

/// The provider whose models are files.
const CASSETTE: &str = "cassette";

/// Makes a provider for every endpoint of the plan. Nothing is sent. `past` holds the events of the run so far. A tape is spared in the
/// workspace, where it may lie.
///
/// # Errors
/// An address, key or cassette that cannot be used (exit 2).
pub(super) fn connect(
    plan: &Plan,
    setup: &Setup<'_>,
    past: &[Event],
    (workspace, streams): (&Arc<Workspace>, Option<&Arc<Streams>>),
) -> anyhow::Result<Providers> {
    let http = http(setup.environment);
    let mut providers: BTreeMap<String, Box<dyn Provider>> = BTreeMap::new();
    for (name, endpoint) in &plan.endpoints {
        let provider = match wire_of(endpoint) {
            Some(wire) => {
                let streams = streams.map(Arc::clone);
                let endpoint = Endpoint { streams, ..endpoint_of(name, wire, endpoint, setup.environment)? };
                let clock: Arc<dyn Clock> = setup.clock.clone();
                endpoint.connect(&http, clock).map_err(|error| Failure::usage(error.to_string()))?
            }
            None => {
                // The tape may lie in the checkout, where a run would otherwise take it for somebody's change.
                recordings(plan).for_each(|path| workspace.spare_own(&from_here(setup.checkout, path)));
                Box::new(played_cassettes(plan, setup, past)?)
            }
        };
        providers.insert(name.clone(), provider);
    }
    if let Some(tape) = tape(plan, setup, past, Arc::clone(workspace))? {
        // Around all providers, so that one tape holds the calls in the order in which they were made.
        providers = providers.into_iter().map(|(name, provider)| (name, tape.wrap(provider))).collect();
    }
    Ok(Providers(providers))
}

/// The tape of a run that is recorded: a new one, or the one that the run's earlier processes began.
fn tape(plan: &Plan, setup: &Setup<'_>, past: &[Event], workspace: Arc<Workspace>) -> anyhow::Result<Option<Tape>> {
    let Some(path) = &plan.record else { return Ok(None) };
    let (path, redactor) = (from_here(setup.checkout, path), Arc::clone(&setup.redactor));
    // A run that was killed goes on with its tape. Beginning anew would lose the replies that were paid.
    let begun = !past.is_empty() && path.exists();
    let told = move |tape: &Path| workspace.spare_own(tape);
    let tape = if begun { Tape::reopen(&path, redactor, told) } else { Tape::create(&path, redactor, told) };
    tape.map(Some).map_err(|error| Failure::usage(error.to_string()))
}

/// The plan's recordings, those calls skipped that the run made already.
fn played_cassettes(plan: &Plan, setup: &Setup<'_>, past: &[Event]) -> anyhow::Result<Cassettes> {
    let cassettes = opened(plan, setup.checkout, false)?;
    // A resumed run replays those from its log, so the cassette stands behind them.
    past.iter().filter_map(played).for_each(|target| cassettes.skip(target));
    Ok(cassettes)
}

/// The wire protocol of an endpoint. `None` for a recording, which nobody is asked for.
pub(super) fn wire_of(plan: &EndpointPlan) -> Option<endpoint::Wire> {
    match plan.wire {
        Wire::Anthropic => Some(endpoint::Wire::Anthropic),
        Wire::OpenAi => Some(endpoint::Wire::OpenAi),
        Wire::Gemini => Some(endpoint::Wire::Gemini),
        Wire::Ollama => Some(endpoint::Wire::Ollama),
        Wire::Cassette => None,
    }
}

/// Puts what Ollama's servers say of their models (windows, tools) into the plan. A server that does not answer leaves it as it is:
/// whoever calls the model is told why.
pub(super) async fn learn_served(plan: &mut Plan, setup: &Setup<'_>) {
    let http = http(setup.environment);
    let mut learnt = Learnt::default();
    for (target, known) in &plan.facts.0 {
        let Some(endpoint) = plan.endpoints.get(&target.provider) else { continue };
        let Some(wire @ endpoint::Wire::Ollama) = wire_of(endpoint) else { continue };
        // A missing key is told where the model is connected, and here it would only stop a notice.
        let Ok(endpoint) = endpoint_of(&target.provider, wire, endpoint, setup.environment) else { continue };
        let clock: Arc<dyn Clock> = setup.clock.clone();
        if let Ok(served) = ollama::ask(endpoint, target, &http, clock).await {
            learnt.take(target, known, &served);
        }
    }
    plan.facts.0.extend(learnt.facts.0);
    plan.warnings.extend(learnt.notices);
}

/// An endpoint with its key.
///
/// # Errors
/// A key that is not there (exit 2).
pub(super) fn endpoint_of(
    name: &str,
    wire: endpoint::Wire,
    plan: &EndpointPlan,
    environment: &Environment,
) -> anyhow::Result<Endpoint> {
    let mut endpoint = Endpoint::new(name, wire, plan.base_url.clone());
    endpoint.api_version =
        endpoint::AZURE_VERSION_VARIABLES.into_iter().find_map(|name| environment.get(name)).map(str::to_owned);
    if let Some(variable) = &plan.key_var {
        let key = environment.secret(variable);
        let missing = || {
            Failure::usage(format!(
                "{name}: no key in {variable}\n→ Fix: set {variable}, e.g. under `env:` of the step"
            ))
        };
        endpoint = endpoint.with_key(key.ok_or_else(missing)?, variable.clone());
    }
    Ok(endpoint)
}

/// The cassette whose reply to this call the run has had already. A call that was lost or cut had none yet.
fn played(event: &Event) -> Option<&ModelId> {
    let Event::CallSettled(receipt) = event else { return None };
    // A cassette gives such a reply again, as a vendor would be asked again.
    let answered = !matches!(receipt.status, CallStatus::Lost | CallStatus::Aborted);
    (answered && receipt.target.provider == CASSETTE).then_some(&receipt.target)
}

/// The recorded models that a plan names, with their files read from the checkout.
///
/// # Errors
/// A cassette that cannot be used (exit 2).
fn opened(plan: &Plan, checkout: &Path, may_be_absent: bool) -> anyhow::Result<Cassettes> {
    let mut cassettes = Cassettes::default();
    for path in recordings(plan) {
        let file = from_here(checkout, path);
        if may_be_absent && !file.exists() {
            continue;
        }
        let cassette = Cassette::open(&file).map_err(|error| Failure::usage(error.to_string()))?;
        cassettes.insert(path, cassette);
    }
    Ok(cassettes)
}

/// The paths of the plan's recordings.
fn recordings(plan: &Plan) -> impl Iterator<Item = &str> {
    targets(plan).filter(|target| target.provider == CASSETTE).map(|target| cassette::split_target(&target.model).0)
}

/// Puts what cassettes know of their models (prices, above all) into the plan. Of a job that may have no checkout and only hear of a run,
/// those that are not there are none of its concern: whoever is to play one is told then.
///
/// # Errors
/// A cassette that cannot be used (exit 2).
pub(super) fn learn_cassettes(plan: &mut Plan, checkout: &Path, may_be_absent: bool) -> anyhow::Result<()> {
    let cassettes = opened(plan, checkout, may_be_absent)?;
    let known: Vec<_> =
        // Recorded prices beat the catalogue's: the costs shown are those of the recording.
        targets(plan).filter_map(|target| Some((target.clone(), cassettes.model_info(target)?))).collect();
    plan.facts.0.extend(known);
    Ok(())
}

fn targets(plan: &Plan) -> impl Iterator<Item = &ModelId> {
    plan.tiers.iter().flat_map(|tier| tier.artisan.iter().chain(&tier.librarian).chain(&tier.critic))
}
