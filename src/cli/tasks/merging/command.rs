//! The command `merge`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::super::super::environment::{Environment, from_here};
use super::super::super::plan::{self, Flags, Resolved, TestFlags};
use super::super::super::setup::{self, Setup};
use super::super::super::signals;
use super::super::load;
use super::super::named::source;
use super::super::ready::{clean, lock, or_stopped, ready_for_commits, unreadable, warn_without_branch};
use super::super::worker;
use super::all::all;
use super::court::go_back;
use super::proven;
use super::pulls::{Proposer, Whence};
use super::rows::Wish;
use super::told::{MergeForm, Report, print};
use crate::audit::Work;
use crate::config::Setting;
use crate::domain::outcome::{EXIT_NOT_FIXED, EXIT_SIGNAL_BASE, EXIT_SUCCESS};
use crate::domain::shell::{quote, quote_path};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::tracker::Source;
use crate::workspace::Revisions;

/// The flags of `merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Audit logs of the jobs, or folders with them
    #[arg(value_name = "LOG", required_unless_present = "proven")]
    logs: Vec<PathBuf>,
    /// Task source; what proves each task is read from it, never from a log
    #[arg(long, value_name = "SOURCE")]
    tasks: Option<String>,
    /// How to propose the merged fixes
    #[arg(long, value_name = "HOW", value_enum, default_value = "none")]
    pull_request: PullRequest,
    /// Write the merged fixes to this file, for another job that proposes them
    #[arg(long, value_name = "FILE", conflicts_with = "proven")]
    keep_proven: Option<PathBuf>,
    /// Propose the fixes that another job merged into this file; runs nothing of the repository
    #[arg(long, value_name = "FILE", conflicts_with = "logs")]
    proven: Option<PathBuf>,
    /// Audit log to merge into [default: .upshift/audit.db]
    #[arg(long, value_name = "PATH")]
    audit_db: Option<String>,
    /// Report format
    #[arg(long, value_enum, default_value = "text")]
    format: MergeForm,
    #[command(flatten)]
    tests: TestFlags,
}

/// How what was merged is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PullRequest {
    /// Leave them on the current branch
    None,
    /// One pull request
    One,
    /// One pull request per fix
    Each,
}

/// Joins and merges.
pub(crate) fn run(args: MergeArgs, environment: &Environment) -> anyhow::Result<u8> {
    let quiet = environment.without_event();
    let resolved = plan::resolve_to_judge(args.tests.clone(), &quiet, None)?;
    setup::block_on(merge(args, &resolved, (&quiet, environment)))
}

/// Merges without what tells of an event; the forge is asked with the job's own token and addresses.
async fn merge(
    args: MergeArgs,
    resolved: &Resolved,
    (environment, whole): (&Environment, &Environment),
) -> anyhow::Result<u8> {
    let from = args.tasks.as_deref().map(source).transpose()?;
    // That job runs nothing of the repository, so it needs neither lock nor tests.
    if let Some(file) = &args.proven {
        return proven(&args, (file, from.as_ref()), resolved, (environment, whole)).await;
    }
    let (raises, stop) = StopSource::new();
    signals::pass_to(&Arc::new(raises))?;
    or_stopped(opened(&args, from.as_ref(), resolved, (environment, whole), &stop).await, &stop)
}

