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
    Ledger::new(Money { place: Place::alone(), journal: Journal::new(store, Vec::new()), caps, clock, redactor })
}

fn used(output: u64) -> Outcome {
    Outcome {
        status: CallStatus::Ok,
        usage: Some(Usage { input: 100, output, ..Usage::default() }),
        billed_model: None,
        dear_tier: None,
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
