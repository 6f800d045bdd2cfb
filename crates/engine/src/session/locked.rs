//! A locked report (S1-12): how far its blocks of data are asked for, and that it stands whatever keeps them away.
//!
//! Invariant: the question for blocks never costs the report that it is about. It takes one attempt and no wait, and it leaves those who
//! come after it their money and their time.

use std::time::Duration;

use super::meta::{self, Asked};
use super::turns::{Ending, Session};
use crate::audit::Cap;
use crate::domain::units::MicroUsd;

/// The longest time of a reply that is to bring blocks alone.
const LONGEST_REPLY: Duration = Duration::from_secs(60);
/// The part of the run's time that is left which such a reply may take.
const PART_OF_THE_REST: u32 = 10;
/// How often the tests must be able to run in the time that is left.
const RUNS_OF_THE_TESTS: u32 = 2;

impl Session<'_, '_> {
    /// Whether a report is locked: only its blocks are waited for.
    pub(super) fn is_locked(&self) -> bool {
        self.meta.asked() == Asked::Alone
    }

    /// Whether the session changed nothing, though its blocks are about a change. A tool from outside may be a sub-agent that writes.
    pub(super) fn lacks_its_change(&self) -> bool {
        let room = &self.toolroom;
        let changed = !room.wrote.is_empty() || room.commands_ran > 0 || self.ports.toolbox.outside.is_some();
        self.spec.blocks_need_change && !changed
    }

    /// Whether there is money and time for a reply that brings blocks alone: the review, the tests and the next iteration come first.
    pub(super) fn may_ask_for_meta(&self) -> bool {
        let limits = &self.spec.limits;
        let left = self.ports.journal.left(&self.ports.caps).saturating_sub(limits.kept_for_others);
        let is_in_time = self.time_left().is_none_or(|left| left >= limits.tests_take * RUNS_OF_THE_TESTS);
        is_in_time && left.0 >= self.cost.total().0.saturating_mul(2)
    }

    /// The active time that the run has left. `None` where nothing limits it.
    fn time_left(&self) -> Option<Duration> {
        let (began, waited) = self.began;
        // The run's time stands still while a limit is waited for.
        let waited = self.ports.memory.waited_ms.saturating_sub(waited);
        let active = self.ports.clock.monotonic_ms().saturating_sub(began).saturating_sub(waited);
        Some(self.spec.limits.time_left?.saturating_sub(Duration::from_millis(active)))
    }

    /// The most time that the next reply may take.
    pub(super) fn reply_limit(&self) -> Duration {
        let limit = self.spec.limits.reply_timeout;
        if !self.is_locked() {
            return limit;
        }
        let part = self.time_left().map_or(LONGEST_REPLY, |left| left / PART_OF_THE_REST);
        limit.min(LONGEST_REPLY).min(part)
    }

    /// The caps that the next call must fit under. One that is to bring blocks alone leaves the others their money.
    pub(super) fn caps(&self) -> Vec<Cap> {
        let kept = if self.is_locked() { self.spec.limits.kept_for_others } else { MicroUsd::ZERO };
        let less = |cap: &Cap| Cap { scope: cap.scope.clone(), max: cap.max.saturating_sub(kept) };
        self.ports.caps.iter().map(less).collect()
    }

    /// A locked report stands, whatever keeps its blocks away. A run that may be taken up again asks for them then.
    pub(super) fn kept_instead_of(&mut self, ending: Ending) -> Ending {
        let kept = if meta::goes_on(&ending.report) { None } else { self.meta.release() };
        kept.map_or(ending, |(report, exit)| Ending { report, exit })
    }
}
