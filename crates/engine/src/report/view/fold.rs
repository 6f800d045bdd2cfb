//! The fold itself: every event in order, then what they add up to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::failed_calls::FailedCalls;
use super::sessions::Sessions;
use super::tool_failures::{self, ToolFailureView};
use super::{
    BilledView, CommandView, Delivery, Ending, Liveness, Position, PullRequestView, PushView, RunView, SideView,
    TierState, TierView, WaitView,
};
use crate::domain::account::Unavailability;
use crate::domain::advice::Advice;
use crate::domain::attempt::{Attempt, AttemptStatus, TierExit, latest_errors};
use crate::domain::blocker::Blocker;
use crate::domain::budget::Spent;
use crate::domain::correction::Correction;
use crate::domain::event::{BaselineFinished, Event, HAD_TO_STOP, RunFinished, RunStarted};
use crate::domain::kept_report::ReusedReport;
use crate::domain::leftover::Leftover;
use crate::domain::meta::MetaReported;
use crate::domain::outcome::Outcome;
use crate::domain::proof::Evidence;
use crate::domain::receipt::{CallStatus, Receipt};
use crate::domain::remark::Remark;
use crate::domain::units::{Charge, MicroUsd};
use crate::report::raises::Raises;
use crate::report::whereabouts::Whereabouts;

/// Errors shown when the run did not say itself which were the most recent ones.
const RECENT_ERRORS: usize = 5;

impl RunView {
    /// Folds a run's events. `liveness` decides what a missing end means.
    #[must_use]
    pub fn from_events(events: &[Event], liveness: Liveness) -> Self {
        let mut fold = Fold::default();
        for event in events {
            fold.take(event);
        }
        fold.finish(liveness)
    }
}

/// The data gathered while folding.
#[derive(Debug, Default)]
struct Fold {
    run: Option<RunStarted>,
    raises: Raises,
    finished: Option<RunFinished>,
    baseline: Option<BaselineFinished>,
    tiers: BTreeMap<u32, TierFold>,
    position: Option<Position>,
    /// By its id each call under way: its tier, and the most that it may cost.
    reserved: BTreeMap<String, (u32, MicroUsd)>,
    /// By its id each call's tier and charge, and whether it was a side call.
    settled: BTreeMap<String, (u32, Charge, bool)>,
    failed_calls: FailedCalls,
    billed: Vec<BilledView>,
    /// Whether a model replied, or may have.
    reached: bool,
    warnings: Vec<String>,
    dropped_hunks: u32,
    proof: Vec<Evidence>,
    remarks: Vec<Remark>,
    corrections: Vec<Correction>,
    named_blockers: Vec<Blocker>,
    meta: Vec<MetaReported>,
    advice: Vec<Advice>,
    handoff: Vec<Advice>,
    reused: Vec<ReusedReport>,
    tool_failures: Vec<ToolFailureView>,
    sessions: Sessions,
    invocations: u32,
    delivery: Delivery,
    commands: Vec<CommandView>,
    leftovers: Vec<Leftover>,
    more_leftovers: u32,
}

#[derive(Debug, Default)]
struct TierFold {
    exit: Option<TierExit>,
    reason: Option<String>,
    /// Why its models could not be asked.
    unavailable: Option<Unavailability>,
    skipped: bool,
    begun: u32,
    attempts: BTreeMap<u32, Attempt>,
}

impl Fold {
    fn attempted(&mut self, attempt: &Attempt) {
        let tier = self.tiers.entry(attempt.tier_index).or_default();
        tier.begun = tier.begun.max(attempt.iteration);
        tier.attempts.insert(attempt.iteration, attempt.clone());
    }

