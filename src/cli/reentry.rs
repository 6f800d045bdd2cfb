//! The job that the end of CI starts for a run that waits without one: it goes on with that run, from the log that its artifact holds.

use std::path::PathBuf;
use std::sync::Arc;

use super::environment::Environment;
use super::{Failure, forge, stop_sources, trigger, waiting};
use crate::config::Plan;
use crate::domain::ci::{CiContext, EventKind, PullRequestRef};
use crate::domain::clock::Clock;
use crate::domain::outcome::EXIT_REFUSED;
use crate::domain::stop::Stop;
use crate::domain::units::{CommitSha, RunId};
use crate::github::{CommentSlot, GitHub, GithubError, Identity};
use crate::lifecycle::gate::{self, Refusal, Rules, Stage};
use crate::lifecycle::history::{self, Evidence, NoLog, Place};
use crate::lifecycle::reentry::{self, Answered, Found, HeadQuery, Whose};
use crate::report::markdown::{self, Standing};

/// The most that the query waits altogether: for the job that parked the run, and for the last checks to appear.
const PATIENCE_MS: u64 = 600_000;

/// How a job comes to its run.
#[derive(Debug)]
pub(super) enum Entry {
    /// It begins one.
    Begins,
    /// One waits for this commit, and goes on waiting: for what.
    Waits(String),
    /// It goes on with one.
    GoesOn(Box<Visit>),
}

/// A run to go on with.
#[derive(Debug)]
pub(super) struct Visit {
    client: PullRequestClient,
    run: RunId,
    head: CommitSha,
    answered: Answered,
}

/// Facts that every question is asked with.
#[derive(Debug)]
struct PullRequestClient {
    github: GitHub,
    identity: Identity,
    number: u64,
    marker: String,
    own_job: (u64, u64),
    own_workflows: Vec<String>,
    required: Vec<String>,
    clock: Arc<dyn Clock>,
}

impl PullRequestClient {
    fn query<'a>(&'a self, run: &'a str, head: &'a CommitSha) -> HeadQuery<'a> {
        HeadQuery {
            github: &self.github,
            slot: CommentSlot { number: self.number, marker: &self.marker, identity: &self.identity },
            run,
            head,
            own_job: self.own_job,
            own_workflows: &self.own_workflows,
            required: &self.required,
            clock: &*self.clock,
        }
    }
}

/// The result of a claim.
#[derive(Debug)]
pub(super) enum Claim {
    /// The run is ours, and its log lies here.
    Ours(PathBuf),
    /// Another job was faster.
    Theirs,
    /// The run is ours, and its log is not to be had: why.
    LogGone(String),
}

impl Visit {
    /// Whether there is work for a model.
    pub(super) fn needs_checkout(&self) -> bool {
        self.answered.is_red
    }

    /// Why it goes on, in words.
    pub(super) fn because(&self) -> &'static str {
        match self.answered.stamp.standing {
            Standing::Working => "its job died",
            Standing::Interrupted => "its job was interrupted",
            Standing::Undelivered => "its fix was not out yet",
            Standing::Over | Standing::Waiting | Standing::Merging | Standing::Blocked => "its wait is over",
        }
    }

    /// The run.
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }

    /// The link of the log's chain that the comment quotes.
    pub(super) fn chain_head(&self) -> &str {
        &self.answered.stamp.head
    }

    /// Claims the run and fetches its log into a folder of ours.
    ///
    /// # Errors
    /// The comment cannot be read or edited (exit 6), a file cannot be written.
    pub(super) async fn claim(&self, context: &CiContext, folder: &std::path::Path) -> anyhow::Result<Claim> {
        let Self { client, run, head, answered } = self;
        let query = client.query(&run.0, head);
        // The claim comes before the download: two jobs of the same event would both go on with the run.
        if reentry::claim(query, answered).await.map_err(unknown)?.is_none() {
            return Ok(Claim::Theirs);
        }
        std::fs::create_dir_all(folder)?;
        let place = Place {
            github: &client.github,
            slot: query.slot,
            workflow: context.run.workflow_path.as_deref(),
            default_branch: context.default_branch.as_deref(),
            scratch: folder,
            // A log on this machine's disk could be that of another run. The comment's stamp names the artifact.
            local: None,
            evidence: Evidence::Artifacts,
        };
        let stamp = &answered.stamp;
        let of_claim =
            stamp.claimed.map(|(job, attempt)| history::artifact_name(job, attempt, Some(client.number), run));
        let mut gone = String::new();
        // A job that claimed the run and died has the newer log, if it came to have one.
        for name in of_claim.iter().chain([&stamp.artifact]) {
            match history::fetch_log(place, name, stamp, folder).await {
                Ok(path) => return Ok(Claim::Ours(path)),
                // The last reason is told, that of the log which every parked run has.
                Err(NoLog::Gone(why)) => gone = why,
                // The log may well be there, and the claim is this job's: its next attempt goes on.
                Err(NoLog::Unread(error)) => return Err(unread(run, &error)),
            }
        }
        Ok(Claim::LogGone(gone))
    }
}

