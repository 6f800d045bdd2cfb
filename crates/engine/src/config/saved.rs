//! A plan as a run's saved state holds it: a form of its own, which later and earlier versions of this program can read.
//!
//! Each key stands for itself. One that this program does not know is ignored, and one that is missing, or holds what this program cannot
//! read, takes today's default. So a run that was parked goes on with a program that knows one key more.
//!
//! Invariant: a field that is added to the plan is named here too, or this file does not compile.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::plan::{
    AdvisorPlan, AgentPlan, AgentProgram, Comment, EffectiveValue, EndpointPlan, FailOn, Format, GithubPlan,
    HandoffPlan, McpServer, Merge, Minimise, NamedCommand, Network, OnRemark, Plan, Proof, Push, RestTool, SafetyPlan,
    Sandbox, SpecialistPlan, SubAgentPlan, TestPlan, WaitFor, Wire,
};
use super::resolve::defaults;
use crate::domain::budget::{Budget, SharedCaps};
use crate::domain::catalogue::{ModelFacts, ModelInfo, Price};
use crate::domain::chat::Effort;
use crate::domain::json_schema;
use crate::domain::ladder::{Mode, OnEntropy, Tier};
use crate::domain::meta::MetaBlock;
use crate::domain::model_id::ModelId;
use crate::domain::units::MicroUsd;

/// The beginning of the warning of a block of data whose schema another version saved.
pub const UNCHECKED: &str = "another version saved the block `agent.meta.";

/// How many iterations a saved tier has that does not say it: the shorthand's number.
const UNSAID_ITERATIONS: u32 = 5;

/// Writes a plan in its saved form. Meant for serde's `with`.
///
/// # Errors
/// When the serializer fails.
pub fn serialize<S: Serializer>(plan: &Plan, serializer: S) -> Result<S::Ok, S::Error> {
    SavedPlan::of(plan).serialize(serializer)
}

/// Reads a saved plan. Meant for serde's `with`.
///
/// # Errors
/// When the text is not a saved plan.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Plan, D::Error> {
    Ok(SavedPlan::deserialize(deserializer)?.over(defaults()))
}

/// A value that this program may not be able to read.
fn lenient<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    // A key whose form has changed counts as missing, instead of making the whole run unreadable.
    Ok(serde_json::from_value(value).ok())
}

