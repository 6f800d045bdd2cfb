//! Merged changes, proposed: in one pull request, or in one for each change, each on top of the one before. Every state that is proposed is
//! one that the court has seen.

use sha2::{Digest as _, Sha256};

use super::super::super::plan::Resolved;
use super::super::super::setup::{self, Setup};
use super::super::super::{Failure, delivery, say, work};
use super::super::ready::unreadable;
use super::court::guard;
use super::rows::Done;
use super::told::{self, Report};
use crate::config::{Origin, Plan, Push};
use crate::domain::delivery::Destination;
use crate::domain::outcome::EXIT_BROKEN;
use crate::domain::stop::Stop;
use crate::domain::units::{CommitSha, RunId, TreeId};
use crate::github::{NewPull, Readiness};
use crate::lifecycle::outside::{self, Outside};
use crate::lifecycle::state::RunState;
use crate::report::markdown::quoted;
use crate::report::plain;
use crate::tracker::Source;
use crate::workspace::publish::{Author, Onto, Order, Surroundings};
use crate::workspace::{Revisions, Workspace};

/// How the branches of proposed merges begin.
const BRANCH_PREFIX: &str = "upshift/merge-";
/// How many digits tell one from another.
const DIGITS: usize = 12;

/// A part of what was merged that is proposed by itself.
struct Part<'p> {
    done: &'p [Done],
    branch: String,
    title: String,
    body: String,
}

/// The place of the merged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whence {
    /// They are on the branch that is checked out.
    Branch,
    /// They hang on the commit that is checked out.
    Base,
}

/// Proposes merged changes.
pub(super) struct Proposer<'p> {
    pub(super) setup: &'p Setup<'p>,
    pub(super) resolved: &'p Resolved,
    pub(super) revisions: &'p Revisions<'p>,
    pub(super) source: Option<&'p Source>,
    pub(super) whence: Whence,
}

impl Proposer<'_> {
    /// Proposes all changes in one pull request.
    pub(super) async fn one(&self, report: &mut Report) -> anyhow::Result<()> {
        let done = report.done.clone();
        let count = done.len();
        let title = if count == 1 { "fix: 1 task".to_owned() } else { format!("fix: {count} tasks") };
        let part = Part { branch: branch_of(&done, report), done: &done, title, body: told::markdown(report) };
        self.propose(vec![part], report).await
    }

    /// Proposes each change in a pull request of its own, onto the branch of the one before.
    pub(super) async fn each(&self, report: &mut Report) -> anyhow::Result<()> {
        let done = report.done.clone();
        let part = |at: usize| {
            let one = done.get(at..=at).unwrap_or_default();
            let task = one.first().map(|done| &done.task);
            let id = task.map(|task| task.id.as_str()).unwrap_or_default();
            let title: String = format!("fix: {}", plain::line(id)).chars().take(72).collect();
            // Each is based on the one before, since it was proven on top of it.
            let onto = if at == 0 { "" } else { "\n\nIt is based on the branch of the one before: merge that first." };
            // A title of a backlog may hold Markdown, a mention or a closing keyword.
            let body = format!("{}{onto}\n", quoted(task.map(|task| task.title.as_str()).unwrap_or_default()));
            Part { branch: branch_of(one, report), done: one, title, body }
        };
        let parts: Vec<Part<'_>> = (0..done.len()).map(part).collect();
        self.propose(parts, report).await
    }

    async fn propose(&self, parts: Vec<Part<'_>>, report: &mut Report) -> anyhow::Result<()> {
        let Self { setup, resolved, revisions, .. } = *self;
        let Some(first) = parts.first().and_then(|part| part.done.first()) else { return Ok(()) };
        // Commits from another job were checked where their file was read.
        if self.whence == Whence::Branch {
            ends_in_a_change(revisions, report).await?;
        }
        let never = Stop::never();
        let way = way(setup, resolved, &never)?;
        // The parent of the first change, so that the first part holds that change and nothing before it.
        let base = revisions.commit(&format!("{}^", first.commit.0)).await.map_err(unreadable)?;
        let folder = setup::working_directory(&resolved.checkout, &resolved.plan)?;
        let (test_command, _) = work::test_command(&resolved.plan, &folder)?;
        let mut guarded = resolved.plan.clone();
        guard(&mut guarded, self.source, &resolved.checkout);
        let workspace = setup.open_workspace(&guarded, &test_command, None).await?;
        let (mut parent, mut from) = (base.clone(), tree_of(&workspace, revisions, &base).await?);
        let mut onto = way.destination.branch.clone();
        for part in &parts {
            let Some(last) = part.done.last() else { continue };
            let to = tree_of(&workspace, revisions, &last.commit).await?;
            // Checked before each push: what is on the forge once cannot be taken back.
            if let Some(path) = workspace.secret_in(&from, &to)? {
                return Err(failed(&format!(
                    "{path} would contain a secret, or a link that leads out of the checkout"
                )));
            }
            let order = Order {
                remote: &way.outside.remote,
                branch: &part.branch,
                // A branch of its own: the base is never written.
                onto: Onto::New,
                parent: &parent,
                from: &from,
                to: &to,
                author: &way.author,
                message: &format!("{}\n", part.title),
                // The commit's own time, so that a second try makes the same commit and finds it pushed.
                at: revisions.committed_at(&last.commit).await.map_err(unreadable)?,
            };
            let around = Surroundings { environment: setup.environment.raw(), stop: &never };
            let published = workspace.publish(&order, around).await;
            let published =
                published.map_err(|error| failed(&format!("{} could not be pushed: {error}", part.branch)))?;
            let url = open(&way, part, &onto).await?;
            for done in part.done {
                if let Some(row) = report.rows.get_mut(done.row) {
                    row.pull_request = Some(url.clone());
                }
            }
            say(&format!("◆ Proposed {} in {url}", part.branch));
            // Reported one by one, so that a failure at the third still tells of two.
            report.pull_requests.push(url);
            // The next part hangs on what was pushed, whose hash is not that of the local commit.
            (parent, from) = (published.commit, to);
            onto.clone_from(&part.branch);
        }
        Ok(())
    }
}

