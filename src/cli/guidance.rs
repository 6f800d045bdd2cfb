//! The words that the artisan is told beside its task: how the project says it is worked on, and what a backlog knows of the task.
//!
//! Invariant: the project's own files are read from the base commit, where no model and nobody who sends a pull request wrote them, and
//! all of it is data within caps. A file that cannot be read is reported and left out: a run does not depend on it.

use std::path::Path;

use super::setup::Setup;
use super::{forge, say, tasks};
use crate::agent::Beside;
use crate::audit::Store;
use crate::domain::ci::PullRequestRef;
use crate::domain::foreign::Foreign;
use crate::domain::stop::Stop;
use crate::domain::units::CommitSha;
use crate::github::GitHub;
use crate::tracker::{Source, Task};
use crate::workspace::Revisions;

/// The most characters of one file, and of what a backlog says.
const MOST_CHARS: usize = 8_000;
/// The most bytes of a file that are looked at.
const MOST_BYTES: usize = 64 * 1024;
/// So many tasks before this one are told of.
const TOLD: u32 = 5;

/// Gathers it for a run that begins.
pub(super) async fn gather(setup: &Setup<'_>, store: &Store) -> Vec<Beside> {
    let mut found = instructions(setup).await;
    found.extend(of_task(setup, store).into_iter().flatten());
    found
}

/// The project's own instructions.
async fn instructions(setup: &Setup<'_>) -> Vec<Beside> {
    let mut found: Vec<Beside> = Vec::new();
    let stop = Stop::never();
    // Outside a repository there is no base, and a file of the working tree could be the pull request's own.
    let Ok(revisions) = Revisions::open(setup.checkout, setup.environment.raw(), &stop).await else { return found };
    let Some(base) = Base::of(setup, &revisions).await else { return found };
    for path in tasks::INSTRUCTIONS {
        let text = match base.read(path).await {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(why) => {
                say(&format!("⚠ {path} of the base commit is not given to the models: {why}"));
                // The forge is asked for each file. After one failure the others would fail the same way.
                return found;
            }
        };
        // Nobody who reads the page sees its comments.
        let text = Foreign::prose(&setup.redactor.redact(&text)).cut(MOST_CHARS);
        // One is often a copy of another.
        if !text.is_empty() && found.iter().all(|other| other.text != text) {
            let label = format!("{path}: HOW THIS PROJECT IS WORKED ON, kept where it contradicts nothing above");
            found.push(Beside { label, text });
        }
    }
    found
}

/// The base commit: that which a pull request goes to, else the one that is checked out.
enum Base<'a> {
    /// It is in this clone. Which of the files it has was asked once: each question is a process.
    Here { revisions: &'a Revisions<'a>, commit: CommitSha, files: Vec<String> },
    /// The forge alone has it.
    Forge { github: Box<GitHub>, commit: CommitSha },
    /// Nobody can be asked, and why.
    Unreadable(String),
}

impl<'a> Base<'a> {
    async fn of(setup: &Setup<'_>, revisions: &'a Revisions<'a>) -> Option<Self> {
        let pull = match setup.context.filter(|context| context.is_about_a_pull_request()) {
            None => None,
            Some(context) => match &context.pull_request {
                PullRequestRef::Known(pull) => Some((context, pull)),
                // Without the base commit the head would have to be read, and whoever opens the pull request wrote that.
                PullRequestRef::None | PullRequestRef::Number(_) | PullRequestRef::Head => return None,
            },
        };
        // Without a pull request the commit is the repository's own. The working tree may hold edits of a killed run.
        let revision = pull.map_or("HEAD", |(_, pull)| pull.base_sha.0.as_str());
        // A clone that has the commit needs no request. A shallow one in a job mostly lacks it.
        if let Ok(commit) = revisions.commit(revision).await {
            return Some(match revisions.which_in(&commit, &tasks::INSTRUCTIONS).await {
                Ok(files) => Self::Here { revisions, commit, files },
                Err(error) => Self::Unreadable(error.to_string()),
            });
        }
        let (context, pull) = pull?;
        let token = forge::token(setup.environment)?;
        Some(match forge::client(setup.environment, &context.api_url, &context.repository, token) {
            Ok(github) => Self::Forge { github: Box::new(github), commit: pull.base_sha.clone() },
            Err(error) => Self::Unreadable(error.to_string()),
        })
    }

    async fn read(&self, path: &str) -> Result<Option<String>, String> {
        match self {
            Self::Unreadable(why) => Err(why.clone()),
            Self::Here { revisions, commit, files } => {
                if !files.iter().any(|file| file == path) {
                    return Ok(None);
                }
                let text = revisions.text_in(commit, Path::new(path), MOST_BYTES).await;
                text.map_err(|error| error.to_string())
            }
            Self::Forge { github, commit } => {
                let bytes = github.file(path, &commit.0).await.map_err(|error| error.to_string())?;
                Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
            }
        }
    }
}

/// The backlog's knowledge of the task that the run is for.
fn of_task(setup: &Setup<'_>, store: &Store) -> Option<Vec<Beside>> {
    let (backlog, task) = setup.environment.get(tasks::TASK)?.split_once('/')?;
    let (source, record) = store.task_of(backlog, task).ok()??;
    let mut found = Vec::new();
    if let Ok(Source::Issues(_)) = source.parse() {
        // Anybody may have written it.
        let Task { title, description, .. } = serde_json::from_str(&record.body).ok()?;
        let said = format!("{title}\n\n{description}");
        let text = Foreign::capped(&setup.redactor.redact(&said), MOST_CHARS);
        found.push(Beside { label: "THE ISSUE, as it was written".to_owned(), text });
    }
    let before = store.worked_on_last(backlog, TOLD).ok()?;
    let line = |record: crate::audit::TaskRecord| {
        let title = serde_json::from_str::<Task>(&record.body).map(|task| task.title).unwrap_or_default();
        let why = if record.reason.is_empty() { String::new() } else { format!(": {}", record.reason) };
        format!("{} {title}: {}{why}\n", record.task_id, record.status)
    };
    let told: String = before.into_iter().map(line).collect();
    let text = Foreign::capped(&setup.redactor.redact(&told), MOST_CHARS);
    found.push(Beside { label: "RECENT PROGRESS of the backlog, the latest last".to_owned(), text });
    Some(found)
}
