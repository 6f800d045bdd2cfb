//! `upshift trace`: the operations of a run from its log.

use serde_json::{Value, json};

use super::{TIERS, brief, full_mode};
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

/// All operations of a kind below one.
fn below<'t>(tree: &'t Value, kind: &str) -> Vec<&'t Value> {
    let own = (tree["kind"] == kind).then_some(tree);
    let children = tree["operations"].as_array().into_iter().flatten();
    own.into_iter().chain(children.flat_map(|child| below(child, kind))).collect()
}

#[test]
fn a_run_in_full_mode_is_one_tree_in_which_each_operation_lies_within_the_one_above() {
    let project = Project::python();
    let librarian = |request: &crate::world::model_server::Request| match request.turn() {
        0 => {
            Say::call("read_file", json!({ "path": "shop/cart.py" })).and_call("shell", json!({})).usage(500, 20).into()
        }
        _ => brief(),
    };
    let server = ModelServer::start(full_mode((project.source, project.wrong, project.right), librarian));
    let program = Program::with_anthropic(&server.url()).without_court();
    let command = project.test_command;
    let said =
        program.run(project.path(), &["run", "--tiers", TIERS, "--audit-db", "audit.db", "--test-command", command]);
    assert_eq!(said.code, 0, "{}", said.all());
    let calls = server.requests().len();
    server.finish();
    let traced = program.run(project.path(), &["trace", "--audit-db", "audit.db"]);
    let document: Value = serde_json::from_str(&traced.out).expect("JSON");
    let trace = &document["trace"];
    assert_eq!((trace["kind"].as_str(), trace["ok"].as_bool()), (Some("run"), Some(true)));
    let sessions = below(trace, "session");
    let told: Vec<(&str, &str)> =
        sessions.iter().map(|one| (one["agent_path"].as_str().unwrap(), one["exit"].as_str().unwrap())).collect();
    let expected = ["librarian", "artisan", "critic"].map(|role| format!("tier-1/iteration-1/{role}"));
    assert_eq!(told, expected.iter().map(|path| (path.as_str(), "EXIT-FINAL-ANSWER")).collect::<Vec<_>>());
    assert_eq!(below(trace, "model").len(), calls);
    let tools = below(sessions[0], "tool");
    assert_eq!(tools[1]["exit"], "EXIT-TOOL-NOT-AVAILABLE");
    assert!(below(trace, "judge").iter().any(|one| one["name"] == "tests"));
    assert_within(trace);
    let page = program.run(project.path(), &["trace", "--audit-db", "audit.db", "--format", "html"]);
    assert!(page.out.starts_with("<!DOCTYPE html>") && page.out.contains("invoke_agent librarian"), "{}", page.out);
    assert!(!page.out.contains("<script") && !page.out.contains("http://"), "it stands alone");
}

/// Whether each operation that ended lies within the time of the one above, to the millisecond.
fn assert_within(tree: &Value) {
    for child in tree["operations"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no time in {child}")).to_owned();
        assert!(text(&child["begin"]) >= text(&tree["begin"]), "{child} begins before {}", tree["begin"]);
        assert!(text(&child["end"]) <= text(&tree["end"]), "{child} ends after {}", tree["end"]);
        assert_within(child);
    }
}
