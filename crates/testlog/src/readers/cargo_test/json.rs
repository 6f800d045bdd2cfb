//! JSON lines: libtest's `--format json`, nextest's libtest-json, and cargo's `--message-format json`.

use serde::Deserialize;

use super::panics;
use crate::findings::{Cases, Counts, Problems, sum};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestStatus};

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: Option<String>,
    event: Option<String>,
    name: Option<String>,
    stdout: Option<String>,
    message: Option<Message>,
    reason: Option<String>,
    passed: Option<u64>,
    failed: Option<u64>,
    ignored: Option<u64>,
    nextest: Option<serde::de::IgnoredAny>,
}

/// Libtest puts a text there, cargo an object.
#[derive(Debug)]
enum Message {
    Text(String),
    Diagnostic(Diagnostic),
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    #[serde(default)]
    level: String,
    #[serde(default)]
    message: String,
    rendered: Option<String>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Debug, Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    is_primary: bool,
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if let serde_json::Value::String(text) = value {
            return Ok(Self::Text(text));
        }
        serde_json::from_value(value).map(Self::Diagnostic).map_err(serde::de::Error::custom)
    }
}

/// The sum of the JSON lines.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) seen: bool,
    pub(super) nextest: bool,
    pub(super) finished: bool,
    pub(super) counts: Counts,
}

/// Reads the lines.
#[derive(Debug, Default)]
pub(super) struct Json {
    total: Seen,
    /// Counted over the events of tests.
    events: Counts,
    running: u64,
}

impl Json {
    /// Takes a line that starts with a brace. Returns whether it was one of these.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases, problems: &mut Problems) -> bool {
        // Other tools print JSON too: look before parsing.
        let head = line.get(..line.floor_char_boundary(400)).unwrap_or_default();
        if !(head.holds("\"reason\":\"") || (head.holds("\"type\":") && head.holds("\"event\":"))) {
            return false;
        }
        let Ok(event) = serde_json::from_str::<Event>(line) else { return false };
        match (event.reason.as_deref(), event.kind.as_deref(), event.event.as_deref()) {
            (Some(reason), ..) => return self.cargo(reason, event.message, problems),
            (_, Some("suite"), Some("started")) => {
                self.total.seen = true;
                self.total.nextest |= event.nextest.is_some();
                self.running += 1;
            }
            (_, Some("suite"), Some("ok" | "failed")) => {
                self.total.seen = true;
                self.running = self.running.saturating_sub(1);
                self.total.finished = true;
                let (passed, failed) = (event.passed.unwrap_or(0), event.failed.unwrap_or(0));
                let skipped = event.ignored.unwrap_or(0);
                self.total.counts.add(&Counts {
                    total: Some(sum(&[passed, failed, skipped])),
                    passed: Some(passed),
                    failed: Some(failed),
                    skipped: Some(skipped),
                    errors: None,
                });
            }
            (_, Some("test"), Some(outcome)) => {
                let status = match outcome {
                    "ok" => TestStatus::Passed,
                    "failed" | "timeout" => TestStatus::Failed,
                    "ignored" => TestStatus::Skipped,
                    _ => return true,
                };
                let Some(name) = event.name else { return true };
                // nextest writes `crate::binary$test`, and its suites' numbers do not add up when binaries interleave.
                let name = match name.rsplit_once('$') {
                    Some((_, test)) if self.total.nextest => test.to_owned(),
                    _ => name,
                };
                self.events.add(&Counts {
                    total: Some(1),
                    passed: Some(u64::from(status == TestStatus::Passed)),
                    failed: Some(u64::from(status == TestStatus::Failed)),
                    skipped: Some(u64::from(status == TestStatus::Skipped)),
                    errors: None,
                });
                let at = cases.push(&name, status);
                if status == TestStatus::Failed {
                    let mut text = event.stdout.unwrap_or_default();
                    if let Some(Message::Text(message)) = event.message {
                        text.push('\n');
                        text.push_str(&message);
                    }
                    let place = panics::place_of(&text, &name);
                    cases.explain(at, &text, place);
                }
            }
            _ => return false,
        }
        true
    }

    fn cargo(&mut self, reason: &str, message: Option<Message>, problems: &mut Problems) -> bool {
        if !matches!(reason, "compiler-message" | "compiler-artifact" | "build-finished" | "build-script-executed") {
            return false;
        }
        self.total.seen = true;
        if let Some(Message::Diagnostic(diagnostic)) = message
            && diagnostic.level.starts_with("error")
        {
            let text = diagnostic.rendered.unwrap_or(diagnostic.message);
            let place = diagnostic.spans.into_iter().find(|span| span.is_primary);
            problems.push(RunKind::CompileError, &text, place.map(|span| (span.file_name, span.line_start)));
        }
        true
    }

    /// The sum of all lines.
    pub(super) fn finish(&mut self) -> Seen {
        let mut seen = std::mem::take(&mut self.total);
        if seen.nextest {
            seen.counts = self.events;
        }
        // A suite that did not end has given no numbers.
        if self.running > 0 {
            seen.finished = false;
            seen.counts = Counts::default();
        }
        seen
    }
}
