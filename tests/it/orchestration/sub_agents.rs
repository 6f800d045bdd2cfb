//! Sub-agents: sessions of other models that a role calls as a tool, within its caps and without a say in the verdict.

use serde_json::{Value, json};

use crate::world::log::Log;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A run whose artisan may call sub-agents, and what became of it.
struct Run {
    said: Said,
    log: Log,
    requests: Vec<Request>,
    document: Value,
    trace: Value,
    markdown: String,
    project: Project,
}

/// `artisan` answers first, where it has something to say. Otherwise the line is mended and reported.
fn run(
    config: &str,
    sub_agent: impl Fn(&Request) -> Scripted + Send + 'static,
    artisan: impl Fn(&Request) -> Option<Scripted> + Send + 'static,
) -> Run {
    let project = Project::python();
    project.write(".github/upshift.yml", config);
    project.write("tools/server.py", include_str!("server.py"));
    project.commit();
    let (source, wrong, right) = (project.source, project.wrong, project.right);
    let server = ModelServer::start(move |request| {
        if is_sub_agent(request) {
            return sub_agent(request);
        }
        if let Some(answer) = artisan(request) {
            return answer;
        }
        let edited = request.tool_results().iter().any(|result| result.content.contains("edited"));
        if edited || request.all_text().contains("edit_file") && request.turn() > 2 {
            return report("mended", "done");
        }
        Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right })).usage(900, 40).into()
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let name = project.path().file_name().expect("a name").to_string_lossy().into_owned();
    let database = project.path().parent().expect("a parent").join(format!("{name}.called.db"));
    let path = database.to_str().expect("text");
    let ladder = "claude-haiku-4-5 x1";
    let args = ["run", "--tiers", ladder, "--test-command", project.test_command, "--audit-db", path];
    let said = program.run(project.path(), &args);
    let ask = |args: &[&str]| {
        let told = program.run(project.path(), &[args, &["--audit-db", path]].concat());
        assert_eq!(told.code, 0, "{}", told.all());
        told.out
    };
    let document = serde_json::from_str(&ask(&["report", "--format", "json"])).expect("JSON");
    let trace = serde_json::from_str(&ask(&["trace"])).expect("JSON");
    let markdown = ask(&["report", "--format", "md"]);
    let requests = server.requests();
    server.finish();
    Run { said, log: Log::open(&database), requests, document, trace, markdown, project }
}

fn is_sub_agent(request: &Request) -> bool {
    request.system().contains("You are called by an engineer")
}

fn report(summary: &str, status: &str) -> Scripted {
    let report = json!({ "summary": summary, "status": status, "reason": "the door is shut" });
    Say::call("final_report", report).usage(500, 20).into()
}

fn reads() -> Scripted {
    Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(400, 20).into()
}

fn call(name: &str) -> Scripted {
    Say::call(&format!("agent__{name}"), json!({ "task": "who calls total?" })).usage(500, 20).into()
}

/// The answer to the artisan's first call.
fn told(run: &Run) -> String {
    let mut artisan = run.requests.iter().filter(|request| !is_sub_agent(request));
    artisan.nth(1).expect("a second turn").tool_results()[0].content.clone()
}

/// What every run with sub-agents must hold: the fix stands, and its cost is the sum of the receipts.
fn assert_sound(run: &Run) {
    assert_eq!(run.said.code, 0, "{}", run.said.all());
    assert_eq!(run.document["outcome"], "fixed");
    let receipts = run.log.number("SELECT COALESCE(SUM(cost_micro_usd + unknown_cost_micro_usd), 0) FROM model_calls");
    let settled = run.log.number("SELECT SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'run:%'");
    assert_eq!(receipts, settled, "each receipt counts once");
    let rows =
        run.log.number("SELECT CAST(ROUND(SUM(cost_usd + unknown_cost_usd) * 1e6) AS INTEGER) FROM tier_attempts");
    assert_eq!(rows, receipts, "the iteration's row holds them all");
}

