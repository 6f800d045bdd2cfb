//! The sections of a plan that are plain values: budget, test, agent, safety, audit.

use std::collections::BTreeMap;

use crate::domain::budget::{Budget, SharedCaps};
use crate::domain::ladder::{OnEntropy, Tier};
use crate::domain::objective::DEFAULT_OBJECTIVE;
use crate::domain::units::{MicroUsd, human_duration};

use super::checks;
use super::file::{AgentSection, ConfigFile, GlobalSection, SafetySection, TestSection};
use super::numbers::Dollars;
use super::pick::{Picked, Picker};
use super::plan::{
    AgentPlan, DEFAULT_MEMORY_MB, DEFAULT_PROOF_MINUTES, Minimise, Network, OnRemark, Origin, Proof, SafetyPlan,
    Sandbox, TestPlan,
};
use super::secret_vars::refuse_secrets;
use super::sources::{Setting, Sources};
use super::suggest::nearest;
use super::values::{AuditPath, Glob, TestName};
use super::{mcp, meta, rest};

/// The defaults of the seeds (S0-1).
const DEFAULT_MAX_COST: MicroUsd = MicroUsd(2_000_000);
const DEFAULT_MAX_MINUTES_MS: u64 = 15 * 60_000;
const DEFAULT_MAX_ITERATIONS: u32 = 30;
const DEFAULT_ENTROPY_THRESHOLD: u32 = 3;

/// Where the audit log goes on a person's machine (DESIGN §2.4).
const LOCAL_AUDIT_PATH: &str = ".upshift/audit.db";

fn global<T>(get: impl Fn(&GlobalSection) -> Option<T>) -> impl Fn(&ConfigFile) -> Option<T> {
    move |file| get(file.global.as_ref()?)
}

/// A list in one line.
pub(super) fn joined<T>(items: &[T], show: impl Fn(&T) -> &str) -> String {
    if items.is_empty() { "none".to_owned() } else { items.iter().map(show).collect::<Vec<_>>().join(", ") }
}

/// The caps of the whole run (contradictions 8 and 9).
pub(super) fn budget(picker: &Picker<'_>, tiers: &[Tier]) -> Budget {
    let cost = picker.either(Setting::MaxCostUsd, global(|global| global.max_total_cost_usd));
    let max_cost =
        picker.take("global.maxTotalCostUsd", cost.map(|p| p.map(|cost| cost.0)), DEFAULT_MAX_COST, exact_dollars);
    let duration = picker.either(Setting::MaxDurationMinutes, global(|global| global.max_total_duration_minutes));
    let max_active_ms = picker.take(
        "global.maxTotalDurationMinutes",
        duration.map(|p| p.map(|minutes| minutes.0)),
        DEFAULT_MAX_MINUTES_MS,
        |&ms| human_duration(ms),
    );
    // A ladder that somebody wrote is meant to be used up, so the default cap makes room for it.
    let of_tiers = tiers.iter().map(|tier| tier.max_iterations).sum::<u32>();
    let iterations = picker.either(Setting::MaxIterations, global(|global| global.max_total_iterations));
    let max_iterations = picker.take(
        "global.maxTotalIterations",
        iterations.map(|p| p.map(|count| count.0)),
        DEFAULT_MAX_ITERATIONS.max(of_tiers),
        u32::to_string,
    );
    Budget { max_cost, max_iterations, max_active_ms }
}

/// The caps that runs share (issue 5).
pub(super) fn shared_caps(picker: &Picker<'_>) -> SharedCaps {
    let take = |key: &str, get: fn(&GlobalSection) -> Option<Dollars>| {
        let picked = picker.in_documents(global(get)).map(|picked| picked.map(|cost| cost.0));
        picker.take_optional(key, picked, "no cap", exact_dollars)
    };
    SharedCaps {
        per_pull_request: take("global.maxCostUsdPerPr", |global| global.max_cost_usd_per_pr),
        per_day: take("global.maxCostUsdPerDay", |global| global.max_cost_usd_per_day),
    }
}

pub(super) fn exact_dollars(amount: &MicroUsd) -> String {
    amount.exact()
}

