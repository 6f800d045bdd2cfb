//! The report as JSON, for programs: `upshift report --format json` and `run --format json`.
//!
//! Contract: the keys of [`Document`] stay; new ones may come; a change of meaning raises `version`. Names and messages
//! are data and stand as they were; hidden characters and what a terminal or the Actions runner would interpret are
//! written as `\u` escapes, so the text is safe to print and unchanged when parsed.

use serde::Serialize;

use crate::domain::attempt::Attempt;
use crate::domain::command::CommandAnswer;
use crate::domain::delivery::Answer;
use crate::domain::event::FileStat;
use crate::domain::outcome::Outcome;
use crate::domain::units::MicroUsd;

use super::plain;
use super::style::Style;
use super::text;
use super::view::{CommandView, Ending, PushView, RunView, TierState, TierView, WaitView};

/// The version of this document's shape.
pub const VERSION: u32 = 1;

/// An amount in both notations: dollars to read, micro-dollars to calculate with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Money {
    /// Dollars.
    pub usd: f64,
    /// Millionths of a dollar; exact.
    pub micro_usd: u64,
}

impl From<MicroUsd> for Money {
    fn from(amount: MicroUsd) -> Self {
        Self { usd: amount.as_usd(), micro_usd: amount.0 }
    }
}

/// The whole report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document<'a> {
    /// [`VERSION`].
    pub version: u32,
    /// The run's id; null when the run was refused before it began.
    pub run_id: Option<&'a str>,
    /// `ended`, `running` or `died`.
    pub state: &'static str,
    /// The outcome's word (`fixed`, `exhausted`, …); `running` while under way, `interrupted` when the process died.
    pub outcome: &'static str,
    /// The process exit code; null when the run did not end.
    pub exit_code: Option<u8>,
    /// The verdict line of the text report.
    pub verdict: String,
    /// Which cap, signal or condition ended the run; null while running.
    pub stop_reason: Option<&'a str>,
    /// The tier that made the tests pass.
    pub resolved_tier_name: Option<&'a str>,
    /// Its zero-based place in the ladder.
    pub resolved_tier_index: Option<usize>,
    /// The one-based iteration within it.
    pub resolved_iteration: Option<u32>,
    /// What was to be done.
    pub objective: Option<&'a str>,
    /// Where.
    pub working_directory: Option<&'a str>,
    /// How it was verified.
    pub test_command: Option<&'a str>,
    /// Where the tiers came from.
    pub tier_config_path: Option<&'a str>,
    /// When the run began.
    pub started_at: Option<&'a str>,
    /// When it ended.
    pub finished_at: Option<&'a str>,
    /// Every tier of the ladder.
    pub tiers: Vec<TierDocument<'a>>,
    /// Iterations over all tiers.
    pub iterations: u32,
    /// Model calls that were settled.
    pub model_calls: u32,
    /// The sum of all receipts in dollars.
    pub cost_usd: f64,
    /// The same, exact, in millionths.
    pub cost_micro_usd: u64,
    /// Set aside for calls that were never settled.
    pub unsettled: Money,
    /// Active milliseconds over all invocations.
    pub duration_ms: u64,
    /// Processes that worked on the run.
    pub invocations: u32,
    /// The caps and what is left of them; null when the run never began.
    pub budget: Option<BudgetDocument>,
    /// The framework recognised at the baseline.
    pub framework: Option<&'a str>,
    /// Failing tests at the start.
    pub failing_before: &'a [String],
    /// Failing tests at the end; null when they never ran again.
    pub failing_after: Option<&'a [String]>,
    /// Those of the first list that are not in the second.
    pub fixed_tests: Vec<&'a str>,
    /// Tests that were set aside because they both failed and passed.
    pub flaky_tests: &'a [String],
    /// Changed files; `added` and `removed` are null for binary ones.
    pub diff_stat: Vec<FileStat>,
    /// Hunks of the fix that green did not need and that were left out.
    pub dropped_hunks: u32,
    /// Where the best patch of a failed run was kept.
    pub best_patch: Option<&'a str>,
    /// The most recent errors.
    pub recent_errors: &'a [String],
    /// What a person should know.
    pub warnings: &'a [String],
    /// The audit log as the user named it; null when it is off.
    pub audit_db: Option<&'a str>,
    /// `TASK_COMPLETE`, `PR_CREATED`, `BLOCKED`, `MAX_RETRIES`, `ERROR` or `SHUTDOWN` (S4-2); null while under way.
    pub result_type: Option<&'static str>,
    /// What was pushed, in order.
    pub pushes: Vec<PushDocument<'a>>,
    /// The pull request that was opened or found for it.
    pub pull_request: Option<PullRequestDocument<'a>>,
    /// What was waited for, in order.
    pub breakpoints: Vec<BreakpointDocument<'a>>,
    /// Commands that people gave by comments, in order; absent where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandDocument<'a>>,
}

