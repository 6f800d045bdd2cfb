//! Tools behind an address: requests to a web service, and a server of tools over streamable HTTP. The service is a program of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{TIERS, brief, full_mode};
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// The part of a header that is secret.
const SECRET: &str = "wk-0a1b2c3d4e5f6071";

/// The service under way.
pub(super) struct Web {
    child: Child,
    pub(super) port: u16,
    folder: tempfile::TempDir,
}

impl Web {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("web.py");
        std::fs::write(&script, include_str!("web.py")).expect("written");
        let mut child = Command::new("python3")
            .arg(&script)
            .arg(folder.path().join("log"))
            .env("WEB_SECRET", SECRET)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a port");
        let port = line.trim().parse().expect("a port");
        Self { child, port, folder }
    }

    /// The requests that came.
    fn heard(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Their methods and paths.
    fn paths(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.heard().iter().map(|one| format!("{} {}", text(&one["method"]), text(&one["path"]))).collect()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("over");
    }
}

/// A run whose librarian has tools behind an address, and what became of it.
struct Run {
    said: Said,
    log: Log,
    requests: Vec<Request>,
    database: Vec<u8>,
    /// The folder of the log.
    _project: Project,
}

fn run(config: &str, librarian: impl Fn(&Request) -> Scripted + Send + 'static) -> Run {
    let project = Project::python();
    project.write(".github/upshift.yml", config);
    // A test that fails if it sees the secret.
    project.write(
        "tests/test_seen.py",
        "import os\nimport unittest\n\n\nclass Seen(unittest.TestCase):\n    def test_seen(self):\n        self.assertFalse([v for v in os.environ.values() if 'wk-0a1b' in v])\n",
    );
    project.commit();
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), librarian));
    let name = project.path().file_name().expect("a name").to_string_lossy().into_owned();
    let database = project.path().parent().expect("a parent").join(format!("{name}.web.db"));
    let program = Program::with_anthropic(&server.url())
        .without_court()
        .with("TRACKER_AUTH", &format!("Bearer {SECRET}"))
        .with("WITH_PASSWORD", "Basic c2VjdXNlcjpIdW50ZXIyLVN1cGVyOTk=")
        .with("WITH_WORDS", "Token token=\"zq81-Kx92mmXp0aa\",v=1")
        .with("MIXED_CASE", "QwErTy-9981-ZxCvB")
        .with("WRONG_ONE", "Bearer nobody");
    let args = [
        "run",
        "--tiers",
        TIERS,
        "--audit-db",
        database.to_str().expect("text"),
        "--test-command",
        project.test_command,
    ];
    let said = program.run(project.path(), &args);
    let requests = server.requests();
    server.finish();
    let log = Log::open(&database);
    Run { said, log, requests, database: std::fs::read(&database).expect("a log"), _project: project }
}

impl Run {
    /// The answers to the librarian's calls, in order.
    fn told(&self) -> Vec<String> {
        let librarian = self.requests.iter().filter(|request| request.system().contains("You brief"));
        let last = |request: &Request| request.tool_results().last().expect("a result").content.clone();
        librarian.skip(1).map(last).collect()
    }

    fn exits(&self) -> Vec<Vec<String>> {
        self.log.rows(
            "SELECT json_extract(body, '$.name'), json_extract(body, '$.exit') FROM events
             WHERE kind = 'tool_finished' AND json_extract(body, '$.exit') IS NOT NULL ORDER BY seq",
        )
    }

    /// The secret reached no model, no log and no terminal.
    fn assert_kept(&self) {
        assert!(!self.said.all().contains(SECRET), "{}", self.said.all());
        assert!(self.requests.iter().all(|request| !request.all_text().contains(SECRET)), "a model was told");
        assert!(!self.database.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "the log has it");
    }

    fn offered(&self) -> Vec<String> {
        self.requests[0].tools().into_iter().filter(|name| name.contains("__")).collect()
    }
}

