//! Telemetry: the operations of a run as spans, sent to a collector over OTLP/HTTP in its JSON form (S1-19).
//!
//! Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or that of traces alone) names a collector. [`Exporter`] listens to the run's events, which
//! hold no secret any more, and folds them as `upshift trace` does. A task of its own sends what has ended, in batches.
//! Invariants: listening never waits. A collector that is slow, wrong or gone costs spans and nothing else, and the end of a run waits for
//! it no longer than [`Telemetry::finish`] is told.

mod settings;
mod span;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use self::settings::Settings;
use self::span::Identity;
use crate::domain::clock::Timestamp;
use crate::domain::event::{Event, EventSink};
use crate::domain::foreign::Foreign;
use crate::http::Http;
use crate::report::operations::Fold;

/// Spans in one request.
const BATCH: usize = 64;
/// Requests that wait. What comes beyond is left out: a collector that is so far behind does not catch up.
const MOST_WAITING: usize = 128;
/// How long a collector may take for one request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Requests that were not taken, and why the last of them was not.
type Lost = (u32, String);

/// The sender at work.
#[derive(Debug)]
pub struct Telemetry {
    bodies: mpsc::Sender<Vec<u8>>,
    behind: Arc<AtomicU32>,
    work: JoinHandle<Lost>,
    settings: Settings,
}

impl Telemetry {
    /// Sends the sender to work. Needs a runtime.
    #[must_use]
    pub fn start(settings: Settings, http: Http) -> Self {
        let (bodies, waiting) = mpsc::channel(MOST_WAITING);
        let work = tokio::spawn(send_all(waiting, settings.clone(), http));
        Self { bodies, behind: Arc::default(), work, settings }
    }

    /// A listener. `before` holds the events of the run's past, which another process told.
    #[must_use]
    pub fn exporter(&self, before: &[Event]) -> Exporter {
        let mut fold = Fold::default();
        before.iter().for_each(|event| fold.hear(event, None));
        // Operations of the past were sent by the process that saw them end.
        drop(fold.take_ended());
        let identity = Identity::of(&self.settings, before);
        // Weak, so that the end of the run alone closes the channel.
        let (bodies, behind) = (self.bodies.downgrade(), Arc::clone(&self.behind));
        Exporter { fold, at: None, identity, bodies, behind, spans: Vec::new() }
    }

    /// Waits until everything is sent, but no longer than that. Returns what a person should know of it.
    pub async fn finish(self, limit: Duration) -> Option<String> {
        drop(self.bodies);
        let abort = self.work.abort_handle();
        let Ok(ended) = tokio::time::timeout(limit, self.work).await else {
            // Otherwise it would go on within the runtime, which then could not end.
            abort.abort();
            return Some("telemetry: the collector did not take everything in time".to_owned());
        };
        // A sender that broke down is no reason for the run to fail.
        let (refused, why) = ended.unwrap_or_else(|panicked| (1, panicked.to_string()));
        let why = if refused == 0 { "it is too far behind".to_owned() } else { why };
        let lost = refused.saturating_add(self.behind.load(Ordering::Relaxed));
        (lost > 0).then(|| format!("telemetry: {lost} of the requests were not taken by the collector: {why}"))
    }
}

async fn send_all(mut waiting: mpsc::Receiver<Vec<u8>>, settings: Settings, http: Http) -> Lost {
    let mut lost = Lost::default();
    while let Some(body) = waiting.recv().await {
        let sent = tokio::time::timeout(PATIENCE, send(body, &settings, &http)).await;
        if let Err(why) = sent.unwrap_or_else(|_elapsed| Err("it did not answer in time".to_owned())) {
            // Told once at the end, and each time in the log for whoever looks for the cause.
            tracing::info!(%why, "telemetry was not taken");
            lost = (lost.0 + 1, why);
        }
    }
    lost
}

async fn send(body: Vec<u8>, settings: &Settings, http: &Http) -> Result<(), String> {
    let client = http.client_for(&settings.endpoint).map_err(|error| error.to_string())?;
    loop {
        let request = client.post(settings.endpoint.clone()).header("content-type", "application/json");
        let headers = settings.headers.iter();
        let request = headers.fold(request, |request, (name, value)| request.header(name, value.expose_secret()));
        // The address may hold a key.
        let answer = request.body(body.clone()).send().await;
        let mut answer = answer.map_err(|error| error.without_url().to_string())?;
        let status = answer.status();
        if status.is_success() {
            // One piece: a longer word than that is none of a collector's.
            return answer.chunk().await.ok().flatten().and_then(|said| left_out(&said)).map_or(Ok(()), Err);
        }
        let again = answer.headers().get("retry-after").and_then(|wait| wait.to_str().ok()?.parse().ok());
        // A longer wait than one request may take would only hold up those behind it.
        match again.filter(|wait: &u64| *wait < PATIENCE.as_secs() && matches!(status.as_u16(), 429 | 502..=504)) {
            Some(wait) => tokio::time::sleep(Duration::from_secs(wait.max(1))).await,
            None => return Err(format!("it answered {status}")),
        }
    }
}

/// The spans that a collector left out of a request that it took, in words.
fn left_out(said: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(said).ok()?;
    // 64 bits are text in OTLP's JSON.
    let count: u64 = answer.pointer("/partialSuccess/rejectedSpans")?.to_string().trim_matches('"').parse().ok()?;
    let why = answer.pointer("/partialSuccess/errorMessage").and_then(Value::as_str).unwrap_or_default();
    (count > 0).then(|| format!("it left out {count} spans: {}", Foreign::capped(why, 200).one_line()))
}

/// Turns events into spans.
#[derive(Debug)]
pub struct Exporter {
    fold: Fold,
    at: Option<Timestamp>,
    identity: Identity,
    bodies: mpsc::WeakSender<Vec<u8>>,
    behind: Arc<AtomicU32>,
    spans: Vec<Value>,
}

impl EventSink for Exporter {
    fn recorded(&mut self, at: &Timestamp) {
        self.at = Some(at.clone());
    }

    fn emit(&mut self, event: &Event) {
        // What the process before this one left open ends as a part of its own span.
        let is_taken_up = matches!(event, Event::InvocationStarted { .. });
        if !is_taken_up {
            // The identity learns of the run before its first span is made.
            self.identity.hear(event);
        }
        self.fold.hear(event, self.at.as_ref());
        for index in self.fold.take_ended() {
            self.spans.extend(self.identity.span(self.fold.operations(), index));
        }
        self.identity.hear(event);
        let is_over = matches!(event, Event::SessionFinished { .. } | Event::RunFinished(_));
        if self.spans.len() >= BATCH || (is_over && !self.spans.is_empty()) {
            let spans = std::mem::take(&mut self.spans);
            let body = self.identity.request(spans).to_string().into_bytes();
            // It never waits: a slow collector must not slow down a run.
            if self.bodies.upgrade().is_none_or(|bodies| bodies.try_send(body).is_err()) {
                self.behind.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
