//! `upshift run --tasks SOURCE --workers N`: the work of a workflow with many jobs, on one machine. Each job is this program once more in a
//! clone of its own, with a share of the budget that is fixed before. Their fixes are merged as the logs of strangers are.
//!
//! Invariant: a clone and its log go only once the log is joined, so that what was paid for is found again after a kill.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::super::confining::guards_folder;
use super::super::environment::Environment;
use super::super::plan::{self, Flags, Resolved};
use super::super::setup::{self, Setup, folder_name, trees_folder};
use super::super::work::repository;
use super::super::{Failure, say, signals};
use super::again;
use super::agents::Turn;
use super::book::done_before;
use super::flags::BacklogFlags;
use super::matrix::dollars;
use super::merging::{self, MergeForm, Report, Wish};
use super::only::only;
use super::ready::{clean, lock, or_stopped, ready_for_commits, refuse, same_branch, unreadable, warn_without_branch};
use super::worker::{self, Order};
use super::{load, shares};
use crate::audit::{Cap, Scope, Work};
use crate::config::{Format, Setting, Settings};
use crate::domain::budget::OF_DAY;
use crate::domain::outcome::EXIT_BUDGET;
use crate::domain::stop::{Stop, StopSource};
use crate::domain::units::MicroUsd;
use crate::tracker::{Job, MOST_JOBS, Source, Task, TaskStatus, matrix};
use crate::workspace::{Presence, RevisionError, Revisions};

/// The folder of the clones, beside the recorded trees.
const FOLDER: &str = "workers";
/// Why no job takes a task.
const NOT_PROVABLE: &str = "no test or command proves it, or it waits for a task that nobody works on";
/// How often tasks are worked on side by side. One whose change collides each time is then worked on alone, once, on top of the others.
const ROUNDS_TOGETHER: usize = 2;

/// Works off the backlog with so many jobs at a time.
pub(super) fn run(flags: Flags, backlog: BacklogFlags, environment: &Environment) -> anyhow::Result<u8> {
    let environment = environment.without_event();
    let settings = flags.clone().settings();
    let resolved = plan::resolve(flags, &environment)?;
    plan::refuse_to_start(&resolved)?;
    setup::block_on(begin(resolved, settings, backlog, &environment))
}

/// All that stays the same from job to job.
struct Workers<'w> {
    resolved: &'w Resolved,
    settings: Settings,
    source: &'w Source,
    named: &'w str,
    /// Whether every clone has the list.
    is_list_committed: bool,
    environment: &'w Environment,
    revisions: &'w Revisions<'w>,
    stop: &'w Stop,
    /// Where the clones and their logs are.
    place: PathBuf,
    /// How many work at a time.
    seats: Semaphore,
}

async fn begin(
    resolved: Resolved,
    settings: Settings,
    flags: BacklogFlags,
    environment: &Environment,
) -> anyhow::Result<u8> {
    let named = flags.tasks.as_deref().unwrap_or_default();
    let source: Source = named.parse().map_err(|fault| Failure::usage(format!("--tasks: {fault}")))?;
    if matches!(source, Source::Issues(_)) {
        return Err(Failure::usage(
            "--workers cannot work on issues: each job would ask GitHub for them\n→ Fix: leave --workers out, or let jobs of a workflow work on the tasks that `upshift tasks matrix` prints",
        ));
    }
    refuse(&resolved)?;
    let (raises, stop) = StopSource::new();
    signals::pass_to(&Arc::new(raises))?;
    or_stopped(opened((&resolved, settings), (&flags, &source), environment, &stop).await, &stop)
}

