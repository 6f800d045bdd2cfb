//! The HTTP end: reads requests, checks them, lets faults strike, answers, and checks the answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::openapi::Operation;
use super::render::{BEGINS_MS, time};
use super::routes::{self, Asked, Reply};
use super::{Effect, Later, Seen, Shared, State, Time};
use crate::world::canary;

/// GitHub asks for a second between writes (GITHUB.md 25).
const BETWEEN_WRITES_MS: u64 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Api,
    Blobs,
}

pub(super) fn bind() -> TcpListener {
    TcpListener::bind(("127.0.0.1", 0)).expect("a free port on loopback")
}

pub(super) fn start(listener: TcpListener, shared: Arc<Shared>, origin: Origin) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut open: Vec<(TcpStream, JoinHandle<()>)> = Vec::new();
        for stream in listener.incoming() {
            if shared.state().ended {
                break;
            }
            let Ok(stream) = stream else { continue };
            let (Ok(handle), shared) = (stream.try_clone(), Arc::clone(&shared)) else { continue };
            drop(handle.set_nodelay(true));
            open.push((handle, std::thread::spawn(move || converse(stream, &shared, origin))));
        }
        for (stream, thread) in open {
            drop(stream.shutdown(Shutdown::Both));
            drop(thread.join());
        }
    })
}

#[derive(Clone)]
struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What goes over the wire.
enum Outcome {
    Answer { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    Cut,
    Silence,
}

fn converse(stream: TcpStream, shared: &Shared, origin: Origin) {
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        shared.state().complaints.extend(secrets_in(&request));
        let outcome = match origin {
            Origin::Blobs => blob(shared, &request),
            Origin::Api if request.path.starts_with("/__") => control(shared, &request),
            Origin::Api => {
                let outcome = api(shared, &request);
                shared.watcher.get().into_iter().for_each(|watcher| watcher(&request.method, &request.path));
                outcome
            }
        };
        let Outcome::Answer { status, headers, body } = outcome else {
            if matches!(outcome, Outcome::Silence) {
                // Until the client hangs up.
                drop(reader.read(&mut [0]));
            }
            break;
        };
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(&body)).is_err() {
            break;
        }
    }
    drop(writer.shutdown(Shutdown::Both));
}

/// Where a planted secret stands in a request: nowhere but in the header that is made for one.
fn secrets_in(request: &Request) -> Vec<String> {
    let name = format!("{} {}", request.method, request.path);
    let headers = request.headers.iter().filter(|(header, _)| header != "authorization");
    let headers = headers.map(|(header, value)| (format!("the header {header}"), format!("{header}: {value}")));
    let mut places = vec![("the address".to_owned(), canary::sings_in(request.path.as_bytes()))];
    places.push(("the body".to_owned(), canary::sings_in(&request.body)));
    places.extend(headers.map(|(place, text)| (place, canary::sings_in(text.as_bytes()))));
    places
        .into_iter()
        .filter(|(_, sings)| *sings)
        .map(|(place, _)| format!("{name}: a secret stands in {place}"))
        .collect()
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    if chunked {
        read_chunks(reader, &mut body)?;
    }
    Some(Request { method, path, headers, body })
}

fn read_chunks(reader: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut size = String::new();
        reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        let mut piece = vec![0; size + 2];
        reader.read_exact(&mut piece).ok()?;
        body.extend_from_slice(&piece[..size]);
        if size == 0 {
            return Some(());
        }
    }
}

/// The storage behind the API's redirects.
fn blob(shared: &Shared, request: &Request) -> Outcome {
    let mut state = shared.state();
    if request.header("authorization").is_some() {
        state.complaints.push(format!("our token came to the storage: {}", request.path));
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let id = path.rsplit('/').next().and_then(|id| id.parse::<u64>().ok()).unwrap_or(0);
    let world = &state.world;
    let found = if path.starts_with("/log/") {
        let log = world.jobs.iter().find(|job| job.id == id).and_then(|job| job.log.clone());
        log.map(|log| {
            log.lines().map(|line| format!("2026-03-01T12:00:00.0000000Z {line}\n")).collect::<String>().into_bytes()
        })
    } else {
        let packed = world.artifacts.iter().find(|one| one.id == id).map(|one| one.zip.clone());
        packed.map(|packed| STANDARD.decode(packed).expect("the scenario's zip is base64"))
    };
    match found {
        Some(body) => Outcome::Answer { status: 200, headers: Vec::new(), body },
        None => Outcome::Answer { status: 404, headers: Vec::new(), body: Vec::new() },
    }
}

/// `GET /__world`, `GET /__log`, `POST /__happen` (a happening), `POST /__end`: for tests outside this process.
fn control(shared: &Shared, request: &Request) -> Outcome {
    let now_ms = shared.time.now_ms();
    let mut state = shared.state();
    state.world.advance(now_ms);
    let body = match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/__world") => json!(state.world),
        ("GET", "/__log") => json!({ "requests": state.seen, "complaints": state.complaints, "nowMs": now_ms }),
        ("POST", "/__happen") => match serde_json::from_slice(&request.body) {
            Ok(what) => {
                state.world.later.push(Later { at_ms: now_ms, what });
                state.world.advance(now_ms);
                json!({})
            }
            Err(error) => json!({ "error": error.to_string() }),
        },
        ("POST", "/__end") => {
            state.ended = true;
            json!({})
        }
        _ => json!({ "error": "no such control" }),
    };
    let status = if body.get("error").is_some() { 400 } else { 200 };
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Outcome::Answer { status, headers, body: serde_json::to_vec_pretty(&body).expect("JSON") }
}

