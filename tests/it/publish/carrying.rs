//! What a file becomes on top of the parent commit: bytes, line ends, permissions, kinds.

use super::{Checkout, Onto, PublishError, run};
use crate::world::git_server::{GitServer, Made, commit_all, git, make};

#[test]
fn permissions_links_new_and_deleted_files_arrive_as_the_run_left_them() {
    run(async {
        let server = GitServer::start(&[
            ("run.sh", Made::Script("echo 1\n")),
            ("plain.sh", Made::Text("echo 1\n")),
            ("link", Made::Link("plain.sh")),
            ("gone", Made::Text("x\n")),
            ("empty", Made::Text("")),
        ]);
        let mut checkout = Checkout::of(&server).await;
        let parent = server.head("main");
        checkout
            .change("run.sh", &Made::Script("echo 2\n"))
            .change("plain.sh", &Made::Script("echo 1\n"))
            .change("link", &Made::Link("run.sh"))
            .change("deep/er/new ä.txt", &Made::Text("no line end"))
            .change("now-empty", &Made::Text(""))
            .delete("gone");
        checkout.publish(&server, &parent).await.expect("published");
        let tree =
            server.git(&["-c", "core.quotePath=false", "ls-tree", "-r", "--format=%(objectmode) %(path)", "main"]);
        let expected =
            "100644 deep/er/new ä.txt\n100644 empty\n120000 link\n100644 now-empty\n100755 plain.sh\n100755 run.sh";
        assert_eq!(tree, expected);
        assert_eq!(server.git(&["show", "main:link"]), "run.sh");
        assert_eq!(server.git(&["show", "main:deep/er/new ä.txt"]), "no line end");
    });
}

#[test]
fn a_file_system_without_permissions_or_links_changes_neither() {
    run(async {
        let server = GitServer::start(&[("run.sh", Made::Script("echo 1\n")), ("link", Made::Link("run.sh"))]);
        let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        let root = folder.path().join("root");
        server.clone_to(&root);
        // As such a file system shows them.
        std::fs::remove_file(root.join("link")).expect("removed");
        make(&root, "link", &Made::Text("run.sh"));
        std::fs::remove_file(root.join("run.sh")).expect("removed");
        make(&root, "run.sh", &Made::Text("echo 1\n"));
        let mut checkout = Checkout::open(folder).await;
        let parent = server.head("main");
        checkout.change("run.sh", &Made::Text("echo 2\n")).change("link", &Made::Text("other.sh"));
        checkout.publish(&server, &parent).await.expect("published");
        let tree = server.git(&["ls-tree", "--format=%(objectmode) %(path)", "main"]);
        assert_eq!(tree, "120000 link\n100755 run.sh");
        assert_eq!(server.git(&["show", "main:link"]), "other.sh");
    });
}

