//! The router (S1-18): a role hands its task over to a specialist with a model of its own.

use serde_json::json;

use super::{Held, TIERS, brief, full_mode};
use crate::world::model_server::{Request, Say, Scripted};

/// The events after which a run is killed here.
pub(crate) const KILLS: [&str; 1] = ["routed:1"];

const CART: (&str, &str, &str) = ("shop/cart.py", "    return sum(prices) - 1", "    return sum(prices)");
const CONFIG: &str = "agent:
  router:
    web: {when: The tests lie below web/., models: claude-sonnet-4-5, maxTurns: 2@CAP@}
    sums: {when: A sum is wrong., instructions: Look at each sign., models: claude-sonnet-4-5, maxTurns: 2@CAP@}
";

fn is_specialist(request: &Request) -> bool {
    request.model.contains("sonnet")
}

fn hands_over() -> Scripted {
    Say::call("router__handoff_to", json!({ "destination": "sums", "message": "cart.py adds <wrongly>" }))
        .usage(500, 20)
        .into()
}

fn run(cap: &str, kill: &str, specialist: impl Fn(&Request) -> Scripted + Send + 'static) -> Held {
    let librarian = move |request: &Request| if is_specialist(request) { specialist(request) } else { hands_over() };
    Held::run(TIERS, &CONFIG.replace("@CAP@", cap), kill, full_mode(CART, librarian))
}

fn artisan(held: &Held) -> String {
    held.requests.iter().find(|request| request.system().contains("You repair")).expect("an artisan").all_text()
}

#[test]
fn a_librarian_hands_over_to_a_specialist_whose_brief_counts() {
    for kill in ["", KILLS[0]] {
        let held = run("", kill, |_| {
            Say::call("final_report", json!({ "summary": "the sign in total()", "status": "done" }))
                .usage(600, 30)
                .into()
        });
        assert_eq!(held.said.code, 0, "{}", held.said.all());
        held.assert_money_adds_up();
        assert_eq!(held.agents(), ["artisan", "critic", "librarian", "router/sums"]);
        let asked = |test: &dyn Fn(&Request) -> bool| held.requests.iter().filter(|one| test(one)).count();
        assert_eq!(asked(&is_specialist), 1, "nothing is paid twice");
        assert_eq!(asked(&|one| one.system().contains("You brief") && !is_specialist(one)), 1);
        let specialist = held.requests.iter().find(|one| is_specialist(one)).expect("a specialist");
        let told = specialist.all_text();
        assert!(
            told.contains("YOUR PART: Look at each sign.") && told.contains("ADVISORY from the librarian"),
            "{told}"
        );
        assert!(told.contains("cart.py adds <wrongly>"), "{told}");
        let offered = |one: &Request| one.tools().iter().any(|tool| tool == "router__handoff_to");
        let by_librarian: Vec<bool> = held.requests.iter().map(offered).collect();
        assert_eq!(by_librarian.iter().filter(|offered| **offered).count(), 1, "it hands nothing over itself");
        assert!(artisan(&held).contains("the sign in total()"));
        assert!(held.said.all().contains("librarian: hands over to sums"), "{}", held.said.all());
    }
}

/// Whatever becomes of a specialist: the verdict is the one without it.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_failing_specialist_changes_no_verdict() {
    type Answer = fn(&Request) -> Scripted;
    let cases: [(&str, &str, Answer); 5] = [
        ("status", "", |_| Scripted::status(400, "{}")),
        ("key", "", |_| Scripted::status(401, "{}")),
        ("blocked", "", |_| {
            let report = json!({ "summary": "no", "status": "blocked", "reason": "no input" });
            Say::call("final_report", report).usage(300, 20).into()
        }),
        ("turns", "", |_| Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(300, 20).into()),
        ("cap", ", maxCostUsd: 0.000001", |_| panic!("it cannot be asked")),
    ];
    for (name, cap, answer) in cases {
        let held = run(cap, "", answer);
        assert_eq!(held.said.code, 0, "{name}: {}", held.said.all());
        assert_eq!(held.document["outcome"], "fixed", "{name}");
        held.assert_money_adds_up();
        let warning = "the specialist sums did not do the librarian's part";
        assert!(held.said.all().contains(warning), "{name}: {}", held.said.all());
        assert!(artisan(&held).contains("cart.py adds <wrongly>"), "{name}: what the librarian found is the brief");
    }
}

