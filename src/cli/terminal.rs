//! The display for a person while a run is under way: progress on standard error, and on a terminal a spinner with the time.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::console::{self, Console, Stream};
use super::environment::Environment;
use crate::domain::event::{Event, EventSink};
use crate::domain::ladder::Role;
use crate::redact::Redactor;
use crate::report::progress::Progress;
use crate::report::style::Style;
use crate::report::wrap::wrap;
use crate::report::{patch, workflow_command};

/// How often the spinner moves.
const TICK: Duration = Duration::from_millis(120);

/// Writes progress lines to standard error as events come.
#[derive(Debug)]
pub(super) struct Terminal {
    progress: Progress,
    redactor: Arc<Redactor>,
    console: Console,
    spinner: Option<ProgressBar>,
}

impl Terminal {
    /// Colour and a spinner on a terminal, groups in Actions, plain elsewhere. The events `before` are known and not shown again.
    pub(super) fn new(environment: &Environment, before: &[Event], redactor: Arc<Redactor>) -> Self {
        let in_actions = environment.in_actions();
        // A runner's log shows each frame of a spinner as a line of its own.
        let is_terminal = console::is_terminal(Stream::Err) && !in_actions;
        let mut progress =
            Progress::new(if in_actions { Style::Actions } else { environment.console().style(Stream::Err) });
        for event in before {
            // Hearing them brings the counts and the tier up to date.
            let _shown_then = progress.lines(event);
        }
        Self { progress, redactor, console: environment.console(), spinner: is_terminal.then(spinner) }
    }
}

/// Shows the change of a fixed run on standard error: in colour where that is wanted, in a job in a group.
pub(super) fn show_change(patch: &str, environment: &Environment) {
    let shown = patch::render(patch, environment.console().style(Stream::Err));
    if shown.is_empty() {
        return;
    }
    let shown = if environment.in_actions() {
        format!("{}\n{shown}{}\n", workflow_command::group("The change"), workflow_command::end_group())
    } else {
        format!("\n{shown}\n")
    };
    // A closed pipe is nobody to tell.
    let _closed = std::io::stderr().lock().write_all(shown.as_bytes());
}

fn spinner() -> ProgressBar {
    let spinner = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    // The template is ours and sound. A fault in it must not end a run for its look.
    spinner.set_style(style.unwrap_or_else(|_template| ProgressStyle::default_spinner()));
    spinner.enable_steady_tick(TICK);
    spinner
}

/// The work that is waited for after an event. `None` leaves it as it was.
fn waiting_for(event: &Event) -> Option<&'static str> {
    if let Event::CallReserved { scope, .. } = event {
        return Some(match scope.role {
            Role::Librarian => "the librarian is thinking",
            Role::Artisan => "the artisan is thinking",
            Role::Critic => "the critic is thinking",
            Role::Advisor => "advisors are thinking",
        });
    }
    if matches!(event, Event::RunStarted(_)) {
        return Some("running the tests for a baseline");
    }
    if matches!(event, Event::SessionFinished { role: Role::Artisan | Role::Critic, .. }) {
        return Some("running the tests");
    }
    matches!(event, Event::CallSettled(_)).then_some("running its tools")
}

impl EventSink for Terminal {
    fn emit(&mut self, event: &Event) {
        // Once more, as the line will stand there: what parted a secret may be gone from it.
        let lines = self.progress.lines(event);
        let columns = self.console.columns(Stream::Err);
        let lines: Vec<_> = lines.iter().map(|line| wrap(&self.redactor.redact(line), columns)).collect();
        if let Some(spinner) = &self.spinner {
            // Each line by itself, since the spinner puts them above its own.
            lines.iter().flat_map(|line| line.split('\n')).for_each(|line| spinner.println(line));
            if let Some(message) = waiting_for(event) {
                spinner.set_message(message);
            }
            if matches!(event, Event::RunFinished(_)) {
                spinner.finish_and_clear();
                // The report begins after a gap, which a spinner that is cleared does not leave.
                super::say("");
            }
            return;
        }
        let mut err = std::io::stderr().lock();
        let gap = matches!(event, Event::RunFinished(_)).then(String::new);
        for line in lines.into_iter().chain(gap) {
            // A closed standard error must not end a run.
            let _closed = writeln!(err, "{line}");
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // An open group of Actions would swallow the lines of the steps behind.
        for line in self.progress.finish() {
            let _closed = writeln!(std::io::stderr().lock(), "{line}");
        }
    }
}
