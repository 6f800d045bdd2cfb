//! A run that stood still, and files that somebody changed meanwhile: they are theirs, and judged as the run's start.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{LADDER, Scene, TWO_HOURS, limited, mends};
use crate::world::model_server::{Request, Say, Scripted};
use crate::world::program::Said;

/// Limited once, at this request.
fn limited_at(number: usize, script: fn(&Request) -> Scripted) -> impl FnMut(&Request) -> Scripted + Send {
    move |request| if request.number == number { limited(TWO_HOURS) } else { script(request) }
}

/// Makes nothing better.
fn tries(request: &Request) -> Scripted {
    let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices) - 2" });
    match request.turn() {
        0 => Say::call("edit_file", edit).usage(900, 40).into(),
        _ => Say::call("final_report", json!({ "summary": "tried", "status": "done" })).usage(900, 40).into(),
    }
}

fn parked(script: fn(&Request) -> Scripted, at: usize, ladder: &str) -> Scene {
    let scene = Scene::new(limited_at(at, script));
    let said = scene.run(ladder);
    assert_eq!(said.code, 4, "{}", said.all());
    scene
}

/// The files of the change, as the report tells them.
fn changed(scene: &Scene) -> Value {
    let said = scene.call("report", &["--format", "json"]);
    let report: Value = serde_json::from_str(&said.out).expect("JSON");
    let files = report["diff_stat"].as_array().cloned().unwrap_or_default();
    files.iter().map(|file| file["path"].clone()).collect()
}

fn told_of(said: &Said, files: &str) {
    let told = format!("changed since the run stopped, and part of its start from now on: {files}\n");
    assert!(said.err.contains(&told), "{}", said.all());
}

