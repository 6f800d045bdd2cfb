//! Where the program runs: a laptop, or a GitHub Actions job for some event.
//!
//! Owns what the gate needs to know before anything else happens; parsed once, from the environment and the event's payload.

use std::path::Path;

use serde_json::Value;

use super::environment::Environment;
use crate::lifecycle::gate::Trigger;

/// The largest event payload that is read; GitHub's own limit for webhooks is 25 MB.
const MAX_PAYLOAD_BYTES: u64 = 25 * 1024 * 1024;

/// Finds out what triggered this process.
pub(super) fn trigger(environment: &Environment) -> Trigger {
    if !environment.in_actions() {
        return Trigger::Person;
    }
    let event = environment.get("GITHUB_EVENT_NAME").unwrap_or_default().to_owned();
    let payload = environment.get("GITHUB_EVENT_PATH").and_then(|path| payload(Path::new(path)));
    let repositories = payload.as_ref().and_then(head_and_base);
    match event.as_str() {
        "pull_request" | "pull_request_review" | "pull_request_review_comment" | "pull_request_target" => {
            Trigger::PullRequest { event, repositories }
        }
        _ => Trigger::Other { event },
    }
}

fn payload(path: &Path) -> Option<Value> {
    let small = std::fs::metadata(path).ok()?.len() <= MAX_PAYLOAD_BYTES;
    let text = if small { std::fs::read_to_string(path).ok()? } else { return None };
    serde_json::from_str(&text).ok()
}

/// The full names of the repositories that a pull request comes from and goes to; a deleted fork has none.
fn head_and_base(payload: &Value) -> Option<(String, String)> {
    let name = |side: &str| {
        let repository = payload.get("pull_request")?.get(side)?.get("repo")?;
        repository.get("full_name")?.as_str().map(str::to_owned)
    };
    Some((name("head")?, name("base")?))
}
