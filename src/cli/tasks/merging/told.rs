//! One report over all jobs.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::super::output;
use super::super::super::setup::Setup;
use super::rows::{Done, Logs, Row, Standing, SumStanding};
use crate::domain::shell::quote_path;
use crate::domain::units::{Charge, CommitSha, MicroUsd, RunId};
use crate::report::markdown::{in_cell, quoted};
use crate::report::plain;
use crate::tracker::Source;

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli::tasks) enum MergeForm {
    /// For a terminal
    Text,
    /// For a job's summary
    Md,
    /// For programs
    Json,
}

/// The end of a merge.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(in crate::cli::tasks) struct Report {
    logs: Logs,
    pub(super) rows: Vec<Row>,
    /// The merged changes, in the order of the commits.
    pub(super) done: Vec<Done>,
    pub(super) sum: SumStanding,
    pub(super) pull_requests: Vec<String>,
    /// Tasks of the backlog that no run of a log is for, each with the reason.
    #[serde(default)]
    not_worked_on: Vec<(String, String)>,
    /// The source of the tasks, as a person names it.
    #[serde(default)]
    source: Option<String>,
    /// The command that works on the tasks, with the flags that were given. `None` where another one merges.
    #[serde(skip)]
    again: Option<String>,
    is_stopped: bool,
}

impl Report {
    pub(super) fn of(logs: Logs, rows: Vec<Row>, source: Option<&Source>) -> Self {
        Self { logs, rows, source: source.map(ToString::to_string), ..Self::default() }
    }

    /// Names the command that works on its tasks once more.
    pub(in crate::cli::tasks) fn again_by(&mut self, command: String) {
        self.again = Some(command);
    }

    /// Tells of a task that should be done by now, unless a run for it is told of.
    pub(in crate::cli::tasks) fn demand(&mut self, task: &str, why: &str) {
        // The row says why already.
        if !self.rows.iter().any(|row| row.task.as_deref() == Some(task)) {
            self.not_worked_on.push((task.to_owned(), why.to_owned()));
        }
    }

    /// The tasks that no run is for, each with the reason.
    pub(super) fn not_worked_on(&self) -> &[(String, String)] {
        &self.not_worked_on
    }

    /// Why a task was not worked on, where it was not.
    pub(super) fn why_not_worked_on(&self, task: &str) -> Option<&str> {
        self.not_worked_on.iter().find(|(id, _)| id == task).map(|(_, why)| why.as_str())
    }

    pub(super) fn set(&mut self, at: usize, standing: Standing, reason: String, commit: Option<CommitSha>) {
        if let Some(row) = self.rows.get_mut(at) {
            (row.standing, row.reason, row.commit) = (standing, reason, commit);
        }
    }

    /// A signal ended it.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub(in crate::cli::tasks) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether all that the logs hold is on the branch, and no task of the backlog was left.
    pub(in crate::cli::tasks) fn is_whole(&self) -> bool {
        let merged = |row: &Row| {
            matches!(row.standing, Standing::Merged | Standing::Duplicate)
                // Another run of its task was: a killed job is worked on anew.
                || (row.standing == Standing::NotMended && self.is_mended_elsewhere(row))
        };
        // One that was mended by taking a change back counts as requeued, which `merged` sees.
        let sound = !matches!(self.sum, SumStanding::Fails(_));
        let nothing_left = self.logs.refused.is_empty() && self.not_worked_on.is_empty();
        !self.is_stopped && sound && nothing_left && self.rows.iter().all(merged)
    }

    fn is_mended_elsewhere(&self, row: &Row) -> bool {
        let same = |one: &&Row| one.task.is_some() && one.task == row.task;
        self.rows.iter().filter(same).any(|one| matches!(one.standing, Standing::Merged | Standing::Duplicate))
    }

    /// The ids of the tasks that are to be worked on once more.
    pub(in crate::cli::tasks) fn requeued(&self) -> Vec<&str> {
        self.rows
            .iter()
            .filter(|row| row.standing == Standing::Requeued)
            .filter_map(|row| row.task.as_deref())
            .collect()
    }

    fn count(&self, standing: Standing) -> usize {
        self.rows.iter().filter(|row| row.standing == standing).count()
    }

    pub(in crate::cli::tasks) fn cost(&self) -> Charge {
        let known: MicroUsd = self.rows.iter().map(|row| row.cost.known).sum();
        // Kept apart to the end: a sum that mixes both would look exact.
        let unknown: MicroUsd = self.rows.iter().map(|row| row.cost.unknown).sum();
        Charge { known, unknown }
    }
}

/// Prints the report.
pub(in crate::cli::tasks) fn print(report: &Report, form: MergeForm, setup: &Setup<'_>) -> anyhow::Result<()> {
    let text = match form {
        MergeForm::Text => text(report),
        MergeForm::Md => markdown(report),
        MergeForm::Json => format!("{}\n", document(report)),
    };
    // Reasons quote output of tests and of git.
    output::print(&setup.redactor.redact(&text)).map(drop)
}

/// The first line without what its end says of all changes together.
fn counts(report: &Report) -> String {
    let (merged, all) = (report.count(Standing::Merged), report.rows.len());
    let mark = if report.is_whole() { "✔" } else { "✖" };
    let (logs, cost) = (report.logs.count, report.cost());
    format!("{mark} {merged} of {all} runs merged from {logs} logs, {cost}")
}