#[test]
fn line_ends_of_the_checkout_are_not_committed_where_git_keeps_others() {
    run(async {
        let server = GitServer::start(&[
            (".gitattributes", Made::Text("*.txt text\n")),
            ("a.txt", Made::Text("one\ntwo\n")),
            ("b.bat", Made::Text("one\r\ntwo\r\n")),
        ]);
        let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        let root = folder.path().join("root");
        let bare = server.bare();
        git(
            folder.path(),
            &[
                "clone",
                "--quiet",
                "-c",
                "core.autocrlf=true",
                bare.to_str().expect("text"),
                root.to_str().expect("text"),
            ],
        );
        assert_eq!(std::fs::read(root.join("a.txt")).expect("bytes"), b"one\r\ntwo\r\n", "the checkout has CRLF");
        let mut checkout = Checkout::open(folder).await;
        let parent = server.head("main");
        checkout
            .change("a.txt", &Made::Text("one\r\n2\r\n"))
            .change("b.bat", &Made::Text("one\r\n2\r\n"))
            .change("new.txt", &Made::Text("x\r\n"))
            .change("new.bin", &Made::Text("x\r\n"));
        checkout.publish(&server, &parent).await.expect("published");
        let blob = |name: &str| {
            let path = format!("main:{name}");
            let done =
                std::process::Command::new("git").args(["cat-file", "blob", &path]).current_dir(server.bare()).output();
            String::from_utf8(done.expect("git").stdout).expect("text")
        };
        assert_eq!(blob("a.txt"), "one\n2\n");
        assert_eq!(blob("b.bat"), "one\r\n2\r\n");
        assert_eq!(blob("new.txt"), "x\n");
        assert_eq!(blob("new.bin"), "x\r\n");
    });
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn github_9_a_fix_of_the_merge_commit_is_carried_over_to_the_head() {
    run(async {
        let lines = |top: &str, middle: &str, end: &str| format!("{top}\n1\n2\n3\n{middle}\n4\n5\n6\n{end}\n");
        let server = GitServer::start(&[("a.py", Made::Text(&lines("top", "middle", "end")))]);
        // The pull request's head changed the middle; the base moved on and changed the top; the job sees both.
        make(&server.seed(), "a.py", &Made::Text(&lines("top", "pr", "end")));
        let head = server.somebody_pushes("topic");
        let mut checkout = {
            let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
            server.clone_to(&folder.path().join("root"));
            make(&folder.path().join("root"), "a.py", &Made::Text(&lines("base moved", "pr", "end")));
            commit_all(&folder.path().join("root"), "the merge");
            Checkout::open(folder).await
        };
        checkout.change("a.py", &Made::Text(&lines("base moved", "pr", "fixed")));
        checkout.publish_to(&server, &head, "topic", Onto::Existing).await.expect("published");
        assert_eq!(server.git(&["show", "topic:a.py"]), lines("top", "pr", "fixed").trim_end());

        let head = server.head("topic");
        checkout.change("a.py", &Made::Text(&lines("both", "pr", "end")));
        let refused = checkout.publish_to(&server, &head, "topic", Onto::Existing).await;
        assert!(matches!(&refused, Err(PublishError::Conflict { path, .. }) if path == "a.py"), "{refused:?}");
        assert_eq!(server.head("topic"), head);
    });
}

#[test]
fn submodules_stay_and_a_checkout_in_a_folder_of_the_repository_finds_its_place() {
    run(async {
        let server = GitServer::start(&[("app/a.py", Made::Text("1\n"))]);
        let (seed, commit) = (server.seed(), server.head("main"));
        git(&seed, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendor/lib")]);
        git(&seed, &["commit", "--quiet", "--message=submodule"]);
        git(&seed, &["push", "--quiet", server.bare().to_str().expect("text"), "HEAD:main"]);
        let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        let repository = folder.path().join("repository");
        server.clone_to(&repository);
        // The program was started in a folder of the repository.
        let states = folder.path().join("states");
        let rules = upshift::workspace::PathRules::default();
        let workspace =
            upshift::workspace::Workspace::open(&repository.join("app"), &states, rules).await.expect("opened");
        let start = workspace.snapshot().await.expect("recorded");
        std::os::unix::fs::symlink(repository.join("app"), folder.path().join("root")).expect("a link");
        let mut checkout = Checkout { folder, workspace, start, touched: std::collections::BTreeSet::new() };
        checkout.change("a.py", &Made::Text("2\n"));
        let parent = server.head("main");
        checkout.publish(&server, &parent).await.expect("published");
        let tree = server.git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", "main"]);
        assert_eq!(tree, "100644 app/a.py\n160000 vendor/lib");
        assert_eq!(server.git(&["show", "main:app/a.py"]), "2");
    });
}

#[test]
fn a_server_without_partial_clones_serves_too() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n")), ("b", Made::Text("1\n"))]);
        server.git(&["config", "uploadpack.allowFilter", "false"]);
        let mut checkout = Checkout::of(&server).await;
        checkout.change("a", &Made::Text("2\n"));
        let parent = server.head("main");
        checkout.publish(&server, &parent).await.expect("published");
        assert_eq!(server.git(&["ls-tree", "--name-only", "main"]), "a\nb");
    });
}
