//! CI facts of a commit, as the API tells them: check runs, commit statuses, workflow runs, jobs, annotations.
//!
//! Owns the reading only, while [`super::checks`] decides its meaning. Actions makes check runs, external CI may make statuses: both are
//! read (GITHUB 28).

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::pages::PER_PAGE;
use super::path::escaped;
use crate::domain::units::CommitSha;

/// Where a run of anything stands (GITHUB 31).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "Option<String>")]
pub enum Progress {
    /// Asked for, queued, or held back by a concurrency group.
    Queued,
    /// Held back until somebody approves a deployment to an environment.
    Waiting,
    /// Held back until somebody approves the run.
    ActionRequired,
    /// At work.
    Running,
    /// Over.
    Completed,
}

impl From<Option<String>> for Progress {
    fn from(word: Option<String>) -> Self {
        match word.as_deref() {
            // Gitea and Forgejo put the conclusion where GitHub has the status.
            Some("completed" | "success" | "failure" | "cancelled" | "skipped") => Self::Completed,
            Some("in_progress" | "running") => Self::Running,
            Some("waiting" | "blocked") => Self::Waiting,
            Some("action_required") => Self::ActionRequired,
            // A word that we do not know says at least that it is not over.
            _ => Self::Queued,
        }
    }
}

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub enum Conclusion {
    /// Well.
    Success,
    /// Neither way. It does not block.
    Neutral,
    /// Not needed. It counts as success (GITHUB 29).
    Skipped,
    /// Badly.
    Failure,
    /// Took too long.
    TimedOut,
    /// Could not even start.
    StartupFailure,
    /// Somebody, or a newer run, put an end to it.
    Cancelled,
    /// Left behind by GitHub.
    Stale,
    /// Somebody has to approve it (GITHUB 3).
    ActionRequired,
    /// A word that we do not know.
    Unknown,
}

impl From<String> for Conclusion {
    fn from(word: String) -> Self {
        match word.as_str() {
            "success" => Self::Success,
            "neutral" => Self::Neutral,
            "skipped" => Self::Skipped,
            "failure" | "error" => Self::Failure,
            "timed_out" => Self::TimedOut,
            "startup_failure" => Self::StartupFailure,
            "cancelled" => Self::Cancelled,
            "stale" => Self::Stale,
            "action_required" => Self::ActionRequired,
            // Counted as failed later, since green must not rest on a word that nobody here knows.
            _ => Self::Unknown,
        }
    }
}

/// A check run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawCheck")]
pub struct CheckRun {
    /// Its id.
    pub id: u64,
    /// Its name. Foreign text.
    pub name: String,
    /// The app that made it, such as `github-actions`.
    pub app: String,
    /// Where it stands.
    pub progress: Progress,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// Where it leads: for Actions the job's page.
    pub details_url: String,
    /// When it started (RFC 3339, UTC). Empty if it has not.
    pub started_at: String,
    /// How many annotations it has.
    pub annotations: u64,
    /// The title of its output. Foreign text.
    pub title: String,
}

#[derive(Deserialize)]
struct RawCheck {
    id: u64,
    name: String,
    app: Option<RawApp>,
    status: Progress,
    conclusion: Option<Conclusion>,
    #[serde(default, deserialize_with = "super::text_or_null")]
    details_url: String,
    #[serde(default, deserialize_with = "super::text_or_null")]
    html_url: String,
    #[serde(default, deserialize_with = "super::text_or_null")]
    started_at: String,
    #[serde(default)]
    output: RawOutput,
}

#[derive(Deserialize)]
struct RawApp {
    #[serde(default, deserialize_with = "super::text_or_null")]
    slug: String,
}

#[derive(Deserialize, Default)]
struct RawOutput {
    #[serde(default, deserialize_with = "super::text_or_null")]
    title: String,
    #[serde(default)]
    annotations_count: u64,
}

impl From<RawCheck> for CheckRun {
    fn from(raw: RawCheck) -> Self {
        Self {
            id: raw.id,
            name: raw.name,
            app: raw.app.map(|app| app.slug).unwrap_or_default(),
            progress: raw.status,
            conclusion: raw.conclusion,
            // Either may be missing, and the ids of run and job are read out of it.
            details_url: if raw.details_url.is_empty() { raw.html_url } else { raw.details_url },
            started_at: raw.started_at,
            annotations: raw.output.annotations_count,
            title: raw.output.title,
        }
    }
}

