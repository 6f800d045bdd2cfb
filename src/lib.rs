//! upshift gets a red repository green in CI.

pub mod agent;
pub mod audit;
pub mod cli;
pub mod config;
pub mod domain;
pub mod http;
pub mod lifecycle;
pub mod model;
pub mod policy;
pub mod process;
pub mod redact;
pub mod report;
pub mod session;
pub mod test_run;
pub mod tracker;
pub mod workspace;
