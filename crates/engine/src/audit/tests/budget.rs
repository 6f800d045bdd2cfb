//! Caps and reservations.

use proptest::prelude::*;

use super::*;

#[test]
fn a_cap_is_reached_but_never_passed() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let caps = [run_cap("run-1", 100)];
    store.reserve(&call("c1", 60), &caps).unwrap();
    let refused = store.reserve(&call("c2", 41), &caps).unwrap_err();
    assert_eq!((refused.spent, refused.reserved_elsewhere, refused.left()), (MicroUsd(0), MicroUsd(60), MicroUsd(40)));
    store.reserve(&call("c3", 40), &caps).unwrap();
    store.settle(&receipt(&call("c1", 60), 10), None);
    assert_eq!(store.left(&caps), MicroUsd(50));
    let refused = store.reserve(&call("c4", 51), &caps).unwrap_err();
    assert_eq!((refused.spent, refused.reserved_elsewhere), (MicroUsd(10), MicroUsd(40)));
    // A refused call leaves no trace.
    assert_eq!(store.open_reservations(&RunId("run-1".to_owned())).unwrap(), [call("c3", 40)]);
    assert_eq!(store.load_run(&RunId("run-1".to_owned())).unwrap().events.len(), 5);
}

#[test]
fn a_bill_above_the_reservation_counts_in_full() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    store.reserve(&call("c1", 10), &[run_cap("run-1", 100)]).unwrap();
    store.settle(&receipt(&call("c1", 10), 95), None);
    // One that nobody reserved counts as well.
    store.settle(&receipt(&call("c2", 0), 2), None);
    assert_eq!(store.left(&[run_cap("run-1", 100)]), MicroUsd(3));
    let run = RunId("run-1".to_owned());
    assert_eq!(store.spent(&Scope::Run(run.clone())), MicroUsd(97));
    let of = |iteration| store.charge(&run, Some((0, iteration))).known;
    assert_eq!((of(1), of(2)), (MicroUsd(97), MicroUsd(0)));
    assert!(store.reserve(&call("c3", 4), &[run_cap("run-1", 100)]).is_err());
}

#[test]
fn a_bill_above_the_reservation_is_said_once_of_each_model() {
    let place = Place::new();
    let mut journal = Journal::new(place.begun("run-1"), Vec::new());
    for (id, cost) in [("c1", 10_000), ("c2", 95_000), ("c3", 40_000)] {
        journal.reserve(&call(id, 10_000), &[run_cap("run-1", 1_000_000)]).unwrap();
        journal.settle(&receipt(&call(id, 10_000), cost), None);
    }
    let is_warning = |event: &&Event| matches!(event, Event::Warning { .. });
    let warnings: Vec<&Event> = journal.events().iter().filter(is_warning).collect();
    let [Event::Warning { message }] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(message.contains("a call was billed at $0.0950, and could cost $0.0100"), "{message}");
}

#[test]
fn the_tightest_cap_decides() {
    let place = Place::new();
    let mut store = place.begun("run-1");
    let tier = |index, max| Cap { scope: Scope::Tier(RunId("run-1".to_owned()), index), max: MicroUsd(max) };
    store.reserve(&call("c1", 30), &[run_cap("run-1", 100), tier(0, 40)]).unwrap();
    let refused = store.reserve(&call("c2", 20), &[run_cap("run-1", 100), tier(0, 40)]).unwrap_err();
    assert_eq!(refused.scope, tier(0, 0).scope);
    assert_eq!(store.left(&[run_cap("run-1", 100), tier(0, 40)]), MicroUsd(10));
    let mut elsewhere = call("c3", 20);
    elsewhere.scope.tier_index = 1;
    store.reserve(&elsewhere, &[run_cap("run-1", 100), tier(1, 40)]).unwrap();
    assert_eq!(store.left(&[run_cap("run-1", 100)]), MicroUsd(50));
    // A tier's own sum is kept even before anyone asks about its cap.
    assert_eq!(store.left(&[tier(1, 50)]), MicroUsd(30));
}

