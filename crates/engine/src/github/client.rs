//! The client: repeats what may be repeated, waits where it has to, and says plainly why it could not.
//!
//! Owns the rules between single exchanges: limits (GITHUB 25), the second between writes, retries after trouble, the deadline, the end on
//! [`Stop`]. Knows no resource, because the sibling modules do.
//!
//! Invariant: a write that may have taken effect is not sent again from here. Its caller looks first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use secrecy::SecretString;
use serde_json::Value;

use super::cache::Cache;
use super::error::{GithubError, Permission, TokenHistory, shown};
use super::limits::{self, Sorted};
use super::wire::{Answer, Ask, Broken, Wire};
use crate::domain::ci::RepoName;
use crate::domain::clock::Clock;
use crate::domain::stop::Stop;
use crate::http::Http;

/// GitHub asks for a second between writes (GITHUB 25).
const BETWEEN_WRITES_MS: u64 = 1_000;
/// How often a request that may be repeated is sent before its failure is told.
const MAX_ATTEMPTS: u32 = 5;
/// How often a limit is waited for in one request.
const MAX_LIMITS: u32 = 6;
/// How long limits are waited for where the caller sets no deadline.
const DEFAULT_PATIENCE_MS: u64 = 15 * 60_000;
/// Messages about a text that is too long, in GitHub's words and in Gitea's.
const TOO_LONG: [&str; 3] = ["is too long", "too_long", "maximum is 65536"];

/// Where and as whom to ask.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The API's address, such as `https://api.github.com`, `https://HOST/api/v3` or `https://HOST/api/v1`.
    pub api_url: String,
    /// Our token. Sent to that address only.
    pub token: SecretString,
    /// The repository that requests are about.
    pub repository: RepoName,
}

/// A client of one repository on one forge. Cheap to clone, and clones share limits and cache.
#[derive(Debug, Clone)]
pub struct GitHub {
    pub(super) shared: Arc<Shared>,
    pub(super) repository: RepoName,
    /// Held while a write is in flight: one at a time in each lane.
    writing: Arc<tokio::sync::Mutex<()>>,
    stop: Stop,
    /// The deadline on the monotonic clock. No wait goes beyond it.
    deadline_ms: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) wire: Wire,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) cache: Mutex<Cache>,
    pace: Mutex<Pace>,
}

/// Instructions of the server for the next requests.
#[derive(Debug, Default)]
struct Pace {
    /// No request before this, on the monotonic clock.
    blocked_until_ms: u64,
    /// No write before this.
    next_write_ms: u64,
    accepted: bool,
    usage: Usage,
}

/// The use of the API so far, and its facts about the token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Requests sent.
    pub requests: u64,
    /// Requests among them that were answered with "not changed", which cost nothing.
    pub unchanged: u64,
    /// Answers without an ETag of a server that counts requests: asking again costs as much.
    pub blind: u64,
    /// The rest of the hourly limit, where the server tells it.
    pub remaining: Option<u64>,
    /// The hourly limit.
    pub limit: Option<u64>,
    /// When the token expires, in the server's words (`github-authentication-token-expiration`).
    pub token_expires: Option<String>,
    /// The scopes of a classic token (`x-oauth-scopes`).
    pub token_scopes: Option<String>,
}

/// Whether a request may be sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Twice is the same as once.
    Freely,
    /// Twice would do it twice.
    Never,
}

/// One request to the API.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) ask: Ask,
    /// "read pull request #7": what an error says we tried.
    pub(super) doing: String,
    pub(super) permission: Permission,
    pub(super) repeat: Repeat,
}

impl Call {
    pub(super) fn get(path: String, doing: impl Into<String>, permission: Permission) -> Self {
        let ask = Ask { method: Method::GET, path, body: None, etag: None };
        Self { ask, doing: doing.into(), permission, repeat: Repeat::Freely }
    }

    pub(super) fn write(
        method: Method,
        path: String,
        body: &Value,
        doing: impl Into<String>,
        permission: Permission,
    ) -> Self {
        // PUT, PATCH and DELETE say how something is to be, so that twice is the same as once.
        let repeat = if method == Method::POST { Repeat::Never } else { Repeat::Freely };
        let ask = Ask { method, path, body: Some(body.to_string().into_bytes()), etag: None };
        Self { ask, doing: doing.into(), permission, repeat }
    }

