//! The stop seam: one flag that every await watches, raised by a signal or by the budget's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// Why everything should end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// SIGHUP (1), SIGINT (2) or SIGTERM (15).
    Signal(i32),
    /// The run's active time is up.
    TimeUp,
    /// Somebody asked for it by a comment.
    Asked,
    /// The time of one session is up, of so many seconds, and the run goes on.
    OwnTime(u32),
}

/// The signal that no program can catch.
pub const SIGKILL: i32 = 9;

/// A signal's name, as reports have it.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

/// The raising end. The first cause wins.
#[derive(Debug)]
pub struct StopSource(watch::Sender<Option<StopCause>>);

/// The watching end, which is cheap to clone.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<StopCause>>);

impl StopSource {
    /// A source and its watcher, not raised.
    #[must_use]
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Stop(receiver))
    }

    /// Raises the flag. Later causes are ignored.
    pub fn raise(&self, cause: StopCause) {
        self.0.send_if_modified(|current| {
            // The first cause stays, as the end is told by it.
            let first = current.is_none();
            if first {
                *current = Some(cause);
            }
            first
        });
    }
}

impl Stop {
    /// A watcher that is never raised.
    #[must_use]
    pub fn never() -> Self {
        // Its source is dropped at once, and `wait` then waits for ever.
        Self(StopSource::new().1.0)
    }

    /// The cause, if raised.
    #[must_use]
    pub fn raised(&self) -> Option<StopCause> {
        *self.0.borrow()
    }

    /// Waits until raised. It waits for ever if the source is gone without raising it.
    pub async fn wait(&self) -> StopCause {
        let mut receiver = self.0.clone();
        // What is waited for holds a lock that must not be held while waiting for ever.
        let seen = receiver.wait_for(Option::is_some).await.map(|cause| *cause);
        match seen {
            Ok(cause) => cause.unwrap_or(StopCause::TimeUp),
            // Nobody is left who could raise it. To return would stop what was never told to.
            Err(_closed) => {
                std::future::pending::<()>().await;
                StopCause::TimeUp
            }
        }
    }
}

/// The wish that a run comes to an end in good order: a session under way reports first, and what it did is judged.
#[derive(Debug, Clone)]
pub struct WrapUp {
    source: Arc<StopSource>,
    stop: Stop,
    in_session: Arc<AtomicBool>,
    judging: Arc<AtomicBool>,
}

/// A judgement under way, until it is dropped.
#[derive(Debug)]
pub struct Judging(Arc<AtomicBool>);

impl Drop for Judging {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Default for WrapUp {
    fn default() -> Self {
        let (source, stop) = StopSource::new();
        Self { source: Arc::new(source), stop, in_session: Arc::default(), judging: Arc::default() }
    }
}

impl WrapUp {
    /// Wishes it. Later causes are ignored.
    pub fn wish(&self, cause: StopCause) {
        self.source.raise(cause);
    }

    /// Why, if it is wished.
    #[must_use]
    pub fn wished(&self) -> Option<StopCause> {
        self.stop.raised()
    }

    /// The flag that sessions watch.
    #[must_use]
    pub fn flag(&self) -> Stop {
        self.stop.clone()
    }

    /// Notes that a session begins or is over: without one nothing has to be waited for.
    pub fn set_in_session(&self, under_way: bool) {
        self.in_session.store(under_way, Ordering::Relaxed);
    }

    /// Whether a session is under way.
    #[must_use]
    pub fn is_in_session(&self) -> bool {
        self.in_session.load(Ordering::Relaxed)
    }

    /// Notes that a change is judged from now on, which may take as long as its tests and their proof.
    #[must_use]
    pub fn judging(&self) -> Judging {
        self.judging.store(true, Ordering::Relaxed);
        Judging(Arc::clone(&self.judging))
    }

    /// Whether a change is judged.
    #[must_use]
    pub fn is_judging(&self) -> bool {
        self.judging.load(Ordering::Relaxed)
    }
}
