//! Looks into the bare repository that a world may stand on.

use std::path::Path;
use std::process::Command;

use super::state::Commit;

fn git(git_dir: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git").arg("--git-dir").arg(git_dir).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn text(git_dir: &Path, arguments: &[&str]) -> String {
    git(git_dir, arguments).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

pub(super) fn branches(git_dir: &Path) -> Vec<(String, String)> {
    let listed = text(git_dir, &["for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads"]);
    let pairs = listed.lines().filter_map(|line| line.rsplit_once(' '));
    pairs.map(|(branch, sha)| (branch.to_owned(), sha.to_owned())).collect()
}

pub(super) fn commits(git_dir: &Path, sha: &str) -> Vec<(String, Commit)> {
    let listed = text(git_dir, &["log", "--max-count=250", "--format=%H%x00%P%x00%an%x00%B%x01", sha]);
    let commit = |entry: &str| {
        let mut fields = entry.trim_start().splitn(4, '\0');
        let (sha, parents, author) = (fields.next()?.to_owned(), fields.next()?, fields.next()?);
        let parents = parents.split_whitespace().map(str::to_owned).collect();
        let message = fields.next()?.trim_end().to_owned();
        Some((sha, Commit { message, author: Some(author.replace(' ', "-")), parents }))
    };
    listed.split('\u{1}').filter_map(commit).collect()
}

pub(super) fn file(git_dir: &Path, at: &str, path: &str) -> Option<Vec<u8>> {
    git(git_dir, &["show", &format!("{at}:{path}")])
}

pub(super) fn tree_of(git_dir: &Path, sha: &str) -> Option<String> {
    let tree = text(git_dir, &["rev-parse", &format!("{sha}^{{tree}}")]);
    (!tree.is_empty()).then(|| tree.trim().to_owned())
}
