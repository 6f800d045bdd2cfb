//! Where a run was triggered: the job, the repository, the pull request, who did what.
//!
//! Owns the one description of the outside that the gate, the push and the reports read ([`CiContext`]). It is parsed once, in `cli`, from
//! the environment and the event's payload. Invariant: a fact that the payload does not tell is a variant or `None`, never a guess. The
//! head commit is the one of the moment of the trigger.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::units::CommitSha;

/// The trigger of this process and everything that the trigger tells. There is none on somebody's own machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CiContext {
    /// The forge of this runner.
    pub forge: Forge,
    /// The kind of the event.
    pub event: EventKind,
    /// The event's own word for what happened (`opened`, `synchronize`, `created`, …).
    pub action: Option<String>,
    /// The repository whose workflow runs.
    pub repository: RepoName,
    /// Its default branch, where the payload tells.
    pub default_branch: Option<String>,
    /// The account that did what the event tells of. `schedule` has none.
    pub actor: Option<Account>,
    /// The account that started this attempt of the workflow run: on a re-run another one than the actor.
    pub triggering_actor: Option<Account>,
    /// The workflow run that this one follows (`workflow_run`).
    pub upstream: Option<UpstreamRun>,
    /// The pull request that the event belongs to, as far as the payload tells.
    pub pull_request: PullRequestRef,
    /// The commit that the event is about, pinned: a pull request's head, not its merge commit. `None` when only the API can
    /// tell ([`PullRequestRef::Number`] without an upstream run).
    pub head_sha: Option<CommitSha>,
    /// The branch of that commit, where the payload tells.
    pub head_branch: Option<String>,
    /// The message of that commit, where the payload tells. It is foreign text.
    pub head_message: Option<String>,
    /// The comment or review that the event is about.
    pub comment: Option<Comment>,
    /// The workflow run that this process is part of.
    pub run: JobRun,
    /// The address that people use, without a trailing slash: `https://github.com`.
    pub server_url: String,
    /// The address of the REST API, without a trailing slash: `https://api.github.com`.
    pub api_url: String,
}

impl CiContext {
    /// The number of the pull request, if the event names one.
    #[must_use]
    pub fn pull_request_number(&self) -> Option<u64> {
        match &self.pull_request {
            PullRequestRef::Known(pull) => Some(pull.number),
            PullRequestRef::Number(number) => Some(*number),
            PullRequestRef::None | PullRequestRef::Head => None,
        }
    }

    /// Whether the head of a pull request may decide what files of the checkout say, so that configuration must not be read from it (DESIGN
    /// §2.2). A process that follows a workflow run or a comment works on such a head too.
    #[must_use]
    pub fn is_about_a_pull_request(&self) -> bool {
        self.pull_request != PullRequestRef::None
    }

    /// The address of this workflow run's page.
    #[must_use]
    pub fn run_url(&self) -> String {
        format!("{}/{}/actions/runs/{}", self.server_url, self.repository, self.run.id)
    }
}

/// The software on the other side. It decides where its API differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forge {
    /// github.com or GitHub Enterprise Cloud.
    Github,
    /// GitHub Enterprise Server: no artifacts of version 4 and above (GITHUB 24).
    GithubServer,
    /// Gitea.
    Gitea,
    /// Forgejo.
    Forgejo,
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident $word:literal,)+) => {
        /// The event that triggered the workflow.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum EventKind {
            $($(#[$doc])* $variant,)+
            /// One that upshift does not know.
            Other(String),
        }

        impl EventKind {
            /// Reads `GITHUB_EVENT_NAME`.
            #[must_use]
            pub fn from_name(name: &str) -> Self {
                match name { $($word => Self::$variant,)+ other => Self::Other(other.to_owned()) }
            }

            /// The event's name as workflows write it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => $word,)+ Self::Other(name) => name }
            }
        }
    };
}

events! {
    /// Somebody opened or pushed to a pull request.
    PullRequest "pull_request",
    /// The same with the base's secrets. It is refused.
    PullRequestTarget "pull_request_target",
    /// A review was submitted.
    PullRequestReview "pull_request_review",
    /// A line of the diff was commented.
    PullRequestReviewComment "pull_request_review_comment",
    /// Another workflow's run.
    WorkflowRun "workflow_run",
    /// All checks of an app other than Actions are over.
    CheckSuite "check_suite",
    /// A commit got a status.
    Status "status",
    /// An issue or pull request was commented.
    IssueComment "issue_comment",
    /// A branch moved.
    Push "push",
    /// The clock.
    Schedule "schedule",
    /// A person's click or a program's call.
    WorkflowDispatch "workflow_dispatch",
    /// A program's call with a payload of its own.
    RepositoryDispatch "repository_dispatch",
}

