//! Commits of the user's own repository, read: which files two of them differ in, and what one of them has there.
//!
//! Invariant: git is only asked (commits are made by `commits`). It gets no secret, writes nothing, fetches nothing, and runs no hook,
//! filter, merge driver, pager or monitor of the repository: such a program may lie in the tree, where a model writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bstr::ByteSlice as _;

use super::plain_checkout::PlainCheckout;
use super::publish::inherited;
use super::revision_error::RevisionError;
use super::store::{Entry, Form};
use super::{Workspace, WorkspaceError};
use crate::domain::stop::Stop;
use crate::domain::units::{CommitSha, TreeId};
use crate::domain::verdict::Exit;
use crate::process::{self, Confinement, Finished, Program, Spec};
use crate::workspace::rel_path::RelPath;

/// The most time one command may take: it reads what lies on this disk.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The most bytes of an answer that are kept from each end. A larger file is left as it is.
const KEEP: usize = 32 * 1024 * 1024;
/// How much of what git said stands in an error.
const SAID_CHARS: usize = 300;
/// Settings under which git runs nothing of the repository.
const SETTINGS: [(&str, &str); 5] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.quotePath", "false"),
    ("diff.external", ""),
    // The folder may belong to another user (a container); nothing of it is run.
    ("safe.directory", "*"),
];
/// Where a branch that others go to is looked for, in this order.
const MAIN_BRANCHES: [&str; 5] = ["origin/HEAD", "origin/main", "origin/master", "main", "master"];
/// Permissions of files in a commit, which knows only whether one can be executed.
const PLAIN: u32 = 0o644;
const EXECUTABLE: u32 = 0o755;

/// The advice for clones that hold the last commit alone.
pub const FETCH_ALL: &str =
    "\n→ Fix: in a workflow, check out with `fetch-depth: 0`; elsewhere `git fetch --unshallow`";

/// The question whether parts of the history were left out.
const SHALLOW: &[&str] = &["rev-parse", "--is-shallow-repository"];
/// The advice where the whole history is there.
const NAME_ANOTHER: &str = "\n→ Fix: name a commit, a tag or a branch that `git branch --all` or `git tag` lists";

/// The advice where nothing is committed on what is checked out.
const COMMIT_FIRST: &str = ": nothing is committed here yet\n→ Fix: commit the state before the change first";

/// A file in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    form: Form,
    executable: bool,
    pub(super) bytes: Vec<u8>,
}

/// The user's repository.
#[derive(Debug)]
pub struct Revisions<'a> {
    pub(super) top: PathBuf,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) stop: &'a Stop,
}

