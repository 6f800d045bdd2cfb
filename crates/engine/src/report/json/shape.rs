//! The shape of the JSON report: keys, units and what is null when.

use serde::Serialize;

use crate::domain::account::Limited;
use crate::domain::advice::Advice;
use crate::domain::blocker::Blocker;
use crate::domain::command::CommandAnswer;
use crate::domain::correction::Correction;
use crate::domain::event::FileStat;
use crate::domain::kept_report::ReusedReport;
use crate::domain::leftover::Leftover;
use crate::domain::meta::MetaReported;
use crate::domain::proof::Evidence;
use crate::domain::review::Review;
use crate::domain::units::MicroUsd;
use crate::report::view::ToolFailureView;

/// An amount in both notations: dollars to read, micro-dollars to calculate with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Money {
    /// Dollars.
    pub usd: f64,
    /// Millionths of a dollar, exact.
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
    /// [`super::VERSION`].
    pub version: u32,
    /// The run's id. Null when the run was refused before it began.
    pub run_id: Option<&'a str>,
    /// `ended`, `running` or `died`.
    pub state: &'static str,
    /// The outcome's word (`fixed`, `exhausted`, …). `running` while under way, `interrupted` when the process died.
    pub outcome: &'static str,
    /// The process exit code. Null when the run did not end.
    pub exit_code: Option<u8>,
    /// The verdict line of the text report.
    pub verdict: String,
    /// The cap, signal or condition that ended the run. Null while running.
    pub stop_reason: Option<&'a str>,
    /// The tier that made the tests pass.
    pub resolved_tier_name: Option<&'a str>,
    /// Its zero-based place in the ladder.
    pub resolved_tier_index: Option<usize>,
    /// The one-based iteration within it.
    pub resolved_iteration: Option<u32>,
    /// The objective of the run.
    pub objective: Option<&'a str>,
    /// Where.
    pub working_directory: Option<&'a str>,
    /// How it was verified.
    pub test_command: Option<&'a str>,
    /// Where the tiers came from.
    pub tier_config_path: Option<&'a str>,
    /// The program behind the gateway. Absent for a run that mends a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
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
    /// Those of them that were side calls of agents (titles, summaries). Absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_calls: Option<SideDocument>,
    /// Models that the vendor says it billed instead of the one asked. Absent where it did not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub billed_models: Vec<BilledDocument<'a>>,
    /// The sum of all receipts in dollars, as far as it is known.
    pub cost_usd: f64,
    /// The same, exact, in millionths.
    pub cost_micro_usd: u64,
    /// The most that failed calls cost beyond that.
    pub unknown_cost: Money,
    /// Set aside for calls that are not settled. Part of `unknown_cost` once the process is gone.
    pub unsettled: Money,
    /// Active milliseconds over all invocations.
    pub duration_ms: u64,
    /// Processes that worked on the run.
    pub invocations: u32,
    /// The caps and their remainders. Null when the run never began.
    pub budget: Option<BudgetDocument>,
    /// The framework recognised at the baseline.
    pub framework: Option<&'a str>,
    /// Failing tests at the start.
    pub failing_before: &'a [String],
    /// Failing tests at the end. Null when they never ran again.
    pub failing_after: Option<&'a [String]>,
    /// Whether the run has mended what failed, with its change in the files or on a branch: as `runs` and `stats` count it.
    pub mended: bool,
    /// Tests of `failing_before` that do not fail at the end: none of `failing_after` is among them. Those that pass with a change that is not
    /// in the files are in `kept`.
    pub fixed_tests: Vec<&'a str>,
    /// The change of a run that left none in the files. Absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptDocument<'a>>,
    /// Tests that were set aside because they both failed and passed.
    pub flaky_tests: &'a [String],
    /// Tests that were set aside because they fail for lack of a service or because of the machine. Absent where there are none.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub environment_tests: &'a [String],
    /// Changed files. `added` and `removed` are null for binary ones.
    pub diff_stat: Vec<FileStat>,
    /// Hunks of the fix that green did not need and that were left out.
    pub dropped_hunks: u32,
    /// The evidence for the last green: its `evidence` (`seen`, `starts_rules`, `untouched`, `poisoned`, `altered_expectation`, `renamed`,
    /// `direct`, `counter`), `status` (`held`, `failed`, `not_possible`, `left_out`), on how many tests it was `tried` and on how many
    /// `noticed`, and `why`.
    pub proof: &'a [Evidence],
    /// Places in the fix that a reviewer should look at.
    pub remarks: Vec<RemarkDocument<'a>>,
    /// Tests that a model calls wrong: the `files`, the proposed `patch`, the `reason` in its words, and where the patch was `kept`. Absent
    /// where there are none.
    #[serde(skip_serializing_if = "<[Correction]>::is_empty")]
    pub corrections: &'a [Correction],
    /// Data that roles gave beside their last reports: the `role`, its `session_id`, the valid `blocks` by name, and which required ones are
    /// `missing` and `why`. Absent where none was asked for.
    #[serde(skip_serializing_if = "<[MetaReported]>::is_empty")]
    pub meta: &'a [MetaReported],
    /// The last words of advisors: `name`, `session_id`, whether advice was `given`, and what was `said` (the reason where none was). Absent
    /// where none was asked.
    #[serde(skip_serializing_if = "<[Advice]>::is_empty")]
    pub advice: &'a [Advice],
    /// The texts about a proven change: `name`, `session_id`, whether it was `given`, and what was `said` (the reason where none was). Absent
    /// where none was asked for.
    #[serde(skip_serializing_if = "<[Advice]>::is_empty")]
    pub handoff: &'a [Advice],
    /// Reports that were used again: the `role`, its `session_id`, the `key` of the question, and `from`, where another run kept it. Absent
    /// where there are none.
    #[serde(skip_serializing_if = "<[ReusedReport]>::is_empty")]
    pub reused: &'a [ReusedReport],
    /// External tools that failed, and whose models were told words of the configuration: the tool's `name`, how many `times`, and the
    /// last time what it `said` and what was `told` instead. Absent where there are none.
    #[serde(skip_serializing_if = "<[ToolFailureView]>::is_empty")]
    pub tool_failures: &'a [ToolFailureView],
    /// Sessions of models in the order begun, each with its exit code. Absent where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionDocument<'a>>,
    /// Where the best patch of a failed run was kept.
    pub best_patch: Option<&'a str>,
    /// Where the change was kept of an iteration that a signal or a cap ended: nobody has judged it. Absent for any other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unjudged_patch: Option<&'a str>,
    /// Where the last change was kept whose green was refused. Absent where there is none, and where the run fixed its tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_patch: Option<&'a str>,
    /// The rate limit that a parked run waits for: its host, and until when by the host's own words (null where it does not say).
    /// Absent for any other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited: Option<&'a Limited>,
    /// The most recent errors.
    pub recent_errors: &'a [String],
    /// Warnings for people.
    pub warnings: &'a [String],
    /// The audit log as the user named it. Null when it is off.
    pub audit_db: Option<&'a str>,
    /// Records of this run that no disk took, so that the log lacks them for good. 0 where it has all.
    pub log_lacks: u64,
    /// `TASK_COMPLETE`, `PR_CREATED`, `BLOCKED`, `MAX_RETRIES`, `ERROR` or `SHUTDOWN` (S4-2). Null while under way.
    pub result_type: Option<&'static str>,
    /// The same for a loop around it, with what that needs to go on. Null while under way.
    pub loop_result: Option<LoopResult<'a>>,
    /// Pushes, in order.
    pub pushes: Vec<PushDocument<'a>>,
    /// The pull request that was opened or found for it.
    pub pull_request: Option<PullRequestDocument<'a>>,
    /// Waits, in order.
    pub breakpoints: Vec<BreakpointDocument<'a>>,
    /// Commands that people gave by comments, in order. Absent where there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandDocument<'a>>,
    /// Leftovers that tools run unasked: the `path`, `kind` (`git_directory`, `version_control`, `git_hooks`, `shell_hook`,
    /// `editor_settings`, `agent_settings`, `link_out`, `special_file`) and `fate` (`removed`, `put_back`, `stays`). Absent where there was
    /// nothing.
    #[serde(skip_serializing_if = "<[Leftover]>::is_empty")]
    pub leftovers: &'a [Leftover],
    /// The number of further leftovers. Absent where there were none.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_leftovers: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The end of a run as the seeds' loop has it (S4-2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopResult<'a> {
    /// As `result_type`.
    pub result_type: &'static str,
    /// The task of a backlog, else the run.
    pub task_id: Option<&'a str>,
    /// The verdict line.
    pub summary: String,
    /// The things in its way. Empty where nothing is, or none was named.
    pub blocked_on: &'a [Blocker],
    /// The page of its pull request.
    pub pr_url: Option<&'a str>,
    /// The reason of `ERROR`. Null for any other end.
    pub error: Option<&'a str>,
    /// The agents that were spawned: one for each iteration.
    pub spawn_count: u32,
    /// How many of them came to no verdict: an error, or blocked.
    pub retry_count: usize,
}

