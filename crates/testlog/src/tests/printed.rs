//! Output of tests among a framework's lines: it hides no failing test, and makes no green run red.

use crate::exit::Exit;
use crate::parser::read;
use crate::report::{Report, RunKind, RunStatus, TestStatus};

/// A log, the command's exit code, how the run ended and which tests failed.
type Case<'a> = (&'a str, i32, RunStatus, &'a [&'a str]);

const PLAYWRIGHT: &str = "Running 2 tests using 1 worker\n\n  ✓  1 a.spec.ts:3:5 › one (1ms)\n  ✘  2 a.spec.ts:4:5 › two (1ms)\n\n  \
    1) a.spec.ts:4:5 › two ──\n\n    Error: no\n\n";
const JUNIT5: &str = "Failures (2):\n  JUnit Jupiter:A:f()\n    MethodSource [className = 'A', methodName = 'f']\n    => Error: no\n\
    PRINTED       A.f(A.java:3)\n  JUnit Jupiter:A:g()\n    MethodSource [className = 'A', methodName = 'g']\n    => Error: g\n\
    Test run finished after 33 ms\n[         2 containers found      ]\n[         0 containers failed     ]\n\
    [         2 tests found           ]\n[         0 tests skipped         ]\n[         0 tests aborted         ]\n\
    [         0 tests successful      ]\n[         2 tests failed          ]\n";
const ROBOT: &str =
    "==\nR\n==\nA  | FAIL |\nboom\n1 test, 1 passed, 0 failed\n==\nR | FAIL |\n1 test, 0 passed, 1 failed\n==\n";
const PYTEST: &str = "============================= test session starts ==============================\ncollected 2 items\n\n\
    test_a.py \nPRINTED\n..\n\n============================== 2 passed in 0.01s ===============================\n";

fn of(log: &str, code: i32) -> Report {
    read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
}

fn check((log, code, status, failing): Case<'_>) {
    let report = of(log, code);
    let seen: Vec<&str> = report.failing().map(|test| test.name.as_str()).collect();
    assert_eq!((report.status, seen.as_slice()), (status, failing), "{log}");
}

#[test]
fn no_failing_test_is_hidden() {
    let robot = ROBOT.replace("==\n", &format!("{}\n", "=".repeat(78)));
    let cases: &[Case<'_>] = &[
        (&format!("{PLAYWRIGHT}  1 failed\n"), 1, RunStatus::Failed, &["a.spec.ts › two"]),
        (&format!("{PLAYWRIGHT}  1 passed (1s)\n"), 0, RunStatus::Failed, &["a.spec.ts › two"]),
        (
            "=== RUN   TestA\nScope: 3 of 4 workspace projects\n--- FAIL$ x\n--- FAIL: TestA (0.00s)\n    a_test.go:3: boom\nFAIL\nFAIL\tx/a\t0.1s\nFAIL\n",
            1,
            RunStatus::Failed,
            &["TestA"],
        ),
        (
            "running 1 test\nScope: 3 of 4 workspace projects\ntest result$ x\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\nboom\n\n\n\
             failures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            101,
            RunStatus::Failed,
            &["a"],
        ),
        (
            "Running ExUnit with seed: 0, max_cases: 4\n\n  9) ATest: failure on setup_all callback, printed\n\n\n  1) test one (ATest)\n     \
             test/a_test.exs:4\n     boom\n\nFinished in 0.1 seconds\n1 test, 1 failure\n",
            2,
            RunStatus::Failed,
            &["test one (ATest)"],
        ),
        (&JUNIT5.replace("PRINTED", "Test run finished after 3 ms\n"), 1, RunStatus::Failed, &["A:f()", "A:g()"]),
        (
            &format!("Test plan execution started. Number of static tests: 2\n{}", JUNIT5.replace("PRINTED", "")),
            1,
            RunStatus::Failed,
            &["A:f()", "A:g()"],
        ),
        (&robot, 1, RunStatus::Failed, &["A"]),
    ];
    for case in cases {
        check(*case);
    }
}

