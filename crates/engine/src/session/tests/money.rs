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
async fn a_dearer_tier_and_an_amount_that_the_vendor_tells_are_booked_and_reserved_for() {
    let with = |bill: Bill| Reply { bill, ..reply("", &[("read_file", json!({"path": "calc.py"}))]) };
    let tier = with(Bill { dear_tier: Some("priority".to_owned()), ..Bill::default() });
    let told = with(Bill { amount: Some(MicroUsd(900)), ..Bill::default() });
    let mut bench = Bench::new(vec![read_calc(), Step::Reply(tier), Step::Reply(told), done()]);
    assert!(is_done(&bench.run().await));
    let receipts = bench.receipts();
    let costs: Vec<(u64, u64)> = receipts.iter().map(|receipt| (receipt.cost.0, receipt.unknown_cost.0)).collect();
    assert_eq!(costs, [(140, 0), (140, 210), (900, 0), (140, 0)]);
    let ratio = receipts[2].reserved.0 * 10 / receipts[1].reserved.0;
    assert!((24..=27).contains(&ratio), "the next call is reserved at the tier's price: {ratio}");
    let warned = |event: &&Event| matches!(event, Event::Warning { message } if message.contains("`priority`"));
    assert_eq!(bench.events.borrow().iter().filter(warned).count(), 1, "it is told once");
}

#[tokio::test(start_paused = true)]
async fn of_a_broken_stream_the_told_part_is_known_and_the_rest_unknown() {
    let usage = Some(Usage { input: 90, output: 1, ..Usage::default() });
    let bill = Box::new(Bill { is_open: true, ..Bill::default() });
    let broken = CallFailure { usage, bill, may_be_billed: true, ..failure(CallStatus::NetworkError, true) };
    let mut bench = Bench::new(vec![Step::Fail(broken), done()]);
    assert!(is_done(&bench.run().await));
    let receipt = &bench.receipts()[0];
    assert_eq!((receipt.cost, receipt.charge().total()), (MicroUsd(92), receipt.reserved));
    assert_eq!(receipt.usage.map(|usage| usage.output), Some(1), "no token is made up");
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
