//! `go test -json`: one event a line.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::build_kind;
use crate::findings::{Block, Cases, Counts, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};
use crate::{place, stack};

/// How many tests and packages may be open at once whose output is kept.
const MOST_OPEN: usize = 4096;
/// The most output of open tests that is kept, in bytes.
const MOST_OUTPUT: usize = 8 * 1024 * 1024;
/// How many empty stores are kept to be used again.
const MOST_SPARE: usize = 16;
/// The most that one test's output costs: [`Block`] keeps no more.
const MOST_OF_ONE: usize = 24 * 1024;

/// One event: an object of texts and numbers.
#[derive(Debug, Default)]
struct Event<'a> {
    action: Cow<'a, str>,
    package: Cow<'a, str>,
    import_path: Cow<'a, str>,
    test: Option<Cow<'a, str>>,
    output: Cow<'a, str>,
    failed_build: Option<Cow<'a, str>>,
}

impl<'a> Event<'a> {
    /// Reads a line as `go` writes it, which is without spaces between the fields.
    fn read(line: &'a str) -> Option<Self> {
        let mut rest = line.trim_end().strip_prefix('{')?;
        let mut event = Self::default();
        loop {
            let (key, behind) = string(rest)?;
            let behind = behind.strip_prefix(':')?;
            rest = if behind.starts_with('"') {
                let (value, behind) = string(behind)?;
                match &*key {
                    "Action" => event.action = value,
                    "Package" => event.package = value,
                    "ImportPath" => event.import_path = value,
                    "Test" => event.test = Some(value),
                    "Output" => event.output = value,
                    "FailedBuild" => event.failed_build = Some(value),
                    _ => {}
                }
                behind
            } else {
                // A number or a word.
                behind.get(memchr::memchr2(b',', b'}', behind.as_bytes())?..)?
            };
            match rest.split_at_checked(1)? {
                (",", next) => rest = next,
                ("}", "") => return Some(event),
                _ => return None,
            }
        }
    }
}

/// The text in quotes at the beginning, and what stands behind it.
fn string(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut end = 0;
    let mut escaped = false;
    loop {
        end += memchr::memchr2(b'"', b'\\', inner.as_bytes().get(end..)?)?;
        if inner.as_bytes().get(end) == Some(&b'"') {
            break;
        }
        // The byte behind a backslash ends nothing.
        escaped = true;
        end += 2;
    }
    let behind = inner.get(end + 1..)?;
    if escaped {
        return Some((Cow::Owned(serde_json::from_str(text.get(..end + 2)?).ok()?), behind));
    }
    Some((Cow::Borrowed(inner.get(..end)?), behind))
}

/// The state of a test or package that has not ended.
#[derive(Debug, Default)]
struct Open {
    output: Block,
    line: String,
    failed: bool,
    /// The size of the kept output, in bytes.
    kept: usize,
}

impl Open {
    fn push(&mut self, output: &str) {
        // Nearly all events hold one whole line.
        if self.line.is_empty()
            && let Some(line) = output.strip_suffix('\n')
            && memchr::memchr(b'\n', line.as_bytes()).is_none()
        {
            self.output.push(line);
            return;
        }
        self.line.push_str(output);
        while let Some((line, rest)) = self.line.split_once('\n') {
            self.output.push(line);
            self.line = rest.to_owned();
        }
    }

    /// Nothing any more, with its room.
    fn emptied(mut self) -> Self {
        self.output.clear();
        self.line.clear();
        (self.failed, self.kept) = (false, 0);
        self
    }

    fn take(&mut self) -> String {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.output.push(&line);
        }
        self.output.take()
    }
}

/// The state of the events read so far.
#[derive(Debug, Default)]
pub(super) struct Json {
    seen: bool,
    /// By [`Json::key`].
    open: HashMap<String, Open, RandomState>,
    /// Emptied room of tests that passed, to be used again.
    spare: Vec<Open>,
    /// Scratch for a key.
    key: String,
    /// The output that is kept of all open tests, in bytes.
    kept: usize,
    builds: HashMap<String, Open>,
    counts: Counts,
    packages: u64,
    crashed: u64,
}

/// The outcome of all events.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) seen: bool,
    pub(super) finished: bool,
    pub(super) counts: Counts,
    pub(super) crashed: u64,
}

impl Json {
    /// Whether events were seen, so that every other one is one too.
    pub(super) const fn is_seen(&self) -> bool {
        self.seen
    }

