//! What goes wrong outside while a job of the workflow of `init` is at work: each ends as its reader would want, and nothing is
//! posted or pushed twice.

use std::time::{Duration, Instant};

use serde_json::json;

use super::delivery::{Site, mends};
use super::killed::Stage;
use super::unblocked::waits;
use crate::world::git_server::{TOKEN, git};
use crate::world::github::{Comment, Effect, FakeGitHub, Fault, Pull, World};
use crate::world::model_server::{Request, Say, Scripted};

const BOT: &str = "github-actions[bot]";

fn polls(github: &FakeGitHub) -> usize {
    github.seen().iter().filter(|seen| seen.path.contains("/check-runs")).count()
}

/// The one comment of ours.
fn report(world: &World) -> &str {
    let ours: Vec<&Comment> = world.comments.iter().filter(|one| one.author == BOT).collect();
    let [comment] = ours.as_slice() else { panic!("{} comments", ours.len()) };
    &comment.body
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_conversation_of_ten_thousand_comments_gets_one_more_and_no_second() {
    let site = Site::new(&["success"]);
    let chat = |id| Comment { id, issue: 7, author: "eve".to_owned(), body: "hm".to_owned(), ..Comment::default() };
    site.github.world().comments = (1..=10_000).map(chat).collect();
    site.github.world().last_id = 20_000;
    let stage = Stage::labelled(site, mends).with("UPSHIFT_WAIT_FOR", "none");
    let said = stage.call("run");
    assert_eq!(said.code, 0, "{}", said.all());
    let world = stage.finish();
    assert!(report(&world).contains("\nFixed by Tier 1"));
    assert_eq!(world.comments.len(), 10_001);
}

/// Two thousand failing tests with long names, and a reason of a hundred thousand characters.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_huge_report_is_cut_to_what_the_forge_takes_and_posted_once() {
    let site = Site::new(&["success"]);
    let seed = site.server.seed();
    let name = |number: usize| format!("test_{number:04}_{}", "of_the_whole_shop_".repeat(6));
    let tests: String = (0..2_000)
        .map(|number| format!("    def {}(self):\n        self.fail(\"a long way\" * 20)\n\n", name(number)))
        .collect();
    git(&seed, &["checkout", "--quiet", "-B", "work", "main"]);
    let text = format!("import unittest\n\n\nclass Many(unittest.TestCase):\n{tests}");
    std::fs::write(seed.join("tests/test_many.py"), text).expect("written");
    let mut site = site;
    site.start = site.server.somebody_pushes("topic");
    site.github.world().pulls[0].head_sha.clone_from(&site.start);
    let stage = Stage::labelled(site, |_: &Request| -> Scripted {
        let reason = "the tests contradict each other @acme/team ".repeat(2_500);
        Say::call("final_report", json!({ "summary": "no", "status": "blocked", "reason": reason }))
            .usage(900, 40)
            .into()
    });
    let said = stage.call("run");
    assert_eq!(said.code, 1, "{}", &said.out.chars().take(2_000).collect::<String>());
    assert!(!said.out.contains("not up to date"), "the comment was taken");
    let summary = stage.job_files().text("summary");
    assert!(summary.len() <= 1_048_576, "{} bytes", summary.len());
    let annotations = said.err.lines().filter(|line| line.starts_with("::error ")).count();
    assert_eq!(annotations, 10, "as many as the runner shows");
    let world = stage.finish();
    let body = report(&world);
    let chars = body.chars().count();
    assert!(chars <= 65_536, "{chars}");
    assert!(body.contains("### ") && body.contains("test_0000"), "its beginning is there");
    assert_eq!(body.matches("```").count() % 2, 0, "no fence is left open");
}

