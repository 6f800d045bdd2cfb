//! From task to task until none is left (S3-2): the effects. What follows from how a run ended is `policy::backlog`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::super::environment::Environment;
use super::super::plan::{self, Flags, Resolved};
use super::super::setup::{self, Setup};
use super::super::{Failure, details, signals};
use super::book::{self, Book, can_go_on};
use super::flags::BacklogFlags;
use super::outcome::{ended, reason, status};
use super::ready::{clean, ready_for_commits, refuse, unreadable};
use super::told::{Teller, completed};
use super::worker::{self, Came, Order};
use super::{committed, load};
use crate::audit::{BacklogRecord, RunStatus};
use crate::config::{Format, Setting, Settings, TASK_CHECK};
use crate::domain::clock::Timestamp;
use crate::domain::outcome::{EXIT_BUDGET, EXIT_NOT_FIXED, EXIT_SIGNAL_BASE, EXIT_SUCCESS, Outcome};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::units::{MicroUsd, RunId};
use crate::policy::backlog::{Fate, RunEnd, StopReason, fate, share};
use crate::report::view::RunView;
use crate::tracker::{Proof, Source, Task, TaskStatus};
use crate::workspace::Revisions;

/// The least that a task may be given: less buys no call.
const LEAST_SHARE: MicroUsd = MicroUsd(1_000);

/// Works off the backlog that the flags name.
pub(crate) fn run(flags: Flags, backlog: BacklogFlags, environment: &Environment) -> anyhow::Result<u8> {
    // Its runs answer to us, not to the event that started the job.
    let environment = environment.without_event();
    let settings = flags.clone().settings();
    let resolved = plan::resolve(flags, &environment)?;
    plan::refuse(&resolved.plan)?;
    setup::block_on(begin(resolved, settings, backlog, &environment))
}

/// How many files of a person's are named to a run, and how many characters of a task's description.
const MOST_PROTECTED: usize = 200;
const MOST_OF_OBJECTIVE: usize = 32_000;

/// What stays the same from task to task.
struct Engine<'e> {
    resolved: &'e Resolved,
    settings: Settings,
    flags: &'e BacklogFlags,
    source: &'e Source,
    environment: &'e Environment,
    revisions: &'e Revisions<'e>,
    stop: &'e Stop,
    teller: Teller<'e>,
    setup: &'e Setup<'e>,
    /// Files of a person's that no commit holds: they are nobody's to change.
    theirs: Vec<String>,
}

async fn begin(
    resolved: Resolved,
    settings: Settings,
    flags: BacklogFlags,
    environment: &Environment,
) -> anyhow::Result<u8> {
    let plan = &resolved.plan;
    let source: Source = flags
        .tasks
        .as_deref()
        .unwrap_or_default()
        .parse()
        .map_err(|fault| Failure::usage(format!("--tasks: {fault}")))?;
    refuse(&resolved)?;
    let setup = Setup::new(&resolved.checkout, environment, Some(plan), None);
    let (raises, stop) = StopSource::new();
    signals::pass_to(&Arc::new(raises))?;
    let revisions = Revisions::open(&resolved.checkout, environment.raw(), &stop).await.map_err(unreadable)?;
    let store = setup.open_store(plan.audit.as_deref())?;
    let lock = store.lock_backlogs().map_err(|error| book::failed(&error))?;
    let Some(_lock) = lock else {
        return Err(Failure::usage("another upshift works off a backlog here\n→ Fix: wait for it to end, or stop it"));
    };
    ready_for_commits(&revisions).await?;
    let folder = resolved.checkout.display().to_string();
    // A task that is under way has its change in the files.
    if !Book::goes_on(&store, &source.to_string(), &folder)? {
        clean(&revisions).await?;
    }
    let theirs = revisions.untracked().await.map_err(unreadable)?;
    let tasks = load::tasks(&source, &resolved, environment).await?;
    let backlog = BacklogRecord {
        backlog_id: RunId::random().0,
        source: source.to_string(),
        folder,
        started_at: setup.clock().timestamp(),
        stop_reason: None,
        max_cost: plan.budget.max_cost,
    };
    let (mut book, goes_on) = Book::open(store, backlog, tasks, !matches!(source, Source::List(_)))?;
    let teller = Teller { format: plan.format, environment };
    let engine = Engine {
        resolved: &resolved,
        settings,
        flags: &flags,
        source: &source,
        environment,
        revisions: &revisions,
        stop: &stop,
        teller,
        setup: &setup,
        theirs,
    };
    let payload = json!({ "backlogId": book.backlog.backlog_id, "source": book.backlog.source, "totalTasks": book.entries.len(), "goesOn": goes_on });
    engine.tell("engine:started", payload);
    let open = book.to_come();
    teller.word(&format!(
        "◆ Backlog {source}: {open} of {} tasks open{}",
        book.entries.len(),
        if goes_on { ", going on" } else { "" }
    ));
    let reason = match engine.take_up(&mut book).await? {
        Some(reason) => reason,
        None => {
            clean(&revisions).await?;
            engine.work_off(&mut book).await?
        }
    };
    engine.finish(&mut book, reason)
}