/// The state of a commit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatusState {
    /// Good.
    Success,
    /// Not yet.
    Pending,
    /// Bad.
    Failure,
    /// It could not be told.
    Error,
    /// Gitea's: good with remarks.
    Warning,
}

/// The newest commit status of one context.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CommitStatus {
    /// Its name. Foreign text.
    pub context: String,
    /// Its state. Gitea names it `status`.
    #[serde(alias = "status")]
    pub state: StatusState,
    /// In a sentence. Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub description: String,
    /// Where it leads.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub target_url: String,
}

/// The report of a check run, which its app wrote. All of it is foreign text, in Markdown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct CheckOutput {
    /// In a line.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub title: String,
    /// In short.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub summary: String,
    /// At length.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub text: String,
}

/// A run of a workflow. Of several attempts the newest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkflowRun {
    /// Its id.
    pub id: u64,
    /// Which workflow.
    #[serde(default)]
    pub workflow_id: u64,
    /// The workflow's name. Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub name: String,
    /// The workflow's file.
    #[serde(default)]
    pub path: String,
    /// The event that triggered it.
    pub event: String,
    /// Where it stands.
    #[serde(rename = "status")]
    pub progress: Progress,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// The commit.
    pub head_sha: CommitSha,
    /// Which attempt.
    #[serde(default)]
    pub run_attempt: u64,
    /// When it was made (RFC 3339, UTC).
    #[serde(default)]
    pub created_at: String,
    /// Its page.
    #[serde(default)]
    pub html_url: String,
}

/// A job of a workflow run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: u64,
    /// Its run.
    pub run_id: u64,
    /// Its name. Foreign text.
    pub name: String,
    /// Where it stands.
    #[serde(rename = "status")]
    pub progress: Progress,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// Its page.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub html_url: String,
    /// Its steps.
    #[serde(default)]
    pub steps: Vec<Step>,
}

/// A step of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Step {
    /// Its name. Foreign text.
    pub name: String,
    /// Its place, from 1.
    pub number: u64,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
}

/// A remark that a check run pinned to a line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Annotation {
    /// The file. Foreign text.
    #[serde(default)]
    pub path: String,
    /// The first line.
    #[serde(default)]
    pub start_line: u64,
    /// `notice`, `warning` or `failure`.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub annotation_level: String,
    /// Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub title: String,
    /// Foreign text.
    #[serde(default, deserialize_with = "super::text_or_null")]
    pub message: String,
}

/// All that is known about a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CiFacts {
    /// Check runs, the newest of each suite.
    pub checks: Vec<CheckRun>,
    /// The newest status of each context.
    pub statuses: Vec<CommitStatus>,
    /// Workflow runs.
    pub runs: Vec<WorkflowRun>,
}

/// Nothing, where the forge has no such thing: that the commit is there and may be read is known by then.
fn known<T>(found: Result<Vec<T>, GithubError>) -> Result<Vec<T>, GithubError> {
    found.or_else(|error| if error.is_missing_endpoint() { Ok(Vec::new()) } else { Err(error) })
}

