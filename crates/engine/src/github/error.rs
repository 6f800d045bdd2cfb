//! Errors between us and a forge, each with a way to fix it.
//!
//! Invariant: callers branch on variants, never on text. A message of the server is cut and freed of control characters before it is kept,
//! and no error holds a token.

use std::fmt;

use crate::domain::stop::StopCause;
use crate::domain::units::human_duration;
use crate::http::HttpError;

/// The most characters of a server's message that are kept.
const MAX_MESSAGE: usize = 300;

/// A permission of a workflow's token, as it stands under `permissions:`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permission {
    /// The key: `pull-requests`.
    pub scope: String,
    /// The value: `read` or `write`.
    pub access: Access,
}

/// The keys that `permissions:` of a workflow may hold. Any other makes the whole file invalid. Source: GitHub's documentation, "Workflow
/// syntax for GitHub Actions", `permissions`, November 2026.
const GRANTABLE: [&str; 14] = [
    "actions",
    "attestations",
    "checks",
    "contents",
    "deployments",
    "discussions",
    "id-token",
    "issues",
    "models",
    "packages",
    "pages",
    "pull-requests",
    "security-events",
    "statuses",
];

/// How much of a scope is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To look.
    Read,
    /// To change.
    Write,
}

impl Permission {
    pub(super) fn read(scope: &str) -> Self {
        Self { scope: scope.to_owned(), access: Access::Read }
    }

    pub(super) fn write(scope: &str) -> Self {
        Self { scope: scope.to_owned(), access: Access::Write }
    }

    /// The one to ask for when the server lists what would do (`issues=write; pull_requests=write`): the one that we think of
    /// if it is among them, else the first.
    pub(super) fn among(header: &str, ours: Self) -> Self {
        // `issues=write; pull_requests=write`: any one of them would do.
        let listed: Vec<Self> = header.split([';', ',']).filter_map(Self::parse).collect();
        if listed.contains(&ours) {
            return ours;
        }
        // A key that no workflow knows would make the whole file invalid.
        let grantable = listed.iter().find(|one| one.is_grantable()).cloned();
        grantable.or_else(|| listed.into_iter().next()).unwrap_or(ours)
    }

    fn is_grantable(&self) -> bool {
        GRANTABLE.contains(&self.scope.as_str())
    }

    /// How a refused request is mended.
    fn how_to_grant(&self) -> String {
        if self.is_grantable() {
            return format!("add `{self}` under `permissions:` of the job, or give github-token a token that may");
        }
        format!(
            "no line under `permissions:` grants this ({self}): give github-token the token of an App or a person that may"
        )
    }

    /// How something is mended that is not there, or not to be seen.
    fn how_to_see(&self) -> String {
        if self.is_grantable() {
            return format!("check that it exists, and that the job has `{self}`");
        }
        "check that it exists, and that github-token is one that may see it".to_owned()
    }

    fn parse(pair: &str) -> Option<Self> {
        let (scope, access) = pair.trim().split_once('=')?;
        let plain = !scope.is_empty() && scope.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let access = match access.trim() {
            "read" => Access::Read,
            // A workflow has no word for more than write.
            "write" | "admin" => Access::Write,
            _ => return None,
        };
        plain.then(|| Self { scope: scope.replace('_', "-"), access })
    }
}

impl fmt::Display for Permission {
    /// The line to add: `pull-requests: write`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = match self.access {
            Access::Read => "read",
            Access::Write => "write",
        };
        write!(f, "{}: {access}", self.scope)
    }
}

/// Which of GitHub's limits was hit (GITHUB 25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Requests per hour.
    Primary,
    /// Too much at once, or too many writes.
    Secondary,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primary => "the hourly limit of requests",
            Self::Secondary => "the limit on bursts and writes",
        })
    }
}

/// Whether the token has been of use before it was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenHistory {
    /// It answered before, so it has expired or was revoked since.
    Worked,
    /// It never answered.
    Never,
}

/// Why a request to the forge has no answer that is of use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GithubError {
    /// No HTTP client could be made.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The API's address is no address.
    #[error(
        "cannot use `{url}` as the address of the API: {reason} → Fix: set GITHUB_API_URL to https://api.github.com or to your server's"
    )]
    Address {
        /// As given.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The token cannot be sent at all.
    #[error(
        "the GitHub token is empty or contains characters that no token has → Fix: check the input github-token for line breaks or quotes"
    )]
    Token,
    /// 401.
    #[error("GitHub refused the token while trying to {doing}: {}", refused_token(*history, message))]
    TokenRefused {
        /// The attempt, as the words after "to".
        doing: String,
        /// Whether it worked before.
        history: TokenHistory,
        /// The server's message.
        message: String,
    },
    /// 403 for want of a permission.
    #[error("GitHub does not let this token {doing}: {message} → Fix: {}", how_to_be_let(permission, message))]
    Forbidden {
        /// The attempt, as the words after "to".
        doing: String,
        /// The permission that the job lacks.
        permission: Permission,
        /// The server's message.
        message: String,
    },
    /// 404 or 410: not there, or not to be seen with this token.
    #[error("cannot {doing}: not found → Fix: {}", permission.how_to_see())]
    NotFound {
        /// The attempt, as the words after "to".
        doing: String,
        /// The permission that is needed to see it.
        permission: Permission,
    },
    /// The text is longer than the server takes (GITHUB 27).
    #[error("cannot {doing}: the text has {chars} characters, more than the server takes")]
    TooLong {
        /// The attempt, as the words after "to".
        doing: String,
        /// How many there were.
        chars: usize,
    },
    /// Any other refusal. Repeating the request would not help.
    #[error("GitHub refused to {doing} (status {status}): {message}")]
    Refused {
        /// The attempt, as the words after "to".
        doing: String,
        /// The status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// A limit that is not lifted before our own deadline.
    #[error("{limit} is used up, and waiting {} for it is longer than the time left; gave up to {doing}", human_duration(*wait_ms))]
    RateLimited {
        /// The attempt, as the words after "to".
        doing: String,
        /// Which limit.
        limit: Limit,
        /// How long it would have to be waited for.
        wait_ms: u64,
    },
    /// No answer, or only server errors, for all that was tried.
    #[error(
        "cannot {doing}: {reason} (tried {attempts} times) → Fix: see https://www.githubstatus.com and the runner's network, then run again"
    )]
    Unreachable {
        /// The attempt, as the words after "to".
        doing: String,
        /// How it failed last.
        reason: String,
        /// How often.
        attempts: u32,
    },
    /// A write whose answer was lost: it may have taken effect, so it was not repeated.
    #[error("no answer when trying to {doing}: {reason}; it may have been done")]
    Unanswered {
        /// The attempt, as the words after "to".
        doing: String,
        /// The failure that came instead of an answer.
        reason: String,
    },
    /// An answer that is not what the API promises.
    #[error("cannot read GitHub's answer when trying to {doing}: {reason}")]
    Malformed {
        /// The attempt, as the words after "to".
        doing: String,
        /// The defect.
        reason: String,
    },
    /// An answer or a list that is longer than we read.
    #[error("the answer when trying to {doing} is larger than {limit}")]
    TooLarge {
        /// The attempt, as the words after "to".
        doing: String,
        /// The most that we read.
        limit: String,
    },
    /// Everything is to end.
    #[error("stopped before the answer came")]
    Stopped(StopCause),
}

