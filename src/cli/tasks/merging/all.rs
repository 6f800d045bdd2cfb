//! From logs to commits.

use super::super::super::plan::Resolved;
use super::super::super::setup::{self, Setup};
use super::super::ready::{is_stopped, unreadable};
use super::court::Court;
use super::rows::{Candidate, Wish};
use super::told::Report;
use super::{logs, noted, queue, sum};
use crate::audit::Reader;
use crate::domain::stop::Stop;
use crate::workspace::Revisions;

/// Joins the logs, and merges what they hold.
pub(in crate::cli::tasks) async fn all(
    wish: &Wish<'_>,
    setup: &Setup<'_>,
    resolved: &Resolved,
    (revisions, stop): (&Revisions<'_>, &Stop),
) -> anyhow::Result<Report> {
    let joined = logs::join(wish, setup)?;
    // Opened behind the join, so that it sees what was just taken in.
    let reader = Reader::open(&setup::locate(wish.into, setup.checkout, setup.environment));
    let reader = reader.map_err(|error| setup::audit_failure(&error))?;
    let (waiting, rows) = logs::candidates(&joined, &reader, wish)?;
    let court = Court::new(setup, resolved, revisions, wish);
    let mut report = Report::of(joined, rows, wish.source);
    match looked_through(&court, waiting, (&reader, stop), &mut report).await {
        Ok(()) => {}
        // What was merged until then is told.
        Err(error) if is_stopped(&error) => report.stop(),
        Err(error) => return Err(error),
    }
    noted::note(&report, wish, setup, resolved.plan.budget.max_cost)?;
    Ok(report)
}

/// Merges what waits, and looks at all of it together.
async fn looked_through(
    court: &Court<'_>,
    waiting: Vec<Candidate>,
    (reader, stop): (&Reader, &Stop),
    report: &mut Report,
) -> anyhow::Result<()> {
    queue::work_off(court, waiting, reader, stop, report).await?;
    // Those of an earlier call stand where they were committed.
    let order = court.revisions.in_order().await.map_err(unreadable)?;
    // The order of the commits, in which the fixes build on each other.
    report.done.sort_by_key(|done| order.iter().position(|commit| *commit == done.commit));
    // Half of the fixes together would be judged as if they were all.
    if !report.is_stopped() {
        sum::check(court, stop, report).await?;
    }
    Ok(())
}