/// Opens what the jobs need, and has them work.
async fn opened(
    (resolved, settings): (&Resolved, Settings),
    (flags, source): (&BacklogFlags, &Source),
    environment: &Environment,
    stop: &Stop,
) -> anyhow::Result<u8> {
    let plan = &resolved.plan;
    let named = flags.tasks.as_deref().unwrap_or_default();
    let setup = Setup::new(&resolved.checkout, environment, Some(plan), None);
    let into = plan.audit.clone().unwrap_or_default();
    let mut store = setup.open_backlogs(&into)?;
    let _lock = lock(&mut store, &setup, (&resolved.checkout.display().to_string(), Work::Workers))?;
    // Each job and each merge opens its log by itself. The lock is held on.
    drop(store);
    let revisions = Revisions::open(&resolved.checkout, environment.raw(), stop).await.map_err(unreadable)?;
    ready_for_commits(&revisions).await?;
    warn_without_branch(&revisions).await?;
    let branch = revisions.branch().await.map_err(unreadable)?;
    // Before `clean`: the files of a killed merge would be taken for a person's.
    merging::go_back(&setup, resolved, &revisions).await?;
    clean(&revisions, &[]).await?;
    let place = environment.state_home(&resolved.checkout).join(FOLDER).join(folder_name(&resolved.checkout));
    let seats = Semaphore::new(usize::try_from(flags.workers.unwrap_or(1)).unwrap_or(1));
    let is_list_committed = match load::within(source, &resolved.checkout) {
        Some(list) => revisions.knows(&list).await.map_err(unreadable)?,
        None => false,
    };
    let revisions = &revisions;
    let workers =
        Workers { resolved, settings, source, named, is_list_committed, environment, revisions, stop, place, seats };
    let tasks =
        // Asked again after a merge: failing tests that were mended have no task any more.
        || async { only(undone(source, (&setup, resolved), revisions, &into).await?, &flags.task, source) };
    let mut open = tasks().await?;
    let mut all = open.clone();
    let logs = [workers.place.clone()];
    let merge = async |tasks: &[Task]| {
        // A person may have switched while the jobs were at work. What they did waits in their logs.
        same_branch(revisions, branch.as_deref()).await?;
        let wish = Wish { logs: &logs, source: Some(source), tasks, into: &into };
        merging::all(&wish, &setup, resolved, (revisions, stop)).await
    };
    let mut report = Report::default();
    // Its changes are paid for, so they are merged before anything is worked on again.
    if merging::has_logs(&workers.place) {
        say("⚠ jobs of an earlier backlog recorded runs that are not merged yet; they are merged first");
        report = merge(&open).await?;
        open = tasks().await?;
        all.clone_from(&open);
    }
    let (left, is_short) = workers.rounds((open, &all), &mut report, merge).await?;
    demand(&mut report, &all, &left);
    // Once more, since only now it is known which tasks nobody worked on.
    merging::note(
        &report,
        &Wish { logs: &logs, source: Some(source), tasks: &all, into: &into },
        &setup,
        plan.budget.max_cost,
    )?;
    // A joined log need not stay.
    // A stopped merge needs the logs once more.
    if !report.is_stopped() {
        drop(std::fs::remove_dir_all(&workers.place));
    }
    report.again_by(again::command(&workers.settings, flags));
    let form = if plan.format == Format::Text { MergeForm::Text } else { MergeForm::Json };
    merging::print(&report, form, &setup)?;
    let code = merging::exit_code(&report, stop);
    // Money is the reason that a person can do something about.
    Ok(if is_short { EXIT_BUDGET } else { code })
}

/// The tasks of a source, with those completed whose fix an earlier backlog left in the commit that is checked out.
async fn undone(
    source: &Source,
    (setup, resolved): (&Setup<'_>, &Resolved),
    revisions: &Revisions<'_>,
    log: &str,
) -> anyhow::Result<Vec<Task>> {
    let environment = setup.environment;
    let mut tasks = load::tasks(source, resolved, (environment, environment)).await?;
    if source.says_what_is_done() {
        return Ok(tasks);
    }
    let place = (load::name_of(source, setup.checkout), setup.checkout.display().to_string());
    let done = done_before(&setup.open_backlogs(log)?, (&place.0, &place.1), &tasks)?;
    for (at, commit) in done {
        let is_gone = match &commit {
            Some(commit) => revisions.presence(commit).await.map_err(unreadable)? == Presence::Gone,
            None => false,
        };
        if let Some(task) = tasks.get_mut(at).filter(|_| !is_gone) {
            task.status = TaskStatus::Completed;
        }
    }
    Ok(tasks)
}

/// Demands of a report what the backlog held: a task that is not done, and that no run is told of for, is told as not worked on.
fn demand(report: &mut Report, all: &[Task], left: &BTreeMap<String, String>) {
    for task in all {
        let why = match task.status {
            TaskStatus::Completed | TaskStatus::Cancelled => continue,
            TaskStatus::Blocked => "it waits for something outside of this backlog",
            TaskStatus::Open | TaskStatus::InProgress => {
                left.get(&task.id).map_or("its turn did not come", String::as_str)
            }
        };
        report.demand(&task.id, why);
    }
}

/// The folder of a job. Its clone goes with this, with all that upshift keeps about that elsewhere, and so does the folder where no log lies
/// in it.
#[derive(Debug)]
struct Room {
    folder: PathBuf,
    clone: PathBuf,
    /// The folders of recorded trees and of guarded files that runs in the clone have.
    beside: [PathBuf; 2],
}

impl Room {
    fn open(folder: PathBuf, environment: &Environment) -> std::io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        let clone = folder.join("clone");
        let beside = [trees_folder(&clone, environment), guards_folder(&clone, environment)];
        Ok(Self { folder, clone, beside })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        for gone in self.beside.iter().chain([&self.clone]) {
            drop(std::fs::remove_dir_all(gone));
        }
        // A folder with a log in it is not empty, and stays.
        drop(std::fs::remove_dir(&self.folder));
        drop(self.folder.parent().map(std::fs::remove_dir));
    }
}