/// What became of all changes together, with a failure's reason as it is to stand there.
fn together(report: &Report, escape: impl Fn(&str) -> String) -> String {
    match &report.sum {
        SumStanding::NotLooked | SumStanding::Green => String::new(),
        SumStanding::Mended => "; together they failed, and one was reverted".to_owned(),
        SumStanding::Fails(why) => format!("; together they fail: {}", escape(why)),
    }
}

fn text(report: &Report) -> String {
    let mut text = format!("{}\n\n", inert(&format!("{}{}", counts(report), together(report, str::to_owned))));
    let mut line = |said: String| {
        text.push_str(&inert(&said));
        text.push('\n');
    };
    for row in &report.rows {
        let commit = row.commit.as_ref().and_then(|commit| commit.0.get(..7)).map(|short| format!("  {short}"));
        line(format!("  {} {}  {}{}", row.standing.mark(), row.name(), row.cost, commit.unwrap_or_default()));
        if !row.reason.is_empty() {
            line(format!("      {}", row.reason));
        }
    }
    for (task, why) in &report.not_worked_on {
        line(format!("  · {task}  not worked on"));
        line(format!("      {why}"));
    }
    for (log, run, why) in &report.logs.refused {
        let run = run.as_ref().map(|run| format!(" run {run}")).unwrap_or_default();
        line(format!("  ! {log}{run}: {why}"));
    }
    for url in &report.pull_requests {
        line(format!("→ {url}"));
    }
    for next in next_steps(report) {
        line(format!("→ {next}"));
    }
    text
}

/// The steps of a person that are left.
fn next_steps(report: &Report) -> Vec<String> {
    let requeued = report.requeued();
    let ids: String = requeued.iter().map(|id| format!(" --task {}", quote_path(id))).collect();
    let source = report.source.as_deref().map_or_else(|| "SOURCE".to_owned(), quote_path);
    let command = report.again.clone().unwrap_or_else(|| format!("upshift run --tasks {source}"));
    let again = format!("To try again, on top of what is merged: `{command}{ids}`");
    let stopped = "Stopped; the same command continues.".to_owned();
    [(!requeued.is_empty()).then_some(again), report.is_stopped.then_some(stopped)].into_iter().flatten().collect()
}

/// One line that neither a terminal nor a runner takes for more than text.
pub(super) fn inert(line: &str) -> String {
    plain::inert(&line.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect::<String>())
}

/// The report for a pull request or a job's summary.
pub(super) fn markdown(report: &Report) -> String {
    let mut text = format!(
        "### {}{}\n\n| task | | commit | cost |\n|---|---|---|---|\n",
        counts(report),
        together(report, quoted)
    );
    for row in &report.rows {
        let commit = row.commit.as_ref().and_then(|commit| commit.0.get(..7)).unwrap_or_default();
        let why = if row.reason.is_empty() { String::new() } else { format!(": {}", in_cell(&row.reason)) };
        let (name, standing) = (in_cell(row.name()), row.standing.as_str().replace('_', " "));
        text.push_str(&format!("| {name} | {} {standing}{why} | {commit} | {} |\n", row.standing.mark(), row.cost));
    }
    for (task, why) in &report.not_worked_on {
        text.push_str(&format!("| {} | · not worked on: {} | | |\n", in_cell(task), in_cell(why)));
    }
    for (log, run, why) in &report.logs.refused {
        let run = run.as_ref().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("\nNot taken: {} {run}: {}\n", quoted(log), quoted(why)));
    }
    for url in &report.pull_requests {
        text.push_str(&format!("\n{url}\n"));
    }
    for next in next_steps(report) {
        text.push_str(&format!("\n→ {next}\n"));
    }
    text
}

fn document(report: &Report) -> Value {
    let row = |row: &Row| {
        json!({
            "runId": row.run.0,
            "task": row.task,
            "standing": row.standing.as_str(),
            "reason": row.reason,
            "commit": row.commit.as_ref().map(|commit| &commit.0),
            "costMicroUsd": row.cost.known.0,
            "unknownCostMicroUsd": row.cost.unknown.0,
            "pullRequest": row.pull_request,
        })
    };
    let refused = |(log, run, why): &(String, Option<RunId>, String)| json!({ "log": log, "runId": run.as_ref().map(|run| &run.0), "reason": why });
    let not_worked_on = |(task, why): &(String, String)| json!({ "task": task, "reason": why });
    let segments = report.logs.segments.iter();
    let segments = segments.map(|one| json!({ "runId": one.run_id.0, "head": one.head, "length": one.length }));
    let (sum, why) = match &report.sum {
        SumStanding::NotLooked => ("not_looked", None),
        SumStanding::Green => ("green", None),
        SumStanding::Mended => ("mended", None),
        SumStanding::Fails(why) => ("fails", Some(why)),
    };
    let cost = report.cost();
    json!({
        "merged": report.count(Standing::Merged),
        "duplicates": report.count(Standing::Duplicate),
        "requeued": report.requeued(),
        "sum": sum,
        "sumReason": why,
        "stopped": report.is_stopped,
        "costMicroUsd": cost.known.0,
        "unknownCostMicroUsd": cost.unknown.0,
        "runs": report.rows.iter().map(row).collect::<Vec<_>>(),
        "notWorkedOn": report.not_worked_on.iter().map(not_worked_on).collect::<Vec<_>>(),
        "notTaken": report.logs.refused.iter().map(refused).collect::<Vec<_>>(),
        "segments": segments.collect::<Vec<_>>(),
        "pullRequests": report.pull_requests,
    })
}
