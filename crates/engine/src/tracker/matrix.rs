//! A backlog parted into jobs that know nothing of each other: the tasks of each, and the share of the budget that is its own.

use std::collections::{BTreeMap, BTreeSet};

use super::task::{Proof, Task, TaskStatus};
use crate::domain::units::MicroUsd;

/// The most jobs that one matrix may make (GitHub's own limit for a workflow run).
pub const MOST_JOBS: usize = 256;

/// A job: its tasks in the order in which they are worked on, and the most that they may cost together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The ids of its tasks.
    pub tasks: Vec<String>,
    /// The most that it may spend.
    pub max_cost: MicroUsd,
}

/// A backlog as jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The jobs, the one with the most urgent task first.
    pub jobs: Vec<Job>,
    /// The most that one task may cost.
    pub share: MicroUsd,
    /// Open tasks that no job takes, since nothing proves them or they wait for one that nobody works on.
    pub left_out: Vec<String>,
}

/// Parts the open tasks into at most so many jobs. Each task has an equal share of the whole, which no job can raise: what one leaves over
/// stays unspent. Tasks that wait for each other are of one job.
#[must_use]
pub fn matrix(tasks: &[Task], max_cost: MicroUsd, most_jobs: usize) -> Matrix {
    let ready = workable(tasks);
    let left_out = tasks.iter().filter(|task| task.is_open() && !ready.contains(task.id.as_str()));
    let left_out = left_out.map(|task| task.id.clone()).collect();
    let count = u64::try_from(ready.len()).unwrap_or(u64::MAX);
    if count == 0 {
        return Matrix { left_out, ..Matrix::default() };
    }
    // Rounded down, so that the sum of all shares never passes the cap.
    let share = MicroUsd(max_cost.0 / count);
    let mut groups = groups(tasks, &ready);
    groups.sort_by_key(|group| group.iter().filter_map(|at| tasks.get(*at)).map(|task| task.priority).min());
    // No job without a task: GitHub would start it all the same.
    let most_jobs = most_jobs.clamp(1, MOST_JOBS).min(groups.len());
    let mut parted: Vec<Vec<usize>> = vec![Vec::new(); most_jobs];
    for group in groups {
        // The emptiest, and among those the first.
        if let Some(job) = parted.iter_mut().min_by_key(|job| job.len()) {
            job.extend(group);
        }
    }
    let job = |places: Vec<usize>| {
        let ids: Vec<String> = places.iter().filter_map(|at| tasks.get(*at)).map(|task| task.id.clone()).collect();
        let max_cost = MicroUsd(share.0 * u64::try_from(ids.len()).unwrap_or_default());
        Job { tasks: ids, max_cost }
    };
    Matrix { jobs: parted.into_iter().map(job).collect(), share, left_out }
}

/// The ids of open tasks that something proves, and whose dependencies are completed or such tasks themselves. Linear in tasks and
/// dependencies but for the look-ups.
fn workable(tasks: &[Task]) -> BTreeSet<&str> {
    let completed = tasks.iter().filter(|task| task.status == TaskStatus::Completed).map(|task| task.id.as_str());
    let completed: BTreeSet<&str> = completed.collect();
    let open = tasks.iter().filter(|task| task.is_open() && task.proof != Proof::Nothing);
    // It begins with all that could be ready, and takes out what cannot. A circle then stays, which was refused before.
    let mut ready: BTreeSet<&str> = open.clone().map(|task| task.id.as_str()).collect();
    let mut dependents: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut stuck: Vec<&str> = Vec::new();
    for task in open {
        for other in task.depends_on.iter().map(String::as_str).filter(|id| !completed.contains(id)) {
            if ready.contains(other) {
                dependents.entry(other).or_default().push(&task.id);
            } else {
                stuck.push(&task.id);
            }
        }
    }
    while let Some(id) = stuck.pop() {
        // A task that cannot come takes along whoever waits for it.
        if ready.remove(id) {
            stuck.extend(dependents.remove(id).unwrap_or_default());
        }
    }
    ready
}

