//! The critic's review in words: what it said of the last change, and every issue that it named.

use super::sentence::Sentence;
use super::{count, u64_of};
use crate::domain::attempt::{Attempt, AttemptStatus};
use crate::domain::review::{Issue, IssueKind, Review, ReviewVerdict, Severity};
use crate::report::view::RunView;

/// The review of the last iteration that had one.
fn last(view: &RunView) -> Option<&Review> {
    view.tiers.iter().flat_map(|tier| &tier.attempts).filter_map(|attempt| attempt.review.as_deref()).next_back()
}

/// The critic's decision. `None` where there was no review, or an approval with nothing more to say.
#[must_use]
pub fn review_heading(view: &RunView) -> Option<Sentence> {
    let review = last(view)?;
    let start = match (review.verdict, review.overruled, review.issues.is_empty()) {
        (ReviewVerdict::Approve, false, true) => return None,
        (ReviewVerdict::Approve, false, false) => "the critic approves the change, and names what could be better: ",
        (ReviewVerdict::Approve, true, _) => {
            "the critic approved, but names a critical issue, so the change is rejected: "
        }
        (ReviewVerdict::Reject, _, _) => "the critic rejects the change: ",
    };
    Some(Sentence::plain(start).speech(&review.summary))
}

/// The issues of the last review, the worst first.
#[must_use]
pub fn review_issues(view: &RunView) -> Vec<Sentence> {
    let mut issues: Vec<&Issue> = last(view).map(|review| review.issues.iter().collect()).unwrap_or_default();
    // A stable sort: among equals the critic's own order stays, and those without a severity come last.
    issues.sort_by_key(|issue| std::cmp::Reverse(issue.severity));
    issues.into_iter().map(sentence).collect()
}

/// The result of an iteration's tests, in words.
#[must_use]
pub fn tests_of(attempt: &Attempt) -> String {
    match (attempt.test_status, attempt.failed_tests.len()) {
        (AttemptStatus::Error, 0) => "tests not judged".to_owned(),
        (AttemptStatus::Failed, 0) if attempt.review.as_ref().is_some_and(|review| !review.approves()) => {
            "tests pass, the critic rejects".to_owned()
        }
        (AttemptStatus::Failed, 0) if attempt.is_unreviewed() => "tests pass, no readable review".to_owned(),
        (AttemptStatus::Failed, 0) if attempt.is_refused() => "tests pass, the green was refused".to_owned(),
        (AttemptStatus::Failed, 0) => "no failing test is named".to_owned(),
        (AttemptStatus::Passed | AttemptStatus::Failed | AttemptStatus::Error, failing) => {
            count(u64_of(failing), "failing test")
        }
    }
}

fn sentence(issue: &Issue) -> Sentence {
    let severity = issue.severity.map(|severity| match severity {
        Severity::Critical => "critical",
        Severity::Major => "major",
        Severity::Minor => "minor",
    });
    let kind = issue.kind.and_then(|kind| match kind {
        IssueKind::Logic => Some("logic"),
        IssueKind::Security => Some("security"),
        // The label would say nothing: an issue of no named kind is of any.
        IssueKind::Other => None,
    });
    let label: Vec<&str> = severity.into_iter().chain(kind).collect();
    let start = if label.is_empty() { String::new() } else { format!("{}: ", label.join(" ")) };
    Sentence::plain(start).speech(&issue.said)
}
