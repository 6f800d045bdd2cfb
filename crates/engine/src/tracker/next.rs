//! The choice of the next task (S3-3), and the check that tasks can be put in an order at all.

use std::collections::{BTreeMap, BTreeSet};

use super::task::{Task, TaskFault, TaskStatus};

/// The next task: open, not set aside, all that it depends on completed. One that was begun comes first, then the lower priority
/// number, then the place in the backlog.
#[must_use]
pub fn next<'t>(tasks: &'t [Task], aside: &BTreeSet<String>) -> Option<&'t Task> {
    let completed: BTreeSet<&str> =
        tasks.iter().filter(|task| task.status == TaskStatus::Completed).map(|task| task.id.as_str()).collect();
    let is_ready = |task: &&Task| {
        let waits = task.depends_on.iter().any(|id| !completed.contains(id.as_str()));
        task.is_open() && !aside.contains(&task.id) && !waits
    };
    // The first of equals is taken.
    // A task that was begun has its change in the files, and nothing else may come before it.
    tasks.iter().filter(is_ready).min_by_key(|task| (task.status != TaskStatus::InProgress, task.priority))
}

/// The tasks, if each id stands once, what a task depends on is there, and none waits for itself.
///
/// # Errors
/// The first of these that is not so.
pub(super) fn validated(tasks: Vec<Task>) -> Result<Vec<Task>, TaskFault> {
    let mut by_id: BTreeMap<&str, &Task> = BTreeMap::new();
    for task in &tasks {
        // A second task of the same id would never be worked on, and be reported as done with the first.
        if by_id.insert(&task.id, task).is_some() {
            return Err(TaskFault::new(format!("two tasks have the id {}", task.id), "give each an id of its own"));
        }
    }
    for task in &tasks {
        if let Some(unknown) = task.depends_on.iter().find(|id| !by_id.contains_key(id.as_str())) {
            let fix = "name a task of this backlog, or remove it there";
            return Err(TaskFault::new(format!("{} depends on {unknown}, which does not exist", task.id), fix));
        }
    }
    match circle(&by_id) {
        Some(id) => {
            Err(TaskFault::new(format!("{id} waits for itself"), "remove one of the dependencies of the cycle"))
        }
        None => Ok(tasks),
    }
}

/// A task that can never be ready.
fn circle(by_id: &BTreeMap<&str, &Task>) -> Option<String> {
    // Counted instead of followed, since a chain of thousands of tasks would be as many calls deep.
    let mut waits: BTreeMap<&str, usize> = by_id.iter().map(|(id, task)| (*id, task.depends_on.len())).collect();
    let mut behind: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (id, task) in by_id {
        task.depends_on.iter().for_each(|other| behind.entry(other).or_default().push(id));
    }
    let mut ready: Vec<&str> = waits.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    while let Some(id) = ready.pop() {
        waits.remove(id);
        for other in behind.remove(id).unwrap_or_default() {
            let Some(count) = waits.get_mut(other) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.push(other);
            }
        }
    }
    // Whatever is left waits for something that waits for it.
    waits.keys().next().map(|id| (*id).to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::task::Proof;
    use super::*;

    fn task(number: usize, status: TaskStatus, priority: u8, depends_on: Vec<usize>) -> Task {
        Task {
            id: format!("T{number}"),
            title: String::new(),
            description: String::new(),
            status,
            priority,
            depends_on: depends_on.into_iter().map(|other| format!("T{other}")).collect(),
            proof: Proof::Nothing,
        }
    }

    fn any_tasks() -> impl Strategy<Value = Vec<Task>> {
        let status = prop_oneof![
            3 => Just(TaskStatus::Open),
            1 => Just(TaskStatus::InProgress),
            2 => Just(TaskStatus::Completed),
            1 => Just(TaskStatus::Blocked),
            1 => Just(TaskStatus::Cancelled),
        ];
        prop::collection::vec((status, 0_u8..5, prop::collection::vec(0_usize..12, 0..3)), 0..12).prop_map(|parts| {
            let build = |(number, (status, priority, others)): (usize, (TaskStatus, u8, Vec<usize>))| {
                // Earlier tasks alone: these always have an order.
                task(number, status, priority, others.into_iter().filter(|other| *other < number).collect())
            };
            parts.into_iter().enumerate().map(build).collect()
        })
    }

    proptest! {
        #[test]
        fn the_next_task_is_ready_and_none_that_is_ready_comes_before_it(tasks in any_tasks(), aside in prop::collection::btree_set(0_usize..12, 0..4)) {
            let aside: BTreeSet<String> = aside.into_iter().map(|number| format!("T{number}")).collect();
            let status_of = |id: &String| tasks.iter().find(|task| task.id == *id).map(|task| task.status);
            let ready: Vec<&Task> = tasks.iter().filter(|task| {
                task.is_open() && !aside.contains(&task.id)
                    && task.depends_on.iter().all(|id| status_of(id) == Some(TaskStatus::Completed))
            }).collect();
            match next(&tasks, &aside) {
                None => prop_assert!(ready.is_empty()),
                Some(chosen) => {
                    prop_assert!(ready.contains(&chosen));
                    let rank = |task: &Task| (task.status != TaskStatus::InProgress, task.priority);
                    prop_assert!(ready.iter().all(|other| rank(chosen) <= rank(other)));
                }
            }
        }

        #[test]
        fn every_backlog_without_a_circle_is_worked_off_in_an_order_of_its_dependencies(tasks in any_tasks()) {
            let mut tasks = validated(tasks).unwrap();
            let stuck = |tasks: &[Task], task: &Task| {
                // Behind what is blocked or cancelled nothing is ready.
                let mut ids = task.depends_on.clone();
                let mut at = 0;
                while let Some(id) = ids.get(at).cloned() {
                    let other = tasks.iter().find(|task| task.id == id).unwrap();
                    if matches!(other.status, TaskStatus::Blocked | TaskStatus::Cancelled) {
                        return true;
                    }
                    if other.status != TaskStatus::Completed {
                        ids.extend(other.depends_on.iter().cloned());
                    }
                    at += 1;
                }
                false
            };
            let wanted = tasks.iter().filter(|task| task.is_open() && !stuck(&tasks, task)).count();
            let mut done = 0;
            while let Some(id) = next(&tasks, &BTreeSet::new()).map(|task| task.id.clone()) {
                tasks.iter_mut().find(|task| task.id == id).unwrap().status = TaskStatus::Completed;
                done += 1;
                prop_assert!(done <= 12);
            }
            prop_assert_eq!(done, wanted);
        }
    }

    #[test]
    fn a_backlog_without_an_order_is_refused() {
        let open = TaskStatus::Open;
        let fault = |tasks: Vec<Task>| validated(tasks).unwrap_err().to_string();
        assert!(fault(vec![task(1, open, 2, vec![2]), task(2, open, 2, vec![1])]).contains("T1 waits for itself"));
        assert!(fault(vec![task(1, open, 2, vec![9])]).contains("T1 depends on T9, which does not exist"));
        assert!(fault(vec![task(1, open, 2, vec![]), task(1, open, 2, vec![])]).contains("two tasks have the id T1"));
    }
}
