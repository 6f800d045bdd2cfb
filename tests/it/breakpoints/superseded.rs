//! CI of a commit of ours on top of which there is another by now: its answer is waited for no longer, and its minutes are saved where the
//! token may cancel.

use serde_json::json;

use super::waiting::{over, plan};
use super::{Site, mends};
use crate::world::git_server::{commit_all, git};
use crate::world::github::{CiPlan, FakeGitHub, Run};

fn at_work(event: &str) -> CiPlan {
    CiPlan { takes_ms: 10_000_000, event: event.to_owned(), ..plan("success", "") }
}

/// How the runs for a commit stand.
fn ends(github: &FakeGitHub, commit: &str) -> Vec<String> {
    let world = github.world();
    let of_it = world.runs.iter().filter(|run| run.sha == commit);
    of_it.map(|run| run.conclusion.clone().unwrap_or_else(|| run.status.clone())).collect()
}

#[test]
fn a_newer_commit_of_somebody_else_ends_the_waiting_and_ci_of_ours() {
    for (event, lacks, end) in [
        ("pull_request", "", "cancelled"),
        ("pull_request", "actions=write", "in_progress"),
        // It may deploy what was pushed.
        ("push", "", "in_progress"),
    ] {
        let (site, github) = over(Site::new(), vec![at_work(event)]);
        github.world().token.lacks = vec![lacks.to_owned()];
        let seed = site.server.seed();
        let ours = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let seen = std::sync::Arc::clone(&ours);
        site.server.after_push(move |bare| {
            *seen.lock().expect("a lock") = git(bare, &["rev-parse", "main"]).trim().to_owned();
            commit_all(&seed, "newer");
            git(&seed, &["push", "--quiet", "--force", bare.to_str().expect("text"), "HEAD:main"]);
        });
        // CI of our commit had begun: the world would see the newer one alone.
        let begins = |sha: &str| Run {
            id: 4_000,
            sha: sha.to_owned(),
            path: ".github/workflows/ci.yml".to_owned(),
            event: event.to_owned(),
            status: "in_progress".to_owned(),
            attempt: 1,
            ..Run::default()
        };
        let over = std::sync::atomic::AtomicBool::new(false);
        let said = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    let sha = ours.lock().expect("a lock").clone();
                    if !sha.is_empty() && github.world().runs.iter().all(|run| run.id != 4_000) {
                        github.world().runs.push(begins(&sha));
                    }
                    std::thread::yield_now();
                }
            });
            let said = site.run("commit");
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            said
        });
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.out.contains("superseded by a newer commit"), "{}", said.all());
        let sha = ours.lock().expect("a lock").clone();
        let ends = ends(&github, &sha);
        assert!(!ends.is_empty() && ends.iter().all(|one| one == end), "{event} {lacks} {ends:?}: {}", said.all());
        assert_eq!(said.all().contains(" was cancelled ("), end == "cancelled", "{}", said.all());
        site.models.finish();
        github.finish();
    }
}

/// A new run, asked for while CI is at work on what an earlier one pushed.
#[test]
fn a_push_on_top_of_an_earlier_runs_commit_cancels_ci_of_that_and_of_no_commit_of_people() {
    for (message, end) in [("fix: half of it\n\nUpshift-Run-Id: 0199-aa", "cancelled"), ("half of it", "in_progress")] {
        let site = Site::with_models(mends);
        let root = site.root();
        std::fs::write(root.join("notes.txt"), "half\n").expect("written");
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", &format!("--message={message}")]);
        git(&root, &["push", "--quiet", site.server.bare().to_str().expect("text"), "HEAD:refs/heads/main"]);
        let below = site.server.head("main");
        let (site, github) = over(site, vec![CiPlan { takes_ms: 0, ..plan("success", "") }]);
        github.world().token.lacks.clear();
        let run = |id: u64, path: &str| {
            let run = json!({ "id": id, "sha": below, "path": path, "event": "pull_request", "status": "in_progress",
                "attempt": 1, "name": path, "workflowId": id, "branch": "main" });
            serde_json::from_value::<Run>(run).expect("a run")
        };
        github.world().runs = vec![run(1, ".github/workflows/ci.yml")];
        let said = site.with("UPSHIFT_WAIT_FOR", "none").run("commit");
        assert_eq!(said.code, 0, "{}", said.all());
        assert_eq!(ends(&github, &below), [end], "{message}: {}", said.all());
        github.finish();
    }
}
