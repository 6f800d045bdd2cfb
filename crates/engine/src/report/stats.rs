//! Figures over all runs of a log: what tiers and models cost and fixed, and a ladder that would have cost less.

use std::collections::BTreeMap;

use serde::Serialize;

use super::columns;
use super::plain;
use super::view::{Ending, RunView, TierState};
use super::words;
use super::wrap::{JOINT, wrap};
use crate::domain::event::Event;
use crate::domain::outcome::Outcome;
use crate::domain::played::{Basis, MIN_TASKS, PlayedTask, Suggestion, Visit};
use crate::domain::receipt::CallStatus;
use crate::domain::units::{Charge, MicroUsd};

/// Figures over many runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Runs of the log.
    pub runs: usize,
    /// Runs that fixed their tests.
    pub fixed: usize,
    /// Runs with a proven fix that is not on the branch: their backlog did not commit it, or it was taken back there.
    pub not_committed: usize,
    /// Runs by how they ended.
    pub outcomes: BTreeMap<String, usize>,
    /// Tests that were fixed.
    pub tests_fixed: usize,
    /// The known cost of all runs, in dollars.
    pub cost_usd: f64,
    /// The most that failed calls cost beyond that, in dollars.
    pub unknown_cost_usd: f64,
    /// The known cost a fixed test, in dollars. `None` where none was fixed.
    pub cost_per_fixed_test_usd: Option<f64>,
    /// The known cost of runs that fixed nothing, in dollars.
    pub hopeless_cost_usd: f64,
    /// Its share of the known cost, from 0 to 1. `None` where nothing was spent.
    pub hopeless_share: Option<f64>,
    /// Tiers, by name and model.
    pub tiers: Vec<TierStats>,
    /// Models, in any role.
    pub models: Vec<ModelStats>,
    /// Tasks whose cost is not fully known. No ladder is drawn from them.
    pub tasks_of_unknown_cost: usize,
    /// A ladder that would have cost less. `None` where too little is known.
    pub suggestion: Option<SuggestionStats>,
    #[serde(skip)]
    charge: Charge,
    #[serde(skip)]
    hopeless: Charge,
    /// The part of it for runs that mend a repository.
    #[serde(skip)]
    repairs: Charge,
}

/// The figures of a tier over all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TierStats {
    /// Its name.
    pub tier: String,
    /// The artisan's model, as `provider/model`.
    pub model: String,
    /// Runs that reached it.
    pub reached: usize,
    /// Runs that it resolved.
    pub resolved: usize,
    /// Iterations over all runs.
    pub iterations: u64,
    /// Its known cost, in dollars.
    pub cost_usd: f64,
    /// Its known cost a resolved run, in dollars. `None` where it resolved none.
    pub cost_per_resolve_usd: Option<f64>,
    #[serde(skip)]
    charge: Charge,
}

/// The figures of a model over all runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ModelStats {
    /// The model, as `provider/model`.
    pub model: String,
    /// Calls that were settled.
    pub calls: u64,
    /// Of them, those without a reply.
    pub failed_calls: u64,
    /// Tokens of prompts, however they were billed.
    pub input_tokens: u64,
    /// Of them, those read from a cache.
    pub cache_read_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// Runs that it resolved as the artisan.
    pub resolved: usize,
    /// Its known cost, in dollars.
    pub cost_usd: f64,
    #[serde(skip)]
    charge: Charge,
}

/// A suggested ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuggestionStats {
    /// The ladder as `--tiers` takes it.
    pub ladder: String,
    /// `history` or `public_table`.
    pub basis: &'static str,
    /// Tasks that it was played on.
    pub tasks: usize,
    /// How many of them it would have fixed.
    pub fixes: f64,
    /// The cost that it would have had on all of them, in dollars.
    pub cost_usd: f64,
    /// How many of them were fixed in fact. In the public table, by any model.
    pub fixed_in_fact: usize,
    /// The money spent on all of them in fact, in dollars.
    pub spent_in_fact_usd: f64,
}

