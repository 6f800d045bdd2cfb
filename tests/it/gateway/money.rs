//! Receipts, caps and refusals.

use serde_json::{Value, json};

use upshift::domain::catalogue::Price;

use super::{CLAUDE, Session, WIRES, call, step, vendor};
use crate::world::model_server::{Request, Say, Scripted, Vendor};

/// What a request allows its reply, whatever its wire.
fn limit(request: &Request) -> u64 {
    let body = &request.body;
    let places = [
        &body["max_tokens"],
        &body["max_completion_tokens"],
        &body["max_output_tokens"],
        &body["generationConfig"]["maxOutputTokens"],
    ];
    places.into_iter().find_map(Value::as_u64).expect("every request that goes on has a limit")
}

/// A model that always uses all it may, up to the two thousand that clients here ask for.
fn greedy(request: &Request) -> Scripted {
    Say::text("more").usage(1_000, limit(request)).into()
}

#[test]
fn on_every_wire_the_receipts_are_the_vendors_bill() {
    for wire in WIRES {
        let server = vendor(|_| Say::text("a reply of some words").usage(700, 90).into());
        let session = Session::of(&server);
        let said = session.run(&["--max-cost-usd", "1"], &json!([call(wire, true), call(wire, false)]));
        assert_eq!(said.code, 0, "{wire}: {}", said.all());
        for told in session.told() {
            assert_eq!(told["status"], 200, "{wire}: {told}");
            assert!(told["body"].as_str().unwrap().contains("reply"), "{wire}: {told}");
        }
        let billed = server.finish();
        assert!(billed.0 > 0);
        assert_eq!(session.spent(), billed.0, "{wire}");
        let statuses: Vec<Value> = session.receipts().iter().map(|receipt| receipt["status"].clone()).collect();
        assert_eq!(statuses, [json!("ok"), json!("ok")], "{wire}");
        session.assert_verified();
    }
}

#[test]
fn on_every_wire_the_cap_is_hard_and_refused_as_its_agents_understand() {
    for (wire, status) in [("messages", 402), ("responses", 400), ("chat", 402), ("generate", 402)] {
        let server = vendor(greedy);
        let session = Session::of(&server);
        // The client goes on for ever after the refusal: it is ended.
        let plan = json!([step("until_refused", wire, true), {"do": "stay"}]);
        let said = session.run(&["--max-cost-usd", "0.06"], &plan);
        assert_eq!(said.code, 3, "{wire}: {}", said.all());
        let told = session.told();
        assert_eq!(told[0]["last"]["status"], status, "{wire}: {}", told[0]);
        assert!(told[0]["calls"].as_u64().unwrap() >= 2, "{wire}: {}", told[0]);
        let refusal = told[0]["last"]["body"].as_str().unwrap();
        assert!(refusal.contains("upshift: the cost cap is reached"), "{refusal}");
        assert_eq!(refusal.contains("upshift_budget"), ["responses", "chat"].contains(&wire), "{refusal}");
        let billed = server.finish();
        assert!(billed.0 <= 60_000, "{wire}: {billed} is not a cent over");
        assert_eq!(session.spent(), billed.0, "{wire}");
        let report = session.report();
        assert_eq!((&report["outcome"], &report["exit_code"]), (&json!("budget"), &json!(3)));
        let verdict = report["verdict"].as_str().unwrap();
        assert!(verdict.contains("cost cap") && !verdict.contains("iteration"), "{verdict}");
    }
}

#[test]
fn after_the_first_refusal_nothing_goes_on_any_more() {
    let server = vendor(greedy);
    let session = Session::of(&server);
    let small = |wire: &str| {
        let mut step = call(wire, false);
        step["body"]["max_tokens"] = json!(1);
        step
    };
    let plan = json!([step("until_refused", "messages", false), small("messages"), small("chat")]);
    let said = session.run(&["--max-cost-usd", "0.03"], &plan);
    assert_eq!(said.code, 3, "{}", said.all());
    let told = session.told();
    // The program is ended soon after the first refusal: on a busy machine it may not come to tell the others.
    assert!(told.iter().skip(1).all(|told| told["status"] == 402), "also one that would fit: {told:?}");
    let asked = server.requests().len() as u64;
    assert_eq!(Some(asked), told[0]["calls"].as_u64());
    server.finish();
}

