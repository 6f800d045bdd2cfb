//! `sign-commits`: the fix as a commit that GitHub makes and signs through its API, on the same repository as the git server.

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::waiting::{over, plan};
use super::{FIXED, Site};
use crate::world::git_server::{Made, git, make};
use crate::world::github::{Effect, FakeGitHub, Fault};
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};
use crate::world::program::Said;

/// Tests that need each of the changes: what none needs is taken out again before a fix is delivered.
const TESTS: &str = "import os\nimport unittest\n\n\nclass BuildTest(unittest.TestCase):\n    def test_script(self):\n        \
    self.assertIn(\"echo new\", open(\"build.sh\").read())\n\n    def test_more(self):\n        \
    self.assertTrue(os.path.exists(\"shop/more.py\"))\n\n    def test_old(self):\n        \
    self.assertFalse(os.path.exists(\"shop/old.py\"))\n";

/// Mends the bug, edits a script, adds one, and deletes a file.
fn rebuilds(request: &Request) -> Scripted {
    let call = |name: &str, arguments| Say::call(name, arguments).usage(1_000, 50).into();
    match request.turn() {
        0 => call(
            "edit_file",
            json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" }),
        ),
        1 => call("edit_file", json!({ "path": "build.sh", "old_text": "echo old", "new_text": "echo new" })),
        2 => call("write_file", json!({ "path": "shop/more.py", "content": "VALUE = 1\n" })),
        3 => call("delete_file", json!({ "path": "shop/old.py" })),
        _ => call("final_report", json!({ "summary": "rebuilt", "status": "done" })),
    }
}

/// A site whose commits are signed, with a script and a file that is to go.
fn signing(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> (Site, FakeGitHub) {
    let mut site = Site::with_models(script);
    let seed = site.server.seed();
    make(&seed, "build.sh", &Made::Script("#!/bin/sh\necho old\n"));
    make(&seed, "shop/old.py", &Made::Text("UNUSED = 1\n"));
    make(&seed, "tests/test_build.py", &Made::Text(TESTS));
    site.start = site.server.somebody_pushes("main");
    std::fs::remove_dir_all(site.root()).expect("removed");
    site.server.clone_to(&site.root());
    git(&site.root(), &["remote", "set-url", "origin", &site.server.url()]);
    let site = site.with("UPSHIFT_WAIT_FOR", "none").with("UPSHIFT_SIGN_COMMITS", "true");
    over(site, vec![plan("success", "")])
}

#[test]
fn a_fix_is_a_commit_that_github_signs_with_every_mode_and_deletion() {
    let (site, github) = signing(rebuilds);
    let said = site.run("commit");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.server.pushes(), 0, "git pushed nothing");
    let head = site.server.head("main");
    assert_eq!(github.world().signed, std::slice::from_ref(&head));
    assert_eq!(site.server.git(&["rev-parse", "main^"]), site.start, "one commit on top of the pinned head");
    assert_eq!(site.server.git(&["show", "main:shop/cart.py"]), FIXED);
    let changes = site.server.git(&["diff", "--raw", "--abbrev=1", "--no-renames", "main^", "main"]);
    let modes: Vec<Vec<&str>> = changes.lines().map(|line| line.split([' ', '\t']).collect()).collect();
    let modes: Vec<(&str, &str, &str)> = modes.iter().map(|words| (words[1], words[4], words[5])).collect();
    assert_eq!(
        modes,
        [
            ("100755", "M", "build.sh"),
            ("100644", "M", "shop/cart.py"),
            ("100644", "A", "shop/more.py"),
            ("000000", "D", "shop/old.py")
        ],
        "{changes}"
    );
    let run = Log::open(&site.database()).value("SELECT run_id FROM run_metadata");
    let trailers = site.server.git(&["log", "-1", "--format=%(trailers)", "main"]);
    assert!(trailers.contains(&format!("Upshift-Run-Id: {run}")), "{trailers}");
    assert!(said.out.contains("pushed") && said.out.contains("to main (4 files)"), "{}", said.out);
    site.models.finish();
    github.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_branch_that_moved_is_not_overwritten_and_the_signed_fix_goes_on_top_of_it() {
    // Before the run, and in the moment between the last look and the move.
    for early in [true, false] {
        let (site, github) = signing(rebuilds);
        let theirs = Arc::new(Mutex::new(String::new()));
        std::fs::write(site.server.seed().join("other.txt"), "x").expect("written");
        if early {
            *theirs.lock().expect("a lock") = site.server.somebody_pushes("main");
        } else {
            let (bare, seed, moved) = (site.server.bare(), site.server.seed(), Arc::clone(&theirs));
            github.watch(move |method, path| {
                let is_first = moved.lock().expect("a lock").is_empty();
                if is_first && method == "POST" && path.ends_with("/git/commits") {
                    crate::world::git_server::commit_all(&seed, "somebody else");
                    git(&seed, &["push", "--quiet", bare.to_str().expect("text"), "HEAD:refs/heads/main"]);
                    *moved.lock().expect("a lock") = git(&bare, &["rev-parse", "refs/heads/main"]);
                }
            });
        }
        let said = site.run("commit");
        assert_eq!(said.code, 0, "{}", said.all());
        let below = site.server.git(&["rev-parse", "main^"]);
        assert_eq!(below, *theirs.lock().expect("a lock"), "early: {early}: {}", said.all());
        assert!(said.out.contains("tests and proof hold there"), "{}", said.all());
        site.models.finish();
        github.finish();
    }
}

#[test]
fn a_personal_tokens_commit_is_not_signed_so_the_branch_is_left_alone() {
    let (site, github) = signing(rebuilds);
    "ada".clone_into(&mut github.world().token.login);
    let said = site.run("commit");
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("did not sign it (unsigned)\n"), "{}", said.all());
    assert!(said.out.contains("- Push with the job's own token or an App's installation token"), "{}", said.all());
    assert_eq!(site.server.head("main"), site.start);
    site.models.finish();
    github.finish();
}

