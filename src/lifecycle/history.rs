//! The outcome of earlier runs for a pull request, from what they left on the forge: our comment, and the newest audit log that a run of
//! our workflow in our repository kept as an artifact.
//!
//! Where nobody keeps logs as artifacts, the number in our comment counts by itself.
//!
//! Invariant: a log counts only if a run of our own workflow made it for a commit of this repository, its hash chain is whole, and it holds
//! the link that our comment quotes. A missing or contradicting log makes the history unreadable, never shorter.

use std::path::{Path, PathBuf};

use crate::audit::{Location, Reader};
use crate::domain::event::Event;
use crate::domain::kept_report::{KeptReport, MOST_CARRIED};
use crate::domain::units::{MicroUsd, RunId};
use crate::github::{ARTIFACTS_PER_PAGE, Artifact, CommentSlot, GitHub, GithubError};
use crate::policy::attempts::{History, Known};
use crate::report::markdown::Stamp;
use crate::report::view::{Liveness, RunView};

/// The beginning of the names of our artifacts.
const PREFIX: &str = "upshift-audit-";
/// How many pages of the repository's newest artifacts are looked through where our comment names one, and where it does not: then
/// somebody deleted the comment, or there is none by choice.
const PAGES: (usize, usize) = (1, 3);
/// How many pages of them, and how many logs of runs without a pull request, are looked through for one failure of a branch.
const MOST_OF_FAILURES: (usize, usize) = (5, 20);
/// The largest log that is read.
const MAX_LOG: usize = 64 * 1024 * 1024;
/// The database in an artifact, and what a dead process left beside it.
const LOG: &str = "audit.db";
const LOG_WAL: &str = "audit.db-wal";

/// The name of the artifact that a job's log is kept in: run and attempt are in it, the pull request, and what tells the legs of a
/// matrix apart.
#[must_use]
pub fn artifact_name(job: u64, attempt: u64, pull_request: Option<u64>, run: &RunId) -> String {
    let pull_request = pull_request.map(|number| format!("-pr{number}")).unwrap_or_default();
    // A name is taken once for all attempts of a workflow run, so the attempt is a part of it.
    format!("{PREFIX}{job}-{attempt}{pull_request}-{}", run.short())
}

/// Whether an artifact of this name holds the log of a run for a pull request.
fn is_of(name: &str, pull_request: u64) -> bool {
    let rest = name.strip_prefix(PREFIX).unwrap_or_default();
    rest.split('-').nth(2) == Some(&format!("pr{pull_request}"))
}

/// The workflow run that kept an artifact of this name, and which attempt of it.
#[must_use]
pub fn job_of(name: &str) -> Option<(u64, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Where to look.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The API.
    pub github: &'a GitHub,
    /// Where our comment is.
    pub slot: CommentSlot<'a>,
    /// The file of our workflow, where the runner tells it.
    pub workflow: Option<&'a str>,
    /// The default branch, where it is known.
    pub default_branch: Option<&'a str>,
    /// A folder of our own.
    pub scratch: &'a Path,
    /// The log of this machine, which may have outlived the runs before.
    pub local: Option<&'a Path>,
    /// The evidence for earlier runs.
    pub evidence: Evidence,
}

/// The evidence for earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Their logs, which the step behind ours keeps as artifacts.
    Artifacts,
    /// Our comment alone: nobody keeps the logs of a script's runs, and some forges keep no artifacts.
    Comment,
}

/// The knowledge of earlier runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Looked {
    /// How many there were, and what they cost.
    pub known: Known,
    /// The last of them, where one is known.
    pub last: Option<RunId>,
    /// The last comment whose command was answered. 0 for none.
    pub heard: u64,
    /// Reports in the log of the last of them, where that is believed.
    pub kept: Vec<KeptReport>,
}

/// Looks, with a handful of requests.
pub async fn look(place: Place<'_>) -> Looked {
    let mut looked = Looked { known: Known::Counted(History::default()), last: None, heard: 0, kept: Vec::new() };
    match find(place, &mut looked).await {
        Ok(()) => {}
        Err(why) => looked.known = Known::Unreadable(why),
    }
    looked
}

