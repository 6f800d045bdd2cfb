//! The report as JSON, for programs: `upshift report --format json` and `run --format json`.
//!
//! Contract: the keys of [`Document`] stay, new ones may come, and a change of meaning raises `version`. Names and messages are data and
//! stand as they were. Hidden characters and those that a terminal or the Actions runner would interpret are written as `\u` escapes, so
//! the text is safe to print and unchanged when parsed.

mod shape;
mod steps;

pub use self::shape::{
    AttemptDocument, BilledDocument, BreakpointDocument, BudgetDocument, CommandDocument, Document, KeptDocument,
    LoopResult, Money, PullRequestDocument, PushDocument, RemarkDocument, SessionDocument, SideDocument, TierDocument,
};
pub use self::steps::{StepsDocument, Wanted, steps};
use crate::domain::attempt::{Attempt, AttemptStatus};
use crate::domain::delivery::Answer;
use crate::domain::diff_stat::KeptChange;
use crate::domain::hidden::is_hidden;
use crate::domain::outcome::Outcome;
use crate::domain::remark::Remark;

use super::style::Style;
use super::text;
use super::view::{
    BilledView, CommandView, Ending, PushView, RunView, SessionView, SideView, TierState, TierView, WaitView,
};

/// The version of this document's shape.
pub const VERSION: u32 = 1;

/// The seeds' word for a run that could not be carried out.
const ERROR: &str = "ERROR";

/// Renders the report as indented JSON that ends with a line break.
#[must_use]
pub fn render(view: &RunView) -> String {
    pretty(&document(view))
}

/// Renders a document as indented JSON that is safe to print and ends with a line break.
#[must_use]
pub fn pretty(document: &impl serde::Serialize) -> String {
    let json = serde_json::to_string_pretty(document).unwrap_or_else(|error| {
        // Strings and numbers always serialise; a failure would be a defect here, and must not take the report along.
        format!("{{\"version\": {VERSION}, \"error\": {}}}", serde_json::Value::String(error.to_string()))
    });
    let mut json = escape_hidden(&json);
    json.push('\n');
    json
}

/// Renders a document with [`VERSION`] as its first key.
#[must_use]
pub fn versioned(document: &impl serde::Serialize) -> String {
    #[derive(serde::Serialize)]
    struct Versioned<'a, T> {
        version: u32,
        #[serde(flatten)]
        document: &'a T,
    }
    pretty(&Versioned { version: VERSION, document })
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
        verdict: text::headline(view, Style::Plain),
        stop_reason: finished.map(|finished| finished.stop_reason.as_str()),
        resolved_tier_name: resolved.map(|(tier, _)| tier.tier.name.as_str()),
        resolved_tier_index: resolved.map(|(tier, _)| tier.number.saturating_sub(1)),
        resolved_iteration: resolved.map(|(_, iteration)| iteration),
        objective: run.map(|run| run.objective.as_str()),
        working_directory: run.map(|run| run.working_directory.as_str()),
        test_command: run.map(|run| run.test_command.as_str()),
        tier_config_path: run.map(|run| run.tier_config_path.as_str()),
        command: run.and_then(|run| run.command.as_deref()),
        started_at: run.map(|run| run.started_at.0.as_str()),
        finished_at: finished.map(|finished| finished.finished_at.0.as_str()),
        tiers: view.tiers.iter().map(tier).collect(),
        iterations: view.spent.iterations,
        model_calls: view.calls,
        side_calls: side(view.side),
        billed_models: view.billed.iter().map(billed).collect(),
        cost_usd: view.spent.charge().known.as_usd(),
        cost_micro_usd: view.spent.charge().known.0,
        unknown_cost: view.spent.charge().unknown.into(),
        unsettled: view.unsettled.into(),
        duration_ms: view.spent.active_ms,
        invocations: view.invocations,
        budget: run.map(|_| budget(view)),
        framework: view.baseline.as_ref().map(|baseline| baseline.framework.as_str()),
        failing_before: &view.failing_before,
        failing_after: view.failing_after.as_deref(),
        mended: view.is_mended(),
        fixed_tests: view.fixed_tests(),
        kept: view.kept().map(|kept| kept_change(view, kept)),
        flaky_tests: view.baseline.as_ref().map(|baseline| baseline.flaky.as_slice()).unwrap_or_default(),
        environment_tests: view.baseline.as_ref().map(|baseline| baseline.environment.as_slice()).unwrap_or_default(),
        diff_stat: view.diff_stat().files,
        dropped_hunks: view.dropped_hunks,
        proof: &view.proof,
        remarks: remarks(view),
        corrections: &view.corrections,
        meta: &view.meta,
        advice: &view.advice,
        handoff: &view.handoff,
        reused: &view.reused,
        tool_failures: &view.tool_failures,
        sessions: view.sessions.iter().map(session).collect(),
        best_patch: view.best_patch(),
        unjudged_patch: view.unjudged_patch(),
        refused_patch: view.refused_patch(),
        limited: view.limited(),
        recent_errors: &view.recent_errors,
        warnings: &view.warnings,
        audit_db: run.and_then(|run| run.audit_db.as_deref()),
        log_lacks: view.log_lacks,
        result_type: view.outcome().map(|outcome| result_type(outcome, view)),
        loop_result: view.outcome().map(|outcome| loop_result(outcome, view)),
        pushes: view.delivery.pushes.iter().map(push).collect(),
        pull_request: pull_request(view),
        breakpoints: view.delivery.waits.iter().map(breakpoint).collect(),
        commands: view.commands.iter().map(command).collect(),
        leftovers: &view.leftovers,
        more_leftovers: view.more_leftovers,
    }
}

