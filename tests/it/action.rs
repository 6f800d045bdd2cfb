//! The Action: what `action.yml` promises is what the configuration and the program keep; and whole workflows under act.

mod act;
mod agents;
mod attempts;
pub(crate) mod commands;
pub(crate) mod comment;
mod cost;
mod delivery;
mod died;
mod doctor;
mod flaky;
mod forged;
mod forges;
pub(crate) mod gate;
mod halting;
mod hour;
mod kept_reports;
mod killed;
pub(crate) mod nightly;
mod outsiders;
mod over;
mod parked;
mod queue;
mod races;
mod recipes;
mod recorded;
mod red_ci;
mod red_elsewhere;
mod reentry;
mod resumed;
mod scale_out;
mod scheduled;
pub(crate) mod step;
mod strangers;
mod trouble;
mod unblocked;
mod unnamed;
mod waits;
mod weather;
mod woken;
mod workflows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_yaml::Value;
use upshift::config::Setting;
use upshift::report::outputs;

/// Settings that are no input: where a run leaves its log and in which form it reports is the Action's own business.
const NO_INPUTS: [Setting; 4] = [Setting::AuditDb, Setting::NoAudit, Setting::Record, Setting::Format];
/// Inputs that choose what is done and by which program.
const SHAPE: [&str; 6] = ["mode", "command", "binary", "sha256", "head-sha", "agents"];
/// Inputs that are no setting: secrets.
const TOKENS: [&str; 2] = ["github-token", "push-token"];

pub(crate) fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect(name)
}

fn action() -> Value {
    serde_yaml::from_str(&file("action.yml")).expect("YAML")
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_mapping().expect("a map").keys().map(|key| key.as_str().expect("text").to_owned()).collect()
}

/// The environment of the step that runs upshift.
fn environment() -> BTreeMap<String, String> {
    let action = action();
    let steps = action["runs"]["steps"].as_sequence().expect("steps").clone();
    let run = steps.iter().find(|step| step["id"].as_str() == Some("run")).expect("the step");
    let pairs = run["env"].as_mapping().expect("an environment").iter();
    pairs
        .map(|(name, value)| (name.as_str().expect("text").to_owned(), value.as_str().expect("text").to_owned()))
        .collect()
}

/// The environment that a step with these inputs gives the program: what the file says, worked out as the runner does.
fn environment_of_a_step(with: &Value, token: &str) -> Vec<(String, String)> {
    let action = action();
    let input = |name: &str| {
        // A secret or an output that is not there is empty.
        let is_gone = |given: &str| ["${{ secrets.", "${{ steps."].iter().any(|kind| given.starts_with(kind));
        let known = |given: &str| if is_gone(given) { String::new() } else { given.to_owned() };
        let given = with.get(name).and_then(Value::as_str).map(known);
        let default = action["inputs"][name]["default"].as_str().unwrap_or_default();
        given.unwrap_or_else(|| default.replace("${{ github.token }}", token))
    };
    let value = |text: &str| match text.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}")) {
        None => text.to_owned(),
        Some("github.token") => token.to_owned(),
        Some("steps.install.outputs.binary") => env!("CARGO_BIN_EXE_upshift").to_owned(),
        Some("steps.install.outputs.command") => "run".to_owned(),
        Some(expression) => input(expression.strip_prefix("inputs.").expect("an input")),
    };
    environment().iter().map(|(name, text)| (name.clone(), value(text))).collect()
}

/// What a workflow gives the step that uses the action.
fn with_of(workflow: &str) -> Value {
    let workflow: Value = serde_yaml::from_str(workflow).expect("YAML");
    let steps = workflow["jobs"]["fix"]["steps"].as_sequence().expect("steps").clone();
    let uses = |step: &&Value| step["uses"].as_str().is_some_and(|uses| uses.starts_with("YOUR-ACCOUNT/upshift@"));
    steps.iter().rfind(uses).expect("the step")["with"].clone()
}

pub(crate) fn inputs() -> BTreeSet<String> {
    let settings = Setting::ALL.iter().filter(|setting| !NO_INPUTS.contains(setting));
    let names = settings.map(|setting| setting.flag().trim_start_matches("--").to_owned());
    names.chain(TOKENS.into_iter().chain(SHAPE).map(str::to_owned)).collect()
}

#[test]
fn the_inputs_are_the_settings_of_the_configuration_two_tokens_and_what_is_done() {
    assert_eq!(keys(&action()["inputs"]), inputs());
}