/// A command that somebody gave by a comment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandDocument<'a> {
    /// Who gave it.
    pub by: &'a str,
    /// As it is written; null where none was understood.
    pub command: Option<String>,
    /// `obeyed`, `under_way`, `refused` or `not_understood`.
    pub answer: CommandAnswer,
    /// In words.
    pub said: &'a str,
}

/// One push.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PushDocument<'a> {
    /// The commit's full name.
    pub commit: &'a str,
    /// The branch.
    pub branch: &'a str,
    /// How many files it changes.
    pub files: u32,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PullRequestDocument<'a> {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: &'a str,
}

/// One breakpoint.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BreakpointDocument<'a> {
    /// `ci` or `merge`.
    pub awaited: &'static str,
    /// The commit it is about.
    pub commit: &'a str,
    /// `green`, `red`, `absent`, `needs_approval`, `superseded`, `timed_out`, `unreadable`, `merged`, `closed` or
    /// `changes_requested`; null while waiting.
    pub answer: Option<&'static str>,
    /// More about it, in words.
    pub detail: &'a str,
    /// How long was waited, in milliseconds.
    pub waited_ms: u64,
}

/// One tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TierDocument<'a> {
    /// Zero-based place in the ladder.
    pub index: usize,
    /// The tier's name.
    pub name: &'a str,
    /// `simple` or `full`.
    pub mode: &'static str,
    /// The artisan's model that answered last, else the first configured one.
    pub model: String,
    /// Its iteration cap.
    pub max_iterations: u32,
    /// `not_reached`, `running`, `solved`, `failed`, `stalled`, `budget_limit`, `no_model`, `rejected`, `blocked`,
    /// `interrupted` or `parked`.
    pub state: &'static str,
    /// The recorded exit reason (`success`, `iterations_exhausted`, …); null while it has none.
    pub exit: Option<&'static str>,
    /// Why, in words.
    pub reason: Option<&'a str>,
    /// Iterations begun.
    pub iterations: u32,
    /// Its receipts in dollars.
    pub cost_usd: f64,
    /// The same, exact, in millionths.
    pub cost_micro_usd: u64,
    /// Its finished iterations.
    pub attempts: Vec<AttemptDocument<'a>>,
}

/// One finished iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptDocument<'a> {
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// `passed`, `failed` or `error`.
    pub test_status: &'static str,
    /// What was changed, in words.
    pub code_change_summary: &'a str,
    /// Failing tests.
    pub failed_tests: &'a [String],
    /// Their messages.
    pub error_messages: &'a [String],
    /// What it cost, in dollars.
    pub cost_usd: f64,
    /// The same, exact, in millionths.
    pub cost_micro_usd: u64,
    /// Its wall-clock time in milliseconds.
    pub duration_ms: u64,
    /// When it ended.
    pub timestamp: &'a str,
}