#[test]
fn a_checkout_of_another_commit_than_the_jobs_is_refused_before_anything_is_paid() {
    let stage = Stage::labelled(Site::new(&["success"]), mends);
    // As actions/checkout leaves it.
    let origin = format!("{}/acme/shop", stage.server().server_url());
    git(stage.root(), &["remote", "set-url", "origin", &origin]);
    for name in ["one", "two"] {
        std::fs::write(stage.root().join(name), "").expect("written");
        crate::world::git_server::commit_all(stage.root(), name);
    }
    let said = stage.call("run");
    assert_eq!(said.code, 2, "{}", said.all());
    assert!(
        said.err.contains("the checkout is at ") && said.err.contains("steps.gate.outputs.head-sha"),
        "{}",
        said.all()
    );
    let stage = stage.with("UPSHIFT_HEAD_SHA", "abc");
    let said = stage.call("run");
    assert!(said.code == 2 && said.err.contains("`head-sha` is no commit: `abc`"), "{}", said.all());
    assert!(stage.models().requests().is_empty());
    stage.finish();
}

#[test]
fn a_pull_request_whose_same_lines_moved_while_we_worked_is_left_alone_and_that_is_said() {
    let site = Site::new(&["success"]);
    let (bare, seed) = (site.server.bare(), site.server.seed());
    let stage = Stage::labelled(site, move |request: &Request| {
        if request.turn() == 0 {
            std::fs::write(seed.join("shop/cart.py"), "def total(prices):\n    return sum(prices) - 2\n")
                .expect("written");
            crate::world::git_server::commit_all(&seed, "somebody else");
            git(&seed, &["push", "--quiet", "--force", bare.to_str().expect("text"), "HEAD:refs/heads/topic"]);
        }
        mends(request)
    });
    let stage = stage.with("UPSHIFT_ACTION", "true");
    let said = stage.call("run");
    assert_eq!(said.code, 1, "{}", said.all());
    assert_eq!(stage.server().git(&["log", "-1", "--format=%s", "topic"]), "somebody else");
    assert!(said.out.contains("differs there in the same lines") && said.out.contains("best.patch"), "{}", said.all());
    assert_eq!(stage.job_files().outputs()["outcome"], "blocked");
    a4_the_change_is_there_for_who_reads_the_comment_elsewhere(&stage, &said.err);
    let world = stage.finish();
    assert!(report(&world).contains("differs there in the same lines"), "{}", report(&world));
}

