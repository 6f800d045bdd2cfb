//! Meaning of CI's state at a commit for us (pure).
//!
//! Owns the one decision between "green", "red" and the many ways of neither: not begun, still running, waiting for an approval or an
//! environment, superseded, required but missing (GITHUB 1-4, 28-32). Reads nothing, because the facts come in.
//!
//! Invariant: green only when everything that showed has ended well, every required check is among it, and nothing that we
//! made ourselves counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::actions::{CheckRun, CiFacts, CommitStatus, Conclusion, Progress, StatusState, WorkflowRun};

/// How long after a push something has to appear: runs appear some seconds after it (GITHUB 3), minutes on a bad day.
pub const APPEAR_MS: u64 = 180_000;
/// How long after a push green is not believed yet: a fast check may be over before a slow system has shown up at all.
pub const SETTLE_MS: u64 = 30_000;

/// A question about a commit.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Our own workflow run, which does not count (GITHUB 30).
    pub own_run: Option<u64>,
    /// The files of workflows that run upshift. Their runs do not count either.
    pub own_workflows: &'a [String],
    /// The names that have to pass before merging.
    pub required: &'a [String],
    /// How long ago the commit was pushed.
    pub since_push_ms: u64,
}

/// Something that stands for a commit: a job, another check, a status, or a whole workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its name. Foreign text.
    pub name: String,
    /// Where it leads.
    pub url: String,
    /// Its kind.
    pub kind: ItemKind,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// A line with its reason, where the list of the commit's items has one already. Foreign text.
    pub said: String,
}

/// The kind of an [`Item`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A job of Actions: has a log and, under the check run's id, annotations.
    Job {
        /// Its run.
        run: u64,
        /// Its id.
        job: u64,
        /// The check run that shows it.
        check_run: u64,
    },
    /// Another app's check run: has no log, but a report, and may have annotations.
    Check {
        /// Its id.
        check_run: u64,
    },
    /// A commit status: a line and a link are all there is.
    Status,
    /// A workflow run of which no job tells.
    Run {
        /// Its id.
        run: u64,
    },
}

/// The state of CI at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CiState {
    /// Nothing has appeared, and it may still.
    NotYet,
    /// Nothing has appeared, and nothing will (GITHUB 1).
    NeverAppeared,
    /// Everything that counts ended well, and something of it ran.
    Green {
        /// How many passed. Skipped ones are not among them.
        passed: usize,
    },
    /// Everything that showed was skipped: nothing ran, so nothing vouches for the commit.
    AllSkipped {
        /// The items that were skipped.
        skipped: Vec<Item>,
    },
    /// Something failed, and nothing runs any more.
    Red {
        /// The failed items.
        failing: Vec<Item>,
    },
    /// Something runs or is queued.
    Pending {
        /// The items that run or are queued.
        unfinished: Vec<Item>,
        /// The items that have failed already.
        failing: Vec<Item>,
    },
    /// A person has to approve the run before it starts (GITHUB 2, 3).
    ActionRequired {
        /// Which.
        runs: Vec<Item>,
        /// The items that have failed beside.
        failing: Vec<Item>,
    },
    /// A person has to let it into an environment (GITHUB 31).
    WaitingForEnvironment {
        /// Which.
        runs: Vec<Item>,
        /// The items that have failed beside.
        failing: Vec<Item>,
    },
    /// The runs were ended before they had an answer, mostly by a newer push (GITHUB 34), and else by a person or a lost runner.
    Cancelled {
        /// The items that were ended.
        cancelled: Vec<Item>,
    },
    /// All that showed is good, but a required check is missing: filtered out, or made by somebody who did not (GITHUB 29).
    RequiredMissing {
        /// Their names.
        names: Vec<String>,
    },
}

/// How one item counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Good,
    Unfinished,
    Approval,
    Environment,
    Cancelled,
    Failing,
}

