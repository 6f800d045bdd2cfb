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
mod order;
mod rebase;

use super::Workspace;
use crate::domain::units::CommitSha;

pub use credential::{Left, left_by_checkout};
pub(super) use head::HEADS;
pub use head::{CheckedOut, checked_out, operation_under_way, repository_at};
pub use order::{Access, Author, Composed, ComposedFile, Onto, Order, PublishError, Published, Remote, Surroundings};

pub use rebase::Rebased;

use carry::Line;
pub(super) use git::inherited;
use git::{Git, Scratch};

/// The folder at the top of a repository that GitHub reads. It is never pushed, also where the checkout is a folder inside it.
const CI_FOLDER: &str = ".github";

impl Workspace {
    /// Commits the change between two recorded states on top of a commit of the remote, and pushes it.
    ///
    /// # Errors
    /// [`PublishError`], by what a person can do about it. Nothing was pushed then.
    pub async fn publish(&self, order: &Order<'_>, around: Surroundings<'_>) -> Result<Published, PublishError> {
        // All that can be refused without the network is refused before it is used.
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
        // Before the branch is judged: a killed process may have pushed this very commit, which its name tells.
        let (commit, files) = carry::commit(&git, order, &carried).await?;
        match (&head, order.onto) {
            (Some(head), _) if *head == commit => return Ok(Published { commit, files, found: true }),
            (Some(head), Onto::Existing) if head == order.parent => {}
            (None, Onto::New) => {}
            (found, Onto::Existing | Onto::New) => return Err(moved(found.as_ref())),
        }
        match git.push(&commit, &reference).await {
            Ok(()) => Ok(Published { commit, files, found: false }),
            // A push that worked and whose answer was lost is repeated, and then finds the branch moved by itself.
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

    /// The parent's tree with a change in it, for a caller that makes the commit elsewhere. Nothing is pushed.
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

    /// The head of a branch on the remote. `None` when there is no such branch.
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
        let (from, to) = (store.load(order.from)?, store.load(order.to)?);
        let prefix = head::folder_in_repository(self.root());
        let mut lines = Vec::new();
        let paths: std::collections::BTreeSet<_> =
            from.keys().chain(to.keys()).filter(|path| from.get(path) != to.get(path)).collect();
        for path in paths {
            let in_repository = prefix.join(path.as_path());
            if let Some(reason) = self.unpublishable(path, from.get(path), to.get(path))? {
                return Err(PublishError::Protected { reason });
            }
            // CI runs what it is told to, with the repository's secrets.
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

/// The error of a branch that is not where the run believes.
#[must_use]
pub fn moved(order: &Order<'_>, found: Option<&CommitSha>) -> PublishError {
    let branch = order.branch.to_owned();
    match found {
        Some(head) => {
            PublishError::Moved { branch, expected: short(order.parent).to_owned(), found: short(head).to_owned() }
        }
        None => PublishError::Gone { branch },
    }
}

/// A commit as people name it.
fn short(commit: &CommitSha) -> &str {
    commit.0.get(..7).unwrap_or(&commit.0)
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
