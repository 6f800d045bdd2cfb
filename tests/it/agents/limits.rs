//! Limits of vendors behind agents (S3-7 to S3-11): waited for, left for another target, parked at, and how the first one comes back.

use std::io::BufRead as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ends::raw_stream;
use super::{Site, done, mend, steps};
use crate::world::model_server::{Request, Scripted, Vendor};
use crate::world::program::KEY;
use crate::world::project::Project;
use crate::world::sampled;

/// Two hours, in the vendors' seconds: longer than any run of these tests may take.
const TWO_HOURS: &str = "7200";

fn limited() -> Scripted {
    Scripted::error(Vendor::Anthropic, 429, "rate_limit_error", "slow down")
}

fn limited_for(seconds: &'static str) -> Scripted {
    limited().header("retry-after", seconds)
}

/// A tier of claude, and codex in its place.
fn both(iterations: u32) -> String {
    let artisan = ["cli/claude:claude-haiku-4-5", "cli/codex:gpt-4.1"];
    let tier = json!({"name": "both", "mode": "simple", "maxIterations": iterations, "models": {"artisan": artisan}});
    json!({ "tiers": [tier] }).to_string()
}

fn is_claude(request: &Request) -> bool {
    request.model.starts_with("claude")
}

impl Site {
    /// The events of a kind, in order.
    fn told(&self, kind: &str) -> Vec<Value> {
        let rows = self.log().rows(&format!("SELECT body FROM events WHERE kind = '{kind}' ORDER BY seq"));
        rows.into_iter().flatten().map(|body| serde_json::from_str(&body).expect("an event")).collect()
    }

    fn resume(&self) -> crate::world::program::Said {
        let database = self.database.to_str().expect("text");
        self.program.run(self.project.path(), &["resume", "--audit-db", database])
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.program = self.program.with(name, value);
        self
    }
}

