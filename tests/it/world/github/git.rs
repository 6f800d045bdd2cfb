//! Looks into the bare repository that a world may stand on.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::state::Commit;

fn git(git_dir: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("git").arg("--git-dir").arg(git_dir).args(arguments).output().ok()?;
    output.status.success().then_some(output.stdout)
}

fn text(git_dir: &Path, arguments: &[&str]) -> String {
    git(git_dir, arguments).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The branches and their commits, read where git keeps them: every request looks at them, and a process for each is what the fake
/// would spend most of its time on.
pub(super) fn branches(git_dir: &Path) -> Vec<(String, String)> {
    let packed = std::fs::read_to_string(git_dir.join("packed-refs")).unwrap_or_default();
    let packed = packed.lines().filter_map(|line| line.split_once(" refs/heads/"));
    let mut found: BTreeMap<String, String> = packed.map(|(sha, branch)| (branch.to_owned(), sha.to_owned())).collect();
    let heads = git_dir.join("refs/heads");
    let mut folders = vec![heads.clone()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // A lock is a branch that is being moved.
            let branch = path.strip_prefix(&heads).ok().and_then(Path::to_str).filter(|name| !name.ends_with(".lock"));
            if let (Some(branch), Ok(sha)) = (branch, std::fs::read_to_string(&path)) {
                found.insert(branch.to_owned(), sha.trim().to_owned());
            }
        }
    }
    found.into_iter().collect()
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

/// Git with an input and an index of its own; what it printed, or why it did not.
fn fed(git_dir: &Path, arguments: &[&str], index: Option<&Path>, input: &[u8]) -> Result<String, String> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git_dir).args(arguments).envs(index.map(|path| ("GIT_INDEX_FILE", path)));
    // What GitHub signs, it makes in its own name.
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "GitHub").env(format!("GIT_{role}_EMAIL"), "noreply@github.com");
    }
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("git starts");
    child.stdin.take().expect("piped").write_all(input).expect("git reads");
    let output = child.wait_with_output().expect("git ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

pub(super) fn make_blob(git_dir: &Path, content: &[u8]) -> String {
    fed(git_dir, &["hash-object", "-w", "--stdin"], None, content).expect("a blob")
}

/// A tree on top of another: each entry is mode, object (none where the path goes) and path.
pub(super) fn make_tree(
    git_dir: &Path,
    base: Option<&str>,
    entries: &[(String, Option<String>, String)],
) -> Result<String, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let index = folder.path().join("index");
    if let Some(base) = base {
        fed(git_dir, &["read-tree", base], Some(&index), b"")?;
    }
    let line = |(mode, object, path): &(String, Option<String>, String)| match object {
        Some(object) => format!("{mode} {object}\t{path}\0"),
        None => format!("0 {}\t{path}\0", "0".repeat(40)),
    };
    let lines: String = entries.iter().map(line).collect();
    fed(git_dir, &["update-index", "-z", "--index-info"], Some(&index), lines.as_bytes())?;
    fed(git_dir, &["write-tree"], Some(&index), b"")
}

pub(super) fn make_commit(git_dir: &Path, tree: &str, parents: &[String], message: &str) -> Result<String, String> {
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    let arguments: Vec<&str> = ["commit-tree", tree].into_iter().chain(parents).chain(["-F", "-"]).collect();
    fed(git_dir, &arguments, None, message.as_bytes())
}

/// Moves a branch from one commit to another, or makes it.
pub(super) fn move_branch(git_dir: &Path, branch: &str, from: Option<&str>, to: &str) -> Result<(), String> {
    let nothing = "0".repeat(40);
    let reference = format!("refs/heads/{branch}");
    fed(git_dir, &["update-ref", &reference, to, from.unwrap_or(&nothing)], None, b"").map(drop)
}
