//! Uses the machine up: processes, disk, output, time; and leaves something behind that strikes later.

use std::os::unix::process::ExitStatusExt as _;

use serde_json::json;

use super::attack;
use super::cell::{Cell, end_those_named, succeeds};
use super::verdict::{python, unpack};
use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;

#[test]
#[ignore = "floods the machine with processes, which other tests would feel: .ci/nightly runs it"]
fn a_fork_bomb_is_ended() {
    // A bomb that ends by itself, above what is allowed; each of its processes sleeps until the last one is there.
    let bomb = "mkfifo gate; sh -c 'i=0; while [ $i -lt 4600 ]; do (read x < gate) & i=$((i+1)); done; echo done > loot; kill -KILL 0'";
    succeeds("processes", bomb);
}

#[test]
#[ignore = "floods the machine with processes, which other tests would feel: .ci/nightly runs it"]
fn an_endless_fork_bomb_ends_and_upshift_lives_on() {
    attack("processes", |off| {
        let cell = Cell::new();
        if off.is_empty() {
            let ended = cell.run("bomb() { bomb | bomb & }; bomb; sleep 2", off, &["--no-audit"]);
            return ended.status.code().is_none();
        }
        // Without the guard the machine would not survive it: then as many processes as it would never have let live.
        let bounded = "i=0; while [ $i -lt 4600 ]; do sleep 60 & i=$((i+1)); done; echo done > loot; kill -KILL 0";
        cell.run(bounded, off, &["--no-audit"]);
        cell.read("checkout/loot").contains("done")
    });
}

#[test]
fn the_disk_is_not_filled_by_many_files() {
    attack("disk", |off| {
        let cell = Cell::new();
        // A small file system for temporary files; as soon as it is full, the attack makes room for itself again.
        let script = "i=0; while head -c 16384 /dev/zero > $TMPDIR/f$i; do i=$((i+1)); done 2>/dev/null; rm $TMPDIR/f0; echo done > loot";
        cell.run_in_a_small_world(script, off, &["--no-audit"]);
        cell.read("checkout/loot").contains("done")
    });
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn endless_output_does_not_use_up_the_memory() {
    attack("output", |off| {
        let cell = Cell::new();
        // The program may have 190 MB of addresses: its own, and not what is printed on top of it.
        let ended = cell.run_with_memory(
            190_000,
            "head -c 200000000 /dev/zero | tr '\\0' 'x' | fold -w 1000",
            off,
            &["--no-audit"],
        );
        ended.status.signal().is_some() || ended.status.code().is_none_or(|code| code > 100)
    });
}

#[test]
fn the_memory_is_not_taken_by_one_process() {
    attack("memory", |off| {
        let cell = Cell::new();
        cell.write("checkout/.github/upshift.yml", "test:\n  memoryMb: 64\n");
        let takes = "$held = q(x) x (256 << 20); select(undef, undef, undef, 2); open(L, q(>loot)); print L q(done)";
        let said = cell.run(&format!("perl -e '{takes}'"), off, &["--no-audit"]);
        let told = String::from_utf8_lossy(&said.stdout).replace('\n', " ");
        let limit = "the memory limit of 64 MB for one process (`test.memoryMb`) was reached";
        assert_eq!(told.contains(limit), off.is_empty(), "{told}");
        assert!(!told.contains("crashed") && !told.contains("signal"), "{told}");
        cell.read("checkout/loot").contains("done")
    });
}

#[test]
fn tests_that_never_end_are_ended() {
    attack("time", |off| {
        let cell = Cell::new();
        cell.write("checkout/.github/upshift.yml", "test:\n  timeoutSeconds: 1\n");
        cell.run("sleep 5; echo done > loot", off, &["--no-audit"]);
        cell.read("checkout/loot").contains("done")
    });
}

#[test]
fn tests_that_do_not_listen_are_ended() {
    attack("time", |off| {
        let cell = Cell::new();
        cell.write("checkout/.github/upshift.yml", "test:\n  timeoutSeconds: 1\n");
        cell.run("perl -e '$SIG{TERM} = $SIG{HUP} = q(IGNORE); select(undef, undef, undef, 6); open(L, q(>loot)); print L q(done)'", off, &["--no-audit"]);
        cell.read("checkout/loot").contains("done")
    });
}

#[test]
fn no_terminal_is_spoken_for() {
    // The call that puts words into a terminal does not reach the kernel, which would say that this is none.
    succeeds(
        "calls",
        "perl -e 'open(F, q(<), q(/dev/null)); $b = q(x); ioctl(F, 0x5412, $b); exit($!{EPERM} ? 1 : 0)' && echo done > loot",
    );
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn nothing_is_left_after_green_that_changes_the_tree_before_it_is_pushed() {
    attack("descendants", |off| {
        let folder = tempfile::Builder::new().prefix("bomb-").tempdir().expect("a folder");
        unpack(folder.path(), &python().files);
        let token = format!("red-team-bomb-{}-{}", std::process::id(), off.len());
        let bomb = format!(
            "import subprocess\n\nsubprocess.Popen(['perl', '-e', '$0 = q({token}); sleep 60; open(F, q(>>shop/cart.py)); print F q(evil)'], start_new_session=True,\n                 \
             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n\n\ndef total(prices):\n    return sum(prices)\n"
        );
        let server = ModelServer::start(move |request| match request.turn() {
            0 => Say::call("write_file", json!({ "path": "shop/cart.py", "content": bomb })).usage(900, 40).into(),
            _ => Say::call("final_report", json!({ "summary": "fixed", "status": "done" })).usage(900, 40).into(),
        });
        let program = Program::with_anthropic(&server.url()).with("UPSHIFT_GUARD_OFF", off);
        let args = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", python().command];
        let said = program.run(folder.path(), &args);
        server.finish();
        assert_eq!(said.code, 0, "{}", said.all());
        end_those_named(&token)
    });
}
