//! A model says what it is blocked on: what the forge can be asked about parks the run, and a fresh session goes on once it is gone
//! (SPEC S4-3, S4-4, S4-8, S4-9).

use serde_json::{Value, json};

use super::elsewhere::Elsewhere;
use super::waiting::{document, over, plan};
use super::{FIXED, Site};
use crate::world::github::{Check, FakeGitHub, Pull};
use crate::world::log::Log;
use crate::world::model_server::{Request, Say, Scripted};

/// What the first message of a fresh session says of the wait.
const GONE: &str = "That is out of the way now:";

fn blocked(on: &Value) -> Scripted {
    let report =
        json!({ "summary": "read it", "status": "blocked", "reason": "the rates come with it", "blocked_on": on });
    Say::call("final_report", report).usage(900, 40).into()
}

/// Mends the bug once what is in the way is said to be gone.
fn waits_on(on: Value) -> impl Fn(&Request) -> Scripted + Send + 'static {
    move |request| if request.all_text().contains(GONE) { super::mends(request) } else { blocked(&on) }
}

fn pull(number: u64, state: &str) -> Pull {
    Pull {
        number,
        state: state.to_owned(),
        author: "ada".to_owned(),
        head_branch: format!("other-{number}"),
        head_sha: "c".repeat(40),
        base_branch: "main".to_owned(),
        ..Pull::default()
    }
}

fn site(script: impl FnMut(&Request) -> Scripted + Send + 'static) -> (Site, FakeGitHub) {
    let (site, github) = over(Site::with_models(script), vec![plan("success", "")]);
    github.world().pulls.push(pull(12, "open"));
    (site, github)
}

fn is(github: &FakeGitHub, state: &str) {
    github.world().pulls.iter_mut().for_each(|pull| state.clone_into(&mut pull.state));
}

#[test]
fn s4_4_a_run_waits_without_a_job_for_what_it_is_blocked_on_and_a_fresh_session_goes_on() {
    let (site, github) = site(waits_on(json!([{ "kind": "pull_request", "ref": "#12" }])));
    let said = site.run("commit");
    assert_eq!(said.code, 4, "{}", said.all());
    assert!(
        said.out.contains("Parked") && said.out.contains("waiting for pull request #12 to be merged"),
        "{}",
        said.all()
    );
    assert_eq!(site.server.pushes(), 0);
    let end = &document(&site)["loop_result"];
    assert_eq!((&end["result_type"], &end["blocked_on"][0]["ref"]), (&json!("SHUTDOWN"), &json!("12")), "{end}");
    let log = Log::open(&site.database());
    let [row] = log.rows("SELECT kind, cleared_at IS NULL, body FROM breakpoints").try_into().expect("one breakpoint");
    let body: Value = serde_json::from_str(&row[2]).expect("JSON");
    assert_eq!((row[0].as_str(), row[1].as_str()), ("blocked", "1"));
    assert_eq!((&body["spawn"], &body["on"]), (&json!(1), &json!([{ "kind": "pull_request", "ref": "12" }])), "{body}");
    assert_eq!(
        log.value("SELECT COUNT(*) FROM breakpoints JOIN run_metadata USING (run_id)"),
        "1",
        "it carries its run"
    );
    let snapshot = log.value("SELECT body FROM snapshots WHERE kind = 'breakpoint'");
    let snapshot: Value = serde_json::from_str(&snapshot).expect("JSON");
    for (at, value) in [
        ("/spawn_number", json!(1)),
        ("/agent_id", json!("claude-haiku-4-5")),
        ("/task/status", json!("blocked")),
        ("/breakpoint/type", json!("blocked")),
        ("/breakpoint/blocked_on/0/ref", json!("12")),
        ("/pending_dependencies/0/kind", json!("pull_request")),
        ("/completed_dependencies", json!([])),
        ("/pending_requests", json!(["that what is in the way goes away"])),
        ("/recent_deliveries", json!([])),
        ("/retry_count", json!(0)),
        ("/uncommitted_files", json!([])),
    ] {
        assert_eq!(snapshot.pointer(at), Some(&value), "S4-8 {at}: {snapshot}");
    }
    assert!(snapshot["remaining_work"].to_string().contains("test_total"), "{snapshot}");

    let again = site.resume();
    assert_eq!((again.code, site.models.requests().len()), (4, 1), "nothing is paid while it waits: {}", again.all());
    is(&github, "merged");
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    let asked = site.models.requests();
    let first = asked[1].all_text();
    for line in [
        "The work was blocked: the rates come with it",
        "That is out of the way now: pull request #12.",
        "Continue from where the previous iteration left off. Do not repeat work that has already been completed.",
    ] {
        assert!(first.contains(line), "S4-9 {line}: {first}");
    }
    assert_eq!(asked[1].turn(), 0, "a fresh session");
    assert!(resumed.out.contains("blocked on pull request #12: out of the way in "), "{}", resumed.all());
    assert_eq!(document(&site)["breakpoints"][0]["answer"], "resolved");
    assert_eq!(site.server.pushes(), 1);
    site.models.finish();
    github.finish();
}

