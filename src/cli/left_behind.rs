//! A run that was killed in this checkout: said before anything is paid, or discarded; `check` and `doctor` say the same.
//!
//! Owns the words and the order of steps; what was written is known to the workspace, and whether the run lives to its log. A checkout
//! that a person has put in order is no matter, nor is one of which nothing is known (no log, another machine).

use std::path::Path;

use super::Failure;
use super::environment::Environment;
use super::plan;
use super::setup::{self, Setup};
use crate::audit::{Journal, LoadedRun, Reader, RunStatus};
use crate::lifecycle;
use crate::report::plain;
use crate::report::words::shell_quote;
use crate::workspace::{LeftBehind, Workspace, look_for_left_behind};

/// How many files are named.
const MOST_NAMED: usize = 5;

/// What becomes of the files that a killed run has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discard {
    /// They are put back, and the run is over.
    Yes,
    /// They are in the way.
    No,
}

/// A killed run, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    /// What there is.
    said: String,
    /// The two ways out.
    pub(super) fix: String,
    /// The files in question.
    files: String,
}

impl Notice {
    fn of(left: &LeftBehind, checkout: &Path, environment: &Environment) -> Self {
        let (count, short) = (left.written.len(), left.writer.run.short());
        let plural = if count == 1 { "" } else { "s" };
        let found_anyway = plan::audit_path(None, environment, checkout) == left.writer.log;
        let log = if found_anyway { String::new() } else { format!(" --audit-db {}", shell_quote(&left.writer.log)) };
        Self {
            said: format!("run {short} was killed here and left {count} file{plural} changed"),
            fix: format!(
                "`upshift resume {short}{log}` goes on with it, `upshift run --discard` puts the files back and begins anew"
            ),
            files: named(&left.written),
        }
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.found(), self.fix)
    }

    /// What there is, with the files.
    pub(super) fn found(&self) -> String {
        format!("{} ({})", self.said, self.files)
    }
}

/// What a killed run left in a checkout, for those who only look.
pub(super) fn notice(checkout: &Path, environment: &Environment) -> Option<Notice> {
    let trees = setup::trees_folder(checkout, environment);
    let left = look_for_left_behind(checkout, &trees).ok().flatten().filter(|left| !left.written.is_empty())?;
    killed(&left, checkout, environment)?;
    Some(Notice::of(&left, checkout, environment))
}

/// Sees to it that a new run begins with nothing of a killed one in the tree.
///
/// # Errors
/// A killed run has left files, and nobody said what is to become of them (exit 2); they cannot be put back.
pub(super) async fn settle(workspace: &Workspace, setup: &Setup<'_>, discard: Discard) -> anyhow::Result<()> {
    let left = workspace.left_behind().await.map_err(|error| Failure::usage(error.to_string()))?;
    let found = left.and_then(|left| killed(&left, setup.checkout, setup.environment).map(|run| (left, run)));
    match (found, discard) {
        (Some((left, run)), Discard::Yes) => throw_away(workspace, setup, &left, &run).await?,
        (Some((left, _)), Discard::No) if !left.written.is_empty() => {
            let notice = Notice::of(&left, setup.checkout, setup.environment);
            let (said, fix, place) = (&notice.said, &notice.fix, setup.checkout.display());
            let message = format!("{said}: {fix}\n  in {place}: {}\nNo LLM calls were made.", notice.files);
            return Err(Failure::usage(message));
        }
        (Some((left, _)), Discard::No) => {
            super::say(&format!(
                "run {} was killed here, and no file is as it left it; a new one begins with the files as they are",
                left.writer.run.short()
            ));
        }
        (None, Discard::Yes) => super::say("There is no killed run here to discard; a new one begins"),
        (None, Discard::No) => {}
    }
    workspace.forget_writes();
    Ok(())
}

/// The run as its log has it, if no process holds it and it did not end.
fn killed(left: &LeftBehind, checkout: &Path, environment: &Environment) -> Option<LoadedRun> {
    let reader = Reader::open(&setup::locate(&left.writer.log, checkout, environment)).ok()?;
    let run = reader.load_run(&left.writer.run).ok()?;
    (run.status == RunStatus::Interrupted).then_some(run)
}

/// Puts back what the killed run wrote, keeps what it did not, and ends it in its log.
async fn throw_away(
    workspace: &Workspace,
    setup: &Setup<'_>,
    left: &LeftBehind,
    run: &LoadedRun,
) -> anyhow::Result<()> {
    let writer = &left.writer;
    // The files first: a run that is ended with its files in the tree would be known to nobody.
    workspace.put_back_written(left).await.map_err(|error| Failure::usage(error.to_string()))?;
    let mut store = setup.open_store(Some(&writer.log))?;
    let continued = store.continue_run(&writer.run, std::process::id(), &setup.clock().timestamp());
    continued.map_err(|error| setup::audit_failure(&error))?;
    let ended = lifecycle::discard(Journal::new(store, Vec::new()), run, setup.clock());
    for warning in ended? {
        super::say(&format!("⚠ {warning}"));
    }
    // What the tests leave by themselves is no news to whoever runs them.
    let by_products = lifecycle::load(run).map(|state| state.by_products).unwrap_or_default();
    let kept: Vec<String> = left.others.iter().filter(|file| !by_products.contains(*file)).cloned().collect();
    super::say(&discarded(left, &kept));
    Ok(())
}

/// What was done, and what was not.
fn discarded(left: &LeftBehind, kept: &[String]) -> String {
    let short = left.writer.run.short();
    let back = match left.written.as_slice() {
        [] => "nothing of it was left in the files".to_owned(),
        written => format!("put back as it found them: {}", named(written)),
    };
    let kept = match kept {
        [] => String::new(),
        others => {
            format!(
                "\n⚠ kept as they are, since they changed after it began and it did not write them so: {}",
                named(others)
            )
        }
    };
    format!("Run {short} is discarded; {back}{kept}")
}

/// The first files by name.
fn named(files: &[String]) -> String {
    let mut text = files.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    plain::line(&text)
}
