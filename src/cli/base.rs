//! Configuration of a job that is about a pull request: read from the commit that the pull request goes to, through the API, never
//! from the checkout, where its sender may have written it (DESIGN §2.2).
//!
//! Invariant: the base's configuration is used or the run is refused. A file that cannot be read there is never taken for one that is not
//! there, since caps and protected paths may stand in it.

use std::path::{Component, Path, PathBuf};

use tokio::runtime::Runtime;

use super::environment::{Environment, from_here};
use super::{forge, place};
use crate::config::FileContent;
use crate::domain::ci::{CiContext, PullRequestRef};
use crate::github::{GitHub, GithubError};

/// The branch that a repository without another word is read from.
const DEFAULT_BRANCH: &str = "HEAD";

/// The base of a pull request, open for reading.
pub(super) struct Base {
    runtime: Runtime,
    github: GitHub,
    /// A commit, or the default branch where no pull request is found.
    at: String,
    /// The top of the repository in this checkout.
    top: PathBuf,
    here: PathBuf,
}

impl Base {
    /// Finds out which commit the base is. `None` without a token, where the gate refuses.
    ///
    /// # Errors
    /// When it cannot be told.
    pub(super) fn open(
        context: &CiContext,
        environment: &Environment,
        here: &Path,
    ) -> anyhow::Result<Option<Result<Self, GithubError>>> {
        let Some(token) = forge::token(environment) else { return Ok(None) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let opened = runtime.block_on(async {
            let github = forge::client(environment, &context.api_url, &context.repository, token)?;
            let at = commit(&github, context).await?;
            Ok((github, at))
        });
        let here = crate::files::real_place(here)?;
        // A checkout without `.git` reads as its own top, so that paths are still told from one folder.
        let top = place::top(&here).unwrap_or(&here).to_owned();
        Ok(Some(opened.map(|(github, at)| Self { runtime, github, at, top, here })))
    }

    /// Where it reads.
    pub(super) fn place(&self) -> String {
        format!("{} at {}", self.github.repository(), self.at.get(..7).unwrap_or(&self.at))
    }

    /// A file as it is there.
    pub(super) fn read(&self, typed: &str) -> FileContent {
        // Outside the repository lies the runner, where code of the pull request may have put a file of its choice.
        let Some(path) = self.in_repository(typed) else {
            let why = "in a pull request only files of the repository are read, from its base commit";
            return FileContent::Unreadable(why.to_owned());
        };
        match self.runtime.block_on(self.github.file(&path, &self.at)) {
            Ok(None) => FileContent::Missing,
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => FileContent::Text(text),
                Err(_invalid) => FileContent::Unreadable("it is not UTF-8 text".to_owned()),
            },
            Err(error) => FileContent::Unreadable(error.to_string()),
        }
    }

    /// A path from the top of the repository. Its folders need not exist in this checkout.
    fn in_repository(&self, typed: &str) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        let whole = from_here(&self.here, typed);
        for part in whole.strip_prefix(&self.top).ok()?.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) => parts.push(name.to_str()?.to_owned()),
                // `..` above the top ends here: `pop` finds nothing, and the path is refused.
                Component::ParentDir => drop(parts.pop()?),
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        (!parts.is_empty()).then(|| parts.join("/"))
    }
}

/// The commit that the pull request goes to. For a branch without a pull request, it is the default branch.
async fn commit(github: &GitHub, context: &CiContext) -> Result<String, GithubError> {
    let default = || context.default_branch.clone().unwrap_or_else(|| DEFAULT_BRANCH.to_owned());
    Ok(match &context.pull_request {
        PullRequestRef::Known(pull) => pull.base_sha.0.clone(),
        PullRequestRef::Number(number) => github.pull(*number).await?.base.sha.0,
        PullRequestRef::Head => {
            let Some(branch) = &context.head_branch else { return Ok(default()) };
            // Only the owner's own branches are asked for: a fork's branch of the same name is another branch.
            let pulls = github.open_pulls_of(&context.repository.owner, branch).await?;
            pulls.into_iter().next().map_or_else(default, |pull| pull.base.sha.0)
        }
        PullRequestRef::None => default(),
    })
}
