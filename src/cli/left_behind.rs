//! A run that was killed in this checkout: reported before anything is paid, or discarded. `check` and `doctor` report the same.
//!
//! Owns the words and the order of steps. The workspace knows which files were written, and the run's log knows whether it lives. A
//! checkout that a person has put in order is no matter, nor is one of which nothing is known (no log, another machine).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Failure;
use super::environment::Environment;
use super::plan;
use super::setup::{self, Setup};
use crate::audit::{Journal, LoadedRun, Reader, RunStatus};
use crate::domain::event::{Event, EventSink};
use crate::domain::shell::quote_path;
use crate::domain::units::RunId;
use crate::lifecycle::{self, SINCE_THE_KILL};
use crate::report::plain;
use crate::workspace::{LeftBehind, Workspace, Writer, look_for_left_behind};

/// How long a run may be silent: what is changed in this time before a kill, and after the last event, counts as a person's.
const PULSE: Duration = Duration::from_secs(1);
/// How many files are named.
const MOST_NAMED: usize = 5;

/// The fate of the files that a killed run has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discard {
    /// They are put back, and the run is over.
    Yes,
    /// They are in the way.
    No,
}

/// Gives a sign of life of the run at every event, and every second.
#[derive(Debug)]
pub(super) struct Pulse(Arc<Workspace>);

impl Pulse {
    /// That of the run in a workspace.
    pub(super) fn of(workspace: &Arc<Workspace>) -> Self {
        // Held by nobody else, the workspace is given up at once.
        let beating = Arc::downgrade(workspace);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PULSE).await;
                let Some(workspace) = beating.upgrade() else { return };
                workspace.beat();
            }
        });
        Self(Arc::clone(workspace))
    }
}

impl EventSink for Pulse {
    fn emit(&mut self, _event: &Event) {
        // At each event too: the second between two beats may be the last of a process that is killed.
        self.0.beat();
    }
}

/// A killed run that left something, or nothing.
#[derive(Debug)]
struct Killed {
    writer: Writer,
    run: LoadedRun,
    /// Files that are as the run left them, or code that it ran.
    left: Vec<String>,
    /// Files that the run left changed and that were changed again afterwards.
    mixed: Vec<String>,
    /// Files that were changed afterwards, and not by the run.
    later: Vec<String>,
}

impl Killed {
    /// Whether something of it stands in the files.
    const fn left_something(&self) -> bool {
        !self.left.is_empty() || !self.mixed.is_empty()
    }
}

/// A killed run, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    /// The facts.
    said: String,
    /// The two ways out.
    pub(super) fix: String,
    /// The files in question.
    files: String,
}

impl Notice {
    fn of(killed: &Killed, checkout: &Path, environment: &Environment) -> Self {
        let files: Vec<String> = killed.left.iter().chain(&killed.mixed).cloned().collect();
        let (count, short, log) = (files.len(), killed.writer.run.short(), &killed.writer.log);
        let plural = if count == 1 { "" } else { "s" };
        // The command is shown as short as it can be: a log at its usual place needs no flag.
        let found_anyway = plan::audit_path(None, environment, checkout) == *log;
        let log = if found_anyway { String::new() } else { format!(" --audit-db {}", quote_path(log)) };
        let since = if killed.mixed.is_empty() {
            String::new()
        } else {
            format!("; since then changed by somebody: {}", named(&killed.mixed))
        };
        Self {
            said: format!("run {short} was killed here and left {count} file{plural} changed{since}"),
            fix: format!(
                "`upshift resume {short}{log}` continues it, `upshift run --discard` restores the files and starts over"
            ),
            files: named(&files),
        }
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.found(), self.fix)
    }

    /// The facts, with the files.
    pub(super) fn found(&self) -> String {
        format!("{} ({})", self.said, self.files)
    }
}

/// Files that a killed run left in a checkout, for commands that only look. `None` where there are none.
pub(super) fn notice(checkout: &Path, environment: &Environment) -> Option<Notice> {
    let trees = setup::trees_folder(checkout, environment);
    // It takes no lock: `check` must not disturb a run that is at work here.
    let left = look_for_left_behind(checkout, &trees).ok().flatten()?;
    let killed = killed(left, checkout, environment).filter(Killed::left_something)?;
    Some(Notice::of(&killed, checkout, environment))
}

/// Sees to it that a new run begins with nothing of a killed one in the tree.
///
/// # Errors
/// A killed run has left files, and nobody said whether to put them back (exit 2). The files cannot be put back.
pub(super) async fn settle(workspace: &Workspace, setup: &Setup<'_>, discard: Discard) -> anyhow::Result<()> {
    let left = workspace.left_behind().await.map_err(|error| Failure::usage(error.to_string()))?;
    let found = left.and_then(|left| killed(left, setup.checkout, setup.environment));
    match (found, discard) {
        (Some(killed), Discard::Yes) => throw_away(workspace, setup, &killed).await?,
        (Some(killed), Discard::No) if killed.left_something() => {
            return Err(in_the_way(&killed, setup));
        }
        (Some(killed), Discard::No) => {
            super::say(&format!(
                "run {} was killed here and left nothing in the files; a new one starts with them as they are",
                killed.writer.run.short()
            ));
        }
        (None, Discard::Yes) => super::say("There is no killed run here to discard; a new one starts"),
        (None, Discard::No) => {}
    }
    // From here on the files are as the person has them, and the new run notes its own writes.
    workspace.forget_writes();
    Ok(())
}

