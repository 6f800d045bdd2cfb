//! Backlogs: `upshift tasks` looks at one, `upshift run --tasks` works it off.
//!
//! Each task is a run of its own, by this program once more ([`worker`]), so that a task is bounded, judged, recorded and resumed as any
//! run is. `policy::backlog` decides between runs. [`engine`] goes from task to task, [`book`] keeps the status of each in the log,
//! [`load`] reads the source, [`steering`] takes orders meanwhile, [`proven`] puts a change on the branch and looks whether it stays.

mod again;
mod agents;
mod book;
mod command;
mod comments;
mod committed;
mod ending;
mod engine;
mod entry;
mod flags;
mod issues;
mod load;
mod lost;
mod matrix;
mod merging;
mod named;
mod of_run;
mod only;
mod orders;
mod outcome;
mod proven;
mod ready;
mod reset;
mod settle;
mod shares;
mod standing;
mod steering;
mod template;
mod theirs;
mod told;
mod trusted;
mod turn;
mod worker;
mod workers;

use super::Failure;
use super::environment::Environment;
use crate::domain::outcome::EXIT_INTERNAL;
use crate::domain::units::RunId;
use crate::process::companion;

pub(super) use command::{Args, run as command};
pub(super) use engine::run;
pub(super) use flags::BacklogFlags;
pub(super) use merging::{MergeArgs, run as merge};
pub(super) use orders::{CountArgs, OrderArgs, add, pause, remove, resume};

/// The variable that names the task of a run, as `backlog/task`. Set for the runs of a backlog alone.
pub(super) const TASK: &str = "UPSHIFT_TASK";
/// The variable that names the id which the run for a task is to have, so that a backlog knows of it whether or not it was begun.
const TASK_RUN: &str = "UPSHIFT_TASK_RUN";
/// The variable that holds the id of the process that works off the backlog.
const TASK_PARENT: &str = "UPSHIFT_TASK_PARENT";
/// The variable that names the list which the task is of, where that lies in the checkout.
pub(super) const TASK_LIST: &str = "UPSHIFT_TASK_LIST";
/// The files in which a project says how it is worked on.
pub(super) const INSTRUCTIONS: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];

/// The id of a run that begins: the one that its backlog expects, or a fresh one.
pub(super) fn run_id(environment: &Environment) -> RunId {
    // Only together with a task, so that a variable that was left over names no other run.
    let expected = environment.get(TASK).and_then(|_task| environment.get(TASK_RUN));
    expected.map_or_else(RunId::random, |id| RunId(id.to_owned()))
}

/// Has a run for a task end when the process that works off its backlog is gone. Any other run stays as it is.
///
/// # Errors
/// That process is gone already: whoever goes on with the backlog does not know of this run, and nothing is begun.
pub(super) fn follow_parent(environment: &Environment) -> anyhow::Result<()> {
    if environment.get(TASK).is_none() {
        return Ok(());
    }
    // Asked for before the look: in the other order the parent could die between the two.
    if let Err(error) = companion::end_with_parent() {
        super::say(&format!("⚠ this run continues even if the process that started it is killed: {error}"));
    }
    let parent = environment.get(TASK_PARENT).and_then(|pid| pid.parse().ok());
    // The parent may have died before the kernel knew that its end concerns us.
    if parent.is_some_and(companion::is_orphan_of) {
        return Err(Failure::with_code(
            EXIT_INTERNAL,
            "the process that started this run is gone; nothing was started",
        ));
    }
    Ok(())
}
