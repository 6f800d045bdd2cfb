//! One agent, several, and models of ours beside them.

use serde_json::json;

use super::{CLAUDE, SONNET, Site, done, mend, steps};
use crate::world::model_server::{Say, Scripted};
use crate::world::program::KEY;
use crate::world::project::Project;

#[test]
fn an_agent_in_one_tier_mends_and_its_bill_is_ours() {
    let project = Project::python();
    let edit = mend(&project);
    let site =
        Site::new(
            project,
            move |request| if request.turn() == 0 { steps(&edit) } else { done("DONE\nThe sum was one short.") },
        );
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x2"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(site.project.read(site.project.source).contains(site.project.right));
    let requests = site.server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.model == CLAUDE && request.header("x-api-key") == Some(KEY)));
    let told = requests[0].all_text();
    assert!(told.contains("OBJECTIVE: ") && told.contains("test_total") && told.contains("sum(prices) - 1"), "{told}");
    let (receipts, rows) = (site.spent(), site.spent_by_rows());
    let log = site.log();
    assert_eq!(
        log.rows("SELECT model_artisan, test_status FROM tier_attempts"),
        [["cli/claude:claude-haiku-4-5", "passed"]]
    );
    let tools = log.value("SELECT group_concat(body) FROM events WHERE kind = 'tool_finished'");
    assert!(tools.contains("shop/cart.py"), "{tools}");
    let conversation = log.value("SELECT body FROM snapshots WHERE kind = 'conversation'");
    assert!(
        conversation.contains("The sum was one short.") && conversation.contains("something.new"),
        "{conversation}"
    );
    let database = site.database.to_str().unwrap();
    let shown = site.program.run(site.project.path(), &["show", "--audit-db", database, "--conversation"]).out;
    // Its own count, which no bill is made of.
    assert!(shown.contains("its session s ended well and used 999999 prompt and 9 reply tokens"), "{shown}");
    let billed = site.server.finish();
    assert_eq!((receipts, rows), (billed.0, billed.0));
    let report =
        site.program.run(site.project.path(), &["report", "--verify", "--audit-db", site.database.to_str().unwrap()]);
    assert_eq!(report.code, 0, "{}", report.all());
}