/// Decides what CI's state means.
#[must_use]
pub fn decide(facts: &CiFacts, question: &Question<'_>) -> CiState {
    let runs = Runs::sort(&facts.runs, question);
    let mut counted: Vec<(Standing, Item)> = Vec::new();
    let mut told_of: BTreeSet<u64> = BTreeSet::new();
    for check in newest_checks(&facts.checks, &runs) {
        let item = item_of_check(check);
        let standing = standing(check.progress, check.conclusion);
        // A job that may fail leaves its run green. One that is required counts all the same.
        if let ItemKind::Job { run, .. } = item.kind {
            let forgiven =
                standing == Standing::Failing && runs.succeeded(run) && !question.required.contains(&check.name);
            if forgiven {
                continue;
            }
            if standing != Standing::Good {
                told_of.insert(run);
            }
        }
        counted.push((standing, item));
    }
    counted.extend(facts.statuses.iter().map(|status| (standing_of_status(status), item_of_status(status))));
    for run in runs.counting() {
        let standing = standing(run.progress, run.conclusion);
        // A run that is over and good is told by its jobs; any other only once, by them if they tell.
        if standing != Standing::Good && !told_of.contains(&run.id) {
            counted.push((standing, item_of_run(run)));
        }
    }
    conclude(counted, facts, &runs, question)
}

fn conclude(counted: Vec<(Standing, Item)>, facts: &CiFacts, runs: &Runs<'_>, question: &Question<'_>) -> CiState {
    let anything = !counted.is_empty() || runs.counting().next().is_some();
    if !anything {
        // Nothing at all is no success: CI may be slow, or not be set up for this branch.
        return if question.since_push_ms < APPEAR_MS { CiState::NotYet } else { CiState::NeverAppeared };
    }
    let of = |wanted: Standing| -> Vec<Item> {
        counted.iter().filter(|(standing, _)| *standing == wanted).map(|(_, item)| item.clone()).collect()
    };
    let (failing, unfinished) = (of(Standing::Failing), of(Standing::Unfinished));
    // First: while something runs, no other verdict is final.
    if !unfinished.is_empty() {
        return CiState::Pending { unfinished, failing };
    }
    let (approval, environment, cancelled) =
        (of(Standing::Approval), of(Standing::Environment), of(Standing::Cancelled));
    // Before red: a person has to act in any case, and may as well see both.
    if !approval.is_empty() {
        return CiState::ActionRequired { runs: approval, failing };
    }
    if !environment.is_empty() {
        return CiState::WaitingForEnvironment { runs: environment, failing };
    }
    if !failing.is_empty() {
        return CiState::Red { failing };
    }
    // After red: a failed job often cancels its neighbours, and is the better reason.
    if !cancelled.is_empty() {
        return CiState::Cancelled { cancelled };
    }
    let missing = missing(facts, runs, question.required);
    let (passed, mut skipped): (Vec<Item>, Vec<Item>) = of(Standing::Good).into_iter().partition(has_run);
    if passed.is_empty() && skipped.is_empty() {
        // No job tells of a run: the run itself says whether it was skipped.
        skipped = runs.counting().map(item_of_run).collect();
        if skipped.iter().any(has_run) {
            skipped.clear();
        }
    }
    // GitHub lets a pull request be merged whose checks were skipped. A green of ours says that something ran.
    let all_skipped = passed.is_empty() && !skipped.is_empty();
    match (missing.is_empty(), question.since_push_ms) {
        (true, since) if all_skipped && since >= APPEAR_MS => CiState::AllSkipped { skipped },
        (true, since) if !all_skipped && since >= SETTLE_MS => CiState::Green { passed: passed.len() },
        (false, since) if since >= APPEAR_MS => CiState::RequiredMissing { names: missing },
        // All is well so far, and more may still appear.
        _ => CiState::Pending { unfinished: Vec::new(), failing },
    }
}

/// Whether an item that ended well ran at all. A neutral one came to no verdict.
fn has_run(item: &Item) -> bool {
    !matches!(item.conclusion, Some(Conclusion::Skipped | Conclusion::Neutral))
}

