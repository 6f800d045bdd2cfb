//! The loop from task to task until none is left (S3-2). `policy::backlog` decides the consequences of a run's end, `policy::course` the
//! orders that may come meanwhile.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::environment::Environment;
use super::super::plan::{self, Flags, Resolved};
use super::super::setup::{self, Setup};
use super::super::{Failure, signals};
use super::book::{self, Book};
use super::comments::CommentListener;
use super::flags::BacklogFlags;
use super::of_run::of_task;
use super::only::{known, named};
use super::ready::{
    clean, is_stopped, lock, or_stopped, ready_for_commits, refuse, same_branch, unreadable, warn_without_branch,
};
use super::standing::Standing;
use super::template::Template;
use super::theirs::theirs;
use super::told::{Teller, completed};
use super::{TASK, load, shares, workers};
use crate::audit::{BacklogRecord, CourseRecord, Store, Work};
use crate::config::Settings;
use crate::domain::clock::Timestamp;
use crate::domain::outcome::{EXIT_BUDGET, EXIT_NOT_FIXED, EXIT_SIGNAL_BASE, EXIT_SUCCESS};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::{CommitSha, RunId};
use crate::policy::backlog::{StopReason, share};
use crate::policy::course::Status;
use crate::tracker::{Source, Task, TaskStatus};
use crate::workspace::Revisions;

/// Works off the backlog that the flags name.
pub(crate) fn run(flags: Flags, backlog: BacklogFlags, environment: &Environment) -> anyhow::Result<u8> {
    // Workers are processes with clones of their own, and this one only starts them.
    if backlog.workers.is_some() {
        return workers::run(flags, backlog, environment);
    }
    // Its runs answer to us, not to the event that started the job.
    let quiet = environment.without_event();
    let settings = flags.clone().settings();
    let resolved = plan::resolve(flags, &quiet)?;
    plan::refuse_to_start(&resolved)?;
    setup::block_on(begin(resolved, settings, backlog, (&quiet, environment)))
}

/// The things that stay the same from task to task.
pub(super) struct Engine<'e> {
    pub(super) resolved: &'e Resolved,
    pub(super) settings: Settings,
    pub(super) flags: &'e BacklogFlags,
    pub(super) source: &'e Source,
    pub(super) environment: &'e Environment,
    /// The environment that knows the job's own repository and token, too.
    outside: &'e Environment,
    pub(super) revisions: &'e Revisions<'e>,
    pub(super) stop: &'e Stop,
    pub(super) teller: Teller<'e>,
    pub(super) setup: &'e Setup<'e>,
    /// Patterns of a person's files that no commit holds: they are nobody's to change.
    pub(super) theirs: Vec<String>,
    /// A person's own words for objectives.
    pub(super) template: Option<Template>,
    /// The listener for comments, where this job is about a conversation.
    pub(super) comments: RefCell<Option<CommentListener>>,
    /// The branch that was checked out when this began. `None` where a commit alone was.
    pub(super) branch: Option<String>,
    /// The commit that was checked out when it was last looked whether all that is done is in it.
    pub(super) head: RefCell<Option<CommitSha>>,
    /// The trouble with a source that was read once more, so that it is told once.
    trouble: RefCell<String>,
}

async fn begin(
    resolved: Resolved,
    settings: Settings,
    flags: BacklogFlags,
    (environment, outside): (&Environment, &Environment),
) -> anyhow::Result<u8> {
    let named = flags.tasks.as_deref().unwrap_or_default();
    let source: Source = named.parse().map_err(|fault| Failure::usage(format!("--tasks: {fault}")))?;
    // Before signals are caught and a log is opened: this ends with a plain message.
    refuse(&resolved)?;
    let (raises, stop) = StopSource::new();
    // A Ctrl-C at a terminal reaches the run's process by itself, so only other signals are noted here.
    signals::pass_to(&Arc::new(raises))?;
    or_stopped(opened((&resolved, settings), (&flags, &source), (environment, outside), &stop).await, &stop)
}

