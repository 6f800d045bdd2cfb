//! What each breakpoint costs: seconds of jobs and counted requests of the API, of the job that parks, while parked, of a wake-up that finds nothing
//! new, and of the one that goes on. `cargo test --test it -- action::cost --nocapture` prints the table that `docs/waiting.md` holds.

#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs it by hand")]

use std::time::Instant;

use serde_json::Value;

use super::delivery::mends;
use super::reentry::{Ended, Repository, proposing};
use super::unblocked::{blocked_by, waits};

/// The most requests of a wake-up that finds nothing new, and the most seconds of any job here, on a busy machine.
const MOST: (usize, f64) = (15, 60.0);

/// A job with what it cost.
struct Job {
    ended: Ended,
    seconds: f64,
    requests: usize,
}

/// Measures jobs one after the other, and that nothing is asked between two.
struct Meter {
    repository: Repository,
    seen: usize,
}

impl Meter {
    fn of(repository: Repository) -> Self {
        let seen = repository.site.github.seen().len();
        Self { repository, seen }
    }

    fn job(&mut self, event: &str, payload: &Value) -> Job {
        let before = self.repository.site.github.seen().len();
        assert_eq!(before, self.seen, "nothing is asked while it is parked");
        let since = Instant::now();
        let ended = self.repository.job_for(event, payload, &[]);
        let seconds = since.elapsed().as_secs_f64();
        let seen = self.repository.site.github.seen();
        self.seen = seen.len();
        let requests = seen.iter().skip(before).filter(|seen| seen.counted).count();
        assert!(seconds < MOST.1, "{seconds}: {}", ended.said());
        Job { ended, seconds, requests }
    }
}

/// A line of the table.
fn line(name: &str, parks: &Job, finds_nothing: &Job, goes_on: &Job) {
    let of = |job: &Job| format!("{:.1} s, {} requests", job.seconds, job.requests);
    let parks = of(parks);
    println!("| {name} | {parks} | 0 s, 0 requests | {} | {} |", of(finds_nothing), of(goes_on));
    assert!(finds_nothing.requests <= MOST.0, "{name}: {}", finds_nothing.requests);
    assert!(finds_nothing.ended.run.is_none(), "the gate alone: {}", finds_nothing.ended.said());
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn what_waits_costs_nothing_and_a_wake_up_hardly_anything() {
    println!(
        "| breakpoint | the job that parks | parked | a wake-up that finds nothing new | the job that goes on |\n|---|---|---|---|---|"
    );
    let mut meter = Meter::of(Repository::with_models(&["success"], mends));
    let payload = meter.repository.told("failure");
    let parks = meter.job("workflow_run", &payload);
    let payload = meter.repository.told("success");
    let early = meter.job("workflow_run", &payload);
    let payload = meter.repository.ci_ends();
    let ends = meter.job("workflow_run", &payload);
    assert_eq!(ends.ended.output("outcome"), "fixed", "{}", ends.ended.said());
    line("CI", &parks, &early, &ends);
    let _world = meter.repository.finish();

    let (repository, _first) = proposing();
    let mut meter = Meter::of(repository);
    let number = meter.repository.site.github.world().pulls.last().expect("a pull request").number;
    let payload = meter.repository.ci_ends_on(number);
    let parks = meter.job("workflow_run", &payload);
    assert_eq!(parks.ended.output("outcome"), "parked", "{}", parks.ended.said());
    let early = meter.job("workflow_run", &payload);
    let payload = meter.repository.pull_is(number, "merged");
    let ends = meter.job("pull_request", &payload);
    assert_eq!(ends.ended.output("outcome"), "fixed", "{}", ends.ended.said());
    line("merge", &parks, &early, &ends);
    let _world = meter.repository.finish();

    let mut meter = Meter::of(blocked_by(Repository::with_models(&["success"], waits)));
    let payload = meter.repository.told("failure");
    let parks = meter.job("workflow_run", &payload);
    assert_eq!(parks.ended.output("outcome"), "parked", "{}", parks.ended.said());
    let early = meter.job("workflow_run", &payload);
    "merged".clone_into(&mut meter.repository.site.github.world().pulls[1].state);
    let goes_on = meter.job("workflow_run", &payload);
    assert_eq!(goes_on.ended.output("outcome"), "parked", "for CI now: {}", goes_on.ended.said());
    line("blocked", &parks, &early, &goes_on);
    let _world = meter.repository.finish();
}