#[test]
fn a_limit_is_added_where_none_is_and_lowered_to_what_the_cap_affords() {
    let server = vendor(|request| Say::text("x").usage(500, limit(request).min(100)).into());
    let session = Session::of(&server);
    let without = |wire: &str, path: &[&str]| {
        let mut step = call(wire, false);
        let mut place = &mut step["body"];
        for key in &path[..path.len() - 1] {
            place = &mut place[*key];
        }
        place.as_object_mut().unwrap().remove(path[path.len() - 1]);
        step
    };
    let plan = json!([
        without("responses", &["max_output_tokens"]),
        without("chat", &["max_completion_tokens"]),
        without("generate", &["generationConfig", "maxOutputTokens"]),
    ]);
    assert_eq!(session.run(&["--max-cost-usd", "5"], &plan).code, 0);
    let limits: Vec<u64> = server.requests().iter().map(limit).collect();
    assert_eq!(limits, [16_384; 3]);
    let mut large = call("messages", false);
    large["body"]["max_tokens"] = json!(60_000);
    assert_eq!(session.run(&["--max-cost-usd", "0.02"], &json!([large])).code, 0);
    let lowered = limit(server.requests().last().unwrap());
    assert!((1_024..4_000).contains(&lowered), "{lowered} tokens at five dollars a million fit into two cents");
    server.finish();
}

#[test]
fn what_cannot_be_bounded_is_refused_and_reaches_no_vendor() {
    let server = vendor(|_| Scripted::Unexpected);
    let session = Session::of(&server);
    let with = |wire: &str, key: &str, value: Value| {
        let mut step = call(wire, false);
        step["body"][key] = value;
        step
    };
    let plan = json!([
        with("messages", "tools", json!([{"type": "web_search_20250305", "name": "web_search"}])),
        with("responses", "previous_response_id", json!("resp_1")),
        with("chat", "n", json!(2)),
        with("generate", "cachedContent", json!("cachedContents/1")),
        with("messages", "model", json!("claude-unheard-of")),
    ]);
    let said = session.run(&["--max-cost-usd", "1"], &plan);
    assert_eq!(said.code, 0, "{}", said.all());
    for told in session.told() {
        assert_eq!(told["status"], 400, "{told}");
        assert!(told["body"].as_str().unwrap().contains("→ Fix:"), "{told}");
        assert_eq!(told["headers"]["x-should-retry"], "false");
    }
    assert!(server.requests().is_empty());
    assert_eq!(server.finish().0, 0);
    assert!(session.receipts().is_empty());
}

#[test]
fn a_vendors_refusal_passes_as_it_is_once_and_costs_nothing() {
    let limited =
        || Scripted::error(Vendor::Anthropic, 429, "rate_limit_error", "slow down").header("retry-after", "7");
    let failing = || Scripted::error(Vendor::Anthropic, 529, "overloaded_error", "Overloaded");
    let server = crate::world::model_server::ModelServer::serving([limited(), failing()]);
    let session = Session::of(&server);
    let said = session.run(&[], &json!([call("messages", true), call("messages", true)]));
    assert_eq!(said.code, 0, "{}", said.all());
    let told = session.told();
    assert_eq!((&told[0]["status"], &told[0]["headers"]["retry-after"]), (&json!(429), &json!("7")));
    assert_eq!(told[1]["status"], 529);
    assert!(told[0]["body"].as_str().unwrap().contains("slow down"));
    assert_eq!(server.requests().len(), 2, "nothing is repeated");
    server.finish();
    let statuses: Vec<Value> = session.receipts().iter().map(|receipt| receipt["status"].clone()).collect();
    assert_eq!((statuses, session.spent()), (vec![json!("rate_limited"), json!("rate_limited")], 0));
}