#[test]
fn a_limited_vendor_is_waited_for_and_the_agent_sees_a_slow_call() {
    let project = Project::python();
    let edit = mend(&project);
    let mut calls = 0;
    let site = Site::new(project, move |request| {
        calls += 1;
        match (calls, request.turn()) {
            (1 | 2, _) => limited(),
            (_, 0) => steps(&edit),
            (_, _) => done("DONE\nmended"),
        }
    });
    let said = site.run(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let warnings = site.warnings();
    assert!(warnings.contains("asked again in 5 s") && warnings.contains("asked again in 15 s"), "{warnings}");
    assert_eq!(site.server.requests().len(), 4);
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn a_wait_that_stands_in_the_body_is_as_long_as_that_says() {
    let project = Project::python();
    let edit = mend(&project);
    let mut calls = 0;
    let site = Site::new(project, move |request| {
        calls += 1;
        match (calls, request.turn()) {
            (1, _) => {
                let words = "Rate limit reached for gpt-4.1. Please try again in 2s.";
                Scripted::error(Vendor::Responses, 429, "rate_limit_exceeded", words)
            }
            (_, 0) => steps(&edit),
            (_, _) => done("DONE\nmended"),
        }
    });
    let said = site.run(&["--tiers", "cli/codex:gpt-4.1 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(site.warnings().contains("asked again in 2 s"), "{}", site.warnings());
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn an_account_without_money_is_asked_once_and_the_agent_hears_all_of_it() {
    // Longer than what one read brings.
    let words = format!("You exceeded your current quota{}, and so on.", " and more".repeat(5_000));
    let answer = words.clone();
    let site =
        Site::new(Project::python(), move |_| Scripted::error(Vendor::Responses, 429, "insufficient_quota", &answer));
    let said = site.run(&["--tiers", "cli/codex:gpt-4.1 x1"]);
    assert_ne!(said.code, 0, "{}", said.all());
    assert_eq!(site.server.requests().len(), 1, "{}", site.warnings());
    assert!(!site.warnings().contains("asked again"), "{}", site.warnings());
    let status = "SELECT json_extract(body, '$.status') FROM events WHERE kind = 'call_settled'";
    assert_eq!(site.log().value(status), "quota_exceeded");
    assert!(raw_stream(&site).contains(&words));
    site.server.finish();
}

#[test]
fn a_quota_of_the_day_parks_until_the_day_is_over() {
    let details = json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"},
    ]);
    let error = json!({"code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED", "details": details});
    let site = Site::new(Project::python(), move |_| Scripted::status(429, json!({ "error": error }).to_string()));
    std::fs::copy(site.agents.path().join("claude"), site.agents.path().join("gemini")).expect("the agent");
    let url = site.server.url();
    let site = site.with("GEMINI_API_KEY", KEY).with("GEMINI_BASE_URL", &url);
    let said = site.run(&["--tiers", "cli/gemini:gemini-2.5-pro x1"]);
    assert_eq!(said.code, 4, "{}", said.all());
    assert_eq!(site.server.requests().len(), 1, "{}", site.warnings());
    let told = site.told("agents_all_limited");
    // Midnight of the Pacific, in winter.
    assert!(told[0]["until"].as_str().is_some_and(|until| until.contains("T08:00:0")), "{told:?}");
    site.server.finish();
}

#[test]
fn a_vendor_that_stays_limited_is_left_for_the_next_target() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        ("gpt-4.1", 0) => steps(&edit),
        ("gpt-4.1", _) => done("DONE\nmended"),
        (_, _) => limited(),
    });
    let said = site.run(&["--tiers", &both(1)]);
    assert_eq!(said.code, 0, "{}", said.all());
    let of_claude = site.server.requests().iter().filter(|request| request.model.starts_with("claude")).count();
    assert_eq!(of_claude, 4, "after 5, 15 and 45 seconds it is given up");
    let switched = &site.told("agent_switched")[..];
    let [switched] = switched else { panic!("{switched:?}") };
    assert_eq!(
        (&switched["from"], &switched["to"]),
        (&json!("cli/claude:claude-haiku-4-5"), &json!("cli/codex:gpt-4.1"))
    );
    assert!(said.err.contains("codex:gpt-4.1 is asked in the place of"), "{}", said.err);
    // Waits are no turns and no iterations.
    assert_eq!(site.log().value("SELECT count(*) FROM tier_attempts"), "1");
    let turns: Vec<_> = site.told("session_finished").iter().map(|end| end["turns"].clone()).collect();
    assert_eq!(turns, [0, 2]);
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn where_all_are_limited_the_run_parks_with_the_time_and_goes_on_later() {
    let project = Project::python();
    let edit = mend(&project);
    let mut calls = 0;
    let site = Site::new(project, move |request| {
        calls += 1;
        match (calls, request.turn()) {
            (1, _) => limited_for("9000"),
            (2, _) => limited_for(TWO_HOURS),
            (_, 0) => steps(&edit),
            (_, _) => done("DONE\nmended"),
        }
    });
    let said = site.run(&["--tiers", &both(2)]);
    assert_eq!(said.code, 4, "{}", said.all());
    assert!(said.out.contains("⏸ Parked") && said.out.contains("limited until "), "{}", said.out);
    assert_eq!(site.server.requests().len(), 2, "each was asked once: two hours are not waited for");
    let told = site.told("agents_all_limited");
    assert_eq!(told.len(), 1, "{}", said.all());
    let switched = site.told("agent_switched");
    assert!(told[0]["until"].as_str() < switched[0]["until"].as_str(), "the first that ends: {told:?} {switched:?}");
    let parked = site.log().value("SELECT json_extract(state, '$.limited.until') FROM run_state");
    assert_eq!(told[0]["until"], parked.as_str(), "{told:?}");
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(site.log().value("SELECT count(*) FROM tier_attempts"), "1", "one iteration, one row");
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn the_first_target_is_asked_first_again_in_the_next_iteration_and_no_call_finds_out() {
    let project = Project::python();
    let (edit, source) = (mend(&project), project.source);
    let wrong = json!([{"do": "replace", "path": source, "old": "- 1", "new": "- 1 + 0"}]);
    let mut of_claude = 0;
    let site = Site::new(project, move |request| {
        of_claude += u32::from(is_claude(request));
        let edit = json!([{"do": "replace", "path": edit[0]["path"], "old": "- 1 + 0", "new": ""}]);
        match (is_claude(request), of_claude, request.turn()) {
            (true, 1..=4, _) => limited(),
            (true, _, 0) => steps(&edit),
            (false, _, 0) => steps(&wrong),
            (_, _, _) => done("DONE\nas well as I could"),
        }
    });
    let said = site.run(&["--tiers", &both(2)]);
    assert_eq!(said.code, 0, "{}", said.all());
    let again = &site.told("agent_recovery_attempted")[..];
    let [again] = again else { panic!("{again:?} {}", said.all()) };
    assert_eq!((&again["recovered"], &again["instead"]), (&json!(true), &json!("cli/codex:gpt-4.1")));
    // Four at the limit, two of codex, and the two of the work itself: none to find out.
    assert_eq!(site.server.requests().len(), 8);
    let by = site.log().rows("SELECT model_artisan, test_status FROM tier_attempts ORDER BY id");
    assert_eq!(by, [["cli/codex:gpt-4.1", "failed"], ["cli/claude:claude-haiku-4-5", "passed"]]);
    site.server.finish();
}

#[test]
fn one_whose_time_is_not_over_is_passed_over_without_a_call() {
    let project = Project::python();
    let (edit, source) = (mend(&project), project.source);
    let wrong = json!([{"do": "replace", "path": source, "old": "- 1", "new": "- 1 + 0"}]);
    let mut sessions = 0;
    let site = Site::new(project, move |request| {
        if is_claude(request) {
            return limited_for(TWO_HOURS);
        }
        sessions += u32::from(request.turn() == 0);
        let last = json!([{"do": "replace", "path": edit[0]["path"], "old": "- 1 + 0", "new": ""}]);
        match (sessions, request.turn()) {
            (1, 0) => steps(&wrong),
            (_, 0) => steps(&last),
            (_, _) => done("DONE\nas well as I could"),
        }
    });
    let said = site.run(&["--tiers", &both(2)]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.server.requests().iter().filter(|request| is_claude(request)).count(), 1);
    assert_eq!((site.told("agent_switched").len(), site.told("agent_recovery_attempted").len()), (2, 0));
    site.server.finish();
}

#[test]
fn a_wait_for_a_limit_ends_with_the_run() {
    // On the machine's own clock: a minute is really waited.
    let site = Site::new(Project::python(), |_| limited_for("60"));
    let mut command =
        site.program.command(site.project.path(), &site.args(&["--tiers", "cli/claude:claude-haiku-4-5 x1"]));
    command.env_remove("UPSHIFT_TEST_CLOCK").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = std::io::BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let waits = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("asked again in 60 s")));
    assert!(waits.is_some(), "no wait began");
    let began = Instant::now();
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    let _rest = lines.count();
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(143));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn the_edits_of_one_that_is_limited_later_count_where_another_goes_on() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| match (is_claude(request), request.turn()) {
        (true, 0) => steps(&edit),
        (true, _) => limited_for(TWO_HOURS),
        (false, _) => done("DONE\nthere was nothing left to do"),
    });
    let said = site.run(&["--tiers", &both(1)]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(site.log().value("SELECT count(*) || test_status FROM tier_attempts"), "1passed");
    let requests = site.server.requests();
    let told: Vec<bool> = requests.iter().map(|request| request.body.to_string().contains("CHANGED SINCE")).collect();
    let of_codex: Vec<bool> = requests.iter().map(|request| !is_claude(request)).collect();
    assert_eq!(told, of_codex, "whoever goes on is told which files are others now");
    site.server.finish();
}