/// The figures of runs, each with its events.
#[must_use]
pub fn of_runs(runs: &[(RunView, &[Event])]) -> Stats {
    let mut stats = Stats { runs: runs.len(), ..Stats::default() };
    let mut tiers: BTreeMap<(String, String), TierStats> = BTreeMap::new();
    let mut models: BTreeMap<String, ModelStats> = BTreeMap::new();
    for (view, events) in runs {
        stats.take(view);
        take_tiers(&mut tiers, view);
        take_calls(&mut models, events);
        if let Some((tier, _)) = view.resolved() {
            let model = models.entry(tier.model()).or_default();
            model.resolved += 1;
        }
    }
    stats.tasks_of_unknown_cost = judged_tasks(runs).filter(|(_, charge)| charge.unknown > MicroUsd::ZERO).count();
    stats.finish(tiers, models);
    stats
}

impl Stats {
    fn take(&mut self, view: &RunView) {
        *self.outcomes.entry(view.standing().to_owned()).or_default() += 1;
        // Programs behind the gateway count in the total, though not in what a fixed test cost.
        let charge = view.spent.charge();
        self.charge += charge;
        // A gateway's run has no tests, so its money is neither well nor badly spent.
        if view.command().is_some() {
            return;
        }
        self.repairs += charge;
        let is_over = match &view.ending {
            // A parked run and one under way may still mend its tests.
            Ending::Finished(finished) => finished.outcome != Outcome::Parked,
            Ending::Died => true,
            Ending::Running => false,
        };
        if view.is_mended() && view.is_uncommitted {
            // Its change was paid for and can be applied still, so its money is not lost.
            self.not_committed += 1;
        } else if view.is_mended() {
            self.fixed += 1;
            self.tests_fixed += view.failing_before.len();
        } else if is_over {
            self.hopeless += charge;
        }
    }

    fn finish(&mut self, tiers: BTreeMap<(String, String), TierStats>, models: BTreeMap<String, ModelStats>) {
        self.cost_usd = self.charge.known.as_usd();
        self.unknown_cost_usd = self.charge.unknown.as_usd();
        self.hopeless_cost_usd = self.hopeless.known.as_usd();
        self.cost_per_fixed_test_usd = per(self.repairs.known.as_usd(), self.tests_fixed);
        self.hopeless_share = (self.repairs.known.0 > 0).then(|| self.hopeless_cost_usd / self.repairs.known.as_usd());
        let tier = |(_, mut tier): ((String, String), TierStats)| {
            tier.cost_usd = tier.charge.known.as_usd();
            tier.cost_per_resolve_usd = per(tier.cost_usd, tier.resolved);
            tier
        };
        self.tiers = tiers.into_iter().map(tier).collect();
        self.tiers.sort_by_key(|tier| std::cmp::Reverse(tier.reached));
        let model = |(name, model): (String, ModelStats)| {
            let cost_usd = model.charge.known.as_usd();
            ModelStats { model: name, cost_usd, ..model }
        };
        self.models = models.into_iter().map(model).collect();
        // The dearest first, since that is where money can be saved.
        self.models.sort_by_key(|model| std::cmp::Reverse(model.charge.known));
    }

    /// Adds a suggested ladder.
    pub fn suggest(&mut self, suggestion: &Suggestion) {
        let rung = |rung: &crate::domain::played::Rung| match rung.iterations {
            Some(iterations) => format!("{} x{iterations}", rung.model),
            None => rung.model.clone(),
        };
        let rungs: Vec<String> = suggestion.rungs.iter().map(rung).collect();
        self.suggestion = Some(SuggestionStats {
            ladder: rungs.join(" > "),
            basis: match suggestion.basis {
                Basis::History => "history",
                Basis::PublicTable => "public_table",
            },
            tasks: suggestion.tasks,
            fixes: suggestion.fixes,
            cost_usd: suggestion.cost_usd,
            fixed_in_fact: suggestion.fixed_in_fact,
            spent_in_fact_usd: suggestion.spent_in_fact_usd,
        });
    }
}

fn per(cost: f64, count: usize) -> Option<f64> {
    (count > 0).then(|| cost / number(count))
}

fn take_tiers(tiers: &mut BTreeMap<(String, String), TierStats>, view: &RunView) {
    for tier in view.tiers.iter().filter(|tier| tier.iterations > 0) {
        // By both: a tier that got another model is another one, and a model may serve two tiers.
        let key = (tier.tier.name.clone(), tier.model());
        let stats =
            tiers.entry(key.clone()).or_insert_with(|| TierStats { tier: key.0, model: key.1, ..TierStats::default() });
        stats.reached += 1;
        stats.resolved += usize::from(tier.state == TierState::Solved);
        stats.iterations += u64::from(tier.iterations);
        stats.charge += tier.cost;
    }
}

