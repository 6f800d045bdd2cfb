//! One test per fault of the known implementations (SPEC §3, B1..B12 and B14): each would catch it here.

use std::path::PathBuf;

use serde_json::{Value, json};
use upshift::domain::chat::StopReason;

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{KEY, Program, Said};
use crate::world::project::Project;

struct Run {
    said: Said,
    log: Log,
    requests: Vec<Request>,
    /// Where the log lies.
    _folder: tempfile::TempDir,
}

/// Runs the program on a project against a script; panics on a protocol violation.
fn run(project: &Project, args: &[&str], script: impl FnMut(&Request) -> Scripted + Send + 'static) -> Run {
    let server = ModelServer::start(script);
    let program = Program::with_anthropic(&server.url());
    let folder = tempfile::tempdir().expect("a folder");
    let database: PathBuf = folder.path().join("audit.db");
    let path = database.to_str().expect("text").to_owned();
    let mut all = vec!["run", "--audit-db", &path, "--test-command", project.test_command];
    all.extend_from_slice(args);
    let said = program.run(project.path(), &all);
    let requests = server.requests();
    server.finish();
    Run { log: Log::open(&database), said, requests, _folder: folder }
}

fn done() -> Scripted {
    Say::call("final_report", json!({ "summary": "changed it", "status": "done" })).usage(1_000, 20).into()
}

/// Edits once, then reports.
fn edits(project: &Project, new: &str) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let arguments = json!({ "path": project.source, "old_text": project.wrong, "new_text": new });
    move |request| match request.turn() {
        0 => Say::call("edit_file", arguments.clone()).usage(1_000, 50).into(),
        _ => done(),
    }
}

#[test]
fn b1_every_flag_changes_the_effective_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("sub")).expect("a folder");
    std::fs::write(folder.path().join("other.yml"), "global:\n  maxTotalIterations: 7\n").expect("written");
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let plain = program.run(folder.path(), &["check"]);
    assert_eq!(plain.code, 0, "{}", plain.all());
    for (flag, value, shown) in [
        ("--config", "other.yml", "7"),
        ("--tiers", "claude-opus-4-6 x4", "claude-opus-4-6"),
        ("--model", "claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("--test-command", "make spec", "make spec"),
        ("--setup-command", "make deps", "make deps"),
        ("--working-directory", "sub", "sub"),
        ("--objective", "mend the parser", "mend the parser"),
        ("--max-cost-usd", "0.37", "0.37"),
        ("--max-duration-minutes", "9", "9"),
        ("--max-iterations", "13", "13"),
        ("--audit-db", "elsewhere/log.db", "elsewhere/log.db"),
        ("--record", "tape.json", "tape.json"),
        ("--push", "pr", "pr"),
        ("--format", "json", "json"),
        ("--pass-env", "DATABASE_URL", "DATABASE_URL"),
        ("--protected-paths", "vendor/**", "vendor/**"),
        ("--sandbox", "off", "off"),
        ("--network", "on", "on"),
    ] {
        let said = program.run(folder.path(), &["check", flag, value]);
        assert_eq!(said.code, 0, "{flag}: {}", said.all());
        assert_ne!(said.out, plain.out, "{flag} changes nothing");
        assert!(said.out.contains(shown), "{flag}: {}", said.out);
    }
    let off = program.run(folder.path(), &["check", "--no-audit"]);
    assert_ne!(off.out, plain.out);
    let push = program.run(folder.path(), &["run", "--push", "commit"]);
    assert_eq!(push.code, 2, "there is nowhere to push to: {}", push.all());
    assert!(push.err.contains("No LLM calls were made"), "{}", push.all());
}

#[test]
fn b2_a_full_tier_runs_three_roles() {
    let project = Project::python();
    let (wrong, right, source) = (project.wrong, project.right, project.source);
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1 full"], move |request| {
        let system = request.system();
        if system.contains("You brief") {
            return done();
        }
        if system.contains("You review") {
            return Say::call("final_report", json!({ "verdict": "approve", "summary": "ok" })).usage(10, 10).into();
        }
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
                .usage(10, 10)
                .into(),
            _ => done(),
        }
    });
    assert_eq!(ran.said.code, 0, "{}", ran.said.all());
    let roles = ran.log.rows("SELECT role FROM model_calls GROUP BY role ORDER BY MIN(rowid)");
    assert_eq!(roles, [["librarian"], ["artisan"], ["critic"]]);
}

#[test]
fn b3_rows_hold_real_costs_tests_messages_and_summaries() {
    let project = Project::python();
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1"], edits(&project, "    return sum(prices) + 9"));
    let row = &ran.log.rows("SELECT failed_tests, error_messages, code_change_summary, cost_usd FROM tier_attempts")[0];
    let failed: Value = serde_json::from_str(&row[0]).expect("JSON");
    assert!(failed[0].as_str().is_some_and(|name| name.contains("test_total")), "{row:?}");
    let errors: Value = serde_json::from_str(&row[1]).expect("JSON");
    assert!(errors.to_string().contains("15 != 6"), "{row:?}");
    assert_eq!(row[2], "changed it");
    assert!(row[3].parse::<f64>().expect("a number") > 0.0, "{row:?}");
}

