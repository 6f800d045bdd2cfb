//! What a run would stop at in this checkout before it begins. `run` asks one by one, and commands that say whether a run can begin ask for all.

use std::path::Path;

use super::check::Obstacle;
use super::environment::Environment;
use super::{Failure, left_behind, setup};
use crate::audit::Reader;
use crate::config::Plan;
use crate::domain::stop::Stop;
use crate::workspace::Revisions;
use crate::workspace::publish::operation_under_way;

/// How many files are named.
const MOST_NAMED: usize = 5;

/// The obstacles to a run. None of them is a fault of the configuration.
pub(super) async fn obstacles(plan: &Plan, checkout: &Path, environment: &Environment) -> Vec<Obstacle> {
    let killed = left_behind::notice(checkout, environment);
    let killed = killed.map(|left| Obstacle { about: "killed run", said: left.found(), fix: left.fix });
    let conflict = conflicts(checkout, environment).await;
    let unwritable = setup::writable(checkout).err().map(|error| told("checkout", &error.to_string()));
    [killed, conflict, unwritable, log(plan, checkout, environment)].into_iter().flatten().collect()
}

/// Refuses a tree with conflicts in it: tests and a model would read both sides and git's marks between them.
///
/// # Errors
/// There are some (exit 2).
pub(super) async fn without_conflicts(checkout: &Path, environment: &Environment) -> anyhow::Result<()> {
    match conflicts(checkout, environment).await {
        None => Ok(()),
        Some(Obstacle { said, fix, .. }) => {
            Err(Failure::usage(format!("{said}\n→ Fix: {fix}\nNo LLM calls were made.")))
        }
    }
}

/// The files in which a merge, a rebase or the like has left both sides.
async fn conflicts(checkout: &Path, environment: &Environment) -> Option<Obstacle> {
    // Found by a file, so that git is started in the rare case alone.
    let head = operation_under_way(checkout)?;
    let stop = Stop::never();
    let top = super::place::top(checkout)?;
    let revisions = Revisions::open(top, environment.raw(), &stop).await.ok()?;
    let files = revisions.unmerged().await.ok().filter(|files| !files.is_empty())?;
    let named = files.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = files.len().checked_sub(MOST_NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let operation = match head {
        "CHERRY_PICK_HEAD" => "cherry-pick",
        "REVERT_HEAD" => "revert",
        "REBASE_HEAD" => "rebase",
        _ => "merge",
    };
    Some(Obstacle {
        about: "git",
        said: format!("a {operation} is under way here, with conflicts in {named}{more}"),
        fix: format!("resolve them and `git add` the files, or end it with `git {operation} --abort`"),
    })
}

/// A log that cannot be gone on with.
fn log(plan: &Plan, checkout: &Path, environment: &Environment) -> Option<Obstacle> {
    let location = setup::locate(plan.audit.as_deref()?, checkout, environment);
    Reader::look(&location).err().map(|error| told("audit log", &error.to_string()))
}

/// An obstacle by the message with which a run would end.
fn told(about: &'static str, message: &str) -> Obstacle {
    let (said, fix) = message.split_once("→ Fix:").unwrap_or((message, "see above"));
    // Whatever stands below the way out is about a run.
    let fix = fix.trim().lines().next().unwrap_or_default();
    Obstacle { about, said: said.trim().to_owned(), fix: fix.to_owned() }
}
