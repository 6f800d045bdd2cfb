//! New files go, old ones stay byte for byte, and nothing outside is touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use super::*;
use crate::domain::leftover::LeftoverKind;

struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    store: Store,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let (root, outside) = (base.join("tree"), base.join("outside"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("file"), "precious").unwrap();
        let store = Store::open(&base.join("store")).unwrap();
        Self { _folder: folder, root, outside, store }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.root.join(name)).unwrap_or_default()
    }

    fn noted(&self) -> Autorun {
        let autorun = Autorun::default();
        assert_eq!(autorun.note(&self.root, &self.store, "run-1").unwrap(), [""; 0]);
        autorun
    }

    fn swept(&self, autorun: &Autorun) -> Vec<(String, LeftoverFate)> {
        autorun
            .sweep(&self.root, &self.store, &OpenFiles::default())
            .into_iter()
            .map(|left| (left.path, left.fate))
            .collect()
    }
}

/// One of each kind that a tool runs or obeys.
fn plant(world: &World, at: &str) -> Vec<(String, LeftoverKind)> {
    let name = |rest: &str| if at.is_empty() { rest.to_owned() } else { format!("{at}/{rest}") };
    let mut planted = Vec::new();
    for (file, what, kind) in [
        ("sub/.git/config", "sub/.git", LeftoverKind::GitDirectory),
        ("linked/.git", "linked/.git", LeftoverKind::GitDirectory),
        ("bare/HEAD", "bare/HEAD", LeftoverKind::GitDirectory),
        ("hg/.hg/hgrc", "hg/.hg", LeftoverKind::VersionControl),
        (".husky/pre-commit", ".husky", LeftoverKind::GitHooks),
        (".envrc", ".envrc", LeftoverKind::ShellHook),
        ("deep/er/.envrc", "deep/er/.envrc", LeftoverKind::ShellHook),
        (".config/mise/config.toml", ".config/mise", LeftoverKind::ShellHook),
        (".vscode/tasks.json", ".vscode", LeftoverKind::EditorSettings),
        (".IDEA/x.xml", ".IDEA", LeftoverKind::EditorSettings),
        (".exrc", ".exrc", LeftoverKind::EditorSettings),
        ("x.code-workspace", "x.code-workspace", LeftoverKind::EditorSettings),
        (".claude/settings.json", ".claude", LeftoverKind::AgentSettings),
    ] {
        world.write(&name(file), "gitdir: ../elsewhere");
        planted.push((name(what), kind));
    }
    for folder in ["bare/objects", "bare/refs"] {
        fs::create_dir_all(world.root.join(name(folder))).unwrap();
    }
    symlink(world.outside.join("file"), world.root.join(name("out"))).unwrap();
    planted.push((name("out"), LeftoverKind::LinkOut));
    std::os::unix::net::UnixListener::bind(world.root.join(name("socket"))).unwrap();
    planted.push((name("socket"), LeftoverKind::SpecialFile));
    planted.sort();
    planted
}

#[test]
fn every_kind_that_is_new_is_removed_and_named_and_nothing_else_goes() {
    let world = World::new();
    world.write("src/lib.rs", "mine");
    let autorun = world.noted();
    let planted = plant(&world, "");
    world.write("target/out.o", "built");
    world.write("bare/config", "kept");
    world.write("node_modules/a/.vscode/settings.json", "a package brought it");
    let swept = autorun.sweep(&world.root, &world.store, &OpenFiles::default());
    assert!(swept.iter().all(|left| left.fate == LeftoverFate::Removed), "{swept:?}");
    assert_eq!(swept.iter().map(|left| (left.path.clone(), left.kind)).collect::<Vec<_>>(), planted);
    for (path, _) in &planted {
        assert!(world.root.join(path).symlink_metadata().is_err(), "{path}");
    }
    let kept = ["src/lib.rs", "target/out.o", "bare/config", "node_modules/a/.vscode/settings.json"];
    assert_eq!(kept.map(|name| world.read(name)), ["mine", "built", "kept", "a package brought it"]);
    assert_eq!(fs::read_to_string(world.outside.join("file")).unwrap(), "precious");
    assert_eq!(world.swept(&autorun), []);
}

