//! `--workers` calls a backlog done only where each of its tasks is.

use serde_json::{Value, json};

use super::{WITH, git, mends, project, subjects, work_off};
use crate::world::model_server::ModelServer;
use crate::world::program::Program;

#[test]
fn workers_that_could_not_work_say_so_and_fail() {
    let project = project();
    // The tests need a file that git ignores, which no clone has.
    project.write(".gitignore", "__pycache__\n.upshift\nsecret.cfg\n");
    project.write("secret.cfg", "x\n");
    git(&project, &["commit", "--quiet", "--all", "--message=ignored"]);
    let needs = format!("test -f secret.cfg && {}", WITH[1]);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let args =
        ["run", "--tasks", "failing-tests", "--workers", "2", "--tiers", "claude-haiku-4-5 x1", "--test-command"];
    let said = program.run(project.path(), &[&args[..], &[&needs]].concat());
    assert_eq!((said.code, subjects(&project).len(), server.requests().len()), (1, 1, 0), "{}", said.all());
    assert!(said.out.starts_with("✖ 0 of 0 runs merged"), "{}", said.all());
    for (module, ..) in super::BUGS {
        assert!(said.out.contains(&format!("· tests/test_{module}.py  not worked on")), "{}", said.all());
    }
    assert!(said.out.contains("its run ended with exit code 2: "), "{}", said.all());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn workers_that_mended_all_but_what_nothing_proves_do_not_say_all() {
    let project = project();
    let list = "tasks:\n  - {id: words, title: Words, tests: ['test_run (tests.test_words.wordsTest.test_run)']}\n  - {id: nice, title: Make it nicer}\n";
    project.write("tasks.yml", list);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url());
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--workers", "2", "--format", "json"]);
    let document: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((said.code, &document["merged"]), (1, &json!(1)), "{document:#}");
    assert_eq!(document["notWorkedOn"][0]["task"], "nice", "{document:#}");
    assert_eq!(document["notWorkedOn"].as_array().map(Vec::len), Some(1), "{document:#}");
    server.finish();
}
