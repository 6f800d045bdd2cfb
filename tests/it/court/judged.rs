//! Small histories of many test frameworks under `upshift judge`: the red start of an honest fix as the base, the fix as the head.
//!
//! `cargo test --test it -- --ignored court::judged --nocapture`, with what `.ci/frameworks` installs.
//! `UPSHIFT_HONEST` is part of a history's name, for those alone.

#![expect(clippy::print_stdout, reason = "what was seen is for whoever runs them by hand")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::honest_ledger::{Case, RUNNERS, Runner, ledger, read};
use crate::world::program::Program;

/// How many histories of each runner are judged.
const OF_EACH: usize = 2;

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.test"]).args(arguments).current_dir(folder);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(folder: &Path, message: &str) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", message]);
}

/// The finding about a history: its standing, with the reason where it is not proven.
fn standing(case: &Case, runner: &Runner) -> String {
    let folder = runner.needs.folder();
    git(folder.path(), &["init", "--quiet", "--initial-branch=main"]);
    case.lay(folder.path());
    commit(folder.path(), "base");
    if let Err(why) = case.mend(folder.path()) {
        return why;
    }
    commit(folder.path(), "head");
    let args = ["judge", "--base", "HEAD~1", "--head", "HEAD", "--format", "json", "--test-command", &case.command];
    let said = runner.needs.equip(Program::new()).run(folder.path(), &args);
    let finding: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}: {}", case.name, said.all()));
    let standing = finding["standing"].as_str().unwrap_or_default();
    match (standing, said.code) {
        ("proven", 0) => standing.to_owned(),
        (_, code) => format!("{standing} ({code}): {}", finding["reason"].as_str().unwrap_or_default()),
    }
}

#[test]
#[ignore = "takes minutes, and needs what `.ci/frameworks` installs"]
fn honest_histories_are_proven() {
    let only = std::env::var("UPSHIFT_HONEST").unwrap_or_default();
    let mut others = Vec::new();
    for name in RUNNERS {
        let runner = read(&ledger(&format!("{name}.txt")));
        if runner.places.iter().any(|place| !Path::new(place).exists()) {
            println!("{name}: passed over, its tools are not installed");
            continue;
        }
        for case in runner.cases.iter().filter(|case| case.name.contains(&only)).take(OF_EACH) {
            let standing = standing(case, &runner);
            println!("{name} {}: {standing}", case.name);
            if standing != "proven" {
                others.push(format!("{name} {}: {standing}", case.name));
            }
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}
