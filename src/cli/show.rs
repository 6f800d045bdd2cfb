//! `upshift show` and `upshift runs`: a person looks into the log.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use super::console::Stream;
use super::environment::{Environment, current_dir};
use super::form::Form;
use super::output::say;
use super::{Failure, details, plan, setup};
use crate::audit::{AuditError, LoadedRun, Reader};
use crate::domain::event::Event;
use crate::domain::outcome::{EXIT_SUCCESS, Outcome};
use crate::domain::units::RunId;
use crate::lifecycle::stream_place;
use crate::redact::Redactor;
use crate::report::json;
use crate::report::runs::{Row, table};
use crate::report::show::{self, Step};
use crate::report::wrap::wrap;
use crate::streams;

/// The arguments of `show`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ShowArgs {
    /// Run id, or a unique prefix of it [default: the latest]
    run: Option<String>,
    /// Only this tier (1 is the first)
    #[arg(long, value_name = "N")]
    tier: Option<u32>,
    /// Only this iteration of a tier (1 is the first)
    #[arg(long, value_name = "N")]
    iteration: Option<u32>,
    /// Print the conversations with the models
    #[arg(long)]
    conversation: bool,
    /// Print the output of the judging test runs
    #[arg(long)]
    tests: bool,
    /// Print the patch against the start of the run
    #[arg(long)]
    patch: bool,
    /// Print only the final patch of the run, for `git apply`
    #[arg(long, conflicts_with_all = ["tier", "iteration", "conversation", "tests", "patch", "format"])]
    last_patch: bool,
    /// Audit log to read [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

/// The arguments of `runs`.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunsArgs {
    /// Audit log to read [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Form,
}

/// Ends where a run has no last patch: well where there was nothing to change, so that a script goes on with an empty one.
fn without_patch(reader: &Reader, run_id: &RunId) -> anyhow::Result<u8> {
    let loaded = reader.load_run(run_id).map_err(|error| failure(&error))?;
    let run = run_id.short();
    if matches!(details::view_of(&loaded).outcome(), Some(Outcome::AlreadyGreen)) {
        say(&format!("run {run} found the tests green and changed nothing: its patch is empty"));
        return Ok(EXIT_SUCCESS);
    }
    Err(Failure::usage(format!(
        "the log has no final patch of run {run} → Fix: `upshift show {run}` tells what it came to"
    )))
}

/// Prints the iterations of a run, with what is asked for of each.
pub(super) fn show(args: &ShowArgs, environment: &Environment) -> anyhow::Result<u8> {
    let reader = open(args.audit_db.as_deref(), environment)?;
    let run_id = match &args.run {
        Some(prefix) => reader.find_run(prefix),
        None => reader.latest_run(),
    };
    let run_id = run_id.map_err(|error| failure(&error))?;
    if args.last_patch {
        let patch = details::last_patch(&reader, &run_id).map_err(|error| failure(&error))?;
        let Some(patch) = patch else { return without_patch(&reader, &run_id) };
        // A patch is to be applied, so that a secret in its context lines must not break its shape.
        return super::print(&Redactor::new(&environment.secrets()).redact_diff(&patch));
    }
    let loaded = reader.load_run(&run_id).map_err(|error| failure(&error))?;
    let view = details::view_of(&loaded);
    let wanted = |step: &&Step| {
        // Tiers are counted from one for people.
        args.tier.is_none_or(|tier| step.tier_index.saturating_add(1) == tier)
            && args.iteration.is_none_or(|iteration| step.iteration == iteration)
    };
    let steps = show::steps(&loaded.events);
    let chosen: Vec<&Step> = steps.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(Failure::usage(nothing(&run_id, &steps)));
    }
    let mut found = Vec::new();
    for step in chosen {
        found.push((step, details::of_step(&reader, &run_id, step).map_err(|error| failure(&error))?));
    }
    // The last patch is that of the run, and no single iteration's.
    let whole_run = args.tier.is_none() && args.iteration.is_none();
    let last = if args.patch && whole_run {
        Some(details::last_patch(&reader, &run_id).map_err(|error| failure(&error))?)
    } else {
        None
    };
    if args.format == Form::Json {
        let wanted = json::Wanted { conversation: args.conversation, tests: args.tests, patch: args.patch };
        let last = last.as_ref().map(Option::as_deref);
        let document = json::pretty(&json::steps(&view, &run_id.0, &found, last, wanted));
        return super::print(&Redactor::new(&environment.secrets()).redact(&document));
    }
    let console = environment.console();
    let (style, columns) = (console.style(Stream::Out), console.columns(Stream::Out));
    let mut out = String::new();
    for (step, details) in &found {
        out.push_str(&wrap(&show::heading(&view, step, style), columns));
        if args.conversation {
            out.push_str(&wrap(&show::conversations(details, style), columns));
        }
        if args.tests {
            // As they were printed, and changed: a line that is broken cannot be searched for or applied.
            out.push_str(&show::tests(details));
        }
        if args.patch {
            out.push_str(&show::change(details, style));
        }
        if args.conversation || args.tests {
            out.push_str(&show::raw(&raw_streams(args, environment, &run_id, step)));
        }
        out.push('\n');
    }
    if let Some(patch) = &last {
        out.push_str(&show::last_change(patch.as_deref(), view.is_mended(), style));
    }
    super::print(&Redactor::new(&environment.secrets()).redact(&out))
}

