//! A change as it is judged: tests inside source files are put back to the start, and the rules are asked about the rest.

use std::path::{Path, PathBuf};

use super::belongings;
use super::bench::{Bench, TrialError};
use crate::domain::remark::Remark;
use crate::domain::units::TreeId;
use crate::policy::guard::Guard;
use crate::policy::tamper::{self, Change, region};
use crate::workspace::is_test_path;

/// A change as it is judged.
#[derive(Debug)]
pub(super) struct Settled {
    /// The tree, with the start's test regions.
    pub(super) tree: TreeId,
    /// What was put back, in words for the model and for reviewers.
    pub(super) put_back: Vec<String>,
    /// What in it could deceive a runner, and may be honest.
    pub(super) remarks: Vec<Remark>,
    /// Why it cannot be green.
    pub(super) objection: Option<String>,
}

/// Puts back what of the change lies in tests inside source files, and asks the rules about the rest.
pub(super) async fn settle(bench: &Bench<'_>, tree: TreeId) -> Result<Settled, TrialError> {
    let Some(start) = bench.start else {
        return Ok(Settled { tree, put_back: Vec::new(), remarks: Vec::new(), objection: None });
    };
    let workspace = bench.workspace;
    let mut settled = Settled { tree, put_back: Vec::new(), remarks: Vec::new(), objection: None };
    let mut changes = workspace.changes(start, &settled.tree).await?;
    if bench.guards.has(Guard::TestRegions) {
        // Files that are tests by their name are another guard's: they are put back whole.
        let is_source = |change: &&Change| !change.may_edit_tests && !is_test_path(Path::new(&change.path));
        for change in changes.iter().filter(is_source) {
            put_back_regions(bench, start, change, &mut settled).await?;
        }
        if !settled.put_back.is_empty() {
            settled.tree = workspace.snapshot_paths(&settled.tree, bench.touched).await?;
            changes = workspace.changes(start, &settled.tree).await?;
        }
    }
    let objection =
        || tamper::inspect(&changes, bench.guards, bench.import_roots).or_else(|| taken_secret(bench, &changes));
    settled.objection = settled.objection.or_else(objection);
    settled.remarks = tamper::remarkable(&changes, bench.guards);
    if settled.objection.is_none() && bench.guards.has(Guard::TestPaths) {
        let changed: Vec<Change> = changes.into_iter().filter(|change| !change.may_edit_tests).collect();
        let linked = workspace.test_data_by_link(start, &changed)?;
        settled.objection =
            linked.map(|(data, test)| format!("the change alters {data}, which the test data {test} is a link to"));
    }
    Ok(settled)
}

/// A secret of this job that the change would carry out of it, by a file's text or name.
fn taken_secret(bench: &Bench<'_>, changes: &[Change]) -> Option<String> {
    let redactor = bench.redactor;
    let knows = |text: &Option<String>| text.as_deref().is_some_and(|text| redactor.knows(text));
    let takes = |change: &&Change| {
        change.after.is_some()
            && (knows(&change.after) && !knows(&change.before)
                || change.before.is_none() && redactor.knows(&change.path))
    };
    let change = changes.iter().filter(|_| bench.guards.has(Guard::TakenSecrets)).find(takes)?;
    Some(format!("the change holds a secret of this job, in {}", redactor.redact(&change.path)))
}

async fn put_back_regions(
    bench: &Bench<'_>,
    start: &TreeId,
    change: &Change,
    settled: &mut Settled,
) -> Result<(), TrialError> {
    let workspace = bench.workspace;
    let path = &change.path;
    if belongings::is_of_tests(bench, start, path)? {
        workspace.restore_paths(start, &[PathBuf::from(path)]).await?;
        settled.put_back.push(format!("{path} holds tests only: its change was put back before judging"));
        return Ok(());
    }
    let is_document = region::is_document(path);
    if is_document && !belongings::is_run(bench, start, change)? {
        return Ok(());
    }
    let examples = belongings::examples_in(bench, start, change)?;
    let holds_tests = |text: &str| region::has_regions(path, text) || is_document;
    let lost = |region: &str| format!("the change removes tests inside {path} that cannot be put back: {region}");
    match (&change.before, &change.after) {
        (Some(before), None) if holds_tests(before) => settled.objection = Some(lost("the whole file")),
        (before, Some(after)) => match region::restore(path, before.as_deref().unwrap_or_default(), after, examples) {
            region::Restored::Same => {}
            region::Restored::Lost { region } => settled.objection = Some(lost(&region)),
            region::Restored::Changed { text, regions } => {
                let regions = regions.join(", ");
                match workspace.replace_text(path, &text) {
                    Ok(()) => settled.put_back.push(format!(
                        "tests inside {path} were changed and put back before judging: {regions}. Change the code, not its tests"
                    )),
                    Err(_) => settled.objection = Some(lost(&regions)),
                }
            }
        },
        (Some(_) | None, None) => {}
    }
    Ok(())
}
