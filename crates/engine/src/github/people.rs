//! Accounts: the token's own account, and the rights of an account in the repository.

use std::sync::Arc;

use serde::Deserialize;

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::path::escaped;

/// The accounts that a job's own token comments as, on Gitea and on Forgejo.
const GITEA_BOTS: [&str; 2] = ["gitea-actions", "forgejo-actions"];
/// The account of a workflow's own token.
pub const ACTIONS_BOT: &str = "github-actions[bot]";

/// An account as answers name it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct User {
    /// The login. An App's ends in `[bot]`.
    pub login: String,
    /// `User`, `Bot`, `Organization`. Empty where the forge does not tell.
    #[serde(rename = "type", default)]
    pub kind: String,
}

impl User {
    /// Whether this is an app or a job's token.
    #[must_use]
    pub fn is_bot(&self) -> bool {
        self.kind == "Bot" || self.login.ends_with("[bot]")
    }
}

/// An App as everybody may see it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct App {
    /// The name in its addresses. Its account has the same name, with `[bot]` behind it.
    #[serde(default)]
    pub slug: String,
    /// Its name. Foreign text.
    pub name: String,
    /// Its owner.
    pub owner: Option<AppOwner>,
}

/// The owner of an App: an account, or an enterprise.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum AppOwner {
    /// An account.
    Account(User),
    /// An enterprise.
    Enterprise {
        /// Its name. Foreign text.
        name: String,
    },
}

/// The role of an account in a repository, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RepoRole {
    /// Nothing, or only what everybody may.
    None,
    /// Look.
    Read,
    /// Sort issues and pull requests.
    Triage,
    /// Push.
    Write,
    /// Push and change some settings.
    Maintain,
    /// Everything.
    Admin,
}

/// The accounts whose comments are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// The comments of this account.
    Login(String),
    /// The comments of one of these accounts.
    OneOf(&'static [&'static str]),
    /// An app's, whose name the API does not tell its token: any bot's that begin with our marker.
    SomeBot,
}

impl Identity {
    /// Whether this account can be us.
    #[must_use]
    pub fn is(&self, user: &User) -> bool {
        match self {
            // GitHub knows no case in logins.
            Self::Login(login) => login.eq_ignore_ascii_case(&user.login),
            Self::OneOf(logins) => logins.iter().any(|login| login.eq_ignore_ascii_case(&user.login)),
            Self::SomeBot => user.is_bot(),
        }
    }
}

/// The kind of token that the client was given, for where the API does not tell its account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The job's own `GITHUB_TOKEN`.
    Job,
    /// One that somebody made: an App's, or a person's.
    Given,
}

impl GitHub {
    /// Finds out whose comments are ours. One request, which the job's own token and an App's are refused (403).
    ///
    /// # Errors
    /// All but [`GithubError::Forbidden`] and [`GithubError::NotFound`].
    pub async fn identity(&self, token: TokenKind) -> Result<Identity, GithubError> {
        let call = Call::get("/user".to_owned(), "read the token's own account", Permission::read("metadata"));
        match self.read::<User>(call).await {
            Ok(user) => Ok(Identity::Login(user.login.clone())),
            // Tokens of Apps have no user behind them.
            Err(GithubError::Forbidden { .. } | GithubError::NotFound { .. }) => Ok(match token {
                TokenKind::Job if self.shared.wire.is_gitea() => Identity::OneOf(&GITEA_BOTS),
                TokenKind::Job => Identity::Login(ACTIONS_BOT.to_owned()),
                TokenKind::Given => Identity::SomeBot,
            }),
            Err(other) => Err(other),
        }
    }

    /// Somebody's account. `None` where there is none of that name.
    ///
    /// # Errors
    /// Any [`GithubError`] but not found.
    pub async fn account(&self, login: &str) -> Result<Option<User>, GithubError> {
        let path = format!("/users/{}", escaped(login));
        let call = Call::get(path, format!("read the account {login}"), Permission::read("metadata"));
        found(self.read::<User>(call).await)
    }

    /// The App of a bot's account. `None` where there is none, or one that not everybody may see.
    ///
    /// # Errors
    /// Any [`GithubError`] but not found and a missing permission.
    pub async fn app_of(&self, bot: &str) -> Result<Option<App>, GithubError> {
        let Some(slug) = bot.strip_suffix("[bot]") else { return Ok(None) };
        let path = format!("/apps/{}", escaped(slug));
        let call = Call::get(path, format!("read the App {slug}"), Permission::read("metadata"));
        match found(self.read::<App>(call).await) {
            Err(GithubError::Forbidden { .. }) => Ok(None),
            other => other,
        }
    }

    /// The role of an account in the repository, which `author_association` does not tell (GITHUB 35).
    ///
    /// # Errors
    /// Any [`GithubError`] but not found, which is [`RepoRole::None`].
    pub async fn role_of(&self, login: &str) -> Result<RepoRole, GithubError> {
        #[derive(Deserialize)]
        struct Answer {
            permission: String,
            #[serde(default)]
            role_name: Option<String>,
        }
        let path = self.at(format!("/collaborators/{}/permission", escaped(login)));
        let call = Call::get(path, format!("read what {login} may do here"), Permission::read("metadata"));
        let answer: Arc<Answer> = match self.read(call).await {
            Ok(answer) => answer,
            Err(GithubError::NotFound { .. }) => return Ok(RepoRole::None),
            Err(other) => return Err(other),
        };
        // `permission` folds maintain into write and triage into read; a custom role is known by its base there alone.
        // The finer one where it is known, else its base.
        let fine = answer.role_name.as_deref().and_then(role);
        Ok(fine.or_else(|| role(&answer.permission)).unwrap_or(RepoRole::None))
    }
}

fn found<T: Clone>(answer: Result<Arc<T>, GithubError>) -> Result<Option<T>, GithubError> {
    match answer {
        Ok(found) => Ok(Some((*found).clone())),
        Err(GithubError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

fn role(word: &str) -> Option<RepoRole> {
    Some(match word {
        "admin" | "owner" => RepoRole::Admin,
        "maintain" => RepoRole::Maintain,
        "write" | "push" => RepoRole::Write,
        "triage" => RepoRole::Triage,
        "read" | "pull" => RepoRole::Read,
        "none" => RepoRole::None,
        // A custom role.
        _ => return None,
    })
}
