//! The server's answer to whether it would take a push, before anything is paid for one.
//!
//! Git itself asks so at the beginning of a push. Invariant: nothing is sent but the question, and only a clear no counts: a server that
//! is down or odd may be well by the time of the push.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use url::Url;

use super::delivery::{self, access};
use super::environment::Environment;
use super::http_client::http;
use crate::config::{Plan, Push};
use crate::domain::ci::CiContext;
use crate::domain::delivery::Destination;
use crate::report::plain;
use crate::workspace::publish::{Access, PublishError};

/// How long the answer is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many columns of the server's words are told.
const SAID_CHARS: usize = 200;

/// The destination of a fix that a run may pay for.
///
/// # Errors
/// A push that was asked for and has nowhere to go, nothing to go with, or is not let in (exit 2).
pub(super) async fn destination(
    plan: &mut Plan,
    context: Option<&CiContext>,
    checkout: &Path,
    environment: &Environment,
) -> anyhow::Result<Option<Destination>> {
    let found = delivery::destination(plan, context, checkout, environment)?;
    // Commits through the API are made with another credential, and no question tells what that may do.
    let is_pushed = plan.github.push != Push::None && !plan.github.sign_commits;
    let url = found.as_ref().filter(|_| is_pushed).map(Destination::url);
    let Some((way_in, url)) = url.and_then(|url| Some((access(environment, checkout, &url)?, url))) else {
        return Ok(found);
    };
    match refusal(&url, &way_in, environment).await {
        Ok(Some(said)) => delivery::cannot_push(plan, &PublishError::Credential { said }.to_string())?,
        Ok(None) => {}
        Err(error) => tracing::info!("whether a push is let in is not known: {error:#}"),
    }
    Ok(found)
}

/// The server's no, in its words.
async fn refusal(url: &str, access: &Access, environment: &Environment) -> anyhow::Result<Option<String>> {
    let question = Url::parse(&format!("{url}/info/refs?service=git-receive-pack"))?;
    let header = access.header();
    let (name, value) = header.split_once(':').context("no header")?;
    let request = http(environment).client_for(&question)?.get(question).header(name.trim(), value.trim());
    let mut answer = request.timeout(PATIENCE).send().await?;
    let status = answer.status().as_u16();
    // A repository that the token may not see is told as none.
    if !matches!(status, 401 | 403 | 404) {
        return Ok(None);
    }
    let said = answer.chunk().await.ok().flatten().unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    // A server's words: none moves a cursor.
    let said = plain::clipped_line(said.lines().next().unwrap_or_default().trim(), SAID_CHARS);
    Ok(Some(if said.is_empty() || said.starts_with('<') {
        format!("status {status}")
    } else {
        format!("status {status}: {said}")
    }))
}
