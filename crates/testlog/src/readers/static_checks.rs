//! Objections of linters and formatters before the tests: ESLint, Stylelint, Prettier, flake8, pycodestyle, pylint, Ruff, Black, isort,
//! RuboCop, ShellCheck, Biome and oxlint. Compilers and type checkers are [`crate::generic`]'s.
//!
//! They are no tests, so beside failing tests nothing is said of them ([`crate::merge`]). Where they alone made the command fail, each
//! objection is a problem with its place.

mod drawn;

use self::drawn::Drawn;
use crate::exit::Exit;
use crate::findings::{Block, Budget, Findings, Problems};
use crate::needle::Seek as _;
use crate::place;
use crate::report::RunKind;

/// The name in reports.
pub(crate) const FRAMEWORK: &str = "static-checks";
/// The longest path.
const LONGEST_PATH: usize = 1024;

/// More warnings are noise.
const MOST_WARNINGS: usize = 100;

/// Reads linters and formatters.
#[derive(Debug)]
pub(super) struct Reader {
    problems: Problems,
    /// The last line that stands at the outermost column: the file of ESLint's list, or Ruff's words on the next place.
    head: String,
    /// The place of the objection that is being collected up to an empty line.
    open: Option<(String, u32)>,
    block: Block,
    /// ESLint's warnings, which count only when there may be none.
    warnings: Vec<(String, u32)>,
    /// The files that Prettier names before it says what is wrong with them.
    warned: Block,
    drawn: Drawn,
}

