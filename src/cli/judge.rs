//! `upshift judge`: the court for a change that people (or any agent) made. No model, no key, no budget.

use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::committed_files::Committed;
use super::console::Stream;
use super::environment::{Environment, current_dir};
use super::plan::{self, TestFlags};
use super::setup::{self, Setup};
use super::step::Step;
use super::{Failure, carry, commenting, forge, left_behind, left_judging, run, work};
use crate::audit::Journal;
use crate::config::{Comment, GithubPlan, Plan};
use crate::domain::ci::{CiContext, PullRequestRef};
use crate::domain::event::{Event, EventSink};
use crate::domain::finding::{Finding, Standing};
use crate::domain::outcome::{EXIT_BROKEN, EXIT_INTERNAL, EXIT_NOT_FIXED, EXIT_SUCCESS};
use crate::domain::stop::{Stop, StopCause};
use crate::domain::units::{CommitSha, RunId, TreeId};
use crate::github::CommentSlot;
use crate::lifecycle::state::RunState;
use crate::lifecycle::{self, Ends};
use crate::report::wrap::wrap;
use crate::report::{finding, markdown};
use crate::workspace::{FETCH_ALL, RevisionError, Revisions, Workspace};

/// The name of the files that are in no commit.
const WORKING_TREE: &str = "working tree";

/// The arguments of `judge`.
#[derive(Debug, Args)]
pub(super) struct JudgeArgs {
    /// Commit that the change starts from [default: the merge base]
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Commit to judge [default: the working tree]
    #[arg(long, value_name = "REV")]
    head: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Form,
    /// Exit 1 also for a proven change with something to look at: all that is told with a `⚠`
    #[arg(long)]
    fail_on_remarks: bool,
    #[command(flatten)]
    tests: TestFlags,
}

/// The form of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For a terminal.
    Text,
    /// For a comment or a summary.
    #[value(alias = "markdown")]
    Md,
    /// For programs.
    Json,
}

/// Judges and tells.
pub(super) fn run(args: JudgeArgs, environment: &Environment) -> anyhow::Result<u8> {
    let JudgeArgs { base, head, format, fail_on_remarks, tests } = args;
    let named = Named { base, head };
    let base = setup::block_on(base_files(&named, environment)).ok();
    let resolved = plan::resolve_to_judge(tests, environment, base)?;
    let (found, signal) = setup::block_on(judge(resolved, named, format, environment))?;
    // The shell's code for an end by a signal: whatever was found by then is not complete.
    Ok(signal.and_then(|signal| u8::try_from(signal + 128).ok()).unwrap_or_else(|| exit_code(&found, fail_on_remarks)))
}

/// The files of the commit that the change starts from.
///
/// # Errors
/// There is none, which is told once the rest is known.
async fn base_files(named: &Named, environment: &Environment) -> anyhow::Result<Committed> {
    let (checkout, stop) = (current_dir()?, Stop::never());
    let revisions = Revisions::open(&checkout, environment.raw(), &stop).await?;
    let head = revisions.commit(named.head.as_deref().unwrap_or("HEAD")).await?;
    let base = base(&revisions, named, &head, None).await?;
    Ok(Committed::of(checkout, environment, base))
}

