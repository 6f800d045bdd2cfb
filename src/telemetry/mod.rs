//! Telemetry: the operations of a run as spans, sent to a collector over OTLP/HTTP in its JSON form (S1-19).
//!
//! Off unless `OTEL_EXPORTER_OTLP_ENDPOINT` (or that of traces alone) names a collector. [`Exporter`] listens to the run's events, which
//! hold no secret any more, and folds them as `upshift trace` does. A task of its own sends what has ended, in batches.
//! Invariants: listening never waits. A collector that is slow, wrong or gone costs spans and nothing else, and the end of a run waits for
//! it no longer than [`Telemetry::finish`] is told.

mod settings;
mod span;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use self::settings::{Parent, Settings, secrets};

use self::span::Identity;
use crate::domain::clock::Timestamp;
use crate::domain::event::{Event, EventSink};
use crate::http::Http;
use crate::report::operations::Fold;

/// Spans in one request.
const BATCH: usize = 64;
/// Requests that wait. What comes beyond is left out: a collector that is so far behind does not catch up.
const MOST_WAITING: usize = 128;
/// How long a collector may take for one request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bodies on their way, and what became of those before.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct State {
    bodies: VecDeque<Vec<u8>>,
    closed: bool,
    lost: u32,
    trouble: Option<String>,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, body: Vec<u8>) {
        let mut state = self.state();
        if state.bodies.len() < MOST_WAITING {
            state.bodies.push_back(body);
        } else {
            state.lost += 1;
            state.trouble.get_or_insert_with(|| "it is too far behind".to_owned());
        }
        self.bell.notify_one();
    }

    /// The next body. `None` once there is none and comes none.
    async fn next(&self) -> Option<Vec<u8>> {
        loop {
            {
                let mut state = self.state();
                if let Some(body) = state.bodies.pop_front() {
                    return Some(body);
                }
                if state.closed {
                    return None;
                }
            }
            self.bell.notified().await;
        }
    }

    fn lose(&self, why: String) {
        let mut state = self.state();
        state.lost += 1;
        state.trouble = Some(why);
    }
}

/// The sender at work.
#[derive(Debug)]
pub struct Telemetry {
    queue: Arc<Queue>,
    work: JoinHandle<()>,
    settings: Settings,
}

impl Telemetry {
    /// Sends the sender to work. Needs a runtime.
    #[must_use]
    pub fn start(settings: Settings, http: Http) -> Self {
        let queue = Arc::new(Queue::default());
        let work = tokio::spawn(send_all(Arc::clone(&queue), settings.clone(), http));
        Self { queue, work, settings }
    }

    /// A listener. `before` holds the events of the run's past, which another process told.
    #[must_use]
    pub fn exporter(&self, before: &[Event]) -> Exporter {
        let mut fold = Fold::default();
        before.iter().for_each(|event| fold.hear(event, None));
        drop(fold.take_ended());
        let identity = Identity::of(&self.settings, before);
        Exporter { fold, at: None, identity, queue: Arc::clone(&self.queue), spans: Vec::new() }
    }

    /// Waits until everything is sent, but no longer than that. Returns what a person should know of it.
    pub async fn finish(self, limit: Duration) -> Option<String> {
        self.queue.state().closed = true;
        self.queue.bell.notify_one();
        let abort = self.work.abort_handle();
        if tokio::time::timeout(limit, self.work).await.is_err() {
            abort.abort();
            return Some("telemetry: the collector did not take everything in time".to_owned());
        }
        let state = self.queue.state();
        let trouble = state.trouble.as_ref()?;
        Some(format!("telemetry: {} of the requests were not taken by the collector: {trouble}", state.lost))
    }
}

async fn send_all(queue: Arc<Queue>, settings: Settings, http: Http) {
    while let Some(body) = queue.next().await {
        let sent = tokio::time::timeout(PATIENCE, send(body, &settings, &http)).await;
        if let Err(why) = sent.unwrap_or_else(|_elapsed| Err("it did not answer in time".to_owned())) {
            tracing::info!(%why, "telemetry was not taken");
            queue.lose(why);
        }
    }
}

async fn send(body: Vec<u8>, settings: &Settings, http: &Http) -> Result<(), String> {
    let client = http.client_for(&settings.endpoint).map_err(|error| error.to_string())?;
    let mut request = client.post(settings.endpoint.clone()).header("content-type", "application/json").body(body);
    for (name, value) in &settings.headers {
        request = request.header(name, value.expose_secret());
    }
    // The address may hold a key.
    let answer = request.send().await.map_err(|error| error.without_url().to_string())?;
    if answer.status().is_success() { Ok(()) } else { Err(format!("it answered {}", answer.status())) }
}

/// Turns events into spans.
#[derive(Debug)]
pub struct Exporter {
    fold: Fold,
    at: Option<Timestamp>,
    identity: Identity,
    queue: Arc<Queue>,
    spans: Vec<Value>,
}

impl EventSink for Exporter {
    fn recorded(&mut self, at: &Timestamp) {
        self.at = Some(at.clone());
    }

    fn emit(&mut self, event: &Event) {
        self.identity.hear(event);
        self.fold.hear(event, self.at.as_ref());
        for index in self.fold.take_ended() {
            self.spans.extend(self.identity.span(self.fold.operations(), index));
        }
        let is_over = matches!(event, Event::SessionFinished { .. } | Event::RunFinished(_));
        if self.spans.len() >= BATCH || (is_over && !self.spans.is_empty()) {
            let spans = std::mem::take(&mut self.spans);
            self.queue.put(self.identity.request(spans).to_string().into_bytes());
        }
    }
}
