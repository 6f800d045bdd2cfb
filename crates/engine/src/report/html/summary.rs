//! The top of the page: the verdict, what a reviewer should look at, the proof, the ladder and the tests.

use maud::{Markup, html};

use super::pieces::{list, names, say, section};
use crate::domain::proof::EvidenceStatus;
use crate::domain::units::human_duration;
use crate::report::style::Tone;
use crate::report::view::{RunView, TierState, TierView};
use crate::report::words::{self, Mark, Sentence};
use crate::report::{plain, text};

/// Warnings and cleaned-up files that are shown.
const MAX_LINES: usize = 20;
/// The widest name of a tier or a model.
const MAX_NAME: usize = 60;

/// The verdict in one line, who fixed it, and the run's figures.
pub(super) fn header(view: &RunView) -> Markup {
    let (mark, sentence) = words::headline(view);
    html! {
        p class={ "verdict " (tone(mark)) } { span.sign aria-hidden="true" { (mark.sign()) } " " strong { (say(&sentence)) } }
        @if let Some(who) = words::resolved_by(view) { p { (say(&who)) "." } }
        dl.figures {
            @if let Some(run) = &view.run {
                (figure("Run", html! { code { (plain::line(run.run_id.short())) } }))
                (figure("Began", html! { (plain::line(&run.started_at.for_people())) }))
                @match &run.command {
                    Some(command) => (figure("Program", html! { code { (plain::command(command)) } })),
                    None => (figure("Test command", html! { code { (plain::command(&run.test_command)) } })),
                }
            }
            (figure("Time", html! { (human_duration(view.spent.active_ms)) }))
            @match view.command() {
                Some(_) => (figure("Model calls", html! { (view.calls) })),
                None => (figure("Iterations", html! { (view.spent.iterations) })),
            }
            (figure("Cost", html! { (view.spent.charge().to_string()) }))
            @if let Some(left) = words::budget_left(view) { (figure("Left of the budget", html! { (left) })) }
        }
    }
}

fn figure(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

const fn tone(mark: Mark) -> &'static str {
    match mark {
        Mark::Good => "good",
        Mark::Bad => "bad",
        Mark::Doubtful | Mark::Waiting | Mark::Running => "notice",
    }
}

/// Remarks, review, proposed corrections and proof: what decides whether a reviewer believes the change.
pub(super) fn attention(view: &RunView) -> Markup {
    let remarks = words::remarks_heading(view).zip(list(&words::remarks(view)));
    let review = words::review_heading(view).map(|heading| {
        html! { p { (say(&heading)) } (list(&words::review_issues(view)).unwrap_or_default()) }
    });
    let blocks: Vec<_> = words::meta(view)
        .into_iter()
        .chain(words::advice(view))
        .chain(words::handoff(view))
        .chain(words::reused(view).into_iter().map(Sentence::plain))
        .collect();
    let corrections: Vec<_> = words::corrections(view).map(words::correction_sentence).collect();
    let proof = words::proof_heading(view).map(|heading| {
        html! {
            p { (heading) "." }
            ul.proof {
                @for line in words::proof(view) {
                    li class=(status_class(line.status)) {
                        span.sign { (words::proof_sign(line.status)) } " " (say(&line.sentence))
                    }
                }
            }
        }
    });
    html! {
        @if let Some((heading, places)) = remarks { section #remarks .remarks { h2 { "⚠ " (heading) } (places) } }
        (section("review", "Review", review))
        (section("meta", "In the models' words", list(&blocks)))
        (section("tools", "Tools that failed", list(&words::tool_failures(view))))
        (section("corrections", "Tests that a model calls wrong", list(&corrections)))
        (section("proof", "Proof", proof))
    }
}

const fn status_class(status: EvidenceStatus) -> &'static str {
    match status {
        EvidenceStatus::Held => "good",
        EvidenceStatus::Failed => "bad",
        EvidenceStatus::NotPossible | EvidenceStatus::LeftOut => "faint",
    }
}