async fn find(place: Place<'_>, looked: &mut Looked) -> Result<(), String> {
    let Place { github, slot, .. } = place;
    let told = |error: GithubError| error.to_string();
    let comment = github.find_comment(slot).await.map_err(told)?;
    let stamp = comment.as_ref().and_then(|comment| Stamp::read(&comment.body));
    // Read as a first run, a comment whose line is gone would give whoever edited it all runs anew.
    if comment.is_some() && stamp.is_none() {
        return Err(
            "the hidden line of upshift's comment is gone: somebody edited it, or an older version wrote it".to_owned()
        );
    }
    looked.heard = stamp.as_ref().map_or(0, |stamp| stamp.heard);
    let local = place.local.filter(|path| path.exists());
    // The log on this machine costs no request. Where it does not fit the comment, the artifacts decide.
    let here = stamp.as_ref().zip(local).and_then(|(stamp, path)| judge(path, slot.number, Some(stamp)).ok());
    if let Some((history, run, _)) = here {
        (looked.known, looked.last) = (Known::Counted(history), Some(run));
        return Ok(());
    }
    if place.evidence == Evidence::Comment {
        let attempts = stamp.as_ref().map_or(0, |stamp| stamp.attempt);
        looked.known = Known::Counted(History { attempts, ..History::default() });
        return Ok(());
    }
    let pages = if stamp.is_some() { PAGES.0 } else { PAGES.1 };
    let mut found = github.newest_artifacts(pages).await.map_err(told)?;
    found.retain(|artifact| is_of(&artifact.name, slot.number));
    let mut newest = None;
    for artifact in found {
        if is_ours(place, &artifact).await.map_err(told)? {
            newest = Some(artifact);
            break;
        }
    }
    let mut counted: Vec<(History, RunId)> = Vec::new();
    if let Some(stamp) = &stamp {
        // Mostly the quoted log is the newest as well: then it is fetched once.
        let quoted = match newest.take_if(|artifact| artifact.name == stamp.artifact) {
            Some(artifact) => artifact,
            None => named(place, &stamp.artifact).await.map_err(|why| why.to_string())?,
        };
        let (history, run, kept) = read(place, &quoted, Some(stamp)).await?;
        looked.kept = kept;
        counted.push((history, run));
    }
    // A run that died before it wrote its comment has left a newer log than the quoted one.
    if let Some(artifact) = newest {
        let (history, run, _) = read(place, &artifact, None).await?;
        counted.push((history, run));
    }
    // Whichever counted more: a comment that is behind its log gives no run back.
    if let Some((history, run)) = counted.into_iter().max_by_key(|(history, _)| history.attempts) {
        looked.known = Known::Counted(history);
        looked.last = Some(run);
    }
    Ok(())
}

/// Why a log cannot be had.
#[derive(Debug)]
pub enum NoLog {
    /// It is not there, or is not one that is believed: why, in a sentence.
    Gone(String),
    /// Nobody knows: the API did not answer, or does not let us read.
    Unread(GithubError),
}

impl NoLog {
    /// What an error of the API says of a log. An archive that is broken or too large is so the next time, too.
    fn of(error: GithubError) -> Self {
        let is_final = matches!(
            error,
            GithubError::NotFound { .. } | GithubError::TooLarge { .. } | GithubError::Malformed { .. }
        );
        if is_final { Self::Gone(error.to_string()) } else { Self::Unread(error) }
    }
}

impl std::fmt::Display for NoLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone(why) => f.write_str(why),
            Self::Unread(error) => error.fmt(f),
        }
    }
}

/// The artifact that our comment names.
async fn named(place: Place<'_>, name: &str) -> Result<Artifact, NoLog> {
    let found = place.github.artifacts_named(name).await.map_err(NoLog::of)?;
    for artifact in found {
        if is_ours(place, &artifact).await.map_err(NoLog::of)? {
            return Ok(artifact);
        }
    }
    Err(NoLog::Gone(format!("the artifact {name} with the log of the last run is gone")))
}

/// Whether a run of our workflow made it, for a commit of this repository: others may write what they like into theirs.
async fn is_ours(place: Place<'_>, artifact: &Artifact) -> Result<bool, GithubError> {
    is_of_workflow(place.github, place.workflow, artifact).await
}

