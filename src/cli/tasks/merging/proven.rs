//! The hand-over from the job that proves to the one that proposes, so that no test runs beside a token that writes.
//!
//! Invariant: the file is data, from a job in which code of models ran. The commits that it names must hang on the commit that is checked
//! out, one on the other, and each passes the same rules again as when it was merged: protected paths, `.github`, secrets. A log is not
//! needed for that, and nothing is run.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::super::Failure;
use super::super::super::output::say;
use super::super::load;
use super::super::ready::unreadable;
use super::pulls::ends_in_a_change;
use super::told::Report;
use crate::domain::units::CommitSha;
use crate::workspace::{RevisionError, Revisions};

/// The version of the file.
const FORM: u32 = 1;
/// The largest file: thousands of tasks.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Proven<R> {
    form: u32,
    /// The commit that the first change is on.
    base: CommitSha,
    report: R,
}

/// Keeps what was merged. Nothing is kept where nothing was.
///
/// # Errors
/// The branch holds more than the changes, or the file cannot be written.
pub(super) async fn keep(revisions: &Revisions<'_>, report: &Report, file: &Path) -> anyhow::Result<()> {
    let Some(first) = report.done.first() else {
        say("◆ Nothing was merged: there is nothing to propose");
        return Ok(());
    };
    // Before anything is written: the file promises that nothing else is on the branch.
    ends_in_a_change(revisions, report).await?;
    let base = revisions.commit(&format!("{}^", first.commit.0)).await.map_err(unreadable)?;
    load::replace(file, &serde_json::to_string(&Proven { form: FORM, base, report })?)
}

/// Reads what another job merged.
///
/// # Errors
/// It is no such file (exit 2), or its commits are not those that hang on the commit that is checked out.
pub(super) async fn read(revisions: &Revisions<'_>, file: &Path) -> anyhow::Result<Report> {
    let shown = file.display();
    let unusable = |why: &str| {
        Failure::usage(format!(
            "{shown} cannot be proposed: {why}\n→ Fix: name the file that `merge --keep-proven` wrote"
        ))
    };
    let size = std::fs::metadata(file).map_err(|error| unusable(&error.to_string()))?.len();
    // The file comes from another job, which ran the repository's code.
    if size > MOST_BYTES {
        return Err(unusable("it is too large"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unusable(&error.to_string()))?;
    let proven: Proven<Report> = serde_json::from_str(&text).map_err(|error| unusable(&error.to_string()))?;
    if proven.form != FORM {
        return Err(unusable("another version of upshift wrote it"));
    }
    let head = revisions.commit("HEAD").await.map_err(unreadable)?;
    // Its commits build on one commit. On another one they would take others' changes back.
    if proven.base != head {
        return Err(Failure::usage(format!(
            "the changes in {shown} are on {}, and {head} is checked out\n→ Fix: check out the commit that they were merged on",
            proven.base
        )));
    }
    let mut parent = head;
    for done in &proven.report.done {
        // Each commit is looked up here. A file that names a foreign one must not have it pushed.
        if !is_on(revisions, &done.commit, &parent).await? {
            return Err(unusable(&format!("{} is not the commit after {parent} here", done.commit)));
        }
        parent = done.commit.clone();
    }
    Ok(proven.report)
}

/// Whether a commit is there and has this parent alone.
async fn is_on(revisions: &Revisions<'_>, commit: &CommitSha, parent: &CommitSha) -> anyhow::Result<bool> {
    // A name that git would read as something else is none.
    if commit.0.len() < 40 || !commit.0.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(false);
    }
    let named = async |suffix: &str| match revisions.commit(&format!("{}{suffix}", commit.0)).await {
        Ok(found) => Ok(Some(found)),
        Err(RevisionError::Unknown { .. }) => Ok(None),
        Err(other) => Err(unreadable(other)),
    };
    // A merge commit would bring in a second history that nobody proved.
    Ok(named("^").await?.as_ref() == Some(parent) && named("^2").await?.is_none())
}
