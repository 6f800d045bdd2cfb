//! Commits made through the API: GitHub signs those of a bot when they name no author.
//!
//! Invariant: a branch is only ever moved forward, from the commit that the caller believes it at. It is never forced.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission, shown};
use super::path::escaped_path;
use crate::domain::units::CommitSha;

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the repository, with `/`.
    pub path: String,
    /// Its new content.
    pub content: FileContent,
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// A plain file.
    Plain(Vec<u8>),
    /// A file that may be run.
    Executable(Vec<u8>),
    /// A symbolic link: the path that it leads to.
    Link(Vec<u8>),
    /// Gone.
    Deleted,
}

/// A commit to be made on a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// The branch. Made when [`NewCommit::place`] says so.
    pub branch: String,
    /// Whether the branch is there.
    pub place: BranchPlace,
    /// The commit that it stands on, and that the branch has to be at.
    pub parent: CommitSha,
    /// Its message.
    pub message: String,
    /// The changed files.
    pub files: Vec<FileChange>,
    /// Whether it must be signed.
    pub signature: Signature,
}

/// Whether a branch is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchPlace {
    /// It is moved.
    Existing,
    /// It is made.
    New,
}

/// The result of making a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// The branch is at it.
    Done(CommitSha),
    /// The branch had moved meanwhile, and nothing was overwritten.
    HeadMoved,
    /// GitHub did not sign it, and the branch was left as it is: the reason, in GitHub's word.
    Unsigned(String),
}

/// Whether a commit must be signed by the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signature {
    /// The branch is not moved to one that is not.
    Required,
    /// It does not matter.
    Optional,
}

#[derive(Deserialize)]
struct Sha {
    sha: String,
}

#[derive(Deserialize)]
struct GitCommit {
    tree: Sha,
    #[serde(default)]
    parents: Vec<Sha>,
}

#[derive(Deserialize)]
struct Made {
    sha: String,
    verification: Option<Verification>,
}

#[derive(Default, Deserialize)]
struct Verification {
    #[serde(default)]
    verified: bool,
    #[serde(default, deserialize_with = "super::text_or_null")]
    reason: String,
}

const CONTENTS: &str = "contents";

impl GitHub {
    /// The commit that a branch is at. `None` if there is no such branch.
    ///
    /// # Errors
    /// Any [`GithubError`] but not found.
    pub async fn head_of(&self, branch: &str) -> Result<Option<CommitSha>, GithubError> {
        #[derive(Deserialize)]
        struct Reference {
            object: Sha,
        }
        let path = self.at(format!("/git/ref/heads/{}", escaped_path(branch)));
        let call = Call::get(path, format!("read branch {branch}"), Permission::read(CONTENTS));
        match self.read::<Reference>(call).await {
            Ok(reference) => Ok(Some(CommitSha(reference.object.sha.clone()))),
            Err(GithubError::NotFound { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Makes a commit of these files and moves the branch to it. Everything before the last step leaves no trace.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn commit_files(&self, new: &NewCommit) -> Result<Committed, GithubError> {
        let path = self.at(format!("/git/commits/{}", escaped_path(&new.parent.0)));
        let parent = self.read::<GitCommit>(Call::get(path, "read the parent commit", Permission::read(CONTENTS)));
        let base_tree = parent.await?.tree.sha.clone();
        // Nobody sees blobs and trees that no commit holds.
        let mut entries = Vec::new();
        for file in &new.files {
            entries.push(self.tree_entry(file).await?);
        }
        let tree = self.make("/git/trees", &json!({ "base_tree": base_tree, "tree": entries }), "store a tree").await?;
        let body = json!({ "message": new.message, "tree": tree, "parents": [new.parent.0] });
        let call =
            Call::write(Method::POST, self.at("/git/commits"), &body, "make a commit", Permission::write(CONTENTS));
        // Twice leaves one unused.
        let made: Made = self.wrote(call.repeatable()).await?;
        let verification = made.verification.unwrap_or_default();
        // Before the branch is moved, so that an unsigned commit never shows.
        if new.signature == Signature::Required && !verification.verified {
            return Ok(Committed::Unsigned(shown(&verification.reason)));
        }
        self.move_branch(new, CommitSha(made.sha)).await
    }

    /// Whether a commit is the one that would be made: of this tree, on top of this parent alone.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub async fn is_made(&self, commit: &CommitSha, parent: &CommitSha, tree: &str) -> Result<bool, GithubError> {
        let path = self.at(format!("/git/commits/{}", escaped_path(&commit.0)));
        let call = Call::get(path, format!("read commit {commit}"), Permission::read(CONTENTS));
        let found = self.read::<GitCommit>(call).await?;
        let parents: Vec<&str> = found.parents.iter().map(|parent| parent.sha.as_str()).collect();
        Ok(found.tree.sha == tree && parents == [parent.0.as_str()])
    }

    /// Stores something that its content names: doing it twice is doing it once.
    async fn make(&self, route: &str, body: &Value, doing: &str) -> Result<String, GithubError> {
        let call = Call::write(Method::POST, self.at(route), body, doing, Permission::write(CONTENTS)).repeatable();
        Ok(self.wrote::<Sha>(call).await?.sha)
    }

    async fn tree_entry(&self, file: &FileChange) -> Result<Value, GithubError> {
        let (mode, bytes) = match &file.content {
            FileContent::Plain(bytes) => ("100644", bytes),
            FileContent::Executable(bytes) => ("100755", bytes),
            FileContent::Link(target) => ("120000", target),
            FileContent::Deleted => {
                // An object of null removes the path. The mode is asked for all the same.
                return Ok(json!({ "path": file.path, "mode": "100644", "type": "blob", "sha": null }));
            }
        };
        let body = json!({ "content": STANDARD.encode(bytes), "encoding": "base64" });
        let blob = self.make("/git/blobs", &body, &format!("store {}", file.path)).await?;
        Ok(json!({ "path": file.path, "mode": mode, "type": "blob", "sha": blob }))
    }

    async fn move_branch(&self, new: &NewCommit, commit: CommitSha) -> Result<Committed, GithubError> {
        let permission = Permission::write(CONTENTS);
        let call = match new.place {
            BranchPlace::Existing => {
                let path = self.at(format!("/git/refs/heads/{}", escaped_path(&new.branch)));
                // The server then refuses what would lose somebody's commits.
                let body = json!({ "sha": commit.0, "force": false });
                Call::write(Method::PATCH, path, &body, format!("move branch {}", new.branch), permission)
            }
            BranchPlace::New => {
                let body = json!({ "ref": format!("refs/heads/{}", new.branch), "sha": commit.0 });
                Call::write(
                    Method::POST,
                    self.at("/git/refs"),
                    &body,
                    format!("make branch {}", new.branch),
                    permission,
                )
            }
        };
        match self.send(&call).await {
            Ok(_answer) => Ok(Committed::Done(commit)),
            // Not a fast-forward, there already, or an answer that got lost: the branch itself tells.
            Err(error @ (GithubError::Refused { status: 409 | 422, .. } | GithubError::Unanswered { .. })) => {
                // Asked anew, since the head that was read before is what may have changed.
                match self.head_of(&new.branch).await? {
                    Some(head) if head == commit => Ok(Committed::Done(commit)),
                    Some(head) if head != new.parent => Ok(Committed::HeadMoved),
                    _ => Err(error),
                }
            }
            Err(other) => Err(other),
        }
    }
}
