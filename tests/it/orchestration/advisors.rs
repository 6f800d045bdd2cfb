//! Advisors (S1-18): side by side before the artisan, each with a cap of its own, and of no weight in the verdict.

use serde_json::{Value, json};

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

const CONFIG: &str = "agent:
  advisors:
    callers: {instructions: Which callers break?, maxTurns: 3}
    security: {instructions: Is any input unchecked?, models: claude-sonnet-4-5, maxTurns: 2@CAP@}
";

/// A run with two advisors, and what became of it.
struct Run {
    said: Said,
    log: Log,
    requests: Vec<Request>,
    document: Value,
    /// The folder of the log.
    _project: Project,
}

fn run(cap: &str, advisor: impl Fn(&Request, bool) -> Scripted + Send + 'static) -> Run {
    run_with(cap, "text", advisor)
}

fn run_with(cap: &str, format: &str, advisor: impl Fn(&Request, bool) -> Scripted + Send + 'static) -> Run {
    let project = Project::python();
    project.write(".github/upshift.yml", &CONFIG.replace("@CAP@", cap));
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    let server = ModelServer::start(move |request| {
        if request.system().contains("You advise") {
            return advisor(request, request.all_text().contains("Is any input unchecked?"));
        }
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right })).usage(900, 40),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20),
        }
        .into()
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let database = project
        .path()
        .parent()
        .expect("a parent")
        .join(format!("{}.advised.db", project.path().file_name().expect("a name").to_string_lossy()));
    let path = database.to_str().expect("text");
    let ladder = "claude-haiku-4-5 x1";
    let args =
        ["run", "--tiers", ladder, "--test-command", project.test_command, "--audit-db", path, "--format", format];
    let said = program.run(project.path(), &args);
    let told = program.run(project.path(), &["report", "--audit-db", path, "--format", "json"]);
    let document = serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {}", told.all()));
    let requests = server.requests();
    server.finish();
    Run { said, log: Log::open(&database), requests, document, _project: project }
}

fn advice(words: &str) -> Scripted {
    Say::call("final_report", json!({ "summary": words, "status": "done" })).usage(500, 20).into()
}

/// What every run with advisors must hold: the fix stands, and its cost is the sum of the receipts.
fn assert_sound(run: &Run) {
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert_eq!(run.document["outcome"], "fixed");
    let receipts = run.log.number("SELECT COALESCE(SUM(cost_micro_usd + unknown_cost_micro_usd), 0) FROM model_calls");
    let settled = run.log.number("SELECT SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'run:%'");
    assert_eq!(receipts, settled, "each receipt counts once");
    let rows =
        run.log.number("SELECT CAST(ROUND(SUM(cost_usd + unknown_cost_usd) * 1e6) AS INTEGER) FROM tier_attempts");
    assert_eq!(rows, receipts, "the iteration's row holds them all");
    let open = run.log.number("SELECT COUNT(*) FROM reservations WHERE settled_micro_usd IS NULL");
    assert_eq!(open, 0);
}

/// The artisan's first message.
fn told(run: &Run) -> String {
    let artisan = run.requests.iter().find(|request| !request.system().contains("You advise"));
    artisan.expect("an artisan").all_text()
}

#[test]
fn each_advisor_is_heard_where_one_alone_could_reserve_all_the_money() {
    let run = run(
        ", maxCostUsd: 0.06}
    style: {instructions: Is it written as the rest is?, maxCostUsd: 0.06}
global: {maxTotalCostUsd: 0.06}
#",
        |_, _| advice("it is the sum"),
    );
    assert_sound(&run);
    let blocks = run.document["advice"].as_array().expect("advice");
    let given: Vec<_> = blocks.iter().filter(|block| block["said"] == "it is the sum").map(|b| &b["name"]).collect();
    assert_eq!(given, [&json!("security"), &json!("style")], "{blocks:?}");
    let reserved = run.log.number(
        "SELECT SUM(reserved_micro_usd) FROM model_calls WHERE agent_path LIKE '%/security' OR agent_path LIKE '%/style'",
    );
    assert!(reserved > 60_000, "both at once would not have had it: {reserved}");
}

