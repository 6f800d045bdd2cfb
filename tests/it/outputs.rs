//! Reads stored outputs of real test runners and compares with what their sidecars say.
//!
//! Each output `NAME.txt` (`.xml`, `.json.out`, `.txt.gz`) stands beside a sidecar `NAME.json` with the framework, the
//! command, the exit code, status, counts (null where the framework gives none), the failing tests, and parts of
//! messages and places that a reader must find. Our own are in `crates/testlog/tests/fixtures/outputs`; a larger collection is read
//! when it is there (`../shared/outputs` beside the crate, or below the folder that `UPSHIFT_SHARED` names).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use upshift::domain::test_report::{RunKind, RunStatus};
use upshift::domain::verdict::{Exit, Verdict};
use upshift::policy::verdict::{self, Baseline};
use upshift::test_run::Reading;

#[derive(Debug, Deserialize)]
struct Sidecar {
    framework: String,
    exit_code: Option<i32>,
    status: RunStatus,
    total: Option<u64>,
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
    errors: Option<u64>,
    failed_tests: Vec<String>,
    must_contain_messages: Vec<String>,
    locations: Vec<String>,
    #[serde(default)]
    note: String,
}

impl Sidecar {
    fn leaves_counts_out(&self) -> bool {
        let none = [self.total, self.passed, self.failed, self.skipped, self.errors].iter().all(Option::is_none);
        self.note.contains("left out") || (none && self.status != RunStatus::Error)
    }

    /// How many failing tests it counts and, as its note says, does not name.
    fn names_left_out(&self) -> u64 {
        let says_so = self.note.contains("more failing tests");
        if says_so { self.failed.unwrap_or(0).saturating_sub(self.failed_tests.len() as u64) } else { 0 }
    }
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/testlog/tests/fixtures/outputs")
}

fn shared() -> Option<PathBuf> {
    #[expect(clippy::disallowed_methods, reason = "a developer may keep the collection elsewhere; no product code")]
    let named = std::env::var_os("UPSHIFT_SHARED").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    [named, Some(beside)].into_iter().flatten().map(|base| base.join("outputs")).find(|folder| folder.is_dir())
}

fn sidecars(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    found.sort();
    found
}

fn log_of(sidecar: &Path) -> Vec<u8> {
    let named = |extension: &str| sidecar.with_extension(extension);
    let path = ["txt", "xml", "json.out", "txt.gz"].iter().map(|one| named(one)).find(|path| path.exists()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") { gunzip(&path) } else { bytes }
}

/// Unpacks with the system's gzip: the product reads no compressed logs.
fn gunzip(path: &Path) -> Vec<u8> {
    #[expect(clippy::disallowed_methods, reason = "a test starts the system's gzip")]
    let output = std::process::Command::new("gzip").arg("-dc").arg(path).output().unwrap();
    output.stdout
}

fn read(log: &mut dyn Read, sidecar: &Sidecar) -> Reading {
    let exit = sidecar.exit_code.map(|code| Exit::Code { code });
    upshift::test_run::read(log, exit, None).unwrap()
}

/// Everything about a report that a person could read.
fn texts(Reading { report, closing }: &Reading) -> (String, BTreeSet<String>) {
    let mut text = format!("{closing}\n");
    let mut places = BTreeSet::new();
    let tests = report.tests.iter().map(|test| (&test.message, &test.file, test.line));
    let problems = report.problems.iter().map(|problem| (&problem.message, &problem.file, problem.line));
    for (message, file, line) in tests.chain(problems) {
        text.push_str(message);
        text.push('\n');
        if let (Some(file), Some(line)) = (file, line) {
            places.insert(format!("{file}:{line}"));
        }
    }
    (text, places)
}

/// A sidecar that says more, or something else, than its log: the differences to the last one, and why each stays.
struct Argued {
    name: &'static str,
    differences: &'static [&'static str],
    #[expect(dead_code, reason = "for those who read this file")]
    because: &'static str,
}

