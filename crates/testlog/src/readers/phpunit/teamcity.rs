//! TeamCity's service messages as PHPUnit writes them: `##teamcity[testFailed name='…' message='…' details='…']`.

use crate::findings::{Budget, Cases};
use crate::needle::Seek as _;
use crate::report::{TestCase, TestStatus};
use crate::stack;

/// Collects service messages.
#[derive(Debug)]
pub(super) struct TeamCity {
    cases: Cases,
    /// The whole name of the test that runs, and how it ended so far.
    running: Option<(String, TestStatus, String)>,
}

impl TeamCity {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { cases: Cases::new(budget), running: None }
    }

    /// Takes a line when it is a message.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let Some(rest) = line.strip_prefix("##teamcity[").and_then(|rest| rest.trim_end().strip_suffix(']')) else {
            return false;
        };
        let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        match kind {
            "testStarted" => {
                // Such as `php_qn:///w/CartTest.php::\CartTest::testAdds`.
                let place = value(rest, "locationHint");
                let name = place.as_deref().and_then(|place| place.cut("::\\")).map(|(_, name)| name.to_owned());
                self.running =
                    name.or_else(|| value(rest, "name")).map(|name| (name, TestStatus::Passed, String::new()));
            }
            // Risky tests are reported so, too.
            "testFailed" if rest.holds("message='This test did not perform any assertions") => {}
            "testFailed" => {
                if let Some((_, status, text)) = &mut self.running {
                    *status = TestStatus::Failed;
                    for part in ["message", "details"] {
                        text.push_str(&value(rest, part).unwrap_or_default());
                        text.push('\n');
                    }
                }
            }
            "testIgnored" => {
                if let Some((_, status, _)) = &mut self.running {
                    *status = TestStatus::Skipped;
                }
            }
            "testFinished" => {
                if let Some((name, status, text)) = self.running.take() {
                    let at = self.cases.push(&name, status);
                    self.cases.explain(at, &text, stack::place_of(&text));
                }
            }
            _ => {}
        }
        true
    }

    pub(super) fn is_seen(&self) -> bool {
        !self.cases.is_empty()
    }

    pub(super) fn into_list(self) -> Vec<TestCase> {
        self.cases.into_list()
    }
}

/// The value of an attribute, without TeamCity's escapes.
fn value(text: &str, name: &str) -> Option<String> {
    let at = text.find(&format!("{name}='"))?;
    let mut out = String::new();
    let mut characters = text.get(at + name.len() + 2..)?.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' => return Some(out),
            '|' => match characters.next()? {
                'n' => out.push('\n'),
                'r' => {}
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    None
}