/// The saved form of a part of a plan: each key may be missing.
macro_rules! saved {
    ($(#[$doc:meta])* $saved:ident of $part:ident { $($field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        #[serde(default)]
        struct $saved {
            $(#[serde(deserialize_with = "lenient")] $field: Option<$type>,)+
        }

        impl $saved {
            fn of(part: &$part) -> Self {
                let $part { $($field,)+ } = part;
                Self { $($field: Some($field.clone()),)+ }
            }

            fn over(self, today: $part) -> $part {
                // A key of a later version is unknown and ignored, one of an earlier version gets the default of today.
                $part { $($field: self.$field.unwrap_or(today.$field),)+ }
            }
        }
    };
}

saved! {
    /// The caps of a run.
    SavedBudget of Budget { max_cost: MicroUsd, max_iterations: u32, max_active_ms: u64, }
}
saved! {
    /// The caps that runs share.
    SavedSharedCaps of SharedCaps { per_pull_request: Option<MicroUsd>, per_day: Option<MicroUsd>, }
}
saved! {
    /// How the tests are run.
    SavedTest of TestPlan {
        command: Option<String>,
        commands: Vec<NamedCommand>,
        setup_command: Option<String>,
        only: Vec<String>,
        known: bool,
        framework: Option<String>,
        timeout_seconds: u64,
        memory_mb: u32,
        proof_minutes: u32,
        junit: Option<String>,
    }
}
saved! {
    /// How the agent works.
    SavedAgent of AgentPlan {
        max_turns: u32,
        max_attempts: u32,
        effort: Option<Effort>,
        temperature: Option<f64>,
        allow_commands: Vec<String>,
        side_model: Option<ModelId>,
        idle_seconds: u32,
        meta: Vec<MetaBlock>,
        mcp: Vec<McpServer>,
        cache: bool,
        rest: Vec<RestTool>,
        tool_hosts: Vec<String>,
        advisors: Vec<AdvisorPlan>,
        sub_agents: Vec<SubAgentPlan>,
        tool_failures: BTreeMap<String, String>,
        router: Vec<SpecialistPlan>,
        handoff: Vec<HandoffPlan>,
    }
}
saved! {
    /// Rights of child processes and paths that models may not write.
    SavedSafety of SafetyPlan {
        sandbox: Sandbox,
        network: Network,
        protected_paths: Vec<String>,
        allow_test_edits: Vec<String>,
        minimise: Minimise,
        proof: Proof,
        on_remark: OnRemark,
        pass_env: Vec<String>,
    }
}
saved! {
    /// The settings for GitHub.
    SavedGithub of GithubPlan {
        push: Push,
        wait_for: WaitFor,
        max_pushes: u32,
        ci_timeout_minutes: u32,
        merge_timeout_minutes: u32,
        comment: Comment,
        fail_on: Option<Vec<FailOn>>,
        max_attempts_per_pr: u32,
        skip_label: String,
        allowed_bots: Vec<String>,
        commit_message: Option<String>,
        commit_author: Option<String>,
        sign_commits: bool,
        draft: bool,
        merge: Merge,
        job_timeout_minutes: u32,
    }
}
saved! {
    /// How a provider is reached.
    SavedEndpoint of EndpointPlan { wire: Wire, base_url: String, key_var: Option<String>, local: bool, }
}
saved! {
    /// The facts about a model.
    SavedModel of ModelInfo {
        context_window: u64,
        max_output_tokens: u64,
        price: Option<Price>,
        tools: bool,
        source: String,
    }
}
saved! {
    /// A tier.
    SavedTier of Tier {
        name: String,
        mode: Mode,
        max_iterations: u32,
        artisan: Vec<ModelId>,
        librarian: Vec<ModelId>,
        critic: Vec<ModelId>,
        max_cost: Option<MicroUsd>,
    }
}

impl SavedTier {
    /// A tier. `None` where no model is named.
    fn tier(self) -> Option<Tier> {
        // A tier that no model could work in is left out.
        let artisan = self.artisan.clone().filter(|targets| !targets.is_empty())?;
        let unsaid = Tier {
            name: artisan.first().map(ToString::to_string).unwrap_or_default(),
            mode: Mode::Simple,
            max_iterations: UNSAID_ITERATIONS,
            librarian: artisan.clone(),
            critic: artisan.clone(),
            artisan,
            max_cost: None,
        };
        Some(self.over(unsaid))
    }
}

impl SavedEndpoint {
    /// An endpoint. `None` where its wire or address is not said.
    fn endpoint(self) -> Option<EndpointPlan> {
        // An address that is guessed could be handed a key.
        let unsaid = EndpointPlan { wire: self.wire?, base_url: self.base_url.clone()?, key_var: None, local: false };
        Some(self.over(unsaid))
    }
}

/// The whole plan. Sections hold keys of their own.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct SavedPlan {
    tiers: Vec<SavedTier>,
    #[serde(deserialize_with = "lenient")]
    tier_config_path: Option<String>,
    #[serde(deserialize_with = "lenient")]
    built_in_ladder: Option<Option<String>>,
    budget: SavedBudget,
    shared_caps: SavedSharedCaps,
    #[serde(deserialize_with = "lenient")]
    on_entropy: Option<OnEntropy>,
    #[serde(deserialize_with = "lenient")]
    entropy_threshold: Option<u32>,
    #[serde(deserialize_with = "lenient")]
    objective: Option<String>,
    #[serde(deserialize_with = "lenient")]
    working_directory: Option<Option<String>>,
    test: SavedTest,
    agent: SavedAgent,
    #[serde(deserialize_with = "lenient")]
    agents: Option<BTreeMap<String, AgentProgram>>,
    safety: SavedSafety,
    github: SavedGithub,
    #[serde(deserialize_with = "lenient")]
    audit: Option<Option<String>>,
    #[serde(deserialize_with = "lenient")]
    record: Option<Option<String>>,
    #[serde(deserialize_with = "lenient")]
    format: Option<Format>,
    facts: BTreeMap<String, SavedModel>,
    endpoints: BTreeMap<String, SavedEndpoint>,
    #[serde(deserialize_with = "lenient")]
    values: Option<Vec<EffectiveValue>>,
    #[serde(deserialize_with = "lenient")]
    warnings: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient")]
    refusals: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient")]
    worst_case: Option<MicroUsd>,
    #[serde(deserialize_with = "lenient")]
    uncapped: Option<Vec<MicroUsd>>,
}

/// Takes out the blocks of data whose schemas say what this program does not check, as those of a later version may. Returns a warning for
/// each: a block that is half checked would pass for a valid one.
fn drop_unchecked(blocks: &mut Vec<MetaBlock>) -> Vec<String> {
    let mut warnings = Vec::new();
    blocks.retain(|block| {
        let fault = json_schema::fault(&block.schema);
        warnings.extend(fault.iter().map(|(place, why)| {
            format!("{UNCHECKED}{}`, which is not asked for: `{place}` in its schema {why}", block.name)
        }));
        fault.is_none()
    });
    warnings
}

impl SavedPlan {
    fn of(plan: &Plan) -> Self {
        let Plan {
            tiers,
            tier_config_path,
            built_in_ladder,
            budget,
            shared_caps,
            on_entropy,
            entropy_threshold,
            objective,
            working_directory,
            test,
            agent,
            agents,
            safety,
            github,
            audit,
            record,
            format,
            facts,
            endpoints,
            values,
            warnings,
            refusals,
            worst_case,
            uncapped,
        } = plan;
        let of_endpoint = |(name, endpoint): (&String, &EndpointPlan)| (name.clone(), SavedEndpoint::of(endpoint));
        Self {
            tiers: tiers.iter().map(SavedTier::of).collect(),
            tier_config_path: Some(tier_config_path.clone()),
            built_in_ladder: Some(built_in_ladder.clone()),
            budget: SavedBudget::of(budget),
            shared_caps: SavedSharedCaps::of(shared_caps),
            on_entropy: Some(*on_entropy),
            entropy_threshold: Some(*entropy_threshold),
            objective: Some(objective.clone()),
            working_directory: Some(working_directory.clone()),
            test: SavedTest::of(test),
            agent: SavedAgent::of(agent),
            agents: Some(agents.clone()),
            safety: SavedSafety::of(safety),
            github: SavedGithub::of(github),
            audit: Some(audit.clone()),
            record: Some(record.clone()),
            format: Some(*format),
            facts: facts.0.iter().map(|(id, info)| (id.to_string(), SavedModel::of(info))).collect(),
            endpoints: endpoints.iter().map(of_endpoint).collect(),
            values: Some(values.clone()),
            warnings: Some(warnings.clone()),
            refusals: Some(refusals.clone()),
            worst_case: Some(*worst_case),
            uncapped: Some(uncapped.clone()),
        }
    }

    fn over(self, today: Plan) -> Plan {
        let mut agent = self.agent.over(today.agent);
        let mut warnings = self.warnings.unwrap_or(today.warnings);
        warnings.extend(drop_unchecked(&mut agent.meta));
        // The catalogue is not asked: a run goes on with the prices that its budget was reckoned with.
        let known = |(id, saved): (String, SavedModel)| Some((ModelId::parse(&id)?, saved.over(ModelInfo::unknown())));
        let facts = self.facts.into_iter().filter_map(known);
        let endpoints = self.endpoints.into_iter().filter_map(|(name, saved)| Some((name, saved.endpoint()?)));
        Plan {
            tiers: self.tiers.into_iter().filter_map(SavedTier::tier).collect(),
            tier_config_path: self.tier_config_path.unwrap_or(today.tier_config_path),
            built_in_ladder: self.built_in_ladder.unwrap_or(today.built_in_ladder),
            budget: self.budget.over(today.budget),
            shared_caps: self.shared_caps.over(today.shared_caps),
            on_entropy: self.on_entropy.unwrap_or(today.on_entropy),
            entropy_threshold: self.entropy_threshold.unwrap_or(today.entropy_threshold),
            objective: self.objective.unwrap_or(today.objective),
            working_directory: self.working_directory.unwrap_or(today.working_directory),
            test: self.test.over(today.test),
            agent,
            agents: self.agents.unwrap_or(today.agents),
            safety: self.safety.over(today.safety),
            github: self.github.over(today.github),
            audit: self.audit.unwrap_or(today.audit),
            record: self.record.unwrap_or(today.record),
            format: self.format.unwrap_or(today.format),
            facts: ModelFacts(facts.collect()),
            endpoints: endpoints.collect(),
            values: self.values.unwrap_or(today.values),
            warnings,
            refusals: self.refusals.unwrap_or(today.refusals),
            worst_case: self.worst_case.unwrap_or(today.worst_case),
            uncapped: self.uncapped.unwrap_or(today.uncapped),
        }
    }
}
