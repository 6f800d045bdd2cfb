//! Not a cent over, not a cent lost.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_unaffordable_call_is_not_made() {
    let mut bench = Bench::new(vec![]);
    bench.cap = MicroUsd(3_000);
    let end = bench.run().await;
    assert!(matches!(failed(&end), FailureReason::Budget { scope: Scope::Run(_), .. }), "{end:?}");
    assert_eq!((end.exit, end.cost.total()), (SessionExit::BudgetExhausted, MicroUsd::ZERO));
    assert_eq!((bench.asked().len(), bench.receipts().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_reply_is_limited_to_what_is_affordable_and_the_cap_holds() {
    let mut bench = Bench::new(vec![read_calc(), read_calc(), done()]);
    bench.cap = MicroUsd(12_000);
    let end = bench.run().await;
    assert!(end.cost.total() <= bench.cap);
    let limits: Vec<u64> = bench.requests().iter().map(|request| request.max_output_tokens).collect();
    assert!(limits.iter().all(|limit| (1_024..8_000).contains(limit)), "{limits:?}");
    assert!(bench.receipts().iter().all(|receipt| receipt.reserved <= bench.cap));
}

#[tokio::test(start_paused = true)]
async fn every_call_has_a_receipt_at_what_it_cost_or_may_have_cost() {
    let known = CallFailure { usage: Some(USAGE), may_be_billed: true, ..failure(CallStatus::NetworkError, true) };
    let unknown = CallFailure { may_be_billed: true, ..failure(CallStatus::NetworkError, true) };
    let mut bench = Bench::new(vec![Step::Fail(known), Step::Fail(unknown), read_calc(), done()]);
    let without_usage = Reply { usage: None, ..reply("", &[report()]) };
    bench.scripts[0].1[3] = Step::Reply(without_usage);
    assert!(is_done(&bench.run().await));
    let receipts = bench.receipts();
    let costs: Vec<MicroUsd> = receipts.iter().map(|receipt| receipt.charge().total()).collect();
    assert_eq!(costs, [MicroUsd(140), receipts[1].reserved, MicroUsd(140), receipts[3].reserved]);
    assert!(receipts[1].reserved > MicroUsd(140));
    assert_eq!((receipts[1].cost, receipts[3].cost), (MicroUsd::ZERO, MicroUsd::ZERO), "nothing of it is known");
    assert_eq!(receipts[0].error.as_deref(), Some("the vendor said network_error"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_surely_not_processed_costs_nothing() {
    let mut bench = Bench::new(vec![fails(CallStatus::AuthError, false)]);
    assert_eq!(bench.run().await.cost.total(), MicroUsd::ZERO);
    assert_eq!(bench.receipts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn cached_tokens_are_settled_at_their_own_price() {
    let usage = Usage { input: 10, output: 5, cache_read: 1_000, cache_write: 100, reasoning: 2 };
    let mut bench = Bench::new(vec![Step::Reply(Reply { usage: Some(usage), ..reply("", &[report()]) })]);
    let end = bench.run().await;
    assert_eq!((end.cost.total(), end.usage), (MicroUsd(10 + 10 + 100 + 125), usage));
}

#[tokio::test(start_paused = true)]
async fn recorded_replies_are_replayed_free_of_charge_and_their_tools_run_again() {
    let mut first = Bench::new(vec![
        fails(CallStatus::NetworkError, true),
        calls(&[edit_calc()]),
        says("Hm."),
        calls(&[("read_file", json!({"path": "calc.py"}))]),
        fails(CallStatus::AuthError, false),
    ]);
    let _killed = first.run().await;
    let recorded = first.journal.store().recorded_replies(&first.run, 1, 2).unwrap();
    assert_eq!(recorded.len(), 5, "failed calls are in the record too");

    let mut second = Bench::new(vec![done()]);
    second.replay = recorded;
    let end = second.run().await;
    assert!(is_done(&end));
    assert_eq!((second.asked().len(), second.receipts().len(), end.cost.total()), (1, 1, MicroUsd(140)));
    assert_eq!((end.turns, end.wrote.as_slice()), (3, ["calc.py".to_owned()].as_slice()));
    assert!(second.file("calc.py").contains("a + b"), "the edit was made again");
    assert!(second.told(0).contains("return a + b"), "and the conversation is where it was");
}

#[tokio::test(start_paused = true)]
async fn a_recording_is_only_for_its_own_role() {
    let mut librarian = Bench::new(vec![done()]);
    librarian.role = Role::Librarian;
    librarian.run().await;
    let mut artisan = Bench::new(vec![calls(&[edit_calc(), report()])]);
    artisan.replay = librarian.journal.store().recorded_replies(&librarian.run, 1, 2).unwrap();
    let end = artisan.run().await;
    assert_eq!((artisan.asked().len(), end.wrote.len()), (1, 1));
}
