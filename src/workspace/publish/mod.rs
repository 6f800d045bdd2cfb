//! A recorded change as a commit on a remote branch, made without the checkout's own git directory.
//!
//! Start reading at [`Workspace::publish`]. A bare repository that lives for one publication (`git`) takes the parent commit
//! from the remote, `carry` says what every changed file becomes on top of it, and the new commit is pushed, never forced.
//!
//! Invariant: the user's git directory is never given to git (whoever writes to it could have hooks, filters and includes run
//! with our token), no protected path is ever part of a commit unless it adds tests and nothing else, and no token is ever an argument or a file of ours.

mod carry;
mod credential;
mod git;
mod git_config;
mod head;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::Workspace;
use super::WorkspaceError;
use super::store::Manifest;
use crate::domain::stop::Stop;
use crate::domain::units::{CommitSha, TreeId};
use crate::files;
use crate::process::ProcessError;

pub use credential::{Left, left_by_checkout};
pub use head::{CheckedOut, checked_out};

use carry::Line;
pub(super) use git::inherited;
use git::{Git, Scratch};

/// The folder at the top of a repository that GitHub reads; never pushed, also where the checkout is a folder inside it.
const CI_FOLDER: &str = ".github";

/// A repository on a server, and what lets us in.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Its URL over HTTP(S), without credentials: `https://github.com/acme/shop`.
    pub url: String,
    /// How requests are authorised; `None` for a repository that anybody may write to.
    pub access: Option<Access>,
}

/// What authorises a request to a git server.
#[derive(Debug, Clone)]
pub enum Access {
    /// A token of GitHub's.
    Token(SecretString),
    /// A whole header, as checkout leaves one: `AUTHORIZATION: basic …`.
    Header(SecretString),
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
    /// The commit it is built on; the branch's head, unless it is a new branch.
    pub parent: &'a CommitSha,
    /// The state that the change starts from.
    pub from: &'a TreeId,
    /// The state that it leads to.
    pub to: &'a TreeId,
    /// Who is named as its author.
    pub author: &'a Author,
    /// The message, trailers included.
    pub message: &'a str,
    /// Its date, in seconds since the epoch. The same order makes the same commit, so that one that was pushed before we were
    /// killed is known again.
    pub at: i64,
}

/// What is expected of a branch before a push.
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
    /// Git's mode and its content; `None` when it goes.
    pub content: Option<(&'static str, Vec<u8>)>,
}

/// Why a change is not on the remote branch.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The branch is no longer where it was when the run began; it is left as it is.
    #[error(
        "{branch} moved from {expected} to {found} meanwhile, and is not overwritten → Fix: run upshift again on the new head"
    )]
    Moved {
        /// The branch.
        branch: String,
        /// Where it was.
        expected: String,
        /// Where it is; `nowhere` when it is gone.
        found: String,
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
    #[error("the change alters no file that git keeps")]
    Empty,
    /// The server does not let us in.
    #[error(
        "the server refused the credential: {said} → Fix: give the job `permissions: contents: write`, or a `push-token` that may write to the repository"
    )]
    Credential {
        /// What it said.
        said: String,
    },
    /// The push carries workflow files that the token may not touch (GITHUB.md 7).
    #[error(
        "the server refused a push that carries workflow files: {said} → Fix: give a `push-token` of an App or a person with the `workflows` permission"
    )]
    Workflows {
        /// What it said.
        said: String,
    },
    /// A rule of the repository refuses it.
    #[error(
        "a rule of the repository refused the push: {said} → Fix: use `push: pr`, or let upshift's token bypass the rule"
    )]
    Rule {
        /// What it said.
        said: String,
    },
    /// The name of a branch that git could misread.
    #[error("`{0}` cannot be pushed to: no valid name of a branch")]
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
        /// What git said.
        said: String,
    },
    /// Git itself failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// Its subcommand.
        command: String,
        /// What it said.
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

/// What a publication needs of the world.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The caller's environment; git gets a few names of it.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Ends it.
    pub stop: &'a Stop,
}

impl Workspace {
    /// Commits the change between two recorded states on top of a commit of the remote, and pushes it.
    ///
    /// # Errors
    /// [`PublishError`], by what a person can do about it. Nothing was pushed then.
    pub async fn publish(&self, order: &Order<'_>, around: Surroundings<'_>) -> Result<Published, PublishError> {
        let reference = reference(order.branch)?;
        let lines = self.lines(order)?;
        let scratch = Scratch::in_folder(self.states.store().folder())?;
        let git = Git::new(&scratch, order.remote, around, self.root())?;
        git.init().await?;
        let head = git.remote_head(&reference).await?;
        let moved = |found: Option<&CommitSha>| moved(order, found);
        if order.onto == Onto::Existing && head.is_none() {
            return Err(moved(None));
        }
        git.fetch(order.parent).await?;
        let carried = carry::carry(&git, self.states.store(), order, &lines).await?;
        let (commit, files) = carry::commit(&git, order, &carried).await?;
        match (&head, order.onto) {
            (Some(head), _) if *head == commit => return Ok(Published { commit, files, found: true }),
            (Some(head), Onto::Existing) if head == order.parent => {}
            (None, Onto::New) => {}
            (found, Onto::Existing | Onto::New) => return Err(moved(found.as_ref())),
        }
        match git.push(&commit, &reference).await {
            Ok(()) => Ok(Published { commit, files, found: false }),
            Err(PublishError::Moved { .. }) => {
                let head = git.remote_head(&reference).await?;
                if head.as_ref() == Some(&commit) {
                    return Ok(Published { commit, files, found: false });
                }
                Err(moved(head.as_ref()))
            }
            Err(other) => Err(other),
        }
    }

