//! The real agents, as the npm registry has them, against a scripted model server of four wires (`mock.py`). `.ci/agents` installs them and runs this.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use upshift::domain::chat::Usage;
use upshift::domain::model_id::ModelId;
use upshift::domain::units::MicroUsd;
use upshift::model::catalogue;

use crate::world::log::Log;
use crate::world::program::{KEY, Program, programs};

/// The line with the bug, and the one that mends it.
const WRONG: &str = "    return b - a";
const RIGHT: &str = "    return a - b";

/// The agents that are installed, each with a model that the catalogue prices.
const AGENTS: [(&str, &str); 6] = [
    ("copilot", "gpt-4.1"),
    ("claude", "claude-haiku-4-5"),
    ("codex", "gpt-4.1"),
    ("opencode", "gpt-4.1"),
    ("gemini", "gemini-2.5-pro"),
    ("qwen", "gpt-4.1"),
];

/// A model server in a process of its own.
struct Mock {
    process: Child,
    url: String,
}

impl Mock {
    fn start(folder: &Path) -> Self {
        let script = folder.join("mock.py");
        std::fs::write(&script, include_str!("mock.py")).expect("the mock");
        let errors = std::fs::File::create(folder.join("mock.errors")).expect("a file");
        let mut command = Command::new("python3");
        // The server takes a free port itself and tells it: one that was free a moment ago may be another's by now.
        command.arg(script).arg("0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
        let mut process = command.spawn().expect("python3");
        let mut told = String::new();
        let out = process.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut told).expect("a line");
        let port: u16 = told.trim().parse().expect("the port of the mock");
        Self { process, url: format!("http://127.0.0.1:{port}") }
    }

    fn ask(&self, path: &str, body: Option<&Value>) -> String {
        let mut command = Command::new("curl");
        command.args(["-sS", "--fail", "--max-time", "20"]).arg(format!("{}{path}", self.url));
        if let Some(body) = body {
            command.arg("--data-binary").arg(body.to_string());
        }
        let answer = command.output().expect("curl");
        assert!(answer.status.success(), "the mock does not answer: {}", String::from_utf8_lossy(&answer.stderr));
        String::from_utf8(answer.stdout).expect("text")
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The broken project of the kit, and where the agents are installed.
struct Site {
    project: PathBuf,
    mock: Mock,
    program: Program,
    _folder: TempDir,
}

impl Site {
    fn new(agent: &str, script: &Value) -> Self {
        let folder = tempfile::Builder::new().prefix("real-agents-").tempdir().expect("a folder");
        let project = folder.path().join("project");
        std::fs::create_dir(&project).expect("a folder");
        let calc = format!(
            "\"\"\"A tiny calculator.\"\"\"\n\n\ndef add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n{WRONG}\n"
        );
        let test = "import unittest\n\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n\n    def test_sub(self):\n        self.assertEqual(calc.sub(7, 3), 4)\n";
        for (name, text) in [("calc.py", calc.as_str()), ("test_calc.py", test), ("README.md", "A tiny calculator.\n")]
        {
            std::fs::write(project.join(name), text).expect("written");
        }
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message=start"],
        ] {
            assert!(Command::new("git").args(args).current_dir(&project).status().expect("git").success());
        }
        let mock = Mock::start(folder.path());
        mock.ask("/__set", Some(&json!({"script": script, "model": "mock"})));
        let installed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ci-tools/agents").join(agent).join("node_modules/.bin");
        assert!(installed.join(agent).exists(), "{agent} is not installed in {}: run .ci/agents", installed.display());
        let path =
            std::env::join_paths(std::iter::once(installed).chain(std::env::split_paths(programs()))).expect("a path");
        let program = Program::with_anthropic(&mock.url)
            .with("OPENAI_API_KEY", KEY)
            .with("OPENAI_BASE_URL", &mock.url)
            .with("GEMINI_API_KEY", KEY)
            .with("GEMINI_BASE_URL", &mock.url)
            .with("PATH", path.to_str().expect("text"));
        Self { project, mock, program, _folder: folder }
    }
}

/// What the model of an agent says: look, mend, test, done, by the names that the agent has for its tools.
fn mends(agent: &str, file: &str) -> Value {
    let test = "python3 -m unittest -q";
    let patch =
        format!("*** Begin Patch\n*** Update File: calc.py\n@@ def sub(a, b):\n-{WRONG}\n+{RIGHT}\n*** End Patch");
    let (look, edit, run) = match agent {
        "claude" => (
            json!(["Read", {"file_path": file}]),
            json!(["Edit", {"file_path": file, "old_string": WRONG, "new_string": RIGHT}]),
            json!(["Bash", {"command": test, "description": "run"}]),
        ),
        "codex" => (
            json!(["exec_command", {"cmd": "cat calc.py"}]),
            json!(["exec_command", {"cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF\n")}]),
            json!(["exec_command", {"cmd": test}]),
        ),
        "opencode" => (
            json!(["read", {"filePath": file}]),
            json!(["edit", {"filePath": file, "oldString": WRONG, "newString": RIGHT}]),
            json!(["bash", {"command": test, "description": "run"}]),
        ),
        "gemini" => (
            json!(["read_file", {"file_path": file}]),
            json!(["replace", {"file_path": file, "old_string": WRONG, "new_string": RIGHT, "instruction": "fix sub"}]),
            json!(["run_shell_command", {"command": test, "description": "run"}]),
        ),
        "copilot" => (
            json!(["view", {"path": file}]),
            json!(["edit", {"path": file, "old_str": WRONG, "new_str": RIGHT}]),
            json!(["bash", {"command": test, "description": "run", "mode": "sync", "sessionId": "s1", "initial_wait": 30}]),
        ),
        _ => (
            json!(["read_file", {"file_path": file}]),
            json!(["edit", {"file_path": file, "old_string": WRONG, "new_string": RIGHT}]),
            json!(["run_shell_command", {"command": test, "description": "run", "is_background": false}]),
        ),
    };
    json!({"main": [
        {"text": "I will look at the file first.", "calls": [look]},
        {"text": "The operands are swapped.", "calls": [edit]},
        {"text": "Now the tests.", "calls": [run]},
        {"text": "DONE\nsub() now returns a - b."},
    ]})
}

