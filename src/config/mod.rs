//! Configuration: flags, environment and files in, a [`Plan`] or every fault out.
//!
//! Owns the shape of the configuration file, precedence, defaults, validation and the JSON Schema.
//! Must not read files, the environment or the network, and must not know the catalogue: `cli` hands all that in.
//! Invariant: pure. Nothing given is ignored in silence: it is honoured, warned about, or refused.
//!
//! Start reading at [`resolve`].

mod error;
mod ladder;
mod plan;
mod sources;

pub use error::{CLOSING, ConfigErrors, Problem, SourceErrors};
pub use ladder::{TiersSource, classify_tiers};
pub use plan::{
    AgentPlan, Comment, EffectiveValue, EndpointPlan, Format, GithubPlan, Network, Origin, Plan, Push, SafetyPlan,
    Sandbox, TestPlan, WaitFor, Wire,
};
pub use sources::{
    Build, BuiltInEndpoint, Catalogue, DEFAULT_CONFIG_PATH, FileContent, NamedFile, Setting, Settings, Sources,
};

/// Resolves a run's configuration.
///
/// Precedence (contradiction 9): flag, `UPSHIFT_*` variable, the text given as `tiers`, the configuration file, default.
///
/// # Errors
/// [`ConfigErrors`] with every fault of every source.
pub fn resolve(sources: &Sources, catalogue: &Catalogue) -> Result<Plan, ConfigErrors> {
    let _ = (sources, catalogue);
    Err(ConfigErrors::default())
}