/// The first line says what came of it, no test is called failing, and every path is one of the artifact that the command fetches.
fn a4_the_change_is_there_for_who_reads_the_comment_elsewhere(stage: &Stage, log: &str) {
    let body = report(&stage.github().world()).to_owned();
    let first = body.lines().find(|line| line.starts_with("### ")).unwrap_or_default();
    let wanted = "### ✖ Found a fix for 1 test in `cart.py` (+1 −1), $0.0002, but `somebody pushed ";
    assert!(first.starts_with(wanted), "{first}");
    assert!(body.contains("- Start upshift again, on what is there now; or apply the change yourself."), "{body}");
    assert!(body.contains("**Tests:** 1 failing → 0 failing with the change, which is not in the files"), "{body}");
    assert!(!log.contains("This test still fails") && !log.contains("::error"), "{log}");
    let outputs = stage.job_files().outputs();
    let folder = std::path::Path::new(&outputs["audit-db"]).parent().expect("a folder").display().to_string();
    assert!(!body.contains(&folder) && !body.contains("/tmp/"), "{body}");
    let short = outputs["run-id"].get(..8).expect("a long id");
    let fetch = format!(
        "gh run download 77 --repo acme/shop --name upshift-audit-77-1-pr7-{short} --dir upshift-{short} && git apply \
         upshift-{short}/{short}/best.patch"
    );
    assert!(body.contains(&fetch), "{fetch}\n{body}");
    assert!(body.contains(&format!("upshift report {short} --audit-db upshift-{short}/audit.db --verify")), "{body}");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn limits_and_outages_are_waited_out_and_nothing_is_there_twice() {
    let secondary = || Effect::status(403, "You have exceeded a secondary rate limit.", &[("retry-after", "30")]);
    let table: [(&str, &str, Effect, u64); 7] = [
        ("POST", "/issues/7/comments", secondary(), 1),
        ("POST", "/issues/7/comments", Effect::DoneBut { code: 502 }, 1),
        ("POST", "/issues/7/comments", Effect::LoseAnswer, 1),
        ("PATCH", "/issues/comments/", Effect::status(502, "Server Error", &[]), 2),
        ("PATCH", "/issues/comments/", secondary(), 1),
        ("GET", "/check-runs", Effect::status(502, "Server Error", &[]), 3),
        ("GET", "/check-runs", secondary(), 2),
    ];
    for (method, path, effect, times) in table {
        let site = Site::new(&["success"]);
        site.github.world().faults.push(Fault::once(method, path, effect.clone()).times(times));
        let stage = Stage::labelled(site, mends);
        let said = stage.call("run");
        assert_eq!(said.code, 0, "{method} {path} {effect:?}: {}", said.all());
        assert!(said.out.contains("CI: green"), "{effect:?}: {}", said.all());
        assert_eq!(stage.server().pushes(), 1);
        let world = stage.finish();
        assert!(report(&world).contains("\nFixed by Tier 1"), "{method} {path} {effect:?}: {}", report(&world));
    }
}

/// An App's token after an hour: what is pushed stays, what can no longer be asked is said and never claimed.
#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_token_that_dies_while_ci_is_waited_for_parks_the_run() {
    let site = Site::new(&["success"]);
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100 * 3_600_000);
    let stage = Stage::labelled(site, mends);
    let said = stage.call_while("run", |github| {
        if polls(github) >= 3 {
            github.world().token.revoked_at_ms = Some(0);
        }
    });
    assert_eq!(said.code, 0, "{}", said.all());
    let why = ["the state of CI of ", "an App's token lives one hour", "comment is not up to date"];
    assert!(why.iter().all(|why| said.out.contains(why)) && !said.out.contains("✔ 1 test"), "{}", said.all());
    let outputs = stage.job_files().outputs();
    assert_eq!((outputs["outcome"].as_str(), outputs["commit-sha"].len()), ("parked", 40));
    assert_eq!(stage.server().pushes(), 1);
    let world = stage.finish();
    assert_eq!(world.comments.len(), 1);
}

/// A token that was given beside the job's own.
const GIVEN: &str = "ghs_of_an_app_0123456789abcdefghijklmnop";

fn given_a_token() -> Site {
    let site = Site::new(&["success"]);
    site.github.world().token.accepted.push(GIVEN.to_owned());
    site
}

/// The job's own token lives as long as the job: it asks on where a given one has ended.
#[test]
fn where_a_given_token_has_died_the_jobs_own_asks_on() {
    let site = given_a_token();
    site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 60_000);
    let stage = Stage::labelled(site, mends).with("UPSHIFT_GITHUB_TOKEN", GIVEN).with("UPSHIFT_PUSH_TOKEN", TOKEN);
    let said = stage.call_while("run", |github| {
        if polls(github) >= 3 {
            let mut world = github.world();
            world.token.accepted.retain(|token| token != GIVEN);
            world.later.iter_mut().for_each(|later| later.at_ms = 0);
        }
    });
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(stage.job_files().outputs()["outcome"], "fixed", "{}", said.all());
    assert!(said.out.contains("CI: green in "), "{}", said.all());
    stage.finish();
}

