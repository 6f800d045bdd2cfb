//! Where a fix goes and what lets us in: from the job's context, or from the checkout's own words, and the tokens given.
//!
//! Invariant: a delivery that was asked for and cannot be done is an error before any model call. A mere default that cannot be done stays
//! undone, and a message says so.

use std::path::Path;
use std::sync::Arc;

use secrecy::SecretString;

use super::environment::Environment;
use super::left_credential::{GITHUB, left_in};
use super::setup::Setup;
use super::step::Step;
use super::{Failure, forge};
use crate::config::{Origin, Plan, Push};
use crate::domain::ci::{CiContext, EventKind, Forge, PullRequestRef, RepoName};
use crate::domain::delivery::Destination;
use crate::domain::stop::Stop;
use crate::lifecycle::outside::{Counting, Outside};
use crate::lifecycle::state::RunState;
use crate::policy::attempts::Wish;
use crate::workspace::publish::{Access, CheckedOut, Remote, checked_out};

/// That address.
const GITHUB_API: &str = "https://api.github.com";
/// Where the API of a GitHub Enterprise Server is.
const SERVER_API: &str = "/api/v3";

/// The destination of a fix of this plan. `None` where it stays in the tree.
///
/// # Errors
/// A push that was asked for and has nowhere to go or nothing to go with (exit 2).
pub(super) fn destination(
    plan: &mut Plan,
    context: Option<&CiContext>,
    checkout: &Path,
    environment: &Environment,
) -> anyhow::Result<Option<Destination>> {
    let found = checked_out(checkout);
    let destination = match context {
        Some(context) => of_context(context, &found),
        None => of_checkout(&found, environment),
    };
    if plan.github.push == Push::None {
        // Nothing is pushed, but the comment still has to know the place.
        return Ok(destination.ok());
    }
    // Without a way in, a run would pay for a fix and lose it at the push.
    let way_in = destination.as_ref().ok().and_then(|found| access(environment, checkout, &found.url()));
    let fault = match (&destination, way_in) {
        (Err(why), _) => Some(why.clone()),
        (Ok(_), None) => Some(
            "there is no token to push with → Fix: set `github-token` (or `push-token`), or GITHUB_TOKEN".to_owned(),
        ),
        (Ok(_), Some(_)) => None,
    };
    if let Some(fault) = fault {
        cannot_push(plan, &fault)?;
    }
    Ok(destination.ok())
}

/// The end of a push that somebody asked for and that cannot be done. A mere default gives way, and a warning says so.
///
/// # Errors
/// The push was asked for (exit 2).
pub(super) fn cannot_push(plan: &mut Plan, fault: &str) -> anyhow::Result<()> {
    // Only a wish that somebody wrote is an error. The default gives way to what this checkout can do.
    let by_default = plan.values.iter().any(|value| value.key == "github.push" && value.origin == Origin::Default);
    if !by_default {
        let push = plan.github.push;
        return Err(Failure::usage(format!("`push: {push}` cannot be done: {fault}\nNo LLM calls were made.")));
    }
    plan.github.push = Push::None;
    plan.warnings.push(format!("a fix will stay in the working tree: {fault}"));
    Ok(())
}

/// The forge that this checkout is of: the addresses of its server and of its API, and the repository. `None` where none is known.
pub(super) fn forge_here(
    context: Option<&CiContext>,
    checkout: &Path,
    environment: &Environment,
) -> Option<(String, String, RepoName)> {
    if let Some(context) = context {
        return Some((context.server_url.clone(), context.api_url.clone(), context.repository.clone()));
    }
    let (server_url, repository) = split_origin(&checked_out(checkout).origin?)?;
    let api_url = api_of(&server_url, environment);
    Some((server_url, api_url, repository))
}

fn of_context(context: &CiContext, found: &CheckedOut) -> Result<Destination, String> {
    // Events such as a schedule carry no head, so the checkout's own is taken.
    let head = context.head_sha.clone().or_else(|| found.head.clone());
    let branch = context.head_branch.clone().or_else(|| found.branch.clone());
    let (Some(head), Some(branch)) = (head, branch) else {
        let event = context.event.as_str();
        return Err(format!("the event `{event}` does not say which branch it is about → Fix: use `push: none` there"));
    };
    Ok(Destination {
        server_url: context.server_url.clone(),
        api_url: context.api_url.clone(),
        repository: context.repository.clone(),
        branch,
        head,
        pull_request: context.pull_request_number(),
        base: match &context.pull_request {
            PullRequestRef::Known(pull) => Some(pull.base_branch.clone()),
            PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head => None,
        },
    })
}

fn of_checkout(found: &CheckedOut, environment: &Environment) -> Result<Destination, String> {
    let origin = found
        .origin
        .as_deref()
        .ok_or("the checkout has no remote `origin` → Fix: `git remote add origin URL`, or `--push none`")?;
    let (server_url, repository) = split_origin(origin).ok_or(
        "the remote `origin` is not the address of a Git host → Fix: use one like https://github.com/owner/name",
    )?;
    let (Some(head), Some(branch)) = (found.head.clone(), found.branch.clone()) else {
        return Err("no branch is checked out → Fix: `git switch` to one".to_owned());
    };
    let api_url = api_of(&server_url, environment);
    Ok(Destination { server_url, api_url, repository, branch, head, pull_request: None, base: None })
}

/// The address of a server's API.
fn api_of(server_url: &str, environment: &Environment) -> String {
    match environment.get("GITHUB_API_URL") {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None if server_url == GITHUB => GITHUB_API.to_owned(),
        None => format!("{server_url}{SERVER_API}"),
    }
}

