//! `upshift init`: workflow files and a starter configuration.
//!
//! Invariant: never overwrites a file without being told to, and writes all files or says which one it could not.

mod action_ref;
mod ci;
mod fill;
mod installation;
mod matrix;
mod next;
mod paths;
mod test_step;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

pub use action_ref::{ActionRef, PLACEHOLDER};
pub use paths::{CONFIG_PATH, JUDGE_PATH, REVIEW_PATH, WORKFLOW_PATH};

use super::{place, workflow_files};
use crate::domain::shell::quote_path;

/// The template of the workflow.
pub const WORKFLOW: &str = include_str!("init/workflow.yml");

/// The trigger that has parked runs go on.
const SCHEDULE: &str = include_str!("init/schedule.yml");

/// The job that it starts.
const RESUME: &str = include_str!("init/resume.yml");

/// The template of the configuration.
pub const CONFIG: &str = include_str!("init/upshift.yml");

/// The workflow that tells upshift's of reviews.
pub const REVIEW: &str = include_str!("init/review.yml");

/// The command that writes the workflow of reviews, and nothing else.
pub const WRITE_REVIEW: &str = "upshift init --review";

/// The template of the workflow that judges pull requests.
pub const JUDGE: &str = include_str!("init/judge.yml");

/// Whether files that are there already may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// They stay, and nothing is written.
    No,
    /// They are replaced (`--force`).
    Yes,
}

/// The place where the files work.
const AT_TOP: &str = "GitHub reads these files where they lie at the top of one.";
/// The triggers that wake runs at the end of checks that are not of Actions.
const OUTSIDERS: &str = include_str!("init/outsiders.yml");
/// The part of the job's condition for them.
const OUTSIDERS_IF: &str = "      (github.event_name == 'check_suite' &&
        contains(github.event.check_suite.head_commit.message, 'Upshift-Run-Id: ')) ||
      (github.event_name == 'status' && github.event.state != 'pending' &&
        contains(github.event.commit.commit.message, 'Upshift-Run-Id: ')) ||
";
/// The part of the concurrency group for them.
const OUTSIDERS_GROUP: &str = " || github.event.check_suite.pull_requests[0].number || github.event.check_suite.head_branch || github.event.branches[0].name }}";

/// The input of the mending step that the installation is put behind.
const HEAD_SHA: &str = "          head-sha: ${{ steps.gate.outputs.head-sha }}\n";
/// The same of the judging step.
const MODE: &str = "          mode: judge\n";
/// The condition of the mending job's steps behind its gate.
const LET_IN: &str = "steps.gate.outputs.checkout == 'true'";

/// The parts of the workflow that not everybody needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether runs that wait for a rate limit go on by themselves.
    pub schedule: Schedule,
    /// Whether the end of other apps' checks and of statuses wakes runs that wait (`--external-checks`).
    pub hears_outsiders: bool,
    /// The address of the action (`--action`). `None`: a placeholder that somebody replaces.
    pub action: Option<ActionRef>,
}

/// Whether runs that wait for a rate limit go on by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Somebody comments `/upshift retry`.
    No,
    /// The workflow looks for them every half hour (`--schedule`).
    HalfHourly,
}

/// The workflow file, before anything of the repository is filled in.
#[must_use]
pub fn workflow(options: &Options) -> String {
    let mut text = WORKFLOW.to_owned();
    if options.hears_outsiders {
        text = text.replacen("\non:\n", &format!("\non:\n{OUTSIDERS}"), 1);
        text = text.replacen("    if: >-\n", &format!("    if: >-\n{OUTSIDERS_IF}"), 1);
        text = text.replacen(
            "github.event.workflow_run.head_branch }}",
            &format!("github.event.workflow_run.head_branch{OUTSIDERS_GROUP}"),
            1,
        );
    }
    match options.schedule {
        Schedule::No => text,
        Schedule::HalfHourly => {
            let triggered = text.replacen("\non:\n", &format!("\non:\n{SCHEDULE}"), 1);
            // The job is put behind the last line, and a template ends with a line end.
            format!("{}\n\n{RESUME}", triggered.trim_end())
        }
    }
}

/// Why nothing, or not everything, was written.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// Files are there already, and nothing was written. Exit code 2.
    #[error(
        "{} already: nothing was written\n→ Fix: commit your changes, then replace {} with `{again}`",
        there(.paths), it(.paths)
    )]
    Exists {
        /// The files.
        paths: Vec<&'static str>,
        /// The command that replaces them.
        again: String,
    },
    /// The folder is below the top of its repository, and nothing was written. Exit code 2.
    #[error(
        "this folder is below the top of its repository, and GitHub reads workflows only there: nothing was written\n→ Fix: cd {}, and start the \
         same command there",
        quote_path(&.0.display().to_string())
    )]
    BelowTop(PathBuf),
    /// A file could not be written.
    #[error(
        "failed to write {path}: {source}\n→ Fix: make sure that the directory can be written, then run `upshift init` again"
    )]
    Write {
        /// Which one.
        path: &'static str,
        /// Why.
        source: io::Error,
    },
}

