//! The event's payload: which value stands where for which event.
//!
//! Invariant: nothing of it is believed beyond its shape. Logins, branches, commits and repositories are checked here and texts are cut.
//! All of it stays foreign text for any code that shows it.

use serde_json::Value;

use super::error::ContextError;
use crate::cli::environment::Environment;
use crate::domain::ci::{
    Account, AccountKind, Comment, CommentKind, EventKind, PullRequest, PullRequestRef, RepoName, UpstreamRun,
};
use crate::domain::units::CommitSha;

/// The most characters of a comment (GITHUB 27). GitHub allows no more.
const MAX_BODY_CHARS: usize = 65_536;
/// The most characters of a name, a branch or a label.
const MAX_NAME_CHARS: usize = 255;
/// The most labels that are looked at. GitHub allows 100.
const MAX_LABELS: usize = 100;

/// A payload with dotted paths.
#[derive(Debug, Clone)]
pub(super) struct Payload<'a> {
    value: &'a Value,
    /// Where it stands in the whole payload, for messages.
    at: String,
}

impl<'a> Payload<'a> {
    /// The whole payload.
    pub(super) fn new(value: &'a Value) -> Self {
        Self { value, at: String::new() }
    }

    fn get(&self, path: &str) -> Option<&'a Value> {
        // GitHub sends `null` for what is gone, such as the repository of a deleted fork.
        path.split('.').try_fold(self.value, |value, key| value.get(key)).filter(|value| !value.is_null())
    }

    fn child(&self, path: &str) -> Option<Self> {
        Some(Self { value: self.get(path)?, at: self.path(path) })
    }

    fn path(&self, path: &str) -> String {
        if self.at.is_empty() { path.to_owned() } else { format!("{}.{path}", self.at) }
    }

    fn missing(&self, path: &str, what: &'static str) -> ContextError {
        ContextError::Field { path: self.path(path), what }
    }

    /// A text, if there is one.
    pub(super) fn text(&self, path: &str) -> Option<&'a str> {
        self.get(path)?.as_str()
    }

    fn number(&self, path: &str) -> Result<u64, ContextError> {
        self.get(path).and_then(Value::as_u64).ok_or_else(|| self.missing(path, "a number"))
    }

    fn sha(&self, path: &str) -> Result<CommitSha, ContextError> {
        self.text(path).and_then(sha).ok_or_else(|| self.missing(path, "a commit"))
    }

    fn branch(&self, path: &str) -> Result<String, ContextError> {
        self.text(path).and_then(branch).ok_or_else(|| self.missing(path, "a branch"))
    }

    /// A repository. One that is gone is `null`. An invalid name is an error.
    fn repository(&self, path: &str) -> Result<Option<RepoName>, ContextError> {
        let Some(repository) = self.child(path) else { return Ok(None) };
        let name = repository.text("full_name").and_then(RepoName::parse);
        name.map(Some).ok_or_else(|| repository.missing("full_name", "a repository's name"))
    }

    /// Somebody with an account. `None` for one that is gone (a ghost) or has no login.
    pub(super) fn account(&self, path: &str) -> Option<Account> {
        let user = self.child(path)?;
        let kind = match user.text("type") {
            Some("User") => AccountKind::User,
            Some("Bot") => AccountKind::Bot,
            // A kind that is new to us gets the rights of none that we know.
            Some(_) | None => AccountKind::Unknown,
        };
        account(user.text("login")?, kind)
    }
}

/// Facts of an event beside its actor and its repository.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) pull_request: PullRequestRef,
    pub(super) upstream: Option<UpstreamRun>,
    pub(super) head_sha: Option<CommitSha>,
    pub(super) head_branch: Option<String>,
    pub(super) head_message: Option<String>,
    pub(super) comment: Option<Comment>,
}

/// Reads what this kind of event tells.
pub(super) fn said(event: &EventKind, payload: &Payload<'_>, environment: &Environment) -> Result<Said, ContextError> {
    match event {
        EventKind::PullRequest | EventKind::PullRequestTarget => of_pull_request(payload, None),
        // The text of a review is a comment that may hold a command, just as a line comment may.
        EventKind::PullRequestReview => of_pull_request(payload, comment(payload, "review", CommentKind::Review)?),
        EventKind::PullRequestReviewComment => {
            of_pull_request(payload, comment(payload, "comment", CommentKind::Line)?)
        }
        EventKind::IssueComment => of_issue_comment(payload, environment),
        EventKind::WorkflowRun => of_workflow_run(payload),
        EventKind::CheckSuite => of_check_suite(payload),
        EventKind::Status => of_status(payload),
        EventKind::Push => Ok(of_push(payload, environment)),
        EventKind::Schedule | EventKind::WorkflowDispatch | EventKind::RepositoryDispatch | EventKind::Other(_) => {
            Ok(of_checkout(environment))
        }
    }
}