/// Stands above the report of a run that has an answer and no log to go on with.
const NO_LOG: &str = "**The wait is over.** No check failed; the run's log is gone, so there is no further report.";

impl Visit {
    /// Has our comment wait no longer for a run that nobody can go on with.
    pub(super) async fn end_without_log(&self) -> Result<(), GithubError> {
        let query = self.client.query(&self.run.0, &self.head);
        reentry::end(query, &self.answered, NO_LOG).await
    }
}

impl Visit {
    /// Whether the run has pushed this commit, also where a process died before it could say so.
    async fn has_pushed(&self, head: &CommitSha) -> Result<bool, GithubError> {
        let message = self.client.github.commit(&head.0).await?.message;
        // The trailer in the commit's message is what a process leaves that died right after its push.
        Ok(gate::run_of(&message) == Some(self.run.0.as_str()))
    }

    /// Has our comment wait no longer for a commit that somebody else's stands on by now.
    async fn end_behind(&self, newer: &CommitSha) -> Result<(), GithubError> {
        let query = self.client.query(&self.run.0, &self.head);
        let note = format!(
            "**The wait is over.** `{}` is the head now, not this run's commit: its CI decides, and may start a run of its own.",
            newer.short()
        );
        reentry::end_unclaimed(query, &self.answered, &note).await
    }

    /// Has our comment wait no longer for a run that this job has claimed and could not go on with: why.
    pub(super) async fn end_because(&self, why: &str) -> Result<(), GithubError> {
        let query = self.client.query(&self.run.0, &self.head);
        // The comment has room for the reason. The way to mend it stands in the job's log.
        let why = why.lines().next().unwrap_or_default();
        let note = format!("**The wait is over.** The run cannot continue: {}", markdown::quoted(why));
        reentry::end_claimed(query, &self.answered, &note).await
    }
}

/// Passes the gate: for a run that waits for this event's commit as one that goes on, else as one that begins. `marker` is the beginning
/// of our comments that count.
///
/// # Errors
/// A refusal, with its reason (exit 6).
pub(super) async fn admit(
    context: &mut CiContext,
    plan: &Plan,
    marker: &str,
    environment: &Environment,
) -> anyhow::Result<Entry> {
    let rules = Rules::from(&plan.github);
    // A waiting run first: by the ordinary rules its own push would be refused as one of upshift's.
    if let Some(entry) = visit(context, rules, marker, environment).await? {
        return Ok(entry);
    }
    // Such an event tells of a state that anybody's checks may cause, so it begins nothing.
    if context.event.only_wakes() {
        return Err(Failure::refused(&Refusal::WakesOnly { event: context.event.as_str().to_owned() }));
    }
    forge::admit(context, rules, environment).await?;
    if let Some(entry) = asked_meanwhile(context, marker, environment).await? {
        return Ok(entry);
    }
    Ok(blocked(context, marker, environment).await?.unwrap_or(Entry::Begins))
}

