//! Where the reader of a report finds the log and what was kept beside it.

use super::words::shell_quote;
use crate::domain::units::RunId;

/// How a reader gets at the files of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Whereabouts {
    /// On this machine, where the log says.
    #[default]
    Here,
    /// In an artifact of a workflow run.
    Artifact(Artifact),
    /// On a runner, until its job ends.
    Runner,
}

/// An artifact of a workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its name.
    pub name: String,
    /// The repository, `owner/name`.
    pub repository: String,
    /// The workflow run that has it.
    pub workflow_run: u64,
    /// The folder on the runner that is its root.
    pub root: String,
}

impl Artifact {
    /// The folder that [`Self::download`] fills.
    fn folder(run: &RunId) -> String {
        format!("upshift-{}", run.short())
    }

    /// The command that fetches it.
    #[must_use]
    pub fn download(&self, run: &RunId) -> String {
        let Self { name, repository, workflow_run, .. } = self;
        let (name, repository) = (shell_quote(name), shell_quote(repository));
        format!("gh run download {workflow_run} --repo {repository} --name {name} --dir {}", Self::folder(run))
    }

    /// Where a file of the runner lies once it is fetched, quoted for a shell.
    #[must_use]
    pub fn fetched(&self, run: &RunId, path: &str) -> String {
        let inside = path.strip_prefix(&self.root).map(|rest| rest.trim_start_matches(['/', '\\']));
        match inside {
            Some(inside) => shell_quote(&format!("{}/{inside}", Self::folder(run))),
            // A log inside the checkout is kept below a folder of its own.
            None => format!("{}/audit/*/audit.db", Self::folder(run)),
        }
    }
}
