//! Integration tests: the crate as a stranger uses it.

mod outputs;