#[test]
fn a_mixed_ladder_hands_over_from_models_to_codex_to_claude() {
    let project = Project::python();
    let (right, source) = (mend(&project), project.source);
    let wrong = json!([{"do": "replace", "path": source, "old": "- 1", "new": "+ 7"}]);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        ("qwen3-coder", _) => {
            Say::call("final_report", json!({"summary": "LOCAL-HINT nothing is wrong", "status": "done"}))
                .usage(400, 20)
                .into()
        }
        ("gpt-4.1", 0) => steps(&wrong),
        ("gpt-4.1", _) => done("DONE\nCODEX-HINT the sum is seven more now"),
        (_, 0) => steps(&right),
        (_, _) => done("DONE\nThe sum was one short."),
    });
    let said = site.run(&["--tiers", "ollama/qwen3-coder x1 > cli/codex:gpt-4.1 x1 > cli/claude:claude-haiku-4-5 x2"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let first = |model: &str| {
        let requests = site.server.requests();
        requests
            .into_iter()
            .find(|request| request.model == model)
            .map(|request| request.all_text())
            .expect("a request")
    };
    let (codex, claude) = (first("gpt-4.1"), first(CLAUDE));
    assert!(codex.contains("PRIOR ATTEMPTS") && codex.contains("LOCAL-HINT"), "{codex}");
    assert!(claude.contains("CODEX-HINT") && claude.contains("LOCAL-HINT"), "{claude}");
    let rows = site.log().rows("SELECT tier_name, test_status FROM tier_attempts ORDER BY id");
    let expected =
        [["ollama/qwen3-coder", "error"], ["cli/codex:gpt-4.1", "failed"], ["cli/claude:claude-haiku-4-5", "passed"]];
    assert_eq!(rows, expected);
    let (receipts, rows) = (site.spent(), site.spent_by_rows());
    let billed = site.server.finish();
    assert_eq!((receipts, rows), (billed.0, billed.0));
}

#[test]
fn roles_that_read_are_held_by_agents_too_and_change_nothing() {
    let project = Project::python();
    let (edit, source) = (mend(&project), project.source);
    let site = Site::new(project, move |request| {
        let told = request.all_text();
        let spoils = json!([{"do": "write", "path": source, "text": "spoilt"}]);
        match request.turn() {
            0 if told.contains("You repair") => steps(&edit),
            0 => steps(&spoils),
            _ if told.contains("You repair") => done("DONE\nmended"),
            _ if told.contains("You brief") => done("DONE\nBRIEF-HINT look at the sum\nFILES shop/cart.py"),
            _ => done("APPROVE\nThe sum is right."),
        }
    });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1 full"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let asked = site.server.requests();
    let failed = asked.iter().filter(|request| request.last_user_text().contains("failed write")).count();
    assert_eq!(failed, 2, "the tree is not to be written by librarian and critic");
    assert!(
        asked
            .iter()
            .any(|request| request.all_text().contains("You repair") && request.all_text().contains("BRIEF-HINT"))
    );
    site.server.finish();
}

#[test]
fn a_critic_that_is_an_agent_leaves_the_artisans_change_where_it_is() {
    let project = Project::python();
    let (before, after, source) = (project.wrong, project.right, project.source);
    let site = Site::new(project, move |request| {
        let critic = request.model == CLAUDE;
        match request.turn() {
            0 if !critic => {
                let edit = json!({"path": source, "old_text": before, "new_text": after});
                Say::call("edit_file", edit).usage(700, 40).into()
            }
            _ if !critic => {
                Say::call("final_report", json!({"summary": "mended", "status": "done"})).usage(700, 40).into()
            }
            _ => done("APPROVE\nThe sum is right."),
        }
    });
    let ladder = json!({"tiers": [{"name": "one", "mode": "full", "maxIterations": 1, "models": {
        "librarian": "ollama/qwen3-coder", "artisan": "ollama/qwen3-coder", "critic": "cli/claude:claude-haiku-4-5"}}]});
    let said = site.run(&["--tiers", &ladder.to_string()]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(!said.all().contains("put back after"), "{}", said.all());
    site.server.finish();
}

#[test]
fn where_an_agent_cannot_be_asked_the_next_target_of_the_tier_is() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        ("gpt-4.1", _) => {
            Scripted::error(crate::world::model_server::Vendor::OpenAi, 401, "invalid_request_error", "no such key")
        }
        (_, 0) => steps(&edit),
        (_, _) => done("DONE\nmended"),
    });
    let tiers = json!({"tiers": [{"name": "both", "mode": "simple", "maxIterations": 1,
        "models": {"artisan": ["cli/codex:gpt-4.1", "cli/claude:claude-haiku-4-5"]}}]});
    let said = site.run(&["--tiers", &tiers.to_string()]);
    assert_eq!(said.code, 0, "{}", said.all());
    let switched = site.log().value("SELECT body FROM events WHERE kind = 'agent_switched'");
    assert!(
        switched.contains(r#""to":"cli/claude:claude-haiku-4-5""#) && switched.contains("no such key"),
        "{switched}"
    );
    site.server.finish();
}

