//! The bill that an answer tells of beside its counts, the same for all wires.

use serde_json::Value;

use crate::domain::bill::{Bill, is_dear_tier};
use crate::domain::units::MicroUsd;

/// The longest name of a service tier that is kept.
const MAX_TIER_CHARS: usize = 40;
/// The most that one call is believed to have cost, in dollars: amounts beyond would only break sums.
const MOST_USD: f64 = 1_000_000.0;

/// Reads the bill of a whole answer, whose counts stand in `counts`.
///
/// `OpenAI` and Groq name the tier beside the counts, Anthropic and Gemini among them, and Anthropic its fast mode as a speed. OpenRouter
/// tells what it charged, in dollars, and what a user's own key was charged beside that (openrouter.ai/docs, "Usage Accounting").
pub(super) fn bill_of(answer: &Value, counts: Option<&Value>) -> Bill {
    let among = |key: &str| counts.and_then(|counts| counts.get(key));
    let tiers = [answer.get("service_tier"), among("service_tier"), among("serviceTier"), among("speed")];
    let mut names = tiers.into_iter().flatten().filter_map(Value::as_str);
    let dear_tier = names.find(|name| is_dear_tier(name));
    let own_key = among("is_byok").is_some_and(|own| *own == true);
    let upstream = counts.and_then(|counts| counts.pointer("/cost_details/upstream_inference_cost"));
    let dollars = |value: Option<&Value>| value.and_then(Value::as_f64).filter(|usd| *usd > 0.0);
    let billed = dollars(among("cost")).unwrap_or(0.0) + dollars(upstream.filter(|_| own_key)).unwrap_or(0.0);
    let amount = (billed > 0.0).then(|| MicroUsd::from_usd(billed.min(MOST_USD))).flatten();
    Bill {
        amount,
        dear_tier: dear_tier.map(|name| name.to_ascii_lowercase().chars().take(MAX_TIER_CHARS).collect()),
        is_open: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bill(answer: &Value) -> Bill {
        bill_of(answer, answer.get("usage"))
    }

    #[test]
    fn a_dear_tier_is_found_wherever_its_vendor_names_it() {
        for answer in [
            json!({"service_tier": "priority", "usage": {}}),
            json!({"service_tier": "auto", "usage": {"service_tier": "Priority"}}),
            json!({"usage": {"serviceTier": "PRIORITY"}}),
        ] {
            assert_eq!(bill(&answer).dear_tier.as_deref(), Some("priority"), "{answer}");
        }
        assert_eq!(bill(&json!({"usage": {"speed": "fast"}})).dear_tier.as_deref(), Some("fast"));
        for answer in [json!({}), json!({"service_tier": "default"}), json!({"usage": {"service_tier": "standard"}})] {
            assert!(bill(&answer).is_plain(), "{answer}");
        }
    }

    #[test]
    fn the_amount_that_a_vendor_tells_is_read_in_dollars() {
        let amount = |usage: Value| bill(&json!({ "usage": usage })).amount;
        assert_eq!(amount(json!({"cost": 0.6})), Some(MicroUsd(600_000)));
        assert_eq!(
            amount(json!({"cost": 0.01, "is_byok": false, "cost_details": {"upstream_inference_cost": 1}})),
            Some(MicroUsd(10_000))
        );
        assert_eq!(
            amount(json!({"cost": 0.01, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.2}})),
            Some(MicroUsd(210_000))
        );
        assert_eq!(amount(json!({"cost": 1e300})), Some(MicroUsd(1_000_000_000_000)));
        for nothing in
            [json!({"cost": 0}), json!({"cost": -1}), json!({"cost": "0.6"}), json!({"cost": null}), json!({})]
        {
            assert_eq!(amount(nothing.clone()), None, "{nothing}");
        }
    }
}