/// The threshold of a stall and its consequence.
pub(super) fn entropy(picker: &Picker<'_>) -> (OnEntropy, u32) {
    for document in picker.documents() {
        let Some(global) = &document.file.global else { continue };
        let fix = "Set it once: beside `tiers`, or under `global`.";
        let differ = |here: bool| if here { Some("differs from the same key beside `tiers`") } else { None };
        // Old files have the key under `global`, new ones beside `tiers`. Both may stand there if they agree.
        let on = document.file.on_entropy.is_some() && global.on_entropy.is_some();
        if let Some(message) = differ(on && document.file.on_entropy != global.on_entropy) {
            document.faults.add("global.onEntropy", message, fix);
        }
        let threshold = document.file.entropy_threshold.is_some() && global.entropy_threshold.is_some();
        if let Some(message) = differ(threshold && document.file.entropy_threshold != global.entropy_threshold) {
            document.faults.add("global.entropyThreshold", message, fix);
        }
    }
    let on = picker.in_documents(|file| file.on_entropy.or_else(|| file.global.as_ref()?.on_entropy));
    let on = picker.take("onEntropy", on.map(|p| p.map(|word| word.0)), OnEntropy::Escalate, |&on| match on {
        OnEntropy::Escalate => "escalate",
        OnEntropy::Continue => "continue",
        OnEntropy::Halt => "halt",
    });
    let threshold =
        picker.in_documents(|file| file.entropy_threshold.or_else(|| file.global.as_ref()?.entropy_threshold));
    let threshold = picker.take(
        "entropyThreshold",
        threshold.map(|p| p.map(|count| count.0)),
        DEFAULT_ENTROPY_THRESHOLD,
        u32::to_string,
    );
    (on, threshold)
}

/// The variable that says that the tests of `test.only` were seen failing by upshift. Set for tasks that are made of failing tests.
pub const SEEN_TESTS: &str = "UPSHIFT_SEEN_TESTS";

/// The task.
pub(super) fn objective(picker: &Picker<'_>) -> String {
    let picked = picker.either(Setting::Objective, |file| file.objective.clone());
    picker.take("objective", picked, DEFAULT_OBJECTIVE.to_owned(), String::clone)
}

/// How the tests are run.
pub(super) fn test(picker: &Picker<'_>) -> TestPlan {
    fn of<T>(get: impl Fn(&TestSection) -> Option<T>) -> impl Fn(&ConfigFile) -> Option<T> {
        move |file| get(file.test.as_ref()?)
    }
    let command = picker.either(Setting::TestCommand, of(|test| test.command.clone()));
    let (command, commands) = checks::parted(picker, command, picker.in_documents(of(|test| test.commands.clone())));
    let commands = checks::with_task(picker, commands);
    let setup = picker.either(Setting::SetupCommand, of(|test| test.setup_command.clone()));
    let only = picker.either(Setting::OnlyTests, of(|test| test.only.clone()));
    let framework = picker.in_documents(of(|test| test.framework.clone()));
    if let Some(Picked { value, origin }) = &framework {
        check_framework(picker, value, origin);
    }
    let timeout = picker.in_documents(of(|test| test.timeout_seconds)).map(|p| p.map(|seconds| u64::from(seconds.0)));
    let memory = picker.in_documents(of(|test| test.memory_mb)).map(|p| p.map(|mb| mb.0));
    let proof = picker.in_documents(of(|test| test.proof_minutes)).map(|p| p.map(|minutes| minutes.0));
    TestPlan {
        command: picker.take_optional("test.command", command, "detected", String::clone),
        commands: picker.take("test.commands", commands, Vec::new(), |list| joined(list, |check| &check.name)),
        setup_command: picker.take_optional("test.setupCommand", setup, "none", String::clone),
        only: picker
            .take("test.only", only, Vec::new(), |list| joined(list, |name| &name.0))
            .into_iter()
            .map(|TestName(name)| name)
            .collect(),
        // Only upshift sets it, for tasks that it made of failing tests itself.
        known: picker.sources.env.contains_key(SEEN_TESTS),
        framework: picker.take_optional("test.framework", framework, "recognised", String::clone),
        timeout_seconds: picker.take("test.timeoutSeconds", timeout, 300, u64::to_string),
        memory_mb: picker.take("test.memoryMb", memory, DEFAULT_MEMORY_MB, u32::to_string),
        proof_minutes: picker.take("test.proofMinutes", proof, DEFAULT_PROOF_MINUTES, u32::to_string),
        junit: picker
            .take_optional("test.junit", picker.in_documents(of(|test| test.junit.clone())), "none", |glob| {
                glob.0.clone()
            })
            .map(|Glob(glob)| glob),
    }
}