/// The required names of which nothing has shown at the commit.
#[must_use]
pub fn missing_required(facts: &CiFacts, question: &Question<'_>) -> Vec<String> {
    missing(facts, &Runs::sort(&facts.runs, question), question.required)
}

fn missing(facts: &CiFacts, runs: &Runs<'_>, required: &[String]) -> Vec<String> {
    // Showing is enough: whether it passed is decided above.
    let shown = |name: &String| {
        facts.checks.iter().any(|check| check.name == *name && !runs.is_ours(check))
            || facts.statuses.iter().any(|status| status.context == *name)
    };
    required.iter().filter(|name| !shown(name)).cloned().collect()
}

/// The workflow runs: which are ours, and which are the newest of their workflow and event.
struct Runs<'a> {
    by_id: HashMap<u64, &'a WorkflowRun>,
    ours: BTreeSet<u64>,
    newest: BTreeSet<u64>,
}

impl<'a> Runs<'a> {
    fn sort(all: &'a [WorkflowRun], question: &Question<'_>) -> Self {
        let own_file = |run: &WorkflowRun| {
            // `path` may carry the ref: `.github/workflows/upshift.yml@main`.
            let path = run.path.split('@').next().unwrap_or_default();
            question.own_workflows.iter().any(|own| own == path)
        };
        let ours = all.iter().filter(|run| Some(run.id) == question.own_run || own_file(run)).map(|run| run.id);
        let mut ours: BTreeSet<u64> = ours.collect();
        // Our own run may not be in the list, and its checks are known by its id.
        ours.extend(question.own_run);
        let mut newest: BTreeMap<(u64, &str, &str), &WorkflowRun> = BTreeMap::new();
        for run in all {
            // By event too: one workflow may run for the push and for the pull request, and both count.
            let place = newest.entry((run.workflow_id, run.path.as_str(), run.event.as_str())).or_insert(run);
            if (&run.created_at, run.id) > (&place.created_at, place.id) {
                *place = run;
            }
        }
        let newest = newest.values().map(|run| run.id).collect();
        Self { by_id: all.iter().map(|run| (run.id, run)).collect(), ours, newest }
    }

    fn counting(&self) -> impl Iterator<Item = &'a WorkflowRun> {
        let counts = |id: &u64| self.newest.contains(id) && !self.ours.contains(id);
        let mut ids: Vec<u64> = self.by_id.keys().copied().filter(counts).collect();
        // A hash map has no order, and the same facts are to give the same verdict to the letter.
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.by_id.get(&id).copied())
    }

    fn is_ours(&self, check: &CheckRun) -> bool {
        run_and_job(&check.details_url).is_some_and(|(run, _)| self.ours.contains(&run))
    }

    /// Whether a check belongs to a run that a newer one of the same workflow and event has replaced.
    fn is_replaced(&self, check: &CheckRun) -> bool {
        let run = run_and_job(&check.details_url).and_then(|(run, _)| self.by_id.get(&run));
        run.is_some_and(|run| !self.newest.contains(&run.id))
    }

    /// Whether a run ended well in spite of a failed job: `continue-on-error`.
    fn succeeded(&self, run: u64) -> bool {
        self.by_id.get(&run).is_some_and(|run| run.conclusion == Some(Conclusion::Success))
    }

    /// The mark that tells jobs of one name apart: the workflow and its event.
    fn group(&self, check: &CheckRun) -> (u64, String) {
        let run = run_and_job(&check.details_url).and_then(|(run, _)| self.by_id.get(&run));
        run.map_or((0, String::new()), |run| (run.workflow_id, run.event.clone()))
    }
}

