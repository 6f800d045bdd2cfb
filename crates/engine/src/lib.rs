//! The layers of upshift below its loop: the nouns, the facts about test frameworks and agents, the decisions, and the one place for each
//! effect. The crate `upshift` says how they lie on each other, and has the loop and the commands.
//!
//! It is a crate of its own so that a change of the loop does not build it again. Other programs are promised nothing.

pub mod agent;
pub mod audit;
pub mod backend;
pub mod config;
pub mod domain;
pub mod files;
pub mod framework;
pub mod gateway;
pub mod github;
pub mod hosted;
pub mod http;
pub mod mcp;
pub mod model;
pub mod policy;
pub mod process;
pub mod redact;
pub mod report;
pub mod rest;
pub mod session;
pub mod streams;
pub mod telemetry;
pub mod test_run;
pub mod tracker;
pub mod trial;
pub mod workspace;