fn check_framework(picker: &Picker<'_>, name: &str, origin: &Origin) {
    let known = picker.sources.build.frameworks;
    // Without a list, as in tests of this module, any name is taken.
    if known.is_empty() || known.contains(&name) {
        return;
    }
    let message = format!("no framework is called '{}'", name.escape_debug());
    let fix = match nearest(name, known.iter().copied()) {
        Some(near) => format!("Did you mean `{near}`?"),
        None => format!("Use one of {}, or leave it out: it is recognised.", known.join(", ")),
    };
    picker.fault(origin, "test.framework", &message, &fix);
}

/// How long a coding agent may show no sign of life unless something else is said: longer than a build of its own usually takes.
pub const DEFAULT_IDLE_SECONDS: u32 = 900;

/// How the agent works.
pub(super) fn agent(picker: &Picker<'_>, key_vars: &[&str]) -> AgentPlan {
    fn of<T>(get: impl Fn(&AgentSection) -> Option<T>) -> impl Fn(&ConfigFile) -> Option<T> {
        move |file| get(file.agent.as_ref()?)
    }
    let turns = picker.in_documents(of(|agent| agent.max_turns)).map(|p| p.map(|turns| turns.0));
    let attempts = picker.in_documents(of(|agent| agent.max_attempts)).map(|p| p.map(|attempts| attempts.0));
    let effort = picker.in_documents(of(|agent| agent.effort));
    let temperature = picker.in_documents(of(|agent| agent.temperature));
    let allowed = picker.in_documents(of(|agent| agent.allow_commands.clone()));
    let cache = picker.in_documents(of(|agent| agent.cache));
    let idle = picker.in_documents(of(|agent| agent.idle_seconds)).map(|p| p.map(|seconds| seconds.0));
    // Which model that is, the registry knows.
    let side = picker.in_documents(of(|agent| agent.side_model.clone()));
    let _text = picker.take_optional("agent.sideModel", side, "the tier's", String::clone);
    // Read once, since servers and requests are both checked against it.
    let tool_hosts = rest::hosts(picker);
    AgentPlan {
        max_turns: picker.take("agent.maxTurns", turns, 40, u32::to_string),
        max_attempts: picker.take("agent.maxAttempts", attempts, 3, u32::to_string),
        effort: picker
            .take_optional("agent.effort", effort, "the vendor's", |word| format!("{:?}", word.0).to_lowercase())
            .map(|word| word.0),
        temperature: picker
            .take_optional("agent.temperature", temperature, "the vendor's", |value| value.0.to_string())
            .map(|value| value.0),
        side_model: None,
        idle_seconds: picker.take("agent.idleSeconds", idle, DEFAULT_IDLE_SECONDS, u32::to_string),
        meta: meta::blocks(picker),
        mcp: mcp::servers(picker, key_vars, &tool_hosts),
        rest: rest::tools(picker, key_vars, &tool_hosts),
        tool_hosts,
        cache: picker.take("agent.cache", cache, false, bool::to_string),
        // Which models those are, the registry knows.
        advisors: Vec::new(),
        sub_agents: Vec::new(),
        // Which tools there are, the whole plan says.
        tool_failures: BTreeMap::new(),
        router: Vec::new(),
        handoff: Vec::new(),
        allow_commands: picker.take("agent.allowCommands", allowed, Vec::new(), |list| joined(list, String::as_str)),
    }
}