#[test]
fn an_artisan_hands_over_with_what_it_changed() {
    let config =
        "agent: { router: { sums: { when: A sum is wrong., roles: [artisan], models: claude-sonnet-4-5 } } }\n";
    let held = Held::run("claude-haiku-4-5 x1", config, "", |request| match (is_specialist(request), request.turn()) {
        (false, 0) => {
            Say::call("write_file", json!({ "path": "shop/more.py", "content": "VALUE = 1\n" })).usage(900, 40).into()
        }
        (false, _) => hands_over(),
        (true, 0) => {
            let edit = json!({ "path": CART.0, "old_text": CART.1, "new_text": CART.2 });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        (true, _) => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(900, 40).into(),
    });
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    held.assert_money_adds_up();
    assert_eq!(held.agents(), ["artisan", "router/sums"]);
    let files = held.document["diff_stat"].to_string();
    assert!(files.contains("shop/cart.py") && files.contains("shop/more.py"), "{files}: {}", held.document);
}

#[test]
fn a_correction_that_an_artisan_was_refused_outlives_the_handing_over() {
    let config =
        "agent: { router: { sums: { when: A sum is wrong., roles: [artisan], models: claude-sonnet-4-5 } } }\n";
    let held = Held::run("claude-haiku-4-5 x1", config, "", |request| match (is_specialist(request), request.turn()) {
        (false, 0) => {
            let edit =
                json!({ "path": "tests/test_cart.py", "old_text": "[1, 2, 3]), 6", "new_text": "[1, 2, 3]), 5" });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        (false, _) => hands_over(),
        (true, _) => {
            let report = json!({ "summary": "the test is wrong", "status": "blocked", "reason": "it asks for 6", "blocked_on": "test" });
            Say::call("final_report", report).usage(900, 40).into()
        }
    });
    assert_eq!(held.said.code, 1, "{}", held.said.all());
    assert_eq!(held.document["corrections"][0]["files"], json!(["tests/test_cart.py"]), "{}", held.document);
}

#[test]
fn a_report_beside_it_stands_and_an_unknown_name_is_answered() {
    let librarian = |request: &Request| match request.turn() {
        0 => Say::call("router__handoff_to", json!({ "destination": "nobody" })).usage(400, 20).into(),
        _ => {
            let told = request.tool_results()[0].content.clone();
            assert!(told.contains("`destination` must be one of sums, web, not `nobody`"), "{told}");
            Say::call("router__handoff_to", json!({ "destination": "web" }))
                .and_call("final_report", json!({ "summary": "look at the sum", "status": "done" }))
                .usage(500, 20)
                .into()
        }
    };
    let held = Held::run(TIERS, &CONFIG.replace("@CAP@", ""), "", full_mode(CART, librarian));
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    assert_eq!(held.log.number("SELECT COUNT(*) FROM events WHERE kind = 'routed'"), 0);
    assert!(artisan(&held).contains("look at the sum"));
}

#[test]
fn who_has_nobody_to_hand_over_to_is_not_offered_it() {
    let librarian = |_: &Request| brief();
    let held = Held::run(TIERS, "agent: { maxTurns: 9 }\n", "", full_mode(CART, librarian));
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    assert!(held.requests.iter().all(|one| !one.tools().iter().any(|tool| tool.contains("router"))));
}

/// The last turn leaves a report or somebody who will give one (S1-11).
#[test]
fn a_task_may_be_handed_over_on_the_last_turn() {
    let config =
        "agent: { maxTurns: 1, router: { sums: { when: A sum is wrong., models: claude-sonnet-4-5, maxTurns: 2 } } }\n";
    let librarian = |request: &Request| if is_specialist(request) { brief() } else { hands_over() };
    let held = Held::run(TIERS, config, "", full_mode(CART, librarian));
    held.assert_money_adds_up();
    assert_eq!(held.log.number("SELECT COUNT(*) FROM events WHERE kind = 'routed'"), 1, "{}", held.said.all());
    assert!(artisan(&held).contains("look at the sum"));
}

/// The words that stand in for a specialist's brief are none of a session that came to its end.
#[test]
fn what_stands_in_for_a_specialist_is_not_kept() {
    let config = format!("{}  cache: true\n", CONFIG.replace("@CAP@", ""));
    let librarian = |request: &Request| {
        if !is_specialist(request) {
            return hands_over();
        }
        let report = json!({ "summary": "no", "status": "blocked", "reason": "no input" });
        Say::call("final_report", report).usage(300, 20).into()
    };
    let held = Held::run(TIERS, &config, "", full_mode(CART, librarian));
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    let kept = held.log.rows("SELECT json_extract(body, '$.role') FROM events WHERE kind = 'report_kept'");
    assert_eq!(kept, [["critic"]]);
}