/// The finding, and the signal that ended the work.
async fn judge(
    resolved: plan::Resolved,
    named: Named,
    format: Form,
    environment: &Environment,
) -> anyhow::Result<(Finding, Option<i32>)> {
    let plan::Resolved { plan, checkout, context, .. } = resolved;
    plan.warnings.iter().for_each(|warning| super::say(&format!("⚠ {warning}")));
    let (wish, comment_key) =
        // Taken before the plan loses its wish for comments below.
        (plan.github.comment, context.as_ref().map(|context| commenting::key(&plan, &context.run)));
    // The run's own clerk has nothing to tell here.
    let plan = Plan { audit: None, github: GithubPlan { comment: Comment::Off, ..plan.github.clone() }, ..plan };
    let never = Stop::never();
    // Before anything takes time, and before questions about tests that a repository would answer.
    let revisions = Revisions::open(&checkout, environment.raw(), &never).await.map_err(unreadable)?;
    for revision in named.base.iter().chain(&named.head) {
        revisions.commit(revision).await.map_err(unreadable)?;
    }
    let folder = setup::working_directory(&checkout, &plan)?;
    let (test_command, framework) = work::test_command(&plan, &folder)?;
    let setup = Setup::new(&checkout, environment, Some(&plan), context.as_ref());
    let workspace = setup.open_workspace(&plan, &test_command, None).await?;
    // Before the snapshot, or the files that a killed judge left would be taken for the person's own.
    left_judging::put_back(&workspace, &setup).await?;
    // Where a commit is judged the files here must be clean anyway.
    if let Some(notice) = left_behind::notice(&checkout, environment).filter(|_| named.head.is_none()) {
        super::say(&format!("⚠ {}", notice.line()));
    }
    let mine = workspace.snapshot().await?;
    let ends = ends(&workspace, &revisions, &mine, named, context.as_ref()).await?;
    if ends.base.0 == ends.head.0 {
        super::say(&format!(
            "⚠ there is no change between {} and {}: only whether the tests pass is seen\n→ Fix: name the commit before the change: \
             `upshift judge --base HEAD~1`",
            ends.base.1, ends.head.1
        ));
    }
    let state = RunState::new(RunId::random(), plan, test_command, framework);
    let prepared = setup.prepare(workspace.clone(), &state, &[])?;
    // In memory: a judgement begins no run that anybody resumes.
    let mut store = setup.open_store(None)?;
    let started = run::started(&state, &folder, &setup);
    let begun = store.begin_run(&started, std::process::id(), &serde_json::to_string(&state)?);
    begun.map_err(|error| setup::audit_failure(&error))?;
    let mut journal = Journal::new(store, carry::watched(progress(environment, &workspace), environment));
    let world = setup.world(&state, &prepared);
    // Recorded before the first test changes the tree, so that a killed judge can be undone by the next one.
    workspace.begin_judging(&state.run_id, &mine)?;
    let found = lifecycle::judge_change(world, &mut journal, &state, &ends).await;
    // Whatever came of it: the person gets their files back before they are told.
    let taken = workspace.end_judging().await?;
    left_judging::keep_meanwhile(&taken, &setup);
    let signal = match prepared.stops.stop.raised() {
        Some(StopCause::Signal(signal)) => Some(signal),
        Some(StopCause::TimeUp | StopCause::Asked | StopCause::OwnTime(_)) | None => None,
    };
    let found = found.map_err(|error| {
        Failure::with_code(
            EXIT_INTERNAL,
            format!("✖ upshift could not judge: {error}\n→ Fix: remove the cause and judge again"),
        )
    })?;
    tell(&found, format, environment, &setup)?;
    if let Some(key) = comment_key.filter(|_| wish != Comment::Off)
        && let Some(warning) = comment(&found, &format!("{key}/judge"), &setup).await
    {
        super::say(&format!("⚠ {warning}"));
    }
    Ok((found, signal))
}

fn progress(environment: &Environment, workspace: &Arc<Workspace>) -> Vec<Box<dyn EventSink>> {
    // A sign of life, by which a person's later edits are told from what was written here.
    let mut sinks: Vec<Box<dyn EventSink>> = vec![Box::new(left_behind::Pulse::of(workspace))];
    if !environment.console().is_quiet() {
        sinks.push(Box::new(Progress));
    }
    sinks
}

/// Prints the finding. In a workflow it stands in the job summary, too.
fn tell(found: &Finding, format: Form, environment: &Environment, setup: &Setup<'_>) -> anyhow::Result<()> {
    let columns = environment.console().columns(Stream::Out);
    let said = match format {
        Form::Text => wrap(&finding::text(found), columns),
        Form::Md => finding::markdown(found),
        Form::Json => finding::json(found),
    };
    let said = setup.redactor.redact(&said).into_owned();
    let Some(step) = Step::of(environment) else { return super::print(&said).map(drop) };
    // The output of tests is in it, and the runner reads commands from it.
    super::print(&if format == Form::Json { said } else { step.inert(&said) })?;
    let summary = setup.redactor.redact(&finding::markdown(found)).into_owned();
    for warning in step.judged(&summary, found.standing) {
        super::say(&format!("⚠ {warning}"));
    }
    Ok(())
}

/// Keeps one comment on the pull request. The reason where it cannot be written is told, and changes nothing.
async fn comment(found: &Finding, key: &str, setup: &Setup<'_>) -> Option<String> {
    let context = setup.context?;
    let number = context.pull_request_number()?;
    let token = forge::token(setup.environment)?;
    let github = forge::client(setup.environment, &context.api_url, &context.repository, token);
    let github = github.map_err(|error| error.to_string());
    let said = async {
        let github = github?;
        let identity =
            github.identity(forge::token_kind(setup.environment)).await.map_err(|error| error.to_string())?;
        let marker = markdown::marker(key);
        let page = format!("{marker}\n{}", setup.redactor.redact(&finding::markdown(found)));
        let slot = CommentSlot { number, marker: &marker, identity: &identity };
        github.upsert_comment(slot, &page, None).await.map(drop).map_err(|error| error.to_string())
    };
    let error: String = said.await.err()?;
    Some(setup.redactor.redact(&format!("no comment was written on the pull request: {error}")).into_owned())
}