/// The ladder as a table, a row a tier.
pub(super) fn ladder(view: &RunView) -> Markup {
    let table = (!view.tiers.is_empty()).then(|| {
        let first = words::first_line(view);
        html! {
            div.wide {
                table {
                    thead { tr { th { "Tier" } th { "Model" } th.number { "Iterations" } th.number { "Cost" } th { "Outcome" } } }
                    tbody { @for tier in &view.tiers { (row(&first, tier)) } }
                }
            }
        }
    });
    section("ladder", "Ladder", table)
}

/// `first` is the first line of the report.
fn row(first: &str, tier: &TierView) -> Markup {
    let models = tier.models();
    html! {
        tr class=(state_class(tier.state)) {
            td { (tier.number) " " b { (plain::clipped_line(&tier.tier.name, MAX_NAME)) } " " span.faint { (tier.tier.mode.as_str()) } }
            td {
                @if let [_only] = models.as_slice() { code { (plain::clipped_line(&tier.model(), MAX_NAME)) } }
                @else {
                    @for (roles, model) in &models {
                        div { @for role in roles { (role.as_str()) " " } code { (plain::clipped_line(model, MAX_NAME)) } }
                    }
                }
            }
            @match words::state_label(tier.state) {
                None => { td.number { "—" } td.number { "—" } td.faint { "not reached" } },
                Some(label) => {
                    td.number data-label="Iterations" { (tier.iterations) " of " (tier.tier.max_iterations) }
                    td.number data-label="Cost" { (tier.cost.to_string()) }
                    td { (label) " " span.faint { (say(&words::why_it_ended_beside(first, tier))) } }
                },
            }
        }
    }
}

/// The class by which a tier's row is coloured.
pub(super) const fn state_class(state: TierState) -> &'static str {
    match text::tone(state) {
        Tone::Good => "good",
        Tone::Faint => "faint",
        Tone::Notice | Tone::Heading => "notice",
        Tone::Bad => "bad",
    }
}

/// Failing tests before and after.
pub(super) fn tests(view: &RunView) -> Markup {
    let content = words::tests_change(view).map(|change| {
        let still = match (view.passes_with_change(), view.failing_after.is_some()) {
            (true, _) => "Fixed by the change",
            (false, true) => "Still failing",
            (false, false) => "Failing",
        };
        let aside: Vec<&str> = view
            .baseline
            .iter()
            .flat_map(|baseline| baseline.flaky.iter().chain(&baseline.environment).map(String::as_str))
            .collect();
        html! {
            p { (say(&change)) }
            (names("Fixed", &view.fixed_tests()))
            (names(still, &view.still_failing()))
            (names("Newly failing", &view.newly_failing()))
            (names("Set aside", &aside))
            @if !view.recent_errors.is_empty() {
                details {
                    summary { "Most recent errors" }
                    ul { @for error in &view.recent_errors { li { code { (plain::line(error)) } } } }
                }
            }
        }
    });
    section("tests", "Tests", content)
}

/// Pushes and waits, commands of people, leftovers and warnings.
pub(super) fn facts(view: &RunView) -> Markup {
    let unsettled = words::unsettled(view);
    let warnings = (!view.warnings.is_empty() || unsettled.is_some()).then(|| {
        html! { ul {
            @for warning in view.warnings.iter().take(MAX_LINES) { li { (plain::line(warning)) } }
            @if let Some(sentence) = &unsettled { li { (sentence) } }
            @if view.warnings.len() > MAX_LINES { li { "… and " (view.warnings.len() - MAX_LINES) " more in the audit log" } }
        } }
    });
    html! {
        (section("delivery", "Delivery", list(&words::delivery(view))))
        (section("commands", "Asked for in comments", list(&words::commands(view))))
        (section("leftovers", "Cleaned up", list(&words::leftovers(view, MAX_LINES))))
        (section("billed", "Billed as another model", list(&words::billed(view, MAX_LINES))))
        (section("side", "Side calls", list(words::side_calls(view).as_slice())))
        (section("warnings", "Warnings", warnings))
    }
}

/// The next steps, and how the log is read.
pub(super) fn next(view: &RunView) -> Markup {
    let commands = words::log_commands(view);
    let log =
        (!commands.is_empty()).then(|| html! { pre { @for command in &commands { (plain::command(command)) "\n" } } });
    html! {
        (section("next", "What to do next", list(&words::next_steps(view))))
        (section("log", "The audit log", log))
    }
}
