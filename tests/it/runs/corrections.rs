//! A test that is wrong: nothing is changed, and a person is shown the correction.

use serde_json::json;

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

/// A project whose test is wrong, and whose code is right.
fn wrong_test() -> Project {
    let project = Project::python();
    project.write("shop/cart.py", "def total(prices):\n    return sum(prices)\n");
    let test = project.read("tests/test_cart.py");
    project.write("tests/test_cart.py", &test.replace("[1, 2, 3]), 6", "[1, 2, 3]), 7"));
    project
}

#[test]
fn a_wrong_test_is_told_with_its_correction_and_left_as_it_is() {
    let project = wrong_test();
    let test = project.read("tests/test_cart.py");
    let server = ModelServer::start(|request| {
        match request.turn() {
        0 => Say::call("edit_file", json!({ "path": "tests/test_cart.py", "old_text": "[1, 2, 3]), 7", "new_text": "[1, 2, 3]), 6" })).into(),
        _ => Say::call("final_report", json!({ "summary": "the test adds wrongly", "status": "blocked", "reason": "1 + 2 + 3 is 6", "blocked_on": "test" })).into(),
    }
    });
    let program = Program::with_anthropic(&server.url());
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 1, "{}", said.all());
    for words in
        ["Blocked", "a test is wrong: 1 + 2 + 3 is 6", "A model says that a test is wrong", "test-correction.patch"]
    {
        assert!(said.all().contains(words), "{words}: {}", said.all());
    }
    assert_eq!(project.read("tests/test_cart.py"), test);
    let report = program.run(project.path(), &["report", "--format", "md"]);
    for words in [
        "The correction that it proposes",
        "-        self.assertEqual(total([1, 2, 3]), 7",
        "+        self.assertEqual(total([1, 2, 3]), 6",
    ] {
        assert!(report.out.contains(words), "{words}: {}", report.out);
    }
    let json = program.run(project.path(), &["report", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).expect("JSON");
    let kept = json["corrections"][0]["kept"].as_str().expect("a path");
    assert_eq!(json["corrections"][0]["files"], json!(["tests/test_cart.py"]));
    let applied =
        std::process::Command::new("git").args(["apply", kept]).current_dir(project.path()).status().expect("git");
    assert!(applied.success());
    let green =
        std::process::Command::new("sh").args(["-c", project.test_command]).current_dir(project.path()).output();
    assert!(green.expect("the tests").status.success());
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_will_not_count_is_said_by_the_models_own_run_of_the_tests() {
    let project = Project::rust();
    let tests = "\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn twice() {\n        assert_eq!(super::double(4), 8);\n    }\n}\n";
    let source = format!("{}{tests}", project.read(project.source));
    project.write(project.source, &source);
    let changed = source.replace(project.wrong, project.right).replace("double(4), 8", "double(5), 10");
    let server = ModelServer::start(move |request| match request.turn() {
        0 => Say::call("write_file", json!({ "path": "src/lib.rs", "content": changed })).into(),
        1 => Say::call("run_tests", json!({})).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
    });
    let program = Program::with_anthropic(&server.url());
    let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    let told = server.requests().last().expect("a request").tool_results().pop().expect("a result").content;
    let words = "3 tests passed, none failed. But this would not count, because tests inside src/lib.rs are judged as they were";
    assert!(told.contains(words), "{told}\n{}", said.all());
    server.finish();
}