    fn take(&mut self, event: &Event) {
        self.sessions.hear(event);
        if let (Some(raise), Some(run)) = (self.raises.hear(event), &mut self.run) {
            raise.raise_tier(&mut run.tiers);
            raise.raise_run(&mut run.budget);
        }
        match event {
            Event::RunStarted(run) => self.run = Some(run.clone()),
            Event::InvocationStarted { .. } => {
                self.invocations += 1;
                // A parked run that goes on has not ended, nor has one that broke off.
                self.finished = None;
                self.warnings.retain(|told| !told.starts_with(HAD_TO_STOP));
            }
            Event::BaselineFinished(baseline) => self.baseline = Some(baseline.clone()),
            Event::TierStarted { tier_index, .. } => {
                let tier = self.tiers.entry(*tier_index).or_default();
                (tier.exit, tier.reason, tier.unavailable, tier.skipped) = (None, None, None, false);
            }
            Event::IterationStarted { tier_index, iteration, .. } => {
                let tier = self.tiers.entry(*tier_index).or_default();
                tier.begun = tier.begun.max(*iteration);
                // An interrupted tier that goes on has not ended.
                (tier.exit, tier.reason) = (None, None);
                // What was remarked on an earlier change says nothing of the next one.
                self.forget_the_change();
                self.delivery.went_on = !self.delivery.pushes.is_empty();
                self.position = Some(Position { tier_index: *tier_index, iteration: *iteration });
            }
            Event::CallReserved { call_id, scope, reserved } => {
                self.reserved.insert(call_id.clone(), (scope.tier_index, *reserved));
            }
            Event::CallSettled(receipt) => self.settle(receipt),
            Event::IterationFinished(attempt) => self.attempted(attempt),
            Event::TierFinished { tier_index, exit, reason, iterations, .. } => {
                let tier = self.tiers.entry(*tier_index).or_default();
                (tier.exit, tier.reason) = (Some(*exit), reason.clone());
                tier.begun = tier.begun.max(*iterations);
            }
            Event::ModelsUnavailable { reason, wait_ms: None, .. } => self.unavailable(*reason),
            Event::TiersSkipped { tiers, reason } => self.skip(tiers, reason),
            Event::PatchMinimised { dropped, .. } => self.dropped_hunks = *dropped,
            Event::EvidenceGathered { proof, .. } => self.proof.clone_from(proof),
            Event::Remarked { remarks, .. } => self.remarks.clone_from(remarks),
            Event::CorrectionProposed(correction) => self.propose(correction),
            Event::MetaReported(meta) => self.report_meta(meta),
            Event::Advised { blocks } => self.advise(blocks),
            Event::HandedOff { blocks } => self.handoff.clone_from(blocks),
            Event::ReportReused(reused) => self.reused.push(reused.clone()),
            Event::ToolFailureReplaced(failure) => tool_failures::count(&mut self.tool_failures, failure),
            Event::Warning { message } => self.warn(message),
            Event::LeftoversRemoved { leftovers, more } => self.clean(leftovers, *more),
            Event::RunFinished(finished) => self.finished = Some(finished.clone()),
            Event::PublishStarted { .. }
            | Event::Pushed { .. }
            | Event::PullRequestReady { .. }
            | Event::BreakpointReached { .. }
            | Event::BreakpointCleared { .. } => self.deliver(event),
            Event::CommandAnswered { comment, by, command, answer, said, .. } => {
                let (comment, command, answer) = (*comment, *command, *answer);
                self.commands.push(CommandView { comment, by: by.clone(), command, answer, said: said.clone() });
            }
            Event::SessionFinished { blocked_on, .. } => self.named_blockers.clone_from(blocked_on),
            Event::AttemptCounted { .. }
            | Event::FailureCounted { .. }
            | Event::ReportKept(_)
            | Event::Routed { .. }
            | Event::StateSaved
            | Event::TreeRecorded { .. }
            | Event::ModelsUnavailable { .. }
            | Event::AgentSwitched(_)
            | Event::AgentsAllLimited(_)
            | Event::AgentRecoveryAttempted(_)
            | Event::SubAgentChanged(_)
            | Event::SessionStarted { .. }
            | Event::ToolFinished { .. }
            | Event::ContextThreshold { .. }
            | Event::TestsFinished { .. }
            | Event::ProofStarted(_)
            | Event::EntropyDetected { .. }
            | Event::ContextReset { .. }
            | Event::BudgetWarning { .. }
            | Event::Escalated { .. } => {}
        }
    }

