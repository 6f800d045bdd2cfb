//! The plan: every value a run needs, resolved, with where it came from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::choices::{
    Comment, FailOn, Format, Merge, Minimise, Network, OnRemark, Proof, Push, RestMethod, Sandbox, WaitFor, Wire,
};
use crate::domain::budget::{Budget, SharedCaps};
use crate::domain::catalogue::ModelFacts;
use crate::domain::chat::Effort;
use crate::domain::ladder::{OnEntropy, Role, Tier};
use crate::domain::meta::MetaBlock;
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;

/// Everything `upshift run` needs to know before it starts. Made by [`super::resolve`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The ladder. Never empty, and its names are unique.
    pub tiers: Vec<Tier>,
    /// Where the ladder came from: a path, `(inline)`, `(shorthand)`, `(built-in)` or `(none)` (the seeds' two-mode path).
    pub tier_config_path: String,
    /// Which ladder that is, and why, where nobody named one. For words before the start alone.
    pub built_in_ladder: Option<String>,
    /// The caps of the whole run.
    pub budget: Budget,
    /// The caps that it shares with other runs.
    pub shared_caps: SharedCaps,
    /// The consequence of a stalled tier.
    pub on_entropy: OnEntropy,
    /// How many identical errors in a row count as a stall (S0-1).
    pub entropy_threshold: u32,
    /// The task.
    pub objective: String,
    /// The directory to work in, as given. `None` is the current one.
    pub working_directory: Option<String>,
    /// How the tests are run.
    pub test: TestPlan,
    /// How the agent works.
    pub agent: AgentPlan,
    /// The users' own command lines of coding agents, by the name behind `cli/`.
    pub agents: BTreeMap<String, AgentProgram>,
    /// Rights of child processes and paths that models may not write.
    pub safety: SafetyPlan,
    /// The settings for GitHub.
    pub github: GithubPlan,
    /// Where the audit log is written, as given. `None` is off.
    pub audit: Option<String>,
    /// Where replies are recorded.
    pub record: Option<String>,
    /// The form of the final report.
    pub format: Format,
    /// Price, window and limits of each target.
    pub facts: ModelFacts,
    /// How each provider in the ladder is reached.
    pub endpoints: BTreeMap<String, EndpointPlan>,
    /// Every effective value, in the order of the documentation.
    pub values: Vec<EffectiveValue>,
    /// Warnings for a person, to be shown before the run.
    pub warnings: Vec<String>,
    /// Why a run must be refused (exit 6): what is asked for and this build cannot do. Empty in the ordinary case.
    pub refusals: Vec<String>,
    /// The most this run can cost: never above the cost cap.
    pub worst_case: MicroUsd,
    /// The highest cost of each tier if there were no caps. For information only.
    pub uncapped: Vec<MicroUsd>,
}

/// A command that judges beside the tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCommand {
    /// The unique name in reports.
    pub name: String,
    /// The shell command, run in the folder of the tests.
    pub run: String,
}

/// How the tests are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestPlan {
    /// The command. `None` means that it is detected.
    pub command: Option<String>,
    /// The commands that judge beside it, in order.
    pub commands: Vec<NamedCommand>,
    /// A command run once before any model output.
    pub setup_command: Option<String>,
    /// The failing tests that are to be mended. An empty list means all.
    pub only: Vec<String>,
    /// Whether upshift itself saw those fail, so that each is a test for sure. A person's list may hold slips.
    pub known: bool,
    /// The framework whose output is read. `None` means that it is recognised.
    pub framework: Option<String>,
    /// How long one run may take, in seconds (contradiction 30).
    pub timeout_seconds: u64,
    /// How much memory one process of the tests may take, in MiB. 0 is no limit.
    pub memory_mb: u32,
    /// How long the evidence for a green may take, in minutes.
    pub proof_minutes: u32,
    /// JUnit files the command writes, as a glob.
    pub junit: Option<String>,
}

/// How much memory one process of the tests may take unless something else is said, in MiB (S0-38).
pub(super) const DEFAULT_MEMORY_MB: u32 = 2_048;

/// How long the evidence for a green may take unless something else is said, in minutes (PROOF).
pub(super) const DEFAULT_PROOF_MINUTES: u32 = 10;

impl TestPlan {
    /// How much memory one process may take, in MiB. `None` is no limit.
    #[must_use]
    pub const fn memory_limit(&self) -> Option<u32> {
        if self.memory_mb == 0 { None } else { Some(self.memory_mb) }
    }
}

