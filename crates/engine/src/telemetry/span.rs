//! Operations as spans, in the JSON form of OTLP (opentelemetry-proto, `ExportTraceServiceRequest`).
//!
//! Ids are hexadecimal there, and 64-bit numbers are text. The id of a span follows from the run and the place of the operation, so that a
//! process that goes on with a run knows those of its past.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::settings::Settings;
use crate::domain::event::Event;
use crate::domain::trace_context::{Parent, is_id};
use crate::report::operations::{Kind, Operation};

/// `SPAN_KIND_INTERNAL` and `SPAN_KIND_CLIENT`.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
/// `STATUS_CODE_OK` and `STATUS_CODE_ERROR`.
const OK: u8 = 1;
const ERROR: u8 = 2;

/// What the spans of a run have in common.
#[derive(Debug)]
pub(super) struct Identity {
    parent: Option<Parent>,
    resource: Vec<(String, String)>,
    run_id: String,
    invocation: u32,
}

impl Identity {
    pub(super) fn of(settings: &Settings, before: &[Event]) -> Self {
        let (parent, resource) = (settings.parent.clone(), settings.resource.clone());
        let mut identity = Self { parent, resource, run_id: String::new(), invocation: 1 };
        before.iter().for_each(|event| identity.hear(event));
        identity
    }

    /// Learns which run it is, and which process of it this is.
    pub(super) fn hear(&mut self, event: &Event) {
        if let Event::RunStarted(run) = event {
            self.run_id.clone_from(&run.run_id.0);
        }
        if let Event::InvocationStarted { invocation, .. } = event {
            self.invocation = *invocation;
        }
    }

    /// The trace of whoever started us, else one of the run's own.
    fn trace_id(&self) -> String {
        // A run's id is a UUID. Without its dashes it has the form of a trace's id.
        let own: String = self.run_id.chars().filter(|c| *c != '-').collect();
        match &self.parent {
            Some(parent) => parent.trace_id.clone(),
            None if is_id(&own, 32) => own,
            None => self.hash("trace", 16),
        }
    }

    /// The id of an operation's span. Each process of a run has a span of the run's own.
    fn span_id(&self, index: usize) -> String {
        // A resumed run has a span for each of its processes, and a collector takes an id only once.
        let salt = if index == 0 { format!("run {}", self.invocation) } else { index.to_string() };
        self.hash(&salt, 8)
    }

    fn hash(&self, salt: &str, bytes: usize) -> String {
        let hash = Sha256::digest(format!("{} {salt}", self.run_id));
        hex::encode(hash.get(..bytes).unwrap_or(&hash))
    }

    /// The span of an operation that has ended.
    pub(super) fn span(&self, operations: &[Operation], index: usize) -> Option<Value> {
        let operation = operations.get(index)?;
        let end = operation.end_ms?;
        let parent = match (operation.parent, &self.parent) {
            (Some(parent), _) => Some(self.span_id(parent)),
            // Only the run itself hangs below the span of whoever started us.
            (None, Some(parent)) if index == 0 => Some(parent.span_id.clone()),
            (None, _) => None,
        };
        let mut attributes = operation.attributes.clone();
        if !operation.agent_path.is_empty() {
            attributes.insert("ai.agent.call_path".to_owned(), operation.agent_path.as_str().into());
        }
        if !operation.exit.is_empty() {
            attributes.insert("upshift.exit".to_owned(), operation.exit.as_str().into());
        }
        let kind = if operation.kind == Kind::Model { CLIENT } else { INTERNAL };
        let mut span = json!({
            "traceId": self.trace_id(),
            "spanId": self.span_id(index),
            "name": operation.name,
            "kind": kind,
            "startTimeUnixNano": nanoseconds(operation.begin_ms),
            "endTimeUnixNano": nanoseconds(end),
            "attributes": pairs(&attributes),
        });
        let fields = span.as_object_mut()?;
        fields.extend(parent.map(|parent| ("parentSpanId".to_owned(), parent.into())));
        fields.extend(operation.ok.map(|ok| ("status".to_owned(), json!({"code": if ok { OK } else { ERROR }}))));
        Some(span)
    }

    /// The request that brings spans to a collector.
    pub(super) fn request(&self, spans: Vec<Value>) -> Value {
        let resource: Map<String, Value> =
            self.resource.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        json!({"resourceSpans": [{
            "resource": {"attributes": pairs(&resource)},
            "scopeSpans": [{"scope": {"name": "upshift", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
        }]})
    }
}

fn nanoseconds(ms: u64) -> String {
    // A clock that is far off must not overflow the number.
    (u128::from(ms) * 1_000_000).to_string()
}

fn pairs(attributes: &Map<String, Value>) -> Vec<Value> {
    attributes.iter().map(|(key, value)| json!({"key": key, "value": typed(value)})).collect()
}

/// An `AnyValue`.
fn typed(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!({"boolValue": value}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Array(_) | Value::Object(_) | Value::Null => json!({"stringValue": value.to_string()}),
    }
}
