//! Tests that a change adds: they judge nothing, and stay in the change.
//!
//! Before a run that judges they are set aside, so that what judges is the start's; after it they are put back. In a green change they are
//! run once with everything else: tests that fail, or make others fail, are left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::bench::{Bench, TrialError};
use super::fresh;
use super::judging::{Judged, judged_by};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::domain::verdict::Verdict;
use crate::policy::guard::Guard;
use crate::policy::tamper::Change;
use crate::test_run;
use crate::workspace::is_test_path;

/// The files in which a change only adds tests.
#[derive(Debug, Clone, Default)]
pub struct Added {
    /// The state in which they hold them.
    pub(super) tree: Option<TreeId>,
    /// The files.
    pub(super) files: BTreeSet<String>,
}

impl Added {
    /// Those in files of tests alone: the rest of a source file may have changed since.
    #[must_use]
    pub fn in_files_of_tests(self) -> Self {
        let files = self.files.into_iter().filter(|file| is_test_path(Path::new(file))).collect();
        Self { files, ..self }
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(PathBuf::from).collect()
    }
}

/// Takes the added tests out of the tree; returns them, and the tree without them.
pub(super) async fn set_aside(
    bench: &Bench<'_>,
    start: &TreeId,
    tree: TreeId,
    changes: &[Change],
) -> Result<(Added, TreeId), TrialError> {
    let mut added = Added { tree: Some(tree.clone()), files: BTreeSet::new() };
    if !bench.guards.has(Guard::TestPaths) {
        return Ok((added, tree));
    }
    for change in changes.iter().filter(|change| !change.may_edit_tests) {
        let Some(after) = &change.after else { continue };
        if bench.workspace.adds_tests(&change.path, change.before.as_deref(), after) {
            added.files.insert(change.path.clone());
        }
    }
    if added.files.is_empty() {
        return Ok((added, tree));
    }
    bench.workspace.restore_paths(start, &added.paths()).await?;
    let tree = bench.workspace.snapshot_paths(&tree, bench.touched).await?;
    Ok((added, tree))
}

/// Puts the added tests back into a judged change. In one that is green they are run with all others, and left out where the suite is not
/// green with them; then the reason is returned.
pub async fn put_back(bench: &Bench<'_>, judged: &mut Judged) -> Result<Option<String>, TrialError> {
    let added = std::mem::take(&mut judged.added);
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
        bench.workspace.restore_paths(from, &added.paths()).await?;
    }
    let remark = |file: &String| Remark { kind: RemarkKind::AddsTests, file: file.clone(), lines: None, said: None };
    judged.remarks.extend(added.files.iter().map(remark));
    judged.candidate.tree = with;
    Ok(None)
}
