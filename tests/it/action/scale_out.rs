//! The workflow of `docs/scale-out.md`, word for word, under act: a backlog parted into jobs, and what they mended proposed.

use serde_json::{Value, json};

use super::act::{Ran, Runner};
use super::delivery::Site;
use super::file;
use crate::backlog::{BUGS, failing_of, files_with_bugs, mends};
use crate::world::git_server::TOKEN;
use crate::world::model_server::{ModelServer, Request, Say, Scripted};
use crate::world::program::KEY;

/// The workflow that the page prints.
fn caller() -> String {
    let page = file("docs/scale-out.md");
    let block = page.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let given = "test-command: pytest\n";
    assert!(block.contains(given), "{block}");
    block.replace(given, "test-command: python3 -m unittest -v\n      tiers: claude-haiku-4-5 x1\n")
}

/// The workflow to be called where the runner tells which commit it is from: act does not.
fn told_its_commit() -> String {
    let text = file(".github/workflows/tasks.yml");
    assert!(text.contains("${{ job.workflow_sha }}") && text.contains("${{ job.workflow_repository }}"));
    text.replace("${{ job.workflow_sha }}", "v1").replace("${{ job.workflow_repository }}", "OWNER/upshift")
}

/// A repository with three bugs on its default branch.
fn site(mended: bool) -> Site {
    let mut files = files_with_bugs();
    for (path, text) in &mut files {
        let bug = BUGS.iter().find(|(module, ..)| path == &format!("shop/{module}.py"));
        if let Some((_, wrong, right, _)) = bug.filter(|_| mended) {
            *text = text.replace(wrong, right);
        }
    }
    let others = [("shop/__init__.py", ""), ("tests/__init__.py", ""), (".gitignore", "__pycache__/\n")];
    let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).chain(others);
    let site = Site::of(&files.collect::<Vec<_>>(), &[]);
    site.github.world().pulls.clear();
    site
}

fn started(site: &Site, models: &ModelServer) -> Ran {
    let kept = tempfile::Builder::new().prefix("checkout-").tempdir().expect("a folder");
    let root = kept.path().join("shop");
    site.server.clone_to(&root);
    let runner = Runner::of_many_jobs(root, kept, (&caller(), &told_its_commit()));
    let repository = json!({ "default_branch": "main", "full_name": "acme/shop" });
    let payload: Value = json!({ "ref": "refs/heads/main", "inputs": {}, "repository": repository });
    site.told(runner, models).secret("UPSHIFT_PUSH_TOKEN", TOKEN).run("workflow_dispatch", &payload)
}

fn artifacts(ran: &Ran) -> Vec<String> {
    ran.archives().into_iter().map(|(name, _)| name).collect()
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn three_jobs_mend_three_bugs_and_one_pull_request_proposes_them() {
    let site = site(false);
    let models = ModelServer::start(mends);
    let ran = started(&site, &models);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert!(!ran.log.contains(TOKEN) && !ran.log.contains(KEY), "{}", ran.log);
    let logs = ["upshift-merged-77-1", "upshift-tasks-77-1-1", "upshift-tasks-77-1-2", "upshift-tasks-77-1-3"];
    assert_eq!(artifacts(&ran), logs, "{}", ran.log);
    assert_eq!(models.requests().len(), 6, "two calls a bug: {}", ran.log);
    models.finish();
    let world = site.github.finish();
    let [pull] = world.pulls.as_slice() else { panic!("{:?}\n{}", world.pulls, ran.log) };
    assert!(pull.base_branch == "main" && pull.head_branch.starts_with("upshift/merge-"), "{pull:?}");
    for (module, _, right, _) in BUGS {
        let text = site.server.git(&["show", &format!("{}:shop/{module}.py", pull.head_branch)]);
        assert!(text.contains(right), "{module}: {text}");
    }
    assert_eq!(site.server.head("main"), site.start, "nobody but a person merges");
}

/// A bug that no model mends costs its own job and nobody else's fix.
#[test]
#[ignore = "needs act, which .ci/act installs"]
fn a_bug_that_stays_is_told_and_the_others_are_proposed() {
    fn mends_two(request: &Request) -> Scripted {
        if failing_of(request).contains("test_words") {
            return Say::call("final_report", json!({ "summary": "no idea", "status": "done" }))
                .usage(1_000, 20)
                .into();
        }
        mends(request)
    }
    let site = site(false);
    let models = ModelServer::start(mends_two);
    let ran = started(&site, &models);
    assert_eq!(ran.code, Some(1), "{}", ran.log);
    assert_eq!(artifacts(&ran).len(), 4, "{}", ran.log);
    models.finish();
    let world = site.github.finish();
    let [pull] = world.pulls.as_slice() else { panic!("{:?}\n{}", world.pulls, ran.log) };
    let mended = BUGS.map(|(module, _, right, _)| {
        site.server.git(&["show", &format!("{}:shop/{module}.py", pull.head_branch)]).contains(right)
    });
    assert_eq!(mended, [true, true, false], "{}", pull.body);
    assert!(pull.body.contains("| `tests/test_words.py` | ✖ not mended: "), "{}", pull.body);
}

#[test]
#[ignore = "needs act, which .ci/act installs"]
fn where_nothing_fails_there_is_no_job() {
    let site = site(true);
    let models = ModelServer::start(mends);
    let ran = started(&site, &models);
    assert_eq!(ran.code, Some(0), "{}", ran.log);
    assert_eq!(artifacts(&ran), Vec::<String>::new(), "{}", ran.log);
    assert!(models.requests().is_empty() && site.github.finish().pulls.is_empty());
}
