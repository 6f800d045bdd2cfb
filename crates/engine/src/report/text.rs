//! The terminal report: FR-011's exact shape, then a few honest lines under it.
//!
//! Start reading at [`render`]. Columns are aligned by display width, so wide scripts do not break the table.

use crate::domain::outcome::Outcome;
use crate::domain::units::human_duration;

use super::gist::short_gist;
use super::plain;
use super::style::{Style, Tone};
use super::view::{RunView, TierState, TierView};
use super::words::{self, Mark, Piece, Sentence};
use super::wrap::JOINT;

/// The rule over the summary, as the contract draws it.
const RULE: &str = "━━━ Run Summary ━━━━━━━━━━━━━━━━━━━━━━━━━━";
/// The narrowest column for tier names: the contract's example has it.
const MIN_NAME: usize = 12;
/// Names wider than this are cut, so that a row fits on a line.
const MAX_NAME: usize = 40;
/// A mode in brackets: `[simple]`.
const MODE_WIDTH: usize = 8;
/// The widest usual cost: `$0.0008`.
const MIN_COST: usize = 7;
/// Speech of a model or a test is cut here: about three terminal lines.
const MAX_SPEECH: usize = 400;
/// An error bullet is cut here: about two terminal lines.
const MAX_ERROR: usize = 160;
/// The most error bullets and warnings shown. The rest is in the audit log.
const MAX_BULLETS: usize = 5;

/// Renders the final report of a run. It ends with a line break.
#[must_use]
pub fn render(view: &RunView, style: Style) -> String {
    // Nothing is wrapped here, so that no space has to be kept from being broken.
    laid_out(view, style).replace(JOINT, " ")
}

