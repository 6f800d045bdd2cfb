//! Runs for pull requests that were parked because every model was limited, or something was in their way, taken up again by a job that the clock starts.
//!
//! Nothing of a job survives it but our comment, whose hidden line says until when the run waits and which workflow run it was. That
//! one is run again, with the event that it had: so the run that follows passes the same gate, counts as any other, and works on the
//! head that was parked. Invariant: of what our comment names only a run of our own workflow's file is ever run again, once, and for
//! an open pull request of this repository whose head is still the parked one.

use super::blockers::{self, Way};
use super::history;
use crate::domain::blocker::Blocker;
use crate::domain::ci::RepoName;
use crate::domain::clock::Timestamp;
use crate::domain::units::CommitSha;
use crate::github::{GitHub, GithubError, Identity, IssueComment, Progress, PullState};
use crate::report::markdown::{Held, MARKER, Stamp, Standing};

/// How many pages of the newest comments are looked through.
const PAGES: usize = 10;
/// The most runs that are taken up by one job: what waits longer is the next one's.
const MAX_TAKEN: usize = 20;
/// The most attempts of a job that may fail before they reach a fix which an outage kept in.
const MOST_FAILED: u64 = 4;
/// How long a workflow run can be run again, in seconds: GitHub's month, less a day for clocks.
const AGAIN_WITHIN: u64 = 29 * 24 * 3_600;

/// A run that waited for a time that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Its pull request.
    pub pull_request: u64,
    /// Its workflow run, and which attempt of that.
    pub job: (u64, u64),
    /// The head that it worked on.
    pub commit: CommitSha,
    /// From when on it may go on, in seconds since the epoch. For a blocked one, when its comment said so.
    pub until: u64,
    /// The blockers in its way. Empty for one that waits for a time.
    pub on: Vec<Blocker>,
    /// How many attempts of its job may have failed before they reached it: an outage that keeps a fix in may bar a checkout, too.
    pub most_failed: u64,
}

/// The result for a run that was due.
#[derive(Debug)]
pub enum Taken {
    /// Its workflow run begins again.
    Again,
    /// There is nothing to go on with, and why.
    Left(&'static str),
    /// The forge did not let us.
    Failed(GithubError),
}

/// The queue that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Queue<'a> {
    /// The API.
    pub github: &'a GitHub,
    /// The identity whose comments are ours.
    pub identity: &'a Identity,
    /// The file of our workflow.
    pub workflow: &'a str,
    /// The label that keeps upshift away.
    pub skip_label: &'a str,
    /// Seconds since the epoch.
    pub now: u64,
}

/// Looks for runs that are due and has them run again. The one that waits longest comes first.
///
/// # Errors
/// Any [`GithubError`]: the comments cannot be read.
pub async fn take_up(queue: Queue<'_>) -> Result<Vec<(Due, Taken)>, GithubError> {
    let comments = queue.github.newest_comments(PAGES).await?;
    let mut taken = Vec::new();
    for due in due(&comments, queue.identity, queue.now).into_iter().take(MAX_TAKEN) {
        let what = match again(queue, &due).await {
            Ok(None) => Taken::Again,
            Ok(Some(why)) => Taken::Left(why),
            Err(error) => Taken::Failed(error),
        };
        taken.push((due, what));
    }
    Ok(taken)
}

/// The runs that our comments say are due.
fn due(comments: &[IssueComment], identity: &Identity, now: u64) -> Vec<Due> {
    // Anybody may write what looks like our comment.
    let ours = comments.iter().filter(|comment| comment.user.as_ref().is_some_and(|user| identity.is(user)));
    let reports = ours.filter(|comment| comment.body.trim_start().starts_with(MARKER));
    let mut found: Vec<Due> = reports.filter_map(due_of).collect();
    found.retain(|due| due.until <= now && now - due.until < AGAIN_WITHIN);
    found.sort_by_key(|due| (due.until, due.pull_request));
    found
}

fn due_of(comment: &IssueComment) -> Option<Due> {
    let stamp = Stamp::read(&comment.body)?;
    let job = history::job_of(&stamp.artifact)?;
    let pull_request = comment.conversation()?;
    let is_blocked = |held: &Held| stamp.standing == Standing::Blocked && !held.on.is_empty();
    if let Some(held) = stamp.held.clone().filter(is_blocked) {
        let until = Timestamp(comment.updated_at.clone()).unix_seconds()?;
        return Some(Due { pull_request, job, commit: held.commit, until, on: held.on, most_failed: 0 });
    }
    if let Some(held) = stamp.held.filter(|_| stamp.standing == Standing::Undelivered) {
        let until = Timestamp(comment.updated_at.clone()).unix_seconds()?;
        return Some(Due { pull_request, job, commit: held.commit, until, on: Vec::new(), most_failed: MOST_FAILED });
    }
    let parked = stamp.parked?;
    Some(Due { pull_request, job, commit: parked.commit, until: parked.until, on: Vec::new(), most_failed: 0 })
}

