//! Decisions, pure: state and observations in, decisions out.
//!
//! Owns no state but the one handed in, so that every rule can be property-tested and every state be saved. Decisions are carried out by
//! `lifecycle` and `session`. Invariant: no file, clock, environment or randomness. Imports `domain` only.
//!
//! Start reading at [`escalation::step`]: after every iteration it says what comes next.

pub mod asked;
pub mod attempts;
pub mod backlog;
pub mod budget;
pub mod candidate;
pub mod command;
pub mod course;
pub mod entropy;
pub mod escalation;
pub mod guard;
pub mod handover;
pub mod ladder;
pub mod merging;
pub mod minimise;
pub mod review;
pub mod rotation;
pub mod smart_zone;
pub mod standing;
pub mod tamper;
pub mod verdict;
