//! This checkout's court: a change or the sum of all is judged in it, and its files are put back.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use super::super::super::left_behind::{Pulse, named};
use super::super::super::plan::Resolved;
use super::super::super::prepared::Prepared;
use super::super::super::setup::{self, Setup};
use super::super::super::{Failure, run, say, work};
use super::super::ready::unreadable;
use super::super::{INSTRUCTIONS, committed, load};
use super::rows::{Candidate, Wish};
use crate::audit::Journal;
use crate::config::{NamedCommand, Plan, TASK_CHECK};
use crate::domain::outcome::EXIT_INTERNAL;
use crate::domain::tree_patch::RecordedTree;
use crate::domain::units::{CommitSha, RunId, TreeId};
use crate::lifecycle::message::RUN_TRAILER;
use crate::lifecycle::state::RunState;
use crate::lifecycle::{self, Applied, LifecycleError, Sum};
use crate::tracker::{Proof, Source, Task, TaskStatus};
use crate::workspace::publish::Author;
use crate::workspace::{Revisions, WayBack, Workspace};

/// Between the name of a check and a test in it: a name like that is no test's.
const OF: &str = ": ";

/// The court of a merge.
pub(super) struct Court<'c> {
    pub(super) setup: &'c Setup<'c>,
    pub(super) resolved: &'c Resolved,
    pub(super) revisions: &'c Revisions<'c>,
    pub(super) wish: &'c Wish<'c>,
    /// Whether the setup command ran already.
    is_set_up: Cell<bool>,
}

/// One judgement: the checkout is its own for that long.
struct Sitting {
    state: RunState,
    workspace: Arc<Workspace>,
    prepared: Prepared,
    journal: Journal,
}

/// The end of a change's turn in the court.
pub(super) enum Tried {
    /// It was judged, and not proven.
    Judged(Applied),
    /// It is proven, and in this commit.
    Committed(CommitSha),
    /// It is proven, and git made no commit of it. The files are back.
    Uncommitted(anyhow::Error),
}

/// Puts the files back where an earlier merge was killed, and takes out of git's index what it had staged.
pub(in crate::cli::tasks) async fn go_back(
    setup: &Setup<'_>,
    resolved: &Resolved,
    revisions: &Revisions<'_>,
) -> anyhow::Result<()> {
    let plan = &resolved.plan;
    let folder = setup::working_directory(&resolved.checkout, plan)?;
    let (test_command, _) = work::test_command(plan, &folder)?;
    let workspace = setup.open_workspace(plan, &test_command, None).await?;
    match workspace.go_back_to(revisions).await.map_err(unreadable)? {
        WayBack::None => {}
        WayBack::Went => say("⚠ an earlier merge was killed here; the files that it had changed are restored"),
        // Putting the files back now would overwrite what somebody did after the kill.
        WayBack::Barred(theirs) => {
            return Err(Failure::usage(format!(
                "an earlier merge was killed here, and files were changed since: {}\n→ Fix: commit them, stash them (`git stash --include-untracked`) or put them back; the same command continues",
                named(&theirs)
            )));
        }
    }
    // After the files: a killed process may have staged a change whose files are gone by now.
    workspace.unstage_left(revisions).await.map_err(unreadable)
}

/// Puts the court's files back to those of the checkout: nothing of it is left.
async fn leave(workspace: &Workspace) -> anyhow::Result<()> {
    workspace.go_back().await?;
    workspace.forget_writes();
    Ok(())
}

/// The name of the check that the command of a proof is, by the proof's number.
pub(super) fn check_name(number: usize) -> String {
    // A single proof keeps the plain name, by which logs and people know it.
    if number == 0 { TASK_CHECK.to_owned() } else { format!("{TASK_CHECK}-{number}") }
}

/// Protects the files by which later tasks are proven and guided: they are no change's to make.
pub(super) fn guard(plan: &mut Plan, source: Option<&Source>, checkout: &Path) {
    // A change that could edit its own list could prove itself by a command of its own.
    let list = source.map(|source| load::places(source, checkout)).into_iter().flatten();
    // These files are given to the models of later tasks as the project's own words.
    let guidance = INSTRUCTIONS.iter().map(|&path| path.to_owned());
    plan.safety.protected_paths.extend(list.chain(guidance));
}

impl<'c> Court<'c> {
    pub(super) fn new(
        setup: &'c Setup<'c>,
        resolved: &'c Resolved,
        revisions: &'c Revisions<'c>,
        wish: &'c Wish<'c>,
    ) -> Self {
        Self { setup, resolved, revisions, wish, is_set_up: Cell::new(false) }
    }

    /// The task of a change as the source has it. Where no source is named, or it has no such task any more, a task made of names.
    ///
    /// # Errors
    /// Why nothing proves the change, in words: no command is taken from a log.
    pub(super) fn task(&self, candidate: &Candidate) -> Result<Task, String> {
        let named = candidate.task.as_ref();
        let known = self.wish.tasks.iter().find(|task| Some(&task.id) == named);
        let task = match known {
            // The source's own task counts, whatever the log says of its proof.
            Some(task) => task.clone(),
            None => from_names(candidate)?,
        };
        if task.proof == Proof::Nothing { Err("no test or command proves it".to_owned()) } else { Ok(task) }
    }