async fn is_of_workflow(github: &GitHub, workflow: Option<&str>, artifact: &Artifact) -> Result<bool, GithubError> {
    let Some(run) = &artifact.workflow_run else { return Ok(false) };
    // The run of a fork may keep anything under the name of our workflow.
    if run.repository_id != run.head_repository_id {
        return Ok(false);
    }
    let Some(workflow) = workflow else { return Ok(true) };
    match github.workflow_run(run.id).await {
        // GitHub appends `@ref` for a reusable workflow's caller.
        Ok(found) => Ok(found.path.split('@').next() == Some(workflow)),
        Err(GithubError::NotFound { .. }) => Ok(false),
        Err(other) => Err(other),
    }
}

/// Whether what a log says is believed, and not only counted: one that our own workflow made on the default branch. Whoever may push
/// elsewhere can write what they like into theirs.
fn is_believed(artifact: &Artifact, workflow: Option<&str>, default_branch: Option<&str>) -> bool {
    let Some(run) = &artifact.workflow_run else { return false };
    // A forge that does not say of which repository a commit was says nothing that could be believed.
    let is_here = run.repository_id != 0 && run.repository_id == run.head_repository_id;
    is_here && workflow.is_some() && default_branch.is_some() && run.head_branch.as_deref() == default_branch
}

/// The history that a kept log tells, its own run included, with the reports in it where they are believed. It is checked against our
/// comment's quote of it.
async fn read(place: Place<'_>, artifact: &Artifact, stamp: Option<&Stamp>) -> Result<Judged, String> {
    let (history, run, kept) = checked(place, artifact, stamp).await?;
    let believed = stamp.is_some() && is_believed(artifact, place.workflow, place.default_branch);
    Ok((history, run, if believed { kept } else { Vec::new() }))
}

async fn checked(place: Place<'_>, artifact: &Artifact, stamp: Option<&Stamp>) -> Result<Judged, String> {
    let name = &artifact.name;
    let told = |why: String| format!("the log in the artifact {name} cannot be used: {why}");
    let folder = tempfile::tempdir_in(place.scratch).map_err(|error| told(error.to_string()))?;
    let path = folder.path().join(LOG);
    let missing = || told("it is not in it".to_owned());
    let log = fetch(place, artifact, LOG).await?.ok_or_else(missing)?;
    std::fs::write(&path, &log).map_err(|error| told(error.to_string()))?;
    let first = judge(&path, place.slot.number, stamp);
    let Err(why) = first else { return first.map_err(told) };
    // A process that was killed has left its newest rows beside the database.
    let Some(beside) = fetch(place, artifact, LOG_WAL).await? else { return Err(told(why)) };
    std::fs::write(&path, &log).map_err(|error| told(error.to_string()))?;
    std::fs::write(folder.path().join(LOG_WAL), beside).map_err(|error| told(error.to_string()))?;
    judge(&path, place.slot.number, stamp).map_err(told)
}

async fn fetch(place: Place<'_>, artifact: &Artifact, file: &str) -> Result<Option<Vec<u8>>, String> {
    place.github.artifact_file(artifact.id, file, MAX_LOG).await.map_err(|error| error.to_string())
}

/// Fetches the log in the artifact of this name, with what a dead process left beside it, into a folder. Returns its path.
///
/// Only one that our own workflow made on the default branch is believed: whoever may push elsewhere can write what they like into
/// theirs.
///
/// # Errors
/// Why it cannot be had.
pub async fn fetch_log(place: Place<'_>, name: &str, stamp: &Stamp, folder: &Path) -> Result<PathBuf, NoLog> {
    let artifact = named(place, name).await?;
    let branch = artifact.workflow_run.as_ref().and_then(|run| run.head_branch.as_deref());
    if place.default_branch.is_none() || branch != place.default_branch {
        return Err(NoLog::Gone(format!("the artifact {name} is not from a run of the default branch's workflow")));
    }
    let missing = || NoLog::Gone(format!("the artifact {name} contains no log"));
    let path = unpack(place.github, &artifact, folder).await?.ok_or_else(missing)?;
    let unusable = |why| NoLog::Gone(format!("the log in the artifact {name} cannot be used: {why}"));
    vouched(&path, stamp).map_err(unusable)?;
    Ok(path)
}

