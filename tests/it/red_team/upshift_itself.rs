//! Ends upshift, or outlives it.

use std::os::unix::process::ExitStatusExt as _;

use super::attack;
use super::cell::{Cell, end_those_named};

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
fn no_signal_to_everybody_leaves_the_confinement() {
    // A signal that harms nobody, and somebody outside who would notice it.
    attack("signals", |off| {
        let cell = Cell::new();
        let mut witness =
            cell.witness("trap 'echo evil > $CELL/outside/noticed' CONT; echo ready; while :; do sleep 0.02; done");
        let seen = cell.run("kill -CONT -1; i=0; while [ $i -lt 20 ] && ! [ -e $CELL/outside/noticed ]; do sleep 0.02; i=$((i+1)); done", off, &["--no-audit"]);
        assert!(seen.status.signal().is_none(), "{seen:?}");
        witness.kill().expect("it lives");
        witness.wait().expect("it ends");
        cell.read("outside/noticed").contains("evil")
    });
}

#[test]
fn upshift_is_not_killed_where_landlock_knows_no_signals() {
    // As on kernels before 6.12: the filter of system calls alone.
    attack("signals", |off| {
        let cell = Cell::new();
        cell.run("kill -KILL $PPID", &format!("domain,{off}"), &["--no-audit"]).status.signal().is_some()
    });
}

#[test]
fn no_thread_of_upshift_is_killed_where_there_is_no_room() {
    // The thread that started the child had the child's rights; a signal to a thread can end its whole process.
    attack("signals", |off| {
        let cell = Cell::new();
        let script = "for t in /proc/$PPID/task/*; do kill -KILL ${t##*/}; done";
        cell.run(script, &format!("room,{off}"), &["--no-audit"]).status.signal().is_some()
    });
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
