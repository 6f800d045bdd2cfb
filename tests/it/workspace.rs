//! The workspace from outside, against made-up requests: whatever is asked, nothing outside moves, and what is restored is what was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use upshift::workspace::{PathRules, Workspace};

/// Every path below a folder with what it is: kind, permissions, content.
fn picture(folder: &Path) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stat = path.symlink_metadata().unwrap();
        let mode = format!("{:o}", stat.permissions().mode());
        if stat.is_dir() {
            found.extend(picture(&path));
        } else if stat.is_symlink() {
            let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            found.insert(path, ("link".to_owned(), target));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, (mode, content));
        }
    }
    found
}

/// A checkout full of ways out, and an outside that must not change.
struct Trap {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl Trap {
    async fn set() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        for path in ["root/src/deep", "root/.git", "root/.github", "root/tests", "outside/deep"] {
            fs::create_dir_all(folder.path().join(path)).unwrap();
        }
        for path in
            ["outside/canary", "outside/deep/canary", "root/.git/config", "root/.github/ci.yml", "root/tests/a.rs"]
        {
            fs::write(folder.path().join(path), "canary").unwrap();
        }
        for path in ["root/src/a", "root/src/deep/b"] {
            fs::write(folder.path().join(path), "canary").unwrap();
        }
        symlink("../outside", root.join("up")).unwrap();
        symlink(&outside, root.join("src/abs")).unwrap();
        symlink("../../outside/canary", root.join("src/file")).unwrap();
        symlink("/", root.join("slash")).unwrap();
        symlink("..", root.join("src/dots")).unwrap();
        symlink(".git", root.join("g")).unwrap();
        symlink("/proc/self/cwd", root.join("proc")).unwrap();
        fs::hard_link(outside.join("canary"), root.join("hard")).unwrap();
        let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
        Self { folder, workspace }
    }

