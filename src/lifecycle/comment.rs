//! The comment on the pull request: kept up to date by a writer that works beside the run and never keeps it waiting.
//!
//! Events come through a [`CommentListener`], which only notes them. The writer's own task renders and writes (`pace` says when).
//! Invariants: trouble with the comment is a warning, never the end of a run. A write that is under way is not cut, so that none is
//! repeated blindly, but the process ends without waiting for one that hangs.

mod pace;
mod standing;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::config::Comment;
use crate::domain::clock::{Clock, Timestamp};
use crate::domain::command::CommandAnswer;
use crate::domain::event::{Event, EventSink};
use crate::domain::stop::Stop;
use crate::domain::units::{CommitSha, RunId};
use crate::github::{CommentId, CommentSlot, GitHub, GithubError, Identity, Reaction, TokenKind};
use crate::redact::Redactor;
use crate::report::markdown::{self, Page, Parked, Stamp};
use crate::report::view::{Liveness, RunView};
use crate::report::whereabouts::Whereabouts;
use pace::{Due, Failure, Making, News, Pace};
use standing::{counted, held, standing};

/// The most time one write may take, its repeats included.
const WRITE_PATIENCE_MS: u64 = 60_000;
/// How long a run waits for a limit whose end the vendor does not tell: the longest of the vendors' windows but those of a day.
const UNSAID_SECONDS: u64 = 3_600;
/// How long the end of a run waits for its last report.
const LAST_PATIENCE: Duration = Duration::from_secs(20);
/// The same once a signal came: the runner kills us 7.5 s after it (GITHUB.md 23), and the run needs some of them to end.
const HURRIED_PATIENCE: Duration = Duration::from_secs(3);

/// The data that the writer works with.
#[derive(Debug)]
pub struct Assignment {
    /// The API.
    pub github: GitHub,
    /// The kind of its token.
    pub token: TokenKind,
    /// When there is to be a comment.
    pub wish: Comment,
    /// Tells this report's comment from others on the same pull request.
    pub key: String,
    /// The page of the job.
    pub job_url: Option<String>,
    /// The artifact that the log is kept in.
    pub artifact: String,
    /// Where a reader of the comment finds the log.
    pub kept_in: Whereabouts,
    /// The number of the run among those for this pull request. 0 where that is not counted.
    pub attempt: u32,
    /// The last comment whose command an earlier run answered. 0 for none.
    pub heard: u64,
    /// The run.
    pub run: RunId,
    /// The pull request, where it is known from the start.
    pub pull_request: Option<u64>,
    /// The head of the pull request that the run works on.
    pub commit: Option<CommitSha>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Takes secrets out.
    pub redactor: Arc<Redactor>,
}

/// The events that were heard and are to be told.
#[derive(Debug, Default)]
struct Queue {
    told: Mutex<Told>,
    bell: Notify,
    /// Rung when it is known whether a comment names the run.
    answered: Notify,
}

#[derive(Debug, Default)]
struct Told {
    events: Vec<Event>,
    head: String,
    lacks: u64,
    news: News,
    closing: bool,
    patch: String,
    reactions: VecDeque<(u64, Reaction)>,
    trouble: Option<String>,
    /// Whether somebody waits to hear if a comment names the run.
    asked: bool,
    /// The answer to that.
    named: Option<Result<(), String>>,
}

impl Queue {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hears what happens in a run, for the writer.
#[derive(Debug)]
pub struct CommentListener(Arc<Queue>);

impl EventSink for CommentListener {
    fn emit(&mut self, event: &Event) {
        let mut told = self.0.told();
        if is_told(event) {
            told.events.push(event.clone());
        }
        if let Event::CommandAnswered { comment, answer, .. } = event {
            told.reactions.push_back((*comment, reaction(*answer)));
        }
        if is_news(event) {
            told.news = News::Some;
            self.0.bell.notify_one();
        }
    }

    fn chained(&mut self, head: &str) {
        let mut told = self.0.told();
        if told.head != head {
            head.clone_into(&mut told.head);
        }
    }