impl EventKind {
    /// Whether it tells only that some check of a commit moved: it may wake a run that waits, and begins none.
    #[must_use]
    pub const fn only_wakes(&self) -> bool {
        matches!(self, Self::CheckSuite | Self::Status)
    }
}

/// A repository's full name. Only letters, digits, `.`, `_` and `-` in either part.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RepoName {
    /// The owner's name.
    pub owner: String,
    /// Its own name.
    pub name: String,
}

impl RepoName {
    /// The most characters of either part.
    const MAX_PART: usize = 100;

    /// Reads `owner/name`. `None` for anything else, such as a path or a URL.
    #[must_use]
    pub fn parse(full: &str) -> Option<Self> {
        let (owner, name) = full.split_once('/')?;
        let good = |part: &str| {
            // It becomes part of addresses and paths, so that neither `..` nor a blank may stand in it.
            !part.is_empty()
                && part.len() <= Self::MAX_PART
                && part != "."
                && part != ".."
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        };
        (good(owner) && good(name)).then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// Whether both are the same repository. Letters' case does not count on any forge.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        // GitHub knows no case in either.
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl fmt::Display for RepoName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

/// Somebody with an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// The login, for an app with its `[bot]`.
    pub login: String,
    /// The kind of account.
    pub kind: AccountKind,
}

impl Account {
    /// Whether this is an app or a job's own token.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        // The login too, as some payloads leave the kind out.
        self.kind == AccountKind::Bot || self.login.ends_with("[bot]")
    }
}

/// Sorts of accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    /// A person, or a machine user: an account that somebody signs in to.
    User,
    /// An app or the job's own token.
    Bot,
    /// The payload does not tell.
    Unknown,
}

/// The trigger's knowledge of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "known", content = "pull_request", rename_all = "snake_case")]
pub enum PullRequestRef {
    /// There is none.
    None,
    /// Everything is in the payload.
    Known(Box<PullRequest>),
    /// The number only: head, base and labels have to be read from the API, and the head pinned then (GITHUB 35).
    Number(u64),
    /// Not even that: the open pull request of the upstream run's head has to be looked for (`workflow_run.pull_requests` is
    /// empty for forks, and always on some forges).
    Head,
}

/// A pull request as the payload shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: u64,
    /// Its head at the moment of the trigger.
    pub head_sha: CommitSha,
    /// The branch it comes from.
    pub head_branch: String,
    /// The repository it comes from. `None` when that is gone.
    pub head_repository: Option<RepoName>,
    /// The commit it is compared with.
    pub base_sha: CommitSha,
    /// The branch it goes to.
    pub base_branch: String,
    /// The account that opened it.
    pub author: Option<Account>,
    /// Its labels.
    pub labels: Vec<String>,
    /// Whether it is a draft.
    pub draft: bool,
}

/// The workflow run that a `workflow_run` event tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamRun {
    /// Its id.
    pub id: u64,
    /// The number of its attempt.
    pub attempt: u64,
    /// The workflow's name, which is foreign text.
    pub name: String,
    /// The event that triggered it.
    pub event: String,
    /// How it ended, where it did.
    pub conclusion: Option<String>,
    /// The account that triggered it.
    pub actor: Option<Account>,
    /// The account that started this attempt of it.
    pub triggering_actor: Option<Account>,
    /// The commit it ran for.
    pub head_sha: CommitSha,
    /// Its branch. `None` for a tag or a deleted branch.
    pub head_branch: Option<String>,
    /// The repository of that commit. `None` when that is gone.
    pub head_repository: Option<RepoName>,
}

/// The failure of a workflow run that started this job, as it was looked up before the run began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedCi {
    /// The workflow's name, which is foreign text.
    pub workflow: String,
    /// The workflow run, and which attempt of it.
    #[serde(default)]
    pub run: (u64, u64),
    /// The commit that it ran for.
    #[serde(default)]
    pub commit: CommitSha,
    /// The jobs that failed. Empty where they could not be read.
    pub failed: Vec<FailedJob>,
}

/// A job that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedJob {
    /// Its name, which is foreign text.
    pub name: String,
    /// Its id, which is that of its check run.
    #[serde(default)]
    pub job: u64,
    /// The shell command of the step that failed, for the root of the checkout. It comes from the base's workflow.
    pub command: Option<String>,
    /// Why there is none, in words that end a sentence.
    pub why_not: Option<String>,
}

impl RedCi {
    /// The commands that failed, each once, behind the name of its job. They are for the root of the checkout.
    #[must_use]
    pub fn checks(&self) -> Vec<(&str, &str)> {
        let mut checks: Vec<(&str, &str)> = Vec::new();
        for job in &self.failed {
            let Some(command) = job.command.as_deref() else { continue };
            // The jobs of a matrix run the same command, and here it runs once.
            if checks.iter().all(|(_, known)| *known != command) {
                checks.push((&job.name, command));
            }
        }
        checks
    }

