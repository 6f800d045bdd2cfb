use proptest::prelude::*;

use super::*;

fn failure(status: CallStatus) -> FailureClass {
    FailureClass { status, retryable: true, retry_after_ms: None, reach: Reach::Account, waitable: true }
}

fn final_failure(status: CallStatus) -> FailureClass {
    FailureClass { retryable: false, ..failure(status) }
}

fn limited(retry_after_ms: u64) -> FailureClass {
    FailureClass { retry_after_ms: Some(retry_after_ms), ..failure(CallStatus::RateLimited) }
}

#[test]
fn three_attempts_are_three_calls_in_total() {
    let mut rotation = Rotation::new(1, 3);
    let mut fail = || rotation.after_failure(failure(CallStatus::NetworkError), 0, Jitter::NONE);
    assert_eq!(fail(), Next::Retry { target: 0, after_ms: 1_000 });
    assert_eq!(fail(), Next::Retry { target: 0, after_ms: 2_000 });
    assert_eq!(fail(), Next::GiveUp { reason: GiveUp::Unreachable });
    rotation.begin_turn();
    assert_eq!(rotation.attempt(), 1, "a new turn counts anew");
}

#[test]
fn a_rate_limit_moves_on_at_once_and_sleeps_only_when_every_target_is_limited() {
    let mut rotation = Rotation::new(2, 5);
    assert_eq!(rotation.after_failure(limited(20_000), 0, Jitter::NONE), Next::Switch { target: 1 });
    let next = rotation.after_failure(limited(7_000), 1_000, Jitter::NONE);
    assert_eq!(next, Next::SleepAll { target: 0, ms: 19_000 }, "the longest wait, less what has passed");
    assert_eq!(rotation.target(), 0);
}

#[test]
fn a_limit_that_has_passed_makes_a_target_usable_again() {
    let mut rotation = Rotation::new(2, 5);
    rotation.after_failure(limited(2_000), 0, Jitter::NONE);
    let next = rotation.after_failure(limited(30_000), 2_000, Jitter::NONE);
    assert_eq!(next, Next::Switch { target: 0 });
}

#[test]
fn waits_for_a_rate_limit_stay_between_one_second_and_one_minute() {
    for (advice, ms) in [(0, 1_000), (10, 1_000), (30_000, 30_000), (60_000, 60_000)] {
        let mut rotation = Rotation::new(1, 3);
        assert_eq!(rotation.after_failure(limited(advice), 0, Jitter::NONE), Next::SleepAll { target: 0, ms });
    }
    let mut rotation = Rotation::new(1, 3);
    let jittered = rotation.after_failure(limited(20_000), 0, Jitter(1_000));
    assert_eq!(jittered, Next::SleepAll { target: 0, ms: 25_000 });
    let mut rotation = Rotation::new(1, 3);
    let capped = rotation.after_failure(limited(60_000), 0, Jitter(1_000));
    assert_eq!(capped, Next::SleepAll { target: 0, ms: 60_000 });
}

#[test]
fn without_advice_the_waits_are_five_fifteen_and_forty_five_seconds() {
    let mut rotation = Rotation::new(1, 9);
    let mut now = 0;
    let mut waits = vec![];
    for _ in 0..4 {
        let Next::SleepAll { ms, .. } = rotation.after_failure(failure(CallStatus::RateLimited), now, Jitter::NONE)
        else {
            panic!("no sleep")
        };
        waits.push(ms);
        now += ms;
    }
    assert_eq!(waits, [5_000, 15_000, 45_000, 60_000]);
    rotation.after_success();
    let after_an_answer = rotation.after_failure(failure(CallStatus::RateLimited), now, Jitter::NONE);
    assert_eq!(after_an_answer, Next::SleepAll { target: 0, ms: 5_000 });
}

#[test]
fn no_sleep_is_asked_for_when_no_attempt_is_left() {
    let mut rotation = Rotation::new(1, 1);
    assert_eq!(rotation.after_failure(limited(5_000), 0, Jitter::NONE), Next::GiveUp { reason: GiveUp::Limited });
}

