//! The forge as this process may speak to it: which tokens there are, and a client for one.

use std::sync::Arc;

use secrecy::{ExposeSecret as _, SecretString};

use super::Failure;
use super::environment::Environment;
use super::http_client;
use crate::domain::ci::{CiContext, RepoName};
use crate::domain::clock::Clock;
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::github::{Connection, GitHub, GithubError, TokenKind};
use crate::lifecycle::gate::facts::Facts;
use crate::lifecycle::gate::{self, Refusal, Rules, Stage};
use crate::lifecycle::state::RunState;

/// The variables that may hold the token for the API, the first present one wins.
const TOKENS: [&str; 3] = ["UPSHIFT_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"];
/// The most that the gate waits for limits and outages: nothing has begun yet, and the job costs money.
const GATE_PATIENCE_MS: u64 = 120_000;

/// Set by `action.yml` to the commit that the job's gate said.
const HEAD_SHA: &str = "UPSHIFT_HEAD_SHA";
/// The variable that holds the token for pushing, where it is another one.
const PUSH_TOKEN: &str = "UPSHIFT_PUSH_TOKEN";
/// Set by `action.yml` to the job's own token, so that a given one is told apart.
const JOB_TOKEN: &str = "UPSHIFT_JOB_TOKEN";

/// The token that was given for pushing alone.
pub(super) fn push_token(environment: &Environment) -> Option<SecretString> {
    environment.secret(PUSH_TOKEN)
}

/// The kind of the API's token: the job's own, unless it is another than that one.
pub(super) fn token_kind(environment: &Environment) -> TokenKind {
    match (environment.get(JOB_TOKEN), token(environment)) {
        // Where the job's own token is not known, no token can be told from it, so it counts as the job's own.
        (Some(own), Some(token)) if own != token.expose_secret() => TokenKind::Given,
        (_, _) => TokenKind::Job,
    }
}

/// The job's own token, where another was given for the API.
pub(super) fn job_token(environment: &Environment) -> Option<SecretString> {
    environment.secret(JOB_TOKEN).filter(|_| token_kind(environment) == TokenKind::Given)
}

/// Whether a token is the job's own.
pub(super) fn is_jobs_own(environment: &Environment, token: &SecretString) -> bool {
    // A script without the action has it in `GITHUB_TOKEN`.
    let own = environment.get(JOB_TOKEN).or_else(|| environment.get("GITHUB_TOKEN"));
    own == Some(token.expose_secret())
}

/// The token for the API, if one was given.
pub(super) fn token(environment: &Environment) -> Option<SecretString> {
    TOKENS.iter().find_map(|name| environment.secret(name))
}

/// A client that gives up after a while.
pub(super) fn client(
    environment: &Environment,
    api_url: &str,
    repository: &RepoName,
    token: SecretString,
) -> Result<GitHub, GithubError> {
    let clock = super::stop_sources::clock(environment);
    // A clock that is set back meanwhile must not lengthen the wait.
    let deadline = clock.monotonic_ms() + GATE_PATIENCE_MS;
    Ok(connect(environment, (api_url, repository), token, clock, Stop::never())?.with_deadline(deadline))
}

/// A client of a repository's API.
pub(super) fn connect(
    environment: &Environment,
    (api_url, repository): (&str, &RepoName),
    token: SecretString,
    clock: Arc<dyn Clock>,
    stop: Stop,
) -> Result<GitHub, GithubError> {
    let connection = Connection { api_url: api_url.to_owned(), token, repository: repository.clone() };
    GitHub::new(&http_client::http(environment), &connection, clock, stop)
}

/// Asks whether whoever triggered this may start a run, and fills in what the payload did not tell.
///
/// # Errors
/// A refusal, with its reason (exit 6).
pub(super) async fn admit(context: &mut CiContext, rules: Rules<'_>, environment: &Environment) -> anyhow::Result<()> {
    // What the job's gate looked at, and checkout took: a head that moved since then is another one. Only for events that tell
    // none themselves.
    let admitted = admitted(environment)?;
    if context.head_sha.is_none() {
        context.head_sha = admitted;
    }
    let Some((_, facts)) = look(context, rules, environment).await? else { return Ok(()) };
    if let Some(why) = gate::judge(context, &facts, rules, Stage::Begins) {
        return Err(Failure::refused(&why));
    }
    // The facts that were judged are the facts of the run: a push in between must not swap the commit.
    gate::facts::pin(context, &facts);
    Ok(())
}

/// The commit that the job's gate admitted, if the job passes it on.
fn admitted(environment: &Environment) -> anyhow::Result<Option<CommitSha>> {
    let Some(said) = environment.get(HEAD_SHA).filter(|said| !said.is_empty()) else { return Ok(None) };
    let sha = super::context::sha(said).filter(|sha| sha.0.bytes().any(|byte| byte != b'0'));
    let sha = sha.ok_or_else(|| {
        Failure::usage(format!(
            "`head-sha` is no commit: `{said}`\n→ Fix: pass the gate's output, `head-sha: ${{{{ steps.gate.outputs.head-sha }}}}`"
        ))
    })?;
    Ok(Some(sha))
}

/// Asks whether the triggering account may have a run go on. A commit that the run itself has pushed meanwhile is no reason against it,
/// also where the process died before it could record that.
///
/// # Errors
/// A refusal, with its reason (exit 6).
pub(super) async fn admit_again(
    context: &mut CiContext,
    state: &RunState,
    environment: &Environment,
) -> anyhow::Result<()> {
    let rules = Rules::from(&state.plan.github);
    let Some((github, facts)) = look(context, rules, environment).await? else { return Ok(()) };
    let now = facts.pull.as_ref().map(|pull| &pull.head.sha);
    let mut delivered = state.delivery.commit.clone();
    if let Some(now) = now.filter(|now| Some(*now) != delivered.as_ref()) {
        // The message that was looked up belongs to the head of that moment, and to no other.
        let known = facts.head_message.clone().filter(|_| context.head_sha.as_ref() == Some(now));
        let message = match known {
            Some(message) => message,
            None => github.commit(&now.0).await.map_err(unknown)?.message,
        };
        // A run that died between its push and its record finds its own trailer in the head.
        if gate::run_of(&message) == Some(state.run_id.0.as_str()) {
            delivered = Some(now.clone());
        }
    }
    let stage = Stage::GoesOn { delivered: delivered.as_ref() };
    if let Some(why) = gate::judge(context, &facts, rules, stage) {
        return Err(Failure::refused(&why));
    }
    gate::facts::pin(context, &facts);
    Ok(())
}

fn unknown(error: GithubError) -> anyhow::Error {
    Failure::refused(&Refusal::Unknown { why: error.to_string() })
}

/// Looks up the facts that the gate has to know. `None` where the trigger alone tells enough.
async fn look(
    context: &CiContext,
    rules: Rules<'_>,
    environment: &Environment,
) -> anyhow::Result<Option<(GitHub, Facts)>> {
    if !gate::asks(context) {
        return Ok(None);
    }
    let Some(token) = token(environment) else {
        return Err(Failure::refused(&Refusal::NoToken));
    };
    let github = client(environment, &context.api_url, &context.repository, token).map_err(unknown)?;
    let facts = gate::facts::look(&github, context, rules.allowed_bots).await.map_err(unknown)?;
    Ok(Some((github, facts)))
}