#[test]
fn every_input_reaches_the_program_by_its_variable_alone() {
    let environment = environment();
    for setting in Setting::ALL.iter().filter(|setting| !NO_INPUTS.contains(setting)) {
        let expected = format!("${{{{ inputs.{} }}}}", setting.flag().trim_start_matches("--"));
        assert_eq!(environment.get(setting.env()), Some(&expected));
    }
    for token in TOKENS {
        let variable = format!("UPSHIFT_{}", token.to_uppercase().replace('-', "_"));
        assert_eq!(environment.get(&variable), Some(&format!("${{{{ inputs.{token} }}}}")));
    }
    let others = ["UPSHIFT_ACTION", "UPSHIFT_BIN", "UPSHIFT_COMMAND", "UPSHIFT_HEAD_SHA", "UPSHIFT_JOB_TOKEN"];
    let given = environment.iter().filter(|(_, value)| !value.is_empty()).count();
    assert_eq!(given, inputs().len() - SHAPE.len() + others.len(), "{environment:?}");
    assert!(others.iter().all(|name| environment.contains_key(*name)), "{environment:?}");
}

#[test]
fn the_outputs_are_those_that_the_program_writes() {
    let written = outputs::NAMES.into_iter().chain(outputs::OF_GATE).chain([outputs::OF_JUDGE]);
    let all: BTreeSet<String> = written.clone().chain(["binary", "sha256"]).map(str::to_owned).collect();
    assert_eq!(keys(&action()["outputs"]), all);
    for name in written {
        let value = action()["outputs"][name]["value"].as_str().map(str::to_owned);
        assert_eq!(value, Some(format!("${{{{ steps.run.outputs.{name} }}}}")));
    }
}

#[test]
fn the_reference_says_of_every_input_and_output_what_the_action_says() {
    let (reference, action) = (file("docs/action.md"), action());
    let described = [("inputs", keys(&action["inputs"])), ("outputs", keys(&action["outputs"]))];
    for (part, name) in described.iter().flat_map(|(part, names)| names.iter().map(move |name| (part, name))) {
        let description = action[*part][name.as_str()]["description"].as_str().expect("a description");
        assert!(reference.contains(&format!("\n| `{name}` | {description} |\n")), "{part}: {name}: {description}");
    }
}

/// Every `run:` of a document, wherever it stands.
fn scripts(value: &Value, found: &mut Vec<String>) {
    if let Some(map) = value.as_mapping() {
        for (key, value) in map {
            match (key.as_str(), value.as_str()) {
                (Some("run"), Some(script)) => found.push(script.to_owned()),
                _ => scripts(value, found),
            }
        }
    }
    value.as_sequence().into_iter().flatten().for_each(|value| scripts(value, found));
}

/// Every file with steps in it: the action, this repository's workflows, and the one that `init` writes.
fn documents() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows");
    let workflows = std::fs::read_dir(folder).expect("workflows").map(|entry| {
        let path = entry.expect("an entry").path();
        (path.display().to_string(), std::fs::read_to_string(path).expect("a text"))
    });
    let ours = [
        ("action.yml", file("action.yml")),
        ("init", upshift::cli::init::WORKFLOW.to_owned()),
        ("init --judge", upshift::cli::init::JUDGE.to_owned()),
    ];
    ours.into_iter().map(|(name, text)| (name.to_owned(), text)).chain(workflows).collect()
}

#[test]
fn no_script_holds_an_expression() {
    for (name, text) in documents() {
        let mut found = Vec::new();
        scripts(&serde_yaml::from_str(&text).expect("YAML"), &mut found);
        assert!(found.iter().all(|script| !script.contains("${{")), "{name}: {found:?}");
    }
}

#[test]
fn every_foreign_action_is_pinned_by_commit() {
    for (name, text) in documents() {
        for line in text.lines() {
            let Some(uses) = line.trim_start().trim_start_matches("- ").strip_prefix("uses: ") else { continue };
            let uses = uses.split_whitespace().next().expect("an action");
            if uses.starts_with("./") || uses.starts_with("YOUR-ACCOUNT/upshift@") {
                continue;
            }
            let (_, reference) = uses.split_once('@').expect("a version");
            let is_commit = reference.len() == 40 && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit, "{name}: {uses}");
        }
    }
}

#[test]
fn no_step_finds_its_shell_on_the_path_or_lets_the_environment_steer_it() {
    let action = action();
    let steps = action["runs"]["steps"].as_sequence().expect("steps").clone();
    let scripts: Vec<_> = steps.iter().filter(|step| step.get("run").is_some()).collect();
    assert_eq!(scripts.len(), 3);
    for step in scripts {
        let shell = step["shell"].as_str().expect("a shell");
        assert!(shell.contains("'/bin/bash' }} --noprofile --norc -p -e ") && shell.contains("'C:\\"), "{shell}");
        for name in ["BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES"] {
            assert_eq!(step["env"][name].as_str(), Some(""), "{name}");
        }
    }
}

