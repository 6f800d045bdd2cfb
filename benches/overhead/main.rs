//! What upshift itself adds to a run, measured on the built program with a model that answers at once.
//!
//! `cargo bench --bench overhead`, with `-- gateway` for the gateway alone (`-- gateway check` fails above a limit), `-- joining` for the logs of many jobs, `-- against PROGRAM` for another build beside this one. Each figure stands beside its limit (issue: the loop) and, where there is one, beside the
//! floor: what the same work costs without upshift in the same run. CPU is user + system time of the program and all
//! its children, less what the tests alone take. Folders lie in memory where there is such a place: a disk's file system takes longer the more
//! files were removed just before, as they are between two runs of a benchmark. Medians over [`RUNS`] runs; of CPU time the mean. Measured is the shipped program,
//! where `cargo build --profile dist` was run before, else the release build.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise, starts the program and prints"
)]

mod against;
mod confinement;
mod gateway;
mod joining;
mod machine;
mod model;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::{children_cpu, median};
use model::{CASES, Case, Model, SHELL};

/// How often each thing is measured.
const RUNS: u32 = 25;
/// Turns of the long conversation, beyond those of the short one.
const MORE_TURNS: u32 = 30;

/// Whether a figure was above its limit.
static OVER: AtomicBool = AtomicBool::new(false);

