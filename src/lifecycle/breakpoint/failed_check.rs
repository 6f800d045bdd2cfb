//! A check that failed, reduced to what a model needs of it.
//!
//! Invariant: whatever an app or a log says is foreign text, cut before it is kept.

use std::path::Path;

use crate::domain::foreign::Foreign;
use crate::domain::test_report::TestReport;
use crate::domain::verdict::Exit;
use crate::github::{Annotation, CheckOutput};
use crate::test_run::{self, TestRun};

/// What a model is shown of one check's log or report, in characters.
const CHECK_CHARS: usize = 3_000;
/// What it is shown of a log that no parser understands: its last lines.
const TAIL_CHARS: usize = 1_500;
/// How many annotations of one check are shown.
const MOST_ANNOTATIONS: usize = 10;
/// The most characters of one annotation, and of a report's title.
const ANNOTATION_CHARS: usize = 300;
/// The path of the runner's own annotations ("Process completed with exit code 1."), which tell nothing.
const OF_RUNNER: &str = ".github";

/// Everything that a failed check says, as it was fetched.
pub(super) struct Fetched {
    /// The log of a job; `None` where there is none.
    pub(super) log: Option<String>,
    /// The report of another app.
    pub(super) output: CheckOutput,
    /// Remarks with their lines.
    pub(super) annotations: Vec<Annotation>,
}

/// A failed check.
#[derive(Debug, Default)]
pub(super) struct FailedCheck {
    /// What is shown of it.
    pub(super) text: String,
    /// The names of the tests that failed in it.
    pub(super) failing: Vec<String>,
    /// The places that it names.
    pub(super) named: Vec<(String, Option<u32>)>,
    /// The error, to be compared with the next one.
    pub(super) signature: String,
    /// Whether it says anything about why it failed.
    pub(super) is_told: bool,
}

impl FailedCheck {
    /// Reads a check whose files lie at `root`.
    pub(super) fn of(root: &Path, fetched: &Fetched) -> Self {
        let mut check = match &fetched.log {
            Some(log) => Self::of_log(root, log),
            None => Self::of_report(root, &fetched.output),
        };
        // Before the remarks are added, of which the runner makes one for every failed job.
        check.is_told = !check.text.trim().is_empty();
        for annotation in remarks(&fetched.annotations) {
            check.add(annotation);
        }
        if check.text.trim().is_empty() {
            check.text = "its report cannot be read".to_owned();
        }
        check
    }

    fn add(&mut self, annotation: &Annotation) {
        let cut = |text: &str| text.chars().take(ANNOTATION_CHARS).collect::<String>();
        let (path, message) = (cut(&annotation.path), cut(&annotation.message));
        let title = if annotation.title.is_empty() { String::new() } else { format!("{}: ", cut(&annotation.title)) };
        self.text.push_str(&format!("{path}:{}: {title}{message}\n", annotation.start_line));
        if path != OF_RUNNER {
            self.is_told = true;
            self.named.push((path, u32::try_from(annotation.start_line).ok()));
        }
        self.signature.push_str(&message);
    }

    /// Reads a report in Markdown, without what its page does not show. An app that posts a runner's print is read as a log is.
    fn of_report(root: &Path, output: &CheckOutput) -> Self {
        let title = Foreign::prose(&output.title).one_line().chars().take(ANNOTATION_CHARS).collect::<String>();
        let whole = format!("{}\n{}\n", output.summary, output.text);
        let shown = Foreign::prose(&whole);
        if shown.is_empty() {
            return Self {
                signature: title.clone(),
                text: if title.is_empty() { title } else { title + "\n" },
                ..Self::default()
            };
        }
        if let Some(check) = Self::understood(root, shown.as_str()) {
            return Self { text: format!("{title}\n{}", check.text), ..check };
        }
        // A report begins with what matters, where a log ends with it.
        let body = shown.cut(CHECK_CHARS);
        let text = format!("{title}\n{}\n", body.as_str().trim());
        Self { signature: text.chars().take(TAIL_CHARS).collect(), text, ..Self::default() }
    }

    fn of_log(root: &Path, log: &str) -> Self {
        Self::understood(root, log).unwrap_or_else(|| Self { text: tail(log), signature: tail(log), ..Self::default() })
    }

    /// Reads a runner's print; `None` where no parser finds a failure in it.
    fn understood(root: &Path, log: &str) -> Option<Self> {
        let exit = Exit::Code { code: 1 };
        // A job may run other tests than ours does: its framework is recognised, not given.
        let report = test_run::read(&mut log.as_bytes(), Some(exit), None).ok()?.report;
        let failing: Vec<String> = report.failing().map(|test| test.name.clone()).collect();
        if failing.is_empty() && report.problems.is_empty() {
            return None;
        }
        let (signature, named) = (signature(&report, log), places(&report));
        let run = TestRun {
            exit,
            report,
            filed: test_run::Filed::NotAsked,
            output: tail(log),
            duration_ms: 0,
            stopped: None,
        };
        let text = test_run::describe(&run, root, CHECK_CHARS);
        Some(Self { text, failing, named, signature, is_told: true })
    }
}

/// The remarks that are shown: the failures, or where a failed check has none, whatever it remarked.
fn remarks(annotations: &[Annotation]) -> impl Iterator<Item = &Annotation> {
    let is_failure = |annotation: &&Annotation| annotation.annotation_level == "failure";
    let any = annotations.iter().any(|annotation| is_failure(&annotation));
    annotations.iter().filter(move |annotation| !any || is_failure(annotation)).take(MOST_ANNOTATIONS)
}

fn signature(report: &TestReport, log: &str) -> String {
    let first = report.failing().map(|test| format!("{}: {}", test.name, test.message)).next();
    let problem = || report.problems.first().map(|problem| problem.message.clone());
    first.or_else(problem).unwrap_or_else(|| tail(log))
}

fn places(report: &TestReport) -> Vec<(String, Option<u32>)> {
    let problems = report.problems.iter().filter_map(|problem| Some((problem.file.clone()?, problem.line)));
    problems.chain(report.failing().filter_map(|test| Some((test.file.clone()?, test.line)))).collect()
}

/// The last lines of a log.
fn tail(log: &str) -> String {
    let count = log.chars().count();
    log.chars().skip(count.saturating_sub(TAIL_CHARS)).collect()
}
