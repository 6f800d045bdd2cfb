//! The second door, where no network namespace can be made; and machines that cannot keep an agent at all.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Site, done, mend, steps};
use crate::world::model_server::Scripted;
use crate::world::program::Said;
use crate::world::project::Project;

/// A machine on which no namespaces can be made, as a limit of 0 has it: a shell that becomes its arguments there.
const NO_NAMESPACES: &str =
    "for kind in mnt net ipc user; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done; exec \"$@\"";
/// A kernel without Landlock: a filter answers for it, as for a call that is not there; then it becomes its arguments.
const NO_LANDLOCK: &str = r#"
import ctypes, os, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(filter)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(program)) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])
"#;
/// A kernel with the Landlock of Linux 6.2: a supervisor answers the question for its version with 3, and every other call goes on to the
/// kernel. Then it becomes its arguments.
const OLD_LANDLOCK: &str = r#"
import ctypes, fcntl, os, socket, struct, sys
code = [(0x20, 0, 0, 0), (0x15, 0, 3, 444), (0x20, 0, 0, 32), (0x15, 0, 1, 1), (0x06, 0, 0, 0x7FC00000), (0x06, 0, 0, 0x7FFF0000)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(filter)))
libc = ctypes.CDLL(None, use_errno=True)
ours, theirs = socket.socketpair()
child = os.fork()
if child == 0:
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    listener = libc.syscall(317, 1, 8, ctypes.byref(program))
    assert listener >= 0, os.strerror(ctypes.get_errno())
    socket.send_fds(theirs, [b"x"], [listener])
    os.close(listener)
    os.execvp(sys.argv[1], sys.argv[1:])
theirs.close()
listener = socket.recv_fds(ours, 1, 1)[1][0]
if os.fork() == 0:
    os.close(1), os.close(2)
    while True:
        try:
            notice = fcntl.ioctl(listener, 0xC0502100, bytes(80))
        except OSError:
            # Nobody is left who could ask.
            os._exit(0)
        try:
            fcntl.ioctl(listener, 0xC0182101, struct.pack("QqiI", struct.unpack_from("Q", notice)[0], 3, 0, 0))
        except OSError:
            pass
os.close(listener)
ended = os.waitpid(child, 0)[1]
sys.exit(os.waitstatus_to_exitcode(ended))
"#;
const LADDER: [&str; 2] = ["--tiers", "cli/claude:claude-haiku-4-5 x1"];

impl Site {
    /// Runs upshift by a program that becomes its arguments.
    fn run_by(&self, wrapper: &[&str], args: &[&str]) -> Said {
        let inner = self.program.command(self.project.path(), args);
        let (first, rest) = wrapper.split_first().expect("a program");
        let mut command = Command::new(first);
        command.args(rest).arg(inner.get_program()).args(inner.get_args());
        command.current_dir(self.project.path()).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Said::from(command.output().expect("it starts"))
    }
}

const WITHOUT_NAMESPACES: [&str; 6] = ["unshare", "--user", "--map-root-user", "sh", "-c", NO_NAMESPACES];

fn without_namespaces() -> Vec<&'static str> {
    [&WITHOUT_NAMESPACES[..], &["_"]].concat()
}

/// What an agent tries that wants more than its door.
fn tries(port: u16) -> String {
    let attempts = [
        format!("socket.create_connection(('127.0.0.1', {port}), 3)"),
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)".to_owned(),
        "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 1)".to_owned(),
        // MPTCP and SCTP are streams, too.
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)".to_owned(),
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)".to_owned(),
        format!("socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {port}))"),
        "socket.create_server(('127.0.0.1', 0))".to_owned(),
        "socket.getaddrinfo('example.com', 80)".to_owned(),
    ];
    let lines: Vec<String> = attempts
        .iter()
        .enumerate()
        .map(|(number, attempt)| {
            format!("try:\n  {attempt}\n  print('try {number} WENT')\nexcept OSError as e:\n  print('try {number} refused', e)")
        })
        .collect();
    format!("import socket\n{}\n", lines.join("\n"))
}

#[test]
fn without_namespaces_the_gateways_port_is_the_one_door_and_the_report_says_what_that_leaves_open() {
    let outside = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = outside.local_addr().expect("an address").port();
    let project = Project::python();
    let edit = mend(&project)[0].clone();
    let looks = json!([
        {"do": "write", "path": "tries.py", "text": tries(port)},
        {"do": "run", "command": "python3 tries.py; cat /proc/*/environ | tr '\\0' '\\n' | grep -a KEY"},
        {"do": "delete", "path": "tries.py"},
        edit,
    ]);
    let site =
        Site::new(project, move |request| if request.turn() == 0 { steps(&looks) } else { done("DONE\nmended") });
    let said = site.run_by(&without_namespaces(), &site.args(&LADDER));
    assert_eq!(said.code, 0, "{}", said.all());
    let told = site.server.requests()[1].last_user_text();
    for number in 0..8 {
        assert!(told.contains(&format!("try {number} refused")), "{number}: {told}");
    }
    assert!(!crate::world::canary::sings_in(told.as_bytes()), "the key was seen");
    outside.set_nonblocking(true).expect("a listener");
    assert!(outside.accept().is_err(), "somebody came by another door");
    assert!(site.warnings().contains("reach the gateway's TCP port alone"), "{}", site.warnings());
    let spent = site.spent();
    assert_eq!(spent, site.server.finish().0);
}

