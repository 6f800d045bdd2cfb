//! The report of a test run: one shape for every framework (S0-41, `upshift read`). The crate `testlog` owns it, with all readers.

pub use testlog::{Problem, Report as TestReport, RunKind, RunStatus, TestCase, TestStatus};
