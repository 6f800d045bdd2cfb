//! Whatever models and vendors do: an end with a report, within the cap, in bounded calls. The checks of
//! [`Bench::run`] hold for each.

use proptest::prelude::*;

use super::*;

fn anything() -> impl Strategy<Value = Step> {
    let unusual = |stop| Step::Reply(Reply { stop, ..reply("x", &[edit_calc()]) });
    let limited = CallFailure { retry_after_ms: Some(u64::MAX), ..failure(CallStatus::RateLimited, true) };
    let billed = CallFailure { may_be_billed: true, ..failure(CallStatus::NetworkError, true) };
    prop::sample::select(vec![
        read_calc(),
        calls(&[edit_calc()]),
        calls(&[("run_tests", json!({}))]),
        calls(&[("shell", json!({})), ("read_file", json!("{"))]),
        calls(&[("final_report", json!({"summary": "x"}))]),
        says(""),
        says("Hm."),
        done(),
        calls(&[("final_report", json!({"meta": {"risk": {"level": "low", "why": "one line"}}}))]),
        says("META risk {\"level\": \"low\", \"why\": \"one line\"}"),
        says("META risk {\"level\": \"none\"}"),
        says("calc.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"),
        unusual(StopReason::Length),
        unusual(StopReason::Refusal),
        unusual(StopReason::ContentFilter),
        unusual(StopReason::Other),
        Step::Reply(Reply { usage: None, ..reply("", &[edit_calc()]) }),
        Step::Hang,
        Step::Fail(limited),
        Step::Fail(billed),
        fails(CallStatus::ModelError, true),
        fails(CallStatus::ModelError, false),
        fails(CallStatus::InvalidResponse, true),
        fails(CallStatus::ContextOverflow, false),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_session_always_ends_with_a_report_and_within_its_cap(
        one in prop::collection::vec(anything(), 0..12),
        two in prop::collection::vec(anything(), 0..12),
        cap in 0u64..200_000,
        max_turns in 1u32..8,
        tools in any::<bool>(),
        meta in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let refused = || fails(CallStatus::AuthError, false);
        let script = |steps: Vec<Step>| steps.into_iter().chain(std::iter::repeat_n(refused(), 30)).collect();
        let mut bench = Bench::with_targets(vec![("a/one", script(one)), ("b/two", script(two))]);
        bench.info("b/two").tools = tools;
        bench.cap = MicroUsd(cap);
        bench.limits.max_turns = max_turns;
        let most_turns = if meta { max_turns + crate::session::meta::META_TURNS } else { max_turns };
        if meta {
            bench.meta = vec![blocks::risk()];
        }
        bench.test_answers.borrow_mut().extend((0..30).map(|_| TestAnswer::Says("failed")));
        let end = runtime.block_on(bench.run());
        prop_assert!(end.cost.total() <= bench.cap, "{} of {}", end.cost.total(), bench.cap);
        prop_assert!(end.turns <= most_turns);
        let mut attempts: std::collections::BTreeMap<u32, u32> = BTreeMap::new();
        for receipt in bench.receipts() {
            *attempts.entry(receipt.scope.turn).or_default() += 1;
        }
        prop_assert!(attempts.values().all(|&count| count <= bench.limits.max_attempts), "{:?}", attempts);
        prop_assert!(!end.report.summary().is_empty());
    }
}
