//! An agent's standard output, read as it comes.

use serde_json::Value;

use super::event::AgentEvent;
use super::known::Backend;
use super::lines::{Line, Lines};

/// The longest name of an unknown kind that is kept, in characters.
const MAX_KIND: usize = 80;

/// Reads the stream of one agent.
#[derive(Debug)]
pub struct AgentStream {
    backend: Backend,
    lines: Lines,
}

impl AgentStream {
    /// The stream of a session that begins.
    #[must_use]
    pub fn of(backend: Backend) -> Self {
        Self { backend, lines: Lines::default() }
    }

    /// Takes the next bytes.
    #[must_use]
    pub fn push(&mut self, bytes: &[u8]) -> Vec<AgentEvent> {
        let mut lines = Vec::new();
        self.lines.push(bytes, &mut lines);
        lines.into_iter().flat_map(|line| self.read(&line)).collect()
    }

    /// Reads what is left when the program has ended: a last line without its end.
    #[must_use]
    pub fn finish(&mut self) -> Vec<AgentEvent> {
        self.lines.finish().map(|line| self.read(&line)).unwrap_or_default()
    }

    fn read(&self, line: &Line) -> Vec<AgentEvent> {
        let unknown = |kind: &str| AgentEvent::Unknown { kind: kind.chars().take(MAX_KIND).collect() };
        let Line::Text(text) = line else { return vec![unknown("a line that is too long")] };
        let value = match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() => value,
            Ok(_) | Err(_) => return vec![unknown(text)],
        };
        let mut events = Vec::new();
        (self.backend.agent().read)(&value, &mut events);
        // Counted by its kind, so that a new version of the agent shows in the log.
        if events.is_empty() {
            events.push(unknown(value.get("type").and_then(Value::as_str).unwrap_or("an object without a type")));
        }
        events
    }
}