/// A run that waits for CI or a merge of the head, where a person asks for one: the new one would take its comment over, and nothing would
/// continue it. A label alone takes no run up, since the log of its job would not be believed.
async fn asked_meanwhile(
    context: &CiContext,
    marker: &str,
    environment: &Environment,
) -> anyhow::Result<Option<Entry>> {
    let order = trigger::order(Some(context));
    let is_labelled = context.action.as_deref() == Some("labeled");
    if !order.starts() && !is_labelled {
        return Ok(None);
    }
    // Only a commit of upshift's own has a run that waits for it, and the gate has read its message.
    let is_ours = context.head_message.as_deref().and_then(gate::run_of).is_some();
    let Some(head) = context.head_sha.as_ref().filter(|_| is_ours) else { return Ok(None) };
    let Some(mut client) = client(context, marker, environment).await? else { return Ok(None) };
    let Some(run) = reentry::waiting_at(client.query("", head)).await.map_err(unknown)? else { return Ok(None) };
    if let PullRequestRef::Known(pull) = &context.pull_request {
        // Reading protection needs more rights than most tokens have. Without the names all checks count.
        client.required = client.github.required_checks(&pull.base_branch).await.unwrap_or_default();
    }
    let entry = match reentry::find(client.query(&run, head)).await.map_err(unknown)? {
        Found::Nothing(_) => return Ok(None),
        Found::StillWaiting(what) => Entry::Waits(format!("{what}; `/upshift stop` in a comment ends that")),
        Found::Answered(_) if is_labelled => return Ok(None),
        Found::Answered(answered) => {
            Entry::GoesOn(Box::new(Visit { client, run: RunId(run), head: head.clone(), answered: *answered }))
        }
    };
    trigger::is_under_way(&order, context, environment).await;
    Ok(Some(entry))
}

/// The access to our comments on the pull request that the event names. `None` where it names none, or without a token.
async fn client(
    context: &CiContext,
    marker: &str,
    environment: &Environment,
) -> anyhow::Result<Option<PullRequestClient>> {
    let Some(number) = context.pull_request_number() else { return Ok(None) };
    // Without a token no comment can be read, so no run can be found.
    let Some(token) = forge::token(environment) else { return Ok(None) };
    let clock = stop_sources::clock(environment);
    let place = (context.api_url.as_str(), &context.repository);
    let deadline = clock.monotonic_ms().saturating_add(PATIENCE_MS);
    let github = forge::connect(environment, place, token, Arc::clone(&clock), Stop::never()).map_err(unknown)?;
    let github = github.with_deadline(deadline);
    Ok(Some(PullRequestClient {
        identity: github.identity(forge::token_kind(environment)).await.map_err(unknown)?,
        number,
        marker: marker.to_owned(),
        own_job: (context.run.id, context.run.attempt),
        own_workflows: context.run.workflow_path.clone().into_iter().collect(),
        // Only who waits for checks asks for their names.
        required: Vec::new(),
        clock,
        github,
    }))
}

/// The runs at this head that this job may go on with. `None` where a person asks for a new one.
fn whose(context: &CiContext) -> Option<Whose> {
    let asked = context.comment.is_some() || context.action.as_deref() == Some("labeled");
    // A job that the schedule ran again still carries the comment that started it at first.
    let begins = asked && !gate::only_runs_again(context);
    // The log of an earlier attempt is believed where the default branch's workflow made it.
    let may_have_died = context.run.attempt > 1 && !waiting::is_of_a_head(context);
    // A person who asks for a new run gets one, and only a log of this very job's earlier attempt may stand in.
    match (begins, may_have_died) {
        (true, false) => None,
        (true, true) => Some(Whose::OwnDead),
        (false, true) => Some(Whose::Any),
        (false, false) => Some(Whose::Blocked),
    }
}

/// A run that is blocked at this head, or was left in the middle there.
async fn blocked(context: &CiContext, marker: &str, environment: &Environment) -> anyhow::Result<Option<Entry>> {
    let (Some(head), Some(whose)) = (&context.head_sha, whose(context)) else { return Ok(None) };
    let Some(client) = client(context, marker, environment).await? else { return Ok(None) };
    // The run is not known yet. Our comment at this head names it.
    let found = reentry::find_unpushed(client.query("", head), whose).await.map_err(unknown)?;
    Ok(match found {
        Found::Nothing(_) => None,
        Found::StillWaiting(what) => Some(Entry::Waits(what)),
        Found::Answered(answered) => {
            let run = RunId(answered.stamp.run.clone());
            Some(Entry::GoesOn(Box::new(Visit { client, run, head: head.clone(), answered: *answered })))
        }
    })
}

