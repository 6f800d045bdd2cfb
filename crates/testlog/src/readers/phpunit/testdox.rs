//! PHPUnit's TestDox: sentences below their class, reasons behind a bar.

use std::borrow::Cow;

use crate::findings::{Block, Budget, Cases};
use crate::needle::Seek as _;
use crate::report::{TestCase, TestStatus};
use crate::stack;

/// The joint between the class and the sentence.
const JOIN: &str = " > ";

/// Collects TestDox.
#[derive(Debug)]
pub(super) struct TestDox {
    cases: Cases,
    class: String,
    open: Option<usize>,
    block: Block,
}

impl TestDox {
    pub(super) fn new(budget: &Budget) -> Self {
        Self { cases: Cases::new(budget), class: String::new(), open: None, block: Block::default() }
    }

    /// Takes a line when it is TestDox'.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let Some(text) = line.strip_prefix(' ') else {
            // A class stands alone; so may anything that a test prints, which is then no heading of a sentence.
            let is_class = line.starts_with(|first: char| first.is_uppercase())
                && line.chars().all(|part| part.is_alphanumeric() || matches!(part, ' ' | '\\' | '_' | '(' | ')'));
            if is_class {
                self.settle();
                line.trim_end().clone_into(&mut self.class);
            }
            return false;
        };
        if let Some(reason) = reason(text) {
            if self.open.is_some() {
                self.block.push(&reason);
            }
            return true;
        }
        let Some((mark, sentence)) = text.split_once(' ') else { return false };
        let status = match mark {
            "✔" => TestStatus::Passed,
            "✘" => TestStatus::Failed,
            "↩" | "∅" => TestStatus::Skipped,
            // Risky tests, and those with warnings.
            "☢" | "⚠" => return true,
            _ => return false,
        };
        self.settle();
        // The time is shown where it is long: `Two milks [123.45 ms]`.
        let sentence = match sentence.cut_last(" [") {
            Some((sentence, time)) if time.ends_with(" ms]") => sentence,
            _ => sentence.trim_end(),
        };
        // In colours a data set's spaces are dots.
        let sentence = sentence.replace('·', " ");
        let at = self.cases.push(&format!("{}{JOIN}{sentence}", self.class), status);
        self.open = at.filter(|_| status == TestStatus::Failed);
        true
    }

    pub(super) fn settle(&mut self) {
        let text = self.block.take();
        if let Some(at) = self.open.take() {
            let text = text.trim();
            self.cases.explain(Some(at), text, stack::place_of(text));
        }
    }

    pub(super) fn into_list(mut self) -> Vec<TestCase> {
        self.settle();
        self.cases.into_list()
    }
}

/// A line of a reason: behind one bar throughout, or in colours behind a frame, where a dot stands for each space of a
/// difference.
fn reason(text: &str) -> Option<Cow<'_, str>> {
    let mut rest = text.strip_prefix("  ")?.chars();
    let bar = rest.next()?;
    let words = rest.as_str().strip_prefix(' ').unwrap_or(rest.as_str());
    match bar {
        '│' | '┐' | '├' | '╵' | '┴' => Some(Cow::Borrowed(words)),
        '┊' => Some(Cow::Owned(words.replace('·', " "))),
        _ => None,
    }
}
