//! Decides which frameworks a log belongs to and how the run ended.
//!
//! Invariant: a number that no framework gave stays unknown, and so does the total of several frameworks' runs.

use super::findings::Findings;
use crate::exit::Exit;
use crate::report::{Problem, Report, RunKind, RunStatus, TestCase, TestStatus};

/// The framework's name when none, or more than one, was recognised.
const GENERIC: &str = "generic";

/// Runners that run others: when both were found, the second's output is a part of the first's.
const ABSORBS: &[(&str, &str)] = &[
    ("cargo-nextest", "cargo-test"),
    ("cargo-nextest", "tap"),
    ("cargo-nextest", "bats"),
    ("cargo-nextest", "prove"),
    ("ctest", "googletest"),
    ("ctest", "catch2"),
    ("ctest", "doctest-cpp"),
    ("ctest", "boost-test"),
    ("ctest", "tap"),
    ("meson-test", "googletest"),
    ("meson-test", "catch2"),
    ("meson-test", "doctest-cpp"),
    ("meson-test", "boost-test"),
    ("meson-test", "tap"),
    ("automake", "googletest"),
    ("automake", "catch2"),
    ("automake", "doctest-cpp"),
    ("automake", "boost-test"),
    ("automake", "tap"),
    ("cargo-test", "tap"),
    ("cargo-test", "bats"),
    ("ctest", "bats"),
    ("meson-test", "bats"),
    ("go-test", "tap"),
    ("pytest", "tap"),
    ("jest", "tap"),
    ("vitest", "tap"),
    ("mocha", "tap"),
    ("ctest", "cmocka"),
    ("ctest", "qt-test"),
    ("ctest", "libcheck"),
    ("ctest", "cpputest"),
    ("ctest", "criterion"),
    ("meson-test", "cmocka"),
    ("meson-test", "qt-test"),
    ("meson-test", "libcheck"),
    ("meson-test", "cpputest"),
    ("meson-test", "criterion"),
    ("automake", "cmocka"),
    ("automake", "qt-test"),
    ("automake", "libcheck"),
    ("automake", "cpputest"),
    ("automake", "criterion"),
];

/// The exit code of `timeout(1)` when time was up.
const EXIT_TIMEOUT: i32 = 124;
/// The shell's exit code for a command that cannot be executed.
const EXIT_NOT_EXECUTABLE: i32 = 126;
/// The shell's exit code for a command that is not there.
const EXIT_NOT_FOUND: i32 = 127;
/// A shell reports a child ended by signal `n` as this plus `n`.
const EXIT_SIGNAL_BASE: i32 = 128;
/// The highest signal on Linux.
const HIGHEST_SIGNAL: i32 = 64;

