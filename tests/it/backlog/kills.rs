//! Killed with SIGKILL behind each of its effects, a backlog goes on with the same command: nothing is paid, committed or completed twice.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::{BUGS, WITH, git, mends, project, subjects, work_off};
use crate::world::model_server::ModelServer;
use crate::world::program::Program;
use crate::world::sampled;

/// A second iteration stands ready: one in which a run is ended by a signal counts.
const WORK: [&str; 4] = ["--tiers", "claude-haiku-4-5 x2", "--tasks", "failing-tests"];

/// What is told behind each effect, and how often it has been told when the kill comes.
const KILLS: [(&str, usize); 9] = [
    ("engine:started", 1),
    ("task:selected", 1),
    ("task:activated", 1),
    ("iteration:started", 2),
    ("\"event\":\"run_started\"", 1),
    ("\"event\":\"call_settled\"", 1),
    ("\"type\":\"report\"", 1),
    ("iteration:completed", 2),
    ("task:completed", 1),
];

#[test]
fn a_killed_backlog_goes_on_and_nothing_is_done_twice() {
    for (word, times) in sampled(KILLS) {
        let project = project();
        let server = ModelServer::start(mends);
        let program = Program::with_anthropic(&server.url());
        let args: Vec<&str> = ["run"].iter().chain(&WITH).chain(&WORK).chain(&["--format", "jsonl"]).copied().collect();
        let mut child = program
            .command(project.path(), &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut left = times;
        for line in BufReader::new(child.stdout.take().expect("its output")).lines() {
            let Ok(line) = line else { break };
            left -= usize::from(left > 0 && line.contains(word));
            if left == 0 {
                child.kill().expect("killed");
            }
        }
        child.wait().expect("it ends");
        // What it started ends by itself, and is told of until then.
        let mut said = work_off(&program, &project, &WORK);
        while said.code == 2 && said.all().contains("another upshift is at work") {
            said = work_off(&program, &project, &WORK);
        }
        assert_eq!(said.code, 0, "{word}: {}", said.all());
        assert_eq!(subjects(&project).len(), BUGS.len(), "{word}: {}", said.all());
        assert_eq!(git(&project, &["status", "--porcelain"]), "", "{word}: {}", said.all());
        let paid = server.requests().len();
        // An iteration that was ended by a signal is gone: its task has another, of two calls.
        assert!((2 * BUGS.len()..=2 * BUGS.len() + 2).contains(&paid), "{word}: {paid} calls, {}", said.all());
        server.finish();
    }
}
