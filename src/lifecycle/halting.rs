//! A command in a comment, where no job is at work on a run: an earlier run may have heard it, and `/upshift stop` ends the waits.

use crate::github::{CommentSlot, GitHub, GithubError};
use crate::report::markdown::{Stamp, Standing, with_note, with_stamp};

/// The outcome of a look at our comments on behalf of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// An earlier run has answered the comment.
    Before,
    /// So many runs wait no longer. None of them was waiting where it is 0.
    Ended(usize),
}

/// Stands above the report of a run whose wait a person has ended.
const NOTE: &str =
    "**Stopped.** A comment ended the wait: nothing goes on with this run. Comment `/upshift fix` for a new one.";

/// Looks whether a run has heard the comment, and where it has not and asks for that, ends the waits of the pull request's runs.
///
/// # Errors
/// Any [`GithubError`].
pub async fn halt(github: &GitHub, slot: CommentSlot<'_>, comment: u64, is_stop: bool) -> Result<Heard, GithubError> {
    let ours = github.comments_in(slot).await?;
    let ours: Vec<_> = ours.into_iter().filter_map(|ours| Stamp::read(&ours.body).map(|stamp| (ours, stamp))).collect();
    if ours.iter().any(|(_, stamp)| stamp.heard >= comment) {
        return Ok(Heard::Before);
    }
    let mut ended = 0;
    for (ours, stamp) in ours.into_iter().filter(|(_, stamp)| is_stop && waits(stamp)) {
        let over = Stamp { standing: Standing::Over, claimed: None, heard: comment, ..stamp };
        let Some(text) = with_stamp(&ours.body, &over).and_then(|body| with_note(&body, NOTE)) else { continue };
        let marker = ours.body.trim_start().lines().next().unwrap_or_default();
        github.upsert_comment(CommentSlot { marker, ..slot }, &text, Some(ours.id)).await?;
        ended += 1;
    }
    Ok(Heard::Ended(ended))
}

/// Whether a run waits and no process is at work on it.
fn waits(stamp: &Stamp) -> bool {
    match stamp.standing {
        Standing::Waiting | Standing::Merging | Standing::Blocked => true,
        Standing::Over | Standing::Working => stamp.parked.is_some(),
    }
}