/// The caps and what is left of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BudgetDocument {
    /// The most that all calls together may cost.
    pub max_cost: Money,
    /// What is left of it.
    pub cost_left: Money,
    /// The most iterations.
    pub max_iterations: u32,
    /// What is left of them.
    pub iterations_left: u32,
    /// The most active milliseconds.
    pub max_duration_ms: u64,
    /// What is left of them.
    pub duration_left_ms: u64,
}

/// Renders the report as indented JSON; ends with a line break.
#[must_use]
pub fn render(view: &RunView) -> String {
    let json = serde_json::to_string_pretty(&document(view)).unwrap_or_else(|error| {
        // Strings and numbers always serialise; a failure would be a defect here, and must not take the report along.
        format!("{{\"version\": {VERSION}, \"error\": {}}}", serde_json::Value::String(error.to_string()))
    });
    let mut json = escape_hidden(&json);
    json.push('\n');
    json
}

/// Builds the document from a run.
#[must_use]
pub fn document(view: &RunView) -> Document<'_> {
    let run = view.run.as_ref();
    let resolved = view.resolved();
    let finished = match &view.ending {
        Ending::Finished(finished) => Some(finished),
        Ending::Running | Ending::Died => None,
    };
    let (state, outcome) = match &view.ending {
        Ending::Finished(finished) => ("ended", finished.outcome.as_str()),
        Ending::Running => ("running", "running"),
        Ending::Died => ("died", "interrupted"),
    };
    Document {
        version: VERSION,
        run_id: run.map(|run| run.run_id.0.as_str()),
        state,
        outcome,
        exit_code: view.outcome().map(crate::domain::outcome::Outcome::exit_code),
        verdict: text::verdict(view, Style::Plain),
        stop_reason: finished.map(|finished| finished.stop_reason.as_str()),
        resolved_tier_name: resolved.map(|(tier, _)| tier.tier.name.as_str()),
        resolved_tier_index: resolved.map(|(tier, _)| tier.number.saturating_sub(1)),
        resolved_iteration: resolved.map(|(_, iteration)| iteration),
        objective: run.map(|run| run.objective.as_str()),
        working_directory: run.map(|run| run.working_directory.as_str()),
        test_command: run.map(|run| run.test_command.as_str()),
        tier_config_path: run.map(|run| run.tier_config_path.as_str()),
        started_at: run.map(|run| run.started_at.0.as_str()),
        finished_at: finished.map(|finished| finished.finished_at.0.as_str()),
        tiers: view.tiers.iter().map(tier).collect(),
        iterations: view.spent.iterations,
        model_calls: view.calls,
        cost_usd: view.spent.cost.as_usd(),
        cost_micro_usd: view.spent.cost.0,
        unsettled: view.unsettled.into(),
        duration_ms: view.spent.active_ms,
        invocations: view.invocations,
        budget: run.map(|_| budget(view)),
        framework: view.baseline.as_ref().map(|baseline| baseline.framework.as_str()),
        failing_before: &view.failing_before,
        failing_after: view.failing_after.as_deref(),
        fixed_tests: view.fixed_tests(),
        flaky_tests: view.baseline.as_ref().map(|baseline| baseline.flaky.as_slice()).unwrap_or_default(),
        diff_stat: view.diff_stat().files,
        dropped_hunks: view.dropped_hunks,
        best_patch: view.best_patch(),
        recent_errors: &view.recent_errors,
        warnings: &view.warnings,
        audit_db: run.and_then(|run| run.audit_db.as_deref()),
        result_type: view.outcome().map(|outcome| result_type(outcome, view)),
        pushes: view.delivery.pushes.iter().map(push).collect(),
        pull_request: view
            .delivery
            .pull_request
            .as_ref()
            .map(|pull| PullRequestDocument { number: pull.number, url: &pull.url }),
        breakpoints: view.delivery.waits.iter().map(breakpoint).collect(),
        commands: view.commands.iter().map(command).collect(),
    }
}