    /// Whether upshift saw the tests of a task fail here, so that their names are no claim.
    fn saw(&self, task: &Task) -> bool {
        // The same id with other tests was not seen to fail.
        let same = |one: &&Task| one.id == task.id && one.proof == task.proof;
        self.wish.source == Some(&Source::FailingTests) && self.wish.tasks.iter().any(|one| same(&one))
    }

    fn plan(&self, proofs: &[&Proof]) -> Plan {
        let mut plan = Plan { audit: None, record: None, ..self.resolved.plan.clone() };
        // The setup installs into this machine once. Each judgement after the first finds it done.
        if self.is_set_up.replace(true) {
            plan.test.setup_command = None;
        }
        guard(&mut plan, self.wish.source, &self.resolved.checkout);
        for (number, proof) in proofs.iter().enumerate() {
            plan.test.only.extend(proof.tests().iter().cloned());
            if let Some(command) = proof.command() {
                let name = check_name(number);
                plan.test.only.push(name.clone());
                plan.test.commands.push(NamedCommand { name, run: command.to_owned() });
            }
        }
        plan
    }

    async fn sit(&self, plan: Plan) -> anyhow::Result<Sitting> {
        let folder = setup::working_directory(&self.resolved.checkout, &plan)?;
        let (test_command, framework) = work::test_command(&plan, &folder)?;
        let workspace = self.setup.open_workspace(&plan, &test_command, None).await?;
        let state = RunState::new(RunId::random(), plan, test_command, framework);
        let prepared = self.setup.prepare(Arc::clone(&workspace), &state, &[])?;
        // A judgement in memory: the merge has a log of its own, and this is no run that goes on.
        let mut store = self.setup.open_store(None)?;
        let started = run::started(&state, &folder, self.setup);
        let begun = store.begin_run(&started, std::process::id(), &serde_json::to_string(&state)?);
        begun.map_err(|error| setup::audit_failure(&error))?;
        let journal = Journal::new(store, vec![Box::new(Pulse::of(&workspace))]);
        let head = self.revisions.commit("HEAD").await.map_err(unreadable)?;
        let mine = workspace.snapshot().await?;
        // Written down before anything is changed, so that a killed merge knows where it was.
        workspace.keep_judged_at(&head)?;
        // Its log is in memory: no run goes on with what it leaves.
        if let Err(error) = workspace.note_writes(&state.run_id, "", &mine) {
            say(&format!("⚠ what the merge writes could not be noted: {error}"));
        }
        // Last of the notes: from here on a killed process is put back by the next one.
        workspace.keep_way_back(&mine)?;
        Ok(Sitting { state, workspace, prepared, journal })
    }

    /// Judges a change on top of what is merged, and commits it where it is proven.
    pub(super) async fn apply(&self, (task, run): (&Task, &RunId), change: &RecordedTree) -> anyhow::Result<Tried> {
        let mut plan = self.plan(&[&task.proof]);
        plan.test.known = self.saw(task);
        let mut sitting = self.sit(plan).await?;
        let world = self.setup.world(&sitting.state, &sitting.prepared);
        let applied = lifecycle::apply(world, &mut sitting.journal, &sitting.state, (self.revisions, change)).await;
        let applied = match applied {
            Ok(applied) => applied,
            Err(error) => {
                // The files go back first, whatever the error: the next change is judged on a clean tree.
                leave(&sitting.workspace).await?;
                return Err(unusable(&error));
            }
        };
        let Applied::Proven { tree, files } = &applied else {
            leave(&sitting.workspace).await?;
            return Ok(Tried::Judged(applied));
        };
        // Noted before git stages anything, so that a kill in between can be cleaned up.
        sitting.workspace.keep_staged(files)?;
        match self.commit((task, run), files).await {
            Ok(commit) => {
                // The way back leads to the committed state from now on. Going further back would undo the commit's files.
                self.stay(&sitting.workspace, tree, &commit).await?;
                sitting.workspace.unstage_left(self.revisions).await.map_err(unreadable)?;
                Ok(Tried::Committed(commit))
            }
            Err(error) => {
                leave(&sitting.workspace).await?;
                // Where git lets nobody change its index, the next start does.
                drop(sitting.workspace.unstage_left(self.revisions).await);
                Ok(Tried::Uncommitted(error))
            }
        }
    }

    async fn commit(&self, (task, run): (&Task, &RunId), files: &[String]) -> anyhow::Result<CommitSha> {
        let place = (&self.resolved.plan, self.resolved.checkout.as_path(), self.setup.environment);
        let commit = committed::commit_task(self.revisions, place, self.wish.source, (task, run), files).await?;
        commit.ok_or_else(|| anyhow::anyhow!("there is nothing to commit"))
    }

