//! What is not pushed, and what a hostile checkout cannot do.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Checkout, Onto, PublishError, environment, run};
use crate::world::git_server::{GitServer, Made, TOKEN, git, make};

#[test]
fn nothing_that_a_child_planted_in_the_git_directory_runs() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        let root = checkout.root();
        let mark = checkout.folder.path().join("owned");
        let evil = format!("#!/bin/sh\ntouch {}\n", mark.display());
        for hook in ["pre-push", "pre-commit", "post-index-change", "reference-transaction"] {
            make(&root, &format!(".git/hooks/{hook}"), &Made::Script(&evil));
        }
        make(&root, "bin/git", &Made::Script(&evil));
        make(&root, ".git/evil.sh", &Made::Script(&evil));
        let program = root.join(".git/evil.sh").display().to_string();
        for key in ["core.fsmonitor", "core.sshCommand", "filter.x.clean", "credential.helper", "core.gitProxy"] {
            git(&root, &["config", key, &program]);
        }
        make(&root, ".git/info/attributes", &Made::Text("* filter=x\n"));
        let mut environment = environment();
        let path = environment.values().next().expect("PATH").to_string_lossy().into_owned();
        environment.insert("PATH".into(), format!("{}:{path}", root.join("bin").display()).into());
        checkout.change("a", &Made::Text("2\n"));
        let parent = server.head("main");
        checkout
            .publish_with(&server, (&parent, "main", Onto::Existing), TOKEN, &environment)
            .await
            .expect("published");
        assert!(!mark.exists(), "nothing of the checkout's ran");
        assert_eq!(server.git(&["show", "main:a"]), "2");
    });
}

#[test]
fn the_token_is_no_argument_and_in_no_file() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        let tools = tempfile::tempdir().expect("a folder");
        let log = tools.path().join("log");
        let real = git(Path::new("/"), &["--exec-path"]);
        let spy = format!(
            "#!/bin/sh\necho \"$@\" >> {log}\ncp -r \"$GIT_DIR\" {copies}/$$\nPATH={real}:$PATH exec {real}/git \"$@\"\n",
            log = log.display(),
            copies = tools.path().join("copies").display()
        );
        std::fs::create_dir(tools.path().join("copies")).expect("a folder");
        make(tools.path(), "git", &Made::Script(&spy));
        let mut environment = environment();
        let path = environment.values().next().expect("PATH").to_string_lossy().into_owned();
        environment.insert("PATH".into(), format!("{}:{path}", tools.path().display()).into());
        checkout.change("a", &Made::Text("2\n"));
        let parent = server.head("main");
        checkout
            .publish_with(&server, (&parent, "main", Onto::Existing), TOKEN, &environment)
            .await
            .expect("published");
        let asked = std::fs::read_to_string(&log).expect("a log");
        assert!(asked.contains("push") && asked.contains("fetch"), "{asked}");
        let found = git_grep(tools.path(), TOKEN);
        assert!(found.is_empty(), "{found}");
        let left: Vec<_> = std::fs::read_dir(checkout.folder.path().join("states")).expect("a folder").collect();
        let names = left.into_iter().map(|entry| entry.expect("an entry").file_name());
        assert!(names.filter(|name| name.to_string_lossy().starts_with("git-")).count() == 0, "nothing is left behind");
    });
}

fn git_grep(folder: &Path, text: &str) -> String {
    let done = std::process::Command::new("grep").args(["-rla", text]).arg(folder).output().expect("grep");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn a_wrong_token_is_told_from_a_server_that_is_away() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        checkout.change("a", &Made::Text("2\n"));
        let parent = server.head("main");
        let place = (parent.as_str(), "main", Onto::Existing);
        let refused = checkout.publish_with(&server, place, "wrong", &environment()).await;
        assert!(matches!(refused, Err(PublishError::Credential { .. })), "{refused:?}");
        assert!(refused.expect_err("refused").to_string().contains("contents: write"));
    });
}

