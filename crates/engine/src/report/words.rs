//! Every sentence about a run, in one place, for all surfaces.
//!
//! A [`Sentence`] keeps our words apart from text that came from a model, a repository or the configuration, so that
//! each surface can escape the latter in its own way. Invariant: nothing is escaped or clipped here.

mod advice;
mod after_push;
mod billed;
mod commands;
mod corrections;
mod delivery;
mod gateway;
mod headline;
mod leftovers;
mod meta;
mod next_steps;
mod proof;
mod remarks;
mod reviews;
mod sentence;
mod tiers;
mod tool_failures;
mod used_up;

pub use self::advice::{advice, handoff, reused, reused_report};
pub use self::billed::{billed, side_calls};
pub use self::commands::{history_command, log_commands, log_holds};
pub use self::corrections::{correction_sentence, corrections, take_correction};
pub use self::delivery::{awaited, commands, delivery};
pub use self::headline::{headline, resolved_by};
pub use self::leftovers::leftovers;
pub use self::meta::{meta, meta_of};
pub use self::next_steps::next_steps;
pub use self::proof::{ProofLine, evidence, proof, proof_heading, proof_sign};
pub use self::remarks::{remark_sentence, remarks, remarks_heading};
pub use self::reviews::{review_heading, review_issues, tests_of};
pub use self::sentence::{Mark, Piece, Sentence, without_advice};
pub use self::tiers::{is_told, stall, why_it_ended, why_it_ended_beside};
pub use self::tool_failures::tool_failures;

use crate::domain::event::BaselineFinished;
use crate::domain::outcome::{
    DISCARDED, FAILURES_ALONE, NOT_SEEN, Outcome, PASSES_BY_NOW, SETUP_FAILED, TIER_CAP, UNREAD,
};
use crate::domain::stop::signal_name;
use crate::domain::test_report::RunKind;
use crate::domain::units::{MicroUsd, human_duration};
use crate::domain::verdict::Verdict;

use super::view::{Ending, RunView, TierState};

const MICROS_PER_CENT: u64 = 10_000;

/// `1 iteration`, `2 iterations`.
#[must_use]
pub fn count(n: u64, singular: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {singular}{plural}")
}

/// The verdict of a run in one sentence (FR-011). The first line of a report says more.
#[must_use]
pub(super) fn verdict(view: &RunView) -> (Mark, Sentence) {
    match &view.ending {
        Ending::Running => (Mark::Running, Sentence::plain("Still running").at(view, ": ", ".")),
        Ending::Died => (Mark::Bad, Sentence::plain("This run did not end: interrupted").at(view, " during ", ".")),
        Ending::Finished(finished) => gateway::verdict(view).unwrap_or_else(|| verdict_of(&finished.outcome, view)),
    }
}

fn verdict_of(outcome: &Outcome, view: &RunView) -> (Mark, Sentence) {
    let start = Sentence::plain;
    let sentence = match outcome {
        Outcome::Fixed { .. } => return (Mark::Good, fixed(view)),
        Outcome::AlreadyGreen => return (Mark::Good, already_green(view)),
        Outcome::Proposed { .. } => return (Mark::Waiting, start("No model was asked: ").speech(view.stop_reason())),
        Outcome::Parked => {
            return (Mark::Waiting, start("Parked").at(view, " in ", ": ").speech(view.stop_reason()));
        }
        Outcome::Exhausted => exhausted(view),
        Outcome::Stalled => {
            let last = view.position.and_then(|position| view.tier(position.tier_index));
            match last.and_then(stall) {
                Some(why) => start("Stalled").at(view, " in ", &format!(": {why}.")),
                None => start("Stalled").at(view, " in ", ": ").speech(view.stop_reason()),
            }
        }
        // The special ends first: all of them are `Blocked`, and the plain sentence would send a person to answer a
        // model.
        Outcome::Blocked { reason } if view.is_stopped_by_a_person() => {
            start("Stopped").at(view, " in ", ": ").speech(without_advice(reason).0)
        }
        Outcome::Blocked { reason } if view.is_unseen() => {
            start("No test to fix: ").speech(reason.strip_prefix(NOT_SEEN).unwrap_or(reason))
        }
        Outcome::Blocked { reason } if view.red_elsewhere() => {
            start("The tests pass here, but CI is red: ").speech(reason)
        }
        Outcome::Blocked { reason } if reason == PASSES_BY_NOW => start("No fix of this run: ").speech(reason),
        Outcome::Blocked { reason } => start("Blocked").at(view, " in ", ": a person is needed. ").reason(reason),
        Outcome::Objected if view.lacks_review() => {
            start("The tests pass").at(view, " since ", ", but the critic gave no readable review.")
        }
        Outcome::Objected => start("The tests pass").at(view, " since ", ", but the critic rejects the change."),
        Outcome::Budget if view.stop_reason().starts_with(TIER_CAP) => {
            start("The tier's own cap is used up").at(view, " in ", ".")
        }
        Outcome::Budget if view.position.is_none() => start("Global budget exhausted before the first iteration."),
        Outcome::Budget => start("Global budget exhausted").at(view, " during ", "."),
        Outcome::NoModel => {
            // Its advice stands among the next steps.
            let (reason, _) = without_advice(view.stop_reason());
            start("No model could be used").at(view, " in ", ": ").speech(reason)
        }
        Outcome::Refused { reason } => start("Refused: ").speech(reason),
        Outcome::Broken { reason } if reason.starts_with(SETUP_FAILED) => {
            start("The setup command failed ").speech(reason.strip_prefix(SETUP_FAILED).unwrap_or(reason).trim_start())
        }
        Outcome::Broken { reason } => {
            // The sentence says so itself.
            let why = reason.strip_prefix("the command does not work: ").unwrap_or(reason);
            // A command of which nothing can be read may well run the tests.
            let is_unread = why.ends_with(UNREAD) || why == FAILURES_ALONE;
            start(if is_unread { "The tests cannot be judged: " } else { "The test command does not work: " })
                .speech(why)
        }
        Outcome::Interrupted { .. } if view.stop_reason() == DISCARDED => {
            start("Killed").at(view, " during ", ", and discarded by a later run.")
        }
        Outcome::Ended { code } => start("Ended with exit code ").ours(format!("{code}.")),
        Outcome::Interrupted { signal } => {
            start("Interrupted by ").ours(signal_name(*signal)).at(view, " during ", ".")
        }
    };
    (Mark::Bad, sentence)
}