fn exits(run: &Run) -> Vec<Vec<String>> {
    run.log.rows(
        "SELECT json_extract(body, '$.name'), json_extract(body, '$.exit') FROM events
         WHERE kind = 'tool_finished' AND json_extract(body, '$.exit') IS NOT NULL ORDER BY seq",
    )
}

/// All operations of a kind below one.
fn below<'t>(tree: &'t Value, kind: &str) -> Vec<&'t Value> {
    let own = (tree["kind"] == kind).then_some(tree);
    let children = tree["operations"].as_array().into_iter().flatten();
    own.into_iter().chain(children.flat_map(|child| below(child, kind))).collect()
}

const CALLERS: &str = "agent:
  subAgents:
    callers:
      description: Finds callers.
      instructions: Name every caller.
      models: claude-sonnet-4-5
      maxTurns: 2
";

#[test]
fn an_artisan_is_told_what_its_sub_agent_found_and_each_call_names_its_path() {
    let run = run(
        CALLERS,
        |request| if request.turn() == 0 { reads() } else { report("shop/till.py <b>calls</b> it", "done") },
        |request| (request.turn() == 0).then(|| call("callers")),
    );
    assert_sound(&run);
    assert!(told(&run).contains("shop/till.py <b>calls</b> it"), "{}", told(&run));
    let sub: Vec<&Request> = run.requests.iter().filter(|request| is_sub_agent(request)).collect();
    assert_eq!(sub[0].tools(), ["list_files", "read_file", "search", "read_output", "final_report"], "it only reads");
    assert!(sub.iter().all(|request| request.model.contains("sonnet")));
    let text = sub[0].all_text();
    assert!(text.contains("Name every caller.") && text.contains("who calls total?"), "{text}");
    assert!(!text.contains("FAILING TESTS"), "it is told its task alone: {text}");
    let paths = run.log.rows(
        "SELECT DISTINCT json_extract(body, '$.scope.agent') FROM events
         WHERE kind = 'call_settled' AND json_extract(body, '$.scope.role') = 'advisor'",
    );
    assert_eq!(paths, [["artisan/agent/callers"]]);
    let orphans = run.log.number(
        "SELECT COUNT(*) FROM events c WHERE c.kind = 'call_settled' AND json_extract(c.body, '$.scope.role') = 'advisor'
         AND NOT EXISTS (SELECT 1 FROM events s WHERE s.kind = 'session_started'
           AND json_extract(s.body, '$.role') = 'artisan'
           AND json_extract(s.body, '$.session_id') = json_extract(c.body, '$.scope.parent_session_id'))",
    );
    assert_eq!(orphans, 0, "each call names the session that asked for it");
    let own =
        run.log.number("SELECT SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'agent:%:agent/callers'");
    let sum = run.log.number("SELECT SUM(cost_micro_usd) FROM model_calls WHERE role = 'advisor'");
    assert!(own > 0 && own == sum, "{own} of {sum}");
    let sessions = below(&run.trace["trace"], "session");
    let artisan = sessions.iter().find(|one| one["agent_path"] == "tier-1/iteration-1/artisan").expect("an artisan");
    let inside = below(artisan, "session");
    assert_eq!(inside[1]["agent_path"], "tier-1/iteration-1/artisan/agent/callers", "it hangs below who called it");
    let tools: Vec<_> = artisan["operations"].as_array().unwrap().iter().flat_map(|turn| below(turn, "tool")).collect();
    assert!(tools.iter().any(|tool| tool["name"] == "execute_tool agent__callers"), "{tools:?}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_failing_sub_agent_is_a_failed_tool_and_changes_no_verdict() {
    type Answer = fn() -> Scripted;
    let failure = "EXIT-TOOL-FAILURE";
    let cases: [(&str, &str, Answer, &str, &str); 6] = [
        ("status", "", || Scripted::status(400, "{}"), "no model could be used", failure),
        ("key", "", || Scripted::status(401, "{}"), "no model could be used", failure),
        ("blocked", "", || report("no", "blocked"), "is blocked: the door is shut", failure),
        ("turns", "", reads, "gave no answer", failure),
        (
            "cap",
            "      maxCostUsd: 0.000001\n",
            || panic!("it cannot be asked"),
            "does not allow another call",
            failure,
        ),
        ("time", "      timeoutSeconds: 1\n", || Scripted::Hang, "no answer within 1 s", "EXIT-TOOL-TIMEOUT"),
    ];
    for (name, settings, answer, reason, exit) in cases {
        let run = run(
            &format!("{CALLERS}{settings}"),
            move |_| answer(),
            |request| (request.turn() == 0).then(|| call("callers")),
        );
        assert_sound(&run);
        assert!(told(&run).contains(reason), "{name}: {}", told(&run));
        assert_eq!(exits(&run), [["agent__callers", exit]], "{name}");
        assert!(run.document["tool_failures"].is_null(), "{name}: nothing was told in its place");
        let ended = run.log.rows(
            "SELECT json_extract(body, '$.summary'), json_extract(body, '$.exit') FROM events
             WHERE kind = 'session_finished' AND json_extract(body, '$.role') = 'advisor'",
        );
        if name == "time" {
            let own = "sub-agent callers: its 1 s are over";
            assert_eq!(ended, [[own, "EXIT-TOOL-TIMEOUT"]], "the run's time is not up");
            assert!(run.said.all().contains(own), "{}", run.said.all());
        }
    }
}

#[test]
fn the_words_of_the_configuration_are_told_in_the_place_of_a_failure_and_reviewers_read_both() {
    let config =
        format!("{CALLERS}  toolFailures: {{agent__callers: 'Nobody knows: search for `total(` yourself.'}}\n");
    let run = run(&config, |_| report("no", "blocked"), |request| (request.turn() < 2).then(|| call("callers")));
    assert_sound(&run);
    assert_eq!(told(&run), "Nobody knows: search for `total(` yourself.", "nothing of the failure, and no fence");
    let failures = &run.document["tool_failures"];
    assert_eq!((failures[0]["name"].as_str(), failures[0]["times"].as_u64()), (Some("agent__callers"), Some(2)));
    assert!(failures[0]["said"].as_str().is_some_and(|said| said.contains("the door is shut")), "{failures}");
    assert_eq!(failures[0]["told"], "Nobody knows: search for `total(` yourself.");
    for (surface, text) in [("text", &run.said.out), ("Markdown", &run.markdown)] {
        assert!(text.contains("agent__callers") && text.contains("failed 2 times"), "{surface}: {text}");
        assert!(text.contains("the door is shut"), "{surface}: {text}");
        assert!(text.contains("search for"), "{surface}: {text}");
    }
    assert_eq!(run.log.number("SELECT COUNT(*) FROM events WHERE kind = 'tool_failure_replaced'"), 2);
}

/// The end of the first's time ends the second's call, too: it is settled, and its end is told.
#[test]
fn a_sub_agent_two_deep_ends_with_its_caller_and_its_call_is_settled() {
    let config = "agent:
  subAgents:
    first: {description: x, instructions: I am first., tools: [agent__second], timeoutSeconds: 2}
    second: {description: x, instructions: I am second., roles: [critic]}
";
    let run = run(
        config,
        |request| if request.all_text().contains("I am first.") { call("second") } else { Scripted::Hang },
        |request| (request.turn() == 0).then(|| call("first")),
    );
    assert_sound(&run);
    assert!(told(&run).contains("no answer within 2 s"), "{}", told(&run));
    let open = "SELECT COUNT(*) FROM events AS one WHERE kind = 'call_reserved' AND NOT EXISTS (
        SELECT 1 FROM events AS two WHERE two.kind = 'call_settled'
        AND json_extract(two.body, '$.call_id') = json_extract(one.body, '$.call_id'))";
    assert_eq!(run.log.number(open), 0, "every call that was reserved is settled");
    let count = |kind: &str| run.log.number(&format!("SELECT COUNT(*) FROM events WHERE kind = '{kind}'"));
    assert_eq!(count("session_started"), count("session_finished"));
}

