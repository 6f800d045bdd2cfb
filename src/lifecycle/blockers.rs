//! The state of the blockers in a run's way, as the forge tells it: out of the way, still there, or there for good.
//!
//! Invariant: what nobody knows of (a number that does not exist, a check that never ran) is in the way.

use crate::domain::blocker::{Blocker, BlockerKind};
use crate::domain::units::CommitSha;
use crate::github::{CheckRun, Conclusion, GitHub, GithubError, Progress, PullState, StatusState};

/// How something in the way stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// It is out of the way.
    Clear,
    /// It is there: in words.
    Blocked(String),
    /// It will not go away by itself: in words.
    ForGood(String),
}

/// How the whole list stands.
#[must_use]
pub fn together(ways: Vec<Way>) -> Way {
    let mut waits = Vec::new();
    for way in ways {
        match way {
            Way::Clear => {}
            Way::ForGood(why) => return Way::ForGood(why),
            Way::Blocked(what) => waits.push(what),
        }
    }
    if waits.is_empty() { Way::Clear } else { Way::Blocked(waits.join(", ")) }
}

/// Asks about each blocker. Checks are those of a commit.
///
/// # Errors
/// Any [`GithubError`] but that something is not there.
pub async fn look(github: &GitHub, commit: &CommitSha, on: &[Blocker]) -> Result<Way, GithubError> {
    let mut ways = Vec::new();
    for blocker in on {
        let way = match one(github, commit, blocker).await {
            Err(GithubError::NotFound { .. }) => Way::Blocked(format!("{blocker}, whose state is unknown")),
            other => other?,
        };
        ways.push(way);
    }
    Ok(together(ways))
}

async fn one(github: &GitHub, commit: &CommitSha, blocker: &Blocker) -> Result<Way, GithubError> {
    let number = blocker.number_in(github.repository());
    match (blocker.kind, number) {
        (BlockerKind::PullRequest, Some(number)) => pull(github, blocker, number).await,
        (BlockerKind::Issue, Some(number)) => {
            let issue = github.issue(number).await?;
            // GitHub numbers both together and answers for a pull request as for an issue: closed would pass for merged.
            if issue.is_pull {
                return pull(github, blocker, number).await;
            }
            Ok(if issue.open { Way::Blocked(format!("{blocker} to be closed")) } else { Way::Clear })
        }
        (BlockerKind::Check, _) => check(github, commit, blocker).await,
        (BlockerKind::PullRequest | BlockerKind::Issue, None)
        | (BlockerKind::Secret | BlockerKind::Person | BlockerKind::Test | BlockerKind::Other, _) => {
            Ok(Way::Blocked(blocker.to_string()))
        }
    }
}

async fn pull(github: &GitHub, blocker: &Blocker, number: u64) -> Result<Way, GithubError> {
    Ok(match github.pull(number).await?.state {
        PullState::Merged => Way::Clear,
        PullState::Open => Way::Blocked(format!("{blocker} to be merged")),
        PullState::Closed => Way::ForGood(format!("{blocker} was closed without a merge")),
    })
}

async fn check(github: &GitHub, commit: &CommitSha, blocker: &Blocker) -> Result<Way, GithubError> {
    let name = blocker.reference.as_str();
    let runs = github.check_runs(commit).await?;
    // A check that ran again has several runs of one name.
    let newest = runs.iter().filter(|run| run.name == name).max_by(|a, b| a.started_at.cmp(&b.started_at));
    let passed = match newest {
        Some(run) => has_passed(run),
        None => {
            let statuses = github.statuses(commit).await?;
            statuses.iter().any(|status| status.context == name && status.state == StatusState::Success)
        }
    };
    Ok(if passed { Way::Clear } else { Way::Blocked(format!("{blocker} to pass on {}", commit.short())) })
}

fn has_passed(run: &CheckRun) -> bool {
    let good = matches!(run.conclusion, Some(Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped));
    run.progress == Progress::Completed && good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_out_of_the_way_when_all_of_it_is_and_hopeless_when_one_of_it_is() {
        let waits = |what: &str| Way::Blocked(what.to_owned());
        assert_eq!(together(vec![Way::Clear, Way::Clear]), Way::Clear);
        assert_eq!(together(vec![Way::Clear, waits("a"), waits("b")]), waits("a, b"));
        assert_eq!(together(vec![waits("a"), Way::ForGood("c".into())]), Way::ForGood("c".into()));
        assert_eq!(together(Vec::new()), Way::Clear, "nothing is in the way");
    }
}
