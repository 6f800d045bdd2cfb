//! Runs that wait without a job, and are not to go on: by a person's word, by a newer commit, by the end of their pull request.

use serde_json::{Value, json};

use super::gate::comment_by;
use super::killed::Effect;
use super::reentry::{Repository, proposing};
use super::unblocked::{blocked_by, waits};
use crate::world::git_server::git;

/// Ada's comment, with this number.
fn says(body: &str, id: u64) -> Value {
    let mut payload = comment_by("ada");
    payload["comment"]["body"] = json!(body);
    payload["comment"]["id"] = json!(id);
    payload["repository"] = json!({ "default_branch": "main", "full_name": "acme/shop" });
    payload
}

fn reactions(repository: &Repository) -> Vec<String> {
    repository.site.github.world().reactions.iter().map(|reaction| reaction.content.clone()).collect()
}

/// Ada pushes a commit on top of the branch's.
fn ada_pushes(repository: &Repository, branch: &str) {
    let (server, seed) = (&repository.site.server, repository.site.server.seed());
    git(&seed, &["fetch", "--quiet", server.bare().to_str().expect("text"), branch]);
    git(&seed, &["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    std::fs::write(seed.join("notes.txt"), "by ada\n").expect("written");
    server.somebody_pushes(branch);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn stop_ends_the_wait_of_a_parked_run_and_nothing_wakes_it() {
    for is_blocked in [false, true] {
        let mut repository = match is_blocked {
            true => blocked_by(Repository::with_models(&["failure"], waits)),
            false => Repository::new(&["failure"]),
        };
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{}", first.said());
        let asked = repository.models.requests().len();
        let stopped = repository.job_for("issue_comment", &says("/upshift stop", 900_000), &[]);
        assert!(stopped.run.is_none() && stopped.gate.code == 0, "{}", stopped.said());
        assert!(stopped.said().contains("✔ Stopped: 1 run of this pull request"), "{}", stopped.said());
        let comment = repository.comment();
        assert!(comment.contains("> **Stopped.** A comment ended the wait"), "{comment}");
        assert!(!comment.contains(" standing=") && !comment.contains(" held="), "{comment}");
        assert_eq!(reactions(&repository), ["+1"], "{}", stopped.said());
        // Once more, as a job that somebody has run again does: it was heard.
        let again = repository.job_for("issue_comment", &says("/upshift stop", 900_000), &[]);
        assert!(again.said().contains("an earlier run has answered this comment"), "{}", again.said());
        assert_eq!(reactions(&repository), ["+1"], "{}", again.said());
        if is_blocked {
            repository.site.github.world().pulls[1].state = "merged".to_owned();
        }
        let end = repository.ci_ends();
        let woken = repository.job(&end);
        if is_blocked {
            // Red CI of a person's commit begins a run of its own.
            assert_ne!(woken.output("run-id"), first.output("run-id"), "{}", woken.said());
        } else {
            assert!(woken.run.is_none(), "{}", woken.said());
            assert_eq!(repository.models.requests().len(), asked, "{}", woken.said());
        }
        let _world = repository.finish();
    }
}

/// The job that was at work died before it could hear the word: the next end of CI would have gone on with its run.
#[test]
fn stop_ends_a_run_whose_process_died() {
    let mut repository = Repository::new(&["failure"]);
    repository.trap.arm(Effect::Pushed, 1);
    let killed = repository.job(&repository.told("failure"));
    assert!(!repository.trap.disarm() && killed.was_killed(), "{}", killed.said());
    assert!(repository.comment().contains(" standing=working"), "{}", repository.comment());
    let asked = repository.models.requests().len();
    let stopped = repository.job_for("issue_comment", &says("/upshift stop", 900_000), &[]);
    assert!(stopped.said().contains("✔ Stopped: 1 run of this pull request"), "{}", stopped.said());
    let woken = repository.job(&repository.ci_ends());
    assert!(woken.run.is_none(), "{}", woken.said());
    assert_eq!((repository.models.requests().len(), reactions(&repository)), (asked, vec!["+1".to_owned()]));
    let _world = repository.finish();
}

#[test]
fn a_newer_commit_ends_the_wait_of_a_parked_run() {
    let mut repository = Repository::new(&["success"]);
    let first = repository.job(&repository.told("failure"));
    assert_eq!(first.output("outcome"), "parked", "{}", first.said());
    let end = repository.ci_ends();
    ada_pushes(&repository, "topic");
    let newer = repository.site.server.head("topic");
    let woken = repository.job(&end);
    assert!(woken.run.is_none() && woken.gate.code == 0, "{}", woken.said());
    let comment = repository.comment();
    let told = format!("> **The wait is over.** `{}` is the head now", newer.get(..7).expect("a commit"));
    assert!(comment.contains(&told) && !comment.contains(" standing="), "{comment}");
    assert_eq!((repository.models.requests().len(), repository.site.server.pushes()), (2, 1));
    let _world = repository.finish();
}

#[test]
fn a_merge_with_a_persons_commit_on_top_ends_the_run_that_waits_for_it() {
    let (mut repository, first) = proposing();
    let pull = repository.site.github.world().pulls.last().cloned().expect("a pull request");
    let by_ci = repository.job(&repository.ci_ends_on(pull.number));
    assert_eq!(by_ci.output("outcome"), "parked", "{}", by_ci.said());
    ada_pushes(&repository, &pull.head_branch);
    let newer = repository.site.server.head(&pull.head_branch);
    repository.site.github.world().pulls.last_mut().expect("it").head_sha = newer;
    let payload = repository.pull_is(pull.number, "merged");
    let last = repository.job_for("pull_request", &payload, &[]);
    assert_eq!(
        (last.output("checkout"), last.output("run-id")),
        ("false".to_owned(), first.output("run-id")),
        "{}",
        last.said()
    );
    let outcome = last.output("outcome");
    assert_eq!(outcome, "fixed", "{}", last.said());
    assert_eq!((repository.models.requests().len(), repository.site.server.pushes()), (2, 1));
    let _world = repository.finish();
}

/// The run that waits keeps its comment and its standing: a new one would take both over.
#[test]
fn a_person_who_asks_for_a_run_while_one_waits_is_told_so_and_continues_it_once_ci_is_over() {
    for body in ["/upshift", "/upshift retry"] {
        let mut repository = Repository::new(&["failure", "success"]);
        let first = repository.job(&repository.told("failure"));
        assert_eq!(first.output("outcome"), "parked", "{body}: {}", first.said());
        let before = repository.comment();
        let asked = repository.job_for("issue_comment", &says(body, 900_000), &[]);
        assert!(asked.run.is_none() && asked.gate.code == 0, "{body}: {}", asked.said());
        let reason = asked.output("reason");
        assert!(reason.contains("is still waiting for test") && reason.contains("`/upshift stop`"), "{reason}");
        assert_eq!((reactions(&repository), repository.comment()), (vec!["eyes".to_owned()], before), "{body}");
        // CI is over, and its event has not come: the comment is as good.
        let _told = repository.ci_ends();
        let second = repository.job_for("issue_comment", &says(body, 900_001), &[]);
        assert_eq!(second.output("run-id"), first.output("run-id"), "{body}: {}", second.said());
        assert_eq!(second.output("outcome"), "parked", "{body}: {}", second.said());
        assert_eq!(repository.site.server.pushes(), 2, "{body}: {}", second.said());
        let _world = repository.finish();
    }
}

#[test]
fn an_edited_comment_starts_nothing() {
    let mut repository = Repository::new(&["success"]);
    let mut payload = says("/upshift", 900_000);
    payload["action"] = json!("edited");
    let edited = repository.job_for("issue_comment", &payload, &[]);
    assert!(edited.run.is_none() && edited.gate.code == 0, "{}", edited.said());
    assert!(edited.said().contains("the comment was edited"), "{}", edited.said());
    let _world = repository.finish();
}
