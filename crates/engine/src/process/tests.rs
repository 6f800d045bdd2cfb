//! Real processes that misbehave. None of these tests sleeps. Each waits for what must happen.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{Confinement, Finished, ProcessError, Program, Spec, run};
use crate::domain::stop::{Stop, StopCause, StopSource};
use crate::domain::verdict::Exit;

/// The longest time that a test here needs. A longer one hangs.
const PATIENCE: Duration = Duration::from_secs(20);

fn spec(program: Program, timeout: Duration) -> Spec {
    Spec {
        program,
        cwd: std::env::temp_dir(),
        env: BTreeMap::from([(OsString::from("PATH"), OsString::from("/usr/local/bin:/usr/bin:/bin"))]),
        stdin: Vec::new(),
        timeout,
        keep: 10_000,
        merge_stderr: true,
        memory_mb: None,
        confinement: Confinement::None,
    }
}

fn shell(line: &str) -> Spec {
    spec(Program::Shell(line.to_owned()), PATIENCE)
}

fn shell_within(line: &str, timeout: Duration) -> Spec {
    spec(Program::Shell(line.to_owned()), timeout)
}

async fn finish(spec: &Spec) -> Finished {
    run(spec, &Stop::never(), &mut |_| {}).await.unwrap()
}

fn text(finished: &Finished) -> String {
    String::from_utf8_lossy(&finished.output).into_owned()
}

