//! A checkout whose `.git` says by itself what git would answer, so that no process need be started for it.
//!
//! Invariant: whatever is out of the ordinary (a work tree of its own, an included file, an extension, a filter) makes it no plain one, and
//! git is asked.

use std::path::{Path, PathBuf};

use crate::domain::units::CommitSha;

/// The most bytes of a file of git's that is read here.
const MOST_BYTES: u64 = 64 * 1024;
/// What a configuration may not hold anywhere, in small letters: a driver for some files, more configuration elsewhere, another format of
/// the repository, another work tree.
const UNUSUAL: [&str; 6] = ["[filter", "[merge", "[include", "[extensions", "worktree", "bare"];
/// The one line about bare repositories that each ordinary one has.
const NOT_BARE: &str = "bare = false";
/// The lengths of an object's name, by SHA-1 and by SHA-256.
const NAME_LENGTHS: [usize; 2] = [40, 64];

/// A repository with its top beside its folder `.git`, and nothing in its configuration that runs a program for some files.
#[derive(Debug)]
pub(super) struct PlainCheckout {
    git: PathBuf,
}

impl PlainCheckout {
    /// The one with this top; `None` where git has to be asked.
    pub(super) fn at(top: &Path) -> Option<Self> {
        let git = top.join(".git");
        // A link or a file leads elsewhere, and git takes a folder without these for none of its own.
        let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_whole = is_folder(&git) && ["objects", "refs"].iter().all(|name| is_folder(&git.join(name)));
        let elsewhere = ["commondir", "config.worktree"].iter().any(|name| git.join(name).symlink_metadata().is_ok());
        let plain = Self { git };
        if !is_whole || elsewhere || plain.text("HEAD").is_none() {
            return None;
        }
        let config = plain.text("config")?.to_lowercase().replacen(NOT_BARE, "", 1);
        (!UNUSUAL.iter().any(|word| config.contains(word))).then_some(plain)
    }

    /// The commit that is checked out. `None` where the reference is not a file of its own, or there is none yet.
    pub(super) fn head(&self) -> Option<CommitSha> {
        let head = self.text("HEAD")?;
        let name = match head.trim().strip_prefix("ref: ") {
            // A branch names a commit and nothing else. References of other kinds are git's to follow.
            Some(branch) if branch.starts_with("refs/heads/") && !branch.contains("..") => self.text(branch)?,
            Some(_) => return None,
            None => head,
        };
        let name = name.trim();
        let is_name = NAME_LENGTHS.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| CommitSha(name.to_owned()))
    }

    fn text(&self, name: &str) -> Option<String> {
        let path = self.git.join(name);
        let found = path.symlink_metadata().ok()?;
        if !found.is_file() || found.len() > MOST_BYTES {
            return None;
        }
        std::fs::read_to_string(path).ok()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;

    use super::super::tests::git;
    use super::*;

    /// A repository with one commit.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "-q", "-b", "main"]);
        git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "one"]);
        folder
    }

    fn commit(top: &Path) -> CommitSha {
        CommitSha(git(top, &["rev-parse", "HEAD"]).trim().to_owned())
    }

    #[test]
    fn the_commit_that_is_checked_out_is_what_git_says() {
        let folder = repository();
        let top = folder.path();
        // What a clone has beside: a remote, and a branch that is merged from it.
        for (key, value) in
            [("remote.origin.url", "https://example.invalid/a"), ("branch.main.merge", "refs/heads/main")]
        {
            git(top, &["config", key, value]);
        }
        let head = || PlainCheckout::at(top).unwrap().head();
        assert_eq!(head(), Some(commit(top)));
        git(top, &["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!(head(), Some(commit(top)));
        git(top, &["checkout", "-q", "--detach", "HEAD~1"]);
        assert_eq!(head(), Some(commit(top)));
        git(top, &["checkout", "-q", "main"]);
        git(top, &["pack-refs", "--all"]);
        assert_eq!(head(), None, "git is asked");
        git(top, &["checkout", "-q", "--orphan", "empty"]);
        assert_eq!(head(), None, "nothing is committed there");
    }

    #[test]
    fn git_is_asked_wherever_something_is_out_of_the_ordinary() {
        let unusual: [&[&str]; 9] = [
            &["config", "filter.lfs.clean", "touch ran"],
            &["config", "merge.ours.driver", "touch ran"],
            &["config", "include.path", "more"],
            &["config", "includeIf.onbranch:main.path", "more"],
            &["config", "core.worktree", "/"],
            &["config", "core.bare", "true"],
            &["config", "extensions.worktreeConfig", "true"],
            &["config", "--file", ".git/config.worktree", "a.b", "c"],
            &["init", "-q", "--separate-git-dir", "../elsewhere"],
        ];
        for arguments in unusual {
            let outer = tempfile::tempdir().unwrap();
            let top = outer.path().join("top");
            fs::create_dir(&top).unwrap();
            git(&top, &["init", "-q"]);
            assert!(PlainCheckout::at(&top).is_some());
            git(&top, arguments);
            assert!(PlainCheckout::at(&top).is_none(), "{arguments:?}");
        }
        let folder = repository();
        git(folder.path(), &["worktree", "add", "-q", "beside"]);
        assert!(PlainCheckout::at(&folder.path().join("beside")).is_none(), "a second work tree");
        fs::remove_file(folder.path().join(".git/HEAD")).unwrap();
        assert!(PlainCheckout::at(folder.path()).is_none(), "no repository");
    }
}
