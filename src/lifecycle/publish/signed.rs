//! A fix as a commit that the forge makes and signs: through the API, where nobody names another author (DESIGN §2.6).
//!
//! Invariant: what holds for a push holds here (protected paths, the head that the run believes in, never forced), and a commit that
//! an earlier process made is known again by its tree and its parent, since its name is the forge's business.

use super::super::outside::Outside;
use crate::domain::delivery::BRANCH_PREFIX;
use crate::github::{BranchPlace, Committed, FileChange, FileContent, GitHub, GithubError, NewCommit, Signature};
use crate::workspace::Workspace;
use crate::workspace::publish::{Composed, ComposedFile, Onto, Order, PublishError, Published, Surroundings, moved};

/// The advice where commits cannot be signed.
const UNSIGNED: &str = "→ Fix: push with the job's own token or an App's installation token (a personal token's commits are not signed), or \
                        leave `sign-commits` off";

/// Makes the commit and moves the branch to it.
pub(super) async fn publish(
    workspace: &Workspace,
    outside: &Outside,
    order: &Order<'_>,
) -> Result<Published, PublishError> {
    let around = Surroundings { environment: &outside.environment, stop: &outside.signals };
    let missing = || PublishError::Credential { said: "there is no token for the API".to_owned() };
    let github = outside.committer.as_ref().ok_or_else(missing)?;
    let composed = workspace.carry(order, around).await?;
    let files: Vec<String> = composed.files.iter().map(|file| file.path.clone()).collect();
    let head = github.head_of(order.branch).await.map_err(told)?;
    match (&head, order.onto) {
        (Some(head), Onto::Existing) if head == order.parent => {}
        (None, Onto::New) => {}
        // Either an earlier process of this run made the commit and died, or somebody else pushed.
        (Some(head), Onto::Existing | Onto::New) => {
            if !github.is_made(head, order.parent, &composed.tree).await.map_err(told)? {
                return Err(moved(order, Some(head)));
            }
            return Ok(Published { commit: head.clone(), files, found: true });
        }
        (None, Onto::Existing) => return Err(moved(order, None)),
    }
    commit(github, order, composed, files).await
}

async fn commit(
    github: &GitHub,
    order: &Order<'_>,
    composed: Composed,
    files: Vec<String>,
) -> Result<Published, PublishError> {
    let new = NewCommit {
        branch: order.branch.to_owned(),
        place: match order.onto {
            Onto::Existing => BranchPlace::Existing,
            Onto::New => BranchPlace::New,
        },
        parent: order.parent.clone(),
        message: order.message.to_owned(),
        files: composed.files.into_iter().map(change).collect(),
        signature: Signature::Required,
    };
    match github.commit_files(&new).await.map_err(|error| refused(order.branch, error))? {
        Committed::Done(commit) => Ok(Published { commit, files, found: false }),
        // Somebody pushed between our look and the commit.
        Committed::HeadMoved => {
            let head = github.head_of(order.branch).await.map_err(told)?;
            Err(moved(order, head.as_ref()))
        }
        Committed::Unsigned(reason) => {
            Err(PublishError::Api { said: format!("GitHub did not sign it ({reason}) {UNSIGNED}") })
        }
    }
}

fn change(file: ComposedFile) -> FileChange {
    let content = match file.content {
        None => FileContent::Deleted,
        Some(("100755", bytes)) => FileContent::Executable(bytes),
        Some(("120000", target)) => FileContent::Link(target),
        Some((_, bytes)) => FileContent::Plain(bytes),
    };
    FileChange { path: file.path, content }
}

/// The words by which GitHub refuses to move a branch for a rule of the repository or a protected branch.
const RULES: [&str; 5] =
    ["rule violations", "through a pull request", "protected branch", "status check", "approving review"];

/// The error in our words, where the branch was to be moved: a rule forbids it in the same way as a push.
fn refused(branch: &str, error: GithubError) -> PublishError {
    if let GithubError::Refused { status: 422, message, .. } = &error {
        let said = message.to_lowercase();
        if RULES.iter().any(|words| said.contains(words)) {
            return PublishError::Rule { said: message.clone(), to_ours: branch.starts_with(BRANCH_PREFIX) };
        }
    }
    told(error)
}

/// The error in our words. A forge without these endpoints has a word of its own.
fn told(error: GithubError) -> PublishError {
    if let GithubError::Stopped(_) = error {
        return PublishError::Stopped;
    }
    // What may be over soon is no word about this commit. An expired token does not come back within this job.
    if error.is_passing() && !error.is_token_refused() {
        return PublishError::Unreachable { said: error.to_string() };
    }
    let way_out = if error.is_missing_endpoint() {
        "; if the Git host has no API for commits, leave `sign-commits` off"
    } else {
        ""
    };
    PublishError::Api { said: format!("{error}{way_out}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_forbids_the_commit_gets_the_advice_of_one_that_forbids_a_push() {
        let error = |status, message: &str| {
            let (doing, message) = ("move branch topic".to_owned(), message.to_owned());
            GithubError::Refused { doing, status, message }
        };
        for rule in ["Changes must be made through a pull request.", "Repository rule violations found"] {
            assert!(refused("topic", error(422, rule)).to_string().contains("use `push: pr`"), "{rule}");
            let ours = refused("upshift/fix-1", error(422, rule)).to_string();
            assert!(!ours.contains("push: pr") && ours.contains("`upshift/`"), "{ours}");
        }
        assert!(matches!(refused("topic", error(422, "Object does not exist")), PublishError::Api { .. }));
        // The host's own trouble is no rule, and passes.
        assert!(matches!(refused("topic", error(500, "rule violations")), PublishError::Unreachable { .. }));
    }
}
