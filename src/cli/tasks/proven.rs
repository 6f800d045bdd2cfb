//! A proven change on its way to the branch, and whether it is there still: what is committed as proven is what the court accepted, and a
//! task is done for as long as its change is in the commit that is checked out.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::super::left_behind::named;
use super::super::setup;
use super::again::log_flag;
use super::book::{self, Book};
use super::committed::commit_task;
use super::engine::Engine;
use super::load;
use super::lost::why;
use super::of_run::of_task;
use super::ready::{same_branch, unreadable};
use super::standing::Standing;
use crate::domain::tree_patch::TreePatch;
use crate::domain::units::{CommitSha, RunId};
use crate::lifecycle::message::RUN_TRAILER;
use crate::lifecycle::{self, Accepted};
use crate::tracker::{Source, Task, TaskStatus};
use crate::workspace::{Presence, RevisionError, unlike};

/// What became of a proven change.
#[derive(Debug)]
pub(super) enum Put {
    /// It is on the branch, in this commit. `None` where nothing was to be committed.
    Committed(Option<CommitSha>),
    /// It was thrown away before it could be committed.
    Gone,
}

impl Engine<'_> {
    /// Puts a run's change on the branch, unless it is there already or was thrown away.
    ///
    /// # Errors
    /// Why not: git refuses, or the files are not what the court accepted. They stay as they are.
    pub(super) async fn put(
        &self,
        book: &mut Book,
        (task, run): (&Task, &RunId),
        files: &[String],
    ) -> anyhow::Result<Put> {
        // Before anything is committed: a person may have switched while the run was at work.
        if let Err(other) = same_branch(self.revisions, self.branch.as_deref()).await {
            let moved = self.moved_since(book, run).await?;
            self.return_theirs(book, run, (&moved, files)).await?;
            return Err(other);
        }
        // A run that changed nothing has no files that could differ.
        if files.is_empty() {
            return self.commit(task, run, files).await.map(Put::Committed);
        }
        if let Some(commit) = self.revisions.commit_with(&format!("{RUN_TRAILER}: {run}")).await? {
            // Somebody reset the branch behind our commit on purpose. Putting it back would undo that.
            if self.revisions.presence(&commit).await? == Presence::Gone {
                return Ok(Put::Gone);
            }
            // An earlier process was killed between the commit and its record. This finds the same commit.
            return self.commit(task, run, files).await.map(Put::Committed);
        }
        let differs = self.revisions.differ(files).await?;
        // Only the very content that was judged is committed, or a person's edit would pass for proven.
        let unlike = self.unlike(book, run, files).await?;
        match (unlike, differs) {
            (Some(unlike), true) if unlike.is_empty() => match self.moved_since(book, run).await? {
                moved if moved.is_empty() => self.commit(task, run, files).await.map(Put::Committed),
                moved => {
                    self.return_theirs(book, run, (&moved, files)).await?;
                    Err(anyhow::anyhow!(
                        "{} changed in the commit that is checked out since it was judged; {}",
                        named(&moved),
                        self.ways_out(run)
                    ))
                }
            },
            // Somebody committed it.
            (Some(unlike), false) if unlike.is_empty() => {
                let commit = match self.source {
                    Source::Prd(_) => self.commit(task, run, &[]).await?,
                    Source::FailingTests | Source::List(_) | Source::Issues(_) => None,
                };
                Ok(Put::Committed(commit.or(self.revisions.last_of(files).await?)))
            }
            // The files are as in the commit, and not as judged: the change was thrown away.
            (_, false) => Ok(Put::Gone),
            (Some(unlike), true) => {
                Err(anyhow::anyhow!("not as they were judged: {}; {}", named(&unlike), self.ways_out(run)))
            }
            (None, true) => Err(anyhow::anyhow!(
                "whether {} are as they were judged is no longer known; {}",
                named(files),
                self.ways_out(run)
            )),
        }
    }

    /// The files that are not as the court accepted them. `None` where nobody knows any more.
    async fn unlike(&self, book: &mut Book, run: &RunId, files: &[String]) -> anyhow::Result<Option<Vec<String>>> {
        let Some(Accepted { tree, .. }) = self.accepted(book, run)? else { return Ok(None) };
        // The log first: it is the run's own record, and the folder of states may have been cleaned up.
        let told = book.store().load_tree(run, &tree).map_err(|error| book::failed(&error))?;
        if let Some(told) = told {
            let of_change = |path: &String| files.contains(path);
            let patch: TreePatch = TreePatch {
                files: told.patch.files.into_iter().filter(|file| of_change(&file.path)).collect(),
                ..told.patch
            };
            return Ok(Some(unlike(self.checkout(), &patch)?));
        }
        // A large file is in no log; the folder of recorded states may have it.
        let changed = self.alone().await?.changed_since(&tree).await;
        Ok(changed.ok().map(|changed| changed.into_iter().filter(|path| files.contains(path)).collect()))
    }

    /// The files that the commit which is checked out has otherwise than the one over which a run was judged.
    async fn moved_since(&self, book: &mut Book, run: &RunId) -> anyhow::Result<Vec<String>> {
        let Some(base) = self.accepted(book, run)?.and_then(|accepted| accepted.base) else { return Ok(Vec::new()) };
        let head = self.revisions.commit("HEAD").await?;
        if head == base {
            return Ok(Vec::new());
        }
        // The list is written by the backlog itself, so its change says nothing of the judgement.
        let list = load::places(self.source, self.checkout());
        let moved = self.revisions.changed_between(&base, &head).await?;
        let moved = moved.into_iter().map(|path| path.display().to_string());
        Ok(moved.filter(|path| !list.contains(path)).collect())
    }

    /// Puts files that somebody committed meanwhile back as that commit has them: the run restored them to its start. What is neither as
    /// before nor the task's own is left alone.
    async fn return_theirs(
        &self,
        book: &mut Book,
        run: &RunId,
        (moved, files): (&[String], &[String]),
    ) -> anyhow::Result<()> {
        let Some(base) = self.accepted(book, run)?.and_then(|accepted| accepted.base) else { return Ok(()) };
        let head = self.revisions.commit("HEAD").await?;
        let workspace = self.alone().await?;
        let mut paths: BTreeSet<PathBuf> =
            moved.iter().filter(|path| !files.contains(path)).map(PathBuf::from).collect();
        let now = workspace.snapshot().await?;
        let before = workspace.as_in_commit(&now, self.revisions, &base, &paths).await?;
        let others = workspace.changed_since(&before).await?;
        paths.retain(|path| !others.contains(&path.display().to_string()));
        let theirs = workspace.as_in_commit(&now, self.revisions, &head, &paths).await?;
        workspace.restore_paths(&theirs, &paths.into_iter().collect::<Vec<_>>()).await?;
        Ok(())
    }

    fn accepted(&self, book: &mut Book, run: &RunId) -> anyhow::Result<Option<Accepted>> {
        let loaded = book.store().load_run(run).map_err(|error| setup::audit_failure(&error))?;
        Ok(lifecycle::accepted(&loaded))
    }

    /// Commits a task's change, and the task's status in a `prd.json`. `None` where there is nothing that could be committed.
    pub(super) async fn commit(&self, task: &Task, run: &RunId, files: &[String]) -> anyhow::Result<Option<CommitSha>> {
        // Where nothing was to be judged, too: a list is marked in a commit.
        same_branch(self.revisions, self.branch.as_deref()).await?;
        let place = (&self.resolved.plan, self.checkout(), self.environment);
        commit_task(self.revisions, place, Some(self.source), (task, run), files).await
    }

    /// Opens tasks again whose change is not in the commit that is checked out, where that is not the one that we left. Returns whether
    /// there were any.
    ///
    /// # Errors
    /// When git cannot be asked, or the log not be written.
    pub(super) async fn reopen_lost(&self, book: &mut Book) -> anyhow::Result<bool> {
        let head = self.revisions.commit("HEAD").await.map_err(unreadable)?;
        // A `prd.json` says itself which stories are done.
        // The same commit as last time was looked through already, and each look is a process per task.
        if matches!(self.source, Source::Prd(_)) || self.head.borrow().as_ref() == Some(&head) {
            return Ok(false);
        }
        let mut lost = Vec::new();
        for (at, entry) in book.entries.iter().enumerate() {
            let done = entry.commit.as_ref().filter(|_| entry.task.status == TaskStatus::Completed);
            let Some(commit) = done else { continue };
            if self.revisions.presence(commit).await.map_err(unreadable)? == Presence::Gone {
                lost.push((at, commit.clone()));
            }
        }
        // Whoever is interrupted asked nobody.
        if self.stop.raised().is_some() {
            return Ok(false);
        }
        for (at, commit) in &lost {
            let why = why(commit);
            if let Some(entry) = book.entries.get(*at) {
                self.teller.word(&format!("⚠ {}: {why}", entry.task.id));
            }
            book.change(*at, |entry| {
                entry.task.status = TaskStatus::Open;
                (entry.failures, entry.standing) = (0, Standing::Comes);
                entry.reason = why;
            })?;
        }
        // Only now: a failure above has the same commits looked at again.
        self.head.replace(Some(head));
        if !lost.is_empty() {
            let tasks: Vec<_> = book.shown().map(of_task).collect();
            self.tell("tasks:refreshed", serde_json::json!({ "tasks": tasks }));
        }
        Ok(!lost.is_empty())
    }

    /// Takes a commit of ours on top of what was looked at for looked at, too.
    pub(super) async fn note_own(&self, commit: Option<&CommitSha>) -> Result<(), RevisionError> {
        let Some(commit) = commit else { return Ok(()) };
        let parent = self.revisions.commit(&format!("{}^", commit.0)).await.ok();
        // A commit on top of another one than ours brings changes that nobody has looked at.
        if parent.is_some() && *self.head.borrow() == parent {
            self.head.replace(Some(commit.clone()));
        }
        Ok(())
    }

    /// Takes the commit that is checked out for the one that we left.
    pub(super) async fn note_head(&self) -> Result<(), RevisionError> {
        self.head.replace(Some(self.revisions.commit("HEAD").await?));
        Ok(())
    }

    /// What a person can do about files that nobody judged.
    fn ways_out(&self, run: &RunId) -> String {
        format!(
            "nothing is committed. Commit, restore or stash what `git status` names, and the same command starts the task over; \
             `upshift show {} --last-patch{}` prints what was judged",
            run.short(),
            log_flag(self.resolved.plan.audit.as_deref())
        )
    }
}