/// Has a workflow run begin again, or says why not.
async fn again(queue: Queue<'_>, due: &Due) -> Result<Option<&'static str>, GithubError> {
    let Queue { github, workflow, skip_label, .. } = queue;
    // Everything is asked anew: weeks may lie between the comment and now.
    let pull = github.pull(due.pull_request).await?;
    let is_here = |repository: &RepoName| repository.is(github.repository());
    if pull.state != PullState::Open {
        return Ok(Some("the pull request is no longer open"));
    }
    if !pull.head.repository.as_ref().is_some_and(is_here) {
        return Ok(Some("the pull request comes from another repository"));
    }
    if pull.head.sha != due.commit {
        return Ok(Some("the head of the pull request moved; the newer commit has a run of its own"));
    }
    if pull.labels.iter().any(|label| label.eq_ignore_ascii_case(skip_label)) {
        return Ok(Some("the pull request has the label that keeps upshift away"));
    }
    if let Way::Blocked(_) = blockers::look(github, &due.commit, &due.on).await? {
        return Ok(Some("what it is blocked on is still in the way"));
    }
    let (id, attempt) = due.job;
    let run = match github.workflow_run(id).await {
        Ok(run) => run,
        Err(GithubError::NotFound { .. }) => return Ok(Some("its workflow run is gone")),
        Err(other) => return Err(other),
    };
    // Whoever can have text posted under our name could name any run; only ours begins again. GitHub appends `@ref` for a caller's.
    if run.path.split('@').next() != Some(workflow) {
        return Ok(Some("the comment names a run of another workflow"));
    }
    // The comment names the attempt as well: once the run began again the number no longer fits, so nobody takes it up twice.
    let is_next = (attempt..=attempt.saturating_add(due.most_failed)).contains(&run.run_attempt);
    if run.progress != Progress::Completed || !is_next {
        return Ok(Some("its workflow run was taken up already"));
    }
    github.run_again(id).await.map(|()| None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::{CommentId, User};
    use crate::report::markdown::{Parked, marker};

    const NOW: u64 = 1_800_000_000;

    fn comment(number: u64, author: &str, until: u64) -> IssueComment {
        let stamp = Stamp {
            run: "r".to_owned(),
            artifact: format!("upshift-audit-{}-2-pr{number}-x", number * 10),
            parked: Some(Parked { until, commit: CommitSha("c0ffee".to_owned()) }),
            ..Stamp::default()
        };
        IssueComment {
            id: CommentId(number),
            body: format!("{}\n{}\n### Parked", marker("upshift/fix"), stamp.line()),
            user: Some(User { login: author.to_owned(), kind: "Bot".to_owned() }),
            issue_url: format!("https://api.github.com/repos/o/r/issues/{number}"),
            created_at: String::new(),
            updated_at: String::new(),
            html_url: String::new(),
        }
    }

    #[test]
    fn what_waits_for_a_time_that_is_over_is_due_the_longest_waiting_first() {
        let us = Identity::Login("us[bot]".to_owned());
        let comments = [
            comment(1, "us[bot]", NOW - 5),
            comment(2, "us[bot]", NOW + 1),
            comment(3, "us[bot]", NOW - 50),
            comment(4, "us[bot]", NOW),
            comment(5, "eve", NOW - 9),
            comment(6, "us[bot]", NOW - AGAIN_WITHIN),
            IssueComment { body: "words".to_owned(), ..comment(7, "us[bot]", 1) },
            IssueComment { issue_url: String::new(), ..comment(8, "us[bot]", NOW - 9) },
        ];
        let found = due(&comments, &us, NOW);
        assert_eq!(found.iter().map(|due| due.pull_request).collect::<Vec<_>>(), [3, 1, 4]);
        assert_eq!(found.first().map(|due| due.job), Some((30, 2)));
    }

    #[test]
    fn a_fix_that_an_outage_kept_in_is_due_at_once() {
        let mut kept = comment(4, "us[bot]", NOW);
        let commit = CommitSha("c0ffee".to_owned());
        let stamp = Stamp {
            run: "r".to_owned(),
            artifact: "upshift-audit-40-1-pr4-x".to_owned(),
            standing: Standing::Undelivered,
            held: Some(Held { commit: commit.clone(), on: Vec::new() }),
            ..Stamp::default()
        };
        kept.body = format!("{}\n{}\n### Parked", marker("upshift/fix"), stamp.line());
        kept.updated_at = Timestamp::from_unix_ms(i64::try_from(NOW).unwrap() * 1_000 - 5_000).0;
        let found = due(&[kept], &Identity::Login("us[bot]".to_owned()), NOW);
        assert_eq!(found.iter().map(|due| (due.job, &due.commit)).collect::<Vec<_>>(), [((40, 1), &commit)]);
    }
}
