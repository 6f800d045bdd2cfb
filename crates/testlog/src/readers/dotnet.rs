//! `dotnet test`: VSTest's console (one block per failing test, one line per assembly) and the terminal logger of .NET 9.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems, sum};
use crate::needle::Seek as _;
use crate::place;
use crate::report::{RunKind, TestStatus};

/// Reads `dotnet test`.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    problems: Problems,
    counts: Counts,
    /// `Total tests: 4` and the lines below, which repeat what the assemblies said.
    totals: Option<Counts>,
    in_totals: bool,
    open: Option<usize>,
    text: Block,
    recognised: bool,
    finished: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &[
        "Test run for ",
        "Starting test execution, please wait",
        "Passed!  - Failed:",
        "Failed!  - Failed:",
        "Skipped! - Failed:",
        "Total tests: ",
        "Test summary: total: ",
        ": error CS",
        ": error FS",
        ": error MSB",
        "error TESTERROR: ",
        "No test is available in ",
        "Build FAILED.",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            problems: Problems::new(budget),
            counts: Counts::default(),
            totals: None,
            in_totals: false,
            open: None,
            text: Block::default(),
            recognised: false,
            finished: false,
        }
    }

    /// A passing test, told by its frame: nobody else need see it.
    pub(super) fn express(&mut self, line: &str) -> bool {
        let is_mine = line.starts_with("  Passed ") && line.ends_with("ms]");
        if is_mine {
            self.line(line);
        }
        is_mine
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.in_totals && self.totals_line(line) {
            return;
        }
        if line.starts_with("  ") && self.result_line(line) {
            return;
        }
        if line.starts_with("Test run for ") || line.starts_with("Starting test execution") {
            self.block_ends();
            self.recognised = true;
        } else if line.holds("!  - Failed:") || line.starts_with("Skipped! - Failed:") {
            self.block_ends();
            self.assembly_line(line);
        } else if let Some(rest) = line.strip_prefix("Test summary: total: ") {
            self.block_ends();
            self.terminal_summary(rest);
        } else if let Some(total) = line.strip_prefix("Total tests: ") {
            self.block_ends();
            self.totals = Some(Counts { total: total.trim().parse().ok(), ..Counts::default() });
            self.in_totals = true;
        } else if line.holds(": error ") && self.compiler_line(line) {
            self.recognised = true;
        } else if self.open.is_some() {
            // `Test Run Failed.` ends the run, and xUnit's own lines come between.
            if line.starts_with("[xUnit.net ") || line.starts_with("Test Run ") {
                self.block_ends();
            } else {
                self.text.push(line);
            }
        }
    }

    /// `  Failed Shop.Tests.CartTests.Fails [5 ms]`.
    fn result_line(&mut self, line: &str) -> bool {
        let text = line.get(2..).unwrap_or_default();
        let found =
            [("Failed ", TestStatus::Failed), ("Passed ", TestStatus::Passed), ("Skipped ", TestStatus::Skipped)]
                .into_iter()
                .find_map(|(word, status)| Some((text.strip_prefix(word)?, status)));
        let Some((rest, status)) = found else { return false };
        // A name may hold brackets itself.
        let Some((name, time)) = rest.cut_last(" [") else { return false };
        if !time.ends_with(']') || !time.contains(|one: char| one.is_ascii_digit()) {
            return false;
        }
        self.block_ends();
        self.recognised = true;
        let at = self.cases.push(name, status);
        if status == TestStatus::Failed {
            self.open = at;
        }
        true
    }

    fn block_ends(&mut self) {
        let text = self.text.take();
        let Some(at) = self.open.take() else { return };
        self.cases.explain(Some(at), &text, stack_place(&text));
    }

    /// `Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 12 ms - Shop.Tests.dll (net8.0)`.
    fn assembly_line(&mut self, line: &str) {
        let number = |key: &str| place::leading_number::<u64>(line.split_once(key)?.1.trim_start());
        let (Some(failed), Some(passed)) = (number("Failed:"), number("Passed:")) else { return };
        let skipped = number("Skipped:").unwrap_or(0);
        self.counts.add(&Counts {
            total: number("Total:").or(Some(sum(&[failed, passed, skipped]))),
            passed: Some(passed),
            failed: Some(failed),
            skipped: Some(skipped),
            errors: None,
        });
        self.recognised = true;
        self.finished = true;
    }

    /// `4, failed: 1, succeeded: 2, skipped: 1, duration: 1.2s`.
    fn terminal_summary(&mut self, rest: &str) {
        let number = |key: &str| place::leading_number::<u64>(rest.split_once(key)?.1.trim_start());
        self.counts = Counts {
            total: place::leading_number(rest),
            passed: number("succeeded:"),
            failed: number("failed:"),
            skipped: number("skipped:"),
            errors: None,
        };
        self.recognised = true;
        self.finished = true;
    }

    /// `     Passed: 2` below `Total tests: 4`.
    fn totals_line(&mut self, line: &str) -> bool {
        let Some(totals) = &mut self.totals else { return false };
        let Some((key, value)) = line.trim().cut(": ") else {
            self.in_totals = false;
            return false;
        };
        match (key, value.trim().parse().ok()) {
            ("Passed", number) => totals.passed = number,
            ("Failed", number) => totals.failed = number,
            ("Skipped", number) => totals.skipped = number,
            _ => {
                self.in_totals = false;
                return false;
            }
        }
        true
    }

    /// `/src/Cart.cs(3,5): error CS1002: ; expected [/src/Shop.csproj]`, and the terminal logger's failing tests.
    fn compiler_line(&mut self, line: &str) -> bool {
        let Some((before, rest)) = line.cut(": error ") else { return false };
        let file = before.trim();
        let found = file.split_once('(').and_then(|(file, at)| Some((file.to_owned(), place::leading_number(at)?)));
        if let Some(test) = rest.strip_prefix("TESTERROR: ") {
            // Behind the name stands the time in parentheses.
            let name = test.cut(" (").map_or(test, |(name, _)| name);
            let at = self.cases.push(name, TestStatus::Failed);
            self.cases.explain(at, test, found);
            self.open = at;
            return true;
        }
        let is_code = ["CS", "FS", "BC", "MSB", "NU", "NETSDK"].iter().any(|start| rest.starts_with(start));
        if is_code {
            // `MSB1` begins the errors about the command line and the project's file.
            let kind = if rest.starts_with("MSB1") || rest.starts_with("NETSDK") {
                RunKind::BadCommand
            } else {
                RunKind::CompileError
            };
            self.problems.push(kind, line, found);
        }
        is_code
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.block_ends();
        if !self.recognised {
            return None;
        }
        let mut findings = Findings::new("dotnet");
        findings.finished = self.finished || self.totals.is_some();
        findings.counts = if self.finished { self.counts } else { self.totals.unwrap_or_default() };
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `   at Shop.Tests.CartTests.Fails() in /src/Tests/CartTests.cs:line 12`.
fn stack_place(text: &str) -> Option<(String, u32)> {
    text.lines().find_map(|line| {
        let (_, place) = line.cut(" in ")?;
        let (file, number) = place.cut_last(":line ")?;
        Some((file.to_owned(), place::leading_number(number)?))
    })
}

#[cfg(test)]
mod tests {
    use crate::exit::Exit;
    use crate::report::{Report, RunKind, RunStatus};

    fn read(log: &str, code: i32) -> Report {
        crate::parser::read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
    }

    #[test]
    fn a_failing_test_has_its_message_and_place() {
        let report = read(
            "Test run for /src/bin/Shop.Tests.dll (.NETCoreApp,Version=v8.0)\nStarting test execution, please wait...\n\
             [xUnit.net 00:00:00.52]     Shop.Tests.CartTests.Fails [FAIL]\n  Failed Shop.Tests.CartTests.Fails [5 ms]\n  Error Message:\n   \
             Assert.Equal() Failure: Values differ\nExpected: 250\nActual:   240\n  Stack Trace:\n     at Shop.Tests.CartTests.Fails() in \
             /src/Tests/CartTests.cs:line 12\n  Passed Shop.Tests.CartTests.Ok [1 ms]\n\n\
             Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 12 ms - Shop.Tests.dll (net8.0)\n",
            1,
        );
        assert_eq!((report.framework.as_str(), report.status), ("dotnet", RunStatus::Failed));
        assert_eq!((report.total, report.passed, report.failed, report.skipped), (Some(4), Some(2), Some(1), Some(1)));
        let test = report.failing().next().unwrap();
        assert_eq!(test.name, "Shop.Tests.CartTests.Fails");
        assert!(test.message.contains("Actual:   240"));
        assert_eq!((test.file.as_deref(), test.line), (Some("/src/Tests/CartTests.cs"), Some(12)));
    }

    #[test]
    fn a_build_that_fails_is_a_compile_error() {
        let report = read("/src/Cart.cs(3,5): error CS1002: ; expected [/src/Shop.csproj]\n\nBuild FAILED.\n", 1);
        assert_eq!((report.status, report.kind), (RunStatus::Error, RunKind::CompileError));
        assert_eq!((report.problems[0].file.as_deref(), report.problems[0].line), (Some("/src/Cart.cs"), Some(3)));
    }

    #[test]
    fn the_terminal_logger_is_read() {
        let report = read(
            "  Shop.Tests test failed with 1 error(s) (0.5s)\n    /src/CartTests.cs(12): error TESTERROR: Shop.Tests.CartTests.Fails (5ms): \
             Error Message: Assert.Equal() Failure\n\nTest summary: total: 4, failed: 1, succeeded: 2, skipped: 1, duration: 1.2s\n",
            1,
        );
        assert_eq!((report.total, report.passed, report.failed, report.skipped), (Some(4), Some(2), Some(1), Some(1)));
        assert_eq!(report.failing().next().unwrap().name, "Shop.Tests.CartTests.Fails");
    }
}