#[test]
fn what_was_there_stays_and_what_was_changed_in_it_is_put_back() {
    let world = World::new();
    plant(&world, "");
    world.write("bare/config", "[core]");
    let autorun = world.noted();
    assert_eq!(world.swept(&autorun), []);
    world.write("sub/.git/config", "[core]\nfsmonitor = evil");
    world.write("sub/.git/hooks/post-checkout", "evil");
    world.write("sub/.git/objects/aa/0", "an object");
    world.write("bare/config", "[core]\nfsmonitor = evil");
    world.write(".vscode/launch.json", "evil");
    world.write(".envrc", "evil");
    fs::remove_file(world.root.join("out")).unwrap();
    symlink("/root", world.root.join("out")).unwrap();
    fs::remove_file(world.root.join("deep/er/.envrc")).unwrap();
    symlink(world.outside.join("file"), world.root.join("deep/er/.envrc")).unwrap();
    let expected = [
        (".envrc", LeftoverFate::PutBack),
        (".vscode/launch.json", LeftoverFate::Removed),
        ("bare/config", LeftoverFate::PutBack),
        ("deep/er/.envrc", LeftoverFate::PutBack),
        ("out", LeftoverFate::PutBack),
        ("sub/.git/config", LeftoverFate::PutBack),
        ("sub/.git/hooks/post-checkout", LeftoverFate::Removed),
    ];
    assert_eq!(world.swept(&autorun), expected.map(|(path, fate)| (path.to_owned(), fate)));
    for name in [".envrc", "deep/er/.envrc", "sub/.git/config"] {
        assert_eq!(world.read(name), "gitdir: ../elsewhere", "{name}");
    }
    assert_eq!(fs::read_link(world.root.join("out")).unwrap(), world.outside.join("file"));
    assert_eq!(fs::read_to_string(world.outside.join("file")).unwrap(), "precious");
    assert_eq!(world.read("sub/.git/objects/aa/0"), "an object");
}

#[test]
fn a_folder_of_the_users_that_becomes_a_repository_loses_what_made_it_one_and_nothing_of_the_users() {
    let world = World::new();
    for name in ["src/config", "src/refs/mine", "other/HEAD"] {
        world.write(name, "mine");
    }
    let autorun = world.noted();
    for name in ["src/HEAD", "src/objects/x", "src/hooks/pre-commit", "other/commondir"] {
        world.write(name, "evil");
    }
    let swept: Vec<String> = world.swept(&autorun).into_iter().map(|(path, _)| path).collect();
    assert_eq!(swept, ["other/commondir", "src/HEAD"]);
    assert_eq!(["src/config", "src/refs/mine", "other/HEAD"].map(|name| world.read(name)), ["mine"; 3]);
}

#[test]
fn a_closed_folder_is_opened_unless_it_was_closed_before() {
    let world = World::new();
    world.write("before/.envrc", "mine");
    let close = |name: &str| fs::set_permissions(world.root.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    close("before");
    let autorun = world.noted();
    world.write("after/in/.envrc", "evil");
    close("after/in");
    close("after");
    let swept: Vec<String> = world.swept(&autorun).into_iter().map(|(path, _)| path).collect();
    assert_eq!(swept, ["after/in/.envrc"]);
    fs::set_permissions(world.root.join("before"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(world.read("before/.envrc"), "mine");
}

#[test]
fn a_run_that_goes_on_knows_its_start_and_another_run_is_told_what_it_left() {
    let world = World::new();
    world.write(".envrc", "mine");
    drop(world.noted());
    world.write("sub/.git/config", "evil");
    let again = Autorun::default();
    assert_eq!(again.note(&world.root, &world.store, "run-1").unwrap(), [""; 0]);
    let other = Autorun::default();
    assert_eq!(other.note(&world.root, &world.store, "run-2").unwrap(), ["sub/.git"]);
    assert_eq!(world.swept(&other), [], "it may be the user's");
    assert_eq!(world.swept(&again), [("sub/.git".to_owned(), LeftoverFate::Removed)]);
    again.forget(&world.store);
    world.write(".vscode/tasks.json", "mine, since");
    let next = Autorun::default();
    assert_eq!(next.note(&world.root, &world.store, "run-3").unwrap(), [""; 0]);
    assert_eq!(world.swept(&next), []);
}