/// Each is limited once; then claude mends, with helpers of its own.
fn limited_once(project: &Project) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let mended = json!([{"do": "helpers"}, mend(project)[0]]);
    let mut calls = 0;
    move |request| {
        calls += 1;
        match (calls, request.turn()) {
            (1, _) => limited_for(TWO_HOURS),
            (2, _) => limited_for("9000"),
            (_, 0) => steps(&mended),
            (_, _) => done("DONE\nmended"),
        }
    }
}

/// Claude is limited for a minute, codex does nothing meanwhile; then claude mends.
fn limited_for_a_minute(project: &Project) -> impl FnMut(&Request) -> Scripted + Send + 'static {
    let mended = mend(project);
    let mut of_claude = 0;
    move |request| {
        of_claude += u32::from(is_claude(request));
        match (is_claude(request), of_claude, request.turn()) {
            (true, 1..=4, _) => limited(),
            (true, _, 0) => steps(&mended),
            (_, _, _) => done("DONE\nas well as I could"),
        }
    }
}

#[test]
fn a_kill_after_any_word_of_agents_loses_nothing() {
    for kill in sampled(super::KILLS) {
        let project = Project::python();
        let recovers = kill.starts_with("agent_recovery");
        let (once, minute) = (limited_once(&project), limited_for_a_minute(&project));
        let site = if recovers { Site::new(project, minute) } else { Site::new(project, once) };
        let site = site.with("UPSHIFT_CRASH_AFTER", kill);
        let mut said = site.run(&["--tiers", &both(3)]);
        if said.code == 4 {
            said = site.resume();
        }
        assert_eq!(said.code, -9, "{kill}: {}", said.all());
        let site = site.with("UPSHIFT_CRASH_AFTER", "");
        let mut said = site.resume();
        if said.code == 4 {
            said = site.resume();
        }
        assert_eq!(said.code, 0, "{kill}: {}", said.all());
        let database = site.database.to_str().expect("text");
        let verified = site.program.run(site.project.path(), &["report", "--verify", "--audit-db", database]);
        assert_eq!(verified.code, 0, "{kill}: {}", verified.all());
        site.server.finish();
    }
}

#[test]
fn a_limited_side_model_costs_a_title_and_no_session() {
    let project = Project::python();
    project.write(".github/upshift.yml", "agent:\n  sideModel: claude-haiku-4-5\n");
    let work = json!([{"do": "side"}, mend(&project)[0]]);
    let site = Site::new(project, move |request| match (request.model.as_str(), request.turn()) {
        (super::CLAUDE, _) => limited(),
        (_, 0) => steps(&work),
        (_, _) => done("DONE\nmended"),
    });
    let said = site.run(&["--tiers", "cli/claude:claude-sonnet-4-5 x1"]);
    assert_eq!(said.code, 0, "{}", said.all());
    let asked = site.server.requests();
    let titles = asked.iter().filter(|request| request.model == super::CLAUDE).count();
    assert_eq!((titles, asked.len()), (4, 6), "waited for as any limit, and then left");
    let told = asked.last().expect("a request").last_user_text();
    assert!(told.contains("this side call was not made") && told.contains("slow down"), "{told}");
    let exit = site.log().value("SELECT json_extract(body, '$.exit') FROM events WHERE kind = 'session_finished'");
    assert_eq!(exit, "EXIT-FINAL-ANSWER");
    site.server.finish();
}
