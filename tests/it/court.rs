//! The court on honest fixes: none is refused, and each kind of evidence says what it could see.

mod appended;
mod attacker;
mod callers;
mod cheat_ledger;
mod cheats;
mod checks;
mod compiled;
mod direct;
mod disguised;
mod honest;
mod honest_builds;
mod honest_ledger;
mod judged;
mod python;
mod refusals;
mod removals;
mod repeated;
mod scripts;
mod shared;
mod untouched;

use std::path::Path;

use serde_json::{Value, json};

use crate::frameworks::Needs;
use crate::red_team::verdict::unpack;
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::{Program, Said};

/// A broken repository and its honest fix.
struct Fix {
    name: &'static str,
    /// The files, broken.
    files: Vec<(&'static str, &'static str)>,
    command: &'static str,
    /// What the model writes.
    writes: Vec<(&'static str, &'static str)>,
}

impl Fix {
    /// In a module of Python, `shop/….py`, with unittest.
    fn python(
        name: &'static str,
        [product, tests]: [&'static str; 2],
        [broken, written, test]: [&'static str; 3],
    ) -> Self {
        Self {
            name,
            files: vec![("shop/__init__.py", ""), (product, broken), ("tests/__init__.py", ""), (tests, test)],
            command: "python3 -m unittest -v",
            writes: vec![(product, written)],
        }
    }

    /// In a module of JavaScript, `src/shop.js`, with node's own runner.
    fn script(name: &'static str, broken: &'static str, written: &'static str, test: &'static str) -> Self {
        Self {
            name,
            files: vec![
                ("package.json", "{ \"name\": \"shop\" }\n"),
                ("src/shop.js", broken),
                ("test/shop.test.js", test),
            ],
            command: "node --test",
            writes: vec![("src/shop.js", written)],
        }
    }
}

/// Plays a fix that is kept; the report as JSON and how the program ended.
fn play(fix: &Fix, config: &str) -> (Value, Said) {
    let (report, said, folder) = run(fix, config);
    for (path, text) in &fix.writes {
        let kept = std::fs::read_to_string(folder.path().join(path)).unwrap_or_else(|_| "(it is gone)".to_owned());
        assert_eq!(kept, *text, "{}: the fix is kept whole\n{}", fix.name, said.all());
    }
    (report, said)
}

/// What becomes of a change that is no fix: which evidence refuses it, what is remarked, or nothing.
fn attempt(cheat: &Fix) -> String {
    let (report, said, _folder) = run(cheat, "");
    let all = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let failed = all("proof").into_iter().find(|one| one["status"] == "failed");
    let remarks: Vec<String> =
        all("remarks").iter().filter_map(|one| one["kind"].as_str().map(str::to_owned)).collect();
    match (said.code, failed) {
        (0, _) if remarks.is_empty() => "fixed without a word".to_owned(),
        (0, _) => format!("fixed, remarked: {}", remarks.join(" ")),
        // Which of the experiments comes first hangs on chance.
        (_, Some(_)) => "refused by experiment".to_owned(),
        (_, None) => {
            let reason = all("tiers")
                .pop()
                .and_then(|tier| tier["attempts"][0]["error_messages"][0].as_str().map(str::to_owned));
            format!("refused by a rule: {}", reason.unwrap_or_default())
        }
    }
}

fn run(fix: &Fix, config: &str) -> (Value, Said, tempfile::TempDir) {
    let folder = tempfile::Builder::new().prefix("court-").tempdir().expect("a folder");
    let (report, said) = run_in(folder.path(), fix, config, Needs::Machine);
    (report, said, folder)
}

/// How a change ends with some guards off: its exit, and the evidence that refuses it.
fn without(fix: &Fix, guards_off: &str) -> (i32, Vec<String>) {
    let folder = tempfile::Builder::new().prefix("court-").tempdir().expect("a folder");
    let (report, said) = run_without(folder.path(), fix, "", Needs::Machine, guards_off);
    let proof = report["proof"].as_array().cloned().unwrap_or_default();
    let failed = proof.iter().filter(|one| one["status"] == "failed");
    (said.code, failed.filter_map(|one| one["evidence"].as_str().map(str::to_owned)).collect())
}

fn run_in(folder: &Path, fix: &Fix, config: &str, needs: Needs) -> (Value, Said) {
    run_without(folder, fix, config, needs, "")
}

fn run_without(folder: &Path, fix: &Fix, config: &str, needs: Needs, guards_off: &str) -> (Value, Said) {
    unpack(folder, &fix.files);
    if !config.is_empty() {
        unpack(folder, &[(".github/upshift.yml", config)]);
    }
    let writes = fix.writes.clone();
    let server = ModelServer::start(move |request| match writes.get(request.turn()) {
        Some((path, text)) => Say::call("write_file", json!({ "path": path, "content": text })).usage(900, 40).into(),
        None => Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(900, 40).into(),
    });
    let args =
        ["run", "--no-audit", "--format", "json", "--tiers", "claude-haiku-4-5 x1", "--test-command", fix.command];
    let said =
        needs.equip(Program::with_anthropic(&server.url())).with("UPSHIFT_GUARD_OFF", guards_off).run(folder, &args);
    server.finish();
    (serde_json::from_str(&said.out).unwrap_or(Value::Null), said)
}

/// The evidence in a line: `poisoned held, renamed not_possible`. On how many tests it was tried hangs on chance.
fn evidence(report: &Value) -> String {
    let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let said = |one: &Value| format!("{} {}", word(one, "evidence"), word(one, "status"));
    let lines: Vec<String> = report["proof"].as_array().into_iter().flatten().map(said).collect();
    format!("    {}", lines.join(", "))
}

/// Every fix is kept; what was witnessed of each.
fn kept(fixes: &[Fix]) -> String {
    let mut told = String::new();
    for fix in fixes {
        let (report, said) = play(fix, "");
        assert_eq!(said.code, 0, "{}: {}", fix.name, said.all());
        let remarks: Vec<&str> =
            report["remarks"].as_array().into_iter().flatten().filter_map(|one| one["kind"].as_str()).collect();
        let remarks = if remarks.is_empty() { String::new() } else { format!(", remarked: {}", remarks.join(" ")) };
        told.push_str(&format!("{}{remarks}\n{}\n", fix.name, evidence(&report)));
    }
    told
}
