//! An hour of waiting for CI, as a job of the workflow of `init` waits: the comment is kept, commands are listened for, and it costs
//! hardly anything of what the token may ask (GITHUB.md 25, 26).

#![expect(clippy::print_stdout, reason = "what was measured is for whoever runs it by hand")]

use super::delivery::{Site, mends};
use super::killed::Stage;
use crate::world::github::{Comment, FakeGitHub, Limits, Seen};

/// What an hour may cost.
const MOST: usize = 20;
/// A day after the world began: later than any moment of a test.
const LATER_MS: u64 = 86_400_000;

fn is_poll(seen: &Seen) -> bool {
    seen.path.contains("/check-runs")
}

/// Something happens on the forge after so many looks at CI; each changes one page.
fn happens(github: &FakeGitHub, polls: usize, done: &mut Vec<usize>) {
    let steps = [40, 80, 120];
    let Some(step) = steps.iter().find(|at| polls >= **at && !done.contains(at)) else { return };
    done.push(*step);
    let mut world = github.world();
    match *step {
        // Nobody who reads comments is to be answered, but the page has changed.
        40 | 80 => {
            let id = world.new_id();
            let at = LATER_MS + id;
            let (author, body) = ("ada".to_owned(), "what is it waiting for?".to_owned());
            world.comments.push(Comment {
                id,
                issue: 7,
                author,
                body,
                created_ms: at,
                updated_ms: at,
                ..Comment::default()
            });
        }
        _ => world.runs.iter_mut().for_each(|run| run.updated_ms += 1_000),
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn an_hour_of_waiting_costs_at_most_twenty_requests_and_one_for_each_page_that_changes() {
    let site = Site::new(&["success"]);
    // It begins at once and is not over within the hour.
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100 * 3_600_000);
    let stage = Stage::labelled(site, mends).with("UPSHIFT_CI_TIMEOUT_MINUTES", "60");
    let mut done = Vec::new();
    let github = stage.github();
    let said = stage.call_while("run", |github| {
        let polls = github.seen().iter().filter(|seen| is_poll(seen)).count();
        if polls > 0 {
            // Nothing is pushed any more; the remote need not be looked at before every answer.
            github.world().git_dir = None;
        }
        happens(github, polls, &mut done);
    });
    assert!(said.out.contains("; parked") && said.out.contains("waited for 60 minutes"), "{}", said.all());
    let seen = github.seen();
    let first = seen.iter().position(is_poll).expect("CI was asked");
    let waiting = &seen[first..];
    assert!(waiting.iter().filter(|seen| is_poll(seen)).count() >= 230, "every fifteen seconds");
    assert!(waiting.iter().filter(|seen| seen.path.contains("since=")).count() >= 230, "commands are listened for");
    let counted: Vec<String> =
        waiting.iter().filter(|seen| seen.counted).map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    assert_eq!(done.len(), 3);
    println!("an hour of waiting in a job: {} counted requests, {} pages changed", counted.len(), done.len());
    assert!(counted.len() <= MOST + done.len(), "{}: {counted:#?}", counted.len());
    assert!(counted.iter().any(|one| one.starts_with("PATCH")), "the comment was kept: {counted:#?}");
    stage.finish();
}

/// A server that counts and whose answers are never free: it is looked at less often, and the comment is kept all the same.
#[test]
fn without_etags_an_hour_costs_no_more() {
    let site = Site::new(&["success"]);
    {
        let mut world = site.github.world();
        world.sends_etags = false;
        world.limits = Limits { remaining: Some(5_000), limit: 5_000, resets_at_ms: 3_600_000 };
        world.ci.iter_mut().for_each(|plan| plan.takes_ms = 100 * 3_600_000);
    }
    let stage = Stage::labelled(site, mends).with("UPSHIFT_CI_TIMEOUT_MINUTES", "60");
    let said = stage.call("run");
    assert!(said.out.contains("; parked") && said.out.contains("waited for 60 minutes"), "{}", said.all());
    let seen = stage.github().seen();
    let first = seen.iter().position(is_poll).expect("CI was asked");
    let counted: Vec<String> =
        seen[first..].iter().filter(|seen| seen.counted).map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    assert!(counted.len() <= MOST, "{}: {counted:#?}", counted.len());
    assert!(counted.iter().filter(|one| one.contains("/check-runs")).count() >= 2, "it is looked at: {counted:#?}");
    println!("an hour without ETags: {} counted requests", counted.len());
    stage.finish();
}
