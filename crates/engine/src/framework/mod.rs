//! Facts about test frameworks, and what their test files look like.
//!
//! [`table`] holds what is known of each framework, as plain data: how a command calls it ([`calls`]), how it is told to write its
//! results, how it selects tests. [`detect`] finds out which of them a repository uses. [`source`] finds the tests that a file defines, with a real grammar, and says how each is changed for
//! an experiment of the court (`trial`): made to fail inside its own body, given another expectation, given another name.
//!
//! Invariant: starts nothing and writes nothing. All but [`detect`], which reads a repository's own files, is pure.

pub mod build_files;
pub mod calls;
pub mod detect;
pub mod facts;
pub mod patterns;
pub mod programs;
pub mod protected_names;
pub mod source;
pub mod table;