/// Sees to it that a run which goes on takes nothing of another one that was killed for a person's.
///
/// # Errors
/// Another killed run has left files (exit 2).
pub(super) async fn refuse_others(workspace: &Workspace, setup: &Setup<'_>, run: &RunId) -> anyhow::Result<()> {
    let left = workspace.left_behind().await.map_err(|error| Failure::usage(error.to_string()))?;
    let Some(left) = left.filter(|left| left.writer.run != *run) else { return Ok(()) };
    // Several killed runs can follow each other. One whose files are in order is in nobody's way.
    let found = killed(left, setup.checkout, setup.environment).filter(Killed::left_something);
    found.map_or(Ok(()), |killed| Err(in_the_way(&killed, setup)))
}

/// A killed run whose files nobody may take for a person's, with the two ways out.
fn in_the_way(killed: &Killed, setup: &Setup<'_>) -> anyhow::Error {
    let Notice { said, fix, files } = Notice::of(killed, setup.checkout, setup.environment);
    let place = setup.checkout.display();
    Failure::usage(format!("{said}: {fix}\n  in {place}: {files}\nNo LLM calls were made."))
}

/// The run as its log has it, if no process holds it and it did not end.
fn killed(left: LeftBehind, checkout: &Path, environment: &Environment) -> Option<Killed> {
    let LeftBehind { writer, written: mut changed, meanwhile, mut mixed, mut later } = left;
    let reader = Reader::open(&setup::locate(&writer.log, checkout, environment)).ok()?;
    // The log's lock tells: a run that a process still holds is alive, even where it was long silent.
    let run = reader.load_run(&writer.run).ok().filter(|run| run.status == RunStatus::Interrupted)?;
    // Before the baseline stands, only the tests as they were have run: what they leave is nobody's change.
    match lifecycle::load(&run).ok().filter(|state| state.baseline.is_some()) {
        Some(state) => {
            let is_by_product = |file: &String| state.by_products.contains(file);
            changed.extend(meanwhile.into_iter().filter(|file| !is_by_product(file)));
            mixed.retain(|file| !is_by_product(file));
            later.retain(|file| !is_by_product(file));
            // An agent writes files itself, so nothing tells its late changes from a person's. They count as its own and a
            // person's.
            if lifecycle::had_agent_at_work(&run.events) {
                mixed.append(&mut later);
            }
        }
        None => later.clear(),
    }
    changed.sort();
    Some(Killed { writer, run, left: changed, mixed, later })
}

/// Puts back what the killed run changed, keeps what was changed later, and ends it in its log.
async fn throw_away(workspace: &Workspace, setup: &Setup<'_>, killed: &Killed) -> anyhow::Result<()> {
    let Killed { writer, run, left, mixed, later } = killed;
    // The files first: a run that is ended with its files in the tree would be known to nobody.
    workspace.put_back_left(writer, left, mixed).await.map_err(|error| Failure::usage(error.to_string()))?;
    let mut store = setup.open_store(Some(&writer.log))?;
    let continued = store.continue_run(&writer.run, std::process::id(), &setup.clock().timestamp());
    continued.map_err(|error| setup::audit_failure(&error))?;
    let ended = lifecycle::discard(Journal::new(store, Vec::new()), run, setup.clock());
    for warning in ended? {
        super::say(&format!("⚠ {warning}"));
    }
    let back = if left.is_empty() && mixed.is_empty() {
        "nothing of it was left in the files".to_owned()
    } else {
        let files: Vec<String> = left.iter().chain(mixed).cloned().collect();
        format!("restored: {}", named(&files))
    };
    super::say(&format!("Run {} is discarded; {back}", writer.run.short()));
    // Changes of a person that were put back with the run's are kept as a patch, so that nothing of theirs is lost.
    let taken = workspace.take_theirs();
    if !taken.put_back.is_empty() {
        let keep = setup.beside(Some(&writer.log));
        let kept = lifecycle::keep_theirs(&keep, &writer.run, &taken.put_back, SINCE_THE_KILL);
        super::say(&format!("⚠ {}", plain::line(&kept)));
    }
    if !later.is_empty() {
        super::say(&format!("⚠ kept as they are, since they were changed after it was killed: {}", named(later)));
    }
    Ok(())
}

/// The first files by name.
pub(super) fn named(files: &[String]) -> String {
    let mut text = files.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = files.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    plain::line(&text)
}
