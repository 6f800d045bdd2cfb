//! What a run leaves that was killed: said before anything is paid, gone on with, or put back.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::{assert_ended_by, database_of, script};
use crate::world::model_server::{ModelServer, Scripted};
use crate::world::program::{Program, Said};
use crate::world::project::Project;

/// Long enough for any machine; nothing waits for its end.
const LONG: Duration = Duration::from_secs(60);

/// The same command behind others words: a program that starts it.
fn behind(command: &Command, words: &[&str]) -> Command {
    let mut outer = Command::new(words[0]);
    outer.args(&words[1..]).arg(command.get_program()).args(command.get_args());
    outer.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(command.get_current_dir().expect("a folder"));
    outer
}

fn hang_up(pid: u32) {
    let kill = Command::new("kill").args(["-HUP", &pid.to_string()]).status();
    assert!(kill.expect("kill").success());
}

fn arguments<'a>(project: &Project, database: &'a str, ladder: &'a str) -> Vec<&'a str> {
    vec!["run", "--audit-db", database, "--tiers", ladder, "--test-command", project.test_command]
}

fn text(path: &Path) -> String {
    path.to_str().expect("text").to_owned()
}

#[test]
fn b8_a_hangup_ends_the_run_in_order() {
    assert_ended_by("HUP", 129);
}

#[test]
fn b8_a_terminal_that_goes_away_ends_the_run_in_order() {
    /// Starts a program on a terminal of its own, which goes away when a line comes in.
    const TERMINAL: &str = "import os, pty, select, sys\npid, terminal = pty.fork()\n\
        if pid == 0:\n    os.execv(sys.argv[1], sys.argv[1:])\n\
        while 0 not in select.select([0, terminal], [], [])[0]:\n    os.read(terminal, 65536)\n\
        os.close(terminal)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n";
    let project = Project::python();
    let database = text(&database_of(&project));
    let (asked, was_asked) = mpsc::channel();
    let server = ModelServer::start(move |request| match request.turn() {
        0 | 1 => script(request),
        _ => {
            asked.send(()).expect("somebody listens");
            Scripted::Hang
        }
    });
    let program = Program::with_anthropic(&server.url());
    let command = program.command(project.path(), &arguments(&project, &database, "claude-haiku-4-5 x2"));
    let mut command = behind(&command, &["python3", "-c", TERMINAL]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    was_asked.recv_timeout(LONG).expect("the third turn is asked for");
    child.stdin.take().expect("a pipe").write_all(b"go\n").expect("written");
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!(said.out, "129\n", "{}", said.all());
    assert!(project.read("shop/cart.py").contains("sum(prices) - 1"), "the start is restored");
    let report = program.run(project.path(), &["report", "--audit-db", &database]);
    assert!(report.out.contains("Interrupted by SIGHUP"), "{}", report.all());
}

#[test]
fn b8_a_hangup_does_not_count_under_nohup() {
    let project = Project::python();
    let database = text(&database_of(&project));
    let (asked, was_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let server = ModelServer::start(move |request| {
        if request.turn() == 2 {
            asked.send(()).expect("somebody listens");
            may_go.recv_timeout(LONG).expect("the hangup was sent");
        }
        script(request)
    });
    let program = Program::with_anthropic(&server.url());
    let command = program.command(project.path(), &arguments(&project, &database, "claude-sonnet-4-5 x1"));
    let mut command = behind(&command, &["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    was_asked.recv_timeout(LONG).expect("the third turn is asked for");
    hang_up(child.id());
    go.send(()).expect("it waits");
    let said = Said::from(child.wait_with_output().expect("ended"));
    assert_eq!(said.code, 0, "{}", said.all());
    server.finish();
}
