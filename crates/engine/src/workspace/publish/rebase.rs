//! Changes that somebody pushed meanwhile, put under recorded states, so that the change between them can be judged on top of it.
//!
//! Three-way, file by file: what both sides changed in different lines is merged by git, anything else is a conflict. Invariant:
//! nothing is written into the checkout, and no program of the repository (a filter, a merge driver) runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::git::{Git, Scratch};
use super::head;
use super::order::{PublishError, Remote, Surroundings};
use crate::domain::units::{CommitSha, TreeId};
use crate::workspace::Workspace;
use crate::workspace::rel_path::RelPath;
use crate::workspace::store::{Entry, Form, Manifest};

/// Git's permissions of an ordinary file, of one that can be run, and of a symbolic link.
const MODES: [&str; 3] = ["100644", "100755", "120000"];
/// Git's mode of a file that is not there.
const NONE: &str = "000000";
/// The beginning of a pointer file of Git LFS (git-lfs, docs/spec.md).
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Recorded states with what was pushed meanwhile.
#[derive(Debug)]
pub struct Rebased {
    /// The start.
    pub start: TreeId,
    /// The fix, or why it does not go together with what was pushed.
    pub fix: Result<TreeId, PublishError>,
    /// The files that the push changed, below the workspace.
    pub files: Vec<PathBuf>,
}

/// A file that the push changed.
#[derive(Debug)]
struct Pushed {
    path: RelPath,
    mode: String,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl Pushed {
    fn conflict(&self, why: &str) -> PublishError {
        PublishError::Conflict { path: self.path.to_string(), why: why.to_owned() }
    }

    fn form(&self) -> Form {
        if self.mode == MODES[2] { Form::Link } else { Form::File }
    }
}

impl Workspace {
    /// Puts what a push changed, from one commit to another, under the start and the fix.
    ///
    /// # Errors
    /// [`PublishError::Conflict`] where the checkout's own start has other lines than both commits, or a file that cannot be merged.
    pub async fn rebased(
        &self,
        remote: &Remote,
        (from, to): (&CommitSha, &CommitSha),
        (start, fix): (&TreeId, &TreeId),
        around: Surroundings<'_>,
    ) -> Result<Rebased, PublishError> {
        let scratch = Scratch::in_folder(self.states.store().folder())?;
        let git = Git::new(&scratch, remote, around, self.root())?;
        git.init().await?;
        git.fetch(from).await?;
        git.fetch(to).await?;
        let pushed = pushed(&git, from, to, &head::folder_in_repository(self.root())).await?;
        let start = self.put_all(&git, start, &pushed).await?;
        let fix = self.put_all(&git, fix, &pushed).await;
        let files = pushed.into_iter().map(|file| file.path.as_path().to_owned()).collect();
        Ok(Rebased { start, fix, files })
    }

    /// Each file of the push in one state, which is recorded.
    async fn put_all(&self, git: &Git<'_>, tree: &TreeId, pushed: &[Pushed]) -> Result<TreeId, PublishError> {
        let store = self.states.store();
        let mut manifest = (*store.load(tree)?).clone();
        for file in pushed {
            self.put(git, &mut manifest, file).await?;
        }
        Ok(store.save(&manifest)?)
    }

