//! A change as it is judged: tests inside source files are put back to the start, and the rules are asked about the rest.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::belongings;
use super::bench::{Bench, TrialError};
use super::set_aside::{self, Added};
use crate::domain::remark::{Remark, RemarkKind};
use crate::domain::units::TreeId;
use crate::framework::source::adds_tests_only;
use crate::policy::guard::Guard;
use crate::policy::tamper::{self, Change, region};
use crate::workspace::{WorkspaceError, is_test_path, looks_secret};

/// A change as it is judged.
#[derive(Debug)]
pub(super) struct Settled {
    /// The tree, with the start's test regions.
    pub(super) tree: TreeId,
    /// Files and regions that were put back, in words for the model and for reviewers.
    pub(super) put_back: Vec<String>,
    /// Places in it that could deceive a runner, and may be honest.
    pub(super) remarks: Vec<Remark>,
    /// Why it cannot be green.
    pub(super) objection: Option<String>,
    /// The tests that it adds, which are not in the tree.
    pub(super) added: Added,
}

/// Puts back what of the change lies in tests inside source files, and asks the rules about the rest.
pub(super) async fn settle(bench: &Bench<'_>, tree: TreeId) -> Result<Settled, TrialError> {
    let Some(start) = bench.start else {
        return Ok(Settled {
            tree,
            put_back: Vec::new(),
            remarks: Vec::new(),
            objection: None,
            added: Added::default(),
        });
    };
    let workspace = bench.workspace;
    let changes = workspace.changes(start, &tree).await?;
    let (added, tree) = set_aside::set_aside(bench, start, tree, &changes).await?;
    let mut settled = Settled { tree, put_back: Vec::new(), remarks: Vec::new(), objection: None, added };
    // Without the added tests: the rules are about what judges and what is judged.
    let mut changes = workspace.changes(start, &settled.tree).await?;
    let set_aside = settled.added.files.len();
    if bench.guards.has(Guard::TestRegions) {
        // Files that are tests by their name are another guard's: they are put back whole.
        let is_source = |change: &&Change| !change.may_edit_tests && !is_test_path(Path::new(&change.path));
        for change in changes.iter().filter(is_source) {
            put_back_regions(bench, start, change, &mut settled).await?;
        }
        if !settled.put_back.is_empty() || settled.added.files.len() > set_aside {
            settled.tree = workspace.snapshot_paths(&settled.tree, bench.touched).await?;
            changes = workspace.changes(start, &settled.tree).await?;
        }
    }
    settled.objection = settled.objection.or_else(|| tamper::inspect(&changes, bench.guards, bench.import_roots));
    if settled.objection.is_none() {
        settled.objection = taken_secret(bench, start, &changes)?;
    }
    settled.remarks = tamper::remarks::remarkable(&changes, bench.guards);
    settled.remarks.extend(stand_ins(bench, start, &changes)?);
    if settled.objection.is_none() && bench.guards.has(Guard::TestPaths) {
        let changed: Vec<Change> = changes.into_iter().filter(|change| !change.may_edit_tests).collect();
        let linked = workspace.test_data_by_link(start, &changed)?;
        settled.objection =
            linked.map(|(data, test)| format!("the change alters {data}, which the test data {test} is a link to"));
    }
    Ok(settled)
}

/// Packages that are found in the place of a module that was there: in Python a folder is looked for before a file of that name.
fn stand_ins(bench: &Bench<'_>, start: &TreeId, changes: &[Change]) -> Result<Vec<Remark>, WorkspaceError> {
    let mut found = Vec::new();
    for change in changes.iter().filter(|change| change.before.is_none() && change.after.is_some()) {
        let Some(package) = change.path.strip_suffix("/__init__.py") else { continue };
        let module = format!("{package}.py");
        // A module that becomes a package is gone itself: that is a move, and hides nothing.
        let stays = changes.iter().all(|other| other.path != module || other.after.is_some());
        if stays && bench.workspace.text_at(start, &module)?.is_some() {
            let (kind, said) = (RemarkKind::StandsInFor, Some(format!("`{module}`")));
            found.push(Remark { kind, file: change.path.clone(), lines: None, said });
        }
    }
    Ok(found)
}

/// A secret of this job that the change would carry out of it, by a file's text or name. A secret that the repository held at the start is
/// known to anyone with read access.
fn taken_secret(bench: &Bench<'_>, start: &TreeId, changes: &[Change]) -> Result<Option<String>, WorkspaceError> {
    let redactor = bench.redactor;
    for change in changes.iter().filter(|change| change.after.is_some() && bench.guards.has(Guard::TakenSecrets)) {
        let known = |text: Option<&str>| text.map(|text| redactor.known(text)).unwrap_or_default();
        // The name of an old file stands in the repository already.
        let name = change.before.is_none().then_some(change.path.as_str());
        let now = &known(change.after.as_deref()) | &known(name);
        // The file itself may have held it before.
        let new = &now - &known(change.before.as_deref());
        if new.is_empty() {
            continue;
        }
        let taken = RefCell::new(new);
        // What holds credentials by its name may be untracked.
        let is_public = |path: &str| !looks_secret(Path::new(path));
        let forgets_all = |path: &str, text: &str| {
            let public = &redactor.known(path) | &redactor.known(text);
            taken.borrow_mut().retain(|secret| !public.contains(secret));
            taken.borrow().is_empty()
        };
        if !bench.workspace.any_text_at(start, is_public, forgets_all)? {
            return Ok(Some(format!("the change contains a secret of this job, in {}", redactor.redact(&change.path))));
        }
    }
    Ok(None)
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
                    Ok(()) if adds_tests_only(path, Some(&text), after) => {
                        settled.added.files.insert(path.clone());
                    }
                    Ok(()) => settled.put_back.push(format!(
                        "tests inside {path} were changed and put back before judging: {regions}. Change the code, not its tests"
                    )),
                    // Tests that cannot be put back cannot judge.
                    Err(_) => settled.objection = Some(lost(&regions)),
                }
            }
        },
        // A file that held no tests may go.
        (Some(_) | None, None) => {}
    }
    Ok(())
}
