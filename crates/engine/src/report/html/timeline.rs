//! The ladder over time: a line of money, and under it a lane a tier with its iterations.
//!
//! Time of waiting is drawn short: a run that waits an hour for CI would else be a line and a dot.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::pieces;
use crate::domain::attempt::AttemptStatus;
use crate::domain::event::Event;
use crate::domain::units::{MicroUsd, human_duration};
use crate::report::plain;
use crate::report::view::RunView;

/// The drawing's width, in its own units. The page stretches it.
const WIDTH: f64 = 1_000.0;
/// The height of the money's part.
const HEIGHT: f64 = 100.0;
/// A wait is drawn at most this wide, as a part of the time at work.
const MAX_WAIT: f64 = 0.06;
/// No iteration is drawn narrower.
const MIN_BAR: f64 = 4.0;

/// A span of time, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    from: u64,
    to: u64,
}

/// The data that is drawn, over time.
#[derive(Debug, Default, PartialEq, Eq)]
struct Course {
    began: u64,
    ended: u64,
    /// The total spent, each time a call was settled.
    money: Vec<(u64, MicroUsd)>,
    /// Iterations by tier: when, how they ended, which.
    lanes: BTreeMap<u32, Vec<(Span, AttemptStatus, u32)>>,
    /// Waits for CI and the like.
    waits: Vec<Span>,
    /// Whether it waited for a limit of its models, which is no work either.
    for_models: bool,
}

/// The section. Empty where no iteration ended or the log has no times.
pub(super) fn section(view: &RunView, events: &[Event]) -> Markup {
    let course = Course::of(view, events);
    let drawn = course.filter(|course| !course.lanes.is_empty()).map(|course| draw(view, &course));
    pieces::section("timeline", "Time and money", drawn)
}

impl Course {
    fn of(view: &RunView, events: &[Event]) -> Option<Self> {
        let began = view.run.as_ref()?.started_at.unix_ms()?;
        let mut course = Self { began, ended: began, ..Self::default() };
        let mut open: BTreeMap<&str, u64> = BTreeMap::new();
        let mut spent = MicroUsd::ZERO;
        for event in events {
            if let Event::CallSettled(receipt) = event {
                // With the part that is not known, as the budget counts it.
                spent = MicroUsd(spent.0.saturating_add(receipt.charge().total().0));
                course.money.extend(receipt.timestamp.unix_ms().map(|at| (at, spent)));
            }
            if let Event::IterationFinished(attempt) = event
                && let Some(to) = attempt.timestamp.unix_ms()
            {
                // A row knows its end and how long it took. After a clock that jumped, its begin may lie before the
                // run's.
                let span = Span { from: to.saturating_sub(attempt.duration_ms).max(began), to };
                course.lanes.entry(attempt.tier_index).or_default().push((
                    span,
                    attempt.test_status,
                    attempt.iteration,
                ));
            }
            if let Event::BreakpointReached { key, at, .. } = event {
                open.extend(at.unix_ms().map(|at| (key.as_str(), at)));
            }
            if let Event::BreakpointCleared { key, at, .. } = event
                && let (Some(from), Some(to)) = (open.remove(key.as_str()), at.unix_ms())
            {
                course.waits.push(Span { from, to });
            }
            course.for_models |= matches!(event, Event::ModelsUnavailable { wait_ms: Some(1..), .. });
            if let Event::RunFinished(finished) = event {
                course.ended = finished.finished_at.unix_ms().unwrap_or(course.ended);
            }
        }
        let last = course.lanes.values().flatten().map(|(span, ..)| span.to);
        // A run that died has no end of its own: the last thing that it paid or did stands for it.
        let last = last.chain(course.money.iter().map(|(at, _)| *at)).max().unwrap_or(course.ended);
        course.ended = course.ended.max(last);
        Some(course)
    }

    /// Where a moment stands, from 0 to [`WIDTH`].
    fn x(&self, at: u64) -> f64 {
        let work = self.ended.saturating_sub(self.began).saturating_sub(self.waits.iter().map(Span::length).sum());
        let most = (number(work) * MAX_WAIT).max(1.0);
        let drawn = |until: u64| {
            let waited: u64 = self.waits.iter().map(|wait| wait.until(until)).sum();
            let shown: f64 = self.waits.iter().map(|wait| shortened(*wait, until, most)).sum();
            number(until.saturating_sub(self.began).saturating_sub(waited)) + shown
        };
        // A run of no time at all must not divide by zero.
        let whole = drawn(self.ended).max(1.0);
        (drawn(at.clamp(self.began, self.ended)) / whole).clamp(0.0, 1.0) * WIDTH
    }
}

