//! Fifty logs of jobs joined into one, in a process of its own, so that its memory is its own.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use upshift::audit::{Joined, Location, Reader, Store};
use upshift::domain::budget::Budget;
use upshift::domain::clock::Timestamp;
use upshift::domain::event::{Event, RunStarted};
use upshift::domain::units::{MicroUsd, RunId};
use upshift::redact::Redactor;

/// The word by which the benchmark's program joins instead.
pub(crate) const JOINER: &str = "--join-logs";
/// How many logs.
const LOGS: usize = 50;
/// The events of each, and the length of a text in one, in bytes.
const EVENTS: usize = 1_000;
const TEXT: usize = 4_000;

/// The cost of a join.
pub(crate) struct Took {
    /// Megabytes of the logs.
    pub(crate) megabytes: f64,
    /// Megabytes a second.
    pub(crate) speed: f64,
    /// The most resident memory, in MB.
    pub(crate) memory: f64,
}

fn now() -> Timestamp {
    Timestamp("2026-01-01T00:00:00.000Z".to_owned())
}

fn write(path: &Path, number: usize) {
    let mut store = Store::open(&Location::file(path), Arc::default()).expect("a log");
    let started = RunStarted {
        run_id: RunId(format!("run-{number}")),
        objective: "make it green".to_owned(),
        working_directory: "project".to_owned(),
        test_command: "true".to_owned(),
        tier_config_path: "(inline)".to_owned(),
        tiers: Vec::new(),
        budget: Budget { max_cost: MicroUsd(1), max_iterations: 1, max_active_ms: 1 },
        audit_db: None,
        started_at: now(),
        command: None,
        task: None,
    };
    store.begin_run(&started, 1, "{}").expect("begun");
    let text = "def total(prices):\n    return sum(prices)  # as it was told\n".repeat(TEXT / 60);
    let events: Vec<Event> =
        (0..EVENTS).map(|at| Event::Warning { message: format!("{number}-{at} {text}") }).collect();
    for part in events.chunks(100) {
        store.append_all(part, None);
    }
    assert!(store.close().is_empty(), "written");
}

/// Joins the first so many logs of a folder and prints how long it took, and how much memory.
pub(crate) fn join(folder: &Path, count: usize) {
    let redactor = Arc::new(Redactor::new(&["canary-secret-0123456789".to_owned().into()]));
    let began = Instant::now();
    let mut store = Store::open(&Location::file(&folder.join(format!("joined-{count}.db"))), redactor).expect("a log");
    for number in 0..count {
        let reader = Reader::open(&Location::file(&folder.join(format!("{number}.db")))).expect("a log");
        for run in reader.run_ids().expect("runs") {
            let joined = store.join(&reader, &run, ("a job", &now(), None)).expect("joined");
            assert!(matches!(joined, Joined::Taken(_)), "{joined:?}");
        }
    }
    store.end_joining();
    let seconds = began.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let peak = peak.trim().trim_end_matches(" kB");
    println!("{seconds} {peak}");
}

/// Joins half of the logs, and all of them.
pub(crate) fn measure() -> [Took; 2] {
    let folder = super::model::folder();
    for number in 0..LOGS {
        write(&folder.path().join(format!("{number}.db")), number);
    }
    let size =
        |number: usize| std::fs::metadata(folder.path().join(format!("{number}.db"))).map_or(0, |file| file.len());
    [LOGS / 2, LOGS].map(|count| {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        let said = command.arg(JOINER).arg(folder.path()).arg(count.to_string()).output().expect("it starts");
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let numbers: Vec<f64> = said.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let bytes: u64 = (0..count).map(size).sum();
        let kilobytes = u32::try_from(bytes / 1_000).expect("less than terabytes");
        let megabytes = f64::from(kilobytes) / 1e3;
        Took { megabytes, speed: megabytes / numbers[0], memory: numbers[1] / 1_000.0 }
    })
}