    fn lacks(&mut self, records: u64) {
        self.0.told().lacks = records;
    }
}

/// Tells whether a comment names the run, by which the next job would find it.
#[derive(Debug, Clone)]
pub struct Naming(Arc<Queue>);

impl Naming {
    /// Has the comment written now if none was, and tells whether there is one.
    ///
    /// # Errors
    /// No comment names the run: why not.
    pub async fn settled(&self) -> Result<(), String> {
        self.0.told().asked = true;
        self.0.bell.notify_one();
        let answer = async {
            loop {
                if let Some(named) = self.0.told().named.clone() {
                    return named;
                }
                self.0.answered.notified().await;
            }
        };
        let late = |_elapsed| Err("the Git host did not answer in time".to_owned());
        tokio::time::timeout(LAST_PATIENCE, answer).await.unwrap_or_else(late)
    }
}

fn reaction(answer: CommandAnswer) -> Reaction {
    match answer {
        CommandAnswer::Obeyed => Reaction::ThumbsUp,
        CommandAnswer::UnderWay => Reaction::Eyes,
        CommandAnswer::Refused => Reaction::ThumbsDown,
        CommandAnswer::NotUnderstood => Reaction::Confused,
    }
}

/// Whether a report is made of it.
fn is_told(event: &Event) -> bool {
    !matches!(
        event,
        Event::SessionStarted { .. }
            | Event::SessionFinished { .. }
            | Event::ToolFinished { .. }
            | Event::ToolFailureReplaced(_)
            | Event::ContextThreshold { .. }
            | Event::TestsFinished { .. }
    )
}

/// Whether a reader of the comment should hear of it. The cost of a call is told with the next of these.
fn is_news(event: &Event) -> bool {
    is_told(event)
        && !matches!(
            event,
            Event::CallReserved { .. }
                | Event::CallSettled(_)
                | Event::ContextReset { .. }
                | Event::PublishStarted { .. }
        )
}

/// The writer at work.
#[derive(Debug)]
pub struct Writer {
    queue: Arc<Queue>,
    work: JoinHandle<()>,
}

impl Writer {
    /// Sends the writer to work. `before` is what happened in the run already.
    #[must_use]
    pub fn start(assignment: Assignment, before: &[Event]) -> Self {
        let queue = Arc::new(Queue::default());
        queue.told().events.extend(before.iter().filter(|event| is_told(event)).cloned());
        let work = tokio::spawn(work(Arc::clone(&queue), assignment));
        Self { queue, work }
    }

    /// A listener for the writer.
    #[must_use]
    pub fn listener(&self) -> CommentListener {
        CommentListener(Arc::clone(&self.queue))
    }

    /// Tells whether a comment names the run.
    #[must_use]
    pub fn naming(&self) -> Naming {
        Naming(Arc::clone(&self.queue))
    }