/// Makes one report of what the readers found.
pub(super) fn merge(
    found: Vec<Findings>,
    generic: Findings,
    recent: &[&str],
    exit: Option<Exit>,
    hint: Option<&str>,
) -> Report {
    let speaks = |one: &&Findings| one.has_tests() || one.status.is_some();
    let names: Vec<&str> = found.iter().filter(speaks).map(|one| one.framework).collect();
    let absorbed = |name: &str| ABSORBS.iter().any(|(winner, loser)| *loser == name && names.contains(winner));
    let mut kept: Vec<Findings> = found.into_iter().filter(|one| !absorbed(one.framework)).collect();
    if kept.iter().any(Findings::has_tests) {
        // What a second framework only complains about belongs to the report; what it has nothing to say on does not.
        kept.retain(|one| one.has_tests() || !one.problems.is_empty());
    }
    // Failing tests say why the run failed, so a checker's complaints beside them are left out.
    if kept.iter().any(Findings::has_failures) {
        kept.retain(|one| one.framework != crate::readers::static_checks::FRAMEWORK);
    }
    let success = exit.is_none_or(Exit::is_success);
    if kept.iter().all(|one| !one.has_failures() && one.problems.is_empty() && one.status.is_none()) && !success {
        // The frameworks that were recognised do not say why the command failed.
        kept.push(fallback(generic, &kept));
    } else if !success {
        wrapper_words(generic, &mut kept);
    }
    let ended = how_ended(exit);
    // A run that was ended from outside may not have come to its summary.
    if ended.is_none() {
        drop_printed(&mut kept, exit);
    }
    let mut report = Report::unreadable(&name_of(&kept, hint));
    let (status, kind) = judge(&kept, exit, ended);
    report.status = status;
    report.kind = if kind == RunKind::Unreadable && is_usage_error(exit, hint) { RunKind::BadCommand } else { kind };
    // Numbers of several frameworks are not added up: one may have run the other.
    let mut with_tests = kept.iter().filter(|one| one.has_tests());
    // A run that was killed did not end, so its numbers are not those of the whole.
    let killed = status == RunStatus::Error && ended.is_some();
    if let (Some(only), None, false) = (with_tests.next(), with_tests.next(), killed) {
        report.total = only.counts.total;
        report.passed = only.counts.passed;
        report.failed = only.counts.failed;
        report.skipped = only.counts.skipped;
        report.errors = only.counts.errors;
    }
    for mut one in kept {
        one.tests.iter_mut().for_each(|test| without_bytes(&mut test.name));
        report.tests.extend(one.tests);
        report.problems.extend(one.problems);
        report.skipped_parts.extend(one.skipped_parts);
    }
    if status == RunStatus::Error && report.problems.is_empty() && !tests_say_why(&report) {
        report.problems.extend(last_words(recent, kind));
    }
    super::infrastructure::name_infrastructure(&mut report);
    report
}

/// Leaves the bytes out of a name. GoogleTest writes a value so that it cannot print (`24-byte object <4A-EA C8-D3 …>`), and CMake calls the
/// test by it: there are pointers among them, so that each build has other names for the same tests.
fn without_bytes(name: &mut String) {
    const VALUE: &str = "-byte object";
    let mut from = 0;
    while let Some(at) = name.get(from..).and_then(|rest| rest.find(" <").map(|found| from + found)) {
        from = at + 1;
        let is_value = name.get(..at).is_some_and(|before| before.ends_with(VALUE));
        let Some(end) = name.get(at..).and_then(|rest| rest.find('>')).filter(|_| is_value) else { continue };
        name.replace_range(at..=at + end, "");
        from = at;
    }
}

/// Whether pytest, known only by its configured name, ended over its command line or configuration.
fn is_usage_error(exit: Option<Exit>, hint: Option<&str>) -> bool {
    hint == Some("pytest") && exit == Some(Exit::Code { code: crate::readers::pytest::EXIT_USAGE })
}

/// Drops what tests printed and looked like the results of a framework: it never got to its own summary, complains
/// about nothing else and names fewer tests than another one that did, and that explains how the command ended.
fn drop_printed(kept: &mut Vec<Findings>, exit: Option<Exit>) {
    // Some name no passing tests, and print how many there were.
    let size = |one: &Findings| one.counts.total.and_then(|total| total.try_into().ok()).unwrap_or(one.tests.len());
    let explains = |one: &&Findings| one.finished && exit.is_none_or(|exit| exit.is_success() != one.has_failures());
    let Some(most) = kept.iter().filter(explains).map(size).max() else { return };
    let complains = |one: &Findings| one.problems.iter().any(|problem| problem.kind != RunKind::Unreadable);
    // A command that succeeded has nothing to complain about.
    let succeeded = exit.is_some_and(Exit::is_success);
    kept.retain(|one| {
        let says_more = if one.has_tests() { complains(one) || one.tests.len() > most } else { !succeeded };
        one.finished || one.status.is_some() || says_more
    });
}

