//! Configuration: flags, environment and files in, a [`Plan`] or every fault out.
//!
//! Owns the shape of the configuration file, precedence, defaults, validation and the JSON Schema.
//! Must not read files, the environment or the network, and must not know the catalogue: `cli` hands all that in.
//! Invariant: pure. Nothing given is ignored in silence: it is honoured, warned about, or refused.
//!
//! Start reading at [`resolve`].

mod advisor_sections;
mod advisors;
mod block_schema;
mod checks;
mod choices;
mod document;
mod elsewhere;
mod error;
mod estimate;
mod file;
mod gateway;
mod github;
mod hosts;
mod ladder;
mod mcp;
mod meta;
mod models;
mod node;
mod numbers;
mod pick;
mod plan;
mod prices;
mod read;
mod reference;
mod resolve;
mod rest;
pub mod saved;
mod schema;
mod secret_key;
mod secret_vars;
mod sections;
mod shared_plan;
mod sources;
mod sub_agents;
mod suggest;
mod tiers_source;
mod tool_sources;
mod values;
mod workflow;

pub use crate::domain::finding::DEFAULT_CONFIG_PATH;
pub use checks::TASK_CHECK;
pub use elsewhere::{Trust, elsewhere, ladder_text};
pub use error::{CLOSING, ConfigErrors, Problem, SourceErrors};
pub use gateway::{GATEWAY_PROVIDERS, GatewayPlan, resolve_gateway};
pub use github::DEFAULT_SKIP_LABEL;
pub use hosts::{all_spoken_by, spoken_by};
pub use plan::{
    AdvisorPlan, AgentPlan, AgentProgram, Comment, EffectiveValue, EndpointPlan, FailOn, Format, GithubPlan,
    HandoffPlan, McpServer, Merge, Minimise, NamedCommand, Network, OnRemark, Origin, PULL_REQUEST, Plan, Proof, Push,
    RestMethod, RestTool, SafetyPlan, Sandbox, SpecialistPlan, SubAgentPlan, TestPlan, WaitFor, Wire,
};
pub use read::Entry;
pub use reference::reference;
pub use resolve::{NO_MODEL, audit_path, faults_of_flags, resolve};
pub use saved::UNCHECKED;
pub use schema::schema;
pub use sections::{DEFAULT_IDLE_SECONDS, SEEN_TESTS};
pub use shared_plan::SharedPlan;
pub use sources::{Build, BuiltInEndpoint, Catalogue, FileContent, NamedFile, Setting, Settings, Sources};
pub use suggest::nearest;
pub use tiers_source::{TiersSource, classify_tiers};
pub use workflow::{NotHere, failed_command, is_only, workflow_commands};
