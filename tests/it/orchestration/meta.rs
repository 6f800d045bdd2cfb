//! META (S1-12) whose vendor is silent or limits: the report that it was to stand beside counts all the same.

use serde_json::json;

use super::{Held, TIERS, brief, full_mode, mended};
use crate::world::model_server::{Request, Scripted};

/// A vendor that gives no block.
fn silent() -> Scripted {
    Scripted::Hang
}

fn limited() -> Scripted {
    Scripted::status(429, r#"{"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}"#)
        .header("retry-after", "300")
}

/// The configuration of a role that owes a block in a run of half a minute.
fn config(role: &str) -> String {
    format!(
        "global: {{maxTotalDurationMinutes: 0.5}}\nagent: {{meta: {{word: {{role: {role}, schema: {{type: string}}}}}}}}\n"
    )
}

fn assert_fixed_without_it(held: &Held, role: &str) {
    assert_eq!(held.said.code, 0, "{role}: {}", held.said.all());
    let sql = format!(
        "SELECT json_extract(body, '$.exit') FROM events WHERE kind = 'session_finished' AND json_extract(body, '$.role') = '{role}'"
    );
    assert_eq!(held.log.rows(&sql), [["EXIT-FINAL-META-MISSING"]], "{}", held.said.all());
    let sql = "SELECT COUNT(*) FROM events WHERE kind = 'call_settled' AND json_extract(body, '$.scope.attempt') > 1";
    assert_eq!(held.log.number(sql), 0, "one attempt: {}", held.said.all());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_fix_is_judged_although_its_block_of_data_never_comes() {
    for keeps_away in [silent, limited] {
        let held = Held::run("claude-haiku-4-5 x1", &config("artisan"), "", move |request| {
            if request.turn() > 1 { keeps_away() } else { mended(request) }
        });
        assert_fixed_without_it(&held, "artisan");
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_brief_and_a_review_are_used_although_their_blocks_never_come() {
    for (role, word) in [("librarian", "You brief"), ("critic", "You review")] {
        let cart = ("shop/cart.py", "sum(prices) - 1", "sum(prices)");
        let mut full = full_mode(cart, |_| brief());
        let held = Held::run(TIERS, &config(role), "", move |request: &Request| {
            if request.system().contains(word) && request.turn() > 0 { silent() } else { full(request) }
        });
        assert_fixed_without_it(&held, role);
    }
}

/// What is no call of a tool, but the whole of a reply, is the report all the same.
#[test]
fn a_report_that_is_written_as_a_bare_object_counts() {
    let held = Held::run("claude-haiku-4-5 x1", "agent: {maxTurns: 9}\n", "", |request| match request.turn() {
        0 => mended(request),
        _ => crate::world::model_server::Say::text(json!({ "summary": "mended", "status": "done" }).to_string())
            .usage(100, 10)
            .into(),
    });
    assert_eq!(held.said.code, 0, "{}", held.said.all());
    let exits = "SELECT json_extract(body, '$.exit') FROM events WHERE kind = 'session_finished'";
    assert_eq!(held.log.rows(exits), [["EXIT-FINAL-ANSWER"]]);
    assert_eq!(held.requests.len(), 2, "it was not asked once more");
}
