//! Whole workflows under act: a runner on this machine that runs `action.yml` as GitHub's does. `.ci/act` installs it and runs these.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use super::step::replace_line;
use crate::world::canary;
use crate::world::log::Log;
use crate::world::model_server::ModelServer;
use crate::world::program::KEY;
use crate::world::project::Project;

/// Where `.ci/act` says that act and the stand-ins for GitHub's actions lie.
const ACT: &str = "UPSHIFT_TEST_ACT";
const UPLOAD: &str = "UPSHIFT_TEST_UPLOAD_ARTIFACT";
const DOWNLOAD: &str = "UPSHIFT_TEST_DOWNLOAD_ARTIFACT";

/// A repository with a workflow in it, and what act needs beside it.
pub(super) struct Runner {
    root: PathBuf,
    /// Its folder, which goes when this goes.
    _kept: Box<dyn std::any::Any>,
    outside: tempfile::TempDir,
    token: String,
    /// What lies in the action's repository beside the action: paths and texts.
    beside: Vec<(String, String)>,
    variables: Vec<(String, String)>,
    secrets: Vec<(String, String)>,
}

/// What a workflow came to.
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) log: String,
    artifacts: tempfile::TempDir,
}

fn tool(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set: run .ci/act"));
    PathBuf::from(path)
}

/// The commit that a file uses of one of GitHub's own actions.
fn pin(text: &str, action: &str) -> String {
    let uses = format!("uses: actions/{action}@");
    let pin = text.lines().find_map(|line| line.trim().trim_start_matches("- ").strip_prefix(&uses));
    pin.and_then(|pin| pin.split_whitespace().next()).expect("a pin").to_owned()
}

/// Puts what the action is made of into a folder. Not the whole repository: act reads an action's folder into memory, build output and all.
fn put_action(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["action.yml", "action/install.sh", "action/agents.sh", "action/checksums.txt"] {
        let target = folder.join(name);
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("folders");
        std::fs::copy(root.join(name), target).expect("copied");
    }
}

/// Has steps take the tests' own program, as they take that of a gate: by path and digest.
fn with_binary(workflow: &str) -> String {
    use sha2::Digest as _;
    let path = env!("CARGO_BIN_EXE_upshift");
    let digest = sha2::Sha256::digest(std::fs::read(path).expect("the program"));
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    workflow.replace("BINARY", path).replace("DIGEST", &format!("\"{digest}\""))
}

/// The same for the gate of a whole workflow, which hands the program on.
fn at_its_gate(workflow: &str) -> String {
    given_at(workflow, "command: gate\n")
}

/// The same for each step that has an input.
fn given_at(workflow: &str, input: &str) -> String {
    assert!(workflow.contains(input), "a step of the action has {input}");
    with_binary(&workflow.replace(input, &format!("{input}          binary: BINARY\n          sha256: DIGEST\n")))
}

impl Runner {
    /// With the action in the repository itself, as `uses: ./` wants it.
    fn new(project: Project, workflow: &str) -> Self {
        put_action(project.path());
        project.write(".github/workflows/test.yml", &with_binary(workflow));
        project.write(".gitignore", "__pycache__/\n");
        project.commit();
        let root = project.path().to_owned();
        Self::of(root, Box::new(project))
    }

