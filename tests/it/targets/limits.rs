//! Rate limits and outages: waited for within the time, parked at beyond it, never met by a dearer model of the same host.

use serde_json::{Value, json};

use super::{LADDER, Scene, TWO_HOURS, limited, mends, overloaded};
use crate::world::model_server::{Request, Say, Scripted};

/// Limited from one request on, for so many of them; `mends` before and after.
fn limited_from(first: usize, count: usize, seconds: &'static str) -> impl FnMut(&Request) -> Scripted + Send {
    move |request| if (first..first + count).contains(&request.number) { limited(seconds) } else { mends(request) }
}

#[test]
fn a_limit_within_the_time_is_waited_for_in_the_middle_of_the_conversation() {
    let scene = Scene::new(limited_from(1, 2, "240"));
    let said = scene.run(LADDER);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("✔ Fixed by Tier 1"), "no climb: {}", said.out);
    assert_eq!(scene.asked(), ["claude-haiku-4-5"; 5], "three turns, two of them turned away for nothing once");
    let waits: Vec<_> = said.err.lines().filter(|line| line.contains("limits the requests")).collect();
    assert_eq!(waits.len(), 2, "a line for each time that the vendor names: {}", said.all());
    assert!(waits[0].contains("waiting 4m") && waits[0].contains(" UTC"), "{waits:?}");
    let active =
        scene.log().number("SELECT MAX(json_extract(body, '$.active_ms')) FROM events WHERE kind = 'run_finished'");
    assert!(active < 200_000, "waiting is not work: {active} ms");
    scene.finish();
}

