//! What programs read: `--format jsonl` while a run is under way and after it, `--format json` of each command, and the log.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::model_server::{ModelServer, Request, Say, Scripted, Vendor};
use crate::world::program::{KEY, Program, Said};
use crate::world::project::Project;

/// No test waits longer for another process.
const PATIENCE: Duration = Duration::from_secs(60);
const TIERS: [&str; 2] = ["--tiers", "claude-haiku-4-5 x1"];

fn mend(project: &Project) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
    move |request| match request.turn() {
        0 => Say::call("edit_file", edit.clone()).usage(1_000, 50).into(),
        _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(1_000, 20).into(),
    }
}

fn run_args<'a>(project: &Project, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--test-command", project.test_command][..], &TIERS, more].concat()
}

fn read(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn types(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["type"].as_str().expect("a type")).collect()
}

#[test]
fn events_are_streamed_while_the_run_is_under_way() {
    let project = Project::python();
    let (told, hears) = mpsc::channel::<String>();
    let mut answer = mend(&project);
    let mut seen = Vec::new();
    let server = ModelServer::start(move |request| {
        // The run waits for this answer, so that what arrives here was not kept back.
        while request.turn() == 0 && !seen.iter().any(|line: &String| line.contains("\"call_reserved\"")) {
            seen.push(hears.recv_timeout(PATIENCE).expect("a line before the model's answer"));
        }
        answer(request)
    });
    let program = Program::with_anthropic(&server.url());
    let mut command = program.command(project.path(), &run_args(&project, &["-q", "--format", "jsonl"]));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let line = line.expect("text");
        lines.push(read(&line));
        // The model is not asked any more when the last lines come.
        let _unheard = told.send(line);
    }
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let types = types(&lines);
    assert_eq!(types.last(), Some(&"report"));
    assert_eq!(lines.last().expect("a report")["outcome"], "fixed");
    for (kind, count) in [("llm_call", 2), ("tool_call", 1), ("agent_started", 1), ("agent_finished", 1)] {
        assert_eq!(types.iter().filter(|one| **one == kind).count(), count, "{kind}: {types:?}");
    }
    let receipt = lines.iter().find(|line| line["type"] == "llm_call").expect("a call");
    let known = json!({
        "type": "llm_call", "status": "ok", "provider": "anthropic", "model": "claude-haiku-4-5", "inputTokens": 1000,
        "outputTokens": 50, "cacheReadTokens": 0, "cacheWriteTokens": 0, "cost": 0.00125, "unknownCost": 0.0,
        "agentPath": "tier-1/iteration-1/artisan",
    });
    for (key, value) in known.as_object().expect("an object") {
        assert_eq!(receipt[key], *value, "{key}");
    }
    server.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_past_run_is_told_in_the_very_lines_that_it_was_told_in() {
    let project = Project::python();
    let server = ModelServer::start(mend(&project));
    let program = Program::with_anthropic(&server.url());
    let live = program.run(project.path(), &run_args(&project, &["--format", "jsonl"]));
    assert_eq!(live.code, 0, "{}", live.all());
    let past = program.run(project.path(), &["report", "--format", "jsonl"]);
    let pairs = live.out.lines().zip(past.out.lines());
    pairs.for_each(|(live, past)| assert_eq!(live, past));
    assert_eq!(live.out.lines().count(), past.out.lines().count());
    server.finish();
}

