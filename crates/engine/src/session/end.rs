//! How a session ends: the report, the reason, and what it cost.

use std::collections::BTreeMap;
use std::fmt;

use crate::audit::Scope;
use crate::domain::attempt::{CONTEXT_FULL, NO_USABLE_REPLY};
use crate::domain::blocker::{Blocker, BlockerKind};
use crate::domain::chat::Usage;
use crate::domain::model_id::ModelId;
use crate::domain::outcome::TIER_CAP;
use crate::domain::receipt::BELOW;
use crate::domain::session_exit::SessionExit;
use crate::domain::stop::{StopCause, signal_name};
use crate::domain::units::Charge;
use crate::policy::rotation::GiveUp;

/// The result of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEnd {
    /// The session's id, as in its receipts.
    pub session_id: String,
    /// The report: the model's, or a synthetic one with a reason.
    pub report: FinalReport,
    /// The fine-grained reason, by the seeds' names (S1-15).
    pub exit: SessionExit,
    /// The target that answered last. The first one when none did.
    pub target: ModelId,
    /// The model that its vendor says it billed for that answer.
    pub billed_model: Option<String>,
    /// Turns begun.
    pub turns: u32,
    /// The sum of its receipts. Replayed calls are not among them.
    pub cost: Charge,
    /// The token usage of its replies, as far as the vendors said.
    pub usage: Usage,
    /// The largest share of a model's window that was in use, in percent (contradiction 14).
    pub peak_context_percent: u32,
    /// Files that were written or deleted, relative to the workspace's root, in order of first change. Replayed tool calls are included.
    pub wrote: Vec<String>,
    /// How often an allowed command was run. Such a command may have changed any file.
    pub commands_ran: u32,
    /// How often the tests were run for the model.
    pub tests_ran: u32,
    /// Changes that a blocked artisan would have made in files that judge, as the files would read then.
    pub corrections: BTreeMap<String, String>,
}

/// The final report of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinalReport {
    /// Artisan: finished.
    Done {
        /// The findings or changes.
        summary: String,
    },
    /// Librarian: finished.
    Briefed {
        /// The brief.
        summary: String,
        /// The files that matter, most relevant first, as the model wrote them.
        files: Vec<String>,
    },
    /// Librarian or artisan: a person is needed.
    Blocked {
        /// The findings.
        summary: String,
        /// Why a person is needed.
        reason: String,
        /// The blockers, where it names them.
        on: Vec<Blocker>,
    },
    /// Critic: the change is good.
    Approve {
        /// Why.
        summary: String,
        /// Suggestions for the better, one entry per issue. A critical one overrules the verdict (S0-33), which the caller decides.
        issues: Vec<String>,
    },
    /// Critic: the change must not stand.
    Reject {
        /// Why.
        summary: String,
        /// The faults, one entry per issue. May be empty.
        issues: Vec<String>,
    },
    /// Any role: the task is handed over to another agent. No report of its own follows.
    Routed {
        /// The agent's name.
        to: String,
        /// The message to it. May be empty.
        message: String,
    },
    /// None came: written by us, with the reason (S1-13).
    Synthetic {
        /// Why.
        reason: FailureReason,
    },
}

impl FinalReport {
    /// The word in events: `done`, `blocked`, `approve`, `reject`, `routed`, or the reason of a synthetic report.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done { .. } | Self::Briefed { .. } => "done",
            Self::Blocked { .. } => "blocked",
            Self::Routed { .. } => "routed",
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Synthetic { reason } => reason.as_str(),
        }
    }

    /// The things in the way that a blocked one names.
    #[must_use]
    pub fn blocked_on(&self) -> &[Blocker] {
        match self {
            Self::Blocked { on, .. } => on,
            Self::Done { .. }
            | Self::Briefed { .. }
            | Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Routed { .. }
            | Self::Synthetic { .. } => &[],
        }
    }

    /// Whether it says that a test is wrong.
    #[must_use]
    pub fn blames_a_test(&self) -> bool {
        self.blocked_on().iter().any(|on| on.kind == BlockerKind::Test)
    }

    /// The summary. For a synthetic report the reason in words.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Done { summary }
            | Self::Briefed { summary, .. }
            | Self::Blocked { summary, .. }
            | Self::Approve { summary, .. }
            | Self::Reject { summary, .. } => summary.clone(),
            Self::Routed { to, message } => format!("handed over to {to}: {message}"),
            Self::Synthetic { reason } => reason.to_string(),
        }
    }

    /// The same for a session of an agent, whose name is told where its own time ended it.
    pub(super) fn summary_of(&self, agent: &str) -> String {
        let summary = self.summary();
        let own_time =
            matches!(self, Self::Synthetic { reason: FailureReason::Stopped { cause: StopCause::OwnTime(_) } });
        let name = agent.rsplit_once(BELOW).filter(|_| own_time).map(|(_, name)| name);
        name.map_or_else(|| summary.clone(), |name| format!("sub-agent {name}: {summary}"))
    }
}

/// Why there is no report from the model. Callers branch on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureReason {
    /// A cap does not allow one more call. None was made.
    Budget {
        /// The cap's scope. A tier's own cap ends the tier, any other ends the run.
        scope: Scope,
        /// The amounts, in words.
        detail: String,
    },
    /// No target could be used: the tier ends as `provider_error` (contradictions 18, 19).
    NoUsableTarget {
        /// The obstacle. `Limited` is a reason to park.
        why: GiveUp,
        /// The last failure's words.
        last: String,
    },
    /// A target answered, but never with anything usable: the iteration counts (contradiction 19).
    UnusableReplies {
        /// The fault of the last one.
        last: String,
    },
    /// The conversation fits into no target's window any more.
    ContextFull,
    /// The last turn brought no report.
    NoReport,
    /// A tool failed in a way that no model can mend.
    ToolFailed {
        /// The failure's message.
        message: String,
    },
    /// A signal, or the run's time is up.
    Stopped {
        /// Which.
        cause: StopCause,
    },
}

impl FailureReason {
    /// The word in events.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::NoUsableTarget { .. } => "no_usable_target",
            Self::UnusableReplies { .. } => "unusable_replies",
            Self::ContextFull => "context_full",
            Self::NoReport => "no_report",
            Self::ToolFailed { .. } => "tool_failed",
            Self::Stopped { .. } => "stopped",
        }
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { detail, scope: Scope::Tier(..) } => write!(f, "{TIER_CAP}: {detail}"),
            Self::Budget { detail, .. } => write!(f, "the budget does not allow another call: {detail}"),
            Self::NoUsableTarget { last, .. } => write!(f, "no model could be used: {last}"),
            Self::UnusableReplies { last } => write!(f, "{NO_USABLE_REPLY}{last}"),
            Self::ContextFull => f.write_str(CONTEXT_FULL),
            Self::NoReport => f.write_str("its last turn brought no final report"),
            Self::ToolFailed { message } => write!(f, "a tool failed: {message}"),
            Self::Stopped { cause: StopCause::Signal(number) } => write!(f, "stopped by {}", signal_name(*number)),
            Self::Stopped { cause: StopCause::Asked } => f.write_str("stopped: somebody asked for it"),
            Self::Stopped { cause: StopCause::TimeUp } => f.write_str("stopped: the run's time is up"),
            Self::Stopped { cause: StopCause::OwnTime(seconds) } => write!(f, "its {seconds} s are over"),
        }
    }
}
