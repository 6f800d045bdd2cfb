//! What a run stops at in a checkout before it begins, and who tells of it beforehand.

use std::process::Command;

use serde_json::Value;

use crate::world::git_server::git;
use crate::world::program::Program;

#[test]
fn both_sides_of_a_conflict_are_for_a_person_and_no_model_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let put = |text: &str| std::fs::write(root.join("price.sh"), text).expect("written");
    let commit = |text: &str| {
        put(text);
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", text.trim()]);
    };
    git(root, &["init", "-q", "-b", "main"]);
    commit("echo 1\n");
    git(root, &["switch", "-qc", "other"]);
    commit("echo 2\n");
    git(root, &["switch", "-q", "main"]);
    commit("echo 3\n");
    let merged = Command::new("git").args(["merge", "-q", "other"]).current_dir(root).output().expect("git");
    assert!(!merged.status.success(), "it is a conflict");

    // Nobody answers there: a call would be an error of its own.
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let flags = ["--test-command", "sh price.sh", "--no-audit"];
    let run = program.run(root, &[&["run"][..], &flags].concat());
    let said = "a merge is under way here, with conflicts in price.sh\n→ Fix: resolve them and `git add` the files";
    assert!(run.code == 2 && run.err.contains(said) && run.err.contains("No LLM calls were made"), "{}", run.all());

    let check = program.run(root, &[&["check", "--format", "json"][..], &flags].concat());
    let document: Value = serde_json::from_str(&check.out).expect("a document");
    assert_eq!((check.code, &document["runs"]), (0, &false.into()), "{}", check.all());
    assert_eq!(document["obstacles"][0]["about"], "git");
    let doctor = program.run(root, &[&["doctor"][..], &flags[..2]].concat());
    assert!(doctor.code == 1 && doctor.out.contains("✖ git: a merge is under way here"), "{}", doctor.all());

    // Resolved and not committed yet is a tree like any other.
    put("echo 2; exit 0\n");
    git(root, &["add", "-A"]);
    let green = program.run(root, &[&["run"][..], &flags].concat());
    assert_eq!(green.code, 0, "{}", green.all());
}

#[test]
fn a_log_that_is_none_is_told_before_a_run_meets_it() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("notes.txt"), "no database, whatever it is called").expect("written");
    let program = Program::with_anthropic("http://127.0.0.1:9");
    let flags = ["--test-command", "false", "--audit-db", "notes.txt"];
    let said = "notes.txt is not a SQLite database";
    let check = program.run(folder.path(), &[&["check"][..], &flags].concat());
    assert!(check.code == 0 && check.out.starts_with("! ") && check.out.contains(said), "{}", check.all());
    let doctor = program.run(folder.path(), &[&["doctor"][..], &flags].concat());
    assert!(doctor.code == 1 && doctor.out.contains(said), "{}", doctor.all());
    let run = program.run(folder.path(), &[&["run"][..], &flags].concat());
    assert!(run.code == 2 && run.err.contains(said), "{}", run.all());
    let status = program.run(folder.path(), &["tasks", "status", "--audit-db", "notes.txt"]);
    assert!(status.code == 2 && status.err.contains(said), "{}", status.all());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing was made beside it");
}