/// The same changes have the same branch, so that a merge that was killed finds it again.
fn branch_of(done: &[Done], report: &Report) -> String {
    // Names of runs, not of commits: a commit's hash changes when it is made once more.
    let runs: Vec<&str> =
        done.iter().filter_map(|done| report.rows.get(done.row)).map(|row| row.run.0.as_str()).collect();
    let hex = hex::encode(Sha256::digest(runs.join("\n").as_bytes()));
    format!("{BRANCH_PREFIX}{}", hex.chars().take(DIGITS).collect::<String>())
}

/// Refuses a branch whose newest commit is none of the merged changes: one that was taken back, or somebody's commit, is in no part of it.
pub(super) async fn ends_in_a_change(revisions: &Revisions<'_>, report: &Report) -> anyhow::Result<()> {
    let head = revisions.commit("HEAD").await.map_err(unreadable)?;
    // A branch with more on it would propose what nobody proved.
    if report.done.last().map(|done| &done.commit) == Some(&head) {
        return Ok(());
    }
    Err(Failure::with_code(
        EXIT_BROKEN,
        "what was merged is on the branch that is checked out, and not proposed: the branch has more than that, since a change was reverted or somebody committed meanwhile\n→ Fix: look at it, push it and open the pull request by hand",
    ))
}

/// All that a proposal needs of the outside.
struct Way {
    destination: Destination,
    outside: Outside,
    author: Author,
    readiness: Readiness,
}

async fn open(way: &Way, part: &Part<'_>, onto: &str) -> anyhow::Result<String> {
    let github = way.outside.github.as_ref().ok_or_else(|| failed("there is no token for the API"))?;
    let new = NewPull {
        title: part.title.clone(),
        body: part.body.clone(),
        head_branch: part.branch.clone(),
        base_branch: onto.to_owned(),
        readiness: way.readiness,
    };
    let opened = github.open_pull(&new).await;
    Ok(opened
        .map_err(|error| failed(&format!("no pull request could be opened for {}: {error}", part.branch)))?
        .pull
        .url)
}

/// The recorded state of a commit, with the checkout's own files beside it.
async fn tree_of(workspace: &Workspace, revisions: &Revisions<'_>, commit: &CommitSha) -> anyhow::Result<TreeId> {
    let head = revisions.commit("HEAD").await.map_err(unreadable)?;
    let paths = revisions.changed_between(&head, commit).await.map_err(unreadable)?;
    let mine = workspace.snapshot().await?;
    workspace.as_in_commit(&mine, revisions, commit, &paths).await.map_err(unreadable)
}

fn way(setup: &Setup<'_>, resolved: &Resolved, never: &Stop) -> anyhow::Result<Way> {
    let mut plan: Plan = resolved.plan.clone();
    plan.github.push = Push::Pr;
    // It was asked for: that it cannot be done is no warning.
    plan.values.retain(|value| value.key != "github.push" || value.origin != Origin::Default);
    let destination = delivery::destination(&mut plan, None, setup.checkout, setup.environment)?;
    let destination = destination.ok_or_else(|| failed("the base branch of the pull request is unknown"))?;
    // Not the person's: this is a job's commit on the forge.
    let author = plan.github.commit_author.as_deref().and_then(outside::author).unwrap_or_else(outside::default_author);
    let readiness = if plan.github.draft { Readiness::Draft } else { Readiness::Ready };
    let mut state = RunState::new(RunId::random(), plan, String::new(), None);
    state.destination = Some(destination.clone());
    let outside = delivery::outside(setup, &state, never)?.ok_or_else(|| failed("the Git host cannot be reached"))?;
    Ok(Way { destination, outside, author, readiness })
}

fn failed(why: &str) -> anyhow::Error {
    Failure::with_code(
        EXIT_BROKEN,
        format!(
            "what was merged is on the branch that is checked out, and not proposed: {why}\n→ Fix: remove the cause; the same command then proposes it"
        ),
    )
}
