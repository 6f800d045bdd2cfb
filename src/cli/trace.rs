//! `upshift trace`: the operations of a run as one tree, from the audit log alone.

use clap::{Args as ClapArgs, ValueEnum};

use super::environment::Environment;
use super::show;
use crate::audit::RunStatus;
use crate::redact::Redactor;
use crate::report::operations::{self, Fold, page};

/// The arguments of `trace`.
#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Run id, or a unique prefix of it [default: the latest]
    run: Option<String>,
    /// Audit log to read [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Form::Json)]
    format: Form,
}

/// The forms of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For programs.
    Json,
    /// One self-contained page for a browser.
    Html,
}

/// Reads the log and prints.
pub(super) fn run(args: &Args, environment: &Environment) -> anyhow::Result<u8> {
    let reader = show::open(args.audit_db.as_deref(), environment)?;
    let run_id = match &args.run {
        Some(prefix) => reader.find_run(prefix),
        None => reader.latest_run(),
    };
    let run_id = run_id.map_err(|error| show::failure(&error))?;
    let loaded = reader.load_run(&run_id).map_err(|error| show::failure(&error))?;
    let times = reader.times(&run_id).map_err(|error| show::failure(&error))?;
    let mut fold = Fold::default();
    // Older logs have events without a time.
    for (event, at) in loaded.events.iter().zip(times.iter().map(Option::as_ref).chain(std::iter::repeat(None))) {
        fold.hear(event, at);
    }
    // Operations that were under way at a kill would otherwise be shown as if they went on.
    if loaded.status == RunStatus::Interrupted {
        fold.died();
    }
    let text = match args.format {
        Form::Json => operations::json(&run_id.0, fold.operations()),
        Form::Html => page::render(&run_id.0, fold.operations()),
    };
    super::print(&Redactor::new(&environment.secrets()).redact(&text))
}
