//! `upshift check`: the effective plan, each value's origin, and the most a run can cost. No model call.
//!
//! Invariant: pure text from a plan. Text from files or the environment cannot move the cursor.

mod json;

use serde::Serialize;

use crate::config::{Network, Origin, Plan, Sandbox};
use crate::domain::catalogue::{ModelInfo, Price};
use crate::domain::ladder::{Mode, Tier};
use crate::domain::model_id::ModelId;
use crate::domain::units::{MicroUsd, human_duration};

pub use json::render_json;

/// The test command as it was detected in the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The command.
    pub command: String,
    /// The framework it runs.
    pub framework: String,
    /// The sign that it was recognised by, e.g. `Cargo.toml`.
    pub why: String,
}

/// A coding agent, as far as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentThere {
    /// Its name behind `cli/`.
    pub name: &'static str,
    /// The version that it prints. `None` where the agent is not there, or prints none.
    pub version: Option<String>,
    /// The reach that it has here. `None` where the ladder does not name it, or it is not there.
    pub kept: Option<String>,
}

/// A source of tools from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsThere {
    /// The beginning of its tools' names.
    pub name: String,
    /// The program, the address or the models.
    pub what: String,
    /// Why it cannot be had. `None` where nothing speaks against it.
    pub trouble: Option<String>,
    /// Its address, where it has one.
    pub url: Option<String>,
}

/// Renders what is known of a plan before there is a model to ask.
#[must_use]
pub fn render_without_ladder(plan: &Plan, detected: Option<&Detected>) -> String {
    let mut out = String::new();
    tests(&mut out, plan, detected);
    confinement(&mut out, plan);
    // Each part begins with an empty line, which the first of them does not need.
    out.trim_start().to_owned() + "\n"
}

/// The facts about a checkout that a plan does not hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found<'f> {
    /// The test command that stands in for one that is not configured, or the facts known of a given one.
    pub tests: Option<&'f Detected>,
    /// The agents that were looked for: where the ladder names none, those that are there.
    pub agents: &'f [AgentThere],
    /// The sources of tools from outside.
    pub tools: &'f [ToolsThere],
    /// What a run would stop at in this checkout.
    pub obstacles: &'f [Obstacle],
}

/// A thing that a run would stop at in a checkout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// The subject, in a word or two.
    pub about: &'static str,
    /// The facts.
    pub said: String,
    /// The way out.
    pub fix: String,
}

impl Found<'_> {
    /// What a run would stop at, whatever the version.
    #[must_use]
    pub fn stop(&self, plan: &Plan) -> Vec<Obstacle> {
        let no_tests = plan.test.command.is_none() && self.tests.is_none();
        let no_tests = no_tests.then(|| Obstacle {
            about: "test command",
            said: "no test command is set, and none was detected here".to_owned(),
            fix: "name it with --test-command".to_owned(),
        });
        self.obstacles.iter().cloned().chain(no_tests).collect()
    }
}

/// Renders a plan.
#[must_use]
pub fn render(plan: &Plan, found: &Found<'_>) -> String {
    let Found { tests: detected, agents, tools, obstacles: _ } = *found;
    let mut out = String::new();
    let stop = found.stop(plan);
    // Valid and refused is not the same: a refused plan is read to its end, so that all of it is shown.
    out.push_str(match (plan.refusals.is_empty(), stop.is_empty()) {
        (true, true) => "✔ The configuration is valid.\n",
        (true, false) => "! The configuration is valid, but a run would stop immediately here.\n",
        (false, _) => "✖ The configuration is valid, but this version refuses to run with it.\n",
    });
    for refusal in &plan.refusals {
        line(&mut out, &format!("  ✖ {refusal}"));
    }
    for Obstacle { about: _, said, fix } in stop {
        line(&mut out, &format!("  ✖ {said}"));
        line(&mut out, &format!("    → Fix: {fix}"));
    }
    ladder(&mut out, plan);
    budget(&mut out, plan);
    tests(&mut out, plan, detected);
    confinement(&mut out, plan);
    agents_there(&mut out, agents);
    tools_there(&mut out, tools);
    heading(&mut out, "Audit log");
    line(&mut out, &format!("  {}", audit_line(plan)));
    values(&mut out, plan);
    if !plan.warnings.is_empty() {
        heading(&mut out, "Warnings");
        for warning in &plan.warnings {
            line(&mut out, &format!("  ! {warning}"));
        }
    }
    out.push_str("\nNo LLM calls were made.\n");
    out
}

