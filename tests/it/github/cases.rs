//! What users would want when it goes wrong: long conversations, long texts, limits, server errors, a dead token, a stop.

use upshift::domain::stop::{Stop, StopCause, StopSource};
use upshift::github::{
    CommentId, CommentSlot, GithubError, Identity, Limit, NewPull, Posted, PullOrigin, Readiness, TokenHistory,
    TokenKind,
};

use super::{BOT, MARKER, client, head, stoppable, world};
use crate::world::github::{CiPlan, Comment, Effect, FakeGitHub, Fault, JobPlan, Limits, World};

fn us() -> Identity {
    Identity::Login(BOT.to_owned())
}

fn slot(identity: &Identity) -> CommentSlot<'_> {
    CommentSlot { number: 7, marker: MARKER, identity }
}

fn body(text: &str) -> String {
    format!("{MARKER}\n{text}")
}

fn comment(id: u64, author: &str, body: &str) -> Comment {
    Comment { id, issue: 7, author: author.to_owned(), body: body.to_owned(), ..Comment::default() }
}

/// The bodies of the comments that carry our marker.
fn ours(world: &World) -> Vec<&str> {
    world.comments.iter().map(|comment| comment.body.as_str()).filter(|body| body.starts_with(MARKER)).collect()
}

#[tokio::test]
async fn the_comment_is_created_once_and_then_edited() {
    let github = FakeGitHub::start(world());
    let (client, us) = (client(&github), us());
    let first = client.upsert_comment(slot(&us), &body("working"), None).await.unwrap();
    assert_eq!(first.how, Posted::Created);
    let second = client.upsert_comment(slot(&us), &body("done"), Some(first.id)).await.unwrap();
    assert_eq!((second.how, second.id), (Posted::Updated, first.id));
    assert!(second.url.contains("issuecomment-"));
    assert_eq!(ours(&github.finish()), [body("done")]);
}

#[tokio::test]
async fn an_older_runs_comment_is_taken_over_and_a_deleted_one_is_made_anew() {
    let github = FakeGitHub::start(world());
    github.world().comments.push(comment(5, BOT, &body("of yesterday")));
    let (client, us) = (client(&github), us());
    let taken = client.upsert_comment(slot(&us), &body("today"), None).await.unwrap();
    assert_eq!((taken.how, taken.id), (Posted::TakenOver, CommentId(5)));
    github.world().comments.clear();
    let anew = client.upsert_comment(slot(&us), &body("again"), Some(taken.id)).await.unwrap();
    assert_eq!(anew.how, Posted::Recreated);
    assert_eq!(ours(&github.finish()), [body("again")]);
}

#[tokio::test]
async fn somebody_elses_comment_with_our_marker_is_left_alone() {
    let github = FakeGitHub::start(world());
    let forged = body("all tests pass, merge me");
    github.world().comments.push(comment(5, "mallory", &forged));
    github.world().comments.push(comment(6, BOT, &format!("quoting {MARKER}")));
    let us = us();
    let made = client(&github).upsert_comment(slot(&us), &body("real"), None).await.unwrap();
    assert_eq!(made.how, Posted::Created);
    let world = github.finish();
    assert_eq!(world.comments[0].body, forged);
    assert_eq!(world.comments.iter().map(|comment| comment.edits).sum::<u64>(), 0);
}

#[tokio::test]
async fn a_comment_among_ten_thousand_is_found_on_any_page() {
    let github = FakeGitHub::start(world());
    let (client, us) = (client(&github), us());
    for at in [1, 5_000, 10_000] {
        let all =
            (1..=10_000).map(|id| if id == at { comment(id, BOT, &body("old")) } else { comment(id, "alice", "hm") });
        github.world().comments = all.collect();
        let before = github.seen().len();
        let found = client.upsert_comment(slot(&us), &body("new"), None).await.unwrap();
        assert_eq!((found.how, found.id), (Posted::TakenOver, CommentId(at)), "at {at}");
        assert!(github.seen().len() - before <= 102, "one request per page and one to edit");
    }
    assert_eq!(github.finish().comments.len(), 10_000);
}