#[test]
fn it_is_kept_and_no_part_of_the_fix() {
    let scene = parked(mends, 1, LADDER);
    scene.project.write("shop/prices.py", "PRICES = [1, 2]\n");
    scene.project.write("README", "mine\n");
    scene.project.write(".github/upshift.yml", "global: {maxCostUsd: 7}\n");
    let said = scene.call("resume", &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    told_of(&said, ".github/upshift.yml, README, shop/prices.py");
    assert!(said.err.contains("this run goes on with the configuration of its start"), "{}", said.all());
    assert_eq!(scene.project.read("shop/prices.py"), "PRICES = [1, 2]\n");
    assert_eq!(changed(&scene), json!(["shop/cart.py"]));
    assert_eq!(scene.call("report", &["--verify"]).code, 0);
    scene.finish();
}

#[test]
fn it_is_kept_where_the_run_fails_too() {
    let scene = parked(tries, 1, "claude-haiku-4-5 x1");
    let tests = scene.project.read("tests/test_cart.py");
    scene.project.write("tests/test_cart.py", &format!("{tests}\n# mine\n"));
    scene.project.write("mine.txt", "between\n");
    let said = scene.call("resume", &[]);
    assert_eq!(said.code, 1, "{}", said.all());
    told_of(&said, "mine.txt, tests/test_cart.py");
    assert!(!said.all().contains("put back"), "{}", said.all());
    assert!(scene.project.read("tests/test_cart.py").ends_with("# mine\n"), "{}", said.all());
    assert_eq!(scene.project.read("mine.txt"), "between\n");
    scene.finish();
}

#[test]
fn where_it_is_the_very_file_that_the_run_was_at_it_goes_on_from_there() {
    // The first iteration left an edit that helps nobody, the second is limited.
    let script = |request: &Request| if request.number < 2 { tries(request) } else { mends(request) };
    let scene = parked(script, 2, LADDER);
    let theirs = format!("# mine\n{}", scene.project.read("shop/cart.py"));
    scene.project.write("shop/cart.py", &theirs);
    let said = scene.call("resume", &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("they are put aside"), "{}", said.all());
    assert_eq!(scene.project.read("shop/cart.py"), theirs.replace("sum(prices) - 1", "sum(prices)"));
    let lines = scene.call("report", &["--format", "json"]).out;
    let report: Value = serde_json::from_str(&lines).expect("JSON");
    let stat = &report["diff_stat"][0];
    assert_eq!((&stat["added"], &stat["removed"]), (&json!(1), &json!(1)), "the run's own change alone: {report}");
    scene.finish();
}

#[test]
fn a_person_who_mended_it_is_told_so_nothing_is_paid_and_nothing_is_called_green() {
    let scene = parked(mends, 1, LADDER);
    let asked = scene.asked().len();
    scene.project.write("shop/cart.py", &scene.project.read("shop/cart.py").replace("sum(prices) - 1", "sum(prices)"));
    let said = scene.call("resume", &[]);
    assert_eq!((said.code, scene.asked().len()), (1, asked), "{}", said.all());
    assert!(
        said.out.contains("the tests pass now") && said.out.contains("To have the change judged: `upshift judge`"),
        "{}",
        said.out
    );
    assert!(!said.out.contains('✔') && scene.project.read("shop/cart.py").contains("sum(prices)\n"), "{}", said.out);
    scene.finish();
}

#[test]
fn what_the_run_itself_left_in_ignored_files_makes_nothing_green() {
    // The first iteration has the tests write a module that takes their assertions away. Git ignores it.
    let script = |request: &Request| match (request.number, request.turn()) {
        (0, _) => {
            let code = "import pathlib\nimport sys\nplace = pathlib.Path('vendor')\nplace.mkdir(exist_ok=True)\n\
                        (place / 'quiet.py').write_text('import unittest\\nunittest.TestCase.assertEqual = lambda *a: None\\n')\n\n\n\
                        def total(prices):\n    return sum(prices) - 2\n";
            Say::call("write_file", json!({ "path": "shop/cart.py", "content": code })).usage(900, 40).into()
        }
        (1, _) => Say::call("final_report", json!({ "summary": "x", "status": "done" })).usage(900, 40).into(),
        _ => mends(request),
    };
    let scene = Scene::new(limited_at(2, script));
    scene.project.write(".gitignore", "vendor/\n__pycache__/\n");
    let test = scene.project.read("tests/test_cart.py");
    let loads = "import sys\nsys.path.insert(0, 'vendor')\ntry:\n    import quiet\nexcept ImportError:\n    pass\n";
    scene.project.write("tests/test_cart.py", &format!("{loads}{test}"));
    assert_eq!(scene.run("claude-haiku-4-5 x2").code, 4);
    scene.project.write("notes.txt", "between\n");
    let said = scene.call("resume", &[]);
    assert!(
        !said.out.contains("Already green") && said.code != 0
            || scene.project.read("shop/cart.py").contains("sum(prices)\n"),
        "{}",
        said.all()
    );
    scene.finish();
}

#[test]
fn a_signal_in_the_look_leaves_the_files_as_they_are() {
    let scene = parked(mends, 1, LADDER);
    let gate = scene.project.path().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().expect("mkfifo").success());
    // The tests say that they have begun, and then wait for somebody who never comes.
    let tests = scene.project.read("tests/test_cart.py");
    let waits = "import threading\nopen('gate', 'w').write('here')\nthreading.Event().wait()\n";
    scene.project.write("tests/test_cart.py", &format!("{waits}{tests}"));
    scene.project.write("mine.txt", "an hour of work\n");
    let database = scene.database().to_str().expect("text").to_owned();
    let mut command = scene.program.command(scene.project.path(), &["resume", "--audit-db", &database]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    assert_eq!(std::fs::read_to_string(&gate).expect("the gate"), "here");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill").success());
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 130, "{}", said.all());
    assert_eq!(scene.project.read("mine.txt"), "an hour of work\n", "{}", said.all());
    assert!(scene.project.read("tests/test_cart.py").starts_with(waits), "{}", said.all());
    scene.finish();
}

#[test]
fn what_another_run_left_that_was_killed_is_nobodys_change() {
    let mut scene = parked(mends, 1, LADDER);
    let listed = scene.call("runs", &["--format", "json"]).out;
    let runs: Value = serde_json::from_str(&listed).expect("JSON");
    let run = runs[0]["run_id"].as_str().expect("an id").to_owned();
    scene = scene.with("UPSHIFT_CRASH_AFTER", "tool_finished:2");
    assert_eq!(scene.run(LADDER).code, -9);
    scene = scene.with("UPSHIFT_CRASH_AFTER", "");
    let said = scene.call("resume", &[&run]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("was killed here and left 1 file changed"), "{}", said.all());
    scene.finish();
}
