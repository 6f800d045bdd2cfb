//! Re-entry at a bad moment: the job that parked the run is at work yet, or the log cannot be read now.

use serde_json::json;

use super::reentry::Repository;
use crate::world::github::{Effect, Fault};

/// The first job of a repository.
const PARKING: u64 = 101;

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_job_that_parked_a_run_is_waited_for_three_minutes_at_most() {
    for is_over in [true, false] {
        let mut repository = Repository::new(&["success"]);
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{}", first.said());
        let path = format!("/actions/runs/{PARKING}");
        let head = repository.site.server.head("topic");
        {
            let mut world = repository.site.github.world();
            let at_work = json!({ "id": PARKING, "event": "workflow_run", "status": "in_progress", "conclusion": null,
                "head_sha": head, "path": ".github/workflows/upshift.yml", "run_attempt": 1 });
            let answer = Effect::Status { code: 200, headers: [].into(), body: at_work };
            world.faults.push(Fault::once("GET", &path, answer).times(if is_over { 4 } else { 1_000 }));
        }
        let payload = repository.ci_ends();
        let before = repository.site.github.seen().len();
        let woken = repository.job(&payload);
        let seen = repository.site.github.seen();
        let looks = seen.iter().skip(before).filter(|seen| seen.path.ends_with(&path)).count();
        if is_over {
            assert_eq!(woken.output("outcome"), "fixed", "{}", woken.said());
            assert!(looks >= 5, "four times at work, then over: {looks}");
        } else {
            assert!(woken.run.is_none(), "{}", woken.said());
            assert!(woken.output("reason").contains("the workflow run 101 is working on it"), "{}", woken.said());
            assert!((30..=40).contains(&looks), "every five seconds for three minutes: {looks}");
            assert!(repository.comment().contains("standing=waiting"), "it waits as before");
        }
        assert_eq!((repository.site.server.pushes(), repository.models.requests().len()), (1, 2));
        repository.site.github.world().faults.clear();
        let _world = repository.finish();
    }
}

#[test]
fn an_outage_in_which_the_log_cannot_be_read_is_mended_by_another_attempt() {
    for (code, times) in [(502, 5), (403, 1)] {
        let mut repository = Repository::new(&["success"]);
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{}", first.said());
        let fault = Fault::once("GET", "/actions/artifacts", Effect::status(code, "Server Error", &[])).times(times);
        repository.site.github.world().faults.push(fault);
        let payload = repository.ci_ends();
        let out = repository.job(&payload);
        assert_eq!(out.run.as_ref().map(|run| run.code), Some(6), "{code}: {}", out.said());
        assert!(out.said().contains("run this job again"), "{code}: {}", out.said());
        assert!(repository.comment().contains("standing=waiting"), "{code}: {}", repository.comment());
        let again = repository.again(&out, ("workflow_run", &payload), &[]);
        assert_eq!(again.output("outcome"), "fixed", "{code}: {}", again.said());
        let _world = repository.finish();
    }
}
