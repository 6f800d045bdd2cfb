//! The table of what vendors and models do, and the state that follows (issue 3, must-show 2).

use super::*;
use crate::domain::account::Unavailability;
use crate::policy::rotation::GiveUp;

fn two(a: Vec<Step>, b: Vec<Step>) -> Bench {
    Bench::with_targets(vec![("a/one", a), ("b/two", b)])
}

fn why(end: &SessionEnd) -> GiveUp {
    let FailureReason::NoUsableTarget { why, .. } = failed(end) else { panic!("{end:?}") };
    *why
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_or_quota_is_not_asked_again() {
    for (status, exit) in
        [(CallStatus::AuthError, SessionExit::AuthFailure), (CallStatus::QuotaExceeded, SessionExit::QuotaExceeded)]
    {
        let mut alone = Bench::new(vec![fails(status, false)]);
        let end = alone.run().await;
        assert_eq!((why(&end), end.exit), (GiveUp::Refused, exit));
        assert_eq!(alone.asked().len(), 1);

        let mut pair = two(vec![fails(status, false)], vec![read_calc(), done()]);
        assert!(is_done(&pair.run().await));
        assert_eq!(pair.asked(), ["a/one", "b/two", "b/two"]);
        let account = pair.memory.accounts.of(&id("a/one"));
        assert!(pair.memory.standing.of(&account, 0).is_some(), "the run remembers");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_refused_before_is_left_out_from_the_start() {
    let mut bench = two(vec![], vec![done()]);
    bench.memory.refused.insert(id("a/one"));
    assert!(is_done(&bench.run().await));
    let mut alone = Bench::new(vec![]);
    alone.memory.refused.insert(id("a/big"));
    assert_eq!(why(&alone.run().await), GiveUp::Refused);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_switches_at_once_and_waits_only_when_all_are_limited() {
    let limited = |ms| Step::Fail(CallFailure { retry_after_ms: ms, ..failure(CallStatus::RateLimited, true) });
    let start = tokio::time::Instant::now();
    let mut pair = two(vec![limited(Some(7_000))], vec![done()]);
    assert!(is_done(&pair.run().await));
    assert_eq!(start.elapsed().as_millis(), 0, "no wait while another target is free");

    let mut both = two(vec![limited(Some(7_000)), done()], vec![limited(Some(3_000))]);
    assert!(is_done(&both.run().await));
    let waited = start.elapsed().as_secs();
    assert!((7..=9).contains(&waited), "the longest wait, once: {waited} s");
    assert!(both.events.borrow().iter().any(|event| matches!(
        event,
        Event::ModelsUnavailable { reason: Unavailability::RateLimited, wait_ms: Some(7_000..), .. }
    )));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_does_not_end_gives_up_without_a_last_wait() {
    let limited = || fails(CallStatus::RateLimited, true);
    let start = tokio::time::Instant::now();
    let mut bench = Bench::new(vec![limited(), limited(), limited()]);
    let end = bench.run().await;
    assert_eq!((why(&end), end.exit), (GiveUp::Limited, SessionExit::NoLlmResponse));
    let waited = start.elapsed().as_secs();
    assert!((20..=25).contains(&waited), "5 s and 15 s, no third wait: {waited} s");
}

#[tokio::test(start_paused = true)]
async fn vendor_trouble_is_tried_again_then_elsewhere_and_attempts_are_counted_in_total() {
    for status in [CallStatus::ModelError, CallStatus::NetworkError, CallStatus::Timeout] {
        let mut bench = two(vec![fails(status, true), fails(status, true)], vec![done()]);
        assert!(is_done(&bench.run().await));
        assert_eq!(bench.asked(), ["a/one", "a/one", "b/two"]);

        let mut alone = Bench::new(vec![fails(status, true), fails(status, true), fails(status, true)]);
        assert_eq!(why(&alone.run().await), GiveUp::Unreachable);
        let attempts: Vec<u32> = alone.receipts().iter().map(|receipt| receipt.scope.attempt).collect();
        assert_eq!(attempts, [1, 2, 3], "three in total (contradiction 17)");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rejected_request_goes_to_the_next_target() {
    let mut bench = two(vec![fails(CallStatus::ModelError, false)], vec![done()]);
    assert!(is_done(&bench.run().await));
    let end = Bench::new(vec![fails(CallStatus::ModelError, false)]).run().await;
    assert_eq!((why(&end), end.exit), (GiveUp::Rejected, SessionExit::ModelError));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_the_vendor_finds_too_long_ends_as_a_full_window() {
    let end = Bench::new(vec![fails(CallStatus::ContextOverflow, false)]).run().await;
    assert_eq!((failed(&end), end.exit), (&FailureReason::ContextFull, SessionExit::TokenLimit));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_nobody_configured_is_left_out_with_a_warning() {
    let mut bench = Bench::new(vec![]);
    bench.scripts.clear();
    let end = bench.run().await;
    assert_eq!(end.exit, SessionExit::NoProviders);
    assert_eq!(bench.asked(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn useless_replies_are_answered_with_advice_and_cost_their_attempt() {
    let mut bench = Bench::new(vec![says("I would edit it."), says(""), done()]);
    assert!(is_done(&bench.run().await));
    assert_eq!(bench.statuses(), [CallStatus::InvalidResponse, CallStatus::InvalidResponse, CallStatus::Ok]);
    let told = bench.told(2);
    assert!(told.contains("Your reply was empty"), "{told}");
    assert!(!told.contains("asked for nothing"), "the latest reason replaces the one before: {told}");
    assert_eq!(told.matches("final_report").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn useless_replies_to_the_end_are_the_iterations_fault_not_the_tiers() {
    let mut bench = Bench::new(vec![says("a"), says("b"), says("c")]);
    let end = bench.run().await;
    assert!(matches!(failed(&end), FailureReason::UnusableReplies { .. }), "{end:?}");
    assert_eq!(
        (end.exit, end.cost.total()),
        (SessionExit::MaxRetries, MicroUsd(420)),
        "what they cost is counted (B8)"
    );
    let end = Bench::new(vec![says(""), says(""), says("")]).run().await;
    assert_eq!(end.exit, SessionExit::EmptyResponse);
}

#[tokio::test(start_paused = true)]
async fn refusals_and_filtered_replies_go_to_the_next_target() {
    for stop in [StopReason::Refusal, StopReason::ContentFilter] {
        let withheld = Reply { stop, ..reply("no", &[edit_calc()]) };
        let mut bench = two(vec![Step::Reply(withheld)], vec![done()]);
        let end = bench.run().await;
        assert!(is_done(&end));
        assert_eq!(bench.statuses(), [CallStatus::ModelError, CallStatus::Ok]);
        assert_eq!(
            (bench.file("calc.py").as_str(), end.cost.total()),
            (CALC, MicroUsd(280)),
            "not carried out, but paid"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_cut_in_its_only_call_is_not_carried_out() {
    let write = ("write_file", json!({"path": "calc.py", "content": "def add"}));
    let cut = Reply { stop: StopReason::Length, ..reply("", &[write]) };
    let mut bench = Bench::new(vec![Step::Reply(cut), done()]);
    assert!(is_done(&bench.run().await));
    assert_eq!(bench.file("calc.py"), CALC);
    assert!(bench.told(1).contains("cut off"), "{}", bench.told(1));
}

#[tokio::test(start_paused = true)]
async fn broken_arguments_and_unknown_tools_are_told_and_the_session_goes_on() {
    let odd =
        calls(&[("shell", json!({"cmd": "rm"})), ("read_file", json!("{\"path")), ("edit_file", json!({"path": 3}))]);
    let mut bench = Bench::new(vec![odd, done()]);
    assert!(is_done(&bench.run().await));
    let told = bench.told(1);
    assert!(
        told.contains("no tool `shell`") && told.contains("no valid JSON") && told.contains("must be a string"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_never_comes_times_out_at_the_reservation() {
    let mut bench = Bench::new(vec![Step::Hang, done()]);
    let start = tokio::time::Instant::now();
    let end = bench.run().await;
    assert!(is_done(&end));
    assert!(start.elapsed() >= bench.limits.reply_timeout);
    let receipts = bench.receipts();
    assert_eq!(receipts[0].status, CallStatus::Timeout);
    assert_eq!(receipts[0].unknown_cost, receipts[0].reserved, "it may have been billed");
}

/// The ends of S1-15 that calls bring about, each by what the last of them came to.
#[tokio::test(start_paused = true)]
async fn each_kind_of_failure_of_a_call_has_its_way_to_end() {
    let unknown = Step::Fail(CallFailure { http_status: Some(404), ..failure(CallStatus::ModelError, false) });
    let ways = [
        (fails(CallStatus::RateLimited, true), SessionExit::NoLlmResponse),
        (fails(CallStatus::NetworkError, false), SessionExit::NoLlmResponse),
        (fails(CallStatus::AuthError, false), SessionExit::AuthFailure),
        (fails(CallStatus::QuotaExceeded, false), SessionExit::QuotaExceeded),
        (fails(CallStatus::ModelError, false), SessionExit::ModelError),
        (unknown, SessionExit::InvalidModel),
        (fails(CallStatus::Timeout, true), SessionExit::InactivityTimeout),
        (fails(CallStatus::ContextOverflow, false), SessionExit::TokenLimit),
        (says(""), SessionExit::EmptyResponse),
        (says("I ask for nothing."), SessionExit::MaxRetries),
    ];
    for (step, exit) in ways {
        let mut bench = Bench::new(vec![step; 3]);
        let end = bench.run().await;
        assert_eq!(end.exit, exit, "{end:?}");
        assert!(bench.asked().len() <= 3, "three attempts in total");
    }
}
