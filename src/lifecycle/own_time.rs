//! Own time: sessions beside the roles end when theirs is up, and the run goes on.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use crate::domain::stop::{Stop, StopCause, StopSource};

/// The stop of a session: the run's, and after so many seconds its own. The future raises it and never ends: it is watched beside the
/// session.
pub(super) fn of(run: &Stop, seconds: Option<u32>) -> (Stop, impl Future<Output = Infallible> + use<>) {
    let (source, own) = StopSource::new();
    let (run, stop) = (run.clone(), if seconds.is_some() { own } else { run.clone() });
    let watched = async move {
        if let Some(seconds) = seconds {
            let cause = tokio::select! {
                biased;
                cause = run.wait() => cause,
                () = tokio::time::sleep(Duration::from_secs(u64::from(seconds))) => StopCause::OwnTime(seconds),
            };
            source.raise(cause);
        }
        std::future::pending().await
    };
    (stop, watched)
}
