//! SIGINT and SIGTERM: the first asks the run to end, the second ends the process.

use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use crate::domain::outcome::EXIT_SIGNAL_BASE;
use crate::domain::stop::{StopCause, StopSource};

/// Listens for both signals from now on.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn listen(sources: &[Arc<StopSource>]) -> std::io::Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let mut signals = signal(kind)?;
        let sources = sources.to_vec();
        tokio::spawn(async move {
            let mut count = 0_u32;
            while signals.recv().await.is_some() {
                count += 1;
                if count > 1 {
                    leave_at_once(kind);
                }
                sources.iter().for_each(|source| source.raise(StopCause::Signal(kind.as_raw_value())));
            }
        });
    }
    Ok(())
}

/// The user asked twice. Everything finished is durable already; the state allows a resume.
#[expect(clippy::exit, reason = "the second signal means now: no unwinding, no report")]
fn leave_at_once(kind: SignalKind) -> ! {
    std::process::exit(i32::from(EXIT_SIGNAL_BASE) + kind.as_raw_value())
}
