//! A run that waits without a job, taken up again by the event that it waits for.
//!
//! Our comment alone says that a run waits: it names the run, the commit that it pushed and the job that keeps its log. The event only
//! wakes us: nothing that it says is believed, and all checks of the head are read. Invariant: of two jobs that are woken at most one goes
//! on: a claim is an edit of the comment, and read back before anything is paid.

use std::time::Duration;

use super::blockers::{self, Way};
use super::history;
use crate::domain::clock::{Clock, Timestamp};
use crate::domain::units::CommitSha;
use crate::github::checks::{self, CiState, Item, ItemKind, Question};
use crate::github::{CommentSlot, GitHub, GithubError, IssueComment, Progress, PullState, Review, ReviewState};
use crate::report::markdown::{Stamp, Standing, with_note, with_stamp};

/// How long the end of the job is waited for that parked the run, and green that may not be all of it.
const PATIENCE_MS: u64 = 180_000;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a claim lies before it is read back: another job that had read the comment before ours may still write its own.
const SETTLES: Duration = Duration::from_secs(3);
/// How long checks that start no job by their end are waited for, where nothing else is open: other apps' and statuses.
const OUTSIDERS_MS: u64 = 60_000;
/// How many open checks are named.
const MOST_NAMED: usize = 3;

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct HeadQuery<'a> {
    /// The API.
    pub github: &'a GitHub,
    /// Where our comment is.
    pub slot: CommentSlot<'a>,
    /// The run, by the trailer of the head commit.
    pub run: &'a str,
    /// The head commit.
    pub head: &'a CommitSha,
    /// Our own workflow run, and which attempt of it.
    pub own_job: (u64, u64),
    /// The files of our own workflows, whose runs are no checks.
    pub own_workflows: &'a [String],
    /// The names that have to pass before merging.
    pub required: &'a [String],
    /// Time.
    pub clock: &'a dyn Clock,
}

/// The run that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// No run waits for this commit, and why not.
    Nothing(&'static str),
    /// One does, and goes on waiting: for what.
    StillWaiting(String),
    /// One does, and there is an answer.
    Answered(Box<Answered>),
}

/// A run whose wait has an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Our comment.
    pub comment: IssueComment,
    /// The content of its hidden line.
    pub stamp: Stamp,
    /// Whether there may be work for a model, and so for a checkout: also where nobody knows what a process that died was at.
    pub is_red: bool,
}

/// Looks whether a run waits for the head, and whether what it waits for is there.
///
/// # Errors
/// Any [`GithubError`].
pub async fn find(query: HeadQuery<'_>) -> Result<Found, GithubError> {
    let patience = query.clock.monotonic_ms().saturating_add(PATIENCE_MS);
    let Some((_, stamp)) = stamped(query).await? else {
        return Ok(Found::Nothing("no comment of upshift's names its run"));
    };
    if let Some(why) = refusal(&stamp, query) {
        return Ok(Found::Nothing(why));
    }
    // The step behind it keeps the log, and it may be at work yet while a fast CI is over.
    for job in [history::job_of(&stamp.artifact), stamp.claimed].into_iter().flatten() {
        if !is_over(query, job, patience).await? {
            return Ok(Found::StillWaiting(format!("the workflow run {} is working on it", job.0)));
        }
    }
    // Read once more: the job that was waited for may have written its last word into the comment meanwhile.
    let Some((comment, stamp)) = stamped(query).await? else { return Ok(Found::Nothing("its comment is gone")) };
    if let Some(why) = refusal(&stamp, query) {
        return Ok(Found::Nothing(why));
    }
    match stamp.standing {
        Standing::Merging => return merged(query, comment, stamp).await,
        Standing::Blocked => return unblocked(query, comment, stamp).await,
        Standing::Over | Standing::Working | Standing::Interrupted | Standing::Undelivered | Standing::Waiting => {}
    }
    // Its jobs are over, and yet the comment says that it works: the process died before it could say more.
    let died = stamp.standing == Standing::Working;
    Ok(match answer(query, patience).await? {
        CiState::Pending { unfinished, .. } if !unfinished.is_empty() => Found::StillWaiting(named(&unfinished)),
        CiState::NotYet | CiState::Pending { .. } => Found::StillWaiting("its checks".to_owned()),
        CiState::Red { .. } => Found::Answered(Box::new(Answered { comment, stamp, is_red: true })),
        CiState::ActionRequired { failing, runs } | CiState::WaitingForEnvironment { failing, runs }
            if failing.is_empty() && !died =>
        {
            Found::StillWaiting(format!("a person's approval of {}", named(&runs)))
        }
        CiState::ActionRequired { failing, .. } | CiState::WaitingForEnvironment { failing, .. } => {
            Found::Answered(Box::new(Answered { comment, stamp, is_red: died || !failing.is_empty() }))
        }
        CiState::Green { .. }
        | CiState::NeverAppeared
        | CiState::AllSkipped { .. }
        | CiState::Cancelled { .. }
        | CiState::RequiredMissing { .. } => Found::Answered(Box::new(Answered { comment, stamp, is_red: died })),
    })
}

