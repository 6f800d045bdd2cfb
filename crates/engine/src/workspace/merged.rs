//! A change from another job's log, put over a state of this checkout: three-way, file by file.
//!
//! A log may come from anybody. Invariant: what a change does to a file passes the same rules again as when a model wrote it; nothing here
//! writes into the checkout.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Workspace;
use super::WorkspaceError;
use super::rebuild::{RebuildError, below_another, checked, entry, leads_out, refused};
use super::rel_path::RelPath;
use super::revision_error::RevisionError;
use super::revisions::{JUDGED_AT, Revisions};
use super::secret::looks_secret;
use super::store::{Entry, Form};
use crate::domain::tree_patch::{FileForm, FileVersion, PatchedFile, RecordedTree};
use crate::domain::units::{CommitSha, TreeId};
use crate::files;

/// Where the files are kept that are about to be staged.
const STAGED: &str = "staged";
/// The folder at the top of a repository that GitHub reads.
const CI_FOLDER: &str = ".github";

/// A change over a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// It fits: the state with it.
    Over(TreeId),
    /// Both sides changed the same lines, or a file that is no text.
    Conflict {
        /// The first such file.
        path: String,
    },
}

/// The way back of a merge that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WayBack {
    /// None was.
    None,
    /// The files are back.
    Went,
    /// Somebody changed these since then.
    Barred(Vec<String>),
}

impl Workspace {
    /// Puts a change that is told by the state before it over another state.
    ///
    /// # Errors
    /// [`RebuildError::Refused`] for what no model may write, secrets among it; [`RebuildError::Missing`] for a content that is not there.
    pub async fn merged(
        &self,
        revisions: &Revisions<'_>,
        here: &TreeId,
        change: &RecordedTree,
    ) -> Result<Merged, RebuildError> {
        self.judged_from(here);
        let store = self.states.store();
        let mut manifest = Arc::unwrap_or_clone(store.load(here)?);
        for (path, file) in checked(&change.patch)? {
            // Another system, a list of paths or a terminal would take it for another path.
            if file.path.contains(|letter: char| letter.is_control() || letter == '\\') {
                return Err(refused(&path, "has a control character or a backslash in its name"));
            }
            if path.as_path().starts_with(CI_FOLDER) {
                return Err(refused(&path, "configures CI"));
            }
            let now = manifest.get(&path).copied();
            let Some(wanted) = self.three_way(revisions, (&path, file, now), &change.contents).await? else {
                return Ok(Merged::Conflict { path: path.to_string() });
            };
            if let Some(why) = self.unpublishable(&path, now.as_ref(), wanted.as_ref())? {
                return Err(refused(&path, &format!("a model may not write: {why}")));
            }
            match wanted {
                Some(entry) => drop(manifest.insert(path, entry)),
                None => drop(manifest.remove(&path)),
            }
        }
        match below_another(&manifest) {
            Some(path) => Err(refused(path, "is below a file or a link")),
            None => Ok(Merged::Over(store.save(&manifest)?)),
        }
    }