const fn argued(name: &'static str, differences: &'static [&'static str], because: &'static str) -> Argued {
    Argued { name, differences, because }
}

/// `go test` without `-v` prints failing tests and packages; the sidecar counts the events of a second run with `-json`.
const GO: &str = "without -v go prints '--- FAIL: …' for what failed and 'ok' or 'FAIL' for a package: neither names nor the number \
    of the tests that passed or were skipped";
const TODO: &str = "the log says 'Failed 6/9 subtests' and '(less 1 skipped subtest: 2 okay)': one of the two is a TODO that fails, which the \
    harness counts as okay and shows only verbosely";

const ARGUED: &[Argued] = &[
    argued(
        "ava-03-tap",
        &["total Some(8) for None", "passed Some(2) for None"],
        "the sidecar took its numbers from another reporter, which gives these not; the log says '1..8' and '# pass 2'",
    ),
    argued(
        "boost-test-01-default",
        &["total Some(4) for Some(5)", "skipped Some(0) for Some(1)"],
        "a disabled test case is neither named nor counted in 'Running 4 test cases...'",
    ),
    argued(
        "catch2-01-default",
        &["extra test \"should fail\""],
        "the log says '1 failed as expected' and prints that test case, 'ca/ca.cpp:16: FAILED:', as it prints the others",
    ),
    argued(
        "catch2-02-compact",
        &["total None for Some(5)", "passed None for Some(1)", "skipped None for Some(1)"],
        "the compact reporter ends with 'Failed 3 test cases, failed 4 assertions.' alone",
    ),
    argued(
        "catch2-03-colour",
        &["extra test \"should fail\""],
        "the log says '1 failed as expected' and prints that test case, 'ca/ca.cpp:16: FAILED:', as it prints the others",
    ),
    argued(
        "generic-11-npm-workspaces",
        &["extra test \"broken hook > never runs\""],
        "the same output stands in node-test-13-single-name, whose sidecar names this test, by node's own events",
    ),
    argued(
        "generic-15-npm6-workspaces-err",
        &["status Error (BadCommand) for Failed"],
        "npm itself broke ('Callback called more than once'); nothing in the log is a test",
    ),
    argued(
        "generic-47-github-actions-go",
        &["total None for Some(23)", "passed None for Some(8)", "skipped None for Some(1)"],
        GO,
    ),
    argued(
        "go-test-01-package",
        &["total None for Some(23)", "passed None for Some(8)", "skipped None for Some(1)"],
        GO,
    ),
    argued(
        "go-test-03-several-packages",
        &["total None for Some(28)", "passed None for Some(11)", "skipped None for Some(3)"],
        GO,
    ),
    argued(
        "go-test-04-short-failfast",
        &["total None for Some(7)", "passed None for Some(5)", "skipped None for Some(0)"],
        GO,
    ),
    argued(
        "go-test-05-run-one",
        &["total None for Some(2)", "passed None for Some(0)", "skipped None for Some(0)"],
        GO,
    ),
    argued(
        "go-test-06-fullpath",
        &["total None for Some(23)", "passed None for Some(8)", "skipped None for Some(1)"],
        GO,
    ),
    argued(
        "go-test-07-passing",
        &["total None for Some(3)", "passed None for Some(3)", "skipped None for Some(0)"],
        GO,
    ),
    argued(
        "go-test-10-all-skipped",
        &["total None for Some(2)", "passed None for Some(0)", "skipped None for Some(2)"],
        GO,
    ),
    argued("go-test-13-cached", &["total None for Some(3)", "passed None for Some(3)", "skipped None for Some(0)"], GO),
    argued("go-test-19-panic", &["total None for Some(2)", "passed None for Some(1)", "skipped None for Some(0)"], GO),
    argued("go-test-26-race", &["total None for Some(1)", "passed None for Some(0)", "skipped None for Some(0)"], GO),
    argued(
        "go-test-29-cover-count2",
        &["total None for Some(50)", "passed None for Some(21)", "skipped None for Some(2)"],
        GO,
    ),
    argued(
        "node-test-05-dot",
        &["total None for Some(16)", "passed None for Some(3)", "skipped None for Some(3)"],
        "'.XX.XX..XXX.XXXXXXX' does not tell suites, skipped and passed tests apart",
    ),
    argued(
        "node-test-12-no-such-file",
        &["status Error (NoTests) for Failed"],
        "no test ran, as in jest-14, mocha-17, prove-14, robot-06 and rspec-17, whose sidecars say error",
    ),
    argued("prove-01-many-files", &["passed Some(12) for Some(11)", "skipped Some(1) for Some(2)"], TODO),
    argued("prove-04-parallel", &["passed Some(12) for Some(11)", "skipped Some(1) for Some(2)"], TODO),
    argued("prove-07-colour", &["passed Some(4) for Some(3)", "skipped Some(1) for Some(2)"], TODO),
    argued(
        "prove-03-quiet",
        &["passed Some(13) for Some(11)", "skipped None for Some(2)"],
        "-Q prints no line for a file, so neither skipped nor TODO tests are told from passed ones",
    ),
    argued(
        "rspec-04-failures-format",
        &[
            "total None for Some(17)",
            "passed None for Some(2)",
            "failed None for Some(12)",
            "skipped None for Some(3)",
            "errors None for Some(0)",
        ],
        "this format prints no numbers and cannot be told from what tests print themselves",
    ),
    argued(
        "rspec-17-no-such-file",
        &[
            "total Some(0) for None",
            "passed Some(0) for None",
            "failed Some(0) for None",
            "skipped Some(0) for None",
            "errors Some(1) for None",
        ],
        "the log says '0 examples, 0 failures, 1 error', and rspec-12, whose log says the same, wants these numbers",
    ),
    argued("unittest-13-py38-discover", &["total Some(12) for Some(11)"], "the log says 'Ran 12 tests'"),
    argued(
        "vitest-08-cart-github-actions",
        &[
            "total None for Some(14)",
            "passed None for Some(3)",
            "failed None for Some(9)",
            "skipped None for Some(2)",
            "errors None for Some(0)",
        ],
        "this reporter prints one line per failure with a message and no numbers",
    ),
];

fn differences(reading: &Reading, sidecar: &Sidecar) -> Vec<String> {
    let report = &reading.report;
    let mut found = Vec::new();
    // A wrapped or mixed log may be named by the framework that was recognised in it.
    let same = report.framework == sidecar.framework
        || sidecar.framework == "generic"
        // Before nextest has started, only cargo and rustc speak.
        || (sidecar.framework == "cargo-nextest" && report.framework == "cargo-test" && report.kind == RunKind::CompileError)
        // nose2 prints what unittest prints.
        || (sidecar.framework == "nose2" && report.framework == "unittest");
    if !same {
        found.push(format!("framework {} for {}", report.framework, sidecar.framework));
    }
    if report.status != sidecar.status {
        found.push(format!("status {:?} ({:?}) for {:?}", report.status, report.kind, sidecar.status));
    }
    let counts = [
        ("total", report.total, sidecar.total),
        ("passed", report.passed, sidecar.passed),
        ("failed", report.failed, sidecar.failed),
        ("skipped", report.skipped, sidecar.skipped),
        ("errors", report.errors, sidecar.errors),
    ];
    for (name, ours, theirs) in counts {
        // A sidecar that leaves the counts out says nothing about them; no errors and no word of errors are the same.
        let left_out = theirs.is_none() && (sidecar.leaves_counts_out() || (name == "errors" && ours == Some(0)));
        if ours != theirs && !left_out {
            found.push(format!("{name} {ours:?} for {theirs:?}"));
        }
    }
    let ours: BTreeSet<&str> = report.failing().map(|test| test.name.as_str()).collect();
    let mut theirs: BTreeSet<&str> = sidecar.failed_tests.iter().map(String::as_str).collect();
    found.extend(theirs.difference(&ours).map(|name| format!("missing test {name:?}")));
    let extra = ours.difference(&theirs).count() as u64;
    if (theirs.is_empty() && sidecar.status == RunStatus::Failed) || extra <= sidecar.names_left_out() {
        // Nothing is said about the names that were left out.
        theirs.clone_from(&ours);
    }
    found.extend(ours.difference(&theirs).map(|name| format!("extra test {name:?}")));
    let (text, places) = texts(reading);
    for message in &sidecar.must_contain_messages {
        if !text.contains(message.as_str()) {
            found.push(format!("missing message {message:?}"));
        }
    }
    for place in &sidecar.locations {
        let at_end = |known: &String| {
            known.strip_suffix(place.as_str()).is_some_and(|head| head.is_empty() || head.ends_with('/'))
        };
        // Python writes `File "a.py", line 3`.
        let python = place.rsplit_once(':').map(|(file, line)| format!("{file}\", line {line}"));
        let said = text.contains(place.as_str()) || python.is_some_and(|form| text.contains(&form));
        if !said && !places.iter().any(at_end) {
            found.push(format!("missing place {place}"));
        }
    }
    found
}

/// Checks every sidecar of a folder and prints a table by framework when one differs.
fn check(folder: &Path) -> Result<usize, String> {
    #[expect(clippy::disallowed_methods, reason = "a developer may look at one framework; no product code")]
    let only = std::env::var("UPSHIFT_ONLY").unwrap_or_default();
    let mut table: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut details = String::new();
    let mut count = 0;
    for path in sidecars(folder) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.starts_with(&only) {
            continue;
        }
        let sidecar: Sidecar = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let log = log_of(&path);
        let reading = read(&mut log.as_slice(), &sidecar);
        let mut different = differences(&reading, &sidecar);
        if let Some(argued) = ARGUED.iter().find(|one| one.name == name) {
            let gone = argued.differences.iter().filter(|line| !different.iter().any(|one| one == *line));
            let gone: Vec<String> = gone.map(|line| format!("no longer differs: {line}")).collect();
            different.retain(|line| !argued.differences.contains(&line.as_str()));
            different.extend(gone);
        }
        let row = table.entry(sidecar.framework.clone()).or_default();
        row.1 += 1;
        count += 1;
        if different.is_empty() {
            row.0 += 1;
        } else {
            details.push_str(&format!("{name}\n    {}\n", different.join("\n    ")));
        }
    }
    if details.is_empty() {
        return Ok(count);
    }
    let rows: Vec<String> = table.iter().map(|(name, (good, all))| format!("{good:>4}/{all:<4} {name}")).collect();
    let good: usize = table.values().map(|(good, _)| good).sum();
    Err(format!("{details}\n{}\n{good}/{count} in all", rows.join("\n")))
}

