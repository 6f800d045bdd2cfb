//! Blocks of data beside a fix (S1-12), from the configuration to the reviewer.

use serde_json::{Value, json};

use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::Program;
use crate::world::project::Project;

const CONFIG: &str = "agent:\n  meta:\n    root_cause: {}\n    risk: {}\n    tickets: {required: false, schema: {type: array, items: {type: string}}}\n";

/// Mends the sum, reports without blocks, and answers the question for them by `later`.
fn mends(project: &Project, later: Value) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    move |request| match request.turn() {
        0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right })).into(),
        1 => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).into(),
        _ => Say::call("final_report", later.clone()).into(),
    }
}

/// A run, what the log says of it in three forms, and a look into it.
fn told(later: Value) -> (i32, [String; 4], usize) {
    let project = Project::python();
    project.write(".github/upshift.yml", CONFIG);
    let server = ModelServer::start(mends(&project, later));
    let program = Program::with_anthropic(&server.url()).without_court();
    let ladder = "claude-haiku-4-5 x1";
    let args = ["run", "--tiers", ladder, "--test-command", project.test_command, "--audit-db", "audit.db"];
    let said = program.run(project.path(), &args);
    let forms = [("report", "text"), ("report", "md"), ("report", "json"), ("show", "text")].map(|(command, form)| {
        let said = program.run(project.path(), &[command, "--audit-db", "audit.db", "--format", form]);
        assert_eq!(said.code, 0, "{}", said.all());
        said.out
    });
    let asked = server.requests().len();
    server.finish();
    (said.code, forms, asked)
}

#[test]
fn a_reviewer_reads_the_cause_and_the_risk() {
    let cause = json!({ "category": "logic", "file": "shop/cart.py", "line": 2, "why": "it took the <b>largest</b>" });
    let risk = json!({ "level": "low", "why": "one line" });
    let (code, [text, markdown, document, shown], asked) =
        told(json!({ "meta": { "root_cause": cause, "risk": risk, "tickets": ["SHOP-1"] } }));
    assert_eq!((code, asked), (0, 3), "{text}");
    assert!(text.contains("  Meta:    Cause: logic in `shop/cart.py:2`, it took the <b>largest</b>\n"), "{text}");
    assert!(text.contains("  Meta:    Risk: low, because one line\n"), "{text}");
    let looked = "  META Risk: low, because one line\n  META Cause: logic in shop/cart.py:2, it took the <b>largest</b>\n  META artisan tickets: [\"SHOP-1\"]\n";
    assert!(shown.contains(looked), "{shown}");
    let said = "**In the models' words**\n\n- Risk: `low`, because `one line`\n- Cause: `logic` in `shop/cart.py:2`, `it took the <b>largest</b>`\n- artisan `tickets`: `[\"SHOP-1\"]`\n";
    assert!(markdown.contains(said), "foreign text stands in code spans: {markdown}");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["meta"][0]["blocks"]["root_cause"]["category"], "logic");
    assert!(document["meta"][0].get("missing").is_none());
}

#[test]
fn a_fix_whose_blocks_never_come_is_a_fix_all_the_same() {
    let (code, [text, markdown, document, shown], asked) = told(json!({ "meta": { "risk": "low" } }));
    assert!(shown.contains("  META Missing: root_cause, which the artisan owes: it was not given\n"), "{shown}");
    assert_eq!((code, asked), (0, 4), "two more replies and no third: {text}");
    assert!(text.starts_with("✔ "), "{text}");
    assert!(
        text.contains("  ! the artisan gave no valid META `risk`: it must be of type object, not string"),
        "{text}"
    );
    assert!(markdown.contains("- Missing: `root_cause`, which the artisan owes: `it was not given`"), "{markdown}");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(document["meta"][0]["missing"][0]["name"], "risk");
    assert_eq!(document["outcome"], "fixed");
}

/// Long replies without a block leave the critic its money.
#[test]
fn the_question_for_blocks_leaves_the_critic_its_money() {
    let tiers = |cap: &str| {
        format!(
            r#"{{"tiers": [{{"name": "one", "mode": "full", "maxIterations": 1, "models": {{"artisan": "claude-haiku-4-5",
            "librarian": "claude-haiku-4-5", "critic": "claude-opus-4-5"}}}}], "global": {{"maxTotalCostUsd": {cap}}},
            "agent": {{"meta": {{"risk": {{}}}}}}}}"#
        )
    };
    for (cap, expected) in [("2", 2), ("0.20", 0)] {
        let project = Project::python();
        let (source, wrong, right) = (project.source, project.wrong, project.right);
        let server = ModelServer::start(move |request| {
            let report = |report: Value, tokens| Say::call("final_report", report).usage(500, tokens).into();
            if request.system().contains("You brief") {
                return report(json!({ "summary": "the sum", "status": "done" }), 20);
            }
            if request.system().contains("You review") {
                return report(json!({ "verdict": "approve", "summary": "right", "issues": [] }), 20);
            }
            match request.turn() {
                0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
                    .usage(500, 20)
                    .into(),
                1 => report(json!({ "summary": "mended", "status": "done" }), 20),
                _ => report(json!({ "meta": {} }), 15_000),
            }
        });
        let program = Program::with_anthropic(&server.url()).without_court();
        let args = ["run", "--tiers", &tiers(cap), "--test-command", project.test_command, "--audit-db", "audit.db"];
        let said = program.run(project.path(), &args);
        let requests = server.requests();
        server.finish();
        assert_eq!(said.code, 0, "{cap}: {}", said.all());
        let asked = |word: &str| requests.iter().filter(|request| request.system().contains(word)).count();
        assert_eq!((asked("You repair"), asked("You review")), (2 + expected, 1), "{cap}: {}", said.all());
    }
}