/// The same for [`super::wrap::wrap`], with [`JOINT`] between the words of commands.
#[must_use]
pub fn laid_out(view: &RunView, style: Style) -> String {
    let mut lines = vec![headline(view, style)];
    lines.extend(resolved_by(view, style));
    lines.push(String::new());
    lines.extend(summary(view, style));
    // Before the errors, which leave out what these lines say.
    let extras = extras(view);
    lines.extend(errors(view, &extras));
    lines.extend(extras);
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The first line alone: sign and sentence.
#[must_use]
pub fn headline(view: &RunView, style: Style) -> String {
    let (mark, sentence) = words::headline(view);
    signed(mark, &sentence, style).replace(JOINT, " ")
}

/// The contract's first line: who fixed it.
fn resolved_by(view: &RunView, style: Style) -> Option<String> {
    words::resolved_by(view).map(|sentence| signed(words::headline(view).0, &sentence, style))
}

fn signed(mark: Mark, sentence: &Sentence, style: Style) -> String {
    let tone = match mark {
        Mark::Good => Tone::Good,
        Mark::Bad => Tone::Bad,
        Mark::Doubtful | Mark::Waiting | Mark::Running => Tone::Notice,
    };
    style.paint(tone, &format!("{} {}", mark.sign(), say(sentence)))
}

/// The places in the last green change that a reviewer should look at, below their number. Empty where there are none.
#[must_use]
pub fn places(view: &RunView) -> Vec<String> {
    let heading = words::remarks_heading(view).map(|heading| format!("⚠ {heading}:"));
    heading.into_iter().chain(words::remarks(view).iter().map(|remark| format!("  - {}", say(remark)))).collect()
}

/// A sentence for a terminal. A command in its middle stands in backticks. At its end it is ready to be copied.
pub(super) fn say(sentence: &Sentence) -> String {
    joined(sentence).replace(JOINT, " ")
}

/// The same with [`JOINT`] between the words of its commands.
fn joined(sentence: &Sentence) -> String {
    // A command that is wrapped into two lines would do something else when it is copied.
    let command = |code: &str| plain::command(code).replace(' ', JOINT);
    let last = sentence.0.last();
    sentence.render(|piece| match piece {
        Piece::Ours(text) => text.clone(),
        Piece::Name(name) => plain::clipped_line(name, MAX_NAME),
        // By identity: the same command may stand in the middle as well, where it needs its backticks.
        Piece::Code(code) if last.is_some_and(|last| std::ptr::eq(last, piece)) => command(code),
        Piece::Code(code) => format!("`{}`", command(code)),
        Piece::Speech(speech) | Piece::Advice(speech) => plain::clipped_line(speech, MAX_SPEECH),
    })
}

fn summary(view: &RunView, style: Style) -> Vec<String> {
    if let Some(command) = view.command() {
        return vec![
            style.paint(Tone::Heading, RULE),
            format!("  Program: {}", plain::clipped_line(command, MAX_SPEECH)),
            format!("  Total:   {}", total(view)),
            format!("  Audit:   {}", audit(view)),
        ];
    }
    let mode = format!("Tiered escalation ({} configured)", words::count(words::u64_of(view.tiers.len()), "tier"));
    let mut lines = vec![
        style.paint(Tone::Heading, RULE),
        format!("  Mode:       {mode}"),
        format!("  Resolved:   {}", resolved(view)),
        String::new(),
    ];
    lines.extend(rows(&view.tiers, style));
    if !view.tiers.is_empty() {
        lines.push(String::new());
    }
    lines.push(format!("  Total:   {}", total(view)));
    lines.push(format!("  Audit:   {}", audit(view)));
    lines
}

fn resolved(view: &RunView) -> String {
    let nothing = if view.outcome() == Some(&Outcome::AlreadyGreen) { "— (nothing to do)" } else { "— (none)" };
    view.resolved().map_or_else(
        || nothing.to_owned(),
        |(tier, iteration)| {
            format!("Tier {} — {} (iteration {iteration})", tier.number, plain::clipped_line(&tier.tier.name, MAX_NAME))
        },
    )
}

fn rows(tiers: &[TierView], style: Style) -> Vec<String> {
    let names: Vec<String> = tiers.iter().map(|tier| plain::clipped_line(&tier.tier.name, MAX_NAME)).collect();
    let iterations: Vec<String> =
        tiers.iter().map(|tier| words::count(u64::from(tier.iterations), "iteration")).collect();
    let costs: Vec<String> = tiers.iter().map(|tier| tier.cost.to_string()).collect();
    let number_width = tiers.len().to_string().len();
    let name_width = widest(&names).max(MIN_NAME);
    let iterations_width = widest(&iterations);
    let cost_width = widest(&costs).max(MIN_COST);
    let mut rows = Vec::new();
    for (((tier, name), iterations), cost) in tiers.iter().zip(&names).zip(&iterations).zip(&costs) {
        let head = format!(
            "  Tier {:<number_width$} {}  {}",
            tier.number,
            plain::pad(name, name_width),
            plain::pad(&format!("[{}]", tier.tier.mode.as_str()), MODE_WIDTH)
        );
        rows.push(match words::state_label(tier.state) {
            None => format!("{head}  — (not reached)"),
            // Why stands below, once for all tiers that it holds for.
            Some(_) if tier.state == TierState::Skipped => format!("{head}  — (skipped)"),
            Some(label) => format!(
                "{head}  {}  {}  {}",
                plain::pad(iterations, iterations_width),
                plain::pad(cost, cost_width),
                style.paint(tone(tier.state), label)
            ),
        });
    }
    rows
}

fn widest(texts: &[String]) -> usize {
    texts.iter().map(|text| plain::width(text)).max().unwrap_or(0)
}

/// How a tier's state is coloured.
pub(super) const fn tone(state: TierState) -> Tone {
    match state {
        TierState::Solved => Tone::Good,
        TierState::Running | TierState::Parked => Tone::Notice,
        TierState::NotReached | TierState::Skipped => Tone::Faint,
        TierState::Failed
        | TierState::Stalled
        | TierState::BudgetLimit
        | TierState::NoModel
        | TierState::RateLimited
        | TierState::Outage
        | TierState::Rejected
        | TierState::Blocked
        | TierState::Interrupted => Tone::Bad,
    }
}

fn total(view: &RunView) -> String {
    let work = match view.command() {
        Some(_) => words::count(u64::from(view.calls), "model call"),
        None => words::count(u64::from(view.spent.iterations), "iteration"),
    };
    let mut parts = vec![work, view.spent.charge().to_string(), human_duration(view.spent.active_ms)];
    if view.budget_cap_hit() {
        parts.push("budget cap hit".to_owned());
    }
    parts.join("  |  ")
}

fn audit(view: &RunView) -> String {
    let Some(run) = &view.run else { return "off".to_owned() };
    let place = run.audit_db.as_deref().map_or_else(|| "off".to_owned(), plain::command);
    format!("{place}  (run: {})", plain::line(run.run_id.short()))
}

fn errors(view: &RunView, extras: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let (mark, sentence) = words::headline(view);
    // The errors of attempts are told of a run that ended badly. In any other one they were overcome.
    let failed = mark == Mark::Bad;
    // What the verdict or a tier's line says in full is not said again; a reason that no line gives was not said.
    let verdict = joined(&sentence);
    let told = |reason: &str| {
        let words = plain::clipped_line(words::without_advice(reason).0, MAX_SPEECH);
        !words.is_empty() && (verdict.contains(&words) || extras.iter().any(|line| line.contains(&words)))
    };
    let said = |error: &&String| {
        let reasons = view.tiers.iter().filter_map(|tier| tier.reason.as_deref());
        reasons.chain([view.stop_reason()]).any(|reason| error.ends_with(reason) && told(reason))
    };
    let errors: Vec<&String> = view.recent_errors.iter().filter(|error| !said(error)).collect();
    if !errors.is_empty() && failed {
        lines.push(String::new());
        lines.push("  Most recent errors:".to_owned());
        let shown = errors.into_iter().take(MAX_BULLETS);
        lines.extend(shown.map(|error| format!("    - \"{}\"", short_gist(error, MAX_ERROR))));
    }
    if failed && let Some(command) = words::history_command(view) {
        lines.push(String::new());
        lines.push(format!("  Full history: {}", plain::command(&command).replace(' ', JOINT)));
    }
    lines
}

fn extras(view: &RunView) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(view.tiers.iter().filter_map(|tier| tier_reason(view, tier)));
    facts.extend(skipped(view));
    facts.extend(words::tests_change(view).map(|change| format!("  Tests:   {}", joined(&change))));
    facts.extend(words::diff_size(view).map(|size| format!("  Change:  {size}")));
    facts.extend(words::proof_heading(view).map(|heading| format!("  Proof:   {heading}")));
    facts.extend(
        words::proof(view)
            .iter()
            .map(|line| format!("    {} {}", words::proof_sign(line.status), joined(&line.sentence))),
    );
    facts.extend(places(view).into_iter().map(|line| format!("  {line}")));
    facts.extend(words::review_heading(view).map(|heading| format!("  Review:  {}", joined(&heading))));
    facts.extend(words::review_issues(view).iter().map(|issue| format!("    - {}", say(issue))));
    facts.extend(words::advice(view).iter().map(|advice| format!("  Advice:  {}", say(advice))));
    facts.extend(words::handoff(view).iter().map(|text| format!("  Text:    {}", say(text))));
    facts.extend(words::reused(view).iter().map(|reused| format!("  Cache:   {reused}")));
    facts.extend(words::tool_failures(view).iter().map(|failure| format!("  Tool:    {}", say(failure))));
    facts.extend(words::meta(view).iter().map(|block| format!("  Meta:    {}", say(block))));
    facts
        .extend(words::corrections(view).map(|one| format!("  Test:    {}", joined(&words::correction_sentence(one)))));
    facts.extend(words::delivery(view).iter().map(|sentence| format!("  Out:     {}", say(sentence))));
    let commands = words::commands(view);
    facts.extend(commands.iter().take(MAX_BULLETS).map(|sentence| format!("  Asked:   {}", say(sentence))));
    facts.extend(words::leftovers(view, MAX_BULLETS).iter().map(|sentence| format!("  Cleanup: {}", say(sentence))));
    facts.extend(words::billed(view, MAX_BULLETS).iter().map(|sentence| format!("  Billed:  {}", say(sentence))));
    facts.extend(words::side_calls(view).map(|sentence| format!("  Side:    {}", joined(&sentence))));
    if view.budget_cap_hit() && !view.stop_reason().is_empty() {
        facts.push(format!("  Cap:     {}", plain::clipped_line(view.stop_reason(), MAX_SPEECH)));
    }
    facts.extend(words::budget_left(view).map(|left| format!("  Left:    {left}")));
    let warnings = view.warnings.iter().take(MAX_BULLETS);
    facts.extend(warnings.map(|warning| format!("  ! {}", plain::clipped_line(warning, MAX_SPEECH))));
    if let Some(more) = view.warnings.len().checked_sub(MAX_BULLETS).filter(|&more| more > 0) {
        facts.push(format!("  ! {} in the audit log", words::count(words::u64_of(more), "more warning")));
    }
    facts.extend(words::unsettled(view).map(|sentence| format!("  ! {sentence}")));
    let steps: Vec<String> = words::next_steps(view).iter().map(|step| format!("    - {}", say(step))).collect();
    let mut lines = Vec::new();
    if !facts.is_empty() {
        lines.push(String::new());
        lines.append(&mut facts);
    }
    if !steps.is_empty() {
        lines.push(String::new());
        lines.push("  Next:".to_owned());
        lines.extend(steps);
    }
    lines
}

