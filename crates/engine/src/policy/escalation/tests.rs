use proptest::prelude::*;

use super::*;

fn rules(caps: &[u32], on_entropy: OnEntropy) -> Rules {
    Rules { tier_caps: caps.to_vec(), on_entropy, entropy_threshold: 3 }
}

fn red(signature: &str, patch: &str) -> Observation {
    Observation::NotGreen { signature: Some(signature.to_owned()), patch: Some(patch.to_owned()), progress: false }
}

#[test]
fn a_tier_uses_its_iterations_and_then_the_next_takes_over() {
    let rules = rules(&[2, 1], OnEntropy::Escalate);
    let mut position = Position::at(0, &rules);
    assert_eq!(step(&rules, &mut position, &red("a", "1"), &[]).decision, Decision::Iterate);
    let exit = TierExit::IterationsExhausted;
    assert_eq!(step(&rules, &mut position, &red("b", "2"), &[]).decision, Decision::Escalate { exit });
    let end = Decision::End { exit, outcome: Outcome::Exhausted };
    assert_eq!(step(&rules, &mut position, &red("c", "3"), &[]).decision, end);
}

#[test]
fn the_same_patch_twice_ends_the_tier_at_once() {
    let rules = rules(&[9, 9], OnEntropy::Escalate);
    let mut position = Position::at(0, &rules);
    assert_eq!(step(&rules, &mut position, &red("a", "1"), &[]).decision, Decision::Iterate);
    assert_eq!(step(&rules, &mut position, &red("b", "2"), &[]).decision, Decision::Iterate);
    let decision = step(&rules, &mut position, &red("c", "1"), &[]).decision;
    assert_eq!(decision, Decision::Escalate { exit: TierExit::NoProgress });
}

#[test]
fn the_same_error_three_times_ends_the_tier() {
    let rules = rules(&[9], OnEntropy::Escalate);
    let mut position = Position::at(0, &rules);
    for patch in ["1", "2"] {
        assert_eq!(step(&rules, &mut position, &red("a.py:7", patch), &[]).decision, Decision::Iterate);
    }
    let last = step(&rules, &mut position, &red("a.py:8", "3"), &[]);
    let end = Decision::End { exit: TierExit::EntropyDetected, outcome: Outcome::Stalled };
    assert_eq!(last.decision, end);
    assert_eq!(last.entropy.map(|entropy| entropy.count), Some(3));
}

#[test]
fn a5_wrong_answers_that_come_nearer_are_no_stall_and_progress_begins_the_row_anew() {
    let rules = rules(&[9], OnEntropy::Escalate);
    let mut position = Position::at(0, &rules);
    for (index, error) in ["2 != 10", "4 != 10", "6 != 10", "8 != 10"].into_iter().enumerate() {
        assert_eq!(step(&rules, &mut position, &red(error, &index.to_string()), &[]).decision, Decision::Iterate);
    }
    let mut position = Position::at(0, &rules);
    let further = |patch: &str| {
        let signature = Some("1 test failed".to_owned());
        Observation::NotGreen { signature, patch: Some(patch.to_owned()), progress: true }
    };
    for patch in ["1", "2", "3", "4"] {
        assert_eq!(step(&rules, &mut position, &further(patch), &[]).decision, Decision::Iterate);
    }
}

#[test]
fn continue_turns_both_detectors_off_and_halt_ends_the_run() {
    let keep_on = rules(&[5, 1], OnEntropy::Continue);
    let mut position = Position::at(0, &keep_on);
    for _ in 0..4 {
        assert_eq!(step(&keep_on, &mut position, &red("a", "1"), &[]).decision, Decision::Iterate);
    }
    let halt = rules(&[5, 1], OnEntropy::Halt);
    let mut position = Position::at(0, &halt);
    assert_eq!(step(&halt, &mut position, &red("a", "1"), &[]).decision, Decision::Iterate);
    let end = Decision::End { exit: TierExit::NoProgress, outcome: Outcome::Stalled };
    assert_eq!(step(&halt, &mut position, &red("a", "1"), &[]).decision, end);
}

