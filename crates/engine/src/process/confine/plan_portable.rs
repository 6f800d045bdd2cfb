//! Where nothing can be confined.
//!
//! Invariant: same interface as on Linux.

use super::arrange::unconfined;
use super::{Arranged, ConfineError, Wish};
use crate::config::{Network, Sandbox};

/// Nothing: no child's git directory is guarded here.
///
/// # Errors
/// Never.
pub(super) const fn recover(_wish: &Wish<'_>) -> Result<(), ConfineError> {
    Ok(())
}

/// As without confinement, with that said. Refused where confinement was demanded.
///
/// # Errors
/// [`ConfineError`]: the sandbox is required, or a network that cannot be given.
pub(super) fn arrange(wish: &Wish<'_>) -> Result<Arranged, ConfineError> {
    let gap = of_platform();
    if wish.sandbox == Sandbox::Required {
        return Err(ConfineError::Gaps(vec![gap]));
    }
    if matches!(wish.network, Network::Off | Network::Loopback) {
        return Err(ConfineError::Network(wish.network, gap));
    }
    Ok(Arranged { gaps: vec![gap], notes: Vec::new(), ..unconfined(wish) })
}

/// The gap of this system, which cannot confine at all.
pub(super) fn of_platform() -> String {
    format!(
        "children cannot be confined on {} {}: they can do what your user can do; only their environment, time and output are limited",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
