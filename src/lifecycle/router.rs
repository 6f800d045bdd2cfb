//! The router (S1-18): a role may hand its task over to a specialist, whose session takes the place of its own.
//!
//! Invariant: whatever becomes of a specialist, the iteration goes on as it would after a role of its own that brought nothing. Its money is
//! within every cap of the tier and the run, and it hands nothing over itself.

use super::advisors::targets_of;
use super::hosts;
use super::session_spec::Aside;
use super::table::{Table, with_models};
use crate::agent::{Beside, Material, Prompt};
use crate::audit::Scope;
use crate::config::SpecialistPlan;
use crate::domain::event::Event;
use crate::domain::foreign::{Foreign, Mark};
use crate::domain::ladder::Role;
use crate::domain::session_exit::SessionExit;
use crate::session::{FailureReason, FinalReport, Lineage, SessionEnd};

/// Composes a role's prompt of its material.
pub(super) type Compose<'c> = &'c dyn Fn(&Material, &Mark) -> Prompt;

/// Holds a role's session, and that of the specialist it hands over to, if it does.
pub(super) async fn hold(
    table: &mut Table<'_, '_, '_>,
    role: Role,
    (material, compose): (&Material, Compose<'_>),
    lineage: Option<Lineage>,
) -> SessionEnd {
    let first = hosts::hold(table, role, compose(material, &Mark::random()), lineage.clone()).await;
    let FinalReport::Routed { to, message } = first.report.clone() else { return first };
    let plan = &table.context.charter.plan;
    let Some(specialist) = plan.agent.router.iter().find(|one| one.name == to) else { return first };
    table.recorder.emit(&Event::Routed {
        role,
        session_id: first.session_id.clone(),
        to: to.clone(),
        message: message.clone(),
    });
    let mut material = material.clone();
    if !message.trim().is_empty() {
        let label = format!("ADVISORY from the {} who handed this over", role.as_str());
        material.advice.push(Beside { label, text: Foreign::new(&message) });
    }
    let prompt = compose(&material, &Mark::random()).with_part(&specialist.instructions);
    // Below the session that handed over, so that the tree of sessions shows who sent it.
    let lineage = Lineage {
        parent: first.session_id.clone(),
        root: lineage.map_or_else(|| first.session_id.clone(), |lineage| lineage.root),
    };
    let SpecialistPlan { max_cost, max_turns, .. } = *specialist;
    let targets = targets_of(table.tier, role, &specialist.models);
    let aside = Aside { agent: format!("router/{to}"), max_cost, max_turns, seconds: None };
    let second = with_models(table, (role, Some(aside)), prompt, Some(lineage), targets).await;
    let report = settled(role, &second.report, &message);
    let mut exit = second.exit;
    if report != second.report {
        let why = second.report.summary();
        table.recorder.warn(format!("the specialist {to} did not do the {}'s part: {why}", role.as_str()));
        // Words that stand in for a report are none that came by itself: nobody keeps them as one.
        exit = if exit == SessionExit::FinalAnswer { SessionExit::MaxRetries } else { exit };
    }
    joined(first, SessionEnd { report, exit, ..second })
}

/// The report that counts: a specialist that fails is a loss, not the end of the tier or of the run.
fn settled(role: Role, report: &FinalReport, message: &str) -> FinalReport {
    let is_lost = match report {
        FinalReport::Synthetic { reason } => match reason {
            // The signal or the clock is the whole run's.
            FailureReason::Stopped { .. } => false,
            // A cap of its own costs the specialist alone. One of the tier or of the run would have stopped the role as well.
            FailureReason::Budget { scope, .. } => matches!(scope, Scope::Agent(..)),
            FailureReason::NoUsableTarget { .. }
            | FailureReason::UnusableReplies { .. }
            | FailureReason::ContextFull
            | FailureReason::NoReport
            | FailureReason::ToolFailed { .. } => true,
        },
        // An iteration can do without a brief. An artisan who is blocked has to be heard.
        FinalReport::Blocked { .. } => role == Role::Librarian,
        FinalReport::Routed { .. } => true,
        FinalReport::Done { .. }
        | FinalReport::Briefed { .. }
        | FinalReport::Approve { .. }
        | FinalReport::Reject { .. } => false,
    };
    match (is_lost, role) {
        (false, _) => report.clone(),
        // What the librarian found before it handed over is better than no brief.
        (true, Role::Librarian) if !message.trim().is_empty() => {
            FinalReport::Briefed { summary: message.to_owned(), files: Vec::new() }
        }
        (true, _) => FinalReport::Synthetic { reason: FailureReason::UnusableReplies { last: report.summary() } },
    }
}

/// The two sessions as one: what the first did to files counts, too.
fn joined(first: SessionEnd, mut second: SessionEnd) -> SessionEnd {
    let more: Vec<String> = second.wrote.into_iter().filter(|path| !first.wrote.contains(path)).collect();
    second.wrote = first.wrote.into_iter().chain(more).collect();
    if second.report.blames_a_test() {
        second.corrections = first.corrections.into_iter().chain(second.corrections).collect();
    }
    second.turns = second.turns.saturating_add(first.turns);
    second.commands_ran = second.commands_ran.saturating_add(first.commands_ran);
    second.tests_ran = second.tests_ran.saturating_add(first.tests_ran);
    second.cost = [first.cost, second.cost].into_iter().sum();
    second.peak_context_percent = second.peak_context_percent.max(first.peak_context_percent);
    second
}