/// The runs that a job may go on with at a head that none of them pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// One that an earlier attempt of this very job began, and died or was interrupted with.
    OwnDead,
    /// One that is blocked, or whose process died after it had taken it up.
    Blocked,
    /// Any of these.
    Any,
}

impl Whose {
    fn has(self, stamp: &Stamp, own_job: u64) -> bool {
        let jobs = [history::job_of(&stamp.artifact), stamp.claimed];
        let is_own = jobs.into_iter().flatten().any(|(job, _)| job == own_job);
        match stamp.standing {
            Standing::Blocked => self != Self::OwnDead,
            Standing::Working => (self != Self::OwnDead && stamp.spawn > 1) || (self != Self::Blocked && is_own),
            Standing::Undelivered => self != Self::OwnDead || is_own,
            Standing::Interrupted => self != Self::Blocked && is_own,
            Standing::Over | Standing::Waiting | Standing::Merging => false,
        }
    }
}

/// Looks whether a run is at this head that it did not push: blocked, with what is in its way gone, or left in the middle by a process
/// that died.
///
/// # Errors
/// Any [`GithubError`].
pub async fn find_unpushed(query: HeadQuery<'_>, whose: Whose) -> Result<Found, GithubError> {
    const NONE: Found = Found::Nothing("none is blocked at this commit");
    // The newest report alone: where a later run has one, an older run is not to come back.
    let newest = |comments: Vec<IssueComment>| {
        comments.into_iter().rev().find_map(|comment| Stamp::read(&comment.body).map(|stamp| (comment, stamp)))
    };
    let is_at_the_head = |stamp: &Stamp| {
        whose.has(stamp, query.own_job.0) && stamp.held.as_ref().is_some_and(|held| held.commit == *query.head)
    };
    let Some((comment, stamp)) = newest(query.github.comments_in(query.slot).await?) else { return Ok(NONE) };
    if !is_at_the_head(&stamp) {
        return Ok(NONE);
    }
    let patience = query.clock.monotonic_ms().saturating_add(PATIENCE_MS);
    for job in [history::job_of(&stamp.artifact), stamp.claimed].into_iter().flatten() {
        if !is_over(query, job, patience).await? {
            return Ok(Found::StillWaiting(format!("the workflow run {} is working on it", job.0)));
        }
    }
    unblocked(query, comment, stamp).await
}

/// Tells whether the blockers in a run's way are gone. A blocker that will never go is an answer, too.
async fn unblocked(query: HeadQuery<'_>, comment: IssueComment, stamp: Stamp) -> Result<Found, GithubError> {
    let (head, on) = stamp.held.as_ref().map_or((query.head, &[][..]), |held| (&held.commit, held.on.as_slice()));
    // What did not fit into the comment stands in the log: whoever goes on looks there.
    match blockers::look(query.github, head, on).await? {
        Way::Blocked(what) => Ok(Found::StillWaiting(what)),
        Way::Clear | Way::ForGood(_) => Ok(Found::Answered(Box::new(Answered { comment, stamp, is_red: true }))),
    }
}