#[test]
fn sub_agents_call_sub_agents_two_deep_within_all_their_caps() {
    let config = "agent:
  subAgents:
    first: {description: x, instructions: I am first., tools: [agent__second]}
    second: {description: x, instructions: I am second., tools: [agent__first, mcp__own], roles: [critic]}
  mcp:
    own: {command: [python3, tools/server.py, sleep-two-deep], roles: [critic]}
";
    let run = run(
        config,
        |request| {
            let first = request.all_text().contains("I am first.");
            match (request.turn(), first) {
                (0, true) => call("second"),
                (0, false) => Say::call("mcp__own__look", json!({ "path": "shop/cart.py" })).usage(400, 20).into(),
                (_, true) => report("the second says so", "done"),
                (_, false) => report("the line is wrong", "done"),
            }
        },
        |request| (request.turn() == 0).then(|| call("first")),
    );
    assert_sound(&run);
    assert!(told(&run).contains("the second says so"), "{}", told(&run));
    let offered = |text: &str| {
        let request = run.requests.iter().find(|request| request.all_text().contains(text)).expect("a request");
        request.tools().into_iter().filter(|name| name.contains("__")).collect::<Vec<_>>()
    };
    assert_eq!(offered("OBJECTIVE"), ["agent__first"], "the artisan has neither the second nor its server");
    assert_eq!(offered("I am first."), ["agent__second"]);
    let second = offered("I am second.");
    assert!(second.contains(&"mcp__own__look".to_owned()), "{second:?}");
    assert!(!second.iter().any(|name| name.starts_with("agent__")), "no third level: {second:?}");
    let paths = run.log.rows(
        "SELECT DISTINCT json_extract(body, '$.scope.agent') FROM events
         WHERE kind = 'call_settled' AND json_extract(body, '$.scope.agent') IS NOT NULL ORDER BY 1",
    );
    assert_eq!(paths, [["artisan/agent/first"], ["artisan/agent/first/agent/second"]]);
    let of = |name: &str| {
        run.log
            .number(&format!("SELECT SUM(settled_micro_usd) FROM reservations WHERE scope LIKE 'agent:%:agent/{name}'"))
    };
    let both = run.log.number("SELECT SUM(cost_micro_usd) FROM model_calls WHERE role = 'advisor'");
    assert_eq!(of("first"), both, "the first pays for the second");
    assert!(of("second") > 0 && of("second") < both);
    let roots = run.log.number(
        "SELECT COUNT(DISTINCT json_extract(body, '$.scope.root_session_id')) FROM events WHERE kind = 'call_settled'",
    );
    assert_eq!(roots, 1, "one tree of sessions");
}

