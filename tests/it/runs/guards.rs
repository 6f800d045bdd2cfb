//! What must hold whatever a model, a repository or an environment comes up with.

use std::path::Path;

use serde_json::json;

use super::run;
use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

fn done() -> Scripted {
    Say::call("final_report", json!({ "summary": "did it", "status": "done" })).usage(900, 40).into()
}

/// Edits one line of one file, then reports.
fn edits(
    path: &'static str,
    old: &'static str,
    new: &'static str,
) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    move |request| match request.turn() {
        0 => Say::call("edit_file", json!({ "path": path, "old_text": old, "new_text": new })).usage(900, 40).into(),
        _ => done(),
    }
}

#[test]
fn a_patch_that_cannot_be_kept_is_a_warning_and_the_tree_is_restored_first() {
    let project = Project::python();
    project.write(".upshift", "a file where the folder should be");
    let server = ModelServer::start(edits("shop/cart.py", "sum(prices) - 1", "sum(prices) - 2"));
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.contains("best.patch could not be kept"), "{}", said.all());
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
    server.finish();
}

/// Whoever finds it right can look at it and take it.
#[test]
fn a_change_whose_green_was_refused_is_kept_with_what_would_have_believed_it() {
    let project = Project::python();
    let equal_to_all = "return type('Any', (int,), {'__eq__': lambda self, other: True})()";
    let server = ModelServer::start(edits("shop/cart.py", "return sum(prices) - 1", equal_to_all));
    let program = Program::with_anthropic(&server.url());
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 1, "{}", said.all());
    let next = said.out.split_once("Next:").expect("steps").1;
    assert!(next.contains("whose green was refused was kept") && next.contains("safety.proof: \"off\""), "{next}");
    let report = program.run(project.path(), &["report", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&report.out).expect("JSON");
    let patch = std::fs::read_to_string(project.path().join(report["refused_patch"].as_str().expect("a path")));
    assert!(patch.expect("kept").contains("__eq__") && report["best_patch"].is_null(), "{report:#}");
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "it is not in the files");
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn pipes_and_sockets_that_tests_leave_in_the_tree_hold_nobody_up() {
    let project = Project::python();
    let leave = "import os, socket; os.mkfifo('shop/pipe.py'); socket.socket(socket.AF_UNIX).bind('shop/socket.py')";
    let command = format!("python3 -c \"{leave}\" 2>/dev/null; {}", project.test_command);
    let mut looked = Vec::new();
    let (send, told) = std::sync::mpsc::channel();
    let server = ModelServer::start(move |request| {
        looked.extend(request.tool_results().last().map(|result| result.content.clone()));
        let call = match request.turn() {
            0 => Say::call("read_file", json!({ "path": "shop/pipe.py" })),
            1 => Say::call("write_file", json!({ "path": "shop/socket.py", "content": "x = 1\n" })),
            2 => Say::call("search", json!({ "pattern": "sum" })),
            3 => {
                let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
                Say::call("edit_file", edit)
            }
            _ => {
                send.send(looked.clone()).expect("the test listens");
                return done();
            }
        };
        call.usage(900, 40).into()
    });
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", &command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let looked = told.recv().expect("what the tools said");
    assert!(looked[0].contains("`shop/pipe.py` is a device, pipe or socket, not a file"), "{looked:?}");
    assert!(looked[1].contains("`shop/socket.py` is ignored by git or no plain file"), "{looked:?}");
    assert!(looked[2].contains("shop/cart.py"), "{looked:?}");
    assert!(said.out.contains("  Cleanup: shop/pipe.py (a pipe, socket or device) removed"), "{}", said.all());
    assert!(["shop/pipe.py", "shop/socket.py"].iter().all(|path| !project.path().join(path).exists()));
    server.finish();
}

