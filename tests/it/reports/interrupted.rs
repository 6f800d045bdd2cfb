//! Runs that a signal ends while a model works: nothing of its change is lost, and the way on is told as it is.

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{PATIENCE, database, mend, priced};
use crate::world::model_server::{ModelServer, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// A run that gets a signal while the model's second turn is under way, which does not come to an end.
fn interrupted(signal: &'static str, ladder: &str, project: &Project, folder: &std::path::Path) -> (Program, Said) {
    let pid: Arc<Mutex<Option<u32>>> = Arc::default();
    let (child_pid, mut answer) = (Arc::clone(&pid), mend(project));
    let (started, is_started) = std::sync::mpsc::channel::<()>();
    let server = ModelServer::start_with(priced(), move |request| {
        if request.turn() == 0 {
            return answer(request);
        }
        is_started.recv_timeout(PATIENCE).expect("the test goes on");
        let pid = child_pid.lock().expect("nobody panicked").expect("started").to_string();
        let kill = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(kill.expect("kill").success());
        Scripted::Hang
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let path = database(folder);
    let path = path.to_str().expect("text");
    let args = ["run", "--audit-db", path, "--tiers", ladder, "--test-command", project.test_command];
    let mut command = program.command(project.path(), &args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    *pid.lock().expect("nobody panicked") = Some(child.id());
    started.send(()).expect("somebody listens");
    let said = Said::from(child.wait_with_output().expect("ended"));
    (program, said)
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b8_the_change_of_an_interrupted_iteration_is_kept_and_told() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
        let (program, said) = interrupted(signal, "claude-haiku-4-5 x2", &project, folder.path());
        assert_eq!(said.code, code, "{}", said.all());
        assert!(project.read(project.source).contains(project.wrong), "the start is restored");
        let path = database(folder.path());
        let path = path.to_str().expect("text");
        let json = program.run(project.path(), &["report", "--format", "json", "--audit-db", path]).out;
        let report: Value = serde_json::from_str(&json).expect("JSON");
        assert!(
            !said.all().contains("by signal "),
            "a signal has a name, and what it killed did not crash: {}",
            said.all()
        );
        assert_eq!(report["recent_errors"], json!([]), "{report:#}");
        let patch = report["unjudged_patch"].as_str().unwrap_or_else(|| panic!("{signal}: {}", said.all())).to_owned();
        assert_eq!(report["best_patch"], json!(null), "nobody has judged it: {report:#}");
        let step = format!("was not judged and is not in the files. It was kept: git apply {patch}");
        let unbroken = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unbroken(&said.out).contains(&step), "{signal}: {}", said.out);
        assert!(said.out.contains(" to start iteration 2 of Tier 1; what is finished"), "{signal}: {}", said.out);
        let asked =
            said.err.contains("The model is asked for its report, then the run ends, in 5 seconds at the latest");
        assert_eq!(asked, signal == "INT", "{signal}: {}", said.err);
        let printed = program.run(project.path(), &["show", "--last-patch", "--audit-db", path]);
        assert_eq!(printed.out, std::fs::read_to_string(&patch).expect("the patch"), "{}", printed.all());
        let applied = Command::new("git").args(["apply", &patch]).current_dir(project.path()).status();
        assert!(applied.expect("git").success());
        assert!(project.read(project.source).contains(project.right), "{signal}");
    }
}

#[test]
fn b8_after_an_interruption_its_tier_goes_on_however_few_iterations_it_has() {
    for ladder in ["claude-haiku-4-5 x1 > claude-sonnet-4-5 x1", "claude-haiku-4-5 x1"] {
        let (project, folder) = (Project::python(), tempfile::tempdir().expect("a folder"));
        let (_program, said) = interrupted("TERM", ladder, &project, folder.path());
        assert!(said.out.contains(" to start iteration 2 of Tier 1; what is finished"), "{ladder}: {}", said.all());
    }
}
