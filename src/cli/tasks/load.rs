//! The tasks of a source: a file that is read, or the failing tests, for which the tests are run once.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::super::environment::{Environment, from_here};
use super::super::plan::Resolved;
use super::super::setup::{self, Setup};
use super::super::{Failure, work};
use super::issues;
use crate::config::Plan;
use crate::domain::outcome::EXIT_SIGNAL_BASE;
use crate::domain::printed_path::may_be_same;
use crate::domain::stop::StopCause;
use crate::domain::units::RunId;
use crate::lifecycle::state::RunState;
use crate::process;
use crate::test_run;
use crate::tracker::{List, Named, Prd, Source, Task, TaskFault, clusters};
use crate::workspace::is_test_path;

/// The largest file of tasks that is read, in bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// The file of a source, by its real place. `None` for a source that is no file.
pub(super) fn file_of(source: &Source, checkout: &Path) -> Option<PathBuf> {
    match source {
        Source::FailingTests | Source::Issues(_) => None,
        Source::Prd(path) | Source::List(path) => {
            let named = from_here(checkout, &path.to_string_lossy());
            // A link and its target are one source, and must not be two backlogs.
            Some(std::fs::canonicalize(&named).unwrap_or(named))
        }
    }
}

/// The same path from the top of the checkout. `None` where it lies elsewhere.
pub(super) fn within(source: &Source, checkout: &Path) -> Option<PathBuf> {
    let top = std::fs::canonicalize(checkout).ok()?;
    file_of(source, checkout)?.strip_prefix(top).ok().map(Path::to_owned)
}

/// A source by the one name that its backlog has, however it was written.
pub(super) fn name_of(source: &Source, checkout: &Path) -> String {
    match (within(source, checkout), file_of(source, checkout)) {
        (Some(path), _) | (None, Some(path)) => path.display().to_string(),
        (None, None) => source.to_string(),
    }
}

/// Where a source's file lies in the checkout, by the name that was given and by its real one.
pub(super) fn places(source: &Source, checkout: &Path) -> Vec<String> {
    let named = match source {
        Source::FailingTests | Source::Issues(_) => None,
        Source::Prd(path) | Source::List(path) => {
            let full = from_here(checkout, &path.to_string_lossy());
            full.strip_prefix(checkout).ok().map(|path| path.components().collect::<PathBuf>())
        }
    };
    let mut found: Vec<String> =
        named.into_iter().chain(within(source, checkout)).map(|path| path.display().to_string()).collect();
    // Both names are mostly the same. Where a link leads, a change at either place counts.
    found.dedup();
    found
}

/// The text of a source's file.
///
/// # Errors
/// When it cannot be read (exit 2).
pub(super) fn text_of(path: &Path) -> anyhow::Result<String> {
    let failed = |why: String| {
        let shown = path.display();
        Failure::usage(format!(
            "the tasks in {shown} cannot be read: {why}\n→ Fix: name a prd.json or a list in YAML with --tasks"
        ))
    };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    // A pipe or a device could be read for ever.
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(failed("it is not a file".to_owned()));
    }
    let mut text = String::new();
    // One byte more tells a file that is too long from one that just fits.
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES { Err(failed(format!("it has more than {MOST_BYTES} bytes"))) } else { Ok(text) }
}

/// A `prd.json` in a file.
pub(super) fn prd(path: &Path) -> anyhow::Result<Prd> {
    Prd::read(&text_of(path)?).map_err(|fault| wrong(path, &fault))
}

/// A file whose content is not what it should be.
pub(super) fn wrong(path: &Path, fault: &TaskFault) -> anyhow::Error {
    // It may quote the file.
    let said: String =
        fault.to_string().chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    Failure::usage(format!("{}: {said}", path.display()))
}

