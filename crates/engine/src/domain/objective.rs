//! The goal of a run in words.

/// The objective of a run that was given none.
pub const DEFAULT_OBJECTIVE: &str = "make the failing tests pass";
