//! From flags, environment and files to a plan.

use std::path::{Path, PathBuf};

use clap::Args;

use super::committed_files::Committed;
use super::environment::{Environment, current_dir};
use super::trusted_files::Files;
use super::{Failure, context, models, place, waiting, work};
use crate::config::{
    self, Build, BuiltInEndpoint, Catalogue, Format, GatewayPlan, Plan, Problem, Push, Setting, Settings, Sources,
    WaitFor, Wire,
};
use crate::domain::budget::Beneficiary;
use crate::domain::ci::CiContext;
use crate::domain::outcome::EXIT_REFUSED;
use crate::lifecycle::gate;
use crate::model::{catalogue, endpoint};
use crate::test_run;

/// Stands for the ladder where it is not asked about: it needs no key and costs nothing.
const NO_LADDER: &str = "ollama/none x1";

/// The flags of `run` and `check`. Each has an `UPSHIFT_*` variable of the same name (inputs of the Action arrive so).
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// Configuration file [default: .github/upshift.yml]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Model ladder: a path, the file's text, or a shorthand such as `claude-haiku-5-5 x5 > claude-sonnet-5-5 x3`
    #[arg(long, value_name = "PATH|TEXT|LADDER", help_heading = "Models")]
    tiers: Option<String>,
    /// One model instead of a ladder: 5 simple iterations, then 10 with librarian and critic
    #[arg(long, value_name = "MODEL", help_heading = "Models")]
    model: Option<String>,
    /// Command that runs the tests [default: detected]
    #[arg(long, value_name = "CMD", help_heading = "Tests", value_parser = said)]
    test_command: Option<String>,
    /// Second command that has to succeed beside the tests, such as a linter
    #[arg(long, value_name = "CMD", help_heading = "Tests")]
    also_run: Option<String>,
    /// Command to run once before the tests, with network and without keys
    #[arg(long, value_name = "CMD", help_heading = "Tests")]
    setup_command: Option<String>,
    /// Folder to run the tests in, relative to the current one
    #[arg(long, value_name = "DIR", help_heading = "Tests")]
    working_directory: Option<String>,
    /// What the models are asked to do [default: make the failing tests pass]
    #[arg(long, value_name = "TEXT", help_heading = "Models")]
    objective: Option<String>,
    /// Failing tests to fix, one per line; other failures are left alone [default: all that fail]
    #[arg(long, value_name = "NAMES", help_heading = "Tests")]
    only_tests: Option<String>,
    /// Hard cap on the cost of all model calls, in dollars [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Limits")]
    max_cost_usd: Option<String>,
    /// Cap on active time (waiting excluded), in minutes [default: 15]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Limits")]
    max_duration_minutes: Option<String>,
    /// Cap on iterations over all tiers
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Limits")]
    max_iterations: Option<String>,
    /// Audit log to write [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH", help_heading = "Audit log")]
    audit_db: Option<String>,
    /// Run without an audit log
    #[arg(long, conflicts_with = "audit_db", help_heading = "Audit log")]
    no_audit: bool,
    /// What to do with a fix: none, commit or pr
    #[arg(long, value_name = "HOW")]
    push: Option<String>,
    /// Record the models' replies into a cassette file (`run` only)
    #[arg(long, value_name = "PATH", help_heading = "Models")]
    record: Option<String>,
    /// Output format: text, json, or jsonl (every event as it happens, then the report; `run` only)
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Environment variables to pass to the tests, comma-separated
    #[arg(long, value_name = "NAMES", help_heading = "Tests")]
    pass_env: Option<String>,
    /// Globs of files that models may not write, comma-separated
    #[arg(long, value_name = "GLOBS", help_heading = "Safety")]
    protected_paths: Option<String>,
    /// Confinement of child processes: auto, required or off
    #[arg(long, value_name = "HOW", help_heading = "Safety")]
    sandbox: Option<String>,
    /// Network for child processes: auto, off, loopback or on
    #[arg(long, value_name = "HOW", help_heading = "Safety")]
    network: Option<String>,
}

