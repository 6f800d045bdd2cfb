//! `check`, `init` and `schema`: what a person reads.

use std::fs;

use upshift::cli::check::{Detected, Found, render};
use upshift::cli::init::{self, Options, Overwrite, Schedule};
use upshift::config::{Setting, Sources};

use crate::world::program::Program;

use super::{configured, file, flagged, keys, plan};

const PLAIN: Options = Options { schedule: Schedule::No, hears_outsiders: false, action: None };
const HALF_HOURLY: Options = Options { schedule: Schedule::HalfHourly, ..PLAIN };

fn detected() -> Detected {
    Detected { command: "cargo test".to_owned(), framework: "cargo-test".to_owned(), why: "Cargo.toml".to_owned() }
}

#[test]
fn check_shows_the_ladder_its_prices_the_worst_case_and_every_origin() {
    let mut sources = configured(include_str!("../../../examples/local-mid-strong.yml"));
    sources.flags = sources.flags.with(Setting::MaxDurationMinutes, "30");
    sources.env.insert("UPSHIFT_OBJECTIVE".to_owned(), "Fix the parser.".to_owned());
    insta::assert_snapshot!(render(&plan(&sources), &Found { tests: Some(&detected()), ..Found::default() }));
}

#[test]
fn check_of_nothing_but_a_key_shows_the_built_in_ladder() {
    let mut sources = Sources::default();
    sources.env.insert("OPENAI_API_KEY".to_owned(), "k".to_owned());
    insta::assert_snapshot!(render(&plan(&sources), &Found::default()));
}

#[test]
fn check_says_what_would_be_refused_and_what_has_no_effect() {
    let text = "tiers: ollama/unheard-of x2\nsafety: {sandbox: required}\ngithub: {waitFor: merge}\nglobal: {auditDbPath: null}\n";
    let shown = render(&plan(&configured(text)), &Found { tests: Some(&detected()), ..Found::default() });
    for part in [
        "refuses to run",
        "sandbox is `required`",
        "github.waitFor",
        "8,000",
        "free",
        "off: nothing is recorded",
        "every model is free",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn check_says_that_a_command_was_given_and_which_framework_it_runs() {
    let given = plan(&flagged(Setting::TestCommand, "pytest -q"));
    let known = Detected { command: "pytest -q".into(), framework: "pytest".into(), why: "the command".into() };
    let shown = render(&given, &Found { tests: Some(&known), ..Found::default() });
    assert!(
        shown.contains("pytest -q  (given, from ") && shown.contains("framework: pytest, by the command)"),
        "{shown}"
    );
    let unknown = render(&given, &Found::default());
    assert!(unknown.contains("framework: recognised from its output)"), "{unknown}");
}

#[test]
fn check_shows_control_characters_and_does_not_send_them() {
    let shown = render(&plan(&flagged(Setting::Objective, "a\u{1b}[2Jb\u{7}")), &Found::default());
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{7}'), "{shown:?}");
}

#[test]
fn init_writes_files_that_load_and_says_what_is_next() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join(".git")).unwrap();
    let said = init::write(root.path(), Overwrite::No, &PLAIN).unwrap();
    insta::assert_snapshot!(said);
    let config = fs::read_to_string(root.path().join(init::CONFIG_PATH)).unwrap();
    plan(&Sources { config_file: Some(file(init::CONFIG_PATH, &config)), ..keys() });
    let workflow = fs::read_to_string(root.path().join(init::WORKFLOW_PATH)).unwrap();
    let workflow: serde_json::Value = serde_yaml::from_str(&workflow).unwrap();
    assert_eq!(workflow["permissions"], serde_json::json!({}), "no more than it needs");
    let review = fs::read_to_string(root.path().join(init::REVIEW_PATH)).unwrap();
    let review: serde_json::Value = serde_yaml::from_str(&review).unwrap();
    assert_eq!(workflow["on"]["workflow_run"]["workflows"][1], review["name"], "one follows the other by its name");
    assert_eq!((&review["permissions"], review["jobs"]["told"].get("permissions")), (&serde_json::json!({}), None));
    let rights = serde_json::json!({
        "actions": "read", "checks": "read", "contents": "write", "issues": "read", "pull-requests": "write",
        "statuses": "read"
    });
    assert_eq!(workflow["jobs"]["fix"]["permissions"], rights);
    assert_eq!(workflow["jobs"]["fix"]["concurrency"]["cancel-in-progress"], false, "never in the middle of a push");
    let steps = workflow["jobs"]["fix"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["uses"] == "YOUR-ACCOUNT/upshift@v1"));
    assert!(steps.iter().all(|step| step.get("run").is_none()), "nothing of the event reaches a shell");
}

