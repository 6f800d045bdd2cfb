//! The issues of a label, read from the forge: what they say is data, and a command among it is run for those alone who may push.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::doctor::place;
use super::super::environment::Environment;
use super::super::{Failure, context, forge};
use crate::github::{GitHub, GithubError, ListedIssue};
use crate::lifecycle::rank_of;
use crate::policy::command::Rank;
use crate::tracker::{IssueText, Task, issue_tasks};
use crate::workspace::publish::checked_out;

/// The most issues that are read.
const MOST: usize = 500;
/// The most issues that are asked for beside those, since others wait for them.
const MOST_ASKED: usize = 50;

/// The open issues with a label as tasks.
///
/// # Errors
/// Where no repository or token is known, or the forge does not answer (exit 2).
pub(super) async fn tasks(label: &str, checkout: &Path, environment: &Environment) -> anyhow::Result<Vec<Task>> {
    let context = context::read(environment).map_err(|error| Failure::usage(error.to_string()))?;
    let Some(place) = place(context.as_ref(), &checked_out(checkout), environment) else {
        return Err(Failure::usage(
            "neither the job nor the remote `origin` names a repository on GitHub whose issues to read\n→ Fix: set GITHUB_REPOSITORY to owner/name",
        ));
    };
    let Some(token) = forge::token(environment) else {
        return Err(Failure::usage(
            "there is no token to read issues with\n→ Fix: set GITHUB_TOKEN; it needs `issues: read`",
        ));
    };
    let read = async {
        let github = forge::client(environment, &place.api_url, &place.repository, token)?;
        read(&github, label).await
    };
    read.await.map_err(|error: GithubError| {
        Failure::usage(format!("the issues with the label {label:?} cannot be read: {error}"))
    })
}

async fn read(github: &GitHub, label: &str) -> Result<Vec<Task>, GithubError> {
    let mut ranks: BTreeMap<String, Rank> = BTreeMap::new();
    let mut issues = Vec::new();
    for issue in github.issues_with(label, MOST).await? {
        let ListedIssue { number, title, body, labels, author, .. } = issue;
        let mut text = IssueText { number, title, body, labels, is_trusted: false };
        // Only a command needs trust, since it is run as it stands. A test's name runs nothing new.
        if let Some(author) = author.filter(|author| text.names_a_command() && !author.is_bot()) {
            let rank = match ranks.get(&author.login) {
                Some(rank) => *rank,
                // Each author is asked for once, whatever number of issues they wrote.
                None => rank_of(github.role_of(&author.login).await?),
            };
            ranks.insert(author.login, rank);
            // A command in an issue of somebody without the right to push would run on this machine.
            text.is_trusted = rank > Rank::Stranger;
        }
        issues.push(text);
    }
    let is_listed = |number: &u64| issues.iter().any(|issue| issue.number == *number);
    let others = issues.iter().flat_map(IssueText::awaited).filter(|number| !is_listed(number));
    // An issue can name any number of others, and each is a request.
    let others: std::collections::BTreeSet<u64> = others.take(MOST_ASKED).collect();
    let mut open = Vec::new();
    for number in others {
        match github.issue(number).await {
            Ok(issue) if issue.open => open.push(number),
            // One that was deleted or moved away holds nobody up.
            Ok(_) | Err(GithubError::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(issue_tasks(&issues, &|number| open.contains(&number)))
}
