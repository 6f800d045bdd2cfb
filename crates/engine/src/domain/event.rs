//! The one event stream: log, audit, progress and report all read these, so they cannot disagree (DESIGN §3).

use serde::{Deserialize, Serialize};

use super::account::Unavailability;
use super::advice::Advice;
use super::agents::{AgentRecovery, AgentSwitch, AllLimited, SubAgentChange};
use super::attempt::{Attempt, TierExit};
pub use super::bare_end::RunFinished;
pub use super::baseline::{BaselineFinished, TestMessage, TestPlace};
use super::blocker::Blocker;
use super::budget::Budget;
use super::clock::Timestamp;
use super::command::{Command, CommandAnswer};
use super::correction::Correction;
use super::delivery::{Answer, Awaited};
pub use super::diff_stat::{DiffStat, FileStat, KeptChange};
use super::kept_report::{KeptReport, ReusedReport};
use super::ladder::{Role, Tier};
use super::leftover::Leftover;
use super::meta::MetaReported;
use super::proof::{Evidence, ProofStarted};
use super::receipt::{CallScope, Receipt};
use super::remark::Remark;
use super::test_report::RunKind;
use super::tool::ToolFailure;
use super::units::{CommitSha, MicroUsd, RunId, TreeId};
use super::verdict::{Exit, Verdict};

/// So many leftovers are named: code under test can make any number.
pub const MOST_LEFTOVERS: usize = 100;

/// The beginning of the warning of a process that could not carry its run to an end. It is true until another process goes on with it.
pub const HAD_TO_STOP: &str = "upshift had to stop: ";