impl Workers<'_> {
    /// Works on open tasks in rounds, behind each of which all is merged. Returns why tasks are left, and whether money was short.
    async fn rounds(
        &self,
        (mut open, all): (Vec<Task>, &[Task]),
        report: &mut Report,
        merge: impl AsyncFn(&[Task]) -> anyhow::Result<Report>,
    ) -> anyhow::Result<(BTreeMap<String, String>, bool)> {
        let cap = self.resolved.plan.budget.max_cost;
        let mut left: BTreeMap<String, String> = BTreeMap::new();
        let first = self.first_round();
        let mut came_alone: BTreeSet<String> = BTreeSet::new();
        for round in first.. {
            let alone = round >= first + ROUNDS_TOGETHER;
            // The second round has what the first one left, and not the whole cap again.
            let left_of_all = cap.saturating_sub(report.cost().total());
            let left_of_day = self.left_of_day()?;
            // No job sees what the others spend, so that all of them together get no more than the day has left.
            let money = left_of_day.map_or(left_of_all, |left| left.min(left_of_all));
            let is_by_day = money < left_of_all;
            let mut parted = matrix(&open, money, MOST_JOBS);
            left.extend(parted.left_out.iter().map(|id| (id.clone(), NOT_PROVABLE.to_owned())));
            if report.is_stopped() || parted.jobs.is_empty() {
                break;
            }
            if parted.share < shares::least(&self.resolved.plan) {
                let why = if is_by_day {
                    format!("{OF_DAY} is used up (`global.maxCostUsdPerDay`)")
                } else {
                    format!("the {cap} for all tasks is used up")
                };
                left.extend(parted.jobs.iter().flat_map(|job| &job.tasks).map(|id| (id.clone(), why.clone())));
                return Ok((left, true));
            }
            if alone {
                // The others come after it, each with its share still.
                parted.jobs.truncate(1);
                came_alone.extend(parted.jobs.iter().flat_map(|job| job.tasks.iter().cloned()));
            }
            let by_day = if is_by_day { format!(": {OF_DAY} leaves {}", money.at_least()) } else { String::new() };
            let jobs = if alone {
                "1 job, alone on top of the others".to_owned()
            } else {
                format!("{} jobs", parted.jobs.len())
            };
            say(&format!("◆ {jobs}, at most {} a task{by_day}", parted.share));
            left.extend(self.work(&parted.jobs, round).await?);
            // No job came so far that it had a log, so there is nothing to merge.
            if !merging::has_logs(&self.place) {
                break;
            }
            // What was merged before is known by its task, too.
            *report = merge(all).await?;
            let again = report.requeued();
            // Only tasks whose change did not stand beside the others come again.
            open.retain(|task| again.contains(&task.id.as_str()) && !came_alone.contains(&task.id));
        }
        Ok((left, false))
    }

    /// The money that the cap of the day leaves, by all runs of the repository that the log counts. `None` without such a cap.
    fn left_of_day(&self) -> anyhow::Result<Option<MicroUsd>> {
        let plan = &self.resolved.plan;
        let Some(max) = plan.shared_caps.per_day else { return Ok(None) };
        let setup = Setup::new(&self.resolved.checkout, self.environment, Some(plan), None);
        let store = setup.open_backlogs(&plan.audit.clone().unwrap_or_default())?;
        let now = setup.clock().timestamp();
        let day = now.0.get(..10).unwrap_or_default();
        let scope = Scope::Day(format!("{}@{day}", repository(&self.resolved.checkout)));
        Ok(Some(store.left(&[Cap { scope, max }])))
    }

    /// The number of the first round. What a killed backlog left is told from it, since no job goes on in another one's log.
    fn first_round(&self) -> usize {
        let names = std::fs::read_dir(&self.place).into_iter().flatten().flatten();
        // A folder is called `ROUND-JOB`.
        let round = |name: String| name.split('-').next()?.parse::<usize>().ok();
        let before = names.filter_map(|one| round(one.file_name().to_string_lossy().into_owned())).max();
        before.map_or(1, |round| round + 1)
    }

    /// Has every job worked on, so many at a time. Returns the reason of each task that the job's backlog, or the job's end, tells.
    async fn work(&self, jobs: &[Job], round: usize) -> anyhow::Result<Vec<(String, String)>> {
        let mut pending: Vec<_> = Vec::new();
        for (number, job) in jobs.iter().enumerate() {
            pending.push(Box::pin(self.job(job, self.place.join(format!("{round}-{number}")))));
        }
        // All wait for a seat from the beginning, so that a quick job makes room for the next one.
        Ok(futures_util::future::try_join_all(pending).await?.into_iter().flatten().collect())
    }

    /// A job in a clone of its own. How its runs ended stands in its log, and why there was none in its words.
    async fn job(&self, job: &Job, folder: PathBuf) -> anyhow::Result<Vec<(String, String)>> {
        let _seat = self.seats.acquire().await?;
        // Asked behind the seat: a signal may have come while it waited.
        if self.stop.raised().is_some() {
            return Ok(Vec::new());
        }
        // However this job ends, its clone goes: one that a signal cut short would be left for good.
        let room = Room::open(folder.clone(), self.environment)?;
        let clone = room.clone.clone();
        match self.revisions.clone_to(&clone).await {
            Ok(()) => {}
            // The report tells which tasks were not begun.
            Err(RevisionError::Stopped) => return Ok(Vec::new()),
            Err(other) => return Err(unreadable(other)),
        }
        let key = format!("workers/{}", job.tasks.join(" "));
        let tells_events = self.resolved.plan.format == Format::Jsonl;
        let turn = tells_events.then(|| Turn { key: key.clone(), of: None });
        let order = Order {
            words: self.words(job, &folder),
            key: &key,
            run: None,
            knows_tests: false,
            list: None,
            checkout: &clone,
            turn,
            keeps_words: true,
        };
        let came = worker::work(order, self.environment, self.stop).await?;
        // The log beside it is all that the merge needs, and a clone may be large.
        drop(room);
        // Where its backlog told nothing of the task, the end of the whole job is the reason.
        let why = |id: &String| came.reasons.get(id).filter(|why| !why.is_empty()).unwrap_or(&came.said).clone();
        Ok(job.tasks.iter().map(|id| (id.clone(), why(id))).collect())
    }

    fn words(&self, job: &Job, folder: &Path) -> Vec<String> {
        let mut settings = self.settings.clone();
        settings
            .set(Setting::MaxCostUsd, Some(dollars(job.max_cost)))
            .set(Setting::AuditDb, Some(folder.join("audit.db").display().to_string()))
            .set(Setting::Push, Some("none".to_owned()))
            .set(Setting::Format, Some("jsonl".to_owned()));
        let mut words = worker::words("run", &settings);
        // A list that no commit holds is in no clone.
        let named = match load::file_of(self.source, &self.resolved.checkout).filter(|_| !self.is_list_committed) {
            Some(outside) => outside.display().to_string(),
            None => self.named.to_owned(),
        };
        words.push(format!("--tasks={named}"));
        // No limit: the job has been given its tasks already.
        words.push("--max-tasks=0".to_owned());
        words.extend(job.tasks.iter().map(|id| format!("--task={id}")));
        words
    }
}