impl GithubError {
    /// Whether the forge may not know such a request at all: Gitea and Forgejo answer so to what GitHub alone has.
    #[must_use]
    pub fn is_missing_endpoint(&self) -> bool {
        // 405 and 501 come from servers that know the path for another method.
        matches!(self, Self::NotFound { .. } | Self::Refused { status: 404 | 405 | 501, .. })
    }

    /// Whether the token may not do that, now or later.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Forbidden { .. })
    }

    /// Whether it may be over by the next time: outages, limits, and a token that was good before and is renewed by the next job.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Unanswered { .. } | Self::RateLimited { .. } | Self::Malformed { .. } => {
                true
            }
            // A token that never worked is the same in the next run.
            Self::TokenRefused { history, .. } => *history == TokenHistory::Worked,
            Self::Refused { status, .. } => *status >= 500,
            Self::Http(_)
            | Self::Address { .. }
            | Self::Token
            | Self::Forbidden { .. }
            | Self::NotFound { .. }
            | Self::TooLong { .. }
            | Self::TooLarge { .. }
            | Self::Stopped(_) => false,
        }
    }

    /// Whether nothing can succeed with this token any more.
    #[must_use]
    pub fn is_token_refused(&self) -> bool {
        matches!(self, Self::TokenRefused { .. })
    }
}

/// The words of GitHub's answer where a conversation is locked: "Unable to create comment because issue is locked."
const LOCKED: &str = "is locked";

/// How a refused request is mended. No permission opens a conversation that somebody locked.
fn how_to_be_let(permission: &Permission, message: &str) -> String {
    if message.contains(LOCKED) {
        return "unlock the conversation, on the page of the pull request".to_owned();
    }
    permission.how_to_grant()
}

fn refused_token(history: TokenHistory, message: &str) -> String {
    match history {
        TokenHistory::Worked => format!(
            "{message}; it was accepted before, so it has expired (an App's token lives one hour) or was revoked \
             → Fix: use the job's GITHUB_TOKEN, which lives as long as the job, or a fresh token"
        ),
        TokenHistory::Never => format!("{message} → Fix: check the input github-token (default: the job's own token)"),
    }
}

/// A server's message, fit to be shown.
pub(super) fn shown(message: &str) -> String {
    // A line break or an escape sequence of a stranger's must not shape our log.
    let plain = message.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut text: String = plain.take(MAX_MESSAGE).collect();
    if message.chars().count() > MAX_MESSAGE {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_permissions_that_would_do_ours_is_named_if_it_is_there() {
        let ours = || Permission::write("pull-requests");
        let named = |header: &str| Permission::among(header, ours()).to_string();
        assert_eq!(named("issues=write; pull_requests=write"), "pull-requests: write");
        assert_eq!(named("issues=write"), "issues: write");
        assert_eq!(named(""), "pull-requests: write");
        assert_eq!(named("<script>=write; a=b"), "pull-requests: write");
        assert_eq!(
            named("administration=write; issues=write"),
            "issues: write",
            "of what does not exist here nobody is told"
        );
    }

    #[test]
    fn no_permission_is_advised_that_a_workflow_cannot_have() {
        let forbidden = |permission: Permission| {
            let (doing, message) = ("look".to_owned(), "no".to_owned());
            let missing = GithubError::NotFound { doing: doing.clone(), permission: permission.clone() };
            format!("{}\n{missing}", GithubError::Forbidden { doing, permission, message })
        };
        for scope in ["metadata", "workflows", "administration", "members"] {
            let said = forbidden(Permission::read(scope));
            assert!(!said.contains("add `") && !said.contains("the job has"), "{said}");
        }
        let said = forbidden(Permission::write("contents"));
        assert!(said.contains("add `contents: write` under `permissions:`"), "{said}");
    }

    #[test]
    fn a_servers_message_is_cut_and_holds_no_control_characters() {
        assert_eq!(shown("a\u{1b}[31m\nb"), "a [31m b");
        assert_eq!(shown(&"x".repeat(1_000)).chars().count(), MAX_MESSAGE + 1);
    }
}