fn of_pull_request(payload: &Payload<'_>, comment: Option<Comment>) -> Result<Said, ContextError> {
    let pull = payload.child("pull_request").ok_or_else(|| payload.missing("pull_request", "a pull request"))?;
    let pull = pull_request(&pull)?;
    Ok(Said {
        upstream: None,
        head_sha: Some(pull.head_sha.clone()),
        head_branch: Some(pull.head_branch.clone()),
        head_message: None,
        pull_request: PullRequestRef::Known(Box::new(pull)),
        comment,
    })
}

fn pull_request(pull: &Payload<'_>) -> Result<PullRequest, ContextError> {
    let labels = pull.get("labels").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let label = |label: &Value| Some(cut(label.get("name")?.as_str()?, MAX_NAME_CHARS));
    Ok(PullRequest {
        number: pull.number("number")?,
        head_sha: pull.sha("head.sha")?,
        head_branch: pull.branch("head.ref")?,
        head_repository: pull.repository("head.repo")?,
        base_sha: pull.sha("base.sha")?,
        base_branch: pull.branch("base.ref")?,
        author: pull.account("user"),
        labels: labels.iter().take(MAX_LABELS).filter_map(label).collect(),
        draft: pull.get("draft").and_then(Value::as_bool).unwrap_or(false),
    })
}

/// A comment on a pull request has its number and nothing of its head (GITHUB 35).
fn of_issue_comment(payload: &Payload<'_>, environment: &Environment) -> Result<Said, ContextError> {
    let comment = comment(payload, "comment", CommentKind::Conversation)?;
    // GitHub sends the same event for issues. One without this key is about no pull request.
    if payload.get("issue.pull_request").is_none() {
        return Ok(Said { comment, ..of_checkout(environment) });
    }
    let pull_request = PullRequestRef::Number(payload.number("issue.number")?);
    Ok(Said { pull_request, upstream: None, head_sha: None, head_branch: None, head_message: None, comment })
}

fn of_workflow_run(payload: &Payload<'_>) -> Result<Said, ContextError> {
    let run = payload.child("workflow_run").ok_or_else(|| payload.missing("workflow_run", "a workflow run"))?;
    let upstream = UpstreamRun {
        id: run.number("id")?,
        attempt: run.number("run_attempt").unwrap_or(1),
        name: cut(run.text("name").unwrap_or_default(), MAX_NAME_CHARS),
        event: run.text("event").unwrap_or_default().to_owned(),
        conclusion: run.text("conclusion").map(str::to_owned),
        actor: run.account("actor"),
        triggering_actor: run.account("triggering_actor"),
        head_sha: run.sha("head_sha")?,
        head_branch: run.text("head_branch").and_then(branch),
        head_repository: run.repository("head_repository")?,
    };
    let pull_request = match listed(&run) {
        // A pull request from a fork is not listed in its run, so it is found by its head.
        None if upstream.event.starts_with("pull_request") => PullRequestRef::Head,
        // A push without a pull request, on a branch that a nightly run may mend.
        None => PullRequestRef::None,
        Some(listed) => listed,
    };
    Ok(Said {
        pull_request,
        head_sha: Some(upstream.head_sha.clone()),
        head_branch: upstream.head_branch.clone(),
        head_message: run.text("head_commit.message").map(|text| cut(text, MAX_BODY_CHARS)),
        comment: None,
        upstream: Some(upstream),
    })
}

/// The pull request that a run or a suite of checks names. One commit may be the head of several; all but the first are somebody else's
/// business.
fn listed(payload: &Payload<'_>) -> Option<PullRequestRef> {
    let first = payload.get("pull_requests").and_then(Value::as_array)?.first()?;
    // A list with an odd number still says that there is one. The head tells which.
    Some(first.get("number").and_then(Value::as_u64).map_or(PullRequestRef::Head, PullRequestRef::Number))
}

fn of_check_suite(payload: &Payload<'_>) -> Result<Said, ContextError> {
    let suite = payload.child("check_suite").ok_or_else(|| payload.missing("check_suite", "a suite of checks"))?;
    Ok(Said {
        // Suites of a fork's pull request list none either.
        pull_request: listed(&suite).unwrap_or(PullRequestRef::Head),
        upstream: None,
        head_sha: Some(suite.sha("head_sha")?),
        head_branch: suite.text("head_branch").and_then(branch),
        head_message: suite.text("head_commit.message").map(|text| cut(text, MAX_BODY_CHARS)),
        comment: None,
    })
}