#[test]
fn github_7_and_12_protected_paths_are_never_pushed() {
    run(async {
        let server =
            GitServer::start(&[("a", Made::Text("1\n")), (".github/workflows/ci.yml", Made::Text("on: push\n"))]);
        for path in [".github/workflows/ci.yml", ".github/dependabot.yml", ".gitattributes", "tests/test_a.py"] {
            let mut checkout = Checkout::of(&server).await;
            checkout.change("a", &Made::Text("2\n")).change(path, &Made::Text("x\n"));
            let parent = server.head("main");
            let refused = checkout.publish(&server, &parent).await;
            assert!(matches!(refused, Err(PublishError::Protected { .. })), "{path}: {refused:?}");
            let carried = checkout.carry(&server, &parent).await;
            assert!(matches!(carried, Err(PublishError::Protected { .. })), "{path}, by the API: {carried:?}");
        }
        assert_eq!(server.pushes(), 0);
    });
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn github_7_what_the_server_says_against_a_push_is_understood() {
    run(async {
        type Is = fn(&PublishError) -> bool;
        let table: [(&str, Is); 2] = [
            (
                "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without `workflows` permission",
                |error| matches!(error, PublishError::Workflows { .. }),
            ),
            ("error: GH013: Repository rule violations found for refs/heads/main.", |error| {
                matches!(error, PublishError::Rule { .. })
            }),
        ];
        for (said, is_right) in table {
            let server = GitServer::start(&[("a", Made::Text("1\n"))]);
            let hook = server.bare().join("hooks/pre-receive");
            std::fs::create_dir_all(server.bare().join("hooks")).expect("a folder");
            std::fs::write(&hook, format!("#!/bin/sh\necho '{said}' >&2\nexit 1\n")).expect("written");
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("permissions");
            let mut checkout = Checkout::of(&server).await;
            checkout.change("a", &Made::Text("2\n"));
            let parent = server.head("main");
            let refused = checkout.publish(&server, &parent).await.expect_err("refused");
            assert!(is_right(&refused), "{refused:?}");
            assert_eq!(server.head("main"), parent);
        }
    });
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_git_stores_in_another_form_is_not_committed_in_the_wrong_one() {
    run(async {
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4665a5ea423c2713d436b5ee50593a9640e0018c1550b5a0002f74190d6caea8\nsize 12\n";
        let server = GitServer::start(&[
            (
                ".gitattributes",
                Made::Text("*.bin filter=lfs diff=lfs merge=lfs -text\n*.utf working-tree-encoding=UTF-16\n"),
            ),
            ("a.bin", Made::Text(pointer)),
            ("b.data", Made::Text(pointer)),
        ]);
        for path in ["a.bin", "new.bin", "x.utf"] {
            let mut checkout = Checkout::of(&server).await;
            checkout.change(path, &Made::Text("the real thing\n"));
            let parent = server.head("main");
            let refused = checkout.publish(&server, &parent).await;
            assert!(
                matches!(&refused, Err(PublishError::Filtered { path: named, .. }) if named == path),
                "{refused:?}"
            );
        }
        // No attribute says so, but what is stored is a pointer and the checkout has the content.
        let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        server.clone_to(&folder.path().join("root"));
        make(&folder.path().join("root"), "b.data", &Made::Text("the real thing\n"));
        let mut checkout = Checkout::open(folder).await;
        checkout.change("b.data", &Made::Text("another thing\n"));
        let parent = server.head("main");
        let refused = checkout.publish(&server, &parent).await;
        assert!(matches!(refused, Err(PublishError::Filtered { .. })), "{refused:?}");
        assert_eq!(server.pushes(), 0);
    });
}

#[test]
fn a_file_that_only_the_checkout_has_is_not_slipped_in() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        server.clone_to(&folder.path().join("root"));
        make(&folder.path().join("root"), "mine", &Made::Text("private\n"));
        let mut checkout = Checkout::open(folder).await;
        checkout.change("mine", &Made::Text("private, changed\n"));
        let parent = server.head("main");
        let refused = checkout.publish(&server, &parent).await;
        assert!(matches!(&refused, Err(PublishError::Conflict { path, .. }) if path == "mine"), "{refused:?}");
        let nothing = Checkout::of(&server).await.publish(&server, &parent).await;
        assert!(matches!(nothing, Err(PublishError::Empty)), "{nothing:?}");
    });
}