#[test]
fn a_limit_beyond_the_time_parks_and_a_resume_goes_on_without_paying_twice() {
    let scene = Scene::new(limited_from(1, 1, TWO_HOURS));
    let said = scene.run(LADDER);
    assert_eq!(said.code, 4, "{}", said.all());
    assert_eq!(scene.asked(), ["claude-haiku-4-5"; 2], "no dearer model: {}", said.all());
    assert!(said.out.contains("⏸ Parked in Tier 1") && said.out.contains("limited until "), "{}", said.out);
    assert!(said.out.contains("upshift resume ") && said.out.contains("/upshift retry"), "{}", said.out);
    assert!(!said.all().contains("stalled"), "{}", said.all());
    assert!(scene.project.read("shop/cart.py").contains("sum(prices) - 1"), "an unfinished change is put back");
    let report: Value = serde_json::from_str(&scene.call("report", &["--format", "json"]).out).expect("JSON");
    assert_eq!((&report["outcome"], &report["tiers"][0]["state"]), (&json!("parked"), &json!("parked")));
    let until = report["limited"]["until"].as_str().expect("a time");
    assert!(report["limited"]["host"].as_str().is_some_and(|host| host.starts_with("127.0.0.1:")), "{report}");
    let comment = scene.call("report", &["--format", "md"]).out;
    let shown = until.split('.').next().expect("a time").replace('T', " ");
    assert!(comment.contains(&format!("limited until {shown} UTC")), "{until}: {comment}");
    let state = scene.log().value("SELECT json_extract(state, '$.limited.until') FROM run_state");
    assert_eq!(state, until);

    let resumed = scene.call("resume", &[]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert!(resumed.out.contains("✔ Fixed by Tier 1"), "{}", resumed.out);
    assert_eq!(scene.asked().len(), 4, "a paid reply is replayed, two are bought");
    assert_eq!(scene.log().number("SELECT COUNT(*) FROM model_calls WHERE status = 'ok'"), 3);
    assert_eq!(scene.log().number("SELECT COUNT(*) FROM tier_attempts"), 1, "one iteration, one row");
    assert_eq!(scene.call("report", &["--verify"]).code, 0);
    scene.finish();
}

#[test]
fn a_run_that_is_still_limited_parks_again_and_its_iterations_are_not_used_up() {
    let scene = Scene::new(limited_from(0, 3, TWO_HOURS));
    assert_eq!(scene.run("claude-haiku-4-5 x1").code, 4);
    for _ in 0..2 {
        let again = scene.call("resume", &[]);
        assert_eq!(again.code, 4, "{}", again.all());
    }
    let fixed = scene.call("resume", &[]);
    assert_eq!(fixed.code, 0, "{}", fixed.all());
    assert_eq!(scene.asked().len(), 6, "each resume asks once");
    scene.finish();
}

#[test]
fn a_process_killed_while_it_waits_or_parks_loses_nothing() {
    let [unavailable, _] = super::KILLS;
    for (crash, seconds, code) in
        [(unavailable, "240", 0), (unavailable, TWO_HOURS, 0), ("run_finished:1", TWO_HOURS, 0)]
    {
        let scene = Scene::new(limited_from(1, 1, seconds)).with("UPSHIFT_CRASH_AFTER", crash);
        let killed = scene.run(LADDER);
        assert_eq!(killed.code, -9, "{crash}: {}", killed.all());
        let scene = scene.with("UPSHIFT_CRASH_AFTER", "");
        let resumed = scene.call("resume", &[]);
        assert_eq!(resumed.code, code, "{crash}: {}", resumed.all());
        assert_eq!(scene.asked(), ["claude-haiku-4-5"; 4], "{crash}: one reply is replayed");
        assert_eq!(scene.log().number("SELECT COUNT(*) FROM model_calls WHERE status = 'ok'"), 3, "{crash}");
        scene.finish();
    }
}

#[test]
fn a_limited_vendor_is_left_for_a_tier_of_another_one() {
    let scene = Scene::new(|_| limited(TWO_HOURS)).and_another(mends);
    let said = scene.run("claude-haiku-4-5 x2 > claude-opus-4-6 x2 > other/strong x1");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(scene.asked(), ["claude-haiku-4-5"], "no wait of two hours, no dearer model");
    assert!(said.out.contains("✔ Fixed by Tier 3") && said.out.contains("✖ no model"), "{}", said.out);
    assert!(said.out.contains("  Skipped: Tier 2: ") && said.out.contains("limited until "), "{}", said.out);
    scene.finish();
}

/// In each vendor's own words: what the wait is, and that the run says until when.
#[test]
fn every_vendors_time_is_the_one_that_is_told() {
    let gemini_like = json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your quota.",
        "details": [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7200s" }] } });
    let openai = json!({ "error": { "type": "requests", "code": "rate_limit_exceeded", "message": "Rate limit reached for requests" } });
    let answer =
        |body: &Value, name: &'static str, value: &str| Scripted::status(429, body.to_string()).header(name, value);
    for (vendor, answer) in [
        ("retry-after", limited(TWO_HOURS)),
        ("retry-after-ms", answer(&openai, "retry-after-ms", "7200000")),
        ("openai reset", answer(&openai, "x-ratelimit-reset-requests", "2h0m0s")),
        ("groq reset", answer(&openai, "x-ratelimit-reset-tokens", "120m")),
        ("RetryInfo", Scripted::status(429, gemini_like.to_string())),
    ] {
        let scene = Scene::new(move |_| answer.clone());
        let said = scene.run("claude-haiku-4-5 x1");
        assert_eq!(said.code, 4, "{vendor}: {}", said.all());
        let report: Value = serde_json::from_str(&scene.call("report", &["--format", "json"]).out).expect("JSON");
        assert!(report["limited"]["until"].is_string(), "{vendor}: {report}");
        assert_eq!(scene.asked().len(), 1, "{vendor}");
        scene.finish();
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_outage_is_waited_for_and_ends_without_a_dearer_model() {
    let scene = Scene::new(|request| if (1..6).contains(&request.number) { overloaded() } else { mends(request) });
    let said = scene.run(LADDER);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(scene.asked(), ["claude-haiku-4-5"; 8]);
    assert_eq!(said.err.matches("is down, overloaded or not reachable; waiting").count(), 1, "{}", said.err);
    assert!(said.err.matches("failed again").count() <= 2, "{}", said.err);
    scene.finish();

    for answer in [overloaded(), Scripted::status(503, "no capacity"), Scripted::Drop] {
        let first = move |request: &Request| if request.number == 0 { mends(request) } else { answer.clone() };
        let scene = Scene::new(first);
        let said = scene.run(LADDER);
        assert_eq!(said.code, 5, "{}", said.all());
        assert!(scene.asked().iter().all(|model| model == "claude-haiku-4-5"), "{:?}", scene.asked());
        assert!(
            said.out.contains("✖ no model") && said.out.contains("is down, overloaded or not reachable"),
            "{}",
            said.out
        );
        assert!(!said.all().contains("stalled"), "{}", said.all());
        scene.finish();
    }
}

#[test]
fn an_outage_of_one_host_is_met_by_another() {
    let scene = Scene::new(|_| Scripted::status(503, "no capacity")).and_another(mends);
    let said = scene.run("claude-haiku-4-5 x2 > claude-opus-4-6 x2 > other/strong x1");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(scene.asked(), ["claude-haiku-4-5"; 3], "the attempts of one turn");
    assert!(said.out.contains("✔ Fixed by Tier 3") && said.out.contains("✖ no model"), "{}", said.out);
    scene.finish();
}

/// The next job has the checkout and the audit log, and nothing else of the runner before.
#[test]
fn a_parked_run_goes_on_where_only_its_log_and_the_checkout_are_left() {
    let scene = Scene::new(limited_from(1, 1, TWO_HOURS));
    assert_eq!(scene.run(LADDER).code, 4);
    std::fs::remove_dir_all(scene.program.home().join(".local/state/upshift")).expect("the state folder");
    let resumed = scene.call("resume", &[]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(scene.asked().len(), 4, "a paid reply is replayed, two are bought");
    scene.finish();
}

#[test]
fn a_parked_run_does_not_go_on_in_a_checkout_that_is_another_one() {
    let scene = Scene::new(limited_from(1, 1, TWO_HOURS));
    assert_eq!(scene.run(LADDER).code, 4);
    std::fs::remove_dir_all(scene.program.home().join(".local/state/upshift")).expect("the state folder");
    scene.project.write("shop/cart.py", "def total(prices):\n    return sum(prices) - 3\n");
    let refused = scene.call("resume", &[]);
    assert_eq!(refused.code, 2, "{}", refused.all());
    assert!(
        refused.err.contains("the checkout is not as it was") && refused.err.contains("→ Fix: "),
        "{}",
        refused.err
    );
    assert_eq!(scene.asked().len(), 2, "nothing is asked");
    scene.finish();
}

/// One tier whose artisan has these targets, in order.
fn fallbacks(targets: &[&str]) -> String {
    let models = json!({ "artisan": targets });
    json!({ "tiers": [{ "name": "only", "mode": "simple", "maxIterations": 2, "models": models }] }).to_string()
}

#[test]
fn a_limited_target_gives_way_to_a_cheaper_one_of_its_vendor_and_never_to_a_dearer() {
    let haiku_alone =
        |request: &Request| if request.model.contains("haiku") { mends(request) } else { limited(TWO_HOURS) };
    let cheaper = Scene::new(haiku_alone);
    let said = cheaper.run(&fallbacks(&["claude-opus-4-6", "claude-haiku-4-5"]));
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(cheaper.asked().iter().filter(|model| model.contains("opus")).count(), 1);
    cheaper.finish();
    let dearer = Scene::new(|_| limited(TWO_HOURS));
    let said = dearer.run(&fallbacks(&["claude-haiku-4-5", "claude-opus-4-6"]));
    assert_eq!(said.code, 4, "{}", said.all());
    assert_eq!(dearer.asked(), ["claude-haiku-4-5"], "{}", said.all());
    dearer.finish();
}

#[test]
fn a_target_that_is_known_to_be_limited_is_not_asked_again_by_the_next_session() {
    let worse = |request: &Request| match request.turn() {
        0 => Say::call("write_file", json!({ "path": format!("n{}.py", request.number), "content": "" }))
            .usage(9, 9)
            .into(),
        _ => Say::call("final_report", json!({ "summary": "no", "status": "done" })).usage(9, 9).into(),
    };
    let scene = Scene::new(worse).and_another(|_| Scripted::status(429, "{}").header("retry-after", TWO_HOURS));
    let said = scene.run(&fallbacks(&["other/strong", "claude-haiku-4-5"]));
    assert_eq!(said.code, 1, "two iterations that mend nothing: {}", said.all());
    assert_eq!(scene.log().number("SELECT COUNT(*) FROM tier_attempts"), 2);
    assert_eq!(scene.other.as_ref().expect("a vendor").requests().len(), 1, "{}", said.all());
    scene.finish();
}
