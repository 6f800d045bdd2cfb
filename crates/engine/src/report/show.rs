//! A look into a run: for each iteration what the model was told and answered, what the tests printed, what was changed.

use super::conversation::{Entry, Kept};
use super::gist::short_gist;
use super::plain;
use super::style::{Style, Tone};
use super::view::{Ending, RunView};
use super::words::Piece;
use super::{patch, words};
use crate::domain::attempt::Attempt;
use crate::domain::event::Event;
use crate::domain::ladder::Role;
use crate::domain::meta::MetaReported;
use crate::domain::shell::quote_path;

/// The longest line of a listing, in columns.
const MAX_LINE: usize = 160;
/// The most columns of an error: what mends it stands at its end.
const MAX_ERROR: usize = 600;

/// One iteration, with the ids of its sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Zero-based tier.
    pub tier_index: u32,
    /// One-based iteration within the tier.
    pub iteration: u32,
    /// Its row. `None` when it did not finish.
    pub attempt: Option<Attempt>,
    /// Its sessions in order: who spoke, and the id.
    pub sessions: Vec<(Role, String)>,
    /// The blocks of data that they gave, and those that are missing.
    pub meta: Vec<MetaReported>,
}

/// The details that the log holds of an iteration beside its row. `None` where it holds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Details {
    /// Conversations as JSON, in the order of the sessions.
    pub conversations: Vec<String>,
    /// The output of the tests when the change was judged.
    pub tests: Option<String>,
    /// The whole change since the start.
    pub patch: Option<String>,
    /// Why the log could not be read. `None` where it was.
    pub trouble: Option<String>,
}

/// The iterations of a run, in order.
#[must_use]
pub fn steps(events: &[Event]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for event in events {
        if let Event::IterationStarted { tier_index, iteration, .. } = event {
            let (tier_index, iteration) = (*tier_index, *iteration);
            steps.push(Step { tier_index, iteration, attempt: None, sessions: Vec::new(), meta: Vec::new() });
        }
        // Sessions before the first iteration belong to none.
        let Some(last) = steps.last_mut() else { continue };
        if let Event::SessionStarted { role, session_id, .. } = event {
            last.sessions.push((*role, session_id.clone()));
        }
        if let Event::MetaReported(meta) = event {
            // The last word of a session counts.
            last.meta.retain(|earlier| earlier.session_id != meta.session_id);
            last.meta.push(meta.clone());
        }
        if let Event::IterationFinished(attempt) = event {
            last.attempt = Some(attempt.clone());
        }
    }
    steps
}

/// An iteration in a few lines.
#[must_use]
pub fn heading(view: &RunView, step: &Step, style: Style) -> String {
    let tier =
        view.tier(step.tier_index).map(|tier| plain::clipped_line(&tier.tier.name, MAX_LINE)).unwrap_or_default();
    let title = format!("Tier {} ({tier}), iteration {}", step.tier_index.saturating_add(1), step.iteration);
    let mut lines = vec![style.paint(Tone::Heading, &title)];
    match &step.attempt {
        None if view.ending == Ending::Running => lines.push("  it is under way".to_owned()),
        None => lines.push("  it did not finish".to_owned()),
        Some(attempt) => {
            let tests = words::tests_of(attempt);
            lines.push(format!(
                "  {}  |  {tests}  |  {}  |  {}  |  {}",
                attempt.test_status.as_str(),
                attempt.charge(),
                crate::domain::units::human_duration(attempt.duration_ms),
                plain::clipped_line(&attempt.model_artisan, MAX_LINE),
            ));
            let summary = &attempt.code_change_summary;
            // The line below says why.
            let summary = match summary.split_once(". ") {
                Some((change, why)) if attempt.error_messages.iter().any(|error| why.contains(error.as_str())) => {
                    change
                }
                _ => summary,
            };
            lines.push(format!("  {}", plain::clipped_line(summary, MAX_LINE)));
            let errors = attempt.error_messages.iter().map(|error| format!("  - {}", short_gist(error, MAX_ERROR)));
            lines.extend(errors);
        }
    }
    let shown = |piece: &Piece| match piece {
        Piece::Ours(text) | Piece::Name(text) | Piece::Code(text) | Piece::Speech(text) | Piece::Advice(text) => {
            plain::clipped_line(text, MAX_LINE)
        }
    };
    lines.extend(words::meta_of(&step.meta).iter().map(|sentence| format!("  META {}", sentence.render(shown))));
    lines.join("\n") + "\n"
}

/// The output of an iteration's tests. It says so where the log holds none.
#[must_use]
pub fn tests(details: &Details) -> String {
    details
        .tests
        .as_deref()
        .map_or_else(|| "  The log has no output of its tests.\n".to_owned(), |output| indented(&plain::block(output)))
}

