//! A recorded change becomes a commit on a real remote, whatever stands in the checkout's git directory.

mod carrying;
mod refusals;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use secrecy::SecretString;
use tempfile::TempDir;
use upshift::domain::stop::Stop;
use upshift::domain::units::{CommitSha, TreeId};
use upshift::workspace::publish::{Access, Author, Onto, Order, PublishError, Published, Remote, Surroundings};
use upshift::workspace::{PathRules, Workspace};

use crate::world::git_server::{GitServer, Made, TOKEN, make};

/// How a change leaves.
#[derive(Debug, Clone, Copy)]
enum Way {
    Push,
    Api,
}

/// A checkout of a server's `main`, opened as a run would.
struct Checkout {
    folder: TempDir,
    workspace: Workspace,
    start: TreeId,
    touched: BTreeSet<String>,
}

impl Checkout {
    async fn of(server: &GitServer) -> Self {
        let folder = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
        server.clone_to(&folder.path().join("root"));
        Self::open(folder).await
    }

    async fn open(folder: TempDir) -> Self {
        let root = folder.path().join("root");
        let workspace =
            Workspace::open(&root, &folder.path().join("states"), PathRules::default()).await.expect("opened");
        let start = workspace.snapshot().await.expect("recorded");
        Self { folder, workspace, start, touched: BTreeSet::new() }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// The run changes a file.
    fn change(&mut self, name: &str, made: &Made<'_>) -> &mut Self {
        drop(std::fs::remove_file(self.root().join(name)));
        make(&self.root(), name, made);
        self.touched.insert(name.to_owned());
        self
    }

    /// The run deletes a file.
    fn delete(&mut self, name: &str) -> &mut Self {
        std::fs::remove_file(self.root().join(name)).expect("deleted");
        self.touched.insert(name.to_owned());
        self
    }

    async fn publish(&self, server: &GitServer, parent: &str) -> Result<Published, PublishError> {
        self.publish_to(server, parent, "main", Onto::Existing).await
    }

    async fn publish_to(
        &self,
        server: &GitServer,
        parent: &str,
        branch: &str,
        onto: Onto,
    ) -> Result<Published, PublishError> {
        self.publish_with(server, (parent, branch, onto), TOKEN, &environment()).await
    }

    async fn publish_with(
        &self,
        server: &GitServer,
        (parent, branch, onto): (&str, &str, Onto),
        token: &str,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Published, PublishError> {
        self.order(server, (parent, branch, onto), token, environment, Way::Push).await
    }

    /// The change as the API would be given it.
    async fn carry(&self, server: &GitServer, parent: &str) -> Result<Published, PublishError> {
        self.order(server, (parent, "main", Onto::Existing), TOKEN, &environment(), Way::Api).await
    }

    async fn order(
        &self,
        server: &GitServer,
        (parent, branch, onto): (&str, &str, Onto),
        token: &str,
        environment: &BTreeMap<OsString, OsString>,
        way: Way,
    ) -> Result<Published, PublishError> {
        let to = self.workspace.snapshot_paths(&self.start, &self.touched).await.expect("recorded");
        let remote = Remote { url: server.url(), access: Some(Access::Token(SecretString::from(token))) };
        let author = Author { name: "upshift".to_owned(), email: "upshift@example.invalid".to_owned() };
        let order = Order {
            remote: &remote,
            branch,
            onto,
            parent: &CommitSha(parent.to_owned()),
            from: &self.start,
            to: &to,
            author: &author,
            message: "fix: the sum\n\nUpshift-Run-Id: 1234\n",
            at: 1_771_338_181,
        };
        let stop = Stop::never();
        let around = Surroundings { environment, stop: &stop };
        match way {
            Way::Push => self.workspace.publish(&order, around).await,
            Way::Api => {
                let carried = self.workspace.carry(&order, around).await?;
                let files = carried.files.into_iter().map(|file| file.path).collect();
                Ok(Published { commit: CommitSha(carried.tree), files, found: false })
            }
        }
    }
}

fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| name == "PATH").collect()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

#[test]
fn a_change_becomes_one_commit_and_nothing_else_of_the_checkout_does() {
    run(async {
        let server = GitServer::start(&[("src/a.py", Made::Text("wrong\n")), ("src/b.py", Made::Text("b\n"))]);
        let mut checkout = Checkout::of(&server).await;
        std::fs::write(checkout.root().join("notes.txt"), "mine\n").expect("written");
        let parent = server.head("main");
        checkout.change("src/a.py", &Made::Text("right\n"));
        let published = checkout.publish(&server, &parent).await.expect("published");
        assert_eq!(published.commit.0, server.head("main"));
        assert_eq!((published.files, published.found), (vec!["src/a.py".to_owned()], false));
        assert_eq!(server.git(&["diff", "--name-status", &parent, "main"]), "M\tsrc/a.py");
        assert_eq!(server.git(&["show", "main:src/a.py"]), "right");
        let said = server.git(&["log", "-1", "--format=%P|%an|%ae|%cn|%at|%s|%(trailers:only)", "main"]);
        let expected =
            format!("{parent}|upshift|upshift@example.invalid|upshift|1771338181|fix: the sum|Upshift-Run-Id: 1234");
        assert_eq!(said.trim(), expected);
        assert_eq!(server.git(&["fsck", "--strict"]), "");
    });
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_was_pushed_before_a_kill_is_known_again_and_not_pushed_twice() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        let parent = server.head("main");
        checkout.change("a", &Made::Text("2\n"));
        let first = checkout.publish(&server, &parent).await.expect("published");
        let second = checkout.publish(&server, &parent).await.expect("known again");
        assert!(second.found && second.commit == first.commit, "{second:?}");
        assert_eq!(server.git(&["rev-list", "--count", "main"]), "2");
        assert_eq!(server.pushes(), 1);
    });
}