/// A status names branches that hold its commit, ten at most: the one that has it as its head is meant.
fn of_status(payload: &Payload<'_>) -> Result<Said, ContextError> {
    let head = payload.sha("sha")?;
    let branches = payload.get("branches").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Branches that merely contain the commit have a newer head, which this status is not about.
    let mut at_head = branches.iter().map(Payload::new).filter(|one| one.text("commit.sha") == Some(head.0.as_str()));
    Ok(Said {
        pull_request: PullRequestRef::Head,
        upstream: None,
        head_branch: at_head.find_map(|one| one.text("name").and_then(branch)),
        head_message: payload.text("commit.commit.message").map(|text| cut(text, MAX_BODY_CHARS)),
        head_sha: Some(head),
        comment: None,
    })
}

fn of_push(payload: &Payload<'_>, environment: &Environment) -> Said {
    // A deleted branch is pushed as zeros: no commit of that name exists.
    let after = payload.text("after").and_then(sha).filter(|sha| sha.0.bytes().any(|byte| byte != b'0'));
    let mut said = of_checkout(environment);
    said.head_sha = after.or(said.head_sha);
    said.head_message = payload.text("head_commit.message").map(|text| cut(text, MAX_BODY_CHARS));
    said
}

/// Events whose commit is the one that the runner checks out.
fn of_checkout(environment: &Environment) -> Said {
    let is_branch = environment.get("GITHUB_REF_TYPE").is_none_or(|kind| kind == "branch");
    let name = environment.get("GITHUB_REF").and_then(|full| full.strip_prefix("refs/heads/"));
    Said {
        pull_request: PullRequestRef::None,
        upstream: None,
        head_sha: environment.get("GITHUB_SHA").and_then(sha),
        head_branch: name.filter(|_| is_branch).and_then(branch),
        head_message: None,
        comment: None,
    }
}

fn comment(payload: &Payload<'_>, at: &str, kind: CommentKind) -> Result<Option<Comment>, ContextError> {
    let said = payload.child(at).ok_or_else(|| payload.missing(at, "a comment"))?;
    Ok(Some(Comment {
        // Without its number the comment could not be answered, so a missing one is an error.
        id: said.number("id")?,
        kind,
        body: cut(said.text("body").unwrap_or_default(), MAX_BODY_CHARS),
        author: said.account("user"),
        // An edit may put words in that nobody saw when the comment was approved or answered.
        edited: payload.text("action") == Some("edited"),
    }))
}

/// A login of letters, digits and `-`, `_`, `.`. The login of an App ends in `[bot]`, which also makes its kind a bot.
pub(super) fn account(login: &str, kind: AccountKind) -> Option<Account> {
    let name = login.strip_suffix("[bot]");
    let plain = name.unwrap_or(login);
    let good = plain.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    // The suffix cannot be registered by a person, so it beats the payload's `type`.
    let kind = if name.is_some() { AccountKind::Bot } else { kind };
    (good && !plain.is_empty() && login.len() <= MAX_NAME_CHARS).then(|| Account { login: login.to_owned(), kind })
}

/// A commit's id: 40 or 64 hexadecimal digits.
pub(in crate::cli) fn sha(text: &str) -> Option<CommitSha> {
    let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    // Commits are compared as texts later, and git prints them in lower case.
    (hex && matches!(text.len(), 40 | 64)).then(|| CommitSha(text.to_ascii_lowercase()))
}

/// A branch's name as git allows it: no option, no refspec, no range, nothing that leaves `refs/heads/` (git-check-ref-format).
pub(super) fn branch(name: &str) -> Option<String> {
    // `git push` takes such a name as its argument: `-x` would be an option, `a..b` a range, `a:b` a refspec, and `a@{1}`
    // an entry of the reflog.
    let banned = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let bad = name.is_empty()
        || name.len() > MAX_NAME_CHARS
        || name == "@"
        || name.starts_with('-')
        || name.ends_with('.')
        || name.contains("..")
        || name.contains("@{")
        || name.chars().any(banned)
        || name.split('/').any(bad_part);
    (!bad).then(|| name.to_owned())
}

fn cut(text: &str, max_chars: usize) -> String {
    // Bytes could cut a character in two. The limits of forges count characters, too.
    text.chars().take(max_chars).collect()
}