    /// A POST that says everything by its address.
    pub(super) fn order(path: String, doing: impl Into<String>, permission: Permission) -> Self {
        let ask = Ask { method: Method::POST, path, body: None, etag: None };
        Self { ask, doing: doing.into(), permission, repeat: Repeat::Never }
    }

    /// Marks a POST that does the same when done twice.
    pub(super) fn repeatable(mut self) -> Self {
        self.repeat = Repeat::Freely;
        self
    }

    fn is_write(&self) -> bool {
        self.ask.method != Method::GET
    }
}

impl GitHub {
    /// Prepares a client. Nothing is sent yet.
    ///
    /// # Errors
    /// [`GithubError::Address`], [`GithubError::Token`].
    pub fn new(http: &Http, connection: &Connection, clock: Arc<dyn Clock>, stop: Stop) -> Result<Self, GithubError> {
        let wire = Wire::new(http, &connection.api_url, &connection.token)?;
        let shared = Shared { wire, clock, cache: Mutex::default(), pace: Mutex::default() };
        let repository = connection.repository.clone();
        Ok(Self { shared: Arc::new(shared), repository, writing: Arc::default(), stop, deadline_ms: None })
    }

    /// The same client with a lane of its own for writes: one that hangs in another lane does not keep it waiting. Limits, and
    /// the second between writes, are shared.
    #[must_use]
    pub fn in_own_lane(&self) -> Self {
        Self { writing: Arc::default(), ..self.clone() }
    }

    /// The same client, which gives up rather than wait beyond this moment of the monotonic clock.
    #[must_use]
    pub fn with_deadline(&self, monotonic_ms: u64) -> Self {
        Self { deadline_ms: Some(monotonic_ms), ..self.clone() }
    }

    /// The same client watching another stop: the last report is sent after the first one was raised.
    #[must_use]
    pub fn with_stop(&self, stop: Stop) -> Self {
        Self { stop, ..self.clone() }
    }

    /// The repository that requests are about.
    #[must_use]
    pub fn repository(&self) -> &RepoName {
        &self.repository
    }

