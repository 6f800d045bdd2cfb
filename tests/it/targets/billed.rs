//! The model that a vendor says it billed stands beside the one that was asked: in the log, in every report.

use serde_json::{Value, json};

use super::{Scene, mends};
use crate::world::model_server::{Request, Say, Scripted};

/// The name that the vendor answers with.
const BILLED: &str = "claude-haiku-4-5-20251001";

/// Mends in one reply, and calls itself by another name.
fn mends_as(name: &'static str) -> impl FnMut(&Request) -> Scripted + Send {
    move |request| {
        let edit = json!({ "path": "shop/cart.py", "old_text": "sum(prices) - 1", "new_text": "sum(prices)" });
        let say = match request.turn() {
            0 => Say::call("read_file", json!({ "path": "shop/cart.py" })),
            1 => Say::call("edit_file", edit),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })),
        };
        say.billed_as(name).into()
    }
}

#[test]
fn another_model_than_was_asked_is_in_the_log_and_in_every_report() {
    let scene = Scene::new(mends_as(BILLED));
    let said = scene.run("claude-haiku-4-5 x1");
    assert_eq!(said.code, 0, "{}", said.all());
    let sentence = "anthropic/claude-haiku-4-5 was asked, and its vendor says that it billed claude-haiku-4-5-20251001";
    assert_eq!(said.out.matches(sentence).count(), 1, "once, however many calls: {}", said.out);
    let log = scene.log();
    let attempt = "SELECT model_artisan || ' ' || billed_artisan || ' ' || (billed_critic IS NULL) FROM tier_attempts";
    assert_eq!(log.value(attempt), format!("anthropic/claude-haiku-4-5 {BILLED} 1"));
    let calls =
        format!("SELECT COUNT(*) FROM model_calls WHERE model = 'claude-haiku-4-5' AND billed_model = '{BILLED}'");
    assert_eq!(log.number(&calls), 3);
    let report: Value = serde_json::from_str(&scene.call("report", &["--format", "json"]).out).expect("JSON");
    assert_eq!(report["billed_models"], json!([{ "asked": "anthropic/claude-haiku-4-5", "billed": BILLED }]));
    let comment = scene.call("report", &["--format", "md"]).out;
    assert!(comment.contains(&format!("says that it billed `{BILLED}`")), "{comment}");
    assert_eq!(scene.call("report", &["--verify"]).code, 0);
    scene.finish();
}

#[test]
fn the_model_that_was_asked_is_kept_and_not_spoken_of() {
    let scene = Scene::new(mends);
    let said = scene.run("claude-haiku-4-5 x1");
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(!said.out.contains("billed"), "{}", said.out);
    assert_eq!(scene.log().value("SELECT DISTINCT billed_model FROM model_calls"), "claude-haiku-4-5");
    let report: Value = serde_json::from_str(&scene.call("report", &["--format", "json"]).out).expect("JSON");
    assert_eq!(report.get("billed_models"), None);
    scene.finish();
}