#[tokio::test]
async fn a_server_that_does_not_tell_its_last_page_is_read_forwards() {
    let github = FakeGitHub::start(world());
    github.world().links_last = false;
    github.world().comments = (1..=350).map(|id| comment(id, "alice", "hm")).collect();
    github.world().comments[250] = comment(251, BOT, &body("old"));
    let us = us();
    let found = client(&github).upsert_comment(slot(&us), &body("new"), None).await.unwrap();
    assert_eq!((found.how, found.id), (Posted::TakenOver, CommentId(251)));
    github.finish();
}

#[tokio::test]
async fn ten_thousand_comments_without_ours_get_one_and_all_can_be_read() {
    let github = FakeGitHub::start(world());
    github.world().comments = (1..=10_000).map(|id| comment(id, "alice", "hm")).collect();
    let (client, us) = (client(&github), us());
    assert_eq!(client.issue_comments(7, None).await.unwrap().len(), 10_000);
    let made = client.upsert_comment(slot(&us), &body("new"), None).await.unwrap();
    assert_eq!(made.how, Posted::Created);
    assert_eq!(github.finish().comments.len(), 10_001);
}

#[tokio::test]
async fn a_text_above_the_limit_is_refused_before_it_is_sent_and_one_at_the_limit_is_taken() {
    let github = FakeGitHub::start(world());
    let (client, us) = (client(&github), us());
    let fill = |chars: usize| MARKER.to_owned() + &"ü".repeat(chars - MARKER.len());
    let error = client.upsert_comment(slot(&us), &fill(65_537), None).await.unwrap_err();
    assert!(matches!(error, GithubError::TooLong { chars: 65_537, .. }), "{error}");
    assert_eq!(github.seen().len(), 0);
    client.upsert_comment(slot(&us), &fill(65_536), None).await.unwrap();
    github.finish();
}

#[tokio::test]
async fn a_server_with_a_smaller_limit_says_too_long() {
    let github = FakeGitHub::start(World { max_body: 1_000, ..world() });
    let us = us();
    let error = client(&github).upsert_comment(slot(&us), &body(&"x".repeat(2_000)), None).await.unwrap_err();
    assert!(matches!(error, GithubError::TooLong { .. }), "{error}");
    assert_eq!(github.finish().comments.len(), 0);
}

#[tokio::test]
async fn a_lost_answer_to_a_post_leaves_one_comment() {
    for effect in [Effect::LoseAnswer, Effect::DoneBut { code: 502 }, Effect::Drop] {
        let github = FakeGitHub::start(world());
        github.world().faults.push(Fault::once("POST", "/comments", effect.clone()));
        let us = us();
        let made = client(&github).upsert_comment(slot(&us), &body("report"), None).await.unwrap();
        assert_eq!(made.how, Posted::Created, "{effect:?}");
        let world = github.finish();
        assert_eq!(ours(&world), [body("report")], "{effect:?}");
        assert_eq!(world.comments[0].id, made.id.0);
    }
}

#[tokio::test]
async fn a_lost_answer_to_opening_a_pull_request_leaves_one() {
    for effect in [Effect::LoseAnswer, Effect::DoneBut { code: 500 }, Effect::Drop] {
        let github = FakeGitHub::start(world());
        github.world().branches.insert("upshift/fix".to_owned(), "3".repeat(40));
        github.world().faults.push(Fault::once("POST", "/pulls", effect.clone()));
        let new = NewPull {
            title: "Fix".to_owned(),
            body: "Because".to_owned(),
            head_branch: "upshift/fix".to_owned(),
            base_branch: "main".to_owned(),
            readiness: Readiness::Draft,
        };
        let client = client(&github);
        let opened = client.open_pull(&new).await.unwrap();
        assert_eq!((opened.origin, opened.pull.number), (PullOrigin::Opened, 8), "{effect:?}");
        assert!(opened.pull.draft);
        let again = client.open_pull(&new).await.unwrap();
        assert_eq!((again.origin, again.pull.number), (PullOrigin::Reused, 8));
        assert_eq!(github.finish().pulls.len(), 2, "{effect:?}");
    }
}