#[test]
fn b4_each_row_costs_its_own_iteration_and_the_total_is_their_sum() {
    let project = Project::python();
    let mut edits_made = 0;
    let source = project.source;
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x3"], move |request| match request.turn() {
        0 => {
            edits_made += 1;
            let text = format!("def total(prices):\n    return {edits_made} * 100\n");
            Say::call("write_file", json!({ "path": source, "content": text })).usage(1_000, 100).into()
        }
        _ => done(),
    });
    let costs = ran.log.rows("SELECT CAST(ROUND(cost_usd * 1000000) AS INTEGER) FROM tier_attempts ORDER BY id");
    assert_eq!(costs.len(), 3, "{}", ran.said.all());
    assert!(costs.iter().all(|cost| cost == &costs[0]), "equal work costs equally, not more and more: {costs:?}");
    let total = ran.log.number("SELECT SUM(cost_micro_usd) FROM model_calls");
    assert_eq!(total, 3 * costs[0][0].parse::<i64>().expect("a number"));
}

#[test]
fn b5_the_next_tier_is_told_what_failed_and_why() {
    let project = Project::python();
    let script = edits(&project, "    return sum(prices) + 9");
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1"], script);
    let first = ran.requests.iter().find(|request| request.model.contains("sonnet")).expect("tier 2").all_text();
    assert!(first.contains("=== TIER 1 FAILURES: claude-haiku-4-5 (1 iteration) ==="), "{first}");
    assert!(first.contains("15 != 6") && first.contains("test_total"), "{first}");
}

#[test]
fn b6_the_artisan_of_a_simple_tier_has_the_failure_and_the_code() {
    let project = Project::python();
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1"], edits(&project, project.right));
    let first = ran.requests[0].all_text();
    for needed in ["test_total", "5 != 6", "def total(prices):", "make the failing tests pass"] {
        assert!(first.contains(needed), "{needed} in {first}");
    }
}

#[test]
fn b7_caps_of_the_tiers_file_hold() {
    let project = Project::python();
    let tiers = json!({
        "tiers": [{ "name": "one", "mode": "simple", "maxIterations": 9, "models": { "artisan": "claude-haiku-4" } }],
        "global": { "maxTotalCostUsd": 0.000_1 }
    });
    let ran = run(&project, &["--tiers", &tiers.to_string()], |_| panic!("no call is affordable"));
    assert_eq!(ran.said.code, 3, "{}", ran.said.all());
    assert_eq!(ran.log.number("SELECT COUNT(*) FROM model_calls"), 0);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_a_failed_call_that_may_have_been_billed_is_counted_and_local_models_are_free() {
    let project = Project::python();
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1"], {
        let mut first = true;
        let (wrong, right, source) = (project.wrong, project.right, project.source);
        move |request| {
            if std::mem::take(&mut first) {
                return Scripted::status(500, r#"{"type":"error","error":{"type":"api_error","message":"oops"}}"#);
            }
            match request.turn() {
                0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
                    .usage(10, 10)
                    .into(),
                _ => done(),
            }
        }
    });
    assert_eq!(ran.said.code, 0, "{}", ran.said.all());
    let failed = ran.log.rows(
        "SELECT status, cost_micro_usd, unknown_cost_micro_usd > 0 FROM model_calls \
                              ORDER BY rowid LIMIT 1",
    );
    assert_eq!(failed, [["model_error", "0", "1"]], "what is not known is no cost, but counts");

    let server = ModelServer::start(edits(&project, "    return sum(prices) + 1"));
    project.write(project.source, &format!("def total(prices):\n{}\n", project.wrong));
    let program = Program::new().with("OLLAMA_HOST", &server.url());
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("audit.db");
    let path = database.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--test-command", project.test_command, "--tiers", "ollama/qwen3-coder x1"];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(Log::open(&database).value("SELECT SUM(cost_usd) FROM tier_attempts"), "0");
    server.finish();
}

#[test]
fn b9_bare_names_go_to_their_vendor_and_overrides_stay_in_their_tier() {
    let project = Project::python();
    let tiers = json!({ "tiers": [
        { "name": "a", "mode": "full", "maxIterations": 1, "models": { "artisan": "claude-haiku-4", "critic": "claude-opus-4-6" } },
        { "name": "b", "mode": "full", "maxIterations": 1, "models": { "artisan": "claude-sonnet-4-5" } }
    ] });
    let (wrong, source) = (project.wrong, project.source);
    let ran = run(&project, &["--tiers", &tiers.to_string()], move |request| {
        let system = request.system();
        if system.contains("You review") {
            let review = json!({ "verdict": "reject", "summary": "no", "issues": ["wrong"] });
            return Say::call("final_report", review).usage(10, 10).into();
        }
        if system.contains("You brief") || request.turn() > 0 {
            return done();
        }
        Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": "    return 0" }))
            .usage(10, 10)
            .into()
    });
    let critics = ran.log.rows("SELECT model_critic FROM tier_attempts ORDER BY id");
    assert_eq!(critics, [["anthropic/claude-opus-4-6"], ["anthropic/claude-sonnet-4-5"]], "{}", ran.said.all());
}