    /// One file of the push in one state.
    async fn put(&self, git: &Git<'_>, manifest: &mut Manifest, file: &Pushed) -> Result<(), PublishError> {
        let store = self.states.store();
        let here = manifest.get(&file.path).copied();
        if here.is_some_and(|here| here.form == Form::Large) {
            return Err(file.conflict("it is too large for its content to be recorded"));
        }
        let content = here.map(|here| store.content(&here.content)).transpose()?;
        let merged = match (&content, &file.before, &file.after) {
            (Some(here), _, Some(after)) if here == after => return Ok(()),
            (Some(here), Some(before), after) if here == before => after.clone(),
            // The checkout has other line ends than git keeps.
            (Some(here), Some(before), after) if unix_ends(here) == *before => after.as_deref().map(windows_ends),
            (Some(here), Some(before), Some(after)) => Some(merge(git, file, (here, before, after)).await?),
            (None, None, after) => after.clone(),
            (None, _, None) => return Ok(()),
            (Some(_), _, None) => return Err(file.conflict("it was deleted there, and is another one here")),
            (Some(_), None, Some(_)) => return Err(file.conflict("both sides made a file of that name")),
            (None, Some(_), Some(_)) => return Err(file.conflict("it was changed there, and is gone here")),
        };
        let Some(bytes) = merged else {
            manifest.remove(&file.path);
            return Ok(());
        };
        let failed = |source| crate::workspace::WorkspaceError::Store { path: file.path.as_path().to_owned(), source };
        let content = store.take_bytes(&bytes).map_err(failed)?;
        let usual = if file.mode == MODES[1] { 0o755 } else { 0o644 };
        let alike = here.filter(|here| here.form == file.form() && (here.permissions & 0o100 != 0) == (usual == 0o755));
        let permissions = alike.map_or(usual, |here| here.permissions);
        manifest.insert(file.path.clone(), Entry { form: file.form(), permissions, content });
        Ok(())
    }
}

/// The files that differ between two commits, with their contents. Files outside of a folder are left out.
async fn pushed(git: &Git<'_>, from: &CommitSha, to: &CommitSha, folder: &Path) -> Result<Vec<Pushed>, PublishError> {
    let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", &from.0, &to.0];
    let said = git.must(&arguments, &[]).await?;
    let text = String::from_utf8_lossy(&said.out).into_owned();
    let mut words = text.split('\0');
    let mut raw = BTreeMap::new();
    // `:100644 100644 bcd1234… 0123456… M`, a NUL, the path, a NUL.
    while let (Some(head), Some(path)) = (words.next(), words.next()) {
        raw.insert(path.to_owned(), head.trim_start_matches(':').to_owned());
    }
    let mut found = Vec::new();
    for (path, head) in raw {
        let conflict = |why: &str| PublishError::Conflict { path: path.clone(), why: why.to_owned() };
        let Ok(below) = Path::new(&path).strip_prefix(folder) else { continue };
        let below = RelPath::from_path(below).map_err(|error| conflict(&error.to_string()))?;
        let fields: Vec<&str> = head.split(' ').collect();
        let [old_mode, mode, old, new, _] = fields.as_slice() else {
            return Err(conflict("git has no information on it"));
        };
        if [old_mode, mode].iter().any(|mode| **mode != NONE && !MODES.contains(mode)) {
            return Err(conflict("there is a submodule"));
        }
        let before = if *old_mode == NONE { None } else { Some(blob(git, old).await?) };
        let after = if *mode == NONE { None } else { Some(blob(git, new).await?) };
        if [&before, &after].into_iter().flatten().any(|content| content.starts_with(LFS_POINTER)) {
            return Err(conflict("its content is kept by Git LFS"));
        }
        found.push(Pushed { path: below, mode: (*mode).to_owned(), before, after });
    }
    Ok(found)
}

async fn blob(git: &Git<'_>, object: &str) -> Result<Vec<u8>, PublishError> {
    Ok(git.must(&["cat-file", "blob", object], &[]).await?.out)
}

async fn merge(
    git: &Git<'_>,
    file: &Pushed,
    (here, before, after): (&[u8], &[u8], &[u8]),
) -> Result<Vec<u8>, PublishError> {
    let binary = [here, before, after].iter().any(|content| content.contains(&0));
    if binary || file.form() == Form::Link {
        return Err(file.conflict("it differs there, and is not text that could be merged"));
    }
    // With different ends every line would be a conflict.
    let has_windows_ends = unix_ends(here).len() != here.len();
    let scratch = git.scratch();
    let (ours, base) = (scratch.write("ours", &unix_ends(here))?, scratch.write("base", &unix_ends(before))?);
    let theirs = scratch.write("theirs", &unix_ends(after))?;
    let paths = [&ours, &base, &theirs].map(|path| path.to_string_lossy().into_owned());
    let said = git.run(&["merge-file", "-p", "--", &paths[0], &paths[1], &paths[2]], &[], &[]).await?;
    match said.code {
        Some(0) if has_windows_ends => Ok(windows_ends(&said.out)),
        Some(0) => Ok(said.out),
        _ => Err(file.conflict("it differs there in the same lines")),
    }
}

/// The content with LF line ends, as git stores text.
fn unix_ends(content: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(content.len());
    let mut bytes = content.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\r' || bytes.peek() != Some(&b'\n') {
            plain.push(byte);
        }
    }
    plain
}

fn windows_ends(content: &[u8]) -> Vec<u8> {
    unix_ends(content)
        .into_iter()
        .flat_map(|byte| if byte == b'\n' { vec![b'\r', b'\n'] } else { vec![byte] })
        .collect()
}