    /// What a role said of an earlier change says nothing of this one.
    fn report_meta(&mut self, meta: &MetaReported) {
        self.meta.retain(|earlier| earlier.role != meta.role);
        self.meta.push(meta.clone());
    }

    fn forget_the_change(&mut self) {
        self.remarks.clear();
        self.proof.clear();
        self.handoff.clear();
    }

    /// The last word of each advisor counts.
    fn advise(&mut self, blocks: &[Advice]) {
        self.advice.retain(|earlier| blocks.iter().all(|block| block.name != earlier.name));
        self.advice.extend_from_slice(blocks);
    }

    fn clean(&mut self, leftovers: &[Leftover], more: u32) {
        self.leftovers.extend_from_slice(leftovers);
        self.more_leftovers = self.more_leftovers.saturating_add(more);
    }

    fn warn(&mut self, message: &str) {
        if !self.warnings.iter().any(|told| told == message) {
            self.warnings.push(message.to_owned());
        }
    }

    /// The tier at work may end because of it.
    fn unavailable(&mut self, reason: Unavailability) {
        if let Some(position) = self.position {
            self.tiers.entry(position.tier_index).or_default().unavailable = Some(reason);
        }
    }

    fn skip(&mut self, tiers: &[u32], reason: &str) {
        for index in tiers {
            let tier = self.tiers.entry(*index).or_default();
            tier.skipped = true;
            tier.reason = Some(reason.to_owned());
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "only events of a delivery come here")]
    fn deliver(&mut self, event: &Event) {
        let delivery = &mut self.delivery;
        match event {
            Event::Pushed { commit, branch, files, .. } => {
                delivery.went_on = false;
                delivery.pushes.push(PushView { commit: commit.clone(), branch: branch.clone(), files: *files });
            }
            Event::PullRequestReady { number, url, .. } => {
                delivery.pull_request = Some(PullRequestView { number: *number, url: url.clone() });
            }
            Event::BreakpointReached { key, awaited, commit, on, .. } => delivery.waits.push(WaitView {
                key: key.clone(),
                awaited: *awaited,
                commit: commit.clone(),
                answer: None,
                detail: String::new(),
                waited_ms: 0,
                on: on.clone(),
            }),
            Event::BreakpointCleared { key, answer, detail, waited_ms, .. } => {
                if let Some(wait) = delivery.waits.iter_mut().find(|wait| wait.key == *key) {
                    wait.answer = Some(*answer);
                    wait.detail.clone_from(detail);
                    wait.waited_ms = *waited_ms;
                }
            }
            _ => {}
        }
    }

    fn side(&self) -> SideView {
        let side = || self.settled.values().filter(|&&(_, _, side)| side).map(|&(_, charge, _)| charge);
        SideView { calls: u32::try_from(side().count()).unwrap_or(u32::MAX), cost: side().sum() }
    }

    fn settle(&mut self, receipt: &Receipt) {
        self.reserved.remove(&receipt.call_id);
        self.failed_calls.settle(receipt);
        if let Some(billed) = receipt.billed_model.clone().filter(|billed| *billed != receipt.target.model) {
            let view = BilledView { asked: receipt.target.to_string(), billed };
            if !self.billed.contains(&view) {
                self.billed.push(view);
            }
        }
        let settled = (receipt.scope.tier_index, receipt.charge(), receipt.scope.is_side());
        self.settled.insert(receipt.call_id.clone(), settled);
        // What was or may have been billed reached a model, whatever became of the reply.
        self.reached |= receipt.status == CallStatus::Ok || receipt.charge() != Charge::ZERO;
    }

    /// Counts the calls that were under way when the process died as they may have been billed. Returns their sum.
    fn lose_calls(&mut self) -> MicroUsd {
        let mut sum = MicroUsd::ZERO;
        for (call_id, (tier_index, reserved)) in std::mem::take(&mut self.reserved) {
            let charge = Charge { known: MicroUsd::ZERO, unknown: reserved };
            if let Entry::Vacant(free) = self.settled.entry(call_id) {
                sum = MicroUsd(sum.0.saturating_add(reserved.0));
                free.insert((tier_index, charge, false));
            }
        }
        sum
    }

