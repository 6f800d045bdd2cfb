//! The lines that the seed calls `agent:*` and `iteration:rate-limited`, from the events of a task's run: the same things under its names.

use serde_json::{Map, Value, json};

/// The turn of a task, as lines tell of it.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// The task, as `backlog/task`.
    pub(super) key: String,
    /// The number of the turn, and the task as it stands. `None` for a job that has tasks of its own to tell of.
    pub(super) of: Option<(u32, Value)>,
}

/// The lines of one run, which know of the agent that was asked first.
#[derive(Debug)]
pub(super) struct SeedsLines {
    turn: Turn,
    primary: Option<String>,
    limited_at: Option<Value>,
    /// How often a limit was waited for.
    waits: u32,
}

impl SeedsLines {
    pub(super) const fn new(turn: Turn) -> Self {
        Self { turn, primary: None, limited_at: None, waits: 0 }
    }

    /// A line of a run as it is handed on: with the key of its task, unless it says of itself which task it is of.
    pub(super) fn with_key(&self, mut line: Map<String, Value>) -> Map<String, Value> {
        // A job that works off a backlog of its own prints lines that name their tasks already.
        if !of_a_task(&line) {
            line.insert("taskKey".to_owned(), json!(self.turn.key));
        }
        line
    }

    /// The line under the seed's name that stands beside an event's. `None` where it has none, or stands there already.
    pub(super) fn beside(&mut self, line: &Map<String, Value>) -> Option<Value> {
        let (iteration, task) = self.turn.of.clone().filter(|_turn| !of_a_task(line))?;
        let at = line.get("timestamp").cloned().unwrap_or_default();
        let mut said = match output(line) {
            Some(said) => said,
            None => self.beside_event(line.get("event")?.as_object()?, &at)?,
        };
        let more = [("timestamp", at), ("iteration", json!(iteration)), ("task", task)];
        if let Some(said) = said.as_object_mut() {
            said.extend(more.map(|(key, value)| (key.to_owned(), value)));
            said.insert("taskKey".to_owned(), json!(self.turn.key));
        }
        Some(said)
    }

    fn beside_event(&mut self, event: &Map<String, Value>, at: &Value) -> Option<Value> {
        let of = |key: &str| event.get(key).cloned().unwrap_or_default();
        let name = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
        let said = match event.get("event")?.as_str()? {
            "agent_switched" => {
                // The agent of the first switch is the one that was asked first. Later switches lead away from it or back.
                let primary = self.primary.get_or_insert_with(|| name("from").unwrap_or_default()).clone();
                let is_back = name("to").as_ref() == Some(&primary);
                self.limited_at =
                    // The time of the first limit counts, however many agents are tried behind it.
                    if is_back { None } else { Some(self.limited_at.take().unwrap_or_else(|| at.clone())) };
                let instead = (!is_back).then(|| of("to"));
                json!({
                    "type": "agent:switched",
                    "previousAgent": of("from"),
                    "newAgent": of("to"),
                    "reason": if is_back { "primary" } else { "fallback" },
                    "rateLimitState": limits(&primary, self.limited_at.as_ref(), instead),
                    "rateLimitMessage": of("reason"),
                    "until": of("until"),
                })
            }
            "agents_all_limited" => {
                let first = event.get("targets").and_then(|all| all.get(0)?.as_str());
                // Without any switch the first of the targets is the one that was asked.
                let primary = self.primary.clone().or(first.map(str::to_owned)).unwrap_or_default();
                let limited_at = self.limited_at.clone().unwrap_or_else(|| at.clone());
                json!({
                    "type": "agent:all-limited",
                    "triedAgents": of("targets"),
                    "rateLimitState": limits(&primary, Some(&limited_at), None),
                    "rateLimitMessage": of("reason"),
                    "until": of("until"),
                })
            }
            "agent_recovery_attempted" => {
                if of("recovered") == json!(true) {
                    self.limited_at = None;
                }
                json!({
                    "type": "agent:recovery-attempted",
                    "primaryAgent": of("target"),
                    "fallbackAgent": of("instead"),
                    "success": of("recovered"),
                    // It is asked its own next question, and not a question to find out.
                    "testDurationMs": 0,
                    "rateLimitMessage": Value::Null,
                })
            }
            "models_unavailable" => {
                self.waits += 1;
                json!({
                    "type": "iteration:rate-limited",
                    "retryAttempt": self.waits,
                    // Waits are bounded by time, and not by their number.
                    "maxRetries": Value::Null,
                    "delayMs": of("wait_ms"),
                    "rateLimitMessage": of("said"),
                    "usedRetryAfter": !of("until").is_null(),
                })
            }
            // Other events have no counterpart among the seed's lines.
            _ => return None,
        };
        Some(said)
    }
}

/// The words of an agent as the seed's `agent:output`: those beside its calls, and its report's summary.
fn output(line: &Map<String, Value>) -> Option<Value> {
    let key = match line.get("type")?.as_str()? {
        "agent_update" => "taskStatus",
        "agent_finished" => "summary",
        _ => return None,
    };
    let said = line.get(key)?.as_str().filter(|said| !said.is_empty())?;
    Some(json!({ "type": "agent:output", "stream": "stdout", "data": said, "agentPath": line.get("agentPath") }))
}

