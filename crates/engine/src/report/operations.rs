//! The operations of a run as one tree: run, tier, iteration, session, turn, then model and tool calls, each with its begin and end.
//!
//! One fold over the events gives the tree for `upshift trace` and, while a run is under way, the spans that telemetry sends. The names of
//! attributes are those of OpenTelemetry's conventions for generative AI, and `ai.agent.*` and `ai.session.*` (S1-19). Invariants: total over
//! any sequence of events. An operation begins within its parent's list and never moves. Nothing is escaped or cut here.

mod fold;
pub mod page;

pub use self::fold::Fold;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::clock::Timestamp;

/// The version of the document's shape.
pub const VERSION: u32 = 1;

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The whole run.
    Run,
    /// A tier.
    Tier,
    /// An iteration.
    Iteration,
    /// A role's session.
    Session,
    /// A turn of it.
    Turn,
    /// A model call.
    Model,
    /// A tool call.
    Tool,
    /// Runs of the tests, and what else judges.
    Judge,
    /// A wait for CI, a merge or a person.
    Wait,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The place of the one that it belongs to. `None` for the run.
    pub parent: Option<usize>,
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The agent that it is of, as in `tier-1/iteration-2/artisan`. Empty above sessions.
    pub agent_path: String,
    /// When it began, in milliseconds since the epoch.
    pub begin_ms: u64,
    /// When it ended. `None` where it did not.
    pub end_ms: Option<u64>,
    /// Whether it went well. `None` where nothing says so.
    pub ok: Option<bool>,
    /// How a session or a tool ended, by the names of S1-15. Empty where that is not told.
    pub exit: String,
    /// More about it, by the names of conventions.
    pub attributes: Map<String, Value>,
}

/// An operation with those below it, as the document has it.
#[derive(Debug, Serialize)]
struct Branch<'a> {
    kind: Kind,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    agent_path: &'a str,
    begin: String,
    end: Option<String>,
    duration_ms: Option<u64>,
    ok: Option<bool>,
    #[serde(skip_serializing_if = "str::is_empty")]
    exit: &'a str,
    #[serde(skip_serializing_if = "Map::is_empty")]
    attributes: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operations: Vec<Branch<'a>>,
}

/// The document of `upshift trace --format json`. Its keys stay.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    run_id: &'a str,
    trace: Option<Branch<'a>>,
}

/// Renders the tree as indented JSON.
#[must_use]
pub fn json(run_id: &str, operations: &[Operation]) -> String {
    let below = children(operations);
    let trace = branch(operations, &below, 0);
    super::json::pretty(&Document { version: VERSION, run_id, trace })
}

/// The operations below each, in order.
fn children(operations: &[Operation]) -> Vec<Vec<usize>> {
    let mut below = vec![Vec::new(); operations.len()];
    for (index, operation) in operations.iter().enumerate() {
        if let Some(list) = operation.parent.and_then(|parent| below.get_mut(parent)) {
            list.push(index);
        }
    }
    below
}

/// A branch of the tree. Parents stand before their children, so it is no deeper than the kinds are.
fn branch<'a>(operations: &'a [Operation], below: &[Vec<usize>], index: usize) -> Option<Branch<'a>> {
    let operation = operations.get(index)?;
    let iso = |ms: u64| Timestamp::from_unix_ms(i64::try_from(ms).unwrap_or_default()).0;
    let children = below.get(index).into_iter().flatten();
    Some(Branch {
        kind: operation.kind,
        name: &operation.name,
        agent_path: &operation.agent_path,
        begin: iso(operation.begin_ms),
        end: operation.end_ms.map(iso),
        duration_ms: operation.end_ms.map(|end| end.saturating_sub(operation.begin_ms)),
        ok: operation.ok,
        exit: &operation.exit,
        attributes: &operation.attributes,
        operations: children.filter_map(|&child| branch(operations, below, child)).collect(),
    })
}

#[cfg(test)]
mod tests;