    /// The failed jobs of which nothing is run here.
    #[must_use]
    pub fn not_run(&self) -> Vec<&FailedJob> {
        self.failed.iter().filter(|job| job.command.is_none()).collect()
    }

    /// The failed jobs that do not run these tests, beside which they failed here too. Of jobs whose command is not known those of one name
    /// may be these very tests, where no other job is known to run them: the legs of a matrix are one.
    #[must_use]
    pub fn beside(&self, tests: &str) -> Vec<&FailedJob> {
        let runs_them = |job: &FailedJob| job.command.as_deref().map(|command| is_run_by(tests, command));
        // Where one job is known to run the tests, one that cannot be read is another thing.
        let are_known = self.failed.iter().any(|job| runs_them(job) == Some(true));
        let unread: BTreeSet<&str> =
            self.failed.iter().filter(|job| job.command.is_none()).map(|job| job.of_matrix()).collect();
        let is_beside = |job: &&FailedJob| match runs_them(job) {
            Some(runs_them) => !runs_them,
            // A single one that cannot be read may be that of the tests.
            None => are_known || unread.len() > 1,
        };
        self.failed.iter().filter(is_beside).collect()
    }

    /// The commands that failed, each once.
    #[must_use]
    pub fn commands(&self) -> Vec<&str> {
        self.checks().into_iter().map(|(_, command)| command).collect()
    }
}

impl FailedJob {
    /// Its name without the leg of a matrix: `test (3.12)` is `test`.
    fn of_matrix(&self) -> &str {
        // `test (3.12, ubuntu-latest)` is of the matrix `test`.
        self.name.split_once(" (").map_or(self.name.as_str(), |(name, _)| name)
    }
}

/// Whether a step's command runs this one, and with no more arguments.
fn is_run_by(tests: &str, command: &str) -> bool {
    // `npm test` is not run by `npm test-all`.
    let ends = |rest: &str| rest.trim_start_matches(' ').chars().next().is_none_or(|next| "'\n);&|".contains(next));
    command.match_indices(tests).any(|(at, found)| command.get(at + found.len()..).is_some_and(ends))
}

/// A comment or a review that triggered the workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Its id.
    pub id: u64,
    /// Where it stands.
    pub kind: CommentKind,
    /// The comment's text, which is foreign and at most as long as GitHub allows.
    pub body: String,
    /// The account that wrote it.
    pub author: Option<Account>,
    /// Whether the event tells of a text that was edited: its author may not be who edited it.
    pub edited: bool,
}

/// The place where a comment stands. Each has an API of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentKind {
    /// In the conversation of a pull request or an issue.
    Conversation,
    /// At a line of the diff.
    Line,
    /// The text of a review.
    Review,
}

/// The workflow run that this process is part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRun {
    /// `GITHUB_RUN_ID`.
    pub id: u64,
    /// `GITHUB_RUN_ATTEMPT`, from 1.
    pub attempt: u64,
    /// The workflow's name.
    pub workflow: String,
    /// The workflow's file in the repository, such as `.github/workflows/upshift.yml`, where the runner tells.
    pub workflow_path: Option<String>,
    /// The id of the job within the workflow.
    pub job: String,
}

#[cfg(test)]
mod tests {
    use super::{FailedJob, RedCi};

    fn beside(jobs: &[(&str, Option<&str>)]) -> Vec<String> {
        let failed = jobs.iter().map(|(name, command)| FailedJob {
            name: (*name).to_owned(),
            command: command.map(str::to_owned),
            ..FailedJob::default()
        });
        let red = RedCi { failed: failed.collect(), ..RedCi::default() };
        red.beside("python3 -m unittest").into_iter().map(|job| job.name.clone()).collect()
    }

    #[test]
    fn jobs_that_fail_beside_the_tests_are_those_that_do_not_run_them() {
        let tests = Some("(bash -ec 'python3 -m unittest')");
        assert_eq!(beside(&[("test", tests), ("lint", Some("(bash -ec 'sh lint.sh')"))]), ["lint"]);
        let more = Some("(bash -ec 'python3 -m unittest discover -s integration')");
        assert_eq!(beside(&[("test", tests), ("integration", more)]), ["integration"]);
        assert_eq!(beside(&[("test", tests), ("deploy", None)]), ["deploy"]);
        // One whose command nobody can tell may be these tests, in each leg of its matrix; of two one is another.
        assert_eq!(beside(&[("test (3.12)", None), ("test (3.13)", None)]), Vec::<String>::new());
        assert_eq!(beside(&[("test (3.12)", None), ("e2e", None)]), ["test (3.12)", "e2e"]);
        assert_eq!(beside(&[("test", Some("(cd sub && bash -ec 'make\npython3 -m unittest')"))]), Vec::<String>::new());
    }
}
