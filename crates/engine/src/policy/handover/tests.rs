use proptest::prelude::*;

use super::*;
use crate::domain::attempt::{AttemptStatus, TierExit};
use crate::domain::clock::Timestamp;
use crate::domain::ladder::Mode;

fn attempt(iteration: u32, summary: &str, errors: &[&str], failed: &[&str]) -> Attempt {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    Attempt {
        tier_index: 0,
        tier_name: "ignored".into(),
        tier_mode: Mode::Simple,
        model_artisan: "a/b".into(),
        model_librarian: None,
        model_critic: None,
        billed_artisan: None,
        billed_librarian: None,
        billed_critic: None,
        review: None,
        iteration,
        code_change_summary: summary.to_owned(),
        test_status: AttemptStatus::Failed,
        failed_tests: owned(failed),
        error_messages: owned(errors),
        cost: MicroUsd(400),
        unknown_cost: MicroUsd::ZERO,
        duration_ms: 1,
        timestamp: Timestamp("2026-02-17T14:23:01.456Z".into()),
    }
}

fn tier(name: &str, cost: u64, attempts: Vec<Attempt>) -> TierResult {
    TierResult {
        tier_index: 0,
        tier_name: name.to_owned(),
        exit: TierExit::IterationsExhausted,
        iterations: u32::try_from(attempts.len()).unwrap(),
        cost: Charge { known: MicroUsd(cost), ..Charge::ZERO },
        attempts,
    }
}

#[test]
fn before_the_first_tier_everything_is_empty() {
    assert_eq!(build(&[]), Handover::default());
}

#[test]
fn two_tiers_read_byte_for_byte_as_the_contract_says() {
    let first = tier(
        "local-free",
        0,
        vec![
            attempt(1, "", &[], &[]),
            attempt(2, "use a * b", &["Expected 12, received NaN", "boom", "third"], &["t1"]),
        ],
    );
    let second = tier("mid-grade", 34_000, vec![attempt(1, "guard undefined", &["boom", "boom"], &["t2", "t3"])]);
    let handover = build(&[first, second]);
    assert_eq!(
        handover.summary,
        "=== TIER 1 FAILURES: local-free (2 iterations) ===\n\
         \n\
         Iteration 1: code modified. Tests: no error captured\n\
         Iteration 2: use a * b. Tests: Expected 12, received NaN; boom\n\
         \n\
         Unique error patterns: Expected 12, received NaN | boom | third\n\
         === TIER 2 FAILURES: mid-grade (1 iteration) ===\n\
         \n\
         Iteration 1: guard undefined. Tests: boom; boom\n\
         \n\
         Unique error patterns: boom\n\
         [total accumulated across 2 tier(s): 3 iterations, $0.0340]"
    );
    assert_eq!(handover.dropped_tiers, 0);
}

#[test]
fn a_tier_without_iterations_and_without_cost_still_has_its_block() {
    assert_eq!(
        build(&[tier("offline", 0, vec![])]).summary,
        "=== TIER 1 FAILURES: offline (0 iterations) ===\n\n\nUnique error patterns: none\n\
         [total accumulated across 1 tier(s): 0 iterations, $0.0000]"
    );
}

#[test]
fn the_oldest_tiers_are_dropped_until_the_rest_fits_and_no_marker_is_added() {
    let long = "x".repeat(1_500);
    let tiers: Vec<TierResult> =
        ["one", "two", "three"].iter().map(|name| tier(name, 1, vec![attempt(1, &long, &[], &[])])).collect();
    let handover = build(&tiers);
    assert_eq!(handover.dropped_tiers, 1);
    assert!(handover.summary.starts_with("=== TIER 2 FAILURES: two"), "{}", handover.summary);
    assert!(handover.summary.ends_with("\n[total accumulated across 3 tier(s): 3 iterations, $0.0000]"));
    assert!(!handover.summary.contains(TRUNCATION_MARKER));
}

#[test]
fn a_last_block_that_does_not_fit_alone_is_cut_at_3946_characters_and_marked() {
    let handover = build(&[tier("a", 1, vec![]), tier("b", 1, vec![attempt(1, &"é".repeat(5_000), &[], &[])])]);
    assert_eq!(handover.summary.chars().count(), MAX_CHARS);
    let kept = handover.summary.strip_suffix(TRUNCATION_MARKER).expect("marked");
    assert_eq!(kept.chars().count(), 3_946);
    assert!(kept.starts_with("=== TIER 2 FAILURES: b (1 iteration) ===\n\nIteration 1: ééé"));
    assert_eq!(handover.dropped_tiers, 1);
}

#[test]
fn exactly_four_thousand_characters_fit_and_one_more_does_not() {
    let with_summary = |length: usize| build(&[tier("t", 1, vec![attempt(1, &"s".repeat(length), &[], &[])])]).summary;
    let around = with_summary(1).chars().count() - 1;
    let full = with_summary(MAX_CHARS - around);
    assert_eq!(full.chars().count(), MAX_CHARS);
    assert!(full.ends_with("tier(s): 1 iterations, $0.0000]"), "{full}");
    let over = with_summary(MAX_CHARS - around + 1);
    assert!(over.chars().count() <= MAX_CHARS);
    assert!(over.ends_with(&format!("Unique error patterns: none{TRUNCATION_MARKER}")), "the footer gives way first");
}

proptest! {
    #[test]
    fn it_never_passes_the_cap(
        tiers in prop::collection::vec(
            (".{0,30}", 0u64..10_000_000, prop::collection::vec((".{0,900}", prop::collection::vec(".{0,400}", 0..4)), 0..6)),
            0..6,
        )
    ) {
        let results: Vec<TierResult> = tiers
            .iter()
            .map(|(name, cost, attempts)| {
                let attempts = (1u32..).zip(attempts).map(|(number, (summary, errors))| {
                    let errors: Vec<&str> = errors.iter().map(String::as_str).collect();
                    attempt(number, summary, &errors, &[])
                });
                tier(name, *cost, attempts.collect())
            })
            .collect();
        let handover = build(&results);
        prop_assert!(handover.summary.chars().count() <= MAX_CHARS);
        prop_assert!((handover.dropped_tiers as usize) < results.len().max(1));
        let unmarked = !handover.summary.ends_with(TRUNCATION_MARKER) && !results.is_empty();
        prop_assert!(!unmarked || handover.summary.contains("tier(s): "));
    }
}
