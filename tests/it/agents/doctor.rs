//! `upshift doctor` tries each agent of the ladder out, and `upshift check` says which are there.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::Site;
use crate::world::model_server::Scripted;
use crate::world::project::Project;

const BOTH: &str = "cli/claude:claude-haiku-4-5 x1 > cli/codex:gpt-4.1 x1";

#[test]
fn each_agent_takes_one_turn_against_the_doctors_own_model_and_no_vendor_is_asked() {
    let site = Site::new(Project::python(), |_| Scripted::Unexpected);
    let said = site.program.run(site.project.path(), &["doctor", "--tiers", BOTH]);
    for name in ["claude", "codex"] {
        let line = format!("✔ agents: cli/{name} (9.9.9 ({name})) works through the gateway: one turn in ");
        assert!(said.out.contains(&line), "{}", said.all());
    }
    assert!(site.server.requests().is_empty());
    assert!(!site.project.path().join(".upshift").exists(), "nothing is written");
    site.server.finish();
}

#[test]
fn an_agent_that_is_not_there_or_that_asks_nothing_is_a_problem_with_its_remedy() {
    let site = Site::new(Project::python(), |_| Scripted::Unexpected);
    let bad = site.agents.path().join("codex");
    std::fs::write(
        &bad,
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 1.0.0 && exit 0\necho 'no such option' >&2\nexit 3\n",
    )
    .expect("written");
    std::fs::set_permissions(&bad, std::fs::Permissions::from_mode(0o755)).expect("executable");
    std::fs::remove_file(site.agents.path().join("claude")).expect("removed");
    let said = site.program.run(site.project.path(), &["doctor", "--tiers", BOTH]);
    assert_eq!(said.code, 1, "{}", said.all());
    let line = |name: &str| {
        let begin = format!("✖ agents: cli/{name}");
        said.out
            .lines()
            .find(|line| line.starts_with(&begin))
            .unwrap_or_else(|| panic!("{name}: {}", said.all()))
            .to_owned()
    };
    assert!(line("codex").contains("no such option") && line("codex").contains("→ Fix: "), "{}", said.all());
    assert!(line("claude").contains("npm install -g @anthropic-ai/claude-code"), "{}", said.all());
    site.server.finish();
}

#[test]
fn check_says_which_are_there_in_which_version() {
    let site = Site::new(Project::python(), |_| Scripted::Unexpected);
    let said = site.program.run(site.project.path(), &["check", "--tiers", BOTH, "--test-command", "true"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let row = |name: &str| said.out.lines().find(|line| line.trim_start().starts_with(name)).expect("a row").to_owned();
    assert!(row("cli/claude ").contains("9.9.9 (claude)"), "{}", said.out);
    assert!(row("cli/qwen ").contains("not found"), "{}", said.out);
    site.server.finish();
}

#[test]
fn check_says_which_are_there_also_where_the_ladder_names_none() {
    let site = Site::new(Project::python(), |_| Scripted::Unexpected);
    let said =
        site.program.run(site.project.path(), &["check", "--tiers", "claude-haiku-4-5 x1", "--test-command", "true"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("9.9.9 (claude)") && said.out.contains("9.9.9 (codex)"), "{}", said.out);
    assert!(!said.out.contains("cli/qwen"), "nothing is said of those that nobody has: {}", said.out);
    let plain = crate::world::program::Program::with_anthropic(&site.server.url());
    let said = plain.run(site.project.path(), &["check", "--tiers", "claude-haiku-4-5 x1", "--test-command", "true"]);
    assert!(!said.out.contains("Coding agents in PATH"), "{}", said.out);
    site.server.finish();
}

#[test]
fn b18_a_command_and_arguments_of_ones_own_are_no_other_agents() {
    let project = Project::python();
    let (right, source) = (super::mend(&project), project.source);
    let wrong = json!([{"do": "arguments"}, {"do": "replace", "path": source, "old": "- 1", "new": "+ 7"}]);
    let right = json!([{"do": "arguments"}, {"do": "replace", "path": source, "old": "+ 7", "new": ""}, right[0]]);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        ("gpt-4.1", 0) => super::steps(&wrong),
        (_, 0) => super::steps(&right),
        (_, _) => super::done("DONE\nas well as I could"),
    });
    // A claude of its own elsewhere: the one in PATH is not to be run.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let own = elsewhere.path().join("claude");
    std::fs::rename(site.agents.path().join("claude"), &own).expect("moved");
    let config = json!({"agents": {
        "claude": {"command": [own], "args": ["--append-system-prompt", "OF-CLAUDE"]},
        "codex": {"args": ["-c", "of=CODEX"]},
    }});
    let folder = site.project.path().parent().expect("a parent").join("own.json");
    std::fs::write(&folder, config.to_string()).expect("written");
    let ladder = [
        "--config",
        folder.to_str().expect("text"),
        "--tiers",
        "cli/codex:gpt-4.1 x1 > cli/claude:claude-haiku-4-5 x1",
    ];
    let said = site.run(&ladder);
    assert_eq!(said.code, 0, "{}", said.all());
    let of = |model: &str| {
        let requests = site.server.requests();
        let mut told = requests.iter().filter(|request| request.model == model).map(|request| request.all_text());
        told.next_back().expect("a request")
    };
    let (codex, claude) = (of("gpt-4.1"), of(super::CLAUDE));
    assert!(codex.contains("of=CODEX") && !codex.contains("OF-CLAUDE"), "{codex}");
    assert!(claude.contains("OF-CLAUDE") && claude.contains(own.to_str().expect("text")), "{claude}");
    assert!(!claude.contains("of=CODEX") || claude.contains("PRIOR ATTEMPTS"), "{claude}");
    site.server.finish();
}