/// Opens what a backlog needs, and works it off.
async fn opened(
    (resolved, settings): (&Resolved, Settings),
    (flags, source): (&BacklogFlags, &Source),
    (environment, outside): (&Environment, &Environment),
    stop: &Stop,
) -> anyhow::Result<u8> {
    let plan = &resolved.plan;
    // Without the event: each task is worked on here, and its change is committed instead of pushed.
    let setup = Setup::new(&resolved.checkout, environment, Some(plan), None);
    let revisions = Revisions::open(&resolved.checkout, environment.raw(), stop).await.map_err(unreadable)?;
    let folder = resolved.checkout.display().to_string();
    let mut store = setup.open_backlogs(plan.audit.as_deref().unwrap_or_default())?;
    // The lock comes before the tree is looked at, since another backlog may be changing it.
    let (_lock, holder) = lock(&mut store, &setup, (&folder, Work::Backlog))?;
    ready_for_commits(&revisions).await?;
    // A worker's clone has none, and what it commits is taken from there.
    if environment.get(TASK).is_none() {
        warn_without_branch(&revisions).await?;
    }
    let template = match &flags.task_template {
        Some(path) => Some(Template::open(path, &revisions, source).await?),
        None => None,
    };
    let name = load::name_of(source, &resolved.checkout);
    let backlog = BacklogRecord {
        backlog_id: RunId::random().0,
        source: name,
        folder,
        started_at: setup.clock().timestamp(),
        stop_reason: None,
        max_cost: plan.budget.max_cost,
        course: CourseRecord {
            status: Status::Idle.as_str().to_owned(),
            iteration: 0,
            max_iterations: flags.max_tasks,
        },
    };
    let comments = CommentListener::of(outside, &setup.clock, stop);
    let mut engine = Engine {
        resolved,
        settings,
        flags,
        source,
        environment,
        outside,
        revisions: &revisions,
        stop,
        teller: Teller { format: plan.format, environment },
        setup: &setup,
        theirs: Vec::new(),
        template,
        comments: RefCell::new(comments),
        branch: revisions.branch().await.map_err(unreadable)?,
        head: RefCell::default(),
        trouble: RefCell::default(),
    };
    engine.go(store, backlog, &holder.session_id).await
}

