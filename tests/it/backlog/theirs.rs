//! Files of a person's while a task is under way: the list is theirs, and of what is put back nothing is lost without a word.

use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::json;

use super::proven::with_list;
use super::steering::{Working, call};
use super::{failing_of, git, mends, subjects, work_off};
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Program;
use crate::world::project::Project;

/// A model that is asked about names, says that it was, and waits for a word before it answers: the run has looked at its files by then.
pub(super) fn asked_and_waits(
    mut answer: impl FnMut(&Request) -> Scripted + Send + 'static,
) -> (Receiver<()>, Sender<()>, ModelServer) {
    let ((tell, asked), (go, word)) = (channel(), channel::<()>());
    let mut waits = true;
    let server = ModelServer::start(move |request: &Request| {
        if failing_of(request).contains("test_names") && std::mem::take(&mut waits) {
            tell.send(()).unwrap_or_default();
            let _gone = word.recv();
        }
        answer(request)
    });
    (asked, go, server)
}

fn warnings(lines: &[serde_json::Value]) -> String {
    let said = lines.iter().map(|line| &line["event"]).filter(|event| event["event"] == "warning");
    said.map(|event| event["message"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The copies that a run kept of a file.
fn kept(project: &Project, path: &str) -> Vec<String> {
    let runs = std::fs::read_dir(project.path().join(".upshift")).expect("our folder").flatten();
    runs.filter_map(|run| std::fs::read_to_string(run.path().join("yours").join(format!("{path}.kept"))).ok()).collect()
}

#[test]
fn a_task_that_is_added_while_one_is_under_way_is_worked_on() {
    for source in ["tasks.yml", "prd.json"] {
        let project = with_list(1);
        let story = |id: &str, module: &str| {
            format!(
                "{{\"id\": \"{id}\", \"title\": \"Mend it\", \"acceptanceCriteria\": [\"the test test_run (tests.test_{module}.{module}Test.test_run) passes\"], \"passes\": false}}"
            )
        };
        project.write("prd.json", &format!("{{\"userStories\": [{}]}}\n", story("names", "names")));
        git(&project, &["add", "--all"]);
        git(&project, &["commit", "--quiet", "--message=stories"]);
        let (asked, go, server) = asked_and_waits(mends);
        let program = Program::with_anthropic(&server.url()).without_court();
        let mut working = Working::start_with(&program, &project, source, &[]);
        asked.recv().expect("a call");
        let name = "test_run (tests.test_words.wordsTest.test_run)";
        let words = ["tasks", "add", "--tasks", source, "words", "Mend it", "--test", name];
        let said = call(&program, &project, &words);
        assert_eq!(said.code, 0, "{}", said.all());
        go.send(()).expect("it waits");
        let lines = working.rest();
        let stopped = lines.iter().find(|line| line["type"] == "engine:stopped").expect("it stops");
        assert_eq!((&stopped["reason"], &stopped["tasksCompleted"]), (&json!("completed"), &json!(2)), "{lines:#?}");
        assert!(!warnings(&lines).contains("put back"), "{}", warnings(&lines));
        assert_eq!(subjects(&project)[2..], ["fix: names Mend it", "fix: words Mend it"]);
        assert!(project.read(source).contains("words"));
        server.finish();
    }
}

#[test]
fn a_list_that_is_edited_by_hand_while_a_task_is_under_way_stays_as_it_is() {
    let project = with_list(1);
    let (asked, go, server) = asked_and_waits(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start_with(&program, &project, "tasks.yml", &[]);
    asked.recv().expect("a call");
    let more = "  - {id: words, title: Mend it, tests: ['test_run (tests.test_words.wordsTest.test_run)']}\n";
    let edited = format!("# mine\n{}{more}", project.read("tasks.yml"));
    project.write("tasks.yml", &edited);
    go.send(()).expect("it waits");
    let lines = working.rest();
    let stopped = lines.iter().find(|line| line["type"] == "engine:stopped").expect("it stops");
    assert_eq!(stopped["tasksCompleted"], 2, "{lines:#?}");
    assert_eq!(project.read("tasks.yml"), edited);
    server.finish();
}

#[test]
fn code_under_test_that_rewrites_the_list_is_refused_and_the_list_put_back() {
    let project = with_list(2);
    let before = project.read("tasks.yml");
    let server = ModelServer::start(|request| {
        if !failing_of(request).contains("test_names") {
            return mends(request);
        }
        let text = "import os\ndef run(names):\n    top = os.path.dirname(os.path.dirname(__file__))\n    open(os.path.join(top, 'tasks.yml'), 'w').write('tasks: []\\n')\n    return names[0]\n";
        match request.turn() {
            0 => Say::call("write_file", json!({ "path": "shop/names.py", "content": text })).into(),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
        }
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, project.read("tasks.yml")), (1, before), "{}", said.all());
    assert!(said.out.contains("✖ 1 of 2 tasks completed"), "none is cancelled: {}", said.all());
    assert_eq!(subjects(&project), ["list", "fix: rates Mend it"], "{}", said.all());
    server.finish();
}

#[test]
fn what_a_person_writes_meanwhile_is_named_and_kept() {
    let project = with_list(1);
    let (asked, go, server) = asked_and_waits(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start_with(&program, &project, "tasks.yml", &[]);
    asked.recv().expect("a call");
    let cart = format!("# mine\n{}", project.read("shop/cart.py"));
    project.write("shop/cart.py", &cart);
    project.write("docs/plan.md", "my plan\n");
    project.write("tests/test_mine.py", "# my test\n");
    std::fs::remove_file(project.path().join("tests/test_names.py")).expect("a test");
    go.send(()).expect("it waits");
    let lines = working.rest();
    let said = warnings(&lines);
    assert!(!said.contains("could not be kept") && !said.contains("code under test"), "{said}");
    assert!(
        said.contains(
            "changed by somebody while the run worked, and put back: docs/plan.md, shop/cart.py, tests/test_mine.py"
        ),
        "{said}"
    );
    for (path, text) in [("docs/plan.md", "my plan\n"), ("shop/cart.py", &cart), ("tests/test_mine.py", "# my test\n")]
    {
        assert_eq!(kept(&project, path), [text], "{path}: {said}");
    }
    assert_eq!(git(&project, &["show", "--format=", "--name-only", "HEAD"]), "shop/names.py\n");
    server.finish();
}

#[test]
fn what_a_person_commits_meanwhile_is_in_the_files_when_the_backlog_stops() {
    let project = with_list(1);
    let (asked, go, server) = asked_and_waits(mends);
    let program = Program::with_anthropic(&server.url()).without_court();
    let mut working = Working::start_with(&program, &project, "tasks.yml", &[]);
    asked.recv().expect("a call");
    project.write("NOTES.md", "mine\n");
    let cart = format!("# mine\n{}", project.read("shop/cart.py"));
    project.write("shop/cart.py", &cart);
    git(&project, &["add", "NOTES.md", "shop/cart.py"]);
    git(&project, &["commit", "--quiet", "--message=mine"]);
    go.send(()).expect("it waits");
    let lines = working.rest();
    assert!(warnings(&lines).contains("NOTES.md"), "{}", warnings(&lines));
    assert_eq!((project.read("NOTES.md").as_str(), project.read("shop/cart.py")), ("mine\n", cart));
    assert_eq!(git(&project, &["status", "--short", "--", "shop", "NOTES.md"]).trim(), "M shop/names.py");
    server.finish();
}

#[test]
fn an_edit_of_a_person_in_the_very_file_that_is_mended_is_named() {
    // Before the model's own edit, and behind it.
    for turn in [0, 1] {
        let project = with_list(1);
        let ((tell, asked), (go, word)) = (channel(), channel::<()>());
        let server = ModelServer::start(move |request| {
            if request.turn() == turn {
                tell.send(()).unwrap_or_default();
                let _gone = word.recv();
            }
            mends(request)
        });
        let program = Program::with_anthropic(&server.url()).without_court();
        let mut working = Working::start_with(&program, &project, "tasks.yml", &[]);
        asked.recv().expect("a call");
        project.write("shop/names.py", &format!("# mine\n{}", project.read("shop/names.py")));
        go.send(()).expect("it waits");
        let said = warnings(&working.rest());
        assert!(said.contains("and part of its change: shop/names.py"), "{turn}: {said}");
        server.finish();
    }
}

#[test]
fn what_tests_and_models_write_is_nobodys_and_makes_no_noise() {
    let project = with_list(2);
    let test = project.read("tests/test_cart.py");
    let writes = "open('made.txt', 'a').write('x')\nopen('shop/made.py', 'w').write('x = 1')\nopen('tests/__init__.py', 'a').write('# x\\n')\n";
    project.write("tests/test_cart.py", &format!("{writes}{test}"));
    git(&project, &["commit", "--all", "--quiet", "--message=writes"]);
    let mut tries = 0;
    let server =
        ModelServer::start(move |request| match (failing_of(request).contains("test_names"), request.turn()) {
            // A first try that is taken back.
            (true, 0) if std::mem::replace(&mut tries, 1) == 0 => {
                Say::call("write_file", json!({ "path": "shop/names.py", "content": "def run(names): return 1\n" }))
                    .into()
            }
            (true, 1) if tries == 1 => {
                tries = 2;
                Say::call("write_file", json!({ "path": "shop/more.py", "content": "x = 1\n" })).into()
            }
            _ => mends(request),
        });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said =
        work_off(&program, &project, &["--tasks", "tasks.yml", "--tiers", "claude-haiku-4-5 x3", "--format", "jsonl"]);
    assert!(!said.all().contains("changed by somebody"), "{}", said.all());
    server.finish();
}

#[test]
fn what_git_does_not_know_is_nobodys_to_change_however_much_it_is_and_whatever_it_is_called() {
    let project = with_list(1);
    for number in 0..300 {
        project.write(&format!("notes-{number:03}.txt"), "mine\n");
    }
    project.write("shop/zz[1]*.py", "mine = 1\n");
    let paths = ["notes-299.txt", "shop/zz[1]*.py"];
    let server = ModelServer::start(move |request| match request.turn() {
        turn @ (0 | 1) => {
            Say::call("write_file", json!({ "path": paths[turn], "content": "theirs = 1\n" })).usage(100, 5).into()
        }
        2 => {
            let edit = json!({ "path": "shop/names.py", "old_text": "names[1]", "new_text": "names[0]" });
            Say::call("edit_file", edit).usage(100, 5).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(100, 5).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 2), "{}", said.all());
    assert_eq!(git(&project, &["show", "--format=", "--name-only", "HEAD"]), "shop/names.py\n");
    assert!(project.read(paths[0]) == "mine\n" && project.read(paths[1]) == "mine = 1\n", "{}", said.all());
    server.finish();
}

#[test]
fn a_crowd_of_files_that_git_does_not_know_is_told_by_its_folder_or_refused() {
    let project = with_list(1);
    let long = "n".repeat(100);
    for number in 0..600 {
        project.write(&format!("scratch/{long}{number}.txt"), "mine\n");
    }
    let server = ModelServer::start(|request| match request.turn() {
        0 => {
            let path = format!("scratch/{}7.txt", "n".repeat(100));
            Say::call("write_file", json!({ "path": path, "content": "theirs\n" })).usage(100, 5).into()
        }
        1 => {
            let edit = json!({ "path": "shop/names.py", "old_text": "names[1]", "new_text": "names[0]" });
            Say::call("edit_file", edit).usage(100, 5).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(100, 5).into(),
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, subjects(&project).len()), (0, 2), "{}", said.all());
    assert_eq!(project.read(&format!("scratch/{long}7.txt")), "mine\n");
    git(&project, &["reset", "--hard", "--quiet", "HEAD~1"]);
    for number in 0..600 {
        project.write(&format!("{long}{number}.txt"), "mine\n");
    }
    let asked = server.requests().len();
    let said = work_off(&program, &project, &["--tasks", "tasks.yml"]);
    assert_eq!((said.code, server.requests().len()), (2, asked), "{}", said.all());
    assert!(said.all().contains("git does not know 1200 files here"), "{}", said.all());
    server.finish();
}
