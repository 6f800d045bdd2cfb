//! How children are confined: as `plan` can on this system, or not at all where that is asked for.

use super::{Arranged, ConfineError, Confined, Confinement, Reach, Wish, plan};
use crate::config::Sandbox;

/// Works out how children are confined, and prepares their private folder.
///
/// # Errors
/// [`ConfineError`]: `required` with a gap, a network that cannot be given, no private folder.
pub fn arrange(wish: &Wish<'_>) -> Result<Arranged, ConfineError> {
    // Also where the sandbox is off now: the run that was killed may have had one.
    plan::recover(wish)?;
    if wish.sandbox == Sandbox::Off { Ok(unconfined(wish)) } else { plan::arrange(wish) }
}

pub(super) fn unconfined(wish: &Wish<'_>) -> Arranged {
    let plain = || Confined { confinement: Confinement::None, env: wish.env.clone() };
    let notes = vec![
        "sandbox is `off`: tests and tools can read, write and send whatever your user can; only their environment, time and output \
         are limited"
            .to_owned(),
    ];
    Arranged { tests: plain(), open: None, setup: plain(), network: Reach::All, gaps: Vec::new(), notes }
}