/// Why a tier ended, where it gave a reason that the verdict does not say already.
fn tier_reason(view: &RunView, tier: &TierView) -> Option<String> {
    if matches!(tier.state, TierState::Skipped | TierState::Solved) {
        return None;
    }
    let reason = tier.reason.as_deref().filter(|reason| !reason.trim().is_empty())?;
    // It stands above: told again it would look like a second reason.
    let is_cap = view.budget_cap_hit() && reason == view.stop_reason();
    let said = is_cap || words::is_told(&words::first_line(view), reason);
    (!said).then(|| format!("  Tier {}:  {}", tier.number, joined(&words::why_it_ended(tier))))
}

/// Why tiers were passed over: a line for each reason, with every tier that it holds for.
fn skipped(view: &RunView) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for tier in view.tiers.iter().filter(|tier| tier.state == TierState::Skipped) {
        let reason = tier.reason.as_deref().unwrap_or_default();
        // A refused account skips several tiers for one reason, which is then told once.
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, numbers)) => numbers.push(tier.number.to_string()),
            None => reasons.push((reason, vec![tier.number.to_string()])),
        }
    }
    let line = |(reason, numbers): (&str, Vec<String>)| {
        let word = if numbers.len() == 1 { "Tier" } else { "Tiers" };
        format!("  Skipped: {word} {}: {}", numbers.join(", "), plain::clipped_line(reason, MAX_SPEECH))
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests;
