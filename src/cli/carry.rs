//! A run that is carried to its end: who listens, what is told at last, and which exit code it comes to.

use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use super::prepared::Prepared;
use super::setup::{Setup, locate};
use super::step::{self, Ended, Step};
use super::{details, left_behind, lines, report, terminal};
use crate::audit::Journal;
use crate::config::Format;
use crate::domain::event::{Event, EventSink, HAD_TO_STOP};
use crate::domain::outcome::{EXIT_INTERNAL, Outcome};
use crate::lifecycle::comment::Writer;
use crate::lifecycle::state::RunState;
use crate::lifecycle::{self, Finished, World};
use crate::report::view::{Liveness, RunView};
use crate::session::Replay;
use crate::workspace::Workspace;

/// How long the end of a run waits for a collector of telemetry.
const LAST_SPANS: Duration = Duration::from_secs(3);
/// The same of a run that is stopped.
const LAST_SPANS_OF_A_STOP: Duration = Duration::from_millis(500);

impl Setup<'_> {
    /// The listeners of a run. `before` holds the events of its past, which they know but do not show again.
    pub(super) fn listeners(&self, prepared: &Prepared, before: &[Event], format: Format) -> Vec<Box<dyn EventSink>> {
        let mut listeners: Vec<Box<dyn EventSink>> = Vec::new();
        if format == Format::Jsonl {
            // Quiet leaves progress out. Lines of JSON are the result, so they come all the same.
            listeners.push(Box::new(lines::Lines::new(before)));
        }
        if !self.environment.console().is_quiet() {
            let terminal = terminal::Terminal::new(self.environment, before, Arc::clone(&self.redactor));
            listeners.push(Box::new(terminal));
        }
        listeners.push(Box::new(left_behind::Pulse::of(&prepared.workspace)));
        if let Some(writer) = &prepared.writer {
            listeners.push(Box::new(writer.listener()));
        }
        if let Some(telemetry) = &prepared.telemetry {
            listeners.push(Box::new(telemetry.exporter(before)));
        }
        watched(listeners, self.environment)
    }

    /// Carries a run to its end and prints its report.
    pub(super) async fn carry(
        &self,
        mut prepared: Prepared,
        mut journal: Journal,
        state: RunState,
        replay: Replay,
    ) -> anyhow::Result<u8> {
        // Both are finished below by value, while the world goes on borrowing the rest.
        let (writer, telemetry) = (prepared.writer.take(), prepared.telemetry.take());
        let world = World { naming: writer.as_ref().map(Writer::naming), ..self.world(&state, &prepared) };
        let (format, run_id) = (state.plan.format, state.run_id.clone());
        let (audit, fail_on) = (state.plan.audit.clone(), state.plan.github.fail_on.clone());
        let ran = lifecycle::run(world, &mut journal, &state, replay).await;
        if let Err(error) = &ran {
            // Told as an event, so that comment, summary and outputs of what was paid for say it, too.
            // Its next step says how the run goes on.
            journal.emit(&Event::Warning { message: format!("{HAD_TO_STOP}{error}") });
        }
        // Raw streams are kept beside the log, so their trouble is told before the log is closed.
        if let Some(message) = prepared.streams.as_ref().and_then(|streams| streams.trouble()) {
            journal.emit(&Event::Warning { message });
        }
        let lacks = journal.settle_up();
        // Read while the log is open: the comment, the report and the summary all show it.
        let kept = details::change_at_the_end(&journal, &run_id);
        if let Some(writer) = writer
            && let Some(message) = writer.finish(&prepared.stops.signals, &kept).await
        {
            journal.emit(&Event::Warning { message });
        }
        if let Some(telemetry) = telemetry {
            let limit = if prepared.stops.signals.raised().is_some() { LAST_SPANS_OF_A_STOP } else { LAST_SPANS };
            // A collector may say what it was sent, with the key in its headers.
            let notice = telemetry.finish(limit).await;
            notice.iter().for_each(|notice| super::say(&self.redactor.redact(&format!("⚠ {notice}"))));
        }
        let patch = self.change(&prepared.workspace, ran.as_ref().ok()).await;
        let ran = ran.map(|finished| finished.outcome);
        // A warning that the writer gave is an event too, so the view is made after all of them.
        let events = journal.events().to_vec();
        let kept_in = self.kept_in(&run_id, audit.as_deref());
        let view = RunView::from_events(&events, Liveness::Ended).kept_in(kept_in).lacking(lacks);
        let view = view.logged_in(audit.as_deref());
        // No branch holds it then, and the working tree of a runner is gone with its job.
        let patch = if view.is_change_here_alone() && patch.is_empty() { kept } else { patch };
        let step = Step::of(self.environment);
        let page = step.map(|_| details::page_at_the_end(&journal, &view, &self.redactor));
        // How the log stands was told above.
        drop(journal.close());
        let console = self.environment.console();
        let report = report::render_ended(&view, (format, console), &self.redactor);
        // Standard output belongs to the report, which programs read. The diff goes to standard error.
        if format == Format::Text && !console.is_quiet() {
            terminal::show_change(&self.redactor.redact(&patch), self.environment);
        }
        let (Some(step), Some(page)) = (step, page) else {
            report::print_ended(&report, &view, &self.redactor);
            return Ok(ran.map_or(EXIT_INTERNAL, |outcome| outcome.exit_code()));
        };
        // Jobs read standard output for commands, and a test may have printed one. JSON escapes its line ends already.
        let printed = if format == Format::Text { step.inert(&report) } else { report };
        report::print_ended(&printed, &view, &self.redactor);
        let told = step.finish(&Ended {
            view: &view,
            patch: &patch,
            page: &page,
            audit_db: audit.map(|configured| locate(&configured, self.checkout, self.environment).live),
            state_home: self.environment.state_home(self.checkout),
            context: self.context,
            redactor: &self.redactor,
        });
        told.iter().for_each(|warning| super::say(&format!("⚠ {warning}")));
        // As a step the exit code follows `fail-on`, so that a parked run does not turn a job red.
        Ok(ran.map_or(EXIT_INTERNAL, |outcome| step::exit_code(&outcome, fail_on.as_deref())))
    }

    /// The diff of a run that fixed something, for its report. Empty for any other run.
    async fn change(&self, workspace: &Workspace, ran: Option<&Finished>) -> String {
        let Some(Finished { outcome: Outcome::Fixed { .. }, change: Some((start, end)) }) = ran else {
            return String::new();
        };
        // The fix is delivered by now. A diff that cannot be shown is no reason to fail it.
        let diff = workspace.diff(start, end).await.map(|diff| diff.text).unwrap_or_default();
        self.redactor.redact_diff(&diff).into_owned()
    }
}

/// The listeners, and whoever a test has kill the process.
pub(super) fn watched(listeners: Vec<Box<dyn EventSink>>, environment: &Environment) -> Vec<Box<dyn EventSink>> {
    #[cfg(all(debug_assertions, unix))]
    let listeners = with_crash(listeners, environment);
    #[cfg(not(all(debug_assertions, unix)))]
    let _ = environment;
    listeners
}

#[cfg(all(debug_assertions, unix))]
fn with_crash(mut listeners: Vec<Box<dyn EventSink>>, environment: &Environment) -> Vec<Box<dyn EventSink>> {
    if let Some(crash) = super::crash::CrashAfter::from(environment) {
        listeners.push(Box::new(crash));
    }
    listeners
}