/// Keeps npm's words around a failing script. They name the workspace, but are no trouble of their own.
fn wrapper_words(generic: Findings, kept: &mut [Findings]) {
    let Some(last) = kept.last_mut() else { return };
    let is_wrapper =
        |problem: &Problem| problem.message.starts_with("npm error") || problem.message.starts_with("npm ERR!");
    let words =
        generic.problems.into_iter().filter(is_wrapper).map(|problem| Problem { kind: RunKind::Tests, ..problem });
    last.problems.extend(words);
}

/// The fallback's share where the frameworks are silent: tests only when no framework ran any.
fn fallback(mut generic: Findings, kept: &[Findings]) -> Findings {
    /// More than these hide the cause.
    const MOST: usize = 12;
    if kept.iter().any(Findings::has_tests) {
        generic.tests.clear();
    }
    // Stable: within one kind the first is the cause. What is certain goes before what is likely.
    generic.problems.sort_by_key(|problem| match problem.kind {
        RunKind::MissingTool | RunKind::Infrastructure => 0,
        RunKind::CompileError | RunKind::ImportError | RunKind::BadCommand => 1,
        RunKind::Tests
        | RunKind::CollectionError
        | RunKind::Crash
        | RunKind::Timeout
        | RunKind::OutOfMemory
        | RunKind::NoTests
        | RunKind::Unreadable => 2,
    });
    generic.problems.truncate(MOST);
    generic
}

fn name_of(kept: &[Findings], hint: Option<&str>) -> String {
    let mut names: Vec<&str> = kept.iter().filter(|one| one.has_tests()).map(|one| one.framework).collect();
    if names.is_empty() {
        names = kept.iter().map(|one| one.framework).filter(|name| *name != GENERIC).collect();
    }
    names.dedup();
    match (names.as_slice(), hint) {
        ([only], _) => (*only).to_owned(),
        ([], Some(hint)) => hint.to_owned(),
        // Of several, the one that was asked for.
        (several, Some(hint)) if several.contains(&hint) => hint.to_owned(),
        _ => GENERIC.to_owned(),
    }
}

/// How the exit says that the run was ended from outside, if it does.
fn how_ended(exit: Option<Exit>) -> Option<RunKind> {
    match exit? {
        Exit::Timeout | Exit::Code { code: EXIT_TIMEOUT } => Some(RunKind::Timeout),
        Exit::Memory { .. } | Exit::MemoryTogether { .. } | Exit::MachineMemory => Some(RunKind::OutOfMemory),
        // Whoever sent it: upshift says itself when time was up.
        Exit::Signal { .. } => Some(RunKind::Crash),
        Exit::Code { code } if (EXIT_SIGNAL_BASE + 1..=EXIT_SIGNAL_BASE + HIGHEST_SIGNAL).contains(&code) => {
            Some(RunKind::Crash)
        }
        Exit::Code { .. } => None,
    }
}

