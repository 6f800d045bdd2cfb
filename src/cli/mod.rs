//! The command line: one file per command, the environment, the terminal.
//!
//! Owns how a person meets upshift: flags, exit codes, what goes to which stream. Wires the layers below and decides nothing
//! about a run. Start reading at [`main`].

mod attempt_limit;
mod base;
mod carry;
pub mod check;
mod commenting;
mod confining;
mod console;
mod context;
#[cfg(all(debug_assertions, unix))]
mod crash;
mod delivery;
mod demo;
mod details;
mod doctor;
mod elsewhere;
mod environment;
mod forge;
mod form;
mod gate;
mod gateway;
mod guidance;
mod hardening;
mod hosting;
mod http_client;
pub mod init;
mod judge;
mod judges;
mod keeping;
mod left_behind;
mod left_credential;
mod lines;
mod logging;
mod models;
mod output;
mod outside_tools;
mod parked;
mod place;
mod plan;
mod prepared;
mod raising;
pub mod read;
mod red_ci;
mod reentry;
mod report;
mod resume;
mod retirement;
mod run;
pub mod schema;
mod scripts;
mod setup;
mod show;
#[cfg_attr(windows, path = "signals_windows.rs")]
mod signals;
mod stats;
mod step;
mod stop_sources;
mod tasks;
mod terminal;
#[cfg(debug_assertions)]
mod test_clock;
mod trace;
mod trigger;
mod variables;
mod waiting;
mod work;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::domain::outcome::EXIT_INTERNAL;
use crate::report::wrap::wrap;
use crate::test_run;
use console::{Console, Stream};
use environment::Environment;
use form::{Form, RunForm};
use left_behind::Discard;
use output::{Failure, print, print_set, say};

pub use hardening::harden;

/// Gets a red repository green: the cheapest model first, a stronger one only when that stalls, never over budget.
#[derive(Debug, Parser)]
#[command(name = "upshift", version, about, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    console: console::Flags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch a recorded model fix a broken project: no key, no network.
    Demo {
        /// Report format
        #[arg(long, value_enum, default_value = "text")]
        format: RunForm,
    },
    /// Write a workflow file and a starter configuration.
    Init {
        /// Overwrite files that are already there
        #[arg(long)]
        force: bool,
        /// Add triggers that continue waiting runs at the end of other Apps' checks and of commit statuses
        #[arg(long)]
        external_checks: bool,
        /// Add a half-hourly schedule that resumes runs parked at a rate limit
        #[arg(long)]
        schedule: bool,
        /// Write a workflow that judges every pull request (forks too) instead: no model, no key
        #[arg(long, conflicts_with_all = ["schedule", "external_checks"])]
        judge: bool,
        /// Write only the workflow by which a review starts upshift's
        #[arg(long, conflicts_with_all = ["schedule", "external_checks", "judge"])]
        review: bool,
    },
    /// Validate the configuration and print every effective value; makes no model call.
    Check(Box<plan::Flags>),
    /// Check what a run needs before it starts: token, branch rules, CI, ladder, tests, sandbox. Makes no model call; exits 1 if there is a problem.
    Doctor {
        #[command(flatten)]
        flags: Box<plan::Flags>,
        /// Also verify keys, model names and endpoints with each vendor (free of charge)
        #[arg(long)]
        online: bool,
    },
    /// Fix the repository in this folder.
    Run {
        #[command(flatten)]
        flags: Box<plan::Flags>,
        /// Restore the files that a killed run changed here, close that run, and start over
        #[arg(long)]
        discard: bool,
        #[command(flatten)]
        backlog: tasks::BacklogFlags,
    },
    /// Continue a killed, interrupted or parked run, or a paused backlog. On a schedule in Actions: every parked run whose rate limit is over.
    Resume(resume::Args),
    /// Print the report of a run from the audit log.
    Report(report::Args),
    /// Inspect a run: its iterations, conversations, test output and patches.
    Show(show::ShowArgs),
    /// List the runs in the audit log: time, branch or pull request, outcome, cost.
    Runs(show::RunsArgs),
    /// Print a run as one tree of timed operations: tiers, iterations, sessions, turns, model calls, tool calls.
    Trace(trace::Args),
    /// Show cost and fixes per tier and model over all runs, and suggest a cheaper ladder.
    Stats(stats::StatsArgs),
    /// Judge a change that a person or another agent made: do its tests prove it? No model, no key; exits 1 if they do not.
    Judge(judge::JudgeArgs),
    /// List, add and reset the tasks of a backlog (`run --tasks`); makes no model call
    Tasks(tasks::Args),
    /// Pause the backlog that is being worked on here, after the current task; `resume` continues it.
    Pause(tasks::OrderArgs),
    /// Raise --max-tasks of the backlog that is being worked on here.
    Add(tasks::CountArgs),
    /// Lower --max-tasks of the backlog that is being worked on here; tasks already started are finished.
    Remove(tasks::CountArgs),
    /// Merge the audit logs and fixes of many jobs: every fix is tested and proven again on the current branch.
    Merge(tasks::MergeArgs),
    /// In a workflow, before checkout: decide whether the event may start a run. Needs no key; sets the outputs go, head-sha and reason.
    Gate {
        /// Output format; text prints nothing on standard output and explains on standard error
        #[arg(long, value_enum, default_value_t)]
        format: Form,
    },
    /// Run any program under a hard dollar cap on its model calls; it never sees a key, and every call is audited.
    Gateway(Box<gateway::GatewayArgs>),
    /// Show the test results that upshift reads from a log.
    Read(read::ReadArgs),
    /// Print the JSON Schema of the configuration file.
    Schema,
    /// Print a shell completion script: `upshift completions bash > ~/.local/share/bash-completion/completions/upshift`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command and turns what came of it into an exit code (DESIGN §2.1).
