//! `upshift read`: what upshift makes of a test log, for people who wonder why a run was judged so.

use std::fs::File;
use std::io::{Cursor, Read, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Failure;
use crate::domain::test_report::{Problem, RunKind, RunStatus, TestCase, TestStatus};
use crate::domain::verdict::Exit;
use crate::test_run::{self, Reading};

/// More failing tests than this are counted, not printed, for people.
const MOST_SHOWN: usize = 200;
/// How many lines of a message people are shown.
const MESSAGE_LINES: usize = 30;

/// How a file begins that gzip compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Advice for a log without a test in it.
const EMPTY: &str =
    "\nThe log is empty.\n  → Fix: give the whole output of the test command, both streams: COMMAND > log 2>&1\n";
const NOTHING_FOUND: &str = "\nThe log has no test result and no error that upshift recognises.\n  → Fix: give the whole output of the test command, both \
    streams; if you know the framework, name it with --framework; or name its JUnit file (test.junit)\n";

/// How the report is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReadFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: `{framework, status, kind, total, passed, failed, skipped, errors, tests, problems, closing}`.
    Json,
}

/// Arguments of `upshift read`.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Test log, or - for standard input
    pub file: PathBuf,
    /// Exit code of the command that printed the log
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub exit_code: Option<i32>,
    /// Test framework (cargo-test, pytest, jest, …) [default: recognised]
    #[arg(long, value_name = "NAME")]
    pub framework: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: ReadFormat,
}

/// Reads the log and prints the report to standard output.
///
/// # Errors
/// When the log cannot be read or the report cannot be written.
pub fn run(args: ReadArgs) -> anyhow::Result<u8> {
    let exit = args.exit_code.map(|code| Exit::Code { code });
    let known = test_run::frameworks();
    // A misspelt name would silently be recognised from the output instead.
    if let Some(name) = args.framework.as_deref().filter(|name| !known.contains(name)) {
        let all = known.join(", ");
        return Err(Failure::usage(format!("no framework is called '{}'\n  → Fix: one of {all}", name.escape_debug())));
    }
    let mut log: Box<dyn Read> =
        if args.file.as_os_str() == "-" { Box::new(std::io::stdin().lock()) } else { open(&args.file)? };
    let reading = test_run::read(&mut *log, exit, args.framework.as_deref())
        .with_context(|| format!("failed to read the log {}", args.file.display()))?;
    let text = match args.format {
        ReadFormat::Text => render_text(&reading),
        ReadFormat::Json => render_json(&reading),
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader like `head` may have seen enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("failed to print the report")
        }
        _ => Ok(0),
    }
}

/// A log that is a file.
fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    let shown = path.display();
    let fails = |error: std::io::Error| {
        Failure::usage(format!(
            "failed to open the log {shown}: {error}\n  → Fix: name an existing file, or - for standard input"
        ))
    };
    let mut file = File::open(path).map_err(fails)?;
    // Opening a folder works on Unix, and only reading it fails, with words that help nobody.
    if file.metadata().map_err(fails)?.is_dir() {
        return Err(Failure::usage(format!(
            "{shown} is a folder\n  → Fix: name one log in it, or - for standard input"
        )));
    }
    let mut head = Vec::new();
    // From a pipe nothing can be put back, so the two bytes are read first and put in front again below.
    Read::by_ref(&mut file).take(GZIP.len() as u64).read_to_end(&mut head).map_err(fails)?;
    if head == GZIP {
        return Err(Failure::usage(format!(
            "the log {shown} is compressed\n  → Fix: gzip -dc {shown} | upshift read -"
        )));
    }
    Ok(Box::new(Cursor::new(head).chain(file)))
}

/// The report as JSON: the shape of DESIGN §2.1, numbers null where the log gives none, `problems` (trouble outside tests)
/// and `closing` (the log's last lines) always there.
#[must_use]
pub fn render_json(reading: &Reading) -> String {
    #[derive(Serialize)]
    struct Shape<'a> {
        framework: &'a str,
        status: RunStatus,
        kind: RunKind,
        total: Option<u64>,
        passed: Option<u64>,
        failed: Option<u64>,
        skipped: Option<u64>,
        errors: Option<u64>,
        tests: &'a [TestCase],
        problems: &'a [Problem],
        closing: &'a str,
    }
    let Reading { report, closing } = reading;
    let shape = Shape {
        framework: &report.framework,
        status: report.status,
        kind: report.kind,
        total: report.total,
        passed: report.passed,
        failed: report.failed,
        skipped: report.skipped,
        errors: report.errors,
        tests: &report.tests,
        problems: &report.problems,
        closing,
    };
    // Plain data with string keys cannot fail to serialise.
    let mut text = serde_json::to_string_pretty(&shape).unwrap_or_default();
    text.push('\n');
    text
}