#[test]
fn a_refused_key_or_quota_takes_its_target_out_for_the_whole_run() {
    let mut rotation = Rotation::new(2, 3);
    assert_eq!(rotation.after_failure(failure(CallStatus::AuthError), 0, Jitter::NONE), Next::Switch { target: 1 });
    rotation.after_success();
    rotation.begin_turn();
    let alone = rotation.after_failure(limited(2_000), 0, Jitter::NONE);
    assert_eq!(alone, Next::SleepAll { target: 1, ms: 2_000 }, "target 0 stays out in later turns");
    let none_left = rotation.after_failure(failure(CallStatus::QuotaExceeded), 0, Jitter::NONE);
    assert_eq!(none_left, Next::GiveUp { reason: GiveUp::Refused });
    assert!(!rotation.has_usable());
}

#[test]
fn refusals_met_elsewhere_are_taken_over() {
    let mut rotation = Rotation::new(3, 3);
    rotation.refuse(0);
    assert_eq!(rotation.target(), 1);
    rotation.refuse(7);
    assert!(rotation.has_usable());
}

#[test]
fn limits_met_elsewhere_are_taken_over_while_another_target_is_free() {
    let mut rotation = Rotation::new(2, 3);
    rotation.rest(0, 60_000);
    rotation.begin_free(1_000);
    assert_eq!(rotation.target(), 1);
    rotation.begin_free(60_000);
    assert_eq!(rotation.target(), 0, "it has passed");
    rotation.rest(0, 90_000);
    rotation.rest(1, 90_000);
    rotation.begin_free(61_000);
    assert_eq!(rotation.target(), 0, "somebody is asked");
}

#[test]
fn a_hiccup_stays_on_its_target_once_and_then_moves_on() {
    for status in [CallStatus::Timeout, CallStatus::ModelError, CallStatus::InvalidResponse] {
        let mut rotation = Rotation::new(2, 4);
        let after_ms = if status == CallStatus::InvalidResponse { 0 } else { 1_000 };
        assert_eq!(rotation.after_failure(failure(status), 0, Jitter::NONE), Next::Retry { target: 0, after_ms });
        assert_eq!(rotation.after_failure(failure(status), 0, Jitter::NONE), Next::Switch { target: 1 });
    }
}

#[test]
fn what_will_not_work_on_a_target_is_not_sent_there_again_in_the_turn() {
    for status in [CallStatus::ModelError, CallStatus::NetworkError, CallStatus::ContextOverflow] {
        let mut rotation = Rotation::new(2, 9);
        assert_eq!(rotation.after_failure(final_failure(status), 0, Jitter::NONE), Next::Switch { target: 1 });
        let Next::GiveUp { reason } = rotation.after_failure(final_failure(status), 0, Jitter::NONE) else {
            panic!("target 0 must not be asked again")
        };
        assert!(!matches!(reason, GiveUp::Garbled | GiveUp::Aborted));
    }
}

#[test]
fn each_failure_has_its_reason_to_give_up() {
    for (class, reason) in [
        (failure(CallStatus::InvalidResponse), GiveUp::Garbled),
        (failure(CallStatus::Aborted), GiveUp::Aborted),
        (failure(CallStatus::AuthError), GiveUp::Refused),
        (failure(CallStatus::RateLimited), GiveUp::Limited),
        (failure(CallStatus::ModelError), GiveUp::Unreachable),
        (final_failure(CallStatus::ModelError), GiveUp::Rejected),
    ] {
        let next = Rotation::new(1, 1).after_failure(class, 0, Jitter::NONE);
        assert_eq!(next, Next::GiveUp { reason });
    }
}

/// S1-4: the cursor moves where a target is skipped, and by one.
#[test]
fn targets_are_asked_in_turn_and_an_answer_moves_nothing() {
    let mut rotation = Rotation::new(3, 9);
    let mut asked = vec![];
    for _ in 0..4 {
        for _ in 0..2 {
            asked.push(rotation.target());
            rotation.after_success();
            rotation.begin_turn();
        }
        let next = rotation.after_failure(final_failure(CallStatus::ModelError), 0, Jitter::NONE);
        assert_eq!(next, Next::Switch { target: rotation.target() });
        rotation.begin_turn();
    }
    assert_eq!(asked, [0, 0, 1, 1, 2, 2, 0, 0]);
}