#[test]
fn a_pinned_model_makes_every_call_and_side_calls_are_told_apart() {
    let server = vendor(|_| Say::text("x").usage(500, 10).into());
    let session = Session::of(&server);
    let named = |model: &str| {
        let mut step = call("messages", false);
        step["body"]["model"] = json!(model);
        step
    };
    let flags = ["--model", CLAUDE, "--side-model", "claude-haiku-5-5", "--max-cost-usd", "1"];
    let plan = json!([named("claude-opus-4-5"), named(CLAUDE), call("chat", false)]);
    let said = session.run(&flags, &plan);
    assert_eq!(said.code, 0, "{}", said.all());
    let asked: Vec<String> = server.requests().iter().map(|request| request.model.clone()).collect();
    assert_eq!(asked, ["claude-haiku-5-5", CLAUDE]);
    let told = session.told();
    assert_eq!(told[2]["status"], 400, "another wire would lead past the pin: {}", told[2]);
    let receipts = session.receipts();
    assert!(receipts[0]["scope"]["session_id"].as_str().unwrap().ends_with("-side"), "{}", receipts[0]);
    assert_eq!(receipts[0]["scope"]["parent_session_id"], receipts[1]["scope"]["session_id"]);
    server.finish();
}

#[test]
fn a_vendor_that_serves_a_dearer_tier_is_billed_as_such_and_asked_no_more() {
    let server = vendor(|_| {
        let usage = json!({"input_tokens": 1_000, "output_tokens": 100, "service_tier": "priority"});
        let message =
            json!({"type": "message", "model": CLAUDE, "content": [], "stop_reason": "end_turn", "usage": usage});
        Scripted::status(200, message.to_string()).header("content-type", "application/json")
    });
    let session = Session::of(&server);
    let said = session.run(&["--max-cost-usd", "5"], &json!([call("messages", false), call("messages", false)]));
    assert_eq!(said.code, 5, "{}", said.all());
    assert!(
        said.err.contains("served the service tier `priority`") && !said.err.contains("cap was reached"),
        "{}",
        said.err
    );
    let asked = server.requests();
    assert_eq!(asked.len(), 1, "the next call is refused");
    assert_eq!(asked[0].body["service_tier"], "standard_only");
    let Price { input, output, .. } = crate::gateway::price(CLAUDE);
    let receipts = session.receipts();
    let ordinary = (1_000 * input + 100 * output) / 1_000_000;
    assert_eq!(receipts[0]["cost"], json!(ordinary));
    assert_eq!(receipts[0]["unknown_cost"], json!(ordinary * 5 / 2 - ordinary), "what it may have cost beside");
    let told = session.told();
    // The program is ended soon after, so on a busy machine it may not come to tell it.
    let is_refusal = |told: &Value| told["status"] == 402 && told["body"].as_str().unwrap().contains("priority");
    assert!(told.get(1).is_none_or(is_refusal), "{told:?}");
    server.finish();
}

#[test]
fn a_server_that_knows_no_service_tiers_is_asked_for_none() {
    let server = vendor(|request| match request.body.get("service_tier") {
        Some(_) => Scripted::status(422, r#"{"error": {"message": "Extra inputs are not permitted: service_tier"}}"#),
        None => Say::text("hello").usage(500, 10).into(),
    });
    let session = Session::of(&server);
    let plan = json!([call("chat", false), call("chat", true), call("responses", false)]);
    let said = session.run(&["--max-cost-usd", "5"], &plan);
    assert_eq!(said.code, 0, "{}", said.all());
    let told = session.told();
    assert!(told.iter().all(|told| told["status"] == 200), "{told:?}");
    let tiers: Vec<bool> = server.requests().iter().map(|request| request.body.get("service_tier").is_some()).collect();
    assert_eq!(tiers, [true, false, false, true, false], "it is found out once a wire");
    let spent = session.spent();
    assert_eq!(spent, server.finish().0, "what was refused cost nothing");
}

#[test]
fn secrets_that_are_known_leave_in_no_body() {
    let server = vendor(|_| Say::text("x").usage(500, 10).into());
    let session = Session::of(&server);
    let mut leaks = call("messages", false);
    leaks["body"]["messages"][0]["content"] = json!(format!("I found this: {}", crate::world::program::KEY));
    assert_eq!(session.run(&["--max-cost-usd", "1"], &json!([leaks])).code, 0);
    let told = server.requests()[0].all_text();
    assert!(told.contains("I found this: ***"), "{told}");
    server.finish();
}
