//! Where the reader of a report finds the log and what was kept beside it.

use crate::domain::shell::quote_path;
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
    /// Whether the log is in it. One that is kept elsewhere on the runner is not.
    pub holds_log: bool,
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
        let (name, repository) = (quote_path(name), quote_path(repository));
        format!("gh run download {workflow_run} --repo {repository} --name {name} --dir {}", Self::folder(run))
    }

    /// The place of a file of the runner once it is fetched, quoted for a shell. `None` for one that the artifact does not hold.
    #[must_use]
    pub fn fetched(&self, run: &RunId, path: &str) -> Option<String> {
        let inside = path.strip_prefix(&self.root)?.trim_start_matches(['/', '\\']);
        Some(quote_path(&format!("{}/{inside}", Self::folder(run))))
    }

    /// Where the log lies once it is fetched: one inside the checkout is kept below a folder of its own. `None` for one that the artifact does
    /// not hold.
    #[must_use]
    pub fn fetched_log(&self, run: &RunId, path: &str) -> Option<String> {
        // The live log lies in a folder that is named by a digest of a path of the runner, so the shell looks for it.
        let fetched = || self.fetched(run, path).unwrap_or_else(|| format!("{}/audit/*/audit.db", Self::folder(run)));
        self.holds_log.then(fetched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_where_it_lies_once_it_is_fetched() {
        let artifact = Artifact {
            name: "upshift-audit-77-1-pr7-0ace6e2b".to_owned(),
            repository: "acme/shop".to_owned(),
            workflow_run: 77,
            root: "/r/_temp/upshift".to_owned(),
            holds_log: true,
        };
        let run = RunId("0ace6e2b-3920-423d-9381-aac334d1bdcb".to_owned());
        let of = |path: &str| artifact.fetched(&run, path);
        assert_eq!(of("/r/_temp/upshift/0ace6e2b/best.patch").as_deref(), Some("upshift-0ace6e2b/0ace6e2b/best.patch"));
        assert_eq!(of(".upshift/0ace6e2b/best.patch"), None, "what lies in the checkout is gone with the runner");
        let log = |path: &str| artifact.fetched_log(&run, path);
        assert_eq!(log("/r/_temp/upshift/audit.db").as_deref(), Some("upshift-0ace6e2b/audit.db"));
        assert_eq!(log(".upshift/audit.db").as_deref(), Some("upshift-0ace6e2b/audit/*/audit.db"));
        let without = Artifact { holds_log: false, ..artifact.clone() };
        assert_eq!(without.fetched_log(&run, "/data/audit.db"), None, "what lies elsewhere on the runner goes with it");
    }
}