#[test]
fn a_new_branch_is_made_and_one_that_is_there_is_left_alone() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        let parent = server.head("main");
        checkout.change("a", &Made::Text("2\n"));
        let made = checkout.publish_to(&server, &parent, "upshift/fix-1", Onto::New).await.expect("published");
        assert_eq!(made.commit.0, server.head("upshift/fix-1"));
        checkout.change("a", &Made::Text("3\n"));
        let refused = checkout.publish_to(&server, &parent, "upshift/fix-1", Onto::New).await;
        assert!(matches!(refused, Err(PublishError::Moved { .. })), "{refused:?}");
        assert_eq!(made.commit.0, server.head("upshift/fix-1"));
        assert_eq!(server.head("main"), parent);
    });
}

#[test]
fn a_branch_that_was_deleted_is_told_and_not_made_again() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        let parent = server.head("main");
        checkout.change("a", &Made::Text("2\n"));
        let refused = checkout.publish_to(&server, &parent, "topic", Onto::Existing).await.expect_err("a refusal");
        assert!(
            refused.to_string().starts_with("topic was deleted meanwhile, and is not made again → Fix: "),
            "{refused}"
        );
        assert_eq!(server.pushes(), 0);
    });
}

#[test]
fn a_branch_that_moved_is_noticed_and_not_overwritten_also_in_the_last_moment() {
    run(async {
        let server = GitServer::start(&[("a", Made::Text("1\n"))]);
        let mut checkout = Checkout::of(&server).await;
        let parent = server.head("main");
        checkout.change("a", &Made::Text("2\n"));
        let seed = server.seed();
        server.before_push(move |bare| {
            crate::world::git_server::commit_all(&seed, "in between");
            crate::world::git_server::git(&seed, &["push", "--quiet", bare.to_str().expect("text"), "HEAD:main"]);
        });
        let late = checkout.publish(&server, &parent).await;
        let theirs = server.head("main");
        assert_ne!(theirs, parent, "somebody was faster");
        let early = checkout.publish(&server, &parent).await;
        for refused in [late, early] {
            let Err(PublishError::Moved { expected, found, .. }) = &refused else { panic!("{refused:?}") };
            assert!(parent.starts_with(expected) && theirs.starts_with(found), "{refused:?}");
        }
        assert_eq!(server.head("main"), theirs);
    });
}