impl Span {
    fn length(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// So much of it lies before a moment.
    fn until(&self, at: u64) -> u64 {
        at.clamp(self.from, self.to.max(self.from)).saturating_sub(self.from)
    }
}

/// A wait's drawn length up to a moment.
fn shortened(wait: Span, until: u64, most: f64) -> f64 {
    let whole = number(wait.length());
    if whole <= 0.0 { 0.0 } else { number(wait.until(until)) * (whole.min(most) / whole) }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a run and its micro-dollars are far below 2^53")]
const fn number(value: u64) -> f64 {
    value as f64
}

fn draw(view: &RunView, course: &Course) -> Markup {
    let total = course.money.last().map_or(MicroUsd::ZERO, |(_, spent)| *spent);
    let said = format!(
        "{} over {}, {} of it at work; {}",
        view.spent.charge(),
        human_duration(course.ended.saturating_sub(course.began)),
        human_duration(view.spent.active_ms),
        match (course.waits.is_empty(), view.invocations) {
            (false, _) => "the grey bands are waits, drawn short",
            (true, _) if course.for_models => "in between it waited for its models",
            (true, 0 | 1) => "no waiting",
            (true, _) => "it waited between two processes",
        }
    );
    html! {
        p.faint { (said) "." }
        figure {
            @if total > MicroUsd::ZERO { (money(course, total)) }
            @for (tier_index, bars) in &course.lanes {
                div.lane {
                    span.label {
                        (tier_index.saturating_add(1)) " "
                        (view.tier(*tier_index).map(|tier| plain::clipped_line(&tier.tier.name, 24)).unwrap_or_default())
                    }
                    (lane(course, *tier_index, bars))
                }
            }
        }
    }
}

/// The line of money, stretched to the figure's width.
fn money(course: &Course, total: MicroUsd) -> Markup {
    let mut points = vec![format!("0,{HEIGHT}")];
    let mut level = HEIGHT;
    for (at, spent) in &course.money {
        let (x, y) = (course.x(*at), HEIGHT - HEIGHT * number(spent.0) / number(total.0.max(1)));
        // Steps, not slopes: money is spent at the moment when a call is settled.
        points.push(format!("{x:.1},{level:.1}"));
        points.push(format!("{x:.1},{y:.1}"));
        level = y;
    }
    points.push(format!("{WIDTH},{level:.1}"));
    html! {
        div.lane {
            span.label { "money, to " (total) }
            svg.money viewBox=(format!("0 -2 {WIDTH} {}", HEIGHT + 4.0)) preserveAspectRatio="none" role="img" aria-label=(format!("Money spent over time, to {total}")) {
                (waits(course, HEIGHT))
                polyline points=(points.join(" ")) vector-effect="non-scaling-stroke" {}
            }
        }
    }
}

fn lane(course: &Course, tier_index: u32, bars: &[(Span, AttemptStatus, u32)]) -> Markup {
    const LANE: f64 = 20.0;
    html! {
        svg.bars viewBox=(format!("0 0 {WIDTH} {LANE}")) preserveAspectRatio="none" role="img" aria-label=(format!("Iterations of tier {} over time", tier_index.saturating_add(1))) {
            (waits(course, LANE))
            @for (span, status, iteration) in bars {
                @let (from, to) = (course.x(span.from), course.x(span.to));
                a href=(format!("#t{}i{iteration}", tier_index.saturating_add(1))) {
                    rect class=(class_of(*status)) x=(format!("{from:.1}")) y="0" width=(format!("{:.1}", (to - from - 1.0).max(MIN_BAR))) height=(LANE) {
                        title { "iteration " (iteration) ": " (status.as_str()) ", " (human_duration(span.length())) }
                    }
                }
            }
        }
    }
}

fn waits(course: &Course, height: f64) -> Markup {
    html! {
        @for wait in &course.waits {
            @let (from, to) = (course.x(wait.from), course.x(wait.to));
            rect.wait x=(format!("{from:.1}")) y="0" width=(format!("{:.1}", to - from)) height=(height) {
                title { "waited " (human_duration(wait.length())) }
            }
        }
    }
}

const fn class_of(status: AttemptStatus) -> &'static str {
    match status {
        AttemptStatus::Passed => "good",
        AttemptStatus::Failed => "bad",
        AttemptStatus::Error => "notice",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(waits: Vec<Span>) -> Course {
        Course { began: 1_000, ended: 101_000, waits, ..Course::default() }
    }

    #[test]
    fn time_runs_from_edge_to_edge() {
        let course = course(Vec::new());
        assert_eq!((course.x(0), course.x(51_000), course.x(200_000)), (0.0, WIDTH / 2.0, WIDTH));
    }

    #[test]
    fn a_long_wait_is_drawn_short_and_keeps_its_place() {
        let course = course(vec![Span { from: 11_000, to: 91_000 }]);
        let (before, after) = (course.x(11_000), course.x(91_000));
        assert!(after - before < WIDTH * MAX_WAIT, "{before} {after}");
        assert!((WIDTH - after - before).abs() < 1e-6, "as much work before it as after");
        assert!(course.x(50_000) > before && course.x(50_000) < after);
    }
}
