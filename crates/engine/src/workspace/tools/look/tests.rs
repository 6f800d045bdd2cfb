//! Looking before writing: links, pipes and races lead nowhere, whoever holds the tree's names meanwhile.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::super::{PathRules, ToolError, Workspace};

const SECRET: &str = "canary outside";

/// A checkout beside a folder that must not be reached.
async fn beside_a_secret() -> (tempfile::TempDir, Workspace) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/a.txt"), SECRET).unwrap();
    fs::write(root.join("src/a.txt"), "one\r\ntwo").unwrap();
    let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
    (folder, workspace)
}

fn why(looked: Result<Option<String>, ToolError>) -> String {
    looked.unwrap_err().to_string()
}

#[tokio::test]
async fn a_text_is_found_as_it_is_and_nothing_is_nothing() {
    let (_folder, workspace) = beside_a_secret().await;
    assert_eq!(workspace.look("./src/a.txt").unwrap().as_deref(), Some("one\r\ntwo"));
    for nothing in ["src/b.txt", "new/deep/c.txt", "src/a.txt/below"] {
        assert!(workspace.look(nothing).unwrap().is_none(), "{nothing}");
    }
}

#[tokio::test]
async fn links_pipes_folders_and_binary_files_are_refused_with_what_they_are() {
    let (folder, workspace) = beside_a_secret().await;
    let root = workspace.root().to_owned();
    symlink(folder.path().join("outside/a.txt"), root.join("file")).unwrap();
    symlink(folder.path().join("outside"), root.join("dir")).unwrap();
    symlink("src/a.txt", root.join("inner")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), fifo, rustix::fs::Mode::from_raw_mode(0o600), 0).unwrap();
    fs::write(root.join("binary"), [0_u8, 159, 146, 150]).unwrap();
    for (path, reason) in [
        ("file", "symbolic link"),
        ("dir/a.txt", "symbolic link"),
        ("inner", "symbolic link to `src/a.txt`"),
        ("pipe", "pipe"),
        ("src", "a folder"),
        ("binary", "binary file"),
        ("../outside/a.txt", "leads out"),
        (".git/config", "belongs to git"),
        (".github/workflows/ci.yml", "can never be changed"),
    ] {
        let why = why(workspace.look(path));
        assert!(why.contains(reason) && !why.contains(SECRET), "{path}: {why}");
    }
}

#[tokio::test]
async fn a_change_is_recorded_under_its_tidied_path_and_never_over_a_link() {
    let (folder, workspace) = beside_a_secret().await;
    let root = workspace.root().to_owned();
    symlink(folder.path().join("outside"), root.join("dir")).unwrap();
    symlink("src/a.txt", root.join("inner")).unwrap();
    let absolute = root.join("src/a.txt");
    for (path, name) in [
        ("./src//a.txt", Some("src/a.txt")),
        (absolute.to_str().unwrap(), Some("src/a.txt")),
        ("src/gone/b.rs", Some("src/gone/b.rs")),
        // Deleting a link deletes the link.
        ("inner", Some("inner")),
        ("dir/a.txt", None),
        ("src/../src/a.txt", None),
        (".git/config", None),
    ] {
        assert_eq!(workspace.recorded(path).as_deref(), name, "{path}");
    }
}

/// Tells the swapping threads to end, also when an assertion fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Makes a name a link to the outside and back again, until told to end.
fn swap(name: &Path, aside: &Path, outside: &Path, end: &AtomicBool) {
    while !end.load(Ordering::Relaxed) {
        fs::rename(name, aside).unwrap();
        symlink(outside, name).unwrap();
        fs::remove_file(name).unwrap();
        fs::rename(aside, name).unwrap();
    }
}

#[tokio::test]
async fn no_race_of_names_makes_a_tool_read_or_write_outside() {
    /// The number of looks. It is enough for thousands of swaps in between, and the old way, by the resolved path, read the outside within
    /// dozens.
    const LOOKS: usize = 300;
    let (folder, workspace) = beside_a_secret().await;
    let root = workspace.root().to_owned();
    fs::create_dir(root.join("held")).unwrap();
    fs::write(root.join("held/a.txt"), "inside").unwrap();
    let (outside, end) = (folder.path().join("outside"), AtomicBool::new(false));
    let secret = outside.join("a.txt");
    std::thread::scope(|scope| {
        let _ending = Ending(&end);
        scope.spawn(|| swap(&root.join("src/a.txt"), &root.join("aside-file"), &secret, &end));
        scope.spawn(|| swap(&root.join("held"), &root.join("aside-dir"), &outside, &end));
        for round in 0..LOOKS {
            for path in ["src/a.txt", "held/a.txt"] {
                let found = workspace.look(path).unwrap_or_else(|error| Some(error.to_string()));
                assert!(!found.unwrap_or_default().contains(SECRET), "{path} in round {round}");
            }
            // By handles too: a write while the folder is a link goes nowhere. What is written into the real one stays inside.
            drop(workspace.edit_file("held/a.txt", SECRET, "mouse"));
        }
    });
    assert_eq!(fs::read_to_string(secret).unwrap(), SECRET);
}
