//! `upshift report`: renders any run from the audit log alone.

use std::path::Path;

use clap::{Args as ClapArgs, ValueEnum};
use serde::Serialize;

use super::console::{Console, Stream};
use super::environment::{Environment, current_dir};
use super::{Failure, details, plan, setup, show};
use crate::audit::{AuditError, LoadedRun, Reader, VerifyError};
use crate::config::Format;
use crate::domain::clock::Timestamp;
use crate::domain::outcome::{EXIT_NOT_FIXED, EXIT_SUCCESS};
use crate::domain::units::RunId;
use crate::redact::Redactor;
use crate::report::markdown::Surface;
use crate::report::style::Style;
use crate::report::view::RunView;
use crate::report::wrap::wrap;
use crate::report::{json, jsonl, markdown, text, words};

/// The key of a report that belongs to no pull request.
const LOCAL_KEY: &str = "local";

/// The arguments of `report`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Run id, or a unique prefix of it [default: the latest]
    run: Option<String>,
    /// Audit log to read [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
    /// List the runs in the log, as `upshift runs` does
    #[arg(long, conflicts_with_all = ["run", "verify"])]
    list: bool,
    /// Verify the hash chain of this run; exits 1 if the log was changed
    #[arg(long)]
    verify: bool,
}

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a terminal.
    Text,
    /// Markdown.
    #[value(alias = "markdown")]
    Md,
    /// One self-contained page for a browser, with every iteration to unfold.
    Html,
    /// For programs.
    Json,
    /// Every event as a line, then the report, as `run --format jsonl` tells them.
    Jsonl,
}

/// Reads the log and prints.
pub(super) fn run(args: &Args, environment: &Environment) -> anyhow::Result<u8> {
    let checkout = current_dir()?;
    let path = plan::audit_path(args.audit_db.as_deref(), environment, &checkout);
    let location = setup::locate(&path, &checkout, environment);
    let reader = Reader::open(&location).map_err(|error| failure(&error))?;
    // Both forms of JSON are one here: a list has no events to stream.
    if args.list {
        return match args.format {
            Form::Json | Form::Jsonl => show::print_runs(&reader, super::form::Form::Json, environment),
            Form::Text => show::print_runs(&reader, super::form::Form::Text, environment),
            Form::Md | Form::Html => Err(Failure::usage(
                "a list of runs is text or JSON: `--list --format json`, or a run's id without `--list`",
            )),
        };
    }
    if args.verify {
        let run_id = reader.run_to_verify(args.run.as_deref()).map_err(|error| failure(&error))?;
        return verify(&reader, &run_id, args.format);
    }
    let run_id = match &args.run {
        Some(prefix) => reader.find_run(prefix),
        None => reader.latest_run(),
    };
    let run_id = run_id.map_err(|error| failure(&error))?;
    let loaded = reader.load_run(&run_id).map_err(|error| failure(&error))?;
    if args.format == Form::Jsonl {
        super::print(&events(&loaded, &reader.times(&run_id).map_err(|error| failure(&error))?))?;
    }
    let opened = Opened { log: &path, live: location.live.as_path() };
    super::print(&render(&loaded, args.format, environment, (&reader, opened)))
}

/// A log as its reader named it, and where it is.
#[derive(Debug, Clone, Copy)]
struct Opened<'o> {
    log: &'o str,
    live: &'o Path,
}

impl Opened<'_> {
    /// The run with the paths of where its log is now.
    fn tell(self, view: RunView) -> RunView {
        let run = view.run.as_ref().map(|run| run.run_id.clone());
        view.read_from(self.log, |kept| self.kept(run.as_ref(), kept))
    }

    /// A file that the run kept: where it was, or in the run's folder near the log, as an artifact has it.
    fn kept(self, run: Option<&RunId>, kept: &str) -> Option<String> {
        if Path::new(kept).is_file() {
            return Some(kept.to_owned());
        }
        let short = run?.short();
        let name = Path::new(kept).file_name()?;
        // As it was named, so that a person in the same folder can use it; then as it is.
        // The folder of the log and two above it, as an artifact lays out its files.
        let folders = [Path::new(self.log), self.live].into_iter().flat_map(|log| log.ancestors().skip(1).take(3));
        let found = folders.map(|folder| folder.join(short).join(name)).find(|path| path.is_file())?;
        Some(found.display().to_string())
    }
}

