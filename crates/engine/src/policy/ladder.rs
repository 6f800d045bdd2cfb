//! Advice on ladders: which order of models would have fixed as much for less, played over tasks of the past.
//!
//! A ladder is played task by task. Where a model worked on the task, its result there counts. Where it did not, its mean over the other
//! tasks does. Models of upper tiers saw the harder tasks, so their means are low rather than high.

use std::collections::BTreeMap;

use crate::domain::played::{Basis, MIN_TASKS, PlayedTask, Rung, Suggestion, Visit};
use crate::domain::units::MicroUsd;

/// The most models that are tried in every order.
const MAX_MODELS: usize = 10;
/// A suggestion may fix this share of what the best ladder fixes.
const GOOD_ENOUGH: f64 = 0.99;
/// The public table, for models of the catalogue.
const TABLE: &str = include_str!("prior/swebench_verified.txt");

/// A ladder for tasks like those of the past. `None` where too little is known.
#[must_use]
pub fn suggest(tasks: &[PlayedTask], basis: Basis) -> Option<Suggestion> {
    let records = records(tasks);
    let played: Vec<(Vec<&Record<'_>>, Outcome)> = orders(&records)
        .into_iter()
        .map(|order| {
            let outcome = play(&order, tasks);
            (order, outcome)
        })
        .collect();
    let best = played.iter().map(|(_, outcome)| outcome.fixes).fold(0.0, f64::max);
    // The cheapest of all would be the cheapest model alone, whatever it fixes.
    let enough = played.into_iter().filter(|(_, outcome)| outcome.fixes >= best * GOOD_ENOUGH);
    let (order, outcome) = enough.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost))?;
    let rung = |record: &&Record<'_>| Rung {
        model: record.model.to_owned(),
        // The public table holds one attempt of each task, so it says nothing of how many iterations a model needs.
        iterations: (basis == Basis::History).then(|| u32::try_from(record.cap).unwrap_or(u32::MAX)),
    };
    let visits = tasks.iter().flat_map(|task| &task.visits);
    Some(Suggestion {
        basis,
        rungs: order.iter().map(rung).collect(),
        tasks: tasks.len(),
        fixes: outcome.fixes,
        cost_usd: outcome.cost,
        fixed_in_fact: tasks.iter().filter(|task| task.visits.iter().any(|visit| visit.solved)).count(),
        spent_in_fact_usd: visits.map(|visit| visit.cost_of(usize::MAX).as_usd()).sum(),
    })
}

/// The tasks of the public table, for models that are wanted.
#[must_use]
pub fn public_table(wanted: impl Fn(&str) -> bool) -> Vec<PlayedTask> {
    let mut tasks: Vec<PlayedTask> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let Some((model, results)) = line.split_once(' ').filter(|(model, _)| wanted(model)) else { continue };
        for (index, result) in results.split(',').enumerate() {
            if tasks.len() <= index {
                tasks.push(PlayedTask::default());
            }
            let cost = result.trim_start_matches('+').parse().unwrap_or(0);
            let visit = Visit { model: model.to_owned(), costs: vec![MicroUsd(cost)], solved: result.starts_with('+') };
            // The results of a line stand in the order of the tasks, the same in every line.
            tasks.iter_mut().skip(index).take(1).for_each(|task| task.visits.push(visit.clone()));
        }
    }
    tasks
}

/// A model's record over all tasks.
#[derive(Debug)]
struct Record<'a> {
    model: &'a str,
    /// Whether it worked on enough tasks to say something of others.
    is_known: bool,
    /// Within so many iterations it fixed all that it ever fixed.
    cap: usize,
    /// The share of its tasks that it fixed.
    rate: f64,
    /// The mean cost of a task, in dollars, ended at the cap.
    mean_cost: f64,
}

/// Models that fixed a task: those that worked on enough of them first, then by the share that they fixed.
fn records(tasks: &[PlayedTask]) -> Vec<Record<'_>> {
    let mut visits: BTreeMap<&str, Vec<&Visit>> = BTreeMap::new();
    for visit in tasks.iter().flat_map(|task| &task.visits) {
        visits.entry(&visit.model).or_default().push(visit);
    }
    let mut records: Vec<Record<'_>> = visits
        .into_iter()
        .filter_map(|(model, visits)| {
            let is_known = tasks_of(tasks, model) >= MIN_TASKS;
            let solved = visits.iter().filter(|visit| visit.solved);
            // A model that never fixed anything has no cap and is left out.
            let cap = solved.clone().map(|visit| visit.costs.len()).max()?;
            let cost: f64 = visits.iter().map(|visit| visit.cost_of(cap).as_usd()).sum();
            let all = number(visits.len());
            Some(Record { model, is_known, cap, rate: number(solved.count()) / all, mean_cost: cost / all })
        })
        .collect();
    records.sort_by(|a, b| b.is_known.cmp(&a.is_known).then(b.rate.total_cmp(&a.rate)));
    // Ten models make 820 ladders of up to three.
    records.truncate(MAX_MODELS);
    records
}

/// The number of tasks that a model worked on. Two tiers of one run are one task.
fn tasks_of(tasks: &[PlayedTask], model: &str) -> usize {
    tasks.iter().filter(|task| task.visits.iter().any(|visit| visit.model == model)).count()
}

