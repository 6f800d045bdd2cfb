//! Handoff (S1-18): texts about a proven change, behind the verdict and without a vote in it.

use serde_json::json;

use super::Held;
use crate::world::model_server::{Request, Say, Scripted};

/// The events after which a run is killed here.
pub(crate) const KILLS: [&str; 1] = ["handed_off:1"];

const CONFIG: &str = "agent:
  handoff:
    pull_request: {models: claude-sonnet-4-5, maxTurns: 2@CAP@}
    release_note: {models: claude-sonnet-4-5, maxTurns: 2@CAP@}
";

fn is_text(request: &Request) -> bool {
    request.system().contains("You write about a change")
}

/// Replaces the wrong sum, and reports.
fn artisan(request: &Request, new: &str) -> Scripted {
    match request.turn() {
        0 => {
            let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": new });
            Say::call("edit_file", edit).usage(900, 40).into()
        }
        _ => {
            Say::call("final_report", json!({ "summary": "took the -1 away", "status": "done" })).usage(900, 40).into()
        }
    }
}

fn text(words: &str) -> Scripted {
    Say::call("final_report", json!({ "summary": words, "status": "done" })).usage(500, 20).into()
}

fn run(cap: &str, kill: &str, writer: impl Fn(&Request) -> Scripted + Send + 'static) -> Held {
    Held::run("claude-haiku-4-5 x1", &CONFIG.replace("@CAP@", cap), kill, move |request| {
        if is_text(request) { writer(request) } else { artisan(request, "sum(prices)") }
    })
}

#[test]
fn texts_are_written_about_a_proven_change_from_the_request_and_the_response() {
    for kill in ["", KILLS[0]] {
        let held = run("", kill, |request| {
            text(if request.all_text().contains("release notes") {
                "Totals are right."
            } else {
                "The <b>sign</b> was wrong."
            })
        });
        assert_eq!(held.said.code, 0, "{}", held.said.all());
        held.assert_money_adds_up();
        assert_eq!(held.agents(), ["artisan", "handoff/pull_request", "handoff/release_note"]);
        let asked: Vec<&Request> = held.requests.iter().filter(|request| is_text(request)).collect();
        assert_eq!(asked.len(), 2, "nothing is paid twice");
        let told = asked[0].all_text();
        assert!(told.contains("took the -1 away") && told.contains("+    return sum(prices)"), "{told}");
        assert!(told.contains("make the failing tests pass") && told.contains("test_total"), "{told}");
        assert!(asked.iter().all(|one| !one.tools().iter().any(|tool| tool.contains("edit"))));
        assert_eq!(held.document["handoff"][0]["name"], "pull_request");
        assert_eq!(held.document["handoff"][1]["said"], "Totals are right.");
        let order = held
            .log
            .rows("SELECT kind FROM events WHERE kind IN ('tests_finished', 'handed_off') ORDER BY seq DESC LIMIT 1");
        assert_eq!(order, [["handed_off"]], "behind the verdict");
    }
}

/// Whatever becomes of a text: the verdict stands.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_text_that_is_not_written_changes_no_verdict() {
    type Answer = fn() -> Scripted;
    let cases: [(&str, &str, Answer); 5] = [
        ("status", "", || Scripted::status(400, "{}")),
        ("key", "", || Scripted::status(401, "{}")),
        ("turns", "", || Say::call("read_file", json!({ "path": "shop/cart.py" })).usage(300, 20).into()),
        ("time", ", timeoutSeconds: 1", || Scripted::Hang),
        ("cap", ", maxCostUsd: 0.000001", || panic!("it cannot be asked")),
    ];
    for (name, cap, answer) in cases {
        let held = run(cap, "", move |_| answer());
        assert_eq!((held.said.code, &held.document["outcome"]), (0, &json!("fixed")), "{name}: {}", held.said.all());
        held.assert_money_adds_up();
        assert_eq!(held.document["handoff"][0]["given"], false, "{name}");
        assert!(held.said.all().contains("text release_note was not written: "), "{name}: {}", held.said.all());
    }
}

#[test]
fn nothing_is_written_about_a_change_that_is_not_green() {
    let held = Held::run("claude-haiku-4-5 x1", &CONFIG.replace("@CAP@", ""), "", |request| {
        assert!(!is_text(request), "nobody is asked");
        artisan(request, "sum(prices) - 2")
    });
    assert_eq!(held.said.code, 1, "{}", held.said.all());
    assert!(held.document.get("handoff").is_none());
}
