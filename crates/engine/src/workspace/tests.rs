//! States of real trees in temporary folders. Git itself is the judge of patches.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::theirs::Stood;
use super::{PathRules, Workspace, WorkspaceError, patch_hash};
use crate::domain::units::TreeId;

/// A checkout, its private folder, and a canary outside.
struct Place {
    folder: tempfile::TempDir,
    workspace: Option<Workspace>,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::write(folder.path().join("canary"), "sings").unwrap();
        let mut place = Self { folder, workspace: None };
        place.reopen().await;
        place
    }

    async fn reopen(&mut self) {
        self.workspace = None;
        let (root, shadow) = (self.root(), self.folder.path().join("shadow"));
        for _ in 0..10_000 {
            match Workspace::open(&root, &shadow, PathRules::default()).await {
                // A process that another test starts at this moment has the lock until it becomes its program.
                Err(WorkspaceError::InUse { .. }) => tokio::task::yield_now().await,
                opened => {
                    self.workspace = Some(opened.unwrap());
                    return;
                }
            }
        }
        panic!("the folder stays in use");
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn ws(&self) -> &Workspace {
        self.workspace.as_ref().unwrap()
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn has(&self, path: &str) -> bool {
        self.root().join(path).symlink_metadata().is_ok()
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.root().join(path)).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    async fn snapshot(&self) -> TreeId {
        self.ws().snapshot().await.unwrap()
    }

    async fn restore(&self, tree: &TreeId) {
        self.ws().restore(tree).await.unwrap();
        assert!(self.ws().changed_since(tree).await.unwrap().is_empty());
    }
}

/// Runs git on a folder of the test's own.
pub(super) fn git(folder: &Path, arguments: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "the judge is not part of the program")]
    let output = std::process::Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "core.autocrlf=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_link_out_of_the_tree_is_no_part_of_a_change() {
    let place = Place::new().await;
    place.put("a.txt", "a");
    place.snapshot().await;
    symlink("../canary", place.root().join("out")).unwrap();
    symlink("a.txt", place.root().join("in")).unwrap();
    let objection = |path: &str| place.workspace.as_ref().unwrap().objection_to(path).unwrap();
    assert_eq!(objection("out").as_deref(), Some("`out` is a link out of the tree"));
    assert_eq!((objection("in"), objection("a.txt")), (None, None));
}

#[tokio::test]
async fn a_restored_state_is_the_recorded_one_to_the_bit() {
    let place = Place::new().await;
    place.put("crlf.txt", "a\r\nb\r\n");
    place.put("no-newline", "x");
    place.put("bin/data", [0, 159, 146, 150]);
    place.put("run.sh", "#!/bin/sh\n");
    place.set_mode("run.sh", 0o755);
    place.put("secret", "s");
    place.set_mode("secret", 0o600);
    symlink("run.sh", place.root().join("link")).unwrap();
    symlink("../canary", place.root().join("out")).unwrap();
    let start = place.snapshot().await;
    assert_eq!(place.snapshot().await, start, "equal states have equal names");

    place.put("crlf.txt", "a\nb\n");
    place.set_mode("run.sh", 0o644);
    place.set_mode("secret", 0o666);
    fs::remove_file(place.root().join("bin/data")).unwrap();
    fs::remove_dir(place.root().join("bin")).unwrap();
    fs::remove_file(place.root().join("link")).unwrap();
    place.put("link/inside", "a folder where a link was");
    place.put("bin", "a file where a folder was");
    place.put("new/deep/file", "n");
    assert!(!place.ws().changed_since(&start).await.unwrap().is_empty());

    place.restore(&start).await;
    assert_eq!(place.read("crlf.txt"), b"a\r\nb\r\n");
    assert_eq!(place.read("bin/data"), [0, 159, 146, 150]);
    assert_eq!((place.mode("run.sh"), place.mode("secret")), (0o755, 0o600));
    assert_eq!(fs::read_link(place.root().join("link")).unwrap(), Path::new("run.sh"));
    assert!(!place.has("new"), "folders that became empty go too");
    assert_eq!(fs::read(place.folder.path().join("canary")).unwrap(), b"sings");
}

#[tokio::test]
async fn a_state_outlives_the_process_and_a_restore_mends_a_half_done_one() {
    let mut place = Place::new().await;
    place.put("a", "1");
    place.put("b", "2");
    let start = place.snapshot().await;
    place.put("a", "x");
    place.put(".upshift-new-left-by-a-crash", "half");
    fs::remove_file(place.root().join("b")).unwrap();
    place.reopen().await;
    place.restore(&start).await;
    assert_eq!((place.read("a"), place.read("b")), (b"1".to_vec(), b"2".to_vec()));
    assert!(!place.has(".upshift-new-left-by-a-crash"));
}

