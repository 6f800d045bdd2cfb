//! Parts of lines: ladders, tiers, counts and what was said.

use crate::domain::attempt::{Attempt, NOTHING_CHANGED, TierExit};
use crate::domain::ladder::Tier;
use crate::domain::leftover::Leftover;
use crate::domain::test_report::RunKind;
use crate::domain::units::human_duration;
use crate::domain::verdict::Verdict;
use crate::report::gist::short_gist;
use crate::report::plain;
use crate::report::style::Tone;
use crate::report::words::{self, count};

const MAX_NAME: usize = 40;
const MAX_SPEECH: usize = 200;
/// Tools that ran at least so many milliseconds have their time shown.
const SLOW_TOOL_MS: u64 = 1_000;
/// So many leftovers are named on a line.
const MOST_LEFT: usize = 5;

/// A correction of tests that a person decides about.
pub(super) fn correction(files: &[String]) -> String {
    format!("a correction of a test is proposed: {}", files.join(", "))
}

/// What became of the hunks of a green change.
pub(super) fn minimised(dropped: u32, kept: u32) -> String {
    let hunks = count(u64::from(dropped), "hunk");
    format!("  Minimised: {hunks} dropped, {kept} kept; the tests pass without them")
}

/// The ladder as the contract prints it: `  Tier 1: local-free   [simple]  ollama/codellama  max 5 iterations`.
pub(super) fn table(tiers: &[Tier]) -> Vec<String> {
    /// The contract's narrowest name column.
    const MIN_NAME: usize = 11;
    const MODE_WIDTH: usize = 8;
    let names: Vec<String> = tiers.iter().map(|tier| name(&tier.name)).collect();
    let models: Vec<String> = tiers.iter().map(first_model).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| plain::width(text)).max().unwrap_or(0);
    let (name_width, model_width) = (widest(&names).max(MIN_NAME), widest(&models));
    let number_width = tiers.len().to_string().len();
    let rows = tiers.iter().zip(&names).zip(&models).zip(1_u32..);
    rows.map(|(((tier, name), model), number)| {
        format!(
            "  Tier {number:>number_width$}: {}  {}  {}  max {}",
            plain::pad(name, name_width),
            plain::pad(&format!("[{}]", tier.mode.as_str()), MODE_WIDTH),
            plain::pad(model, model_width),
            count(u64::from(tier.max_iterations), "iteration")
        )
    })
    .collect()
}

/// Why an iteration failed that names no failing test.
pub(super) fn refused(attempt: &Attempt) -> &'static str {
    match attempt.review.as_deref() {
        Some(review) if review.overruled => "✖ rejected: the critic approved, and named a critical issue",
        Some(review) if !review.approves() => "✖ rejected by the critic",
        None if attempt.is_unreviewed() => "✖ its critic gave no readable review",
        Some(_) | None => "✖ failed",
    }
}

/// The end of a tier. `who` is the tier, after so many iterations, and `lacks_review` says that the last change was not reviewed.
pub(super) fn tier_end(
    (exit, lacks_review): (TierExit, bool),
    (who, after, iterations): (&str, &str, u32),
    reason: Option<&str>,
    because: &str,
) -> (Tone, String) {
    match exit {
        TierExit::Success => (Tone::Good, format!("✔ {who} solved it in iteration {iterations}.")),
        TierExit::IterationsExhausted => (Tone::Bad, format!("✖ {who} exhausted {after} without success.")),
        TierExit::BudgetExhausted => (Tone::Bad, format!("✖ {who} ran out of budget after {after}{because}")),
        TierExit::ProviderError => (Tone::Bad, format!("✖ {who} has no model that can be used{because}")),
        TierExit::EntropyDetected => {
            (Tone::Bad, format!("✖ {who} stalled after {after}: the same error came back again and again."))
        }
        TierExit::NoProgress if reason == Some(NOTHING_CHANGED) => {
            (Tone::Bad, format!("✖ {who} stalled after {after}: {NOTHING_CHANGED}."))
        }
        TierExit::NoProgress => (Tone::Bad, format!("✖ {who} stalled after {after}: the same patch came twice.")),
        TierExit::Blocked => (Tone::Bad, format!("✖ {who} needs a person{because}")),
        TierExit::Objected => {
            let how = if lacks_review { "gave no readable review" } else { "rejects the change" };
            (Tone::Bad, format!("✖ {who}: the tests pass, but the critic {how}{because}"))
        }
        TierExit::Interrupted => (Tone::Bad, format!("✖ {who} was interrupted after {after}.")),
    }
}

