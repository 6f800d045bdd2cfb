//! A run that comes from another machine, with nothing but its log: what of the log is believed, and the way of its trees into this
//! checkout.
//!
//! Invariant: nothing of a log counts before its chain is verified, and no command, address or token's way is taken from one: see
//! [`crate::config::elsewhere`] for the plan, `adopt` for the rest of the state.

use std::path::Path;

use super::environment::Environment;
use super::setup::{self, locate};
use super::{Failure, delivery, plan, work};
use crate::audit::{Journal, LoadedRun, Reader, VerifyError};
use crate::config::{self, Plan, Push, Setting, Settings, Trust};
use crate::domain::ci::{CiContext, RedCi};
use crate::domain::event::Event;
use crate::domain::outcome::EXIT_REFUSED;
use crate::domain::stop::Stop;
use crate::domain::tree_patch::{Over, RecordedTree};
use crate::domain::units::{CommitSha, RunId, TreeId};
use crate::lifecycle::state::{Phase, RunState};
use crate::workspace::{BaseTree, RebuildError, RevisionError, Revisions, Workspace};

/// The largest workflow file that is looked into, in bytes.
const MAX_WORKFLOW_BYTES: u64 = 1024 * 1024;
/// Why a run cannot leave the folder where it started.
const NO_TREES: &str = "its log has no trees: an older version wrote it, or it started outside a git repository";
/// The folder of workflow files.
const WORKFLOWS: &str = ".github/workflows";

/// A run from elsewhere.
#[derive(Debug)]
pub(super) struct Arrival<'a> {
    /// The content of its log.
    pub(super) loaded: &'a LoadedRun,
    /// The log, as it was named.
    pub(super) log: &'a str,
    /// The link that a comment of ours quotes, where one does.
    pub(super) quoted: Option<&'a str>,
    /// The folder upshift was started in.
    pub(super) checkout: &'a Path,
    /// The environment.
    pub(super) environment: &'a Environment,
    /// The event that triggered this process. `None` on somebody's own machine.
    pub(super) context: Option<&'a CiContext>,
}

/// The trees of a run, recorded here under the names that they have in its log.
#[derive(Debug)]
pub(super) struct Rebuilt {
    head: BaseTree,
    start: TreeId,
    later: Vec<TreeId>,
}

/// How far a run is from where it was at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distance {
    /// It is in its folder, with all that it recorded.
    AtHome,
    /// It is in its folder, and what it recorded is gone. The log is this machine's.
    Bare,
    /// It is in another folder or on another machine: its log may be anybody's.
    Elsewhere,
}

/// Looks how far a run is from where it was at work. The next job of a runner has the same folder, and is another machine.
pub(super) fn distance(loaded: &LoadedRun, state: &RunState, checkout: &Path, environment: &Environment) -> Distance {
    let trees = setup::trees_folder(checkout, environment);
    // A move that a crash ended half-way leaves trees that look whole.
    let is_whole = !Workspace::is_moving_in(&trees, &loaded.run_id)
        && state.trees().into_iter().all(|tree| Workspace::has_recorded(&trees, tree));
    match (is_its_folder(loaded, state, checkout), is_whole) {
        (true, true) => Distance::AtHome,
        // On a runner the path says nothing: every job has the same one, on a machine that knows nothing of the last.
        (true, false) if !environment.in_actions() => Distance::Bare,
        (_, _) => Distance::Elsewhere,
    }
}

/// Whether the tests run in the folder where the run was last at work.
fn is_its_folder(loaded: &LoadedRun, state: &RunState, checkout: &Path) -> bool {
    let Some(folder) = folder_of(loaded, state) else { return true };
    setup::working_directory(checkout, &state.plan).is_ok_and(|here| here == Path::new(folder))
}

fn folder_of<'a>(loaded: &'a LoadedRun, state: &'a RunState) -> Option<&'a str> {
    let began = loaded.events.iter().find_map(|event| {
        let Event::RunStarted(started) = event else { return None };
        Some(started.working_directory.as_str())
    });
    state.moved_to.as_deref().or(began)
}