#[test]
fn check_says_by_which_door_agents_reach_their_model_and_what_it_costs() {
    let site = Site::new(Project::python(), |_| Scripted::Unexpected);
    let args = [&["check", "--test-command", "true"][..], &LADDER].concat();
    let usual = site.program.run(site.project.path(), &args);
    assert!(usual.out.contains("agents have a network of their own, in which nothing answers"), "{}", usual.all());
    let second = site.run_by(&without_namespaces(), &args);
    for part in ["by Landlock's rule", "any host that listens at the same number", "resolve no names and send no UDP"] {
        assert!(second.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{}", second.all());
    }
    site.server.finish();
}

#[test]
fn without_namespaces_a_person_may_give_the_whole_network() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| if request.turn() == 0 { steps(&edit) } else { done("DONE\nmended") });
    let said = site.run_by(&without_namespaces(), &site.args(&[&LADDER[..], &["--network", "on"]].concat()));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(site.warnings().contains("coding agents have the whole network"), "{}", site.warnings());
    site.server.finish();
}

#[test]
fn where_the_kernel_confines_nothing_an_agent_needs_a_persons_word() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| if request.turn() == 0 { steps(&edit) } else { done("DONE\nmended") });
    let wrapper = ["python3", "-c", NO_LANDLOCK];
    let refused = site.run_by(&wrapper, &site.args(&LADDER));
    assert_eq!(refused.code, 6, "{}", refused.all());
    assert!(refused.err.contains("safety.sandbox: off") && site.server.requests().is_empty(), "{}", refused.all());
    let said = site.run_by(&wrapper, &site.args(&[&LADDER[..], &["--sandbox", "off"]].concat()));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(site.warnings().contains("coding agents can do what your user can"), "{}", site.warnings());
    site.server.finish();
}

#[test]
fn without_namespaces_and_with_an_old_landlock_an_agent_needs_a_persons_word() {
    let project = Project::python();
    let edit = mend(&project);
    let site = Site::new(project, move |request| if request.turn() == 0 { steps(&edit) } else { done("DONE\nmended") });
    let wrapper = [&["python3", "-c", OLD_LANDLOCK][..], &without_namespaces()].concat();
    let refused = site.run_by(&wrapper, &site.args(&LADDER));
    assert_eq!(refused.code, 6, "{}", refused.all());
    let said = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Landlock is older than Linux 6.7") && said.contains("safety.network: on"), "{said}");
    assert!(site.server.requests().is_empty(), "nothing was asked");
    let said = site.run_by(&wrapper, &site.args(&[&LADDER[..], &["--network", "on"]].concat()));
    assert_eq!(said.code, 0, "{}", said.all());
    assert!(site.warnings().contains("coding agents have the whole network"), "{}", site.warnings());
    site.server.finish();
}

#[test]
fn outside_of_the_sandbox_an_agents_home_is_its_own_too() {
    let project = Project::python();
    let looks = json!([{"do": "environment"}, mend(&project)[0].clone()]);
    let site =
        Site::new(project, move |request| if request.turn() == 0 { steps(&looks) } else { done("DONE\nmended") });
    let mut inner =
        site.program.command(site.project.path(), &site.args(&[&LADDER[..], &["--sandbox", "off"]].concat()));
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
        inner.env(name, format!("/home/of-the-user/{name}"));
    }
    let said = Said::from(inner.output().expect("it starts"));
    assert_eq!(said.code, 0, "{}", said.all());
    let told = site.server.requests()[1].last_user_text();
    assert!(!told.contains("of-the-user"), "{told}");
    let value = |name: &str| {
        let line = told.lines().find_map(|line| line.split_once('=').filter(|(named, _)| *named == name));
        line.map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let home = value("HOME");
    assert!(home.contains("upshift-agent-"), "{told}");
    assert_eq!(value("XDG_CONFIG_HOME"), format!("{home}/.config"));
    assert_eq!(value("XDG_DATA_HOME"), format!("{home}/.local/share"));
    assert!(!Path::new(&home).exists(), "it is gone when the session is over");
    site.server.finish();
}