    fn finish(mut self, liveness: Liveness) -> RunView {
        let ending = match (&self.finished, liveness) {
            (Some(finished), _) => Ending::Finished(Box::new(finished.clone())),
            (None, Liveness::Alive) => Ending::Running,
            (None, Liveness::Dead | Liveness::Ended) => Ending::Died,
        };
        let calls = u32::try_from(self.settled.len()).unwrap_or(u32::MAX);
        let reached_a_model = self.reached || !self.reserved.is_empty();
        let unsettled = match ending {
            Ending::Running => self.reserved.values().map(|&(_, reserved)| reserved).sum(),
            Ending::Finished(_) | Ending::Died => self.lose_calls(),
        };
        let tiers = self.tier_views(&ending);
        let attempts: Vec<&Attempt> = tiers.iter().flat_map(|tier| &tier.attempts).collect();
        let charge: Charge = self.settled.values().map(|&(_, charge, _)| charge).sum();
        let spent = Spent {
            cost: charge.total(),
            unknown_cost: charge.unknown,
            iterations: tiers.iter().fold(0, |sum, tier| sum.saturating_add(tier.iterations)),
            active_ms: self.active_ms(&attempts),
        };
        let last_seen =
            attempts.iter().rev().find(|attempt| was_judged(attempt)).map(|attempt| attempt.failed_tests.clone());
        let failing_after = match &ending {
            Ending::Finished(finished) if tests_ran(&finished.outcome) => finished.still_failing.clone(),
            Ending::Finished(_) | Ending::Running | Ending::Died => last_seen,
        };
        let recent_errors = match &ending {
            Ending::Finished(finished) => finished.recent_errors.clone(),
            Ending::Running | Ending::Died => recent_errors(&attempts),
        };
        RunView {
            sessions: std::mem::take(&mut self.sessions).finish(matches!(ending, Ending::Died)),
            ending,
            position: self.position,
            spent,
            unsettled,
            reached_a_model,
            calls,
            failed_calls: self.failed_calls.clone(),
            side: self.side(),
            failing_before: self.baseline.as_ref().map(|baseline| baseline.failing.clone()).unwrap_or_default(),
            failing_after,
            recent_errors,
            warnings: self.warnings,
            dropped_hunks: self.dropped_hunks,
            proof: self.proof,
            remarks: self.remarks,
            corrections: self.corrections,
            named_blockers: self.named_blockers,
            meta: self.meta,
            advice: self.advice,
            handoff: self.handoff,
            reused: self.reused,
            tool_failures: self.tool_failures,
            invocations: self.invocations,
            delivery: self.delivery,
            commands: self.commands,
            leftovers: self.leftovers,
            billed: self.billed,
            more_leftovers: self.more_leftovers,
            kept_in: Whereabouts::Here,
            patch_in_log: false,
            is_uncommitted: false,
            log_lacks: 0,
            tiers,
            run: self.run,
            baseline: self.baseline,
        }
    }

    /// Two tiers may propose the same.
    fn propose(&mut self, correction: &Correction) {
        self.corrections.retain(|known| known.patch != correction.patch);
        self.corrections.push(correction.clone());
    }

    fn active_ms(&self, attempts: &[&Attempt]) -> u64 {
        match &self.finished {
            Some(finished) => finished.active_ms,
            None => {
                let baseline = self.baseline.as_ref().map_or(0, |baseline| baseline.duration_ms);
                attempts.iter().fold(baseline, |sum, attempt| sum.saturating_add(attempt.duration_ms))
            }
        }
    }