fn heading(out: &mut String, text: &str) {
    line(out, "");
    line(out, text);
}

/// One line of ours: control characters in what was given are shown, not sent.
fn line(out: &mut String, text: &str) {
    let text = text.trim_end();
    // Nearly every line is plain ASCII, and looking at each character costs more than looking at bytes.
    if text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
        out.push_str(text);
    } else {
        for c in text.chars() {
            if c.is_control() && c != '\n' {
                // A name from a configuration could otherwise move the cursor or rewrite lines above it.
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
    }
    out.push('\n');
}

fn ladder(out: &mut String, plan: &Plan) {
    heading(out, &ladder_heading(plan));
    let mut rows =
        vec![["", "tier", "mode", "iterations", "role", "model", "in/1M", "out/1M", "window"].map(str::to_owned)];
    for (index, tier) in plan.tiers.iter().enumerate() {
        rows.extend(tier_rows(plan, index, tier));
    }
    table(out, &rows);
}

fn ladder_heading(plan: &Plan) -> String {
    if let Some(which) = &plan.built_in_ladder {
        return format!("Ladder: {which}");
    }
    match plan.tier_config_path.as_str() {
        "(none)" => "Ladder: first simple, then full, with one model".to_owned(),
        "(built-in)" => "Ladder: the built-in one".to_owned(),
        "(inline)" => "Ladder: given inline".to_owned(),
        "(shorthand)" => "Ladder: given as a shorthand".to_owned(),
        path => format!("Ladder: from {path}"),
    }
}

/// A tier's rows: one per role that speaks and target, the tier's own cells on the first only.
fn tier_rows(plan: &Plan, index: usize, tier: &Tier) -> Vec<[String; 9]> {
    let mut rows = Vec::new();
    for role in tier.roles() {
        for (place, id) in tier.targets(*role).iter().enumerate() {
            let [input, output, window] = facts(&plan.facts.of(id));
            let role = match (tier.mode, place) {
                // A fallback target is shown below the first one, without its role's name again.
                (_, 1..) => "  or".to_owned(),
                (Mode::Simple | Mode::Full, _) => role.as_str().to_owned(),
            };
            // The cells of a tier stand on its first row alone, so that a tier reads as one block.
            let own = if rows.is_empty() { own_cells(index, tier) } else { [const { String::new() }; 4] };
            let [number, name, mode, iterations] = own;
            rows.push([number, name, mode, iterations, role, model(id), input, output, window]);
        }
    }
    rows
}

fn own_cells(index: usize, tier: &Tier) -> [String; 4] {
    let cap = tier.max_cost.map(|cap| format!(", at most {}", dollars(cap))).unwrap_or_default();
    let iterations = format!("x{}{cap}", tier.max_iterations);
    [(index + 1).to_string(), tier.name.clone(), tier.mode.as_str().to_owned(), iterations]
}

fn model(id: &ModelId) -> String {
    id.to_string()
}

fn facts(info: &ModelInfo) -> [String; 3] {
    let [input, output] = match info.price {
        None => ["?".to_owned(), "?".to_owned()],
        Some(price) if price == Price::default() => ["free".to_owned(), "free".to_owned()],
        // The price is micro-dollars for a million tokens, so it is a sum of money as it stands.
        Some(price) => [dollars(MicroUsd(price.input)), dollars(MicroUsd(price.output))],
    };
    [input, output, thousands(info.context_window)]
}

fn dollars(amount: MicroUsd) -> String {
    amount.exact()
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The most iterations of a run: those of the ladder, where they are fewer than the cap.
fn iterations_of(plan: &Plan) -> String {
    let of_ladder: u64 = plan.tiers.iter().map(|tier| u64::from(tier.max_iterations)).sum();
    let cap = plan.budget.max_iterations;
    if of_ladder < u64::from(cap) {
        format!("{of_ladder} (the ladder's, below the cap of {cap})")
    } else {
        cap.to_string()
    }
}

fn budget(out: &mut String, plan: &Plan) {
    heading(out, "Budget");
    let mut rows = vec![
        ["cost".to_owned(), dollars(plan.budget.max_cost), origin_of(plan, "global.maxTotalCostUsd")],
        [
            "active time".to_owned(),
            human_duration(plan.budget.max_active_ms),
            origin_of(plan, "global.maxTotalDurationMinutes"),
        ],
        ["iterations".to_owned(), iterations_of(plan), origin_of(plan, "global.maxTotalIterations")],
        ["worst case".to_owned(), dollars(plan.worst_case), worst_case_reason(plan)],
    ];
    let shared = [
        ("cost per pull request", plan.shared_caps.per_pull_request, "global.maxCostUsdPerPr"),
        ("cost per day", plan.shared_caps.per_day, "global.maxCostUsdPerDay"),
    ];
    let shared =
        shared.into_iter().filter_map(|(name, cap, key)| Some([name.to_owned(), dollars(cap?), origin_of(plan, key)]));
    // They stand behind the run's own cap, since all three are about cost.
    rows.splice(1..1, shared);
    table(out, &rows);
}

/// Why the worst case is what it is.
fn worst_case_reason(plan: &Plan) -> String {
    let uncapped: MicroUsd = plan.uncapped.iter().copied().sum();
    if plan.worst_case == MicroUsd::ZERO {
        return "every model is free".to_owned();
    }
    // Free models cannot use up a cap, but an advisor or a fallback from outside the ladder may cost something.
    if uncapped == MicroUsd::ZERO {
        return "the cap: the models of the ladder are free, but others are not".to_owned();
    }
    if plan.worst_case < plan.budget.max_cost {
        return "below the cap in any case".to_owned();
    }
    "the cap: no call is made that could exceed it".to_owned()
}

fn origin_of(plan: &Plan, key: &str) -> String {
    let found = plan.values.iter().find(|value| value.key == key);
    found.map_or_else(String::new, |value| origin(&value.origin))
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Flag(_) | Origin::Env(_) | Origin::Tiers(_) | Origin::File(_) => format!("from {origin}"),
    }
}

/// What is said of a command whose output nobody may be able to read.
const UNREAD: &str = "\n  where its output names no test that passes, nothing shows a fix but its exit code, and that is believed of a command that you name: \
                      --test-command or test.command";

fn tests(out: &mut String, plan: &Plan, detected: Option<&Detected>) {
    heading(out, "Tests");
    let command = match (&plan.test.command, detected) {
        (Some(command), known) => {
            let named =
                plan.test.framework.as_ref().map(|name| format!("{name}, {}", origin_of(plan, "test.framework")));
            // A framework that is named in the configuration beats the one that the command shows.
            let told = || known.map(|found| format!("{}, by {}", found.framework, found.why));
            let framework = named.or_else(told).unwrap_or_else(|| "recognised from its output".to_owned());
            format!("  {command}  (given, {}; framework: {framework})", origin_of(plan, "test.command"))
        }
        (None, Some(found)) => {
            let unread = if found.framework == "generic" { UNREAD } else { "" };
            format!("  {}  (detected: {}, by {}){unread}", found.command, found.framework, found.why)
        }
        (None, None) => "  none detected here: give one with --test-command or `test: {command: …}`".to_owned(),
    };
    line(out, &command);
    if let Some(setup) = &plan.test.setup_command {
        line(out, &format!("  set up once by: {setup}"));
    }
    let time = human_duration(plan.test.timeout_seconds.saturating_mul(1_000));
    let memory =
        plan.test.memory_limit().map_or_else(String::new, |mb| format!(", or when a process takes more than {mb} MB"));
    line(out, &format!("  each run is ended after {time}{memory}"));
}

/// The confinement that the plan asks for. `run` tries out how much of it this machine can give, and says how much is missing.
fn confinement(out: &mut String, plan: &Plan) {
    heading(out, "Confinement of tests and tools");
    let files = match plan.safety.sandbox {
        Sandbox::Auto => {
            "as far as the kernel allows: they write the checkout and a private folder, read system files and tools, and see no credentials"
        }
        Sandbox::Required => {
            "they write the checkout and a private folder, read system files and tools, and see no credentials; otherwise the run is refused"
        }
        Sandbox::Off => "none: they can do whatever your user can",
    };
    line(out, &format!("  {files}"));
    let network = match (plan.safety.sandbox, plan.safety.network) {
        (Sandbox::Off, _) | (_, Network::On) => "the whole network",
        // Some tests need a server of their own. Without loopback they are red for a reason that is no bug.
        (_, Network::Auto) => {
            "their own loopback or none; the whole network only if the first test run fails without it"
        }
        (_, Network::Loopback) => "their own loopback; otherwise the run is refused",
        (_, Network::Off) => "no network",
    };
    line(out, &format!("  {network}"));
    // Packages are fetched before the tests, so the setup has more than they have.
    if plan.test.setup_command.is_some() && plan.safety.sandbox != Sandbox::Off {
        line(
            out,
            "  the setup command has the whole network, and also writes your interpreters and package caches, as it would without upshift",
        );
    }
}

fn agents_there(out: &mut String, agents: &[AgentThere]) {
    if agents.is_empty() {
        return;
    }
    heading(out, "Coding agents in PATH");
    let row = |agent: &AgentThere| {
        [
            format!("cli/{}", agent.name),
            agent.version.clone().unwrap_or_else(|| "not found, or it does not start".to_owned()),
        ]
    };
    table(out, &agents.iter().map(row).collect::<Vec<_>>());
    let mut kept: Vec<&str> = agents.iter().filter_map(|agent| agent.kept.as_deref()).collect();
    // Several agents mostly have the same reach, which is said once.
    kept.dedup();
    for words in kept {
        line(out, &format!("  {words}"));
    }
}

fn tools_there(out: &mut String, tools: &[ToolsThere]) {
    if tools.is_empty() {
        return;
    }
    heading(out, "External tools");
    let row = |tools: &ToolsThere| {
        let trouble = tools.trouble.as_ref().map(|why| format!("not available: {why}")).unwrap_or_default();
        [tools.name.clone(), tools.what.clone(), trouble]
    };
    table(out, &tools.iter().map(row).collect::<Vec<_>>());
}

fn audit_line(plan: &Plan) -> String {
    let from = origin_of(plan, "global.auditDbPath");
    match &plan.audit {
        Some(path) => format!("{path}  ({from})"),
        None => format!("off: nothing is recorded, and a killed run cannot be resumed  ({from})"),
    }
}

fn values(out: &mut String, plan: &Plan) {
    let (defaults, set): (Vec<_>, Vec<_>) = plan.values.iter().partition(|value| value.origin == Origin::Default);
    if !set.is_empty() {
        heading(out, "Values that are set");
        let rows = set.into_iter().map(|value| [value.key.clone(), value.value.clone(), origin(&value.origin)]);
        table(out, &rows.collect::<Vec<_>>());
    }
    heading(out, "Values at their defaults");
    table(out, &defaults.iter().map(|value| [&*value.key, &*value.value]).collect::<Vec<_>>());
}

/// Lines columns up. The last column is left ragged.
fn table<const N: usize, S: AsRef<str>>(out: &mut String, rows: &[[S; N]]) {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.as_ref().chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        text.clear();
        text.push(' ');
        // A column without a single cell, like the mark in front, would leave a gap.
        for (width, cell) in widths.iter().zip(row).filter(|(width, _)| **width > 0) {
            let cell = cell.as_ref();
            text.push(' ');
            text.push_str(cell);
            // `line` cuts the blanks at the end, so the last cell may be padded too.
            text.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 1));
        }
        line(out, &text);
    }
}
