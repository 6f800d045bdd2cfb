//! What a pull request may cost holds for programs behind the gateway, too.

use serde_json::json;

use super::{CLAUDE, call, price, vendor};
use crate::action::comment::job;
use crate::action::gate::{labelled_by, world};
use crate::world::github::FakeGitHub;
use crate::world::log::Log;
use crate::world::model_server::Say;
use crate::world::project::Project;

#[test]
fn all_sessions_for_a_pull_request_share_its_cap() {
    let price = price(CLAUDE);
    let server = vendor(|_| Say::text("x").usage(10, 2_000).into());
    // Two calls fit under it, and not much of a third.
    let one = (10 * price.input + 2_000 * price.output).div_ceil(1_000_000);
    let cap = one * 5 / 2;
    let mut world = world();
    let base = world.branches["main"].clone();
    let config = format!("global:\n  maxCostUsdPerPr: {}.{:06}\n", cap / 1_000_000, cap % 1_000_000);
    world.files.insert(format!("{base}:.github/upshift.yml"), config);
    let github = FakeGitHub::start_in_real_time(world);
    let project = Project::python();
    project.write("client.py", include_str!("client.py"));
    let logs = tempfile::tempdir().expect("a folder");
    let log = logs.path().join("audit.db");
    let job = job(&github, &server, "pull_request", &labelled_by("ada"));
    let plan = json!([call("messages", false)]).to_string();
    let arguments = ["gateway", "--audit-db", log.to_str().expect("text"), "--", "python3", "client.py", &plan];
    let said: Vec<_> = (0..3).map(|_| job.call(&project, &arguments)).collect();
    let codes: Vec<i32> = said.iter().map(|said| said.code).collect();
    assert_eq!(codes, [0, 0, 3], "the third would pass the cap of the pull request: {}", said[2].all());
    let spent = Log::open(&log).number("SELECT SUM(cost_micro_usd + unknown_cost_micro_usd) FROM model_calls");
    assert_eq!(u64::try_from(spent).expect("a number"), server.finish().0);
    github.finish();
}