    /// Has the last report written, and waits for it: not for long, and hardly at all once a signal came. Returns a fault as a warning.
    /// `patch` is the run's change, redacted, which the report shows where no branch holds it.
    pub async fn finish(mut self, signals: &Stop, patch: &str) -> Option<String> {
        {
            let mut told = self.queue.told();
            told.closing = true;
            patch.clone_into(&mut told.patch);
        }
        self.queue.bell.notify_one();
        let hurried = async {
            signals.wait().await;
            tokio::time::sleep(HURRIED_PATIENCE).await;
        };
        let in_time = tokio::select! {
            // In this order: a writer that ended in the same moment as the signal came was in time.
            biased;
            _ended = &mut self.work => true,
            () = tokio::time::sleep(LAST_PATIENCE) => false,
            () = hurried => false,
        };
        if !in_time {
            self.work.abort();
        }
        let trouble = self.queue.told().trouble.take();
        let late = || "the Git host did not answer in time".to_owned();
        let why = trouble.or_else(|| (!in_time).then(late))?;
        Some(format!("the pull request's comment is not up to date: {why}"))
    }
}

/// Writes until the queue is closed.
async fn work(queue: Arc<Queue>, assignment: Assignment) {
    // The forge may hang: neither the run's own writes nor its end wait for it.
    let github = assignment.github.in_own_lane().with_stop(Stop::never());
    let mut writer = Task {
        assignment: Assignment { github, ..assignment },
        pace: Pace::default(),
        known: None,
        identity: None,
        said: String::new(),
    };
    loop {
        let (reaction, closing, news, asked) = {
            let mut told = queue.told();
            (told.reactions.pop_front(), told.closing, told.news, std::mem::take(&mut told.asked))
        };
        // Before the last report, too: once this process is gone, nobody answers the command.
        if let Some((comment, reaction)) = reaction {
            queue.told().asked |= asked;
            writer.react(&queue, comment, reaction).await;
            continue;
        }
        if closing {
            return writer.write(&queue, Moment::Last).await;
        }
        if asked {
            writer.name(&queue).await;
            continue;
        }
        match writer.pace.due(news, writer.assignment.clock.monotonic_ms()) {
            Due::Now => writer.write(&queue, Moment::UnderWay).await,
            // The machine's timer: a test's clock would be moved by our waiting.
            Due::In(ms) => {
                let rested = tokio::time::timeout(Duration::from_millis(ms), queue.bell.notified());
                drop(rested.await);
            }
            Due::Never => queue.bell.notified().await,
        }
    }
}

/// Whether more will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    UnderWay,
    Last,
}

#[derive(Debug)]
struct Task {
    assignment: Assignment,
    pace: Pace,
    /// The comment, once it is known.
    known: Option<CommentId>,
    identity: Option<Identity>,
    /// The comment's text.
    said: String,
}

impl Task {
    async fn write(&mut self, queue: &Queue, moment: Moment) {
        let (view, head, patch) = {
            let mut told = queue.told();
            // Taken back before the write, so that whatever happens while it is under way is news again.
            told.news = News::None;
            let liveness = if moment == Moment::Last { Liveness::Ended } else { Liveness::Alive };
            let view = RunView::from_events(&told.events, liveness)
                .kept_in(self.assignment.kept_in.clone())
                .lacking(told.lacks);
            let patch = if view.is_change_here_alone() { told.patch.clone() } else { String::new() };
            (view, told.head.clone(), patch)
        };
        let number = self.assignment.pull_request.or(view.delivery.pull_request.as_ref().map(|pull| pull.number));
        let (Some(number), false) = (number, self.pace.has_given_up()) else { return };
        let making = pace::making(self.assignment.wish, &view);
        // Whether an earlier run has left a comment is asked once, at the end.
        let waits = making == Making::KeptTrue && self.known.is_none() && moment == Moment::UnderWay;
        if making == Making::Left || waits {
            return;
        }
        let text = self.text(&view, head, &patch);
        if text == self.said {
            return;
        }
        self.pace.tries(self.assignment.clock.monotonic_ms());
        match self.post(number, &text, making).await {
            Ok(()) => {
                self.pace.worked();
                self.said = text;
                queue.told().trouble = None;
            }
            Err(error) => {
                self.pace.failed(sort(&error));
                // The run may tell nothing new for long; what could not be said is tried again.
                let mut told = queue.told();
                told.news = News::Some;
                told.trouble = Some(self.assignment.redactor.redact(&error.to_string()).into_owned());
            }
        }
    }

    /// Answers whether a comment names the run. One that is not there yet is written first, whatever the pace.
    async fn name(&mut self, queue: &Queue) {
        if self.known.is_none() {
            self.write(queue, Moment::UnderWay).await;
        }
        let mut told = queue.told();
        let why = || told.trouble.clone().unwrap_or_else(|| "there is none".to_owned());
        let named = if self.known.is_some() { Ok(()) } else { Err(why()) };
        told.named = Some(named);
        queue.answered.notify_one();
    }

