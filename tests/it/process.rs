//! Processes from outside: what starting one costs.

use std::collections::BTreeMap;
use std::time::Duration;

use upshift::domain::stop::Stop;
use upshift::domain::verdict::Exit;
use upshift::process::{Confinement, Program, Spec, run};

/// Our own share of starting, reading and clearing up after one child, on average; debug builds included.
const MOST_PER_CHILD: Duration = Duration::from_millis(5);
const CHILDREN: u32 = 50;

#[test]
fn a_child_costs_little_of_our_own_time() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let spec = Spec {
        program: Program::Argv(vec!["true".into()]),
        cwd: std::env::temp_dir(),
        env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
        stdin: Vec::new(),
        timeout: Duration::from_secs(20),
        keep: 1_000,
        merge_stderr: true,
        confinement: Confinement::None,
    };
    let before = thread_time();
    for _ in 0..CHILDREN {
        let finished = runtime.block_on(run(&spec, &Stop::never(), &mut |_| {})).unwrap();
        assert_eq!(finished.exit, Exit::Code { code: 0 });
    }
    let each = (thread_time() - before) / CHILDREN;
    assert!(each < MOST_PER_CHILD, "{each:?}");
}

/// The processor time of this thread alone: other tests run beside it.
fn thread_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split_whitespace().next().unwrap().parse().unwrap())
}