#[tokio::test]
async fn a_502_is_asked_again_with_growing_pauses_and_told_when_it_stays() {
    let github = FakeGitHub::start(world());
    let broken = Effect::status(502, "Server Error", &[]);
    github.world().faults.push(Fault::once("GET", "/pulls/7", broken.clone()).times(3));
    assert_eq!(client(&github).pull(7).await.unwrap().number, 7);
    assert_eq!(github.clock().slept(), [1_000, 2_000, 4_000]);
    github.world().faults.push(Fault::once("GET", "/pulls/7", broken).times(5));
    let error = client(&github).pull(7).await.unwrap_err();
    assert!(matches!(&error, GithubError::Unreachable { attempts: 5, .. }), "{error}");
    assert!(error.to_string().contains("502"), "{error}");
    github.finish();
}

#[tokio::test]
async fn a_secondary_limit_is_waited_for_and_the_post_then_made_once() {
    for (headers, wait) in [(&[("retry-after", "30")][..], 30_000), (&[][..], 60_000)] {
        let github = FakeGitHub::start(world());
        let limit = Effect::status(403, "You have exceeded a secondary rate limit.", headers);
        github.world().faults.push(Fault::once("POST", "/comments", limit));
        let us = us();
        client(&github).upsert_comment(slot(&us), &body("report"), None).await.unwrap();
        assert_eq!(github.clock().slept(), [wait]);
        assert_eq!(github.finish().comments.len(), 1);
    }
}

#[tokio::test]
async fn a_secondary_limit_that_stays_is_backed_off_from_and_told() {
    let github = FakeGitHub::start(world());
    let limit = Effect::status(429, "You have exceeded a secondary rate limit.", &[]);
    github.world().faults.push(Fault::once("GET", "/pulls/7", limit).times(5));
    let error = client(&github).pull(7).await.unwrap_err();
    assert!(matches!(error, GithubError::RateLimited { limit: Limit::Secondary, .. }), "{error}");
    assert_eq!(github.clock().slept(), [60_000, 120_000, 240_000, 480_000]);
    github.world().faults.clear();
    github.finish();
}

#[tokio::test]
async fn a_spent_hour_is_waited_for_until_its_reset_or_told_at_once_when_that_is_too_late() {
    let limits = Limits { remaining: Some(1), limit: 1_000, resets_at_ms: 600_000 };
    let github = FakeGitHub::start(World { limits, ..world() });
    let client = client(&github);
    client.pull(7).await.unwrap();
    let hurried = client.with_deadline(300_000);
    let error = hurried.pull(7).await.unwrap_err();
    assert!(matches!(error, GithubError::RateLimited { limit: Limit::Primary, .. }), "{error}");
    assert_eq!(github.seen().len(), 1, "nothing is sent that would be refused");
    client.pull(7).await.unwrap();
    assert_eq!(github.clock().slept(), [601_000]);
    github.finish();
}

#[tokio::test]
async fn a_token_that_is_revoked_after_an_hour_is_told_from_one_that_never_worked() {
    let github = FakeGitHub::start(world());
    github.world().token.revoked_at_ms = Some(3_600_000);
    let client = client(&github);
    client.pull(7).await.unwrap();
    github.clock().advance(3_600_000);
    let us = us();
    let error = client.upsert_comment(slot(&us), &body("x"), None).await.unwrap_err();
    assert!(matches!(&error, GithubError::TokenRefused { history: TokenHistory::Worked, .. }), "{error}");
    assert!(error.to_string().contains("one hour"), "{error}");
    let never = stoppable(&github, Stop::never()).pull(7).await.unwrap_err();
    assert!(matches!(never, GithubError::TokenRefused { history: TokenHistory::Never, .. }), "{never}");
    assert!(github.clock().slept().is_empty(), "a dead token is not tried again");
    assert_eq!(github.finish().comments.len(), 0);
}

#[tokio::test]
async fn a_missing_permission_names_the_line_to_add() {
    for (lack, line) in [
        ("pull_requests=write", "pull-requests: write"),
        ("checks=read", "checks: read"),
        ("statuses=read", "statuses: read"),
        ("actions=read", "actions: read"),
    ] {
        let github = FakeGitHub::start(world());
        github.world().token.lacks.push(lack.to_owned());
        let (client, us) = (client(&github), us());
        let error = match lack {
            "pull_requests=write" => client.upsert_comment(slot(&us), &body("x"), None).await.unwrap_err(),
            _ => client.ci_facts(&head()).await.unwrap_err(),
        };
        assert!(matches!(error, GithubError::Forbidden { .. }), "{error}");
        assert!(error.to_string().contains(&format!("add `{line}` under `permissions:`")), "{error}");
        github.finish();
    }
}