#[test]
fn only_a_sub_agent_that_is_allowed_to_changes_files() {
    let config = "agent:
  subAgents:
    hand: {description: x, instructions: Mend it., allowWrite: true}
    eye: {description: x, instructions: Look at it., tools: [agent__hand]}
";
    let run = run(
        config,
        |request| match (request.turn(), request.all_text().contains("Mend it.")) {
            (0, true) => {
                let content = "def total(prices):\n    return sum(prices)\n";
                Say::call("write_file", json!({ "path": "shop/cart.py", "content": content })).usage(400, 20).into()
            }
            (0, false) => {
                Say::call("write_file", json!({ "path": "shop/evil.py", "content": "x = 1\n" })).usage(400, 20).into()
            }
            _ => report("as asked", "done"),
        },
        |request| match request.turn() {
            0 => Some(call("eye")),
            1 => Some(call("hand")),
            _ => Some(report("the hand mended it", "done")),
        },
    );
    assert_sound(&run);
    assert!(!run.project.path().join("shop/evil.py").exists());
    assert!(run.project.read("shop/cart.py").contains("return sum(prices)\n"));
    let eye = run.requests.iter().find(|request| request.all_text().contains("Look at it.")).expect("the eye");
    assert!(!eye.tools().iter().any(|name| name.contains("write") || name.starts_with("agent__")), "{:?}", eye.tools());
    let hand = run.requests.iter().find(|request| request.all_text().contains("Mend it.")).expect("the hand");
    assert!(hand.tools().contains(&"write_file".to_owned()) && !hand.tools().contains(&"run_tests".to_owned()));
}
