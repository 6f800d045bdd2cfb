//! Confinement with the default settings: real projects build and test inside it, and the report says what is not given.

mod rooms;

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::action::step::Job;
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;
use crate::world::project::Project;

/// Runs upshift's baseline on a folder, without any model: `read` the word that the tests leave.
fn baseline(folder: &Path, command: &str, flags: &[&str]) -> crate::world::program::Said {
    let args: Vec<&str> = ["run", "--no-audit", "--model", "ollama/none", "--test-command", command]
        .iter()
        .chain(flags)
        .copied()
        .collect();
    Program::new().run(folder, &args)
}

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
    folder
}

#[test]
fn a_c_project_is_built_and_tested() {
    let has_compiler = Command::new("cc").arg("--version").output().is_ok_and(|said| said.status.success());
    // `.ci/run` may not leave this out.
    let must = crate::red_team::ledger::is_kept();
    assert!(has_compiler || !must, "there is no C compiler");
    if !has_compiler {
        return;
    }
    let folder = project(&[
        ("Makefile", "test: t\n\t./t\n\t@echo '1 passed, 0 failed'\nt: t.c\n\tcc -o t t.c\n"),
        ("t.c", "#include <stdio.h>\nint main(void) { FILE *f = tmpfile(); return f ? 0 : 1; }\n"),
    ]);
    let said = baseline(folder.path(), "make test", &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(folder.path().join("t").exists());
}

#[test]
fn tests_may_use_temporary_files_unix_sockets_semaphores_terminals_and_their_loopback() {
    let script = r#"
import multiprocessing, os, pty, socket, tempfile, unittest
class All(unittest.TestCase):
    def test_temporary(self):
        tempfile.NamedTemporaryFile().write(b"x")
    def test_unix(self):
        here = os.path.join(tempfile.mkdtemp(), "s")
        server = socket.socket(socket.AF_UNIX); server.bind(here); server.listen()
        client = socket.socket(socket.AF_UNIX); client.connect(here)
    def test_semaphore(self):
        multiprocessing.Lock()
    def test_terminal(self):
        pty.openpty()
    def test_loopback(self):
        server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname())
"#;
    let folder = project(&[("test_all.py", script)]);
    let said = baseline(folder.path(), "python3 -m unittest -v", &[]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(said.all().contains("Already green"), "{}", said.all());
}

#[test]
fn a_setup_command_has_the_network_and_the_tests_have_none() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let call = format!("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'");
    let folder =
        project(&[("test_a.py", "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n")]);
    let setup = format!("{call} && echo yes > setup");
    let tests = format!("{call} 2>/dev/null && echo yes > tests; python3 -m unittest -v");
    let said = baseline(folder.path(), &tests, &["--setup-command", &setup]);
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(folder.path().join("setup").exists() && !folder.path().join("tests").exists(), "{}", said.all());
}

#[test]
fn tests_that_need_the_network_get_it_under_auto_and_the_report_says_so() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let test = format!(
        "import socket, unittest\nclass A(unittest.TestCase):\n    def test_a(self): socket.create_connection((\"127.0.0.1\", {port}))\n"
    );
    let folder = project(&[("test_a.py", &test)]);
    for command in ["python3 -m unittest -v", "python3 -m unittest"] {
        let said = baseline(folder.path(), command, &[]);
        assert_eq!(said.code, 0, "{}", said.all());
        assert!(said.all().contains("so they have the whole network"), "{}", said.all());
    }
    let said = baseline(folder.path(), "python3 -m unittest -v", &["--network", "loopback"]);
    assert_ne!(said.code, 0, "{}", said.all());
}

#[test]
fn tests_that_fail_for_another_reason_once_they_have_the_network_keep_it() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let test = format!(
        "import socket, unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        socket.create_connection((\"127.0.0.1\", {port}))\n        \
         self.assertEqual(1, 2)\n"
    );
    let folder = project(&[("test_a.py", &test)]);
    let said = baseline(folder.path(), "python3 -m unittest", &[]);
    assert!(said.all().contains("so they have the whole network"), "{}", said.all());
    assert!(!said.all().contains("infrastructure"), "{}", said.all());
}

#[test]
fn without_a_sandbox_the_report_says_so() {
    let folder = project(&[]);
    let said = baseline(folder.path(), "exit 127", &["--sandbox", "off"]);
    assert!(said.all().contains("sandbox is `off`"), "{}", said.all());
}

#[test]
fn a_network_without_a_sandbox_is_refused() {
    let folder = project(&[]);
    let said = baseline(folder.path(), "true", &["--sandbox", "off", "--network", "off"]);
    assert_eq!(said.code, 6, "{}", said.all());
}

/// A machine on which no namespaces can be made, as a limit of 0 has it: a shell that becomes its arguments there.
const NO_NAMESPACES: &str =
    "for kind in mnt net ipc user; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done; exec \"$@\"";

#[test]
fn where_no_namespaces_can_be_made_the_report_and_the_doctor_say_why_and_what_follows() {
    let folder = project(&[]);
    let program = Program::new();
    for args in [
        ["run", "--no-audit", "--model", "ollama/none", "--test-command", "exit 127"].as_slice(),
        &["doctor", "--model", "ollama/none", "--test-command", "true"],
    ] {
        let inner = program.command(folder.path(), args);
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "sh", "-c", NO_NAMESPACES, "_"])
            .arg(inner.get_program())
            .args(inner.get_args());
        command.current_dir(folder.path()).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let said = crate::world::program::Said::from(command.output().expect("unshare"));
        let told = format!("{}{}", said.out, said.err);
        for expected in [
            "no namespaces can be made here: the limit user.max_user_namespaces",
            "is 0 on this machine",
            "not even a loopback",
            "/dev/shm is the machine's",
            "/tmp is closed",
        ] {
            assert!(said.out.contains(expected), "{expected}: {}", said.all());
        }
        assert!(!told.contains("No space left"), "{}", said.all());
    }
}

#[test]
fn a_runners_folder_in_the_checkout_is_refused_and_one_beside_it_makes_no_fix_red() {
    for (temp, code) in [("temp", 2), ("../temp", 0)] {
        let project = Project::python();
        let edit = json!({ "path": project.source, "old_text": project.wrong, "new_text": project.right });
        let server = ModelServer::start(move |request| match request.turn() {
            0 => Say::call("edit_file", edit.clone()).usage(10, 10).into(),
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })).usage(10, 10).into(),
        });
        let temp = project.path().join(temp);
        std::fs::create_dir_all(&temp).expect("a folder");
        let job = Job::new(&server.url())
            .with("UPSHIFT_TIERS", "claude-haiku-4-5 x1")
            .with("RUNNER_TEMP", temp.to_str().expect("text"));
        let said = job.run(&project);
        assert_eq!(said.code, code, "{}: {}", temp.display(), said.all());
        let asked = server.requests().len();
        if code == 2 {
            assert_eq!(asked, 0, "nothing is paid: {}", said.all());
            assert!(
                said.err.contains("is inside the checkout") && said.err.contains("→ Fix: set RUNNER_TEMP"),
                "{}",
                said.all()
            );
        }
        server.finish();
    }
}
