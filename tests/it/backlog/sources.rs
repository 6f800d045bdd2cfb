//! Backlogs in files: a `prd.json`, and a list in YAML.

use serde_json::{Value, json};

use super::{git, lines_of, mends, project, subjects, work_off};
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;

const PRD: &str = "{\n  \"name\": \"Shop\",\n  \"userStories\": [\n    {\n      \"id\": \"US-2\",\n      \"title\": \"Say it in small letters\",\n      \"acceptanceCriteria\": [\n        \"`python3 -m unittest tests.test_words` passes\"\n      ],\n      \"priority\": 2,\n      \"passes\": false,\n      \"dependsOn\": [\n        \"US-1\"\n      ]\n    },\n    {\n      \"id\": \"US-1\",\n      \"title\": \"A greeting\",\n      \"acceptanceCriteria\": [\n        \"`test -f greeting.txt` succeeds\"\n      ],\n      \"priority\": 3,\n      \"passes\": false,\n      \"labels\": [\n        \"fast\"\n      ]\n    },\n    {\n      \"id\": \"US-3\",\n      \"title\": \"Make it nicer\",\n      \"acceptanceCriteria\": [\n        \"It is nice\"\n      ],\n      \"priority\": 1,\n      \"passes\": false\n    }\n  ],\n  \"metadata\": {\n    \"version\": \"1.0.0\"\n  }\n}\n";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn stories_are_worked_off_in_their_order_and_marked_in_their_own_file() {
    let project = project();
    project.write("tasks/prd.json", PRD);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=stories"]);
    // The objective comes first, whatever of the repository is shown behind it.
    let server = ModelServer::start(|request| {
        let asked = request.first_user_text();
        let place = |title: &str| asked.find(title).unwrap_or(usize::MAX);
        match (place("A greeting") < place("small letters"), request.turn()) {
            (true, 0) => Say::call("write_file", json!({ "path": "greeting.txt", "content": "hello\n" })).into(),
            (false, 0) => {
                let edit = json!({ "path": "shop/words.py", "old_text": "names.upper()", "new_text": "names.lower()" });
                Say::call("edit_file", edit).into()
            }
            _ => Say::call("final_report", json!({ "summary": "done", "status": "done" })).into(),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks/prd.json"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let wanted = ["stories", "fix: US-1 A greeting", "fix: US-2 Say it in small letters"];
    assert_eq!(subjects(&project), wanted, "{}", said.all());
    assert!(said.out.contains("! US-3") && said.out.contains("no test or command proves it"), "{}", said.all());
    let marked = PRD.replacen("\"passes\": false", "\"passes\": true", 2);
    assert_eq!(project.read("tasks/prd.json"), marked, "nothing else in it changes");
    assert_eq!(git(&project, &["show", "--format=", "--name-only", "HEAD"]), "shop/words.py\ntasks/prd.json\n");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    // A reset story's command succeeds already: that proves nothing.
    let reset = program.run(project.path(), &["tasks", "reset", "--tasks", "tasks/prd.json", "US-1"]);
    assert_eq!((reset.code, reset.out.as_str()), (0, "reset 1 of 3 tasks\n"), "{}", reset.all());
    git(&project, &["commit", "--all", "--quiet", "--message=again"]);
    let asked = server.requests().len();
    let said = work_off(&program, &project, &["--tasks", "tasks/prd.json"]);
    assert_eq!((said.code, server.requests().len()), (1, asked), "{}", said.all());
    assert!(said.out.contains("its command succeeds already"), "{}", said.all());
    server.finish();
}

#[test]
fn a_list_is_added_to_shown_and_worked_off_once() {
    let project = project();
    let program = Program::new();
    let add = |id: &str, more: &[&str]| {
        let args: Vec<&str> =
            ["tasks", "add", "--tasks", "tasks.yml", id, "Mend it"].iter().chain(more).copied().collect();
        program.run(project.path(), &args)
    };
    let name = |module: &str| format!("test_run (tests.test_{module}.{module}Test.test_run)");
    assert_eq!(add("words", &["--test", &name("words"), "--priority", "3"]).code, 0);
    assert_eq!(add("names", &["--test", &name("names")]).code, 0);
    let twice = add("names", &["--command", "false"]);
    assert!(twice.code == 2 && twice.all().contains("two tasks have the id names"), "{}", twice.all());
    let shown = program.run(project.path(), &["tasks", "next", "--tasks", "tasks.yml", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown.out).expect("JSON");
    assert_eq!(
        (shown["tasks"][0]["id"].as_str(), shown["tasks"][0]["proof"]["tests"][0].as_str()),
        (Some("names"), Some(name("names").as_str()))
    );
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 3), "{}", said.all());
    let asked = server.requests().len();
    let again = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((again.code, server.requests().len()), (0, asked), "what is done is not begun again: {}", again.all());
    let next = program.run(project.path(), &["tasks", "next", "--tasks", "tasks.yml"]);
    assert!(next.code == 1 && next.err.contains("no task is ready"), "{}", next.all());
    let list = program.run(project.path(), &["tasks", "list", "--tasks", "tasks.yml"]).out;
    assert_eq!(list.matches("✔").count(), 2, "{list}");
    let bare = program.run(project.path(), &["tasks", "add", "--tasks", "bare.yml", "bare", "Mend it"]);
    assert!(bare.code == 0 && bare.err.contains("not worked on before something proves it"), "{}", bare.all());
    server.finish();
}

#[test]
fn what_nobody_wants_any_more_is_counted_apart_and_an_error_ends_the_lines() {
    let project = project();
    let task = |module: &str| {
        format!("  - {{id: {module}, title: Mend, tests: ['test_run (tests.test_{module}.{module}Test.test_run)']}}\n")
    };
    project.write("tasks.yml", &format!("tasks:\n{}{}", task("words"), task("names")));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml", "--max-tasks", "1"]);
    assert!(said.code == 1 && said.out.contains("✖ 1 of 2 tasks completed, "), "{}", said.all());
    // It goes on, and cannot: whoever reads the lines hears of the end.
    project.write("shop/names.py", "def run(names):\n    return 'mine'\n");
    let told = work_off(&program, &project, &["--tasks", "tasks.yml", "--format", "jsonl"]);
    let stopped = lines_of(&told, "engine:stopped").last().expect("engine:stopped");
    assert_eq!((told.code, &stopped["reason"]), (2, &json!("error")), "{}", told.all());
    git(&project, &["checkout", "--quiet", "shop/names.py"]);
    project.write("tasks.yml", &format!("tasks:\n{}", task("words")));
    git(&project, &["commit", "--quiet", "--all", "--message=fewer"]);
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert!(said.code == 0 && said.out.contains("✔ 1 of 1 tasks completed (1 cancelled), "), "{}", said.all());
    assert_eq!(server.requests().len(), 2);
    server.finish();
}

#[test]
fn a_job_whose_failing_tests_pass_by_now_has_nothing_left_to_do() {
    let project = project();
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let said = work_off(&program, &project, &["--tasks", "failing-tests", "--task", "tests/test_gone.py"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.all().contains("no failing test belongs to tests/test_gone.py: nothing is left to do"),
        "{}",
        said.all()
    );
}

#[test]
fn a_file_to_which_a_task_cannot_be_added_stays_as_it_is() {
    let project = project();
    let program = Program::new();
    let add = |file: &str, id: &str, more: &[&str]| {
        let args = [&["tasks", "add", "--tasks", file, id, "Mend it"][..], more].concat();
        program.run(project.path(), &args)
    };
    let prd = "{\n  \"name\": \"Shop\",\n  \"userStories\": [\n    {\n      \"id\": \"US-1\",\n      \"title\": \"A\"\n    }\n  ]\n}\n";
    project.write("prd.json", prd);
    for (id, more, said) in [
        ("", &[][..], "no usable id"),
        (" US-1", &[], "two tasks have the id US-1"),
        ("US-2", &["--command", "test -f `date +%F`"], "would be read back differently"),
    ] {
        let told = add("prd.json", id, more);
        assert!(told.code == 2 && told.all().contains(said) && told.all().contains("→ Fix: "), "{}", told.all());
        assert_eq!(project.read("prd.json"), prd, "{id}");
    }
    assert_eq!(add("prd.json", "US-2", &["--command", "test -f x"]).code, 0);
    for list in ["tasks:\n- id: a\n  title: A\n", "tasks:\n    - id: a\n      title: A\n", "tasks: []\n"] {
        project.write("list.yml", list);
        let told = add("list.yml", "b", &["--command", "echo `date`"]);
        assert_eq!(told.code, 0, "{list}: {}", told.all());
        let shown = program.run(project.path(), &["tasks", "list", "--tasks", "list.yml"]);
        assert!(shown.code == 0 && shown.out.contains("· b  Mend it"), "{list}: {}", shown.all());
    }
}

#[test]
fn the_cost_of_an_earlier_backlog_is_not_taken_from_a_new_cap() {
    let project = project();
    let task = |module: &str| {
        format!("  - {{id: {module}, title: Mend, tests: ['test_run (tests.test_{module}.{module}Test.test_run)']}}\n")
    };
    let list = |modules: &[&str]| format!("tasks:\n{}", modules.iter().map(|module| task(module)).collect::<String>());
    project.write("tasks.yml", &list(&["words"]));
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=list"]);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!(said.code, 0, "{}", said.all());
    project.write("tasks.yml", &list(&["words", "names"]));
    git(&project, &["commit", "--quiet", "--all", "--message=more"]);
    let more = ["--tasks", "tasks.yml", "--max-cost-usd", "0.10", "--format", "jsonl"];
    let said = work_off(&program, &project, &more);
    let shares: Vec<Value> = lines_of(&said, "iteration:started").map(|line| line["shareMicroUsd"].clone()).collect();
    assert_eq!((said.code, shares), (0, vec![json!(100_000)]), "{}", said.all());
    let last = lines_of(&said, "backlog").last().expect("the document");
    assert_eq!((&last["tasksCompleted"], &last["tasks"][0]["costMicroUsd"]), (&json!(2), &json!(0)), "{last:#}");
    server.finish();
}

#[test]
fn what_cannot_be_worked_off_is_told_before_anything_is_paid() {
    let project = project();
    let program = Program::with_anthropic("http://127.0.0.1:9");
    for (more, said) in [
        (&["--tasks", "everything"][..], "is not a source of tasks"),
        (&["--tasks", "none.yml"], "cannot be read"),
        (&["--tasks", "failing-tests", "--no-audit"], "needs the audit log"),
        (&["--tasks", "failing-tests", "--push", "commit"], "--push"),
        (&["--max-tasks", "3"], "--tasks"),
    ] {
        let told = work_off(&program, &project, more);
        assert!(told.code == 2 && told.all().contains(said), "{more:?}: {}", told.all());
    }
    project.write("shop/words.py", "def run(names):\n    return names\n");
    let told = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert!(told.code == 2 && told.all().contains("commit or stash"), "{}", told.all());
}

#[test]
fn where_no_commit_can_be_made_nothing_is_paid() {
    let project = project();
    let program = Program::with_anthropic("http://127.0.0.1:9");
    git(&project, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    git(&project, &["branch", "other", "HEAD~1"]);
    git(&project, &["switch", "--quiet", "other"]);
    git(&project, &["commit", "--quiet", "--allow-empty", "--message=y"]);
    git(&project, &["merge", "--no-commit", "--no-ff", "--strategy=ours", "main"]);
    let told = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert!(told.code == 2 && told.all().contains("MERGE_HEAD") && told.all().contains("→ Fix: "), "{}", told.all());
    git(&project, &["merge", "--abort"]);
    // Twice: what was refused once is no backlog to go on with.
    project.write("shop/words.py", "def run(names):\n    return names\n");
    for _ in 0..2 {
        let told = work_off(&program, &project, &["--tasks", "failing-tests"]);
        assert!(told.code == 2 && told.all().contains("commit or stash"), "{}", told.all());
    }
    std::fs::remove_dir_all(project.path().join(".git")).expect("removed");
    git(&project, &["init", "--quiet"]);
    let told = work_off(&program, &project, &["--tasks", "failing-tests"]);
    assert!(told.code == 2 && told.all().contains("commit what you have first"), "{}", told.all());
}

#[test]
fn a_change_that_could_not_be_committed_is_committed_by_the_same_command() {
    let project = project();
    let outside = tempfile::tempdir().expect("a folder");
    let list = outside.path().join("prd.json");
    let story = "{\"userStories\": [{\"id\": \"U1\", \"title\": \"Names\", \"acceptanceCriteria\": [\"the test test_run (tests.test_names.namesTest.test_run) passes\"], \"passes\": false}]}\n";
    std::fs::write(&list, story).expect("written");
    let list = list.to_str().expect("text");
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    project.write(".git/index.lock", "");
    let said = work_off(&program, &project, &["--tasks", list]);
    assert_eq!((said.code, subjects(&project).len()), (1, 0), "{}", said.all());
    assert!(said.out.contains("could not be committed") && !said.out.contains(", $0.00:"), "{}", said.all());
    assert_eq!(std::fs::read_to_string(list).expect("it"), story, "what is not committed is not done");
    std::fs::remove_file(project.path().join(".git/index.lock")).expect("removed");
    let asked = server.requests().len();
    let said = work_off(&program, &project, &["--tasks", list]);
    assert_eq!((said.code, server.requests().len()), (0, asked), "{}", said.all());
    assert_eq!(subjects(&project), ["fix: U1 Names"], "{}", said.all());
    assert_eq!(
        git(&project, &["show", "--format=", "--name-only", "HEAD"]),
        "shop/names.py\n",
        "the list lies elsewhere"
    );
    assert!(std::fs::read_to_string(list).expect("it").contains("\"passes\": true"));
    server.finish();
}

fn commit(project: &crate::world::project::Project) {
    git(project, &["add", "--all"]);
    git(project, &["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "--quiet", "--message=more"]);
}

#[test]
fn a_story_whose_test_passes_already_is_marked_in_its_file() {
    let project = project();
    let test = "test_run (tests.test_names.namesTest.test_run)";
    let prd = format!(
        "{{\n  \"userStories\": [\n    {{\n      \"id\": \"U1\",\n      \"title\": \"Names\",\n      \"acceptanceCriteria\": [\n        \"the test {test} passes\"\n      ],\n      \"passes\": false\n    }}\n  ]\n}}\n"
    );
    project.write("prd.json", &prd);
    project.write("shop/names.py", "def run(names):\n    return names[0]\n");
    commit(&project);
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let said = work_off(&program, &project, &["--tasks", "prd.json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(project.read("prd.json"), prd.replace("false", "true"), "{}", said.all());
    assert_eq!(git(&project, &["show", "--format=", "--name-only", "HEAD"]), "prd.json\n");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
}

#[cfg(unix)]
#[test]
fn a_list_behind_a_link_is_the_lists_own_and_the_link_stays() {
    let project = project();
    let list = "{\"userStories\": [{\"id\": \"U1\", \"title\": \"Names\", \"acceptanceCriteria\": [\"the test test_run (tests.test_names.namesTest.test_run) passes\"], \"passes\": false}]}\n";
    project.write("lists/prd.json", list);
    std::os::unix::fs::symlink("lists/prd.json", project.path().join("prd.json")).expect("a link");
    commit(&project);
    let server = ModelServer::start(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "prd.json"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(project.read("lists/prd.json").contains("\"passes\": true"), "{}", said.all());
    assert!(project.path().join("prd.json").is_symlink());
    assert_eq!(git(&project, &["show", "--format=", "--name-only", "HEAD"]), "lists/prd.json\nshop/names.py\n");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    server.finish();
}

/// The form in which ralph-tui writes the file.
fn as_ralph_tui_writes(text: &str) -> String {
    const SCRIPT: &str = "process.stdout.write(JSON.stringify(JSON.parse(process.argv[1]), null, 2) + '\\n')";
    let said = std::process::Command::new("node").args(["-e", SCRIPT, text]).output().expect("node");
    String::from_utf8(said.stdout).expect("text")
}

#[test]
#[ignore = "needs the package of ralph-tui, which .ci/frameworks fetches"]
fn the_files_of_ralph_tuis_own_documentation_are_read_and_written_as_it_writes_them() {
    let home = std::env::var_os("UPSHIFT_TEST_FRAMEWORKS").expect("UPSHIFT_TEST_FRAMEWORKS");
    let page = std::path::Path::new(&home).join("ralph-tui/package/dist/skills/ralph-tui-create-json/SKILL.md");
    let page = std::fs::read_to_string(page).expect("the page");
    // The page also shows what is wrong: those are no whole files.
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let whole = blocks.filter(|text| text.contains("\"acceptanceCriteria\"") && text.contains("\"userStories\""));
    let whole: Vec<String> = whole.map(as_ralph_tui_writes).filter(|text| text.len() > 10).collect();
    assert!(whole.len() >= 2, "{page}");
    for text in whole {
        let project = project();
        project.write("prd.json", &text.replacen("\"passes\": false", "\"passes\": true", 1));
        let program = Program::new();
        let listed = program.run(project.path(), &["tasks", "list", "--tasks", "prd.json"]);
        assert!(listed.out.contains("✔ US-001") && listed.out.contains("( pnpm typecheck"), "{}", listed.all());
        let reset = program.run(project.path(), &["tasks", "reset", "--tasks", "prd.json", "US-001"]);
        assert_eq!((reset.code, project.read("prd.json")), (0, text), "{}", reset.all());
    }
}

#[test]
fn a_story_is_done_once_its_test_and_its_command_both_hold() {
    let project = project();
    let prd = "{\"userStories\": [{\"id\": \"US-1\", \"title\": \"Small letters\", \"acceptanceCriteria\": [\"the test test_run (tests.test_words.wordsTest.test_run) passes\", \"`test -f greeting.txt` succeeds\"], \"passes\": false}]}\n";
    project.write("prd.json", prd);
    git(&project, &["add", "--all"]);
    git(&project, &["commit", "--quiet", "--message=stories"]);
    // The test alone first: that is not enough.
    let mut runs = 0;
    let server = ModelServer::start(move |request| {
        runs += u32::from(request.turn() == 0);
        let edit = json!({ "path": "shop/words.py", "old_text": "names.upper()", "new_text": "names.lower()" });
        match (request.turn(), runs) {
            (0, _) => Say::call("edit_file", edit).usage(100, 5).into(),
            (1, 2) => {
                Say::call("write_file", json!({ "path": "greeting.txt", "content": "hello\n" })).usage(100, 5).into()
            }
            (_, _) => Say::call("final_report", json!({ "summary": "done", "status": "done" })).usage(100, 5).into(),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "prd.json"]);
    assert_eq!((said.code, subjects(&project).len()), (1, 1), "half of it is not done: {}", said.all());
    assert!(project.read("prd.json").contains("\"passes\": false"), "{}", said.all());
    let said = work_off(&program, &project, &["--tasks", "prd.json"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 2), "{}", said.all());
    assert_eq!(git(&project, &["show", "--format=", "--name-only", "HEAD"]), "greeting.txt\nprd.json\nshop/words.py\n");
    server.finish();
}
