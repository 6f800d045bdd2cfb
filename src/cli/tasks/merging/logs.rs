//! The logs of the jobs: found, joined into one, and looked through for runs that mended something.

use std::path::{Path, PathBuf};

use super::super::super::environment::from_here;
use super::super::super::setup::{self, Setup};
use super::super::super::work::repository;
use super::super::super::{Failure, details};
use super::rows::{Candidate, Logs, Row, Standing, Wish};
use crate::audit::{Joined, LoadedRun, Location, Reader, RunStatus, Segment};
use crate::domain::event::{Event, RunStarted};
use crate::domain::outcome::Outcome;
use crate::domain::units::RunId;
use crate::lifecycle::{self, Claimed};
use crate::report::view::RunView;

/// The name of a log that lies in a folder.
const FILE: &str = "audit.db";
/// How deep it is looked for: an artifact's folder, and that of a checkout in it.
const DEPTH: usize = 4;
/// The most logs: a matrix makes no more jobs, and a second round of them as many again.
const MOST: usize = 1_024;

/// Joins the logs. One that cannot be read is told, and the others are joined all the same.
///
/// # Errors
/// When there is no log at all (exit 2), or the one that they are joined into cannot be written.
pub(super) fn join(wish: &Wish<'_>, setup: &Setup<'_>) -> anyhow::Result<Logs> {
    let mut found = Vec::new();
    for named in wish.logs {
        let path = from_here(setup.checkout, &named.to_string_lossy());
        look(&path, DEPTH, &mut found);
    }
    if found.is_empty() {
        return Err(Failure::usage(format!(
            "there is no log to merge: no file, and no folder with a file `{FILE}`, is named\n→ Fix: name the logs of the jobs"
        )));
    }
    let mut store = setup.open_backlogs(wish.into)?;
    // The day's cap of a repository holds over the runs that its log counts. In a job they are other machines' days.
    let repository = setup.context.is_none().then(|| repository(setup.checkout));
    let mut logs = Logs::default();
    if found.len() > MOST {
        // Refused and not silently cut, since the report is read as the whole.
        found.truncate(MOST);
        let why = format!("there are more than {MOST} logs: the rest is not read; merge them in parts");
        logs.refused.push((found.last().map(|path| path.display().to_string()).unwrap_or_default(), None, why));
    }
    logs.count = found.len();
    for path in found {
        let shown = path.display().to_string();
        let reader = match Reader::open(&Location::file(&path)) {
            Ok(reader) => reader,
            Err(error) => {
                logs.refused.push((shown, None, first_line(&error.to_string())));
                continue;
            }
        };
        let runs = match reader.run_ids() {
            Ok(runs) => runs,
            Err(error) => {
                logs.refused.push((shown, None, first_line(&error.to_string())));
                continue;
            }
        };
        for run in runs {
            let now = setup.clock().timestamp();
            // An error here is one of the log that is written, which ends the merge. A broken log of a job does not.
            let joined = store.join(&reader, &run, (&shown, &now, repository.as_deref()));
            let joined = joined.map_err(|error| setup::audit_failure(&error))?;
            match joined {
                Joined::Taken(segment) | Joined::Known(segment) => {
                    // The logs of two jobs may hold the same run, if one of them fetched the other's.
                    if !logs.segments.iter().any(|known| known.run_id == segment.run_id) {
                        logs.segments.push(segment);
                    }
                }
                Joined::Refused { run_id, why } => logs.refused.push((shown.clone(), Some(run_id), why)),
            }
        }
    }
    store.end_joining();
    // Two logs that part over a run: neither counts, whichever came first.
    let parted: Vec<RunId> = logs.refused.iter().filter_map(|(_, run, _)| run.clone()).collect();
    let is_parted = |segment: &Segment| parted.contains(&segment.run_id);
    logs.parted = logs.segments.iter().filter(|segment| is_parted(segment)).map(|one| one.run_id.clone()).collect();
    logs.segments.retain(|segment| !is_parted(segment));
    Ok(logs)
}

/// How much of a reason is told, in characters.
const MOST_SAID: usize = 200;

/// Whether there is a log in a folder.
pub(in crate::cli::tasks) fn has_logs(folder: &Path) -> bool {
    let mut found = Vec::new();
    look(folder, DEPTH, &mut found);
    !found.is_empty()
}