fn calls(calls: &'static [(&'static str, &'static str)]) -> impl Fn(&Request) -> Scripted + Send + 'static {
    move |request| match calls.get(request.turn()) {
        Some((name, arguments)) => {
            Say::call(name, serde_json::from_str(arguments).expect("JSON")).usage(500, 20).into()
        }
        None => brief(),
    }
}

#[test]
fn a_librarian_asks_a_web_service_with_a_key_that_nobody_else_sees() {
    let web = Web::start();
    let config = format!(
        "agent:
  toolHosts: [127.0.0.1]
  rest:
    issue:
      description: Reads an issue.
      url: http://127.0.0.1:{port}/issues/{{id}}
      params: {{type: object, properties: {{id: {{type: string}}, page: {{type: integer}}}}, required: [id], additionalProperties: false}}
      headersEnv: {{Authorization: TRACKER_AUTH}}
    make:
      description: Makes an issue.
      method: post
      allowWrite: true
      url: http://127.0.0.1:{port}/issues
      params: {{type: object, properties: {{title: {{type: string}}}}}}
    big: {{description: Says much., url: 'http://127.0.0.1:{port}/big'}}
    critics: {{description: For another., url: 'http://127.0.0.1:{port}/big', roles: [critic]}}
",
        port = web.port
    );
    let run = run(
        &config,
        calls(&[
            ("rest__issue", r#"{"id": "../7?x=y", "page": 2}"#),
            ("rest__issue", r#"{"id": 7}"#),
            ("rest__make", r#"{"title": "é"}"#),
            ("rest__big", "{}"),
            ("rest__critics", "{}"),
        ]),
    );
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert_eq!(run.offered(), ["rest__big", "rest__issue", "rest__make"]);
    let told = run.told();
    assert!(told[0].contains("is one short") && told[0].contains("<<"), "fenced, as it is foreign: {}", told[0]);
    assert!(told[1].contains("`id` must be of type string") && told[1].contains("Nothing was sent"), "{}", told[1]);
    assert!(told[2].contains("made"), "{}", told[2]);
    assert!(told[3].contains("read_output") && told[3].len() < 14_000, "a long answer stands behind a handle");
    assert!(told[4].contains("rest__critics"), "{}", told[4]);
    let heard = web.heard();
    assert_eq!(web.paths(), ["GET /issues/..%2F7%3Fx%3Dy?page=2", "POST /issues", "GET /big"]);
    assert_eq!(heard[0]["headers"]["authorization"], format!("Bearer {SECRET}"));
    assert!(heard[1]["headers"].get("authorization").is_none(), "each tool has its own headers");
    assert_eq!(heard[1]["body"], r#"{"title":"é"}"#);
    run.assert_kept();
}

#[test]
fn no_part_of_a_headers_value_that_a_service_echoes_is_told() {
    let web = Web::start();
    let config = format!(
        "agent:
  toolHosts: [127.0.0.1]
  rest:
    login: {{description: x, url: 'http://127.0.0.1:{port}/login', headersEnv: {{Authorization: WITH_PASSWORD}}}}
    token: {{description: x, url: 'http://127.0.0.1:{port}/token', headersEnv: {{Authorization: WITH_WORDS}}}}
    kind: {{description: x, url: 'http://127.0.0.1:{port}/kind', headersEnv: {{Authorization: MIXED_CASE}}}}
",
        port = web.port
    );
    let run = run(&config, calls(&[("rest__login", "{}"), ("rest__token", "{}"), ("rest__kind", "{}")]));
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let told = run.told();
    assert!(told[0].contains("welcome") && told[1].contains("known:"), "{told:?}");
    assert!(told[2].contains("not shown"), "{told:?}");
    let database = String::from_utf8_lossy(&run.database).to_ascii_lowercase();
    for part in ["Hunter2-Super99", "zq81-Kx92mmXp0aa", "QwErTy-9981-ZxCvB"] {
        let part = part.to_ascii_lowercase();
        assert!(!told.iter().any(|told| told.to_ascii_lowercase().contains(&part)), "{part}: {told:?}");
        assert!(!database.contains(&part), "the log has {part}");
    }
}

#[test]
fn a_failing_web_service_costs_its_answers_alone() {
    let web = Web::start();
    let config = format!(
        "agent:
  toolHosts: [127.0.0.1, localhost, no-such-host.invalid]
  rest:
    slow: {{description: x, url: 'http://127.0.0.1:{port}/slow', timeoutSeconds: 1}}
    elsewhere: {{description: x, url: 'http://127.0.0.1:{port}/elsewhere'}}
    picture: {{description: x, url: 'http://127.0.0.1:{port}/picture'}}
    tea: {{description: x, url: 'http://127.0.0.1:{port}/tea', headersEnv: {{Authorization: TRACKER_AUTH}}}}
    nowhere: {{description: x, url: 'https://no-such-host.invalid/'}}
    unset: {{description: x, url: 'http://127.0.0.1:{port}/tea', headersEnv: {{X-Key: NOT_SET_AT_ALL}}}}
  toolFailures: {{rest__nowhere: 'The service is closed. Go on.'}}
",
        port = web.port
    );
    let run = run(
        &config,
        calls(&[
            ("rest__slow", "{}"),
            ("rest__elsewhere", "{}"),
            ("rest__picture", "{}"),
            ("rest__tea", "{}"),
            ("rest__nowhere", "{}"),
        ]),
    );
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let told = run.told();
    assert!(told[0].contains("no answer within 1 s"), "{}", told[0]);
    assert!(told[1].contains("302") && told[1].contains("not followed"), "{}", told[1]);
    assert!(told[2].contains("[image/png: not shown]"), "{}", told[2]);
    assert!(told[3].contains("418") && told[3].contains("no tea for"), "{}", told[3]);
    assert_eq!(told[4], "The service is closed. Go on.");
    assert!(!web.paths().iter().any(|path| path.contains("stolen")), "{:?}", web.paths());
    assert!(run.said.all().contains("the variable NOT_SET_AT_ALL is not set"), "{}", run.said.all());
    assert_eq!(
        run.exits(),
        [
            ["rest__unset", "EXIT-TOOL-NOT-AVAILABLE"],
            ["rest__slow", "EXIT-TOOL-TIMEOUT"],
            ["rest__elsewhere", "EXIT-TOOL-FAILURE"],
            ["rest__tea", "EXIT-TOOL-FAILURE"],
            ["rest__nowhere", "EXIT-TOOL-FAILURE"]
        ]
    );
    run.assert_kept();
}

fn served(web: &Web, more: &str) -> String {
    format!(
        "agent:\n  toolHosts: [127.0.0.1]\n  mcp:\n    web: {{url: 'http://127.0.0.1:{}/mcp', headersEnv: {{Authorization: TRACKER_AUTH}}{more}}}\n",
        web.port
    )
}

#[test]
fn a_server_of_tools_behind_an_address_is_greeted_asked_and_bidden_farewell() {
    let web = Web::start();
    let run = run(
        &served(&web, ", timeoutSeconds: 1"),
        calls(&[
            ("mcp__web__look", r#"{"path": "shop/cart.py"}"#),
            ("mcp__web__slow", "{}"),
            ("mcp__web__cut", "{}"),
            ("mcp__web__look", r#"{"path": "again"}"#),
            ("mcp__web__change", "{}"),
        ]),
    );
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert_eq!(run.offered(), ["look", "slow", "cut", "forget"].map(|tool| format!("mcp__web__{tool}")));
    let told = run.told();
    assert!(told[0].contains("shop/cart.py is at"), "{}", told[0]);
    assert!(told[1].contains("no answer within 1 s"), "{}", told[1]);
    assert!(told[2].contains("ended before"), "{}", told[2]);
    assert!(told[3].contains("again is at"), "one call that fails costs itself alone: {}", told[3]);
    assert_eq!(
        run.exits(),
        [
            ["mcp__web__slow", "EXIT-TOOL-TIMEOUT"],
            ["mcp__web__cut", "EXIT-MCP-CONNECTION-LOST"],
            ["mcp__web__change", "EXIT-TOOL-NOT-AVAILABLE"]
        ]
    );
    let heard = web.heard();
    let bodies: Vec<Value> = heard.iter().filter_map(|one| serde_json::from_str(one["body"].as_str()?).ok()).collect();
    let methods: Vec<&str> = bodies.iter().filter_map(|body| body["method"].as_str()).collect();
    assert_eq!(methods[..3], ["initialize", "notifications/initialized", "tools/list"]);
    assert!(methods.contains(&"notifications/cancelled"), "{methods:?}");
    let answer = bodies.iter().find(|body| body["id"] == "ask-1").expect("the ping is answered");
    assert_eq!(answer["result"], json!({}));
    let last = heard.last().expect("a farewell");
    assert_eq!(
        (last["method"].as_str(), last["headers"]["mcp-session-id"].as_str()),
        (Some("DELETE"), Some("session-0"))
    );
    let version = |one: &Value| one["headers"]["mcp-protocol-version"].as_str().map(str::to_owned);
    assert!(version(last).is_some() && version(last) == version(&heard[1]), "{last}");
    assert!(heard[1..].iter().all(|one| one["headers"]["mcp-session-id"] == "session-0"));
    run.assert_kept();
}

#[test]
fn a_server_that_forgets_its_session_or_refuses_the_greeting_is_lost_and_costs_its_tools_alone() {
    let web = Web::start();
    let forgotten =
        run(&served(&web, ""), calls(&[("mcp__web__forget", "{}"), ("mcp__web__look", r#"{"path": "x"}"#)]));
    assert_eq!(forgotten.said.code, 0, "{}", forgotten.said.all());
    assert_eq!(
        forgotten.exits(),
        [["mcp__web__forget", "EXIT-MCP-CONNECTION-LOST"], ["mcp__web__look", "EXIT-MCP-CONNECTION-LOST"]]
    );
    assert!(forgotten.told()[0].contains("its session is over"), "{}", forgotten.told()[0]);
    let refused = run(&served(&web, "").replace("TRACKER_AUTH", "WRONG_ONE"), |_| brief());
    assert_eq!(refused.said.code, 0, "{}", refused.said.all());
    assert_eq!(refused.exits(), [["mcp__web", "EXIT-MCP-INIT-FAILED"]]);
    assert!(refused.said.all().contains("HTTP 401"), "{}", refused.said.all());
    assert_eq!(refused.offered(), Vec::<String>::new());
}

/// The greeting of each waits for the other's at the service.
#[test]
fn servers_of_advisors_side_by_side_are_greeted_at_once() {
    let web = Web::start();
    let config = format!(
        "agent:
  toolHosts: [127.0.0.1]
  mcp:
    web: {{url: 'http://127.0.0.1:{}/together', headersEnv: {{Authorization: TRACKER_AUTH}}, roles: [advisor]}}
  advisors:
    callers: {{instructions: Which callers break?}}
    security: {{instructions: Is any input unchecked?}}
",
        web.port
    );
    let run = run(&config, |_librarian| brief());
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert_eq!(run.exits(), Vec::<Vec<String>>::new(), "{}", run.said.all());
    let greeted =
        web.heard().iter().filter(|one| one["body"].as_str().is_some_and(|body| body.contains("initialize\""))).count();
    assert_eq!(greeted, 2);
}

#[test]
fn check_and_doctor_say_which_tools_are_configured_and_which_cannot_be_had() {
    let web = Web::start();
    let project = Project::python();
    let config = format!(
        "agent:
  toolHosts: [127.0.0.1, no-such-host.invalid]
  mcp:
    here: {{command: [python3, tools/server.py]}}
    gone: {{command: [no-such-server]}}
    far: {{url: 'http://127.0.0.1:{port}/mcp', headersEnv: {{Authorization: TRACKER_AUTH}}}}
  rest:
    issue: {{description: x, url: 'http://127.0.0.1:{port}/issues', headersEnv: {{Authorization: NOT_SET_AT_ALL}}}}
    nowhere: {{description: x, url: 'https://no-such-host.invalid/'}}
  subAgents: {{callers: {{description: x, instructions: x}}}}
",
        port = web.port
    );
    project.write(".github/upshift.yml", &config);
    project.commit();
    let program =
        Program::with_anthropic("http://127.0.0.1:1").without_court().with("TRACKER_AUTH", &format!("Bearer {SECRET}"));
    let ladder = ["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let ask = |args: &[&str]| program.run(project.path(), &[args, &ladder].concat());
    let checked = ask(&["check"]);
    assert_eq!(checked.code, 0, "{}", checked.all());
    for (name, trouble) in [
        ("mcp__here", ""),
        ("mcp__gone", "not available: `no-such-server` was not found"),
        ("mcp__far", ""),
        ("rest__issue", "not available: the variable NOT_SET_AT_ALL is not set"),
        ("agent__callers", "the models of its caller"),
    ] {
        let line = checked.out.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
        assert!(line.contains(trouble) && (!trouble.is_empty() || !line.contains("cannot")), "{line}");
    }
    assert!(web.heard().is_empty(), "check asks nobody");
    let document: Value = serde_json::from_str(&ask(&["check", "--format", "json"]).out).expect("JSON");
    let tools = document["tools"].as_array().expect("a list");
    assert_eq!(tools.iter().filter(|tool| !tool["trouble"].is_null()).count(), 2, "{tools:?}");
    let told = ask(&["doctor", "--online"]);
    let line = |name: &str| told.out.lines().find(|line| line.contains(name)).expect(name).to_owned();
    assert!(line("mcp__far").starts_with("✔") && line("mcp__far").contains("its host answers"), "{}", told.out);
    assert!(line("mcp__gone").starts_with("✖") && line("mcp__gone").contains("→ Fix"), "{}", told.out);
    assert!(line("rest__nowhere").contains("its host cannot be reached"), "{}", told.out);
    assert!(!told.all().contains(SECRET));
    assert_eq!(web.paths(), ["HEAD /"], "its root alone was asked");
    assert!(web.heard()[0]["headers"].get("authorization").is_none(), "without the key");
}

#[test]
#[ignore = "needs the reference server: run by .ci/mcp"]
fn the_reference_server_over_http_is_used_by_a_librarian() {
    let program = super::mcp::installed("mcp-server-everything");
    let folder = tempfile::tempdir().expect("a folder");
    let log = std::fs::File::create(folder.path().join("log")).expect("a file");
    // Below the ports that the system gives away by itself, or another test may have it before the server does.
    let port = 20_000 + std::process::id() % 10_000;
    let mut child = Command::new(program)
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdout(log.try_clone().expect("a file"))
        .stderr(log)
        .spawn()
        .expect("node");
    let began = Instant::now();
    let said = || std::fs::read_to_string(folder.path().join("log")).expect("a log");
    while !said().contains(&format!("listening on port {port}")) {
        assert!(began.elapsed() < Duration::from_secs(60), "it does not listen: {}", said());
        std::thread::yield_now();
    }
    let config = format!("agent:\n  toolHosts: [127.0.0.1]\n  mcp: {{real: {{url: 'http://127.0.0.1:{port}/mcp'}}}}\n");
    let run = run(
        &config,
        calls(&[
            ("mcp__real__echo", r#"{"message": "how short is it?"}"#),
            ("mcp__real__get-sum", r#"{"a": 2, "b": 3}"#),
        ]),
    );
    let said = said();
    child.kill().expect("killed");
    child.wait().expect("over");
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    let told = run.told();
    assert!(told[0].contains("Echo: how short is it?"), "{}", told[0]);
    assert!(told[1].contains('5'), "{}", told[1]);
    assert_eq!(run.exits(), Vec::<Vec<String>>::new());
    assert!(said.contains("termination"), "its session was given back: {said}");
}

#[test]
fn a_server_behind_an_address_is_bidden_farewell_when_the_run_is_stopped() {
    let web = Web::start();
    let project = Project::python();
    project.write(".github/upshift.yml", &served(&web, ""));
    project.commit();
    let (sender, reached) = std::sync::mpsc::channel();
    let librarian = move |request: &Request| match request.turn() {
        0 => Say::call("mcp__web__look", json!({ "path": "x" })).usage(500, 20).into(),
        _ => {
            sender.send(()).expect("heard");
            Scripted::Hang
        }
    };
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), librarian));
    let program =
        Program::with_anthropic(&server.url()).without_court().with("TRACKER_AUTH", &format!("Bearer {SECRET}"));
    let args = ["run", "--tiers", TIERS, "--test-command", project.test_command];
    let child = program.command(project.path(), &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the program starts");
    reached.recv_timeout(Duration::from_secs(60)).expect("a second turn");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill").success());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(143), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(web.paths().last().map(String::as_str), Some("DELETE /mcp"));
    server.finish();
}