/// How the agent works.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentPlan {
    /// Cap on turns per session.
    pub max_turns: u32,
    /// The most attempts at one turn, the first included (contradiction 17).
    pub max_attempts: u32,
    /// How hard a model should think.
    pub effort: Option<Effort>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Commands the artisan may run.
    pub allow_commands: Vec<String>,
    /// The model of coding agents' side calls. The tier's model is used where there is none, or where it is of another provider.
    pub side_model: Option<ModelId>,
    /// How long a coding agent may show no sign of life, in seconds.
    pub idle_seconds: u32,
    /// Blocks of data that roles are asked for beside their reports.
    pub meta: Vec<MetaBlock>,
    /// Servers of tools.
    pub mcp: Vec<McpServer>,
    /// Whether briefs and reviews are used again.
    pub cache: bool,
    /// Tools that are a request to a web service each.
    pub rest: Vec<RestTool>,
    /// The hosts that tools may reach.
    pub tool_hosts: Vec<String>,
    /// Advisors, asked before the artisan works.
    pub advisors: Vec<AdvisorPlan>,
    /// Sub-agents, which roles call as tools.
    pub sub_agents: Vec<SubAgentPlan>,
    /// The words that a model is told when a tool fails, by the tool's name or its beginning and `*`.
    pub tool_failures: BTreeMap<String, String>,
    /// Specialists that a role may hand its task over to.
    pub router: Vec<SpecialistPlan>,
    /// Sessions that follow a fix.
    pub handoff: Vec<HandoffPlan>,
}

impl AgentPlan {
    /// The variables of the environment that tools from outside get by name.
    pub fn variables_of_tools(&self) -> impl Iterator<Item = &String> {
        let of_servers = self.mcp.iter().flat_map(|server| server.env.iter().chain(server.headers.values()));
        of_servers.chain(self.rest.iter().flat_map(|tool| tool.headers.values()))
    }

    /// The words for the failure of a tool, where there are any: those for its name before those for the longest beginning of it.
    #[must_use]
    pub fn failure_of(&self, tool: &str) -> Option<&str> {
        // `mcp__github__*` fits every tool of that server, and a longer beginning beats a shorter one.
        let begins = |name: &str| name.strip_suffix('*').is_some_and(|beginning| tool.starts_with(beginning));
        let named = self.tool_failures.get(tool);
        let fits = || self.tool_failures.iter().filter(|(name, _)| begins(name)).max_by_key(|(name, _)| name.len());
        named.or_else(|| fits().map(|(_, told)| told)).map(String::as_str)
    }

    /// The blocks that a role is asked for.
    #[must_use]
    pub fn meta_of(&self, role: Role) -> Vec<MetaBlock> {
        self.meta.iter().filter(|block| block.role == role).cloned().collect()
    }
}

/// An advisor: a model that reads before the artisan works and gives its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisorPlan {
    /// Its name.
    pub name: String,
    /// The part that it is asked for.
    pub instructions: String,
    /// Its models in order. Empty for those of the tier.
    pub models: Vec<ModelId>,
    /// The most that all its sessions of a run may cost. `None` for a tenth of the run's cap.
    pub max_cost: Option<MicroUsd>,
    /// Cap on turns per session.
    pub max_turns: u32,
    /// The most time of one session, in seconds. `None` for a tenth of the run's that is left, and five minutes at most.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// Whether it is asked in each iteration. Otherwise in the first of each tier.
    pub each_iteration: bool,
}

/// A sub-agent: a model that a role calls as a tool, in a session of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubAgentPlan {
    /// Its name.
    pub name: String,
    /// When to call it.
    pub description: String,
    /// Its own instructions.
    pub instructions: String,
    /// Its models in order. Empty for those of the role that calls it.
    pub models: Vec<ModelId>,
    /// The roles that may call it.
    pub roles: Vec<Role>,
    /// The sources of tools that it is given.
    pub tools: Vec<String>,
    /// Whether it may change files.
    pub allow_write: bool,
    /// The most that all its sessions of a run may cost. `None` for a tenth of the run's cap.
    pub max_cost: Option<MicroUsd>,
    /// Cap on turns per session.
    pub max_turns: u32,
    /// Cap on the time of one call, in seconds.
    pub timeout_seconds: u32,
}

/// A specialist, to whom a role may hand its task over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecialistPlan {
    /// Its name.
    pub name: String,
    /// When it is the right one: told to who may hand over.
    pub when: String,
    /// More that it is told itself. May be empty.
    pub instructions: String,
    /// The roles that may hand over to it, and that it stands in for.
    pub roles: Vec<Role>,
    /// Its models in order. Empty for those of the role.
    pub models: Vec<ModelId>,
    /// The most that all its sessions of a run may cost. `None` for no cap but the run's and the tier's.
    pub max_cost: Option<MicroUsd>,
    /// Cap on turns per session. `None` for that of every session.
    pub max_turns: Option<u32>,
}

/// A session that follows a fix, such as one that writes a release note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffPlan {
    /// Its name.
    pub name: String,
    /// The text that it is asked for.
    pub instructions: String,
    /// Its models in order. Empty for those of the tier.
    pub models: Vec<ModelId>,
    /// The most that all its sessions of a run may cost. `None` for a tenth of the run's cap.
    pub max_cost: Option<MicroUsd>,
    /// Cap on turns per session.
    pub max_turns: u32,
    /// The most time of one session, in seconds. `None` for a tenth of the run's that is left, and five minutes at most.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
}

/// The name of the text that stands in a pull request.
pub const PULL_REQUEST: &str = "pull_request";