/// Nothing but the repository and the log: what it waits for is asked again there, and the work goes on there.
#[test]
fn a_blocked_run_goes_on_in_another_root() {
    let (site, github) = site(waits_on(json!([{ "kind": "pull_request", "ref": "#12" }])));
    assert_eq!(site.run("commit").code, 4);
    let there = Elsewhere::at(&site, &site.start).under(&github);
    let early = there.resume();
    assert_eq!((early.code, site.models.requests().len()), (4, 1), "{}", early.all());
    is(&github, "merged");
    let said = there.resume();
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(there.text("shop/cart.py").starts_with(FIXED), "{}", said.all());
    assert!(said.out.contains("blocked on pull request #12: out of the way in "), "{}", said.all());
    assert_eq!((site.server.pushes(), site.models.requests().len()), (1, 3), "{}", said.all());
    there.assert_vouched_for();
    site.models.finish();
    github.finish();
}

#[test]
fn what_is_never_merged_or_said_again_ends_the_run_and_what_nobody_knows_of_is_in_the_way() {
    let (site, github) = site(|_: &Request| blocked(&json!([{ "kind": "pull_request", "ref": "12" }])));
    assert_eq!(site.run("commit").code, 4);
    is(&github, "closed");
    let closed = site.resume();
    assert_eq!(closed.code, 1, "{}", closed.all());
    assert!(closed.out.contains("pull request #12 was closed without a merge"), "{}", closed.all());
    site.models.finish();
    github.finish();

    let (site, github) = self::site(|_: &Request| blocked(&json!("pull request #12")));
    assert_eq!(site.run("commit").code, 4);
    is(&github, "merged");
    let repeats = site.resume();
    assert_eq!(
        (repeats.code, site.models.requests().len()),
        (1, 2),
        "asked once more, and believed: {}",
        repeats.all()
    );
    assert!(repeats.out.contains("a person is needed"), "{}", repeats.all());
    site.models.finish();
    github.finish();

    let (site, github) = self::site(|_: &Request| blocked(&json!([{ "kind": "issue", "ref": "99" }])));
    let unknown = site.run("commit");
    assert_eq!(unknown.code, 4, "{}", unknown.all());
    assert!(unknown.out.contains("issue #99, whose state is unknown"), "{}", unknown.all());
    site.models.finish();
    github.finish();
}

#[test]
fn an_issue_and_a_check_are_waited_for_and_a_person_is_not() {
    let on = json!([{ "kind": "issue", "ref": "5" }, { "kind": "check", "ref": "schema" }]);
    let (site, github) = site(waits_on(on));
    github.world().issues.insert(5, "open".to_owned());
    let said = site.run("commit");
    assert!(said.out.contains("issue #5 to be closed, the check schema to pass on "), "{}", said.all());
    github.world().issues.insert(5, "closed".to_owned());
    let check = |conclusion: &str| Check {
        id: 900,
        sha: site.start.clone(),
        name: "schema".to_owned(),
        app: "ci".to_owned(),
        status: "completed".to_owned(),
        conclusion: Some(conclusion.to_owned()),
        ..Check::default()
    };
    github.world().checks = vec![check("failure")];
    let red = site.resume();
    assert_eq!((red.code, red.out.contains("issue #5 to be closed")), (4, false), "{}", red.all());
    github.world().checks = vec![check("success")];
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    site.models.finish();
    github.finish();

    let on = json!([{ "kind": "pull_request", "ref": "12" }, { "kind": "person", "ref": "whoever owns the rates" }]);
    let (site, github) = self::site(move |_: &Request| blocked(&on));
    let said = site.run("commit");
    assert_eq!(said.code, 1, "a person is needed all the same: {}", said.all());
    assert!(said.out.contains("a person: whoever owns the rates"), "{}", said.all());
    let end = &document(&site)["loop_result"];
    assert_eq!((&end["result_type"], &end["blocked_on"][1]["kind"]), (&json!("BLOCKED"), &json!("person")), "{end}");
    assert_eq!(
        (&end["spawn_count"], &end["retry_count"], &end["error"]),
        (&json!(1), &json!(1), &json!(null)),
        "{end}"
    );
    site.models.finish();
    github.finish();
}

