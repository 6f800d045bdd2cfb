//! Own time: sessions beside the roles end when theirs is up, and the run goes on.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use crate::domain::stop::{Stop, StopCause, StopSource};

/// The most seconds of a session unless its plan says how many.
const MOST: u64 = 300;
/// The fewest: a reply takes some.
const LEAST: u64 = 5;
/// The part of the run's time left that a session takes unless its plan says how much, and the part that it takes at most.
const SHARES: (u64, u64) = (10, 2);

/// The seconds of a session beside the roles, by its plan and the run's time that is left.
pub(super) fn seconds(planned: Option<u32>, left_ms: u64) -> u32 {
    let left = left_ms / 1_000;
    let wanted = planned.map_or_else(|| (left / SHARES.0).clamp(LEAST, MOST), u64::from);
    u32::try_from(wanted.min((left / SHARES.1).max(1))).unwrap_or(u32::MAX)
}

/// The stop of a session: the run's, and after so many seconds its own. The future raises it and never ends: it is watched beside the
/// session.
pub(super) fn of(run: &Stop, seconds: Option<u32>) -> (Stop, impl Future<Output = Infallible> + use<>) {
    let (source, own) = StopSource::new();
    let (run, stop) = (run.clone(), if seconds.is_some() { own } else { run.clone() });
    let watched = async move {
        if let Some(seconds) = seconds {
            let cause = tokio::select! {
                // The run's own end first: where both come at once it says why everything ends.
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

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn a_session_beside_the_roles_leaves_them_most_of_the_time() {
        assert_eq!(seconds(None, 900_000), 90);
        assert_eq!(seconds(None, 7_200_000), 300);
        assert_eq!(seconds(None, 20_000), 5);
        assert_eq!(seconds(None, 4_000), 2);
        assert_eq!(seconds(None, 0), 1);
        assert_eq!(seconds(Some(600), 900_000), 450);
        assert_eq!(seconds(Some(20), 900_000), 20);
    }
}