/// Tells the fate of the pull request that the run waits for.
async fn merged(query: HeadQuery<'_>, comment: IssueComment, stamp: Stamp) -> Result<Found, GithubError> {
    let pull = query.github.pull(query.slot.number).await?;
    let answered = |is_red| Ok(Found::Answered(Box::new(Answered { comment, stamp, is_red })));
    // Merged, closed or moved on: there is nothing left to wait for.
    if pull.state != PullState::Open || pull.head.sha != *query.head {
        return answered(false);
    }
    let reviews = query.github.reviews(query.slot.number).await?;
    let of_this = |review: &Review| review.commit_id.as_ref() == Some(query.head);
    if reviews.iter().any(|review| review.state == ReviewState::ChangesRequested && of_this(review)) {
        return answered(true);
    }
    Ok(Found::StillWaiting("the merge".to_owned()))
}

/// The run that waits for the pull request's merge, by our newest comment, and the commit that it pushed.
///
/// # Errors
/// Any [`GithubError`].
pub async fn merging(github: &GitHub, slot: CommentSlot<'_>) -> Result<Option<(String, CommitSha)>, GithubError> {
    let comments = github.comments_in(slot).await?;
    let stamp = comments.iter().rev().find_map(|comment| Stamp::read(&comment.body));
    let stamp = stamp.filter(|stamp| stamp.standing == Standing::Merging);
    Ok(stamp.and_then(|stamp| Some((stamp.run, stamp.pushed?))))
}

/// The run that waits for CI or a merge of this head, by our newest comment that says so.
///
/// # Errors
/// Any [`GithubError`].
pub async fn waiting_at(query: HeadQuery<'_>) -> Result<Option<String>, GithubError> {
    let comments = query.github.comments_in(query.slot).await?;
    let waits = |stamp: &Stamp| {
        matches!(stamp.standing, Standing::Waiting | Standing::Merging) && stamp.pushed.as_ref() == Some(query.head)
    };
    let mut stamps = comments.iter().rev().filter_map(|comment| Stamp::read(&comment.body));
    Ok(stamps.find(waits).map(|stamp| stamp.run))
}

