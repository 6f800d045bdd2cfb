//! Flags that a signal raises: the end of everything, or first the wish that a session reports.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use super::say;
use crate::domain::stop::{StopCause, StopSource, WrapUp};

/// The flags that a signal raises.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    pub(super) sources: Vec<Arc<StopSource>>,
    pub(super) wrap_up: Option<WrapUp>,
}

/// How long a session may take to report after a Ctrl-C: at a terminal, where it can be typed again, and elsewhere.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(5));

impl Sources {
    /// Ends everything now.
    pub(super) fn raise(&self, cause: StopCause) {
        self.sources.iter().for_each(|source| source.raise(cause));
    }

    /// Has a session under way report first, or at a terminal a change be judged to its end, once. Returns whether that was possible.
    pub(super) fn wrap_up(&self, signal: i32) -> bool {
        // Once only: the second signal finds the wish and ends everything.
        let Some(wrap_up) = self.wrap_up.clone().filter(|wish| wish.wished().is_none()) else {
            return false;
        };
        let cause = StopCause::Signal(signal);
        let typed = std::io::stderr().is_terminal();
        // Elsewhere whoever signals kills after some seconds, and a judgement takes longer than that.
        if typed && wrap_up.is_judging() {
            wrap_up.wish(cause);
            say("The model's change is judged first, then the run ends; Ctrl-C again ends it immediately.");
            return true;
        }
        if !wrap_up.is_in_session() {
            return false;
        }
        wrap_up.wish(cause);
        let patience = if typed { PATIENCE.0 } else { PATIENCE.1 };
        let seconds = patience.as_secs();
        say(&format!(
            "The model is asked for its report, then the run ends, in {seconds} seconds at the latest; Ctrl-C again ends it immediately."
        ));
        let sources = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            // The session may have reported in time. The run then ends by the wish alone.
            if wrap_up.is_in_session() {
                sources.raise(cause);
            }
        });
        true
    }
}
