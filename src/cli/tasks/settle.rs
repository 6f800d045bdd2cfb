//! The consequences of how a task's run ended: the commit first, then how the task stands.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::again::log_flag;
use super::book::{self, Book};
use super::engine::Engine;
use super::outcome::{reason, standing, status};
use super::proven::Put;
use super::standing::Standing;
use super::turn::BEAT;
use super::worker::Came;
use crate::domain::event::Event;
use crate::domain::units::RunId;
use crate::policy::backlog::{Fate, RunEnd, StopReason, fate};
use crate::policy::course::Status;
use crate::tracker::{Source, TaskStatus};
use crate::workspace::RevisionError;

impl Engine<'_> {
    /// Draws the consequences of how a task's run ended.
    pub(super) async fn settle(&self, book: &mut Book, at: usize, came: Came) -> anyhow::Result<Option<StopReason>> {
        let Some(entry) = book.entries.get(at).cloned() else { return Ok(None) };
        let book_key = book.key(&entry);
        let (task, retries) = (&entry.task, entry.failures);
        // It was proven before, and is looked at again since its commit was not found: it is in under another name.
        let was_done = entry.commit.is_some();
        // A command that succeeds proves nothing by itself, but tests that were seen to fail do.
        let proves_itself = !task.proof.tests().is_empty() || was_done;
        let fate = fate(
            came.end,
            self.flags.on_error.into(),
            (retries, self.flags.task_retries),
            entry.standing == Standing::SecondTurn,
            proves_itself,
        );
        let put = match (fate, came.end, &came.run) {
            (Fate::Completed, RunEnd::Mended, Some(run)) => self.put(book, (task, run), &came.files).await,
            // Its source says so from now on.
            (Fate::Completed, RunEnd::NothingFails, Some(run)) if matches!(self.source, Source::Prd(_)) => {
                self.commit(task, run, &[]).await.map(Put::Committed)
            }
            _ => Ok(Put::Committed(None)),
        };
        let commit = match put {
            Ok(Put::Committed(commit)) => {
                // Otherwise our own commit would look like a foreign one, and all tasks be looked up again.
                self.note_own(commit.as_ref()).await?;
                commit
            }
            Ok(Put::Gone) => {
                self.open_again(book, at)?;
                return Ok(None);
            }
            Err(error) => return self.not_committed(book, at, &came, &error).await,
        };
        // The sum over all of its runs, as the log has it, also those that an earlier process began.
        let cost = book.store().cost_of_task(&book_key).map_err(|error| book::failed(&error))?;
        let (status, why) = (status(fate, came.end), reason(fate, &came));
        let run = match &came.run {
            Some(run) => Some(run.clone()),
            // A run that was killed told us no name. The log knows whether it began.
            None => self.begun(book, at)?,
        };
        book.change(at, |entry| {
            entry.task.status = status;
            // A limit or a signal is no failure of the task.
            entry.failures += u32::from(came.end == RunEnd::NotMended);
            entry.wants_money = came.end == RunEnd::ShareUsed;
            entry.standing = standing(fate, came.end, entry.standing);
            entry.cost = cost;
            entry.run.clone_from(&run);
            // Where nothing fails any more nobody knows which commit mended it.
            let before = entry.commit.take().filter(|_| came.end != RunEnd::NothingFails);
            entry.commit = commit.or(before);
            entry.reason.clone_from(&why);
        })?;
        self.tell_fate(book, at, (fate, came.run.as_ref()), &why).await
    }

    /// Draws the consequences of a proven change that git does not take.
    async fn not_committed(
        &self,
        book: &mut Book,
        at: usize,
        came: &Came,
        error: &anyhow::Error,
    ) -> anyhow::Result<Option<StopReason>> {
        let Some(entry) = book.entries.get(at) else { return Ok(None) };
        let (key, id) = (book.key(entry), entry.task.id.clone());
        let cost = book.store().cost_of_task(&key).map_err(|error| book::failed(&error))?;
        if let (true, Some(run)) = (is_filtered(error), &came.run)
            && self.undo(book, run, &came.files).await?
        {
            // No same command would ever commit it, and the other tasks are none the worse.
            let why = format!(
                "its change is proven, and cannot be committed: {}; `upshift show {} --last-patch{}` prints it",
                first_line(error),
                run.short(),
                log_flag(self.resolved.plan.audit.as_deref())
            );
            book.change(at, |entry| {
                entry.task.status = TaskStatus::Blocked;
                (entry.cost, entry.run) = (cost, Some(run.clone()));
                entry.reason.clone_from(&why);
            })?;
            return self.tell_fate(book, at, (Fate::Blocked, Some(run)), &why).await;
        }
        // The change stays in the files and the task under way: the same command commits it when that is mended.
        let stopped = self.stop.raised().is_some();
        let why = if stopped { CUT_SHORT.to_owned() } else { uncommitted(&first_line(error)) };
        self.teller.word(&format!("✖ {id}: {why}"));
        book.change(at, |entry| {
            entry.cost = cost;
            entry.reason = why;
        })?;
        Ok(Some(if stopped { StopReason::Interrupted } else { StopReason::Error }))
    }

    /// Puts the files of a run's change back as they were at its start. Returns whether that start is known here.
    async fn undo(&self, book: &mut Book, run: &RunId, files: &[String]) -> anyhow::Result<bool> {
        let loaded = book.store().load_run(run).map_err(|error| book::failed(&error))?;
        // The first tier starts from what was there.
        let tree = |event: &Event| if let Event::TierStarted { tree, .. } = event { Some(tree.clone()) } else { None };
        let start = loaded.events.iter().find_map(tree);
        let Some(start) = start else { return Ok(false) };
        let paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        Ok(self.alone().await?.restore_paths(&start, &paths).await.is_ok())
    }

    /// Tells what became of a task, and waits before it is tried again.
    async fn tell_fate(
        &self,
        book: &mut Book,
        at: usize,
        (fate, run): (Fate, Option<&RunId>),
        why: &str,
    ) -> anyhow::Result<Option<StopReason>> {
        let failed = |action: &str| {
            self.tell_of(book, at, "iteration:failed", json!({ "action": action, "error": why }));
        };
        match fate {
            Fate::Completed => {
                let commit = book.entries.get(at).and_then(|entry| entry.commit.as_ref());
                let payload = json!({ "commit": commit.map(|commit| &commit.0), "runId": run.map(|run| &run.0) });
                self.tell_of(book, at, "task:completed", payload);
            }
            Fate::Again => {
                failed("retry");
                let retry = book.entries.get(at).map_or(1, |entry| entry.failures);
                let delay = self.flags.retry_delay_seconds;
                let payload = json!({
                    "retryAttempt": retry,
                    "maxRetries": self.flags.task_retries,
                    "previousError": why,
                    "delayMs": delay.saturating_mul(1_000),
                });
                self.tell_of(book, at, "iteration:retrying", payload);
                self.wait_to_retry(book, Duration::from_secs(delay)).await;
            }
            Fate::Deferred | Fate::LeftOut => {
                failed(if fate == Fate::Deferred { "defer" } else { "skip" });
                self.tell_of(book, at, "iteration:skipped", json!({ "reason": why }));
            }
            Fate::Blocked => self.tell_of(book, at, "task:blocked", json!({ "reason": why })),
            Fate::Ends(reason) => {
                failed("abort");
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }

    /// Waits before a task is tried again, and hears orders meanwhile. To be told to pause or to end is to wait no longer.
    async fn wait_to_retry(&self, book: &mut Book, delay: Duration) {
        let mut over = self.setup.clock().sleep(delay);
        // Told to pause or to stop, the loop ends and the backlog looks what to do.
        while book.course.status == Status::Running {
            tokio::select! {
                () = &mut over => return,
                _ = self.stop.wait() => return,
                // Short beats, so that an order is answered while a retry waits.
                () = tokio::time::sleep(BEAT) => self.hear(book).await,
            }
        }
    }

    /// Opens a task again whose proven change was thrown away before it could be committed.
    fn open_again(&self, book: &mut Book, at: usize) -> anyhow::Result<()> {
        let Some(key) = book.entries.get(at).map(|entry| book.key(entry)) else { return Ok(()) };
        let cost = book.store().cost_of_task(&key).map_err(|error| book::failed(&error))?;
        let why = "its change was proven, and discarded before it could be committed: it is open again";
        book.change(at, |entry| {
            entry.task.status = TaskStatus::Open;
            (entry.cost, entry.run, entry.commit, entry.standing) = (cost, None, None, Standing::Comes);
            why.clone_into(&mut entry.reason);
        })?;
        if let Some(entry) = book.entries.get(at) {
            self.teller.word(&format!("⚠ {}: {why}", entry.task.id));
        }
        self.tell_of(book, at, "iteration:failed", json!({ "action": "retry", "error": why }));
        Ok(())
    }
}

/// The reason for a change that a signal kept from its commit.
const CUT_SHORT: &str = "its change is proven; it was interrupted before the commit, which the same command makes";

/// Whether a file passes a filter on its way into a commit: no second try would end otherwise.
pub(super) fn is_filtered(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<RevisionError>(), Some(RevisionError::Filtered { .. }))
}

/// Why a proven change is not committed, and the way on.
fn uncommitted(said: &str) -> String {
    let way = if said.contains("the same command") {
        ""
    } else if said.contains("index.lock") {
        ". Remove that file if no git command is at work here (one that was killed leaves it), and the same command commits the change"
    } else {
        ". Once that is mended, the same command commits the change"
    };
    format!("its change is proven, and could not be committed: {}{way}", said.trim_end_matches('.'))
}

fn first_line(error: &anyhow::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
