//! The report as one HTML page: what a person opens who wants to see a run whole.
//!
//! The page stands alone: no script, no network, one style sheet inside. Its parts are `summary` (the verdict and what was had for it),
//! `timeline` (the ladder over time and money) and `iterations` (each to unfold, with conversation, tests and change).
//!
//! Invariants: foreign text passes [`plain`] and is escaped by the template. The page forbids itself to load anything. It never grows past
//! [`MAX_BYTES`] of foreign text, and says where the rest is found.

mod iterations;
mod pieces;
mod room;
mod summary;
mod timeline;

use maud::{DOCTYPE, PreEscaped, html};

use self::room::Room;
use super::plain;
use super::show::{Details, Step};
use super::view::RunView;
use super::words;
use crate::domain::event::Event;

/// The most foreign text on a page, in bytes: a browser opens it at once, and an artifact stays small.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Colours, type and spacing, for light and dark, for a phone and a desk.
pub(super) const STYLE: &str = include_str!("html/style.css");
/// The content security policy of the page. It may load nothing but the style in it.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Everything that a page shows.
#[derive(Debug)]
pub struct Page<'a> {
    /// The run.
    pub view: &'a RunView,
    /// Its events, for the order of things in time.
    pub events: &'a [Event],
    /// Its iterations, each with what the log holds of it.
    pub steps: &'a [(Step, Details)],
    /// The whole change, as a unified diff. Empty where there is none or it is not known.
    pub patch: &'a str,
}

/// Renders the page.
#[must_use]
pub fn render(page: &Page<'_>) -> String {
    // One room for the whole page: what stands higher takes its part first.
    let room = Room::of(MAX_BYTES);
    let (mark, sentence) = words::headline(page.view);
    let title = format!("{} {}", mark.sign(), super::text::say(&sentence));
    let body = html! {
        header { (summary::header(page.view)) }
        main {
            (summary::attention(page.view))
            (summary::ladder(page.view))
            (timeline::section(page.view, page.events))
            (summary::tests(page.view))
            (summary::facts(page.view))
            (iterations::change(page.view, page.patch, &room))
            (iterations::section(page.view, page.steps, &room))
            (summary::next(page.view))
        }
        footer { p { "upshift " (env!("CARGO_PKG_VERSION")) ". Text of models, tests and repositories is shown as it was, without secrets." } }
    };
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (plain::line(&title)) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    whole.into_string() + "\n"
}

#[cfg(test)]
mod tests;