    /// What a change makes of the parent's tree, for whoever makes the commit elsewhere; nothing is pushed.
    ///
    /// # Errors
    /// [`PublishError`]
    pub async fn carry(&self, order: &Order<'_>, around: Surroundings<'_>) -> Result<Composed, PublishError> {
        reference(order.branch)?;
        let lines = self.lines(order)?;
        let scratch = Scratch::in_folder(self.states.store().folder())?;
        let git = Git::new(&scratch, order.remote, around, self.root())?;
        git.init().await?;
        git.fetch(order.parent).await?;
        Ok(carry::carry(&git, self.states.store(), order, &lines).await?.composed())
    }

    /// The head of a branch on the remote; `None` when there is no such branch.
    ///
    /// # Errors
    /// [`PublishError`]
    pub async fn remote_head(
        &self,
        remote: &Remote,
        branch: &str,
        around: Surroundings<'_>,
    ) -> Result<Option<CommitSha>, PublishError> {
        let reference = reference(branch)?;
        let scratch = Scratch::in_folder(self.states.store().folder())?;
        let git = Git::new(&scratch, remote, around, self.root())?;
        git.init().await?;
        git.remote_head(&reference).await
    }

    /// Every file that differs between the two states, with its path in the repository.
    fn lines(&self, order: &Order<'_>) -> Result<Vec<Line>, PublishError> {
        self.judged_from(order.from);
        let store = self.states.store();
        let (from, to): (Manifest, Manifest) = (store.load(order.from)?, store.load(order.to)?);
        let prefix = head::folder_in_repository(self.root());
        let mut lines = Vec::new();
        let paths: std::collections::BTreeSet<_> =
            from.keys().chain(to.keys()).filter(|path| from.get(path) != to.get(path)).collect();
        for path in paths {
            let in_repository = prefix.join(path.as_path());
            if let Some(reason) = self.unpublishable(path, from.get(path), to.get(path))? {
                return Err(PublishError::Protected { reason });
            }
            if in_repository.starts_with(CI_FOLDER) {
                let reason = format!("`{}` configures CI", in_repository.display());
                return Err(PublishError::Protected { reason });
            }
            lines.push(Line::new(&in_repository, from.get(path), to.get(path))?);
        }
        if lines.is_empty() { Err(PublishError::Empty) } else { Ok(lines) }
    }
}

/// The full name of a branch, if it is one that no part of git reads as something else (git-check-ref-format).
fn reference(branch: &str) -> Result<String, PublishError> {
    let odd = |c: char| c.is_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    let parts_are_plain = branch
        .split('/')
        .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock"));
    if !parts_are_plain || branch.contains("..") || branch.contains("@{") || branch.contains(odd) || branch == "@" {
        return Err(PublishError::Branch(branch.escape_debug().to_string()));
    }
    Ok(format!("refs/heads/{branch}"))
}

/// The branch is somewhere else than the run believes.
#[must_use]
pub fn moved(order: &Order<'_>, found: Option<&CommitSha>) -> PublishError {
    PublishError::Moved {
        branch: order.branch.to_owned(),
        expected: short(order.parent).to_owned(),
        found: found.map_or_else(|| "nowhere".to_owned(), |head| short(head).to_owned()),
    }
}

/// A commit as people name it.
fn short(commit: &CommitSha) -> &str {
    commit.0.get(..7).unwrap_or(&commit.0)
}

/// A path as git's plumbing names it.
fn git_path(path: &Path) -> Result<String, PublishError> {
    let conflict =
        || PublishError::Conflict { path: path.display().to_string(), why: "its name is not UTF-8".to_owned() };
    path.to_str().map(|_| files::slashed(path)).ok_or_else(conflict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_of_branches_are_refused() {
        for name in ["main", "upshift/fix-3f", "feature/ä", "-x", "dependabot/npm/a.b-1.2"] {
            assert_eq!(reference(name).ok(), Some(format!("refs/heads/{name}")), "{name}");
        }
        for name in
            ["", "a..b", "a b", "a:b", "+a:refs/heads/main", "a/", "/a", "a//b", ".a", "a.lock", "a\nb", "@", "a@{1}"]
        {
            assert!(reference(name).is_err(), "{name:?}");
        }
    }
}