impl Engine<'_> {
    fn now(&self) -> Timestamp {
        self.setup.clock().timestamp()
    }

    fn tell(&self, kind: &str, payload: serde_json::Value) {
        self.teller.event(kind, &self.now(), payload);
    }

    /// Brings to an end what an earlier process was at when it was killed; a reason to stop where that says so.
    async fn take_up(&self, book: &mut Book) -> anyhow::Result<Option<StopReason>> {
        for at in 0..book.entries.len() {
            let Some(entry) = book.entries.get(at).filter(|entry| entry.task.status == TaskStatus::InProgress) else {
                continue;
            };
            let (task, key, fits) = (entry.task.clone(), book.key(entry), book.fits(entry)?);
            let Some(run) = book.store().run_of_task(&key).map_err(|error| book::failed(&error))? else {
                // It was killed before its run began: nothing was paid.
                book.change(at, |entry| entry.task.status = TaskStatus::Open)?;
                continue;
            };
            let loaded = book.store().load_run(&run).map_err(|error| book::failed(&error))?;
            let came = match &loaded.status {
                RunStatus::Ended(Some(outcome)) if !can_go_on(&loaded.status) => {
                    ended(&RunView::from_events(&loaded.events, details::liveness(&loaded.status)), outcome)
                }
                RunStatus::Ended(_) | RunStatus::Interrupted if !fits => {
                    book.change(at, |entry| {
                        entry.task.status = TaskStatus::Open;
                        entry.wants_money = true;
                        "its run could pass the cap if it went on".clone_into(&mut entry.reason);
                    })?;
                    book.aside.insert(task.id);
                    continue;
                }
                RunStatus::Ended(_) | RunStatus::Interrupted => {
                    self.teller.word(&format!("◆ Task {}: going on with run {}", task.id, run.short()));
                    self.spawn(&key, self.words_of_resume(&run)).await?
                }
                RunStatus::Running => {
                    return Err(Failure::usage(format!(
                        "run {} for {} is still under way\n→ Fix: wait for it to end",
                        run.short(),
                        task.id
                    )));
                }
            };
            if let Some(reason) = self.settle(book, at, came).await? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    async fn work_off(&self, book: &mut Book) -> anyhow::Result<StopReason> {
        let mut worked_on = 0_u32;
        loop {
            if self.stop.raised().is_some() {
                return Ok(StopReason::Interrupted);
            }
            if book.is_done() {
                return Ok(StopReason::Completed);
            }
            let Some(at) = book.next() else {
                if book.second_turn() {
                    continue;
                }
                return Ok(StopReason::NoTasks);
            };
            if self.flags.max_tasks != 0 && worked_on >= self.flags.max_tasks {
                return Ok(StopReason::MaxIterations);
            }
            let Some(task) = book.entries.get(at).map(|entry| entry.task.clone()) else {
                return Ok(StopReason::NoTasks);
            };
            if task.proof == Proof::Nothing {
                let why = "nothing that can be run proves it: name `tests` or a `command`, or a command in its acceptance criteria";
                book.change(at, |entry| {
                    entry.task.status = TaskStatus::Blocked;
                    why.clone_into(&mut entry.reason);
                })?;
                self.tell("task:blocked", json!({ "taskId": task.id, "reason": why }));
                continue;
            }
            // A run that waited has its share already.
            let waits = self.waiting(book, at);
            let share = share(book.left()?, book.to_come());
            if waits.is_none() && share < LEAST_SHARE {
                let cap = book.backlog.max_cost;
                book.change(at, |entry| {
                    entry.reason = format!("the {cap} for all tasks are used up");
                    entry.wants_money = true;
                })?;
                book.aside.insert(task.id);
                continue;
            }
            worked_on += 1;
            if let Some(reason) = self.work_on(book, (at, &task), (share, waits), worked_on).await? {
                return Ok(reason);
            }
        }
    }

    /// A run for a task, or more of them.
    async fn work_on(
        &self,
        book: &mut Book,
        (at, task): (usize, &Task),
        (share, waits): (MicroUsd, Option<RunId>),
        number: u32,
    ) -> anyhow::Result<Option<StopReason>> {
        self.tell("task:selected", json!({ "taskId": task.id, "title": task.title, "iteration": number }));
        book.change(at, |entry| {
            entry.task.status = TaskStatus::InProgress;
            entry.tries += 1;
            entry.reason.clear();
        })?;
        self.tell("task:activated", json!({ "taskId": task.id }));
        self.tell(
            "iteration:started",
            json!({ "iteration": number, "taskId": task.id, "shareMicroUsd": waits.is_none().then_some(share.0) }),
        );
        let how = match &waits {
            Some(run) => format!("goes on with run {}", run.short()),
            None => format!("at most {share}"),
        };
        let (place, all) = (completed(book) + 1, book.entries.len());
        self.teller.word(&format!("◆ Task {place}/{all} {} ({how})", task.title));
        let Some(key) = book.entries.get(at).map(|entry| book.key(entry)) else { return Ok(None) };
        let words = match waits {
            Some(run) => self.words_of_resume(&run),
            None => worker::words("run", &self.settings_of(task, share)),
        };
        let came = self.spawn(&key, words).await?;
        self.tell(
            "iteration:completed",
            json!({ "iteration": number, "taskId": task.id, "exitCode": came.code, "result": came.said }),
        );
        self.settle(book, at, came).await
    }

    /// The run of a deferred task that waits.
    fn waiting(&self, book: &mut Book, at: usize) -> Option<RunId> {
        let run = book.entries.get(at).filter(|entry| entry.had_second_turn)?.run.clone()?;
        let status = book.store().load_run(&run).ok()?.status;
        matches!(status, RunStatus::Ended(Some(Outcome::Parked))).then_some(run)
    }

    async fn spawn(&self, key: &str, words: Vec<String>) -> anyhow::Result<Came> {
        let tells_events = self.teller.format == Format::Jsonl;
        worker::work(Order { words, key, checkout: &self.resolved.checkout, tells_events }, self.environment, self.stop)
            .await
    }

    /// The settings of a task's run: those of the command line, for this task alone.
    fn settings_of(&self, task: &Task, share: MicroUsd) -> Settings {
        let plan = &self.resolved.plan;
        let mut settings = self.settings.clone();
        let objective = if task.description.is_empty() {
            task.title.clone()
        } else {
            format!("{}\n\n{}", task.title, task.description)
        };
        let (only, also) = match &task.proof {
            Proof::Tests(names) => (Some(names.join("\n")), None),
            Proof::Command(command) => (Some(TASK_CHECK.to_owned()), Some(command.clone())),
            Proof::Nothing => (None, None),
        };
        let dollars = format!("{}.{:06}", share.0 / 1_000_000, share.0 % 1_000_000);
        // The list itself is nobody's to change on the way.
        let list = load::within(self.source, &self.resolved.checkout).map(|path| path.display().to_string());
        let plain = |name: &&String| !name.contains(['*', '?', '[', '{', ',', '\n', '\\']);
        let theirs = self.theirs.iter().filter(plain).take(MOST_PROTECTED).cloned();
        let protected = plan.safety.protected_paths.iter().cloned().chain(list).chain(theirs);
        let objective: String = objective.chars().filter(|letter| *letter != '\0').take(MOST_OF_OBJECTIVE).collect();
        settings
            .set(Setting::Objective, Some(objective))
            .set(Setting::OnlyTests, only)
            .set(Setting::AlsoRun, also)
            .set(Setting::MaxCostUsd, Some(dollars))
            .set(Setting::ProtectedPaths, Some(protected.collect::<Vec<_>>().join("\n")))
            .set(Setting::Push, Some("none".to_owned()))
            .set(Setting::Format, Some("jsonl".to_owned()));
        settings
    }

    fn words_of_resume(&self, run: &RunId) -> Vec<String> {
        let mut words = vec!["resume".to_owned(), run.0.clone(), "--format=jsonl".to_owned()];
        words.extend(self.resolved.plan.audit.as_ref().map(|path| format!("--audit-db={path}")));
        words
    }

    /// What follows from how a task's run ended.
    async fn settle(&self, book: &mut Book, at: usize, came: Came) -> anyhow::Result<Option<StopReason>> {
        let Some(entry) = book.entries.get(at).cloned() else { return Ok(None) };
        let book_key = book.key(&entry);
        let (task, retries) = (&entry.task, entry.tries.saturating_sub(1));
        let proves_itself = matches!(task.proof, Proof::Tests(_));
        let fate = fate(
            came.end,
            self.flags.on_error.into(),
            (retries, self.flags.task_retries),
            entry.had_second_turn,
            proves_itself,
        );
        let commit = match (fate, came.end, &came.run) {
            (Fate::Completed, RunEnd::Mended, Some(run)) => self.commit(task, run, &came.files).await.map(Some),
            _ => Ok(None),
        };
        let (commit, fate) = match commit {
            Ok(commit) => (commit, fate),
            Err(error) => {
                // The change stays in the files and the task under way: the same command commits it when that is mended.
                let why = format!("its change is proven, and could not be committed: {}", first_line(&error));
                self.teller.word(&format!("✖ {}: {why}", task.id));
                let cost = book.store().cost_of_task(&book_key).map_err(|error| book::failed(&error))?;
                book.change(at, |entry| {
                    entry.cost = cost;
                    entry.reason = why;
                })?;
                let stopped = self.stop.raised().is_some();
                return Ok(Some(if stopped { StopReason::Interrupted } else { StopReason::Error }));
            }
        };
        let cost = book.store().cost_of_task(&book_key).map_err(|error| book::failed(&error))?;
        let status = status(fate, came.end);
        let why = reason(fate, &came);
        book.change(at, |entry| {
            entry.task.status = status;
            entry.wants_money = came.end == RunEnd::ShareUsed;
            entry.cost = cost;
            entry.run = came.run.clone().or(entry.run.take());
            entry.commit = commit.clone().or(entry.commit.take());
            entry.reason.clone_from(&why);
        })?;
        let id = task.id.clone();
        match fate {
            Fate::Completed => self.tell(
                "task:completed",
                json!({ "taskId": id, "commit": commit.map(|commit| commit.0), "runId": came.run.map(|run| run.0) }),
            ),
            Fate::Again => {
                self.tell("iteration:failed", json!({ "taskId": id, "action": "retry", "error": why }));
                self.tell(
                    "iteration:retrying",
                    json!({ "taskId": id, "retry": retries + 1, "delayMs": self.flags.retry_delay_seconds * 1_000 }),
                );
                tokio::select! {
                    () = self.setup.clock().sleep(Duration::from_secs(self.flags.retry_delay_seconds)) => {}
                    _ = self.stop.wait() => {}
                }
            }
            Fate::Deferred | Fate::LeftOut => {
                let action = if fate == Fate::Deferred { "defer" } else { "skip" };
                self.tell("iteration:failed", json!({ "taskId": id, "action": action, "error": why }));
                self.tell("iteration:skipped", json!({ "taskId": id, "reason": why }));
                book.aside.insert(id.clone());
                if fate == Fate::Deferred {
                    book.deferred.insert(id);
                }
            }
            Fate::Blocked => self.tell("task:blocked", json!({ "taskId": id, "reason": why })),
            Fate::Ends(reason) => {
                self.tell("iteration:failed", json!({ "taskId": id, "action": "abort", "error": why }));
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Commits a task's change, and what its own file says of it.
    async fn commit(
        &self,
        task: &Task,
        run: &RunId,
        files: &[String],
    ) -> anyhow::Result<crate::domain::units::CommitSha> {
        let mut files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        if let (Source::Prd(_), Some(path)) = (self.source, load::file_of(self.source, &self.resolved.checkout)) {
            // One that lies elsewhere, or that git does not know, is nobody's commit.
            let within = load::within(self.source, &self.resolved.checkout);
            let known = match &within {
                Some(within) => self.revisions.knows(within).await?,
                None => false,
            };
            let before = load::text_of(&path)?;
            let mut prd = load::prd(&path)?;
            prd.mark(&task.id, true);
            load::replace(&path, &prd.write())?;
            files.extend(within.filter(|_| known));
            let done =
                committed::commit(self.revisions, &self.resolved.plan, (task, run), &files, self.environment).await;
            if done.is_err() {
                // What is not committed is not done.
                load::replace(&path, &before)?;
            }
            return Ok(done?);
        }
        Ok(committed::commit(self.revisions, &self.resolved.plan, (task, run), &files, self.environment).await?)
    }

    fn finish(&self, book: &mut Book, reason: StopReason) -> anyhow::Result<u8> {
        let (id, at) = (book.backlog.backlog_id.clone(), self.now());
        book.store().end_backlog(&id, reason.as_str(), &at).map_err(|error| book::failed(&error))?;
        if reason == StopReason::Completed {
            self.tell("all:complete", json!({ "totalCompleted": completed(book) }));
        }
        self.tell("engine:stopped", json!({ "reason": reason.as_str(), "tasksCompleted": completed(book) }));
        self.teller.end(book, reason.as_str())?;
        let used_up = book.entries.iter().any(|entry| entry.wants_money && entry.task.is_open());
        Ok(match (reason, self.stop.raised()) {
            (StopReason::Interrupted, Some(StopCause::Signal(signal))) => {
                u8::try_from(signal).map_or(EXIT_NOT_FIXED, |signal| EXIT_SIGNAL_BASE.saturating_add(signal))
            }
            (StopReason::Completed, _) => EXIT_SUCCESS,
            _ if used_up => EXIT_BUDGET,
            _ => EXIT_NOT_FIXED,
        })
    }
}

fn first_line(error: &anyhow::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