#[test]
fn runs_that_share_a_scope_share_its_cap() {
    let place = Place::new();
    let pull_request = Cap { scope: Scope::PullRequest("o/r#1".to_owned()), max: MicroUsd(1_000) };
    let granted: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (place, cap) = (&place, &pull_request);
                scope.spawn(move || {
                    let run = format!("run-{worker}");
                    let mut store = place.begun(&run);
                    let caps = [run_cap(&run, 900), cap.clone()];
                    (0..20).filter(|n| store.reserve(&call(&format!("{run}-{n}"), 30), &caps).is_ok()).count()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(granted, 33, "33 times 30 is the most that fits into 1,000");
    assert_eq!(place.begun("run-5").left(&[pull_request]), MicroUsd(10));
}

#[test]
fn without_a_run_nothing_is_granted() {
    assert!(Place::new().open().reserve(&call("c1", 0), &[]).is_err());
}

#[derive(Debug, Clone)]
enum Step {
    Reserve(u64),
    /// Which open call, and how many percent of its reservation it costs.
    Settle(usize, u64),
    Lock,
    Unlock,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..400).prop_map(Step::Reserve),
        3 => (any::<usize>(), 0_u64..=100).prop_map(|(which, percent)| Step::Settle(which, percent)),
        1 => Just(Step::Lock),
        1 => Just(Step::Unlock),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Grants never pass the cap and nothing is lost, for any order of requests, settlements, locks and restarts.
    #[test]
    fn no_script_passes_a_cap(steps in proptest::collection::vec(step(), 1..30), cap in 0_u64..1_000) {
        let place = Place::new();
        let settings = Settings { busy_timeout: std::time::Duration::from_millis(1) };
        let run = RunId("run-1".to_owned());
        let caps = [run_cap("run-1", cap)];
        let mut store = Store::open_with(&place.location, redactor(), &settings).unwrap();
        store.begin_run(&started("run-1"), 1, FIRST).unwrap();
        let other = place.sql();
        let mut locked = false;
        let mut open: Vec<CallReservation> = vec![];
        let mut settled = 0;
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Reserve(amount) => {
                    let call = call(&format!("c{n}"), amount);
                    let reserved: u64 = open.iter().map(|call| call.reserved.0).sum();
                    let fits = settled + reserved + amount <= cap;
                    prop_assert_eq!(store.reserve(&call, &caps).is_ok(), fits);
                    if fits {
                        open.push(call);
                    }
                }
                Step::Settle(which, percent) if !open.is_empty() => {
                    let call = open.remove(which % open.len());
                    let cost = call.reserved.0 * percent / 100;
                    store.settle(&receipt(&call, cost), None);
                    settled += cost;
                }
                Step::Settle(..) => {}
                Step::Lock if !locked => { other.execute_batch("BEGIN IMMEDIATE").unwrap(); locked = true; }
                Step::Unlock if locked => { other.execute_batch("COMMIT").unwrap(); locked = false; }
                Step::Lock | Step::Unlock => {}
                Step::Reopen => {
                    if locked { other.execute_batch("COMMIT").unwrap(); locked = false; }
                    drop(store);
                    store = Store::open_with(&place.location, redactor(), &settings).unwrap();
                    store.continue_run(&run, 1, &Timestamp("2026-02-18T00:00:00.000Z".to_owned())).unwrap();
                }
            }
            let reserved: u64 = open.iter().map(|call| call.reserved.0).sum();
            prop_assert_eq!(store.left(&caps), MicroUsd(cap - settled - reserved));
        }
        if locked { other.execute_batch("COMMIT").unwrap(); }
        drop(other);
        store.close();
        let store = place.open();
        prop_assert_eq!(store.open_reservations(&run).unwrap(), open);
        verify(place.path(), &run).unwrap();
    }
}