#[test]
fn init_offers_a_schedule_that_has_parked_runs_go_on_without_a_key() {
    let root = tempfile::tempdir().unwrap();
    init::write(root.path(), Overwrite::No, &HALF_HOURLY).unwrap();
    let text = fs::read_to_string(root.path().join(init::WORKFLOW_PATH)).unwrap();
    let workflow: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(workflow["on"]["schedule"][0]["cron"], "17,47 * * * *");
    let plain: serde_json::Value = serde_yaml::from_str(init::WORKFLOW).unwrap();
    assert_eq!(workflow["jobs"]["fix"], plain["jobs"]["fix"], "the rest is as ever");
    for (trigger, what) in plain["on"].as_object().unwrap() {
        assert_eq!(workflow["on"][trigger], *what, "{trigger}");
    }
    let resume = &workflow["jobs"]["resume"];
    let condition = resume["if"].as_str().unwrap();
    let own =
        "github.event.action == 'closed' &&\n  github.event.pull_request.head.repo.full_name == github.repository";
    for part in ["github.event_name == 'schedule' ||", "github.event_name == 'issues' ||", own] {
        assert!(condition.contains(part), "{part}: {condition}");
    }
    assert_eq!(workflow["on"]["issues"]["types"], serde_json::json!(["closed"]));
    let rights = serde_json::json!({
        "actions": "write", "checks": "read", "issues": "read", "pull-requests": "read", "statuses": "read"
    });
    assert_eq!(resume["permissions"], rights);
    let steps = resume["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 1, "no checkout, nothing of the repository is run");
    assert_eq!(steps[0]["with"], serde_json::json!({ "command": "resume" }));
    assert!(steps[0].get("env").is_none(), "no key");
}

#[test]
fn init_offers_triggers_for_checks_that_are_not_of_actions() {
    let root = tempfile::tempdir().unwrap();
    let options = Options { hears_outsiders: true, ..HALF_HOURLY };
    init::write(root.path(), Overwrite::No, &options).unwrap();
    let text = fs::read_to_string(root.path().join(init::WORKFLOW_PATH)).unwrap();
    let workflow: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let plain: serde_json::Value = serde_yaml::from_str(init::WORKFLOW).unwrap();
    assert_eq!(workflow["on"]["check_suite"]["types"], serde_json::json!(["completed"]));
    assert!(workflow["on"].as_object().unwrap().contains_key("status") && workflow["on"].get("schedule").is_some());
    let text_of = |document: &serde_json::Value, key: &str| document["jobs"]["fix"][key].as_str().unwrap().to_owned();
    let condition = text_of(&workflow, "if");
    assert!(condition.ends_with(&text_of(&plain, "if")), "the rest is as ever: {condition}");
    for part in [
        "contains(github.event.check_suite.head_commit.message, 'Upshift-Run-Id: ')",
        "github.event.state != 'pending' &&\n  contains(github.event.commit.commit.message, 'Upshift-Run-Id: ')",
    ] {
        assert!(condition.contains(part), "{part}: {condition}");
    }
    let group =
        |document: &serde_json::Value| document["jobs"]["fix"]["concurrency"]["group"].as_str().unwrap().to_owned();
    let (group, before) = (group(&workflow), group(&plain));
    assert!(group.starts_with(before.trim_end_matches(" }}")), "{group}");
    assert!(group.ends_with("github.event.check_suite.head_branch || github.event.branches[0].name }}"), "{group}");
}

#[test]
fn what_stands_for_the_owner_may_be_replaced_everywhere() {
    let all = Options { hears_outsiders: true, ..HALF_HOURLY };
    for text in [init::workflow(&all), init::JUDGE.to_owned(), init::REVIEW.to_owned()] {
        let document: serde_yaml::Value = serde_yaml::from_str(&text).unwrap();
        let replaced: serde_yaml::Value = serde_yaml::from_str(&text.replace(init::PLACEHOLDER, "acme")).unwrap();
        let placed = |job: &str| replaced["jobs"][job]["if"] == document["jobs"][job]["if"];
        assert!(["fix", "resume", "told", "judge"].into_iter().all(placed), "no condition is changed");
        assert!(!text.contains(" OWNER ") && !text.contains("OWNER/"), "{text}");
    }
    assert!(init::WORKFLOW.contains(&format!("uses: {}/upshift@v1", init::PLACEHOLDER)));
}

#[test]
fn init_never_overwrites_unless_told_to() {
    let root = tempfile::tempdir().unwrap();
    let config = root.path().join(init::CONFIG_PATH);
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "mine").unwrap();
    let refused = init::write(root.path(), Overwrite::No, &PLAIN).unwrap_err();
    assert_eq!(
        refused.to_string(),
        ".github/upshift.yml is there already: nothing was written\n→ Fix: commit your changes, then replace it with `upshift init --force`"
    );
    let all = Options { hears_outsiders: true, ..HALF_HOURLY };
    let refused = init::write(root.path(), Overwrite::No, &all).unwrap_err().to_string();
    assert!(
        refused.contains("`upshift init --schedule --external-checks --force`"),
        "the flags that were given: {refused}"
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), "mine");
    assert!(!root.path().join(init::WORKFLOW_PATH).exists(), "nothing at all was written");
    init::write(root.path(), Overwrite::Yes, &PLAIN).unwrap();
    assert_eq!(fs::read_to_string(&config).unwrap(), init::CONFIG);
}

