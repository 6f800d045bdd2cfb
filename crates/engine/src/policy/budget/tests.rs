use proptest::prelude::*;

use super::*;

fn budget(cost: u64, iterations: u32, minutes: u64) -> Budget {
    Budget { max_cost: MicroUsd(cost), max_iterations: iterations, max_active_ms: minutes * MS_PER_MINUTE }
}

fn known(micros: u64) -> Charge {
    Charge { known: MicroUsd(micros), ..Charge::ZERO }
}

fn unknown(micros: u64) -> Charge {
    Charge { unknown: MicroUsd(micros), ..Charge::ZERO }
}

fn spent(cost: u64, iterations: u32, active_ms: u64) -> Spent {
    Spent { cost: MicroUsd(cost), iterations, active_ms, ..Spent::default() }
}

fn model(price: Option<Price>, max_output_tokens: u64) -> ModelInfo {
    ModelInfo { context_window: 200_000, max_output_tokens, price, tools: true, source: "test".into() }
}

#[test]
fn caps_are_evaluated_in_order_and_reached_at_equality_with_the_contracts_words() {
    let caps = budget(2_000_000, 30, 15);
    for (spent, reason) in [
        (spent(1_999_999, 29, 899_999), None),
        (spent(0, 30, 0), Some("max_iterations reached (30)")),
        (spent(2_000_000, 30, 900_000), Some("max_iterations reached (30)")),
        (spent(2_010_000, 3, 900_000), Some("max_cost_usd exceeded ($2.01 / $2.00)")),
        (spent(0, 3, 900_000), Some("max_duration_minutes exceeded (15.0 / 15)")),
        (spent(0, 3, 915_000), Some("max_duration_minutes exceeded (15.3 / 15)")),
    ] {
        assert_eq!(check(&caps, &spent).as_deref(), reason);
    }
    let half_a_minute = Budget { max_active_ms: 30_000, ..caps };
    let reason = check(&half_a_minute, &spent(0, 0, 30_000));
    assert_eq!(reason.as_deref(), Some("max_duration_minutes exceeded (0.5 / 0.5)"));
}

#[test]
fn each_cap_is_warned_about_once_from_eighty_percent() {
    let caps = budget(1_000_000, 10, 10);
    let mut warnings = Warnings::default();
    assert_eq!(warnings.observe(&caps, &spent(799_999, 7, 0)), vec![]);
    let first = warnings.observe(&caps, &spent(850_000, 8, 0));
    assert_eq!(
        first,
        vec![
            Warning { dimension: Dimension::Iterations, percent: 80 },
            Warning { dimension: Dimension::Cost, percent: 85 },
        ]
    );
    assert_eq!(warnings.observe(&caps, &spent(990_000, 9, 0)), vec![]);
    let last = warnings.observe(&caps, &spent(990_000, 9, 600_000));
    assert_eq!(last, vec![Warning { dimension: Dimension::Duration, percent: 100 }]);
}

#[test]
fn a_quote_counts_bytes_as_tokens_at_the_dearest_price() {
    let price = Price { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
    let quote = quote(&model(Some(price), 64_000), 10_000, MicroUsd(2_000_000)).unwrap();
    assert_eq!(quote.max_output_tokens, MAX_REPLY_TOKENS);
    // (10,000 + 1,024) tokens at $1.25 and 16,384 at $5 per million.
    assert_eq!(quote.reserve, MicroUsd(13_780 + 81_920));
}

#[test]
fn a_nearly_spent_budget_shortens_the_reply_and_then_refuses_the_call() {
    let price = Price { input: 1_000_000, output: 10_000_000, ..Price::default() };
    let info = model(Some(price), 64_000);
    let prompt = 1_000 + VENDOR_OVERHEAD_TOKENS;
    let short = quote(&info, 1_000, MicroUsd(prompt + 20_000)).unwrap();
    assert_eq!(short, Quote { max_output_tokens: 2_000, reserve: MicroUsd(prompt + 20_000) });
    let refused = quote(&info, 1_000, MicroUsd(prompt + 10_239)).unwrap_err();
    assert!(refused.reason.contains("$0.0123") && refused.reason.contains("left"), "{refused}");
    assert!(quote(&info, 1_000, MicroUsd(prompt + 10_240)).is_ok());
    assert!(quote(&info, u64::MAX, MicroUsd(u64::MAX)).is_err());
}

#[test]
fn a_free_model_is_always_affordable_and_an_unpriced_one_never() {
    let free = quote(&model(Some(Price::default()), 4_000), u64::MAX, MicroUsd::ZERO).unwrap();
    assert_eq!(free, Quote { max_output_tokens: 4_000, reserve: MicroUsd::ZERO });
    assert!(quote(&model(None, 4_000), 1, MicroUsd(u64::MAX)).is_err());
}

#[test]
fn a_model_with_short_replies_is_usable_at_its_own_limit() {
    let price = Price { input: 0, output: 1_000_000, ..Price::default() };
    assert_eq!(quote(&model(Some(price), 512), 1, MicroUsd(512)).unwrap().max_output_tokens, 512);
    assert!(quote(&model(Some(price), 512), 1, MicroUsd(511)).is_err());
}

/// The settling of a call whose counts are its whole bill.
fn settle(info: &ModelInfo, usage: Option<&Usage>, reserved: MicroUsd, billing: Billing) -> Charge {
    super::settle(info, Told { usage, bill: &Bill::default(), served: None }, reserved, billing)
}

#[test]
fn an_open_bill_has_the_told_part_as_known_and_the_rest_of_the_reservation_as_unknown() {
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::default() };
    let info = model(Some(price), 4_000);
    let usage = Usage { input: 10, output: 1, ..Usage::default() };
    let settle = |bill: Bill, served: Option<&Price>| {
        let told = Told { usage: Some(&usage), bill: &bill, served };
        let charge = super::settle(&info, told, MicroUsd(99), Billing::Possible);
        (charge.known.0, charge.unknown.0)
    };
    assert_eq!(settle(Bill { is_open: true, ..Bill::default() }, None), (11, 88));
    let amount = |micros| Bill { amount: Some(MicroUsd(micros)), ..Bill::default() };
    assert_eq!((settle(amount(30), None), settle(amount(5), None)), ((30, 0), (11, 0)), "the larger counts");
    assert_eq!(settle(Bill { is_open: true, ..amount(30) }, None), (30, 69));
    let tier = Bill { dear_tier: Some("priority".to_owned()), ..Bill::default() };
    assert_eq!(settle(tier, None), (11, 17), "at most five halves");
    let dearer = Price { input: 5_000_000, output: 5_000_000, ..price };
    assert_eq!(settle(Bill::default(), Some(&dearer)), (55, 0), "another model was served");
}

