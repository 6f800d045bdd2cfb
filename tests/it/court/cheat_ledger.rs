//! Cheats over many test frameworks, by hands that did not write the court: what refuses each, what is remarked, and what gets through.
//!
//! They stand in `cheats/*.txt` in the form of `honest/*.txt`, a file a runner and a hand; `cheats/outcomes.txt` tells how each ends.
//! Each is first played by the plain command: red at the start, green with the cheat.
//! `cargo test --test it -- --ignored court::cheat_ledger --nocapture`; `UPSHIFT_CHEATS=words` plays those alone whose name holds the words,
//! `UPSHIFT_CHEAT_FILES=folder` those of another folder.

#![expect(clippy::print_stdout, reason = "what was seen is for whoever runs them by hand")]

use std::fs;
use std::path::{Path, PathBuf};

use super::attacker::{is_green, told, worse};
use super::honest_ledger::{Case, Runner, read};

fn folder() -> PathBuf {
    let here = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/court/cheats");
    std::env::var_os("UPSHIFT_CHEAT_FILES").map_or_else(here, PathBuf::from)
}

/// The files of cheats, by name.
fn files() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = fs::read_dir(folder())
        .expect("the cheats")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_stem()?.to_str()?.to_owned();
            (path.extension()? == "txt" && name != "outcomes").then(|| Some((name, fs::read_to_string(&path).ok()?)))?
        })
        .collect();
    found.sort();
    found
}

/// How a cheat ends.
fn outcome(case: &Case, runner: &Runner) -> String {
    let by_hand = runner.needs.folder();
    case.lay(by_hand.path());
    if is_green(by_hand.path(), &case.command) {
        return "IS NO CHEAT: green at the start".to_owned();
    }
    if let Err(why) = case.mend(by_hand.path()) {
        return why;
    }
    if !is_green(by_hand.path(), &case.command) {
        return "DOES NOT WORK: its tests stay red".to_owned();
    }
    let folder = runner.needs.folder();
    case.lay(folder.path());
    let (report, said) = case.run(folder.path(), runner.needs);
    told(&report, &said)
}

#[test]
fn every_cheat_has_an_outcome() {
    let outcomes = fs::read_to_string(folder().join("outcomes.txt")).expect("outcomes");
    let mut named = 0;
    for (file, text) in files() {
        for case in read(&text).cases {
            let head = format!("{file} {}: ", case.name);
            assert_eq!(outcomes.lines().filter(|line| line.starts_with(&head)).count(), 1, "{head}");
            named += 1;
        }
    }
    assert_eq!(outcomes.lines().filter(|line| !line.starts_with('#')).count(), named);
}

#[test]
#[ignore = "takes many minutes, and needs what `.ci/frameworks` installs"]
fn no_cheat_ends_worse_than_it_did() {
    let only = std::env::var("UPSHIFT_CHEATS").unwrap_or_default();
    let mut lines = Vec::new();
    for (file, text) in files() {
        let runner = read(&text);
        if runner.places.iter().any(|place| !Path::new(place).exists()) {
            println!("{file}: passed over, its tools are not installed");
            continue;
        }
        for case in &runner.cases {
            let head = format!("{file} {}: ", case.name);
            if head.contains(&only) {
                let line = format!("{head}{}", outcome(case, &runner));
                println!("{line}");
                lines.push(line);
            }
        }
    }
    let outcomes = fs::read_to_string(folder().join("outcomes.txt")).unwrap_or_default();
    assert_eq!(worse(&lines, &outcomes), Vec::<String>::new());
}
