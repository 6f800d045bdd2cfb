//! The command line: one file per command, the environment, the terminal.
//!
//! Owns how a person meets upshift: flags, exit codes, what goes to which stream. Wires the layers below and decides nothing
//! about a run. Start reading at [`main`].

mod attempt_limit;
mod base;
mod carry;
pub mod check;
mod commenting;
mod committed_files;
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
mod left_judging;
mod lines;
mod logging;
mod models;
mod named;
mod obstacles;
mod other_commit;
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
mod tool_actions;
mod trace;
mod trigger;
mod trusted_files;
mod variables;
mod waiting;
mod way_in;
mod work;
mod workflow_files;

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::config::{NO_MODEL, Plan};
use crate::domain::outcome::{EXIT_INTERNAL, EXIT_REFUSED, EXIT_USAGE};
use crate::report::wrap::wrap;
use crate::test_run;
use console::{Console, Stream};
use environment::Environment;
use form::{Form, RunForm};
use left_behind::Discard;
use named::WhenNamed;
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
        /// Address of the action: its owner's repository and a commit of it, as `git ls-remote https://github.com/OWNER/upshift HEAD` prints it
        #[arg(long, value_name = "OWNER/REPO@REF")]
        action: Option<init::ActionRef>,
        /// Write a workflow that judges every pull request (forks too) instead: no model, no key
        #[arg(long, conflicts_with_all = ["schedule", "external_checks"])]
        judge: bool,
        /// Write only the workflow by which a review starts upshift's
        #[arg(long, conflicts_with_all = ["schedule", "external_checks", "judge", "action"])]
        review: bool,
    },
    /// Validate the configuration and print what a run would use: ladder, caps, tests, and each value that is set; makes no model call.
    Check(WhenNamed<plan::Flags>),
    /// Check what a run needs before it starts: token, branch rules, CI, ladder, tests, sandbox. Makes no model call; exits 1 if there is a problem.
    Doctor(WhenNamed<DoctorArgs>),
    /// Fix the repository in this folder.
    Run(WhenNamed<RunArgs>),
    /// Continue a killed, interrupted or parked run, or a paused backlog. On a schedule in Actions: every parked run whose rate limit is over.
    Resume(WhenNamed<resume::Args>),
    /// Print the report of a run from the audit log.
    Report(WhenNamed<report::Args>),
    /// Inspect a run: its iterations, conversations, test output and patches.
    Show(WhenNamed<show::ShowArgs>),
    /// List the runs in the audit log: time, branch or pull request, outcome, cost.
    Runs(WhenNamed<show::RunsArgs>),
    /// Print a run as one tree of timed operations, in JSON or HTML: tiers, iterations, sessions, turns, model calls, tool calls.
    Trace(WhenNamed<trace::Args>),
    /// Show cost and fixes per tier and model over all runs, and suggest a cheaper ladder.
    Stats(WhenNamed<stats::StatsArgs>),
    /// Judge a change that a person or another agent made: do its tests prove it? No model, no key; exits 1 if they do not.
    Judge(WhenNamed<judge::JudgeArgs>),
    /// List, add and reset the tasks of a backlog (`run --tasks`); makes no model call
    Tasks(Box<tasks::Args>),
    /// Pause the backlog that is being worked on here, after the current task; `resume` continues it.
    Pause(WhenNamed<tasks::OrderArgs>),
    /// Raise --max-tasks of the backlog that is being worked on here.
    Add(WhenNamed<tasks::CountArgs>),
    /// Lower --max-tasks of the backlog that is being worked on here; tasks already started are finished.
    Remove(WhenNamed<tasks::CountArgs>),
    /// Merge the audit logs and fixes of many jobs: every fix is tested and proven again on the current branch.
    Merge(WhenNamed<tasks::MergeArgs>),
    /// In a workflow, before checkout: decide whether the event may start a run. Needs no key; sets the outputs go, head-sha and reason.
    Gate {
        /// Output format; text prints nothing on standard output and explains on standard error
        #[arg(long, value_enum, default_value_t)]
        format: Form,
    },
    /// Run any program under a hard dollar cap on its model calls; it never sees a key, and every call is audited.
    Gateway(WhenNamed<gateway::GatewayArgs>),
    /// Show the test results that upshift reads from a log.
    Read(WhenNamed<read::ReadArgs>),
    /// Print the JSON Schema of the configuration file.
    Schema,
    /// Print a shell completion script: `upshift completions bash > ~/.local/share/bash-completion/completions/upshift`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
struct DoctorArgs {
    #[command(flatten)]
    flags: plan::Flags,
    /// Also verify keys, model names and endpoints with each vendor (free of charge)
    #[arg(long)]
    online: bool,
}

