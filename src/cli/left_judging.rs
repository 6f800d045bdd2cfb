//! A judgement that was killed in this checkout: its files are put back by the next command that works on them.
//!
//! Invariant: what a person changed after the kill stays, and what somebody had written into a file that is put back is kept beside it.

use std::path::Path;

use super::environment::Environment;
use super::left_behind::named;
use super::setup::{self, Setup};
use super::{Failure, say};
use crate::domain::units::RunId;
use crate::lifecycle;
use crate::report::plain;
use crate::workspace::{Taken, Undone, Workspace, is_judging_left};

/// The facts about one, for commands that only look.
const FOUND: &str = "a judgement was killed here, and some files are as it tried them";
/// The way out.
const FIX: &str = "`upshift judge` puts them back, and so does `upshift run` before anything else";
/// When somebody wrote into files that were judged.
const WHILE_JUDGED: &str = "or by the tests, while it was judged";
/// The same where it was killed.
const AROUND_THE_KILL: &str = "or by the tests, before or after it was killed";

/// The facts and the way out, where one was killed.
pub(super) fn notice(checkout: &Path, environment: &Environment) -> Option<(&'static str, &'static str)> {
    is_judging_left(&setup::trees_folder(checkout, environment)).then_some((FOUND, FIX))
}

/// Puts the files back where one was killed.
///
/// # Errors
/// A merge was killed here (exit 2), or the files cannot be put back.
pub(super) async fn put_back(workspace: &Workspace, setup: &Setup<'_>) -> anyhow::Result<()> {
    match workspace.undo_judging().await? {
        Undone::Nothing => {}
        Undone::OfMerge => {
            return Err(Failure::usage(
                "a merge was killed here, and some files are as it tried them\n→ Fix: the same `upshift merge` (or `upshift run --tasks … --workers …`) again \
                 puts them back and continues",
            ));
        }
        Undone::Files { count, taken, later } => {
            let files = if count == 1 { "1 file" } else { &format!("{count} files") };
            say(&format!("⚠ a judgement was killed here; what it had changed is restored: {files}"));
            keep(&taken, setup, AROUND_THE_KILL);
            if !later.is_empty() {
                say(&format!("⚠ kept as they are, since they were changed after it was killed: {}", named(&later)));
            }
        }
    }
    Ok(())
}

/// Keeps what somebody wrote while a change was judged, and says so.
pub(super) fn keep_meanwhile(taken: &Taken, setup: &Setup<'_>) {
    keep(taken, setup, WHILE_JUDGED);
}

fn keep(taken: &Taken, setup: &Setup<'_>, when: &str) {
    if taken.put_back.is_empty() {
        return;
    }
    // A judgement has no log. Its folder has a name of its own, so that none overwrites another's.
    let kept = lifecycle::keep_theirs(&setup.beside(None), &RunId::random(), &taken.put_back, when);
    say(&format!("⚠ {}", plain::line(&kept)));
}
