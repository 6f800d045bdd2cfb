//! The repository itself: its settings, branches, rules, files and history.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::pages::PER_PAGE;
use super::path::{escaped, escaped_path};
use super::people::User;
use crate::domain::ci::RepoName;
use crate::domain::units::CommitSha;

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawRepository")]
pub struct Repository {
    /// Its id, by which artifacts name it.
    pub id: u64,
    /// Its name. After a renaming not the one that was asked for.
    pub name: Option<RepoName>,
    /// The branch that pull requests go to.
    pub default_branch: String,
    /// Whether nothing can be written to it.
    pub archived: bool,
    /// The rights of the token, where the server tells them.
    pub permissions: Option<RepoPermissions>,
}

/// The rights of a token in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct RepoPermissions {
    /// Push.
    #[serde(default)]
    pub push: bool,
    /// Read.
    #[serde(default)]
    pub pull: bool,
}

#[derive(Deserialize)]
struct RawRepository {
    id: u64,
    full_name: String,
    #[serde(default)]
    default_branch: String,
    #[serde(default)]
    archived: bool,
    permissions: Option<RepoPermissions>,
}

impl From<RawRepository> for Repository {
    fn from(raw: RawRepository) -> Self {
        Self {
            id: raw.id,
            name: RepoName::parse(&raw.full_name),
            default_branch: raw.default_branch,
            archived: raw.archived,
            permissions: raw.permissions,
        }
    }
}

/// A branch.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawBranch")]
pub struct Branch {
    /// Its commit.
    pub sha: CommitSha,
    /// Whether branch protection applies.
    pub protected: bool,
    /// The checks that branch protection requires.
    pub required_checks: Vec<String>,
}

#[derive(Deserialize)]
struct RawBranch {
    commit: RawCommitRef,
    #[serde(default)]
    protected: bool,
    #[serde(default)]
    protection: RawProtection,
}

#[derive(Deserialize)]
struct RawCommitRef {
    /// Gitea names it `id`.
    #[serde(alias = "id")]
    sha: String,
}

#[derive(Deserialize, Default)]
struct RawProtection {
    required_status_checks: Option<RawRequired>,
}

#[derive(Deserialize)]
struct RawRequired {
    #[serde(default)]
    contexts: Vec<String>,
}

impl From<RawBranch> for Branch {
    fn from(raw: RawBranch) -> Self {
        let required = raw.protection.required_status_checks;
        Self {
            sha: CommitSha(raw.commit.sha),
            protected: raw.protected,
            required_checks: required.map(|required| required.contexts).unwrap_or_default(),
        }
    }
}

/// The rules of rulesets for a branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BranchRules {
    /// The checks that have to pass.
    pub required_checks: Vec<String>,
    /// The kinds of all rules, in GitHub's words: `pull_request`, `update`, `required_signatures`, `merge_queue`, ….
    pub kinds: Vec<String>,
}

/// A commit of a pull request or of a history.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawCommit")]
pub struct Commit {
    /// Which.
    pub sha: CommitSha,
    /// Its message. Foreign text.
    pub message: String,
    /// Whose account wrote it, where that is known.
    pub author: Option<User>,
}

#[derive(Deserialize)]
struct RawCommit {
    sha: String,
    commit: Option<RawGitCommit>,
    /// Where the answer is git's own commit.
    #[serde(default, deserialize_with = "super::text_or_null")]
    message: String,
    #[serde(default)]
    author: Value,
}

#[derive(Deserialize)]
struct RawGitCommit {
    message: String,
}

impl From<RawCommit> for Commit {
    fn from(raw: RawCommit) -> Self {
        // An unknown author is null, and on some answers an empty object.
        let author = serde_json::from_value(raw.author).ok();
        let message = raw.commit.map_or(raw.message, |commit| commit.message);
        Self { sha: CommitSha(raw.sha), message, author }
    }
}