impl Engine<'_> {
    pub(super) fn now(&self) -> Timestamp {
        self.setup.clock().timestamp()
    }

    pub(super) fn checkout(&self) -> &Path {
        &self.resolved.checkout
    }

    pub(super) fn tell(&self, kind: &str, payload: Value) {
        self.teller.event(kind, &self.now(), payload);
    }

    /// Begins a backlog, or goes on with the one that was cut short, until its end.
    async fn go(&mut self, store: Store, backlog: BacklogRecord, session: &str) -> anyhow::Result<u8> {
        // Asked before anything is written, since a new record would be the last backlog.
        let goes_on = Book::goes_on(&store, &backlog.source, &backlog.folder)?;
        if goes_on {
            // Whatever a killed process started has ended before its tasks are looked at.
            drop(self.alone().await?);
        }
        let mut book = if goes_on {
            Book::resumed(store, backlog)?
        } else {
            // A new backlog reads its source first. One without readable tasks leaves nothing in the log.
            let tasks = self.look().await?;
            Book::begun(store, backlog, tasks, self.source.says_what_is_done())?
        };
        book.want(named(&self.flags.task));
        self.tell_start(&mut book, session, goes_on)?;
        let turns = book.course.iteration;
        match self.carry_through(&mut book, goes_on).await {
            Ok(reason) => self.finish(&mut book, reason),
            // An error that a signal caused is the signal's end, and no failure of the backlog.
            Err(error) if is_stopped(&error) => self.finish(&mut book, StopReason::Interrupted),
            Err(error) => {
                // Nothing is recorded of an end: the same command continues.
                book.course.status = Status::Idle;
                // The error that is returned says more than one of the log's on top of it.
                drop(book.save_course());
                let stopped = self.stop.raised().is_some();
                let reason = if stopped { StopReason::Interrupted } else { StopReason::Error };
                self.tell_stop(&book, reason);
                // What was paid until then is told before the error, as at any other end.
                if book.course.iteration > turns {
                    self.teller.end(&book, reason.as_str())?;
                }
                Err(error)
            }
        }
    }

    async fn carry_through(&mut self, book: &mut Book, goes_on: bool) -> anyhow::Result<StopReason> {
        if goes_on {
            // A task that is under way has its change in the files: they are nobody else's before its end.
            if let Some(reason) = self.take_up(book).await? {
                return Ok(reason);
            }
            let tasks = self.look().await?;
            self.take_in(book, tasks)?;
        }
        // Such a source has just said which tasks are done, so their commits need not be looked for.
        if self.source.says_what_is_done() {
            self.note_head().await.map_err(unreadable)?;
        }
        self.work_off(book).await
    }

    /// Looks at files that are as the commit has them: which are a person's, and which tasks there are.
    async fn look(&mut self) -> anyhow::Result<Vec<Task>> {
        // A person's change would go into the commit of a task, or be judged as a model's.
        clean(self.revisions, &load::places(self.source, self.checkout())).await?;
        // Read anew each time: files that no commit holds may have come meanwhile.
        self.theirs = theirs(self.revisions).await?;
        let tasks = load::tasks(self.source, self.resolved, (self.environment, self.outside)).await?;
        // A misspelt `--task` would otherwise look like a backlog without work.
        known(&tasks, &named(&self.flags.task), self.source)?;
        Ok(tasks)
    }

    /// Takes in a source that was read once more, and tells where that changes something.
    fn take_in(&self, book: &mut Book, tasks: Vec<Task>) -> anyhow::Result<()> {
        if book.refresh(tasks, self.source.says_what_is_done())? {
            let tasks: Vec<Value> = book.shown().map(of_task).collect();
            self.tell("tasks:refreshed", json!({ "tasks": tasks }));
        }
        Ok(())
    }

    fn tell_stop(&self, book: &Book, reason: StopReason) {
        let (done, iterations) = (completed(book), book.course.iteration);
        let payload = json!({ "reason": reason.as_str(), "totalIterations": iterations, "tasksCompleted": done });
        self.tell("engine:stopped", payload);
    }

    fn tell_start(&self, book: &mut Book, session: &str, goes_on: bool) -> anyhow::Result<()> {
        // The course is on disk before the start is told, so that a reader of lines never knows more than the log.
        book.course.start();
        book.save_course()?;
        let tasks: Vec<Value> = book.shown().map(of_task).collect();
        let payload = json!({
            "sessionId": session,
            "backlogId": book.backlog.backlog_id,
            "source": book.backlog.source,
            "totalTasks": book.shown().count(),
            "tasks": tasks,
            "maxIterations": book.course.most,
            "goesOn": goes_on,
        });
        self.tell("engine:started", payload);
        self.teller.word(&format!(
            "◆ Backlog {}: {} of {} tasks open{}",
            self.source,
            book.to_come(),
            book.shown().count(),
            if goes_on { ", continued" } else { "" }
        ));
        Ok(())
    }

    async fn work_off(&self, book: &mut Book) -> anyhow::Result<StopReason> {
        loop {
            // Orders first, so that a stop or a pause counts before the next task costs anything.
            self.hear(book).await;
            if self.stop.raised().is_some() || book.course.status == Status::Stopping {
                return Ok(StopReason::Interrupted);
            }
            if self.pause(book).await? {
                continue;
            }
            // Between two tasks only: a task under way keeps the proof that it began with.
            self.refresh(book)?;
            self.reopen_lost(book).await?;
            // Before the question whether all is done: a blocked task is not done, and no longer comes.
            self.block_unprovable(book)?;
            if book.is_done() {
                let is_empty = book.shown().next().is_none();
                return Ok(if is_empty { StopReason::NoTasks } else { StopReason::Completed });
            }
            if book.course.is_used_up() {
                return Ok(StopReason::MaxIterations);
            }
            let Some(at) = book.next() else {
                // Deferred tasks wait until nothing else is left, since their limits may be over by then.
                if book.second_turn()? {
                    continue;
                }
                book.explain_waits()?;
                return Ok(StopReason::NoTasks);
            };
            let Some(task) = book.entries.get(at).map(|entry| entry.task.clone()) else {
                return Ok(StopReason::NoTasks);
            };
            // A person may have been at the files since the last one, while it was paused above all.
            same_branch(self.revisions, self.branch.as_deref()).await?;
            clean(self.revisions, &load::places(self.source, self.checkout())).await?;
            if let Some(reason) = self.turn(book, at, &task).await? {
                return Ok(reason);
            }
        }
    }

    /// Tells of all tasks that nothing proves as blocked, at once: there may be thousands of them.
    fn block_unprovable(&self, book: &mut Book) -> anyhow::Result<()> {
        let why = match self.source {
            Source::Issues(_) => {
                "no test or command proves it: it must name a failing test; a command counts only if its author may push here"
            }
            Source::FailingTests | Source::Prd(_) | Source::List(_) => {
                "no test or command proves it: name `tests` or a `command`, or a command in its acceptance criteria"
            }
        };
        let found = book.unprovable();
        if found.is_empty() {
            return Ok(());
        }
        book.change_all(&found, |entry| {
            entry.task.status = TaskStatus::Blocked;
            why.clone_into(&mut entry.reason);
        })?;
        for at in found {
            self.tell_of(book, at, "task:blocked", json!({ "reason": why }));
        }
        Ok(())
    }

    /// A task's turn, whether or not there is money for it.
    async fn turn(&self, book: &mut Book, at: usize, task: &Task) -> anyhow::Result<Option<StopReason>> {
        // A run that waited has its share already.
        let waits = self.waiting(book, at);
        // The rest in equal shares, so that an early task cannot use up the money of the later ones.
        // Of more tasks than may still begin nobody pays for the others.
        let most = book.course.turns_left().map_or(usize::MAX, |turns| usize::try_from(turns).unwrap_or(usize::MAX));
        let share = share(book.left()?, book.to_come().min(most.max(1)));
        let least = shares::least(&self.resolved.plan);
        let fits = match (&waits, book.entries.get(at)) {
            // The cap may have been lowered since its run began.
            (Some(_), Some(entry)) => book.fits(entry)?,
            (None, Some(entry)) => share >= least && book.refused_share(entry)?.is_none_or(|refused| share > refused),
            (_, None) => share >= least,
        };
        if !fits {
            let (cap, left) = (book.backlog.max_cost, book.left()?);
            let needs = if share < least { format!(", and a call needs {least} at least") } else { String::new() };
            book.change(at, |entry| {
                entry.reason = format!(
                    "the {cap} for all tasks does not allow another call: {left} is left, {share} for each to come{needs}"
                );
                entry.wants_money = true;
                entry.standing = Standing::LeftForMoney;
            })?;
            // The backlog goes on: a cheaper task, or one whose run waits, may still fit.
            return Ok(None);
        }
        self.work_on(book, (at, task), (share, waits)).await
    }

    /// Reads a source that is a file once more: what was added or taken out meanwhile counts.
    fn refresh(&self, book: &mut Book) -> anyhow::Result<()> {
        match load::file_tasks(self.source, self.checkout()) {
            None => Ok(()),
            Some(Ok(tasks)) => self.take_in(book, tasks),
            Some(Err(error)) => {
                let said = error.to_string();
                // A file that is being edited is broken for a while, and would be told of at every turn.
                if *self.trouble.borrow() != said {
                    self.teller.word(&format!("⚠ the tasks stay as they were: {said}"));
                    self.trouble.replace(said);
                }
                Ok(())
            }
        }
    }

    fn finish(&self, book: &mut Book, reason: StopReason) -> anyhow::Result<u8> {
        let (id, at) = (book.backlog.backlog_id.clone(), self.now());
        book.course.status = Status::Idle;
        book.save_course()?;
        // In the log before it is told, so that whoever hears of the end can read it.
        book.store().end_backlog(&id, reason.as_str(), &at).map_err(|error| book::failed(&error))?;
        let (done, iterations) = (completed(book), book.course.iteration);
        if reason == StopReason::Completed {
            self.tell("all:complete", json!({ "totalCompleted": done, "totalIterations": iterations }));
        }
        self.tell_stop(book, reason);
        self.teller.end(book, reason.as_str())?;
        let used_up = book.shown().any(|entry| entry.wants_money && entry.task.is_open());
        Ok(match (reason, self.stop.raised()) {
            (StopReason::Interrupted, Some(StopCause::Signal(signal))) => {
                u8::try_from(signal).map_or(EXIT_NOT_FIXED, |signal| EXIT_SIGNAL_BASE.saturating_add(signal))
            }
            (StopReason::Completed, _) => EXIT_SUCCESS,
            // No tasks at all is a success, too: an empty source has nothing that could fail.
            (StopReason::NoTasks, _) if book.is_done() => EXIT_SUCCESS,
            // Money is the reason that a person can do something about, so it beats the general one.
            _ if used_up => EXIT_BUDGET,
            _ => EXIT_NOT_FIXED,
        })
    }
}
