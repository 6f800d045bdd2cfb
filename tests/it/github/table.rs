//! The decision table of `checks::decide`.
