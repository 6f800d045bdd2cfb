//! Records that the log holds of a run beside its events: conversations, outputs of tests, changes, and whether it goes on.

use serde_json::json;

use crate::audit::{AuditError, Journal, LoadedRun, RecordedReplies, RunStatus};
use crate::domain::chat::Reply;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::receipt::Receipt;
use crate::domain::units::RunId;
use crate::lifecycle::{KEPT_AT_THE_END, KEPT_PATCH, KEPT_TESTS, kept_under};
use crate::redact::Redactor;
use crate::report::html::{self, Page};
use crate::report::show::{self, Details, Step};
use crate::report::view::{Liveness, RunView};
use crate::report::words::count;
use crate::session::SNAPSHOT_KIND;

/// Reads what a log holds of a run beside its events.
pub(super) trait Snapshots {
    /// A snapshot's body, by its kind and the session or place that it is kept under. `None` where the log holds none.
    fn body(&self, run: &RunId, kind: &str, under: &str) -> Result<Option<String>, AuditError>;

    /// The replies of an iteration, in order.
    fn replies(&self, run: &RunId, step: &Step) -> Result<RecordedReplies, AuditError>;
}

impl Snapshots for crate::audit::Reader {
    fn body(&self, run: &RunId, kind: &str, under: &str) -> Result<Option<String>, AuditError> {
        self.load_snapshot(run, kind, under)
    }

    fn replies(&self, run: &RunId, step: &Step) -> Result<RecordedReplies, AuditError> {
        self.recorded_replies(run, step.tier_index, step.iteration)
    }
}

impl Snapshots for crate::audit::Kept<'_> {
    /// The run is the one whose snapshots these are.
    fn body(&self, _run: &RunId, kind: &str, under: &str) -> Result<Option<String>, AuditError> {
        self.load(kind, under)
    }

    fn replies(&self, _run: &RunId, step: &Step) -> Result<RecordedReplies, AuditError> {
        self.recorded_replies(step.tier_index, step.iteration)
    }
}

/// Whether a run still goes on, as its log has it.
pub(super) fn liveness(status: &RunStatus) -> Liveness {
    match status {
        RunStatus::Running => Liveness::Alive,
        RunStatus::Interrupted => Liveness::Dead,
        RunStatus::Ended(_) => Liveness::Ended,
    }
}

/// A run as its log has it.
pub(super) fn view_of(loaded: &LoadedRun) -> RunView {
    let view = RunView::from_events(&loaded.events, liveness(&loaded.status)).lacking(loaded.lacks);
    // Only a log that is whole may look whole.
    if loaded.lacks == 0 {
        return view;
    }
    let lacks = count(loaded.lacks, "record");
    let message =
        format!("the audit log lacks {lacks} of this run, because no disk could store them: this report is incomplete");
    // It stands first, since every other line is to be read with it in mind.
    RunView { warnings: std::iter::once(message).chain(view.warnings).collect(), ..view }
}

/// The details that are kept of one iteration.
///
/// # Errors
/// When the log cannot be read.
pub(super) fn of_step(log: &impl Snapshots, run: &RunId, step: &Step) -> Result<Details, AuditError> {
    let mut conversations = Vec::new();
    for (role, session) in &step.sessions {
        let conversation = match log.body(run, SNAPSHOT_KIND, session)? {
            // The whole conversation is written at a session's end. A killed session has only its replies.
            None => unfinished(*role, session, &log.replies(run, step)?),
            whole => whole,
        };
        conversations.extend(conversation);
    }
    let under = kept_under(step.tier_index, step.iteration);
    Ok(Details {
        conversations,
        tests: text(log, run, KEPT_TESTS, &under)?,
        patch: text(log, run, KEPT_PATCH, &under)?,
        trouble: None,
    })
}

/// What is left of the conversation of a session that did not end: its process was killed, or works on it still. The replies were kept
/// when they came, since a resume replays them. `None` where none came.
fn unfinished(role: Role, session: &str, replies: &RecordedReplies) -> Option<String> {
    let of_session = replies.iter().filter(|(receipt, _)| receipt.scope.session_id == session);
    let entry = |(receipt, reply): &(Receipt, Option<Reply>)| {
        let Reply { text, tool_calls, .. } = reply.as_ref()?;
        Some(json!({ "entry": "theirs", "target": receipt.target, "text": text, "calls": tool_calls }))
    };
    let entries: Vec<serde_json::Value> = of_session.filter_map(entry).collect();
    let result = "not yet, these are its replies only; a resume continues after them";
    (!entries.is_empty()).then(|| json!({ "role": role, "result": result, "entries": entries }).to_string())
}

/// The change with which the run ended, be it in the files or kept beside the log.
///
/// # Errors
/// When the log cannot be read.
pub(super) fn last_patch(log: &impl Snapshots, run: &RunId) -> Result<Option<String>, AuditError> {
    text(log, run, KEPT_PATCH, KEPT_AT_THE_END)
}

fn text(log: &impl Snapshots, run: &RunId, kind: &str, under: &str) -> Result<Option<String>, AuditError> {
    let body = log.body(run, kind, under)?;
    // A text that is not the JSON we wrote is as good as none: reports show less and still come.
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// The page of a run that just ended. It is made of what this process did, and reads the database only for what another one did before.
pub(super) fn page_at_the_end(journal: &Journal, view: &RunView, redactor: &Redactor) -> String {
    let run = run_of(view);
    page(&journal.store().snapshots(&run), view, journal.events(), redactor)
}

/// The change with which a run just ended. Empty where there is none, or where the log cannot give it.
pub(super) fn change_at_the_end(journal: &Journal, run: &RunId) -> String {
    // This is shown and nothing hangs on it. A log that cannot give it was told of already.
    last_patch(&journal.store().snapshots(run), run).ok().flatten().unwrap_or_default()
}

/// The run as a page. Where the log cannot give the details of an iteration, that is said in their place.
pub(super) fn page(log: &impl Snapshots, view: &RunView, events: &[Event], redactor: &Redactor) -> String {
    let run = run_of(view);
    let details = |step: Step| {
        let details = of_step(log, &run, &step)
            .unwrap_or_else(|error| Details { trouble: Some(error.to_string()), ..Details::default() });
        (step, details)
    };
    let steps: Vec<(Step, Details)> = show::steps(events).into_iter().map(details).collect();
    let patch = last_patch(log, &run).ok().flatten().unwrap_or_default();
    // Details come from snapshots that may have been written before a key was known as one.
    redactor.redact(&html::render(&Page { view, events, steps: &steps, patch: &patch })).into_owned()
}

fn run_of(view: &RunView) -> RunId {
    view.run.as_ref().map_or_else(|| RunId(String::new()), |run| run.run_id.clone())
}