/// Everything that happens in a run, in order. Text in it is redacted before it is made durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run begins, once per run.
    RunStarted(RunStarted),
    /// A process begins or continues the run.
    InvocationStarted {
        /// One-based count within the run.
        invocation: u32,
        /// The process id.
        pid: u32,
    },
    /// The run's state was saved and nothing else happened: the link vouches for it.
    StateSaved,
    /// A tree that the run builds on was written into the log, so that the run can go on elsewhere. With a reason in `withheld` it was not.
    TreeRecorded {
        /// The tree.
        tree: TreeId,
        /// The reason why it was not written. `None` where it was.
        #[serde(default)]
        withheld: Option<String>,
    },
    /// The run counts towards the most that a pull request may have. It is told once, when the run begins.
    AttemptCounted {
        /// The pull request.
        pull_request: u64,
        /// The number of this run among those for it, from 1.
        attempt: u32,
        /// The most it may have, unless a person asks for more.
        allowed: u32,
        /// The cost of the runs before, together.
        spent_before: MicroUsd,
    },
    /// The run counts towards the most that one failure of a branch may have, where no pull request is there to count for. It is told once,
    /// behind the baseline.
    FailureCounted {
        /// Names the failure: the same tests of the same branch.
        key: String,
        /// The number of this run among those for it, from 1.
        attempt: u32,
        /// The most it may have, unless a person starts more.
        allowed: u32,
        /// The cost of the runs before, together.
        spent_before: MicroUsd,
    },
    /// The baseline was judged.
    BaselineFinished(BaselineFinished),
    /// A tier begins.
    TierStarted {
        /// Zero-based tier.
        tier_index: u32,
        /// Characters of failure history handed over. 0 on the first tier.
        handover_chars: u32,
        /// Prior tiers that the 4,000-character cap left out of it.
        dropped_tiers: u32,
        /// The tree this tier starts from.
        tree: TreeId,
    },
    /// An iteration begins.
    IterationStarted {
        /// Zero-based tier.
        tier_index: u32,
        /// One-based iteration within the tier.
        iteration: u32,
        /// One-based iteration within the run.
        run_iteration: u32,
    },
    /// A role's session begins.
    SessionStarted {
        /// The role that speaks.
        role: Role,
        /// The session's id.
        session_id: String,
        /// The first target, `provider/model`.
        target: String,
        /// The path of who speaks below the iteration, where the role alone does not name it: `advisor/security`. Empty elsewhere.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        agent: String,
    },
    /// The worst case of a call was set aside, and the call is about to be sent.
    CallReserved {
        /// The call's id.
        call_id: String,
        /// Where it belongs.
        scope: CallScope,
        /// The amount that was set aside.
        reserved: MicroUsd,
    },
    /// A call was settled.
    CallSettled(Receipt),
    /// A tool ran for a model.
    ToolFinished {
        /// The role that called it.
        role: Role,
        /// One-based turn of the session.
        turn: u32,
        /// The tool's name.
        name: String,
        /// The call's subject, in a few words (a path, a pattern).
        subject: String,
        /// Whether it worked.
        ok: bool,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// How it ended, by the names of S1-15, where that is more than that the model was told of a failure. Empty elsewhere.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        exit: String,
        /// The session, where several are held side by side. Empty elsewhere: it is the one that began last.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session_id: String,
        /// The model's words beside the calls of its reply, in a line. Empty where there are none, and behind the first call.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        status: String,
        /// The first line of what the model was told of a call that failed. Empty elsewhere, and where an event of its own tells it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
    },
    /// A tool from outside failed, and the model was told words of the configuration instead.
    ToolFailureReplaced(ToolFailure),
    /// Part of the window is in use: 30 % info, 40 % warning, 50 % critical (S0-12).
    ContextThreshold {
        /// The role that holds the session.
        role: Role,
        /// `info`, `warning` or `critical`.
        level: String,
        /// Percent of the window.
        percent: u32,
        /// The session, where several are held side by side. Empty elsewhere.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        session_id: String,
    },
    /// A role's session ended with a report, real or synthetic (S1-12).
    SessionFinished {
        /// The role that spoke.
        role: Role,
        /// The session's id.
        session_id: String,
        /// The target that answered last.
        target: String,
        /// Turns taken.
        turns: u32,
        /// How it ended: `done`, `blocked`, or the reason of a synthetic report.
        result: String,
        /// The summary in the report.
        summary: String,
        /// The things that a blocked one names in its way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        blocked_on: Vec<Blocker>,
        /// The fine-grained way in which it ended, by the names of S1-15. Empty in logs of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        exit: String,
    },
    /// The blocks of data that a role was asked for beside its report came, or did not (S1-12).
    MetaReported(MetaReported),
    /// A report is kept to be used again, in this run or a later one (S1-20).
    ReportKept(KeptReport),
    /// A kept report was used, and nobody was asked.
    ReportReused(ReusedReport),
    /// Advisors were asked: what each said, or why it said nothing (S1-18).
    Advised {
        /// One block for each, in the order of their names.
        blocks: Vec<Advice>,
    },
    /// A role handed its task over to a specialist (S1-18).
    Routed {
        /// The role.
        role: Role,
        /// Its session, which ended with it.
        session_id: String,
        /// The specialist.
        to: String,
        /// The message to it, which is not our text.
        message: String,
    },
    /// Texts about a proven change were asked for: each, or why there is none (S1-18).
    HandedOff {
        /// One block for each, in the order of their names.
        blocks: Vec<Advice>,
    },
    /// The tests were run and judged.
    TestsFinished {
        /// How the command ended.
        exit: Exit,
        /// The kind of output.
        kind: RunKind,
        /// Our judgement.
        verdict: Verdict,
        /// Counts: seen passing and failing by name, or as the framework counted.
        passed: u64,
        /// Failing tests.
        failed: u64,
        /// How long the command ran, in milliseconds.
        duration_ms: u64,
    },
    /// A green change was tried without some of its hunks. Hunks that green does not need are gone from it.
    PatchMinimised {
        /// Hunks that were left out.
        dropped: u32,
        /// Hunks that stayed.
        kept: u32,
        /// Runs of the tests that it took.
        runs: u32,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// The tests pass, and evidence is about to be asked of that green: it may be refused yet.
    ProofStarted(ProofStarted),
    /// Evidence was asked of a green. It replaces the evidence of an earlier one.
    EvidenceGathered {
        /// Each kind that was tried or could not be.
        proof: Vec<Evidence>,
        /// Runs of the tests that it took.
        runs: u32,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// Places in a green change that a reviewer should look at. They replace the remarks on an earlier change.
    Remarked {
        /// The places, most telling first.
        remarks: Vec<Remark>,
        /// Runs of the tests that it took to find them.
        runs: u32,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
    /// An iteration ended, and its row is durable.
    IterationFinished(Attempt),
    /// The same normalised error again and again (S0-4).
    EntropyDetected {
        /// The normalised signature.
        signature: String,
        /// The last of the errors as it was told. Empty in logs of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        said: String,
        /// How often in a row.
        count: u32,
        /// The threshold.
        threshold: u32,
    },
    /// The working state between iterations was reset (S0-17).
    ContextReset {
        /// One-based iteration within the run.
        run_iteration: u32,
        /// Sessions that were closed.
        sessions_closed: u32,
    },
    /// 80 % of a cap is used (S0-11). It is told once per cap.
    BudgetWarning {
        /// `cost`, `iterations` or `duration`.
        dimension: String,
        /// Percent of the cap.
        percent: u32,
    },
    /// A tier ended.
    TierFinished {
        /// Zero-based tier.
        tier_index: u32,
        /// Why.
        exit: TierExit,
        /// Why, in words, where the exit alone does not say it.
        reason: Option<String>,
        /// Iterations that ran.
        iterations: u32,
        /// The known part of their cost.
        cost: MicroUsd,
        /// The most that failed calls cost beyond that.
        #[serde(default)]
        unknown_cost: MicroUsd,
    },
    /// The next tier takes over.
    Escalated {
        /// Zero-based tier left.
        from: u32,
        /// Zero-based tier entered.
        to: u32,
        /// Iterations of failure history carried forward.
        iterations_carried: u32,
    },
    /// No model of an account can be asked: for good, or until it is waited for or passes.
    ModelsUnavailable {
        /// The host.
        host: String,
        /// The variable that holds the key. `None` where none is needed.
        key_variable: Option<String>,
        /// Why.
        reason: Unavailability,
        /// When it is over by the host's own words.
        until: Option<Timestamp>,
        /// How long the run waits for it now, in milliseconds. `None` when it does not.
        wait_ms: Option<u64>,
        /// The host's words, which are not our text.
        said: String,
    },
    /// Tiers are passed over because no model of them can be asked.
    TiersSkipped {
        /// Zero-based tiers.
        tiers: Vec<u32>,
        /// Why, in words.
        reason: String,
    },
    /// The next target of a role is asked in the place of an agent, or an agent in another's place.
    AgentSwitched(AgentSwitch),
    /// No target of a role that agents hold can be asked before a limit is over.
    AgentsAllLimited(AllLimited),
    /// A target that was left at a limit was asked first again. No call is made to find out.
    AgentRecoveryAttempted(AgentRecovery),
    /// An agent that an agent started began or ended.
    SubAgentChanged(SubAgentChange),
    /// A fix is about to be pushed. A process that comes after a kill looks first whether it was.
    PublishStarted {
        /// The branch.
        branch: String,
        /// The commit it is built on.
        parent: CommitSha,
    },
    /// A fix is on its branch.
    Pushed {
        /// The commit.
        commit: CommitSha,
        /// The branch.
        branch: String,
        /// How many files it changes.
        files: u32,
        /// Whether an earlier process had pushed it.
        found: bool,
    },
    /// A pull request proposes the fix.
    PullRequestReady {
        /// Its number.
        number: u64,
        /// Its page.
        url: String,
        /// Whether it was there before.
        found: bool,
    },
    /// The run waits for something outside (S4-1).
    BreakpointReached {
        /// Names the breakpoint.
        key: String,
        /// For what.
        awaited: Awaited,
        /// The commit it is about.
        commit: CommitSha,
        /// When.
        at: Timestamp,
        /// The number of the run's agent that reached it, from 1. 0 in logs of an older version.
        #[serde(default)]
        spawn: u32,
        /// The blockers in the way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        on: Vec<Blocker>,
    },
    /// The waiting is over.
    BreakpointCleared {
        /// Names the breakpoint.
        key: String,
        /// The outcome of the waiting.
        answer: Answer,
        /// Details in words, where there is more to say. They are foreign text.
        detail: String,
        /// How long was waited, in milliseconds, over all invocations.
        waited_ms: u64,
        /// When.
        at: Timestamp,
    },
    /// Somebody gave a command by a comment.
    CommandAnswered {
        /// The comment.
        comment: u64,
        /// The author of the comment, which is not our text.
        by: String,
        /// The command. `None` where none was understood.
        command: Option<Command>,
        /// The outcome of the command.
        answer: CommandAnswer,
        /// In words.
        said: String,
        /// Zero-based tier that was at work.
        tier_index: u32,
    },
    /// A model says that a test itself is wrong, and how it should read.
    CorrectionProposed(Correction),
    /// A warning for a person. The run goes on.
    Warning {
        /// The trouble, and what to do.
        message: String,
    },
    /// Leftovers of a run that tools run or obey without being asked are gone.
    LeftoversRemoved {
        /// The leftovers, at most [`MOST_LEFTOVERS`].
        leftovers: Vec<Leftover>,
        /// How many more there were.
        more: u32,
    },
    /// The run ended.
    RunFinished(RunFinished),
}

/// The subject of a run and the means it may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The run.
    pub run_id: RunId,
    /// The objective of the run.
    pub objective: String,
    /// Where.
    pub working_directory: String,
    /// How it is verified.
    pub test_command: String,
    /// Where the tiers came from: a path, `(inline)`, `(none)`.
    pub tier_config_path: String,
    /// The whole ladder.
    pub tiers: Vec<Tier>,
    /// The caps.
    pub budget: Budget,
    /// The audit log as the user named it. `None` when it is off.
    pub audit_db: Option<String>,
    /// When.
    pub started_at: Timestamp,
    /// The program whose model calls were held to the budget, as it was typed. `None` for a run that mends a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The task of a backlog that the run is for, as `backlog/task`. `None` for a run of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// Where events go. A trait so that the audit log, the terminal and tests can all listen.
pub trait EventSink: std::fmt::Debug {
    /// Hears when the next event was recorded.
    fn recorded(&mut self, _at: &Timestamp) {}

    /// Takes one event. Must not fail: a listener's trouble never changes the run (S3-13).
    fn emit(&mut self, event: &Event);

    /// Hears the hash of the log's last link, after the events that it vouches for.
    fn chained(&mut self, _head: &str) {}

    /// Hears how many records of the run the log lacks for good.
    fn lacks(&mut self, _records: u64) {}
}