#[must_use]
pub fn main() -> ExitCode {
    let environment = Environment::read();
    let cli = parse(&environment);
    let environment = environment.with_flags(cli.console);
    let runs =
        matches!(cli.command, Command::Run { .. } | Command::Resume(_) | Command::Gate { .. } | Command::Judge(_));
    let step = step::Step::of(&environment).filter(|_| runs);
    let logging = environment.clone().logging();
    let code = logging.and_then(|environment| dispatch(cli.command, &environment)).unwrap_or_else(|error| {
        let failure = error.downcast::<Failure>().unwrap_or_else(|error| Failure {
            message: format!("upshift: internal error: {error}"),
            code: EXIT_INTERNAL,
            harmless: false,
        });
        say(&wrap(&failure.message, environment.console().columns(Stream::Err)));
        step.map_or(failure.code, |step| step.failed(&failure))
    });
    ExitCode::from(code)
}

/// Parses the arguments. Help and mistakes are printed here, in the colour and width that are wanted.
fn parse(environment: &Environment) -> Cli {
    let console = Console::before_parsing(std::env::args_os().filter_map(|word| word.into_string().ok()), environment);
    let mut command = Cli::command().color(console.of_parser()).term_width(console.help_columns());
    let mut matches = command.get_matches_mut();
    Cli::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.with_cmd(&command).exit())
}

fn dispatch(command: Command, environment: &Environment) -> anyhow::Result<u8> {
    tasks::follow_parent(environment)?;
    match command {
        Command::Run { flags, backlog, .. } if backlog.tasks.is_some() => tasks::run(*flags, backlog, environment),
        Command::Run { flags, discard: false, .. } => run::run(*flags, Discard::No, environment),
        Command::Run { flags, discard: true, .. } => run::run(*flags, Discard::Yes, environment),
        Command::Tasks(args) => tasks::command(args, environment),
        Command::Pause(args) => tasks::pause(&args, environment),
        Command::Add(args) => tasks::add(&args, environment),
        Command::Remove(args) => tasks::remove(&args, environment),
        Command::Merge(args) => tasks::merge(args, environment),
        Command::Gate { format } => gate::run(format, environment),
        Command::Resume(args) => resume::run(args, environment),
        Command::Check(flags) => check_plan(*flags, environment),
        Command::Doctor { flags, online } => doctor::run(*flags, online, environment),
        Command::Judge(args) => judge::run(args, environment),
        Command::Gateway(args) => gateway::run(*args, environment),
        Command::Report(args) => report::run(&args, environment),
        Command::Show(args) => show::show(&args, environment),
        Command::Runs(args) => show::runs(&args, environment),
        Command::Trace(args) => trace::run(&args, environment),
        Command::Stats(args) => stats::run(&args, environment),
        Command::Init { force, judge: true, .. } => write_one(force, init::write_judge),
        Command::Init { force, review: true, .. } => write_one(force, init::write_review),
        Command::Init { force, schedule, external_checks, judge: false, review: false } => {
            let schedule = if schedule { init::Schedule::HalfHourly } else { init::Schedule::No };
            write_starters(force, init::Options { schedule, hears_outsiders: external_checks })
        }
        Command::Demo { format } => demo::run(format, environment),
        Command::Schema => print(&schema::render()),
        Command::Completions { shell } => print(&completions(shell)),
        Command::Read(args) => read::run(args),
    }
}

fn check_plan(flags: plan::Flags, environment: &Environment) -> anyhow::Result<u8> {
    let plan::Resolved { mut plan, checkout, .. } = plan::resolve(flags, environment)?;
    let ends = retirement::notices(&plan, environment, retirement::NOTICE_DAYS);
    plan.warnings.extend(ends);
    plan.warnings.extend(left_behind::notice(&checkout, environment).map(|notice| notice.line()));
    let form = Form::of(plan.format, "upshift check")?;
    let folder = setup::working_directory(&checkout, &plan)?;
    let known = match &plan.test.command {
        Some(command) => test_run::framework_of(command, &folder).map(|framework| check::Detected {
            command: command.clone(),
            framework,
            why: "the command".to_owned(),
        }),
        None => test_run::detect(&folder).map(|found| check::Detected {
            command: found.command,
            framework: found.framework,
            why: found.why,
        }),
    };
    let agents = hosting::there(&plan, &checkout, environment)?;
    let tools = outside_tools::there(&plan, &checkout, environment);
    match form {
        Form::Text => print_set(&check::render(&plan, known.as_ref(), &agents, &tools), environment.console()),
        Form::Json => print(&check::render_json(&plan, known.as_ref(), &agents, &tools)),
    }
}

fn write_one(
    force: bool,
    write: impl Fn(&Path, init::Overwrite) -> Result<String, init::InitError>,
) -> anyhow::Result<u8> {
    let overwrite = if force { init::Overwrite::Yes } else { init::Overwrite::No };
    let said = write(&environment::current_dir()?, overwrite);
    print(&said.map_err(|error| Failure::usage(error.to_string()))?)
}

fn write_starters(force: bool, options: init::Options) -> anyhow::Result<u8> {
    let overwrite = if force { init::Overwrite::Yes } else { init::Overwrite::No };
    let said = init::write(&environment::current_dir()?, overwrite, options)
        .map_err(|error| Failure::usage(error.to_string()))?;
    print(&said)
}

/// The completion script of a shell.
fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), env!("CARGO_PKG_NAME"), &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
