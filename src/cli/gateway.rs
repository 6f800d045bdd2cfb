//! `upshift gateway`: any program with its model calls held to one hard cap.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use secrecy::SecretString;

use super::console::Stream;
use super::environment::Environment;
use super::http_client::http;
use super::models::{endpoint_of, wire_of};
use super::setup::{self, Setup};
use super::variables::is_secret_name;
use super::{Failure, carry, plan, signals, stop_sources};
use crate::audit::{Cap, Journal, Scope};
use crate::config::{GatewayPlan, Setting, Settings};
use crate::domain::budget::{Beneficiary, Budget};
use crate::domain::event::{Event, RunFinished, RunStarted};
use crate::domain::outcome::{BY_ITSELF, EXIT_INTERNAL, EXIT_SIGNAL_BASE, EXIT_USAGE, Outcome};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::RunId;
use crate::domain::verdict::Exit;
use crate::gateway::child::{self, Endpoint};
use crate::gateway::{self, Gateway, Lane, Ledger, Money, NoMoreCalls, Pin, Place, Refusal, Spoken, Tally, Token};
use crate::model::endpoint::Wire;
use crate::model::relay::Relay;
use crate::process::ProcessError;
use crate::process::accompany::accompany;
use crate::process::companion::{Companion, GRACE};
use crate::redact::Redactor;
use crate::report::text;
use crate::report::view::{Liveness, RunView};
use crate::report::wrap::wrap;

/// How long the program may go on after the first call that the cap refuses: agents report in this time, or try again for ever.
const LAST_WORDS: Duration = Duration::from_millis(3_500);
/// How long it may go on after it was told to end at the cap: with its last words it is gone within five seconds.
const LAST_GRACE: Duration = Duration::from_millis(1_000);

/// The arguments of `gateway`.
#[derive(Debug, Args)]
#[command(after_help = GATEWAY_HELP)]
pub(super) struct GatewayArgs {
    /// Hard cap on the cost of all model calls, in dollars [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_cost_usd: Option<String>,
    /// Use this model for every call, whatever the program asks for
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Model for side calls (titles, summaries) when --model is given [default: the same]
    #[arg(long, value_name = "MODEL", requires = "model")]
    side_model: Option<String>,
    /// Configuration file [default: .github/upshift.yml]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Audit log to write [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Run without an audit log
    #[arg(long, conflicts_with = "audit_db")]
    no_audit: bool,
    /// Environment variables to pass although their names look secret, comma-separated; never a model key
    #[arg(long, value_name = "NAMES")]
    pass_env: Option<String>,
    /// Program to run, with its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The text of the help below the flags.
const GATEWAY_HELP: &str = "The program reaches the gateway by ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL and \
                            COPILOT_PROVIDER_BASE_URL, each with a placeholder key. The exit code is the program's own, 3 when the cap \
                            was reached, or 2 when upshift could not start the program.";

impl GatewayArgs {
    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings
            .set(Setting::MaxCostUsd, self.max_cost_usd.clone())
            .set(Setting::Model, self.model.clone())
            .set(Setting::Config, self.config.clone())
            .set(Setting::AuditDb, self.audit_db.clone())
            .set(Setting::NoAudit, self.no_audit.then(|| "true".to_owned()))
            .set(Setting::PassEnv, self.pass_env.clone());
        settings
    }
}

/// Runs the program to its end.
pub(super) fn run(args: GatewayArgs, environment: &Environment) -> anyhow::Result<u8> {
    let (plan, checkout, beneficiary) =
        plan::resolve_gateway(args.settings(), args.side_model.as_deref(), environment)?;
    plan.warnings.iter().for_each(|warning| super::say(&format!("⚠ {warning}")));
    setup::block_on(session(&args.command, &plan, (&checkout, &beneficiary), environment))
}