/// The side calls of agents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SideDocument {
    /// How many there were.
    pub calls: u32,
    /// The sum of their receipts.
    pub cost: Money,
    /// The most that failed ones cost beyond that.
    pub unknown_cost: Money,
}

/// A change that is kept beside the files: `best_patch` says where, `pushes` how far it got.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeptDocument<'a> {
    /// Whether the tests pass with it.
    pub green: bool,
    /// Tests of `failing_before` that were seen passing with it.
    pub fixed_tests: &'a [String],
    /// Whether tests that passed at the start fail with it, or are gone. Null where they were not all run with it.
    pub breaks_others: Option<bool>,
    /// The files that it changes. `added` and `removed` are null for binary ones.
    pub diff_stat: &'a [FileStat],
}

/// A model that was asked, and the one that was billed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BilledDocument<'a> {
    /// As `provider/model`.
    pub asked: &'a str,
    /// In the vendor's words.
    pub billed: &'a str,
}

/// A place in the fix that a reviewer should look at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RemarkDocument<'a> {
    /// `not_needed`: the tests pass without this part of the change.
    pub kind: &'static str,
    /// The file, from the top of the checkout.
    pub file: &'a str,
    /// The first line in the changed file, from 1. Null for a file as a whole.
    pub first_line: Option<u32>,
    /// The last line. Null for a file as a whole.
    pub last_line: Option<u32>,
    /// The reason to look, in words.
    pub why: &'static str,
    /// The reason in its own words, where it says more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<&'a str>,
}