#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    flags: plan::Flags,
    /// Restore the files that a killed run changed here, close that run, and start over
    #[arg(long)]
    discard: bool,
    #[command(flatten)]
    backlog: tasks::BacklogFlags,
}

/// Runs the command and turns what came of it into an exit code (DESIGN §2.1).
#[must_use]
pub fn main() -> ExitCode {
    let environment = Environment::read();
    let cli = match parse(&environment) {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error, &environment),
    };
    let environment = environment.with_flags(cli.console);
    // Only these tell the page of a job how they ended. `report` in a job is somebody's own step.
    let runs = matches!(cli.command, Command::Run(_) | Command::Resume(_) | Command::Gate { .. } | Command::Judge(_));
    let step = step::Step::of(&environment).filter(|_| runs);
    // Behind the flags, which may ask for it, and before anything that could be worth a line.
    let logging = environment.clone().logging();
    let code = logging.and_then(|environment| dispatch(cli.command, &environment)).unwrap_or_else(|error| {
        let failure = error.downcast::<Failure>().unwrap_or_else(|error| Failure {
            message: if is_full(&error) { format!("✖ {error}") } else { format!("upshift: internal error: {error}") },
            code: EXIT_INTERNAL,
            harmless: false,
            passing: false,
        });
        // The message stands in the log as well as in the summary: some read only one of them.
        say(&wrap(&failure.message, environment.console().columns(Stream::Err)));
        step.map_or(failure.code, |step| step.failed(&failure))
    });
    ExitCode::from(code)
}

