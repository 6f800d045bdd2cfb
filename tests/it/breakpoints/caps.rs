//! What a fresh session is told of the work so far is short, however much there was (SPEC S4-9): ten files, five commits, and the two
//! sentences that end it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Site;
use super::waiting::{RED_LOG, over, plan};
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};

/// How many pushes CI finds red before one is green.
const RED: usize = 6;
/// How many files each iteration writes beside the mended one.
const FILES: usize = 12;
const SENTENCES: &str =
    "Continue from where the previous iteration left off. Do not repeat work that has already been completed.";

/// The bug mended, with a dozen other files, and something new at each iteration.
fn writes(request: &Request, iteration: usize) -> Scripted {
    let write = |path: String, content: String| json!({ "path": path, "content": content });
    if request.turn() > 0 {
        let report = json!({ "summary": "mended", "status": "done" });
        return Say::call("final_report", report).usage(1_000, 20).into();
    }
    let mended = format!("ROUND = {iteration}\n\n\ndef total(prices):\n    return sum(prices)\n");
    let first = Say::call("write_file", write("shop/cart.py".to_owned(), mended));
    let parts = (1..=FILES).map(|part| write(format!("shop/part_{part:02}.py"), format!("PART = {iteration}\n")));
    parts.fold(first, |say, part| say.and_call("write_file", part)).usage(1_000, 20).into()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn s4_9_ten_files_and_five_commits_are_named_and_the_two_sentences_end_it() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let keeps = Arc::clone(&told);
    let script = move |request: &Request| {
        let mut told = keeps.lock().expect("a lock");
        if request.turn() == 0 {
            told.push(request.last_user_text());
        }
        writes(request, told.len())
    };
    let red = |number: usize| {
        let log =
            RED_LOG.replace("9 != 8", &format!("{number}9 != 8")).replace("test_discount", &format!("test_{number}"));
        plan("failure", &log)
    };
    let plans = (1..=RED).map(red).chain([plan("success", "")]).collect();
    let (site, github) = over(Site::with_models(script), plans);
    let site = site.with("UPSHIFT_MAX_PUSHES", "9");
    // Seven commits take long enough without experiments.
    std::fs::create_dir_all(site.root().join(".github")).expect("a folder");
    std::fs::write(site.root().join(".github/upshift.yml"), "safety: { proof: off }\n").expect("written");
    let mut arguments = site.arguments("commit");
    let ladder = arguments.iter_mut().find(|one| one.contains(" x3")).expect("a ladder");
    "claude-haiku-4-5 x9".clone_into(ladder);
    let said = site.program.run(&site.root(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((said.code, site.server.pushes()), (0, RED + 1), "{}", said.all());

    let told = told.lock().expect("a lock").clone();
    let last = told.last().expect("an iteration");
    let commits = site.server.git(&["log", "--format=%h", "--abbrev=7", "-n", "6", "--skip=1", "main"]);
    let commits: Vec<&str> = commits.lines().collect();
    let pushed = last.lines().find(|line| line.starts_with("Your change is pushed already: ")).expect("the commits");
    let named: Vec<&str> = commits.iter().copied().filter(|short| pushed.contains(short)).collect();
    assert_eq!((commits.len(), named.as_slice()), (6, &commits[..5]), "the newest five: {pushed}");
    let changed = last.lines().find(|line| line.starts_with("It changed ")).expect("the files");
    assert_eq!(changed.split(", ").count(), 10, "{changed}");
    assert!(last.lines().any(|line| line == SENTENCES), "{last}");

    let log = Log::open(&site.database());
    let newest = log.value("SELECT body FROM snapshots WHERE kind = 'breakpoint' ORDER BY rowid DESC LIMIT 1");
    let snapshot: Value = serde_json::from_str(&newest).expect("JSON");
    let length = |key: &str| snapshot[key].as_array().map(Vec::len);
    assert_eq!((length("files"), length("recent_commits")), (Some(10), Some(5)), "{snapshot}");
    assert_eq!(snapshot["continue"], SENTENCES);
    site.models.finish();
    github.finish();
}
