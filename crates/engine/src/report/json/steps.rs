//! `upshift show --format json`: iterations of a run with what the log holds of each, for programs.
//!
//! Contract: the keys of [`StepsDocument`] stay, new ones may come, and a change of meaning raises `version`.

use serde::Serialize;
use serde_json::Value;

use super::shape::AttemptDocument;
use crate::report::show::{Details, Step};
use crate::report::view::RunView;

/// The version of this document's shape.
const VERSION: u32 = 1;

/// The details that were asked for. The others are absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The models' prompts and answers.
    pub conversation: bool,
    /// The output of the tests.
    pub tests: bool,
    /// The change.
    pub patch: bool,
}

/// Iterations of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepsDocument<'a> {
    version: u32,
    run_id: &'a str,
    iterations: Vec<StepDocument<'a>>,
    /// The change with which the run ended, a unified diff. Null where the log holds none, absent where one iteration was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Option<&'a str>>,
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct StepDocument<'a> {
    /// Zero-based.
    tier_index: u32,
    /// Null where the run's beginning is not in the log.
    tier_name: Option<&'a str>,
    /// One-based within the tier.
    iteration: u32,
    /// Its row. Null when it did not finish.
    attempt: Option<AttemptDocument<'a>>,
    sessions: Vec<SessionDocument<'a>>,
    /// One for each session that the log holds, as it is kept there.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversations: Option<Vec<Value>>,
    /// Null where the log holds none.
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<Option<&'a str>>,
    /// A unified diff since the start. Null where the log holds none.
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Option<&'a str>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct SessionDocument<'a> {
    role: &'static str,
    session_id: &'a str,
}

/// Builds the document of iterations and their details.
#[must_use]
pub fn steps<'a>(
    view: &'a RunView,
    run_id: &'a str,
    steps: &'a [(&'a Step, Details)],
    patch: Option<Option<&'a str>>,
    wanted: Wanted,
) -> StepsDocument<'a> {
    StepsDocument {
        version: VERSION,
        run_id,
        iterations: steps.iter().map(|(of, details)| step(view, of, details, wanted)).collect(),
        patch,
    }
}

fn step<'a>(view: &'a RunView, step: &'a Step, details: &'a Details, wanted: Wanted) -> StepDocument<'a> {
    // A conversation that is cut is no JSON any more, and stands as its text.
    let conversation = |body: &String| serde_json::from_str(body).unwrap_or_else(|_cut| Value::String(body.clone()));
    StepDocument {
        tier_index: step.tier_index,
        tier_name: view.tier(step.tier_index).map(|tier| tier.tier.name.as_str()),
        iteration: step.iteration,
        attempt: step.attempt.as_ref().map(super::attempt),
        sessions: step
            .sessions
            .iter()
            .map(|(role, session_id)| SessionDocument { role: role.as_str(), session_id })
            .collect(),
        conversations: wanted.conversation.then(|| details.conversations.iter().map(conversation).collect()),
        tests: wanted.tests.then_some(details.tests.as_deref()),
        patch: wanted.patch.then_some(details.patch.as_deref()),
    }
}
