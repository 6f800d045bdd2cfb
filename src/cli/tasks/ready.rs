//! Conditions of working off a backlog, checked before anything is paid.

use super::super::Failure;
use super::super::output::say;
use super::super::plan::Resolved;
use super::super::setup::Setup;
use super::book;
use crate::audit::{BacklogLock, Holder, Store, Work};
use crate::config::Push;
use crate::domain::clock::Timestamp;
use crate::domain::outcome::{EXIT_NOT_FIXED, EXIT_SIGNAL_BASE};
use crate::domain::stop::{Stop, StopCause};
use crate::domain::units::RunId;
use crate::process::companion::host_name;
use crate::workspace::{RevisionError, Revisions};

/// A repository that cannot be read. That somebody stopped is no fault of the repository's: it stays what it is.
pub(super) fn unreadable(error: RevisionError) -> anyhow::Error {
    if matches!(error, RevisionError::Stopped) { error.into() } else { Failure::usage(error.to_string()) }
}

/// Whether an error says no more than that somebody stopped.
pub(super) fn is_stopped(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<RevisionError>(), Some(RevisionError::Stopped))
}

/// The end by a signal before anything was begun, in place of an error that says no more than that.
pub(super) fn or_stopped<T>(done: anyhow::Result<T>, stop: &Stop) -> anyhow::Result<T> {
    match (done, stop.raised()) {
        (Err(error), Some(StopCause::Signal(signal))) if is_stopped(&error) => {
            let code = u8::try_from(signal).map_or(EXIT_NOT_FIXED, |signal| EXIT_SIGNAL_BASE.saturating_add(signal));
            Err(Failure::with_code(code, "interrupted before anything started; the same command starts it"))
        }
        (done, _) => done,
    }
}

/// Refuses a repository in which no commit can be made, before anything is paid.
pub(super) async fn ready_for_commits(revisions: &Revisions<'_>) -> anyhow::Result<()> {
    match revisions.commit("HEAD").await {
        Ok(_) => {}
        // A repository without any commit yet.
        Err(RevisionError::Unknown { .. }) => {
            return Err(Failure::usage(
                "each task becomes a commit, and there is none here to put it on\n→ Fix: commit what you have first",
            ));
        }
        Err(other) => return Err(unreadable(other)),
    }
    // A commit in the middle of a rebase or a merge would become a part of it.
    if let Some(head) = revisions.under_way().await.map_err(unreadable)? {
        return Err(Failure::usage(format!(
            "a git operation is in progress here ({head}), and each task becomes a commit\n→ Fix: end it or abort it (`git status` says how)"
        )));
    }
    Ok(())
}

/// Warns where no branch is checked out. It is allowed all the same: jobs check out a commit, and push it from there.
pub(super) async fn warn_without_branch(revisions: &Revisions<'_>) -> anyhow::Result<()> {
    if revisions.branch().await.map_err(unreadable)?.is_none() {
        say("⚠ no branch is checked out: the commits belong to no branch; `git switch -c NAME` keeps them");
    }
    Ok(())
}

/// Refuses another branch than the one that the work began on: each of its tasks would be done on one of them alone.
pub(super) async fn same_branch(revisions: &Revisions<'_>, began_on: Option<&str>) -> anyhow::Result<()> {
    let now = revisions.branch().await.map_err(unreadable)?;
    if now.as_deref() == began_on {
        return Ok(());
    }
    let shown = |branch: Option<&str>| branch.map_or("no branch".to_owned(), |branch| format!("`{branch}`"));
    Err(Failure::usage(format!(
        "{} was checked out when this started, and {} is now: a backlog commits to one branch\n→ Fix: switch back, and the same command continues; here it repeats every task whose change is not on this branch",
        shown(began_on),
        shown(now.as_deref())
    )))
}

/// Refuses files that differ from the commit, but for those of the list: a task's commit must hold its change alone.
pub(super) async fn clean(revisions: &Revisions<'_>, list: &[String]) -> anyhow::Result<()> {
    if revisions.is_clean_but(list).await.map_err(unreadable)? {
        return Ok(());
    }
    Err(Failure::usage(
        "files here differ from the commit that is checked out, and each task becomes a commit\n→ Fix: commit or stash them",
    ))
}

/// This process, for others that want the lock.
pub(super) fn holder(at: &Timestamp, folder: &str, work: Work) -> Holder {
    Holder {
        pid: std::process::id(),
        session_id: RunId::random().0,
        acquired_at: at.0.clone(),
        cwd: folder.to_owned(),
        hostname: host_name(),
        work,
    }
}

/// Takes the lock of the backlogs of a log, for the work in this folder. Returns it with what it says of this process.
///
/// # Errors
/// Another process has it (exit 2), or the log cannot be written.
pub(super) fn lock(
    store: &mut Store,
    setup: &Setup<'_>,
    (folder, work): (&str, Work),
) -> anyhow::Result<(BacklogLock, Holder)> {
    let holder = holder(&setup.clock().timestamp(), folder, work);
    match store.lock_backlogs(&holder).map_err(|error| book::failed(&error))? {
        Some(lock) => Ok((lock, holder)),
        None => Err(in_use(store)),
    }
}

/// The holder of the lock, for people.
pub(super) fn who(holder: &Holder) -> String {
    let host = if holder.hostname.is_empty() { "this machine" } else { &holder.hostname };
    format!("process {} on {host} since {}, in {}", holder.pid, holder.acquired_at, holder.cwd)
}

/// The command that works like that, for people. `None` for one that hears orders.
pub(super) const fn deaf(work: Work) -> Option<&'static str> {
    match work {
        Work::Backlog => None,
        Work::Workers => Some("`upshift run --workers`"),
        Work::Merge => Some("`upshift merge`"),
        Work::Reset => Some("`upshift tasks reset`"),
    }
}

/// Another process works on a backlog of this log.
pub(super) fn in_use(store: &Store) -> anyhow::Error {
    // A lock that is held, and whose holder has not written itself down yet.
    let holder = store.backlog_holder().ok().flatten().filter(|holder| holder.pid != 0);
    let by = holder.map(|holder| format!(" ({})", who(&holder))).unwrap_or_default();
    Failure::usage(format!(
        "another upshift is working on a backlog here{by}\n→ Fix: wait for it to end, or stop it; `upshift tasks status` shows how far it is"
    ))
}

/// Refuses a plan that a backlog cannot be worked off with.
pub(super) fn refuse(resolved: &Resolved) -> anyhow::Result<()> {
    let plan = &resolved.plan;
    if plan.audit.is_none() {
        return Err(Failure::usage("a backlog needs the audit log, which is off\n→ Fix: leave --no-audit out"));
    }
    if plan.record.is_some() {
        return Err(Failure::usage("--record records one run, and a backlog has many\n→ Fix: leave it out"));
    }
    if plan.github.push != Push::None {
        return Err(Failure::usage(
            "the tasks of a backlog are committed on the branch that is checked out, and are not pushed\n→ Fix: leave \
             --push out, and push the branch afterwards",
        ));
    }
    Ok(())
}