/// A command that somebody gave by a comment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandDocument<'a> {
    /// The person who gave it.
    pub by: &'a str,
    /// The command as it is written. Null where none was understood.
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
    /// `ci`, `merge` or `blocked`.
    pub awaited: &'static str,
    /// The blockers in the way. Empty but for `blocked`.
    pub blocked_on: &'a [Blocker],
    /// The commit it is about.
    pub commit: &'a str,
    /// `green`, `red`, `absent`, `required_missing`, `needs_approval`, `superseded`, `cancelled`, `skipped`, `timed_out`, `unreadable`,
    /// `merged`, `closed`, `changes_requested`, `stopped` or `resolved`. Null while waiting.
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
    /// The recorded exit reason (`success`, `iterations_exhausted`, …). Null while it has none.
    pub exit: Option<&'static str>,
    /// Why, in words.
    pub reason: Option<&'a str>,
    /// Iterations begun.
    pub iterations: u32,
    /// Its receipts in dollars.
    pub cost_usd: f64,
    /// The same, exact, in millionths.
    pub cost_micro_usd: u64,
    /// The most that failed calls cost beyond that.
    pub unknown_cost: Money,
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
    /// The change, in words.
    pub code_change_summary: &'a str,
    /// The critic's review. Absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<&'a Review>,
    /// Failing tests.
    pub failed_tests: &'a [String],
    /// Their messages.
    pub error_messages: &'a [String],
    /// Its cost, in dollars.
    pub cost_usd: f64,
    /// The same, exact, in millionths.
    pub cost_micro_usd: u64,
    /// The most that failed calls cost beyond that.
    pub unknown_cost: Money,
    /// Its wall-clock time in milliseconds.
    pub duration_ms: u64,
    /// When it ended.
    pub timestamp: &'a str,
}

/// A session of a role or of an agent beside the roles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionDocument<'a> {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// The path of who spoke: `tier-1/iteration-2/critic`. Call records, JSON lines and traces have the same.
    pub agent_path: &'a str,
    /// Its id.
    pub session_id: &'a str,
    /// The target that answered last, `provider/model`.
    pub target: &'a str,
    /// Turns taken. Null while it is under way, and where the log does not tell its end.
    pub turns: Option<u32>,
    /// `done`, `blocked`, `approve`, `reject`, `routed`, or why there is no report of the model. Null as `turns` is.
    pub result: Option<&'a str>,
    /// The exit code (S1-15), as `EXIT-FINAL-ANSWER`. Null while it is under way.
    pub exit: Option<&'a str>,
}

/// The caps and what is left of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BudgetDocument {
    /// The most that all calls together may cost.
    pub max_cost: Money,
    /// The money left of it.
    pub cost_left: Money,
    /// The most iterations, whatever the ladder has.
    pub max_iterations: u32,
    /// The iterations left of them, or of the ladder's own where these are fewer.
    pub iterations_left: u32,
    /// The most active milliseconds.
    pub max_duration_ms: u64,
    /// The milliseconds left of them.
    pub duration_left_ms: u64,
}