#[test]
fn the_artisan_reads_what_advisors_found_and_each_call_names_its_advisor() {
    let run = run("", |request, is_security| match (request.turn(), is_security) {
        (0, _) => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(400, 20).into(),
        (_, true) => advice("nothing is <b>unchecked</b>"),
        (_, false) => advice("shop/till.py calls it"),
    });
    assert_sound(&run);
    let told = told(&run);
    assert!(told.contains("ADVISORY callers") && told.contains("shop/till.py calls it"), "{told}");
    assert!(told.contains("ADVISORY security") && told.contains("nothing is <b>unchecked</b>"), "{told}");
    let advisors: Vec<&Request> = run.requests.iter().filter(|r| r.system().contains("You advise")).collect();
    assert!(advisors.iter().all(|request| !request.tools().iter().any(|tool| tool.contains("edit"))));
    let models: Vec<&str> = advisors.iter().map(|request| request.model.as_str()).collect();
    assert_eq!(models.iter().filter(|model| model.contains("sonnet")).count(), 2, "{models:?}");
    let paths = run.log.rows("SELECT DISTINCT agent_path FROM model_calls ORDER BY 1");
    let below = ["advisor/callers", "advisor/security", "artisan"];
    assert_eq!(paths, below.map(|agent| [format!("tier-1/iteration-1/{agent}")]));
    // Each tool is told with the session that called it, though two are under way.
    let astray = run.log.number(
        "SELECT COUNT(*) FROM events t WHERE t.kind = 'tool_finished' AND json_extract(t.body, '$.role') = 'advisor'
         AND NOT EXISTS (SELECT 1 FROM events s WHERE s.kind = 'session_started'
           AND json_extract(s.body, '$.session_id') = json_extract(t.body, '$.session_id'))",
    );
    assert_eq!(astray, 0);
    for line in ["    advisor/callers: read_file shop/cart.py", "    advisor/security: done after 2 turns"] {
        assert!(run.said.err.contains(line), "{line}: {}", run.said.err);
    }
    assert_eq!(run.document["advice"][0]["name"], "callers");
    assert_eq!(run.document["advice"][1]["said"], "nothing is <b>unchecked</b>");
}

#[test]
fn json_lines_name_each_advisor_by_its_path() {
    let run = run_with("", "jsonl", |_, is_security| advice(if is_security { "it is checked" } else { "none breaks" }));
    assert_sound(&run);
    let lines: Vec<Value> = run.said.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let paths = |kind: &str| -> std::collections::BTreeSet<&str> {
        lines.iter().filter(|line| line["type"] == kind).filter_map(|line| line["agentPath"].as_str()).collect()
    };
    let all = ["advisor/callers", "advisor/security", "artisan"].map(|agent| format!("tier-1/iteration-1/{agent}"));
    for kind in ["llm_call", "agent_started", "agent_finished"] {
        assert!(paths(kind).into_iter().eq(all.iter().map(String::as_str)), "{kind}: {:?}", paths(kind));
    }
    for said in ["it is checked", "none breaks"] {
        let ended = lines.iter().find(|line| line["type"] == "agent_finished" && line["summary"] == said);
        let path = ended.and_then(|line| line["agentPath"].as_str()).expect("an end");
        assert_eq!(path.ends_with("security"), said == "it is checked", "{path} said {said}");
    }
}

#[test]
fn advisors_are_asked_side_by_side() {
    let run = run("", |request, _| match request.turn() {
        0 => Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(400, 20).into(),
        _ => advice("so"),
    });
    assert_sound(&run);
    let order = run.log.rows("SELECT kind FROM events WHERE kind LIKE 'session_%' ORDER BY seq LIMIT 3");
    assert_eq!(order[..2], [["session_started"], ["session_started"]], "both begin before one ends");
}

/// Whatever becomes of an advisor: the verdict is the one without it.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_failing_advisor_is_a_block_with_its_reason_and_changes_no_verdict() {
    type Answer = fn() -> Scripted;
    let cases: [(&str, &str, Answer, &str); 6] = [
        ("status", "", || Scripted::status(400, "{}"), "no model could be used"),
        ("key", "", || Scripted::status(401, "{}"), "no model could be used"),
        (
            "blocked",
            "",
            || {
                Say::call("final_report", json!({ "summary": "no", "status": "blocked", "reason": "no input" }))
                    .usage(300, 20)
                    .into()
            },
            "it is blocked: no input",
        ),
        ("turns", "", || Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(300, 20).into(), ""),
        ("time", ", timeoutSeconds: 1", || Scripted::Hang, "its 1 s are over"),
        ("cap", ", maxCostUsd: 0.000001", || panic!("it cannot be asked"), "the budget does not allow another call"),
    ];
    for (name, cap, answer, reason) in cases {
        let run = run(cap, move |_, is_security| if is_security { answer() } else { advice("it is the sum") });
        assert_sound(&run);
        let told = told(&run);
        assert!(told.contains("ADVISORY security (it gave no advice, because of this)"), "{name}: {told}");
        assert!(told.contains("it is the sum"), "{name}: {told}");
        let block = &run.document["advice"][1];
        assert_eq!(block["given"], false, "{name}");
        assert!(block["said"].as_str().is_some_and(|said| said.contains(reason)), "{name}: {block}");
        assert!(run.said.all().contains("advisor security gave no advice"), "{name}: {}", run.said.all());
    }
}
