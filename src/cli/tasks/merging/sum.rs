//! All that was merged, once more together: tests, and every command that proves a task. Where that fails, the guilty change is looked for
//! once and taken back.

use std::collections::BTreeSet;

use super::super::super::say;
use super::super::ready::unreadable;
use super::court::{Court, check_name};
use super::rows::{Standing, SumStanding};
use super::told::{Report, inert};
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::lifecycle::Sum;
use crate::policy::merging::Bisection;
use crate::tracker::Proof;
use crate::workspace::RevisionError;

/// Checks the sum.
pub(super) async fn check(court: &Court<'_>, stop: &Stop, report: &mut Report) -> anyhow::Result<()> {
    // One change was judged with everything else already.
    if report.done.len() < 2 {
        return Ok(());
    }
    say("◆ All changes together");
    // The state before the first change is run as well: tests that failed then are nobody's fault.
    let Some(before) = base(court, report).await? else { return Ok(()) };
    let proofs: Vec<Proof> = report.done.iter().map(|done| done.task.proof.clone()).collect();
    let proofs: Vec<&Proof> = proofs.iter().collect();
    let head = court.revisions.commit("HEAD").await.map_err(unreadable)?;
    let wrong = match wrong(court, &head, &proofs, &before, report).await? {
        Ok(wrong) if wrong.is_empty() => {
            report.sum = SumStanding::Green;
            return Ok(());
        }
        Ok(wrong) => wrong,
        Err(standing) => {
            report.sum = standing;
            return Ok(());
        }
    };
    let why = wrong.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    say(&inert(&format!("◆ Together they fail: {why}; looking for the cause")));
    // Each step runs all tests, so the changes are halved instead of tried one by one.
    let Some(mut search) = Bisection::of(report.done.len()) else { return Ok(()) };
    while let Some(first) = search.next() {
        if stop.raised().is_some() {
            report.stop();
            return Ok(());
        }
        // The first number is one: after that many changes.
        let Some(commit) = first.checked_sub(1).and_then(|at| report.done.get(at)).map(|done| done.commit.clone())
        else {
            break;
        };
        // What a later change is to mend fails here without anybody's fault.
        let later = names_of(&proofs, first);
        let fails = match court.sum(&commit, &proofs).await? {
            Sum::Ran(failing) => failing.iter().any(|name| wrong.contains(name) && !is_of(&later, name)),
            Sum::Broken(_) => true,
            Sum::Stopped => {
                report.stop();
                return Ok(());
            }
        };
        search = search.learn(first, fails);
    }
    // Reverted by a commit instead of rewritten: the branch may have been seen by somebody.
    take_back(court, search.guilty(), &why, report).await?;
    let head = court.revisions.commit("HEAD").await.map_err(unreadable)?;
    let proofs: Vec<Proof> = report.done.iter().map(|done| done.task.proof.clone()).collect();
    let proofs: Vec<&Proof> = proofs.iter().collect();
    // Looked at once more, since the rest may fail without that change, too.
    report.sum = match self::wrong(court, &head, &proofs, &before, report).await? {
        Ok(wrong) if wrong.is_empty() => SumStanding::Mended,
        Ok(wrong) => SumStanding::Fails(wrong.into_iter().take(3).collect::<Vec<_>>().join(", ")),
        Err(standing) => standing,
    };
    Ok(())
}

/// The names that the proofs from this number on stand for.
fn names_of(proofs: &[&Proof], from: usize) -> BTreeSet<String> {
    let names = |(number, proof): (usize, &&Proof)| match proof {
        Proof::Tests(names) => names.clone(),
        // A command fails under the name of its check.
        Proof::Command(_) => vec![check_name(number)],
        Proof::Both { tests, .. } => tests.iter().cloned().chain([check_name(number)]).collect(),
        Proof::Nothing => Vec::new(),
    };
    proofs.iter().enumerate().skip(from).flat_map(names).collect()
}

/// Whether a failure is one of the names, or a part of the check of that name.
fn is_of(names: &BTreeSet<String>, failure: &str) -> bool {
    let within = |name: &String| {
        // The check's name, or a test that the check's command named.
        failure.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
    };
    names.iter().any(within)
}

/// The tests that failed before the first change.
async fn base(court: &Court<'_>, report: &mut Report) -> anyhow::Result<Option<BTreeSet<String>>> {
    let Some(first) = report.done.first() else { return Ok(None) };
    let parent = court.revisions.commit(&format!("{}^", first.commit.0)).await.map_err(unreadable)?;
    Ok(match court.sum(&parent, &[]).await? {
        Sum::Ran(failing) => Some(failing.into_iter().collect()),
        // Where nothing could be run at the start, everything that fails now is wrong.
        Sum::Broken(_) => Some(BTreeSet::new()),
        Sum::Stopped => {
            report.stop();
            None
        }
    })
}

/// The tests that fail and did not fail before the first change, or that a change was to mend.
async fn wrong(
    court: &Court<'_>,
    commit: &CommitSha,
    proofs: &[&Proof],
    before: &BTreeSet<String>,
    report: &mut Report,
) -> anyhow::Result<Result<BTreeSet<String>, SumStanding>> {
    let mended: BTreeSet<&String> = proofs
        .iter()
        .flat_map(|proof| match proof {
            Proof::Tests(names) | Proof::Both { tests: names, .. } => names.iter(),
            Proof::Command(_) | Proof::Nothing => [].iter(),
        })
        .collect();
    Ok(match court.sum(commit, proofs).await? {
        Sum::Ran(failing) => {
            // A test that a change was to mend counts even where it failed before.
            Ok(failing.into_iter().filter(|name| mended.contains(name) || !before.contains(name)).collect())
        }
        Sum::Broken(why) => Err(SumStanding::Fails(why)),
        Sum::Stopped => {
            report.stop();
            Err(SumStanding::NotLooked)
        }
    })
}

/// Takes a change back by a commit of its own. Its task is to be worked on once more.
async fn take_back(court: &Court<'_>, guilty: usize, why: &str, report: &mut Report) -> anyhow::Result<()> {
    let Some(done) = report.done.get(guilty).cloned() else { return Ok(()) };
    match court.revisions.take_back(&done.commit, &court.author().await?).await {
        Ok(_) => {
            // It is no longer among the changes that are proposed.
            report.done.remove(guilty);
            report.set(done.row, Standing::Requeued, format!("together with the others it fails: {why}"), None);
        }
        Err(RevisionError::Stopped) => report.stop(),
        Err(error) => {
            report.sum =
                SumStanding::Fails(format!("{why}; {} is the cause, and cannot be reverted: {error}", done.task.id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_change_is_to_mend_is_looked_away_from() {
        let tests = Proof::Tests(vec!["test_a".to_owned()]);
        let command = Proof::Command("make lint".to_owned());
        let proofs = [&tests, &command, &tests];
        let later = names_of(&proofs, 1);
        assert!(is_of(&later, &check_name(1)) && is_of(&later, &format!("{}: line 3", check_name(1))));
        assert!(is_of(&later, "test_a"), "the third change names it, too");
        assert!(
            !is_of(&names_of(&proofs, 3), "test_a") && !is_of(&later, "test_ab") && !is_of(&later, &check_name(11))
        );
    }
}