/// The repository that a remote's address names.
pub(super) fn repository_of(origin: &str) -> Option<RepoName> {
    split_origin(origin).map(|(_, repository)| repository)
}

/// The server and the repository of a remote's address, over HTTP or SSH.
fn split_origin(origin: &str) -> Option<(String, RepoName)> {
    // `https://github.com/o/n.git/` and `https://github.com/o/n` name the same repository.
    let origin = origin.trim().trim_end_matches('/').trim_end_matches(".git");
    let (server, path) = match origin.split_once("://") {
        Some((scheme @ ("http" | "https"), rest)) => {
            let (host, path) = rest.split_once('/')?;
            // A user and a token may stand before the last `@`. Neither goes into an address that is shown.
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            (format!("{scheme}://{host}"), path)
        }
        Some(("ssh", rest)) => {
            let (host, path) = rest.split_once('/')?;
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            // An SSH port says nothing of the port on which the server speaks HTTPS.
            (format!("https://{}", host.split(':').next().unwrap_or(host)), path)
        }
        Some(_) => return None,
        None => {
            // The short form of SSH: `git@github.com:owner/name`. A Windows path `C:/x` fails at the name's shape.
            let (host, path) = origin.split_once(':')?;
            (format!("https://{}", host.rsplit_once('@').map_or(host, |(_, host)| host)), path)
        }
    };
    Some((server, RepoName::parse(path)?))
}

/// The authorisation of a push: the token given for it, else the credential that checkout left for this server, else the API's token.
pub(super) fn access(environment: &Environment, checkout: &Path, url: &str) -> Option<Access> {
    let given = forge::push_token(environment).map(Access::Token);
    // It is read lazily: looking for it opens git's configuration.
    let left = || left_in(environment, checkout, url).map(|left| Access::Header(left.header));
    // The API's token comes last: mostly it is the job's own, whose pushes start no CI.
    given.or_else(left).or_else(|| forge::token(environment).map(Access::Token))
}

/// The token that pushes, where it is another than the API's.
fn given(environment: &Environment, checkout: &Path, url: &str) -> Option<SecretString> {
    forge::push_token(environment).or_else(|| left_in(environment, checkout, url).and_then(|left| left.token))
}

/// The means of a run to deliver. `None` where it has no destination.
///
/// # Errors
/// An address or a token that cannot be used (exit 2).
pub(super) fn outside(setup: &Setup<'_>, state: &RunState, signals: &Stop) -> anyhow::Result<Option<Outside>> {
    let Some(destination) = &state.destination else { return Ok(None) };
    let environment = setup.environment;
    let place = (destination.api_url.as_str(), &destination.repository);
    let connect = |token| forge::connect(environment, place, token, Arc::clone(&setup.clock), signals.clone());
    let connected =
        |token: Option<SecretString>| token.map(connect).transpose().map_err(|error| Failure::usage(error.to_string()));
    // The API takes part where there is a token. A push alone also goes with the credential that checkout left.
    let github = connected(forge::token(environment))?;
    let fallback = connected(forge::job_token(environment))?;
    // GitHub signs commits that are made through its API. They must be made with the token that pushes, or no CI starts.
    let committer = match state.plan.github.sign_commits.then(|| given(environment, setup.checkout, &destination.url()))
    {
        Some(Some(token)) => connected(Some(token))?,
        Some(None) => github.clone(),
        None => None,
    };
    let run = setup.context.map(|context| &context.run);
    Ok(Some(Outside {
        remote: Remote { url: destination.url(), access: access(environment, setup.checkout, &destination.url()) },
        github,
        fallback,
        committer,
        environment: environment.raw().clone(),
        own_run: run.map(|run| run.id),
        // The run's own checks would wait for themselves.
        own_workflows: run.and_then(|run| run.workflow_path.clone()).into_iter().collect(),
        counting: counting(setup, state),
        signals: signals.clone(),
    }))
}

/// Runs of a branch that propose their fix are counted by what they are to mend: a nightly one repeats for ever.
fn counting(setup: &Setup<'_>, state: &RunState) -> Counting {
    let keeps_logs = Step::of(setup.environment).is_some_and(Step::is_the_action);
    // A run of a pull request is counted by its comment already.
    let context = setup.context.filter(|context| keeps_logs && context.forge == Forge::Github && state.runs.is_none());
    let Some(context) = context else { return Counting::Off };
    let wish = if context.event == EventKind::WorkflowDispatch { Wish::Person } else { Wish::Event };
    Counting::ByLogs { wish, default_branch: context.default_branch.clone() }
}

#[cfg(test)]
mod tests {
    use super::split_origin;

    #[test]
    fn the_address_of_a_remote_tells_server_and_repository() {
        for (origin, server) in [
            ("https://github.com/acme/shop.git", "https://github.com"),
            ("https://x:y@github.com/acme/shop", "https://github.com"),
            ("git@github.com:acme/shop.git", "https://github.com"),
            ("ssh://git@ghe.example:22/acme/shop/", "https://ghe.example"),
            ("http://127.0.0.1:8080/acme/shop", "http://127.0.0.1:8080"),
        ] {
            let (found, repository) = split_origin(origin).expect(origin);
            assert_eq!((found.as_str(), repository.to_string().as_str()), (server, "acme/shop"), "{origin}");
        }
        for odd in ["/srv/git/shop", "file:///srv/shop", "../shop", "https://github.com/shop"] {
            assert_eq!(split_origin(odd), None, "{odd}");
        }
    }
}
