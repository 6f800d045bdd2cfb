//! What a step's runner is told: outputs, summary, annotations, exit code; without a runner, from the files it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::json;

use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{KEY, Program, Said};
use crate::world::project::Project;

/// A job's files and variables.
pub(crate) struct Job {
    folder: tempfile::TempDir,
    program: Program,
}

impl Job {
    /// A job for a push to acme/shop.
    pub(crate) fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let program = Program::with_anthropic(url)
            .without_court()
            .with("GITHUB_ACTIONS", "true")
            .with("GITHUB_EVENT_NAME", "push")
            .with("GITHUB_REPOSITORY", "acme/shop")
            .with("GITHUB_RUN_ID", "77")
            .with("RUNNER_TEMP", &path("temp"))
            .with("GITHUB_OUTPUT", &path("output"))
            .with("GITHUB_STEP_SUMMARY", &path("summary"));
        Self { folder, program }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.program = self.program.with(name, value);
        self
    }

    /// With the payload of its event.
    pub(crate) fn event(self, payload: &serde_json::Value) -> Self {
        let path = self.folder.path().join("event.json");
        std::fs::write(&path, payload.to_string()).expect("written");
        let path = path.display().to_string();
        self.with("GITHUB_EVENT_PATH", &path)
    }

    pub(crate) fn run(&self, project: &Project) -> Said {
        self.program.run(project.path(), &["run", "--test-command", project.test_command])
    }

    /// Another command of the program in the same job.
    pub(crate) fn call(&self, project: &Project, arguments: &[&str]) -> Said {
        self.program.run(project.path(), arguments)
    }

    /// The program in a folder that is no project of ours.
    pub(crate) fn in_folder(&self, folder: &Path, arguments: &[&str]) -> Said {
        self.program.run(folder, arguments)
    }

    /// The program as the job starts it.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// A run that is under way.
    pub(crate) fn start(&self, project: &Project) -> Child {
        let mut command = self.program.command(project.path(), &["run", "--test-command", project.test_command]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    }

    /// A file of the job.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// The outputs as the runner reads them.
    pub(crate) fn outputs(&self) -> BTreeMap<String, String> {
        let text = self.text("output");
        let mut lines = text.lines();
        let mut found = BTreeMap::new();
        while let Some(line) = lines.next() {
            let (name, delimiter) = line.split_once("<<").expect("a heredoc");
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != delimiter).collect();
            found.insert(name.to_owned(), value.join("\n"));
        }
        found
    }
}

/// Replaces a line of the cart and reports.
pub(super) fn replace_line(old: &'static str, new: &'static str) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    move |request: &Request| match request.turn() {
        0 => Say::call("edit_file", json!({ "path": "shop/cart.py", "old_text": old, "new_text": new }))
            .usage(900, 40)
            .into(),
        _ => Say::call("final_report", json!({ "summary": "::error::done\noutcome=forged", "status": "done" }))
            .usage(1_000, 30)
            .into(),
    }
}

#[test]
fn a_fixed_run_writes_outputs_a_summary_with_the_change_and_a_notice() {
    let project = Project::python();
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
    let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x2");
    let said = job.run(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    let outputs = job.outputs();
    assert_eq!(outputs["outcome"], "fixed");
    assert_eq!(outputs["resolved-tier"], "claude-haiku-4-5");
    assert_eq!((outputs["iterations"].as_str(), outputs["commit-sha"].as_str()), ("1", ""));
    assert!(outputs["cost-usd"].parse::<f64>().expect("dollars") > 0.0);
    assert!(Path::new(&outputs["audit-db"]).is_file(), "{outputs:?}");
    let summary = job.text("summary");
    assert_eq!(std::fs::read_to_string(&outputs["report-path"]).expect("the report"), summary);
    assert!(summary.contains("\nFixed by Tier 1"), "{summary}");
    assert!(summary.contains("+    return sum(prices)\n"), "the change itself: {summary}");
    assert!(said.err.contains("\n::notice title=upshift::1 test fixed in cart.py (+1 −1), $0.00"), "{}", said.all());
    let (before, after) = said.out.split_once('\n').expect("lines");
    let token = before.strip_prefix("::stop-commands::").expect("commands are stopped");
    assert!(after.ends_with(&format!("\n::{token}::\n")), "{}", said.out);
    server.finish();
}

#[test]
fn a_run_that_failed_annotates_the_failing_test_and_fails_the_step_unless_told_otherwise() {
    let project = Project::python();
    let job = |fail_on: &str| {
        let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices) - 2"));
        let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x1").with("UPSHIFT_FAIL_ON", fail_on);
        let said = job.run(&project);
        server.finish();
        (job, said)
    };
    let (failed, said) = job("");
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(failed.outputs()["outcome"], "exhausted");
    let error =
        said.err.lines().find(|line| line.starts_with("::error file=tests/test_cart.py,line=")).expect("an annotation");
    assert!(error.contains(",title=test_total (tests.test_cart") && error.contains("AssertionError"), "{error}");
    assert!(failed.text("summary").contains("### ✖ "), "{}", failed.text("summary"));
    let (_, said) = job("budget, broken");
    assert_eq!(said.code, 0, "not an outcome that is to fail the step: {}", said.all());
    let (_, said) = job("exhausted");
    assert_eq!(said.code, 1, "{}", said.all());
}

