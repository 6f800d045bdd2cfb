//! Catch2's own XML reporter, which is no JUnit: every element stands on lines of its own.

use crate::findings::{Block, Cases, Counts};
use crate::report::TestStatus;
use crate::stack;

/// The state of the report read so far.
#[derive(Debug, Default)]
pub(super) struct Xml {
    seen: bool,
    /// The test case and its open sections.
    path: Vec<String>,
    /// The deepest path with a failed expression.
    failed: Option<String>,
    /// The failed expression or exception that is open.
    inside: bool,
    block: Block,
    counts: Option<Counts>,
}

impl Xml {
    /// Takes a line when it belongs to such a document.
    pub(super) fn line(&mut self, line: &str, cases: &mut Cases) -> bool {
        let text = line.trim_start();
        if text.starts_with("<Catch name=") || text.starts_with("<Catch2TestRun ") {
            self.seen = true;
            return true;
        }
        if !self.seen {
            return false;
        }
        if text.starts_with("</Catch>") || text.starts_with("</Catch2TestRun>") {
            self.seen = false;
            return true;
        }
        let (tag, rest) =
            text.strip_prefix('<').map_or(("", text), |rest| rest.split_once([' ', '>']).unwrap_or((rest, "")));
        match tag {
            "TestCase" => {
                self.path.clear();
                self.failed = None;
                self.block.clear();
                self.path.extend(attribute(rest, "name"));
            }
            "Section" => self.path.extend(attribute(rest, "name")),
            "/Section" => drop(self.path.pop()),
            "Expression" | "Exception" | "Failure" | "FatalErrorCondition" => {
                // With `-s` the expressions that hold are reported too.
                self.inside = attribute(rest, "success").as_deref() != Some("true");
                if self.inside {
                    // Here, as the sections are closed before the test's result.
                    self.failed = Some(self.path.join(super::JOIN));
                    let at = attribute(rest, "filename").zip(attribute(rest, "line"));
                    self.block.push(&at.map_or_else(String::new, |(file, line)| format!("{file}:{line}:")));
                }
            }
            "/Expression" | "/Exception" | "/Failure" | "/FatalErrorCondition" => self.inside = false,
            "OverallResult" => self.test_ended(rest, cases),
            "OverallResultsCases" => self.numbers(rest),
            // Lines of text inside the element, not the expression's own elements.
            "" if self.inside && !text.is_empty() => self.block.push(&unescape(text)),
            _ => {}
        }
        true
    }

    /// The test case's own word: a case that should fail and does is a success.
    fn test_ended(&mut self, rest: &str, cases: &mut Cases) {
        let text = self.block.take();
        let Some(name) = self.path.first() else { return };
        if attribute(rest, "success").as_deref() == Some("true") {
            cases.push(name, TestStatus::Passed);
            return;
        }
        let failed = self.failed.take();
        let at = cases.push(failed.as_deref().unwrap_or(name), TestStatus::Failed);
        cases.explain(at, &text, stack::place_of(&text));
    }

    fn numbers(&mut self, rest: &str) {
        let number = |name: &str| attribute(rest, name).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
        let (passed, failed) = (number("successes"), number("failures"));
        let skipped = number("expectedFailures") + number("skips");
        self.counts = Some(Counts {
            total: Some(passed + failed + skipped),
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: None,
        });
    }

    /// The numbers of the whole run: the last that were printed.
    pub(super) const fn counts(&self) -> Option<Counts> {
        self.counts
    }
}

/// The value of an attribute.
fn attribute(text: &str, name: &str) -> Option<String> {
    let at = text.find(&format!("{name}=\""))?;
    let rest = text.get(at + name.len() + 2..)?;
    rest.split_once('"').map(|(value, _)| unescape(value))
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}