fn take_calls(models: &mut BTreeMap<String, ModelStats>, events: &[Event]) {
    for event in events {
        let Event::CallSettled(receipt) = event else { continue };
        let model = models.entry(receipt.target.to_string()).or_default();
        model.calls += 1;
        model.failed_calls += u64::from(receipt.status != CallStatus::Ok);
        // A failed call counts as well, since it may have been billed.
        model.charge += receipt.charge();
        if let Some(usage) = &receipt.usage {
            model.input_tokens += usage.prompt();
            model.cache_read_tokens += usage.cache_read;
            model.output_tokens += usage.output;
        }
    }
}

/// The runs as played tasks: those in which the ladder was judged, not those that something else ended. A task with a call of which nobody
/// knows the cost says nothing of what a ladder costs.
#[must_use]
pub fn played(runs: &[(RunView, &[Event])]) -> Vec<PlayedTask> {
    judged_tasks(runs).filter(|(_, charge)| charge.unknown == MicroUsd::ZERO).map(|(task, _)| task).collect()
}

/// The tasks in which the ladder was judged, each with what its tiers cost.
fn judged_tasks<'r>(runs: &'r [(RunView, &[Event])]) -> impl Iterator<Item = (PlayedTask, Charge)> + 'r {
    let judged = |view: &RunView| match view.outcome() {
        Some(
            Outcome::Fixed { .. }
            | Outcome::Exhausted
            | Outcome::Stalled
            | Outcome::Budget
            | Outcome::Objected
            | Outcome::Blocked { .. },
        ) => true,
        Some(
            Outcome::AlreadyGreen
            | Outcome::Proposed { .. }
            | Outcome::NoModel
            | Outcome::Refused { .. }
            | Outcome::Broken { .. }
            | Outcome::Interrupted { .. }
            | Outcome::Parked
            | Outcome::Ended { .. },
        )
        | None => false,
    };
    let task = |view: &RunView| {
        // A tier without a finished iteration says nothing of its model.
        let reached = view.tiers.iter().filter(|tier| !tier.attempts.is_empty());
        let visits = reached.map(|tier| Visit {
            model: tier.model(),
            costs: tier.attempts.iter().map(|attempt| attempt.cost).collect(),
            solved: tier.state == TierState::Solved,
        });
        (PlayedTask { visits: visits.collect() }, view.tiers.iter().map(|tier| tier.cost).sum())
    };
    runs.iter()
        .map(|(view, _)| view)
        // Where no call was made, nothing was judged but the caps.
        .filter(move |view| judged(view) && view.calls > 0)
        .map(task)
        .filter(|(task, _)| !task.visits.is_empty())
}

/// What marks an amount beside which something is unknown.
fn known(of: Charge) -> &'static str {
    if of.unknown == MicroUsd::ZERO { "" } else { " known" }
}

/// Renders the figures for a terminal so many columns wide.
#[must_use]
pub fn render(stats: &Stats, columns: Option<usize>) -> String {
    let mut out = String::new();
    if stats.runs > 0 {
        out.push_str(&wrap(&headline(stats), columns));
        out.push_str(&tables(stats, columns));
    } else {
        out.push_str("The log has no runs.\n");
    }
    match &stats.suggestion {
        Some(suggestion) => out.push_str(&wrap(&advice(suggestion, stats.runs, stats.tasks_of_unknown_cost), columns)),
        None => {
            let said = format!(
                "\nNo ladder is suggested: {}, and no key is set for a model of the public table.\n",
                too_little(stats.runs, stats.tasks_of_unknown_cost)
            );
            out.push_str(&wrap(&said, columns));
        }
    }
    out
}

fn headline(stats: &Stats) -> String {
    let outcomes: Vec<String> =
        stats.outcomes.iter().map(|(outcome, count)| format!("{count} {}", outcome.replace('_', " "))).collect();
    let mut lines = vec![format!(
        "{}: {}  |  {}",
        words::count(words::u64_of(stats.runs), "run"),
        outcomes.join(", "),
        stats.charge
    )];
    lines.extend(stats.cost_per_fixed_test_usd.and_then(MicroUsd::from_usd).map(|cost| {
        let tests = words::count(words::u64_of(stats.tests_fixed), "test");
        format!("  {cost}{} per fixed test ({tests} fixed)", known(stats.repairs))
    }));
    lines.extend((stats.not_committed > 0).then(|| {
        let fixes = if stats.not_committed == 1 { "proven fix is" } else { "proven fixes are" };
        format!("  {} {fixes} not on the branch, and not counted: `upshift runs` tells which", stats.not_committed)
    }));
    lines.extend(stats.hopeless_share.map(|share| (share * 100.0, known(stats.repairs + stats.hopeless))).map(
        |(share, of)| {
            format!(
                "  {} ({share:.0} %{}) went to runs that fixed nothing",
                stats.hopeless,
                if of.is_empty() { "" } else { " of what is known" }
            )
        },
    ));
    lines.join("\n") + "\n"
}