#[test]
fn b10_a_garbled_reply_costs_a_row_and_the_tier_goes_on() {
    let project = Project::python();
    let (wrong, right, source) = (project.wrong, project.right, project.source);
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x2"], move |request| {
        // All three attempts of the first session.
        if request.number < 3 {
            return Say::text("").usage(10, 10).into();
        }
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
                .usage(10, 10)
                .into(),
            _ => done(),
        }
    });
    assert_eq!(ran.said.code, 0, "{}", ran.said.all());
    let rows = ran.log.rows("SELECT iteration, test_status FROM tier_attempts ORDER BY id");
    assert_eq!(rows, [["1", "error"], ["2", "passed"]]);
}

#[test]
fn b11_a_compile_error_has_its_text_and_exit_zero_without_tests_is_no_success() {
    let project = Project::rust();
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1"], edits(&project, "    a + nothing_of_that_name"));
    let errors = ran.log.value("SELECT error_messages FROM tier_attempts");
    assert!(errors.contains("nothing_of_that_name"), "{errors}\n{}", ran.said.all());

    for forged in [
        "    import os\n    os._exit(0)",
        "    import os\n    print('Ran 2 tests in 0.000s\\n\\nOK', flush=True)\n    os._exit(0)",
    ] {
        let mut project = Project::python();
        project.test_command = "python3 -m unittest";
        let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1"], edits(&project, forged));
        assert_eq!(ran.said.code, 1, "a forced exit is not green, whatever it prints: {}", ran.said.all());
    }
}

#[test]
fn b12_every_tiers_model_is_measured_by_its_own_window() {
    let project = Project::python();
    let config = "models:\n  anthropic/claude-haiku-4-5: { contextWindow: 20000, maxOutputTokens: 4000 }\n";
    project.write(".github/upshift.yml", config);
    let wrong = project.wrong;
    let source = project.source;
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x1 > claude-sonnet-4-5 x1"], move |request| {
        match request.turn() {
            0 => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": "    return 1" }))
                .usage(9_000, 50)
                .into(),
            _ => Say::call("final_report", json!({ "summary": "x", "status": "done" })).usage(9_100, 20).into(),
        }
    });
    let levels = ran.log.rows("SELECT json_extract(body, '$.level') FROM events WHERE kind = 'context_threshold'");
    assert_eq!(levels, [["warning"]], "9,000 of 20,000 is a warning, of 200,000 nothing: {}", ran.said.all());
}

#[test]
fn b14_a_test_run_that_hangs_is_ended_with_all_its_children() {
    let project = Project::python();
    project.write("slow.sh", "sleep 987654 &\nsleep 987654\n");
    project.write(".github/upshift.yml", "test:\n  command: sh slow.sh\n  timeoutSeconds: 1\n");
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let said = program.run(project.path(), &["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 7, "at the baseline a timeout is a broken command: {}", said.all());
    let left = std::process::Command::new("pgrep").args(["-f", "sleep 987654"]).output().expect("pgrep");
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}

#[test]
fn a_model_that_refuses_is_no_missing_model_and_is_not_asked_for_ever() {
    let project = Project::python();
    let refuses = |_: &Request| Say::text("I cannot help.").stop(StopReason::Refusal).usage(900, 9).into();
    let ran = run(&project, &["--tiers", "claude-haiku-4-5 x5"], refuses);
    assert_eq!(ran.said.code, 1, "{}", ran.said.all());
    let whole = "no usable reply: anthropic/claude-haiku-4-5: the model refused: I cannot help.";
    assert!(ran.said.out.contains(whole), "the report says why: {}", ran.said.all());
    let told = format!("artisan: unusable replies after 1 turn: {whole}");
    assert_eq!(ran.said.err.matches(&told).count(), 3, "whole in each iteration: {}", ran.said.all());
    assert_eq!(ran.requests.len(), 3, "the same refusal three times is a stall");
    assert_eq!(ran.log.value("SELECT group_concat(DISTINCT test_status) FROM tier_attempts"), "error");
}

#[test]
fn azures_address_key_and_version_come_from_its_customary_variables() {
    for (variable, version) in [
        ("AZURE_OPENAI_API_VERSION", "2025-01-01"),
        ("OPENAI_API_VERSION", "2025-02-02"),
        ("AZURE_API_VERSION", "2025-03-03"),
    ] {
        let project = Project::python();
        let server = ModelServer::start(|_| done());
        let program = Program::new()
            .with("AZURE_OPENAI_API_KEY", KEY)
            .with("AZURE_OPENAI_ENDPOINT", &server.url())
            .with(variable, version);
        let args = ["run", "--no-audit", "--test-command", project.test_command, "--tiers", "azure/gpt-4o x1"];
        let said = program.run(project.path(), &args);
        assert_eq!(said.code, 1, "{}", said.all());
        let path = format!("/openai/deployments/gpt-4o/chat/completions?api-version={version}");
        assert!(server.requests().iter().all(|request| request.path == path), "{:?}", server.requests()[0].path);
        server.finish();
    }
}