fn judge(kept: &[Findings], exit: Option<Exit>, ended: Option<RunKind>) -> (RunStatus, RunKind) {
    let ran: Vec<&Findings> = kept.iter().filter(|one| one.has_tests()).collect();
    let finished = !ran.is_empty() && ran.iter().all(|one| one.finished);
    let own_kind = kept.iter().find_map(|one| one.kind);
    let trouble = own_kind.or_else(|| kept.iter().flat_map(|one| &one.problems).map(|problem| problem.kind).next());
    // With whole summaries the failures in them come first.
    if let Some(kind) = ended
        && !finished
    {
        return (RunStatus::Error, own_kind.unwrap_or(kind));
    }
    let own: Vec<RunStatus> = kept.iter().filter_map(|one| one.status).collect();
    let failed = |one: &Findings| one.status == Some(RunStatus::Failed) || (one.status.is_none() && one.has_failures());
    if kept.iter().any(failed) {
        return (RunStatus::Failed, own_kind.unwrap_or(RunKind::Tests));
    }
    let success = exit.is_none_or(Exit::is_success);
    let by_code = match exit {
        Some(Exit::Code { code: EXIT_NOT_FOUND }) if ran.is_empty() => Some(RunKind::MissingTool),
        Some(Exit::Code { code: EXIT_NOT_EXECUTABLE }) if ran.is_empty() => Some(RunKind::BadCommand),
        _ => None,
    };
    // Trouble that the run got over is none.
    if own.contains(&RunStatus::Error) || (trouble.is_some() && !(success && finished)) {
        return (RunStatus::Error, by_code.or(trouble).unwrap_or(RunKind::Unreadable));
    }
    // Without a total, as `go test` prints none for what passes, nobody can say that none ran.
    let none = |one: &&Findings| one.counts.total == Some(0) || (one.counts.total.is_none() && !one.finished);
    let none_ran = ran.iter().all(|one| none(one) && nothing_ran(&one.tests));
    if !success {
        let kind = by_code.or(ended).unwrap_or(if ran.is_empty() || !finished {
            RunKind::Unreadable
        } else if none_ran {
            RunKind::NoTests
        } else {
            RunKind::Tests
        });
        return (RunStatus::Error, kind);
    }
    if ran.is_empty() {
        // Exit code 0 says that the command is content; that nothing was read is what the kind says.
        return (if exit.is_some() { RunStatus::Passed } else { RunStatus::Error }, RunKind::Unreadable);
    }
    // It left early, whatever its exit code says, or the log is cut. Beside a whole report the code alone says that it did not.
    if !(finished || exit.is_some() && ran.iter().any(|one| one.finished)) {
        return (RunStatus::Error, RunKind::Unreadable);
    }
    (RunStatus::Passed, if none_ran { RunKind::NoTests } else { RunKind::Tests })
}

/// Whether no test got as far as a result.
fn nothing_ran(tests: &[TestCase]) -> bool {
    tests.iter().all(|test| test.status == TestStatus::Skipped)
}

/// Whether the files that could not be loaded say themselves why.
fn tests_say_why(report: &Report) -> bool {
    matches!(report.kind, RunKind::CollectionError | RunKind::ImportError)
        && report.failing().any(|test| !test.message.is_empty())
}

/// The end of the log, when nothing else says what went wrong.
fn last_words(recent: &[&str], kind: RunKind) -> Option<Problem> {
    let lines: Vec<&str> = recent.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let message = lines.join("\n");
    (!message.is_empty()).then(|| {
        let (file, line) = super::place::find_last(&message).unzip();
        Problem { kind, message, file, line }
    })
}

#[cfg(test)]
mod tests {
    use super::without_bytes;
    use crate::exit::Exit;
    use crate::parser::read;
    use crate::report::RunStatus;

    fn names(log: &str, code: i32) -> (RunStatus, Option<u64>, Vec<String>) {
        let report = read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report;
        (report.status, report.total, report.failing().map(|test| test.name.clone()).collect())
    }

    #[test]
    fn a_printed_result_is_dropped_where_a_whole_report_explains_the_exit() {
        let printed = "--- FAIL: TestOther (0.00s)\n";
        let green = "  cart\n    ✔ adds\n\n\n  1 passing (3ms)\n\n";
        let red =
            "  cart\n    1) adds\n\n\n  0 passing (3ms)\n  1 failing\n\n  1) cart\n       adds:\n     Error: no\n\n";
        assert_eq!(names(&format!("{printed}{green}"), 0), (RunStatus::Passed, Some(1), vec![]));
        assert_eq!(names(&format!("{printed}{red}"), 1), (RunStatus::Failed, Some(1), vec!["cart > adds".to_owned()]));
        // The command failed, and the whole report does not say why.
        let (status, _, failing) = names(&format!("{printed}{green}"), 1);
        assert_eq!((status, failing), (RunStatus::Failed, vec!["TestOther".to_owned()]));
    }

