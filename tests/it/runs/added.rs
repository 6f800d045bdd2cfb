//! Tests that a model adds: they judge nothing, and stay in the change that is handed over.

use serde_json::{Value, json};

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

const CASE: &str = "\n    def test_two(self):\n        self.assertEqual(total([2, 2]), 4)\n";
const FILE: &str = "import unittest\n\nfrom shop.cart import total\n\n\nclass EmptyTest(unittest.TestCase):\n    def test_empty(self):\n        self.assertEqual(total([]), 0)\n";

/// A tool, and what it is called with in a project.
type Step = (&'static str, fn(&Project) -> Value);

/// A run in which a model mends the product, then does more, then reports; returns what it was told of the rest.
fn run(project: &Project, more: &'static [Step]) -> (Said, Vec<String>) {
    let calls: Vec<(&str, Value)> = more.iter().map(|(tool, arguments)| (*tool, arguments(project))).collect();
    let mend = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("edit_file", mend.clone()).into(),
        turn if turn <= calls.len() => {
            let (tool, arguments) = &calls[turn - 1];
            Say::call(tool, arguments.clone()).into()
        }
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let arguments = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = Program::with_anthropic(&server.url()).run(project.path(), &arguments);
    let told = server
        .requests()
        .iter()
        .skip(2)
        .filter_map(|request| request.tool_results().pop())
        .map(|told| told.content)
        .collect();
    server.finish();
    (said, told)
}

fn with_case(project: &Project) -> String {
    format!("{}{CASE}", project.read("tests/test_cart.py"))
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_new_case_and_a_new_file_of_tests_stay_in_the_change_and_are_named() {
    let project = Project::python();
    let wanted = with_case(&project);
    let (said, told) = run(
        &project,
        &[
            ("write_file", |project| json!({ "path": "tests/test_cart.py", "content": with_case(project) })),
            ("write_file", |_| json!({ "path": "tests/test_empty.py", "content": FILE })),
            ("run_tests", |_| json!({})),
        ],
    );
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(told[2].contains("4 tests passed"), "{told:?}");
    assert_eq!((project.read("tests/test_cart.py"), project.read("tests/test_empty.py")), (wanted, FILE.to_owned()));
    for file in ["tests/test_cart.py", "tests/test_empty.py"] {
        let named = said.all().lines().any(|line| line.contains(file) && line.contains("it adds tests"));
        assert!(named, "{file}: {}", said.all());
    }
    assert!(
        said.all().contains("without the change the tests fail again"),
        "the start's tests were witnessed all the same: {}",
        said.all()
    );
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_added_test_that_fails_is_left_out_and_the_mend_is_kept() {
    let project = Project::python();
    let (said, _) = run(
        &project,
        &[("write_file", |_| json!({ "path": "tests/test_empty.py", "content": FILE.replace("[]), 0", "[]), 1") }))],
    );
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(
        said.all().contains("the tests added in tests/test_empty.py were left out of the change"),
        "{}",
        said.all()
    );
    assert!(!project.path().join("tests/test_empty.py").exists());
    assert!(project.read(project.source).contains(project.right));
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_an_added_test_does_to_other_files_is_undone_and_it_is_left_out() {
    let project = Project::python();
    let (test, other) = (project.read("tests/test_cart.py"), "untouched = True\n");
    project.write("other.py", other);
    let (said, _) = run(
        &project,
        &[("write_file", |_| {
            let evil = "import pathlib\nimport unittest\n\n\nclass EvilTest(unittest.TestCase):\n    def test_evil(self):\n        for name in ('tests/test_cart.py', 'other.py'):\n            pathlib.Path(name).write_text('')\n";
            json!({ "path": "tests/test_evil.py", "content": evil })
        })],
    );
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.all().contains("they rewrote tests/test_cart.py"), "{}", said.all());
    assert_eq!((project.read("tests/test_cart.py"), project.read("other.py")), (test, other.to_owned()));
    assert!(!project.path().join("tests/test_evil.py").exists());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_test_that_is_changed_or_steers_others_is_refused_at_once_with_the_way_out() {
    let project = Project::python();
    let test = project.read("tests/test_cart.py");
    let (said, told) = run(
        &project,
        &[
            ("edit_file", |_| json!({ "path": "tests/test_cart.py", "old_text": ", 6,", "new_text": ", 5," })),
            ("write_file", |_| json!({ "path": "tests/test_cart.py", "content": FILE })),
            ("write_file", |_| json!({ "path": "tests/conftest.py", "content": "def test_x():\n    pass\n" })),
            ("write_file", |_| json!({ "path": "tests/helpers.py", "content": "def total(x):\n    return 6\n" })),
            ("delete_file", |_| json!({ "path": "tests/test_cart.py" })),
        ],
    );
    assert_eq!(said.code, 0, "{}", said.all());
    for (at, words) in [
        "`blocked_on` `[{\"kind\": \"test\"}]`",
        "You may add tests",
        "can not be changed",
        "You may add tests",
        "blocked",
    ]
    .into_iter()
    .enumerate()
    {
        assert!(told[at].contains(words), "{at}: {}", told[at]);
    }
    assert_eq!(project.read("tests/test_cart.py"), test);
    assert!(!project.path().join("tests/conftest.py").exists() && !project.path().join("tests/helpers.py").exists());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_file_of_the_product_that_is_called_like_a_test_is_mended() {
    let project = Project::python();
    project
        .write("shop/cart.py", "from shop import ab_test\n\n\ndef total(prices):\n    return ab_test.total(prices)\n");
    project.write("shop/ab_test.py", "def total(prices):\n    return sum(prices) - 1\n");
    let mended = "def total(prices):\n    return sum(prices)\n";
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("write_file", json!({ "path": "shop/ab_test.py", "content": mended })).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let arguments = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = Program::with_anthropic(&server.url()).run(project.path(), &arguments);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(project.read("shop/ab_test.py"), mended);
    server.finish();
}
