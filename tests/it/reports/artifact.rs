//! The artifact of the Action: it has what the summary says it has.

use std::path::{Path, PathBuf};

use super::{locks, mend, priced};
use crate::action::step::Job;
use crate::world::model_server::ModelServer;
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