    /// The use of the API so far, and its facts about the token.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.pace().usage.clone()
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.shared.clock.monotonic_ms()
    }

    fn last_moment(&self, started_ms: u64) -> u64 {
        self.deadline_ms.unwrap_or_else(|| started_ms.saturating_add(DEFAULT_PATIENCE_MS))
    }

    /// Waits. Ends at once when everything is to end.
    pub(super) async fn pause(&self, ms: u64) -> Result<(), GithubError> {
        tokio::select! {
            // The stop first, so that a wait of no length cannot win against it.
            biased;
            cause = self.stop.wait() => Err(GithubError::Stopped(cause)),
            () = self.shared.clock.sleep(Duration::from_millis(ms)) => Ok(()),
        }
    }

    /// Sends a request until it has an answer that means something.
    ///
    /// # Errors
    /// Any [`GithubError`].
    pub(super) async fn send(&self, call: &Call) -> Result<Answer, GithubError> {
        if !call.is_write() {
            return self.attempts(call).await;
        }
        let turn = tokio::select! {
            biased;
            cause = self.stop.wait() => return Err(GithubError::Stopped(cause)),
            // A write in flight may wait for a limit, and a stop must not wait behind it.
            turn = self.writing.lock() => turn,
        };
        let result = self.attempts(call).await;
        drop(turn);
        result
    }

    async fn attempts(&self, call: &Call) -> Result<Answer, GithubError> {
        let last_moment = self.last_moment(self.now_ms());
        let (mut failures, mut limits_hit) = (0, 0);
        loop {
            self.wait_for_our_turn(call, last_moment).await?;
            let began = self.now_ms();
            let outcome = tokio::select! {
                biased;
                cause = self.stop.wait() => return Err(GithubError::Stopped(cause)),
                outcome = self.shared.wire.ask(&call.ask) => outcome?,
            };
            // Counted whatever became of it, as the server counts it too.
            self.count(call);
            self.log(call, &outcome, began);
            let trouble = match outcome {
                Ok(answer) => match self.judge(call, &answer, limits_hit, last_moment)? {
                    Next::Done => return Ok(answer),
                    Next::Again => {
                        limits_hit += 1;
                        continue;
                    }
                    Next::Trouble(reason) => Lost { reason, reached: true },
                },
                Err(Broken::TooLarge(limit)) => {
                    let limit = format!("{} MiB", limit / (1024 * 1024));
                    return Err(GithubError::TooLarge { doing: call.doing.clone(), limit });
                }
                Err(Broken::Lost(reason)) => Lost { reason, reached: true },
                Err(Broken::NotSent(reason)) => Lost { reason, reached: false },
            };
            failures += 1;
            self.after_trouble(call, trouble, failures, last_moment).await?;
        }
    }

    /// Waits before the next attempt, or tells why there is none.
    async fn after_trouble(
        &self,
        call: &Call,
        trouble: Lost,
        failures: u32,
        last_moment: u64,
    ) -> Result<(), GithubError> {
        let doing = call.doing.clone();
        // It may have taken effect. Only its caller knows how to look.
        if call.repeat == Repeat::Never && trouble.reached {
            return Err(GithubError::Unanswered { doing, reason: trouble.reason });
        }
        let wait = limits::trouble_ms(failures);
        tracing::info!(failures, wait_ms = wait, "again after trouble: {}", trouble.reason);
        if failures >= MAX_ATTEMPTS || self.now_ms().saturating_add(wait) > last_moment {
            return Err(GithubError::Unreachable { doing, reason: trouble.reason, attempts: failures });
        }
        self.pause(wait).await
    }

    async fn wait_for_our_turn(&self, call: &Call, last_moment: u64) -> Result<(), GithubError> {
        // In a loop, since others may have moved the moment while we slept.
        loop {
            let now = self.now_ms();
            let (blocked, until) = {
                let mut pace = self.pace();
                let blocked = pace.blocked_until_ms;
                let until = if call.is_write() { blocked.max(pace.next_write_ms) } else { blocked };
                if until <= now {
                    if call.is_write() {
                        // Taken before it is sent: another lane may be about to write too.
                        pace.next_write_ms = now.saturating_add(BETWEEN_WRITES_MS);
                    }
                    return Ok(());
                }
                (blocked, until)
            };
            if until > last_moment {
                // A deadline that the writes' second alone passes is no limit of the hour.
                let limit =
                    if blocked > last_moment { super::error::Limit::Primary } else { super::error::Limit::Secondary };
                return Err(GithubError::RateLimited { doing: call.doing.clone(), limit, wait_ms: until - now });
            }
            self.pause(until - now).await?;
        }
    }

    /// Logs an exchange: neither its headers nor its query.
    fn log(&self, call: &Call, outcome: &Result<Answer, Broken>, began: u64) {
        let took = self.now_ms().saturating_sub(began);
        let (method, path) = (&call.ask.method, call.ask.path.split('?').next().unwrap_or_default());
        let (host, doing) = (self.shared.wire.host(), call.doing.as_str());
        match outcome {
            Ok(answer) => {
                let left = answer.header("x-ratelimit-remaining").unwrap_or("?");
                tracing::info!(%method, host, path, status = answer.status, ms = took, rate_limit_left = left, "{doing}");
            }
            Err(broken) => tracing::info!(%method, host, path, ms = took, "{doing}: no answer: {broken:?}"),
        }
    }

    fn count(&self, call: &Call) {
        let now = self.now_ms();
        let mut pace = self.pace();
        pace.usage.requests += 1;
        if call.is_write() {
            // Once more from its end, or a slow write would be followed by the next at once.
            pace.next_write_ms = now.saturating_add(BETWEEN_WRITES_MS);
        }
    }

    /// Learns from an answer and says what comes next.
    fn judge(&self, call: &Call, answer: &Answer, limits_hit: u32, last_moment: u64) -> Result<Next, GithubError> {
        self.learn(answer);
        let clock = &self.shared.clock;
        let sorted = limits::sort(answer.status, &answer.headers, &answer.body, clock.unix_ms(), limits_hit);
        let (doing, permission) = (call.doing.clone(), call.permission.clone());
        match sorted {
            Sorted::Good | Sorted::Unchanged | Sorted::Redirect => Ok(Next::Done),
            Sorted::Trouble => Ok(Next::Trouble(format!("status {}: {}", answer.status, message(answer)))),
            Sorted::Limited(limit, wait_ms) => {
                tracing::info!(wait_ms, "{doing}: rate limited ({limit:?})");
                let until = self.now_ms().saturating_add(wait_ms);
                let mut pace = self.pace();
                // For all clones, since they share the token. Never earlier than another answer has said.
                pace.blocked_until_ms = pace.blocked_until_ms.max(until);
                drop(pace);
                if limits_hit >= MAX_LIMITS || until > last_moment {
                    return Err(GithubError::RateLimited { doing, limit, wait_ms });
                }
                Ok(Next::Again)
            }
            Sorted::TokenRefused => {
                // A token that has worked was not mistyped, and the advice is another one.
                let history = if self.pace().accepted { TokenHistory::Worked } else { TokenHistory::Never };
                Err(GithubError::TokenRefused { doing, history, message: message(answer) })
            }
            Sorted::Forbidden => {
                let told = answer.header("x-accepted-github-permissions").unwrap_or_default();
                let permission = Permission::among(told, permission);
                Err(GithubError::Forbidden { doing, permission, message: message(answer) })
            }
            Sorted::NotFound => Err(GithubError::NotFound { doing, permission }),
            Sorted::Refused => Err(refused(call, answer)),
        }
    }

    fn learn(&self, answer: &Answer) {
        let number = |name| answer.header(name).and_then(|value| value.parse::<u64>().ok());
        let text = |name| answer.header(name).filter(|value| !value.is_empty()).map(shown);
        let now = self.now_ms();
        let mut pace = self.pace();
        // Redirects and "not changed" are also answers to a good token.
        pace.accepted |= matches!(answer.status, 200..=399);
        pace.usage.unchanged += u64::from(answer.status == 304);
        let is_counted = answer.status == 200 && number("x-ratelimit-limit").is_some();
        pace.usage.blind += u64::from(is_counted && answer.header("etag").is_none());
        pace.usage.remaining = number("x-ratelimit-remaining").or(pace.usage.remaining);
        pace.usage.limit = number("x-ratelimit-limit").or(pace.usage.limit);
        pace.usage.token_expires = text("github-authentication-token-expiration").or(pace.usage.token_expires.take());
        pace.usage.token_scopes = text("x-oauth-scopes").or(pace.usage.token_scopes.take());
        // The next request would be refused.
        if number("x-ratelimit-remaining") == Some(0)
            && matches!(answer.status, 200..=399)
            && let Some(wait) = limits::until_reset(&answer.headers, self.shared.clock.unix_ms())
        {
            pace.blocked_until_ms = pace.blocked_until_ms.max(now.saturating_add(wait));
        }
    }
}

