//! cmocka's console output, which has GoogleTest's marks and words of its own.
//!
//! Results of passing tests go to one stream and those of failing ones to another: in a log that shows one stream behind
//! the other, a failure stands before or behind all groups.

use crate::exit::Exit;
use crate::findings::{Block, Budget, Cases, Counts, Findings, Problems};
use crate::needle::Seek as _;
use crate::report::{RunKind, TestCase, TestStatus};
use crate::{place, stack};

const FRAMEWORK: &str = "cmocka";

/// Reads cmocka.
#[derive(Debug)]
pub(super) struct Reader {
    cases: Cases,
    /// Names that were listed before any group began: the groups stand below.
    early: Cases,
    /// Words about failures outside all groups, in the order of the tests that failed, and the last of them.
    detached: Cases,
    last: Option<usize>,
    problems: Problems,
    /// The test that began and has not ended. Empty when there is none.
    running: String,
    block: Block,
    /// Where the failure of the block is, by its own line.
    place: Option<(String, u32)>,
    /// How many tests the open group said it would run.
    announced: Option<u64>,
    /// GoogleTest's own part of the log.
    foreign: bool,
    /// How many names of a list at the end are still to come, and what they are.
    listed: (u64, TestStatus),
    /// A fixture of a whole group failed. The next line names the group.
    fixture: Option<String>,
    started: u64,
    ended: u64,
    counts: Counts,
    /// Failures of the last list.
    failed: u64,
    recognised: bool,
}