#[test]
fn commands_in_what_tests_and_models_write_are_inert() {
    let project = Project::python();
    project.write(
        "sitecustomize.py",
        "import sys\nprint('::set-output name=x::y')\nprint('##[add-mask]a', file=sys.stderr)\n",
    );
    let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices) - 2"));
    let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x1");
    let said = job.run(&project);
    let ours = ["::group::", "::endgroup::", "::notice title=", "::warning title=", "::error file=tests/"];
    for line in said.err.lines() {
        let command = line.trim_start().starts_with("::");
        assert!(!line.contains("##[") && (!command || ours.iter().any(|ours| line.starts_with(ours))), "{line}");
    }
    server.finish();
}

#[test]
fn a_refused_run_says_why_in_log_and_summary_and_exits_6() {
    let project = Project::python();
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let side = |name: &str| json!({ "repo": { "full_name": name }, "ref": "topic", "sha": sha });
    let payload = json!({ "pull_request": { "number": 7, "head": side("mallory/shop"), "base": side("acme/shop") } });
    let job = Job::new("http://127.0.0.1:1").with("GITHUB_EVENT_NAME", "pull_request").event(&payload);
    let said = job.run(&project);
    assert_eq!(said.code, 6, "{}", said.all());
    assert_eq!(job.outputs()["outcome"], "refused");
    assert!(said.err.contains("::error title=upshift::✖ Refused: the pull request comes from the fork mallory/shop"));
    assert!(job.text("summary").contains("the fork mallory/shop"));
    let tolerant = job.with("UPSHIFT_FAIL_ON", "exhausted,stalled");
    assert_eq!(tolerant.run(&project).code, 0);
}

#[test]
fn a_faulty_configuration_says_so_in_the_summary_and_exits_2() {
    let project = Project::python();
    let job = Job::new("http://127.0.0.1:1").with("UPSHIFT_MAX_COST_USD", "-1");
    let said = job.run(&project);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(job.text("summary").contains("UPSHIFT_MAX_COST_USD"), "{}", job.text("summary"));
    assert_eq!(job.outputs()["outcome"], "");
}

#[test]
fn a_misspelt_flag_says_so_in_the_summary_and_exits_2() {
    let project = Project::python();
    let job = Job::new("http://127.0.0.1:1");
    let said = job.call(&project, &["run", "--max-cots-usd", "1"]);
    assert_eq!(said.code, 2, "{}", said.all());
    let told = "unexpected argument '--max-cots-usd' found; tip: a similar argument exists: '--max-cost-usd'";
    assert!(job.text("summary").contains(told), "{}", job.text("summary"));
    assert!(said.all().contains(&format!("::error title=upshift::{told}")), "{}", said.all());
    assert_eq!(job.outputs()["outcome"], "");
    for harmless in [vec!["run", "--help"], vec!["show", "--hlep"]] {
        let other = Job::new("http://127.0.0.1:1");
        other.call(&project, &harmless);
        assert_eq!(other.text("summary"), "", "{harmless:?}");
    }
}

#[test]
fn keys_are_masked_in_the_actions_own_step_and_nowhere_else() {
    let masked = |action: &str| {
        let server = ModelServer::start(replace_line("sum(prices) - 1", "sum(prices)"));
        let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x1").with("UPSHIFT_ACTION", action);
        let project = Project::python();
        // Not by `Program::run`, which lets no key pass.
        let mut command = job.program.command(project.path(), &["run", "--test-command", project.test_command]);
        let output = command.output().expect("the program starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!out.contains(KEY));
        err.lines().filter(|line| line.contains(KEY)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(masked("true"), [format!("::add-mask::{KEY}")], "as a command that the runner takes out of the log");
    assert_eq!(masked(""), [""; 0], "a script's output may go into a file");
}
