//! Gradle's test task: failing tests on the console, the number of them, and what went wrong with the build.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, RunStatus, TestStatus};

/// Reads Gradle.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    counts: Counts,
    open: Option<usize>,
    text: Block,
    compiler: Option<Block>,
    wrong: Option<Block>,
    recognised: bool,
    finished: bool,
    tests_failed: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "> Task :",
        " tests completed",
        " test completed",
        "BUILD FAILED in ",
        "BUILD SUCCESSFUL in ",
        "FAILURE: Build failed",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            open: None,
            text: Block::default(),
            compiler: None,
            wrong: None,
            recognised: false,
            finished: false,
            tests_failed: false,
        }
    }

    /// A passing test, told by its class and its method: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine = line.ends_with(" PASSED") && line.holds(" > ") && !line.starts_with(' ');
        if is_mine {
            self.line(line);
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("> Task :") {
            self.block_ends();
            self.compiler_ends();
            self.recognised = true;
            if rest.holds("compile") {
                self.compiler = Some(Block::default());
            }
        } else if line.starts_with("BUILD FAILED in ") || line.starts_with("BUILD SUCCESSFUL in ") {
            self.block_ends();
            self.finished = true;
            self.recognised = true;
        } else if line == "* What went wrong:" {
            self.block_ends();
            self.wrong = Some(Block::default());
        } else if line.starts_with("* Try:") || line.starts_with("* Exception is:") {
            self.wrong_ends();
        } else if let Some(block) = &mut self.wrong {
            block.push(line);
        } else if self.completed(line) || self.result_line(line) {
            self.recognised = true;
        } else if self.open.is_some() {
            self.text.push(line);
        } else if let Some(block) = &mut self.compiler {
            block.push(line);
        }
    }

    /// `org.example.CartTest > twoMilks() FAILED`: nested classes and parameters add more parts.
    fn result_line(&mut self, line: &str) -> bool {
        let found =
            [(" FAILED", TestStatus::Failed), (" PASSED", TestStatus::Passed), (" SKIPPED", TestStatus::Skipped)]
                .into_iter()
                .find_map(|(word, status)| Some((line.strip_suffix(word)?, status)));
        let Some((name, status)) = found else { return false };
        // A task's own line ends in such a word too: `> Task :test FAILED`.
        if !name.holds(" > ") || name.starts_with([' ', '>']) {
            return false;
        }
        self.block_ends();
        let at = self.cases.push(name, status);
        if status == TestStatus::Failed {
            self.open = at;
        }
        true
    }

    /// `4 tests completed, 1 failed, 1 skipped`.
    fn completed(&mut self, line: &str) -> bool {
        let Some((head, rest)) = line.cut(" completed") else { return false };
        if !(head.ends_with(" tests") || head.ends_with(" test")) {
            return false;
        }
        let Some(total) = place::leading_number::<u64>(head) else { return false };
        let number = |word: &str| {
            rest.split(", ").find_map(|part| part.strip_suffix(word)?.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let (failed, skipped) = (number("failed"), number("skipped"));
        self.counts.add(&Counts {
            total: Some(total),
            passed: Some(total.saturating_sub(failed).saturating_sub(skipped)),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: None,
        });
        self.tests_failed |= failed > 0;
        self.block_ends();
        true
    }

    fn block_ends(&mut self) {
        let text = self.text.take();
        let Some(at) = self.open.take() else { return };
        self.cases.explain(Some(at), &text, place::in_repository(&text));
    }

    fn compiler_ends(&mut self) {
        let Some(mut block) = self.compiler.take() else { return };
        let text = block.take();
        // javac: `path: error:`; kotlinc: `e: file:///path:3:5 …`; groovyc and scalac: `error`.
        if text.holds(": error: ") || text.lines().any(|line| line.starts_with("e: ")) {
            self.problems.push(RunKind::CompileError, &text, place::in_repository(&text));
        }
    }

    fn wrong_ends(&mut self) {
        self.compiler_ends();
        let Some(mut block) = self.wrong.take() else { return };
        let text = block.take();
        self.recognised = true;
        // The tests themselves say why.
        if text.holds("There were failing tests") {
            self.tests_failed = true;
            return;
        }
        let kind = if text.holds("Compilation failed") || text.holds("Compilation error") {
            RunKind::CompileError
        } else if text.holds("Could not resolve") || text.holds("Could not GET") || text.holds("UnknownHostException") {
            RunKind::Infrastructure
        } else {
            RunKind::BadCommand
        };
        self.problems.push(kind, &text, place::in_repository(&text));
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.block_ends();
        self.wrong_ends();
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new("gradle");
        findings.counts = self.counts;
        // A build that went wrong otherwise may have left out tests.
        findings.finished = self.finished && self.problems.is_empty();
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        if self.tests_failed {
            findings.status = Some(RunStatus::Failed);
        }
        Some(findings)
    }
}

#[cfg(test)]
mod tests {
    use crate::exit::Exit;
    use crate::report::{Report, RunKind, RunStatus};

    fn read(log: &str, code: i32) -> Report {
        crate::parser::read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
    }

    #[test]
    fn failing_tests_are_named_and_counted() {
        let report = read(
            "> Task :compileJava UP-TO-DATE\n> Task :test FAILED\n\norg.example.CartTest > twoMilks() FAILED\n    \
             org.opentest4j.AssertionFailedError at CartTest.java:16\n\n4 tests completed, 1 failed, 1 skipped\n\nFAILURE: Build failed with an \
             exception.\n\n* What went wrong:\nExecution failed for task ':test'.\n> There were failing tests. See the report at: \
             file:///x/index.html\n\n* Try:\n> Run with --scan\n\nBUILD FAILED in 3s\n",
            1,
        );
        assert_eq!((report.framework.as_str(), report.status), ("gradle", RunStatus::Failed));
        assert_eq!((report.total, report.passed, report.failed, report.skipped), (Some(4), Some(2), Some(1), Some(1)));
        let test = report.failing().next().unwrap();
        assert_eq!((test.name.as_str(), test.line), ("org.example.CartTest > twoMilks()", Some(16)));
    }

    #[test]
    fn a_build_that_does_not_compile_shows_the_compiler() {
        let report = read(
            "> Task :compileJava FAILED\n/src/Cart.java:3: error: ';' expected\n  int x\n       ^\n1 error\n\nFAILURE: Build failed with an \
             exception.\n\n* What went wrong:\nExecution failed for task ':compileJava'.\n> Compilation failed; see the compiler error output \
             for details.\n\n* Try:\n> Run\n\nBUILD FAILED in 1s\n",
            1,
        );
        assert_eq!((report.status, report.kind), (RunStatus::Error, RunKind::CompileError));
        assert_eq!((report.problems[0].file.as_deref(), report.problems[0].line), (Some("/src/Cart.java"), Some(3)));
    }
}