/// The change of an iteration.
#[must_use]
pub fn change(details: &Details, style: Style) -> String {
    match details.patch.as_deref().filter(|patch| !patch.trim().is_empty()) {
        Some(text) => patch::render_whole(text, style),
        None => "  The log has no change of it.\n".to_owned(),
    }
}

/// The raw streams of an iteration, ready to be read. Empty where none is kept here.
#[must_use]
pub fn raw(paths: &[String]) -> String {
    let commands = paths.iter().map(|path| format!("    gunzip -c {}\n", quote_path(path)));
    if paths.is_empty() { String::new() } else { format!("  Raw, as it came:\n{}", commands.collect::<String>()) }
}

/// The change with which the run ended.
#[must_use]
pub fn last_change(patch: Option<&str>, is_mended: bool, style: Style) -> String {
    let title = if is_mended { "The change in the end" } else { "The change that was kept (the failure is not fixed)" };
    let title = style.paint(Tone::Heading, title);
    let text = patch.filter(|patch| !patch.trim().is_empty());
    let shown = text.map_or_else(|| "  The log has none.\n".to_owned(), |text| patch::render_whole(text, style));
    format!("{title}\n{shown}")
}

/// The conversations of an iteration.
#[must_use]
pub fn conversations(details: &Details, style: Style) -> String {
    if details.conversations.is_empty() {
        return "  The log has no conversation of it.\n".to_owned();
    }
    details.conversations.iter().map(|body| conversation(body, style)).collect()
}

fn conversation(body: &str, style: Style) -> String {
    let kept = match Kept::read(body) {
        Ok(kept) => kept,
        // One that cannot be read does not hide the others.
        Err(error) => return format!("  A conversation in the log cannot be read: {error}\n"),
    };
    let mut out = speech("upshift, instructions", &kept.system, style);
    for entry in &kept.entries {
        match entry {
            Entry::Ours { text } => out.push_str(&speech("upshift", text, style)),
            Entry::Theirs { target, text, calls } => {
                let who = format!("{} ({})", kept.role.as_str(), plain::clipped_line(&target.model, MAX_LINE));
                out.push_str(&speech(&who, text, style));
                for call in calls {
                    out.push_str(&speech(
                        &format!("{who} calls {}", plain::line(&call.name)),
                        &call.arguments.to_string(),
                        style,
                    ));
                }
            }
            Entry::Results { results, note } => {
                for result in results {
                    let ended = if result.is_error { "failed" } else { "ok" };
                    out.push_str(&speech(&format!("{}, {ended}", plain::line(&result.name)), &result.content, style));
                }
                out.push_str(&speech("upshift", note, style));
            }
        }
    }
    if let Some(own) = &kept.own_account {
        out.push_str(&format!("  ({})\n", own.sentence()));
    }
    out.push_str(&format!("  ({} ended: {})\n", kept.role.as_str(), plain::line(&kept.result)));
    out
}

fn speech(who: &str, text: &str, style: Style) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    format!("  {}\n{}", style.paint(Tone::Notice, &format!("{who}:")), indented(&plain::block(text)))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixtures;

    #[test]
    fn every_iteration_is_found_with_its_row() {
        let script = fixtures::fixed();
        let steps = steps(&script.events);
        let rows: Vec<(u32, u32, bool)> =
            steps.iter().map(|step| (step.tier_index, step.iteration, step.attempt.is_some())).collect();
        assert_eq!(rows.len(), 7);
        assert_eq!(rows.last(), Some(&(1, 2, true)));
        let text = heading(&script.view(), steps.last().unwrap(), Style::Plain);
        assert!(
            text.starts_with("Tier 2 (mid-grade), iteration 2\n  passed  |  0 failing tests  |  $0.0005  |  "),
            "{text}"
        );
    }

    #[test]
    fn what_a_conversation_holds_reaches_the_terminal_harmless() {
        let body = serde_json::json!({
            "role": "artisan", "system": "You repair", "result": "done",
            "entries": [
                { "entry": "ours", "text": "FAILING \u{1b}[2Jtests" },
                { "entry": "theirs", "target": "a/m", "text": "", "calls": [
                    { "id": "1", "name": "read_file", "arguments": { "path": "a.py" } } ] },
                { "entry": "results", "results": [
                    { "call_id": "1", "name": "read_file", "content": "::error::x", "is_error": false } ], "note": "" },
            ],
        });
        let details = Details { conversations: vec![body.to_string()], ..Details::default() };
        let text = conversations(&details, Style::Plain);
        assert_eq!(
            text,
            "  upshift, instructions:\n    You repair\n  upshift:\n    FAILING tests\n  artisan (m) calls read_file:\n    \
             {\"path\":\"a.py\"}\n  read_file, ok:\n    \u{200b}::error::x\n  (artisan ended: done)\n"
        );
        let broken = Details { conversations: vec!["{".to_owned()], ..Details::default() };
        assert!(conversations(&broken, Style::Plain).contains("cannot be read"));
        assert!(tests(&Details::default()).contains("no output"));
    }
}