#[test]
fn an_agent_that_is_not_installed_ends_the_run_before_any_call() {
    let site = Site::new(Project::python(), |_| Scripted::Unexpected);
    let said = site.run(&["--tiers", "cli/gemini:gpt-4.1"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("gemini does not speak the API of provider `openai`"), "{}", said.all());
    let said = site.run(&["--tiers", "cli/opencode:gpt-4.1"]);
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(said.err.contains("npm install -g opencode-ai"), "{}", said.all());
    let said = site.run(&["--tiers", "cli/clade x1"]);
    assert!(said.code == 2 && said.err.contains("Did you mean `cli/claude`?"), "{}", said.all());
    site.server.finish();
}

#[test]
fn helpers_of_an_agent_are_told_as_a_tree_with_what_they_cost() {
    let project = Project::python();
    let mended = json!([{"do": "helpers"}, mend(&project)[0]]);
    let site =
        Site::new(project, move |request| if request.turn() == 0 { steps(&mended) } else { done("DONE\nmended") });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let rows = site.log().rows(
        "SELECT json_extract(body, '$.id'), json_extract(body, '$.parent'), json_extract(body, '$.depth'),
         json_extract(body, '$.state'), json_extract(body, '$.tokens'), json_extract(body, '$.cost') > 0
         FROM events WHERE kind = 'sub_agent_changed' ORDER BY seq",
    );
    let told: Vec<String> = rows.iter().map(|row| row.join(" ")).collect();
    let bare = |line: &str| line.replace("NULL", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let told: Vec<String> = told.iter().map(|line| bare(line)).collect();
    assert_eq!(told, ["h1 1 running 0", "h2 h1 2 running 0", "h2 h1 2 failed 100 1", "h1 1 completed 430 1"]);
    assert!(said.err.contains("sub-agent helper h2: failed, about $0.000"), "{}", said.err);
    // Half of the tokens that the vendor counted so far, half of its bill so far.
    let cost = site.log().number(
        "SELECT json_extract(body, '$.cost') FROM events WHERE kind = 'sub_agent_changed' AND body LIKE '%430%'",
    );
    let first = site
        .log()
        .number("SELECT json_extract(body, '$.cost') FROM events WHERE kind = 'call_settled' ORDER BY seq LIMIT 1");
    assert_eq!(cost, first / 2);
    site.server.finish();
}

#[test]
fn side_calls_are_made_with_the_side_model_and_told_apart() {
    let project = Project::python();
    project.write(".github/upshift.yml", "agent:\n  sideModel: claude-haiku-4-5\n");
    let work = json!([{"do": "side"}, mend(&project)[0]]);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        (CLAUDE, _) => done("A title"),
        (_, 0) => steps(&work),
        (_, _) => done("DONE\nmended"),
    });
    let said = site.run(&["--tiers", "cli/claude:claude-sonnet-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let asked: Vec<String> = site.server.requests().iter().map(|request| request.model.clone()).collect();
    assert_eq!(asked, [SONNET, CLAUDE, SONNET]);
    let side = site.log().rows(
        "SELECT json_extract(body, '$.target') FROM events WHERE kind = 'call_settled'
         AND json_extract(body, '$.scope.session_id') LIKE '%-side'",
    );
    assert_eq!(side, [["anthropic/claude-haiku-4-5"]]);
    let (receipts, rows) = (site.spent(), site.spent_by_rows());
    let billed = site.server.finish();
    assert_eq!((receipts, rows), (billed.0, billed.0));
}

#[test]
fn a_side_model_that_no_agent_could_ask_is_told_of_and_the_tiers_is_asked() {
    let project = Project::python();
    project.write(".github/upshift.yml", "agent:\n  sideModel: gpt-4.1\n");
    let site = Site::new(project, |_| Scripted::Unexpected);
    let args = ["check", "--test-command", "true", "--tiers", "cli/claude:claude-sonnet-4-5 x1"];
    let said = site.program.run(site.project.path(), &args);
    assert!(said.code == 0 && said.out.contains("`openai/gpt-4.1` is not used"), "{}", said.all());
    site.project.write(".github/upshift.yml", "agent:\n  sideModel: cli/claude\n");
    let said = site.program.run(site.project.path(), &args);
    assert!(said.code == 2 && said.all().contains("agent.sideModel"), "{}", said.all());
    site.server.finish();
}

#[test]
fn side_calls_that_the_tiers_own_model_answers_are_told_apart_too() {
    let project = Project::python();
    let work = json!([{"do": "side"}, mend(&project)[0]]);
    let site = Site::new(project, move |request| match (request.all_text().as_str(), request.turn()) {
        (told, _) if told.contains("Title this.") && !told.contains("OBJECTIVE") => done("A title"),
        (_, 0) => steps(&work),
        (_, _) => done("DONE\nmended"),
    });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let asked: Vec<String> = site.server.requests().iter().map(|request| request.model.clone()).collect();
    assert_eq!(asked, [CLAUDE, CLAUDE, CLAUDE], "the tier's model answers all");
    let told = site.log().rows(
        "SELECT json_extract(body, '$.scope.session_id') LIKE '%-side' FROM events WHERE kind = 'call_settled' ORDER BY seq",
    );
    assert_eq!(told, [["0"], ["1"], ["0"]]);
    let database = site.database.to_str().expect("text");
    let report = site.program.run(site.project.path(), &["report", "--format", "json", "--audit-db", database]);
    let report: serde_json::Value = serde_json::from_str(&report.out).expect("a report");
    let text = site.program.run(site.project.path(), &["report", "--audit-db", database]).all();
    let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("1 of 3 model calls was a side call of an agent (titles, summaries): $0.00"), "{text}");
    let cost = site
        .log()
        .number("SELECT json_extract(body, '$.cost') FROM events WHERE kind = 'call_settled' AND body LIKE '%-side%'");
    assert_eq!((&report["side_calls"]["calls"], &report["side_calls"]["cost"]["micro_usd"]), (&json!(1), &json!(cost)));
    let receipts = site.spent();
    assert_eq!(receipts, site.server.finish().0);
}