    fn tier_views(&self, ending: &Ending) -> Vec<TierView> {
        let configured = self.run.as_ref().map(|run| run.tiers.as_slice()).unwrap_or_default();
        let reached = self.tiers.iter().filter(|(_, fold)| !fold.skipped).map(|(index, _)| *index).max();
        (0_u32..)
            .zip(configured)
            .map(|(index, tier)| {
                let fold = self.tiers.get(&index);
                TierView {
                    number: usize::try_from(index).unwrap_or(usize::MAX).saturating_add(1),
                    tier: tier.clone(),
                    state: fold.map_or(TierState::NotReached, |fold| state(index, fold, reached, ending)),
                    exit: fold.and_then(|fold| fold.exit),
                    reason: fold.and_then(|fold| fold.reason.clone()),
                    iterations: fold.map_or(0, |fold| fold.begun),
                    cost: self.settled.values().filter(|(tier, ..)| *tier == index).map(|&(_, charge, _)| charge).sum(),
                    attempts: fold.map(|fold| fold.attempts.values().cloned().collect()).unwrap_or_default(),
                }
            })
            .collect()
    }
}

/// The state of a tier that was begun: its own end, overruled by how the run ended where the run stood in it.
fn state(index: u32, fold: &TierFold, last: Option<u32>, ending: &Ending) -> TierState {
    if fold.skipped {
        return TierState::Skipped;
    }
    let outcome = ending.outcome();
    if last == Some(index) {
        match outcome {
            Some(Outcome::Fixed { tier_index, .. }) if *tier_index == index => return TierState::Solved,
            Some(Outcome::Parked) => return TierState::Parked,
            Some(Outcome::Interrupted { .. }) => return TierState::Interrupted,
            _ => {}
        }
    }
    match (fold.exit, outcome) {
        (Some(TierExit::ProviderError), _) => match fold.unavailable {
            Some(Unavailability::RateLimited) => TierState::RateLimited,
            Some(Unavailability::Outage) => TierState::Outage,
            Some(Unavailability::KeyRefused | Unavailability::QuotaUsedUp) | None => TierState::NoModel,
        },
        (Some(exit), _) => state_of_exit(exit),
        (None, Some(Outcome::Budget)) => TierState::BudgetLimit,
        (None, Some(Outcome::Blocked { .. })) => TierState::Blocked,
        (None, Some(Outcome::Stalled)) => TierState::Stalled,
        (None, Some(Outcome::Objected)) => TierState::Rejected,
        (None, Some(Outcome::NoModel)) => TierState::NoModel,
        (None, Some(_)) => TierState::Failed,
        (None, None) if *ending == Ending::Running => TierState::Running,
        (None, None) => TierState::Interrupted,
    }
}

fn state_of_exit(exit: TierExit) -> TierState {
    match exit {
        TierExit::Success => TierState::Solved,
        TierExit::IterationsExhausted => TierState::Failed,
        TierExit::BudgetExhausted => TierState::BudgetLimit,
        TierExit::ProviderError => TierState::NoModel,
        TierExit::EntropyDetected | TierExit::NoProgress => TierState::Stalled,
        TierExit::Blocked => TierState::Blocked,
        TierExit::Objected => TierState::Rejected,
        TierExit::Interrupted => TierState::Interrupted,
    }
}

/// Whether an iteration says which tests fail: one whose tests did not run to their end names none, and has mended none.
fn was_judged(attempt: &Attempt) -> bool {
    attempt.test_status == AttemptStatus::Passed || !attempt.failed_tests.is_empty()
}

/// Whether the tests were judged at all before a run ended like this.
fn tests_ran(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Refused { .. } | Outcome::Broken { .. } | Outcome::Ended { .. } => false,
        Outcome::Fixed { .. }
        | Outcome::AlreadyGreen
        | Outcome::Proposed { .. }
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::Blocked { .. }
        | Outcome::Objected
        | Outcome::Budget
        | Outcome::NoModel
        | Outcome::Interrupted { .. }
        | Outcome::Parked => true,
    }
}

fn recent_errors(attempts: &[&Attempt]) -> Vec<String> {
    let red = attempts.iter().rev().filter(|attempt| attempt.test_status != AttemptStatus::Passed).copied();
    let mut recent: Vec<String> = Vec::new();
    for message in latest_errors(red) {
        if recent.len() < RECENT_ERRORS && !recent.iter().any(|told| told == message) {
            recent.push(message.to_owned());
        }
    }
    recent
}