enum Next {
    Done,
    Again,
    Trouble(String),
}

struct Lost {
    reason: String,
    /// Whether the server may have seen the request.
    reached: bool,
}

fn refused(call: &Call, answer: &Answer) -> GithubError {
    let said = String::from_utf8_lossy(&answer.body).to_ascii_lowercase();
    let doing = call.doing.clone();
    if matches!(answer.status, 413 | 422) && TOO_LONG.iter().any(|words| said.contains(words)) {
        // Characters, as the server counts them.
        let chars = call.ask.body.as_ref().map_or(0, |body| String::from_utf8_lossy(body).chars().count());
        return GithubError::TooLong { doing, chars };
    }
    GithubError::Refused { doing, status: answer.status, message: message(answer) }
}

/// The message of an error answer: its `message` with the `errors` beside it, else the start of the text.
fn message(answer: &Answer) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(&answer.body) else {
        return shown(&String::from_utf8_lossy(&answer.body));
    };
    let mut said = value.get("message").and_then(Value::as_str).unwrap_or("no reason given").to_owned();
    for error in value.get("errors").and_then(Value::as_array).into_iter().flatten() {
        // An error is an object or a text.
        if let Some(text) = error.get("message").and_then(Value::as_str).or_else(|| error.as_str()) {
            said.push_str("; ");
            said.push_str(text);
        }
    }
    shown(&said)
}
