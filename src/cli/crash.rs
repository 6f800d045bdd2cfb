//! A kill -9 at a chosen event, for tests of `resume`. Not in release builds.

use rustix::process::{Signal, getpid, kill_process};

use super::environment::Environment;
use crate::domain::event::{Event, EventSink};

/// Names the event, as in the log, and how many of it are survived: `call_settled:3`.
const VARIABLE: &str = "UPSHIFT_CRASH_AFTER";

/// Kills this process when it hears the event.
#[derive(Debug)]
pub(super) struct CrashAfter {
    event: String,
    left: u32,
}

impl CrashAfter {
    /// The crash that the environment asks for. `None` where it asks for none.
    pub(super) fn from(environment: &Environment) -> Option<Self> {
        // A broken wish is no crash at all: the test that set it then sees the run go on.
        let (event, count) = environment.get(VARIABLE)?.split_once(':')?;
        Some(Self { event: event.to_owned(), left: count.parse().ok()? })
    }
}

impl EventSink for CrashAfter {
    fn emit(&mut self, event: &Event) {
        let name = serde_json::to_value(event).ok().and_then(|value| Some(value.get("event")?.as_str()?.to_owned()));
        if name.as_deref() != Some(&self.event) {
            return;
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            // Nothing is done after this line, whatever it returns.
            let _dead = kill_process(getpid(), Signal::KILL);
        }
    }
}
