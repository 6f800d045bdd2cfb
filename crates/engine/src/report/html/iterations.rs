//! Iterations to unfold: the conversation, what the tests printed, what was changed.

use maud::{Markup, html};

use super::pieces::{self, diff};
use super::room::Room;
use crate::domain::attempt::{Attempt, AttemptStatus};
use crate::domain::units::human_duration;
use crate::report::conversation::{Entry, Kept};
use crate::report::gist::gist;
use crate::report::plain;
use crate::report::show::{Details, Step};
use crate::report::view::RunView;
use crate::report::words;

/// A change of no more lines is shown open.
const OPEN_CHANGE: usize = 80;
/// The widest line of a summary.
const MAX_LINE: usize = 160;

/// The change of the run as a whole.
pub(super) fn change(view: &RunView, patch: &str, room: &Room) -> Markup {
    let which = if view.unjudged_patch().is_some() {
        "What the model had changed when the run ended: it was not judged, and is not in the files"
    } else if view.best_patch().is_none() && view.refused_patch().is_some() {
        "The change whose green was refused, which is not in the files"
    } else if view.best_patch().is_some() && !view.passes_with_change() {
        "The best attempt, which is not in the files"
    } else if view.is_kept_pushed() {
        "The whole change, which is pushed and not in the files here"
    } else if view.kept().is_some() {
        "The whole change, which is not in the files"
    } else {
        "The whole change"
    };
    let content = (!patch.trim().is_empty()).then(|| match room.take(patch) {
        Some(text) => {
            html! { details open[text.lines().count() <= OPEN_CHANGE] { summary { (which) } (diff(&text)) } }
        }
        None => left_out("--patch"),
    });
    pieces::section("change", "Change", content)
}

/// Every iteration, in order.
pub(super) fn section(view: &RunView, steps: &[(Step, Details)], room: &Room) -> Markup {
    let all =
        (!steps.is_empty()).then(|| html! { @for (step, details) in steps { (iteration(view, step, details, room)) } });
    pieces::section("iterations", "Iterations", all)
}

fn iteration(view: &RunView, step: &Step, details: &Details, room: &Room) -> Markup {
    let tier =
        view.tier(step.tier_index).map(|tier| plain::clipped_line(&tier.tier.name, MAX_LINE)).unwrap_or_default();
    let anchor = format!("t{}i{}", step.tier_index.saturating_add(1), step.iteration);
    html! {
        details id=(anchor) class={ "iteration " (class_of(step.attempt.as_ref())) } {
            summary {
                "Tier " (step.tier_index.saturating_add(1)) " " b { (tier) } ", iteration " (step.iteration)
                @match &step.attempt {
                    None => { " · it did not finish" },
                    Some(attempt) => { " · " (figures(attempt)) },
                }
            }
            @if let Some(attempt) = &step.attempt { (row(attempt)) }
            @if let Some(trouble) = &details.trouble {
                p.faint { "Its conversation, its tests and its change could not be read from the log: " (plain::line(trouble)) }
            } @else {
                (conversations(details, room))
                (block("What the tests printed", details.tests.as_deref(), "--tests", room))
                (change_of(details, room))
            }
        }
    }
}

fn class_of(attempt: Option<&Attempt>) -> &'static str {
    match attempt.map(|attempt| attempt.test_status) {
        Some(AttemptStatus::Passed) => "good",
        Some(AttemptStatus::Failed) => "bad",
        Some(AttemptStatus::Error) | None => "notice",
    }
}

fn figures(attempt: &Attempt) -> Markup {
    html! {
        (attempt.test_status.as_str()) " · "
        (words::tests_of(attempt)) " · "
        (attempt.charge().to_string()) " · " (human_duration(attempt.duration_ms))
    }
}

