//! Auto-merge: GitHub merges a pull request by itself once everything that it requires is there. Only its GraphQL API can say so.

use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Call, GitHub};
use super::error::{GithubError, Permission};
use super::wire::GRAPHQL;

/// The mutation that asks for it.
const MUTATION: &str = "mutation($pull: ID!, $method: PullRequestMergeMethod!) { enablePullRequestAutoMerge(input: {pullRequestId: $pull, \
                        mergeMethod: $method}) { pullRequest { number } } }";
/// The message for a repository that does not allow it, with the place to change that.
const OFF: &str = "auto-merge is not allowed for this repository → Fix: tick \"Allow auto-merge\" in its settings, and protect the branch \
                   so that there is something to wait for";

/// The ways in which a repository lets pull requests be merged. The server tells them only to accounts that may push.
#[derive(Debug, Clone, Deserialize)]
struct Methods {
    allow_auto_merge: Option<bool>,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
}

impl Methods {
    fn first(&self) -> &'static str {
        // The server keeps the settings from some tokens. Unknown is tried, and refused by the server if need be.
        let allowed = |setting: Option<bool>| setting != Some(false);
        let methods = [
            (self.allow_merge_commit, "MERGE"),
            (self.allow_squash_merge, "SQUASH"),
            (self.allow_rebase_merge, "REBASE"),
        ];
        methods.into_iter().find(|(setting, _)| allowed(*setting)).map_or("MERGE", |(_, method)| method)
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Node {
    node_id: String,
}

impl GitHub {
    /// Has GitHub merge a pull request by itself. Doing so twice is the same as once.
    ///
    /// # Errors
    /// Any [`GithubError`]. A repository that does not allow it is [`GithubError::Refused`], with the setting.
    pub async fn enable_auto_merge(&self, number: u64) -> Result<(), GithubError> {
        let doing = format!("enable auto-merge for #{number}");
        let refused = |message: String| GithubError::Refused { doing: doing.clone(), status: 200, message };
        let call = Call::get(self.at(String::new()), "read the repository", Permission::read("metadata"));
        let methods = (*self.read::<Methods>(call).await?).clone();
        if methods.allow_auto_merge == Some(false) {
            return Err(refused(OFF.to_owned()));
        }
        let call = Call::get(self.at(format!("/pulls/{number}")), doing.clone(), Permission::read("pull-requests"));
        let node = (*self.read::<Node>(call).await?).clone();
        let variables = json!({ "pull": node.node_id, "method": methods.first() });
        let body = json!({ "query": MUTATION, "variables": variables });
        let call = Call::write(Method::POST, GRAPHQL.to_owned(), &body, doing.clone(), Permission::write("contents"));
        // GraphQL answers with status 200 and says in the body that it failed.
        let answer = self.send(&call.repeatable()).await?;
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let errors: Vec<&str> = said
            .get("errors")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|error| error.get("message").and_then(Value::as_str))
            .collect();
        match errors.first() {
            None => Ok(()),
            Some(said) if said.to_ascii_lowercase().contains("auto merge is not allowed") => {
                Err(refused(OFF.to_owned()))
            }
            // Foreign text, cut so that it cannot fill a report.
            Some(_) => Err(refused(errors.join("; ").chars().take(300).collect())),
        }
    }
}
