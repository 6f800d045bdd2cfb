//! The stop seam: one flag that every await watches, raised by a signal or by the budget's clock.

use tokio::sync::watch;

/// Why everything should end now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// SIGHUP (1), SIGINT (2) or SIGTERM (15).
    Signal(i32),
    /// The run's active time is up.
    TimeUp,
}

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

/// The raising end; the first cause wins.
#[derive(Debug)]
pub struct StopSource(watch::Sender<Option<StopCause>>);

/// The watching end; cheap to clone.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<StopCause>>);

impl StopSource {
    /// A source and its watcher, not raised.
    #[must_use]
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), Stop(receiver))
    }

    /// Raises the flag; later causes are ignored.
    pub fn raise(&self, cause: StopCause) {
        self.0.send_if_modified(|current| {
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
        Self(StopSource::new().1.0)
    }

    /// The cause, if raised.
    #[must_use]
    pub fn raised(&self) -> Option<StopCause> {
        *self.0.borrow()
    }

    /// Waits until raised; for ever if the source is gone without raising it.
    pub async fn wait(&self) -> StopCause {
        let mut receiver = self.0.clone();
        // What is waited for holds a lock that must not be held while waiting for ever.
        let seen = receiver.wait_for(Option::is_some).await.map(|cause| *cause);
        match seen {
            Ok(cause) => cause.unwrap_or(StopCause::TimeUp),
            Err(_closed) => {
                std::future::pending::<()>().await;
                StopCause::TimeUp
            }
        }
    }
}
