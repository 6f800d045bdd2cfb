//! What a person sees while a run is under way: progress on standard error, as lines.

use std::io::{IsTerminal as _, Write as _};

use crate::domain::event::{Event, EventSink};
use crate::report::progress::Progress;
use crate::report::style::Style;

/// Writes progress lines to standard error as events come.
#[derive(Debug)]
pub(super) struct Terminal {
    progress: Progress,
}

impl Terminal {
    /// Colour on a terminal, groups in Actions, plain elsewhere.
    pub(super) fn new(in_actions: bool) -> Self {
        Self { progress: Progress::new(style(in_actions)) }
    }
}

/// How standard error wants to be written to.
pub(super) fn style(in_actions: bool) -> Style {
    if in_actions {
        Style::Actions
    } else if std::io::stderr().is_terminal() {
        Style::Colour
    } else {
        Style::Plain
    }
}

impl EventSink for Terminal {
    fn emit(&mut self, event: &Event) {
        let lines = self.progress.lines(event);
        let mut err = std::io::stderr().lock();
        for line in lines {
            // A closed standard error must not end a run.
            let _closed = writeln!(err, "{line}");
        }
    }
}
