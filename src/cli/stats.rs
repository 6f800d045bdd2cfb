//! `upshift stats`: what tiers and models cost and fixed over all runs, and a ladder that would have cost less.

use std::collections::BTreeSet;

use clap::{Args as ClapArgs, ValueEnum};

use super::console::Stream;
use super::environment::{Environment, current_dir};
use super::retirement::NOTICE_DAYS;
use super::{Failure, details, plan, setup, stop_sources};
use crate::audit::{AuditError, LoadedRun, Reader};
use crate::domain::clock::days_until;
use crate::domain::event::Event;
use crate::domain::model_id::ModelId;
use crate::domain::played::Basis;
use crate::domain::units::RunId;
use crate::model::catalogue;
use crate::policy::ladder;
use crate::redact::Redactor;
use crate::report::view::RunView;
use crate::report::{json, stats};

/// The arguments of `stats`.
#[derive(Debug, ClapArgs)]
pub(crate) struct StatsArgs {
    /// Audit log to read [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

/// The forms of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
}

/// Prints the figures.
pub(super) fn run(args: &StatsArgs, environment: &Environment) -> anyhow::Result<u8> {
    let (loaded, uncommitted) = load(args, environment).map_err(|error| Failure::usage(error.to_string()))?;
    let runs: Vec<(RunView, &[Event])> = loaded
        .iter()
        .map(|run| {
            let view = RunView::from_events(&run.events, details::liveness(&run.status));
            (view.uncommitted(uncommitted.contains(&run.run_id)), run.events.as_slice())
        })
        .collect();
    let mut figures = stats::of_runs(&runs);
    // The project's own runs tell more than a public table, which only helps at the beginning.
    let suggestion = ladder::suggest(&stats::played(&runs), Basis::History).or_else(|| {
        let keyed = ladder::public_table(|model| is_usable(model, environment));
        ladder::suggest(&keyed, Basis::PublicTable)
    });
    if let Some(suggestion) = &suggestion {
        figures.suggest(suggestion);
    }
    let text = match args.format {
        Form::Text => stats::render(&figures, environment.console().columns(Stream::Out)),
        Form::Json => json::versioned(&figures),
    };
    super::print(&Redactor::new(&environment.secrets()).redact(&text))
}

/// The runs of the log, and those of them whose fix is not on the branch.
fn load(args: &StatsArgs, environment: &Environment) -> Result<(Vec<LoadedRun>, BTreeSet<RunId>), AuditError> {
    let checkout = current_dir().unwrap_or_default();
    let path = plan::audit_path(args.audit_db.as_deref(), environment, &checkout);
    let reader = Reader::open(&setup::locate(&path, &checkout, environment))?;
    let runs = reader.list_runs()?.iter().map(|run| reader.load_run(&run.run_id)).collect::<Result<_, _>>()?;
    Ok((runs, reader.uncommitted()?))
}

/// Whether the model can be asked from here, and for a while: a ladder of others would be of no use.
fn is_usable(model: &str, environment: &Environment) -> bool {
    let Some(id) = ModelId::parse(model) else { return false };
    let has_key = catalogue::built_in_endpoint(&id.provider)
        .is_some_and(|endpoint| endpoint.key_vars.iter().any(|variable| environment.get(variable).is_some()));
    let now_ms = stop_sources::clock(environment).unix_ms();
    let ends = catalogue::retirement(&id).and_then(|retirement| days_until(retirement.day, now_ms));
    // A model that ends soon would be a suggestion with a date of expiry.
    has_key && ends.is_none_or(|days| days > NOTICE_DAYS)
}