fn tables(stats: &Stats, columns: Option<usize>) -> String {
    let text = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<String>>();
    let mut tiers = vec![text(&["TIER", "MODEL", "REACHED", "RESOLVED", "ITERATIONS", "COST", "COST PER FIX"])];
    tiers.extend(stats.tiers.iter().map(|tier| {
        let each = tier
            .cost_per_resolve_usd
            .and_then(MicroUsd::from_usd)
            .map_or_else(|| "—".to_owned(), |cost| format!("{cost}{}", known(tier.charge)));
        vec![
            tier.tier.clone(),
            tier.model.clone(),
            tier.reached.to_string(),
            tier.resolved.to_string(),
            tier.iterations.to_string(),
            tier.charge.to_string(),
            each,
        ]
    }));
    let mut models =
        vec![text(&["MODEL", "CALLS", "FAILED", "PROMPT TOKENS", "CACHED", "REPLY TOKENS", "RESOLVED", "COST"])];
    models.extend(stats.models.iter().map(|model| {
        vec![
            model.model.clone(),
            model.calls.to_string(),
            model.failed_calls.to_string(),
            model.input_tokens.to_string(),
            model.cache_read_tokens.to_string(),
            model.output_tokens.to_string(),
            model.resolved.to_string(),
            model.charge.to_string(),
        ]
    }));
    // A head alone says nothing.
    let filled = [tiers, models].into_iter().filter(|table| table.len() > 1);
    filled.map(|table| format!("\n{}", columns::render_within(&table, columns))).collect()
}

/// Why the log itself is no ground for a ladder.
fn too_little(runs: usize, unknown: usize) -> String {
    let held = words::count(words::u64_of(runs), "run");
    let apart = match unknown {
        0 => String::new(),
        unknown => {
            format!(" ({} not counted, with partly unknown cost)", words::count(words::u64_of(unknown), "task"))
        }
    };
    format!("{held} in this log{apart}, and a model needs {MIN_TASKS} tasks to count")
}

fn advice(suggestion: &SuggestionStats, runs: usize, unknown: usize) -> String {
    let ladder = plain::line(&suggestion.ladder);
    let cost = MicroUsd::from_usd(suggestion.cost_usd).unwrap_or_default();
    let tasks = words::count(words::u64_of(suggestion.tasks), "task");
    let is_own = suggestion.basis == "history";
    let heading = match (is_own, unknown) {
        (true, 0) => format!("Suggested ladder, from {tasks} of this log"),
        (true, unknown) => {
            format!("Suggested ladder, from {tasks} of this log ({unknown} left out, with partly unknown cost)")
        }
        (false, _) => {
            "No ladder can be suggested from this log yet. For comparison, the best one of a public benchmark, \
                       which lacks newer models"
                .to_owned()
        }
    };
    let basis = if is_own {
        format!(
            "  On these {tasks} it would have cost about {} and fixed about {:.1}; \
             in fact that was {} and {}.",
            cost.about(),
            suggestion.fixes,
            MicroUsd::from_usd(suggestion.spent_in_fact_usd).unwrap_or_default().about(),
            suggestion.fixed_in_fact,
        )
    } else {
        format!(
            "  This log has too few tasks yet: {}. Over the {tasks} of SWE-bench Verified (one attempt per model) it costs {} per task and fixes {:.0} %.",
            too_little(runs, unknown),
            MicroUsd::from_usd(suggestion.cost_usd / number(suggestion.tasks.max(1))).unwrap_or_default().about(),
            suggestion.fixes / number(suggestion.tasks.max(1)) * 100.0
        )
    };
    format!("\n{heading}:\n  upshift{JOINT}run{JOINT}--tiers{JOINT}'{}'\n{basis}\n", ladder.replace(' ', JOINT))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tasks are far below 2^53")]
const fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
