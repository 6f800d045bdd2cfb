//! Pieces of a page: sentences, lists and blocks in which foreign text is shown and never interpreted.

use maud::{Markup, html};

use crate::report::patch::{self, Part};
use crate::report::plain;
use crate::report::words::{Piece, Sentence};

/// Names wider than this are cut.
const MAX_NAME: usize = 80;
/// Speech of a model or a test inside a sentence is cut here.
const MAX_SPEECH: usize = 1_000;

/// A sentence. Its foreign text stands in an element that says so.
pub(super) fn say(sentence: &Sentence) -> Markup {
    html! {
        @for piece in &sentence.0 {
            @match piece {
                Piece::Ours(text) => (text),
                Piece::Name(name) => b { (plain::clipped_line(name, MAX_NAME)) },
                Piece::Code(code) => code { (plain::command(code)) },
                Piece::Speech(speech) => q { (plain::clipped_line(speech, MAX_SPEECH)) },
                Piece::Advice(advice) => (plain::clipped_line(advice, MAX_SPEECH)),
            }
        }
    }
}

/// A section with a heading. Empty where it has no content.
pub(super) fn section(id: &str, heading: &str, content: Option<Markup>) -> Markup {
    html! {
        @if let Some(content) = content {
            section id=(id) { h2 { (heading) } (content) }
        }
    }
}

/// A list of sentences. `None` for none.
pub(super) fn list(sentences: &[Sentence]) -> Option<Markup> {
    (!sentences.is_empty()).then(|| html! { ul { @for sentence in sentences { li { (say(sentence)) } } } })
}

/// A foldable list of names.
pub(super) fn names(title: &str, names: &[&str]) -> Markup {
    const OPEN: usize = 10;
    html! {
        @if !names.is_empty() {
            details open[names.len() <= OPEN] {
                summary { (title) " (" (names.len()) ")" }
                ul.names { @for name in names { li { code { (plain::line(name)) } } } }
            }
        }
    }
}

/// A unified diff, line by line.
pub(super) fn diff(text: &str) -> Markup {
    html! {
        pre.diff {
            @for (line, part) in patch::parts(text) {
                span class=[class_of(line, part)] { (line) "\n" }
            }
        }
    }
}

fn class_of(line: &str, part: Part) -> Option<&'static str> {
    match part {
        Part::Head => ["+++ ", "--- ", "diff --git "].iter().any(|start| line.starts_with(start)).then_some("file"),
        Part::Hunk => Some("hunk"),
        Part::Added => Some("added"),
        Part::Removed => Some("removed"),
        Part::Kept => None,
    }
}