fn render(
    loaded: &LoadedRun,
    form: Form,
    environment: &Environment,
    (reader, opened): (&Reader, Opened<'_>),
) -> String {
    // No plan is read here, so the keys that are known are those whose variables' names tell.
    let redactor = &Redactor::new(&environment.secrets());
    let view = opened.tell(details::view_of(loaded));
    match form {
        Form::Text => read(&view, environment.console(), redactor),
        Form::Md => shown(&markdown::render(&view, Surface::Summary, LOCAL_KEY), redactor),
        Form::Html => details::page(reader, &view, &loaded.events, redactor),
        Form::Json => json::render(&view),
        Form::Jsonl => jsonl::last(&view),
    }
}

/// The events of a run as lines, as they were told when they happened.
fn events(loaded: &LoadedRun, times: &[Option<Timestamp>]) -> String {
    let mut stream = jsonl::Stream::default();
    // A log of an older version may have fewer times than events.
    let times = times.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    loaded.events.iter().zip(times).map(|(event, at)| stream.lines(event, at)).collect()
}

/// The report of a run that just ended, as `run` and `resume` print it.
pub(super) fn render_ended(view: &RunView, (format, console): (Format, Console), redactor: &Redactor) -> String {
    match format {
        Format::Text => read(view, console, redactor),
        Format::Json => json::render(view),
        Format::Jsonl => jsonl::last(view),
    }
}

/// Prints the report of a run that just ended. The run stands as it does: a report that cannot be written is told of, with its first line.
pub(super) fn print_ended(report: &str, view: &RunView, redactor: &Redactor) {
    let Err(error) = super::print(report) else { return };
    let words = error.to_string();
    // The fix of that error is about the stream. Below stands a better one, to print it again.
    let why = words.split('\n').next().unwrap_or_default();
    let again = words::log_commands(view).into_iter().find(|command| command.starts_with("upshift report"));
    let fix = again.map(|command| format!("\n→ Fix: `{command}` prints the report again")).unwrap_or_default();
    super::say(&shown(&format!("{}\n⚠ {why}{fix}", text::headline(view, Style::Plain)), redactor));
}

/// The report for people, set to the width of their terminal.
fn read(view: &RunView, console: Console, redactor: &Redactor) -> String {
    wrap(&shown(&text::laid_out(view, console.style(Stream::Out)), redactor), console.columns(Stream::Out))
}

/// A rendered text without secrets. Events hold none, but what parted one in them may be gone from the text.
fn shown(text: &str, redactor: &Redactor) -> String {
    redactor.redact(text).into_owned()
}

/// The document that `--verify --format json` prints. Its keys stay.
#[derive(Debug, Serialize)]
struct VerifiedDocument<'a> {
    version: u32,
    run_id: &'a str,
    ok: bool,
    /// Null where the chain is broken.
    head: Option<&'a str>,
    links: Option<u64>,
    problem: Option<String>,
}

fn verify(reader: &Reader, run: &RunId, form: Form) -> anyhow::Result<u8> {
    let verified = reader.verify(run);
    // A log that cannot be read is no finding about its chain, and prints no document.
    if matches!(form, Form::Json | Form::Jsonl) && !matches!(verified, Err(VerifyError::Log(_))) {
        let whole = verified.as_ref().ok();
        super::print(&json::pretty(&VerifiedDocument {
            version: 1,
            run_id: &run.0,
            ok: whole.is_some(),
            head: whole.map(|verified| verified.head.as_str()),
            links: whole.map(|verified| verified.links),
            problem: verified.as_ref().err().map(ToString::to_string),
        }))?;
        return Ok(if whole.is_some() { EXIT_SUCCESS } else { EXIT_NOT_FIXED });
    }
    match verified {
        Ok(verified) => {
            super::print(&format!("✔ {run}: {} links, unbroken\n  head {}\n", verified.links, verified.head))?;
            Ok(EXIT_SUCCESS)
        }
        // An edited log is a result, so it goes to standard output with a code of its own.
        Err(error @ (VerifyError::Broken(_) | VerifyError::Unchained(_))) => {
            super::print(&format!("✖ {run}: {error}\n"))?;
            Ok(EXIT_NOT_FIXED)
        }
        Err(error @ VerifyError::Log(_)) => Err(Failure::usage(error.to_string())),
    }
}

/// Whether there is a log at that path, or a live one for it.
pub(super) fn exists(path: &str, checkout: &Path, environment: &Environment) -> bool {
    let location = setup::locate(path, checkout, environment);
    location.shown.exists() || location.live.exists()
}

/// There is no log to read.
pub(super) fn no_log(path: &str) -> anyhow::Error {
    Failure::usage(format!(
        "there is no audit log at {path}\n→ Fix: go to the folder where upshift ran, name the log with --audit-db PATH, or start with \
         `upshift run`"
    ))
}

fn failure(error: &AuditError) -> anyhow::Error {
    Failure::usage(error.to_string())
}