#[test]
fn unknown_usage_settles_at_the_reservation_when_it_may_be_billed() {
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::default() };
    let info = model(Some(price), 4_000);
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    assert_eq!(settle(&info, Some(&usage), MicroUsd(99), Billing::Impossible), known(15));
    assert_eq!(settle(&info, None, MicroUsd(99), Billing::Possible), unknown(99));
    assert_eq!(settle(&info, None, MicroUsd(99), Billing::Impossible), Charge::ZERO);
    assert_eq!(settle(&model(None, 1), Some(&usage), MicroUsd(99), Billing::Impossible), unknown(99));
}

prop_compose! {
    fn any_price()(input in 0u64..100_000_000, output in 0u64..100_000_000, cache_read in 0u64..100_000_000,
                   cache_write in 0u64..200_000_000) -> Price {
        Price { input, output, cache_read, cache_write }
    }
}

/// The vendor's side of one call: how its prompt tokens divide, how much of the limits it uses, whether it says so.
#[derive(Debug, Clone)]
struct Call {
    bytes: u64,
    prompt_permille: u64,
    cached_permille: u64,
    written_permille: u64,
    output_permille: u64,
    usage_known: bool,
}

prop_compose! {
    fn any_call()(bytes in 0u64..2_000_000, prompt_permille in 0u64..=1_000, cached_permille in 0u64..=1_000,
                  written_permille in 0u64..=1_000, output_permille in 0u64..=1_000, usage_known in any::<bool>()) -> Call {
        Call { bytes, prompt_permille, cached_permille, written_permille, output_permille, usage_known }
    }
}

impl Call {
    fn usage(&self, quote: &Quote) -> Usage {
        let prompt = (self.bytes + VENDOR_OVERHEAD_TOKENS) * self.prompt_permille / 1_000;
        let cache_read = prompt * self.cached_permille / 1_000;
        let cache_write = (prompt - cache_read) * self.written_permille / 1_000;
        Usage {
            input: prompt - cache_read - cache_write,
            output: quote.max_output_tokens * self.output_permille / 1_000,
            cache_read,
            cache_write,
            reasoning: 0,
        }
    }
}

proptest! {
    #[test]
    fn a_reservation_covers_every_usage_within_the_quote(price in any_price(), call in any_call(), left in 0u64..1_000_000_000) {
        let info = model(Some(price), 64_000);
        if let Ok(quote) = quote(&info, call.bytes, MicroUsd(left)) {
            prop_assert!(quote.reserve <= MicroUsd(left) || quote.reserve == MicroUsd::ZERO);
            prop_assert!(quote.max_output_tokens >= MIN_REPLY_TOKENS && quote.max_output_tokens <= MAX_REPLY_TOKENS);
            let cost = settle(&info, Some(&call.usage(&quote)), quote.reserve, Billing::Possible);
            prop_assert!(cost.total() <= quote.reserve);
        }
    }

    #[test]
    fn no_script_of_calls_ever_passes_the_cap(price in any_price(), calls in prop::collection::vec(any_call(), 0..60),
                                              cap in 0u64..50_000_000) {
        let info = model(Some(price), 64_000);
        let mut total = MicroUsd::ZERO;
        for call in calls {
            let Ok(quote) = quote(&info, call.bytes, MicroUsd(cap).saturating_sub(total)) else { continue };
            let usage = call.usage(&quote);
            total += settle(&info, call.usage_known.then_some(&usage), quote.reserve, Billing::Possible).total();
            prop_assert!(total <= MicroUsd(cap));
        }
    }

    #[test]
    fn a_quote_is_as_generous_as_the_cap_allows(price in any_price(), bytes in 0u64..100_000, left in 0u64..100_000_000) {
        let info = model(Some(price), 64_000);
        if let Ok(quote) = quote(&info, bytes, MicroUsd(left)) && quote.max_output_tokens < MAX_REPLY_TOKENS {
            let one_more = worst_case(&price, bytes + VENDOR_OVERHEAD_TOKENS, quote.max_output_tokens + 1);
            prop_assert!(one_more > MicroUsd(left));
        }
    }
}

#[test]
fn money_suffices_for_caps_that_it_covers_together() {
    let suffices = |left, caps: [u64; 2]| super::suffices(MicroUsd(left), caps.map(MicroUsd).into_iter());
    assert!(suffices(30, [10, 20]) && suffices(0, [0, 0]));
    assert!(!suffices(29, [10, 20]) && !suffices(u64::MAX - 1, [u64::MAX, u64::MAX]));
}