/// The same where a merge is waited for.
#[test]
fn where_a_given_token_has_died_the_jobs_own_asks_on_about_a_merge() {
    let site = given_a_token();
    let stage = Stage::labelled(site, mends).with("UPSHIFT_GITHUB_TOKEN", GIVEN).with("UPSHIFT_PUSH_TOKEN", TOKEN);
    let stage = stage.with("UPSHIFT_WAIT_FOR", "merge");
    let said = stage.call_while("run", |github| {
        if github.seen().iter().any(|seen| seen.path.contains("/reviews")) {
            let mut world = github.world();
            world.token.accepted.retain(|token| token != GIVEN);
            "merged".clone_into(&mut world.pulls[0].state);
        }
    });
    assert_eq!(stage.job_files().outputs()["outcome"], "fixed", "{}", said.all());
    assert!(said.out.contains(": merged in "), "{}", said.all());
    stage.finish();
}

/// The same where a run is blocked; without another token nobody can say how things stand, and it waits.
#[test]
fn where_a_given_token_has_died_the_jobs_own_asks_about_what_blocks_a_run() {
    for (own, words) in [(TOKEN, "waiting for pull request #12"), (GIVEN, "the state could not be read")] {
        let site = given_a_token();
        let start = site.github.world().pulls[0].clone();
        site.github.world().pulls.push(Pull { number: 12, head_branch: "other".to_owned(), ..start });
        let (asked, is_asked) = std::sync::mpsc::channel();
        let (died, has_died) = std::sync::mpsc::channel();
        let stage = Stage::labelled(site, move |request: &Request| {
            asked.send(()).expect("a listener");
            has_died.recv().expect("a token that dies");
            waits(request)
        });
        let stage = stage.with("UPSHIFT_GITHUB_TOKEN", GIVEN).with("UPSHIFT_JOB_TOKEN", own);
        let stage = stage.with("UPSHIFT_PUSH_TOKEN", TOKEN);
        let said = stage.call_while("run", move |github| {
            if is_asked.try_recv().is_ok() {
                github.world().token.accepted.retain(|token| token != GIVEN);
                died.send(()).expect("a listener");
            }
        });
        assert_eq!(stage.job_files().outputs()["outcome"], "parked", "{words}: {}", said.all());
        assert!(said.out.contains(words), "{words}: {}", said.all());
        stage.finish();
    }
}

/// What the runner does with a cancelled job: SIGINT, and SIGTERM 7.5 s later (GITHUB.md 23).
#[test]
fn a_cancelled_job_ends_in_time_with_everything_told_wherever_it_was() {
    for (signal, code, at_ci) in [("-INT", 130, false), ("-TERM", 143, false), ("-INT", 130, true)] {
        let site = Site::new(&["success"]);
        site.github.world().ci.iter_mut().for_each(|plan| plan.takes_ms = 100 * 3_600_000);
        let stage = Stage::labelled(site, move |request: &Request| -> Scripted {
            if at_ci || request.turn() == 0 { mends(request) } else { Scripted::Hang }
        });
        let stage = stage.with("UPSHIFT_CI_TIMEOUT_MINUTES", "1000");
        let mut sent: Option<Instant> = None;
        let (trap, models) = (stage.trap(), stage.models());
        let said = stage.call_while("run", |github| {
            let there = if at_ci { polls(github) >= 2 } else { models.requests().len() >= 2 };
            let commented = !github.world().comments.is_empty();
            if let (None, true, Some(pid)) = (sent, there && commented, trap.pid()) {
                sent = Some(Instant::now());
                let killed = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
                assert!(killed.expect("kill").success());
            }
        });
        let took = sent.expect("a signal").elapsed();
        assert!(took < Duration::from_secs(7), "{took:?}: {}", said.all());
        assert_eq!(said.code, code, "{}", said.all());
        assert_eq!(stage.job_files().outputs()["outcome"], "interrupted");
        assert!(stage.job_files().text("summary").contains("nterrupted"), "{}", stage.job_files().text("summary"));
        let pushed = stage.server().git(&["rev-list", "--count", "topic"]);
        assert_eq!(pushed, if at_ci { "2" } else { "1" });
        let world = stage.finish();
        assert!(report(&world).contains("nterrupted"), "{}", report(&world));
    }
}
