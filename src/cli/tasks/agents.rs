//! The lines that the seed calls `agent:*` and `iteration:rate-limited`, from the events of a task's run: the same things under its names.

use serde_json::{Map, Value, json};

/// The line under the seed's name that stands beside an event's. `None` where it has none.
pub(super) fn seeds_line(line: &Map<String, Value>) -> Option<Value> {
    let event = line.get("event")?.as_object()?;
    let of = |key: &str| event.get(key).cloned().unwrap_or_default();
    let limit = || json!({ "until": of("until"), "message": of("reason") });
    let mut said = match event.get("event")?.as_str()? {
        "agent_switched" => json!({
            "type": "agent:switched",
            "previousAgent": of("from"),
            "newAgent": of("to"),
            "reason": of("reason"),
            "rateLimitState": limit(),
        }),
        "agents_all_limited" => json!({
            "type": "agent:all-limited",
            "triedAgents": of("targets"),
            "rateLimitState": limit(),
        }),
        "agent_recovery_attempted" => json!({
            "type": "agent:recovery-attempted",
            "primaryAgent": of("target"),
            "fallbackAgent": of("instead"),
            "success": of("recovered"),
        }),
        "models_unavailable" => json!({
            "type": "iteration:rate-limited",
            "delayMs": of("wait_ms"),
            "rateLimitMessage": of("said"),
            "usedRetryAfter": !of("until").is_null(),
        }),
        _ => return None,
    };
    for key in ["timestamp", "task"] {
        if let (Some(object), Some(value)) = (said.as_object_mut(), line.get(key)) {
            object.insert(key.to_owned(), value.clone());
        }
    }
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::agents::{AgentRecovery, AgentSwitch, AllLimited};
    use crate::domain::event::Event;
    use crate::domain::ladder::Role;

    fn told(event: &Event) -> Option<Value> {
        let line = json!({ "type": "event", "timestamp": "t", "task": "b/T1", "event": event });
        seeds_line(line.as_object().unwrap())
    }

    #[test]
    fn events_of_a_run_have_the_seeds_names_too() {
        let (from, to, reason) = ("cli/claude".to_owned(), "cli/codex".to_owned(), "limit".to_owned());
        let switched = AgentSwitch { role: Role::Artisan, from: from.clone(), to, reason: reason.clone(), until: None };
        let line = told(&Event::AgentSwitched(switched)).unwrap();
        assert_eq!(
            line,
            json!({ "type": "agent:switched", "previousAgent": "cli/claude", "newAgent": "cli/codex", "reason": "limit",
                    "rateLimitState": { "until": null, "message": "limit" }, "timestamp": "t", "task": "b/T1" })
        );
        let limited = AllLimited { role: Role::Artisan, targets: vec![from.clone()], until: None, reason };
        let line = told(&Event::AgentsAllLimited(limited)).unwrap();
        assert_eq!((&line["type"], &line["triedAgents"]), (&json!("agent:all-limited"), &json!(["cli/claude"])));
        let recovery = AgentRecovery { role: Role::Artisan, target: from, instead: String::new(), recovered: true };
        let line = told(&Event::AgentRecoveryAttempted(recovery)).unwrap();
        assert_eq!((&line["type"], &line["success"]), (&json!("agent:recovery-attempted"), &json!(true)));
        assert_eq!(told(&Event::StateSaved), None);
    }
}
