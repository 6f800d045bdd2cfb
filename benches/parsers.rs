//! How fast logs are read: 100 MB of each of the main shapes, in memory, by the same call that `upshift read` makes.
//!
//! `cargo bench --bench parsers`, with a part of a name behind `--` for one shape. A log is what a large suite leaves in CI:
//! what tests and builds print (about two thirds of the lines), results that pass (one third) and some failures with
//! their messages; `quiet` shapes hold results and failures alone. The figure is the best of [`RUNS`], and stands beside
//! the limit of the test-run issue.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise, reads its arguments and prints"
)]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use upshift::domain::verdict::Exit;
use upshift::test_run;

/// The size of each log.
const BYTES: usize = 100_000_000;
/// How often each log is read.
const RUNS: usize = 5;
/// Megabytes a second that every shape must reach.
const LIMIT: f64 = 300.0;
/// Every how many pieces of a log one holds failures.
const FAILING: usize = 400;

/// One piece of a log: its number and whether it fails.
type Piece = fn(usize, bool, &mut String);

/// A shape of log: its name, what the reader must call it, its beginning, its pieces and its end.
struct Shape {
    name: &'static str,
    framework: &'static str,
    head: &'static str,
    piece: Piece,
    tail: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape { name: "cargo", framework: "cargo-test", head: CARGO, piece: cargo, tail: CARGO_END },
    Shape { name: "cargo-quiet", framework: "cargo-test", head: CARGO, piece: cargo_quiet, tail: CARGO_END },
    Shape { name: "pytest", framework: "pytest", head: PYTEST, piece: pytest, tail: PYTEST_END },
    Shape { name: "pytest-quiet", framework: "pytest", head: PYTEST, piece: pytest_quiet, tail: PYTEST_END },
    Shape { name: "jest", framework: "jest", head: "", piece: jest, tail: JEST_END },
    Shape { name: "go", framework: "go-test", head: "", piece: go, tail: "FAIL\nFAIL\texample.com/shop\t9.1s\nFAIL\n" },
    Shape { name: "junit", framework: "junit", head: JUNIT, piece: junit, tail: "</testsuite></testsuites>\n" },
    Shape { name: "generic", framework: "generic", head: "", piece: generic, tail: "3 of 9 checks failed\n" },
    Shape { name: "job-log", framework: "cargo-test", head: JOB, piece: job, tail: JOB_END },
];

const CARGO: &str = "   Compiling shop v0.1.0 (/home/ci/shop)\n    Finished `test` profile [unoptimized] target(s) in 3.1s\n     \
    Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)\n\nrunning 900000 tests\n";
const CARGO_END: &str = "\nfailures:\n\n---- cart::tests::case_0 stdout ----\n\nthread 'cart::tests::case_0' panicked at \
    src/cart.rs:88:9:\nassertion `left == right` failed\n  left: 3\n right: 4\n\nfailures:\n    cart::tests::case_0\n\ntest result: \
    FAILED. 899999 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s\n\nerror: test failed, to rerun pass \
    `--lib`\n";
const PYTEST: &str = "============================= test session starts ==============================\nplatform linux -- Python \
    3.13.1, pytest-9.2.0, pluggy-1.6.0\nrootdir: /home/ci/shop\ncollected 900000 items\n\n";
const PYTEST_END: &str = "=================================== FAILURES ===================================\n\
    __________________________________ test_case_0 _________________________________\n\n    def test_case_0():\n>       assert 3 == 4\nE       \
    assert 3 == 4\n\ntests/test_cart.py:8: AssertionError\n=========================== short test summary info \
    ============================\nFAILED tests/test_cart.py::test_case_0 - assert 3 == 4\n================== 1 failed, 899999 passed in 99.10s \
    ===================\n";
const JEST_END: &str = "Test Suites: 1 failed, 999 passed, 1000 total\nTests:       1 failed, 8999 passed, 9000 total\nSnapshots:   0 \
    total\nTime:        9.12 s\nRan all test suites.\n";
const JUNIT: &str =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites><testsuite name=\"shop\" tests=\"900000\">\n";
const JOB: &str = "2026-01-02T03:04:05.6789012Z ##[group]Run cargo test\n2026-01-02T03:04:05.6789012Z ##[endgroup]\n\
    2026-01-02T03:04:05.6789012Z      Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)\n\
    2026-01-02T03:04:05.6789012Z \n2026-01-02T03:04:05.6789012Z running 900000 tests\n";
