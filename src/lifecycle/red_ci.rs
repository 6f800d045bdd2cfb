//! Red CI as a start: the tests pass here, and what failed there is run beside them, or told.
//!
//! Invariant: CI that is red is never called green because upshift looked at something else.

use crate::domain::ci::{FailedJob, RedCi};
use crate::domain::outcome::Outcome;
use crate::domain::verdict::Verdict;

/// How many failed jobs are named.
const MOST_JOBS: usize = 5;

/// Stands before what is said of a command that does not work: here it is clear which.
const NO_WORK: &str = "the command does not work: ";

/// What is told before the failed commands are run beside the tests.
pub(super) fn announced(red: &RedCi) -> String {
    let beside = red.commands().join("`, `");
    let mut told = format!("the tests pass here, but {}; run beside them from now on: `{beside}`", what_failed(red));
    for job in red.failed.iter().filter(|job| job.command.is_none()) {
        told.push_str(&format!("; {} is not run here{}", job.name, because(job)));
    }
    told
}

/// How a run ends whose baseline came to this verdict although CI is red, with or without what failed there beside the tests; `None` where
/// there is something to mend.
pub(super) fn end(red: &RedCi, verdict: &Verdict, with_checks: bool) -> Option<(Outcome, String)> {
    let beside = red.commands().join("`, `");
    let rest = match verdict {
        Verdict::Red { .. } => return None,
        Verdict::Green if with_checks => format!("what failed there passes here: `{beside}`"),
        Verdict::Green => {
            let why = red.failed.iter().find(|job| job.why_not.is_some()).map(because).unwrap_or_default();
            format!("upshift did not run what failed there{why}")
        }
        Verdict::Broken { reason } | Verdict::Tampered { reason } if with_checks => {
            reason.strip_prefix(NO_WORK).unwrap_or(reason).to_owned()
        }
        Verdict::Broken { .. } | Verdict::Tampered { .. } => return None,
    };
    let reason = format!("{}, and {rest}", what_failed(red));
    Some((Outcome::Blocked { reason: reason.clone() }, reason))
}

fn because(job: &FailedJob) -> String {
    job.why_not.as_ref().map(|why| format!(", since {why}")).unwrap_or_default()
}

fn what_failed(red: &RedCi) -> String {
    let named: Vec<&str> = red.failed.iter().take(MOST_JOBS).map(|job| job.name.as_str()).collect();
    let workflow = &red.workflow;
    match named.as_slice() {
        [] => format!("the workflow {workflow} failed"),
        named => format!("{} failed in the workflow {workflow}", named.join(", ")),
    }
}