/// With `-- check` a figure above its limit is a failure.
fn main() -> ExitCode {
    measure();
    let checks = std::env::args().any(|word| word == "check");
    if checks && OVER.load(Ordering::Relaxed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn measure() {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next();
    if first.as_ref().is_some_and(|word| word == gateway::CLIENT) {
        return gateway::client(Path::new(&arguments.next().expect("a file")));
    }
    if first.as_ref().is_some_and(|word| word == joining::JOINER) {
        let folder = arguments.next().expect("a folder");
        let count = arguments.next().and_then(|word| word.to_str()?.parse().ok());
        return joining::join(Path::new(&folder), count.expect("a number"));
    }
    if std::env::args().any(|word| word == "joining") {
        return joined();
    }
    let only_gateway = std::env::args().any(|word| word == "gateway");
    let shipped = shipped();
    let program = shipped.as_deref().unwrap_or_else(|| Path::new(env!("CARGO_BIN_EXE_upshift")));
    let build = if shipped.is_some() { "the shipped program (profile dist)" } else { "the release build" };
    println!("what upshift adds to a run (medians of {RUNS}), measured on {build}\n");
    if only_gateway {
        return passed_on(program);
    }
    let mut rest = std::env::args_os().skip_while(|word| word != "against");
    if rest.next().is_some() {
        let other = rest.next().expect("`-- against` is followed by the path of a program");
        return against::compare(program, Path::new(&other));
    }
    start_up(program);
    confined(program);
    turns(program);
    passed_on(program);
    joined();
    binary(program);
    sizes(program);
}

/// How fast the logs of many jobs are joined, and in how much memory.
fn joined() {
    let [half, whole] = joining::measure();
    let beside = format!("{:.0} MB in {:.1} s", whole.megabytes, whole.megabytes / whole.speed);
    line("joining 50 logs, time of 50 MB", 50_000.0 / whole.speed, "ms", 1_000.0, Some(beside));
    let more = format!("{:.0} MB/s with half of them, {:.0} MB/s with all", half.speed, whole.speed);
    line("the same a byte, of that with half", half.speed / whole.speed * 100.0, "%", 125.0, Some(more));
    line("its resident memory", whole.memory, "MB", 256.0, Some(format!("{:.0} MB with half", half.memory)));
}

/// What the gateway adds to a call and to a stream of a megabyte.
fn passed_on(program: &Path) {
    let (floor, with) = gateway::measure(program);
    line(
        "a call through the gateway, added",
        with.call - floor.call,
        "ms",
        2.0,
        Some(format!("{:.2} ms without it", floor.call)),
    );
    let disk = gateway::durable_write_ms();
    println!(
        "      {:<44} {disk:>9.2} ms   on top where the log lies on this disk",
        "a durable write of a receipt, one a call"
    );
    let share = (with.paced - floor.paced) / floor.paced * 100.0;
    line("a stream of 1 MB in a second, added", share, "%", 5.0, Some(format!("{:.0} ms without it", floor.paced)));
    println!("      {:<44} {:>9.2} ms   floor: {:.2} ms without it", "the same at once", with.at_once, floor.at_once);
}

fn line(what: &str, value: f64, unit: &str, limit: f64, floor: Option<String>) {
    let verdict = if value <= limit { "ok  " } else { "OVER" };
    let floor = floor.map(|floor| format!("   floor: {floor}")).unwrap_or_default();
    if value > limit {
        OVER.store(true, Ordering::Relaxed);
    }
    println!("{verdict}  {what:<44} {value:>9.2} {unit:<5} limit {limit:>5} {unit}{floor}");
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn timed(mut command: Command) -> f64 {
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    assert!(status.success(), "{command:?}");
    milliseconds(began.elapsed())
}

/// From exec to exit of a command that reads its configuration and does nothing else.
fn start_up(program: &Path) {
    let project = SHELL.unpack();
    let spawn = || timed(Command::new("true"));
    let floor = median((0..RUNS).map(|_| spawn()).collect());
    let value = median((0..RUNS).map(|_| readied(program, project.path())).collect());
    line("start-up (check: config, catalogue, plan)", value, "ms", 5.0, Some(format!("{floor:.2} ms for `true`")));
}

/// The milliseconds of one command that reads its configuration and does nothing else.
fn readied(program: &Path, project: &Path) -> f64 {
    let mut command = model::upshift(program, project, "http://127.0.0.1:9");
    command.args(["check", "--tiers", "claude-haiku-5-5 x5 > claude-sonnet-5-5 x3", "--test-command", "true"]);
    timed(command)
}

/// From the start of a child to the knowledge of its end.
fn confined(program: &Path) {
    let (floor, value) = confinement::measure(program);
    let beside = format!("{floor:.2} ms for the child without it");
    line("confinement of a child process, added", value - floor, "ms", 5.0, Some(beside));
}

/// A four-turn fix and one with more turns: time per turn, CPU, memory, bytes.
fn turns(program: &Path) {
    let (mut short, mut long, mut memory, mut bytes) = (vec![], vec![], vec![], vec![]);
    let (mut whole, mut unproven, mut tests) = (Spent::default(), Spent::default(), 0.0);
    for _ in 0..RUNS {
        let fix = fix(program, &SHELL, 0, Court::Sits);
        short.push(fix.wall_ms);
        whole.add(&fix);
        // In turn, since a shared machine is now faster and now slower.
        tests += model::tests_cpu_ms();
        unproven.add(&self::fix(program, &SHELL, 0, Court::Off));
        memory.push(fix.memory_mb);
        bytes.push(fix.uncached_bytes);
        long.push(self::fix(program, &SHELL, MORE_TURNS, Court::Sits).wall_ms);
    }
    let per_turn = (median(long) - median(short.clone())) / f64::from(MORE_TURNS);
    let http = model::http_floor_ms();
    line("time per model turn, durable rows", per_turn, "ms", 5.0, Some(format!("{http:.2} ms for the HTTP exchange")));
    let test = tests / f64::from(RUNS);
    let (own, floor) = whole.beyond(test);
    let (court, without) = (whole.runs() - unproven.runs(), unproven.beyond(test).0);
    let floor = format!("{floor:.2} ms for {:.0} runs of the tests, {court:.0} of them for the court", whole.runs());
    line("CPU of a four-turn fix beyond its tests", own, "ms", 30.0, Some(floor));
    println!("      {:<44} {without:>9.2} ms", "the same without a court (safety.proof: off)");
    println!("      {:<44} {:>9.2} ms", "a four-turn fix, wall clock, tests included", median(short));
    line("resident memory", median(memory), "MB", 20.0, None);
    line("uncached bytes sent in four turns", median(bytes) / 1_000.0, "kB", 12.0, None);
}

/// What [`RUNS`] fixes took.
#[derive(Default)]
struct Spent {
    cpu: Duration,
    test_runs: u32,
}

impl Spent {
    fn add(&mut self, fix: &Fix) {
        self.cpu += fix.cpu;
        self.test_runs += fix.test_runs;
    }

    /// Runs of the tests in one fix: twice at the start, once for the model, once to judge, and what the court asks for as evidence.
    fn runs(&self) -> f64 {
        f64::from(self.test_runs) / f64::from(RUNS)
    }

    /// Of one fix, what is beyond the runs of its tests, and those, in milliseconds, where a run alone takes so long. A mean: the kernel
    /// tells these times in ticks of 10 ms, so that one run's is too coarse.
    fn beyond(&self, test: f64) -> (f64, f64) {
        let tests = test * self.runs();
        (milliseconds(self.cpu / RUNS) - tests, tests)
    }
}

/// Whether a green is asked for evidence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Court {
    Sits,
    Off,
}

struct Fix {
    wall_ms: f64,
    cpu: Duration,
    test_runs: u32,
    memory_mb: f64,
    uncached_bytes: f64,
}

fn fix(program: &Path, case: &'static Case, more_turns: u32, court: Court) -> Fix {
    let project = case.unpack();
    if court == Court::Off {
        let folder = project.path().join(".github");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("upshift.yml"), "safety: { proof: \"off\", minimise: \"off\" }\n").expect("written");
    }
    let model = Model::start(case, more_turns);
    let (database, state) = (model::folder(), model::folder());
    let before = children_cpu();
    let began = Instant::now();
    let child = model::upshift(program, project.path(), &model.url())
        .env("XDG_STATE_HOME", state.path())
        .args(["run", "--tiers", "claude-haiku-5-5 x1", "--test-command", case.test_command, "--audit-db"])
        .arg(database.path().join("audit.db"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    model.watch(child.id());
    let output = child.wait_with_output().expect("it ends");
    let wall_ms = milliseconds(began.elapsed());
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "the fix must succeed: {}{}", said(&output.stdout), said(&output.stderr));
    let seen = model.seen();
    Fix {
        wall_ms,
        cpu: children_cpu().saturating_sub(before),
        test_runs: test_runs(&state.path().join("upshift")),
        memory_mb: seen.peak_kb / 1_000.0,
        uncached_bytes: seen.uncached_bytes,
    }
}

/// The runs of the tests whose raw output a run has kept.
fn test_runs(home: &Path) -> u32 {
    let folders = std::fs::read_dir(home).expect("a folder").flatten();
    let kept = folders.flat_map(|run| upshift::streams::kept(&upshift::streams::folder_of(&run.path())));
    let runs = kept.filter(|path| path.to_string_lossy().ends_with("-tests.txt.gz")).count();
    u32::try_from(runs).expect("few")
}

/// Bytes per fix for a fixed set of cases, so that a prompt that grows is seen; about four bytes are a token.
fn sizes(program: &Path) {
    println!("\nsent to the model in a four-turn fix, what a request shares with the one before counted once");
    for case in &CASES {
        let bytes = fix(program, case, 0, Court::Sits).uncached_bytes;
        println!("      {:<44} {bytes:>9} bytes, about {:.0} tokens", case.name, bytes / 4.0);
    }
}

/// The program as it is shipped, for this machine's C library or, as the release is, for none; to be built before, since it takes minutes.
fn shipped() -> Option<PathBuf> {
    let release = Path::new(env!("CARGO_BIN_EXE_upshift"));
    let target = release.parent().and_then(Path::parent)?;
    let alone = format!("{}-unknown-linux-musl/dist/upshift", std::env::consts::ARCH);
    [alone.as_str(), "dist/upshift"].into_iter().map(|path| target.join(path)).find(|path| path.exists())
}

fn binary(program: &Path) {
    match std::fs::metadata(program).ok().filter(|_| shipped().as_deref() == Some(program)) {
        Some(file) => {
            let megabytes = f64::from(u32::try_from(file.len() / 1_000).expect("small")) / 1_000.0;
            line("the program, stripped (profile dist)", megabytes, "MB", 12.0, None);
        }
        None => println!("      the program's size: first `cargo build --profile dist`"),
    }
}