fn pull_request(view: &RunView) -> Option<PullRequestDocument<'_>> {
    view.delivery.pull_request.as_ref().map(|pull| PullRequestDocument { number: pull.number, url: &pull.url })
}

fn kept_change<'v>(view: &'v RunView, kept: &'v KeptChange) -> KeptDocument<'v> {
    // A log of an older program names none, and a green fixes all.
    let fixed_tests = if kept.green { view.failing_before.as_slice() } else { kept.fixed.as_slice() };
    let breaks_others = if kept.green { Some(false) } else { kept.breaks };
    KeptDocument { green: kept.green, fixed_tests, breaks_others, diff_stat: &kept.stat.files }
}

fn side(view: SideView) -> Option<SideDocument> {
    let SideView { calls, cost } = view;
    (calls > 0).then(|| SideDocument { calls, cost: cost.known.into(), unknown_cost: cost.unknown.into() })
}

fn billed(view: &BilledView) -> BilledDocument<'_> {
    BilledDocument { asked: &view.asked, billed: &view.billed }
}

fn command(view: &CommandView) -> CommandDocument<'_> {
    let command = view.command.map(|command| command.to_string());
    CommandDocument { by: &view.by, command, answer: view.answer, said: &view.said }
}

/// The places in the last green change that a reviewer should look at.
#[must_use]
pub fn remarks(view: &RunView) -> Vec<RemarkDocument<'_>> {
    view.remarks.iter().map(remark).collect()
}

fn remark(remark: &Remark) -> RemarkDocument<'_> {
    RemarkDocument {
        kind: remark.kind.as_str(),
        file: &remark.file,
        first_line: remark.lines.map(|(first, _)| first),
        last_line: remark.lines.map(|(_, last)| last),
        why: remark.sentence(),
        said: remark.said.as_deref(),
    }
}

fn push(view: &PushView) -> PushDocument<'_> {
    PushDocument { commit: &view.commit.0, branch: &view.branch, files: view.files }
}

fn breakpoint(view: &WaitView) -> BreakpointDocument<'_> {
    BreakpointDocument {
        awaited: view.awaited.as_str(),
        blocked_on: &view.on,
        commit: &view.commit.0,
        answer: view.answer.map(Answer::as_str),
        detail: &view.detail,
        waited_ms: view.waited_ms,
    }
}

