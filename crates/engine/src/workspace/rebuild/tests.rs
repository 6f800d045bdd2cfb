//! Patches that no run of ours writes are refused for what is wrong with them, also where they name the tree that comes of them.

use std::fs;
use std::os::unix::fs::symlink;

use secrecy::SecretString;

use super::*;
use crate::redact::Redactor;
use crate::workspace::PathRules;

const SECRET: &str = "correct-horse-battery-staple";

struct Place {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    start: TreeId,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("tests")).unwrap();
        fs::write(root.join("cart.py"), "total = 1\n").unwrap();
        fs::write(root.join("tests/test_cart.py"), "assert True\n").unwrap();
        symlink("tests", root.join("link")).unwrap();
        let workspace = Workspace::open(&root, &folder.path().join("shadow"), PathRules::default()).await.unwrap();
        let workspace = workspace.hiding(Arc::new(Redactor::new(&[SecretString::from(SECRET)])));
        let start = workspace.snapshot().await.unwrap();
        Self { _folder: folder, workspace, start }
    }

    fn rebuild(&self, files: Vec<PatchedFile>, texts: &[&str]) -> Result<TreeId, RebuildError> {
        let contents = texts.iter().map(|text| (Digest::of(text.as_bytes()).hex(), text.as_bytes().to_vec())).collect();
        let over = Over::Tree { tree: self.start.clone() };
        let patch = TreePatch { tree: TreeId("0".repeat(64)), over, files };
        self.workspace.rebuild_later(&self.start, &RecordedTree { patch, contents })
    }
}

fn file(path: &str, form: FileForm, permissions: u32, text: &str) -> PatchedFile {
    let after = FileVersion { form, permissions, content: Digest::of(text.as_bytes()).hex() };
    PatchedFile { path: path.to_owned(), before: None, after: Some(after) }
}

fn plain(path: &str, text: &str) -> PatchedFile {
    file(path, FileForm::File, 0o644, text)
}

#[tokio::test]
async fn what_no_run_writes_is_refused_by_name() {
    let place = Place::new().await;
    for (path, why) in [
        ("../outside", "is not a path of a checkout"),
        ("/etc/passwd", "is not a path of a checkout"),
        ("sub/../../outside", "is not a path of a checkout"),
        (".git/hooks/post-checkout", "is not a path of a checkout"),
        ("sub/.GIT/config", "is not a path of a checkout"),
        (".upshift/audit.db", "is not a path of a checkout"),
        ("", "is not a path of a checkout"),
        ("./cart.py", "is named in another way"),
        ("sub//new.py", "is named in another way"),
        ("tests/test_cart.py", "a model may not write"),
        (".github/workflows/ci.yml", "a model may not write"),
        ("link/data.txt", "is below a file or a link"),
        ("cart.py/below", "is below a file or a link"),
    ] {
        let refused = place.rebuild(vec![plain(path, "x\n")], &["x\n"]).unwrap_err().to_string();
        assert!(refused.contains(why), "{path}: {refused}");
    }
    let gone = PatchedFile { path: "tests/test_cart.py".to_owned(), before: None, after: None };
    let refused = place.rebuild(vec![gone], &[]).unwrap_err().to_string();
    assert!(refused.contains("a model may not write"), "a test is not taken away either: {refused}");
}

#[tokio::test]
async fn links_permissions_contents_and_secrets_are_looked_at() {
    let place = Place::new().await;
    for target in ["/etc/passwd", "../outside", "sub/../../outside", "../../x"] {
        let refused = place.rebuild(vec![file("new", FileForm::Link, 0, target)], &[target]).unwrap_err().to_string();
        assert!(refused.contains("would lead out of the checkout"), "{target}: {refused}");
    }
    let refused = place.rebuild(vec![file("new", FileForm::File, 0o4755, "x")], &["x"]).unwrap_err().to_string();
    assert!(refused.contains("permissions that no file"), "{refused}");
    let refused = place.rebuild(vec![plain("new.py", "x")], &[]).unwrap_err();
    assert!(matches!(refused, RebuildError::Missing(path) if path == "new.py"));
    let secret = format!("key = '{SECRET}'\n");
    let refused = place.rebuild(vec![plain("new.py", &secret)], &[&secret]).unwrap_err().to_string();
    assert!(refused.contains("would contain a secret"), "{refused}");
    let twice = place.rebuild(vec![plain("new.py", "x"), plain("new.py", "y")], &["x", "y"]).unwrap_err().to_string();
    assert!(twice.contains("is named in another way"), "{twice}");
}

#[tokio::test]
async fn a_tree_that_is_not_the_one_it_is_called_counts_for_nothing() {
    let place = Place::new().await;
    let refused = place.rebuild(vec![plain("new.py", "x")], &["x"]).unwrap_err();
    assert!(matches!(refused, RebuildError::Mismatch(_)), "{refused}");
    let path = place.workspace.root().join("new.py");
    fs::write(&path, "x").unwrap();
    let after = place.workspace.snapshot().await.unwrap();
    fs::remove_file(&path).unwrap();
    let recorded = place.workspace.patch_over_tree(&place.start, &after).unwrap();
    assert_eq!(place.workspace.rebuild_later(&place.start, &recorded).unwrap(), after);
    let other = TreePatch { over: Over::Tree { tree: after.clone() }, ..recorded.patch.clone() };
    let refused = place.workspace.rebuild_later(&place.start, &RecordedTree { patch: other, ..recorded }).unwrap_err();
    assert!(matches!(refused, RebuildError::Odd(_)), "{refused}");
}
