use proptest::prelude::*;

use super::*;
use crate::domain::attempt::AttemptStatus;
use crate::domain::event::Event;
use crate::domain::units::Charge;
use crate::report::fixtures::{self, F0, Script};

#[test]
fn totals_come_from_receipts_and_equal_the_sum_of_attempts() {
    let view = fixtures::fixed().view();
    let attempts: MicroUsd = view.tiers.iter().flat_map(|tier| &tier.attempts).map(|attempt| attempt.cost).sum();
    let tiers: MicroUsd = view.tiers.iter().map(|tier| tier.cost.total()).sum();
    assert_eq!((view.spent.cost, attempts, tiers), (MicroUsd(800), MicroUsd(800), MicroUsd(800)));
    assert_eq!((view.spent.iterations, view.calls), (7, 7));
}

#[test]
fn the_fold_tells_what_was_fixed_and_where() {
    let view = fixtures::fixed().view();
    let (tier, iteration) = view.resolved().unwrap();
    assert_eq!((tier.number, iteration), (2, 2));
    assert_eq!(view.fixed_tests(), F0);
    assert_eq!(view.tiers[2].state, TierState::NotReached);
    assert_eq!(view.position, Some(Position { tier_index: 1, iteration: 2 }));
}

#[test]
fn the_same_events_mean_running_or_dead_by_the_process() {
    let mut script = Script::new();
    script.red().tier(0).begin(0, 1);
    for (liveness, ending, state) in [
        (Liveness::Alive, Ending::Running, TierState::Running),
        (Liveness::Dead, Ending::Died, TierState::Interrupted),
        (Liveness::Ended, Ending::Died, TierState::Interrupted),
    ] {
        let view = script.view_as(liveness);
        assert_eq!((&view.ending, view.tiers[0].state), (&ending, state));
    }
}

#[test]
fn an_iteration_whose_tests_never_ran_has_fixed_nothing() {
    let mut script = Script::new();
    script.red().tier(0).iteration(0, 1, 400, &F0).iteration(0, 2, 400, &[]);
    for event in &mut script.events {
        if let Event::IterationFinished(attempt) = event
            && attempt.iteration == 2
        {
            attempt.test_status = AttemptStatus::Error;
        }
    }
    let view = script.view_as(Liveness::Dead);
    assert_eq!((view.fixed_tests(), view.still_failing()), (vec![], F0.to_vec()));
}

#[test]
fn a4_of_each_test_the_error_of_its_last_attempt_alone_is_recent() {
    let mut script = Script::new();
    script.red().tier(0);
    let attempts: [(&[&str], &[&str]); 3] = [
        (&["adds", "sums"], &["adds: 2 != 10", "sums: 2 != 11"]),
        (&["adds"], &["adds: 4 != 10", "adds: beside it", "the model gave up"]),
        (&["adds"], &["adds: 6 != 10"]),
    ];
    for (iteration, (failing, errors)) in (1..).zip(attempts) {
        let attempt = script.begin(0, iteration).attempt(0, iteration, 1, failing, errors);
        script.push(Event::IterationFinished(attempt));
    }
    let view = script.view_as(Liveness::Dead);
    assert_eq!(view.recent_errors, ["adds: 6 != 10", "the model gave up", "sums: 2 != 11"]);
}

#[test]
fn a_resumed_run_counts_nothing_twice_and_is_no_longer_parked() {
    let mut script = Script::new();
    script.red().tier(0).iteration(0, 1, 400, &F0).finish(Outcome::Parked, "waiting", &F0);
    let parked = script.view();
    assert_eq!(parked.tiers[0].state, TierState::Parked);
    script.push(Event::InvocationStarted { invocation: 2, pid: 7 });
    let receipt = script.events.iter().find(|event| matches!(event, Event::CallSettled(_))).cloned().unwrap();
    script.push(receipt).tier(0);
    script.begin(0, 1).iteration(0, 2, 100, &F0[..1]);
    let view = script.view_as(Liveness::Alive);
    assert_eq!(view.ending, Ending::Running);
    assert_eq!((view.spent.cost, view.spent.iterations, view.invocations), (MicroUsd(500), 2, 2));
    assert_eq!(view.failing_after.as_deref(), Some(&[F0[0].to_owned()][..]));
}

#[test]
fn an_interrupted_tier_that_goes_on_is_running_again() {
    let mut script = Script::new();
    script.red().tier(0).iteration(0, 1, 400, &F0).end_tier(0, TierExit::Interrupted, None, 1);
    script.finish(Outcome::Interrupted { signal: 15 }, "SIGTERM", &F0);
    assert_eq!(script.view().tiers[0].state, TierState::Interrupted);
    script.push(Event::InvocationStarted { invocation: 2, pid: 7 }).begin(0, 2);
    assert_eq!(script.view_as(Liveness::Alive).tiers[0].state, TierState::Running);
}

#[test]
fn a3_a_call_that_was_under_way_when_the_process_died_counts_as_unknown_cost() {
    let (_, view) = fixtures::every_ending().into_iter().find(|(name, _)| *name == "died").unwrap();
    let charge = Charge { known: MicroUsd(400), unknown: MicroUsd(21_000) };
    assert_eq!((view.spent.charge(), view.tiers[0].cost, view.unsettled), (charge, charge, MicroUsd(21_000)));
}

#[test]
fn a_call_that_is_under_way_is_beside_the_cost_so_far() {
    let mut script = fixtures::Script::new();
    script.red().tier(0).begin(0, 1).push(Event::CallReserved {
        call_id: "c".to_owned(),
        scope: fixtures::scope(0, 1, Role::Artisan),
        reserved: MicroUsd(700),
    });
    let view = script.view_as(Liveness::Alive);
    assert_eq!(
        (view.spent.cost, view.unsettled, view.most_spent().total()),
        (MicroUsd(0), MicroUsd(700), MicroUsd(700))
    );
}

#[test]
fn models_are_listed_once_with_their_roles() {
    let view = fixtures::fixed().view();
    assert_eq!(view.tiers[1].models(), [(vec![Role::Artisan], "anthropic/claude-haiku-4-5".to_owned())]);
    assert_eq!(
        view.tiers[2].models(),
        [
            (vec![Role::Librarian], "anthropic/claude-haiku-4-5".to_owned()),
            (vec![Role::Artisan, Role::Critic], "anthropic/claude-sonnet-4-5".to_owned()),
        ]
    );
}

proptest! {
    #[test]
    fn any_cut_of_any_run_folds_and_its_money_is_its_receipts(which in 0usize..14, cut in 0usize..80, twice in any::<bool>()) {
        let mut script = if which == 0 { fixtures::fixed() } else { Script::new() };
        if which > 0 {
            script.first_tier_fails().tier(1).iteration(1, 1, which as u64 * 100, &F0[..1]);
        }
        script.events.truncate(cut);
        if twice {
            let again = script.events.clone();
            script.events.extend(again);
        }
        let view = script.view_as(Liveness::Dead);
        let mut receipts = std::collections::BTreeMap::new();
        for event in &script.events {
            // Until it is settled it may have been billed.
            if let Event::CallReserved { call_id, reserved, .. } = event {
                receipts.entry(call_id.clone()).or_insert(*reserved);
            }
            if let Event::CallSettled(receipt) = event {
                receipts.insert(receipt.call_id.clone(), receipt.charge().total());
            }
        }
        prop_assert_eq!(view.spent.cost, receipts.values().copied().sum());
        prop_assert_eq!(view.spent.cost, view.tiers.iter().map(|tier| tier.cost.total()).sum());
    }
}