const JOB_END: &str = "2026-01-02T03:04:05.6789012Z \n2026-01-02T03:04:05.6789012Z test result: ok. 900000 passed; 0 failed; 0 ignored; 0 \
    measured; 0 filtered out; finished in 9.00s\n2026-01-02T03:04:05.6789012Z ##[error]Process completed with exit code 1.\n";

fn noise(at: usize, prefix: &str, log: &mut String) {
    let stamp = at % 60;
    log.push_str(&format!(
        "{prefix}2026-01-02 03:04:{stamp:02} [info] request {at} handled in {} ms by worker 4\n",
        at % 17
    ));
    log.push_str(&format!(
        "{prefix}  loading module {at} of 90000 from the cache, nothing to be done for it this time\n"
    ));
}

fn cargo(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    cargo_quiet(at, fails, log);
}

fn cargo_quiet(at: usize, fails: bool, log: &mut String) {
    let (module, word) = (["cart", "price", "parse", "stock"][at % 4], if fails { "FAILED" } else { "ok" });
    log.push_str(&format!("test {module}::tests::case_{at} ... {word}\n"));
}

fn pytest(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    pytest_quiet(at, fails, log);
}

fn pytest_quiet(at: usize, fails: bool, log: &mut String) {
    let word = if fails { "FAILED" } else { "PASSED" };
    log.push_str(&format!("tests/test_cart.py::TestCart::test_case_{at} {word}          [ {:2}%]\n", at % 100));
}

fn jest(at: usize, fails: bool, log: &mut String) {
    if fails {
        log.push_str(&format!(
            "FAIL src/cart{at}.test.js\n  ● Cart › adds {at}\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    \
             Received: 3\n\n      12 |   it('adds', () => {{\n    > 13 |     expect(add(1, 2)).toBe(4);\n         |                       ^\n\n      at \
             Object.toBe (src/cart{at}.test.js:13:23)\n\n"
        ));
        return;
    }
    // With `--verbose` what a file prints comes before its results.
    log.push_str(&format!("  console.log\n    loading the module number {at}\n"));
    noise(at, "    ", log);
    log.push_str(&format!("\n      at log (src/module/cart{at}.js:7:11)\n\n"));
    log.push_str(&format!("PASS src/module/cart{at}.test.js\n  Cart\n    ✓ adds what is bought {at} (3 ms)\n\n"));
}

fn go(at: usize, fails: bool, log: &mut String) {
    let word = if fails { "FAIL" } else { "PASS" };
    log.push_str(&format!("=== RUN   TestCart{at}\n"));
    noise(at, "    ", log);
    if fails {
        log.push_str("    cart_test.go:19: got 300, want 301\n");
    }
    log.push_str(&format!("--- {word}: TestCart{at} (0.00s)\n"));
}

fn junit(at: usize, fails: bool, log: &mut String) {
    log.push_str(&format!(
        "<testcase classname=\"shop.cart.Test\" name=\"case_{at}\" file=\"shop/cart.py\" time=\"0.012\""
    ));
    if fails {
        log.push_str("><failure message=\"assert 3 == 4\">tests/cart.py:8: AssertionError</failure></testcase>\n");
        return;
    }
    log.push_str("><system-out>\n");
    noise(at, "", log);
    log.push_str("</system-out></testcase>\n");
}

fn generic(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    if fails {
        log.push_str(&format!("FAIL: colours/blue_{at}\n  wanted 3, got 4 at lib/colours.zz:14\n\n"));
    } else {
        log.push_str(&format!("check {at} of the colours is fine\n"));
    }
}

fn job(at: usize, fails: bool, log: &mut String) {
    const STAMP: &str = "2026-01-02T03:04:05.6789012Z ";
    noise(at, STAMP, log);
    log.push_str(STAMP);
    cargo_quiet(at, fails, log);
}

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
            let reading =
                test_run::read(&mut log.as_slice(), Some(Exit::Code { code: 1 }), None).expect("memory is read");
            best = best.max(log.len() as f64 / (cpu_time() - began).as_secs_f64() / 1e6);
            assert_eq!(reading.report.framework, shape.framework, "{}", shape.name);
        }
        let verdict = if best >= LIMIT { "ok   " } else { "UNDER" };
        println!("{verdict}  {:<14} {best:>7.0} MB/s   limit {LIMIT:.0} MB/s", shape.name);
    }
}
