//! Ctrl-C, Ctrl-Break, and the console's end (Windows): the first asks the run to end, the second ends the process.
//!
//! Exit codes and words are those of the signals that they stand for on Unix.

use std::sync::Arc;

use tokio::signal::windows;

use super::raising::Sources;
use crate::domain::outcome::EXIT_SIGNAL_BASE;
use crate::domain::stop::{StopCause, StopSource};

/// The number of the signal that a person types.
const INTERRUPT: i32 = 2;
/// The number of the signal that ends programs.
const TERMINATE: i32 = 15;

/// Listens from now on.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn listen(sources: &Sources) -> std::io::Result<()> {
    let (mut typed, mut broken) = (windows::ctrl_c()?, windows::ctrl_break()?);
    let (mut closed, mut shut_down) = (windows::ctrl_close()?, windows::ctrl_shutdown()?);
    let sources = sources.clone();
    tokio::spawn(async move {
        let mut count = 0_u32;
        loop {
            let number = tokio::select! {
                Some(()) = typed.recv() => INTERRUPT,
                // A workflow that is cancelled sends it.
                Some(()) = broken.recv() => INTERRUPT,
                Some(()) = closed.recv() => TERMINATE,
                // Windows ends the process some seconds after these two, whatever it does.
                Some(()) = shut_down.recv() => TERMINATE,
                else => return,
            };
            if count == 0 && number == INTERRUPT && sources.wrap_up(number) {
                continue;
            }
            count += 1;
            if count > 1 {
                leave_at_once(number);
            }
            sources.raise(StopCause::Signal(number));
        }
    });
    Ok(())
}

/// Hands the first of them on to whoever watches.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn pass_to(source: &Arc<StopSource>) -> std::io::Result<()> {
    listen(&Sources { sources: vec![Arc::clone(source)], wrap_up: None })
}

/// Ends the process, because the user asked twice. Everything finished is durable already, and the state allows a resume.
#[expect(clippy::exit, reason = "the second signal means now: no unwinding, no report")]
fn leave_at_once(number: i32) -> ! {
    std::process::exit(i32::from(EXIT_SIGNAL_BASE) + number)
}
