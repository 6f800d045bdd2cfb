//! Files that a person changed while a run waited for the outside: they stay as they are, and no model overwrites them.
//!
//! Invariant: while a run waits nothing of it changes a file, so that whatever differs from how it left them is somebody else's.
//!
//! While it is at work the files are the run's: those of a person's that are in its way are kept beside the log, and named.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::climb::Climb;
use super::context::Context;
use super::kept::ignore;
use super::recorder::Recorder;
use crate::domain::units::RunId;
use crate::workspace::{Stood, Taken};

/// The most files that are named.
const MOST_NAMED: usize = 5;
/// The folder of a run in which they are kept.
const FOLDER: &str = "yours";
/// The end of their names, by which no test runner takes a copy for a test.
const ENDING: &str = ".kept";

/// The files that are neither as the run left them when it began to wait nor as they were at its start. Sorted.
pub(super) async fn changed(context: &Context<'_>, climb: &Climb) -> Vec<String> {
    let Some(left) = climb.trees.left.as_ref().filter(|_| context.world.only_hears.is_none()) else {
        return Vec::new();
    };
    let workspace = &context.world.workspace;
    // A tree that is not on this machine tells nothing.
    let (Ok(since), Ok(from_start)) =
        (workspace.changed_since(left).await, workspace.changed_since(climb.start()).await)
    else {
        return Vec::new();
    };
    let by_products = &climb.measured.origin.by_products;
    since.into_iter().filter(|path| from_start.contains(path) && !by_products.contains(path)).collect()
}

/// Names the files that somebody changed while the run was at work, and keeps what stood in those that it put back.
/// What the tests themselves leave, or leave beside such files, is nobody's.
pub(super) fn tell(context: &Context<'_>, recorder: &mut Recorder<'_>, by_products: &BTreeSet<String>) {
    let Taken { mut put_back, perhaps, in_change } = context.world.workspace.take_theirs();
    let folder = |path: &str| Path::new(path).parent().map(Path::to_owned);
    let of_tests: BTreeSet<_> = by_products.iter().map(|path| folder(path)).collect();
    let is_of_tests = |path: &str| path.contains('/') && of_tests.contains(&folder(path));
    put_back.retain(|path, _| !by_products.contains(path) && !is_of_tests(path));
    if !in_change.is_empty() {
        recorder.warn(format!(
            "changed by somebody while the run worked on them, and part of its change: {}",
            named(&in_change)
        ));
    }
    let (doubtful, put_back): (BTreeMap<_, _>, _) = put_back.into_iter().partition(|(path, _)| perhaps.contains(path));
    let (keep, run) = (&context.world.keep, &context.charter.run_id);
    // Two who write at the same time cannot be told apart, and a person is not to look for who that was.
    let who =
        [(put_back, "by somebody ", "while the run worked"), (doubtful, "", "while a program of the run was at work")];
    for (files, by, when) in who.iter().filter(|(files, ..)| !files.is_empty()) {
        recorder.warn(kept_by(keep, run, files, (by, when)));
    }
}

/// Keeps the contents of files of somebody else's that were put back in the folder of a run, and says so.
pub fn kept(keep: &Path, run: &RunId, put_back: &BTreeMap<String, Stood>, when: &str) -> String {
    kept_by(keep, run, put_back, ("by somebody ", when))
}

/// The same. `by` says who changed them, as far as that is known.
fn kept_by(keep: &Path, run: &RunId, put_back: &BTreeMap<String, Stood>, (by, when): (&str, &str)) -> String {
    let folder = keep.join(run.short()).join(FOLDER);
    let of = |deleted: bool| -> Vec<String> {
        let is_meant = |stood: &Stood| matches!(stood, Stood::Deleted) == deleted;
        put_back.iter().filter(|(_, stood)| is_meant(stood)).map(|(path, _)| path.clone()).collect()
    };
    let (changed, deleted) = (of(false), of(true));
    let is_lost = |path: &&String| {
        let stood = put_back.get(*path);
        stood.is_none_or(|stood| write(keep, &folder.join(format!("{path}{ENDING}")), stood).is_err())
    };
    let lost = changed.iter().filter(is_lost).count();
    let beside = if lost == 0 { String::new() } else { format!("; {lost} could not be kept") };
    let place = folder.display();
    let told_of_changed = (!changed.is_empty()).then(|| {
        let names = named(&changed);
        format!(
            "changed {by}{when}, and put back: {names}; their versions are in {place}, with {ENDING} behind their names{beside}"
        )
    });
    let told_of_deleted =
        (!deleted.is_empty()).then(|| format!("deleted {by}{when}, and put back: {}", named(&deleted)));
    told_of_changed.into_iter().chain(told_of_deleted).collect::<Vec<_>>().join("; ")
}

fn write(keep: &Path, path: &Path, stood: &Stood) -> io::Result<()> {
    // First, so that git never sees the copies.
    ignore(keep)?;
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    match stood {
        Stood::Bytes(bytes) => std::fs::write(path, bytes),
        Stood::Copy(copy) => std::fs::copy(copy, path).map(drop),
        Stood::Deleted | Stood::Lost => Err(io::ErrorKind::NotFound.into()),
    }
}

/// The warning where they stay.
pub(super) fn left_alone(files: &[String]) -> String {
    format!("files were changed here while the run waited, and stay as they are: {}", named(files))
}

/// How a run ends that would have to work over them.
pub(super) fn in_the_way(files: &[String], red: &str) -> String {
    format!(
        "it was rejected ({red}), and files were changed here while the run waited: {}; no model overwrites them. Commit or stash them, and start a new run",
        named(files)
    )
}

/// The first of them, and how many more there are.
pub(super) fn named(files: &[String]) -> String {
    let named = files.iter().take(MOST_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(MOST_NAMED);
    if more > 0 { format!("{named} and {more} more") } else { named }
}