/// `mid-grade  [simple, anthropic/claude-haiku-4-5]`.
pub(super) fn headline(tier: &Tier) -> String {
    format!("{}  [{}, {}]", name(&tier.name), tier.mode.as_str(), first_model(tier))
}

fn first_model(tier: &Tier) -> String {
    tier.artisan.first().map(|target| model(&target.to_string())).unwrap_or_default()
}

/// A model as people know it: `anthropic/claude-haiku-5-5`. For a recording, its own name.
pub(super) fn model(target: &str) -> String {
    match target.strip_prefix("cassette/") {
        Some(path) => {
            // `cassette/demo#anthropic/claude-haiku-4-5` is a recording of that model.
            let recorded = path.rsplit_once('#').map_or(path, |(_, model)| model);
            format!("{} (recorded)", name(recorded))
        }
        None => name(target),
    }
}

pub(super) fn name(text: &str) -> String {
    plain::clipped_line(text, MAX_NAME)
}

pub(super) fn speech(text: &str) -> String {
    plain::clipped_line(text, MAX_SPEECH)
}

/// An error that came again: what it says at its end tells it from others.
pub(super) fn repeated(signature: &str) -> String {
    short_gist(signature, MAX_SPEECH)
}

/// A tool's call, with its time where that was long.
pub(super) fn tool(who: &str, tool: &str, subject: &str, duration_ms: u64) -> String {
    let time = if duration_ms >= SLOW_TOOL_MS { format!("  ({})", human_duration(duration_ms)) } else { String::new() };
    let line = format!("    {}: {} {}", plain::line(who), plain::line(tool), speech(subject));
    format!("{}{time}", line.trim_end())
}

/// The same of a call that failed. Older logs hold no reason.
pub(super) fn failed(line: &str, why: &str) -> String {
    let why = if why.is_empty() { String::new() } else { format!(": {}", speech(why)) };
    format!("{line}  ✖ failed{why}")
}

pub(super) fn session_finished(who: &str, turns: u32, result: &str, summary: &str) -> String {
    let summary = if summary.trim().is_empty() { String::new() } else { format!(": {}", speech(summary)) };
    let result = speech(&result.replace('_', " "));
    format!("    {}: {result} after {}{summary}", plain::line(who), count(u64::from(turns), "turn"))
}

pub(super) fn cap_name(dimension: &str) -> &str {
    match dimension {
        "cost" => "cost cap",
        "iterations" => "iteration cap",
        "duration" => "time cap",
        _ => "budget",
    }
}

pub(super) fn verdict_tone(verdict: &Verdict) -> Tone {
    match verdict {
        Verdict::Green => Tone::Good,
        Verdict::Red { .. } | Verdict::Broken { .. } | Verdict::Tampered { .. } => Tone::Bad,
    }
}

/// `, 1 failing (2 fixed), 39 passing`, or why there are no counts.
pub(super) fn counts(kind: RunKind, failed: u64, fixed: Option<u64>, passed: u64) -> String {
    if let Some(trouble) = words::trouble(kind) {
        return format!(", {trouble}");
    }
    let failing = match (failed, fixed) {
        (0, None) => String::new(),
        (0, Some(fixed)) => format!(", {fixed} fixed"),
        (failed, None) => format!(", {failed} failing"),
        (failed, Some(fixed)) => format!(", {failed} failing ({fixed} fixed)"),
    };
    format!("{failing}, {passed} passing")
}

/// `green` as `Green`.
pub(super) fn sentence_case(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Leftovers that tools run unasked, and their fate.
pub(super) fn leftovers(leftovers: &[Leftover], more: u32) -> String {
    let one = |left: &Leftover| format!("{} ({}) {}", left.path, left.kind.in_words(), left.fate.in_words());
    let mut parts: Vec<String> = leftovers.iter().take(MOST_LEFT).map(one).collect();
    let rest = words::u64_of(leftovers.len().saturating_sub(MOST_LEFT)) + u64::from(more);
    if rest > 0 {
        parts.push(format!("and {rest} more"));
    }
    format!("left for git, shells or editors to run: {}", parts.join(", "))
}
