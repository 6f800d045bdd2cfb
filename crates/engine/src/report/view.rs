//! The one fold: a run's events become what every surface shows.
//!
//! Money comes from receipts alone, so the report's totals are the audit log's (SPEC "Tests that prove us better").
//! Invariant: total over any sequence of events, also a cut one, a resumed one or an empty one. Nothing is escaped here.

use crate::domain::account::Limited;
use crate::domain::advice::Advice;
use crate::domain::attempt::{Attempt, TierExit};
use crate::domain::blocker::Blocker;
use crate::domain::budget::{Budget, Spent};
use crate::domain::command::{Command, CommandAnswer};
use crate::domain::correction::Correction;
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::{BaselineFinished, DiffStat, RunFinished, RunStarted};
use crate::domain::kept_report::ReusedReport;
use crate::domain::ladder::{Role, Tier};
use crate::domain::leftover::Leftover;
use crate::domain::meta::MetaReported;
use crate::domain::outcome::Outcome;
use crate::domain::proof::Evidence;
use crate::domain::remark::Remark;
use crate::domain::units::{Charge, CommitSha, MicroUsd};

use super::whereabouts::Whereabouts;

/// Whether the process behind the events is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It is gone without having ended the run.
    Dead,
    /// It ended the run itself.
    Ended,
}

/// How the run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Still under way.
    Running,
    /// The process died. `upshift resume` may go on.
    Died,
    /// It ended.
    Finished(Box<RunFinished>),
}

impl Ending {
    /// The outcome, when the run ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Finished(finished) => Some(&finished.outcome),
            Self::Running | Self::Died => None,
        }
    }
}

/// The state of a tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierState {
    /// Its turn never came.
    NotReached,
    /// Under way.
    Running,
    /// It made the tests pass.
    Solved,
    /// Its iterations are used up.
    Failed,
    /// No more progress.
    Stalled,
    /// A cap ended it.
    BudgetLimit,
    /// No model of it could be used.
    NoModel,
    /// Its models were limited.
    RateLimited,
    /// Its models' host was down or not reachable.
    Outage,
    /// It was passed over: no model of it could be asked.
    Skipped,
    /// Green, but the critic rejected to the end.
    Rejected,
    /// A person is needed.
    Blocked,
    /// A signal or a crash ended it.
    Interrupted,
    /// Waiting outside the runner.
    Parked,
}

/// One tier as the report shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct TierView {
    /// Its place in the ladder, from 1.
    pub number: usize,
    /// Its configuration.
    pub tier: Tier,
    /// Its state.
    pub state: TierState,
    /// How it ended, if it did.
    pub exit: Option<TierExit>,
    /// Why, in words, where the exit alone does not say it. Text from outside.
    pub reason: Option<String>,
    /// Iterations begun.
    pub iterations: u32,
    /// The settled cost of its calls.
    pub cost: Charge,
    /// Its finished iterations, in order.
    pub attempts: Vec<Attempt>,
}

impl TierView {
    /// The artisan's model that answered last, else the first configured one, as `provider/model`.
    #[must_use]
    pub fn model(&self) -> String {
        // The last one that answered: a target in second place may have stood in.
        let answered = self.attempts.iter().rev().map(|attempt| attempt.model_artisan.clone()).find(|m| !m.is_empty());
        answered.or_else(|| self.tier.artisan.first().map(ToString::to_string)).unwrap_or_default()
    }

    /// Every model of this tier with its roles, in the order of roles: one entry when all roles share it.
    #[must_use]
    pub fn models(&self) -> Vec<(Vec<Role>, String)> {
        let mut models: Vec<(Vec<Role>, String)> = Vec::new();
        for &role in self.tier.roles() {
            let Some(target) = self.tier.targets(role).first().map(ToString::to_string) else { continue };
            match models.iter_mut().find(|(_, model)| *model == target) {
                Some((roles, _)) => roles.push(role),
                None => models.push((vec![role], target)),
            }
        }
        models
    }
}

/// A place in the ladder: where the run stood when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
}

/// Everything that left the machine, and the answers to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delivery {
    /// Pushes, in order.
    pub pushes: Vec<PushView>,
    /// The pull request that was opened or found for it.
    pub pull_request: Option<PullRequestView>,
    /// Waits, in order.
    pub waits: Vec<WaitView>,
    /// Whether an iteration began after the last push: the outside had said no to it.
    pub went_on: bool,
}

/// One push.
#[derive(Debug, Clone, PartialEq)]
pub struct PushView {
    /// The commit.
    pub commit: CommitSha,
    /// The branch, foreign text.
    pub branch: String,
    /// How many files it changes.
    pub files: u32,
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestView {
    /// Its number.
    pub number: u64,
    /// Its page.
    pub url: String,
}

/// One breakpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitView {
    /// Names it.
    pub key: String,
    /// For what.
    pub awaited: Awaited,
    /// The commit it is about.
    pub commit: CommitSha,
    /// The answer. `None` while waiting.
    pub answer: Option<Answer>,
    /// More about it, foreign text.
    pub detail: String,
    /// How long was waited, in milliseconds.
    pub waited_ms: u64,
    /// The blockers in the way, where they are waited for, in the model's words.
    pub on: Vec<Blocker>,
}

