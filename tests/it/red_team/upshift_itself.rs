//! Ends upshift, or outlives it.

use std::os::unix::process::ExitStatusExt as _;

use super::attack;
use super::cell::Cell;

/// The marker: upshift died of a signal.
#[track_caller]
fn kills(script: &str) {
    attack("signals", |off| {
        let cell = Cell::new();
        cell.run(script, off, &["--no-audit"]).status.signal().is_some()
    });
}

#[test]
fn upshift_is_not_killed() {
    kills("kill -KILL $PPID");
}

#[test]
fn upshift_is_not_killed_by_a_signal_to_everybody() {
    // Only ever carried out with guards on: off, it would end the tests as well.
    let cell = Cell::new();
    let ended = cell.run("kill -KILL -1", "", &["--no-audit"]);
    assert!(ended.status.signal().is_none(), "{ended:?}");
}

#[test]
fn upshift_is_not_killed_where_landlock_knows_no_signals() {
    // As on kernels before 6.12: the filter of system calls alone.
    let cell = Cell::new();
    let ended = cell.run("kill -KILL $PPID", "domain", &["--no-audit"]);
    assert!(ended.status.signal().is_none(), "{ended:?}");
}

#[test]
fn no_daemon_outlives_it() {
    let script = |token: &str| {
        format!(
            "perl -MPOSIX -e '$0 = q({token}); exit if fork; POSIX::setsid(); exit if fork; sleep 30' >/dev/null 2>&1 <&- &"
        )
    };
    attack("descendants", |off| {
        let cell = Cell::new();
        let token = format!("red-team-daemon-{}-{}", std::process::id(), off.len());
        cell.run(&script(&token), off, &["--no-audit"]);
        end_those_named(&token)
    });
}

/// Ends what a test left alive; whether there was any.
fn end_those_named(token: &str) -> bool {
    let mut any = false;
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let pid =
            entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(rustix::process::Pid::from_raw);
        let named = std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(token));
        if let (Some(pid), true) = (pid, named) {
            any = true;
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap_or_default();
        }
    }
    any
}
