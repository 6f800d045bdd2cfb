//! The place where the program runs: a laptop, or a job for some event. It is parsed once, from the environment and the event's payload.
//!
//! Owns what may go wrong on the way. Invariant: a payload is hostile (anybody may have written most of it), so it is read up to
//! a size, each value is checked for its shape, and what does not fit is an error that says where.

mod error;
mod payload;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Read as _;

use serde_json::Value;

use super::environment::Environment;
use crate::domain::ci::{Account, AccountKind, CiContext, EventKind, Forge, JobRun, RepoName};
use error::ContextError;
use payload::Payload;
pub(super) use payload::sha;

/// The largest event payload that is read, in bytes. GitHub's own limit for webhooks is 25 MB.
const MAX_PAYLOAD_BYTES: u64 = 25 * 1024 * 1024;
/// The end of the path of Gitea's and Forgejo's API.
const GITEA_API: &str = "/api/v1";

/// Finds out which event triggered this process. `None` on somebody's own machine.
///
/// # Errors
/// [`ContextError`]: what is not known is not trusted.
pub(super) fn read(environment: &Environment) -> Result<Option<CiContext>, ContextError> {
    if !environment.in_actions() {
        return Ok(None);
    }
    let payload = match environment.get("GITHUB_EVENT_PATH") {
        Some(path) => load(path)?,
        // An event that nobody's data belongs to (a clock, a click) needs none; the others miss their fields below.
        None => Value::Null,
    };
    parse(environment, &payload).map(Some)
}

fn load(path: &str) -> Result<Value, ContextError> {
    let fail = |why: String| ContextError::Payload { path: path.to_owned(), why };
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let mut text = Vec::new();
    file.take(MAX_PAYLOAD_BYTES + 1).read_to_end(&mut text).map_err(|error| fail(error.to_string()))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_PAYLOAD_BYTES {
        return Err(fail(format!("it has more than {MAX_PAYLOAD_BYTES} bytes")));
    }
    serde_json::from_slice(&text).map_err(|error| fail(error.to_string()))
}

/// The context that the environment and the payload give together.
fn parse(environment: &Environment, payload: &Value) -> Result<CiContext, ContextError> {
    let variable = |name: &'static str| {
        environment.get(name).map(str::trim).ok_or(ContextError::Variable { name, what: "not set" })
    };
    let event = EventKind::from_name(variable("GITHUB_EVENT_NAME")?);
    let repository = RepoName::parse(variable("GITHUB_REPOSITORY")?)
        .ok_or(ContextError::Variable { name: "GITHUB_REPOSITORY", what: "not of the form owner/name" })?;
    let server_url = address(environment, "GITHUB_SERVER_URL", "https://github.com")?;
    let api_url = address(environment, "GITHUB_API_URL", "https://api.github.com")?;
    let payload = Payload::new(payload);
    let said = payload::said(&event, &payload, environment)?;
    let account = |name: &str| environment.get(name).and_then(|login| payload::account(login, AccountKind::Unknown));
    Ok(CiContext {
        forge: forge(environment, &server_url, &api_url),
        action: payload.text("action").map(str::to_owned),
        repository,
        default_branch: payload.text("repository.default_branch").and_then(payload::branch),
        actor: actor(&event, &payload, account("GITHUB_ACTOR")),
        triggering_actor: account("GITHUB_TRIGGERING_ACTOR"),
        upstream: said.upstream,
        pull_request: said.pull_request,
        head_sha: said.head_sha,
        head_branch: said.head_branch,
        head_message: said.head_message,
        comment: said.comment,
        run: job(environment)?,
        event,
        server_url,
        api_url,
    })
}

/// The payload's sender, who is also known by kind, before the runner's `GITHUB_ACTOR`. `None` for a schedule.
fn actor(event: &EventKind, payload: &Payload<'_>, named: Option<Account>) -> Option<Account> {
    if *event == EventKind::Schedule {
        return None;
    }
    payload.account("sender").or(named)
}

fn job(environment: &Environment) -> Result<JobRun, ContextError> {
    let number = |name: &'static str| {
        let text = environment.get(name).ok_or(ContextError::Variable { name, what: "not set" })?;
        text.trim().parse().map_err(|_text| ContextError::Variable { name, what: "not a number" })
    };
    let attempt = if environment.get("GITHUB_RUN_ATTEMPT").is_some() { number("GITHUB_RUN_ATTEMPT")? } else { 1 };
    // `owner/name/.github/workflows/file.yml@refs/heads/main`
    let path = environment.get("GITHUB_WORKFLOW_REF").and_then(|full| {
        let (file, _) = full.split_once('@')?;
        file.splitn(3, '/').nth(2).map(str::to_owned)
    });
    let text = |name: &str| environment.get(name).unwrap_or_default().to_owned();
    Ok(JobRun {
        id: number("GITHUB_RUN_ID")?,
        attempt,
        workflow: text("GITHUB_WORKFLOW"),
        workflow_path: path,
        job: text("GITHUB_JOB"),
    })
}

fn address(environment: &Environment, name: &'static str, default: &str) -> Result<String, ContextError> {
    let text = environment.get(name).unwrap_or(default).trim().trim_end_matches('/');
    let parsed = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    match parsed.filter(|url| url.has_host() && url.username().is_empty() && url.password().is_none()) {
        Some(_) => Ok(text.to_owned()),
        None => Err(ContextError::Variable { name, what: "not an http(s) address" }),
    }
}

/// Whether it is a name of this machine that the artifact service's own client takes for GitHub (`actions/toolkit`, `isGhes`).
fn is_local(server_url: &str) -> bool {
    let url = url::Url::parse(server_url).ok();
    url.and_then(|url| url.host_str().map(|host| host.ends_with(".localhost"))).unwrap_or_default()
}

fn forge(environment: &Environment, server_url: &str, api_url: &str) -> Forge {
    let set = |name| environment.get(name) == Some("true");
    if set("FORGEJO_ACTIONS") {
        Forge::Forgejo
    } else if set("GITEA_ACTIONS") || api_url.ends_with(GITEA_API) {
        Forge::Gitea
    } else if server_url == "https://github.com" || server_url.ends_with(".ghe.com") || is_local(server_url) {
        Forge::Github
    } else {
        Forge::GithubServer
    }
}