/// Puts the log in an artifact into a folder, with the newest rows that a killed process left beside it. Returns its path. `None` where
/// there is none in it.
async fn unpack(github: &GitHub, artifact: &Artifact, folder: &Path) -> Result<Option<PathBuf>, NoLog> {
    let files = github.artifact_files(artifact.id, &[LOG, LOG_WAL], MAX_LOG).await.map_err(NoLog::of)?;
    let mut path = None;
    for (name, bytes) in [LOG, LOG_WAL].into_iter().zip(files) {
        let Some(bytes) = bytes else { continue };
        let file = folder.join(name);
        let unwritten = |error| NoLog::Gone(format!("{} cannot be written: {error}", file.display()));
        std::fs::write(&file, bytes).map_err(unwritten)?;
        if name == LOG {
            path = Some(file);
        }
    }
    Ok(path)
}

/// Where the logs of runs without a pull request are.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// The API.
    pub github: &'a GitHub,
    /// The file of our workflow, where the runner tells it.
    pub workflow: Option<&'a str>,
    /// The default branch.
    pub default_branch: Option<&'a str>,
    /// A folder of our own.
    pub scratch: &'a Path,
}

/// The knowledge of earlier runs for one failure of a branch.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfFailure {
    /// How many there were, and what they cost.
    pub history: History,
    /// The logs that were looked through, in words, where there are more.
    pub beyond: Option<String>,
    /// Reports in the log of the last of them, where that is believed.
    pub kept: Vec<KeptReport>,
}

/// The history of earlier runs that were to mend the same failure of a branch, from the newest log that one of them kept. Empty where none
/// is among those that are looked through, with a word where there are more.
///
/// # Errors
/// Why the logs cannot be looked through, in a sentence. A log of ours that cannot be read is such a reason: it may be about this failure.
pub async fn of_failure(kept: Kept<'_>, key: &str) -> Result<OfFailure, String> {
    let told = |error: GithubError| error.to_string();
    let (pages, most) = MOST_OF_FAILURES;
    let found = kept.github.newest_artifacts(pages).await.map_err(told)?;
    let many = found.len();
    let without_pull = |artifact: &&Artifact| {
        let rest = artifact.name.strip_prefix(PREFIX).unwrap_or_default();
        let branch = artifact.workflow_run.as_ref().and_then(|run| run.head_branch.as_deref());
        !rest.is_empty() && !rest.contains("-pr") && branch == kept.default_branch
    };
    let mut read = 0;
    for artifact in found.iter().filter(without_pull) {
        if !is_of_workflow(kept.github, kept.workflow, artifact).await.map_err(told)? {
            continue;
        }
        if read == most {
            let beyond = Some(format!("the newest {most} logs of runs without a pull request"));
            return Ok(OfFailure { beyond, ..OfFailure::default() });
        }
        read += 1;
        let name = &artifact.name;
        let unreadable = |why: String| format!("the log in the artifact {name} cannot be used: {why}");
        if let Some((history, reports)) = failure_in(kept, artifact, key).await.map_err(unreadable)? {
            let believed = is_believed(artifact, kept.workflow, kept.default_branch);
            return Ok(OfFailure { history, beyond: None, kept: if believed { reports } else { Vec::new() } });
        }
    }
    // Where all pages are full there may be more behind them.
    let is_cut = many >= pages * ARTIFACTS_PER_PAGE;
    Ok(OfFailure { beyond: is_cut.then(|| format!("the newest {many} artifacts")), ..OfFailure::default() })
}

/// The history of a failure that a kept log tells. `None` where it is about another, or holds no run.
async fn failure_in(
    kept: Kept<'_>,
    artifact: &Artifact,
    key: &str,
) -> Result<Option<(History, Vec<KeptReport>)>, String> {
    let folder = tempfile::tempdir_in(kept.scratch).map_err(|error| error.to_string())?;
    let unpacked = unpack(kept.github, artifact, folder.path()).await.map_err(|why| why.to_string())?;
    let Some(path) = unpacked else { return Ok(None) };
    let reader = Reader::open(&Location::file(&path)).map_err(|error| error.to_string())?;
    let Ok(run) = reader.latest_run() else { return Ok(None) };
    reader.verify(&run).map_err(|error| error.to_string())?;
    let loaded = reader.load_run(&run).map_err(|error| error.to_string())?;
    let counted = loaded.events.iter().find_map(|event| {
        let Event::FailureCounted { key: of, attempt, spent_before, .. } = event else { return None };
        (of == key).then_some((*attempt, *spent_before))
    });
    Ok(counted.map(|counted| (came_to(&loaded.events, counted), reports_in(&loaded.events, &run))))
}

