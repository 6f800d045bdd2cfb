//! Keys, quotas and models that a vendor refuses.

use serde_json::json;

use super::{LADDER, Scene, mends};
use crate::world::model_server::{Scripted, Vendor};

fn refused_key() -> Scripted {
    Scripted::error(Vendor::Anthropic, 401, "authentication_error", "invalid x-api-key")
}

#[test]
fn a_refused_key_is_asked_once_and_every_tier_of_it_is_skipped_in_one_sentence() {
    let scene = Scene::new(|_| refused_key());
    let said = scene.run(LADDER);
    assert_eq!(said.code, 5, "{}", said.all());
    assert_eq!(scene.asked().len(), 1, "one key, one call: {}", said.all());
    let why = "refuses the key in ANTHROPIC_API_KEY";
    let skip = said.err.lines().filter(|line| line.contains("◆ Skipped:")).collect::<Vec<_>>();
    let [skip] = skip.as_slice() else { panic!("{}", said.all()) };
    assert!(skip.contains("Tier 2 (claude-sonnet-4-5), Tier 3 (claude-opus-4-6)") && skip.contains(why), "{skip}");
    assert!(said.out.contains("✖ no model") && said.out.contains("check the key in ANTHROPIC_API_KEY"), "{}", said.out);
    assert!(said.out.contains("  Skipped: Tiers 2, 3: ") && said.out.matches(why).count() == 1, "{}", said.out);
    let tiers: Vec<_> = said.out.lines().filter(|line| line.contains("— (skipped)")).collect();
    assert_eq!(tiers.len(), 2, "{}", said.out);
    let after = said.err.split("Iteration 1/2").nth(1).expect("an iteration");
    assert!(after.lines().count() <= 8, "a few lines, not forty: {after}");
    scene.finish();
}

/// What each vendor says of a key or an account that it refuses, in its own shape.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn every_vendors_refusal_takes_its_key_out() {
    let openai = |code: u16, kind: &str, message: &str| {
        let error = json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } });
        Scripted::status(code, error.to_string())
    };
    let plain = |code: u16, body: &str| Scripted::status(code, body);
    for (vendor, answer) in [
        ("openai: key", openai(401, "invalid_api_key", "Incorrect API key provided: sk-none.")),
        (
            "openai: quota",
            openai(429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
        ),
        ("deepseek: balance", openai(402, "unknown_error", "Insufficient Balance")),
        ("openrouter: credit", plain(402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#)),
        ("openrouter: key", plain(401, r#"{"error":{"code":401,"message":"User not found."}}"#)),
        ("mistral: key", plain(401, r#"{"detail":"Unauthorized"}"#)),
        ("groq: key", openai(401, "invalid_api_key", "Invalid API Key")),
        (
            "xai: key",
            plain(
                400,
                r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***. invalid api key"}"#,
            ),
        ),
        (
            "azure: key",
            plain(
                401,
                r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}"#,
            ),
        ),
    ] {
        let scene = Scene::new(mends).and_another(move |_| answer.clone());
        let said = scene.run("other/strong x2 > claude-haiku-4-5 x1");
        assert_eq!(said.code, 0, "{vendor}: {}", said.all());
        let other = scene.other.as_ref().expect("a vendor").requests().len();
        assert_eq!(other, 1, "{vendor}: {}", said.all());
        assert!(said.out.contains("✔ Fixed by Tier 2"), "{vendor}: {}", said.out);
        scene.finish();
    }
}

#[test]
fn a_next_tier_of_another_vendor_is_used_and_what_lies_between_is_skipped() {
    let scene = Scene::new(|_| refused_key()).and_another(mends);
    let said = scene.run("claude-haiku-4-5 x2 > claude-opus-4-6 x2 > other/strong x1");
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(scene.asked(), ["claude-haiku-4-5"]);
    assert!(said.out.contains("✔ Fixed by Tier 3") && said.out.contains("  Skipped: Tier 2: "), "{}", said.out);
    let json = scene.call("report", &["--format", "json"]).out;
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let states: Vec<_> = report["tiers"].as_array().expect("tiers").iter().map(|tier| tier["state"].clone()).collect();
    assert_eq!(states, ["no_model", "skipped", "solved"]);
    assert!(report["tiers"][1]["reason"].as_str().is_some_and(|reason| reason.contains("refuses the key")), "{json}");
    let comment = scene.call("report", &["--format", "md"]).out;
    assert!(comment.contains("| – skipped | ") && comment.matches("refuses the key").count() == 1, "{comment}");
    scene.finish();
}

#[test]
fn a_model_that_is_not_known_or_not_allowed_is_one_targets_trouble() {
    for (code, kind, message) in [
        (404, "not_found_error", "model: claude-haiku-4-5"),
        (403, "permission_error", "Your API key does not have access to model claude-haiku-4-5"),
    ] {
        let scene = Scene::new(move |request| {
            if request.model.contains("haiku") {
                return Scripted::error(Vendor::Anthropic, code, kind, message);
            }
            mends(request)
        });
        let said = scene.run(LADDER);
        assert_eq!(said.code, 0, "{code}: {}", said.all());
        assert!(said.out.contains("✔ Fixed by Tier 2"), "{code}: {}", said.out);
        assert_eq!(scene.asked(), ["claude-haiku-4-5", "claude-sonnet-4-5", "claude-sonnet-4-5", "claude-sonnet-4-5"]);
        scene.finish();
    }
}

#[test]
fn a_tier_whose_critic_cannot_be_asked_is_not_entered() {
    let scene = Scene::new(mends).and_another(|_| {
        let error = json!({ "error": { "message": "Incorrect API key provided", "code": "invalid_api_key" } });
        Scripted::status(401, error.to_string())
    });
    let tier = |name: &str, mode: &str, artisan: &str, critic: &str| {
        json!({ "name": name, "mode": mode, "maxIterations": 1,
                "models": { "artisan": artisan, "librarian": artisan, "critic": critic } })
    };
    let tiers = json!({ "tiers": [
        tier("first", "simple", "other/strong", "other/strong"),
        tier("reviewed", "full", "claude-haiku-4-5", "other/strong"),
        tier("plain", "simple", "claude-haiku-4-5", "claude-haiku-4-5"),
    ] });
    let said = scene.run(&tiers.to_string());
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.out.contains("✔ Fixed by Tier 3") && said.out.contains("  Skipped: Tier 2: "), "{}", said.out);
    assert_eq!(scene.asked().len(), 3, "no librarian was paid for a tier without its critic");
    scene.finish();
}

#[test]
fn a_process_killed_after_a_refusal_asks_no_tier_that_it_skipped() {
    let [unavailable, skipped] = super::KILLS;
    for (crash, asked) in [(unavailable, 2), (skipped, 1)] {
        let scene = Scene::new(|_| refused_key()).with("UPSHIFT_CRASH_AFTER", crash);
        assert_eq!(scene.run(LADDER).code, -9);
        let scene = scene.with("UPSHIFT_CRASH_AFTER", "");
        let resumed = scene.call("resume", &[]);
        assert_eq!(resumed.code, 5, "{crash}: {}", resumed.all());
        assert!(resumed.out.contains("  Skipped: Tiers 2, 3: "), "{crash}: {}", resumed.out);
        assert_eq!(scene.asked(), vec!["claude-haiku-4-5"; asked], "{crash}");
        scene.finish();
    }
}