#[test]
fn init_writes_nothing_below_the_top_of_a_repository_and_says_where_none_is() {
    let root = tempfile::tempdir().unwrap();
    let below = root.path().join("web shop");
    fs::create_dir(&below).unwrap();
    assert!(init::write(&below, Overwrite::No, &PLAIN).unwrap().contains("This folder is in no git repository"));
    fs::remove_dir_all(below.join(".github")).unwrap();
    fs::create_dir(root.path().join(".git")).unwrap();
    let refused = init::write(&below, Overwrite::Yes, &PLAIN).unwrap_err().to_string();
    assert!(refused.contains("→ Fix: cd ") && !below.join(".github").exists(), "{refused}");
    assert!(!init::write(root.path(), Overwrite::No, &PLAIN).unwrap().contains("no git repository"));
}

#[cfg(unix)]
#[test]
fn init_replaces_a_link_and_does_not_write_through_it() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("kept");
    fs::write(&target, "kept").unwrap();
    fs::create_dir(root.path().join(".github")).unwrap();
    std::os::unix::fs::symlink(&target, root.path().join(init::CONFIG_PATH)).unwrap();
    assert!(matches!(init::write(root.path(), Overwrite::No, &PLAIN), Err(init::InitError::Exists { .. })));
    init::write(root.path(), Overwrite::Yes, &PLAIN).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    assert_eq!(fs::read_to_string(root.path().join(init::CONFIG_PATH)).unwrap(), init::CONFIG);
}

/// A run without a key says what else is wrong with it, and one with a key what it may cost.
#[test]
fn all_faults_are_told_where_no_key_is_set_and_the_price_of_a_built_in_ladder() {
    let program = Program::new();
    let folder = tempfile::tempdir().expect("a folder");
    let said = program.run(folder.path(), &["run", "--push", "bogus", "--test-command", "true"]);
    assert_eq!(said.code, 2, "{}", said.all());
    for part in ["Error 1: --push", "No model to use: no ladder and no model is configured"] {
        assert!(said.err.contains(part), "{part}: {}", said.all());
    }
    let mut command = program.command(folder.path(), &["run", "--test-command", "true"]);
    let told = command.env("ANTHROPIC_API_KEY", "sk-ant-none").output().expect("it runs");
    let told = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.contains("ANTHROPIC_API_KEY is set; it costs at most $2.00; another:"), "{told}");
}