impl<'a> Revisions<'a> {
    /// The repository whose top a folder is.
    ///
    /// # Errors
    /// When it is none, or a folder below the top.
    pub async fn open(
        top: &Path,
        environment: &BTreeMap<OsString, OsString>,
        stop: &'a Stop,
    ) -> Result<Self, RevisionError> {
        // As git looks for it, without a process for the answer.
        if !top.ancestors().any(|folder| folder.join(".git").symlink_metadata().is_ok()) {
            return Err(RevisionError::Place(
                "not in a git repository\n→ Fix: change into the repository, or make one with `git init`".to_owned(),
            ));
        }
        let mut env = inherited(environment, top);
        for (name, value) in [
            ("LC_ALL", "C"),
            ("HOME", "/nonexistent"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            // `git status` would write the index, whose lock others may want.
            ("GIT_OPTIONAL_LOCKS", "0"),
            // In a partial clone a question would go over the network, with whatever credential is found.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_PAGER", "cat"),
        ] {
            env.insert(name.into(), value.into());
        }
        let settings = SETTINGS.map(|(key, value)| (key.to_owned(), value)).to_vec();
        let mut revisions = Self { top: top.to_owned(), env, stop };
        revisions.set(&settings);
        if PlainCheckout::at(top).is_some() {
            return Ok(revisions);
        }
        let inside = revisions.ask(&["rev-parse", "--show-cdup"]).await;
        let above = match inside {
            Ok(out) => String::from_utf8_lossy(&out).trim().to_owned(),
            Err(RevisionError::Git { said, .. }) => return Err(RevisionError::Place(said)),
            Err(other) => return Err(other),
        };
        if above.is_empty() {
            let programs = revisions.programs().await?;
            revisions.set(&[settings, programs].concat());
            return Ok(revisions);
        }
        Err(RevisionError::Place(format!(
            "{} is not the top of its repository\n→ Fix: start in {above}, and name the folder of the tests with --working-directory",
            top.display()
        )))
    }

    /// Settings that come before those of the repository.
    fn set(&mut self, settings: &[(String, &'static str)]) {
        self.env.insert("GIT_CONFIG_COUNT".into(), settings.len().to_string().into());
        for (index, (key, value)) in settings.iter().enumerate() {
            self.env.insert(format!("GIT_CONFIG_KEY_{index}").into(), key.into());
            self.env.insert(format!("GIT_CONFIG_VALUE_{index}").into(), (*value).into());
        }
    }

    /// The repository's own settings that name a program for some of its files, each with the value that runs none.
    async fn programs(&self) -> Result<Vec<(String, &'static str)>, RevisionError> {
        // `filter.lfs.clean` and `merge.ours.driver` are such keys.
        let found = match self.ask(&["config", "--null", "--name-only", "--get-regexp", r"^(filter|merge)\..*\."]).await
        {
            Ok(found) => String::from_utf8_lossy(&found).into_owned(),
            // There is none.
            Err(RevisionError::Git { .. }) => String::new(),
            Err(other) => return Err(other),
        };
        let of = |key: &str| {
            let (driver, last) = key.rsplit_once('.')?;
            let value = match (driver.split('.').next(), last) {
                // Nothing passes a filter without a name. A driver of merges that fails leaves a conflict.
                (Some("filter"), "clean" | "smudge" | "process") => "",
                (Some("filter"), "required") | (Some("merge"), "driver") => "false",
                _ => return None,
            };
            Some((key.to_owned(), value))
        };
        Ok(found.split('\0').filter_map(of).collect())
    }

    /// Its top.
    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// The same repository with the user's own settings beside the repository's: for what they say of the user alone.
    pub(super) fn with_own_settings(&self, environment: &BTreeMap<OsString, OsString>) -> Revisions<'a> {
        let mut env = self.env.clone();
        env.remove(OsStr::new("GIT_CONFIG_GLOBAL"));
        let home = environment.get(OsStr::new("HOME")).cloned().unwrap_or_else(|| "/nonexistent".into());
        env.insert("HOME".into(), home);
        Self { top: self.top.clone(), env, stop: self.stop }
    }

    /// The same repository, whose commits are by somebody.
    pub(super) fn as_author(&self, name: &str, email: &str) -> Revisions<'a> {
        let mut env = self.env.clone();
        for (variable, value) in [
            ("GIT_AUTHOR_NAME", name),
            ("GIT_AUTHOR_EMAIL", email),
            ("GIT_COMMITTER_NAME", name),
            ("GIT_COMMITTER_EMAIL", email),
        ] {
            env.insert(variable.into(), value.into());
        }
        Self { top: self.top.clone(), env, stop: self.stop }
    }

    /// The commit that a revision names.
    ///
    /// # Errors
    /// When there is none.
    pub async fn commit(&self, revision: &str) -> Result<CommitSha, RevisionError> {
        if let Some(commit) =
            Some(revision).filter(|name| *name == "HEAD").and_then(|_| PlainCheckout::at(&self.top)?.head())
        {
            return Ok(commit);
        }
        // Through a tag to its commit.
        let named = format!("{revision}^{{commit}}");
        match self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named]).await {
            Ok(out) => Ok(CommitSha(String::from_utf8_lossy(&out).trim().to_owned())),
            Err(RevisionError::Git { .. }) => Err(RevisionError::Unknown {
                revision: revision.to_owned(),
                said: "git does not know it".to_owned(),
                fix: if self.ask(SHALLOW).await.is_ok_and(|out| out == b"true\n") {
                    FETCH_ALL
                } else if revision == "HEAD" {
                    COMMIT_FIRST
                } else {
                    NAME_ANOTHER
                },
            }),
            Err(other) => Err(other),
        }
    }

    /// The branch that changes go to, where nobody names one.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn main_branch(&self) -> Result<Option<&'static str>, RevisionError> {
        for branch in MAIN_BRANCHES {
            match self.commit(branch).await {
                Ok(_) => return Ok(Some(branch)),
                Err(RevisionError::Unknown { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(None)
    }

    /// Where two commits part. `None` where this clone does not know.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn merge_base(&self, one: &CommitSha, other: &CommitSha) -> Result<Option<CommitSha>, RevisionError> {
        match self.ask(&["merge-base", &one.0, &other.0]).await {
            Ok(out) => Ok(Some(CommitSha(String::from_utf8_lossy(&out).trim().to_owned()))),
            Err(RevisionError::Git { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The paths of tracked files that differ from a commit in the working tree, and of files that are neither tracked nor ignored.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn changed_here(&self, commit: &CommitSha) -> Result<BTreeSet<PathBuf>, RevisionError> {
        let mut paths = self.paths(&["diff-index", "--name-only", "--no-renames", "-z", &commit.0, "--"]).await?;
        paths.extend(self.paths(&["ls-files", "--others", "--exclude-standard", "-z"]).await?);
        Ok(paths)
    }

    /// The paths of files in which two commits differ.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn changed_between(&self, from: &CommitSha, to: &CommitSha) -> Result<BTreeSet<PathBuf>, RevisionError> {
        self.paths(&["diff-tree", "-r", "--name-only", "--no-renames", "-z", &from.0, &to.0, "--"]).await
    }

    /// Whether tracked files are as the checked out commit has them.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn is_clean(&self) -> Result<bool, RevisionError> {
        self.is_clean_but(&[]).await
    }

    /// The same for all but these files.
    ///
    /// # Errors
    /// As [`Self::is_clean`].
    pub async fn is_clean_but(&self, spared: &[String]) -> Result<bool, RevisionError> {
        // What was only touched is not changed: the index is looked at anew, in memory alone.
        let status = ["status", "--porcelain", "--no-renames", "--untracked-files=no", "--ignore-submodules", "-z"];
        let out = self.ask(&status).await?;
        // Behind two letters and a blank stands the path from the root of the repository, of which this may be a folder.
        let is_spared = |path: &str| {
            spared.iter().any(|one| {
                path.strip_suffix(one.as_str()).is_some_and(|above| above.is_empty() || above.ends_with('/'))
            })
        };
        let lines = out.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let mut paths = lines.map(|line| String::from_utf8_lossy(line.get(3..).unwrap_or_default()).into_owned());
        Ok(paths.all(|path| is_spared(&path)))
    }

    async fn paths(&self, arguments: &[&str]) -> Result<BTreeSet<PathBuf>, RevisionError> {
        let out = self.ask(arguments).await?;
        let names = out.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| name.to_path_lossy().into_owned()).collect())
    }

    /// The parents of the commit that is checked out, also where a shallow clone does not hold them.
    ///
    /// # Errors
    /// When git fails.
    pub async fn parents(&self) -> Result<Vec<CommitSha>, RevisionError> {
        let said = self.ask(&["cat-file", "commit", "HEAD"]).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let head = said.lines().take_while(|line| !line.is_empty());
        Ok(head.filter_map(|line| line.strip_prefix("parent ")).map(|sha| CommitSha(sha.to_owned())).collect())
    }

    /// A file in a commit. `None` where there is none, or no file that could be judged (a submodule, or one that another program stores).
    pub(super) async fn blob(&self, commit: &CommitSha, path: &Path) -> Result<Option<Blob>, RevisionError> {
        let name = path.to_string_lossy().into_owned();
        let listed = self.ask(&["ls-tree", "-z", "--full-tree", &commit.0, "--", &name]).await?;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let Some((about, _)) = listed.split_once('\t') else { return Ok(None) };
        // The mode, the kind and the object's name.
        let mut words = about.split(' ');
        let (mode, Some("blob"), Some(object)) = (words.next().unwrap_or_default(), words.next(), words.next()) else {
            return Ok(None);
        };
        let bytes = self.ask_whole(&["cat-file", "blob", object]).await?;
        let form = if mode == "120000" { Form::Link } else { Form::File };
        Ok(Some(Blob { form, executable: mode == "100755", bytes }))
    }

    /// The paths of these that a commit has something at, in one question.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn which_in(&self, commit: &CommitSha, paths: &[&str]) -> Result<Vec<String>, RevisionError> {
        let arguments = [&["ls-tree", "-z", "--full-tree", "--name-only", &commit.0, "--"], paths].concat();
        let listed = self.ask(&arguments).await?;
        Ok(String::from_utf8_lossy(&listed).split_terminator('\0').map(str::to_owned).collect())
    }

    /// The text of a file in a commit, up to so many bytes; `None` where there is no file of text.
    ///
    /// # Errors
    /// When git cannot be asked.
    pub async fn text_in(&self, commit: &CommitSha, path: &Path, most: usize) -> Result<Option<String>, RevisionError> {
        let found = self.blob(commit, path).await?.filter(|blob| blob.form == Form::File);
        let Some(mut bytes) = found.map(|blob| blob.bytes) else { return Ok(None) };
        let is_text = std::str::from_utf8(&bytes).is_ok();
        bytes.truncate(most);
        Ok(is_text.then(|| String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) async fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, RevisionError> {
        Ok(self.finished(arguments).await?.output)
    }

    /// As [`Self::ask`], for what is of no use without its middle.
    ///
    /// # Errors
    /// When git failed, or said more than is kept.
    pub(super) async fn ask_whole(&self, arguments: &[&str]) -> Result<Vec<u8>, RevisionError> {
        let finished = self.finished(arguments).await?;
        if usize::try_from(finished.output_bytes).ok() == Some(finished.output.len()) {
            return Ok(finished.output);
        }
        let command = arguments.first().copied().unwrap_or_default().to_owned();
        Err(RevisionError::Git { command, said: "its answer is too long".to_owned() })
    }

    async fn finished(&self, arguments: &[&str]) -> Result<Finished, RevisionError> {
        // Literal, since a file may well be called `:(top)*`.
        let words = ["git", "--no-pager", "--literal-pathspecs"].iter().chain(arguments).map(OsString::from).collect();
        let spec = Spec {
            program: Program::Argv(words),
            cwd: self.top.clone(),
            env: self.env.clone(),
            stdin: Vec::new(),
            timeout: TIMEOUT,
            keep: KEEP,
            merge_stderr: false,
            memory_mb: None,
            confinement: Confinement::None,
        };
        let finished = process::run(&spec, self.stop, &mut |_chunk| {}).await?;
        if finished.stopped.is_some() {
            return Err(RevisionError::Stopped);
        }
        if finished.exit == (Exit::Code { code: 0 }) {
            return Ok(finished);
        }
        // `git commit` says on its output that there is nothing to commit.
        let words = [&finished.stderr, &finished.output].map(|said| String::from_utf8_lossy(said).trim().to_owned());
        let said = words.into_iter().find(|said| !said.is_empty()).unwrap_or_else(|| finished.exit.to_string());
        let said: String = said.chars().take(SAID_CHARS).collect();
        Err(RevisionError::Git { command: arguments.first().copied().unwrap_or_default().to_owned(), said })
    }
}

impl Workspace {
    /// Records a state with some files as a commit has them. Files that it does not have are gone from it.
    ///
    /// # Errors
    /// When the repository or the private folder cannot be read.
    pub async fn as_in_commit(
        &self,
        tree: &TreeId,
        revisions: &Revisions<'_>,
        commit: &CommitSha,
        paths: &BTreeSet<PathBuf>,
    ) -> Result<TreeId, RevisionError> {
        let store = self.states.store();
        let mut manifest = Arc::unwrap_or_clone(store.load(tree)?);
        for name in paths {
            let Ok(path) = RelPath::from_path(name) else { continue };
            let Some(blob) = revisions.blob(commit, name).await? else {
                manifest.remove(&path);
                continue;
            };
            let failed = |source| WorkspaceError::Store { path: name.clone(), source };
            let content = store.take_bytes(&blob.bytes).map_err(failed)?;
            // Git keeps one bit of the permissions: the others stay as they are here.
            let before = manifest.get(&path).filter(|entry| entry.form == blob.form).map(|entry| entry.permissions);
            let usual = if blob.executable { EXECUTABLE } else { PLAIN };
            let is_executable = |permissions: &u32| permissions & 0o100 != 0;
            let permissions = before.filter(|before| is_executable(before) == blob.executable).unwrap_or(usual);
            let permissions = if blob.form == Form::Link { 0 } else { permissions };
            manifest.insert(path, Entry { form: blob.form, permissions, content });
        }
        Ok(store.save(&manifest)?)
    }

    /// Records a state with single files as another state has them, and others with a new text.
    ///
    /// # Errors
    /// When a state is not recorded or the private folder cannot be written.
    pub fn with_files_of(
        &self,
        tree: &TreeId,
        other: &TreeId,
        paths: &BTreeSet<String>,
        texts: &BTreeMap<String, String>,
    ) -> Result<TreeId, WorkspaceError> {
        let store = self.states.store();
        let (mut manifest, other) = (Arc::unwrap_or_clone(store.load(tree)?), store.load(other)?);
        for name in paths {
            let Ok(path) = RelPath::from_path(Path::new(name)) else { continue };
            match other.get(&path) {
                Some(entry) => drop(manifest.insert(path, *entry)),
                None => drop(manifest.remove(&path)),
            }
        }
        for (name, text) in texts {
            let Ok(path) = RelPath::from_path(Path::new(name)) else { continue };
            let failed = |source| WorkspaceError::Store { path: PathBuf::from(name), source };
            let content = store.take_bytes(text.as_bytes()).map_err(failed)?;
            if let Some(entry) = manifest.get_mut(&path) {
                entry.content = content;
            }
        }
        store.save(&manifest)
    }
}

/// Where the commit is kept at which a merge began to judge.
pub(super) const JUDGED_AT: &str = "judged-at";
