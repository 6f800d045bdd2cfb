//! Annotations: what the runner puts beside the code and on top of the job's page.
//!
//! Invariant: at most [`MAX_ANNOTATIONS`] of one kind, for the runner drops what is above that (GITHUB 19).

use super::plain;
use super::view::{Ending, RunView};
use super::words::{self, Mark, Piece};
use super::workflow_command::{Annotation, annotation, annotation_at};

/// How many annotations of a kind the runner takes from one step.
pub const MAX_ANNOTATIONS: usize = 10;

/// The most columns of a title.
const MAX_TITLE: usize = 200;

/// The verdict, and an error for each test that fails still: all lines are workflow commands.
#[must_use]
pub fn of_run(view: &RunView) -> Vec<String> {
    let (mark, sentence) = words::headline(view);
    let said = sentence.render(|piece| match piece {
        Piece::Ours(text) | Piece::Name(text) | Piece::Code(text) | Piece::Speech(text) | Piece::Advice(text) => {
            plain::line(text)
        }
    });
    let kind = match mark {
        // A run that waits is nothing to worry about: the step ends with 0.
        Mark::Good | Mark::Waiting => Annotation::Notice,
        Mark::Doubtful | Mark::Bad | Mark::Running => Annotation::Warning,
    };
    let mut lines = vec![annotation(kind, "upshift", &said)];
    let failing = view.still_failing().into_iter().chain(view.newly_failing());
    // A change with which they pass stands elsewhere: what is to be done is told with it.
    if mark != Mark::Good && !view.passes_with_change() {
        lines.extend(failing.take(MAX_ANNOTATIONS).map(|test| failed(view, test)));
    }
    lines
}

fn failed(view: &RunView, test: &str) -> String {
    // From the last attempt back: what a test said of an older change is not true any more.
    let attempts = view.tiers.iter().rev().flat_map(|tier| tier.attempts.iter().rev());
    let mut messages = attempts.flat_map(|attempt| &attempt.error_messages).chain(&view.recent_errors);
    let of_start = view.baseline.iter().flat_map(|baseline| &baseline.messages).find(|message| message.test == test);
    // The files are as at the start again: what the test said of a change that was put back is not what they do.
    let is_put_back = matches!(view.ending, Ending::Finished(_)) && view.diff_stat().files.is_empty();
    let message = match (of_start.filter(|_| is_put_back), messages.find(|message| message.contains(test))) {
        (Some(start), _) => plain::block(&start.said),
        (None, Some(said)) if is_put_back => format!("With a change that was put back: {}", plain::block(said)),
        (None, Some(said)) => plain::block(said),
        (None, None) => unsaid(view).to_owned(),
    };
    let places = view.baseline.iter().flat_map(|baseline| &baseline.places);
    let place = places.filter(|place| place.test == test).map(|place| (place.file.as_str(), place.line)).next();
    annotation_at(Annotation::Error, place, &plain::clip(&plain::line(test), MAX_TITLE), &message)
}

/// The message of a test that left none.
fn unsaid(view: &RunView) -> &'static str {
    match view.failing_after {
        Some(_) => "This test still fails.",
        None => "This test failed at the start. Whether it still fails is not known: the tests did not run again.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::TestPlace;
    use crate::domain::outcome::Outcome;
    use crate::report::fixtures;

    #[test]
    fn a_run_that_failed_annotates_at_most_ten_tests() {
        for (name, mut view) in fixtures::every_ending() {
            view.failing_before = (0..30).map(|number| format!("suite::test_{number}\n::error::x")).collect();
            view.failing_after = None;
            let lines = of_run(&view);
            let errors = lines.iter().filter(|line| line.starts_with("::error title=suite")).count();
            let good = view.passes_with_change() || view.outcome() == Some(&Outcome::AlreadyGreen);
            assert_eq!(errors, if good { 0 } else { MAX_ANNOTATIONS }, "{name}: {lines:#?}");
            assert!(lines.iter().all(|line| line.lines().count() == 1 && line.starts_with("::")), "{name}");
        }
    }

    #[test]
    fn a4_a_test_that_did_not_run_again_is_not_said_to_fail_still() {
        let mut view = fixtures::fixed().view();
        view.ending = super::super::view::Ending::Died;
        view.failing_before = vec!["adds".to_owned()];
        view.recent_errors.clear();
        view.tiers.iter_mut().for_each(|tier| tier.attempts.clear());
        view.failing_after = Some(view.failing_before.clone());
        assert_eq!(of_run(&view)[1], "::error title=adds::This test still fails.");
        view.failing_after = None;
        let unknown = "::error title=adds::This test failed at the start. Whether it still fails is not known: the tests did not \
                       run again.";
        assert_eq!(of_run(&view)[1], unknown);
    }

    #[test]
    fn a_failing_tests_annotation_says_what_it_said() {
        let mut view = fixtures::fixed().view();
        view.ending = super::super::view::Ending::Died;
        view.failing_before = vec!["adds".to_owned()];
        view.failing_after = None;
        view.recent_errors = vec!["adds: left: 1\nright: 2".to_owned()];
        for tier in &mut view.tiers {
            tier.attempts.clear();
        }
        let place = TestPlace { test: "adds".to_owned(), file: "tests/a,b.rs".to_owned(), line: Some(3) };
        view.baseline.as_mut().unwrap().places = vec![place];
        let beside = "::error file=tests/a%2Cb.rs,line=3,title=adds::adds: left: 1%0Aright: 2".to_owned();
        assert!(of_run(&view).contains(&beside));
        view.baseline.as_mut().unwrap().places.clear();
        assert!(of_run(&view).contains(&"::error title=adds::adds: left: 1%0Aright: 2".to_owned()));
    }
}