#[tokio::test]
async fn a_change_of_the_same_length_at_once_is_seen() {
    let place = Place::new().await;
    place.put("a", "1");
    let first = place.snapshot().await;
    place.put("a", "2");
    let second = place.snapshot().await;
    assert_ne!(first, second);
    assert_eq!(place.ws().changed_since(&first).await.unwrap(), ["a"]);
}

#[tokio::test]
async fn ignored_files_stay_unless_git_tracks_them() {
    let mut place = Place::new().await;
    place.put(".gitignore", "target/\n*.log\n");
    place.put("target/out", "1");
    place.put("kept.log", "1");
    place.put("with space/ä.log", "1");
    place.put("src/a", "1");
    for version in ["2", "4"] {
        git(&place.root(), &["init", "-q"]);
        git(
            &place.root(),
            &["-c", &format!("index.version={version}"), "add", "-f", "kept.log", "with space/ä.log", "src/a"],
        );
        place.reopen().await;
        let start = place.snapshot().await;
        place.put("target/out", "2");
        place.put("kept.log", "2");
        place.put("with space/ä.log", "2");
        place.put("other.log", "2");
        place.restore(&start).await;
        assert_eq!(place.read("target/out"), b"2");
        assert_eq!(place.read("kept.log"), b"1", "index version {version}");
        assert_eq!(place.read("with space/ä.log"), b"1", "index version {version}");
        assert!(place.has("other.log"));
        fs::remove_file(place.root().join("other.log")).unwrap();
        fs::remove_dir_all(place.root().join(".git")).unwrap();
    }
}

#[tokio::test]
async fn what_a_tool_wrote_cannot_be_hidden_by_an_ignore_rule() {
    let place = Place::new().await;
    place.put("src/a", "1");
    let start = place.snapshot().await;
    place.ws().write_file(".gitignore", "*\n").unwrap();
    place.ws().write_file("src/evil", "x").unwrap();
    let tree = place.snapshot().await;
    let diff = place.ws().diff(&start, &tree).await.unwrap();
    assert!(diff.text.contains("src/evil"), "{}", diff.text);
    place.put("src/by-a-test", "hidden by the new rule alone");
    place.restore(&start).await;
    assert!(!place.has("src/evil") && !place.has(".gitignore") && !place.has("src/by-a-test"));
}

#[tokio::test]
async fn git_and_nested_repositories_are_left_alone() {
    let place = Place::new().await;
    git(&place.root(), &["init", "-q"]);
    place.put("sub/file", "1");
    git(&place.root().join("sub"), &["init", "-q"]);
    place.put("module/.git", "gitdir: ../elsewhere");
    place.put("module/file", "1");
    place.put("a", "1");
    let start = place.snapshot().await;
    let head = place.read(".git/HEAD");
    place.put("sub/file", "2");
    place.put("module/file", "2");
    place.put(".git/hooks/post-checkout", "#!/bin/sh\ntouch ran\n");
    place.put("a", "2");
    place.restore(&start).await;
    assert_eq!(
        (place.read("sub/file"), place.read("module/file"), place.read("a")),
        (b"2".to_vec(), b"2".to_vec(), b"1".to_vec())
    );
    assert_eq!(place.read(".git/HEAD"), head);
    assert!(place.has(".git/hooks/post-checkout") && !place.has("ran"));
    // A repository that appears later hides nothing.
    place.put("late/.git", "gitdir: x");
    place.put("late/file", "1");
    assert_eq!(place.ws().changed_since(&start).await.unwrap(), ["late/file"]);
}

#[tokio::test]
async fn no_program_that_a_repository_names_is_run() {
    let mut place = Place::new().await;
    git(&place.root(), &["init", "-q"]);
    let touch = format!("touch {}", place.folder.path().join("ran").display());
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.textconv", "core.editor"] {
        git(&place.root(), &["config", key, &touch]);
    }
    place.put(".gitattributes", "* filter=x diff=x text eol=crlf\n");
    place.put("a", "1\n");
    place.reopen().await;
    let start = place.snapshot().await;
    place.put("a", "2\n");
    let next = place.snapshot().await;
    place.ws().diff(&start, &next).await.unwrap();
    place.restore(&start).await;
    assert_eq!(place.read("a"), b"1\n", "no line end was changed either");
    assert!(!place.folder.path().join("ran").exists());
}