#[test]
fn a_tier_that_is_not_the_last_hands_its_reason_up_and_the_last_one_parks() {
    let on = json!([{ "kind": "pull_request", "ref": "12" }]);
    let script = move |request: &Request| {
        let is_told = request.all_text().contains("the rates come with it");
        assert_eq!(is_told, request.model.contains("sonnet"), "the handover says why: {}", request.all_text());
        if request.all_text().contains(GONE) { super::mends(request) } else { blocked(&on) }
    };
    let (site, github) = site(script);
    let mut arguments = site.arguments("commit");
    let ladder = arguments.iter_mut().find(|one| one.contains(" x3")).expect("a ladder");
    "claude-haiku-4-5 x3 > claude-sonnet-4-5 x1".clone_into(ladder);
    let said = site.program.run(&site.root(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!((said.code, site.models.requests().len()), (4, 2), "{}", said.all());
    is(&github, "merged");
    let resumed = site.resume();
    assert_eq!(resumed.code, 0, "an iteration that could do nothing is given back: {}", resumed.all());
    assert!(resumed.out.contains("Fixed by Tier 2") && resumed.out.contains("in iteration 2"), "{}", resumed.all());
    site.models.finish();
    github.finish();
}

/// Nobody can be asked whether a person has answered: the second that says so ends it, and the third is not paid.
#[test]
fn two_tiers_that_are_blocked_end_the_run() {
    let (site, github) = site(|_: &Request| blocked(&json!([{ "kind": "person", "ref": "whoever owns the rates" }])));
    let mut arguments = site.arguments("commit");
    let ladder = arguments.iter_mut().find(|one| one.contains(" x3")).expect("a ladder");
    "claude-haiku-4-5 x3 > claude-sonnet-4-5 x1 > claude-opus-4-5 x1".clone_into(ladder);
    let said = site.program.run(&site.root(), &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(said.code, 1, "{}", said.all());
    let asked: Vec<String> = site.models.requests().iter().map(|request| request.model.clone()).collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("haiku") && asked[1].contains("sonnet"), "{asked:?}");
    assert_eq!(document(&site)["outcome"], "blocked", "{}", said.all());
    site.models.finish();
    github.finish();
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn killed_around_a_blocked_breakpoint_a_run_pays_and_pushes_once() {
    for (first, second) in [
        ("iteration_finished:1", ""),
        ("breakpoint_reached:1", ""),
        ("run_finished:1", ""),
        ("", "breakpoint_cleared:1"),
        ("", "iteration_started:1"),
    ] {
        let (site, github) = site(waits_on(json!([{ "kind": "pull_request", "ref": "12" }])));
        let site = site.with("UPSHIFT_CRASH_AFTER", first);
        let mut said = site.run("commit");
        let what = format!("{first}{second}");
        assert_eq!(said.code, if first.is_empty() { 4 } else { -9 }, "{what}: {}", said.all());
        let site = site.with("UPSHIFT_CRASH_AFTER", "");
        if !first.is_empty() {
            said = site.resume();
            assert_eq!(said.code, 4, "{what}: {}", said.all());
        }
        is(&github, "merged");
        let site = site.with("UPSHIFT_CRASH_AFTER", second);
        said = site.resume();
        assert_eq!(said.code, if second.is_empty() { 0 } else { -9 }, "{what}: {}", said.all());
        let site = site.with("UPSHIFT_CRASH_AFTER", "");
        if !second.is_empty() {
            said = site.resume();
            assert_eq!(said.code, 0, "{what}: {}", said.all());
        }
        assert_eq!((site.models.requests().len(), site.server.pushes()), (3, 1), "{what}: {}", said.all());
        let log = Log::open(&site.database());
        assert_eq!(log.number("SELECT COUNT(*) FROM breakpoints WHERE kind = 'blocked'"), 1, "{what}");
        site.models.finish();
        github.finish();
    }
}