/// Prints the runs of a log.
pub(super) fn runs(args: &RunsArgs, environment: &Environment) -> anyhow::Result<u8> {
    print_runs(&open(args.audit_db.as_deref(), environment)?, args.format, environment)
}

/// Prints the runs of an open log.
pub(super) fn print_runs(reader: &Reader, form: Form, environment: &Environment) -> anyhow::Result<u8> {
    let mut rows = Vec::new();
    let uncommitted = reader.uncommitted().map_err(|error| failure(&error))?;
    for summary in reader.list_runs().map_err(|error| failure(&error))? {
        let loaded = reader.load_run(&summary.run_id).map_err(|error| failure(&error))?;
        rows.push(row(&loaded, uncommitted.contains(&summary.run_id)));
    }
    let text = match form {
        Form::Text => table(&rows, environment.console().columns(Stream::Out)),
        Form::Json => json::pretty(&rows),
    };
    super::print(&Redactor::new(&environment.secrets()).redact(&text))
}

fn row(loaded: &LoadedRun, is_uncommitted: bool) -> Row {
    let counted = loaded.events.iter().find_map(|event| {
        if let Event::AttemptCounted { pull_request, .. } = event { Some(*pull_request) } else { None }
    });
    let row = Row::of(&details::view_of(loaded).uncommitted(is_uncommitted), counted);
    // A run that an older program wrote has no events.
    if row.run_id.is_empty() { Row { run_id: loaded.run_id.0.clone(), ..row } } else { row }
}

/// The raw streams of an iteration that are kept on this machine, or that lie beside the log, as in an artifact.
fn raw_streams(args: &ShowArgs, environment: &Environment, run: &RunId, step: &Step) -> Vec<String> {
    let Ok(checkout) = current_dir() else { return Vec::new() };
    let log = plan::audit_path(args.audit_db.as_deref(), environment, &checkout);
    // An artifact holds the logs of several ladders a folder or two below its runs.
    let beside = Path::new(&log).ancestors().skip(1).take(3).map(Path::to_owned);
    let homes = std::iter::once(environment.state_home(&checkout)).chain(beside);
    let place = format!("-{}-", stream_place(step.tier_index, step.iteration));
    let of = |home: PathBuf| -> Vec<String> {
        let kept = streams::kept(&streams::folder_of(&home.join(run.short()))).into_iter();
        kept.map(|path| path.display().to_string()).filter(|path| path.contains(&place)).collect()
    };
    // The machine's own files first: those beside the log may be copies.
    homes.map(of).find(|kept| !kept.is_empty()).unwrap_or_default()
}

fn nothing(run: &RunId, steps: &[Step]) -> String {
    if steps.is_empty() {
        return format!(
            "run {} has no iteration\n→ Fix: `upshift report {}` says how it ended",
            run.short(),
            run.short()
        );
    }
    let there: Vec<String> =
        steps.iter().map(|step| format!("--tier {} --iteration {}", step.tier_index + 1, step.iteration)).collect();
    format!("run {} has no such iteration\n→ Fix: it has {}", run.short(), there.join(", "))
}

pub(super) fn open(audit_db: Option<&str>, environment: &Environment) -> anyhow::Result<Reader> {
    let checkout = current_dir()?;
    let path = plan::audit_path(audit_db, environment, &checkout);
    Reader::open(&setup::locate(&path, &checkout, environment)).map_err(|error| failure(&error))
}

pub(super) fn failure(error: &AuditError) -> anyhow::Error {
    Failure::usage(error.to_string())
}
