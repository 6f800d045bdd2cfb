//! The client of GitHub against a fake GitHub that checks what it is sent.

mod alone;
mod cases;
mod claims;
mod facts;
mod gh;
mod ledger;
mod table;

use std::sync::Arc;

use upshift::domain::ci::RepoName;
use upshift::domain::stop::Stop;
use upshift::domain::units::CommitSha;
use upshift::github::{Connection, GitHub};
use upshift::http::{Http, HttpSettings};

use crate::world::github::{FakeGitHub, Pull, World};

const HEAD: &str = "1111111111111111111111111111111111111111";
const MARKER: &str = "<!-- upshift:report key=ci -->";
const BOT: &str = "github-actions[bot]";

/// A world with one open pull request, #7, of a branch of this repository.
fn world() -> World {
    let pull = Pull {
        number: 7,
        title: "Add a thing".to_owned(),
        state: "open".to_owned(),
        author: "alice".to_owned(),
        head_branch: "fix/thing".to_owned(),
        head_sha: HEAD.to_owned(),
        base_branch: "main".to_owned(),
        ..Pull::default()
    };
    let branches = [("main", "2".repeat(40)), ("fix/thing", HEAD.to_owned())];
    World {
        pulls: vec![pull],
        branches: branches.into_iter().map(|(name, sha)| (name.to_owned(), sha)).collect(),
        ..World::default()
    }
}

/// A client of the fake, on its clock.
fn client(github: &FakeGitHub) -> GitHub {
    stoppable(github, Stop::never())
}

fn stoppable(github: &FakeGitHub, stop: Stop) -> GitHub {
    let connection = Connection {
        api_url: github.url(),
        token: "ghs_test".into(),
        repository: RepoName::parse("octo/demo").unwrap(),
    };
    GitHub::new(&Http::new(HttpSettings::default()), &connection, Arc::new(github.clock()), stop).unwrap()
}

fn head() -> CommitSha {
    CommitSha(HEAD.to_owned())
}