/// Whether a process whose id stands in `file` is gone, or only a corpse.
fn is_gone(file: &Path) -> bool {
    let pid = std::fs::read_to_string(file).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

#[tokio::test]
async fn output_and_exit_code_come_back() {
    let mut seen = Vec::new();
    let finished =
        run(&shell("echo out; echo err >&2; exit 3"), &Stop::never(), &mut |chunk| seen.extend_from_slice(chunk))
            .await
            .unwrap();
    assert_eq!(finished.exit, Exit::Code { code: 3 });
    assert_eq!(text(&finished), "out\nerr\n");
    assert_eq!(seen, finished.output);
    assert_eq!((finished.output_bytes, finished.stopped), (8, None));
}

#[tokio::test]
async fn standard_error_is_kept_apart_when_asked() {
    let mut spec = shell("echo out; echo err >&2");
    spec.merge_stderr = false;
    let finished = finish(&spec).await;
    assert_eq!((finished.output.as_slice(), finished.stderr.as_slice()), (b"out\n".as_slice(), b"err\n".as_slice()));
}

#[tokio::test]
async fn the_environment_is_exactly_the_given_one() {
    let mut spec = spec(Program::Argv(vec!["env".into()]), PATIENCE);
    spec.env.insert("ONLY".into(), "this".into());
    assert_eq!(text(&finish(&spec).await), "ONLY=this\nPATH=/usr/local/bin:/usr/bin:/bin\n");
}

#[tokio::test]
async fn standard_input_is_given_and_then_closed() {
    let mut spec = spec(Program::Argv(vec!["cat".into()]), PATIENCE);
    assert_eq!(text(&finish(&spec).await), "", "closed at once when there is nothing to give");
    spec.stdin = b"x".repeat(1_000_000);
    assert_eq!(finish(&spec).await.output_bytes, 1_000_000, "more than a pipe holds, both ways at once");
    spec.program = Program::Shell("exit 4".to_owned());
    assert_eq!(finish(&spec).await.exit, Exit::Code { code: 4 }, "a child that does not read it is no error");
}

#[tokio::test]
async fn a_death_by_signal_is_told_as_such() {
    assert_eq!(finish(&shell("kill -SEGV $$")).await.exit, Exit::Signal { signal: 11 });
}

#[tokio::test]
async fn a_missing_program_a_missing_folder_and_an_empty_command_are_errors_that_name_them() {
    let missing = run(&spec(Program::Argv(vec!["no-such-program".into()]), PATIENCE), &Stop::never(), &mut |_| {})
        .await
        .unwrap_err();
    assert!(matches!(&missing, ProcessError::Start { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
    assert!(missing.to_string().contains("no-such-program"), "{missing}");
    let mut nowhere = shell("true");
    nowhere.cwd = "/no/such/folder".into();
    let error = run(&nowhere, &Stop::never(), &mut |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
    assert!(run(&spec(Program::Argv(Vec::new()), PATIENCE), &Stop::never(), &mut |_| {}).await.is_err());
}

#[tokio::test]
async fn a_flood_is_read_on_and_only_its_ends_are_kept() {
    let finished = finish(&shell("echo first; yes | head -c 200000000; echo last")).await;
    assert_eq!(finished.output_bytes, 200_000_011);
    assert!(finished.output.len() < 21_000);
    let text = text(&finished);
    assert!(text.starts_with("first\ny\n") && text.ends_with("y\nlast\n"), "{text}");
    assert!(text.contains("bytes left out"));
}

#[tokio::test]
async fn a_never_ending_flood_ends_when_its_time_is_up() {
    let started = Instant::now();
    let finished = finish(&shell_within("yes", Duration::from_millis(100))).await;
    assert_eq!(finished.exit, Exit::Timeout);
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn a_child_told_to_end_may_say_its_last_words() {
    let line = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let finished = finish(&shell_within(line, Duration::from_millis(300))).await;
    assert_eq!((finished.exit, text(&finished).lines().last()), (Exit::Timeout, Some("bye")));
}

#[tokio::test]
async fn a_child_that_ignores_the_request_is_killed() {
    let started = Instant::now();
    let finished = finish(&shell_within("trap '' TERM; while :; do sleep 1; done", Duration::from_millis(100))).await;
    assert_eq!(finished.exit, Exit::Timeout);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_stop_ends_it_within_two_seconds_even_if_it_ignores_the_request() {
    let (source, stop) = StopSource::new();
    let spec = shell("trap '' TERM; echo ready; while :; do sleep 1; done");
    let mut raised = None;
    let finished = run(&spec, &stop, &mut |_| {
        raised.get_or_insert_with(Instant::now);
        source.raise(StopCause::Signal(2));
    })
    .await
    .unwrap();
    assert_eq!((finished.stopped, finished.exit), (Some(StopCause::Signal(2)), Exit::Signal { signal: 9 }));
    assert!(raised.unwrap().elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_open_does_not_keep_us() {
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let started = Instant::now();
    let finished = finish(&shell(&format!("sleep 1000 & echo $! > {}; echo done", pid.display()))).await;
    assert_eq!((finished.exit, text(&finished).as_str()), (Exit::Code { code: 0 }, "done\n"));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(is_gone(&pid));
}

#[tokio::test]
async fn a_filter_that_is_still_writing_is_heard_out() {
    let finished = finish(&shell("(sleep 0.1; echo late) & echo early")).await;
    assert_eq!(text(&finished), "early\nlate\n");
}

#[cfg(target_os = "linux")]
mod descendants {
    use super::*;

    /// A daemon by the book: two forks, a session of its own, no descriptors, an empty environment, its id in a file.
    fn daemon(pid_file: &Path) -> String {
        let path = pid_file.display();
        format!(
            "setsid sh -c 'env -i setsid sh -c \"echo \\$\\$ > {path}.new; mv {path}.new {path}; exec sleep 1000\" \
             </dev/null >/dev/null 2>&1 &'; while ! test -e {path}; do sleep 0.01; done"
        )
    }

    #[tokio::test]
    async fn a_daemon_that_left_everything_behind_is_gone_when_the_child_is() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let finished = finish(&shell(&daemon(&pid))).await;
        assert_eq!(finished.exit, Exit::Code { code: 0 }, "{}", text(&finished));
        assert!(is_gone(&pid));
    }

    #[tokio::test]
    async fn a_daemon_is_gone_when_time_is_up() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let line = format!("{}; trap '' TERM; while :; do sleep 1; done", daemon(&pid));
        let finished = finish(&shell_within(&line, Duration::from_millis(1000))).await;
        assert_eq!(finished.exit, Exit::Timeout);
        assert!(is_gone(&pid));
    }

    #[tokio::test]
    async fn a_daemon_is_gone_when_nobody_waits_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let spec = shell(&format!("{}; echo ready; exec sleep 1000", daemon(&pid)));
        let (ready, mut is_ready) = tokio::sync::mpsc::unbounded_channel();
        let stop = Stop::never();
        let mut sink = |_: &[u8]| ready.send(()).unwrap_or_default();
        tokio::select! {
            _ = run(&spec, &stop, &mut sink) => panic!("it must not end by itself"),
            _ = is_ready.recv() => {}
        }
        // The kernel delivers the kill in its own time.
        let started = Instant::now();
        while !is_gone(&pid) {
            assert!(started.elapsed() < PATIENCE);
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn families_that_run_at_once_do_not_touch_each_other_nor_strangers() {
        #[expect(clippy::disallowed_methods, reason = "a stranger is a process that was not started here")]
        let mut stranger = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (long, short) = (folder.path().join("long"), folder.path().join("short"));
        let line = format!(
            "{}; while test -e {}; do sleep 0.01; done; kill -0 $(cat {})",
            daemon(&long),
            short.display(),
            long.display()
        );
        let spec_long = shell(&line);
        let brief = shell(&format!("{}; while ! test -e {}; do sleep 0.01; done", daemon(&short), long.display()));
        let brief_ends = async {
            let finished = finish(&brief).await;
            std::fs::remove_file(&short).unwrap();
            finished
        };
        // The long one waits until the brief one has been ended, and then looks for its own daemon.
        std::fs::write(&short, "").unwrap();
        std::fs::remove_file(&short).unwrap();
        let (first, second) = tokio::join!(finish(&spec_long), brief_ends);
        assert_eq!(second.exit, Exit::Code { code: 0 }, "{}", text(&second));
        assert_eq!(first.exit, Exit::Code { code: 0 }, "{}", text(&first));
        assert!(is_gone(&long));
        assert!(stranger.try_wait().unwrap().is_none(), "a stranger lives on");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[tokio::test]
    async fn a_tree_of_hundreds_of_sessions_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let line = format!(
            "cd {}; i=0; while [ $i -lt 200 ]; do setsid sh -c 'echo $$ > '$i'; sleep 1000' & i=$((i+1)); done; \
             while [ $(ls | wc -l) -lt 200 ]; do sleep 0.01; done",
            folder.path().display()
        );
        assert_eq!(finish(&shell(&line)).await.exit, Exit::Code { code: 0 });
        let left =
            std::fs::read_dir(folder.path()).unwrap().filter(|entry| !is_gone(&entry.as_ref().unwrap().path())).count();
        assert_eq!(left, 0);
    }

    #[tokio::test]
    async fn a_chain_that_forks_and_dies_at_once_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let (script, beat) = (folder.path().join("chain.sh"), folder.path().join("beat"));
        std::fs::write(&script, format!("echo x >> {}\nsetsid sh {} &\n", beat.display(), script.display())).unwrap();
        let finished =
            finish(&shell_within(&format!("setsid sh {} >/dev/null 2>&1; sleep 0.2", script.display()), PATIENCE))
                .await;
        assert_eq!(finished.exit, Exit::Code { code: 0 });
        let script = script.display().to_string();
        let links = || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            processes
                .filter(|entry| {
                    std::fs::read_to_string(entry.path().join("cmdline")).is_ok_and(|line| line.contains(&script))
                })
                .count()
        };
        assert_eq!(
            (0..20).map(|_| links()).sum::<usize>(),
            0,
            "looked for twenty times, since a link lives a moment only"
        );
    }

    #[tokio::test]
    async fn children_of_another_upshift_are_strangers() {
        // Branded as by another upshift: a limit of its own, and not adopted by us.
        let line = "exec prlimit --locks=77:77 sleep 1000";
        #[expect(clippy::disallowed_methods, reason = "the other upshift's child was not started here")]
        let mut other = std::process::Command::new("sh")
            .args(["-c", &format!("{line} & echo $!; wait")])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut pid = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(other.stdout.take().unwrap()), &mut pid).unwrap();
        let limits = format!("/proc/{}/limits", pid.trim());
        let started = Instant::now();
        while !std::fs::read_to_string(&limits)
            .unwrap()
            .lines()
            .any(|line| line.contains("locks") && line.contains("77"))
        {
            assert!(started.elapsed() < PATIENCE);
        }
        finish(&shell_within("trap '' TERM; while :; do sleep 1; done", Duration::from_millis(50))).await;
        assert!(std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap().contains(") S "));
        let pid = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        other.wait().unwrap();
    }

    #[tokio::test]
    async fn a_dead_orphan_is_not_left_as_a_corpse() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let line = format!(
            "sh -c 'setsid sh -c \"echo \\$\\$ > {}\" &'; while ! test -s {0}; do sleep 0.01; done",
            pid.display()
        );
        finish(&shell(&line)).await;
        let id = std::fs::read_to_string(&pid).unwrap();
        assert!(!Path::new(&format!("/proc/{}", id.trim())).exists());
    }
}

/// Holds so many MiB that nobody can share, until it is ended.
fn holding(mb: u32) -> Spec {
    shell(&format!(
        "exec python3 -c 'import time; held = bytearray({mb} << 20); print(len(held), flush=True); time.sleep(30)'"
    ))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_takes_more_memory_than_it_may_is_ended_and_that_is_told() {
    let finished = finish(&Spec { memory_mb: Some(64), ..holding(256) }).await;
    assert_eq!(finished.exit, Exit::Memory { limit_mb: 64 });
    assert!(
        text(&finished).contains("[ended: one of its processes took more than 64 MB of memory]"),
        "{}",
        text(&finished)
    );
}

/// Whether all processes of a child are bounded together is the kernel's affair: these two run where a control group is delegated
/// (`.ci/cgroup` starts such a machine).
#[cfg(target_os = "linux")]
mod control_groups {
    use super::*;

    /// Programs that each hold so many MiB for as long as they run.
    fn many(count: usize, mb: u32) -> Spec {
        let one = format!("dd if=/dev/zero of=/dev/null bs={mb}M & ");
        shell(&format!("{}sleep 20; kill 0", one.repeat(count)))
    }

    fn processors() -> usize {
        std::thread::available_parallelism().unwrap().get()
    }

    #[tokio::test]
    #[ignore = "needs a delegated control group"]
    async fn processes_that_hold_too_much_together_are_ended_by_the_kernel_and_that_is_told() {
        let finished = finish(&Spec { memory_mb: Some(64), ..many(processors() * 2 + 1, 40) }).await;
        let limit_mb = u32::try_from(64 * processors()).unwrap();
        assert_eq!(finished.exit, Exit::MemoryTogether { limit_mb }, "{}", text(&finished));
        let note = format!("[ended: its processes together took more than {limit_mb} MB of memory]");
        assert!(text(&finished).contains(&note), "{}", text(&finished));
        assert_eq!(groups(), Vec::<String>::new());
    }

    #[tokio::test]
    #[ignore = "needs a delegated control group"]
    async fn what_keeps_within_the_bound_ends_by_itself_and_its_group_is_gone() {
        let line =
            "until grep upshift- /proc/self/cgroup; do :; done; dd if=/dev/zero of=/dev/null bs=30M count=9; exit 3";
        let finished = finish(&Spec { memory_mb: Some(64), ..shell(line) }).await;
        assert_eq!(finished.exit, Exit::Code { code: 3 }, "{}", text(&finished));
        assert!(text(&finished).contains("/upshift-"), "{}", text(&finished));
        assert_eq!(groups(), Vec::<String>::new());
    }

    fn groups() -> Vec<String> {
        let names = std::fs::read_dir("/sys/fs/cgroup").unwrap().map(|entry| entry.unwrap().file_name());
        names.filter_map(|name| name.into_string().ok()).filter(|name| name.starts_with("upshift-")).collect()
    }
}