/// Whether a full disk is behind an error: it says what to do, and no fault of the program is to be reported.
fn is_full(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    kinds.into_iter().any(|kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// Parses the arguments. Help and mistakes come back in the colour and width that are wanted.
fn parse(environment: &Environment) -> Result<Cli, clap::Error> {
    let console = Console::before_parsing(std::env::args_os().filter_map(|word| word.into_string().ok()), environment);
    let mut command = Cli::command().color(console.of_parser()).term_width(console.help_columns());
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.with_cmd(&command))
}

/// Prints help or a mistake in the arguments. A step of a workflow that was to run tells its page of a mistake as of any other.
fn not_parsed(error: &clap::Error, environment: &Environment) -> ExitCode {
    // Where even that cannot be printed, the exit code still says it.
    drop(error.print());
    let code = u8::try_from(error.exit_code()).unwrap_or(EXIT_USAGE);
    // The first word is the command or a global flag's value. A wrong guess only leaves the summary empty.
    let mut words = std::env::args_os().skip(1).filter(|word| !word.to_string_lossy().starts_with('-'));
    let runs = words.next().is_some_and(|word| ["run", "resume", "gate", "judge"].iter().any(|one| word == *one));
    let step = step::Step::of(environment).filter(|_| runs && error.use_stderr());
    if let Some(step) = step {
        let text = error.render().to_string();
        // The usage below the mistake fills a page that has room for a sentence.
        let message = text.trim_start_matches("error: ").lines().take_while(|line| !line.starts_with("Usage:"));
        let message = message.filter(|line| !line.trim().is_empty()).map(str::trim).collect::<Vec<_>>().join("; ");
        return ExitCode::from(step.failed(&Failure { message, code, harmless: false, passing: false }));
    }
    ExitCode::from(code)
}

fn dispatch(command: Command, environment: &Environment) -> anyhow::Result<u8> {
    // Before all commands, so that a worker never outlives the process that started it.
    tasks::follow_parent(environment)?;
    match command {
        Command::Run(WhenNamed(args)) => run_or_work(*args, environment),
        Command::Tasks(args) => tasks::command(*args, environment),
        Command::Pause(WhenNamed(args)) => tasks::pause(&args, environment),
        Command::Add(WhenNamed(args)) => tasks::add(&args, environment),
        Command::Remove(WhenNamed(args)) => tasks::remove(&args, environment),
        Command::Merge(WhenNamed(args)) => tasks::merge(*args, environment),
        Command::Gate { format } => gate::run(format, environment),
        Command::Resume(WhenNamed(args)) => resume::run(*args, environment),
        Command::Check(WhenNamed(flags)) => check_plan(*flags, environment),
        Command::Doctor(WhenNamed(args)) => doctor::run(args.flags, args.online, environment),
        Command::Judge(WhenNamed(args)) => judge::run(*args, environment),
        Command::Gateway(WhenNamed(args)) => gateway::run(*args, environment),
        Command::Report(WhenNamed(args)) => report::run(&args, environment),
        Command::Show(WhenNamed(args)) => show::show(&args, environment),
        Command::Runs(WhenNamed(args)) => show::runs(&args, environment),
        Command::Trace(WhenNamed(args)) => trace::run(&args, environment),
        Command::Stats(WhenNamed(args)) => stats::run(&args, environment),
        Command::Init { force, judge: true, action, .. } => {
            write_one(force, |root, overwrite| init::write_judge(root, overwrite, action.as_ref()))
        }
        Command::Init { force, review: true, .. } => write_one(force, init::write_review),
        Command::Init { force, schedule, external_checks, action, judge: false, review: false } => {
            let schedule = if schedule { init::Schedule::HalfHourly } else { init::Schedule::No };
            let options = init::Options { schedule, hears_outsiders: external_checks, action };
            write_one(force, |root, overwrite| init::write(root, overwrite, &options))
        }
        Command::Demo { format } => demo::run(format, environment),
        Command::Schema => print(&schema::render()),
        Command::Completions { shell } => print(&completions(shell)),
        Command::Read(WhenNamed(args)) => read::run(*args),
    }
}

fn run_or_work(args: RunArgs, environment: &Environment) -> anyhow::Result<u8> {
    if args.backlog.tasks.is_some() {
        return tasks::run(args.flags, args.backlog, environment);
    }
    run::run(args.flags, if args.discard { Discard::Yes } else { Discard::No }, environment)
}

fn check_plan(flags: plan::Flags, environment: &Environment) -> anyhow::Result<u8> {
    let plan::Resolved { mut plan, checkout, .. } = match plan::resolve(flags.clone(), environment) {
        Ok(resolved) => resolved,
        Err(error) => return Err(without_model(error, flags, environment)?),
    };
    let ends = retirement::notices(&plan, environment, retirement::NOTICE_DAYS);
    // These are no faults of the configuration, and still the first thing a person should read.
    plan.warnings.extend(ends);
    plan.warnings.extend(left_judging::notice(&checkout, environment).map(|(found, fix)| format!("{found}: {fix}")));
    let form = Form::of(plan.format, "upshift check")?;
    let known = tests_of(&plan, &checkout)?;
    let agents = hosting::there(&plan, &checkout, environment)?;
    let tools = outside_tools::there(&plan, &checkout, environment);
    let obstacles = setup::block_on(async { Ok(obstacles::obstacles(&plan, &checkout, environment).await) })?;
    let found = check::Found { tests: known.as_ref(), agents: &agents, tools: &tools, obstacles: &obstacles };
    let code = match form {
        Form::Text => print_set(&check::render(&plan, &found), environment.console()),
        Form::Json => print(&check::render_json(&plan, &found)),
    }?;
    // As `run` would end: whoever checks a configuration in CI asks whether a run would begin. An obstacle is one of the checkout's.
    Ok(if plan.refusals.is_empty() { code } else { EXIT_REFUSED })
}

/// Prints what can be checked without a model where that is all that is missing. Returns the error all the same.
fn without_model(error: anyhow::Error, flags: plan::Flags, environment: &Environment) -> anyhow::Result<anyhow::Error> {
    let is_that = error.downcast_ref::<Failure>().is_some_and(|failure| failure.message.starts_with(NO_MODEL));
    if is_that && let Ok(plan::Resolved { plan, checkout, .. }) = plan::resolve_without_ladder(flags, environment) {
        // A missing key is the most common mistake of a first try. All else can be shown to be right.
        let known = tests_of(&plan, &checkout)?;
        // A document for programs would claim to be the whole plan.
        if Form::of(plan.format, "upshift check")? == Form::Text {
            print_set(&check::render_without_ladder(&plan, known.as_ref()), environment.console())?;
        }
    }
    // The exit code stays that of the error: nothing that was shown makes a run possible.
    Ok(error)
}

/// The test command and its framework, as far as they are known before a run.
fn tests_of(plan: &Plan, checkout: &Path) -> anyhow::Result<Option<check::Detected>> {
    let folder = setup::working_directory(checkout, plan)?;
    Ok(match &plan.test.command {
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
    })
}

fn write_one(
    force: bool,
    write: impl Fn(&Path, init::Overwrite) -> Result<String, init::InitError>,
) -> anyhow::Result<u8> {
    let overwrite = if force { init::Overwrite::Yes } else { init::Overwrite::No };
    let said = write(&environment::current_dir()?, overwrite);
    print(&said.map_err(|error| Failure::usage(error.to_string()))?)
}

/// The completion script of a shell.
fn completions(shell: clap_complete::Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), env!("CARGO_PKG_NAME"), &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