/// What Gitea and Forgejo answer to what they do not have.
#[test]
fn a_forge_without_such_an_api_says_so_with_a_way_out() {
    for code in [404, 405] {
        let (site, github) = signing(rebuilds);
        let fault = Fault::once("POST", "/git/blobs", Effect::status(code, "not here", &[]));
        github.world().faults.push(fault);
        let said = site.run("commit");
        assert_eq!(said.code, 1, "{}", said.all());
        assert!(said.out.contains("leave `sign-commits` off"), "{code}: {}", said.all());
        assert_eq!(site.server.head("main"), site.start);
        site.models.finish();
        github.finish();
    }
}

#[test]
fn killed_when_the_branch_had_moved_and_nobody_knew_it_is_known_again() {
    for (push, method) in [("commit", "PATCH"), ("pr", "POST")] {
        let (site, github) = signing(rebuilds);
        let pid: Arc<Mutex<Option<u32>>> = Arc::default();
        let seen = Arc::clone(&pid);
        github.watch(move |asked, path| {
            if asked == method && path.contains("/git/refs") {
                let pid = seen.lock().expect("a lock").take().expect("the program runs");
                let killed = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
                assert!(killed.expect("kill").success());
            }
        });
        let arguments = site.arguments(push);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut command = site.program.command(&site.root(), &arguments);
        let mut held = pid.lock().expect("a lock");
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        *held = Some(child.id());
        drop(held);
        let said = Said::from(child.wait_with_output().expect("ended"));
        assert_eq!(said.code, -9, "{push}: {}", said.all());
        let resumed = site.resume();
        assert_eq!(resumed.code, 0, "{push}: {}", resumed.all());
        assert!(resumed.err.contains("an earlier process had"), "{push}: {}", resumed.all());
        assert_eq!(github.world().signed.len(), 1, "{push}: one commit was made");
        let world = github.finish();
        let branch = world.pulls.first().map_or("main", |pull| pull.head_branch.as_str());
        assert_eq!(site.server.git(&["rev-list", "--count", branch]), "3", "{push}");
        assert_eq!(world.pulls.len(), usize::from(push == "pr"));
        site.models.finish();
    }
}
