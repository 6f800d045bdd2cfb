//! How sessions of agents end: at the cap, with us, by a kill.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Site, done, lives, steps};
use crate::world::model_server::{Request, Say, Scripted, Vendor};
use crate::world::program::Said;
use crate::world::project::Project;

/// No test here needs longer; what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(40);

/// A model that always uses all it may, and has the agent go on.
fn greedy(request: &Request) -> Scripted {
    let limit = ["max_tokens", "max_output_tokens"].into_iter().find_map(|name| request.body[name].as_u64());
    let again = json!([{"do": "run", "command": "true"}]).to_string();
    Say::text(again).usage(1_000, limit.expect("a limit").min(2_000)).into()
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_cap_is_hard_and_ends_an_agent_that_never_gives_up_within_five_seconds() {
    for agent in ["cli/claude:claude-haiku-4-5", "cli/codex:gpt-4.1"] {
        let project = Project::python();
        project.write("never-gives-up", "");
        let site = Site::new(project, greedy);
        let began = Instant::now();
        let said = site.run(&["--tiers", &format!("{agent} x3"), "--max-cost-usd", "0.05"]);
        assert_eq!(said.code, 3, "{}", said.all());
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        let log = site.log();
        let refused =
            log.value("SELECT min(seq) FROM events WHERE kind = 'warning' AND body LIKE '%refused at the cost cap%'");
        assert!(!refused.is_empty(), "{}", site.warnings());
        let (receipts, rows) = (site.spent(), site.spent_by_rows());
        let billed = site.server.finish();
        assert!(billed.0 <= 50_000, "{agent}: {billed} is not a cent over");
        assert_eq!((receipts, rows), (billed.0, billed.0), "{agent}");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_agent_that_hears_no_signal_is_gone_within_five_seconds_of_the_first_refusal() {
    for agent in ["cli/claude:claude-haiku-4-5", "cli/codex:gpt-4.1"] {
        let project = Project::python();
        project.write("never-gives-up", "");
        let stubborn = json!([{"do": "stubborn"}, {"do": "run", "command": "echo $PPID > agent"}]).to_string();
        let site = Site::new(project, move |request| match request.turn() {
            0 => Say::text(stubborn.clone()).usage(1_000, 100).into(),
            _ => greedy(request),
        });
        let tiers = format!("{agent} x1");
        let args = site.args(&["--tiers", &tiers, "--max-cost-usd", "0.05"]);
        // On the machine's own clock, as the promise is.
        let mut command = site.program.command(site.project.path(), &args);
        command.env_remove("UPSHIFT_TEST_CLOCK").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let refused = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("refused at the cost cap")));
        assert!(refused.is_some(), "{agent} was never refused");
        let began = Instant::now();
        let pid = site.project.read("agent");
        assert!(lives(&pid), "{agent} gave up by itself");
        while lives(&pid) {
            assert!(began.elapsed() < PATIENCE, "{agent} lives on");
            std::thread::yield_now();
        }
        let lived = began.elapsed();
        assert!(lived < Duration::from_secs(5), "{agent} lived on for {lived:?}");
        assert!(lived > Duration::from_secs(3), "{agent} had no time for a last word: {lived:?}");
        let _rest = lines.count();
        assert_eq!(child.wait().expect("it ends").code(), Some(3));
        let spent = site.spent();
        let billed = site.server.finish().0;
        assert!(billed <= 50_000 && spent == billed, "{agent}: {billed}, {spent}");
    }
}

#[test]
fn a_kill_of_upshift_leaves_no_agent_and_nothing_that_it_started() {
    let stays = json!([{"do": "stubborn"}, {"do": "run", "command": "echo $$ > pid; echo $PPID > parent"}, {"do": "stubborn", "stay": true}]);
    let site = Site::new(Project::python(), move |_| steps(&stays));
    let mut command =
        site.program.command(site.project.path(), &site.args(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let began = Instant::now();
    let parent = site.project.path().join("parent");
    let agent = loop {
        assert!(began.elapsed() < PATIENCE, "the agent never started");
        match std::fs::read_to_string(&parent) {
            Ok(pid) if pid.ends_with('\n') => break pid,
            _ => std::thread::yield_now(),
        }
    };
    assert!(lives(&agent));
    child.kill().expect("killed");
    child.wait().expect("it ends");
    let began = Instant::now();
    while lives(&agent) {
        assert!(began.elapsed() < PATIENCE, "the agent lives on");
        std::thread::yield_now();
    }
    drop(site);
}

#[test]
fn complete_only_ends_the_session_earlier_and_the_tests_judge() {
    let site = Site::new(Project::python(), |_| done("<promise>COMPLETE</promise>"));
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 1, "{}", said.all());
    site.server.finish();
}

#[test]
fn a_raw_stream_is_kept_whole() {
    let site = Site::new(Project::python(), |_| done("DONE\nnothing at all"));
    let said: Said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 1, "{}", said.all());
    let text = raw_stream(&site);
    assert!(text.contains("something.new") && text.ends_with("}\n"), "{text}");
    site.server.finish();
}

/// The one session's end as it is told, and the code of the run.
fn ended(last_step: &serde_json::Value) -> (serde_json::Value, i32) {
    let project = Project::python();
    let work = json!([super::mend(&project)[0], last_step]);
    let site = Site::new(project, move |request| match request.turn() {
        0 => steps(&work),
        _ => done("DONE\nmended"),
    });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    let told = site.log().rows("SELECT body FROM events WHERE kind = 'session_finished' ORDER BY seq");
    assert_eq!(told.len(), 1, "{}", said.all());
    site.server.finish();
    (serde_json::from_str(&told[0][0]).expect("an event"), said.code)
}

#[test]
fn an_agent_that_died_is_not_done_and_the_tests_judge_what_it_left() {
    for step in [json!({"do": "die"}), json!({"do": "exit", "code": 7})] {
        let (end, code) = ended(&step);
        assert_eq!((&end["exit"], code), (&json!("EXIT-TOOL-FAILURE"), 0), "{end}");
        assert!(end["summary"].as_str().is_some_and(|words| words.contains("did not finish")), "{end}");
    }
}

#[test]
fn a_code_says_nothing_against_an_agent_that_ended_well_by_its_own_account() {
    let (end, code) = ended(&json!({"do": "leave", "code": 1}));
    assert_eq!((&end["exit"], code), (&json!("EXIT-FINAL-ANSWER"), 0), "{end}");
}

#[test]
fn a_title_that_fails_says_nothing_about_finished_work() {
    let project = Project::python();
    project.write(".github/upshift.yml", "agent:\n  sideModel: claude-haiku-4-5\n");
    // The title is asked for last.
    project.write("titles-last", "");
    let work = super::mend(&project);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        (super::CLAUDE, _) => Scripted::error(Vendor::Anthropic, 500, "api_error", "no titles today"),
        (_, 0) => steps(&work),
        (_, _) => done("DONE\nmended"),
    });
    let said = site.run(&["--tiers", "cli/claude:claude-sonnet-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let statuses = site.log().rows("SELECT json_extract(body, '$.status') FROM events WHERE kind = 'call_settled'");
    assert_eq!(statuses.last().map(|row| row[0].as_str()), Some("model_error"), "{statuses:?}");
    let exit = site.log().value("SELECT json_extract(body, '$.exit') FROM events WHERE kind = 'session_finished'");
    assert_eq!(exit, "EXIT-FINAL-ANSWER");
    // What the failed call may have cost is told apart.
    let known = site.log().number("SELECT sum(json_extract(body, '$.cost')) FROM events WHERE kind = 'call_settled'");
    assert_eq!(u64::try_from(known), Ok(site.server.finish().0));
}

/// The stream of the one agent of a run.
pub(super) fn raw_stream(site: &Site) -> String {
    let mut streams = Vec::new();
    walk(site.program.home(), &mut streams);
    walk(site.database.parent().expect("a folder"), &mut streams);
    let of_agent: Vec<_> = streams.iter().filter(|path| path.to_string_lossy().ends_with("-agent.txt.gz")).collect();
    assert_eq!(of_agent.len(), 1, "{streams:?}");
    let mut text = String::new();
    let file = std::fs::File::open(of_agent[0]).expect("a stream");
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).expect("text");
    text
}

fn walk(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

#[test]
fn an_agent_that_shows_no_sign_of_life_is_ended_and_the_tests_judge_what_it_left() {
    let project = Project::python();
    project.write(".github/upshift.yml", "agent: {idleSeconds: 2}\n");
    let work = json!([super::mend(&project)[0], {"do": "stubborn", "stay": true}]);
    let site = Site::new(project, move |_| steps(&work));
    let began = Instant::now();
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!(said.code, 0, "{}", said.all());
    let end = site.log().value("SELECT body FROM events WHERE kind = 'session_finished'");
    assert!(end.contains("it said nothing for 2 s, asked no model and changed no file"), "{end}");
    site.server.finish();
    // One that never did anything says so in the report.
    let stays = json!([{"do": "stubborn", "stay": true}]);
    let project = Project::python();
    project.write(".github/upshift.yml", "agent: {idleSeconds: 2}\n");
    let site = Site::new(project, move |_| steps(&stays));
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert!(said.code == 1 && said.all().contains("it said nothing for 2 s"), "{}", said.all());
    site.server.finish();
}