/// A tool that is a request to a web service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RestTool {
    /// Its name.
    pub name: String,
    /// When to call it.
    pub description: String,
    /// The method.
    pub method: RestMethod,
    /// The address, with placeholders in braces.
    pub url: String,
    /// The schema of its arguments: an object.
    pub params: Value,
    /// The variables that hold the values of its headers.
    pub headers: BTreeMap<String, String>,
    /// The roles that are given it.
    pub roles: Vec<Role>,
    /// Cap on the time of one call, in seconds.
    pub timeout_seconds: u32,
}

/// A server of tools, started by its command or asked at its address for each session of the roles that are given it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// The program and its arguments. Empty where it is asked at an address.
    pub command: Vec<String>,
    /// Its address, where it is not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The variables that hold the values of headers for that address.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Variables of the caller's environment that it gets.
    pub env: Vec<String>,
    /// The roles that are given its tools.
    pub roles: Vec<Role>,
    /// Tools that are offered although they do not say that they only read.
    pub allow: Vec<String>,
    /// Cap on the time of one call, in seconds.
    pub timeout_seconds: u32,
}

/// A user's own command line of a coding agent. Nothing of it is used for another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentProgram {
    /// The program and the arguments before ours. Empty for its own name in `PATH`.
    pub command: Vec<String>,
    /// The arguments behind ours.
    pub args: Vec<String>,
}

/// Rights of child processes and paths that models may not write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetyPlan {
    /// Confinement of child processes.
    pub sandbox: Sandbox,
    /// Network of child processes.
    pub network: Network,
    /// Globs the model may not write, beside the built-in ones.
    pub protected_paths: Vec<String>,
    /// Globs of test files that the task may edit.
    pub allow_test_edits: Vec<String>,
    /// The treatment of the parts of a fix that the tests pass without.
    pub minimise: Minimise,
    /// How much a green is asked to prove beyond its own run.
    pub proof: Proof,
    /// The treatment of a fix in which something could deceive a test runner.
    pub on_remark: OnRemark,
    /// Variables handed to the tests.
    pub pass_env: Vec<String>,
}

/// How often one run pushes at most unless something else is said.
pub(super) const DEFAULT_MAX_PUSHES: u32 = 3;

/// The settings for GitHub, used by the Action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubPlan {
    /// The treatment of a fix.
    pub push: Push,
    /// The event to wait for after a push.
    pub wait_for: WaitFor,
    /// How often one run pushes at most.
    pub max_pushes: u32,
    /// Cap on waiting for CI, in minutes.
    pub ci_timeout_minutes: u32,
    /// Cap on waiting for a merge, in minutes.
    pub merge_timeout_minutes: u32,
    /// When to comment on the pull request.
    pub comment: Comment,
    /// The outcomes that fail the step. `None` is all but exit 0, 4 and harmless refusals.
    pub fail_on: Option<Vec<FailOn>>,
    /// Cap on runs per pull request, or per failure of a branch without one.
    pub max_attempts_per_pr: u32,
    /// The label that keeps upshift away.
    pub skip_label: String,
    /// The bots that may start a run on their own pull requests, by their exact names.
    pub allowed_bots: Vec<String>,
    /// The message of the commit with the fix. `None` is the built-in one.
    pub commit_message: Option<String>,
    /// The name of its author, as `Name <address>`. `None` is the account of a workflow's own token.
    pub commit_author: Option<String>,
    /// Whether it is made through the API, where GitHub signs it.
    pub sign_commits: bool,
    /// Whether to open a pull request as a draft.
    pub draft: bool,
    /// The one who merges a pull request that upshift opened.
    pub merge: Merge,
    /// How long the job may take, in minutes.
    pub job_timeout_minutes: u32,
}

/// How one provider is reached. Holds the name of the key's variable, never the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointPlan {
    /// The wire format.
    pub wire: Wire,
    /// The base URL without a trailing slash. Empty for a cassette.
    pub base_url: String,
    /// The variable that holds the key. `None` when no key is needed.
    pub key_var: Option<String>,
    /// Whether it costs nothing.
    pub local: bool,
}

/// One effective value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveValue {
    /// The key as in the configuration file, e.g. `global.maxTotalCostUsd`.
    pub key: String,
    /// The value as a person reads it.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", content = "name", rename_all = "snake_case")]
pub enum Origin {
    /// A flag, with its dashes.
    Flag(String),
    /// A variable of the environment.
    Env(String),
    /// The ladder's own text, by path or `(inline)`.
    Tiers(String),
    /// The configuration file.
    File(String),
    /// Nothing said otherwise.
    Default,
}

impl Origin {
    /// The bare name: a flag, a variable, a path. `default` for none.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Flag(name) | Self::Env(name) | Self::Tiers(name) | Self::File(name) => name,
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Env(name) => write!(f, "variable {name}"),
            Self::Tiers(name) => write!(f, "tiers {name}"),
            Self::File(name) => f.write_str(name),
            Self::Default => f.write_str("default"),
        }
    }
}