/// Opens what a merge needs, and merges.
async fn opened(
    args: &MergeArgs,
    from: Option<&Source>,
    resolved: &Resolved,
    (environment, whole): (&Environment, &Environment),
    stop: &Stop,
) -> anyhow::Result<u8> {
    let into = plan::audit_path(args.audit_db.as_deref(), environment, &resolved.checkout);
    let setup = Setup::new(&resolved.checkout, environment, Some(&resolved.plan), None);
    let mut store = setup.open_backlogs(&into)?;
    let _lock = lock(&mut store, &setup, (&resolved.checkout.display().to_string(), Work::Merge))?;
    // The joining opens the log itself. The lock is held on.
    drop(store);
    let revisions = Revisions::open(&resolved.checkout, environment.raw(), stop).await.map_err(unreadable)?;
    ready_for_commits(&revisions).await?;
    warn_without_branch(&revisions).await?;
    // A merge that was killed left files of a fix under trial, which `clean` would take for a person's.
    go_back(&setup, resolved, &revisions).await?;
    clean(&revisions, &[]).await?;
    let tasks = match from {
        Some(from) => load::tasks(from, resolved, (environment, environment)).await?,
        None => Vec::new(),
    };
    let wish = Wish { logs: &args.logs, source: from, tasks: &tasks, into: &into };
    let mut report = all(&wish, &setup, resolved, (&revisions, stop)).await?;
    if let Some(from) = from {
        report.again_by(again(args, from));
    }
    if !report.is_stopped() {
        // Before anything is proposed: a failure of the forge must not lose the fixes.
        if let Some(file) = &args.keep_proven {
            proven::keep(&revisions, &report, &from_here(&resolved.checkout, &file.to_string_lossy())).await?;
        }
        propose(args.pull_request, (whole, from), resolved, (&revisions, Whence::Branch), &mut report).await?;
    }
    print(&report, args.format, &setup)?;
    Ok(exit_code(&report, stop))
}

/// The command that works on the tasks of a source as this one looks at them.
fn again(args: &MergeArgs, from: &Source) -> String {
    let mut settings = Flags::from(args.tests.clone()).settings();
    settings.set(Setting::AuditDb, args.audit_db.clone());
    let words = worker::words("upshift run", &settings);
    let words: Vec<String> = words.iter().skip(1).map(|word| format!(" {}", quote(word))).collect();
    format!("upshift run --tasks {}{}", quote_path(&from.to_string()), words.concat())
}

/// Proposes with the job's own token and addresses.
async fn propose(
    how: PullRequest,
    (whole, source): (&Environment, Option<&Source>),
    resolved: &Resolved,
    (revisions, whence): (&Revisions<'_>, Whence),
    report: &mut Report,
) -> anyhow::Result<()> {
    let setup = Setup::new(&resolved.checkout, whole, Some(&resolved.plan), None);
    let proposer = Proposer { setup: &setup, resolved, revisions, source, whence };
    match how {
        PullRequest::None => Ok(()),
        PullRequest::One => proposer.one(report).await,
        PullRequest::Each => proposer.each(report).await,
    }
}

/// Proposes what another job merged.
async fn proven(
    args: &MergeArgs,
    (file, source): (&Path, Option<&Source>),
    resolved: &Resolved,
    (environment, whole): (&Environment, &Environment),
) -> anyhow::Result<u8> {
    let setup = Setup::new(&resolved.checkout, environment, Some(&resolved.plan), None);
    let (_raises, stop) = StopSource::new();
    let revisions = Revisions::open(&resolved.checkout, environment.raw(), &stop).await.map_err(unreadable)?;
    clean(&revisions, &[]).await?;
    let mut report = proven::read(&revisions, &from_here(&resolved.checkout, &file.to_string_lossy())).await?;
    propose(args.pull_request, (whole, source), resolved, (&revisions, Whence::Base), &mut report).await?;
    print(&report, args.format, &setup)?;
    Ok(EXIT_SUCCESS)
}

/// The exit code by what came of a merge.
pub(in crate::cli::tasks) fn exit_code(report: &Report, stop: &Stop) -> u8 {
    match stop.raised() {
        Some(StopCause::Signal(signal)) => {
            u8::try_from(signal).map_or(EXIT_NOT_FIXED, |signal| EXIT_SIGNAL_BASE.saturating_add(signal))
        }
        _ if report.is_whole() => EXIT_SUCCESS,
        _ => EXIT_NOT_FIXED,
    }
}
