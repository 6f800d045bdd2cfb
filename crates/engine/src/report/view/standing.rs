//! How a run stands: whether its tests pass, with which change, and what is in its way.

use std::collections::HashSet;

use super::{Ending, RunView, TierView, WaitView};
use crate::domain::attempt::AttemptStatus;
use crate::domain::blocker::Blocker;
use crate::domain::delivery::{Answer, Awaited};
use crate::domain::event::{BaselineFinished, DiffStat, KeptChange};
use crate::domain::outcome::{BY_ITSELF, NOT_SEEN, Outcome, STOPPED_BY_COMMENT, STOPPED_BY_LABEL, UNDELIVERED};
use crate::domain::units::{Charge, MicroUsd};
use crate::domain::verdict::Verdict;

impl RunView {
    /// How it stands in a word: the outcome's, `running`, `interrupted`, or `not_started` for a program that could not be started.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match &self.ending {
            Ending::Finished(_) if self.never_started() => "not_started",
            Ending::Finished(finished) => finished.outcome.as_str(),
            Ending::Running => "running",
            Ending::Died => "interrupted",
        }
    }

    /// Whether the program behind the gateway could not be started.
    #[must_use]
    pub fn never_started(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Ended { .. })) && self.stop_reason() != BY_ITSELF
    }

    /// Whether the tests passed before any model was asked, and what failed in CI could not be made to fail here.
    #[must_use]
    pub fn red_elsewhere(&self) -> bool {
        // Such a run ends blocked with a green baseline as well, but for another reason.
        if self.is_unseen() {
            return false;
        }
        let is_red = |baseline: &BaselineFinished| matches!(baseline.verdict, Verdict::Red { .. });
        matches!(self.outcome(), Some(Outcome::Blocked { .. })) && self.baseline.as_ref().is_some_and(|of| !is_red(of))
    }

    /// Whether the run was asked for tests by names under which none was seen.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Blocked { reason }) if reason.starts_with(NOT_SEEN))
    }

    /// The breakpoint at which something in the way is waited for, where the run stands at one.
    #[must_use]
    pub fn blocked_at(&self) -> Option<&WaitView> {
        self.delivery.waits.last().filter(|wait| wait.answer.is_none() && wait.awaited == Awaited::Blockers)
    }

    /// The things in the run's way where it stands or ended: those that are waited for, else those that a model named.
    #[must_use]
    pub fn blocked_on(&self) -> &[Blocker] {
        let ended_blocked = matches!(self.outcome(), Some(Outcome::Blocked { .. }));
        match self.blocked_at() {
            Some(wait) => &wait.on,
            None if ended_blocked => &self.named_blockers,
            None => &[],
        }
    }

    /// Whether the tests passed before any model was asked.
    #[must_use]
    pub fn red_in_ci_alone(&self) -> bool {
        self.baseline.as_ref().is_some_and(|baseline| baseline.verdict == Verdict::Green)
    }

    /// The jobs that failed in CI, of which nothing was run here and of which CI has said nothing since the last push. Their names are not
    /// our text.
    #[must_use]
    pub fn unseen_jobs(&self) -> &[String] {
        let push = self.delivery.pushes.last();
        let is_seen = |wait: &&WaitView| {
            push.is_some_and(|push| push.commit == wait.commit)
                // An answer that no CI ran is no word of CI.
                && wait.answer.is_some_and(|answer| !matches!(answer, Answer::Absent | Answer::Skipped | Answer::Cancelled))
        };
        let seen = self.delivery.waits.iter().find(is_seen);
        self.baseline.as_ref().filter(|_| seen.is_none()).map_or(&[], |baseline| &baseline.not_run)
    }

    /// Whether the tests pass with the run's change, be it in the files or not.
    #[must_use]
    pub fn passes_with_change(&self) -> bool {
        match &self.ending {
            Ending::Finished(finished) => match &finished.outcome {
                Outcome::Fixed { .. } => true,
                Outcome::AlreadyGreen
                | Outcome::Proposed { .. }
                | Outcome::Refused { .. }
                | Outcome::Broken { .. }
                | Outcome::Ended { .. } => false,
                Outcome::Exhausted
                | Outcome::Stalled
                | Outcome::Blocked { .. }
                | Outcome::Objected
                | Outcome::Budget
                | Outcome::NoModel
                | Outcome::Interrupted { .. } => self.is_pushed() || self.is_kept_green(),
                Outcome::Parked => self.waits_with_its_fix() || self.is_pushed() || self.is_kept_green(),
            },
            Ending::Running | Ending::Died => {
                let last = self.tiers.iter().flat_map(|tier| &tier.attempts).last();
                // A commit is pushed only when it was judged green, whatever is tried after it.
                self.is_pushed() || last.is_some_and(|attempt| attempt.test_status == AttemptStatus::Passed)
            }
        }
    }

    /// Whether a commit of the run holds a change with which the tests pass here, whatever came after it.
    #[must_use]
    pub fn is_pushed(&self) -> bool {
        !self.delivery.pushes.is_empty()
    }

    /// Whether the last iteration has no review that could be read.
    #[must_use]
    pub fn lacks_review(&self) -> bool {
        let last = self.tiers.iter().flat_map(|tier| &tier.attempts).next_back();
        last.is_some_and(|attempt| attempt.review.is_none())
    }

    fn is_kept_green(&self) -> bool {
        self.kept().is_some_and(|kept| kept.green)
    }

    /// Whether the change that was kept beside the files is the one that was pushed.
    #[must_use]
    pub fn is_kept_pushed(&self) -> bool {
        // Older logs do not say it of the change.
        self.is_pushed() && self.kept().is_some_and(|kept| kept.pushed || kept.green && !self.delivery.went_on)
    }

    /// Whether the run ended with a green change that no branch of the forge holds, so that a reader finds it in the report alone.
    #[must_use]
    pub fn is_change_here_alone(&self) -> bool {
        let unpushed = !self.is_pushed() || self.is_kept_green() && !self.is_kept_pushed();
        matches!(self.ending, Ending::Finished(_)) && self.passes_with_change() && unpushed
    }

    /// Whether a person ended the run by a comment or the label that keeps upshift away.
    #[must_use]
    pub fn is_stopped_by_a_person(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Blocked { reason })
            if reason.ends_with(STOPPED_BY_COMMENT) || reason.starts_with(STOPPED_BY_LABEL))
    }

    /// Whether a parked run waits for CI, a merge or the Git host: its change is green, and stays in the files.
    fn waits_with_its_fix(&self) -> bool {
        let last = self.delivery.waits.last();
        // A rate limit parks a run in the middle of its work, with nothing proven in the files.
        let waits = last.is_some_and(|wait| wait.awaited != Awaited::Blockers);
        self.limited().is_none() && (waits || self.is_undelivered())
    }

    /// Whether a run is parked in front of its push or its pull request, which an outage of the Git host bars.
    #[must_use]
    pub fn is_undelivered(&self) -> bool {
        self.outcome() == Some(&Outcome::Parked) && self.stop_reason().starts_with(UNDELIVERED)
    }

    /// The cost so far, with what was set aside for calls under way.
    #[must_use]
    pub fn most_spent(&self) -> Charge {
        let Charge { known, unknown } = self.spent.charge();
        // Once the process is gone, they are counted among what was spent.
        let under_way = if self.ending == Ending::Running { self.unsettled } else { MicroUsd::ZERO };
        Charge { known, unknown: unknown + under_way }
    }

    /// Whether the run has mended what failed, and its change is in the files or on a branch. Every surface counts by this.
    #[must_use]
    pub fn is_mended(&self) -> bool {
        match &self.ending {
            Ending::Finished(finished) => match &finished.outcome {
                Outcome::Fixed { .. } => true,
                Outcome::Parked => self.waits_with_its_fix() || self.is_pushed(),
                Outcome::AlreadyGreen
                | Outcome::Proposed { .. }
                | Outcome::Refused { .. }
                | Outcome::Broken { .. }
                | Outcome::Ended { .. } => false,
                Outcome::Exhausted
                | Outcome::Stalled
                | Outcome::Blocked { .. }
                | Outcome::Objected
                | Outcome::Budget
                | Outcome::NoModel
                | Outcome::Interrupted { .. } => self.is_pushed(),
            },
            Ending::Died => self.passes_with_change(),
            // A run under way may still undo what it has.
            Ending::Running => false,
        }
    }

    /// The size of the change with which the tests pass. Empty where there is none, or the run did not end.
    #[must_use]
    pub fn green_stat(&self) -> DiffStat {
        match &self.ending {
            Ending::Finished(finished) => match &finished.kept {
                // What came after a push is not what the branch holds.
                Some(kept) if kept.green && (self.is_kept_pushed() || !self.is_pushed()) => kept.stat.clone(),
                Some(_) | None => finished.diff_stat.clone(),
            },
            Ending::Running | Ending::Died => DiffStat::default(),
        }
    }

    /// The tier and iteration that made the tests pass.
    #[must_use]
    pub fn resolved(&self) -> Option<(&TierView, u32)> {
        match self.outcome() {
            Some(&Outcome::Fixed { tier_index, iteration }) => Some((self.tier(tier_index)?, iteration)),
            _ => None,
        }
    }

    /// Tests that failed at the start and do not any more.
    #[must_use]
    pub fn fixed_tests(&self) -> Vec<&str> {
        // Without a run after the start nothing was seen passing.
        let Some(after) = &self.failing_after else { return Vec::new() };
        without(&self.failing_before, after)
    }

    /// The change that was kept beside the files, for a run whose change is not in them.
    #[must_use]
    pub fn kept(&self) -> Option<&KeptChange> {
        match &self.ending {
            Ending::Finished(finished) => finished.kept.as_deref(),
            Ending::Running | Ending::Died => None,
        }
    }

    /// Tests that failed at the start and still do.
    #[must_use]
    pub fn still_failing(&self) -> Vec<&str> {
        let fixed: HashSet<&str> = self.fixed_tests().into_iter().collect();
        self.failing_before.iter().map(String::as_str).filter(|name| !fixed.contains(name)).collect()
    }

    /// Tests that fail now and did not at the start.
    #[must_use]
    pub fn newly_failing(&self) -> Vec<&str> {
        without(self.failing_after.as_deref().unwrap_or_default(), &self.failing_before)
    }
}

fn without<'a>(names: &'a [String], others: &[String]) -> Vec<&'a str> {
    // A suite may have thousands of failing tests.
    let others: HashSet<&String> = others.iter().collect();
    names.iter().filter(|name| !others.contains(name)).map(String::as_str).collect()
}
