//! The artifact of the Action: it has what the summary says it has.

use std::path::{Path, PathBuf};

use super::{locks, mend, priced};
use crate::action::step::Job;
use crate::world::model_server::{ModelServer, Say};
use crate::world::project::Project;

/// The files that `action.yml` keeps, as patterns below the runner's temporary folder.
fn patterns() -> Vec<String> {
    let action = std::fs::read_to_string("action.yml").expect("the action");
    let list = action.split_once("Keep the audit log").expect("the step").1.split_once("path: |").expect("its list").1;
    let lines = list.lines().skip(1).map(str::trim);
    lines.map_while(|line| line.strip_prefix("${{ runner.temp }}/")).map(str::to_owned).collect()
}

fn fits(pattern: &str, path: &Path) -> bool {
    let parts: Vec<&str> = pattern.split('/').collect();
    let names: Vec<String> = path.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    parts.len() == names.len()
        && parts.iter().zip(&names).all(|(part, name)| match part.split_once('*') {
            Some((before, after)) => name.starts_with(before) && name.ends_with(after),
            None => part == name,
        })
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn the_artifact_has_what_a_locked_log_did_not_take_wherever_the_log_lies() {
    for audit_db in ["", ".upshift/audit.db"] {
        let project = Project::python();
        let temp = std::sync::Arc::new(std::sync::Mutex::new(PathBuf::new()));
        let (of_job, mut answer) = (std::sync::Arc::clone(&temp), mend(&project));
        let held = std::sync::Arc::new(std::sync::Mutex::new(None));
        let holder = std::sync::Arc::clone(&held);
        let server = ModelServer::start_with(priced(), move |request| {
            if request.turn() == 1 {
                let mut found = Vec::new();
                files_below(&of_job.lock().expect("nobody panicked"), &mut found);
                let log = found.into_iter().find(|path| path.ends_with("audit.db")).expect("the live log");
                let other = rusqlite::Connection::open(&log).expect("the log");
                other.execute_batch("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE").expect("the lock");
                *holder.lock().expect("nobody panicked") = Some(other);
            }
            answer(request)
        });
        let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x1").with("UPSHIFT_ACTION", "true");
        let job = if audit_db.is_empty() { job } else { job.with("UPSHIFT_AUDIT_DB", audit_db) };
        *temp.lock().expect("nobody panicked") = job.file("temp");
        let said = job.run(&project);
        assert_eq!(said.code, 0, "{}", said.all());
        let mut found = Vec::new();
        files_below(&job.file("temp"), &mut found);
        let spool = found.iter().find(|path| path.to_string_lossy().ends_with(".spool.jsonl")).expect("the spool");
        let below = spool.strip_prefix(job.file("temp")).expect("below it");
        assert!(patterns().iter().any(|pattern| fits(pattern, below)), "{audit_db}: {below:?}");
        assert!(job.text("summary").contains("is in the artifact `upshift-"), "{}", job.text("summary"));
        drop(held.lock().expect("nobody panicked").take());
        server.finish();
    }
}

#[test]
fn a_log_that_the_artifact_does_not_have_is_not_promised() {
    let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
    let database = super::database(folder.path());
    let (held, script) = locks(database.clone(), mend(&project));
    let server = ModelServer::start_with(priced(), script);
    let job = Job::new(&server.url())
        .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
        .with("UPSHIFT_ACTION", "true")
        .with("UPSHIFT_AUDIT_DB", database.to_str().expect("text"));
    let said = job.run(&project);
    assert_eq!(said.code, 0, "{}", said.all());
    let summary = job.text("summary");
    assert!(summary.contains("its audit log is on the runner, and kept if the job uploads it"), "{summary}");
    assert!(!summary.contains("Every attempt") && !summary.contains("/audit.db"), "{summary}");
    drop(held.lock().expect("nobody panicked").take());
    server.finish();
}

#[test]
fn a_log_that_was_fetched_is_told_with_where_it_is() {
    let project = Project::python();
    let wrong = serde_json::json!({ "path": project.source, "old_text": project.wrong, "new_text": "    return 7" });
    let server = ModelServer::start_with(priced(), move |request| match request.turn() {
        0 => Say::call("edit_file", wrong.clone()).usage(1_000, 50).into(),
        _ => {
            Say::call("final_report", serde_json::json!({ "summary": "tried", "status": "done" })).usage(10, 10).into()
        }
    });
    let job = Job::new(&server.url()).with("UPSHIFT_TIERS", "claude-haiku-4-5 x1").with("UPSHIFT_ACTION", "true");
    let said = job.run(&project);
    assert_eq!(said.code, 1, "{}", said.all());
    let log = PathBuf::from(&job.outputs()["audit-db"]);
    let was = job.file("temp").display().to_string();
    let fetched = tempfile::tempdir().expect("a folder");
    let there = fetched.path().join("upshift-1");
    std::fs::create_dir(&there).expect("a folder");
    std::fs::copy(&log, there.join("audit.db")).expect("copied");
    let mut found = Vec::new();
    files_below(&job.file("temp"), &mut found);
    let patch = found.into_iter().find(|path| path.ends_with("best.patch")).expect("the patch");
    std::fs::rename(job.file("temp"), job.file("gone")).expect("the runner is gone");
    let look = |arguments: &[&str]| {
        let program = crate::world::program::Program::new();
        program.run(fetched.path(), &[arguments, &["--audit-db", "upshift-1/audit.db"]].concat())
    };
    // Where the patch was not fetched, it is taken from the log.
    let text = look(&["report"]).out;
    let apply = text.lines().find(|line| line.contains("git apply")).unwrap_or_else(|| panic!("{text}"));
    assert!(apply.contains(" --last-patch --audit-db upshift-1/audit.db | git apply"), "{text}");
    let printed = look(&["show", "--last-patch"]).out;
    let kept = std::fs::read_to_string(patch.to_string_lossy().replace("/temp/", "/gone/")).expect("the patch");
    assert_eq!(printed, kept);

    let short = patch.parent().expect("a folder").file_name().expect("a name").to_owned();
    std::fs::create_dir(there.join(&short)).expect("a folder");
    std::fs::write(there.join(&short).join("best.patch"), &kept).expect("written");
    for form in ["text", "md", "html", "json"] {
        let report = look(&["report", "--format", form]).out;
        assert!(!report.contains(&was), "{form}: {report}");
        assert!(report.contains("upshift-1/audit.db"), "{form}: {report}");
        let patch = format!("upshift-1/{}/best.patch", short.to_string_lossy());
        assert!(report.contains(&patch), "{form}: {report}");
    }
    server.finish();
}
