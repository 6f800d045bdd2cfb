//! SIGINT, SIGTERM and SIGHUP (the terminal is gone): the first asks the run to end, the second ends the process. Where a person
//! types the first SIGINT while a model works, its session reports before that.

use std::io::IsTerminal as _;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use super::raising::Sources;
use crate::domain::outcome::EXIT_SIGNAL_BASE;
use crate::domain::stop::{StopCause, StopSource};

/// Listens for the signals from now on. Listens for a hangup only where the process was not started with hangups ignored.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn listen(sources: &Sources) -> std::io::Result<()> {
    let hangup = (!ignores_hangup()).then(SignalKind::hangup);
    for kind in [SignalKind::interrupt(), SignalKind::terminate()].into_iter().chain(hangup) {
        // Installed before the task starts, so that no signal falls between the two.
        let mut signals = signal(kind)?;
        let sources = sources.clone();
        tokio::spawn(async move {
            let mut count = 0_u32;
            while signals.recv().await.is_some() {
                // Only a typed Ctrl-C waits for a report. SIGTERM comes with a deadline that nobody tells.
                if count == 0 && kind == SignalKind::interrupt() && sources.wrap_up(kind.as_raw_value()) {
                    continue;
                }
                count += 1;
                if count > 1 {
                    leave_at_once(kind);
                }
                sources.raise(StopCause::Signal(kind.as_raw_value()));
            }
        });
    }
    Ok(())
}

/// Hands signals on to whoever watches, the first of them. At a terminal a Ctrl-C is the program's own, which is in the same group and
/// has it already.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn pass_to(source: &Arc<StopSource>) -> std::io::Result<()> {
    let hangup = (!ignores_hangup()).then(SignalKind::hangup);
    for kind in [SignalKind::interrupt(), SignalKind::terminate()].into_iter().chain(hangup) {
        let mut signals = signal(kind)?;
        let source = Arc::clone(source);
        // Without a terminal the signal came to us alone, and the program must be told.
        let is_theirs = kind == SignalKind::interrupt() && std::io::stdin().is_terminal();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if !is_theirs {
                    source.raise(StopCause::Signal(kind.as_raw_value()));
                }
            }
        });
    }
    Ok(())
}

/// Whether this process was started under `nohup`, or by another that has it ignore hangups. Where the kernel does not tell
/// (there is no `/proc`), it was not.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Bit 0 is signal 1.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Ends the process, because the user asked twice. Everything finished is durable already, and the state allows a resume.
#[expect(clippy::exit, reason = "the second signal means now: no unwinding, no report")]
fn leave_at_once(kind: SignalKind) -> ! {
    std::process::exit(i32::from(EXIT_SIGNAL_BASE) + kind.as_raw_value())
}