#[test]
fn a_provider_that_fails_ends_its_tier_and_on_the_last_the_run() {
    let rules = rules(&[5, 5], OnEntropy::Escalate);
    let mut position = Position::at(0, &rules);
    let exit = TierExit::ProviderError;
    assert_eq!(
        step(&rules, &mut position, &Observation::NoModel { why: GiveUp::Refused }, &[]).decision,
        Decision::Escalate { exit }
    );
    let end = Decision::End { exit, outcome: Outcome::NoModel };
    assert_eq!(step(&rules, &mut position, &Observation::NoModel { why: GiveUp::Refused }, &[]).decision, end);
}

#[test]
fn a_tier_that_needs_a_person_is_not_believed_until_another_says_so_or_none_is_left() {
    let rules = rules(&[5, 5, 5], OnEntropy::Escalate);
    let blocked = |reason: &str| Observation::Blocked { reason: reason.to_owned() };
    let end = |reason: &str| {
        let outcome = Outcome::Blocked { reason: reason.to_owned() };
        Decision::End { exit: TierExit::Blocked, outcome }
    };
    let mut position = Position::at(0, &rules);
    let up = Decision::Escalate { exit: TierExit::Blocked };
    assert_eq!(step(&rules, &mut position, &blocked("a key"), &[]).decision, up);
    assert_eq!((position.tier_index, position.iterations), (1, 0));
    assert_eq!(step(&rules, &mut position.clone(), &blocked("a secret"), &[]).decision, end("a secret"));
    for patch in ["1", "2"] {
        assert_eq!(step(&rules, &mut position, &red("same", patch), &[]).decision, Decision::Iterate);
    }
    let stalled = step(&rules, &mut position, &red("same", "3"), &[]).decision;
    assert_eq!((stalled, position.tier_index), (Decision::Escalate { exit: TierExit::EntropyDetected }, 2));
    assert_eq!(step(&rules, &mut position, &blocked("that key"), &[]).decision, end("that key"), "two of three say so");
    let mut last = Position::at(2, &rules);
    assert_eq!(step(&rules, &mut last, &blocked("a key"), &[]).decision, end("a key"));
    let mut alone = Position::at(0, &rules);
    let refused = [Readiness::Refused, Readiness::Refused];
    assert_eq!(
        step(&rules, &mut alone, &blocked("a key"), &refused).decision,
        end("a key"),
        "nobody else can be asked"
    );
}

#[test]
fn a_limit_parks_where_no_other_vendor_is_left_and_never_climbs_on_the_same_one() {
    let rules = rules(&[5, 5, 5], OnEntropy::Escalate);
    let limited = Observation::NoModel { why: GiveUp::Limited };
    let mut position = Position::at(0, &rules);
    let same_host = [Readiness::Limited, Readiness::Limited];
    assert_eq!(step(&rules, &mut position, &limited, &same_host).decision, Decision::Park);
    assert_eq!(position, Position::at(0, &rules), "the iteration is not over");
    let other_above = [Readiness::Limited, Readiness::Ready];
    let exit = TierExit::ProviderError;
    assert_eq!(step(&rules, &mut position, &limited, &other_above).decision, Decision::Escalate { exit });
    assert_eq!(position.tier_index, 2, "the tier of the same host is skipped");
}

#[test]
fn a_refused_key_skips_its_tiers_and_an_outage_ends_where_no_other_host_is_left() {
    let rules = rules(&[5, 5, 5], OnEntropy::Escalate);
    let exit = TierExit::ProviderError;
    let refused = Observation::NoModel { why: GiveUp::Refused };
    let mut position = Position::at(0, &rules);
    let above = [Readiness::Refused, Readiness::Ready];
    assert_eq!(step(&rules, &mut position, &refused, &above).decision, Decision::Escalate { exit });
    assert_eq!(position.tier_index, 2);
    for (why, above) in [(GiveUp::Refused, Readiness::Refused), (GiveUp::Unreachable, Readiness::Down)] {
        let mut position = Position::at(0, &rules);
        let end = Decision::End { exit, outcome: Outcome::NoModel };
        assert_eq!(step(&rules, &mut position, &Observation::NoModel { why }, &[above, above]).decision, end);
    }
}

#[test]
fn green_with_an_objection_is_not_a_success() {
    let rules = rules(&[2], OnEntropy::Escalate);
    let mut position = Position::at(0, &rules);
    assert_eq!(step(&rules, &mut position, &Observation::Rejected, &[]).decision, Decision::Iterate);
    let end = Decision::End { exit: TierExit::Objected, outcome: Outcome::Objected };
    assert_eq!(step(&rules, &mut position, &Observation::Rejected, &[]).decision, end);
}