/// Why no run is to go on, by what our comment says.
fn refusal(stamp: &Stamp, query: HeadQuery<'_>) -> Option<&'static str> {
    if matches!(stamp.standing, Standing::Over | Standing::Interrupted) {
        return Some("its run is over");
    }
    // One that died between its push and its comment did not come to say so; its log does.
    let died = stamp.standing == Standing::Working;
    (!died && stamp.pushed.as_ref() != Some(query.head))
        .then_some("upshift's comment does not say that its run pushed it")
}

/// Our comment about the run, the newest one.
async fn stamped(query: HeadQuery<'_>) -> Result<Option<(IssueComment, Stamp)>, GithubError> {
    let comments = query.github.comments_in(query.slot).await?;
    let stamped =
        comments.into_iter().rev().filter_map(|comment| Stamp::read(&comment.body).map(|stamp| (comment, stamp)));
    Ok(stamped.into_iter().find(|(_, stamp)| stamp.run == query.run))
}

/// Whether a job is over, by the end of our patience. Our own counts as if it were.
async fn is_over(query: HeadQuery<'_>, (run, attempt): (u64, u64), patience: u64) -> Result<bool, GithubError> {
    // An earlier attempt of this very workflow run: it has ended, or GitHub had not begun ours.
    if run == query.own_job.0 {
        return Ok(true);
    }
    loop {
        match query.github.workflow_run(run).await {
            // Where a later attempt has begun, the one that is asked about has ended.
            Ok(found) if found.progress == Progress::Completed || found.run_attempt > attempt => return Ok(true),
            Ok(_) => {}
            // It was deleted.
            Err(GithubError::NotFound { .. }) => return Ok(true),
            Err(other) => return Err(other),
        }
        if query.clock.monotonic_ms() >= patience {
            return Ok(false);
        }
        query.clock.sleep(PAUSE).await;
    }
}

/// The answer of all checks, once none of them may be yet to appear.
async fn answer(query: HeadQuery<'_>, patience: u64) -> Result<CiState, GithubError> {
    let outsiders = query.clock.monotonic_ms().saturating_add(OUTSIDERS_MS);
    loop {
        let facts = query.github.ci_facts(query.head).await?;
        // The host does not tell when the commit was pushed. Its first workflow run began about then.
        let began = facts.runs.iter().filter_map(|run| Timestamp(run.created_at.clone()).unix_ms()).min();
        let now = u64::try_from(query.clock.unix_ms()).unwrap_or(0);
        let question = Question {
            own_run: Some(query.own_job.0),
            own_workflows: query.own_workflows,
            required: query.required,
            // Where no run of a workflow tells, something else has woken us: it has appeared.
            since_push_ms: began.map_or(PATIENCE_MS, |began| now.saturating_sub(began)),
        };
        let state = checks::decide(&facts, &question);
        let is_settling = match &state {
            CiState::NotYet => true,
            CiState::Pending { unfinished, .. } => {
                // Nothing wakes us by the end of these, so this job itself waits for them for a while.
                let is_outsider = |item: &Item| matches!(item.kind, ItemKind::Check { .. } | ItemKind::Status);
                let waits = query.clock.monotonic_ms() < outsiders && unfinished.iter().all(is_outsider);
                unfinished.is_empty() || waits
            }
            CiState::NeverAppeared
            | CiState::Green { .. }
            | CiState::Red { .. }
            | CiState::ActionRequired { .. }
            | CiState::WaitingForEnvironment { .. }
            | CiState::AllSkipped { .. }
            | CiState::Cancelled { .. }
            | CiState::RequiredMissing { .. } => false,
        };
        if !is_settling || query.clock.monotonic_ms() >= patience {
            return Ok(state);
        }
        query.clock.sleep(PAUSE).await;
    }
}

fn named(items: &[Item]) -> String {
    let names: Vec<&str> = items.iter().take(MOST_NAMED).map(|item| item.name.as_str()).collect();
    let more = items.len().saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Takes the run: says in our comment that this job goes on with it, and reads that back. `None` where another job was faster.
///
/// # Errors
/// Any [`GithubError`].
pub async fn claim(query: HeadQuery<'_>, answered: &Answered) -> Result<Option<Stamp>, GithubError> {
    let claimed =
        Stamp { spawn: answered.stamp.spawn.saturating_add(1), claimed: Some(query.own_job), ..answered.stamp.clone() };
    let Some(text) = with_stamp(&answered.comment.body, &claimed) else { return Ok(None) };
    // What another job has said meanwhile is not to be overwritten.
    if stamped(query).await?.is_none_or(|(_, now)| now != answered.stamp) {
        return Ok(None);
    }
    edit(query, answered, &text).await?;
    query.clock.sleep(SETTLES).await;
    Ok(stamped(query).await?.filter(|(_, now)| *now == claimed).map(|(_, now)| now))
}

/// Ends the waiting of a run that nobody can go on with, and says why above its report.
///
/// # Errors
/// Any [`GithubError`].
pub async fn end(query: HeadQuery<'_>, answered: &Answered, note: &str) -> Result<(), GithubError> {
    let over = Stamp { standing: Standing::Over, held: None, claimed: None, ..answered.stamp.clone() };
    let text = with_stamp(&answered.comment.body, &over).and_then(|body| with_note(&body, note));
    match text {
        Some(text) => edit(query, answered, &text).await,
        None => Ok(()),
    }
}

/// The same for a run that nobody has claimed or told more of since it was looked at.
///
/// # Errors
/// Any [`GithubError`].
pub async fn end_unclaimed(query: HeadQuery<'_>, answered: &Answered, note: &str) -> Result<(), GithubError> {
    match stamped(query).await? {
        Some((_, now)) if now == answered.stamp => end(query, answered, note).await,
        Some(_) | None => Ok(()),
    }
}

/// The same for a run that this job has claimed and cannot go on with. Not where somebody has said more in our comment meanwhile.
///
/// # Errors
/// Any [`GithubError`].
pub async fn end_claimed(query: HeadQuery<'_>, answered: &Answered, note: &str) -> Result<(), GithubError> {
    match stamped(query).await? {
        Some((_, now)) if now.claimed == Some(query.own_job) => end(query, answered, note).await,
        Some(_) | None => Ok(()),
    }
}

async fn edit(query: HeadQuery<'_>, answered: &Answered, text: &str) -> Result<(), GithubError> {
    let marker = answered.comment.body.trim_start().lines().next().unwrap_or_default();
    let slot = CommentSlot { marker, ..query.slot };
    query.github.upsert_comment(slot, text, Some(answered.comment.id)).await.map(drop)
}