/// S1-5, with another target beside the one that fails.
#[test]
fn each_failure_of_a_call_has_its_next_step() {
    let (on, again) = (Next::Switch { target: 1 }, |after_ms| Next::Retry { target: 0, after_ms });
    let over = Next::GiveUp { reason: GiveUp::Aborted };
    for (class, next) in [
        (failure(CallStatus::RateLimited), on),
        (failure(CallStatus::AuthError), on),
        (failure(CallStatus::QuotaExceeded), on),
        (final_failure(CallStatus::ModelError), on),
        (failure(CallStatus::ModelError), again(1_000)),
        (failure(CallStatus::NetworkError), again(1_000)),
        (failure(CallStatus::Timeout), again(1_000)),
        (failure(CallStatus::InvalidResponse), again(0)),
        (failure(CallStatus::ContextOverflow), on),
        (failure(CallStatus::Aborted), over),
        (failure(CallStatus::Lost), over),
    ] {
        assert_eq!(Rotation::new(2, 3).after_failure(class, 0, Jitter::NONE), next, "{class:?}");
    }
}

/// S1-6.
#[test]
fn waits_after_a_broken_connection_grow_by_a_second_to_half_a_minute() {
    let mut rotation = Rotation::new(1, 40);
    for attempt in 1..40_u64 {
        let next = rotation.after_failure(failure(CallStatus::NetworkError), 0, Jitter(1_000));
        let Next::Retry { after_ms, .. } = next else { panic!("{next:?}") };
        let least = (attempt * 1_000).min(30_000);
        assert!((least..=30_000).contains(&after_ms), "{attempt}: {after_ms}");
    }
}

const STATUSES: [CallStatus; 8] = [
    CallStatus::RateLimited,
    CallStatus::AuthError,
    CallStatus::QuotaExceeded,
    CallStatus::ModelError,
    CallStatus::ContextOverflow,
    CallStatus::NetworkError,
    CallStatus::Timeout,
    CallStatus::InvalidResponse,
];

/// A reply's failure (which status, retryable, retry-after in ms), or whether it answers.
type Step = (usize, bool, Option<u64>, bool);