/// The side calls of agents: titles and summaries, on the same budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SideView {
    /// How many there were.
    pub calls: u32,
    /// Their settled cost.
    pub cost: Charge,
}

/// A model that was asked, and the one that its vendor says it billed instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BilledView {
    /// The one that was asked, as `provider/model`.
    pub asked: String,
    /// The vendor's name for the billed model, foreign text.
    pub billed: String,
}

/// A command that somebody gave by a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandView {
    /// The comment.
    pub comment: u64,
    /// The person who gave it, foreign text.
    pub by: String,
    /// The command. `None` where none was understood.
    pub command: Option<Command>,
    /// The answer to it.
    pub answer: CommandAnswer,
    /// In words.
    pub said: String,
}

/// Everything that a report says about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunView {
    /// The start of the run, with its subject. `None` when it was refused before it began.
    pub run: Option<RunStarted>,
    /// How it stands.
    pub ending: Ending,
    /// The tests' result before any model was asked.
    pub baseline: Option<BaselineFinished>,
    /// Every tier of the ladder, reached or not.
    pub tiers: Vec<TierView>,
    /// Where the last iteration began. `None` before the first.
    pub position: Option<Position>,
    /// The used part of the budget.
    pub spent: Spent,
    /// Money reserved for calls that are not settled. Part of `spent` once the process is gone: it may have been billed.
    pub unsettled: MicroUsd,
    /// Whether a model replied, or may have: such a run counts towards the most that a pull request may have.
    pub reached_a_model: bool,
    /// Model calls that were settled.
    pub calls: u32,
    /// Those of them that brought no reply.
    pub failed_calls: FailedCalls,
    /// Those of them that were side calls of agents.
    pub side: SideView,
    /// Where the vendor says that it billed another model than was asked, each once, in order.
    pub billed: Vec<BilledView>,
    /// Failing tests at the start.
    pub failing_before: Vec<String>,
    /// Failing tests at the end, or after the last finished iteration. `None` when the tests never ran again.
    pub failing_after: Option<Vec<String>>,
    /// The most recent errors.
    pub recent_errors: Vec<String>,
    /// Hunks of the fix that green did not need and that were left out.
    pub dropped_hunks: u32,
    /// The evidence for the last green.
    pub proof: Vec<Evidence>,
    /// Places in the last green change that a reviewer should look at.
    pub remarks: Vec<Remark>,
    /// Corrections of tests that models propose, the last one last.
    pub corrections: Vec<Correction>,
    /// The things in the way that the last session named. Empty unless it was blocked.
    pub named_blockers: Vec<Blocker>,
    /// The blocks of data that roles gave beside their last reports, and those that are missing.
    pub meta: Vec<MetaReported>,
    /// The last words of each advisor.
    pub advice: Vec<Advice>,
    /// The texts about the last proven change.
    pub handoff: Vec<Advice>,
    /// Reports that were used again, in order.
    pub reused: Vec<ReusedReport>,
    /// External tools whose failures were told in the configuration's words.
    pub tool_failures: Vec<ToolFailureView>,
    /// Sessions in the order begun.
    pub sessions: Vec<SessionView>,
    /// Warnings in order, each once.
    pub warnings: Vec<String>,
    /// Processes that worked on the run.
    pub invocations: u32,
    /// Everything that left the machine.
    pub delivery: Delivery,
    /// Commands that people gave by comments, in order.
    pub commands: Vec<CommandView>,
    /// Leftovers that tools run unasked, and their fate.
    pub leftovers: Vec<Leftover>,
    /// How many more of them there were.
    pub more_leftovers: u32,
    /// Where a reader finds the log and the kept files. The events do not tell.
    pub kept_in: Whereabouts,
    /// Whether the kept patch is in the log alone: its file is not where the reader is. The events do not tell.
    pub patch_in_log: bool,
    /// Whether its fix is not on the branch, as the backlog of its task knows. The events do not tell.
    pub is_uncommitted: bool,
    /// How many records of the run its log lacks for good. The events do not tell.
    pub log_lacks: u64,
}

impl RunView {
    /// The same for a reader who is elsewhere.
    #[must_use]
    pub fn kept_in(self, kept_in: Whereabouts) -> Self {
        Self { kept_in, ..self }
    }

    /// The same of a run whose backlog did not commit its fix, or lost it from the branch.
    #[must_use]
    pub fn uncommitted(self, is_uncommitted: bool) -> Self {
        Self { is_uncommitted, ..self }
    }