async fn session(
    command: &[OsString],
    plan: &GatewayPlan,
    (checkout, beneficiary): (&Path, &Beneficiary),
    environment: &Environment,
) -> anyhow::Result<u8> {
    let token = Token::random();
    // A key may stand in a variable whose name does not look like one.
    let keys = plan.endpoints.values().filter_map(|endpoint| environment.secret(endpoint.key_var.as_deref()?));
    let secrets: Vec<SecretString> = environment.secrets().into_iter().chain(keys).collect();
    // The program's environment holds the placeholder, so that its redactor must not know it; the log's does.
    let known = Arc::new(Redactor::new(&secrets));
    let redactor = Redactor::new(&[secrets, vec![SecretString::from(token.word().to_owned())]].concat());
    let setup = Setup {
        checkout,
        environment,
        clock: stop_sources::clock(environment),
        redactor: Arc::new(redactor),
        context: None,
    };
    // Before anything can log: the placeholder is a password for the time of the run.
    environment.log().learn(&setup.redactor);
    // Mistakes in the configuration are told before a port is opened or a log begins.
    let lanes = lanes(plan, &setup)?;
    let open = gateway::open()
        .await
        .map_err(|error| Failure::usage(format!("no port on loopback could be opened: {error}")))?;
    let pin = plan.model.clone().map(|main| Pin { main, side: plan.side_model.clone() });
    let side = pin.as_ref().map(Pin::side_name).unwrap_or_default();
    let models = pin.as_ref().map(|pin| (pin.main.model.as_str(), side.as_str()));
    let endpoint = Endpoint { url: &open.url(), token: token.word(), models };
    let companion = Companion {
        command: command.to_vec(),
        cwd: checkout.to_owned(),
        keeper: std::env::current_exe().ok(),
        // The program keeps its own terminal, so that agents with an interface of their own work.
        output: None,
        errors: None,
        grace: GRACE,
        last_grace: Some(LAST_GRACE),
        env: child::environment(environment.raw(), &is_secret_name, &plan.pass_env, &known, endpoint),
    };
    let gateway = Gateway { token, lanes, pin, facts: plan.facts.clone(), clean: Some(known), waits: false };
    let (end, ends) = StopSource::new();
    let end = Arc::new(end);
    // Installed before the program starts, or an early Ctrl-C would leave the child behind.
    signals::pass_to(&end)?;
    // Only when all is ready: a log would otherwise show a run that never was.
    let ledger = begin(command, plan, beneficiary, &setup)?;
    let began = setup.clock().monotonic_ms();
    let ended = tokio::task::LocalSet::new()
        .run_until(open.serve_during(gateway, &ledger, run_companion(&companion, &ledger, (&end, &ends), &setup)))
        .await;
    finish(ended, &ledger, &ends, began, &setup)
}

/// Opens the log and records that the run begins.
fn begin(
    command: &[OsString],
    plan: &GatewayPlan,
    beneficiary: &Beneficiary,
    setup: &Setup<'_>,
) -> anyhow::Result<Rc<Ledger>> {
    let mut store = setup.open_store(plan.audit.as_deref())?;
    let shown = crate::process::Program::Argv(command.to_vec()).to_string();
    let folder = setup.checkout.display().to_string();
    let started = RunStarted {
        run_id: RunId::random(),
        objective: format!("keep to a cost cap: {shown}"),
        working_directory: folder,
        test_command: String::new(),
        tier_config_path: "(gateway)".to_owned(),
        tiers: Vec::new(),
        budget: Budget { max_cost: plan.max_cost, max_iterations: 0, max_active_ms: 0 },
        audit_db: plan.audit.clone(),
        started_at: setup.clock().timestamp(),
        command: Some(shown),
        task: None,
    };
    let invocation = store.begin_run(&started, std::process::id(), "{}");
    let invocation = invocation.map_err(|error| setup::audit_failure(&error))?;
    let mut caps = vec![Cap { scope: Scope::Run(started.run_id.clone()), max: plan.max_cost }];
    // The day of an ISO time, by which the caps of a day are shared between runs.
    let day = started.started_at.0.get(..10).unwrap_or_default();
    let Beneficiary { repository, pull_request } = beneficiary;
    let of_pull_request = |number: &u64| Scope::PullRequest(format!("{repository}#{number}"));
    caps.extend(
        pull_request.as_ref().map(of_pull_request).zip(plan.per_pull_request).map(|(scope, max)| Cap { scope, max }),
    );
    caps.extend(plan.per_day.map(|max| Cap { scope: Scope::Day(format!("{repository}@{day}")), max }));
    let mut journal = Journal::new(store, carry::watched(Vec::new(), setup.environment));
    journal.tell(&Event::RunStarted(started));
    journal.tell(&invocation);
    let (clock, redactor) = (Arc::clone(&setup.clock), Arc::clone(&setup.redactor));
    Ok(Ledger::new(Money { place: Place::alone(), so_far: Tally::default(), journal, caps, clock, redactor }))
}