fn give_up() -> impl Strategy<Value = GiveUp> {
    prop_oneof![Just(GiveUp::Refused), Just(GiveUp::Limited), Just(GiveUp::Unreachable), Just(GiveUp::Rejected)]
}

fn readiness() -> impl Strategy<Value = Readiness> {
    prop_oneof![
        2 => Just(Readiness::Ready),
        1 => Just(Readiness::Pausing),
        1 => Just(Readiness::Limited),
        1 => Just(Readiness::Down),
        1 => Just(Readiness::Refused)
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        1 => Just(Observation::Green),
        2 => Just(Observation::Rejected),
        8 => ("[ab]", "[a-f]", any::<bool>()).prop_map(|(signature, patch, progress)| Observation::NotGreen {
            signature: Some(signature),
            patch: Some(patch),
            progress
        }),
        2 => Just(Observation::NotGreen { signature: None, patch: None, progress: false }),
        2 => give_up().prop_map(|why| Observation::NoModel { why }),
        1 => Just(Observation::TierBudget),
        1 => Just(Observation::RunBudget),
    ]
}

proptest! {
    #[test]
    fn every_run_ends_and_never_goes_down(
        caps in proptest::collection::vec(1_u32..6, 1..5),
        observations in proptest::collection::vec((observation(), proptest::collection::vec(readiness(), 4)), 40),
        policy in prop_oneof![Just(OnEntropy::Escalate), Just(OnEntropy::Continue), Just(OnEntropy::Halt)],
    ) {
        let rules = rules(&caps, policy);
        let mut position = Position::at(0, &rules);
        let (mut tier, mut ran, mut ended) = (0, 0, false);
        for (seen, readiness) in &observations {
            ran += 1;
            prop_assert!(ran <= caps[tier]);
            let above = &readiness[..(caps.len() - tier - 1)];
            let before = position.clone();
            match step(&rules, &mut position, seen, above).decision {
                Decision::Iterate => prop_assert!(!matches!(seen, Observation::Green)),
                Decision::Escalate { .. } => {
                    let next = position.tier_index as usize;
                    prop_assert!(next > tier);
                    let entered = above[next - tier - 1];
                    prop_assert_ne!(entered, Readiness::Refused);
                    if matches!(seen, Observation::NoModel { why: GiveUp::Limited }) {
                        prop_assert_eq!(entered, Readiness::Ready);
                    }
                    if matches!(seen, Observation::NoModel { why: GiveUp::Unreachable }) {
                        prop_assert_ne!(entered, Readiness::Down);
                    }
                    if matches!(seen, Observation::NoModel { .. }) {
                        prop_assert!(entered == Readiness::Ready || !above.contains(&Readiness::Ready));
                    } else {
                        let passed = &above[..next - tier - 1];
                        prop_assert!(passed.iter().all(|one| matches!(one, Readiness::Limited | Readiness::Refused)
                            || entered == Readiness::Limited));
                    }
                    (tier, ran) = (next, 0);
                }
                Decision::End { .. } => { ended = true; break; }
                Decision::Park => {
                    let limited = matches!(seen, Observation::NoModel { why: GiveUp::Limited });
                    prop_assert!(limited && !above.contains(&Readiness::Ready));
                    prop_assert_eq!(&position, &before, "the iteration goes on after a resume");
                    ended = true;
                    break;
                }
            }
        }
        prop_assert!(ended, "forty observations outlast four tiers of five");
    }
}

#[test]
fn trouble_on_the_way_skips_no_tier_after_work_was_done_unless_it_lasts() {
    let rules = rules(&[1, 1, 1], OnEntropy::Escalate);
    for (first, tier) in
        [(Readiness::Down, 1), (Readiness::Pausing, 1), (Readiness::Limited, 2), (Readiness::Refused, 2)]
    {
        let mut position = Position::at(0, &rules);
        let stepped = step(&rules, &mut position, &red("a", "1"), &[first, Readiness::Ready]);
        assert!(matches!(stepped.decision, Decision::Escalate { .. }));
        assert_eq!(position.tier_index, tier, "{first:?}");
    }
}