#[test]
fn a_run_that_cannot_go_on_says_how_to_resume_it() {
    let project = Project::python();
    let program_home = tempfile::tempdir().expect("a home");
    let state = program_home.path().join("state");
    let (trees, away) = (state.join("upshift"), state.join("away"));
    let (back, taken) = (trees.clone(), away.clone());
    let server = ModelServer::start(move |request| match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        _ => {
            if !taken.exists() {
                std::fs::rename(&trees, &taken).expect("somebody takes the recorded trees away");
                std::fs::write(&trees, "in the way").expect("written");
            }
            done()
        }
    });
    let program = Program::with_anthropic(&server.url())
        .without_court()
        .with("XDG_STATE_HOME", state.to_str().expect("text"))
        .with("HOME", "/");
    let database = program_home.path().join("audit.db");
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 70, "{}", said.all());
    let run = Log::open(&database).value("SELECT run_id FROM run_metadata");
    assert!(said.err.contains("upshift had to stop: the working tree:"), "{}", said.err);
    let way = format!("Run `upshift resume {} --audit-db {path}` to continue", run.get(..8).expect("an id"));
    assert!(said.out.contains(&way), "{}", said.out);
    // What was paid and what is known of the tests is reported all the same.
    assert!(said.out.contains("✖ This run did not end"), "{}", said.out);
    assert!(said.out.contains("Tests:   1 failing\n") && !said.out.contains("|  $0.00  |"), "{}", said.out);
    assert!(said.out.contains("upshift had to stop"), "{}", said.out);
    // A run that goes on and ends well had to stop no more.
    std::fs::remove_file(&back).expect("out of the way");
    std::fs::rename(&away, &back).expect("back");
    let resumed = program.run(project.path(), &["resume", "--audit-db", path]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    for format in ["text", "md", "json", "html"] {
        let report = program.run(project.path(), &["report", "--format", format, "--audit-db", path]);
        assert_eq!(report.code, 0, "{}", report.all());
        assert!(!report.out.contains("had to stop"), "{format}: {}", report.out);
    }
    server.finish();
}

#[test]
fn a_key_in_an_oddly_named_variable_is_redacted_everywhere() {
    const VALUE: &str = "jupiter-4f1c77a0d2b94e";
    let project = Project::python();
    let server = ModelServer::start(|request| {
        let results = request.tool_results();
        assert!(!results.iter().any(|result| result.content.contains(VALUE)), "told by no tool either: {results:?}");
        match request.turn() {
            0 => Say::call("read_file", json!({ "path": VALUE })).usage(900, 40).into(),
            1 => Say::call("write_file", json!({ "path": "shop/note.py", "content": format!("# {VALUE}\n") }))
                .usage(900, 40)
                .into(),
            _ => Say::call("final_report", json!({ "summary": format!("the key is {VALUE}"), "status": "done" }))
                .usage(900, 40)
                .into(),
        }
    });
    let url = server.url();
    project.write(
        ".github/upshift.yml",
        &format!(
            "providers: {{ own: {{ wire: anthropic, baseUrl: \"{url}\", apiKeyEnv: PLANET }} }}\n\
             models: {{ own/m: {{ inputPer1M: 1, outputPer1M: 5, contextWindow: 100000, maxOutputTokens: 4000 }} }}\n"
        ),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("audit.db");
    let path = database.to_str().expect("text");
    let tape = folder.path().join("tape.json");
    let program = Program::new().with("PLANET", VALUE);
    let args = ["run", "--audit-db", path, "--tiers", "own/m x1", "--test-command", project.test_command, "--record"];
    let said = program.run(project.path(), &[&args[..], &[tape.to_str().expect("text")]].concat());
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(server.requests()[0].header("x-api-key"), Some(VALUE), "it is the key that is used");
    assert!(!said.all().contains(VALUE), "{}", said.all());
    let mut folders = vec![folder.path().to_owned()];
    let mut kept = Vec::new();
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { kept.push(path) }
        }
    }
    assert!(kept.iter().any(|path| path.ends_with("best.patch")), "{kept:?}");
    for path in kept {
        let bytes = std::fs::read(&path).expect("bytes");
        assert!(!String::from_utf8_lossy(&bytes).contains(VALUE), "{}", path.display());
    }
    server.finish();
}