    /// What must be as it was: the outside, and inside what no model may write.
    fn forbidden(&self) -> Vec<BTreeMap<PathBuf, (String, Vec<u8>)>> {
        ["outside", "root/.git", "root/.github", "root/tests"]
            .map(|part| picture(&self.folder.path().join(part)))
            .into()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Paths made of the parts that matter, joined in every way.
fn paths() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "src",
        "deep",
        "a",
        "b",
        "up",
        "abs",
        "file",
        "slash",
        "dots",
        "g",
        "proc",
        "hard",
        "..",
        ".",
        "",
        "canary",
        "outside",
        "root",
        "config",
        "tests",
        "a.rs",
        ".git",
        ".GIT",
        ".git ",
        "git~1",
        ".g\u{200c}it",
        ".github",
        ".GitHub",
        "ci.yml",
        "new",
        "tmp",
        "etc",
        "~",
        "C:",
        "%2e%2e",
        "..\\outside",
        "\u{202e}x",
        "a\0",
        "...",
        ".git::$INDEX_ALLOCATION",
        "TESTS",
        "tests.",
    ]);
    let joined = (
        prop::collection::vec(parts, 1..6),
        prop::sample::select(vec!["", "/", "./", "//", "../", "/proc/self/root/"]),
    );
    prop_oneof![4 => joined.prop_map(|(parts, start)| format!("{start}{}", parts.join("/"))), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_path_makes_a_tool_touch_what_it_may_not(asked in prop::collection::vec((paths(), 0..4_usize), 1..8)) {
        runtime().block_on(async {
            let trap = Trap::set().await;
            let before = trap.forbidden();
            let tree = trap.workspace.snapshot().await.unwrap();
            for (path, tool) in &asked {
                let answer = match tool {
                    0 => trap.workspace.write_file(path, "mouse"),
                    1 => trap.workspace.edit_file(path, "canary", "mouse"),
                    2 => trap.workspace.delete_file(path),
                    _ => trap.workspace.read_file(path, None, None),
                };
                if *tool == 3 && let Ok(text) = answer {
                    // What it reads is inside: the canaries there stand under these names, or were written just now.
                    prop_assert!(!path.contains("outside") && !path.to_lowercase().contains(".git/"), "{path}: {text}");
                }
                drop(trap.workspace.restore_paths(&tree, &[PathBuf::from(path)]).await);
                prop_assert_eq!(&trap.forbidden(), &before, "{} by tool {}", path, tool);
            }
            trap.workspace.restore(&tree).await.unwrap();
            prop_assert_eq!(trap.forbidden(), before);
            Ok(())
        })?;
    }

    #[test]
    fn a_failed_edit_changes_nothing_and_a_good_one_what_it_says(
        content in "([ab\t \n]|\r\n){0,40}", old in "[ab\n\t ]{0,4}", new in "[abc\n]{0,4}",
    ) {
        runtime().block_on(async {
            let trap = Trap::set().await;
            let file = trap.workspace.root().join("src/a");
            fs::write(&file, &content).unwrap();
            let result = trap.workspace.edit_file("src/a", &old, &new);
            let after = fs::read_to_string(&file).unwrap();
            let (plain, plain_after) = (content.replace("\r\n", "\n"), after.replace("\r\n", "\n"));
            match result {
                Err(_) => prop_assert_eq!(after, content),
                Ok(_) => {
                    prop_assert_eq!(plain.matches(&old).count(), 1);
                    prop_assert_eq!(plain_after, plain.replacen(&old, &new, 1));
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_restored_snapshot_is_what_was_there(
        files in prop::collection::btree_map("[a-c]{1,2}(/[a-c]{1,2}){0,2}", (prop::collection::vec(any::<u8>(), 0..20), any::<bool>()), 0..8),
        later in prop::collection::btree_map("[a-c]{1,2}(/[a-c]{1,2}){0,2}", prop::collection::vec(any::<u8>(), 0..20), 0..8),
        links in prop::collection::btree_map("[a-c]{1,2}", "[a-c./]{1,6}", 0..3),
    ) {
        runtime().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("root");
            fs::create_dir(&root).unwrap();
            let put = |path: &String, content: &Vec<u8>, mode: u32| {
                let path = root.join(path);
                // A file may stand where a folder is wanted: then it is not made.
                if fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() && fs::write(&path, content).is_ok() {
                    drop(fs::set_permissions(&path, fs::Permissions::from_mode(mode)));
                }
            };
            for (path, (content, is_program)) in &files {
                put(path, content, if *is_program { 0o755 } else { 0o640 });
            }
            let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
            let before = picture(&root);
            let tree = workspace.snapshot().await.unwrap();
            for path in files.keys().filter(|path| path.len() % 2 == 0) {
                drop(fs::remove_file(root.join(path)));
            }
            for (path, target) in &links {
                drop(symlink(target, root.join(path)));
            }
            for (path, content) in &later {
                // Never through the links just made.
                if !Path::new(path).ancestors().any(|part| root.join(part).is_symlink()) {
                    put(path, content, 0o600);
                }
            }
            workspace.restore(&tree).await.unwrap();
            prop_assert_eq!(picture(&root), before);
            prop_assert_eq!(workspace.snapshot().await.unwrap(), tree);
            Ok(())
        })?;
    }
}

#[test]
fn a_folder_that_becomes_a_link_while_a_tool_writes_leads_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};
    runtime().block_on(async {
        let trap = Trap::set().await;
        let outside = trap.folder.path().join("outside");
        let before = picture(&outside);
        let source = trap.folder.path().join("root/src");
        let (deep, aside) = (source.join("deep"), source.join("aside"));
        let over = AtomicBool::new(false);
        let mut written = 0_u32;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    fs::rename(&deep, &aside).unwrap();
                    // The tool may have made a folder of its own there meanwhile.
                    if symlink(&outside, &deep).is_ok() {
                        fs::remove_file(&deep).unwrap();
                    }
                    while fs::rename(&aside, &deep).is_err() {
                        drop(fs::remove_dir_all(&deep));
                    }
                }
            });
            for _ in 0..1_500 {
                written += u32::from(trap.workspace.write_file("src/deep/canary", "mouse").is_ok());
                drop(trap.workspace.edit_file("src/deep/canary", "canary", "mouse"));
                drop(trap.workspace.delete_file("src/deep/canary"));
                drop(trap.workspace.write_file("src/deep/new/file", "mouse"));
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(picture(&outside), before);
        assert!(written > 0, "some of the writes met the folder itself");
    });
}

#[test]
fn a_git_directory_by_any_way_is_never_written() {
    runtime().block_on(async {
        let trap = Trap::set().await;
        let root = trap.folder.path().join("root");
        // A submodule's and a worktree's `.git` is a file; one of a nested repository a folder; one may be a link.
        fs::create_dir_all(root.join("module")).unwrap();
        fs::write(root.join("module/.git"), "gitdir: ../.git/modules/module\n").unwrap();
        fs::create_dir_all(root.join("nested/.git/hooks")).unwrap();
        fs::create_dir_all(root.join("linked")).unwrap();
        symlink("../.git", root.join("linked/.git")).unwrap();
        let before = picture(&trap.folder.path().join("root"));
        for path in [
            "module/.git",
            "module/.GIT",
            "nested/.git/hooks/post-checkout",
            "nested/.git/config",
            "linked/.git",
            "linked/.git/config",
            "new/.git",
            "new/.git/config",
            ".git/modules/module/config",
            ".gitmodules",
            "src/.g\u{200d}it/config",
            "nested/.git./config",
        ] {
            let told = trap.workspace.write_file(path, "mouse");
            assert!(told.is_err(), "{path}: {told:?}");
        }
        assert_eq!(picture(&root), before);
    });
}