#[tokio::test]
async fn single_paths_are_put_back_and_recorded() {
    let place = Place::new().await;
    for path in ["src/a", "tests/a", "tests/b"] {
        place.put(path, "1");
    }
    let start = place.snapshot().await;
    for path in ["src/a", "tests/a", "tests/new"] {
        place.put(path, "2");
    }
    let only = place.ws().snapshot_paths(&start, &["src/a".to_owned()].into()).await.unwrap();
    assert_eq!(place.ws().diff(&start, &only).await.unwrap().stat.files.len(), 1);
    place.ws().restore_paths(&start, &[PathBuf::from("tests")]).await.unwrap();
    assert_eq!(place.snapshot().await, only);
    let error = place.ws().restore_paths(&start, &[PathBuf::from("../canary")]).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Path { .. }));
}

#[tokio::test]
async fn a_persons_files_are_kept_whatever_their_size_and_number() {
    let place = Place::new().await;
    place.put("a", "1");
    let start = place.snapshot().await;
    // As while a change is judged: programs that other tests start would pass for those of a run.
    place.ws().states.theirs().take_all();
    place.put("large", "x".repeat(9 << 20));
    (0..700).for_each(|number| place.put(&format!("unpacked/{number}"), "mine"));
    place.restore(&start).await;
    assert!(!place.has("large"));
    let taken = place.ws().states.theirs().take_judged();
    assert_eq!(taken.put_back.len(), 701);
    let Some(Stood::Copy(copy)) = taken.put_back.get("large") else { panic!("{:?}", taken.put_back.get("large")) };
    assert_eq!(fs::metadata(copy).unwrap().len(), 9 << 20);
    assert_eq!(taken.put_back.get("unpacked/699"), Some(&Stood::Bytes(b"mine".to_vec())));
}

#[tokio::test]
async fn a_look_at_a_persons_files_makes_them_nobody_elses() {
    let place = Place::new().await;
    place.put("a", "1");
    let start = place.snapshot().await;
    place.ws().states.theirs().take_all();
    place.put("a", "mine");
    place.put("new", "mine, too");
    let changed = place.ws().changed_since(&start).await.unwrap();
    let seen = place.ws().glance(&start, &changed.into_iter().collect()).await.unwrap();
    assert_eq!(place.ws().text_at(&seen, "a").unwrap().as_deref(), Some("mine"));
    place.restore(&start).await;
    let taken = place.ws().states.theirs().take_judged();
    assert_eq!(taken.put_back.keys().collect::<Vec<_>>(), ["a", "new"]);
    assert!(taken.in_change.is_empty(), "{:?}", taken.in_change);
}

#[tokio::test]
async fn a_file_that_is_too_large_to_be_kept_is_moved_back_and_told() {
    let place = Place::new().await;
    let of_size = |path: &str| {
        let file = fs::File::create(place.root().join(path)).unwrap();
        file.set_len(65 << 20).unwrap();
    };
    of_size("data.bin");
    let start = place.snapshot().await;
    fs::rename(place.root().join("data.bin"), place.root().join("moved.bin")).unwrap();
    of_size("new.bin");
    let there = |path: &str, was_there| (path.to_owned(), was_there);
    let after = place.snapshot().await;
    let all = [there("data.bin", true), there("moved.bin", false), there("new.bin", false)];
    assert_eq!(place.ws().unkept(&start, &after).unwrap(), all);
    assert_eq!(place.ws().move_back(&start, &after).unwrap(), ["data.bin"]);
    let after = place.snapshot().await;
    assert_eq!(place.ws().unkept(&start, &after).unwrap(), [there("new.bin", false)]);
}

