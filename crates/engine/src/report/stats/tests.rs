use super::*;
use crate::domain::played::Rung;
use crate::report::fixtures;

#[test]
fn c12_the_figures_are_the_receipts_and_the_rows() {
    let script = fixtures::fixed();
    let view = script.view();
    let spent = view.spent.charge().known;
    let failed =
        fixtures::every_ending().into_iter().find(|(name, _)| *name == "exhausted").map(|(_, view)| view).unwrap();
    let runs = [(view, script.events.as_slice()), (failed, &[] as &[Event])];
    let mut stats = of_runs(&runs);
    assert_eq!((stats.runs, stats.fixed, stats.tests_fixed), (2, 1, 3));
    assert_eq!(stats.models.iter().map(|model| model.charge.known).sum::<MicroUsd>(), spent);
    let solved: Vec<(&str, usize)> = stats.tiers.iter().map(|tier| (tier.tier.as_str(), tier.resolved)).collect();
    assert!(solved.contains(&("mid-grade", 1)) && solved.contains(&("local-free", 0)), "{solved:?}");
    let tasks = played(&runs);
    assert_eq!((tasks.len(), tasks[0].visits.len(), tasks[0].visits[1].solved), (2, 2, true));
    stats.suggest(&Suggestion {
        basis: Basis::History,
        rungs: vec![
            Rung { model: "anthropic/claude-haiku-5-5".to_owned(), iterations: Some(2) },
            Rung { model: "anthropic/claude-sonnet-5-5".to_owned(), iterations: Some(3) },
        ],
        tasks: 2,
        fixes: 1.4,
        cost_usd: 0.31,
        fixed_in_fact: 1,
        spent_in_fact_usd: 0.05,
    });
    insta::assert_snapshot!(render(&stats, None));
}

#[test]
fn c12_a_task_of_unknown_cost_says_nothing_of_what_a_ladder_costs() {
    let script = fixtures::fixed();
    let mut view = script.view();
    let unknown = Charge { known: MicroUsd::ZERO, unknown: MicroUsd(1_630_000) };
    for tier in &mut view.tiers {
        tier.cost += unknown;
        tier.attempts.iter_mut().for_each(|attempt| attempt.unknown_cost = unknown.unknown);
    }
    view.spent.unknown_cost = unknown.unknown;
    view.spent.cost = MicroUsd(view.spent.cost.0 + unknown.unknown.0);
    let known = view.spent.charge().known;
    let runs = [(view, script.events.as_slice())];
    let stats = of_runs(&runs);
    assert_eq!((played(&runs).len(), stats.tasks_of_unknown_cost), (0, 1));
    assert!((stats.cost_usd - known.as_usd()).abs() < 1e-12, "{stats:?}");
    let said = render(&stats, None);
    assert!(said.contains(" known per fixed test (3 tests fixed)"), "{said}");
    assert!(said.contains("1 run in this log (1 task not counted, with partly unknown cost)"), "{said}");
    let tier = said.lines().find(|line| line.starts_with("mid-grade")).expect("the tier");
    assert!(tier.contains(" known, at most $1.63 unknown") && tier.trim_end().ends_with(" known"), "{said}");
}

#[test]
fn c12_an_empty_log_says_so() {
    assert!(render(&of_runs(&[]), None).starts_with("The log has no runs.\n"));
}

#[test]
fn a_ladder_says_of_what_it_is_drawn_and_why_one_run_is_too_little() {
    let script = fixtures::fixed();
    let mut stats = of_runs(&[(script.view(), script.events.as_slice())]);
    let none = render(&stats, None);
    assert!(none.contains("No ladder is suggested: 1 run in this log, and a model needs 5 tasks to count"), "{none}");
    stats.suggest(&Suggestion {
        basis: Basis::PublicTable,
        rungs: vec![Rung { model: "openai/gpt-5-mini".to_owned(), iterations: None }],
        tasks: 500,
        fixes: 299.0,
        cost_usd: 20.0,
        fixed_in_fact: 400,
        spent_in_fact_usd: 900.0,
    });
    let prior = render(&stats, None);
    assert!(
        prior.contains(
            "No ladder can be suggested from this log yet. For comparison, the best one of a public benchmark"
        ),
        "{prior}"
    );
    assert!(prior.contains("This log has too few tasks yet: 1 run in this log, and a model"), "{prior}");
}