#[test]
fn the_signal_of_a_cancelled_job_reaches_the_program() {
    let mut found = Vec::new();
    scripts(&action(), &mut found);
    assert!(found.iter().all(|script| script.starts_with("exec ") && script.lines().count() == 1), "{found:?}");
}

#[test]
fn fact_13_no_job_saves_a_cache() {
    for (name, text) in documents() {
        for line in text.lines() {
            let saves = line.contains("actions/cache") || line.trim_start().starts_with("cache:");
            assert!(!saves, "{name}: {line}");
        }
    }
}

#[test]
fn fact_15_the_log_is_kept_by_a_step_of_its_own_that_always_runs() {
    let action = action();
    let steps = action["runs"]["steps"].as_sequence().expect("steps").clone();
    let last = steps.last().expect("a step");
    assert!(last["uses"].as_str().is_some_and(|uses| uses.starts_with("actions/upload-artifact@")));
    assert_eq!(
        last["if"].as_str(),
        Some("always() && inputs.command != 'gate' && inputs.command != 'install' && inputs.mode != 'judge'"),
        "they have no log"
    );
    assert_eq!(last["continue-on-error"].as_bool(), Some(true), "not every server has the service");
    let name = last["with"]["name"].as_str().expect("a name");
    assert!(name.contains("github.run_id") && name.contains("github.run_attempt"), "{name}");
    let paths = last["with"]["path"].as_str().expect("paths");
    assert!(paths.lines().all(|path| !path.contains("/.")), "hidden files are left out: {paths}");
}

#[test]
fn fact_33_the_job_may_last_longer_than_the_caps_allow() {
    let workflow: Value = serde_yaml::from_str(upshift::cli::init::WORKFLOW).expect("YAML");
    let minutes = workflow["jobs"]["fix"]["timeout-minutes"].as_u64().expect("minutes");
    let with = with_of(upshift::cli::init::WORKFLOW);
    let active: u64 = with["max-duration-minutes"].as_str().expect("minutes").parse().expect("a number");
    // Waiting for CI and then for a merge, by default.
    assert!(active + 30 + 60 < minutes && minutes <= 360, "{active} + 30 + 60 < {minutes} <= 360");
}

#[test]
fn fact_34_no_run_of_ours_is_cancelled_by_the_next() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/workflows/upshift.yml");
    for text in [upshift::cli::init::WORKFLOW.to_owned(), std::fs::read_to_string(root).expect("a text")] {
        let workflow: Value = serde_yaml::from_str(&text).expect("YAML");
        let group = &workflow["jobs"]["fix"]["concurrency"];
        assert_eq!(group["cancel-in-progress"].as_bool(), Some(false));
        assert!(group["group"].as_str().is_some_and(|group| group.contains("pull_request.number")), "{group:?}");
    }
}

/// The workflow that others call holds the job of the one that `init` writes.
#[test]
fn the_workflow_to_be_called_lets_in_whom_inits_lets_in_and_hands_on_inputs_that_there_are() {
    let (ours, inits) = (file(".github/workflows/fix.yml"), upshift::cli::init::WORKFLOW);
    let job = |text: &str| -> Value { serde_yaml::from_str::<Value>(text).expect("YAML")["jobs"]["fix"].clone() };
    let (called, known) = (job(&ours), job(inits));
    for key in ["if", "permissions", "concurrency", "timeout-minutes"] {
        assert_eq!(called[key], known[key], "{key}");
    }
    let on = serde_yaml::from_str::<Value>(&ours).expect("YAML")["on"]["workflow_call"].clone();
    let steps = called["steps"].as_sequence().expect("steps");
    let with = keys(&steps.last().expect("a step")["with"]);
    let known = keys(&action()["inputs"]);
    assert!(with.is_subset(&known), "{:?}", with.difference(&known));
    let offered: BTreeSet<String> = keys(&on["inputs"]).into_iter().filter(|name| name != "runs-on").collect();
    assert!(offered.is_subset(&with), "{:?}", offered.difference(&with));
    let step_of =
        |words: &str| steps.iter().position(|step| serde_yaml::to_string(step).expect("YAML").contains(words));
    let (asks, gate) = (step_of("exit 1").expect("the question"), step_of("command: gate").expect("the gate"));
    let key = step_of("ANTHROPIC_API_KEY").expect("the key");
    assert!(asks == 0 && gate < key && key == steps.len() - 1, "no key before the gate");
    assert!(!ours.contains("id-token") && !ours.contains("secrets: inherit"));
}