    /// A file with its change; `None` where both sides changed it and cannot be brought together.
    async fn three_way(
        &self,
        revisions: &Revisions<'_>,
        (path, file, now): (&RelPath, &PatchedFile, Option<Entry>),
        contents: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<Option<Entry>>, RebuildError> {
        // Permissions say nothing here: they differ from machine to machine.
        let is = |version: Option<&FileVersion>| match (version, now) {
            (None, None) => true,
            (Some(version), Some(now)) => version.content == now.content.hex() && form(version) == now.form,
            (_, _) => false,
        };
        let after = match &file.after {
            None => None,
            Some(version) => Some(self.taken_over(path, version, contents, now)?),
        };
        // Either nobody changed it here, or the same change is in already.
        if is(file.before.as_ref()) || is(file.after.as_ref()) {
            return Ok(Some(after));
        }
        let (Some(before), Some(after), Some(now)) = (&file.before, after, now) else { return Ok(None) };
        let plain = [form(before), after.form, now.form].iter().all(|form| *form == Form::File);
        let Some(base) = contents.get(&before.content).filter(|_| plain) else { return Ok(None) };
        let store = self.states.store();
        let (ours, theirs) = (store.content(&now.content)?, store.content(&after.content)?);
        let Some(bytes) = self.merged_text(revisions, [&ours, base, &theirs]).await? else { return Ok(None) };
        let failed = |source| WorkspaceError::Store { path: path.as_path().to_owned(), source };
        let content = store.take_bytes(&bytes).map_err(failed)?;
        Ok(Some(Some(Entry { content, ..now })))
    }

    fn holds_secret(&self, path: &RelPath, bytes: &[u8]) -> bool {
        let is_cut = matches!(self.redactor.redact(&String::from_utf8_lossy(bytes)), std::borrow::Cow::Owned(_));
        is_cut || looks_secret(path.as_path())
    }

    /// The first file of a change between two states that would hold a secret, or lead out of the checkout.
    ///
    /// # Errors
    /// When a state cannot be read.
    pub fn secret_in(&self, from: &TreeId, to: &TreeId) -> Result<Option<String>, WorkspaceError> {
        let store = self.states.store();
        let (from, to) = (store.load(from)?, store.load(to)?);
        for (path, entry) in to.iter().filter(|&(path, entry)| from.get(path) != Some(entry)) {
            let bytes = store.content(&entry.content)?;
            if self.holds_secret(path, &bytes) || (entry.form == Form::Link && leads_out(path, &bytes)) {
                return Ok(Some(path.to_string()));
            }
        }
        Ok(None)
    }

    /// A file as the log wants it, with the permissions that it has here.
    fn taken_over(
        &self,
        path: &RelPath,
        version: &FileVersion,
        contents: &BTreeMap<String, Vec<u8>>,
        now: Option<Entry>,
    ) -> Result<Entry, RebuildError> {
        let bytes = contents.get(&version.content).ok_or_else(|| RebuildError::Missing(path.to_string()))?;
        if self.holds_secret(path, bytes) {
            return Err(refused(path, "would contain a secret"));
        }
        if version.form == FileForm::Link && leads_out(path, bytes) {
            return Err(refused(path, "would lead out of the checkout"));
        }
        let failed = |source| WorkspaceError::Store { path: path.as_path().to_owned(), source };
        let wanted = entry(path, version, self.states.store().take_bytes(bytes).map_err(failed)?)?;
        // The other bits differ between machines.
        let executable = |permissions: u32| permissions & 0o100 != 0;
        let alike =
            now.filter(|now| now.form == wanted.form && executable(now.permissions) == executable(wanted.permissions));
        Ok(Entry { permissions: alike.map_or(wanted.permissions, |now| now.permissions), ..wanted })
    }

    /// Git's three-way merge of texts; `None` where they conflict.
    async fn merged_text(&self, revisions: &Revisions<'_>, texts: [&[u8]; 3]) -> Result<Option<Vec<u8>>, RebuildError> {
        if texts.iter().any(|text| text.contains(&0)) {
            return Ok(None);
        }
        let place = self.states.store().folder().to_owned();
        let failed = |source| WorkspaceError::Store { path: place.clone(), source };
        // In the private folder, where no program of the repository comes.
        let folder = tempfile::tempdir_in(&place).map_err(failed)?;
        let mut names = Vec::new();
        for (name, text) in ["ours", "base", "theirs"].into_iter().zip(texts) {
            let path = folder.path().join(name);
            std::fs::write(&path, text).map_err(failed)?;
            names.push(path.to_string_lossy().into_owned());
        }
        let words: Vec<&str> = ["merge-file", "-p", "--"].into_iter().chain(names.iter().map(String::as_str)).collect();
        match revisions.ask_whole(&words).await {
            Ok(text) => Ok(Some(text)),
            // It ends with the number of conflicts.
            Err(RevisionError::Git { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Keeps in mind at which commit the files were those of the way back.
    ///
    /// # Errors
    /// When the private folder cannot be written.
    pub fn keep_judged_at(&self, commit: &CommitSha) -> Result<(), WorkspaceError> {
        let kept = self.states.store().keep(JUDGED_AT, commit.0.as_bytes());
        kept.map_err(|source| WorkspaceError::Store { path: JUDGED_AT.into(), source })
    }

    /// Keeps in mind which files are about to be staged for a commit: a killed process leaves them so.
    ///
    /// # Errors
    /// When the private folder cannot be written.
    pub fn keep_staged(&self, files: &[String]) -> Result<(), WorkspaceError> {
        let kept = self.states.store().keep(STAGED, files.join("\0").as_bytes());
        kept.map_err(|source| WorkspaceError::Store { path: STAGED.into(), source })
    }

    /// Makes git's index that of the commit again for files that were staged and may not have been committed.
    ///
    /// # Errors
    /// When git refuses: a lock of another git. Then they stay in mind.
    pub async fn unstage_left(&self, revisions: &Revisions<'_>) -> Result<(), RevisionError> {
        let kept = self.states.store().kept(STAGED);
        let kept = kept.map_err(|source| WorkspaceError::Store { path: STAGED.into(), source })?;
        let Some(names) = kept.and_then(|bytes| String::from_utf8(bytes).ok()) else { return Ok(()) };
        let files: Vec<PathBuf> = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
        // Without a name git would take all.
        if !files.is_empty() {
            revisions.unstage(&files).await?;
        }
        self.states.store().drop_kept(STAGED);
        Ok(())
    }

    /// Puts the files back where a merge was killed: as they were, with what it had committed since. Where somebody changed some since
    /// then, all stay as they are.
    ///
    /// # Errors
    /// When they cannot be put back.
    pub async fn go_back_to(&self, revisions: &Revisions<'_>) -> Result<WayBack, RevisionError> {
        let kept = self.states.store().kept(JUDGED_AT);
        let kept = kept.map_err(|source| WorkspaceError::Store { path: JUDGED_AT.into(), source })?;
        if !self.has_way_back()? {
            self.forget_writes();
            return Ok(WayBack::None);
        }
        let here = revisions.commit("HEAD").await?;
        let theirs = self.changed_by_others(revisions, &here).await?;
        if !theirs.is_empty() {
            return Ok(WayBack::Barred(theirs));
        }
        self.go_back().await?;
        self.forget_writes();
        let Some(from) = kept.and_then(|bytes| String::from_utf8(bytes).ok()).map(CommitSha) else {
            return Ok(WayBack::Went);
        };
        // Commits that the merge had made by then stay, and their files are taken from them.
        let paths = revisions.changed_between(&from, &here).await?;
        if !paths.is_empty() {
            let tree = self.as_in_commit(&self.snapshot().await?, revisions, &here, &paths).await?;
            self.restore(&tree).await?;
        }
        Ok(WayBack::Went)
    }

    /// The files that somebody changed since a merge was killed, and that no commit holds.
    async fn changed_by_others(
        &self,
        revisions: &Revisions<'_>,
        here: &CommitSha,
    ) -> Result<Vec<String>, RevisionError> {
        let differs = revisions.changed_here(here).await?;
        let differs = differs.iter().map(|path| files::slashed(path));
        Ok(match self.left_behind().await? {
            Some(left) => differs.filter(|path| left.later.contains(path) || left.mixed.contains(path)).collect(),
            // Nothing says which are whose.
            None => differs.collect(),
        })
    }
}

const fn form(version: &FileVersion) -> Form {
    match version.form {
        FileForm::File => Form::File,
        FileForm::Link => Form::Link,
    }
}

#[cfg(test)]
mod tests;