fn invariants(targets: usize, max_attempts: u32, jitter: u16, script: &[Step]) -> Result<(), TestCaseError> {
    let mut rotation = Rotation::new(targets, max_attempts);
    let (mut now, mut calls) = (0u64, 0u32);
    let mut refused = std::collections::HashSet::new();
    let mut limited_until = vec![0u64; targets];
    let mut limits_in_a_row = vec![0u32; targets];
    for (status, retryable, retry_after_ms, answers) in script.iter().copied() {
        let asked = rotation.target();
        prop_assert!(asked < targets);
        prop_assert!(!refused.contains(&asked), "a refused target was asked again");
        calls += 1;
        prop_assert!(calls <= max_attempts);
        if answers {
            rotation.after_success();
            rotation.begin_turn();
            (limited_until[asked], limits_in_a_row[asked]) = (0, 0);
            calls = 0;
            continue;
        }
        let status = STATUSES[status];
        if matches!(status, CallStatus::AuthError | CallStatus::QuotaExceeded) {
            refused.insert(asked);
        }
        if status == CallStatus::RateLimited {
            limited_until[asked] =
                now + retry_after_ms.unwrap_or_else(|| backoff(limits_in_a_row[asked]).min(60_000)).max(1_000);
            limits_in_a_row[asked] += 1;
        }
        if status == CallStatus::InvalidResponse {
            limited_until[asked] = 0;
        }
        let next =
            rotation.after_failure(FailureClass { retryable, retry_after_ms, ..failure(status) }, now, Jitter(jitter));
        match next {
            Next::Retry { target, after_ms } => {
                prop_assert_eq!(target, asked);
                prop_assert!(after_ms <= TRANSIENT_WAIT_MAX_MS);
                now += after_ms;
            }
            Next::Switch { target } => prop_assert_ne!(target, asked),
            Next::SleepAll { target, ms } => {
                prop_assert!((1_000..=60_000).contains(&ms));
                prop_assert!(limited_until[target] > now, "it slept although a target was free");
                now += ms;
            }
            Next::GiveUp { reason } => {
                prop_assert!(calls == max_attempts || !matches!(reason, GiveUp::Garbled | GiveUp::Aborted));
                if refused.len() == targets {
                    prop_assert_eq!(reason, GiveUp::Refused);
                    return Ok(());
                }
                rotation.begin_turn();
                calls = 0;
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_script_of_failures_breaks_the_invariants(
        targets in 1usize..5, max_attempts in 1u32..8, jitter in 0u16..2_000,
        script in prop::collection::vec((0usize..STATUSES.len(), any::<bool>(), prop::option::of(0u64..200_000), any::<bool>()), 1..80)
    ) {
        invariants(targets, max_attempts, jitter, &script)?;
    }
}

#[test]
fn a_script_of_repeated_limits_keeps_them() {
    let failed = |status: usize, retryable: bool| (status, retryable, None, false);
    let answered = (0, false, None, true);
    let script = [
        failed(0, false),
        answered,
        failed(1, false),
        failed(3, true),
        failed(0, false),
        failed(0, false),
        failed(3, true),
        answered,
        failed(0, false),
    ];
    invariants(3, 6, 0, &script).unwrap();
}

fn same_vendor(prices: &[u64], patience: Patience) -> Rotation {
    let identity = |price: &u64| Identity { account: 0, host: 0, price: *price };
    Rotation::over(prices.iter().map(identity), 3, patience)
}

#[test]
fn a_long_limit_is_waited_for_as_far_as_patience_goes_and_not_at_all_beyond_it() {
    let hour = limited(3_600_000);
    let mut hurried = Rotation::new(1, 3);
    assert_eq!(hurried.after_failure(hour, 0, Jitter::NONE), Next::GiveUp { reason: GiveUp::Limited });
    let mut patient = same_vendor(&[1], Patience { limit_ms: 4_000_000, outage_ms: 0 });
    assert_eq!(patient.after_failure(hour, 0, Jitter::NONE), Next::SleepAll { target: 0, ms: 3_600_000 });
    let again = patient.after_failure(hour, 3_600_000, Jitter::NONE);
    assert_eq!(again, Next::GiveUp { reason: GiveUp::Limited }, "400 seconds of patience are left");
}

#[test]
fn a_limit_without_a_time_is_waited_for_beyond_the_attempts_while_patience_lasts() {
    let mut rotation = same_vendor(&[1], Patience { limit_ms: 120_000, outage_ms: 0 });
    let (mut now, mut waits) = (0, vec![]);
    while let Next::SleepAll { ms, .. } = rotation.after_failure(failure(CallStatus::RateLimited), now, Jitter::NONE) {
        waits.push(ms);
        now += ms;
    }
    assert_eq!(waits, [5_000, 15_000, 45_000, 60_000], "the third wait and those after it use patience up");
}

#[test]
fn an_outage_is_waited_for_only_where_it_cost_nothing() {
    let patience = Patience { limit_ms: 0, outage_ms: 30_000 };
    for (waitable, waits) in [(true, vec![1_000, 2_000, 5_000, 15_000]), (false, vec![1_000, 2_000])] {
        let mut rotation = same_vendor(&[1], patience);
        let down = FailureClass { waitable, ..failure(CallStatus::ModelError) };
        let mut waited = vec![];
        while let Next::Retry { after_ms: ms, .. } | Next::SleepAll { ms, .. } =
            rotation.after_failure(down, 0, Jitter::NONE)
        {
            waited.push(ms);
        }
        assert_eq!(waited, waits);
    }
}

#[test]
fn a_limited_or_broken_vendor_is_not_asked_for_its_dearer_model() {
    let mut rotation = same_vendor(&[2, 1, 9], Patience::default());
    assert_eq!(rotation.after_failure(limited(20_000), 0, Jitter::NONE), Next::Switch { target: 1 }, "the cheaper one");
    let next = rotation.after_failure(limited(30_000), 0, Jitter::NONE);
    assert_eq!(next, Next::SleepAll { target: 2, ms: 30_000 }, "the dearer one rests as long");
    let mut rotation = same_vendor(&[1, 9], Patience::default());
    let down = || failure(CallStatus::ModelError);
    for _ in 0..2 {
        assert!(matches!(rotation.after_failure(down(), 0, Jitter::NONE), Next::Retry { target: 0, .. }));
    }
    assert_eq!(rotation.after_failure(down(), 0, Jitter::NONE), Next::GiveUp { reason: GiveUp::Unreachable });
}

#[test]
fn a_refused_key_takes_its_account_out_and_a_refused_model_itself_alone() {
    let mut rotation = same_vendor(&[1, 2], Patience::default());
    let key = rotation.after_failure(final_failure(CallStatus::AuthError), 0, Jitter::NONE);
    assert_eq!(key, Next::GiveUp { reason: GiveUp::Refused });
    let mut rotation = same_vendor(&[1, 2], Patience::default());
    let model = FailureClass { reach: Reach::Target, ..final_failure(CallStatus::AuthError) };
    assert_eq!(rotation.after_failure(model, 0, Jitter::NONE), Next::Switch { target: 1 });
}

#[test]
fn a_limit_that_passes_says_more_than_a_refusal_elsewhere() {
    let mut rotation = Rotation::new(2, 3);
    assert_eq!(rotation.after_failure(limited(3_600_000), 0, Jitter::NONE), Next::Switch { target: 1 });
    let next = rotation.after_failure(final_failure(CallStatus::AuthError), 0, Jitter::NONE);
    assert_eq!(next, Next::GiveUp { reason: GiveUp::Limited });
}

/// Which status, whether the vendor names a wait and which, whether it cost nothing.
type Blow = (usize, Option<u64>, bool);

/// Plays failures only, until it is given up.
fn to_the_end(identities: &[Identity], patience: Patience, blows: &[Blow]) -> Result<(), TestCaseError> {
    let mut rotation = Rotation::over(identities.iter().copied(), 3, patience);
    let (mut now, mut slept) = (0u64, 0u64);
    // Since when an account is limited, and at which price.
    let mut limits: std::collections::HashMap<usize, (u64, u64)> = std::collections::HashMap::new();
    for &(status, retry_after_ms, waitable) in blows.iter().cycle().take(2_000) {
        let asked = identities[rotation.target()];
        if let Some(&(until, price)) = limits.get(&asked.account) {
            prop_assert!(until <= now || asked.price <= price, "climbed on a limited account");
        }
        let class = FailureClass { retry_after_ms, waitable, ..failure(STATUSES[status]) };
        if class.status == CallStatus::RateLimited
            && let Some(wait) = retry_after_ms
        {
            limits.insert(asked.account, (now + wait.max(1_000), asked.price));
        }
        match rotation.after_failure(class, now, Jitter(0)) {
            Next::Retry { after_ms: ms, .. } => now += ms,
            Next::SleepAll { ms, .. } => {
                now += ms;
                slept += ms;
            }
            Next::Switch { target } => {
                let next = identities[target];
                let outage = give_up_reason(class) == GiveUp::Unreachable;
                prop_assert!(
                    !outage || next.host != asked.host || next.price <= asked.price,
                    "climbed on a host in trouble"
                );
            }
            Next::GiveUp { .. } => {
                // Two short waits belong to the attempts.
                prop_assert!(slept <= patience.limit_ms + patience.outage_ms + 2 * 60_000);
                return Ok(());
            }
        }
    }
    prop_assert!(false, "it never gave up");
    Ok(())
}

proptest! {
    #[test]
    fn trouble_always_ends_and_never_climbs_on_the_same_vendor(
        vendors in prop::collection::vec((0usize..3, 0u64..3), 1..5),
        limit_ms in 0u64..600_000, outage_ms in 0u64..300_000,
        blows in prop::collection::vec((0usize..STATUSES.len(), prop::option::of(0u64..900_000), any::<bool>()), 1..12)
    ) {
        let identities: Vec<Identity> =
            vendors.into_iter().map(|(vendor, price)| Identity { account: vendor, host: vendor, price }).collect();
        to_the_end(&identities, Patience { limit_ms, outage_ms }, &blows)?;
    }
}
