//! How fast logs are read: 100 MB of each of the main shapes, in memory, by the call that `upshift read` makes.
//!
//! `cargo bench --bench parsers`, with a part of a name behind `--` for one shape. A log looks like that of a large suite in CI: printed
//! text of tests and builds (about two thirds of the lines), results that pass (one third) and some failures with their messages. `quiet`
//! shapes hold results and failures alone. The figure is the best of [`RUNS`], and stands beside the limit of the test-run issue.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise, reads its arguments and prints"
)]

mod shapes;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use testlog::Exit;

use shapes::{SHAPES, Shape};

/// The size of each log.
const BYTES: usize = 100_000_000;
/// How often each log is read.
const RUNS: usize = 5;
/// Megabytes a second that every shape must reach.
const LIMIT: f64 = 300.0;
/// Every how many pieces of a log one holds failures.
const FAILING: usize = 400;

fn log_of(shape: &Shape) -> Vec<u8> {
    let mut log = String::with_capacity(BYTES + 4_096);
    log.push_str(shape.head);
    for at in 0.. {
        if log.len() + shape.tail.len() >= BYTES {
            break;
        }
        (shape.piece)(at, at % FAILING == 0, &mut log);
    }
    log.push_str(shape.tail);
    log.into_bytes()
}

/// The time this thread has been running: a busy machine does not slow it down. Elsewhere than on Linux, the time of day.
fn cpu_time() -> Duration {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let began = *BEGAN;
    let running = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = running.and_then(|text| text.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

fn main() {
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    println!("reading {} MB (best of {RUNS})\n", BYTES / 1_000_000);
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&only)) {
        let log = log_of(shape);
        let mut best = 0.0_f64;
        for _ in 0..RUNS {
            let began = cpu_time();
            let report = testlog::read(log.as_slice(), Some(Exit::Code { code: 1 })).expect("memory is read");
            best = best.max(log.len() as f64 / (cpu_time() - began).as_secs_f64() / 1e6);
            assert_eq!(report.framework, shape.framework, "{}", shape.name);
        }
        let verdict = if best >= LIMIT { "ok   " } else { "UNDER" };
        println!("{verdict}  {:<14} {best:>7.0} MB/s   limit {LIMIT:.0} MB/s", shape.name);
    }
}