fn exit_code(found: &Finding, fail_on_remarks: bool) -> u8 {
    match found.standing {
        Standing::Proven | Standing::NothingToProve if fail_on_remarks && found.places_to_look_at() > 0 => {
            EXIT_NOT_FIXED
        }
        Standing::Proven | Standing::NothingToProve => EXIT_SUCCESS,
        Standing::NotProven => EXIT_NOT_FIXED,
        Standing::Broken => EXIT_BROKEN,
    }
}

/// The ends of the change as they were named.
struct Named {
    base: Option<String>,
    head: Option<String>,
}

/// Finds both ends and records what they hold.
async fn ends(
    workspace: &Workspace,
    revisions: &Revisions<'_>,
    mine: &TreeId,
    named: Named,
    context: Option<&CiContext>,
) -> anyhow::Result<Ends> {
    let here = revisions.commit("HEAD").await.map_err(unreadable)?;
    let (head_commit, head) = match &named.head {
        None => (here.clone(), (mine.clone(), WORKING_TREE.to_owned())),
        Some(name) => {
            // The tests run in this tree, so edits would become a part of the commit that is judged.
            if !revisions.is_clean().await.map_err(unreadable)? {
                return Err(Failure::usage(
                    "--head judges a commit, and files here differ from the commit that is checked out\n→ Fix: commit or stash them, or leave out --head to judge the files as they are",
                ));
            }
            let commit = revisions.commit(name).await.map_err(unreadable)?;
            // Only paths that differ are read from git, so that a large repository costs little.
            let paths = revisions.changed_between(&here, &commit).await.map_err(unreadable)?;
            let tree = workspace.as_in_commit(mine, revisions, &commit, &paths).await.map_err(unreadable)?;
            (commit.clone(), (tree, short(&commit)))
        }
    };
    let base_commit = base(revisions, &named, &head_commit, context).await?;
    let mut paths = revisions.changed_between(&base_commit, &head_commit).await.map_err(unreadable)?;
    // The change of a working tree is that of its commits and of all that is not committed.
    if named.head.is_none() {
        paths.extend(revisions.changed_here(&base_commit).await.map_err(unreadable)?);
    }
    // Built over the head: untracked files such as installed packages stay in both trees.
    let base_tree = workspace.as_in_commit(&head.0, revisions, &base_commit, &paths).await.map_err(unreadable)?;
    Ok(Ends { base: (base_tree, short(&base_commit)), head })
}

/// The commit that the change starts from.
async fn base(
    revisions: &Revisions<'_>,
    named: &Named,
    head: &CommitSha,
    context: Option<&CiContext>,
) -> anyhow::Result<CommitSha> {
    if let Some(name) = &named.base {
        return revisions.commit(name).await.map_err(unreadable);
    }
    // The event's own base is the one that reviewers see. The main branch here may be older or newer.
    let of_event = context.and_then(|context| match &context.pull_request {
        PullRequestRef::Known(pull) => Some(pull.base_sha.0.clone()),
        PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head => None,
    });
    let branch = match of_event {
        Some(commit) => commit,
        None => revisions.main_branch().await.map_err(unreadable)?.map(str::to_owned).ok_or_else(|| {
            Failure::usage(
                "no base branch is known for the change\n→ Fix: name the commit that it starts from with --base",
            )
        })?,
    };
    let commit = revisions.commit(&branch).await.map_err(unreadable)?;
    // Not the tip of the branch: what others merged meanwhile is no part of this change.
    let found = revisions.merge_base(&commit, head).await.map_err(unreadable)?;
    found.ok_or_else(|| Failure::usage(format!("{branch} and the change have no commit in common here{FETCH_ALL}")))
}

fn short(commit: &CommitSha) -> String {
    commit.0.get(..12).unwrap_or(&commit.0).to_owned()
}

fn unreadable(error: RevisionError) -> anyhow::Error {
    Failure::usage(error.to_string())
}

/// Tells on standard error how far it is.
#[derive(Debug)]
struct Progress;

impl EventSink for Progress {
    fn emit(&mut self, event: &Event) {
        if let Event::BaselineFinished(done) = event {
            let (fail, pass) = (done.failing.len(), done.passed);
            super::say(&format!("◆ the head's tests on the base: {fail} fail, {pass} pass"));
        } else if let Event::TestsFinished { passed, failed, .. } = event {
            super::say(&format!("◆ the head's tests at the head: {failed} fail, {passed} pass"));
        } else if let Event::EvidenceGathered { runs, .. } = event {
            super::say(&format!("◆ asked for proof in {runs} runs"));
        } else if let Event::Warning { message } = event {
            super::say(&format!("⚠ {message}"));
        }
    }
}
