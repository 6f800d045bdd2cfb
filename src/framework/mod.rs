//! Facts about test frameworks, and what their test files look like.
//!
//! [`source`] finds the tests that a file defines, with a real grammar, and says how each is changed for an experiment of the court
//! (`trial`): made to fail inside its own body, given another expectation, given another name.
//!
//! Invariant: pure; text in, places and texts out.

pub mod source;
