//! `upshift check --format json`: the effective plan for programs.
//!
//! Contract: the keys of [`Document`] stay, and new ones may come. A change of meaning raises `version`.

use serde::Serialize;

use super::{Found, Obstacle};
use crate::config::{Network, Origin, Plan, Sandbox};
use crate::domain::ladder::Tier;
use crate::domain::units::MicroUsd;
use crate::report::json::{self, Money};

/// The version of this document's shape.
const VERSION: u32 = 1;

/// The whole plan.
#[derive(Debug, Serialize)]
struct Document<'a> {
    version: u32,
    /// Whether `run` would begin with it here. False where there are `refusals` or `obstacles`.
    runs: bool,
    refusals: &'a [String],
    /// What a run would stop at in this checkout, each with the way out.
    obstacles: Vec<Obstacle>,
    warnings: &'a [String],
    objective: &'a str,
    /// Where the ladder came from: a path, `(inline)`, `(shorthand)`, `(built-in)` or `(none)`.
    tier_config_path: &'a str,
    tiers: Vec<TierDocument<'a>>,
    budget: BudgetDocument,
    tests: TestsDocument<'a>,
    sandbox: Sandbox,
    network: Network,
    /// Null where it is off.
    audit_db: Option<&'a str>,
    /// The coding agents that were looked for: where the ladder names none, those that are there.
    agents: Vec<AgentDocument<'a>>,
    /// The sources of tools from outside. Absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolsDocument<'a>>,
    values: Vec<ValueDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct AgentDocument<'a> {
    /// Behind `cli/`.
    name: &'a str,
    /// Null where it was not found.
    version: Option<&'a str>,
    /// The reach that it has here. Null where the ladder does not name it, or it is not there.
    kept: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ToolsDocument<'a> {
    /// The beginning of their names.
    name: &'a str,
    /// The program, the address or the models.
    what: &'a str,
    /// Why they cannot be had. Null where nothing speaks against it.
    trouble: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct TierDocument<'a> {
    /// Zero-based.
    index: usize,
    name: &'a str,
    /// `simple` or `full`.
    mode: &'static str,
    max_iterations: u32,
    /// Null where the run's cap alone holds.
    max_cost: Option<Money>,
    /// The most that it would cost if there were no caps.
    uncapped: Option<Money>,
    roles: Vec<RoleDocument>,
}

#[derive(Debug, Serialize)]
struct RoleDocument {
    /// `librarian`, `artisan` or `critic`.
    role: &'static str,
    /// In the order in which they are asked.
    models: Vec<ModelDocument>,
}

#[derive(Debug, Serialize)]
struct ModelDocument {
    /// `provider/model`.
    model: String,
    /// The price of a million tokens. Null where it is not known, zero where it is free.
    input_per_1m: Option<Money>,
    output_per_1m: Option<Money>,
    context_window: u64,
}

#[derive(Debug, Serialize)]
struct BudgetDocument {
    max_cost: Money,
    max_cost_per_pull_request: Option<Money>,
    max_cost_per_day: Option<Money>,
    max_duration_ms: u64,
    max_iterations: u32,
    /// The most that the run can cost. Never above `max_cost`.
    worst_case: Money,
}

#[derive(Debug, Serialize)]
struct TestsDocument<'a> {
    /// Null where none is given and none was detected.
    command: Option<&'a str>,
    /// Whether it was detected, not given.
    detected: bool,
    /// Null where the output will tell.
    framework: Option<&'a str>,
    /// The sign that the framework was recognised by.
    recognised_by: Option<&'a str>,
    setup_command: Option<&'a str>,
    timeout_seconds: u64,
    /// Null where there is no limit.
    memory_limit_mb: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ValueDocument<'a> {
    key: &'a str,
    value: &'a str,
    /// `default`, or the flag, variable or file.
    origin: String,
}

/// Renders a plan for programs.
#[must_use]
pub fn render_json(plan: &Plan, found: &Found<'_>) -> String {
    json::pretty(&document(plan, found))
}

fn document<'a>(plan: &'a Plan, found: &'a Found<'a>) -> Document<'a> {
    let Found { tests: detected, agents, tools, obstacles: _ } = *found;
    let stop = found.stop(plan);
    let money = |amount: Option<MicroUsd>| amount.map(Money::from);
    Document {
        version: VERSION,
        runs: plan.refusals.is_empty() && stop.is_empty(),
        refusals: &plan.refusals,
        obstacles: stop,
        warnings: &plan.warnings,
        objective: &plan.objective,
        tier_config_path: &plan.tier_config_path,
        tiers: plan.tiers.iter().enumerate().map(|(index, of)| tier(plan, index, of)).collect(),
        budget: BudgetDocument {
            max_cost: plan.budget.max_cost.into(),
            max_cost_per_pull_request: money(plan.shared_caps.per_pull_request),
            max_cost_per_day: money(plan.shared_caps.per_day),
            max_duration_ms: plan.budget.max_active_ms,
            max_iterations: plan.budget.max_iterations,
            worst_case: plan.worst_case.into(),
        },
        tests: TestsDocument {
            command: plan.test.command.as_deref().or(detected.map(|found| found.command.as_str())),
            detected: plan.test.command.is_none() && detected.is_some(),
            framework: plan.test.framework.as_deref().or(detected.map(|found| found.framework.as_str())),
            // Where the configuration names the framework, no sign was looked for.
            recognised_by: detected.map(|found| found.why.as_str()).filter(|_| plan.test.framework.is_none()),
            setup_command: plan.test.setup_command.as_deref(),
            timeout_seconds: plan.test.timeout_seconds,
            memory_limit_mb: plan.test.memory_limit().map(u64::from),
        },
        sandbox: plan.safety.sandbox,
        network: plan.safety.network,
        audit_db: plan.audit.as_deref(),
        agents: agents
            .iter()
            .map(|agent| AgentDocument {
                name: agent.name,
                version: agent.version.as_deref(),
                kept: agent.kept.as_deref(),
            })
            .collect(),
        tools: tools
            .iter()
            .map(|tools| ToolsDocument { name: &tools.name, what: &tools.what, trouble: tools.trouble.as_deref() })
            .collect(),
        values: plan
            .values
            .iter()
            .map(|value| ValueDocument { key: &value.key, value: &value.value, origin: origin(&value.origin) })
            .collect(),
    }
}

fn origin(origin: &Origin) -> String {
    origin.to_string()
}

fn tier<'a>(plan: &Plan, index: usize, tier: &'a Tier) -> TierDocument<'a> {
    let roles = tier.roles().iter().map(|role| RoleDocument {
        role: role.as_str(),
        models: tier
            .targets(*role)
            .iter()
            .map(|id| {
                let facts = plan.facts.of(id);
                ModelDocument {
                    model: id.to_string(),
                    // Null and zero differ: an unknown price cannot be reserved for, a free model needs nothing.
                    input_per_1m: facts.price.map(|price| MicroUsd(price.input).into()),
                    output_per_1m: facts.price.map(|price| MicroUsd(price.output).into()),
                    context_window: facts.context_window,
                }
            })
            .collect(),
    });
    TierDocument {
        index,
        name: &tier.name,
        mode: tier.mode.as_str(),
        max_iterations: tier.max_iterations,
        max_cost: tier.max_cost.map(Money::from),
        uncapped: plan.uncapped.get(index).copied().map(Money::from),
        roles: roles.collect(),
    }
}