fn fixed(view: &RunView) -> Sentence {
    match view.resolved() {
        Some((tier, iteration)) => Sentence::plain(format!("Fixed by Tier {} (", tier.number))
            .name(&tier.tier.name)
            .ours(format!(") in iteration {iteration}")),
        None => Sentence::plain("Fixed"),
    }
}

fn already_green(view: &RunView) -> Sentence {
    let passed = view.baseline.as_ref().map_or(0, |baseline| baseline.passed);
    let others = view.baseline.as_ref().map_or(0, |baseline| baseline.others.len());
    if let Ok(others @ 1..) = u64::try_from(others) {
        let verb = if others == 1 { "fails" } else { "fail" };
        let others = count(others, "other test");
        let said = format!("Nothing to fix: none of the named tests fails ({others} {verb}), so no model was asked.");
        return Sentence::plain(said);
    }
    // Not every runner tells how many passed.
    if passed == 0 {
        return Sentence::plain("Already green: the tests pass, so no model was asked.");
    }
    let verb = if passed == 1 { "passes" } else { "pass" };
    Sentence::plain(format!("Already green: {} {verb}, so no model was asked.", count(passed, "test")))
}

fn exhausted(view: &RunView) -> Sentence {
    match view.tiers.as_slice() {
        [only] => Sentence::plain("Tier 1 (").name(&only.tier.name).ours(") exhausted without success."),
        tiers => Sentence::plain(format!("All {} tiers exhausted without success.", tiers.len())),
    }
}

/// How a tier's row ends. A host that is down or limits its models leaves none, too: which of these it was stands beside it. `None` for a
/// tier that was not reached, whose row has no columns.
#[must_use]
pub const fn state_label(state: TierState) -> Option<&'static str> {
    match state {
        TierState::NotReached => None,
        TierState::Running => Some("▶ running"),
        TierState::Solved => Some("✔ solved"),
        TierState::Failed => Some("✖ failed"),
        TierState::Stalled => Some("✖ stalled"),
        TierState::BudgetLimit => Some("✖ budget limit"),
        TierState::NoModel | TierState::RateLimited | TierState::Outage => Some("✖ no model"),
        TierState::Skipped => Some("– skipped"),
        TierState::Rejected => Some("✖ rejected"),
        TierState::Blocked => Some("✖ blocked"),
        TierState::Interrupted => Some("✖ interrupted"),
        TierState::Parked => Some("⏸ parked"),
    }
}

/// The first line of a report as plain text.
#[must_use]
pub fn first_line(view: &RunView) -> String {
    headline(view).1.render(|piece| match piece {
        Piece::Ours(text) | Piece::Name(text) | Piece::Code(text) | Piece::Speech(text) | Piece::Advice(text) => {
            super::plain::line(text)
        }
    })
}

/// The rest of the budget, in one line: `$1.9992 of $2.00, 23 of 30 iterations, 12m 46s of 15m 0s`. `None` before the first call: all of it
/// is left, which says nothing.
#[must_use]
pub fn budget_left(view: &RunView) -> Option<String> {
    if view.run.is_none() || view.calls == 0 {
        return None;
    }
    let caps = view.budget();
    let spent = &view.spent;
    let money = format!("{} of {}", money_left(view), caps.max_cost.exact());
    if view.command().is_some() {
        return Some(money);
    }
    let most = view.most_iterations();
    let counted = view.counted_iterations();
    Some(format!(
        "{money}, {} of {}, {} of {}",
        most.saturating_sub(counted),
        count(u64::from(most), "iteration"),
        human_duration(caps.max_active_ms.saturating_sub(spent.active_ms)),
        human_duration(caps.max_active_ms),
    ))
}

