//! `go test -json`: one event a line.

use std::collections::HashMap;

use serde::Deserialize;

use super::build_kind;
use crate::domain::test_report::{RunKind, TestStatus};
use crate::test_run::parse::findings::{Block, Cases, Counts, Problems};
use crate::test_run::parse::{place, stack};

/// How many tests and packages may be open at once whose output is kept.
const MOST_OPEN: usize = 4096;
/// The most output of open tests that is kept, in bytes.
const MOST_OUTPUT: usize = 8 * 1024 * 1024;
/// What one test's output costs at most: [`Block`] keeps no more.
const MOST_OF_ONE: usize = 24 * 1024;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: &'a str,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    output: String,
    #[serde(default)]
    failed_build: Option<String>,
}

/// What is known of a test or package that has not ended.
#[derive(Debug, Default)]
struct Open {
    output: Block,
    line: String,
    failed: bool,
    /// What is kept, in bytes.
    kept: usize,
}

impl Open {
    fn push(&mut self, output: &str) {
        self.line.push_str(output);
        while let Some((line, rest)) = self.line.split_once('\n') {
            self.output.push(line);
            self.line = rest.to_owned();
        }
    }

    fn take(&mut self) -> String {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.output.push(&line);
        }
        self.output.take()
    }
}

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Json {
    seen: bool,
    open: HashMap<(String, String), Open>,
    /// The output that is kept of all open tests, in bytes.
    kept: usize,
    builds: HashMap<String, Open>,
    counts: Counts,
    packages: u64,
    crashed: u64,
}

/// What the events say in the end.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) seen: bool,
    pub(super) finished: bool,
    pub(super) counts: Counts,
    pub(super) crashed: u64,
}

impl Json {
    /// Takes a line when it is an event.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases, problems: &mut Problems) -> bool {
        if !line.contains("\"Action\":\"") {
            return false;
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { return false };
        self.seen = true;
        match event.action {
            "output" => self.output(event),
            "build-output" if self.builds.len() < MOST_OPEN => {
                self.builds.entry(event.import_path).or_default().push(&event.output);
            }
            "run" => {
                if let Some(test) = event.test
                    && self.open.len() < MOST_OPEN
                {
                    self.open.entry((event.package, test)).or_default();
                }
            }
            "pass" => self.ended(event, TestStatus::Passed, cases, problems),
            "skip" => self.ended(event, TestStatus::Skipped, cases, problems),
            "fail" => self.ended(event, TestStatus::Failed, cases, problems),
            _ => {}
        }
        true
    }

    fn output(&mut self, event: Event<'_>) {
        let test = event.test.unwrap_or_default();
        // The frame of a test's own output says nothing.
        if event.output.starts_with("=== RUN ") {
            return;
        }
        let key = (event.package, test);
        if self.kept < MOST_OUTPUT && (self.open.len() < MOST_OPEN || self.open.contains_key(&key)) {
            let open = self.open.entry(key).or_default();
            let cost = event.output.len().min(MOST_OF_ONE.saturating_sub(open.kept));
            open.kept += cost;
            self.kept += cost;
            open.push(&event.output);
        }
    }

    fn ended(&mut self, event: Event<'_>, status: TestStatus, cases: &mut Cases, problems: &mut Problems) {
        let Some(test) = event.test else {
            self.package_ended(event, status, problems);
            return;
        };
        let one = Some(1);
        self.counts.add(&match status {
            TestStatus::Passed => Counts { total: one, passed: one, ..Counts::default() },
            TestStatus::Skipped => Counts { total: one, skipped: one, ..Counts::default() },
            TestStatus::Failed | TestStatus::Error => Counts { total: one, failed: one, ..Counts::default() },
        });
        let at = cases.push(&test, status);
        let output = self.open.remove(&(event.package.clone(), test));
        self.kept -= output.as_ref().map_or(0, |open| open.kept).min(self.kept);
        if status == TestStatus::Failed {
            let text = output.map(|mut open| open.take()).unwrap_or_default();
            cases.explain(at, &text, stack::place_of(&text));
            if self.open.len() < MOST_OPEN {
                self.open.entry((event.package, String::new())).or_default().failed = true;
            }
        }
    }

    fn package_ended(&mut self, event: Event<'_>, status: TestStatus, problems: &mut Problems) {
        self.packages += 1;
        let mut own = self.open.remove(&(event.package, String::new())).unwrap_or_default();
        self.kept -= own.kept.min(self.kept);
        if status != TestStatus::Failed || own.failed {
            return;
        }
        let build = event.failed_build.as_ref().and_then(|build| self.builds.get_mut(build));
        let built = build.is_none();
        let mut text = build.map(Open::take).unwrap_or_default();
        text.push_str(&own.take());
        if built && !text.contains(" failed]") {
            self.crashed += 1;
            problems.push(RunKind::Crash, &text, stack::place_of(&text));
        } else {
            problems.push(build_kind(&text), &text, place::find(&text));
        }
    }

    /// Ends the stream: what was open died.
    pub(super) fn finish(&mut self, problems: &mut Problems) -> Outcome {
        let zero = Counts { total: Some(0), passed: Some(0), failed: Some(0), skipped: Some(0), errors: None };
        let unfinished = self.open.keys().any(|(_, test)| test.is_empty());
        let mut counts = self.counts;
        counts.add(&zero);
        if unfinished {
            counts = Counts::default();
            for ((_, test), open) in &mut self.open {
                let text = open.take();
                if test.is_empty() && text.contains("panic: ") {
                    problems.push(RunKind::Crash, &text, stack::place_of(&text));
                }
            }
        }
        let finished = self.packages > 0 && !unfinished;
        Outcome { seen: self.seen, finished, counts, crashed: self.crashed }
    }
}