/// The flags that say how tests are run. `judge` has these alone.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TestFlags {
    /// Configuration file [default: .github/upshift.yml]
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Command that runs the tests [default: detected]
    #[arg(long, value_name = "CMD", value_parser = said)]
    test_command: Option<String>,
    /// Command to run once before the tests, with network and without keys
    #[arg(long, value_name = "CMD")]
    setup_command: Option<String>,
    /// Folder to run the tests in, relative to the current one
    #[arg(long, value_name = "DIR")]
    working_directory: Option<String>,
    /// Time cap, in minutes [default: 15]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_duration_minutes: Option<String>,
    /// Environment variables to pass to the tests, comma-separated
    #[arg(long, value_name = "NAMES")]
    pass_env: Option<String>,
    /// Confinement of child processes: auto, required or off
    #[arg(long, value_name = "HOW")]
    sandbox: Option<String>,
    /// Network for child processes: auto, off, loopback or on
    #[arg(long, value_name = "HOW")]
    network: Option<String>,
}

/// A command on the command line. An empty one is a slip, such as a variable that is not set, and not a wish to have it detected.
fn said(command: &str) -> Result<String, String> {
    if command.trim().is_empty() {
        return Err("it is empty; leave the flag out to have the command detected".to_owned());
    }
    Ok(command.to_owned())
}

impl From<TestFlags> for Flags {
    fn from(flags: TestFlags) -> Self {
        let TestFlags { config, test_command, setup_command, working_directory, .. } = flags;
        let TestFlags { max_duration_minutes, pass_env, sandbox, network, .. } = flags;
        Self {
            config,
            test_command,
            setup_command,
            working_directory,
            max_duration_minutes,
            pass_env,
            sandbox,
            network,
            ..Self::default()
        }
    }
}

impl Flags {
    pub(super) fn settings(self) -> Settings {
        let mut settings = Settings::default();
        settings
            .set(Setting::Config, self.config)
            .set(Setting::Tiers, self.tiers)
            .set(Setting::Model, self.model)
            .set(Setting::TestCommand, self.test_command)
            .set(Setting::AlsoRun, self.also_run)
            .set(Setting::SetupCommand, self.setup_command)
            .set(Setting::WorkingDirectory, self.working_directory)
            .set(Setting::Objective, self.objective)
            .set(Setting::OnlyTests, self.only_tests)
            .set(Setting::MaxCostUsd, self.max_cost_usd)
            .set(Setting::MaxDurationMinutes, self.max_duration_minutes)
            .set(Setting::MaxIterations, self.max_iterations)
            .set(Setting::AuditDb, self.audit_db)
            .set(Setting::NoAudit, self.no_audit.then(|| "true".to_owned()))
            .set(Setting::Push, self.push)
            .set(Setting::Record, self.record)
            .set(Setting::Format, self.format)
            .set(Setting::PassEnv, self.pass_env)
            .set(Setting::ProtectedPaths, self.protected_paths)
            .set(Setting::Sandbox, self.sandbox)
            .set(Setting::Network, self.network);
        settings
    }
}

/// The form that flag or variable ask for. Text where they ask for none that is known, which is an error when they are resolved.
pub(super) fn format(flags: &Flags, environment: &Environment) -> Format {
    // Before the configuration is resolved: a mistake in it must come in the form that was asked for.
    let asked = flags.format.as_deref().or_else(|| environment.get(Setting::Format.env()));
    asked.and_then(|word| Format::from_word(word.trim())).unwrap_or(Format::Text)
}

/// A plan and where it is to be carried out.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The plan.
    pub(super) plan: Plan,
    /// The checkout: the folder upshift was started in.
    pub(super) checkout: PathBuf,
    /// The event that triggered this process. `None` on somebody's own machine.
    pub(super) context: Option<CiContext>,
    /// Why a configuration at the top of the repository is not read here, and what to do. `None` in the ordinary case.
    pub(super) unread: Option<String>,
}

/// Refuses to spend money where a configuration that may hold its caps is not read, and what [`refuse`] does.
///
/// # Errors
/// [`Failure`] with exit code 2, or as [`refuse`].
pub(super) fn refuse_to_start(resolved: &Resolved) -> anyhow::Result<()> {
    // A warning is not enough where money is spent: the file that is not read may hold the cap.
    if let Some(why) = &resolved.unread {
        return Err(Failure::usage(why.clone()));
    }
    refuse(&resolved.plan)
}

/// Reads what there is to read and resolves it.
///
/// # Errors
/// Every configuration error at once (exit 2). A plan that this build must refuse (exit 6).
pub(super) fn resolve(flags: Flags, environment: &Environment) -> anyhow::Result<Resolved> {
    resolve_settings(flags.settings(), environment, current_dir()?)
}

