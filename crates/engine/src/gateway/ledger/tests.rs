//! Calls at the same time, calls that nobody waits for, and the end at the cap.

use std::task::{Context, Poll, Waker};

use super::*;
use crate::audit::{Scope, Store};
use crate::domain::budget::Budget;
use crate::domain::catalogue::Price;
use crate::domain::clock::SystemClock;
use crate::domain::event::RunStarted;
use crate::domain::units::RunId;

/// A reply token costs a micro-dollar, a prompt token nothing.
fn order(wanted: u64) -> Order {
    let price = Price { output: 1_000_000, ..Price::default() };
    Order {
        target: ModelId::parse("anthropic/claude-haiku-4-5").unwrap(),
        info: ModelInfo { price: Some(price), context_window: 1_000_000, ..ModelInfo::unknown() },
        surcharge: Surcharge::default(),
        prompt_tokens: 100,
        wanted,
        purpose: Purpose::Main,
    }
}

fn ledger(cap: u64) -> Rc<Ledger> {
    going_on(cap, Tally::default())
}

/// The ledger of a session that had calls before.
fn going_on(cap: u64, so_far: Tally) -> Rc<Ledger> {
    let (clock, redactor, max) = (Arc::new(SystemClock::new()), Arc::new(Redactor::default()), MicroUsd(cap));
    let started = RunStarted {
        run_id: RunId::random(),
        objective: String::new(),
        working_directory: String::new(),
        test_command: String::new(),
        tier_config_path: "(gateway)".to_owned(),
        tiers: Vec::new(),
        budget: Budget { max_cost: max, max_iterations: 0, max_active_ms: 0 },
        audit_db: None,
        started_at: clock.timestamp(),
        command: Some("a program".to_owned()),
        task: None,
    };
    let mut store = Store::in_memory(Arc::clone(&redactor)).unwrap();
    store.begin_run(&started, 1, "{}").unwrap();
    let caps = vec![Cap { scope: Scope::Run(started.run_id), max }];
    let (place, journal) = (Place::alone(), Journal::new(store, Vec::new()));
    Ledger::new(Money { place, so_far, journal, caps, clock, redactor })
}

fn used(output: u64) -> Outcome {
    Outcome {
        status: CallStatus::Ok,
        usage: Some(Usage { input: 100, output, ..Usage::default() }),
        bill: Bill::default(),
        billed_model: None,
        billing: Billing::Possible,
        error: None,
    }
}

fn receipts(ledger: &Ledger) -> Vec<Receipt> {
    let journal = ledger.close().unwrap();
    let settled = journal.events().iter().filter_map(|event| {
        let Event::CallSettled(receipt) = event else { return None };
        Some(receipt.clone())
    });
    settled.collect()
}

#[tokio::test]
async fn a_call_waits_for_what_another_leaves_rather_than_being_cut_short_or_refused() {
    for wanted in [4_000, 6_000] {
        let ledger = ledger(6_000);
        let first = ledger.reserve(order(4_000)).await.unwrap();
        let mut second = std::pin::pin!(ledger.reserve(order(wanted)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending(), "two thousand are left, {wanted} are wanted");
        first.settle(used(0));
        let Poll::Ready(second) = second.as_mut().poll(&mut context) else { panic!("the first is settled") };
        assert_eq!(second.unwrap().max_output, wanted);
        assert!(ledger.capped().raised().is_none());
    }
}

#[tokio::test]
async fn alone_it_is_cut_to_what_is_left_and_refused_below_the_least() {
    let ledger = ledger(6_000);
    let first = ledger.reserve(order(9_000)).await.unwrap();
    assert_eq!(first.max_output, 6_000);
    first.settle(used(5_500));
    let refused = ledger.reserve(order(9_000)).await.unwrap_err();
    assert!(refused.contains("cost cap is reached"), "{refused}");
    assert!(ledger.capped().raised().is_some());
    let small = ledger.reserve(order(10)).await;
    assert_eq!(small.unwrap_err(), refused, "nothing goes on after the first refusal");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_settled_at_its_reservation() {
    let ledger = ledger(6_000);
    drop(ledger.reserve(order(2_000)).await.unwrap());
    let next = ledger.reserve(order(4_000)).await.unwrap();
    assert_eq!(next.max_output, 4_000, "two thousand of six are gone");
    next.settle(used(7));
    let charges: Vec<(CallStatus, u64, u64)> =
        receipts(&ledger).iter().map(|one| (one.status, one.cost.0, one.unknown_cost.0)).collect();
    assert_eq!(charges, [(CallStatus::Aborted, 0, 2_000), (CallStatus::Ok, 7, 0)]);
}

#[tokio::test]
async fn without_a_pin_the_model_that_gets_tools_is_the_sessions() {
    let ledger = ledger(1);
    assert_eq!(ledger.purpose("small", false), Purpose::Main, "nothing is known yet");
    assert_eq!(ledger.purpose("large", true), Purpose::Main);
    assert_eq!(ledger.purpose("small", false), Purpose::Side);
    assert_eq!(ledger.purpose("large", false), Purpose::Side, "a title has no tools");
    assert_eq!(ledger.purpose("large", true), Purpose::Main);
}

#[tokio::test]
async fn a_session_that_is_started_again_counts_on() {
    let first = ledger(10_000);
    drop(first.reserve(order(100)).await.unwrap());
    let so_far = first.tally();
    assert_eq!((so_far.calls, so_far.replies), (1, 0));
    let again = going_on(10_000, so_far.clone());
    again.reserve(order(100)).await.unwrap().settle(used(10));
    let tally = again.tally();
    assert_eq!((tally.calls, tally.replies), (2, 1));
    assert_eq!(tally.cost.unknown, so_far.cost.unknown, "what the first call may have cost is not forgotten");
    assert_eq!(receipts(&again)[0].scope.turn, 2);
}

#[tokio::test]
async fn a_dear_tier_ends_the_session_as_what_it_is_and_costs_at_most_what_vendors_publish() {
    let ledger = ledger(10_000);
    let served = Outcome { bill: Bill { dear_tier: Some("ultrafast".to_owned()), ..Bill::default() }, ..used(10) };
    ledger.reserve(order(100)).await.unwrap().settle(served);
    let refusal = ledger.refusal().unwrap();
    assert_eq!(refusal.end, NoMoreCalls::DearTier);
    assert!(refusal.message.contains("`ultrafast`") && !refusal.message.contains("cap is reached"), "{refusal:?}");
    assert_eq!(ledger.reserve(order(100)).await.unwrap_err(), refusal.message);
    let receipt = &receipts(&ledger)[0];
    assert_eq!(
        (receipt.cost.0, receipt.unknown_cost.0),
        (10, 50),
        "known is the ordinary price, unknown the rest up to six times"
    );
}