/// Every ladder of one to three different models. One that saw few tasks, such as those that the models below it left, begins none.
fn orders<'r>(records: &'r [Record<'r>]) -> Vec<Vec<&'r Record<'r>>> {
    let mut orders: Vec<Vec<&Record<'_>>> = Vec::new();
    for first in records.iter().filter(|record| record.is_known) {
        orders.push(vec![first]);
        for second in records.iter().filter(|second| second.model != first.model) {
            orders.push(vec![first, second]);
            let third = records.iter().filter(|third| third.model != first.model && third.model != second.model);
            orders.extend(third.map(|third| vec![first, second, third]));
        }
    }
    orders
}

#[derive(Debug, Default)]
struct Outcome {
    fixes: f64,
    cost: f64,
}

fn play(order: &[&Record<'_>], tasks: &[PlayedTask]) -> Outcome {
    let mut outcome = Outcome::default();
    for task in tasks {
        let mut reached = 1.0;
        for record in order {
            let visit = task.visits.iter().find(|visit| visit.model == record.model);
            let (cost, fixed) = match visit {
                Some(visit) => {
                    let solved = visit.solved_within(record.cap);
                    (visit.cost_of(record.cap).as_usd(), if solved { 1.0 } else { 0.0 })
                }
                None => (record.mean_cost, record.rate),
            };
            outcome.cost += reached * cost;
            outcome.fixes += reached * fixed;
            // The share of the task that no rung before this one has fixed: only so much of the next rung is paid.
            reached *= 1.0 - fixed;
        }
    }
    outcome
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tasks are far below 2^53")]
const fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(model: &str, costs: &[u64], solved: bool) -> Visit {
        Visit { model: model.to_owned(), costs: costs.iter().copied().map(MicroUsd).collect(), solved }
    }

    #[test]
    fn c12_a_cheap_model_that_fixes_most_goes_first_and_a_hopeless_one_goes() {
        let task = |cheap: bool| PlayedTask {
            visits: [visit("a/hopeless", &[500_000; 3], false), visit("a/cheap", &[10_000], cheap)]
                .into_iter()
                .chain((!cheap).then(|| visit("a/dear", &[300_000, 300_000], true)))
                .collect(),
        };
        let tasks: Vec<PlayedTask> = (0..20).map(|index| task(index % 3 != 0)).collect();
        let advice = suggest(&tasks, Basis::History).unwrap();
        let rungs: Vec<(&str, Option<u32>)> =
            advice.rungs.iter().map(|rung| (rung.model.as_str(), rung.iterations)).collect();
        assert_eq!(rungs, [("a/cheap", Some(1)), ("a/dear", Some(2))]);
        assert!((advice.fixes - 20.0).abs() < 1e-9 && (advice.cost_usd - (20.0 * 0.01 + 7.0 * 0.6)).abs() < 1e-9);
    }

    #[test]
    fn c12_the_model_that_fixed_what_was_left_is_not_given_up() {
        let task = |cheap: bool| PlayedTask {
            visits: std::iter::once(visit("a/cheap", &[10_000], cheap))
                .chain((!cheap).then(|| visit("a/dear", &[100_000], true)))
                .collect(),
        };
        let tasks: Vec<PlayedTask> = (0..12).map(|index| task(index >= 2)).collect();
        let advice = suggest(&tasks, Basis::History).unwrap();
        let rungs: Vec<&str> = advice.rungs.iter().map(|rung| rung.model.as_str()).collect();
        assert_eq!((rungs, advice.fixed_in_fact), (vec!["a/cheap", "a/dear"], 12));
        assert!((advice.fixes - 12.0).abs() < 1e-9);
    }

    #[test]
    fn c12_too_little_history_is_no_advice() {
        let few = vec![PlayedTask { visits: vec![visit("a/m", &[1], true)] }; MIN_TASKS - 1];
        assert_eq!(suggest(&few, Basis::History), None);
        let one = [PlayedTask { visits: vec![visit("a/m", &[1], true); MIN_TASKS] }];
        assert_eq!(suggest(&one, Basis::History), None, "one run with many tiers is one task");
        let never = vec![PlayedTask { visits: vec![visit("a/m", &[1], false)] }; 50];
        assert_eq!(suggest(&never, Basis::History), None);
    }

    #[test]
    fn c12_the_public_table_holds_what_its_source_says_and_advises_a_ladder() {
        let tasks = public_table(|_| true);
        assert_eq!(tasks.len(), 500);
        let solved =
            |model: &str| tasks.iter().flat_map(|task| &task.visits).filter(|v| v.model == model && v.solved).count();
        // The leaderboard's own sums.
        assert_eq!(
            (solved("anthropic/claude-opus-4-5"), solved("openai/gpt-5-mini"), solved("openai/o3")),
            (372, 299, 292)
        );
        let advice = suggest(&tasks, Basis::PublicTable).unwrap();
        let alone =
            tasks.iter().flat_map(|task| &task.visits).filter(|visit| visit.model == "anthropic/claude-opus-4-5");
        let alone: f64 = alone.map(|visit| visit.cost_of(1).as_usd()).sum();
        assert!(advice.rungs.len() > 1 && advice.cost_usd < alone && advice.fixes > 372.0, "{advice:?}");
        assert_eq!(advice.rungs[0].iterations, None);
        assert_eq!(suggest(&public_table(|_| false), Basis::PublicTable), None);
    }
}