/// The places of tasks that depend on one another, directly or through others. Each group is in the backlog's order.
fn groups(tasks: &[Task], ready: &BTreeSet<&str>) -> Vec<Vec<usize>> {
    let mut of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let ready_tasks = tasks.iter().enumerate().filter(|(_, task)| ready.contains(task.id.as_str()));
    for (place, task) in ready_tasks.clone() {
        of.insert(&task.id, groups.len());
        groups.push(vec![place]);
    }
    for (_, task) in ready_tasks {
        for other in &task.depends_on {
            let (Some(&one), Some(&two)) = (of.get(task.id.as_str()), of.get(other.as_str())) else { continue };
            if one == two {
                continue;
            }
            let size = |group: usize| groups.get(group).map_or(0, Vec::len);
            // The smaller moves, so that no task moves more often than the groups can double.
            let (larger, smaller) = if size(one) < size(two) { (two, one) } else { (one, two) };
            let moved = groups.get_mut(smaller).map(std::mem::take).unwrap_or_default();
            for place in &moved {
                if let Some(task) = tasks.get(*place) {
                    of.insert(&task.id, larger);
                }
            }
            if let Some(group) = groups.get_mut(larger) {
                group.extend(moved);
            }
        }
    }
    groups.retain(|group| !group.is_empty());
    groups.iter_mut().for_each(|group| group.sort_unstable());
    // The order of the groups is the backlog's, whichever of two moved.
    groups.sort_by_key(|group| group.first().copied());
    groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(number: usize, open: bool, provable: bool, depends_on: Vec<usize>) -> Task {
        Task {
            id: format!("T{number}"),
            title: String::new(),
            description: String::new(),
            status: if open { TaskStatus::Open } else { TaskStatus::Completed },
            priority: u8::try_from(number % 5).unwrap(),
            depends_on: depends_on.into_iter().map(|other| format!("T{other}")).collect(),
            proof: if provable { Proof::Command("true".to_owned()) } else { Proof::Nothing },
        }
    }

    fn any_tasks() -> impl Strategy<Value = Vec<Task>> {
        let one = (prop::bool::weighted(0.8), prop::bool::weighted(0.9), prop::collection::vec(0_usize..600, 0..2));
        prop::collection::vec(one, 0..600).prop_map(|parts| {
            let build = |(number, (open, provable, others)): (usize, (bool, bool, Vec<usize>))| {
                task(number, open, provable, others.into_iter().filter(|other| *other < number).collect())
            };
            parts.into_iter().enumerate().map(build).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_workable_task_is_of_one_job_with_those_it_waits_for(tasks in any_tasks(), cap in 0_u64..10_000_000, most in 1_usize..400) {
            let found = matrix(&tasks, MicroUsd(cap), most);
            prop_assert!(found.jobs.len() <= most.min(MOST_JOBS));
            prop_assert!(found.jobs.iter().all(|job| !job.tasks.is_empty()));
            prop_assert!(found.jobs.iter().map(|job| job.max_cost.0).sum::<u64>() <= cap);
            let mut job_of = BTreeMap::new();
            for (number, job) in found.jobs.iter().enumerate() {
                for id in &job.tasks {
                    prop_assert!(job_of.insert(id.as_str(), number).is_none(), "{id} is of two jobs");
                }
            }
            for task in tasks.iter().filter(|task| task.is_open()) {
                let job = job_of.get(task.id.as_str());
                prop_assert_eq!(job.is_none(), found.left_out.contains(&task.id));
                let Some(job) = job else { continue };
                prop_assert!(task.proof != Proof::Nothing);
                for other in &task.depends_on {
                    let is_done = tasks.iter().any(|one| one.id == *other && !one.is_open());
                    prop_assert!(is_done || job_of.get(other.as_str()) == Some(job), "{} waits for {other}", task.id);
                }
            }
        }
    }

    #[test]
    fn a_chain_of_ten_thousand_is_one_job_and_nothing_where_its_head_has_no_proof() {
        let chain = |first_is_provable: bool| -> Vec<Task> {
            let link = |number: usize| {
                task(number, true, number > 0 || first_is_provable, number.checked_sub(1).into_iter().collect())
            };
            (0..10_000).map(link).collect()
        };
        let (whole, headless) = (chain(true), chain(false));
        let found = matrix(&whole, MicroUsd(10_000), MOST_JOBS);
        assert_eq!(found.jobs.iter().map(|job| job.tasks.len()).collect::<Vec<_>>(), [10_000]);
        assert_eq!((found.jobs[0].tasks[9_999].as_str(), found.share), ("T9999", MicroUsd(1)));
        let none = matrix(&headless, MicroUsd(10_000), MOST_JOBS);
        assert_eq!((none.jobs.len(), none.left_out.len()), (0, 10_000));
    }

    #[test]
    fn few_tasks_have_a_job_each_and_many_share() {
        let tasks: Vec<Task> = (0..1_000).map(|number| task(number, true, true, Vec::new())).collect();
        let few = matrix(&tasks[..3], MicroUsd(100), MOST_JOBS);
        let ids: Vec<&[String]> = few.jobs.iter().map(|job| job.tasks.as_slice()).collect();
        assert_eq!(ids, [&["T0".to_owned()][..], &["T1".to_owned()], &["T2".to_owned()]]);
        assert_eq!((few.share, few.jobs[0].max_cost), (MicroUsd(33), MicroUsd(33)));
        let many = matrix(&tasks, MicroUsd(1_000_000), 9_999);
        assert_eq!(many.jobs.len(), 256);
        let sizes: BTreeSet<usize> = many.jobs.iter().map(|job| job.tasks.len()).collect();
        assert_eq!(sizes, BTreeSet::from([3, 4]), "as even as can be");
    }

    #[test]
    fn what_waits_for_what_nobody_works_on_is_left_out() {
        let tasks = [task(0, true, false, Vec::new()), task(1, true, true, vec![0]), task(2, true, true, vec![1])];
        let found = matrix(&tasks, MicroUsd(100), 10);
        assert_eq!((found.jobs.len(), found.left_out), (0, vec!["T0".to_owned(), "T1".to_owned(), "T2".to_owned()]));
    }
}