impl Reader {
    #[rustfmt::skip]
    pub(super) const WAKE: &'static [&'static str] = &[
        "  error  ", "  ✖  ", "  warning  ", "would reformat ", "would be reformatted", "Code style issues ",
        "incorrectly sorted", "^-- SC", "--^ SC", ": C: ", ": W: ", ": E: ", ": F: ",
        ",-[", "╭─[", " ━━━━━",
        // Codes of Python's linters, behind their place …
        ": E10", ": E11", ": E12", ": E13", ": E20", ": E22", ": E23", ": E24", ": E25", ": E26", ": E27", ": E30",
        ": E40", ": E50", ": E70", ": E71", ": E72", ": E73", ": E74", ": E90", ": E99", ": F40", ": F50", ": F54",
        ": F63", ": F70", ": F81", ": F82", ": F84", ": W19", ": W29", ": W39", ": W50", ": W60", ": C90", ": N80",
        ": D10", ": I00", ": UP0", ": B00", ": C01", ": E06", ": E04", ": E11", ": W06", ": R09",
        // … and above it, in Ruff's full form.
        "E40", "E50", "E70", "E71", "E72", "E74", "E90", "F40", "F50", "F54", "F63", "F81", "F82", "F84", "I00",
        "UP0", "B00", "W29", "N80", "D10", "RUF", "SIM", "PLR",
    ];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            problems: Problems::new(budget),
            head: String::new(),
            open: None,
            block: Block::default(),
            warnings: Vec::new(),
            warned: Block::default(),
            drawn: Drawn::new(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.drawn.line(line, &mut self.problems) {
            return;
        }
        if self.open.is_some() {
            if !line.trim().is_empty() {
                self.block.push(line);
                return;
            }
            self.settle();
        }
        match line.as_bytes().first() {
            None => {}
            Some(b' ') => self.below_head(line),
            Some(_) => self.outermost(line),
        }
    }

    fn outermost(&mut self, line: &str) {
        if let Some((file, number)) = script_part(line) {
            self.begin(line, file, number);
        } else if let Some((file, number)) = coded_place(line) {
            self.object(line, Some((file.to_owned(), number)));
        } else if line.starts_with("would reformat ")
            || line.ends_with(" Imports are incorrectly sorted and/or formatted.")
        {
            self.object(line, None);
        } else if line.starts_with("ESLint found too many warnings") {
            // Only this makes ESLint fail for warnings.
            for (text, number) in std::mem::take(&mut self.warnings) {
                let file = text.split(':').next().unwrap_or_default().to_owned();
                self.object(&text, Some((file, number)));
            }
        } else if let Some(text) = line.strip_prefix("[warn] ") {
            // Prettier names the files first, and says at the end that they are not formatted.
            self.warned.push(text);
            if text.starts_with("Code style issues ") {
                let text = self.warned.take();
                self.object(&text, None);
            }
        }
        self.head.clear();
        if line.len() <= LONGEST_PATH {
            self.head.push_str(line);
        }
    }

    /// `  1:11  error  'x' is not defined  no-undef` of ESLint, ` --> lint.py:1:8` of Ruff.
    fn below_head(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(at) = text.strip_prefix("--> ") {
            // Compilers draw such an arrow too.
            if (is_code(&self.head) || self.head.ends_with("would be reformatted"))
                && let Some((file, number)) = place::find(at)
            {
                let head = std::mem::take(&mut self.head);
                self.begin(&format!("{head}\n{line}"), &file, number);
            }
            return;
        }
        let Some((at, rest)) = text.cut_word() else { return };
        let Some((number, column)) = at.cut(":") else { return };
        let rest = rest.trim_start();
        let (Ok(number), Ok(_)) = (number.parse::<u32>(), column.parse::<u32>()) else { return };
        if !place::is_path(&self.head) {
            return;
        }
        let text = || format!("{}:{at}: {}", self.head, rest.split_whitespace().collect::<Vec<_>>().join(" "));
        if rest.starts_with("error ") || rest.starts_with("✖ ") {
            self.object(&text(), Some((self.head.clone(), number)));
        } else if rest.starts_with("warning ") && self.warnings.len() < MOST_WARNINGS {
            self.warnings.push((text(), number));
        }
    }

    fn begin(&mut self, text: &str, file: &str, number: u32) {
        self.open = Some((file.to_owned(), number));
        self.block.push(text);
    }

    fn settle(&mut self) {
        let text = self.block.take();
        if let Some(found) = self.open.take() {
            self.object(&text, Some(found));
        }
    }

    fn object(&mut self, text: &str, found: Option<(String, u32)>) {
        self.problems.push(RunKind::CompileError, text.trim_end(), found);
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.settle();
        self.drawn.settle(&mut self.problems);
        if self.problems.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `In bad.sh line 2:` of ShellCheck.
fn script_part(line: &str) -> Option<(&str, u32)> {
    let (file, rest) = line.strip_prefix("In ")?.cut_last(" line ")?;
    Some((file, rest.strip_suffix(':')?.parse().ok()?))
}

/// `lint.py:1:1: F401 …`, `a.py:5:0: W0311: …`, `a.rb:1:7: C: …`: where it is, when a code stands behind the place.
fn coded_place(line: &str) -> Option<(&str, u32)> {
    let (at, rest) = line.cut(": ")?;
    let (at, column) = at.rsplit_once(':')?;
    let (file, number) = at.rsplit_once(':')?;
    column.parse::<u32>().ok()?;
    let number = number.parse().ok()?;
    let of_rubocop = || matches!(rest.as_bytes(), [b'C' | b'W' | b'E' | b'F', b':', b' ', ..]);
    (!file.contains(' ') && place::is_path(file) && (is_code(rest) || of_rubocop())).then_some((file, number))
}

/// Whether a text begins with the code of a rule: one to four capitals and three or four digits.
fn is_code(text: &str) -> bool {
    const LETTERS: std::ops::RangeInclusive<usize> = 1..=4;
    const DIGITS: std::ops::RangeInclusive<usize> = 3..=4;
    let word = text.cut_word().map_or(text, |(word, _)| word);
    let word = word.strip_suffix(':').unwrap_or(word);
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    LETTERS.contains(&(word.len() - digits.len()))
        && DIGITS.contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::exit::Exit;
    use crate::parser::read;
    use crate::report::{Report, RunKind, RunStatus};

    fn of(log: &str, code: i32) -> Report {
        read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
    }

    fn places(report: &Report) -> Vec<(Option<&str>, Option<u32>)> {
        report.problems.iter().map(|one| (one.file.as_deref(), one.line)).collect()
    }

    const ESLINT: &str = "\n/w/cov/j.test.js\n  1:11  error    'require' is not defined  no-undef\n  2:1   warning  Unexpected console  \
        no-console\n\n/w/cov/lib.js\n  51:1  error  'exports' is not defined  no-undef\n\n✖ 3 problems (2 errors, 1 warning)\n\n";
    const JEST: &str = "PASS ./a.test.js\n  ✓ adds (2 ms)\n\nTests:       1 passed, 1 total\nTime:        0.7 s\n";

    #[test]
    fn every_objection_has_its_place() {
        let report = of(ESLINT, 1);
        assert_eq!((report.status, report.kind, report.tests.len()), (RunStatus::Error, RunKind::CompileError, 0));
        assert_eq!(places(&report), [(Some("/w/cov/j.test.js"), Some(1)), (Some("/w/cov/lib.js"), Some(51))]);
        assert_eq!(report.problems[1].message, "/w/cov/lib.js:51:1: error 'exports' is not defined no-undef");
        for (log, file, line) in [
            (
                "a.js:2:7 lint/suspicious/noDebugger  FIXABLE  ━━━━━━━━━━\n\n  × This is an unexpected use.\n  \n  > 2 │ debugger\n\n\
                 Checked 1 file in 3ms.\nFound 1 error.\nlint ━━━━━━━━━━\n\n  × Some errors were emitted while running checks.\n\n",
                "a.js",
                2,
            ),
            (
                "\n  ! eslint(no-debugger): not allowed\n   ,-[a.js:2:15]\n 2 | debugger\n   `----\n\nFound 1 warning and 0 errors.\n",
                "a.js",
                2,
            ),
            ("\n  × eslint(no-debugger): not allowed\n   ╭─[a.js:2:15]\n 2 │ debugger\n   ╰────\n\n", "a.js", 2),
            (
                "\n/w/lib.js\n  2:1  warning  Unexpected console  no-console\n\n✖ 1 problem (0 errors, 1 warning)\n\nESLint found too many \
                 warnings (maximum: 0).\n",
                "/w/lib.js",
                2,
            ),
            ("lint.py:4:14: F821 undefined name 'x'\n", "lint.py", 4),
            ("************* Module a\na.py:5:9: E0602: Undefined variable 'x' (undefined-variable)\n", "a.py", 5),
            (
                "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n  |\n\nFound 1 error.\n",
                "a.py",
                1,
            ),
            (
                "\nIn bad.sh line 2:\ncd $1\n^---^ SC2164 (warning): Use 'cd ... || exit'.\n   ^-- SC2086 (info): Quote.\n",
                "bad.sh",
                2,
            ),
            (
                "lib/cart.rb:3:7: C: [Correctable] Style/StringLiterals: Prefer single-quoted strings.\n",
                "lib/cart.rb",
                3,
            ),
        ] {
            let report = of(log, 1);
            assert_eq!((report.status, report.kind), (RunStatus::Error, RunKind::CompileError), "{log}");
            assert_eq!(places(&report), [(Some(file), Some(line))], "{log}");
        }
    }

    #[test]
    fn files_that_are_only_out_of_form_are_named() {
        for (log, name) in [
            ("would reformat lint.py\n\nOh no! 💥 💔 💥\n1 file would be reformatted.\n", "would reformat lint.py"),
            ("Checking formatting...\n[warn] lib.js\n[warn] Code style issues found in the above file.\n", "lib.js"),
            ("ERROR: /w/a.py Imports are incorrectly sorted and/or formatted.\n", "/w/a.py"),
        ] {
            let report = of(log, 1);
            assert_eq!(report.kind, RunKind::CompileError, "{log}");
            assert!(report.problems[0].message.contains(name), "{log}");
        }
    }

    #[test]
    fn beside_failing_tests_and_in_a_green_run_they_are_silent() {
        let green = of(&format!("{ESLINT}{JEST}"), 0);
        assert_eq!((green.status, green.problems.len()), (RunStatus::Passed, 0));
        let failing =
            "FAIL ./a.test.js\n  ● adds\n\n    Expected: 3\n\nTests:       1 failed, 1 total\nTime:        0.7 s\n";
        let red = of(&format!("{ESLINT}{failing}"), 1);
        assert_eq!((red.status, red.problems.len()), (RunStatus::Failed, 0));
        let alone = of(&format!("{JEST}{ESLINT}"), 1);
        assert_eq!((alone.framework.as_str(), alone.kind), ("jest", RunKind::CompileError));
        assert_eq!((alone.passed, alone.problems.len()), (Some(1), 2));
    }

    #[test]
    fn what_has_no_code_is_nobodys_objection() {
        for log in
            ["tests/test_a.py:8:1: AssertionError: : E501\n", "  1:11  error  none\n", "x --> a.py:1:8\n: F401\n"]
        {
            assert_ne!(of(log, 1).kind, RunKind::CompileError, "{log}");
        }
    }
}