/// Of several check runs of one name the newest (GITHUB 32: the API sorts out only those of one suite).
fn newest_checks<'a>(checks: &'a [CheckRun], runs: &Runs<'_>) -> Vec<&'a CheckRun> {
    let mut newest: BTreeMap<(String, String, (u64, String)), &CheckRun> = BTreeMap::new();
    for check in checks.iter().filter(|check| !runs.is_ours(check) && !runs.is_replaced(check)) {
        let key = (check.app.clone(), check.name.clone(), runs.group(check));
        let place = newest.entry(key).or_insert(check);
        // One that has not started yet is newer than all that have.
        let age = |check: &CheckRun| (check.started_at.is_empty(), check.started_at.clone(), check.id);
        if age(check) > age(place) {
            *place = check;
        }
    }
    newest.into_values().collect()
}

fn standing(progress: Progress, conclusion: Option<Conclusion>) -> Standing {
    match (progress, conclusion) {
        (Progress::ActionRequired, _) | (Progress::Completed, Some(Conclusion::ActionRequired)) => Standing::Approval,
        // Not unfinished: it waits for a person, so that time alone never ends it.
        (Progress::Waiting, _) => Standing::Environment,
        (Progress::Queued | Progress::Running, _) => Standing::Unfinished,
        // As GitHub's own merge box counts them.
        (Progress::Completed, Some(Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped)) => Standing::Good,
        (Progress::Completed, Some(Conclusion::Cancelled | Conclusion::Stale)) => Standing::Cancelled,
        (
            Progress::Completed,
            Some(Conclusion::Failure | Conclusion::TimedOut | Conclusion::StartupFailure | Conclusion::Unknown) | None,
        ) => Standing::Failing,
    }
}

fn standing_of_status(status: &CommitStatus) -> Standing {
    match status.state {
        StatusState::Success | StatusState::Warning => Standing::Good,
        StatusState::Pending => Standing::Unfinished,
        StatusState::Failure | StatusState::Error => Standing::Failing,
    }
}

fn item_of_check(check: &CheckRun) -> Item {
    let kind = match run_and_job(&check.details_url) {
        Some((run, job)) => ItemKind::Job { run, job: job.unwrap_or(check.id), check_run: check.id },
        None => ItemKind::Check { check_run: check.id },
    };
    let (name, url, said) = (check.name.clone(), check.details_url.clone(), check.title.clone());
    Item { name, url, kind, conclusion: check.conclusion, said }
}

fn item_of_status(status: &CommitStatus) -> Item {
    let conclusion = match status.state {
        StatusState::Success | StatusState::Warning => Some(Conclusion::Success),
        StatusState::Failure | StatusState::Error => Some(Conclusion::Failure),
        StatusState::Pending => None,
    };
    let (name, url, said) = (status.context.clone(), status.target_url.clone(), status.description.clone());
    Item { name, url, kind: ItemKind::Status, conclusion, said }
}

fn item_of_run(run: &WorkflowRun) -> Item {
    let name = if run.name.is_empty() { run.path.clone() } else { run.name.clone() };
    let (kind, said) = (ItemKind::Run { run: run.id }, String::new());
    Item { name, url: run.html_url.clone(), kind, conclusion: run.conclusion, said }
}

/// The names of checks and statuses at a commit that are not of Actions, each once: no end of a workflow tells of theirs.
#[must_use]
pub fn outsiders(facts: &CiFacts) -> BTreeSet<&str> {
    // Only checks of Actions lead to a run.
    let checks = facts.checks.iter().filter(|check| run_and_job(&check.details_url).is_none());
    let statuses = facts.statuses.iter().map(|status| status.context.as_str());
    checks.map(|check| check.name.as_str()).chain(statuses).collect()
}

/// The ids in `…/actions/runs/RUN/job/JOB` (GITHUB 30).
fn run_and_job(url: &str) -> Option<(u64, Option<u64>)> {
    let rest = url.split_once("/actions/runs/")?.1;
    // Such as `https://github.com/o/r/actions/runs/1/job/2?pr=3`.
    let mut parts = rest.split(['/', '?', '#']);
    let run = parts.next()?.parse().ok()?;
    let job = match parts.next() {
        Some("job" | "jobs") => parts.next().and_then(|job| job.parse().ok()),
        _ => None,
    };
    Some((run, job))
}
