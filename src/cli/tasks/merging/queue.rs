//! One change after the other, with tests and court between them. The end of each is decided by `policy::merging`.

use std::collections::VecDeque;

use super::super::super::{say, setup};
use super::super::ready::is_stopped;
use super::super::settle::is_filtered;
use super::court::{Court, Tried};
use super::rows::{Candidate, Done, Standing};
use super::told::{Report, inert};
use crate::audit::Reader;
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::lifecycle::{Applied, Sum};
use crate::policy::merging::{Fate, TrialEnd, fate, in_order};
use crate::tracker::Proof;

/// Merges what waits.
pub(super) async fn work_off(
    court: &Court<'_>,
    waiting: Vec<Candidate>,
    reader: &Reader,
    stop: &Stop,
    report: &mut Report,
) -> anyhow::Result<()> {
    let all = waiting.len();
    let mut waiting = VecDeque::from(in_dependency_order(court, waiting));
    let mut number = 0;
    while let Some(candidate) = waiting.pop_front() {
        // Between two changes only: one that is being judged hears the signal itself.
        if stop.raised().is_some() {
            report.stop();
            return Ok(());
        }
        // A change that comes again keeps its number.
        if !candidate.had_second_turn {
            number += 1;
        }
        let shown = candidate.task.clone().unwrap_or_else(|| candidate.run.short().to_owned());
        say(&inert(&format!("◆ Change {number}/{all} {shown}")));
        let (end, why, commit) = turn(court, &candidate, reader, report).await?;
        let became = fate(end, candidate.had_second_turn);
        let standing = match became {
            Fate::Merged => Standing::Merged,
            Fate::Duplicate => Standing::Duplicate,
            Fate::Requeued => Standing::Requeued,
            Fate::Refused => Standing::Refused,
            Fate::ComesAgain => {
                // Behind all others: what it conflicts with may not be what it is judged on later.
                waiting.push_back(Candidate { had_second_turn: true, ..candidate });
                continue;
            }
            Fate::Stops => {
                // Its turn comes again with the same command.
                report.set(candidate.row, Standing::Waiting, why, None);
                report.stop();
                return Ok(());
            }
        };
        report.set(candidate.row, standing, why, commit);
    }
    Ok(())
}

/// The candidates, each behind those that its task depends on: they may have been finished side by side.
fn in_dependency_order(court: &Court<'_>, waiting: Vec<Candidate>) -> Vec<Candidate> {
    let on: Vec<Vec<String>> =
        waiting.iter().map(|one| court.task(one).map_or_else(|_| Vec::new(), |task| task.depends_on)).collect();
    let tasks: Vec<(Option<&str>, &[String])> =
        waiting.iter().zip(&on).map(|(one, on)| (one.task.as_deref(), on.as_slice())).collect();
    let order = in_order(&tasks);
    let mut slots: Vec<Option<Candidate>> = waiting.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| slots.get_mut(at).and_then(Option::take)).collect()
}

/// The trial of a run that says that nothing failed.
async fn passes(court: &Court<'_>, candidate: &Candidate) -> anyhow::Result<(TrialEnd, String, Option<CommitSha>)> {
    let passes = || (TrialEnd::NothingFails, "its tests pass already".to_owned(), None);
    if court.is_gone(candidate) {
        return Ok(passes());
    }
    // Where nobody here knows its tests, all of them have to pass.
    let proof = court.task(candidate).map_or(Proof::Nothing, |task| task.proof);
    Ok(match court.look(&proof).await? {
        Sum::Ran(failing) if failing.is_empty() => passes(),
        // The job saw another state of the repository, or its log is wrong. Its task is worked on once more.
        Sum::Ran(failing) => {
            let named = failing.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            (TrialEnd::Lost, format!("its job says that nothing failed, but here these fail: {named}"), None)
        }
        Sum::Broken(why) => (TrialEnd::Lost, format!("the tests cannot be run: {why}"), None),
        Sum::Stopped => (TrialEnd::Stopped, String::new(), None),
    })
}

/// The trial of a change.
async fn turn(
    court: &Court<'_>,
    candidate: &Candidate,
    reader: &Reader,
    report: &mut Report,
) -> anyhow::Result<(TrialEnd, String, Option<CommitSha>)> {
    let Some(claimed) = &candidate.claimed else { return passes(court, candidate).await };
    let task = match court.task(candidate) {
        Ok(task) => task,
        Err(why) => return Ok((TrialEnd::Unfit, why, None)),
    };
    match court.committed(&candidate.run).await? {
        // Somebody, or the look at all changes together, took it back on purpose.
        Some((_, true)) => return Ok((TrialEnd::Unfit, "an earlier merge reverted it".to_owned(), None)),
        // An earlier merge was killed after its commit, and this one goes on behind it.
        Some((commit, false)) => {
            report.done.push(Done { row: candidate.row, task, commit: commit.clone() });
            return Ok((TrialEnd::Proven, String::new(), Some(commit)));
        }
        None => {}
    }
    let change = reader.load_tree(&candidate.run, &claimed.tree);
    let Some(change) = change.map_err(|error| setup::audit_failure(&error))? else {
        return Ok((TrialEnd::Unfit, "its change is not in its log".to_owned(), None));
    };
    let applied = match court.apply((&task, &candidate.run), &change).await? {
        Tried::Committed(commit) => {
            report.done.push(Done { row: candidate.row, task, commit: commit.clone() });
            return Ok((TrialEnd::Proven, String::new(), Some(commit)));
        }
        // Another try would end the same way, and the others are none the worse.
        Tried::Uncommitted(error) if is_filtered(&error) => {
            let why =
                format!("{}; `upshift show {} --last-patch` prints it", uncommitted(&error), candidate.run.short());
            return Ok((TrialEnd::Unfit, why, None));
        }
        // A git that refuses one commit refuses the next as well, so the merge ends here.
        Tried::Uncommitted(error) => return Ok((TrialEnd::Stopped, uncommitted(&error), None)),
        Tried::Judged(applied) => applied,
    };
    Ok(match applied {
        Applied::Proven { .. } => (TrialEnd::Proven, String::new(), None),
        Applied::NothingFails => (TrialEnd::NothingFails, "its tests pass without it".to_owned(), None),
        Applied::Conflict(why) => (TrialEnd::Conflict, why, None),
        Applied::Lost(why) => (TrialEnd::Lost, why, None),
        // Not the change's fault, and still nothing that it could be proven by.
        Applied::Broken(why) => (TrialEnd::Lost, format!("the tests cannot be run without it: {why}"), None),
        Applied::Refused(why) => (TrialEnd::Unfit, why, None),
        Applied::Stopped => (TrialEnd::Stopped, String::new(), None),
    })
}

/// Why a proven change waits still. Empty where a signal ended it.
fn uncommitted(error: &anyhow::Error) -> String {
    if is_stopped(error) {
        return String::new();
    }
    let said = error.to_string();
    format!("it is proven, and could not be committed: {}", said.lines().next().unwrap_or_default())
}