fn there(paths: &[&str]) -> String {
    format!("{} {} there", paths.join(" and "), if paths.len() == 1 { "is" } else { "are" })
}

fn it(paths: &[&str]) -> &'static str {
    if paths.len() == 1 { "it" } else { "them" }
}

/// Writes all files below `root` and says what to do next. Names, tools and the installation are those of the workflows that are there.
///
/// # Errors
/// [`InitError::Exists`] before anything is written. [`InitError::Write`] when the file system refuses.
pub fn write(root: &Path, overwrite: Overwrite, options: &Options) -> Result<String, InitError> {
    // Read before anything is written, so that our own new files are not taken for the project's CI.
    let ci = ci::read(&workflow_files::all(root));
    let known = (&ci, options.action.as_ref());
    let workflow = fill::fill(&workflow(options), known, HEAD_SHA, Some(LET_IN));
    put_all(
        root,
        (overwrite, &again(options)),
        &[(WORKFLOW_PATH, workflow.as_str()), (REVIEW_PATH, REVIEW), (CONFIG_PATH, CONFIG)],
    )?;
    // The command that adds a schedule repeats all that was given, or it would take the other parts out again.
    let scheduled = Options { schedule: Schedule::HalfHourly, ..options.clone() };
    let scheduled = (options.schedule == Schedule::No).then(|| again(&scheduled));
    let next = next::steps(&ci, options.action.as_ref(), scheduled.as_deref(), &again(options));
    Ok(if place::top(root).is_some() {
        next
    } else {
        format!("{next}\nThis folder is in no git repository: {AT_TOP}\n")
    })
}

/// Writes the workflow that judges pull requests below `root` and says what to do next.
///
/// # Errors
/// As [`write()`].
pub fn write_judge(root: &Path, overwrite: Overwrite, action: Option<&ActionRef>) -> Result<String, InitError> {
    let ci = ci::read(&workflow_files::all(root));
    let workflow = fill::fill(JUDGE, (&ci, action), MODE, None);
    let again = format!("upshift init --judge{} --force", flag(action));
    put_all(root, (overwrite, &again), &[(JUDGE_PATH, &workflow)])?;
    Ok(next::judge_steps(action, &again, &ci))
}

/// Writes the workflow that tells upshift's of reviews below `root` and says what to do next.
///
/// # Errors
/// As [`write()`].
pub fn write_review(root: &Path, overwrite: Overwrite) -> Result<String, InitError> {
    put_all(root, (overwrite, "upshift init --review --force"), &[(REVIEW_PATH, REVIEW)])?;
    Ok(format!(
        "Wrote {REVIEW_PATH}.\n\nNext:\n  \
         1. Have upshift's own workflow follow it: `upshift-review` belongs to `workflows:` under `workflow_run`, as `upshift init` writes it.\n"
    ))
}

/// The command that was given, with `--force`.
fn again(options: &Options) -> String {
    let schedule = if options.schedule == Schedule::HalfHourly { " --schedule" } else { "" };
    let outsiders = if options.hears_outsiders { " --external-checks" } else { "" };
    format!("upshift init{schedule}{outsiders}{} --force", flag(options.action.as_ref()))
}

fn flag(action: Option<&ActionRef>) -> String {
    action.map(|action| format!(" --action {action}")).unwrap_or_default()
}

fn put_all(
    root: &Path,
    (overwrite, again): (Overwrite, &str),
    files: &[(&'static str, &str)],
) -> Result<(), InitError> {
    // Only a repository has a top. In a folder without one the files can still be moved later.
    if let Some(top) = place::top(root).filter(|top| *top != root) {
        return Err(InitError::BelowTop(top.to_owned()));
    }
    let paths = files.iter().map(|(path, _)| *path);
    if overwrite == Overwrite::No {
        // A dangling link counts as there: writing through it would land somewhere else.
        let there: Vec<_> = paths.filter(|path| fs::symlink_metadata(root.join(path)).is_ok()).collect();
        if !there.is_empty() {
            return Err(InitError::Exists { paths: there, again: again.to_owned() });
        }
    }
    for (path, text) in files {
        put(&root.join(path), text).map_err(|source| InitError::Write { path, source })?;
    }
    Ok(())
}

/// Writes beside the target, then renames: a link is replaced, not followed, and a crash leaves no half file.
fn put(target: &Path, text: &str) -> io::Result<()> {
    let directory: PathBuf = target.parent().map(Path::to_path_buf).unwrap_or_default();
    fs::create_dir_all(&directory)?;
    let mut file = crate::files::temporary_for_all(&directory)?;
    file.write_all(text.as_bytes())?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}