impl Reader {
    pub(super) const WAKE: &'static [&'static str] = &["test(s).", "[  ERROR   ] --- ", "[   LINE   ] --- "];

    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            cases: Cases::new(budget),
            early: Cases::new(budget),
            detached: Cases::new(budget),
            last: None,
            problems: Problems::new(budget),
            running: String::new(),
            block: Block::default(),
            place: None,
            announced: None,
            foreign: false,
            listed: (0, TestStatus::Failed),
            fixture: None,
            started: 0,
            ended: 0,
            counts: Counts::default(),
            failed: 0,
            recognised: false,
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        if let Some((mark, rest)) = mark(line) {
            if mark == "==========" {
                self.frame(rest);
                return;
            }
            if self.foreign || self.marked(mark, rest) {
                return;
            }
        }
        if self.foreign || self.running.is_empty() && self.below_list(line) {
            return;
        }
        // Between the first words and the place: the two values that were compared.
        if self.last.is_some() && !line.starts_with("Could not run test: ") {
            self.detached.explain(self.last, line, None);
            return;
        }
        self.block.push(line);
    }

    /// `Running 6 test(s).` and `6 test(s) run.`, in newer versions behind the group's name.
    fn frame(&mut self, rest: &str) {
        // The name of the group may stand before: `[==========] cart: Running 2 test(s)`.
        let words = rest.cut_last(": ").map_or(rest, |(_, words)| words);
        if let Some(number) = words.strip_prefix("Running ").and_then(tests) {
            self.foreign = false;
            self.did_not_end();
            self.block.clear();
            self.announced = Some(number);
            self.started += 1;
            self.recognised = true;
        } else if let Some(number) = words.strip_suffix(" run.").and_then(place::leading_number::<u64>)
            && words.ends_with("test(s) run.")
        {
            // A failing test that ran last may have its result in the other stream.
            if !self.foreign && self.announced.is_some() && (self.running.is_empty() || self.announced == Some(number))
            {
                self.announced = None;
                self.running.clear();
                self.block.clear();
                self.ended += 1;
                let some = Some(number);
                self.counts.add(&Counts { total: some, ..Counts::default() });
            }
        } else {
            self.foreign = true;
        }
    }

    /// A line with one of the other marks in brackets.
    fn marked(&mut self, mark: &str, rest: &str) -> bool {
        // `[  ERROR   ] --- 3 != 4` explains, `[  ERROR   ] sells` is a result.
        let is_words = matches!(mark, "ERROR" | "LINE") && rest.starts_with("--- ");
        if !is_words {
            self.last = None;
        }
        match mark {
            "RUN" => {
                if !self.recognised {
                    return false;
                }
                self.listed.0 = 0;
                self.block.clear();
                rest.trim_end().clone_into(&mut self.running);
            }
            "OK" => return self.result(rest, TestStatus::Passed),
            "ERROR" | "LINE" if is_words => self.words(mark, rest.get(4..).unwrap_or_default()),
            "FAILED" if rest.starts_with("GROUP ") => self.fixture = Some(rest.trim_end().to_owned()),
            "ERROR" if self.fixture.is_some() => self.group_fails(rest),
            "ERROR" => return self.result(rest, TestStatus::Error),
            "FAILED" => return self.list(rest, TestStatus::Failed) || self.result(rest, TestStatus::Failed),
            "SKIPPED" => return self.list(rest, TestStatus::Skipped) || self.result(rest, TestStatus::Skipped),
            "PASSED" if self.running.is_empty() => {
                let number = tests(rest);
                self.counts.add(&Counts { passed: number, ..Counts::default() });
                return number.is_some();
            }
            _ => return false,
        }
        true
    }

    /// `0x3 != 0x4` and `a.c:8: error: Failure!`.
    fn words(&mut self, mark: &str, text: &str) {
        self.recognised = true;
        let place = text.strip_suffix(": error: Failure!").filter(|_| mark == "LINE").and_then(place::find);
        if self.announced.is_some() {
            // The first place is that of the failure.
            self.place = self.place.take().or(place);
            self.block.push(text);
            return;
        }
        // No test's group is open: these are words of the other stream.
        if mark == "ERROR" {
            self.last = self.detached.push("", TestStatus::Failed);
        }
        self.detached.explain(self.last, text, place);
        if mark == "LINE" {
            self.last = None;
        }
    }

    fn result(&mut self, name: &str, status: TestStatus) -> bool {
        let name = name.trim_end();
        if !self.recognised || !self.running.is_empty() && self.running != name {
            // A test printed a line that looks like a result.
            return false;
        }
        // The list at the end repeats results.
        if self.listed.0 > 0 && self.running.is_empty() && self.listed.1 == status {
            self.listed.0 -= 1;
            if self.started == 0 {
                self.early.push(name, status);
            } else if self.cases.find(name).is_none() {
                self.cases.push(name, status);
            }
            return true;
        }
        self.running.clear();
        let at = self.cases.push(name, status);
        if matches!(status, TestStatus::Failed | TestStatus::Error) {
            let text = self.block.text();
            let place = self.place.take().or_else(|| stack::place_of(&text));
            self.cases.explain(at, &text, place);
        }
        self.place = None;
        self.block.clear();
        true
    }

    /// `3 test(s), listed below:`.
    fn list(&mut self, rest: &str, status: TestStatus) -> bool {
        let words = rest.cut_last(": ").map_or(rest, |(_, words)| words);
        if !self.running.is_empty() || !words.ends_with(" test(s), listed below:") {
            return false;
        }
        let Some(number) = place::leading_number::<u64>(words) else { return false };
        self.listed = (number, status);
        if status == TestStatus::Failed {
            self.failed = number;
            self.counts.add(&Counts { failed: Some(number), ..Counts::default() });
        } else {
            self.counts.add(&Counts { skipped: Some(number), ..Counts::default() });
        }
        true
    }

    /// ` 4 FAILED TEST(S)`, which counts errors as well.
    fn below_list(&mut self, line: &str) -> bool {
        let Some(number) = line.strip_suffix(" FAILED TEST(S)").and_then(|text| text.trim().parse::<u64>().ok()) else {
            return line.ends_with(" SKIPPED TEST(S)");
        };
        let errors = number.saturating_sub(std::mem::take(&mut self.failed));
        self.counts.add(&Counts { errors: Some(errors), ..Counts::default() });
        true
    }

    /// `[  FAILED  ] GROUP SETUP`, `[  ERROR   ] cart`.
    fn group_fails(&mut self, group: &str) {
        let fixture = self.fixture.take().unwrap_or_default();
        let text = format!("{fixture} of {} failed\n{}", group.trim_end(), self.block.take());
        let place = self.place.take().or_else(|| stack::place_of(&text));
        self.problems.push(RunKind::CollectionError, &text, place);
    }

    /// A group whose end was not seen.
    fn did_not_end(&mut self) {
        if self.announced.is_some() && !self.running.is_empty() {
            let text = format!("{} did not end\n{}", self.running, self.block.take());
            self.problems.push(RunKind::Crash, &text, stack::place_of(&text));
            self.running.clear();
        }
    }

    pub(super) fn finish(mut self, _exit: Option<Exit>) -> Option<Findings> {
        self.did_not_end();
        if self.started == 0 {
            self.cases.absorb(self.early);
        }
        attach(&mut self.cases, &self.detached);
        if !self.recognised || self.started == 0 && self.cases.is_empty() {
            return None;
        }
        let mut findings = Findings::new(FRAMEWORK);
        findings.finished = self.ended > 0 && self.started == self.ended;
        if findings.finished {
            findings.counts = Counts {
                failed: Some(self.counts.failed.unwrap_or(0)),
                skipped: Some(self.counts.skipped.unwrap_or(0)),
                // Without failures they are not counted at the end.
                errors: Some(self.counts.errors.unwrap_or(0).max(self.cases.count(TestStatus::Error))),
                ..self.counts
            };
        }
        findings.tests = self.cases.into_list();
        findings.problems = self.problems.into_list();
        Some(findings)
    }
}

