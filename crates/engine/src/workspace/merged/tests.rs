//! The way back of a killed merge, and commits found by their trailers, in real repositories.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::*;
use crate::domain::stop::Stop;
use crate::domain::tree_patch::{Over, TreePatch};
use crate::domain::units::RunId;
use crate::workspace::PathRules;
use crate::workspace::store::Digest;

struct Place {
    folder: tempfile::TempDir,
    stop: Stop,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap(), stop: Stop::never() };
        fs::create_dir(place.root()).unwrap();
        place.git(&["init", "-q"]);
        place.put("a", "1");
        place.put("b", "1");
        place.commit("start");
        place
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.root().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap()
    }

    fn git(&self, arguments: &[&str]) {
        #[expect(clippy::disallowed_methods, reason = "a person's git is not part of the program")]
        let output = std::process::Command::new("git")
            .current_dir(self.root())
            .args(["-c", "user.name=t", "-c", "user.email=t@t.invalid", "-c", "core.autocrlf=false"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    async fn workspace(&self) -> Workspace {
        let shadow = self.folder.path().join("shadow");
        for _ in 0..10_000 {
            match Workspace::open(&self.root(), &shadow, PathRules::default()).await {
                // A process that another test starts at this moment has the lock until it becomes its program.
                Err(WorkspaceError::InUse { .. }) => tokio::task::yield_now().await,
                opened => return opened.unwrap(),
            }
        }
        panic!("the folder stays in use");
    }

    async fn revisions(&self) -> Revisions<'_> {
        #[expect(clippy::disallowed_methods, reason = "git is looked for where a person's is")]
        let path = std::env::var_os("PATH").unwrap_or_default();
        let environment = BTreeMap::from([("PATH".into(), path)]);
        Revisions::open(&self.root(), &environment, &self.stop).await.unwrap()
    }

    /// A merge that is killed when it has written another `a`.
    async fn killed_merge(&self) {
        let (workspace, revisions) = (self.workspace().await, self.revisions().await);
        let mine = workspace.snapshot().await.unwrap();
        workspace.keep_judged_at(&revisions.commit("HEAD").await.unwrap()).unwrap();
        workspace.note_writes(&RunId::random(), "", &mine).unwrap();
        workspace.keep_way_back(&mine).unwrap();
        self.put("a", "2");
        let changed = workspace.snapshot().await.unwrap();
        workspace.restore(&mine).await.unwrap();
        workspace.restore(&changed).await.unwrap();
    }
}

#[tokio::test]
async fn a_killed_merges_files_are_put_back_with_what_it_committed() {
    let place = Place::new();
    place.killed_merge().await;
    assert_eq!(place.read("a"), "2");
    let (workspace, revisions) = (place.workspace().await, place.revisions().await);
    assert_eq!(workspace.go_back_to(&revisions).await.unwrap(), WayBack::Went);
    assert_eq!((place.read("a"), workspace.go_back_to(&revisions).await.unwrap()), ("1".to_owned(), WayBack::None));
    drop(workspace);
    // Killed between its commit and its end: what is committed is no change to be put back.
    place.killed_merge().await;
    place.commit("merged");
    let (workspace, revisions) = (place.workspace().await, place.revisions().await);
    assert_eq!(workspace.go_back_to(&revisions).await.unwrap(), WayBack::Went);
    assert_eq!((place.read("a"), place.read("b")), ("2".to_owned(), "1".to_owned()));
    assert!(revisions.is_clean().await.unwrap());
}

#[tokio::test]
async fn what_a_person_changed_since_bars_the_way_back() {
    let place = Place::new();
    place.killed_merge().await;
    place.put("b", "mine");
    place.put("c", "mine");
    let (workspace, revisions) = (place.workspace().await, place.revisions().await);
    let barred = WayBack::Barred(vec!["b".to_owned(), "c".to_owned()]);
    assert_eq!(workspace.go_back_to(&revisions).await.unwrap(), barred);
    assert_eq!((place.read("a"), place.read("b"), place.read("c")), ("2".into(), "mine".into(), "mine".into()));
    // Nobody knows any more which are whose.
    workspace.forget_writes();
    let barred = WayBack::Barred(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]);
    assert_eq!(workspace.go_back_to(&revisions).await.unwrap(), barred);
    place.git(&["stash", "--quiet", "--include-untracked"]);
    assert_eq!(workspace.go_back_to(&revisions).await.unwrap(), WayBack::Went);
    assert_eq!((place.read("a"), place.read("b")), ("1".to_owned(), "1".to_owned()));
}

#[tokio::test]
async fn a_run_is_found_by_the_whole_line_that_names_it() {
    let place = Place::new();
    place.put("a", "2");
    place.commit("fix\n\nUpshift-Run-Id: r1-2\n");
    let revisions = place.revisions().await;
    let find = async |line: &str| revisions.commit_with(line).await.unwrap();
    assert!(find("Upshift-Run-Id: r1-2").await.is_some());
    for other in ["Upshift-Run-Id: r1", "Run-Id: r1-2", "Upshift-Run-Id: r1-22"] {
        assert_eq!(find(other).await, None, "{other}");
    }
}

#[tokio::test]
async fn a_patch_of_ci_git_or_a_secret_is_refused_and_a_plain_one_is_merged() {
    let place = Place::new();
    let (workspace, revisions) = (place.workspace().await, place.revisions().await);
    let mine = workspace.snapshot().await.unwrap();
    let merge = async |path: &str| {
        let content = Digest::of(b"on: push\n").hex();
        let after = FileVersion { form: FileForm::File, permissions: 0o644, content: content.clone() };
        let file = PatchedFile { path: path.to_owned(), before: None, after: Some(after) };
        let over = Over::Tree { tree: mine.clone() };
        let patch = TreePatch { tree: TreeId("0".repeat(64)), over, files: vec![file] };
        let contents = BTreeMap::from([(content, b"on: push\n".to_vec())]);
        workspace.merged(&revisions, &mine, &RecordedTree { patch, contents }).await
    };
    for path in [".github/workflows/more.yml", ".github/CODEOWNERS", ".git/config", ".gitlab-ci.yml", ".env"] {
        let refused = merge(path).await;
        assert!(matches!(refused, Err(RebuildError::Refused { .. })), "{path}: {refused:?}");
    }
    assert!(matches!(merge("c").await.unwrap(), Merged::Over(_)));
}