/// The tasks of a source, as it has them. `outside` knows the job's own repository and token too.
///
/// # Errors
/// When it cannot be read, or its content is wrong (exit 2), or when the tests cannot be run.
pub(super) async fn tasks(
    source: &Source,
    resolved: &Resolved,
    (environment, outside): (&Environment, &Environment),
) -> anyhow::Result<Vec<Task>> {
    match (source, file_tasks(source, &resolved.checkout)) {
        (_, Some(tasks)) => tasks,
        (Source::Issues(label), None) => issues::tasks(label, &resolved.checkout, outside).await,
        (_, None) => failing(resolved, environment).await,
    }
}

/// The tasks of a source that is a file. `None` for another.
pub(super) fn file_tasks(source: &Source, checkout: &Path) -> Option<anyhow::Result<Vec<Task>>> {
    let path = file_of(source, checkout)?;
    let tasks = match source {
        Source::Prd(_) => prd(&path).and_then(|prd| prd.tasks().map_err(|fault| wrong(&path, &fault))),
        Source::List(_) | Source::FailingTests | Source::Issues(_) => {
            text_of(&path).and_then(|text| List::read(&text).map_err(|fault| wrong(&path, &fault)))
        }
    };
    Some(tasks)
}

/// Runs the tests and makes tasks of those that fail.
async fn failing(resolved: &Resolved, environment: &Environment) -> anyhow::Result<Vec<Task>> {
    let Resolved { plan, checkout, context, .. } = resolved;
    // These runs of the tests belong to no run that is logged or recorded.
    let plan = Plan { audit: None, record: None, ..plan.clone() };
    let folder = setup::working_directory(checkout, &plan)?;
    let (test_command, framework) = work::test_command(&plan, &folder)?;
    let setup = Setup::new(checkout, environment, Some(&plan), context.as_ref());
    let workspace = setup.open_workspace(&plan, &test_command, None).await?;
    let state = RunState::new(RunId::random(), plan, test_command, framework);
    let prepared = setup.prepare(workspace.clone(), &state, &[])?;
    let world = setup.world(&state, &prepared);
    // The tests would fail without what the setup installs, and all of them would become tasks.
    if let Some(spec) = &world.setup {
        let finished = process::run(spec, &world.stop, &mut |_chunk| {}).await?;
        if !finished.exit.is_success() {
            return Err(Failure::usage(format!("the setup command failed ({})\n→ Fix: run it by hand", finished.exit)));
        }
    }
    let run = test_run::run(&world.tests, None, &world.stop).await?;
    // Half a test run names some failing tests, which would look like the whole backlog.
    if let Some(StopCause::Signal(signal)) = world.stop.raised() {
        let code = u8::try_from(signal).map_or(u8::MAX, |signal| EXIT_SIGNAL_BASE.saturating_add(signal));
        return Err(Failure::with_code(code, "interrupted during the first test run; nothing was started"));
    }
    // A red end without a red test is a build that failed, say. There is no task to make of it.
    if run.report.failing().next().is_none() && !run.exit.is_success() {
        let command = &state.test_command;
        return Err(Failure::usage(format!(
            "the tests fail ({}), and no failing test is named, so there are no tasks\n→ Fix: run `{command}` by hand, or \
             `upshift run` for the whole of it",
            run.exit
        )));
    }
    let files = workspace.files();
    let named = |printed: &str| {
        let mut found = files.iter().filter(|file| may_be_same(printed, file));
        let path = found.next()?.clone();
        // A name that fits two files says nothing of either.
        found.next().is_none().then(|| Named { is_test: is_test_path(Path::new(&path)), path })
    };
    Ok(clusters(&run.report, &named))
}

/// Writes a file whole or not at all.
pub(super) fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // In the same folder, since a rename works within one file system only.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(about) = std::fs::metadata(path) {
        // A temporary file is for its owner alone. The list keeps the rights that it had.
        file.as_file().set_permissions(about.permissions())?;
    }
    // Without it a crash after the rename could leave an empty file under the name.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