    /// With the action elsewhere, as `uses: YOUR-ACCOUNT/upshift@v1` says; the workflow lies in the working tree alone.
    pub(super) fn of_clone(root: PathBuf, kept: tempfile::TempDir, workflow: &str) -> Self {
        let path = root.join(".github/workflows/upshift.yml");
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, at_its_gate(workflow)).expect("written");
        Self::of(root, Box::new(kept))
    }

    /// The same without a gate, for a workflow of no key.
    pub(super) fn of_judge(root: PathBuf, kept: tempfile::TempDir, workflow: &str) -> Self {
        let path = root.join(".github/workflows/judge.yml");
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, given_at(workflow, "mode: judge\n")).expect("written");
        Self::of(root, Box::new(kept))
    }

    /// The same with a workflow that calls one of the action's repository.
    pub(super) fn of_caller(root: PathBuf, kept: tempfile::TempDir, (caller, called): (&str, &str)) -> Self {
        Self::calling(root, kept, (caller, "fix.yml", &at_its_gate(called)))
    }

    /// The same with the workflow that parts a backlog, whose jobs install the program and call it by themselves.
    pub(super) fn of_many_jobs(root: PathBuf, kept: tempfile::TempDir, (caller, called): (&str, &str)) -> Self {
        Self::calling(root, kept, (caller, "tasks.yml", &given_at(called, "command: install\n")))
    }

    fn calling(root: PathBuf, kept: tempfile::TempDir, (caller, name, called): (&str, &str, &str)) -> Self {
        let path = root.join(".github/workflows/upshift.yml");
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, caller).expect("written");
        let mut runner = Self::of(root, Box::new(kept));
        runner.beside.push((format!(".github/workflows/{name}"), called.to_owned()));
        runner
    }

    fn of(root: PathBuf, kept: Box<dyn std::any::Any>) -> Self {
        let outside = tempfile::tempdir().expect("a folder");
        Self {
            root,
            _kept: kept,
            outside,
            token: "fake".to_owned(),
            beside: Vec::new(),
            variables: Vec::new(),
            secrets: Vec::new(),
        }
    }

    pub(super) fn token(mut self, token: &str) -> Self {
        token.clone_into(&mut self.token);
        self
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn run(&self, event: &str, payload: &serde_json::Value) -> Ran {
        let path = |name: &str| self.outside.path().join(name);
        let artifacts = tempfile::tempdir().expect("a folder");
        std::fs::write(path("event.json"), payload.to_string()).expect("written");
        for folder in ["home", "cache"] {
            std::fs::create_dir_all(path(folder)).expect("a folder");
        }
        let port = free_port().to_string();
        let upload = pin(&super::file("action.yml"), "upload-artifact");
        let upload = format!("actions/upload-artifact@{upload}={}", tool(UPLOAD).display());
        let download = pin(&super::file(".github/workflows/tasks.yml"), "download-artifact");
        let download = format!("actions/download-artifact@{download}={}", tool(DOWNLOAD).display());
        let checkout = pin(upshift::cli::init::WORKFLOW, "checkout");
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/act");
        let checkout = format!("actions/checkout@{checkout}={}", fixtures.join("checkout").display());
        put_action(&path("action"));
        for (name, text) in &self.beside {
            let file = path("action").join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(file, text).expect("written");
        }
        let ours = format!("YOUR-ACCOUNT/upshift@v1={}", path("action").display());
        let mut command = Command::new(tool(ACT));
        command.current_dir(&self.root).env_clear();
        command.env("PATH", std::env::var_os("PATH").expect("PATH"));
        command.env("HOME", path("home")).env("XDG_CACHE_HOME", path("cache"));
        command.args([event, "-P", "ubuntu-latest=-self-hosted", "--pull=false", "--action-offline-mode"]);
        command.args(["--no-cache-server", "--container-daemon-socket", "-", "--actor", "ada"]);
        command.args(["--secret", &format!("GITHUB_TOKEN={}", self.token)]);
        command.args(["--secret", &format!("ANTHROPIC_API_KEY={KEY}")]);
        for (name, value) in &self.secrets {
            command.args(["--secret", &format!("{name}={value}")]);
        }
        command.arg("-e").arg(path("event.json")).arg("--artifact-server-path").arg(artifacts.path());
        command.args(["--artifact-server-addr", "127.0.0.1", "--artifact-server-port", &port]);
        for stand_in in [upload, download, checkout, ours] {
            command.args(["--local-repository", &stand_in]);
        }
        let source = path("action").display().to_string();
        let fixed = [("GITHUB_REPOSITORY", "acme/shop"), ("GITHUB_RUN_ID", "77"), ("UPSHIFT_TEST_OTHERS", &source)];
        let given = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in fixed.into_iter().chain(given) {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        let Output { status, stdout, stderr } = command.output().expect("act starts");
        let log = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
        Ran { code: status.code(), log, artifacts }
    }
}

/// A port that was free a moment ago; act takes no 0.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Ran {
    /// The name of the one artifact, and its archive.
    pub(super) fn archive(&self) -> (String, PathBuf) {
        let mut found = self.archives();
        assert_eq!(found.len(), 1, "{found:?}\n{}", self.log);
        found.remove(0)
    }

    /// The names of all artifacts, and their archives, in the order of the names.
    pub(super) fn archives(&self) -> Vec<(String, PathBuf)> {
        let mut found = Vec::new();
        walk(self.artifacts.path(), &mut found);
        found.retain(|path| path.extension().is_some_and(|end| end == "zip"));
        found.sort();
        let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
        found.into_iter().map(|path| (name(&path), path)).collect()
    }

    /// The one artifact, unpacked.
    pub(super) fn artifact(&self) -> PathBuf {
        let mut found = Vec::new();
        walk(self.artifacts.path(), &mut found);
        assert_eq!(found.len(), 1, "{found:?}\n{}", self.log);
        let name = found[0].file_name().expect("a name").to_string_lossy().into_owned();
        assert!(name.starts_with("upshift-audit-77-1-"), "run and attempt are in the name: {name}");
        let folder = self.artifacts.path().join("unpacked");
        let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])";
        let done = Command::new("python3").args(["-c", script]).arg(&found[0]).arg(&folder).status().expect("python3");
        assert!(done.success());
        let leaks = canary::found_below(&folder);
        assert!(leaks.is_empty(), "the key stands in {leaks:?}");
        folder
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// A step after the action's shows what its outputs are.
const LOCAL: &str = r#"
on: push
permissions: {}
jobs:
  fix:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
          persist-credentials: false
      - id: upshift
        uses: ./
        with:
          binary: BINARY
          sha256: DIGEST
          tiers: claude-haiku-4-5 x2
          test-command: python3 -m unittest -v
          push: none
        env:
          ANTHROPIC_API_KEY: sk-ant-canary-7f3a9b1c5d2e8f60
      - if: always()
        env:
          OUTPUTS: ${{ toJSON(steps.upshift.outputs) }}
        run: printf '%s' "$OUTPUTS" | tr -d '\n' | sed 's/^/OUTPUTS /'