impl GitHub {
    /// The repository.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn repository_info(&self) -> Result<Repository, GithubError> {
        let call = Call::get(self.at(""), format!("read {}", self.repository), Permission::read("metadata"));
        Ok((*self.read::<Repository>(call).await?).clone())
    }

    /// A branch.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn branch(&self, name: &str) -> Result<Branch, GithubError> {
        let path = self.at(format!("/branches/{}", escaped(name)));
        let call = Call::get(path, format!("read branch {name}"), Permission::read("contents"));
        Ok((*self.read::<Branch>(call).await?).clone())
    }

    /// Whether the settings let jobs open pull requests. `None` where this token may not ask, such as a job's own.
    ///
    /// # Errors
    /// Any [`GithubError`] but a missing permission and not found.
    pub async fn jobs_may_propose(&self) -> Result<Option<bool>, GithubError> {
        #[derive(Clone, Copy, Deserialize)]
        struct Settings {
            can_approve_pull_request_reviews: bool,
        }
        let path = self.at("/actions/permissions/workflow");
        let call = Call::get(path, "read what jobs may do", Permission::read("administration"));
        match self.read::<Settings>(call).await {
            Ok(settings) => Ok(Some(settings.can_approve_pull_request_reviews)),
            Err(GithubError::Forbidden { .. } | GithubError::NotFound { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The rules of rulesets for a branch. Empty where the forge knows no rulesets.
    ///
    /// # Errors
    /// Any [`GithubError`] but not found.
    pub async fn branch_rules(&self, name: &str) -> Result<BranchRules, GithubError> {
        #[derive(Clone, Deserialize)]
        struct Rule {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            parameters: Value,
        }
        let path = self.at(format!("/rules/branches/{}?per_page={PER_PAGE}", escaped(name)));
        let call = Call::get(path, format!("read the rules of {name}"), Permission::read("metadata"));
        let rules = match self.list(call, |page: Vec<Rule>| page).await {
            Ok(rules) => rules,
            // Gitea, Forgejo and older servers know no rulesets.
            Err(GithubError::NotFound { .. }) => return Ok(BranchRules::default()),
            Err(other) => return Err(other),
        };
        let mut found = BranchRules::default();
        for rule in rules {
            let checks = rule.parameters.get("required_status_checks").and_then(Value::as_array);
            // Only one kind of rule has such a list. The others say enough by their kind.
            for check in checks.into_iter().flatten() {
                found.required_checks.extend(check.get("context").and_then(Value::as_str).map(str::to_owned));
            }
            found.kinds.push(rule.kind);
        }
        Ok(found)
    }

    /// The names of the checks that branch protection or a ruleset requires, as far as this token may see them.
    ///
    /// # Errors
    /// Any [`GithubError`] but a missing permission and not found.
    pub async fn required_checks(&self, branch: &str) -> Result<Vec<String>, GithubError> {
        let mut names = match self.branch_rules(branch).await {
            Ok(rules) => rules.required_checks,
            // A token that may not see the rules can still see what the branch requires, or the other way round.
            Err(GithubError::Forbidden { .. }) => Vec::new(),
            Err(other) => return Err(other),
        };
        match self.branch(branch).await {
            Ok(branch) => names.extend(branch.required_checks),
            Err(GithubError::Forbidden { .. } | GithubError::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// A file at a commit or branch. `None` if there is none.
    ///
    /// # Errors
    /// Any [`GithubError`] but not found. [`GithubError::TooLarge`] above the megabyte that the API hands out.
    pub async fn file(&self, path: &str, at: &str) -> Result<Option<Vec<u8>>, GithubError> {
        #[derive(Deserialize)]
        struct File {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default, deserialize_with = "super::text_or_null")]
            content: String,
            #[serde(default, deserialize_with = "super::text_or_null")]
            encoding: String,
        }
        let doing = format!("read {path} at {at}");
        let route = self.at(format!("/contents/{}?ref={}", escaped_path(path), escaped(at)));
        let call = Call::get(route, doing.clone(), Permission::read("contents"));
        let file = match self.read::<File>(call).await {
            Ok(file) => file,
            Err(GithubError::NotFound { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        let malformed = |reason: &str| GithubError::Malformed { doing: doing.clone(), reason: reason.to_owned() };
        match (file.kind.as_str(), file.encoding.as_str()) {
            ("file", "base64") => {
                // The API breaks the lines of its base64.
                let packed: String = file.content.split_whitespace().collect();
                STANDARD.decode(packed).map(Some).map_err(|_invalid| malformed("its base64 is broken"))
            }
            // Above one megabyte the answer has no content and says so by this word.
            ("file", "none") => Err(GithubError::TooLarge { doing, limit: "1 MiB".to_owned() }),
            _ => Err(malformed("it is not a plain file")),
        }
    }

    /// The commits of a pull request, oldest first. At most the 250 that the server names.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn pull_commits(&self, number: u64) -> Result<Vec<Commit>, GithubError> {
        let path = self.at(format!("/pulls/{number}/commits?per_page={PER_PAGE}"));
        let call = Call::get(path, format!("read the commits of #{number}"), Permission::read("pull-requests"));
        self.list(call, |page: Vec<Commit>| page).await
    }

    /// One commit.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn commit(&self, at: &str) -> Result<Commit, GithubError> {
        let path = self.at(format!("/commits/{}?per_page=1", escaped(at)));
        let call = |path| Call::get(path, format!("read commit {at}"), Permission::read("contents"));
        match self.read::<Commit>(call(path)).await {
            Ok(commit) => Ok((*commit).clone()),
            // Gitea and Forgejo have it elsewhere.
            Err(error) if error.is_missing_endpoint() => {
                let elsewhere = call(self.at(format!("/git/commits/{}", escaped(at))));
                self.read::<Commit>(elsewhere).await.map(|commit| (*commit).clone()).map_err(|_other| error)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Commit;

    #[test]
    fn a_commits_message_is_read_wherever_the_forge_has_it() {
        for answer in [
            r#"{"sha":"1f","commit":{"message":"fix"},"author":null}"#,
            r#"{"sha":"1f","message":"fix","author":{"name":"A","email":"a@example.invalid"}}"#,
        ] {
            let commit: Commit = serde_json::from_str(answer).unwrap();
            assert_eq!((commit.sha.0.as_str(), commit.message.as_str()), ("1f", "fix"), "{answer}");
        }
    }
}
