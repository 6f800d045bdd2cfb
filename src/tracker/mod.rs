//! Where tasks come from: today the one objective of a run.
//!
//! Owns the words of the default task. Invariant: knows nothing of how a task is carried out.

/// The task when nobody names one (DESIGN §1).
pub const DEFAULT_OBJECTIVE: &str = "make the failing tests pass";