async fn visit(
    context: &mut CiContext,
    rules: Rules<'_>,
    marker: &str,
    environment: &Environment,
) -> anyhow::Result<Option<Entry>> {
    let Some(head) = waited_for(context) else { return Ok(None) };
    let Some(token) = forge::token(environment) else { return Err(Failure::refused(&Refusal::NoToken)) };
    let clock = stop_sources::clock(environment);
    let place = (context.api_url.as_str(), &context.repository);
    let deadline = clock.monotonic_ms().saturating_add(PATIENCE_MS);
    let github = forge::connect(environment, place, token, Arc::clone(&clock), Stop::never()).map_err(unknown)?;
    let github = github.with_deadline(deadline);
    // The event's own words only made us look.
    let message = github.commit(&head.0).await.map_err(unknown)?.message;
    let run = gate::run_of(&message).map(str::to_owned);
    // The end of a pull request may concern a run whose commit is not the head any more.
    if run.is_none() && !is_over(context) {
        return Ok(None);
    }
    let facts = gate::facts::look(&github, context, rules.allowed_bots).await.map_err(unknown)?;
    let Some(pull) = &facts.pull else { return Ok(None) };
    let identity = github.identity(forge::token_kind(environment)).await.map_err(unknown)?;
    let slot = CommentSlot { number: pull.number, marker, identity: &identity };
    let (run, head) = match run {
        Some(run) => (run, head),
        // Somebody pushed on top of the commit that the run waits for, and the pull request is over all the same.
        None => match reentry::merging(&github, slot).await.map_err(unknown)? {
            Some(waiting) => waiting,
            None => return Ok(None),
        },
    };
    let client = PullRequestClient {
        identity,
        number: pull.number,
        marker: marker.to_owned(),
        own_job: (context.run.id, context.run.attempt),
        own_workflows: context.run.workflow_path.clone().into_iter().collect(),
        // Reading protection needs more rights than most tokens have. Without the names all checks count.
        required: github.required_checks(&pull.base.branch).await.unwrap_or_default(),
        clock,
        github,
    };
    let found = reentry::find(client.query(&run, &head)).await.map_err(unknown)?;
    let answered = match found {
        Found::Nothing(why) => {
            super::say(&format!("No run waits for this commit of upshift's: {why}."));
            // A commit of upshift's own that nobody waits for must start no run, or fixes would chase each other.
            return Err(Failure::refused(&Refusal::OwnCommit));
        }
        Found::StillWaiting(what) => return Ok(Some(Entry::Waits(what))),
        Found::Answered(answered) => *answered,
    };
    // Judged after the wait: rights and labels may have changed since the run began.
    let refused = gate::judge(context, &facts, rules, Stage::GoesOn { delivered: Some(&head) });
    let visit = Visit { client, run: RunId(run), head, answered };
    if let Some(why) = refused {
        // Only where the newer commit is somebody else's. One of the run's own is its later push.
        if let Refusal::HeadMoved { to, .. } | Refusal::MovedByUs { to, .. } = &why
            && !visit.has_pushed(to).await.map_err(unknown)?
        {
            visit.end_behind(to).await.map_err(unknown)?;
        }
        return Err(Failure::refused(&why));
    }
    gate::facts::pin(context, &facts);
    Ok(Some(Entry::GoesOn(Box::new(visit))))
}

/// Whether the event is the end of a pull request.
fn is_over(context: &CiContext) -> bool {
    context.event == EventKind::PullRequest && context.action.as_deref() == Some("closed")
}

/// The commit that a run may wait for at this event, as far as the event itself tells.
fn waited_for(context: &CiContext) -> Option<CommitSha> {
    match (&context.event, context.action.as_deref()) {
        // The message of the commit that was checked tells whether a run pushed it.
        (EventKind::WorkflowRun, _) => {
            let message = context.head_message.as_deref()?;
            gate::run_of(message)?;
            context.upstream.as_ref().map(|upstream| upstream.head_sha.clone())
        }
        (EventKind::CheckSuite | EventKind::Status, _) => {
            gate::run_of(context.head_message.as_deref()?)?;
            context.head_sha.clone()
        }
        (EventKind::PullRequest, Some("closed")) | (EventKind::PullRequestReview, Some("submitted")) => {
            context.head_sha.clone()
        }
        _ => None,
    }
}

fn unread(run: &RunId, error: &GithubError) -> anyhow::Error {
    Failure::with_code(
        EXIT_REFUSED,
        format!(
            "✖ Refused: the log of run {run} could not be read: {error}\n→ Fix: run this job again once that is mended; it then continues the run"
        ),
    )
}

fn unknown(error: GithubError) -> anyhow::Error {
    Failure::refused(&Refusal::Unknown { why: error.to_string() })
}
