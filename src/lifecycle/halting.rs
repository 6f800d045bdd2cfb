//! A command in a comment, where no job is at work on a run: an earlier run may have heard it, and `/upshift stop` ends the waits.

use super::history;
use crate::github::{CommentSlot, GitHub, GithubError, Progress};
use crate::report::markdown::{Stamp, Standing, with_note, with_stamp};

/// The outcome of a look at our comments on behalf of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// An earlier run has answered the comment.
    Before,
    /// A job is at work on a run: it reads comments by itself.
    AtWork,
    /// So many runs wait no longer. None of them was waiting where it is 0.
    Ended(usize),
}

/// Stands above the report of a run whose wait a person has ended.
const NOTE: &str =
    "**Stopped.** A comment ended the wait: this run does not continue. Comment `/upshift fix` for a new one.";

/// Looks whether a run has heard the comment, and where it has not and asks for that, ends the waits of the pull request's runs.
///
/// # Errors
/// Any [`GithubError`].
pub async fn halt(
    github: &GitHub,
    slot: CommentSlot<'_>,
    comment: u64,
    is_stop: bool,
    own_job: u64,
) -> Result<Heard, GithubError> {
    let ours = github.comments_in(slot).await?;
    let ours: Vec<_> = ours.into_iter().filter_map(|ours| Stamp::read(&ours.body).map(|stamp| (ours, stamp))).collect();
    if ours.iter().any(|(_, stamp)| stamp.heard >= comment) {
        return Ok(Heard::Before);
    }
    let (mut ended, mut at_work) = (0, false);
    for (ours, stamp) in ours.into_iter().filter(|_| is_stop) {
        if stamp.standing == Standing::Working {
            // A process that died leaves a run that the next event would go on with.
            let is_left = is_left(github, &stamp, own_job).await?;
            at_work |= !is_left;
            if !is_left {
                continue;
            }
        } else if !waits(&stamp) {
            continue;
        }
        let over = Stamp { standing: Standing::Over, claimed: None, heard: comment, ..stamp };
        let Some(text) = with_stamp(&ours.body, &over).and_then(|body| with_note(&body, NOTE)) else { continue };
        let marker = ours.body.trim_start().lines().next().unwrap_or_default();
        github.upsert_comment(CommentSlot { marker, ..slot }, &text, Some(ours.id)).await?;
        ended += 1;
    }
    Ok(if at_work && ended == 0 { Heard::AtWork } else { Heard::Ended(ended) })
}

/// Whether each job that may be at work on a run is over.
async fn is_left(github: &GitHub, stamp: &Stamp, own_job: u64) -> Result<bool, GithubError> {
    for (job, attempt) in [history::job_of(&stamp.artifact), stamp.claimed].into_iter().flatten() {
        // The job that carries the command out is not at work on the run.
        if job == own_job {
            continue;
        }
        match github.workflow_run(job).await {
            Ok(found) if found.progress == Progress::Completed || found.run_attempt > attempt => {}
            Err(GithubError::NotFound { .. }) => {}
            Ok(_) => return Ok(false),
            Err(other) => return Err(other),
        }
    }
    Ok(true)
}

/// Whether a run is parked.
fn waits(stamp: &Stamp) -> bool {
    match stamp.standing {
        Standing::Waiting | Standing::Merging | Standing::Blocked => true,
        Standing::Working | Standing::Interrupted | Standing::Undelivered => false,
        // A run at a rate limit ends as over. Only its `parked` says that a job will take it up again.
        Standing::Over => stamp.parked.is_some(),
    }
}