/// The same without the ladder: for looking at the rest when no ladder can be made.
///
/// # Errors
/// As [`resolve`], for what is left.
pub(super) fn resolve_without_ladder(flags: Flags, environment: &Environment) -> anyhow::Result<Resolved> {
    // Both would be resolved to a ladder, and need a key.
    let mut settings = Flags { model: None, tiers: None, ..flags }.settings();
    settings.set(Setting::Tiers, Some(NO_LADDER.to_owned()));
    resolve_settings(settings, environment, current_dir()?)
}

/// The same for judging a change: without a ladder, and also for the pull request of a fork where the job has no secret. `base` is the
/// commit that it starts from, where there is one.
///
/// # Errors
/// As [`resolve`], for what is left.
pub(super) fn resolve_to_judge(
    flags: TestFlags,
    environment: &Environment,
    base: Option<Committed>,
) -> anyhow::Result<Resolved> {
    let mut settings = Flags::from(flags).settings();
    settings.set(Setting::Tiers, Some(NO_LADDER.to_owned()));
    // A judgement has no run to resume, and a log in the checkout would be a file beside the change.
    settings.set(Setting::NoAudit, Some("true".to_owned()));
    resolve_behind(gate::refusal_to_judge, settings, environment, (current_dir()?, base))
}

/// The configuration by which a backlog is parted: no model is asked, and a budget counts.
///
/// # Errors
/// As [`resolve_to_judge`].
pub(super) fn resolve_to_part(
    flags: TestFlags,
    max_cost_usd: Option<String>,
    environment: &Environment,
) -> anyhow::Result<Resolved> {
    let mut settings = Flags { max_cost_usd, ..Flags::from(flags) }.settings();
    settings.set(Setting::Tiers, Some(NO_LADDER.to_owned()));
    settings.set(Setting::NoAudit, Some("true".to_owned()));
    resolve_behind(gate::refusal_to_judge, settings, environment, (current_dir()?, None))
}