impl Arrival<'_> {
    fn run(&self) -> &RunId {
        &self.loaded.run_id
    }

    fn reader(&self) -> anyhow::Result<Reader> {
        let reader = Reader::open(&locate(self.log, self.checkout, self.environment));
        reader.map_err(|error| setup::audit_failure(&error))
    }

    /// Verifies the log's chain, and that a comment's link is of it. A state that came after that link is believed no more than that of a
    /// log which somebody has named: a process that was killed before it could edit its comment leaves such a one.
    ///
    /// # Errors
    /// The log was edited, is another one, or is too old to tell (exit 6).
    pub(super) fn vouch(&self) -> anyhow::Result<Trust> {
        let (reader, run) = (self.reader()?, self.run());
        let fresh = "→ Fix: take the log from the artifact again, or start a new run with `upshift run`";
        // A log that was edited is not carried on in part: its state decides what is pushed and paid.
        let refused = |why: String| Failure::with_code(EXIT_REFUSED, format!("✖ Refused: {why}\n{fresh}"));
        let verified = match reader.verify(run) {
            Ok(verified) => verified,
            Err(VerifyError::Log(error)) => return Err(setup::audit_failure(&error)),
            Err(other) => return Err(refused(format!("the log of run {run} was edited: {other}"))),
        };
        let Some(state) = verified.state else {
            return Err(refused(format!("nothing in the log of run {run} proves its state: the log is too old")));
        };
        let Some(quoted) = self.quoted else { return Ok(Trust::Named) };
        let place = reader.place_of_link(run, quoted).map_err(|error| setup::audit_failure(&error))?;
        match place {
            // The comment was written by our token, so it vouches for all that the chain held by then.
            Some(place) if state.seq <= place => Ok(Trust::Ours),
            Some(_) => Ok(Trust::Named),
            None => Err(refused(format!("the log of run {run} is not the one that upshift's comment names"))),
        }
    }

    /// Makes a state that was saved elsewhere one that may be carried on here: what could be misused is asked for anew.
    ///
    /// # Errors
    /// This machine's configuration does not fit the run (exit 2), or the state wants a value that it may not have (exit 6).
    pub(super) fn adopt(&self, state: &mut RunState, trust: Trust) -> anyhow::Result<()> {
        let run = self.run();
        let mut flags = Settings::default();
        // The ladder itself is kept: another one would not fit the tier at which the run stands.
        flags.set(Setting::Tiers, Some(config::ladder_text(&state.plan.tiers)));
        let today = self.today(flags)?;
        // This machine's own refusals count first, whatever the log says.
        plan::refuse(&today)?;
        let saved: Plan = (*state.plan).clone();
        state.plan = config::elsewhere(saved.clone(), today, trust).into();
        if state.plan.budget != saved.budget {
            super::say(&format!(
                "⚠ run {run} gets the lower of its own caps and this machine's: a log from elsewhere raises none"
            ));
        }
        // It may name a folder of this machine that has nothing to do with the run.
        if state.plan.working_directory.as_deref().is_some_and(|folder| Path::new(folder).has_root()) {
            return Err(Failure::usage(format!(
                "run {run} was started with an absolute working directory, which is of another machine\n→ Fix: start a new one with \
                 `upshift run`"
            )));
        }
        let folder = setup::working_directory(self.checkout, &state.plan)?;
        self.same_tests(state, &folder)?;
        self.same_destination(state)?;
        // A log that our comment vouches for holds commands that upshift itself read from CI.
        if trust == Trust::Named {
            self.known_checks(state.red_ci.as_ref())?;
        }
        state.beneficiary = work::beneficiary(self.context, &folder);
        // Recorded so that a second resume knows this folder as the run's home.
        state.moved_to = Some(folder.display().to_string());
        Ok(())
    }

    /// The plan that this machine would make.
    fn today(&self, flags: Settings) -> anyhow::Result<Plan> {
        // The base of a pull request is asked for its configuration by a runtime of its own.
        let resolve = || plan::resolve_settings(flags, self.environment, self.checkout.to_owned());
        let resolved = std::thread::scope(|scope| scope.spawn(resolve).join());
        let resolved = resolved.map_err(|_panic| anyhow::anyhow!("the configuration could not be resolved"))??;
        Ok(resolved.plan)
    }

    /// The command that judges is never a log's.
    fn same_tests(&self, state: &mut RunState, folder: &Path) -> anyhow::Result<()> {
        let (here, framework) = match work::test_command(&state.plan, folder) {
            // The framework follows from the command, so the log's word for it is not needed.
            Ok((command, framework)) => (Some(command), framework),
            Err(_none) => (None, None),
        };
        if here.as_deref() == Some(state.test_command.as_str()) {
            state.framework = framework;
            return Ok(());
        }
        let here = here.map_or_else(|| "none is known".to_owned(), |command| format!("it is `{command}`"));
        let (run, theirs) = (self.run(), &state.test_command);
        // Running it without asking would let whoever made the log run anything here.
        Err(Failure::usage(format!(
            "run {run} was started with the test command `{theirs}`, and here {here}: no command is taken from a log\n→ Fix: if you trust \
             it, set UPSHIFT_TEST_COMMAND to it and resume again"
        )))
    }

    /// A fix goes where this checkout's would, or nowhere: the address of the API is handed a token.
    fn same_destination(&self, state: &mut RunState) -> anyhow::Result<()> {
        let Some(theirs) = &state.destination else { return Ok(()) };
        let here = delivery::forge_here(self.context, self.checkout, self.environment);
        let same = here.as_ref().is_some_and(|(server_url, api_url, repository)| {
            // A token goes to these two addresses, so they are compared letter by letter. GitHub's names ignore case.
            (server_url, api_url) == (&theirs.server_url, &theirs.api_url) && repository.is(&theirs.repository)
        });
        if same {
            return Ok(());
        }
        // Nothing is pushed there, so the address can simply be forgotten.
        if state.plan.github.push == Push::None {
            state.destination = None;
            return Ok(());
        }
        let (run, theirs) = (self.run(), theirs.url());
        let here = here.map_or_else(
            || "has no such remote".to_owned(),
            |(server_url, api_url, repository)| format!("is of {server_url}/{repository} (API {api_url})"),
        );
        Err(Failure::with_code(
            EXIT_REFUSED,
            format!(
                "✖ Refused: run {run} delivers to {theirs}, and this checkout {here}\n→ Fix: resume in a clone of that repository whose \
                 remote `origin` it is"
            ),
        ))
    }

    /// Checks the commands that failed in CI, which are run beside the tests. Each must be what a step of this checkout's workflows comes to:
    /// the log has the step's script wrapped, so the steps are wrapped likewise.
    fn known_checks(&self, red_ci: Option<&RedCi>) -> anyhow::Result<()> {
        let commands = red_ci.map(RedCi::commands).unwrap_or_default();
        if commands.is_empty() {
            return Ok(());
        }
        let workflows = workflows_in(&self.checkout.join(WORKFLOWS));
        let known: Vec<String> = workflows.iter().flat_map(|text| config::workflow_commands(text)).collect();
        // Compared whole: a known part could bring a foreign one along.
        let Some(strange) = commands.iter().find(|command| !known.iter().any(|known| known == *command)) else {
            return Ok(());
        };
        let fresh = match self.context {
            Some(_) => "comment `/upshift retry` to start a new run",
            None => "start a new run with `upshift run`",
        };
        Err(Failure::with_code(
            EXIT_REFUSED,
            format!(
                "✖ Refused: the log of run {} asks to run `{strange}`, and no step of this checkout's workflows runs that\n→ Fix: {fresh}",
                self.run()
            ),
        ))
    }

    /// Records the run's trees here. `None` where it needs none, or goes on in its own folder from a log that has none.
    ///
    /// # Errors
    /// The checkout is at another commit, or lacks the one that is needed (exit 2). A tree rebuilt from the log differs from its recorded
    /// name, or holds paths that no run may write (exit 6).
    pub(super) async fn rebuild(&self, workspace: &Workspace, state: &RunState) -> anyhow::Result<Option<Rebuilt>> {
        let Some(start) = state.start.as_ref().filter(|_| needs_trees(&state.phase)) else {
            return self.begins_here(state).await.map(|()| None);
        };
        let trees = match self.recorded(state)? {
            Ok(trees) => trees,
            Err(_) if is_its_folder(self.loaded, state, self.checkout) => return Ok(None),
            Err(why) => return Err(self.stays(state, &why)),
        };
        let never = Stop::never();
        let revisions = self.revisions(&never).await?;
        let head = revisions.base("HEAD").await.map_err(|error| self.unmet(&error.to_string()))?;
        let Some(first) = trees.iter().find(|tree| tree.patch.tree == *start) else { return Ok(None) };
        let base = self.base(&revisions, &head, first, (state, &trees)).await?;
        let refused = |error: RebuildError| self.refused(&error);
        // Marked before the first file changes, so that a crash in between is seen as such.
        workspace.begin_moving_in(self.run()).map_err(|error| self.unmet(&error.to_string()))?;
        // The start comes first: the later trees are told by how they differ from it.
        let rebuilt = workspace.rebuild_start(&revisions, &base, first).await.map_err(refused)?;
        let mut later = Vec::new();
        for tree in trees.iter().filter(|tree| tree.patch.tree != rebuilt) {
            later.push(workspace.rebuild_later(&rebuilt, tree).map_err(refused)?);
        }
        Ok(Some(Rebuilt { head, start: rebuilt, later }))
    }

    /// A run without a baseline begins anew with it: on the same commit.
    async fn begins_here(&self, state: &RunState) -> anyhow::Result<()> {
        if state.phase != Phase::Baseline || is_its_folder(self.loaded, state, self.checkout) {
            return Ok(());
        }
        let Some(base) = &state.base else { return Err(self.stays(state, NO_TREES)) };
        let never = Stop::never();
        let revisions = self.revisions(&never).await?;
        let head = revisions.base("HEAD").await.map_err(|error| self.unmet(&error.to_string()))?;
        // The baseline runs anew, but only the same commit gives the run the same task.
        if head.commit == *base { Ok(()) } else { Err(self.elsewhere(&head, base, None)) }
    }

    async fn revisions<'s>(&self, never: &'s Stop) -> anyhow::Result<Revisions<'s>> {
        let opened = Revisions::open(self.checkout, self.environment.raw(), never).await;
        opened.map_err(|error| self.unmet(&error.to_string()))
    }

    /// Says so where a run can be taken up in its own folder alone.
    ///
    /// # Errors
    /// It can (exit 2).
    pub(super) fn may_leave(&self, state: &RunState) -> anyhow::Result<()> {
        let told = match &state.phase {
            Phase::Baseline => state.base.is_some(),
            phase if !needs_trees(phase) => true,
            // What cannot be read is for whoever verifies the log.
            Phase::Ready
            | Phase::Iterating
            | Phase::Publishing { .. }
            | Phase::Rebasing { .. }
            | Phase::Proposing { .. }
            | Phase::Waiting { .. }
            | Phase::Held { .. }
            | Phase::Ending { .. }
            | Phase::Ended { .. } => state.start.is_none() || self.recorded(state).map_or(true, |trees| trees.is_ok()),
        };
        if told || is_its_folder(self.loaded, state, self.checkout) {
            return Ok(());
        }
        let why = self.recorded(state)?.err().unwrap_or_else(|| NO_TREES.to_owned());
        Err(self.stays(state, &why))
    }

    /// Every tree that the state builds on, or why the log does not have it.
    fn recorded(&self, state: &RunState) -> anyhow::Result<Result<Vec<RecordedTree>, String>> {
        let reader = self.reader()?;
        let mut trees = Vec::new();
        for name in state.trees() {
            match reader.load_tree(self.run(), name).map_err(|error| setup::audit_failure(&error))? {
                Some(tree) => trees.push(tree),
                // One missing tree is enough: the state may go back to any of them.
                None => return Ok(Err(self.withheld(name))),
            }
        }
        Ok(Ok(trees))
    }

    fn withheld(&self, name: &TreeId) -> String {
        let told = self.loaded.events.iter().filter_map(|event| {
            let Event::TreeRecorded { tree, withheld: Some(why) } = event else { return None };
            Some((tree, why))
        });
        let told: Vec<_> = told.collect();
        // Later trees are told by the start: where that stayed, they did.
        let why = told.iter().find(|(tree, _)| *tree == name).or(told.first());
        why.map_or_else(
            || NO_TREES.to_owned(),
            |(_, why)| format!("what it works on was not written into its log, since {why}"),
        )
    }

    fn stays(&self, state: &RunState, why: &str) -> anyhow::Error {
        let (run, folder) = (self.run(), folder_of(self.loaded, state).unwrap_or("the folder where it started"));
        Failure::usage(format!(
            "run {run} belongs to {folder}: {why}\n→ Fix: call `upshift resume {run}` in {folder} on the machine where it started, or start a \
             new one with `upshift run`"
        ))
    }

    /// The commit that the start is told by, from the repository or out of the one that the run pushed.
    async fn base(
        &self,
        revisions: &Revisions<'_>,
        head: &BaseTree,
        start: &RecordedTree,
        (state, trees): (&RunState, &[RecordedTree]),
    ) -> anyhow::Result<BaseTree> {
        // A start is told over the commit it began with. A log that tells it otherwise is not one that upshift wrote.
        let Over::Commit { commit, .. } = &start.patch.over else {
            return Err(self.refused(&RebuildError::Odd("the log does not name the commit that the run started from")));
        };
        if head.commit == *commit {
            return Ok(head.clone());
        }
        let pushed = state.delivery.commit.as_ref().filter(|pushed| **pushed == head.commit);
        let delivered = match (pushed, &state.phase) {
            (Some(_), _) => state.delivery.tree.as_ref(),
            // It died between its push and the record of it; that it is its push shows when the start comes out as it was.
            (None, Phase::Publishing { fix }) => Some(&fix.tree),
            (None, _) => None,
        };
        let Some(delivered) = delivered else {
            return Err(self.elsewhere(head, commit, state.delivery.commit.as_ref()));
        };
        match revisions.base(&commit.0).await {
            Ok(base) => Ok(base),
            // A shallow clone has only its head. The commit before the push is then rebuilt from the head and what was
            // pushed.
            Err(RevisionError::Unknown { .. }) => {
                let delivered = trees.iter().find(|tree| tree.patch.tree == *delivered);
                let delivered = delivered.ok_or_else(|| self.elsewhere(head, commit, pushed))?;
                Ok(head.clone().before(commit.clone(), delivered))
            }
            Err(other) => Err(self.unmet(&other.to_string())),
        }
    }

    fn elsewhere(&self, head: &BaseTree, base: &CommitSha, pushed: Option<&CommitSha>) -> anyhow::Error {
        let (run, head, base) = (self.run(), head.commit.short(), &base.0);
        let pushed = pushed.map(|pushed| format!(" (or {}, which it pushed)", pushed.short())).unwrap_or_default();
        Failure::usage(format!(
            "run {run} started on the commit {base}{pushed}, and this checkout is at {head}\n→ Fix: `git fetch origin {base}` and `git \
             checkout {base}` in a clone of the run's repository, then resume again"
        ))
    }

    fn unmet(&self, why: &str) -> anyhow::Error {
        let run = self.run();
        Failure::usage(format!(
            "run {run} comes from elsewhere and needs a clone of its repository: {why}\n→ Fix: resume at the top of one"
        ))
    }

    fn refused(&self, error: &RebuildError) -> anyhow::Error {
        let run = self.run();
        let fix = match error {
            RebuildError::InTheWay(_) => "→ Fix: resume in a fresh clone, or commit or stash them",
            // The names are hashes of the content, so git's filters on line ends make another tree.
            RebuildError::Mismatch(_) => {
                "→ Fix: resume in a fresh clone of the run's repository, with the settings of git that it was started with (line ends, \
                 filters)"
            }
            RebuildError::Missing(_)
            | RebuildError::Refused { .. }
            | RebuildError::Odd(_)
            | RebuildError::Revision(_)
            | RebuildError::Workspace(_) => "→ Fix: start a new run with `upshift run`",
        };
        Failure::with_code(EXIT_REFUSED, format!("✖ Refused: run {run} cannot continue here: {error}\n{fix}"))
    }

    /// Makes the checkout that of the run, and its state one of this checkout, and records that.
    ///
    /// # Errors
    /// Somebody's own files are in the way (exit 6).
    pub(super) fn move_in(
        &self,
        workspace: &Workspace,
        rebuilt: &Rebuilt,
        state: &mut RunState,
        journal: &mut Journal,
    ) -> anyhow::Result<()> {
        let Rebuilt { head, start, later } = rebuilt;
        let names = workspace.move_in(head, start, later).map_err(|error| self.refused(&error))?;
        // Rebuilt trees may have other names here, and the state must not name the old ones.
        state.rename_trees(&names);
        // The record comes before the mark is removed. In the other order a crash would leave a state without its trees.
        journal.record(&[], Some(&serde_json::to_string(state)?));
        workspace.end_moving_in();
        Ok(())
    }
}

/// Whether what follows is done with the files.
const fn needs_trees(phase: &Phase) -> bool {
    match phase {
        Phase::Ready
        | Phase::Iterating
        | Phase::Publishing { .. }
        | Phase::Rebasing { .. }
        | Phase::Proposing { .. }
        | Phase::Waiting { .. }
        | Phase::Held { .. }
        | Phase::Ending { .. } => true,
        Phase::Baseline | Phase::Ended { .. } => false,
    }
}

/// The texts of the workflow files in a folder.
fn workflows_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    // The checkout is foreign, and a file of any size would be read whole into memory.
    let small = entries.flatten().filter(|entry| entry.metadata().is_ok_and(|found| found.len() <= MAX_WORKFLOW_BYTES));
    small.filter_map(|entry| std::fs::read_to_string(entry.path()).ok()).collect()
}