fn look(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    // One too many is enough to know that there are too many.
    if found.len() > MOST || !path.exists() {
        return;
    }
    if !path.is_dir() {
        found.push(path.to_owned());
        return;
    }
    let mut inside: Vec<PathBuf> =
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|one| one.path()).collect();
    // A folder's order is the file system's. The report must not depend on it.
    inside.sort();
    for one in inside {
        // An artifact may hold links, and one could lead anywhere on this machine or in a circle.
        let is_link = one.is_symlink();
        if one.is_dir() && !is_link && depth > 0 {
            look(&one, depth - 1, found);
        } else if one.file_name().is_some_and(|name| name == FILE) && !is_link {
            look(&one, 0, found);
        }
    }
}

/// The changes among what was joined, in the order of the backlog, and how each run is told of.
///
/// # Errors
/// When the joined log cannot be read.
pub(super) fn candidates(logs: &Logs, reader: &Reader, wish: &Wish<'_>) -> anyhow::Result<(Vec<Candidate>, Vec<Row>)> {
    let (mut waiting, mut rows) = (Vec::new(), Vec::new());
    for segment in &logs.segments {
        let loaded = match reader.load_run(&segment.run_id) {
            Ok(loaded) => loaded,
            Err(error) => {
                rows.push(Row::new(segment.run_id.clone(), None, Standing::Refused, first_line(&error.to_string())));
                continue;
            }
        };
        let started = loaded
            .events
            .iter()
            .find_map(|event| if let Event::RunStarted(started) = event { Some(started) } else { None });
        let task = started.and_then(task_of);
        let mut row = Row::new(segment.run_id.clone(), task.clone(), Standing::Waiting, String::new());
        let view = RunView::from_events(&loaded.events, details::liveness(&loaded.status));
        // An unknown part counts at its worst, as everywhere where money is summed.
        row.cost = view.most_spent();
        match end(&loaded, view.stop_reason()) {
            Ok(claimed) => waiting.push(Candidate {
                row: rows.len(),
                run: segment.run_id.clone(),
                task,
                claimed,
                had_second_turn: false,
            }),
            Err((standing, why)) => (row.standing, row.reason) = (standing, why),
        }
        rows.push(row);
    }
    for run in &logs.parted {
        // Nothing of either is taken but which task is to be worked on once more.
        let loaded = reader.load_run(run).ok();
        let started = loaded
            .iter()
            .flat_map(|loaded| &loaded.events)
            .find_map(|event| if let Event::RunStarted(started) = event { Some(started) } else { None });
        let why = "two logs contradict each other about its run: neither counts".to_owned();
        rows.push(Row::new(run.clone(), started.and_then(task_of), Standing::Requeued, why));
    }
    let place = |candidate: &Candidate| {
        let task = candidate.task.as_ref();
        wish.tasks.iter().position(|one| Some(&one.id) == task).unwrap_or(usize::MAX)
    };
    // The backlog's order is that of its dependencies. A run without a task comes last.
    waiting.sort_by_key(place);
    Ok((waiting, rows))
}

/// The change that a run claims, none where it says that nothing failed, or why there is nothing to merge.
fn end(loaded: &LoadedRun, reason: &str) -> Result<Option<Claimed>, (Standing, String)> {
    match &loaded.status {
        RunStatus::Ended(Some(outcome)) if lifecycle::is_mended(outcome) => {
            lifecycle::claimed(loaded).map(Some).map_err(|why| (Standing::Refused, why))
        }
        // Its tests are run here: no log is believed.
        RunStatus::Ended(Some(Outcome::AlreadyGreen)) => Ok(None),
        RunStatus::Ended(Some(outcome)) => {
            // Another machine's words.
            let reason: String = first_line(reason).chars().take(MOST_SAID).collect();
            let because = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            Err((Standing::NotMended, format!("its run ended: {}{because}", outcome.as_str())))
        }
        RunStatus::Ended(None) | RunStatus::Running | RunStatus::Interrupted => Err((
            Standing::NotMended,
            "its run was cut short; `upshift resume` continues it where it started".to_owned(),
        )),
    }
}

/// The task of a run, without its backlog's name.
fn task_of(started: &RunStarted) -> Option<String> {
    let key = started.task.as_deref()?;
    key.split_once('/').map(|(_, task)| task.to_owned())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
