//! The comment that the README shows: what a pull request with the recorded example gets of a run whose fix is pushed and green in CI.

use std::path::Path;

use regex::Regex;

use super::delivery::Site;
use super::file;
use super::reentry::Repository;
use crate::world::model_server::Scripted;
use crate::world::program::Program;
use crate::world::timeless;

/// The recorded example's files.
const FILES: [&str; 4] = ["cart.py", "test_cart.py", ".github/upshift.yml", ".github/models.json"];
/// The file that the comment is written to where `.ci/page` asks for it.
const RECORD: &str = "UPSHIFT_RECORD_COMMENT";

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn c15_the_recorded_comment_is_the_one_that_a_pull_request_gets() {
    let texts = FILES.map(|name| file(&format!("examples/recorded/project/{name}")));
    let mut files: Vec<(&str, &str)> = FILES.into_iter().zip(texts.iter().map(String::as_str)).collect();
    files.push((".gitignore", "__pycache__/\n"));
    let no_vendor = |_request: &_| Scripted::status(500, "the models are recorded");
    let mut repository = Repository::of(Site::of(&files, &["success"]), no_vendor);
    repository.site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 0);
    // The ladder and the cap are the example's own. The job stays until CI is over.
    let more = [
        ("UPSHIFT_TIERS", ""),
        ("UPSHIFT_MAX_COST_USD", ""),
        ("UPSHIFT_WAIT_FOR", "ci"),
        ("UPSHIFT_TEST_CLOCK", "1"),
        Program::WITH_COURT,
    ];
    let ended = repository.job_for("workflow_run", &repository.told("failure"), &more);
    assert_eq!(repository.site.server.pushes(), 1, "{}", ended.said());
    assert!(repository.models.requests().is_empty(), "{}", ended.said());
    let server = Regex::new(r"http://github\.localhost:\d+/").expect("a pattern");
    let world = repository.finish();
    let [comment] = world.comments.as_slice() else { panic!("{:?}", world.comments) };
    let body = server.replace_all(&comment.body, "https://github.com/").into_owned();
    assert!(body.contains("### ✔ 3 tests fixed in `cart.py` (+1 −1), CI green, "), "{body}\n{}", ended.said());
    if let Some(place) = std::env::var_os(RECORD) {
        std::fs::write(Path::new(&place), &body).expect("written");
        return;
    }
    assert_eq!(timeless(&body), timeless(&file("examples/recorded/comment.md")), "run: .ci/page keep");
}
