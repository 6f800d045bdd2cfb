//! What of its trees a run writes into its log, what it keeps to itself, and that nobody changes it unnoticed.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::json;

use super::KILLS;
use crate::world::git_server::git;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;
use crate::world::sampled;

fn mends(request: &Request) -> Scripted {
    let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
    match request.turn() {
        0 => Say::call("edit_file", edit).usage(900, 40).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40).into(),
    }
}

/// A project in a repository of its own, all of it committed.
fn committed() -> Project {
    let project = Project::python();
    project.write("old.txt", "of yesterday\n");
    git(project.path(), &["init", "--quiet", "--initial-branch=main"]);
    git(project.path(), &["add", "--all"]);
    git(project.path(), &["commit", "--quiet", "--message", "start"]);
    project
}

fn database(project: &Project) -> PathBuf {
    project.path().with_extension("log").join("audit.db")
}

fn ran(project: &Project) -> (Program, Said) {
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let database = database(project).display().to_string();
    let args =
        ["run", "--audit-db", &database, "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    server.finish();
    (program, said)
}

fn trees(database: &Path) -> Vec<serde_json::Value> {
    let rows = Log::open(database).rows("SELECT body FROM trees ORDER BY rowid");
    rows.iter().map(|row| serde_json::from_str(&row[0]).expect("a patch")).collect()
}

fn paths(patch: &serde_json::Value) -> Vec<&str> {
    patch["files"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_start_is_told_by_its_commit_and_the_fix_by_the_start() {
    let project = committed();
    project.write("notes.txt", "mine\n");
    project.write("shop/__init__.py", "# changed, not committed\n");
    std::fs::remove_file(project.path().join("old.txt")).expect("it was there");
    let (_, said) = ran(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    let trees = trees(&database(&project));
    let [start, fix] = trees.as_slice() else { panic!("{trees:?}") };
    assert_eq!(start["over"]["commit"], git(project.path(), &["rev-parse", "HEAD"]).trim());
    assert_eq!(paths(start), ["notes.txt", "shop/__init__.py", "old.txt"]);
    assert_eq!(start["files"][2]["after"], json!(null), "a file that is gone");
    assert_eq!(fix["over"]["tree"], start["tree"]);
    assert_eq!(paths(fix), ["shop/cart.py"]);
    let contents = Log::open(&database(&project)).number("SELECT count(*) FROM tree_contents");
    assert_eq!(contents, 4, "two of the start, and the mended file before and after");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_edited_tree_is_noticed() {
    for tamper in [
        "UPDATE trees SET body = replace(body, 'shop/cart.py', 'shop/tart.py')",
        "UPDATE tree_contents SET packed = x'00'",
        "DELETE FROM tree_contents",
        "DELETE FROM trees",
        "INSERT INTO trees SELECT run_id, 'other', body FROM trees LIMIT 1",
    ] {
        let project = committed();
        let (program, said) = ran(&project);
        assert_eq!(said.code, 0, "{}", said.all());
        let database = database(&project);
        let verify =
            || program.run(project.path(), &["report", "--verify", "--audit-db", database.to_str().expect("text")]);
        assert_eq!(verify().code, 0, "{}", verify().all());
        Connection::open(&database).expect("a log").execute_batch(tamper).expect("it is there");
        let verified = verify();
        assert_eq!(verified.code, 1, "{tamper}: {}", verified.all());
        assert!(verified.all().contains("tree"), "{tamper}: {}", verified.all());
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_is_secret_or_too_large_stays_here_and_is_named() {
    let large = "x".repeat(1024 * 1024 + 1);
    let token = format!("token = \"ghp_{}\"\n", "a1B2c3D4e5F6".repeat(3));
    for (path, text, why) in [
        ("notes.txt", token.as_str(), "`notes.txt` contains a secret"),
        ("server.key", "none\n", "`server.key` has the name of a file with credentials"),
        ("large.txt", large.as_str(), "`large.txt` is larger than 1 MiB"),
    ] {
        let project = committed();
        project.write(path, text);
        let (_, said) = ran(&project);
        assert_eq!(said.code, 0, "the run itself goes on: {}", said.all());
        assert!(said.err.contains(&format!("on this machine alone: {why}")), "{path}: {}", said.err);
        assert_eq!(trees(&database(&project)), Vec::<serde_json::Value>::new(), "{path}");
        let log = Log::open(&database(&project));
        assert_eq!(log.number("SELECT count(*) FROM tree_contents"), 0, "{path}");
        assert_eq!(log.number("SELECT count(*) FROM events WHERE kind = 'tree_recorded'"), 1, "it is said once");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_folder_without_a_commit_is_worked_on_as_ever() {
    let project = Project::python();
    let (_, said) = ran(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(Log::open(&database(&project)).number("SELECT count(*) FROM events WHERE kind = 'tree_recorded'"), 0);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_tree_is_recorded_once_also_where_the_run_is_killed_after_it() {
    for kill in sampled(KILLS) {
        let project = committed();
        let server = ModelServer::start(mends);
        let database = database(&project).display().to_string();
        let args =
            ["run", "--audit-db", &database, "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
        let dying = Program::with_anthropic(&server.url()).with("UPSHIFT_CRASH_AFTER", kill);
        assert_eq!(dying.run(project.path(), &args).code, -9, "{kill}");
        let program = dying.with("UPSHIFT_CRASH_AFTER", "");
        let said = program.run(project.path(), &["resume", "--audit-db", &database]);
        assert_eq!(said.code, 0, "{kill}: {}", said.all());
        server.finish();
        let log = Log::open(Path::new(&database));
        assert_eq!(log.number("SELECT count(*) FROM events WHERE kind = 'tree_recorded'"), 2, "{kill}");
        let verified = program.run(project.path(), &["report", "--verify", "--audit-db", &database]);
        assert_eq!(verified.code, 0, "{kill}: {}", verified.all());
    }
}