/// `[  FAILED  ] sells`: the mark, and what stands behind it.
fn mark(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.strip_prefix('[')?.split_at_checked(10)?;
    Some((mark.trim(), rest.strip_prefix("] ")?))
}

/// `6 test(s).`.
fn tests(text: &str) -> Option<u64> {
    text.strip_suffix(" test(s).")?.parse().ok()
}

/// Gives the words of the other stream to the tests that failed, when there are as many of both.
fn attach(cases: &mut Cases, detached: &Cases) {
    let is_open = |test: &TestCase| test.status == TestStatus::Failed && test.file.is_none();
    let open: Vec<usize> = (0..cases.len()).filter(|at| cases.get(*at).is_some_and(is_open)).collect();
    // With another number nobody can say which words are whose.
    if open.len() == detached.len() {
        for (at, words) in open.into_iter().zip(detached.iter()) {
            cases.explain(Some(at), &words.message, words.file.clone().zip(words.line));
        }
    }
}

/// Whether a line between GoogleTest's marks is cmocka's.
pub(super) fn is_own(mark: &str, rest: &str) -> bool {
    match mark {
        "==========" => rest.ends_with(" test(s).") || rest.ends_with(" test(s) run."),
        "ERROR" | "LINE" => rest.starts_with("--- "),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<Findings> {
        let mut reader = Reader::new(&Budget::new(1 << 20));
        log.lines().for_each(|line| reader.line(line));
        reader.finish(None)
    }

    fn names(found: &Findings) -> Vec<(&str, TestStatus, &str)> {
        found.tests.iter().map(|test| (test.name.as_str(), test.status, test.message.as_str())).collect()
    }

    const OUT: &str = "[==========] Running 2 test(s).\n[ RUN      ] adds\n[       OK ] adds\n[ RUN      ] sells\n\
                       [==========] 2 test(s) run.\n";
    const ERR: &str = "[  ERROR   ] --- 0x3 != 0x4\n[   LINE   ] --- a.c:8: error: Failure!\n[  FAILED  ] sells\n\
                       [  PASSED  ] 1 test(s).\n[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] sells\n\n 1 FAILED TEST(S)\n";

    #[test]
    fn the_streams_may_stand_one_behind_the_other() {
        for log in [format!("{OUT}{ERR}"), format!("{ERR}{OUT}")] {
            let found = of(&log).unwrap();
            assert!(found.finished, "{log}");
            let sells = found.tests.iter().find(|test| test.name == "sells").unwrap();
            assert_eq!((sells.status, sells.line, found.tests.len()), (TestStatus::Failed, Some(8), 2), "{log}");
            assert_eq!((found.counts.total, found.counts.passed, found.counts.failed), (Some(2), Some(1), Some(1)));
        }
    }

    #[test]
    fn the_words_of_the_other_stream_go_to_the_failures_in_order() {
        let out = "[==========] Running 3 test(s).\n[ RUN      ] sells\n[  FAILED  ] sells\n[ RUN      ] adds\n[ RUN      ] names\n\
                   [  FAILED  ] names\n[==========] 3 test(s) run.\n";
        let err = "[  ERROR   ] --- 0x3 != 0x4\n[   LINE   ] --- a.c:8: error: Failure!\nCould not run test: Test setup failed\n\
                   [  ERROR   ] adds\n[  ERROR   ] --- crash\n[  PASSED  ] 0 test(s).\n[  FAILED  ] 2 test(s), listed below:\n\
                   [  FAILED  ] sells\n[  FAILED  ] names\n\n 3 FAILED TEST(S)\n";
        for log in [format!("{out}{err}"), format!("{err}{out}")] {
            let found = of(&log).unwrap();
            let mut seen = names(&found);
            seen.sort_by_key(|(name, ..)| *name);
            let expected = [
                ("adds", TestStatus::Error, "Could not run test: Test setup failed"),
                ("names", TestStatus::Failed, "crash"),
                ("sells", TestStatus::Failed, "0x3 != 0x4\na.c:8: error: Failure!"),
            ];
            assert_eq!(seen, expected, "{log}");
            assert_eq!((found.counts.failed, found.counts.errors, found.finished), (Some(2), Some(1), true));
        }
    }

    #[test]
    fn a_group_that_was_left_is_unfinished() {
        let found =
            of("[==========] Running 2 test(s).\n[ RUN      ] adds\n[       OK ] adds\n[ RUN      ] leaves\nbye\n");
        let found = found.unwrap();
        assert!(!found.finished);
        assert_eq!(found.problems.first().unwrap().message, "leaves did not end\nbye");
    }

    #[test]
    fn newer_versions_name_the_group() {
        let found = of("[==========] cart: Running 1 test(s).\n[ RUN      ] adds\n[  ERROR   ] --- no\n[  FAILED  ] adds\n\
                        [==========] cart: 1 test(s) run.\n[  PASSED  ] 0 test(s).\n[  FAILED  ] cart: 1 test(s), listed below:\n\
                        [  FAILED  ] adds\n\n 1 FAILED TEST(S)\n")
        .unwrap();
        assert_eq!(names(&found), [("adds", TestStatus::Failed, "no")]);
        assert!(found.finished);
        assert_eq!(found.counts.errors, Some(0));
    }

    #[test]
    fn a_fixture_of_a_group_is_a_problem() {
        let found = of("[==========] Running 1 test(s).\n[  ERROR   ] --- 0x1 != 0x2\n[   LINE   ] --- g.c:11: error: Failure!\n\
                        [  FAILED  ] GROUP SETUP\n[  ERROR   ] cart\n[==========] 0 test(s) run.\n[  PASSED  ] 0 test(s).\n")
        .unwrap();
        let problem = found.problems.first().unwrap();
        assert_eq!(problem.message, "GROUP SETUP of cart failed\n0x1 != 0x2\ng.c:11: error: Failure!");
        assert_eq!(problem.line, Some(11));
        assert!(found.finished && found.tests.is_empty());
    }

    #[test]
    fn googletest_is_left_alone() {
        let log = "[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.b\n[  FAILED  ] A.b (0 ms)\n\
                   [==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 0 tests.\n";
        assert!(of(log).is_none());
    }
}