"#;

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_red_repository_becomes_green_and_leaves_outputs_and_an_audit_log() {
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
    let runner = Runner::new(Project::python(), LOCAL).with("ANTHROPIC_BASE_URL", &server.url());
    let ran = runner.run("push", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(ran.log.contains("Fixed by Tier 1 (claude-haiku-4-5)"), "{}", ran.log);
    let outputs = ran.log.lines().find_map(|line| line.split_once("OUTPUTS {")).expect("outputs").1;
    assert!(outputs.contains(r#""outcome": "fixed""#), "{outputs}");
    assert!(outputs.contains(r#""resolved-tier": "claude-haiku-4-5""#), "{outputs}");
    let artifact = ran.artifact();
    let log = Log::open(&artifact.join("audit.db"));
    assert_eq!(log.value("SELECT outcome FROM run_metadata"), "success");
    assert_eq!(log.number("SELECT COUNT(*) FROM model_calls"), 2);
    let mut kept = Vec::new();
    walk(&artifact, &mut kept);
    assert!(kept.iter().any(|path| path.ends_with("report.md")), "{kept:?}");
    assert!(kept.iter().any(|path| path.ends_with("report.html")), "{kept:?}");
    assert!(kept.iter().any(|path| path.to_string_lossy().ends_with("-tier1-iteration1-tests.txt.gz")), "{kept:?}");
    assert!(!ran.log.contains(KEY), "the key is masked: {}", ran.log);
    server.finish();
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_repository_that_stays_red_fails_the_step_and_keeps_its_audit_log_all_the_same() {
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let workflow = LOCAL.replace("claude-haiku-4-5 x2", "claude-haiku-4-5 x1");
    let runner = Runner::new(Project::python(), &workflow).with("ANTHROPIC_BASE_URL", &server.url());
    let ran = runner.run("push", &json!({}));
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert!(ran.log.contains(r#""outcome": "exhausted""#), "{}", ran.log);
    let artifact = ran.artifact();
    assert_eq!(Log::open(&artifact.join("audit.db")).value("SELECT outcome FROM run_metadata"), "failed");
    let mut kept = Vec::new();
    walk(&artifact, &mut kept);
    assert!(kept.iter().any(|path| path.ends_with("best.patch")), "{kept:?}");
    server.finish();
}

#[test]
#[ignore = "needs act, which .ci/act installs, and npm's registry"]
fn agents_that_an_input_names_are_installed_and_found_by_the_steps_behind() {
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
    let last = "      - run: codex --version | sed 's/^/AGENT /'\n";
    let workflow =
        LOCAL.replace("          push: none\n", "          push: none\n          agents: codex@0.169.0\n") + last;
    // Where the network is behind a proxy with a certificate of its own.
    let certificates = std::env::var("NODE_EXTRA_CA_CERTS").unwrap_or_default();
    let runner = Runner::new(Project::python(), &workflow)
        .with("ANTHROPIC_BASE_URL", &server.url())
        .with("NODE_EXTRA_CA_CERTS", &certificates);
    let ran = runner.run("push", &json!({}));
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(ran.log.contains("Installing @openai/codex@0.169.0"), "{}", ran.log);
    assert!(ran.log.contains("AGENT codex-cli 0.169.0"), "{}", ran.log);
    server.finish();
}