#[test]
fn nobody_has_to_read_the_stream_to_its_end() {
    let program = Program::new();
    let mut command = program.command(program.home(), &["demo", "--format", "jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut first).expect("a line");
    assert_eq!(read(&first)["event"]["event"], "run_started");
    let said = Said::from(child.wait_with_output().expect("it ends"));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("✔ Tier 2 (strong) solved it"), "{}", said.err);
}

#[test]
fn what_is_asked_beforehand_answers_in_json_too() {
    let project = Project::python();
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let said = program.run(project.path(), &[&["check", "--format", "json"][..], &TIERS].concat());
    let plan = read(&said.out);
    assert_eq!((said.code, &plan["version"], &plan["runs"]), (0, &json!(1), &json!(true)), "{}", said.all());
    assert_eq!(plan["tiers"][0]["roles"][0]["models"][0]["model"], "anthropic/claude-haiku-4-5");
    assert_eq!(plan["tiers"][0]["roles"][0]["models"][0]["input_per_1m"]["micro_usd"], 1_000_000);
    assert_eq!(plan["tests"]["detected"], true);
    assert_eq!(plan["budget"]["max_cost"]["usd"], 2.0);
    let origins = plan["values"].as_array().expect("values");
    assert!(origins.iter().any(|value| value["key"] == "format" && value["origin"] == "flag --format"), "{plan:#}");

    let said = program.run(project.path(), &["doctor", "--format", "json", "--tiers", "claude-nonsense x1"]);
    let found = read(&said.out);
    assert_eq!((said.code, &found["ok"]), (1, &json!(false)), "{}", said.all());
    let wrong = found["findings"].as_array().expect("findings").iter().find(|one| one["about"] == "configuration");
    let wrong = wrong.expect("a finding");
    assert!(wrong["ok"] == false && wrong["fix"].is_string() && wrong["said"].is_string(), "{wrong:#}");

    let said = program.run(project.path(), &["check", "--format", "jsonl"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.all());
    assert!(said.err.contains("→ Fix: --format json"), "{}", said.err);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_run_is_looked_into_by_programs_too() {
    let project = Project::python();
    let server = ModelServer::start(mend(&project));
    let program = Program::with_anthropic(&server.url());
    let ask = |args: &[&str]| {
        let said = program.run(project.path(), args);
        assert_eq!(said.code, 0, "{}", said.all());
        read(&said.out)
    };
    let run = ask(&run_args(&project, &["--format", "json"]));
    let all = ask(&["show", "--format", "json", "--conversation", "--tests", "--patch"]);
    let step = &all["iterations"][0];
    assert_eq!((&all["version"], &all["run_id"]), (&json!(1), &run["run_id"]));
    assert_eq!((&step["tier_index"], &step["iteration"]), (&json!(0), &json!(1)));
    assert_eq!(step["attempt"], run["tiers"][0]["attempts"][0]);
    assert_eq!(step["sessions"][0]["role"], "artisan");
    assert_eq!(step["conversations"][0]["role"], "artisan");
    assert!(step["tests"].as_str().is_some_and(|tests| tests.contains("Ran 2 tests")), "{step:#}");
    assert!(step["patch"].as_str().is_some_and(|patch| patch.contains(project.right)), "{step:#}");
    assert!(all["patch"].as_str().is_some_and(|patch| patch.contains(project.right)), "{all:#}");
    let brief = ask(&["show", "--format", "json"]);
    assert!(brief["iterations"][0].get("patch").is_none() && brief.get("patch").is_none(), "{brief:#}");
    let one = ask(&["show", "--format", "json", "--patch", "--tier", "1"]);
    assert!(one.get("patch").is_none() && one["iterations"][0]["patch"].is_string(), "{one:#}");
    let list = ask(&["report", "--list", "--format", "json"]);
    assert_eq!((&list, &list[0]["run_id"]), (&ask(&["runs", "--format", "json"]), &run["run_id"]));
    let text = |args: &[&str]| program.run(project.path(), args).out;
    assert_eq!(text(&["report", "--list"]), text(&["runs"]), "one question, one answer");
    let verified = ask(&["report", "--verify", "--format", "json"]);
    assert_eq!((&verified["ok"], &verified["run_id"]), (&json!(true), &run["run_id"]));
    assert!(verified["head"].as_str().is_some_and(|head| head.len() == 64), "{verified:#}");
    server.finish();
}

#[test]
fn the_log_tells_what_is_done_and_never_a_secret() {
    let project = Project::python();
    let mut answer = mend(&project);
    let mut refused = false;
    let server = ModelServer::start(move |request| {
        if !std::mem::replace(&mut refused, true) {
            // A server that repeats the key in its error.
            return Scripted::error(Vendor::Anthropic, 529, "overloaded_error", &format!("busy for {KEY}\n::error::x"));
        }
        answer(request)
    });
    let program = Program::with_anthropic(&server.url());
    let command = format!("{} # {KEY}", project.test_command);
    let args = [&["-vv", "-q", "run", "--test-command", &command][..], &TIERS].concat();
    // `Said` fails where the key is printed.
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 0, "{}", said.all());
    for part in [
        "DEBUG upshift::process: starts program=",
        "DEBUG session{role=\"artisan\" tier=1 iteration=1}: upshift::http: answered method=POST host=\"127.0.0.1\"",
        "path=\"/v1/messages\" status=529",
        "upshift::session::exchange: model call target=anthropic/claude-haiku-4-5 turn=1 attempt=1 status=\"",
        "upshift::session::target_rotation: the call failed",
        "upshift::audit::budget: the call's worst case is reserved",
        "upshift::workspace: recorded the tree",
    ] {
        assert!(said.err.contains(part), "{part}\n{}", said.err);
    }
    assert!(!said.err.lines().any(|line| line.starts_with("::")), "{}", said.err);
    assert!(!said.err.contains("Baseline"), "quiet: {}", said.err);
    server.finish();
}

#[test]
fn the_log_is_off_and_filtered_by_target() {
    let project = Project::python();
    let program = || Program::with_anthropic("http://127.0.0.1:9");
    let logged = |program: Program, args: &[&str]| -> Vec<String> {
        let said = program.run(project.path(), args);
        assert_eq!(said.code, 0, "{}", said.all());
        let lines = said.err.lines().filter(|line| line.contains(" INFO ") || line.contains("DEBUG "));
        lines.map(str::to_owned).collect()
    };
    assert!(logged(program(), &["demo"]).is_empty());
    let all = logged(program(), &["demo", "-vv"]);
    assert!(all.iter().any(|line| line.contains("upshift::process")), "{all:#?}");
    let info = logged(program(), &["demo", "-v"]);
    assert!(!info.is_empty() && info.iter().all(|line| line.contains(" INFO ")), "{info:#?}");
    let some = logged(program().with("UPSHIFT_LOG", "upshift::session=info"), &["-q", "demo"]);
    assert!(!some.is_empty() && some.iter().all(|line| line.contains("upshift::session")), "{some:#?}");
    let odd = program().with("UPSHIFT_LOG", "upshift=loud");
    for quiet in [&["run", "-q"][..], &["run", "-q", "--format", "jsonl"], &["report", "--format", "json"]] {
        let said = odd.run(project.path(), quiet);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{quiet:?}: {}", said.all());
        assert!(
            said.err.contains("UPSHIFT_LOG='upshift=loud'") && said.err.lines().count() == 2,
            "{quiet:?}: {}",
            said.err
        );
    }
    let odd = odd.run(project.path(), &["demo"]);
    assert_eq!(odd.code, 2, "{}", odd.all());
    assert!(odd.err.contains("→ Fix"), "{}", odd.err);
}