impl GitHub {
    /// All CI facts of a commit. Asking again is free while nothing changes.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn ci_facts(&self, sha: &CommitSha) -> Result<CiFacts, GithubError> {
        // Gitea and Forgejo show their Actions as statuses, and know no check runs.
        let statuses = self.statuses(sha).await?;
        Ok(CiFacts {
            runs: known(self.workflow_runs(sha).await)?,
            checks: known(self.check_runs(sha).await)?,
            statuses,
        })
    }

    /// The check runs of a commit.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn check_runs(&self, sha: &CommitSha) -> Result<Vec<CheckRun>, GithubError> {
        #[derive(Deserialize)]
        struct Wrapped {
            check_runs: Vec<CheckRun>,
        }
        let path = self.at(format!("/commits/{}/check-runs?filter=latest&per_page={PER_PAGE}", escaped(&sha.0)));
        let call = Call::get(path, format!("read the checks of {sha}"), Permission::read("checks"));
        self.list(call, |page: Wrapped| page.check_runs).await
    }

    /// The newest commit status of each context.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn statuses(&self, sha: &CommitSha) -> Result<Vec<CommitStatus>, GithubError> {
        #[derive(Deserialize)]
        struct Wrapped {
            #[serde(default, deserialize_with = "super::list_or_null")]
            statuses: Vec<CommitStatus>,
        }
        let path = self.at(format!("/commits/{}/status?per_page={PER_PAGE}", escaped(&sha.0)));
        let call = Call::get(path, format!("read the statuses of {sha}"), Permission::read("statuses"));
        self.list(call, |page: Wrapped| page.statuses).await
    }

    /// The workflow runs of a commit.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn workflow_runs(&self, sha: &CommitSha) -> Result<Vec<WorkflowRun>, GithubError> {
        #[derive(Deserialize)]
        struct Wrapped {
            workflow_runs: Vec<WorkflowRun>,
        }
        let path = self.at(format!("/actions/runs?head_sha={}&per_page={PER_PAGE}", escaped(&sha.0)));
        let call = Call::get(path, format!("read the workflow runs of {sha}"), Permission::read("actions"));
        self.list(call, |page: Wrapped| page.workflow_runs).await
    }

    /// One workflow run.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn workflow_run(&self, id: u64) -> Result<WorkflowRun, GithubError> {
        let path = self.at(format!("/actions/runs/{id}"));
        let call = Call::get(path, format!("read workflow run {id}"), Permission::read("actions"));
        Ok((*self.read::<WorkflowRun>(call).await?).clone())
    }

    /// Has a workflow run begin again, with the event that it had.
    ///
    /// # Errors
    /// Any [`GithubError`]. A run that is under way or older than a month is refused.
    pub async fn run_again(&self, id: u64) -> Result<(), GithubError> {
        let path = self.at(format!("/actions/runs/{id}/rerun"));
        let doing = format!("run workflow run {id} again");
        let call = Call::write(Method::POST, path, &json!({}), doing, Permission::write("actions"));
        self.send(&call).await.map(|_answer| ())
    }

    /// Has the jobs of a workflow run that failed, and what hangs on them, run once more.
    ///
    /// # Errors
    /// Any [`GithubError`]. A run that is under way, or older than a month, is refused.
    pub async fn run_failed_again(&self, id: u64) -> Result<(), GithubError> {
        let path = self.at(format!("/actions/runs/{id}/rerun-failed-jobs"));
        let doing = format!("run the failed jobs of workflow run {id} again");
        // Where it runs already, once more is refused.
        // After a lost answer the first one may have begun it, and the second is refused without harm.
        let call = Call::write(Method::POST, path, &json!({}), doing, Permission::write("actions")).repeatable();
        self.send(&call).await.map(|_answer| ())
    }

    /// Cancels a workflow run.
    ///
    /// # Errors
    /// Any [`GithubError`]. A run that is over is refused.
    pub async fn cancel_run(&self, id: u64) -> Result<(), GithubError> {
        let path = self.at(format!("/actions/runs/{id}/cancel"));
        let doing = format!("cancel workflow run {id}");
        // To cancel twice is to cancel once.
        let call = Call::order(path, doing, Permission::write("actions")).repeatable();
        self.send(&call).await.map(|_answer| ())
    }

    /// The jobs of a workflow run's newest attempt.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn jobs(&self, run: u64) -> Result<Vec<Job>, GithubError> {
        #[derive(Deserialize)]
        struct Wrapped {
            jobs: Vec<Job>,
        }
        let path = self.at(format!("/actions/runs/{run}/jobs?filter=latest&per_page={PER_PAGE}"));
        let call = Call::get(path, format!("read the jobs of run {run}"), Permission::read("actions"));
        self.list(call, |page: Wrapped| page.jobs).await
    }

    /// The report of a check run.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn check_output(&self, check_run: u64) -> Result<CheckOutput, GithubError> {
        #[derive(Clone, Deserialize)]
        struct Wrapped {
            #[serde(default)]
            output: CheckOutput,
        }
        let path = self.at(format!("/check-runs/{check_run}"));
        let call = Call::get(path, "read the report of a check", Permission::read("checks"));
        Ok(self.read::<Wrapped>(call).await?.output.clone())
    }

    /// Remarks that a check run pinned to lines: the first page of them, since an app may write any number.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn annotations(&self, check_run: u64) -> Result<Vec<Annotation>, GithubError> {
        let path = self.at(format!("/check-runs/{check_run}/annotations?per_page={PER_PAGE}"));
        let call = Call::get(path, "read the annotations of a check", Permission::read("checks"));
        Ok((*self.read::<Vec<Annotation>>(call).await?).clone())
    }
}