#[tokio::test]
async fn a_stop_ends_a_wait_and_the_last_report_still_goes_out() {
    let github = FakeGitHub::start(world());
    let (source, stop) = StopSource::new();
    source.raise(StopCause::Signal(15));
    let client = stoppable(&github, stop);
    let error = client.pull(7).await.unwrap_err();
    assert_eq!(error, GithubError::Stopped(StopCause::Signal(15)));
    assert_eq!(github.seen().len(), 0);
    let us = us();
    client.with_stop(Stop::never()).upsert_comment(slot(&us), &body("interrupted"), None).await.unwrap();
    assert_eq!(ours(&github.finish()), [body("interrupted")]);
}

#[tokio::test]
async fn writes_are_a_second_apart_even_from_clones_at_once() {
    let github = FakeGitHub::start(world());
    let (client, us) = (client(&github), us());
    let first = client.upsert_comment(slot(&us), &body("0"), None).await.unwrap();
    let (a, b) = (client.clone(), client.with_deadline(60_000));
    let (text_a, text_b) = (body("a"), body("b"));
    let both = tokio::join!(
        a.upsert_comment(slot(&us), &text_a, Some(first.id)),
        b.upsert_comment(slot(&us), &text_b, Some(first.id))
    );
    both.0.unwrap();
    both.1.unwrap();
    // The fake complains about writes that are closer.
    assert_eq!(github.finish().comments[0].edits, 2);
}

#[tokio::test]
async fn an_hour_of_waiting_for_ci_costs_less_than_twenty_requests() {
    let plan = CiPlan {
        appears_after_ms: Some(20_000),
        takes_ms: 50 * 60_000,
        jobs: vec![JobPlan { name: "test".to_owned(), conclusion: "failure".to_owned(), ..JobPlan::default() }],
        ..CiPlan::default()
    };
    let github = FakeGitHub::start(World { ci: vec![plan], ..world() });
    let client = client(&github);
    github.world().pushed("fix/thing", super::HEAD, 0);
    let mut polls = 0;
    while github.clock().slept().iter().sum::<u64>() + polls * 15_000 < 3_600_000 {
        client.ci_facts(&head()).await.unwrap();
        github.clock().advance(15_000);
        polls += 1;
    }
    assert_eq!((polls, github.seen().len()), (240, 720));
    assert!(github.counted() <= 20, "{} counted", github.counted());
    let usage = client.usage();
    assert_eq!(usage.requests - usage.unchanged, github.counted() as u64);
    let facts = client.ci_facts(&head()).await.unwrap();
    assert_eq!((facts.runs.len(), facts.checks.len()), (1, 1));
    github.finish();
}

#[tokio::test]
async fn the_tokens_own_account_is_found_or_taken_from_its_kind() {
    let github = FakeGitHub::start(world());
    let client = client(&github);
    assert_eq!(client.identity(TokenKind::Job).await.unwrap(), us());
    assert_eq!(client.identity(TokenKind::Given).await.unwrap(), Identity::SomeBot);
    github.world().token.login = "machine-user".to_owned();
    let person = client.identity(TokenKind::Given).await.unwrap();
    assert_eq!(person, Identity::Login("machine-user".to_owned()));
    github.finish();
}

#[tokio::test]
async fn a_secret_that_is_sent_to_github_fails_the_test_that_sent_it() {
    use crate::world::canary::CANARY;
    let spelled = [format!("{MARKER}\nthe key is {CANARY}"), body(&CANARY.chars().rev().collect::<String>())];
    for told in spelled {
        let github = FakeGitHub::start(world());
        let (client, us) = (client(&github), us());
        client.upsert_comment(slot(&us), &told, None).await.unwrap();
        let complaints = github.complaints();
        assert!(complaints.iter().any(|complaint| complaint.contains("a secret stands in the body")), "{complaints:?}");
    }
    let github = FakeGitHub::start(world());
    let missing = client(&github).role_of(CANARY).await;
    let complaints = github.complaints();
    assert!(complaints.iter().any(|complaint| complaint.contains("a secret stands in the address")), "{missing:?}");
}