fn row(attempt: &Attempt) -> Markup {
    // The reason why there is no change may be the error itself.
    let is_new = |error: &&String| !attempt.code_change_summary.contains(error.as_str());
    let errors: Vec<&String> = attempt.error_messages.iter().filter(is_new).collect();
    html! {
        p { (plain::line(&attempt.code_change_summary)) }
        @if !errors.is_empty() {
            ul { @for error in errors { li { code { (plain::line(&gist(error))) } } } }
        }
        p.faint { code { (plain::clipped_line(&attempt.model_artisan, MAX_LINE)) } " · " (plain::line(&attempt.timestamp.for_people())) }
    }
}

fn conversations(details: &Details, room: &Room) -> Markup {
    html! {
        @for body in &details.conversations {
            @match Kept::read(body) {
                Ok(kept) => details {
                    summary { "Conversation with the " (kept.role.as_str()) }
                    (conversation(&kept, room))
                },
                Err(error) => p { "A conversation in the log cannot be read: " (plain::line(&error.to_string())) },
            }
        }
    }
}

fn conversation(kept: &Kept, room: &Room) -> Markup {
    html! {
        (speech("ours", "upshift, instructions", &kept.system, room))
        @for entry in &kept.entries {
            @match entry {
                Entry::Ours { text } => (speech("ours", "upshift", text, room)),
                Entry::Theirs { target, text, calls } => {
                    @let who = format!("{} ({})", kept.role.as_str(), plain::clipped_line(&target.model, MAX_LINE));
                    (speech("theirs", &who, text, room))
                    @for call in calls {
                        (speech("call", &format!("{who} calls {}", plain::line(&call.name)), &arguments(&call.arguments), room))
                    }
                },
                Entry::Results { results, note } => {
                    @for result in results {
                        @let ended = if result.is_error { "failed" } else { "ok" };
                        (speech("result", &format!("{}, {ended}", plain::line(&result.name)), &result.content, room))
                    }
                    (speech("ours", "upshift", note, room))
                },
            }
        }
        @if let Some(own) = &kept.own_account { p.faint { (own.sentence()) } }
        p.faint { "The " (kept.role.as_str()) " ended: " (plain::line(&kept.result)) }
    }
}

/// Arguments of a tool as a person reads them: texts with their line breaks.
fn arguments(arguments: &serde_json::Value) -> String {
    let Some(map) = arguments.as_object() else { return arguments.to_string() };
    let line = |(name, value): (&String, &serde_json::Value)| match value.as_str() {
        // A file's content as JSON would be one line of `\n`.
        Some(text) if text.contains('\n') => format!("{name}:\n{text}"),
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    };
    map.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn speech(class: &str, who: &str, text: &str, room: &Room) -> Markup {
    /// A speech of more lines is folded.
    const OPEN_LINES: usize = 12;
    if text.trim().is_empty() {
        // A model may answer with calls alone, and an empty box would look like a lost text.
        return html! {};
    }
    let Some(text) = room.take(text) else { return left_out("--conversation") };
    html! {
        @if text.lines().count() > OPEN_LINES {
            details class={ "speech " (class) } { summary { (who) span.faint { " · " (text.lines().count()) " lines" } } pre { (text) } }
        } @else {
            div class={ "speech " (class) } { p { (who) } pre { (text) } }
        }
    }
}

fn change_of(details: &Details, room: &Room) -> Markup {
    let patch = details.patch.as_deref().filter(|patch| !patch.trim().is_empty());
    html! {
        @match patch.map(|patch| room.take(patch)) {
            None => p.faint { "The log has no change of it." },
            Some(None) => (left_out("--patch")),
            Some(Some(text)) => details { summary { "The change since the start" } (diff(&text)) },
        }
    }
}

fn block(title: &str, text: Option<&str>, flag: &str, room: &Room) -> Markup {
    html! {
        @match text.map(|text| room.take(text)) {
            None => p.faint { "The log has no output of its tests." },
            Some(None) => (left_out(flag)),
            Some(Some(text)) => details { summary { (title) } pre { (text) } },
        }
    }
}

fn left_out(flag: &str) -> Markup {
    html! { p.faint { "Left out to keep this page small: " code { "upshift show RUN --tier N --iteration N " (flag) } } }
}