    fn text(&self, view: &RunView, head: String, patch: &str) -> String {
        let Assignment { key, job_url, artifact, attempt, heard, run, redactor, .. } = &self.assignment;
        // Never less than before: this run may have heard no command at all.
        let heard = view.commands.iter().map(|given| given.comment).fold(*heard, u64::max);
        let stamp = Stamp {
            run: run.0.clone(),
            head,
            attempt: counted(view, *attempt),
            artifact: artifact.clone(),
            heard,
            parked: self.parked(view),
            spawn: view.invocations,
            pushed: view.delivery.pushes.last().map(|push| push.commit.clone()),
            standing: standing(view),
            held: held(view, self.assignment.commit.as_ref()),
            claimed: None,
        };
        let page = Page { key, stamp: &stamp, number: *attempt, job_url: job_url.as_deref(), patch };
        redactor.redact(&markdown::comment(view, &page)).into_owned()
    }

    /// The time and the commit that a parked run waits for, for the job that takes it up again.
    fn parked(&self, view: &RunView) -> Option<Parked> {
        let limited = view.limited()?;
        let commit = self.assignment.commit.clone()?;
        let said = limited.until.as_ref().and_then(Timestamp::unix_seconds);
        let now = u64::try_from(self.assignment.clock.unix_ms() / 1_000).unwrap_or(0);
        Some(Parked { until: said.unwrap_or_else(|| now.saturating_add(UNSAID_SECONDS)), commit })
    }

    async fn post(&mut self, number: u64, text: &str, making: Making) -> Result<(), GithubError> {
        let Assignment { github, clock, key, token, .. } = &self.assignment;
        let github = github.with_deadline(clock.monotonic_ms().saturating_add(WRITE_PATIENCE_MS));
        // Asked once: it costs a request, and a token does not change hands.
        let identity = match self.identity.take() {
            Some(identity) => identity,
            None => github.identity(*token).await?,
        };
        let identity = self.identity.insert(identity);
        let marker = markdown::marker(key);
        let slot = CommentSlot { number, marker: &marker, identity };
        let known = match (self.known, making) {
            // One that an earlier run left is corrected. None is made.
            (None, Making::KeptTrue) => match github.find_comment(slot).await? {
                Some(found) => Some(found.id),
                None => return Ok(()),
            },
            (known, _) => known,
        };
        self.known = Some(github.upsert_comment(slot, text, known).await?.id);
        Ok(())
    }

    async fn react(&self, queue: &Queue, comment: u64, reaction: Reaction) {
        let Assignment { github, clock, redactor, .. } = &self.assignment;
        let github = github.with_deadline(clock.monotonic_ms().saturating_add(WRITE_PATIENCE_MS));
        // A reaction that fails is not tried again: the report tells the command and its answer as well.
        if let Err(error) = github.react(comment, reaction).await {
            queue.told().trouble = Some(redactor.redact(&error.to_string()).into_owned());
        }
    }
}

/// Puts a note above the report that our comment holds, and ends its waiting. `false` where there is no comment, or one that is not as
/// upshift wrote it.
///
/// # Errors
/// Any [`GithubError`].
pub async fn note(github: &GitHub, slot: CommentSlot<'_>, text: &str) -> Result<bool, GithubError> {
    let Some(found) = github.find_comment(slot).await? else { return Ok(false) };
    let Some(noted) = markdown::with_note(&found.body, text) else { return Ok(false) };
    if noted != found.body {
        github.upsert_comment(slot, &noted, Some(found.id)).await?;
    }
    Ok(true)
}

/// Whether trying again makes sense.
fn sort(error: &GithubError) -> Failure {
    match error {
        GithubError::Forbidden { .. }
        | GithubError::TokenRefused { .. }
        | GithubError::NotFound { .. }
        | GithubError::Address { .. }
        | GithubError::Token
        | GithubError::Http(_) => Failure::ForGood,
        GithubError::RateLimited { .. }
        | GithubError::Refused { .. }
        | GithubError::TooLong { .. }
        | GithubError::TooLarge { .. }
        | GithubError::Malformed { .. }
        | GithubError::Unreachable { .. }
        | GithubError::Unanswered { .. }
        | GithubError::Stopped(_) => Failure::ForNow,
    }
}