/// The report for people.
#[must_use]
pub fn render_text(reading: &Reading) -> String {
    let Reading { report, closing } = reading;
    let mut text = format!("{}: {} ({})\n", report.framework, word(&report.status), word(&report.kind));
    let counts = [
        ("total", report.total),
        ("passed", report.passed),
        ("failed", report.failed),
        ("skipped", report.skipped),
        ("errors", report.errors),
    ];
    let known: Vec<String> = counts.iter().filter_map(|(name, count)| Some(format!("{name} {}", (*count)?))).collect();
    text.push_str(&if known.is_empty() { "counts: none given".to_owned() } else { known.join(", ") });
    text.push('\n');
    for problem in &report.problems {
        text.push_str(&format!("\n{}{}\n", word(&problem.kind), place(problem.file.as_deref(), problem.line)));
        push_message(&mut text, &problem.message);
    }
    let failing: Vec<&TestCase> = report.failing().collect();
    for test in failing.iter().take(MOST_SHOWN) {
        let mark = if test.status == TestStatus::Error { "ERROR" } else { "FAILED" };
        text.push_str(&format!("\n{mark} {}{}\n", test.name, place(test.file.as_deref(), test.line)));
        push_message(&mut text, &test.message);
    }
    if failing.len() > MOST_SHOWN {
        text.push_str(&format!("\n… and {} more failing tests\n", failing.len() - MOST_SHOWN));
    }
    if report.kind == RunKind::Unreadable && report.tests.is_empty() {
        text.push_str(if closing.is_empty() { EMPTY } else { NOTHING_FOUND });
    }
    if report.status == RunStatus::Passed && !closing.is_empty() {
        text.push_str("\nthe log ends:\n");
        push_message(&mut text, closing);
    }
    text
}

fn push_message(text: &mut String, message: &str) {
    let mut lines = message.lines();
    for line in lines.by_ref().take(MESSAGE_LINES) {
        // An empty line of a message stays empty.
        text.push_str(format!("    {line}").trim_end());
        text.push('\n');
    }
    let rest = lines.count();
    if rest > 0 {
        text.push_str(&format!("    … {rest} more lines\n"));
    }
}

fn place(file: Option<&str>, line: Option<u32>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("  ({file}:{line})"),
        (Some(file), None) => format!("  ({file})"),
        _ => String::new(),
    }
}

/// The word that the JSON form uses too.
fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "collected 2 items\n\ntests/a.py .F   [100%]\n\n== FAILURES ==\n___ test_b ___\n\n>   assert 1 == 2\n\
        E   assert 1 == 2\n\ntests/a.py:4: AssertionError\n== short test summary info ==\nFAILED tests/a.py::test_b - assert 1 == 2\n\
        == 1 failed, 1 passed in 0.02s ==\n";

    fn reading() -> Reading {
        test_run::read(&mut LOG.as_bytes(), Some(Exit::Code { code: 1 }), None).unwrap()
    }

    #[test]
    fn json_has_exactly_the_promised_keys() {
        let value: serde_json::Value = serde_json::from_str(&render_json(&reading())).unwrap();
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let counts = ["total", "passed", "failed", "skipped", "errors"];
        let expected = [&["framework", "status", "kind"][..], &counts, &["tests", "problems", "closing"]].concat();
        assert_eq!(keys, expected);
        let keys: Vec<&str> = value["tests"][0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["name", "status", "message", "file", "line"]);
        assert_eq!((value["framework"].as_str(), value["status"].as_str()), (Some("pytest"), Some("failed")));
    }

    #[test]
    fn a_passing_log_is_shown_with_its_own_last_words() {
        let log = "tests/a.py ..   [100%]\n== 2 passed in 0.02s ==\n";
        let reading = test_run::read(&mut log.as_bytes(), Some(Exit::Code { code: 0 }), None).unwrap();
        let text = render_text(&reading);
        assert!(text.ends_with("the log ends:\n    tests/a.py ..   [100%]\n    == 2 passed in 0.02s ==\n"), "{text}");
    }

    #[test]
    fn a_log_without_a_result_is_said_to_be_one() {
        let said = |log: &str| render_text(&test_run::read(&mut log.as_bytes(), None, None).unwrap());
        assert!(said("").contains("The log is empty."), "{}", said(""));
        assert!(said("hello\n").contains("The log has no test result"), "{}", said("hello\n"));
        assert!(!render_text(&reading()).contains("→ Fix"));
    }

    #[test]
    fn a_folder_and_a_compressed_log_are_told_from_logs() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path| open(path).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said(folder.path()).contains("is a folder"));
        let log = folder.path().join("log.gz");
        std::fs::write(&log, [0x1f, 0x8b, 8, 0]).unwrap();
        assert!(said(&log).contains("gzip -dc"));
        std::fs::write(&log, "x").unwrap();
        let mut text = String::new();
        open(&log).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
    }

    #[test]
    fn people_read_counts_names_and_places() {
        insta::assert_snapshot!(render_text(&reading()), @r"
        pytest: failed (tests)
        total 2, passed 1, failed 1, skipped 0, errors 0

        FAILED tests/a.py::test_b  (tests/a.py:4)
            >   assert 1 == 2
            E   assert 1 == 2

            tests/a.py:4: AssertionError
        ");
    }
}
