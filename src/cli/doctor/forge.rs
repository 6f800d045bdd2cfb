//! The doctor's questions to the forge: the rights of the token, whether a push would be taken and start CI, and how long the token lives.

use std::path::Path;

use secrecy::ExposeSecret as _;

use super::finding::Finding;
use super::{waits, workflows};
use crate::cli::environment::Environment;
use crate::cli::{forge, left_credential};
use crate::config::{Plan, Push, WaitFor};
use crate::domain::ci::{CiContext, RepoName};
use crate::github::{GitHub, GithubError, Repository, checks};
use crate::workspace::publish::{CheckedOut, checked_out};

/// The beginning of every installation token of an App.
const INSTALLATION: &str = "ghs_";
/// How long an App's installation token lives (GITHUB 6).
const INSTALLATION_MINUTES: u64 = 60;
/// Rules that keep an ordinary push away from a branch (GITHUB 29).
const AGAINST_PUSHES: [&str; 4] = ["update", "pull_request", "required_signatures", "merge_queue"];

/// A repository, at an API, on a branch.
pub(in crate::cli) struct Place {
    pub(in crate::cli) api_url: String,
    pub(in crate::cli) repository: RepoName,
    branch: Option<String>,
}

/// Looks at the forge, as far as a token lets us.
pub(super) async fn examine(
    plan: &Plan,
    checkout: &Path,
    context: Option<&CiContext>,
    environment: &Environment,
) -> Vec<Finding> {
    let Some(place) = place(context, &checked_out(checkout), environment) else {
        // A laptop without a remote is an honest place to run, as long as nothing is to be pushed.
        let said = "neither the job nor the remote `origin` names a repository on GitHub";
        return if plan.github.push == Push::None {
            vec![Finding::open("Git host", format!("{said}: nothing was checked there, and nothing will be pushed"))]
        } else {
            vec![Finding::problem("forge", said, "set GITHUB_REPOSITORY, or use `push: none`")]
        };
    };
    let Some(token) = forge::token(environment) else {
        if context.is_none() && plan.github.push == Push::None {
            let said = format!(
                "{} was not checked: there is no token here, and nothing will be pushed. To check it: \
                 GITHUB_TOKEN=$(gh auth token) upshift doctor",
                place.repository
            );
            return vec![Finding::open("token", said)];
        }
        let fix = "give the step the input `github-token`, or set GITHUB_TOKEN";
        return vec![Finding::problem("token", format!("there is none for {}", place.repository), fix)];
    };
    let github = match forge::client(environment, &place.api_url, &place.repository, token) {
        Ok(github) => github,
        Err(error) => return vec![Finding::told("Git host", &error.to_string())],
    };
    let repository = match github.repository_info().await {
        Ok(repository) => repository,
        Err(error) => {
            let about = if error.is_token_refused() { "token" } else { "repository" };
            return vec![Finding::told(about, &error.to_string())];
        }
    };
    let mut findings = vec![Finding::ok("repository", place.repository.to_string())];
    findings.extend(rights(plan, &repository));
    findings.extend(super::bots::examine(plan, &github).await);
    let branch = place.branch.unwrap_or_else(|| repository.default_branch.clone());
    findings.extend(reads(plan, checkout, &github, &branch).await);
    if plan.github.push == Push::Pr {
        findings.extend(proposals(&github, environment).await);
    }
    if plan.github.push != Push::None {
        findings.push(rules(plan, &github, &branch).await);
        findings.push(ci(plan, checkout, environment));
        findings.push(lifetime(plan, environment, &github));
    }
    findings
}

/// Where the forge is, by the job or by the checkout.
pub(in crate::cli) fn place(
    context: Option<&CiContext>,
    found: &CheckedOut,
    environment: &Environment,
) -> Option<Place> {
    if let Some(context) = context {
        let branch = context.head_branch.clone().or_else(|| found.branch.clone());
        return Some(Place { api_url: context.api_url.clone(), repository: context.repository.clone(), branch });
    }
    let named = environment.get("GITHUB_REPOSITORY").and_then(RepoName::parse);
    let repository = named.or_else(|| on_github(found.origin.as_deref()?))?;
    let api_url = environment.get("GITHUB_API_URL").unwrap_or("https://api.github.com");
    Some(Place { api_url: api_url.trim_end_matches('/').to_owned(), repository, branch: found.branch.clone() })
}

/// The repository that a remote's address on github.com names.
fn on_github(origin: &str) -> Option<RepoName> {
    let (_, path) = origin.split_once("github.com")?;
    RepoName::parse(path.trim_start_matches([':', '/']).trim_end_matches('/').trim_end_matches(".git"))
}

fn rights(plan: &Plan, repository: &Repository) -> Option<Finding> {
    const ABOUT: &str = "permission to push";
    if plan.github.push == Push::None {
        return None;
    }
    if repository.archived {
        return Some(Finding::problem(ABOUT, "the repository is archived", "use `push: none`, or unarchive it"));
    }
    match repository.permissions {
        Some(rights) if !rights.push => Some(Finding::problem(
            ABOUT,
            "the token is read-only",
            "add `contents: write` to the job's permissions, or use `push: none`",
        )),
        Some(_) => Some(Finding::ok(ABOUT, "the token may push")),
        // An App's token is not told; its first push will tell.
        None => None,
    }
}