/// The gateway's configuration, from the files that may be trusted here, and the folder it was started in.
///
/// # Errors
/// Every configuration error at once (exit 2). An event for which no key may be used (exit 6).
pub(super) fn resolve_gateway(
    flags: Settings,
    side_model: Option<&str>,
    environment: &Environment,
) -> anyhow::Result<(GatewayPlan, PathBuf, Beneficiary)> {
    let checkout = current_dir()?;
    let context =
        context::read(environment).map_err(|error| Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {error}")))?;
    // Before the configuration is read: for such an event even the files are somebody else's.
    if let Some(why) = gate::refusal(context.as_ref()) {
        return Err(Failure::refused(&why));
    }
    let files = Files::of(context.as_ref(), environment, (&checkout, None))?;
    let mut sources = gather(flags, environment, &files);
    let told = files.told(&mut sources, &checkout)?;
    let mut plan = config::resolve_gateway(&sources, side_model, &catalogue_for_config())
        .map_err(|errors| Failure::usage(errors.to_string()))?;
    plan.warnings.extend(told);
    let beneficiary = work::beneficiary(context.as_ref(), &checkout);
    Ok((plan, checkout, beneficiary))
}

/// The same for settings that did not come from flags (the demo).
pub(super) fn resolve_settings(
    flags: Settings,
    environment: &Environment,
    checkout: PathBuf,
) -> anyhow::Result<Resolved> {
    resolve_behind(gate::refusal, flags, environment, (checkout, None))
}

/// The same behind a gate of the caller's.
fn resolve_behind(
    refusal: fn(Option<&CiContext>) -> Option<gate::Refusal>,
    flags: Settings,
    environment: &Environment,
    (checkout, base): (PathBuf, Option<Committed>),
) -> anyhow::Result<Resolved> {
    let context =
        context::read(environment).map_err(|error| Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {error}")))?;
    if let Some(why) = refusal(context.as_ref()) {
        return Err(Failure::refused(&why));
    }
    // A file that was named is meant, wherever it lies.
    let named = flags.get(Setting::Config).is_some() || environment.get(Setting::Config.env()).is_some();
    let files = Files::of(context.as_ref(), environment, (&checkout, base.filter(|_| !named)))?;
    let ladder = flags.get(Setting::Tiers).or_else(|| environment.get(Setting::Tiers.env())).map(str::to_owned);
    let mut sources = gather(flags, environment, &files);
    sources.build.default_push =
        // On a branch without a pull request the fix is proposed, instead of being pushed onto it.
        context.as_ref().map(|context| if context.is_about_a_pull_request() { Push::Commit } else { Push::Pr });
    let is_woken = context.as_ref().is_some_and(|context| waiting::is_woken(context, environment));
    sources.build.default_wait_for = is_woken.then_some(WaitFor::Event);
    let told = files.told(&mut sources, &checkout)?;
    let mut plan =
        config::resolve(&sources, &catalogue_for_config()).map_err(|errors| Failure::usage(errors.to_string()))?;
    plan.warnings.extend(told);
    // From a base commit the right file is read in any case.
    let is_own = !named && matches!(files, Files::Checkout(_));
    let unread = is_own.then(|| place::unread_configuration(&checkout)).flatten();
    if is_own {
        plan.warnings.extend(unread.clone());
        plan.warnings.extend(place::misnamed_configuration(&checkout, ladder.as_deref()));
    }
    // A job that only hears of a run may have no checkout, and so no cassette.
    models::learn_cassettes(&mut plan, &checkout, is_woken)?;
    Ok(Resolved { plan, checkout, context, unread })
}

/// Reads the files that may be trusted. Resolves and refuses nothing.
fn gather(flags: Settings, environment: &Environment, files: &Files<'_>) -> Sources {
    let mut sources = Sources {
        flags,
        env: environment.text(),
        config_file: None,
        tiers_file: None,
        build: Build { confinement: true, frameworks: test_run::frameworks(), ..Build::default() },
    };
    // Flags and variables come first, since they name the files.
    sources.config_file = Some(files.read(sources.config_path()));
    let tiers = sources.tiers_path().map(|path| files.read(path));
    sources.tiers_file = tiers;
    sources
}

/// The faults of inputs that a workflow of the checkout hands to upshift, read as its job would read them. Without a ladder among them
/// none is asked for.
pub(super) fn faults_of_inputs(mut inputs: Settings, checkout: &Path) -> Vec<Problem> {
    if inputs.get(Setting::Tiers).is_none() && inputs.get(Setting::Model).is_none() {
        inputs.set(Setting::Tiers, Some(NO_LADDER.to_owned()));
    }
    // The variables of this machine are not those of the job.
    let mut sources = gather(inputs, &Environment::default(), &Files::Checkout(checkout));
    sources.build.elsewhere = true;
    config::faults_of_flags(&sources, &catalogue_for_config())
}

/// The place where a run in this folder would write its audit log. Needs neither a sound configuration nor an open gate, and sends no
/// request.
pub(super) fn audit_path(flag: Option<&str>, environment: &Environment, checkout: &Path) -> String {
    let mut flags = Settings::default();
    flags.set(Setting::AuditDb, flag.map(str::to_owned));
    // `report` in a job must not follow a path that the pull request chose.
    let trusted = context::read(environment).is_ok_and(|context| !gate::distrusts_checkout(context.as_ref()));
    let files = if trusted { Files::Checkout(checkout) } else { Files::Nowhere };
    config::audit_path(&gather(flags, environment, &files))
}

/// Refuses a plan that asks for what this build cannot do (exit 6).
pub(super) fn refuse(plan: &Plan) -> anyhow::Result<()> {
    if plan.refusals.is_empty() {
        return Ok(());
    }
    Err(Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {}", plan.refusals.join("\n✖ Refused: "))))
}

/// The questions that configuration may ask of the catalogue, which stands right of it.
fn catalogue_for_config() -> Catalogue {
    Catalogue {
        lookup: catalogue::lookup,
        names: catalogue::names,
        endpoint: built_in,
        default_ladder: catalogue::default_ladder,
    }
}

fn built_in(provider: &str) -> Option<BuiltInEndpoint> {
    let known = catalogue::built_in_endpoint(provider)?;
    Some(BuiltInEndpoint {
        wire: match known.wire {
            endpoint::Wire::Anthropic => Wire::Anthropic,
            endpoint::Wire::OpenAi => Wire::OpenAi,
            endpoint::Wire::Gemini => Wire::Gemini,
            endpoint::Wire::Ollama => Wire::Ollama,
        },
        default_base_url: known.default_base_url,
        base_url_vars: known.base_url_vars,
        key_vars: known.key_vars,
        local: known.local,
    })
}
