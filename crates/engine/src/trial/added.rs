//! Tests that a change adds: they judge nothing, and stay in the change.
//!
//! Added tests are set aside before a run that judges, so that the start's tests judge alone. They are put back after it. In a green change
//! they are run once with everything else: tests that fail, or make others fail, are left out.

use super::bench::{Bench, TrialError};
use super::fresh;
use super::judging::{Judged, judged_by};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::verdict::Verdict;
use crate::test_run;

/// Puts the added tests back into a judged change. In a green change they are run with all others, and left out where the suite is not
/// green with them. Returns the reason in that case.
pub async fn put_back(bench: &Bench<'_>, judged: &mut Judged) -> Result<Option<String>, TrialError> {
    let added = std::mem::take(&mut judged.added);
    // A refused change is taken back, and the tests that it adds with it.
    let tampered = matches!(judged.judgement.verdict, Verdict::Tampered { .. });
    let Some(from) = added.tree.as_ref().filter(|_| !added.files.is_empty() && !tampered) else { return Ok(None) };
    let without = judged.candidate.tree.clone();
    bench.workspace.restore_paths(from, &added.paths()).await?;
    let with = bench.workspace.snapshot_paths(&without, bench.touched).await?;
    if judged.judgement.verdict == Verdict::Green {
        let run = test_run::run(bench.tests, None, bench.stop).await?;
        let judgement = judged_by(bench, &run);
        // Added tests are code that a model wrote: what they did to any other file is undone, before anybody takes the tree.
        let mut rewritten = fresh::restore_tests(bench, &without).await?;
        rewritten.retain(|path| !added.files.contains(path));
        let reason = match judgement.verdict.reason() {
            _ if run.stopped.is_some() => Some("they were not run to their end".to_owned()),
            _ if !rewritten.is_empty() => Some(format!("they rewrote {}", rewritten.join(", "))),
            None if judgement.verdict == Verdict::Green => None,
            reason => Some(reason.unwrap_or("they do not pass").to_owned()),
        };
        if let Some(reason) = reason {
            let names: Vec<&str> = added.files.iter().map(String::as_str).collect();
            return Ok(Some(format!("the tests added in {} were left out of the change: {reason}", names.join(", "))));
        }
        // `restore_tests` has made everything the tree without them, so they are put there once more.
        bench.workspace.restore_paths(from, &added.paths()).await?;
    }
    let remark = |file: &String| Remark { kind: RemarkKind::AddsTests, file: file.clone(), lines: None, said: None };
    judged.remarks.extend(added.files.iter().map(remark));
    judged.candidate.tree = with;
    Ok(None)
}