fn api(shared: &Shared, request: &Request) -> Outcome {
    let now_ms = shared.time.now_ms();
    let mut state = shared.state();
    state.world.advance(now_ms);
    let name = format!("{} {}", request.method, request.path);
    let prefix = state.world.prefix.clone();
    if request.path == format!("{}/graphql", prefix.trim_end_matches("/v3")) {
        let reply = graphql(&mut state, request);
        return finish(&mut state, request, now_ms, reply, None);
    }
    let Some(path) = request.path.strip_prefix(&prefix).map(str::to_owned) else {
        state.complaints.push(format!("{name}: not below {prefix}"));
        return finish(&mut state, request, now_ms, Reply::not_found(), None);
    };
    let request = &Request { path, ..request.clone() };
    let Some(operation) = Operation::find(&request.method, &request.path) else {
        state.complaints.push(format!("{name}: GitHub has no such operation"));
        return finish(&mut state, request, now_ms, Reply::not_found(), None);
    };
    let faults = operation.request_faults(&request.path, &request.body);
    state.complaints.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    check_manners(shared, &mut state, request, now_ms);
    if let Some(status) = state.world.missing.get(&operation.route()).copied() {
        return finish(&mut state, request, now_ms, Reply::error(status, "not here"), None);
    }
    let fault = strike(&mut state, request);
    match fault {
        Some(Effect::Drop) => {
            note(&mut state, request, now_ms, 0, true);
            return Outcome::Cut;
        }
        Some(Effect::Hang) => {
            note(&mut state, request, now_ms, 0, true);
            return Outcome::Silence;
        }
        Some(Effect::Status { code, headers, body }) => {
            let reply = Reply { status: code, body: Some(body), headers: headers.into_iter().collect() };
            return finish(&mut state, request, now_ms, reply, None);
        }
        Some(Effect::LoseAnswer | Effect::DoneBut { .. }) | None => {}
    }
    let reply = refusal(&mut state, request, &operation, now_ms).unwrap_or_else(|| {
        let body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let (api, blobs) = (&format!("{}{prefix}", shared.api), &shared.blobs);
        let links_last = state.world.links_last;
        let asked = Asked { method: &request.method, path: &request.path, body, now_ms, url: api, blobs, links_last };
        routes::answer(&mut state.world, &operation, &asked).unwrap_or_else(|| {
            state.complaints.push(format!("{name}: the fake does not do this"));
            Reply::error(501, "not in this fake")
        })
    });
    match fault {
        Some(Effect::LoseAnswer) => {
            note(&mut state, request, now_ms, 0, true);
            Outcome::Cut
        }
        Some(Effect::DoneBut { code }) => finish(&mut state, request, now_ms, Reply::error(code, "Server Error"), None),
        _ => finish(&mut state, request, now_ms, reply, Some(&operation)),
    }
}

/// The one mutation that upshift knows.
fn graphql(state: &mut State, request: &Request) -> Reply {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    let query = body["query"].as_str().unwrap_or_default();
    if request.method != "POST" || !query.contains("enablePullRequestAutoMerge(input: {pullRequestId: $pull") {
        state.complaints.push(format!("GraphQL: {} {body}", request.method));
    }
    let id = body["variables"]["pull"].as_str().unwrap_or_default().trim_start_matches("PR_").parse().unwrap_or(0);
    let method = body["variables"]["method"].as_str().unwrap_or_default().to_owned();
    let error = |message: &str| Reply::json(200, json!({ "data": null, "errors": [{ "message": message }] }));
    if !state.world.pulls.iter().any(|pull| pull.number == id) {
        return error("Could not resolve to a node with the global id");
    }
    if state.world.allows_auto_merge != Some(true) {
        return error("Pull request Auto merge is not allowed for this repository");
    }
    state.world.auto_merges.push((id, method));
    Reply::json(200, json!({ "data": { "enablePullRequestAutoMerge": { "pullRequest": { "number": id } } } }))
}

/// What GitHub asks of every client.
fn check_manners(shared: &Shared, state: &mut State, request: &Request, now_ms: u64) {
    let name = format!("{} {}", request.method, request.path);
    if request.header("user-agent").is_none_or(str::is_empty) {
        state.complaints.push(format!("{name}: no user-agent"));
    }
    if request.method == "GET" || matches!(shared.time, Time::Machine(_)) {
        return;
    }
    if state.last_write_ms.is_some_and(|last| now_ms < last + BETWEEN_WRITES_MS) {
        state.complaints.push(format!("{name}: less than a second after the last write"));
    }
    state.last_write_ms = Some(now_ms);
}

