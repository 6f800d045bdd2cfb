//! What somebody writes into the files while a change is judged among them, and after a judgement was killed, is not lost.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::{COMMAND, Program, Repository};

/// Has the next judgement die in the middle, and the later ones live.
fn kill(repository: &mut Repository) {
    repository.program = Program::new().with("UPSHIFT_CRASH_AFTER", "baseline_finished:1");
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, -9, "{}", said.all());
    // The states lie in the home of the program that was killed.
    let program = std::mem::replace(&mut repository.program, Program::new());
    repository.program = program.with("UPSHIFT_CRASH_AFTER", "");
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_killed_judge_leaves_the_way_back_and_later_work_stays() {
    let mut repository = Repository::python();
    repository.mend();
    let before = repository.state();
    kill(&mut repository);
    assert_ne!(repository.state(), before, "the base's product was there");
    let check = ["check", "--tiers", "ollama/qwen3-coder x1", "--test-command", COMMAND];
    let check = repository.program.run(repository.path(), &check);
    assert!(check.out.contains("a judgement was killed here"), "{}", check.all());
    repository.write(&[("shop/__init__.py", "# by hand\n"), ("new/page.md", "mine\n")]);
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.err.contains("a judgement was killed here; what it had changed is restored: 1 file"), "{}", said.err);
    let stay = "kept as they are, since they were changed after it was killed: new/page.md, shop/__init__.py";
    assert!(said.err.contains(stay), "{}", said.err);
    let read = |name: &str| fs::read_to_string(repository.path().join(name)).expect("it stayed");
    assert_eq!((read("shop/__init__.py").as_str(), read("new/page.md").as_str()), ("# by hand\n", "mine\n"));
    repository.write(&[("shop/__init__.py", "")]);
    fs::remove_dir_all(repository.path().join("new")).expect("removed");
    assert_eq!(repository.state(), before);
    let again = repository.judge(&["--test-command", COMMAND]);
    assert!(!again.err.contains("killed here"), "{}", again.err);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_file_that_the_dead_judge_had_written_and_a_person_changed_again_is_kept_beside() {
    let mut repository = Repository::python();
    repository.mend();
    let before = repository.state();
    kill(&mut repository);
    repository.write(&[("shop/cart.py", "# by hand\n")]);
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 0, "{}", said.all());
    let kept =
        said.err.split("their versions are in ").nth(1).and_then(|rest| rest.split(',').next()).expect("a folder");
    assert_eq!(
        fs::read_to_string(repository.path().join(kept).join("shop/cart.py.kept")).expect("kept"),
        "# by hand\n"
    );
    assert_eq!(repository.state(), before);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_file_that_somebody_writes_while_a_change_is_judged_is_named_and_kept_and_one_of_the_tests_is_not() {
    let repository = Repository::python();
    repository.mend();
    let before = repository.state();
    let command = format!("echo run > report.txt; {COMMAND}");
    let mut command = repository.program.command(repository.path(), &["judge", "--test-command", &command]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map(|line| line.expect("text"));
    // Behind the first look many more follow, each of which begins with the files as they were.
    let begun = lines.find(|line| line.contains("the head's tests on the base")).expect("a line");
    repository.write(&[("notes.txt", "mine\n")]);
    let told: String = lines.map(|line| line + "\n").collect();
    assert!(child.wait().expect("it ends").success(), "{begun}\n{told}");
    assert_eq!(repository.state(), before);
    assert!(told.contains("put back: notes.txt; their versions are in "), "{told}");
    let kept = told.split("their versions are in ").nth(1).and_then(|rest| rest.split(',').next()).expect("a folder");
    assert_eq!(fs::read_to_string(repository.path().join(kept).join("notes.txt.kept")).expect("kept"), "mine\n");
    let quiet = repository.judge(&["--test-command", COMMAND]);
    assert!(!quiet.err.contains("put back"), "{}", quiet.err);
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn a_picture_that_a_change_adds_is_no_text_and_hinders_nobody() {
    let repository = Repository::python();
    repository.mend();
    fs::write(repository.path().join("logo.png"), [0x89, b'P', b'N', b'G', 0xff, 0x00, 0xfe]).expect("written");
    let before = fs::read(repository.path().join("logo.png")).expect("there");
    let said = repository.judge(&["--test-command", COMMAND]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert_eq!(fs::read(repository.path().join("logo.png")).expect("still there"), before);
}
