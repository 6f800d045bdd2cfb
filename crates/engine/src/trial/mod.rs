//! The court: it decides whether a green counts (PROOF).
//!
//! [`judge`] runs the start's tests over a change and says what they prove. [`evidence::prove`] asks of a green whether its tests could
//! still say no. [`needed`] finds the parts of a green change that the tests pass without. The decisions are pure and stand in
//! [`crate::policy::verdict`]. This module carries them out.
//!
//! Invariant: the start judges. Nothing that a model wrote decides which tests are run, what they say, or what is evidence. When the court
//! is done, the files on disk are those of the tree that it returns.

pub mod added;
mod base_tests;
mod belongings;
mod bench;
mod changed_tests;
pub mod evidence;
mod first_look;
mod foresight;
mod fresh;
mod judging;
pub mod needed;
mod over_base;
mod set_aside;
mod settle;
mod weakened;

pub use base_tests::{BaseTests, Side, base_tests};
pub use bench::{Bench, TrialError};
pub use foresight::Foresight;
pub use judging::{Judged, candidate, describe, explained, failed, leave_out, passed, signature};

pub use changed_tests::{ChangedTests, changed_tests};
pub use over_base::{OverBase, over_base, over_head};
pub use weakened::weakened;

use crate::domain::units::TreeId;

/// Runs the start's tests over a tree and judges what they say.
///
/// # Errors
/// When the tree cannot be put in order or the tests cannot be started.
pub async fn judge(bench: &Bench<'_>, tree: TreeId) -> Result<Judged, TrialError> {
    judging::run(bench, tree).await
}