#[test]
fn what_deno_says_was_printed_is_nobodys_result() {
    let log = "running 2 tests from ./a_test.ts\none ...\n------- output -------\nTAP version 13\nnot ok 1 - shop\n1..1\nFAIL ./a.test.js\n\
        Tests:       1 failed, 1 total\n----- output end -----\none ... ok (1ms)\ntwo ... ok (0ms)\n\nok | 2 passed | 0 failed (3ms)\n";
    let report = of(log, 0);
    assert_eq!((report.framework.as_str(), report.status, report.passed), ("deno-test", RunStatus::Passed, Some(2)));
}

#[test]
fn avas_results_are_its_own_once_it_named_a_failure() {
    let log = "\n  ✔ adds (1ms)\n  ✘ [fail]: sells Error thrown in test\n  ✔ opens\n  ✔ [expected fail] later\n  ─\n\n  sells\n\n  \
        a.test.js:3\n\n  Error: no\n\n  ─\n\n  1 test failed\n";
    let report = of(log, 1);
    let passed: Vec<&str> =
        report.tests.iter().filter(|test| test.status == TestStatus::Passed).map(|test| test.name.as_str()).collect();
    assert_eq!((report.framework.as_str(), passed), ("ava", vec!["adds", "opens"]));
    check((log, 1, RunStatus::Failed, &["sells"]));
}

#[test]
fn no_green_run_is_made_red() {
    let printed = [
        "[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.b\n[       OK ] A.b (0 ms)\na.cpp:3: Failure\n[----------] 1 test\n",
        "JUnit version 4.13\n.E\n",
        "Test setup error: db is down\n",
        "Error: No tests found\n",
        "• Packages in scope: a, b\n",
        "make  check-TESTS\nPASS: a.sh\nFAIL: b.sh\n",
        "Chrome Headless 1.0 (Linux 1): Executed 1 of 2 (1 FAILED)\n",
        "Chrome Headless 1.0 (Linux 1) ERROR\n  boom\n",
        "Failures:\n\n1) Scenario: milk # a.feature:3\n   ✖ Then no # s.js:3\n",
        "Started with run options --seed 1\n FAIL CartTest#test_eq (0.00s)\n",
        "\n/w/a.js\n  1:1  error  no  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n",
        "[a] > shop@1.0.0 a\n[a] FAILED tests/test_b.py::test_c\n",
        "a.py:1:1: F401 'os' imported but unused\n",
        "[==========] Running 2 test(s).\n[ RUN      ] a\n[  FAILED  ] a\n",
        "********* Start testing of Money *********\nFAIL!  : Money::eq() no\n   Loc: [a.cpp(3)]\n",
        "Running suite(s): Cart\na.c:4:F:Core:sells:0: no\n",
        "a.cpp:5: error: Failure in TEST(Cart, sells)\n\tno\n\n",
        "[----] a.c:5: Assertion Failed\n[FAIL] cart::sells: (0.00s)\n",
    ];
    for text in printed {
        let report = of(&PYTEST.replace("PRINTED", text), 0);
        assert_eq!((report.status, report.total, report.passed), (RunStatus::Passed, Some(2), Some(2)), "{text}");
        assert_eq!(report.problems, [], "{text}");
    }
    check((
        "Running ExUnit with seed: 0, max_cases: 4\n\nATest [test/a.exs]\n  * test one (0.1ms) [L#3]\n  0) ATest: failure on setup_all \
         callback, printed\n\nFinished in 0.1 seconds\n1 test, 0 failures\n",
        0,
        RunStatus::Passed,
        &[],
    ));
}

#[test]
fn what_has_a_place_in_the_source_is_not_the_infrastructures() {
    let report = of("# x/a\n./a.go:3:5: undefined: unix.EROFS and ENOSPC\nFAIL\tx/a [build failed]\nFAIL\n", 1);
    assert_eq!(report.kind, RunKind::CompileError);
}
