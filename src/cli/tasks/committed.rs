//! A proven change on the branch: one commit a task, which names the task and the run.

use std::path::{Path, PathBuf};

use super::super::environment::Environment;
use super::load;
use crate::config::Plan;
use crate::domain::hidden::is_hidden;
use crate::domain::units::{CommitSha, RunId};
use crate::lifecycle::message::RUN_TRAILER;
use crate::lifecycle::outside;
use crate::tracker::{Source, Task};
use crate::workspace::publish::Author;
use crate::workspace::{RevisionError, Revisions};

/// The trailer that names the task.
const TASK_TRAILER: &str = "Upshift-Task";
/// The longest subject, in characters.
const SUBJECT_CHARS: usize = 72;

/// Commits a task's change. A commit of the same run that is there already is that commit.
///
/// # Errors
/// When git refuses.
pub(super) async fn commit(
    revisions: &Revisions<'_>,
    plan: &Plan,
    (task, run): (&Task, &RunId),
    files: &[PathBuf],
    environment: &Environment,
) -> Result<CommitSha, RevisionError> {
    // A process that was killed right after its commit finds it again, instead of making an empty second one.
    if let Some(found) = revisions.commit_with(&format!("{RUN_TRAILER}: {run}")).await? {
        return Ok(found);
    }
    let author = author(revisions, plan, environment).await?;
    revisions.commit_files(files, &message(task, run), &author).await
}

/// Whose commits they are.
///
/// # Errors
/// When git cannot be asked.
pub(super) async fn author(
    revisions: &Revisions<'_>,
    plan: &Plan,
    environment: &Environment,
) -> Result<Author, RevisionError> {
    match plan.github.commit_author.as_deref().and_then(outside::author) {
        Some(author) => Ok(author),
        // The person's own name, as git has it, since these commits are made in their checkout.
        None => Ok(revisions.identity(environment.raw()).await?.unwrap_or_else(outside::default_author)),
    }
}

/// Commits a task's change, and the task's status in a `prd.json`. `None` where there is nothing that could be committed.
///
/// # Errors
/// When git refuses, or that file cannot be written.
pub(super) async fn commit_task(
    revisions: &Revisions<'_>,
    (plan, checkout, environment): (&Plan, &Path, &Environment),
    source: Option<&Source>,
    (task, run): (&Task, &RunId),
    files: &[String],
) -> anyhow::Result<Option<CommitSha>> {
    let mut files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let mut before = None;
    let prd = source.filter(|source| matches!(source, Source::Prd(_)));
    if let Some((source, path)) = prd.and_then(|source| Some((source, load::file_of(source, checkout)?))) {
        // One that lies elsewhere, or that git does not know, is nobody's commit.
        let within = load::within(source, checkout);
        let known = match &within {
            Some(within) => revisions.knows(within).await?,
            None => false,
        };
        let text = load::text_of(&path)?;
        let mut prd = load::prd(&path)?;
        // Marked before the commit, so that the task's end is in the same commit as its change.
        prd.mark(&task.id, true);
        load::replace(&path, &prd.write())?;
        // A file that git ignores is still marked, but it cannot be committed.
        files.extend(within.filter(|_| known));
        before = Some((path, text));
    }
    if files.is_empty() {
        return Ok(None);
    }
    let done = commit(revisions, plan, (task, run), &files, environment).await;
    if let (Err(_), Some((path, text))) = (&done, before) {
        // What is not committed is not done.
        load::replace(&path, &text)?;
    }
    Ok(Some(done?))
}

/// Its message. A backlog's text stands in it as plain words: `[skip ci]` in a title must not silence CI, `closes #5` not close another
/// issue, no name call its owner, and nothing hide or turn around the text for a person. An issue's own id stands as it is, so that GitHub
/// closes it once the commit is on the default branch.
fn message(task: &Task, run: &RunId) -> String {
    let plain = |text: &str| {
        // An address would become a link on the forge's pages.
        let text = text.replace('[', "(").replace(']', ")").replace("://", ":");
        // `GH-5` names an issue just as `#5` does.
        let text = text.replace("GH-", "GH ").replace("gh-", "gh ");
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .filter(|letter| !is_hidden(*letter))
            .collect::<String>()
    };
    let title: String = task.title.chars().filter(|letter| !matches!(letter, '#' | '@')).collect();
    // The title of a task that was made of failing tests begins with its id.
    let named = if title.starts_with(&task.id) { title } else { format!("{} {title}", task.id) };
    // By characters: a byte in the middle of one would not be a text.
    let subject: String = plain(&format!("fix: {named}")).chars().take(SUBJECT_CHARS).collect();
    format!("{}\n\n{RUN_TRAILER}: {run}\n{TASK_TRAILER}: {}\n", subject.trim_end(), plain(&task.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::{Proof, TaskStatus};

    #[test]
    fn a_message_names_task_and_run_and_silences_nothing() {
        let task = Task {
            id: "US-001".to_owned(),
            title: format!("[skip ci] \u{202e}closes #5 @ada https://x/y {}", "long ".repeat(40)),
            description: String::new(),
            status: TaskStatus::Open,
            priority: 2,
            depends_on: Vec::new(),
            proof: Proof::Nothing,
        };
        let text = message(&task, &RunId("r1".to_owned()));
        let subject = text.lines().next().unwrap();
        assert!(
            subject.starts_with("fix: US-001 (skip ci) closes 5 ada https:x/y long") && subject.chars().count() <= 72,
            "{text}"
        );
        assert!(text.ends_with("\n\nUpshift-Run-Id: r1\nUpshift-Task: US-001\n"), "{text}");
    }
}