    /// The files stay as they are: with what was committed.
    async fn stay(&self, workspace: &Workspace, tree: &TreeId, head: &CommitSha) -> anyhow::Result<()> {
        // Where the tree cannot be read now, the one that was judged is the same by all that is known.
        let now = workspace.snapshot().await.unwrap_or_else(|_unread| tree.clone());
        workspace.keep_way_back(&now)?;
        workspace.keep_judged_at(head)?;
        leave(workspace).await
    }

    /// Runs the tests, and all that proves the tasks, with the files as a commit has them. Nothing else changes.
    pub(super) async fn sum(&self, commit: &CommitSha, proofs: &[&Proof]) -> anyhow::Result<Sum> {
        let mut plan = self.plan(proofs);
        // All tests run: a change may have broken what no proof names.
        plan.test.only.clear();
        let mut sitting = self.sit(plan).await?;
        let head = self.revisions.commit("HEAD").await.map_err(unreadable)?;
        // An earlier commit is looked at in these files, without a checkout that git would note.
        if head != *commit {
            let paths = self.revisions.changed_between(&head, commit).await.map_err(unreadable)?;
            let mine = sitting.workspace.snapshot().await?;
            let then =
                sitting.workspace.as_in_commit(&mine, self.revisions, commit, &paths).await.map_err(unreadable)?;
            sitting.workspace.restore(&then).await?;
        }
        let world = self.setup.world(&sitting.state, &sitting.prepared);
        let sum = lifecycle::sum(world, &mut sitting.journal, &sitting.state).await;
        leave(&sitting.workspace).await?;
        sum.map_err(|error| unusable(&error))
    }

    /// Runs what proves a task, with the files as they are. Nothing is changed.
    pub(super) async fn look(&self, proof: &Proof) -> anyhow::Result<Sum> {
        let mut sitting = self.sit(self.plan(&[proof])).await?;
        let world = self.setup.world(&sitting.state, &sitting.prepared);
        let sum = lifecycle::sum(world, &mut sitting.journal, &sitting.state).await;
        leave(&sitting.workspace).await?;
        sum.map_err(|error| unusable(&error))
    }

    /// Whether a task is one of failing tests, none of which fails here any more.
    pub(super) fn is_gone(&self, candidate: &Candidate) -> bool {
        let is_known = self.wish.tasks.iter().any(|task| Some(&task.id) == candidate.task.as_ref());
        // The source was read on top of everything merged, so a task that it lacks has no failing test left.
        self.wish.source == Some(&Source::FailingTests) && candidate.task.is_some() && !is_known
    }

    /// Whose commits a merge makes.
    pub(super) async fn author(&self) -> anyhow::Result<Author> {
        committed::author(self.revisions, &self.resolved.plan, self.setup.environment).await.map_err(unreadable)
    }

    /// The commit of a run that an earlier merge made, unless it was taken back.
    pub(super) async fn committed(&self, run: &RunId) -> anyhow::Result<Option<(CommitSha, bool)>> {
        let found = self.revisions.commit_with(&format!("{RUN_TRAILER}: {run}")).await.map_err(unreadable)?;
        let Some(commit) = found else { return Ok(None) };
        let back =
            // git's own words in the message of a revert.
            self.revisions.commit_with(&format!("This reverts commit {}.", commit.0)).await.map_err(unreadable)?;
        Ok(Some((commit, back.is_some())))
    }
}

/// A task made of the names that a log claims: they choose among the tests of this checkout, and are no more than that.
fn from_names(candidate: &Candidate) -> Result<Task, String> {
    let failing = candidate.claimed.as_ref().map(|claimed| claimed.failing.clone()).unwrap_or_default();
    let id = candidate.task.clone().unwrap_or_else(|| candidate.run.short().to_owned());
    if failing.is_empty() {
        return Err("its log names no failing test; name the source of its task with --tasks".to_owned());
    }
    // A name of ours would make a check out of a claim, for a command that nobody gave.
    if failing.iter().any(|name| name == TASK_CHECK || name.starts_with(&format!("{TASK_CHECK}{OF}"))) {
        return Err(
            "a command proves it, and none is taken from a log; name the source of its task with --tasks".to_owned()
        );
    }
    let count = failing.len();
    let title = if count == 1 { "1 failing test".to_owned() } else { format!("{count} failing tests") };
    Ok(Task {
        // The id comes out of a log, and goes into a commit's message.
        id: id.chars().filter(|letter| !letter.is_control()).take(80).collect(),
        title,
        description: String::new(),
        status: TaskStatus::Open,
        priority: 2,
        depends_on: Vec::new(),
        proof: Proof::Tests(failing),
    })
}

fn unusable(error: &LifecycleError) -> anyhow::Error {
    Failure::with_code(
        EXIT_INTERNAL,
        format!("✖ upshift could not judge: {error}\n→ Fix: remove the cause; the same command then continues"),
    )
}