/// Reads as a run does: pull requests, checks, the actions' runs.
async fn reads(plan: &Plan, checkout: &Path, github: &GitHub, branch: &str) -> Vec<Finding> {
    let owner = github.repository().owner.clone();
    let mut findings = vec![access("pull requests", github.open_pulls_of(&owner, branch).await.map(|_pulls| ()))];
    match github.branch(branch).await {
        Ok(found) => match github.ci_facts(&found.sha).await {
            Ok(facts) => {
                findings.push(access("checks", Ok(())));
                // A check outside of Actions matters only to a run that waits for CI.
                if plan.github.push != Push::None && plan.github.wait_for != WaitFor::None {
                    let outsiders: Vec<&str> = checks::outsiders(&facts).into_iter().collect();
                    findings.extend(workflows::deaf_to(checkout, &outsiders));
                }
            }
            Err(error) => findings.push(access("checks", Err(error))),
        },
        Err(error) => findings.push(Finding::told("branch", &error.to_string())),
    }
    findings
}

fn access(about: &'static str, answer: Result<(), GithubError>) -> Finding {
    match answer {
        Ok(()) => Finding::ok(about, "can be read"),
        Err(error) => Finding::told(about, &error.to_string()),
    }
}

/// Whether a job's own token may open pull requests: a setting of the repository, which only some tokens may read.
async fn proposals(github: &GitHub, environment: &Environment) -> Option<Finding> {
    const ABOUT: &str = "pull requests by jobs";
    match github.jobs_may_propose().await {
        Ok(Some(true)) => Some(Finding::ok(ABOUT, "may be opened")),
        // The setting binds the job's own token alone. A token that was given opens pull requests regardless.
        Ok(Some(false)) if forge::push_token(environment).is_some() => None,
        Ok(Some(false)) => Some(Finding::problem(
            ABOUT,
            "are not allowed: with `push: pr` a fix would be pushed and not proposed",
            "tick \"Allow GitHub Actions to create and approve pull requests\" under Settings → Actions → General",
        )),
        // Most tokens may not read this setting, which is no fault of theirs.
        Ok(None) => None,
        Err(error) => Some(Finding::told(ABOUT, &error.to_string())),
    }
}

async fn rules(plan: &Plan, github: &GitHub, branch: &str) -> Finding {
    const ABOUT: &str = "rules";
    // With `push: pr` branches begin with `upshift/`, so a rule of the base does not matter.
    let to = if plan.github.push == Push::Pr { "upshift/fix" } else { branch };
    let kinds = match github.branch_rules(to).await {
        Ok(rules) => rules.kinds,
        Err(error) => return Finding::told(ABOUT, &error.to_string()),
    };
    let against: Vec<&str> =
        AGAINST_PUSHES.into_iter().filter(|kind| kinds.iter().any(|found| found == kind)).collect();
    if against.is_empty() {
        return Finding::ok(ABOUT, format!("none forbids a push to `{to}`"));
    }
    let fix = if plan.github.push == Push::Pr {
        "exempt branches that begin with `upshift/` from the ruleset"
    } else {
        "use `push: pr`, or let the token's account bypass the ruleset"
    };
    Finding::problem(ABOUT, format!("`{}` forbids a push to `{to}`", against.join("`, `")), fix)
}

/// Pushes of the job's own token start no CI, or one that waits for somebody's approval (GITHUB 1, 2).
fn ci(plan: &Plan, checkout: &Path, environment: &Environment) -> Finding {
    const ABOUT: &str = "CI after a push";
    if plan.github.wait_for == WaitFor::None {
        return Finding::ok(ABOUT, "is not waited for");
    }
    // On a laptop the token is a person's, and their pushes start CI.
    if forge::push_token(environment).is_some() || !environment.in_actions() {
        return Finding::ok(ABOUT, "starts, since the token is not the job's own");
    }
    if left_credential::left_is_given(environment, checkout) {
        return Finding::ok(ABOUT, "starts, since the token that checkout left is not the job's own");
    }
    Finding::problem(
        ABOUT,
        "does not start, or waits for an approval: the job's own token pushes",
        "give the input `push-token` an App's installation token or a fine-grained personal one, or use `wait-for: none`",
    )
}

fn lifetime(plan: &Plan, environment: &Environment, github: &GitHub) -> Finding {
    const ABOUT: &str = "token's lifetime";
    let needed = waits::Waits::of(plan).minutes;
    let is_an_apps =
        // Only an App's token has a lifetime that can be told by its look.
        forge::push_token(environment).is_some_and(|token| token.expose_secret().starts_with(INSTALLATION));
    if is_an_apps && needed > INSTALLATION_MINUTES {
        return Finding::problem(
            ABOUT,
            format!("an App's token expires after {INSTALLATION_MINUTES} minutes, and a run may take {needed}"),
            "lower max-duration-minutes, ci-timeout-minutes or merge-timeout-minutes",
        );
    }
    match github.usage().token_expires {
        Some(when) => Finding::ok(ABOUT, format!("it expires at {when}; a run may take {needed} minutes")),
        None => Finding::ok(ABOUT, format!("a run may take {needed} minutes")),
    }
}

#[cfg(test)]
mod tests {
    use super::on_github;

    #[test]
    fn the_repository_is_read_from_an_address_on_github() {
        for origin in
            ["https://github.com/acme/shop.git", "git@github.com:acme/shop.git", "https://x:y@github.com/acme/shop/"]
        {
            assert_eq!(on_github(origin).expect(origin).to_string(), "acme/shop");
        }
        assert_eq!(on_github("https://gitlab.com/acme/shop"), None);
        assert_eq!(on_github("https://github.com/acme"), None);
    }
}