/// A history, the run that tells it, and the reports in its log.
type Judged = (History, RunId, Vec<KeptReport>);

/// The newest reports that a run kept, or had carried from others.
fn reports_in(events: &[Event], run: &RunId) -> Vec<KeptReport> {
    let kept = |event: &Event| if let Event::ReportKept(kept) = event { Some(kept.clone()) } else { None };
    let newest = events.iter().rev().filter_map(kept).take(MOST_CARRIED);
    let mut reports: Vec<KeptReport> = newest
        // A report that was carried on keeps the name of the run that paid for it.
        .map(|kept| KeptReport { from: Some(kept.from.clone().unwrap_or_else(|| run.clone())), ..kept })
        .collect();
    reports.reverse();
    reports
}

/// Checks that a log's chain is whole and holds the link that our comment quotes.
fn vouched(path: &Path, stamp: &Stamp) -> Result<(), String> {
    let reader = Reader::open(&Location::file(path)).map_err(|error| error.to_string())?;
    let run = RunId(stamp.run.clone());
    reader.verify(&run).map_err(|error| error.to_string())?;
    let holds = reader.holds_link(&run, &stamp.head).map_err(|error| error.to_string())?;
    if holds { Ok(()) } else { Err("it is not the one that upshift's comment quotes".to_owned()) }
}

/// Reads a log that came from elsewhere.
fn judge(path: &Path, pull_request: u64, stamp: Option<&Stamp>) -> Result<Judged, String> {
    let reader = Reader::open(&Location::file(path)).map_err(|error| error.to_string())?;
    let run = match stamp {
        Some(stamp) => RunId(stamp.run.clone()),
        None => reader.latest_run().map_err(|error| error.to_string())?,
    };
    reader.verify(&run).map_err(|error| error.to_string())?;
    if let Some(stamp) = stamp
        && !reader.holds_link(&run, &stamp.head).map_err(|error| error.to_string())?
    {
        return Err("it is not the one that upshift's comment quotes".to_owned());
    }
    let loaded = reader.load_run(&run).map_err(|error| error.to_string())?;
    let counted = loaded.events.iter().find_map(|event| {
        let Event::AttemptCounted { pull_request: of, attempt, spent_before, .. } = event else { return None };
        (*of == pull_request).then_some((*attempt, *spent_before))
    });
    let Some((attempts, before)) = counted else {
        return Err(format!("run {run} in it was not for pull request #{pull_request}"));
    };
    let kept = reports_in(&loaded.events, &run);
    Ok((came_to(&loaded.events, (attempts, before)), run, kept))
}

/// The runs so far, with the one that told these events and how it was counted.
fn came_to(events: &[Event], (attempts, before): (u32, MicroUsd)) -> History {
    let view = RunView::from_events(events, Liveness::Dead);
    // A run that reached no model has used up nothing.
    let attempts = if view.reached_a_model { attempts } else { attempts.saturating_sub(1) };
    // A call that was never settled may have been billed.
    let spent = [before, view.most_spent().total()].into_iter().sum();
    History { attempts, spent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_is_known_by_its_name() {
        let run = RunId("7f3a9b1c-0000-4000-8000-000000000000".to_owned());
        let name = artifact_name(77, 2, Some(7), &run);
        assert_eq!(name, "upshift-audit-77-2-pr7-7f3a9b1c");
        assert_eq!((job_of(&name), job_of("other-77-2")), (Some((77, 2)), None));
        assert!(is_of(&name, 7) && !is_of(&name, 77) && !is_of(&name, 1));
        assert!(!is_of(&artifact_name(7, 7, None, &run), 7));
        for odd in ["", "upshift-audit-", "other-77-2-pr7-x", "upshift-audit-pr7"] {
            assert!(!is_of(odd, 7), "{odd}");
        }
    }
}