#[test]
fn our_own_outputs_read_as_their_sidecars_say() {
    match check(&own()) {
        Ok(count) => assert!(count > 0 || shared().is_some(), "no fixtures"),
        Err(table) => panic!("{table}"),
    }
}

#[test]
fn the_shared_outputs_read_as_their_sidecars_say() {
    let Some(folder) = shared() else { return };
    if let Err(table) = check(&folder) {
        panic!("{table}");
    }
}

/// The last line is what counts of it: pytest says of subtests only how many passed.
const MENDED_SUBTESTS: &str = "uuuu...                                                                  [100%]\n3 passed, 6 subtests passed in 0.01s\n";

#[test]
fn a_test_whose_subtests_failed_counts_once_so_that_its_fix_runs_as_many_tests_as_before() {
    let log = std::fs::read(own().join("pytest-9-quiet-subtests.txt")).expect("a log");
    let read = |mut log: &[u8], code: i32| {
        upshift::test_run::read(&mut log, Some(Exit::Code { code }), None).expect("a log in memory").report
    };
    let baseline = Baseline::from_report(&read(&log, 1), Vec::new(), true);
    let judged = verdict::judge(&baseline, Exit::Code { code: 0 }, &read(MENDED_SUBTESTS.as_bytes(), 0));
    assert_eq!(judged.verdict, Verdict::Green);
    let fewer = MENDED_SUBTESTS.replace("uuuu...", "uuuu..").replace("3 passed", "2 passed");
    let judged = verdict::judge(&baseline, Exit::Code { code: 0 }, &read(fewer.as_bytes(), 0));
    assert_ne!(judged.verdict, Verdict::Green, "a test that is gone is missed still");
}