    /// The same as it is read from a log that may have been fetched or moved since: commands name it where it is. `find` says where a
    /// kept patch is now. `None` where it is in the log alone.
    #[must_use]
    pub fn read_from(mut self, log: &str, find: impl Fn(&str) -> Option<String>) -> Self {
        if let Some(run) = &mut self.run {
            run.audit_db = Some(log.to_owned());
        }
        if let Ending::Finished(finished) = &mut self.ending {
            let patches = [&mut finished.best_patch, &mut finished.unjudged_patch, &mut finished.refused_patch];
            for kept in patches.into_iter().flatten() {
                match find(kept) {
                    Some(found) => *kept = found,
                    None => self.patch_in_log = true,
                }
            }
        }
        self
    }

    /// The same with the log that the process which ended it wrote: a resume may be given another than the run began in.
    #[must_use]
    pub fn logged_in(mut self, log: Option<&str>) -> Self {
        if let (Some(run), Some(log)) = (&mut self.run, log) {
            run.audit_db = Some(log.to_owned());
        }
        self
    }

    /// The same of a run whose log lacks records.
    #[must_use]
    pub fn lacking(self, log_lacks: u64) -> Self {
        Self { log_lacks, ..self }
    }

    /// The caps. All zero when the run never began.
    #[must_use]
    pub fn budget(&self) -> Budget {
        let none = Budget { max_cost: MicroUsd::ZERO, max_iterations: 0, max_active_ms: 0 };
        self.run.as_ref().map_or(none, |run| run.budget.clone())
    }

    /// The most iterations: those of the caps, or of the ladder where it has fewer.
    #[must_use]
    pub fn most_iterations(&self) -> u32 {
        let cap = self.budget().max_iterations;
        let ladder = self.tiers.iter().map(|tier| tier.tier.max_iterations).fold(0, u32::saturating_add);
        if self.tiers.is_empty() { cap } else { cap.min(ladder) }
    }

    /// How many iterations count. One that a signal ended uses up none, and one that a kill ended goes on.
    #[must_use]
    pub fn counted_iterations(&self) -> u32 {
        let was_cut = matches!(self.outcome(), Some(Outcome::Interrupted { .. }))
            && self.tiers.iter().any(|tier| tier.state == TierState::Interrupted);
        self.spent.iterations.saturating_sub(u32::from(was_cut))
    }

    /// The outcome, when the run ended.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.ending.outcome()
    }

    /// The program whose calls passed the gateway. `None` for a run that mends a repository.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.run.as_ref()?.command.as_deref()
    }

    /// The size of the change. Empty while running.
    #[must_use]
    pub fn diff_stat(&self) -> DiffStat {
        match &self.ending {
            Ending::Finished(finished) => finished.diff_stat.clone(),
            Ending::Running | Ending::Died => DiffStat::default(),
        }
    }

    /// The cap, signal or condition that ended the run. Empty while running.
    #[must_use]
    pub fn stop_reason(&self) -> &str {
        match &self.ending {
            Ending::Finished(finished) => &finished.stop_reason,
            Ending::Running | Ending::Died => "",
        }
    }

    /// The rate limit that a parked run waits for.
    #[must_use]
    pub fn limited(&self) -> Option<&Limited> {
        match &self.ending {
            Ending::Finished(finished) => finished.limited.as_deref(),
            Ending::Running | Ending::Died => None,
        }
    }

    /// Where the best patch of a failed run was kept.
    #[must_use]
    pub fn best_patch(&self) -> Option<&str> {
        match &self.ending {
            Ending::Finished(finished) => finished.best_patch.as_deref(),
            Ending::Running | Ending::Died => None,
        }
    }

    /// Where the change was kept that nobody has judged: the run was interrupted in the middle of it.
    #[must_use]
    pub fn unjudged_patch(&self) -> Option<&str> {
        match &self.ending {
            Ending::Finished(finished) => finished.unjudged_patch.as_deref(),
            Ending::Running | Ending::Died => None,
        }
    }

    /// Where the last change of a failed run was kept whose green was refused.
    #[must_use]
    pub fn refused_patch(&self) -> Option<&str> {
        match &self.ending {
            Ending::Finished(finished) => finished.refused_patch.as_deref(),
            Ending::Running | Ending::Died => None,
        }
    }

    /// The tier at a zero-based place of the ladder.
    #[must_use]
    pub fn tier(&self, tier_index: u32) -> Option<&TierView> {
        self.tiers.get(usize::try_from(tier_index).ok()?)
    }

    /// Whether a cap of the budget ended the run.
    #[must_use]
    pub fn budget_cap_hit(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Budget))
    }
}

mod failed_calls;
mod fold;
mod sessions;
mod standing;
mod tool_failures;

pub use self::failed_calls::FailedCalls;
pub use self::sessions::SessionView;
pub use self::tool_failures::ToolFailureView;
#[cfg(test)]
mod tests;
