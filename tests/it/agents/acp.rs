//! Agents that speak the Agent Client Protocol: files and permissions are answered by us.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Site, done, steps};
use crate::world::model_server::{Request, Scripted};
use crate::world::project::Project;

const LADDER: &str = "cli/acp:claude-haiku-4-5 x1";

/// A site whose `cli/acp` is the agent of the tests.
fn site(project: Project, script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Site {
    let folder = tempfile::Builder::new().prefix("agents-acp-").tempdir().expect("a folder").keep();
    let agent = folder.join("some-agent");
    std::fs::write(&agent, include_str!("acp.py")).expect("the agent");
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let command = json!({"agents": {"acp": {"command": [agent]}}});
    project.write(".github/upshift.yml", &command.to_string());
    Site::new(project, script)
}

fn mended(project: &Project) -> (String, String) {
    let before = project.read(project.source);
    (before.clone(), before.replace(project.wrong, project.right))
}

#[test]
fn its_files_and_permissions_are_ours_and_what_judges_is_refused_when_it_is_written() {
    let project = Project::python();
    let test = project.read("tests/test_cart.py");
    let (before, right) = mended(&project);
    let source = project.source;
    let work = json!([
        {"do": "read", "path": source},
        {"do": "read", "path": source, "more": {"line": 2, "limit": 1}},
        {"do": "read", "path": "/etc/passwd"},
        {"do": "write", "path": "tests/test_cart.py", "text": "# nothing is tested any more\n"},
        {"do": "write", "path": "/tmp/outside.py", "text": "x"},
        {"do": "ask", "path": "tests/test_cart.py"},
        {"do": "ask", "path": source},
        {"do": "write", "path": source, "text": right},
    ]);
    let site =
        site(project, move |request| if request.turn() == 0 { steps(&work) } else { done("DONE\nmended by ACP") });
    let said = site.run(&["--tiers", LADDER]);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = site.server.requests()[1].last_user_text();
    let answers: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(answers.len(), 8, "{told}");
    let second = before.lines().nth(1).expect("a line");
    assert_eq!((&answers[0][2]["content"], &answers[1][2]["content"]), (&json!(before), &json!(format!("{second}\n"))));
    for refused in [2, 3, 4] {
        assert!(answers[refused][3]["message"].is_string() && answers[refused][2].is_null(), "{refused}: {told}");
    }
    assert_eq!(answers[5][2]["outcome"]["optionId"], "stay");
    assert_eq!(answers[6][2]["outcome"]["optionId"], "go");
    assert_eq!(site.project.read("tests/test_cart.py"), test);
    let warnings = site.warnings();
    assert!(
        warnings.contains("An agent was refused a file") && warnings.contains("An agent was refused a change"),
        "{warnings}"
    );
    // Refused when it was written, so nothing had to be put back.
    assert!(!warnings.contains("put back after"), "{warnings}");
    let row = site.log().rows("SELECT model_artisan, test_status FROM tier_attempts");
    assert_eq!(row, [["cli/acp:claude-haiku-4-5", "passed"]]);
    let conversation = site.log().value("SELECT body FROM snapshots WHERE kind = 'conversation'");
    assert!(conversation.contains("mended by ACP"), "{conversation}");
    let (receipts, rows) = (site.spent(), site.spent_by_rows());
    let billed = site.server.finish();
    assert_eq!((receipts, rows), (billed.0, billed.0));
}

#[test]
fn one_that_stays_when_the_talk_is_over_is_ended() {
    let project = Project::python();
    project.write("stays", "");
    let (_, right) = mended(&project);
    let work = json!([{"do": "write", "path": project.source, "text": right}]);
    let site = site(project, move |request| if request.turn() == 0 { steps(&work) } else { done("DONE\nmended") });
    let began = Instant::now();
    let said = site.run(&["--tiers", LADDER]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    site.server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_limit_that_it_tells_of_is_one_although_we_end_it() {
    let project = Project::python();
    project.write("limited-elsewhere", "");
    let edit = super::mend(&project);
    let site = site(project, move |request| if request.turn() == 0 { steps(&edit) } else { done("DONE\nmended") });
    let tier = json!({"name": "both", "mode": "simple", "maxIterations": 1,
        "models": {"artisan": ["cli/acp:claude-haiku-4-5", "cli/codex:gpt-4.1"]}});
    let said = site.run(&["--tiers", &json!({ "tiers": [tier] }).to_string()]);
    assert_eq!(said.code, 0, "{}", said.all());
    let switched = site.log().value("SELECT body FROM events WHERE kind = 'agent_switched'");
    assert!(switched.contains("429 Too Many Requests") && !switched.contains("asked no model"), "{switched}");
    assert_eq!(site.warnings().matches("it is started again in").count(), 3, "{}", site.warnings());
    site.server.finish();
}

#[test]
fn a_role_that_reads_gets_no_file_written() {
    let project = Project::python();
    let (before, right) = mended(&project);
    let work = json!([{"do": "write", "path": project.source, "text": right}, {"do": "ask", "path": project.source}]);
    let site = site(project, move |request| match request.turn() {
        0 => steps(&work),
        _ if request.all_text().contains("You brief") => done("DONE\nlook at the sum"),
        _ => done("DONE\nnothing"),
    });
    let tiers = json!({"tiers": [{"name": "one", "mode": "full", "maxIterations": 1, "models": {
        "librarian": LADDER.trim_end_matches(" x1"), "artisan": "ollama/qwen3-coder", "critic": "ollama/qwen3-coder"}}]});
    let said = site.run(&["--tiers", &tiers.to_string()]);
    assert_ne!(said.code, 0, "{}", said.all());
    let told = site.server.requests()[1].last_user_text();
    assert!(told.contains("this role reads and changes nothing") && told.contains("stay"), "{told}");
    assert_eq!(site.project.read(site.project.source), before);
    drop(site);
}

#[test]
fn one_without_a_command_is_told_how_to_name_it_and_the_doctor_tries_it_out() {
    let site_without = Site::new(Project::python(), |_| Scripted::Unexpected);
    let said = site_without.run(&["--tiers", LADDER]);
    assert!(said.code == 2 && said.err.contains("agents: {acp: {command:"), "{}", said.all());
    site_without.server.finish();
    let site = site(Project::python(), |_| Scripted::Unexpected);
    let said = site.program.run(site.project.path(), &["doctor", "--tiers", LADDER]);
    assert!(said.out.contains("✔ agents: cli/acp (7.7.7 (acp)) works through the gateway"), "{}", said.all());
    site.server.finish();
}

#[test]
fn one_that_hangs_in_the_middle_of_the_talk_is_ended_and_judged() {
    let project = Project::python();
    let (_, right) = mended(&project);
    let source = project.source;
    let work = json!([{"do": "write", "path": source, "text": right}, {"do": "hang", "path": source}]);
    let site = site(project, move |_| steps(&work));
    let config = site.project.read(".github/upshift.yml").replacen('{', "{\"agent\": {\"idleSeconds\": 2}, ", 1);
    site.project.write(".github/upshift.yml", &config);
    let began = Instant::now();
    let said = site.run(&["--tiers", LADDER]);
    assert!(said.code == 0 && began.elapsed() < Duration::from_secs(40), "{}", said.all());
    let end = site.log().value("SELECT body FROM events WHERE kind = 'session_finished'");
    assert!(end.contains("it said nothing for 2 s"), "{end}");
    site.server.finish();
}
