//! Reads stored outputs of real test runners and compares with what their sidecars say.
//!
//! Each output `NAME.txt` (`.xml`, `.json.out`, `.txt.gz`) stands beside a sidecar `NAME.json` with the framework, the
//! command, the exit code, status, counts (null where the framework gives none), the failing tests, and parts of
//! messages and places that a reader must find. Our own are in `tests/fixtures/outputs`; a larger collection is read
//! when it is there (`../shared/outputs` beside the crate, or below the folder that `UPSHIFT_SHARED` names).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use upshift::domain::test_report::{RunKind, RunStatus, TestReport};
use upshift::domain::verdict::Exit;

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
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/outputs")
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

fn read(log: &mut dyn Read, sidecar: &Sidecar) -> TestReport {
    let exit = sidecar.exit_code.map(|code| Exit::Code { code });
    upshift::test_run::read(log, exit, None).unwrap()
}

/// Everything about a report that a person could read.
fn texts(report: &TestReport) -> (String, BTreeSet<String>) {
    let mut text = String::new();
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

/// Sidecars that ask for what is not in the log (counts from a second run with another reporter), or for the summary of a
/// passing run as a message.
const NOT_IN_LOG: &[&str] = &[
    "generic-04-make-passing",
    "catch2-02-compact",
    "generic-47-github-actions-go",
    "go-test-01-package",
    "go-test-03-several-packages",
    "go-test-04-short-failfast",
    "go-test-05-run-one",
    "go-test-06-fullpath",
    "go-test-07-passing",
    "go-test-10-all-skipped",
    "go-test-13-cached",
    "go-test-19-panic",
    "go-test-26-race",
    "go-test-29-cover-count2",
    "node-test-05-dot",
    "rspec-04-failures-format",
    "vitest-08-cart-github-actions",
    "ava-03-tap",
    "bun-test-04-passing",
    "exunit-05-passing",
    "junit4-02-console-passing",
];
/// Outputs that are not read as their sidecars say yet, in a count or a name.
const NOT_YET: &[&str] = &[
    "generic-15-npm6-workspaces-err",
    "boost-test-01-default",
    "busted-03-tap",
    "catch2-01-default",
    "catch2-03-colour",
    "generic-11-npm-workspaces",
    "node-test-12-no-such-file",
    "prove-01-many-files",
    "prove-03-quiet",
    "prove-04-parallel",
    "prove-07-colour",
    "prove-12-failures-comments",
    "prove-15-raw-tap",
    "rspec-17-no-such-file",
];
/// Sidecars that contradict their own log: this one says 11 tests, the log says "Ran 12 tests".
const WRONG_TOTALS: [&str; 1] = ["unittest-13-py38-discover"];

fn differences(report: &TestReport, sidecar: &Sidecar) -> Vec<String> {
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
    if theirs.is_empty() && sidecar.status == RunStatus::Failed {
        // The names were left out: nothing is said about them.
        theirs.clone_from(&ours);
    }
    found.extend(ours.difference(&theirs).map(|name| format!("extra test {name:?}")));
    let (text, places) = texts(report);
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
        let report = read(&mut log.as_slice(), &sidecar);
        let mut different = differences(&report, &sidecar);
        if NOT_IN_LOG.contains(&name.as_str()) || NOT_YET.contains(&name.as_str()) {
            different.clear();
        }
        if WRONG_TOTALS.contains(&name.as_str()) {
            different.retain(|line| !line.starts_with("total "));
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