#[tokio::test]
async fn a_patch_is_one_that_git_applies() {
    let place = Place::new().await;
    let long: String = (0..60).map(|number| format!("line {number}\n")).collect();
    place.put("long", &long);
    place.put("gone", "x\n");
    place.put("no-newline", "a");
    place.put("crlf", "a\r\nb\r\n");
    place.put("mode", "m\n");
    place.put("emptied", "e\n");
    place.put("sp ace/ü \"q\"", "1\n");
    symlink("long", place.root().join("link")).unwrap();
    place.put("to-link", "t\n");
    let start = place.snapshot().await;
    git(&place.root(), &["init", "-q"]);
    git(&place.root(), &["add", "-A"]);
    git(&place.root(), &["commit", "-qm", "start"]);
    place.put("long", long.replace("line 3\n", "line three\n").replace("line 50\n", ""));
    fs::remove_file(place.root().join("gone")).unwrap();
    place.put("no-newline", "b");
    place.put("crlf", "a\r\nc\r\n");
    place.set_mode("mode", 0o755);
    place.put("emptied", "");
    place.put("new", "n");
    place.put("new-empty", "");
    place.put("sp ace/ü \"q\"", "2\n");
    fs::remove_file(place.root().join("link")).unwrap();
    symlink("new", place.root().join("link")).unwrap();
    fs::remove_file(place.root().join("to-link")).unwrap();
    symlink("new", place.root().join("to-link")).unwrap();
    let end = place.snapshot().await;
    let diff = place.ws().diff(&start, &end).await.unwrap();
    let patch = place.folder.path().join("patch");
    fs::write(&patch, &diff.text).unwrap();
    place.restore(&start).await;
    git(&place.root(), &["apply", "--check", patch.to_str().unwrap()]);
    git(&place.root(), &["apply", patch.to_str().unwrap()]);
    assert_eq!(place.snapshot().await, end, "{}", diff.text);
    let stat =
        |path: &str| diff.stat.files.iter().find(|file| file.path == path).map(|file| (file.added, file.removed));
    assert_eq!(stat("long"), Some((Some(1), Some(2))));
    assert_eq!(stat("new"), Some((Some(1), Some(0))));
}

#[tokio::test]
async fn binary_files_are_only_named() {
    let place = Place::new().await;
    let start = place.snapshot().await;
    place.put("b", [1, 0, 2]);
    let end = place.snapshot().await;
    let diff = place.ws().diff(&start, &end).await.unwrap();
    assert!(diff.text.ends_with("Binary files /dev/null and b/b differ\n"), "{}", diff.text);
    assert_eq!((diff.stat.files[0].added, diff.stat.files[0].removed), (None, None));
}

#[tokio::test]
async fn the_same_change_at_another_place_has_the_same_hash() {
    let place = Place::new().await;
    let body: String = (0..30).map(|number| format!("{number}\n")).collect();
    place.put("a", &body);
    let one = place.snapshot().await;
    place.put("a", body.replace("15\n", "fifteen\n"));
    let two = place.snapshot().await;
    place.put("a", format!("top\n{body}"));
    let three = place.snapshot().await;
    place.put("a", format!("top\n{}", body.replace("15\n", "fifteen\n")));
    let four = place.snapshot().await;
    place.put("a", format!("top\n{}", body.replace("15\n", "quince\n")));
    let five = place.snapshot().await;
    let hash = async |from, to| patch_hash(&place.ws().diff(from, to).await.unwrap());
    assert_eq!(hash(&one, &two).await, hash(&three, &four).await);
    assert_ne!(hash(&three, &four).await, hash(&three, &five).await);
}

#[tokio::test]
async fn a_private_folder_is_used_by_one_and_lies_outside() {
    let place = Place::new().await;
    let shadow = place.folder.path().join("shadow");
    let error = Workspace::open(&place.root(), &shadow, PathRules::default()).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::InUse { .. }));
    let error = Workspace::open(&place.root(), &place.root().join("shadow"), PathRules::default()).await.unwrap_err();
    assert!(matches!(error, WorkspaceError::Inside { .. }));
    let unknown = TreeId("0".repeat(64));
    assert!(matches!(place.ws().restore(&unknown).await, Err(WorkspaceError::UnknownTree { .. })));
}

#[tokio::test]
async fn a_file_of_many_gigabytes_is_noticed_but_not_copied() {
    const HUGE: u64 = 1 << 40;
    let place = Place::new().await;
    place.put("small", "s");
    fs::File::create(place.root().join("mine")).unwrap().set_len(HUGE).unwrap();
    let start = place.snapshot().await;
    fs::File::create(place.root().join("made-by-tests")).unwrap().set_len(HUGE).unwrap();
    let grown = place.snapshot().await;
    assert_eq!(place.ws().changed_since(&start).await.unwrap(), ["made-by-tests"]);
    let diff = place.ws().diff(&start, &grown).await.unwrap();
    assert!(diff.text.contains("Binary files /dev/null and b/made-by-tests differ"), "{}", diff.text);
    let kept: u64 = fs::read_dir(place.folder.path().join("shadow/contents"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept < 1000, "{kept} bytes are kept");

    place.restore(&start).await;
    assert!(!place.has("made-by-tests"), "what was not there at the start goes");
    assert_eq!(fs::metadata(place.root().join("mine")).unwrap().len(), HUGE, "what was there stays");
    assert!(place.ws().changed_since(&start).await.unwrap().is_empty());
    let refused = place.ws().write_file("mine", "text").unwrap_err();
    assert!(refused.to_string().contains("too large"), "{refused}");
}