/// Runs the program. Ends it some seconds after the first call that the cap refuses.
async fn run_companion(
    companion: &Companion,
    ledger: &Ledger,
    (end, ends): (&StopSource, &Stop),
    setup: &Setup<'_>,
) -> Result<Exit, ProcessError> {
    let capped = async {
        // The first refusal only starts the clock, so an agent can still write what it has done.
        ledger.capped().wait().await;
        setup.clock().sleep(LAST_WORDS).await;
        end.raise(StopCause::TimeUp);
        // This arm never wins: the other tells the program's end, once it has been ended in order.
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = accompany(companion, ends) => ended,
        () = capped => Ok(Exit::Timeout),
    }
}

/// Records how it ended, and tells it.
fn finish(
    ended: Result<Exit, ProcessError>,
    ledger: &Ledger,
    ends: &Stop,
    began: u64,
    setup: &Setup<'_>,
) -> anyhow::Result<u8> {
    let (outcome, stop_reason) = match (&ended, ends.raised(), ledger.refusal()) {
        (Err(error), ..) => (Outcome::Ended { code: EXIT_USAGE }, error.to_string()),
        (Ok(_), Some(StopCause::Signal(signal)), None) => (Outcome::Interrupted { signal }, "a signal".to_owned()),
        (Ok(_), _, Some(Refusal { end: NoMoreCalls::Cap(_), message })) => (Outcome::Budget, message),
        (Ok(_), _, Some(Refusal { end: NoMoreCalls::DearTier, message })) => (Outcome::NoModel, message),
        (Ok(exit), _, None) => (Outcome::Ended { code: code_of(exit) }, BY_ITSELF.to_owned()),
    };
    let code = outcome.exit_code();
    let Some(mut journal) = ledger.close() else { return Ok(code) };
    journal.emit(&Event::RunFinished(RunFinished {
        active_ms: setup.clock().monotonic_ms().saturating_sub(began),
        ..RunFinished::bare(outcome, stop_reason, setup.clock().timestamp())
    }));
    let view = RunView::from_events(journal.events(), Liveness::Ended);
    // The log is closed before the program's own failure is told, so that this run is in it too.
    for warning in journal.close() {
        super::say(&format!("⚠ {warning}"));
    }
    if let Err(error) = ended {
        return Err(Failure::usage(format!("{error}\n→ Fix: name a program that can be started, after `--`")));
    }
    let console = setup.environment.console();
    if !console.is_quiet() {
        let report = text::render(&view, console.style(Stream::Err));
        super::say(&wrap(&setup.redactor.redact(&report), console.columns(Stream::Err)));
    }
    Ok(code)
}

/// A program's end as a shell tells it.
fn code_of(exit: &Exit) -> u8 {
    match exit {
        Exit::Code { code } => u8::try_from(*code).unwrap_or(EXIT_INTERNAL),
        Exit::Signal { signal } => {
            u8::try_from(*signal).map_or(EXIT_INTERNAL, |number| EXIT_SIGNAL_BASE.saturating_add(number))
        }
        Exit::Timeout | Exit::Memory { .. } | Exit::MachineMemory | Exit::MemoryTogether { .. } => EXIT_INTERNAL,
    }
}

/// The ways to the vendors whose keys are here.
fn lanes(plan: &GatewayPlan, setup: &Setup<'_>) -> anyhow::Result<BTreeMap<Spoken, Lane>> {
    let http = http(setup.environment);
    let mut lanes = BTreeMap::new();
    for (name, endpoint_plan) in &plan.endpoints {
        let wire = wire_of(endpoint_plan).filter(|_| name != "azure");
        let spoken: &[Spoken] = match wire {
            Some(Wire::Anthropic) => &[Spoken::Messages],
            Some(Wire::OpenAi) => &[Spoken::Responses, Spoken::Chat],
            Some(Wire::Gemini) => &[Spoken::Generate],
            Some(Wire::Ollama) | None => {
                return Err(Failure::usage(format!(
                    "`{name}` speaks none of the gateway's wires\n→ Fix: name a model of a provider that speaks Messages, Responses, chat \
                     completions or generateContent at its usual address"
                )));
            }
        };
        for &spoken in spoken {
            // The match above has returned for a missing wire.
            let Some(wire) = wire else { continue };
            let endpoint = endpoint_of(name, wire, endpoint_plan, setup.environment)?;
            let relay = Relay::new(&endpoint, spoken, &http, Arc::clone(&setup.clock));
            let relay = Arc::new(relay.map_err(|error| Failure::usage(error.to_string()))?);
            lanes.insert(spoken, Lane { provider: name.clone(), relay });
        }
    }
    Ok(lanes)
}
