//! Runs that end early, read as a stranger would: each reason once, nothing of this machine, and a green that no critic saw.

use serde_json::{Value, json};

use super::{database, mend, run_json};
use crate::action::step::Job;
use crate::world::model_server::{ModelServer, Options, Say, Scripted, Vendor};
use crate::world::program::Program;
use crate::world::project::Project;

#[test]
fn a_green_change_that_the_budget_left_no_critic_for_is_a_fix_that_nobody_reviewed() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
    let server = ModelServer::start_with(Options::default(), move |request| {
        let system = request.system();
        assert!(!system.contains("You review"), "no money is left for it");
        if system.contains("You brief") {
            return Say::call("final_report", json!({ "summary": "s", "status": "done" })).usage(14_000, 50).into();
        }
        match request.turn() {
            0 => Say::call("edit_file", edit.clone()).usage(14_000, 50).into(),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(14_000, 50).into(),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let path = database(folder.path());
    let path = path.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x3 full", "--max-cost-usd", "0.046"];
    let said = program.run(project.path(), &[&args[..], &["--test-command", project.test_command]].concat());
    assert_eq!(said.code, 3, "{}", said.all());
    let first = said.out.lines().next().unwrap_or_default();
    assert!(first.starts_with("✖ Found a fix for 1 test in cart.py (+1 −1), $0.04"), "{first}");
    assert!(first.ends_with("; the budget is used up"), "{first}");
    for part in
        ["0 failing with the change", "nobody has reviewed it", "Raise `--max-cost-usd`", "The change was kept: "]
    {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    assert!(!said.out.contains("still fail"), "{}", said.out);
    for form in ["text", "md", "html", "json"] {
        let shown = program.run(project.path(), &["report", "--format", form, "--audit-db", path]).out;
        let most = if form == "json" { 3 } else { 1 };
        let times = top(&shown).matches("the next call may cost up to").count();
        assert!((1..=most).contains(&times), "{form}: told {times} times: {shown}");
    }
    server.finish();
}

/// A report without what a page of HTML holds of each iteration: that is evidence.
fn top(shown: &str) -> &str {
    let body = shown.split_once("<body>").map_or(shown, |(_, body)| body);
    body.split_once("class=\"iteration").map_or(body, |(top, _)| top)
}

#[test]
fn a_reason_that_stands_in_the_first_line_is_not_told_again() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let server = ModelServer::start(|_| Scripted::error(Vendor::Anthropic, 401, "authentication_error", "bad key"));
    let program = Program::with_anthropic(&server.url()).without_court();
    let path = database(folder.path());
    let (said, report) = run_json(&program, &project, &path);
    assert_eq!(said.code, 5, "{}", said.all());
    assert_eq!(report["recent_errors"], json!([]), "{report:#}");
    let path = path.to_str().expect("text");
    for form in ["text", "md", "html"] {
        let shown = program.run(project.path(), &["report", "--format", form, "--audit-db", path]).out;
        assert_eq!(top(&shown).matches("bad key").count(), 1, "{form}: {shown}");
        assert!(shown.contains("check the key in"), "{form}: {shown}");
        assert!(!shown.contains("`check the key"), "advice is a sentence: {shown}");
    }
}

/// A test that prints the folders of the machine it runs on.
const TELLS_FOLDERS: &str = "import os, tempfile, unittest\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    \
    def test_total(self):\n        where = [os.path.abspath('cart.cfg'), tempfile.mkdtemp(), os.path.expanduser('~/.cart')]\n        \
    self.assertEqual(total([1, 2, 3]), 6, ' '.join(where))\n";

#[test]
fn folders_of_the_machine_are_told_as_they_are_named_anywhere() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    project.write("tests/test_cart.py", TELLS_FOLDERS);
    let broken =
        json!({ "path": project.source, "old_text": project.wrong, "new_text": project.wrong.replace("- 1", "- 2") });
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("edit_file", broken.clone()).usage(10, 10).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(10, 10).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let (said, report) = run_json(&program, &project, &database(folder.path()));
    assert_eq!(said.code, 1, "{}", said.all());
    let errors: Vec<&str> =
        report["recent_errors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let told = errors.concat();
    assert!(told.contains(" : cart.cfg $TMPDIR/") && told.contains(" ~/.cart"), "{errors:?}");
    for text in [told.as_str(), &said.err] {
        assert!(
            !text.contains("/upshift-") && !text.contains(&format!("{}/cart.cfg", project.path().display())),
            "{text}"
        );
    }
}

#[test]
fn a_summary_behind_another_one_stays_within_what_github_shows() {
    let project = Project::python();
    let server = ModelServer::start(mend(&project));
    let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x2");
    let before = "x".repeat(1_048_576 - 700);
    std::fs::write(job.file("summary"), &before).expect("written");
    let said = job.run(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    let summary = job.text("summary");
    assert!(summary.len() <= 1_048_576, "{}", summary.len());
    let ours = summary.trim_start_matches('x');
    assert!(
        ours.contains("### ✔ 1 test fixed") && ours.contains("Left out to stay within GitHub's size limit: "),
        "{ours}"
    );
    assert!(ours.contains("All of it is in "), "{ours}");
    server.finish();
}

#[test]
fn a_resume_without_a_name_says_which_killed_run_there_is_to_go_on_with() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let path = database(folder.path());
    let log = path.to_str().expect("text");
    let server = ModelServer::start(mend(&project));
    let killed =
        Program::with_anthropic(&server.url()).without_court().with("UPSHIFT_CRASH_AFTER", "iteration_started:1");
    let (args, command) =
        (["run", "--audit-db", log, "--tiers", "claude-haiku-4-5 x1", "--test-command"], project.test_command);
    let said = killed.run(project.path(), &[&args[..], &[command]].concat());
    assert_eq!(said.code, -9, "{}", said.all());
    let program = killed.with("UPSHIFT_CRASH_AFTER", "");
    let first: Value =
        serde_json::from_str(&program.run(project.path(), &["runs", "--format", "json", "--audit-db", log]).out)
            .expect("JSON");
    let first = first[0]["run_id"].as_str().and_then(|id| id.get(..8)).expect("a long id").to_owned();
    let (said, _report) = run_json(&program, &project, &path);
    assert_eq!(said.code, 0, "{}", said.all());
    let said = program.run(project.path(), &["resume", "--audit-db", log]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("the run has ended (fixed)"), "{}", said.err);
    assert!(
        said.err.contains(&format!("→ Fix: run {first} was killed before it: `upshift resume {first}` continues")),
        "{}",
        said.err
    );
    server.finish();
}

#[test]
fn figures_of_runs_that_reached_no_model_have_no_empty_tables() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let path = database(folder.path());
    let log = path.to_str().expect("text");
    let program = Program::with_anthropic("http://127.0.0.1:9").without_court();
    let args = ["run", "--audit-db", log, "--tiers", "claude-haiku-4-5 x1", "--test-command", "no-such-runner -v"];
    assert_eq!(program.run(project.path(), &args).code, 7);
    let figures = program.run(project.path(), &["stats", "--audit-db", log]).out;
    assert!(
        figures.contains("1 run: 1 broken") && !figures.contains("REACHED") && !figures.contains("PROMPT TOKENS"),
        "{figures}"
    );
}