    #[test]
    fn a_value_that_is_told_by_its_bytes_is_no_part_of_a_name() {
        for (name, kept) in [
            ("Ranges/Glob.Matches/24-byte object <4A-EA C8-D3 10-55>", "Ranges/Glob.Matches/24-byte object"),
            ("A.b/(8-byte object <01-02>, 8-byte object <03-04>)", "A.b/(8-byte object, 8-byte object)"),
            ("a <b> of 24-byte object <01", "a <b> of 24-byte object <01"),
            ("is less (1 < 2)", "is less (1 < 2)"),
        ] {
            let mut name = name.to_owned();
            without_bytes(&mut name);
            assert_eq!(name, kept);
        }
    }

    #[test]
    fn a_json_report_without_an_end_names_its_tests_and_says_so() {
        let reports = [
            (
                "jest",
                r#"{"numTotalTests":9,"testResults":[{"assertionResults":[{"fullName":"a","status":"passed"},{"fullName":"b","status":"failed","failureMessages":["Error: no"]},{"fullN"#,
            ),
            ("mocha", r#"{"stats":{"passes":1},"passes":[{"fullTitle":"a"}],"failures":[{"fullTitle":"b","err":{}},{"#),
            (
                "rspec",
                r#"{"version":"3.13.0","examples":[{"full_description":"a","status":"passed","file_path":"a","line_number":1},{"full_description":"b","status":"failed","file_path":"a","line_number":2},{"id"#,
            ),
            (
                "pytest",
                r#"{"exitcode":1,"tests":[{"nodeid":"a","outcome":"passed"},{"nodeid":"b","outcome":"failed"},{"n"#,
            ),
            (
                "googletest",
                r#"{"tests":9,"testsuites":[{"name":"A","testsuite":[{"name":"a"},{"name":"b","failures":[{"failure":"no"}]},{"na"#,
            ),
        ];
        let green = "\n  cart\n    ✔ adds\n    ✔ takes\n    ✔ counts\n\n\n  3 passing (3ms)\n\n";
        for (framework, cut) in reports {
            let report = read(&mut cut.as_bytes(), Some(Exit::Code { code: 1 }), Some(framework)).unwrap().report;
            let failing: Vec<&str> = report.failing().map(|test| test.name.as_str()).collect();
            assert_eq!((report.status, failing), (RunStatus::Failed, vec!["b"]), "{framework}");
            assert_eq!((report.total, report.passed), (None, None), "{framework}");
            let said = report.problems.iter().any(|problem| problem.message.contains("breaks off after 2 tests"));
            assert!(said, "{framework}: {:?}", report.problems);
            // What a green test of a whole run prints is nobody's result.
            if framework != "mocha" {
                let report =
                    read(&mut format!("{cut}\n{green}").as_bytes(), Some(Exit::Code { code: 0 }), None).unwrap();
                assert_eq!(report.report.status, RunStatus::Passed, "{framework}: {:?}", report.report);
            }
        }
    }

    #[test]
    fn a_run_that_left_early_is_not_believed_and_one_that_ended_is() {
        let ended = "\n  cart\n    ✔ adds\n\n\n  1 passing (3ms)\n\n";
        let early = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\n";
        assert_eq!(names(early, 0).0, RunStatus::Error);
        assert_eq!(names(ended, 0).0, RunStatus::Passed);
        assert_eq!(names(&format!("{early}{ended}"), 0).0, RunStatus::Passed);
    }

    #[test]
    fn a_small_whole_report_does_not_drop_a_larger_one_that_is_cut() {
        let cut = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\n";
        let small = "\n  0 passing (3ms)\n  1 failing\n\n  1) cart\n       adds:\n     Error: no\n\n";
        let (_, _, failing) = names(&format!("{cut}{small}"), 1);
        assert!(failing.contains(&"TestB".to_owned()), "{failing:?}");
    }
}
