//! CI of a fix that is red at first, although the tests pass here: it runs once more before anybody is paid, where the token may have it so.

use super::waiting::{RED_LOG, over, plan};
use super::{Site, mends};
use crate::world::github::World;
use crate::world::model_server::{Request, Say, Scripted};
use crate::world::program::Said;

/// Mends, and says so once more where CI is still red.
fn gives_in(request: &Request) -> Scripted {
    if !request.all_text().contains("CI is red on the commit") {
        return mends(request);
    }
    match request.turn() {
        0 => {
            let edit = serde_json::json!({ "path": "shop/cart.py", "old_text": "def total(prices):", "new_text": "def total(prices, off=0):" });
            Say::call("edit_file", edit).usage(1_000, 50).into()
        }
        _ => {
            Say::call("final_report", serde_json::json!({ "summary": "off", "status": "done" })).usage(1_000, 20).into()
        }
    }
}

/// A run whose pushes CI finds red, then green; how those end that run once more, and whether the token may ask for that.
fn red_then(reruns: &[&str], may: bool) -> (Said, usize, usize, World) {
    let (site, github) = over(Site::with_models(gives_in), vec![plan("failure", RED_LOG), plan("success", "")]);
    {
        let mut world = github.world();
        world.reruns = reruns.iter().map(|end| (*end).to_owned()).collect();
        if may {
            world.token.lacks.clear();
        }
    }
    let said = site.run("commit");
    let (pushes, asked) = (site.server.pushes(), site.models.requests().len());
    site.models.finish();
    (said, pushes, asked, github.finish())
}

const TOLD: &str = "test failed in CI and runs once more before any model is called, since the tests pass here";

#[test]
fn red_ci_that_is_green_when_it_runs_once_more_costs_nothing() {
    let (said, pushes, asked, after) = red_then(&["success"], true);
    assert_eq!((said.code, pushes, asked), (0, 1, 2), "{}", said.all());
    assert!(said.err.contains(TOLD) && said.out.contains("CI: green in "), "{}", said.all());
    assert_eq!(after.runs.iter().map(|run| run.attempt).collect::<Vec<_>>(), [2], "{}", said.all());
}

#[test]
fn red_ci_that_is_red_once_more_is_the_next_iterations_input() {
    let (said, pushes, asked, after) = red_then(&["failure"], true);
    assert_eq!((said.code, pushes, asked), (0, 2, 4), "{}", said.all());
    assert_eq!(said.err.matches(TOLD).count(), 1, "{}", said.all());
    assert_eq!(after.runs.iter().map(|run| run.attempt).collect::<Vec<_>>(), [2, 1], "{}", said.all());
}

#[test]
fn where_the_token_may_not_ask_for_that_the_model_is_asked_at_once() {
    let (said, pushes, asked, after) = red_then(&["success"], false);
    assert_eq!((said.code, pushes, asked), (0, 2, 4), "{}", said.all());
    assert!(!said.all().contains(TOLD), "{}", said.all());
    assert_eq!(after.runs.iter().map(|run| run.attempt).collect::<Vec<_>>(), [1, 1], "{}", said.all());
}
