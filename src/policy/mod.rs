//! Pure decisions: what the numbers and the history of a run mean for its next step.
//!
//! Owns no state but what is handed in, so that every rule can be property-tested and every state be saved.
//! Invariant: no I/O, no clock, no randomness; imports `domain` only.

pub mod budget;
pub mod entropy;
pub mod handover;
pub mod rotation;
pub mod smart_zone;