fn strike(state: &mut State, request: &Request) -> Option<Effect> {
    let fits = |fault: &&mut super::Fault| {
        fault.times > 0 && fault.method == request.method && request.path.contains(&fault.path)
    };
    let fault = state.world.faults.iter_mut().find(fits)?;
    if fault.skip > 0 {
        fault.skip -= 1;
        return None;
    }
    fault.times -= 1;
    Some(fault.effect.clone())
}

/// Refusals before the operation: the token, the limits, the permissions.
fn refusal(state: &mut State, request: &Request, operation: &Operation, now_ms: u64) -> Option<Reply> {
    let world = &mut state.world;
    let given = request.header("authorization").unwrap_or_default();
    let given = given.split_once(' ').map_or("", |(_, token)| token);
    let known = world.token.accepted.is_empty() && !given.is_empty();
    let known = known || world.token.accepted.iter().any(|accepted| accepted == given);
    if !known || world.token.revoked_at_ms.is_some_and(|at| now_ms >= at) {
        return Some(Reply::error(401, "Bad credentials"));
    }
    if world.limits.remaining.is_some() && now_ms >= world.limits.resets_at_ms {
        world.limits.remaining = Some(world.limits.limit);
        world.limits.resets_at_ms += 3_600_000;
    }
    if world.limits.remaining == Some(0) {
        return Some(Reply::error(403, "API rate limit exceeded for installation."));
    }
    let (needed, alternatives) = permission(&request.method, &operation.template);
    if world.token.lacks.iter().any(|lack| lack == &needed) {
        let mut reply = Reply::error(403, "Resource not accessible by integration");
        reply.headers.push(("x-accepted-github-permissions".to_owned(), alternatives));
        return Some(reply);
    }
    None
}

/// The permission that an operation needs, and what GitHub says would do.
fn permission(method: &str, template: &str) -> (String, String) {
    let rest = template.trim_start_matches("/repos/{owner}/{repo}");
    let access = if method == "GET" { "read" } else { "write" };
    let scope = if rest.starts_with("/issues") {
        return (format!("pull_requests={access}"), format!("issues={access}; pull_requests={access}"));
    } else if rest.starts_with("/pulls") || rest.ends_with("/pulls") {
        "pull_requests"
    } else if rest.contains("check-runs") {
        "checks"
    } else if rest.ends_with("/status") {
        "statuses"
    } else if rest.starts_with("/actions") {
        "actions"
    } else if ["/git", "/contents", "/commits", "/compare", "/branches"].iter().any(|start| rest.starts_with(start)) {
        "contents"
    } else {
        "metadata"
    };
    (format!("{scope}={access}"), format!("{scope}={access}"))
}

fn finish(
    state: &mut State,
    request: &Request,
    now_ms: u64,
    mut reply: Reply,
    operation: Option<&Operation>,
) -> Outcome {
    if let Some(operation) = operation {
        let faults = operation.answer_faults(reply.status, reply.body.as_ref());
        let name = format!("the fake's own answer {} to {} {}", reply.status, request.method, request.path);
        state.complaints.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    let mut body = reply.body.as_ref().map(|body| serde_json::to_vec(body).expect("JSON")).unwrap_or_default();
    if !body.is_empty() {
        reply.headers.push(("content-type".to_owned(), "application/json; charset=utf-8".to_owned()));
    }
    if request.method == "GET" && reply.status == 200 && state.world.sends_etags {
        let digest = Sha256::digest(&body);
        let etag = format!("W/\"{}\"", STANDARD.encode(&digest[..9]));
        if request.header("if-none-match") == Some(etag.as_str()) {
            reply.status = 304;
            body.clear();
        }
        reply.headers.push(("etag".to_owned(), etag));
    }
    let counted = reply.status != 304;
    let begins_ms = state.world.begins_ms;
    let limits = &mut state.world.limits;
    if let Some(remaining) = limits.remaining {
        let left = if counted { remaining.saturating_sub(1) } else { remaining };
        limits.remaining = Some(left);
        let reset = (begins_ms + limits.resets_at_ms) / 1_000;
        reply.headers.push(("x-ratelimit-limit".to_owned(), limits.limit.to_string()));
        reply.headers.push(("x-ratelimit-remaining".to_owned(), left.to_string()));
        reply.headers.push(("x-ratelimit-reset".to_owned(), reset.to_string()));
    }
    let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(begins_ms + now_ms));
    reply.headers.push(("date".to_owned(), date));
    note(state, request, now_ms, reply.status, counted);
    Outcome::Answer { status: reply.status, headers: reply.headers, body }
}

fn note(state: &mut State, request: &Request, at_ms: u64, status: u16, counted: bool) {
    let (method, path) = (request.method.clone(), request.path.clone());
    state.seen.push(Seen { method, path, status, at_ms, counted });
}

/// Keeps `time` and the header's date in one calendar.
#[test]
fn the_worlds_calendar_begins_where_its_dates_say() {
    assert_eq!(time(BEGINS_MS), "2026-03-01T12:00:00Z");
    assert_eq!(httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(BEGINS_MS)), "Sun, 01 Mar 2026 12:00:00 GMT");
}