/// What the mock's counts of one call come to.
fn one_call(agent: &str, model: &str) -> MicroUsd {
    let price = catalogue::lookup(&ModelId::parse(model).expect("a model")).and_then(|info| info.price);
    // `U` in mock.py, in the shape of each wire: OpenAI's and Gemini's prompt has its cached part in it.
    let usage = match agent {
        "claude" => Usage { input: 1_000, cache_read: 200, cache_write: 100, output: 50, reasoning: 0 },
        "gemini" => Usage { input: 800, cache_read: 200, output: 60, ..Usage::default() },
        _ => Usage { input: 800, cache_read: 200, output: 50, ..Usage::default() },
    };
    price.expect("a price").cost(&usage)
}

fn it_mends(agent: &str, model: &str) {
    it_mends_as(agent, model, &format!("cli/{agent}:{model} x1"), None, &[]);
}

/// By a target; with a configuration of the project's, where it needs one.
fn it_mends_as(agent: &str, model: &str, tiers: &str, config: Option<&Value>, more: &[&str]) {
    let site = Site::new(agent, &json!({"main": [{"text": "x"}]}));
    if let Some(config) = config {
        std::fs::create_dir(site.project.join(".github")).expect("a folder");
        std::fs::write(site.project.join(".github/upshift.yml"), config.to_string()).expect("written");
    }
    let file = site.project.canonicalize().expect("a place").join("calc.py");
    site.mock.ask(
        "/__set",
        Some(&json!({"script": mends(agent, file.to_str().expect("text")), "model": model, "dump": true})),
    );
    let arguments = [
        "run",
        "--tiers",
        tiers,
        "--test-command",
        "python3 -m unittest -v",
        "--objective",
        "MAINTASK: mend the tests",
    ];
    let said = site.program.run(&site.project, &[&arguments[..], more].concat());
    let journal: Vec<Value> = serde_json::from_str(&site.mock.ask("/__journal", None)).expect("a journal");
    let told = || {
        let last = journal.last().map(ToString::to_string).unwrap_or_default();
        format!(
            "{}\n{} requests; the last: {}",
            said.all(),
            journal.len(),
            last.chars().rev().take(3_000).collect::<String>().chars().rev().collect::<String>()
        )
    };
    assert_eq!(said.code, 0, "{agent}: {}", told());
    assert!(
        std::fs::read_to_string(site.project.join("calc.py")).expect("text").contains(RIGHT),
        "{agent}: {}",
        told()
    );
    let log = Log::open(&site.project.join(".upshift/audit.db"));
    let calls = log.number("SELECT count(*) FROM events WHERE kind = 'call_settled'");
    let billed = journal
        .iter()
        .filter(|request| ["main", "side"].iter().any(|kind| request["kind"] == *kind) && request["proto"].is_string());
    let billed = billed
        .filter(|request| ["anthropic", "chat", "responses", "gemini"].iter().any(|proto| request["proto"] == *proto))
        .count();
    let billed = i64::try_from(billed).expect("a number");
    // An agent that hangs up at its end may do so before the vendor was asked: that call is settled at what was set aside for it.
    let hung_up = log
        .number("SELECT count(*) FROM events WHERE kind = 'call_settled' AND json_extract(body, '$.unknown_cost') > 0");
    assert!(
        (calls - hung_up..=calls).contains(&billed),
        "{agent}: {calls} receipts, {hung_up} of them unbilled, for {billed} calls: {}",
        told()
    );
    let sum = |key: &str| {
        let known = format!("SELECT sum(json_extract(body, '$.{key}')) FROM events WHERE kind = 'call_settled'");
        u64::try_from(log.number(&known)).expect("an amount")
    };
    let bill = one_call(agent, model).0 * u64::try_from(billed).expect("a number");
    let (known, unknown) = (sum("cost"), sum("unknown_cost"));
    // A call that its agent hung up on, when it ended, is settled at what was set aside for it.
    let fits = known <= bill && bill <= known + unknown;
    assert!(fits, "{agent}: receipts of {known} and {unknown} for what the mock counts as {bill}: {}", told());
    let side = journal.iter().filter(|request| request["kind"] == "side" && request["proto"] != "count").count();
    let told_apart = log.number(
        "SELECT count(*) FROM events WHERE kind = 'call_settled' AND json_extract(body, '$.scope.session_id') LIKE '%-side'",
    );
    let side = i64::try_from(side).expect("a number");
    assert!(
        (told_apart - hung_up..=told_apart).contains(&side),
        "{agent}: {told_apart} of {side} side calls are told apart: {}",
        told()
    );
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn each_passes_the_doctors_trial_without_a_vendor() {
    for (agent, model) in AGENTS {
        let site = Site::new(agent, &json!({"main": [{"text": "x"}]}));
        let tiers = format!("cli/{agent}:{model} x1");
        let said = site.program.run(&site.project, &["doctor", "--tiers", &tiers]);
        assert!(said.out.contains(&format!("✔ agents: cli/{agent} (")), "{agent}: {}", said.all());
        let journal: Vec<Value> = serde_json::from_str(&site.mock.ask("/__journal", None)).expect("a journal");
        assert!(journal.is_empty(), "{agent}: {journal:?}");
    }
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn each_mends_outside_of_the_sandbox_with_its_own_approvals() {
    for (agent, model) in AGENTS {
        it_mends_as(agent, model, &format!("cli/{agent}:{model} x1"), None, &["--sandbox", "off"]);
    }
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn claude_mends() {
    it_mends("claude", "claude-haiku-4-5");
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn codex_mends() {
    it_mends("codex", "gpt-4.1");
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn opencode_mends() {
    it_mends("opencode", "gpt-4.1");
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn gemini_mends() {
    it_mends("gemini", "gemini-2.5-pro");
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn qwen_mends() {
    it_mends("qwen", "gpt-4.1");
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn copilot_mends() {
    it_mends("copilot", "gpt-4.1");
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn gemini_mends_by_the_agent_client_protocol() {
    let config = json!({"agents": {"acp": {"command": ["gemini", "--experimental-acp", "--skip-trust"]}}});
    it_mends_as("gemini", "gemini-2.5-pro", "cli/acp:gemini/gemini-2.5-pro x1", Some(&config), &[]);
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn qwen_mends_by_the_agent_client_protocol() {
    let config = json!({"agents": {"acp": {"command": ["qwen", "--acp", "--auth-type", "openai"]}}});
    it_mends_as("qwen", "gpt-4.1", "cli/acp:openai/gpt-4.1 x1", Some(&config), &[]);
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn opencode_mends_by_the_agent_client_protocol() {
    let config = json!({"agents": {"acp": {"command": ["opencode", "acp"]}}});
    it_mends_as("opencode", "gpt-4.1", "cli/acp:openai/gpt-4.1 x1", Some(&config), &[]);
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn copilot_mends_by_the_agent_client_protocol() {
    let config = json!({"agents": {"acp": {"command": ["copilot", "--acp", "--no-auto-update"]}}});
    it_mends_as("copilot", "gpt-4.1", "cli/acp:openai/gpt-4.1 x1", Some(&config), &[]);
}

/// The processes whose program or first words are an installed agent's.
fn processes(agent: &str) -> Vec<String> {
    let mark = format!("/ci-tools/agents/{agent}/");
    let is_its = |process: &Path| {
        let program = std::fs::read_link(process.join("exe")).unwrap_or_default();
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        program.to_string_lossy().contains(&mark) || String::from_utf8_lossy(&line).contains(&mark)
    };
    let all = std::fs::read_dir("/proc").expect("/proc").flatten().map(|one| one.path());
    all.filter(|process| is_its(process)).map(|process| process.display().to_string()).collect()
}

#[test]
#[ignore = "needs the agents of the npm registry; .ci/agents"]
fn each_is_ended_within_five_seconds_of_the_first_refusal_and_not_a_cent_over() {
    for (agent, model) in AGENTS {
        let site = Site::new(agent, &json!({"main": [{"text": "x"}]}));
        let file = site.project.canonicalize().expect("a place").join("calc.py");
        // One command after the other, each as dear as a long one, and none like the one before: some agents end a session that repeats
        // itself.
        let run = &mends(agent, file.to_str().expect("text"))["main"][2];
        let next = |number: usize| {
            let mut step = run.clone();
            let name = if agent == "codex" { "cmd" } else { "command" };
            step["text"] = format!("Step {number}.").into();
            step["calls"][0][1][name] = format!("echo {number}").into();
            step
        };
        let script = json!({"main": (0..60).map(next).collect::<Vec<_>>()});
        let dear = json!({"script": script, "model": model, "usage": {"in": 20_000, "out": 1_500}});
        site.mock.ask("/__set", Some(&dear));
        let tiers = format!("cli/{agent}:{model} x1");
        let arguments = [
            "run",
            "--tiers",
            &tiers,
            "--test-command",
            "python3 -m unittest -v",
            "--objective",
            "MAINTASK: mend the tests",
            "--max-cost-usd",
            "0.60",
        ];
        // On the machine's own clock, as the promise is.
        let mut command = site.program.command(&site.project, &arguments);
        command.env_remove("UPSHIFT_TEST_CLOCK").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut told = Vec::new();
        let refused = lines.by_ref().map_while(Result::ok).find(|line| {
            told.push(line.clone());
            line.contains("refused at the cost cap")
        });
        let began = Instant::now();
        assert!(refused.is_some(), "{agent} was never refused: {told:#?}");
        while !processes(agent).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "{agent} lives on: {:?}", processes(agent));
            std::thread::yield_now();
        }
        let lived = began.elapsed();
        let _rest = lines.count();
        assert_eq!(child.wait().expect("it ends").code(), Some(3), "{agent}");
        let log = Log::open(&site.project.join(".upshift/audit.db"));
        let costs: Vec<i64> = log
            .rows("SELECT json_extract(body, '$.cost') + json_extract(body, '$.unknown_cost') FROM events WHERE kind = 'call_settled'")
            .into_iter()
            .map(|row| row[0].parse().expect("a number"))
            .collect();
        let spent: i64 = costs.iter().sum();
        let figures = format!("{agent}: {} calls, {spent} of 600000 micro-dollars, gone after {lived:?}", costs.len());
        assert!(lived < Duration::from_secs(5) && 0 < spent && spent <= 600_000, "{figures}");
    }
}
