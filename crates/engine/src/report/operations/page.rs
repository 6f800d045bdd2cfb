//! The tree of operations as one HTML page that stands alone: no script, no network.
//!
//! Invariants: foreign text passes [`plain`] and is escaped by the template. No more than [`MOST`] operations are shown, and the page says
//! where the rest is.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Kind, Operation, children};
use crate::domain::units::human_duration;
use crate::report::html::{POLICY, STYLE};
use crate::report::plain;

/// The most operations on a page: a browser unfolds them without a pause.
pub const MOST: usize = 5_000;
/// The widest name or attribute.
const MAX_TEXT: usize = 160;
/// Bars of time, beside the style of the report.
const BARS: &str = ".op{margin-left:1rem}.op>summary{display:grid;grid-template-columns:minmax(12rem,24rem) 1fr 6rem;gap:.6rem;\
align-items:center}.op>summary::before{content:none}.bar{display:block;height:.7rem;width:100%}.bar rect{fill:var(--accent)}\
.bad>summary .bar rect{fill:var(--bad)}.op dl{margin:.2rem 0 .4rem 1rem;font-size:.8rem}.op dt{color:var(--faint)}";

/// Renders the page.
#[must_use]
pub fn render(run_id: &str, operations: &[Operation]) -> String {
    let below = children(operations);
    let begin = operations.first().map_or(0, |run| run.begin_ms);
    let last = operations.iter().filter_map(|one| one.end_ms).max().unwrap_or(begin);
    // At least one millisecond, since all widths are divided by it.
    let frame = Frame { operations, below: &below, begin, whole: last.saturating_sub(begin).max(1) };
    let title = format!("Trace of run {}", plain::clipped_line(run_id, MAX_TEXT));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                meta name="robots" content="noindex";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(BARS)) }
            }
            body {
                header { h1 { (title) } }
                main {
                    @if operations.is_empty() { p { "The log has no operation of it." } } @else { (frame.branch(0)) }
                    @if operations.len() > MOST {
                        p.faint { "Shown are " (MOST) " of " (operations.len()) " operations. All of them: " code { "upshift trace --format json" } }
                    }
                }
            }
        }
    };
    page.into_string() + "\n"
}

/// The frame of time in which operations are drawn.
struct Frame<'a> {
    operations: &'a [Operation],
    below: &'a [Vec<usize>],
    begin: u64,
    whole: u64,
}

impl Frame<'_> {
    fn branch(&self, index: usize) -> Markup {
        // By its place: parents stand before their children, so what is shown hangs together.
        let Some(operation) = self.operations.get(index).filter(|_| index < MOST) else { return html! {} };
        let open = matches!(operation.kind, Kind::Run | Kind::Tier | Kind::Iteration);
        let class = if operation.ok == Some(false) { "op bad" } else { "op" };
        html! {
            details class=(class) open[open] {
                summary {
                    span { (plain::clipped_line(&operation.name, MAX_TEXT)) @if !operation.exit.is_empty() { " " code { (plain::line(&operation.exit)) } } }
                    (self.bar(operation))
                    span.faint { (lasted(operation)) }
                }
                @if !operation.attributes.is_empty() {
                    dl {
                        @for (key, value) in &operation.attributes {
                            dt { (plain::clipped_line(key, MAX_TEXT)) } dd { code { (plain::clipped_line(&bare(value), MAX_TEXT)) } }
                        }
                    }
                }
                @for child in self.below.get(index).into_iter().flatten() { (self.branch(*child)) }
            }
        }
    }

    /// The time of an operation within the run's, in thousandths.
    fn bar(&self, operation: &Operation) -> Markup {
        let at = |ms: u64| ms.saturating_sub(self.begin).min(self.whole).saturating_mul(1_000) / self.whole;
        let from = at(operation.begin_ms);
        // One without an end reaches to the right edge. Nothing is narrower than can be seen.
        let width = operation.end_ms.map_or(1_000, at).saturating_sub(from).max(2);
        html! { svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" { rect x=(from) y="0" width=(width) height="10" {} } }
    }
}

fn lasted(operation: &Operation) -> String {
    operation.end_ms.map_or_else(|| "open".to_owned(), |end| human_duration(end.saturating_sub(operation.begin_ms)))
}

fn bare(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