/// The money that is left. Where a part of what was spent is unknown, and was set aside whole: the least that it can be.
fn money_left(view: &RunView) -> String {
    let left = view.budget().max_cost.saturating_sub(view.spent.cost);
    if view.spent.unknown_cost == MicroUsd::ZERO { round_money(left) } else { format!("at least {}", left.at_least()) }
}

/// The money spent in whole cents, finer below one, with the unknown part beside it.
#[must_use]
pub fn brief_cost(view: &RunView) -> String {
    let charge = view.spent.charge();
    if charge.unknown == MicroUsd::ZERO { charge.known.about() } else { charge.to_string() }
}

/// Whole cents with two decimals, as caps are written. Finer amounts have four, or as many as keep them from showing as nothing.
fn round_money(amount: MicroUsd) -> String {
    const SMALL: u64 = 1_000;
    // Below a tenth of a cent it is written exactly, or four decimals could show it as nothing.
    let exact = amount.0.is_multiple_of(MICROS_PER_CENT) || amount.0 < SMALL;
    if exact { amount.exact() } else { amount.to_string() }
}

/// Says that money may have gone beyond the total. `None` when every call was settled.
#[must_use]
pub fn unsettled(view: &RunView) -> Option<String> {
    let most = Some(view.unsettled).filter(|most| *most > MicroUsd::ZERO)?;
    Some(match view.ending {
        Ending::Running => format!("A call is under way: up to {most} more may be billed."),
        Ending::Finished(_) | Ending::Died => {
            format!("A call was under way when the process died: up to {most} of the cost may have been billed for it.")
        }
    })
}

/// `3 failing → 0 failing (3 fixed)`, or what kept the tests from running at the start. `None` when neither is known.
#[must_use]
pub fn tests_change(view: &RunView) -> Option<Sentence> {
    let baseline = view.baseline.as_ref()?;
    if !baseline.failing.is_empty() || view.failing_after.as_ref().is_some_and(|after| !after.is_empty()) {
        return counted_change(view, baseline).map(Sentence::plain);
    }
    // Without a failing test by name, only what kept the tests from running tells why it was red.
    let trouble = Sentence::plain(trouble(baseline.kind).filter(|_| matches!(baseline.verdict, Verdict::Red { .. }))?);
    let said = match (view.outcome(), baseline.verdict.reason()) {
        (Some(Outcome::Fixed { .. }), _) => trouble.ours(" → the tests pass"),
        (_, Some(reason)) => trouble.ours(": ").speech(reason),
        (_, None) => trouble,
    };
    Some(said)
}

/// The fault when tests did not run to their end.
pub(super) const fn trouble(kind: RunKind) -> Option<&'static str> {
    Some(match kind {
        RunKind::Tests => return None,
        RunKind::CompileError => "it does not compile",
        RunKind::CollectionError => "the tests could not be loaded",
        RunKind::ImportError => "a module could not be imported",
        RunKind::Crash => "the test process crashed or was killed",
        RunKind::Timeout => "time ran out",
        RunKind::OutOfMemory => "the memory limit was reached",
        RunKind::MissingTool => "a program is not installed",
        RunKind::BadCommand => "the test command is wrong",
        RunKind::NoTests => "no test ran",
        RunKind::Infrastructure => "the environment failed, not the code",
        RunKind::Unreadable => "the output could not be read",
    })
}

fn counted_change(view: &RunView, baseline: &BaselineFinished) -> Option<String> {
    let before = baseline.failing.len();
    let flaky = baseline.flaky.len();
    let apart = |number: usize, why: &str| match number {
        0 => String::new(),
        number => format!("; {} set aside {why}", count(u64_of(number), "test")),
    };
    let aside = apart(flaky, "as flaky") + &apart(baseline.environment.len(), "for lack of a service");
    // The files are as at the start, so that the tests fail there. The change itself mends them.
    if view.passes_with_change() && !view.still_failing().is_empty() {
        let where_to =
            if view.delivery.pushes.is_empty() { "the change, which is not in the files" } else { "the pushed change" };
        return Some(format!("{before} failing → 0 failing with {where_to}{aside}"));
    }
    let Some(after) = &view.failing_after else { return Some(format!("{before} failing{aside}")) };
    let fixed = view.fixed_tests().len();
    let fixed = if fixed == 0 { String::new() } else { format!(" ({fixed} fixed)") };
    Some(format!("{before} failing → {} failing{fixed}{aside}", after.len()))
}

/// `2 files, +12 −3`. `None` when nothing was changed.
#[must_use]
pub fn diff_size(view: &RunView) -> Option<String> {
    let stat = view.diff_stat();
    if stat.files.is_empty() {
        return None;
    }
    // Binary files have no lines to be counted.
    let added: u64 = stat.files.iter().filter_map(|file| file.added).sum();
    let removed: u64 = stat.files.iter().filter_map(|file| file.removed).sum();
    let size = format!("{}, +{added} −{removed}", count(u64_of(stat.files.len()), "file"));
    Some(match view.dropped_hunks {
        0 => size,
        dropped => format!("{size}; {} that green does not need dropped", count(u64::from(dropped), "hunk")),
    })
}

pub(super) fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