    /// Takes a line when it is an event.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases, problems: &mut Problems) -> bool {
        let Some(event) = Event::read(line).filter(|event| !event.action.is_empty()) else { return false };
        self.seen = true;
        match &*event.action {
            "output" => self.output(&event),
            "build-output" if self.builds.len() < MOST_OPEN => {
                self.builds.entry(event.import_path.into_owned()).or_default().push(&event.output);
            }
            "run" if event.test.is_some() => {
                self.key(&event.package, event.test.as_deref());
                self.opened();
            }
            "pass" => self.ended(&event, TestStatus::Passed, cases, problems),
            "skip" => self.ended(&event, TestStatus::Skipped, cases, problems),
            "fail" => self.ended(&event, TestStatus::Failed, cases, problems),
            _ => {}
        }
        true
    }

    /// Prepares the key of a test, or of the package itself: no test's name is empty, no name holds the byte between.
    fn key(&mut self, package: &str, test: Option<&str>) {
        self.key.clear();
        self.key.push_str(package);
        self.key.push('\0');
        self.key.push_str(test.unwrap_or_default());
    }

    /// The entry that is open under the key, unless there is too much.
    fn opened(&mut self) -> Option<&mut Open> {
        if !self.open.contains_key(self.key.as_str()) {
            if self.open.len() >= MOST_OPEN {
                return None;
            }
            self.open.insert(self.key.clone(), self.spare.pop().unwrap_or_default());
        }
        self.open.get_mut(self.key.as_str())
    }

    fn output(&mut self, event: &Event<'_>) {
        // The frame of a test's own output says nothing. Before a panic's words stands the result.
        let own =
            |test: &str| event.output.trim_start().strip_prefix("--- FAIL: ").and_then(|rest| rest.strip_prefix(test));
        let is_result = event.test.as_deref().and_then(own).is_some_and(|rest| rest.starts_with(" ("));
        if event.output.starts_with("=== RUN ") || is_result || self.kept >= MOST_OUTPUT {
            return;
        }
        self.key(&event.package, event.test.as_deref());
        let Some(open) = self.opened() else { return };
        let cost = event.output.len().min(MOST_OF_ONE.saturating_sub(open.kept));
        open.kept += cost;
        open.push(&event.output);
        self.kept += cost;
    }

    fn ended(&mut self, event: &Event<'_>, status: TestStatus, cases: &mut Cases, problems: &mut Problems) {
        let Some(test) = &event.test else {
            self.package_ended(event, status, problems);
            return;
        };
        let one = Some(1);
        self.counts.add(&match status {
            TestStatus::Passed => Counts { total: one, passed: one, ..Counts::default() },
            TestStatus::Skipped => Counts { total: one, skipped: one, ..Counts::default() },
            TestStatus::Failed | TestStatus::Error => Counts { total: one, failed: one, ..Counts::default() },
        });
        let at = cases.push(test, status);
        self.key(&event.package, Some(test));
        let output = self.open.remove(self.key.as_str());
        self.kept -= output.as_ref().map_or(0, |open| open.kept).min(self.kept);
        if status == TestStatus::Failed {
            let text = output.map(|mut open| open.take()).unwrap_or_default();
            cases.explain(at, &text, stack::place_of(&text));
            self.key(&event.package, None);
            if let Some(package) = self.opened() {
                package.failed = true;
            }
        } else if let Some(open) = output
            && self.spare.len() < MOST_SPARE
        {
            self.spare.push(open.emptied());
        }
    }

    fn package_ended(&mut self, event: &Event<'_>, status: TestStatus, problems: &mut Problems) {
        self.packages += 1;
        self.key(&event.package, None);
        let mut own = self.open.remove(self.key.as_str()).unwrap_or_default();
        self.kept -= own.kept.min(self.kept);
        // A package whose tests failed has said so by them.
        if status != TestStatus::Failed || own.failed {
            return;
        }
        let build = event.failed_build.as_deref().and_then(|build| self.builds.get_mut(build));
        let built = build.is_none();
        let mut text = build.map(Open::take).unwrap_or_default();
        text.push_str(&own.take());
        // Until Go 1.24 only the words `[build failed]` tell of the build.
        if built && !text.holds(" failed]") {
            self.crashed += 1;
            problems.push(RunKind::Crash, &text, stack::place_of(&text));
        } else {
            problems.push(build_kind(&text), &text, place::find(&text));
        }
    }

    /// Ends the stream: what was open died.
    pub(super) fn finish(&mut self, problems: &mut Problems) -> Outcome {
        let zero = Counts { total: Some(0), passed: Some(0), failed: Some(0), skipped: Some(0), errors: None };
        // A key without a test is a package's.
        let unfinished = self.open.keys().any(|key| key.ends_with('\0'));
        let mut counts = self.counts;
        counts.add(&zero);
        if unfinished {
            counts = Counts::default();
            for (key, open) in &mut self.open {
                let text = open.take();
                if key.ends_with('\0') && text.holds("panic: ") {
                    problems.push(RunKind::Crash, &text, stack::place_of(&text));
                }
            }
        }
        let finished = self.packages > 0 && !unfinished;
        Outcome { seen: self.seen, finished, counts, crashed: self.crashed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_with_and_without_escapes_and_other_objects_are_none() {
        let line = r#"{"Time":"2026-01-02T03:04:05Z","Action":"output","Package":"a/b","Test":"TestA/\"x\\","Output":"é \u003c\n","Elapsed":0.5}"#;
        let event = Event::read(line).unwrap();
        assert_eq!((&*event.action, &*event.package, event.test.as_deref()), ("output", "a/b", Some("TestA/\"x\\")));
        assert_eq!(&*event.output, "é <\n");
        for other in ["{}", "{", "{\"a\":{\"b\":\"c\"}}", "{\"a\":\"b\"", "{\"a\":\"b\\\"}", "{\"a\":1} x"] {
            assert!(Event::read(other).is_none_or(|event| event.action.is_empty()), "{other}");
        }
    }
}