/// Rights of child processes and paths that models may not write. Demands that this build cannot meet land in `refusals`.
pub(super) fn safety(picker: &Picker<'_>, key_vars: &[&str], refusals: &mut Vec<String>) -> SafetyPlan {
    fn of<T>(get: impl Fn(&SafetySection) -> Option<T>) -> impl Fn(&ConfigFile) -> Option<T> {
        move |file| get(file.safety.as_ref()?)
    }
    let confines = picker.sources.build.confinement;
    let sandbox = picker.either(Setting::Sandbox, of(|safety| safety.sandbox));
    let network = picker.either(Setting::Network, of(|safety| safety.network));
    let sandbox = picker.take("safety.sandbox", sandbox, Sandbox::Auto, |&word| match word {
        Sandbox::Auto if !confines => "auto (this version confines nothing)".to_owned(),
        Sandbox::Auto | Sandbox::Required | Sandbox::Off => word.to_string(),
    });
    let network = picker.take("safety.network", network, Network::Auto, |&word| match word {
        Network::Auto if !confines => "auto (this version leaves it on)".to_owned(),
        Network::Auto | Network::Off | Network::Loopback | Network::On => word.to_string(),
    });
    // Without a sandbox nothing cuts the network, and a promise that is not kept is worse than a refusal.
    if confines && sandbox == Sandbox::Off && matches!(network, Network::Off | Network::Loopback) {
        refusals
            .push(format!("network is `{network}` and sandbox is `off`, which confines nothing: use `sandbox: auto`"));
    }
    if !confines && sandbox == Sandbox::Required {
        refusals.push(
            "sandbox is `required`, and this version cannot confine child processes: use `auto` or `off`".to_owned(),
        );
    }
    if !confines && matches!(network, Network::Off | Network::Loopback) {
        refusals.push(format!("network is `{network}`, and this version cannot cut it off: use `auto` or `on`"));
    }
    let protected = picker.either(Setting::ProtectedPaths, of(|safety| safety.protected_paths.clone()));
    let edits = picker.in_documents(of(|safety| safety.allow_test_edits.clone())).map(|p| p.map(|edits| edits.0));
    let minimise = picker.in_documents(of(|safety| safety.minimise));
    let minimise = picker.take("safety.minimise", minimise, Minimise::default(), ToString::to_string);
    let proof = picker.in_documents(of(|safety| safety.proof));
    let proof = picker.take("safety.proof", proof, Proof::default(), ToString::to_string);
    let on_remark = picker.in_documents(of(|safety| safety.on_remark));
    let on_remark = picker.take("safety.onRemark", on_remark, OnRemark::default(), ToString::to_string);
    let pass_env = picker.either(Setting::PassEnv, of(|safety| safety.pass_env.clone()));
    if let Some(Picked { value, origin }) = &pass_env {
        refuse_secrets(picker, "safety.passEnv", value, origin, key_vars);
    }
    let globs = |globs: Vec<Glob>| globs.into_iter().map(|glob| glob.0).collect();
    let show = |list: &Vec<Glob>| joined(list, |glob| &glob.0);
    SafetyPlan {
        sandbox,
        network,
        protected_paths: globs(picker.take("safety.protectedPaths", protected, Vec::new(), show)),
        allow_test_edits: globs(picker.take("safety.allowTestEdits", edits, Vec::new(), show)),
        minimise,
        proof,
        on_remark,
        pass_env: picker
            .take("safety.passEnv", pass_env, Vec::new(), |list| joined(list, |name| &name.0))
            .into_iter()
            .map(|name| name.0)
            .collect(),
    }
}

/// Where the audit log goes. `None` is off (contradiction 1).
pub(super) fn audit(picker: &Picker<'_>) -> Option<String> {
    let path = picker.setting::<String>(Setting::AuditDb).map(|p| p.map(AuditPath::At));
    // `--no-audit` set to false by its variable asks for nothing.
    let off = picker.setting::<bool>(Setting::NoAudit).filter(|p| p.value).map(|p| p.map(|_| AuditPath::Off));
    let level = |origin: &Origin| matches!(origin, Origin::Flag(_));
    let by_setting = match (path, off) {
        // Both at one level contradict each other. A flag beats a variable, whichever of the two it is.
        (Some(path), Some(off)) if level(&path.origin) == level(&off.origin) => {
            let message = format!("contradicts {}", path.origin.name());
            picker.fault(&off.origin, "", &message, "Name a path or switch the audit log off, not both.");
            Some(path)
        }
        (Some(path), Some(off)) => Some(if level(&path.origin) { path } else { off }),
        (path, off) => path.or(off),
    };
    let picked = by_setting.or_else(|| picker.in_documents(global(|global| global.audit_db_path.clone())));
    let default = default_audit_path(picker.sources);
    let audit = picker.take("global.auditDbPath", picked, AuditPath::At(default), |audit| match audit {
        AuditPath::At(path) => path.clone(),
        AuditPath::Off => "off".to_owned(),
    });
    match audit {
        AuditPath::At(path) => Some(path),
        AuditPath::Off => None,
    }
}

/// Where the audit log is when nothing names it: in Actions outside the checkout.
pub(super) fn default_audit_path(sources: &Sources) -> String {
    match (sources.variable("GITHUB_ACTIONS"), sources.variable("RUNNER_TEMP")) {
        // In Actions the checkout is swept away or committed, and the action keeps this folder as an artifact.
        (Some(_), Some(temp)) => format!("{}/upshift/audit.db", temp.trim_end_matches(['/', '\\'])),
        (_, _) => LOCAL_AUDIT_PATH.to_owned(),
    }
}