fn command(view: &CommandView) -> CommandDocument<'_> {
    let command = view.command.map(|command| command.to_string());
    CommandDocument { by: &view.by, command, answer: view.answer, said: &view.said }
}

fn push(view: &PushView) -> PushDocument<'_> {
    PushDocument { commit: &view.commit.0, branch: &view.branch, files: view.files }
}

fn breakpoint(view: &WaitView) -> BreakpointDocument<'_> {
    BreakpointDocument {
        awaited: view.awaited.as_str(),
        commit: &view.commit.0,
        answer: view.answer.map(Answer::as_str),
        detail: &view.detail,
        waited_ms: view.waited_ms,
    }
}

/// The seeds' word for how a run ended (S4-2).
fn result_type(outcome: &Outcome, view: &RunView) -> &'static str {
    let merged = view.delivery.waits.iter().any(|wait| wait.answer == Some(Answer::Merged));
    let proposed = view.delivery.pull_request.is_some() && !merged;
    match outcome {
        Outcome::Fixed { .. } if proposed => "PR_CREATED",
        Outcome::Fixed { .. } | Outcome::AlreadyGreen => "TASK_COMPLETE",
        Outcome::Blocked { .. } => "BLOCKED",
        Outcome::Exhausted | Outcome::Stalled | Outcome::Objected | Outcome::Budget => "MAX_RETRIES",
        Outcome::NoModel | Outcome::Refused { .. } | Outcome::Broken { .. } => "ERROR",
        Outcome::Interrupted { .. } | Outcome::Parked => "SHUTDOWN",
    }
}

fn tier(view: &TierView) -> TierDocument<'_> {
    TierDocument {
        index: view.number.saturating_sub(1),
        name: &view.tier.name,
        mode: view.tier.mode.as_str(),
        model: view.model(),
        max_iterations: view.tier.max_iterations,
        state: state_word(view.state),
        exit: view.exit.map(crate::domain::attempt::TierExit::as_str),
        reason: view.reason.as_deref(),
        iterations: view.iterations,
        cost_usd: view.cost.as_usd(),
        cost_micro_usd: view.cost.0,
        attempts: view.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(attempt: &Attempt) -> AttemptDocument<'_> {
    AttemptDocument {
        iteration: attempt.iteration,
        test_status: attempt.test_status.as_str(),
        code_change_summary: &attempt.code_change_summary,
        failed_tests: &attempt.failed_tests,
        error_messages: &attempt.error_messages,
        cost_usd: attempt.cost.as_usd(),
        cost_micro_usd: attempt.cost.0,
        duration_ms: attempt.duration_ms,
        timestamp: &attempt.timestamp.0,
    }
}

fn budget(view: &RunView) -> BudgetDocument {
    let (caps, spent) = (view.budget(), &view.spent);
    BudgetDocument {
        max_cost: caps.max_cost.into(),
        cost_left: caps.max_cost.saturating_sub(spent.cost).into(),
        max_iterations: caps.max_iterations,
        iterations_left: caps.max_iterations.saturating_sub(spent.iterations),
        max_duration_ms: caps.max_active_ms,
        duration_left_ms: caps.max_active_ms.saturating_sub(spent.active_ms),
    }
}

const fn state_word(state: TierState) -> &'static str {
    match state {
        TierState::NotReached => "not_reached",
        TierState::Running => "running",
        TierState::Solved => "solved",
        TierState::Failed => "failed",
        TierState::Stalled => "stalled",
        TierState::BudgetLimit => "budget_limit",
        TierState::NoModel => "no_model",
        TierState::Rejected => "rejected",
        TierState::Blocked => "blocked",
        TierState::Interrupted => "interrupted",
        TierState::Parked => "parked",
    }
}

/// Writes as `\u` what must not be printed raw. Such characters, and `##[`, occur in JSON only inside strings.
fn escape_hidden(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && plain::is_hidden(c) {
            let mut units = [0_u16; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out.replace("##[", "#\\u0023[")
}

#[cfg(test)]
mod tests;
