//! The runs of a log as a table: when, for what, how it ended, which tier, what it cost.

use serde::Serialize;

use super::view::RunView;
use super::{columns, plain};
use crate::domain::objective::DEFAULT_OBJECTIVE;
use crate::domain::units::human_duration;

/// A program's command line and an objective are cut here.
const MAX_PROGRAM: usize = 32;
/// The name of a test beside which others are counted is cut here: both stand in one cell.
const MAX_TEST: usize = 24;

/// One run as a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The run's id.
    pub run_id: String,
    /// When it began.
    pub started_at: String,
    /// `#7`, a branch, a program, the objective, else the first test that failed. Empty where none of them is known.
    pub about: String,
    /// The outcome's word, `running`, `interrupted`, or `not_started` for a program that could not be started.
    pub outcome: String,
    /// The tier that fixed it, else the last one that was reached.
    pub tier: Option<String>,
    /// Iterations begun.
    pub iterations: u32,
    /// Its known cost, in dollars.
    pub cost_usd: f64,
    /// The most that failed calls cost beyond that, in dollars.
    pub unknown_cost_usd: f64,
    /// Failing tests at the start.
    pub failing_before: usize,
    /// Of them, those that the run fixed.
    pub fixed: usize,
    /// Whether what it fixed is not on the branch: its backlog did not commit it, or it was taken back there. Absent where that is not so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_committed: bool,
    /// Active milliseconds.
    pub duration_ms: u64,
    /// Whether it is about a program behind the gateway, which has no tests.
    #[serde(skip)]
    pub is_gateway: bool,
    /// The cost in words.
    #[serde(skip)]
    pub cost: String,
}

impl Row {
    /// The line of a run. `pull_request` is the one that it was counted for.
    #[must_use]
    pub fn of(view: &RunView, pull_request: Option<u64>) -> Self {
        let run = view.run.as_ref();
        let charge = view.spent.charge();
        let pushed = view.delivery.pushes.last().map(|push| push.branch.clone());
        let opened = view.delivery.pull_request.as_ref().map(|pull| pull.number);
        let program = view.command().map(|command| plain::clipped_line(command, MAX_PROGRAM));
        let about =
            // From what most people know a run by to what only its own log says.
            pull_request.or(opened).map(|number| format!("#{number}")).or(pushed).or(program).or_else(|| goal(view));
        let tier = match view.resolved() {
            Some((tier, _)) => Some(tier),
            None => view.position.and_then(|position| view.tier(position.tier_index)),
        };
        Self {
            run_id: run.map(|run| run.run_id.0.clone()).unwrap_or_default(),
            started_at: run.map(|run| run.started_at.0.clone()).unwrap_or_default(),
            about: about.unwrap_or_default(),
            outcome: view.standing().to_owned(),
            tier: tier.map(|tier| tier.tier.name.clone()),
            iterations: view.spent.iterations,
            cost_usd: charge.known.as_usd(),
            unknown_cost_usd: charge.unknown.as_usd(),
            failing_before: view.failing_before.len(),
            not_committed: view.is_mended() && view.is_uncommitted,
            // A run that is parked or stopped with its fix on a branch counts, whatever its last iteration did.
            fixed: match (view.is_mended(), view.is_uncommitted) {
                (true, true) => 0,
                (true, false) => view.failing_before.len(),
                (false, _) => view.fixed_tests().len(),
            },
            duration_ms: view.spent.active_ms,
            is_gateway: view.command().is_some(),
            cost: charge.to_string(),
        }
    }

    fn cells(&self) -> [String; 8] {
        let short = self.run_id.get(..8).unwrap_or(&self.run_id);
        let tests = match self.failing_before {
            failing @ 1.. if !self.is_gateway => format!("{} of {failing} fixed", self.fixed),
            _ => "—".to_owned(),
        };
        [
            short.to_owned(),
            self.started_at.get(..16).unwrap_or(&self.started_at).replacen('T', " ", 1),
            self.about.clone(),
            format!("{}{}", self.outcome.replace('_', " "), if self.not_committed { ", not committed" } else { "" }),
            self.tier.clone().unwrap_or_else(|| "—".to_owned()),
            self.cost.clone(),
            tests,
            human_duration(self.duration_ms),
        ]
    }
}

/// The subject of a run that touched no pull request and no branch: its own objective, else the tests that failed.
fn goal(view: &RunView) -> Option<String> {
    let objective = view.run.as_ref().map(|run| run.objective.as_str());
    if let Some(own) = objective.filter(|own| !own.trim().is_empty() && *own != DEFAULT_OBJECTIVE) {
        return Some(plain::clipped_line(own, MAX_PROGRAM));
    }
    let (first, more) = view.failing_before.split_first()?;
    // `test_total (tests.test_cart.CartTest.test_total)`
    let short = first.split_once(" (").map_or(first.as_str(), |(name, _)| name);
    Some(match more.len() {
        0 => plain::clipped_line(short, MAX_PROGRAM),
        more => format!("{} and {more} more", plain::clipped_line(short, MAX_TEST)),
    })
}

/// The table, the latest run first. `columns` is the width of the terminal.
#[must_use]
pub fn table(rows: &[Row], columns: Option<usize>) -> String {
    if rows.is_empty() {
        return "The log has no runs.\n".to_owned();
    }
    let head = ["RUN", "STARTED (UTC)", "ABOUT", "OUTCOME", "TIER", "COST", "TESTS", "TIME"].map(str::to_owned);
    let lines: Vec<Vec<String>> =
        std::iter::once(head).chain(rows.iter().map(Row::cells)).map(|cells| cells.to_vec()).collect();
    columns::render_within(&lines, columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    #[test]
    fn the_table_says_of_each_run_what_it_was_about_and_what_came_of_it() {
        let rows: Vec<Row> = fixtures::every_ending()
            .iter()
            .filter(|(name, _)| ["fixed", "ci_green", "exhausted", "died"].contains(name))
            .map(|(name, view)| Row::of(view, (*name == "fixed").then_some(7)))
            .collect();
        insta::assert_snapshot!(table(&rows, None));
        assert_eq!(table(&[], None), "The log has no runs.\n");
    }

    #[test]
    fn c12_a_local_run_is_told_by_its_objective_or_the_tests_that_failed() {
        let about = |objective: &str, failing: usize| {
            let mut view = fixtures::fixed().view();
            view.failing_before.truncate(failing);
            if let Some(run) = &mut view.run {
                objective.clone_into(&mut run.objective);
            }
            Row::of(&view, None).about
        };
        let first = fixtures::F0[0];
        assert_eq!(about(DEFAULT_OBJECTIVE, 3), format!("{first} and 2 more"));
        assert_eq!(about(DEFAULT_OBJECTIVE, 1), first);
        assert_eq!(about(DEFAULT_OBJECTIVE, 0), "");
        assert_eq!(about("mend the parser\u{1b}[2J", 3), "mend the parser");
    }
}