/// The seeds' word for how a run ended (S4-2).
pub(super) fn result_type(outcome: &Outcome, view: &RunView) -> &'static str {
    let merged = view.delivery.waits.iter().any(|wait| wait.answer == Some(Answer::Merged));
    let proposed = view.delivery.pull_request.is_some() && !merged;
    match outcome {
        // A fix whose pull request is merged already is a task that is done.
        Outcome::Fixed { .. } if proposed => "PR_CREATED",
        Outcome::Proposed { .. } => "PR_CREATED",
        Outcome::Fixed { .. } | Outcome::AlreadyGreen | Outcome::Ended { code: 0 } => "TASK_COMPLETE",
        Outcome::Blocked { .. } => "BLOCKED",
        Outcome::Exhausted | Outcome::Stalled | Outcome::Objected | Outcome::Budget => "MAX_RETRIES",
        Outcome::NoModel | Outcome::Refused { .. } | Outcome::Broken { .. } | Outcome::Ended { .. } => ERROR,
        Outcome::Interrupted { .. } | Outcome::Parked => "SHUTDOWN",
    }
}

fn loop_result<'v>(outcome: &Outcome, view: &'v RunView) -> LoopResult<'v> {
    let run = view.run.as_ref();
    let result_type = result_type(outcome, view);
    let erred = |attempt: &&Attempt| attempt.test_status == AttemptStatus::Error;
    LoopResult {
        result_type,
        task_id: run.map(|run| run.task.as_deref().unwrap_or(&run.run_id.0)),
        summary: text::headline(view, Style::Plain),
        blocked_on: view.blocked_on(),
        pr_url: view.delivery.pull_request.as_ref().map(|pull| pull.url.as_str()),
        error: (result_type == ERROR).then(|| view.stop_reason()),
        spawn_count: view.spent.iterations,
        retry_count: view.tiers.iter().flat_map(|tier| &tier.attempts).filter(erred).count(),
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
        cost_usd: view.cost.known.as_usd(),
        cost_micro_usd: view.cost.known.0,
        unknown_cost: view.cost.unknown.into(),
        attempts: view.attempts.iter().map(attempt).collect(),
    }
}

fn attempt(attempt: &Attempt) -> AttemptDocument<'_> {
    AttemptDocument {
        iteration: attempt.iteration,
        test_status: attempt.test_status.as_str(),
        code_change_summary: &attempt.code_change_summary,
        review: attempt.review.as_deref(),
        failed_tests: &attempt.failed_tests,
        error_messages: &attempt.error_messages,
        cost_usd: attempt.cost.as_usd(),
        cost_micro_usd: attempt.cost.0,
        unknown_cost: attempt.unknown_cost.into(),
        duration_ms: attempt.duration_ms,
        timestamp: &attempt.timestamp.0,
    }
}

fn session(session: &SessionView) -> SessionDocument<'_> {
    SessionDocument {
        tier_index: session.tier_index,
        iteration: session.iteration,
        agent_path: &session.agent_path,
        session_id: &session.session_id,
        target: &session.target,
        turns: session.turns,
        result: Some(session.result.as_str()).filter(|result| !result.is_empty()),
        exit: Some(session.exit.as_str()).filter(|exit| !exit.is_empty()),
    }
}

fn budget(view: &RunView) -> BudgetDocument {
    let (caps, spent) = (view.budget(), &view.spent);
    BudgetDocument {
        max_cost: caps.max_cost.into(),
        cost_left: caps.max_cost.saturating_sub(spent.cost).into(),
        max_iterations: caps.max_iterations,
        iterations_left: view.most_iterations().saturating_sub(view.counted_iterations()),
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
        TierState::RateLimited => "rate_limited",
        TierState::Outage => "outage",
        TierState::Skipped => "skipped",
        TierState::Rejected => "rejected",
        TierState::Blocked => "blocked",
        TierState::Interrupted => "interrupted",
        TierState::Parked => "parked",
    }
}

/// Writes as `\u` what must not be printed raw. Such characters, and `##[`, occur in JSON only inside strings.
pub(super) fn escape_hidden(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // The line breaks are those of the indentation: inside of strings JSON writes them as `\n`.
        if c != '\n' && is_hidden(c) {
            let mut units = [0_u16; 2];
            // JSON's escapes are units of UTF-16, so a character above U+FFFF needs two.
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    // The Actions runner would take `##[` for a command, even inside of a string.
    out.replace("##[", "#\\u0023[")
}

#[cfg(test)]
mod tests;