/// The seed's `RateLimitState`.
fn limits(primary: &str, limited_at: Option<&Value>, instead: Option<Value>) -> Value {
    let mut state = json!({ "primaryAgent": primary });
    for (key, value) in [("limitedAt", limited_at.cloned()), ("fallbackAgent", instead)] {
        // A key without a value is left out, as the seed's type has it.
        if let (Some(state), Some(value)) = (state.as_object_mut(), value) {
            state.insert(key.to_owned(), value);
        }
    }
    state
}

/// Whether a line says of itself which task it is of: one of a backlog that was worked off by another process.
fn of_a_task(line: &Map<String, Value>) -> bool {
    line.contains_key("task") || line.contains_key("taskKey")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::agents::{AgentRecovery, AgentSwitch, AllLimited};
    use crate::domain::event::Event;
    use crate::domain::ladder::Role;

    fn lines() -> SeedsLines {
        SeedsLines::new(Turn { key: "b/T1".to_owned(), of: Some((2, json!({ "id": "T1" }))) })
    }

    fn told(lines: &mut SeedsLines, event: &Event) -> Option<Value> {
        let line = json!({ "type": "event", "timestamp": "t", "event": event });
        lines.beside(line.as_object().unwrap())
    }

    fn switched(from: &str, to: &str) -> Event {
        let (from, to, reason) = (from.to_owned(), to.to_owned(), "limit".to_owned());
        Event::AgentSwitched(AgentSwitch { role: Role::Artisan, from, to, reason, until: None })
    }

    #[test]
    fn events_of_a_run_have_the_seeds_names_and_fields_too() {
        let mut lines = lines();
        let line = told(&mut lines, &switched("cli/claude", "cli/codex")).unwrap();
        let wanted = json!({
            "type": "agent:switched", "previousAgent": "cli/claude", "newAgent": "cli/codex", "reason": "fallback",
            "rateLimitState": { "primaryAgent": "cli/claude", "limitedAt": "t", "fallbackAgent": "cli/codex" },
            "rateLimitMessage": "limit", "until": null,
            "timestamp": "t", "iteration": 2, "task": { "id": "T1" }, "taskKey": "b/T1",
        });
        assert_eq!(line, wanted);
        let back = told(&mut lines, &switched("cli/codex", "cli/claude")).unwrap();
        assert_eq!(
            (&back["reason"], &back["rateLimitState"]),
            (&json!("primary"), &json!({ "primaryAgent": "cli/claude" }))
        );
        let targets = vec!["cli/claude".to_owned()];
        let limited = AllLimited { role: Role::Artisan, targets, until: None, reason: "all".to_owned() };
        let line = told(&mut lines, &Event::AgentsAllLimited(limited)).unwrap();
        assert_eq!((&line["triedAgents"], &line["rateLimitState"]["limitedAt"]), (&json!(["cli/claude"]), &json!("t")));
        let target = "cli/claude".to_owned();
        let recovery = AgentRecovery { role: Role::Artisan, target, instead: String::new(), recovered: true };
        let line = told(&mut lines, &Event::AgentRecoveryAttempted(recovery)).unwrap();
        assert_eq!((&line["success"], &line["testDurationMs"]), (&json!(true), &json!(0)));
        assert_eq!(told(&mut lines, &Event::StateSaved), None);
    }

    #[test]
    fn an_agents_words_are_its_output() {
        let mut lines = lines();
        let update = json!({ "type": "agent_update", "timestamp": "t", "agentPath": "artisan", "taskStatus": "I look", "tool": "grep" });
        let wanted = json!({
            "type": "agent:output", "stream": "stdout", "data": "I look", "agentPath": "artisan",
            "timestamp": "t", "iteration": 2, "task": { "id": "T1" }, "taskKey": "b/T1",
        });
        assert_eq!(lines.beside(update.as_object().unwrap()), Some(wanted));
        let silent = json!({ "type": "agent_update", "timestamp": "t", "agentPath": "artisan", "tool": "grep" });
        assert_eq!(lines.beside(silent.as_object().unwrap()), None);
        let end = json!({ "type": "agent_finished", "timestamp": "t", "summary": "mended" });
        assert_eq!(lines.beside(end.as_object().unwrap()).unwrap()["data"], "mended");
    }

    #[test]
    fn a_line_that_says_of_which_task_it_is_stays_as_it_is() {
        let mut lines = lines();
        let line = json!({ "type": "event", "taskKey": "c/T2", "event": switched("a", "b") });
        let line = line.as_object().unwrap();
        assert_eq!((lines.beside(line), &lines.with_key(line.clone())), (None, line));
        let line = json!({ "type": "task:completed", "task": { "id": "T2" } });
        assert_eq!(lines.with_key(line.as_object().unwrap().clone())["task"], json!({ "id": "T2" }));
        let job = SeedsLines::new(Turn { key: "workers/T2".to_owned(), of: None });
        assert_eq!(job.with_key(Map::new())["taskKey"], json!("workers/T2"));
    }
}
