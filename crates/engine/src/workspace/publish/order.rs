//! Orders of publication, their results and their errors.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret as _, SecretString};

use crate::domain::stop::Stop;
use crate::domain::units::{CommitSha, TreeId};
use crate::files;
use crate::process::ProcessError;
use crate::workspace::WorkspaceError;

/// A repository on a server, and what lets us in.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Its URL over HTTP(S), without credentials: `https://github.com/acme/shop`.
    pub url: String,
    /// How requests are authorised. `None` for a repository that anybody may write to.
    pub access: Option<Access>,
}

/// The authorisation of a request to a git server.
#[derive(Debug, Clone)]
pub enum Access {
    /// A token of GitHub's.
    Token(SecretString),
    /// A whole header, as checkout leaves one: `AUTHORIZATION: basic …`.
    Header(SecretString),
}

impl Access {
    /// The header of a request, with its name. A secret.
    #[must_use]
    pub fn header(&self) -> String {
        match self {
            Self::Token(token) => {
                let pair = format!("x-access-token:{}", token.expose_secret());
                format!("AUTHORIZATION: basic {}", STANDARD.encode(pair))
            }
            Self::Header(header) => header.expose_secret().to_owned(),
        }
    }
}

/// A change that is to become a commit.
#[derive(Debug, Clone)]
pub struct Order<'a> {
    /// Where it goes.
    pub remote: &'a Remote,
    /// The branch, without `refs/heads/`.
    pub branch: &'a str,
    /// Whether the branch is there already.
    pub onto: Onto,
    /// The commit it is built on. It is the branch's head, unless it is a new branch.
    pub parent: &'a CommitSha,
    /// The state that the change starts from.
    pub from: &'a TreeId,
    /// The state that it leads to.
    pub to: &'a TreeId,
    /// The person or program named as its author.
    pub author: &'a Author,
    /// The message, trailers included.
    pub message: &'a str,
    /// Its date, in seconds since the epoch. The same order makes the same commit, so that one that was pushed before we were
    /// killed is known again.
    pub at: i64,
}

/// The expected state of a branch before a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onto {
    /// Its head is the parent.
    Existing,
    /// There is none of that name yet.
    New,
}

/// A name and an address in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// A commit that is on the remote branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The commit.
    pub commit: CommitSha,
    /// The files that it changes.
    pub files: Vec<String>,
    /// Whether it had been there before: an earlier process pushed it and died.
    pub found: bool,
}

/// A change on top of a commit, as git would store it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composed {
    /// Git's name of the whole tree.
    pub tree: String,
    /// The files that differ from the parent's.
    pub files: Vec<ComposedFile>,
}

/// A file of such a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComposedFile {
    /// Its path in the repository.
    pub path: String,
    /// Git's mode and its content. `None` when it goes.
    pub content: Option<(&'static str, Vec<u8>)>,
}

/// Why a change is not on the remote branch.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The branch is no longer where it was when the run began. It is left as it is.
    #[error(
        "{branch} moved from {expected} to {found} meanwhile, and is not overwritten → Fix: run upshift again on the new head"
    )]
    Moved {
        /// The branch.
        branch: String,
        /// Where it was.
        expected: String,
        /// Where it is.
        found: String,
    },
    /// The branch was deleted since the run began.
    #[error(
        "{branch} was deleted meanwhile, and is not made again → Fix: run upshift on the branch that it was merged into, or restore it"
    )]
    Gone {
        /// The branch.
        branch: String,
    },
    /// A file of the change is another one in the parent commit.
    #[error("{path} cannot be carried over to the commit that the fix is to build on: {why}")]
    Conflict {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// A file is kept in another form than that of the checkout.
    #[error(
        "{path} is stored through git's `{attribute}` ({value}), which upshift does not run → Fix: commit the kept patch by hand"
    )]
    Filtered {
        /// The file.
        path: String,
        /// The attribute.
        attribute: String,
        /// Its value.
        value: String,
    },
    /// A file of the change may never be pushed.
    #[error("the change is not pushed: {reason}")]
    Protected {
        /// Which and why.
        reason: String,
    },
    /// Nothing would change.
    #[error("the change alters no file that git tracks")]
    Empty,
    /// The server does not let us in.
    #[error(
        "the server refused the credential: {said} → Fix: give the job `permissions: contents: write`, or a `push-token` that may write to the repository"
    )]
    Credential {
        /// The server's message.
        said: String,
    },
    /// The push carries workflow files that the token may not touch (GITHUB.md 7).
    #[error(
        "the server refused a push that carries workflow files: {said} → Fix: give a `push-token` of an App or a person with the `workflows` permission"
    )]
    Workflows {
        /// The server's message.
        said: String,
    },
    /// A rule of the repository refuses it.
    #[error(
        "a rule of the repository refused the push: {said} → Fix: {}",
        if *.to_ours { "exempt branches that begin with `upshift/` from the rule, or let upshift's token bypass it" }
        else { "use `push: pr`, or let upshift's token bypass the rule" }
    )]
    Rule {
        /// The server's message.
        said: String,
        /// Whether it was a push to a branch of upshift's own, as `push: pr` makes one.
        to_ours: bool,
    },
    /// The name of a branch that git could misread.
    #[error("`{0}` cannot be pushed to: not a valid branch name")]
    Branch(String),
    /// A URL that git may not be given.
    #[error("`{0}` cannot be pushed to: only http and https are")]
    Url(String),
    /// The commit could not be made through the forge's API.
    #[error("the commit could not be made through the API: {said}")]
    Api {
        /// Why, and what to do.
        said: String,
    },
    /// The remote could not be reached.
    #[error("git could not reach the repository: {said}")]
    Unreachable {
        /// Git's message.
        said: String,
    },
    /// Git itself failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// Its subcommand.
        command: String,
        /// Git's message.
        said: String,
    },
    /// A signal or the budget's clock ended it.
    #[error("the push was interrupted")]
    Stopped,
    /// Git could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The recorded states cannot be read.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The private folder cannot be written.
    #[error("failed to prepare the push in {path}: {source}")]
    Scratch {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The surroundings that a publication needs.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The caller's environment. Git gets a few names of it.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Ends it.
    pub stop: &'a Stop,
}

/// A path as git's plumbing names it.
pub(super) fn git_path(path: &Path) -> Result<String, PublishError> {
    let conflict =
        || PublishError::Conflict { path: path.display().to_string(), why: "its name is not UTF-8".to_owned() };
    path.to_str().map(|_| files::slashed(path)).ok_or_else(conflict)
}
