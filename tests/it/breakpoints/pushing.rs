//! `push: commit` through the whole program, against a real remote.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::waiting::{RED_LOG, over, plan};
use super::{FIXED, Site, mends};
use crate::world::git_server::{TOKEN, commit_all, git};
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};
use crate::world::program::Said;
use crate::world::sampled;

#[test]
fn a_fix_is_pushed_to_its_branch_and_the_report_says_so() {
    let site = Site::new().with("UPSHIFT_WAIT_FOR", "none");
    let said = site.run("commit");
    assert_eq!(said.code, 0, "{}", said.all());
    let head = site.server.head("main");
    let short = site.server.git(&["rev-parse", "--short=7", "main"]);
    assert_eq!(site.server.git(&["rev-parse", "main^"]), site.start, "one commit on top of the pinned head");
    assert_eq!(site.server.git(&["show", "main:shop/cart.py"]), FIXED);
    assert_eq!(
        site.server.git(&["log", "-1", "--format=%s|%an", "main"]),
        "fix: make 1 failing test pass|github-actions[bot]"
    );
    let trailers = site.server.git(&["log", "-1", "--format=%(trailers)", "main"]);
    let run = Log::open(&site.database()).value("SELECT run_id FROM run_metadata");
    assert!(trailers.contains(&format!("Upshift-Run-Id: {run}")), "{trailers}");
    assert!(
        trailers.contains("Upshift-Tier: claude-haiku-4-5") && trailers.contains("Upshift-Model: anthropic/"),
        "{trailers}"
    );
    assert!(said.out.contains(&format!("pushed {short} to main (1 file)")), "{}", said.out);
    assert!(said.err.contains(&format!("Pushed {short} to main")), "{}", said.err);
    assert!(!said.all().contains(TOKEN), "{}", said.all());
    let document: Value = serde_json::from_str(
        &site
            .program
            .run(&site.root(), &["report", "--format", "json", "--audit-db", site.database().to_str().expect("text")])
            .out,
    )
    .expect("JSON");
    assert_eq!(document["pushes"][0]["commit"], head.as_str());
    assert_eq!(document["result_type"], "TASK_COMPLETE");
    site.models.finish();
}

/// Somebody changes a file of the repository on `main` while the run is at work.
fn somebody_changes(site: &Site, name: &str, text: &str) -> String {
    std::fs::write(site.server.seed().join(name), text).expect("written");
    site.server.somebody_pushes("main")
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_fix_is_put_on_top_of_what_somebody_pushed_meanwhile_and_judged_there_once_more() {
    let site = Site::new().with_court().with("UPSHIFT_WAIT_FOR", "none");
    // In the same file, and in others.
    let text = "\"\"\"The cart.\"\"\"\n\n\ndef total(prices):\n    return sum(prices) - 1\n";
    std::fs::write(site.server.seed().join("shop/cart.py"), text).expect("written");
    std::fs::write(site.server.seed().join("shop/rates.py"), "RATE = 2\n").expect("written");
    let theirs = somebody_changes(&site, "other.txt", "x\n");
    let said = site.run("commit");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.server.git(&["rev-parse", "main^"]), theirs, "on top of it");
    assert_eq!(site.server.git(&["diff", "--stat", "--format=", "main^", "main"]).lines().count(), 2, "one file");
    let fixed = site.server.git(&["show", "main:shop/cart.py"]);
    assert!(
        fixed.starts_with("\"\"\"The cart.") && fixed.contains("return sum(prices)") && !fixed.contains("- 1"),
        "{fixed}"
    );
    assert!(said.out.contains("tests and proof hold there"), "{}", said.all());
    let log = Log::open(&site.database());
    assert_eq!(log.number("SELECT COUNT(*) FROM events WHERE kind = 'evidence_gathered'"), 2, "the court judged twice");
    // The fix, what somebody pushed alone, and both together.
    assert_eq!(log.number("SELECT COUNT(*) FROM events WHERE kind = 'tests_finished'"), 3);
    assert_eq!(site.models.requests().len(), 2, "nobody was asked for it");
    let root = site.root();
    assert!(!root.join("shop/rates.py").exists() && !root.join("other.txt").exists(), "the checkout has the fix alone");
    assert_eq!(std::fs::read_to_string(root.join("shop/cart.py")).expect("text").trim(), FIXED);
    site.models.finish();
}

