//! The state of a checkout's git directory, read as text: which commit and branch is checked out, and from where.

use std::path::{Path, PathBuf};

use super::git_config::{self, Entry};
use crate::domain::units::CommitSha;
use crate::files::real_place;
use crate::workspace::git_index::git_folder;

/// The largest file of a git directory that is read here.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The commit and branch that are checked out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedOut {
    /// The commit.
    pub head: Option<CommitSha>,
    /// The branch, without `refs/heads/`. `None` when a commit is checked out by its name.
    pub branch: Option<String>,
    /// The URL of the remote `origin`, as configured.
    pub origin: Option<String>,
}

/// The heads that git keeps while an operation is under way.
pub(in crate::workspace) const HEADS: [&str; 4] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"];

/// The operation under way in the repository that holds a folder, in git's word for its head. Found without git, by the head's file.
#[must_use]
pub fn operation_under_way(folder: &Path) -> Option<&'static str> {
    let git = git_folder_above(folder)?;
    HEADS.into_iter().find(|head| git.join(head).exists())
}

/// Reads the commit and branch that are checked out in a folder. Empty where it is no checkout.
#[must_use]
pub fn checked_out(folder: &Path) -> CheckedOut {
    let Some(git) = git_folder_above(folder) else { return CheckedOut::default() };
    let common = common_folder(&git);
    let head = read(&git.join("HEAD")).unwrap_or_default();
    let (branch, commit) = match head.trim().strip_prefix("ref: ") {
        Some(reference) => {
            (reference.strip_prefix("refs/heads/").map(str::to_owned), resolve(&git, &common, reference))
        }
        None => (None, commit(head.trim())),
    };
    CheckedOut { head: commit, branch, origin: origin_in(&common) }
}

/// The git directory of the repository that a folder is in, the same for all of its worktrees, and the URL of its remote `origin`. A
/// repository without a working tree is one, too.
#[must_use]
pub fn repository_at(folder: &Path) -> Option<(PathBuf, Option<String>)> {
    let is_bare = folder.join("HEAD").is_file() && folder.join("objects").is_dir();
    let git = if is_bare { folder.to_owned() } else { git_folder_above(folder)? };
    let common = real_place(&common_folder(&git)).ok()?;
    let origin = origin_in(&common);
    Some((common, origin))
}

/// The directory of settings and references that a git directory shares with the checkout that a linked worktree was made from.
fn common_folder(git: &Path) -> PathBuf {
    read(&git.join("commondir")).map_or_else(|| git.to_owned(), |path| git.join(path.trim()))
}

fn origin_in(common: &Path) -> Option<String> {
    let config = read(&common.join("config"))?;
    let is_origin = |entry: &&Entry| {
        entry.section == "remote" && entry.subsection.as_deref() == Some("origin") && entry.name == "url"
    };
    git_config::parse(&config).iter().find(is_origin).map(|entry| entry.value.clone())
}

/// The folder's place in its repository. Empty at the top, and where there is no repository.
pub(super) fn folder_in_repository(folder: &Path) -> PathBuf {
    let top = folder.ancestors().find(|top| git_folder(top).is_some());
    top.and_then(|top| folder.strip_prefix(top).ok()).map(Path::to_owned).unwrap_or_default()
}

/// The git directory of the repository that a folder is in.
pub(super) fn git_folder_above(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find_map(git_folder)
}

fn resolve(git: &Path, common: &Path, reference: &str) -> Option<CommitSha> {
    // `HEAD` may be anybody's text, and could name any file of the disk.
    if reference.contains("..") {
        return None;
    }
    // A worktree has its own `HEAD` and shares the branches.
    let loose = [git, common].iter().find_map(|folder| read(&folder.join(reference)));
    if let Some(found) = loose.as_deref().and_then(|text| commit(text.trim())) {
        return Some(found);
    }
    let packed = read(&common.join("packed-refs"))?;
    // A line goes `0123…cdef refs/heads/main`.
    let line = packed.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' '));
    line.and_then(commit)
}

fn commit(text: &str) -> Option<CommitSha> {
    let is_name = matches!(text.len(), 40 | 64) && text.chars().all(|c| c.is_ascii_hexdigit());
    is_name.then(|| CommitSha(text.to_owned()))
}

/// A small regular file's text.
pub(super) fn read(path: &Path) -> Option<String> {
    let found = std::fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