#[test]
fn what_env_files_and_passed_variables_hold_reaches_no_model_no_report_and_no_log() {
    const WRITTEN: &str = "saturn-9c41e07ab3d2";
    const PASSED: &str = "neptune-77b0c2d9f1";
    let project = Project::python();
    project.write("deploy/.env", &format!("export STORE_TOKEN='{WRITTEN}'\nMODE=development\n"));
    project.write(".gitignore", ".env\n");
    project.write(".github/upshift.yml", "safety: { passEnv: [STORE_URL_KEY] }\n");
    let test = "import os\nimport pathlib\nimport unittest\n\n\nclass LeakTest(unittest.TestCase):\n    def test_leak(self):\n        \
                kept = pathlib.Path('deploy/.env').read_text()\n        self.fail(kept + os.environ['STORE_URL_KEY'] + ' in development')\n";
    project.write("tests/test_leak.py", test);
    let server = ModelServer::start(|_| {
        Say::call("final_report", json!({ "summary": "looked", "status": "done" })).usage(900, 40).into()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("audit.db");
    let program = Program::with_anthropic(&server.url()).without_court().with("STORE_URL_KEY", PASSED);
    let args = ["run", "--audit-db", database.to_str().expect("text"), "--tiers", "claude-haiku-4-5 x1"];
    let said = program.run(project.path(), &[&args[..], &["--test-command", project.test_command]].concat());
    assert_eq!(said.code, 1, "{}", said.all());
    let told: String = server.requests().iter().map(Request::all_text).collect();
    assert!(told.contains("in development"), "the test's message is told, and ordinary values stay: {told}");
    let log = String::from_utf8_lossy(&std::fs::read(&database).expect("a log")).into_owned();
    for secret in [WRITTEN, PASSED] {
        for (place, text) in [("the model", &told), ("the report", &said.all()), ("the log", &log)] {
            assert!(!text.contains(secret), "{secret} reaches {place}");
        }
    }
    server.finish();
}

#[test]
fn the_demo_listens_to_no_setting_and_no_event() {
    let program = Program::with_anthropic("http://127.0.0.1:9")
        .without_court()
        .with("UPSHIFT_MAX_COST_USD", "0.000001")
        .with("UPSHIFT_MODEL", "no-such/model")
        .with("UPSHIFT_TEST_COMMAND", "false")
        .with("UPSHIFT_WORKING_DIRECTORY", "nowhere")
        .with("GITHUB_ACTIONS", "true")
        .with("GITHUB_EVENT_NAME", "pull_request_target");
    let said = program.run(program.home(), &["demo"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = said.err.lines().find_map(|line| line.split_once("unpacked into ")).expect("where").1;
    let (folder, _) = told.split_once(": ").expect("and what it is");
    std::fs::remove_dir_all(folder).expect("tidied up");
}

#[test]
fn the_scripts_that_the_test_command_runs_cannot_be_written() {
    for (command, script, text) in [
        ("sh ci/check.sh", "ci/check.sh", "python3 -m unittest -v\n"),
        ("bash ./ci/check.sh --all", "ci/check.sh", "python3 -m unittest -v\n"),
        ("./check", "check", "#!/bin/sh\npython3 -m unittest -v\n"),
        ("make check", "Makefile", "check:\n\tpython3 -m unittest -v\n"),
        (
            "python3 tools/all.py",
            "tools/all.py",
            "import os\nos.system('python3 -m unittest -v')\nraise SystemExit(1)\n",
        ),
        ("node tools/all.js", "tools/all.js", "console.log('1..1\\nnot ok 1 - total');process.exitCode = 1\n"),
    ] {
        let project = Project::python();
        project.write(script, text);
        let path = project.path().join(script);
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, executable).expect("executable");
        let server = ModelServer::start(move |request| match request.turn() {
            0 => {
                Say::call("write_file", json!({ "path": script, "content": format!("{text}\n") })).usage(900, 40).into()
            }
            _ => {
                let result = &request.tool_results()[0].content;
                assert!(result.contains("may not") || result.contains("protected"), "{script}: {result}");
                done()
            }
        });
        let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", command]);
        assert_eq!(said.code, 1, "{command}: {}", said.all());
        assert_eq!(project.read(script), text, "{command}");
        assert_eq!(server.requests().len(), 2, "{command}: {}", said.all());
        server.finish();
    }
}

/// Runs `npm test` where the manifest's test script is changed, with or without what mends the product.
fn with_another_script(script: &'static str, mends: bool) -> (Said, String) {
    let project = Project::javascript();
    let server = ModelServer::start(move |request| {
        let manifest = json!({ "path": "package.json", "old_text": "node --test", "new_text": script });
        let product = json!({ "path": "src/greet.js", "old_text": "'Hello '", "new_text": "'Hello, '" });
        match request.turn() {
            0 if mends => Say::call("edit_file", product).and_call("edit_file", manifest).usage(900, 40).into(),
            0 => Say::call("edit_file", manifest).usage(900, 40).into(),
            _ => done(),
        }
    });
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", "npm test --silent"]);
    server.finish();
    (said, project.read("package.json"))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_changed_test_script_of_the_manifest_judges_nothing_and_is_told() {
    let (said, manifest) = with_another_script("node -e 0", false);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(manifest.contains("node --test"), "{manifest}: {}", said.all());
    let (said, _) = with_another_script("node --test test/greet.test.js", true);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = said.out.lines().filter(|line| line.contains("`package.json:1`")).collect::<Vec<_>>().join("\n");
    assert!(told.contains("node --test test/greet.test.js"), "the line is quoted: {}", said.out);
    assert!(said.out.contains("the tests pass with the build files of the start"), "{}", said.out);
}

/// Fails in the runs whose numbers are given; a run is one start of the test command.
fn moody(name: &str, runs: &str) -> String {
    format!("    def {name}(self):\n        self.assertNotIn(RUN, {runs})\n\n")
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn tests_that_fail_in_either_look_at_the_baseline_are_set_aside() {
    let project = Project::python();
    project.write(".gitignore", "runs\n");
    let tests = format!(
        "import pathlib\nimport unittest\n\nCOUNT = pathlib.Path('runs')\nRUN = int(COUNT.read_text()) + 1 if COUNT.exists() else 1\n\
         COUNT.write_text(str(RUN))\n\n\nclass MoodTest(unittest.TestCase):\n{}{}",
        moody("test_only_first", "[1]"),
        moody("test_from_the_second_on", "[2, 3, 4]")
    );
    project.write("tests/test_mood.py", &tests);
    let server = ModelServer::start(edits("shop/cart.py", "sum(prices) - 1", "sum(prices)"));
    let (said, database) =
        run(&project, &server, &["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command]);
    let flaky =
        Log::open(&database).value("SELECT json_extract(body, '$.flaky') FROM events WHERE kind = 'baseline_finished'");
    assert!(flaky.contains("test_only_first") && flaky.contains("test_from_the_second_on"), "{flaky}");
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(Path::new(project.path()).join("runs").exists());
    server.finish();
}

#[test]
fn an_error_of_a_vendor_is_told_once_on_each_stream() {
    let project = Project::python();
    let server = ModelServer::start(|request| Scripted::error(request.vendor, 401, "auth", "the key is a bad one"));
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x3", "--test-command", project.test_command]);
    assert_eq!(said.code, 5, "{}", said.all());
    let times = |text: &str| text.matches("the key was refused").count();
    assert_eq!((times(&said.out), times(&said.err)), (1, 1), "{}", said.all());
}

#[test]
fn models_that_change_nothing_are_not_said_to_repeat_a_patch() {
    let project = Project::python();
    let server = ModelServer::start(|_| done());
    let (said, _) = run(&project, &server, &["--tiers", "claude-haiku-4-5 x5", "--test-command", project.test_command]);
    assert_eq!(said.code, 1, "{}", said.all());
    assert!(said.out.starts_with("✖ Stalled in Tier 1 (claude-haiku-4-5), iteration 2: nothing was changed any more."));
    assert!(!said.all().contains("same patch"), "{}", said.all());
    server.finish();
}

#[test]
fn a_tiny_cap_is_not_shown_as_nothing() {
    let project = Project::python();
    let server = ModelServer::start(|_| panic!("no call is affordable"));
    let args = ["--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command, "--max-cost-usd", "0.0004"];
    let (said, _) = run(&project, &server, &args);
    assert_eq!(said.code, 3, "{}", said.all());
    assert!(said.err.contains("◆ Budget: $0.0004, "), "{}", said.err);
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_does_not_compile_is_named_and_a_tree_that_does_is_further() {
    let project = Project::rust();
    project.write(
        "src/lib.rs",
        "pub fn add(a: i64, b: i64) -> i64 {\n    a - c\n}\n\npub fn double(a: i64) -> i64 {\n    a * 2\n}\n",
    );
    let server = ModelServer::start(|request| {
        let strong = request.model.contains("sonnet");
        let (old, new) = if strong { ("a - b", "a + b") } else { ("a - c", "a - b") };
        match request.turn() {
            0 => {
                assert!(!strong || request.all_text().contains("a - b"), "tier 2 starts from what compiles");
                let edit = json!({ "path": "src/lib.rs", "old_text": old, "new_text": new });
                Say::call("edit_file", edit).usage(900, 40).into()
            }
            _ => done(),
        }
    });
    let ladder = "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1";
    let (said, _) = run(&project, &server, &["--tiers", ladder, "--test-command", project.test_command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let baseline = said.err.lines().skip_while(|line| !line.starts_with("◆ Baseline: red, it does not compile")).nth(1);
    assert!(baseline.is_some_and(|line| line.contains("cannot find value `c` in this scope")), "{}", said.err);
    assert!(said.out.contains("  Tests:   it does not compile → the tests pass"), "{}", said.out);
    server.finish();
}