/// Somebody's commit on top of ours while the next iteration mends what CI said of ours.
#[test]
fn what_mends_red_ci_is_put_on_top_of_what_somebody_pushed_meanwhile() {
    let place: Arc<Mutex<Option<(PathBuf, PathBuf)>>> = Arc::default();
    let theirs = Arc::clone(&place);
    let script = move |request: &Request| -> Scripted {
        if !request.all_text().contains("CI is red on the commit") {
            return mends(request);
        }
        if let Some((seed, bare)) = theirs.lock().expect("a lock").take() {
            let bare = bare.to_str().expect("text");
            git(&seed, &["fetch", "--quiet", bare, "main"]);
            git(&seed, &["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
            std::fs::write(seed.join("other.txt"), "x\n").expect("written");
            commit_all(&seed, "meanwhile");
            git(&seed, &["push", "--quiet", bare, "HEAD:refs/heads/main"]);
        }
        match request.turn() {
            0 => {
                let edit = json!({ "path": "shop/cart.py", "old_text": "total(prices):", "new_text": "total(prices, off=0):" });
                Say::call("edit_file", edit).usage(1_000, 50).into()
            }
            _ => Say::call("final_report", json!({ "summary": "off", "status": "done" })).usage(1_000, 20).into(),
        }
    };
    let site = Site::with_models(script);
    *place.lock().expect("a lock") = Some((site.server.seed(), site.server.bare()));
    let (site, github) = over(site, vec![plan("failure", RED_LOG), plan("success", ""), plan("success", "")]);
    let said = site.run("commit");
    assert_eq!(said.code, 0, "{}", said.all());
    let subjects = site.server.git(&["log", "--format=%s", "main"]);
    assert_eq!(subjects.lines().nth(1), Some("meanwhile"), "ours, theirs, ours: {subjects}");
    assert_eq!(site.server.git(&["rev-parse", "main~3"]), site.start, "{subjects}");
    assert!(site.server.git(&["show", "main:shop/cart.py"]).contains("total(prices, off=0)"), "{}", said.all());
    assert_eq!(site.server.git(&["show", "main:other.txt"]), "x");
    assert!(said.out.contains("tests and proof hold there") && said.out.contains("CI: green in "), "{}", said.all());
    assert_eq!(site.models.requests().len(), 4, "nobody was asked for it: {}", said.all());
    site.models.finish();
    github.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_does_not_fit_or_is_not_green_on_top_of_a_newer_commit_is_not_pushed_and_the_patch_is_kept() {
    let other = "def total(prices):\n    return sum(prices) - 2\n";
    let red =
        "import unittest\n\n\nclass More(unittest.TestCase):\n    def test_more(self):\n        self.fail('not yet')\n";
    for (name, text, words) in [
        ("shop/cart.py", other, "in the same lines"),
        ("shop/__init__.py", "raise RuntimeError('broken')\n", "on top of that the fix is "),
        ("tests/test_more.py", red, "on top of that the fix is "),
    ] {
        let site = Site::new().with("UPSHIFT_WAIT_FOR", "none");
        let theirs = somebody_changes(&site, name, text);
        let said = site.run("commit");
        assert_eq!(said.code, 1, "{name}: {}", said.all());
        assert_eq!(site.server.head("main"), theirs, "{name}");
        assert!(said.out.contains(words) && said.out.contains("best.patch"), "{name}: {}", said.all());
        assert!(said.out.contains("somebody pushed "), "{name}: {}", said.all());
        let left = std::fs::read_to_string(site.root().join("shop/cart.py")).expect("text");
        assert!(left.contains("- 1"), "the start is restored: {left}");
        site.models.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_fix_by_somebody_else_is_enough_and_nothing_is_pushed_on_top_of_it() {
    // The very same, and another one in the same line, which ours would conflict with.
    for theirs in ["    return sum(prices)\n", "    return sum(list(prices))\n"] {
        let site = Site::new().with_court().with("UPSHIFT_WAIT_FOR", "none");
        let theirs = somebody_changes(&site, "shop/cart.py", &format!("def total(prices):\n{theirs}"));
        let said = site.run("commit");
        assert_eq!(said.code, 0, "{}", said.all());
        assert_eq!(site.server.head("main"), theirs);
        assert!(said.out.contains("somebody pushed a fix meanwhile"), "{}", said.all());
        site.models.finish();
    }
}

#[test]
fn killed_while_a_fix_is_put_on_a_newer_commit_a_run_pushes_once() {
    for crash in sampled(["tests_finished:3", "evidence_gathered:2", "publish_started:2", "pushed:1"]) {
        let site = Site::new().with("UPSHIFT_WAIT_FOR", "none").with("UPSHIFT_CRASH_AFTER", crash);
        let theirs = somebody_changes(&site, "other.txt", "x\n");
        let killed = site.run("commit");
        assert_eq!(killed.code, -9, "{crash}: {}", killed.all());
        let site = site.with("UPSHIFT_CRASH_AFTER", "");
        let resumed = site.resume();
        assert_eq!(resumed.code, 0, "{crash}: {}", resumed.all());
        assert_eq!(site.server.git(&["rev-parse", "main^"]), theirs, "{crash}");
        assert_eq!((site.server.pushes(), site.models.requests().len()), (1, 2), "{crash}: {}", resumed.all());
        assert!(!site.root().join("other.txt").exists(), "{crash}: the checkout has the fix alone");
        site.models.finish();
    }
}

#[test]
fn killed_at_any_step_of_the_push_a_run_is_resumed_and_pushes_once() {
    for crash in sampled(["iteration_finished:1", "publish_started:1", "pushed:1", "tier_finished:1"]) {
        let mut site = Site::new().with("UPSHIFT_WAIT_FOR", "none").with("UPSHIFT_CRASH_AFTER", crash);
        let killed = site.run("commit");
        assert_eq!(killed.code, -9, "{crash}: {}", killed.all());
        site = site.with("UPSHIFT_CRASH_AFTER", "");
        let resumed = site.resume();
        assert_eq!(resumed.code, 0, "{crash}: {}", resumed.all());
        once(&site, crash);
        site.models.finish();
    }
}

#[test]
fn killed_between_the_push_and_its_record_a_run_knows_its_own_commit_again() {
    let site = Site::new().with("UPSHIFT_WAIT_FOR", "none");
    let pid: Arc<Mutex<Option<u32>>> = Arc::default();
    let seen = Arc::clone(&pid);
    site.server.after_push(move |_bare| {
        let pid = seen.lock().expect("a lock").expect("the program runs");
        let killed = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        assert!(killed.expect("kill").success());
    });
    let arguments = site.arguments("commit");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = site.program.command(&site.root(), &arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    *pid.lock().expect("a lock") = Some(child.id());
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!(said.code, -9, "{}", said.all());
    assert_eq!(Log::open(&site.database()).number("SELECT COUNT(*) FROM events WHERE kind = 'pushed'"), 0);
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(resumed.err.contains("an earlier process had"), "{}", resumed.all());
    once(&site, "after the push");
    assert_eq!(site.server.pushes(), 1, "it was looked for first");
    site.models.finish();
}

fn once(site: &Site, crash: &str) {
    assert_eq!(site.server.git(&["rev-list", "--count", "main"]), "2", "{crash}: one commit was added");
    assert_eq!(site.models.requests().len(), 2, "{crash}: nothing was asked twice");
    assert_eq!(Log::open(&site.database()).number("SELECT COUNT(*) FROM events WHERE kind = 'pushed'"), 1, "{crash}");
}

#[test]
fn what_code_under_test_left_in_the_tree_is_not_pushed() {
    let site = Site::new().with("UPSHIFT_WAIT_FOR", "none");
    let root = site.root();
    std::fs::write(root.join("private.txt"), "mine\n").expect("written");
    git(&root, &["checkout", "--quiet", "-b", "topic"]);
    std::fs::write(root.join("tests/extra.txt"), "committed\n").expect("written");
    git(&root, &["add", "tests/extra.txt"]);
    git(&root, &["commit", "--quiet", "--message=topic"]);
    git(&root, &["push", "--quiet", site.server.bare().to_str().expect("text"), "topic"]);
    let said = site.run("commit");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.server.git(&["diff", "--name-only", "topic^", "topic"]), "shop/cart.py");
    assert_eq!(site.server.head("main"), site.start, "only the branch that is checked out");
    site.models.finish();
}
