//! The fake GitHub as a program of its own, for tests that start other programs against it:
//!
//! ```sh
//! FAKE_GITHUB_SCENARIO=scenario.json FAKE_GITHUB_READY=address.txt cargo test --test it fake_github_alone -- --ignored
//! ```
//!
//! The scenario is a [`World`](crate::world::github::World) in JSON (all keys optional). Once it listens, the API's address is
//! written to the ready file. `GET /__world` shows the world, `GET /__log` the requests and what was wrong with them,
//! `POST /__happen` lets something happen (`{"pullIs": {"number": 1, "state": "merged"}}`), `POST /__end` ends it.

use std::time::Duration;

use crate::world::github::{FakeGitHub, World};

/// How often the end is looked for; nobody waits for it but the one who asked for it.
const LOOK: Duration = Duration::from_millis(50);

#[test]
#[ignore = "runs until it is told to end"]
fn fake_github_alone() {
    let scenario = std::env::var_os("FAKE_GITHUB_SCENARIO").expect("FAKE_GITHUB_SCENARIO names a file");
    let ready = std::env::var_os("FAKE_GITHUB_READY").expect("FAKE_GITHUB_READY names a file to write");
    let text = std::fs::read_to_string(scenario).expect("the scenario can be read");
    let world: World = serde_json::from_str(&text).expect("the scenario is a world");
    let github = FakeGitHub::start_in_real_time(world);
    let written = std::path::PathBuf::from(ready);
    let beside = written.with_extension("part");
    std::fs::write(&beside, github.url()).expect("the address can be written");
    std::fs::rename(&beside, &written).expect("the address can be put in place");
    while !github.has_ended() {
        std::thread::sleep(LOOK);
    }
    github.finish();
}
