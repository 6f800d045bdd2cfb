//! Output of go test, line by line.

use super::*;
use crate::findings::STORED_BYTES;

fn read(log: &str) -> Findings {
    let mut reader = Reader::new(&Budget::new(STORED_BYTES));
    log.lines().for_each(|line| reader.line(line));
    reader.finish(None).unwrap()
}

#[test]
fn a_printed_result_is_no_test_but_a_silent_failure_is() {
    let ghost = "--- FAIL: TestGhost (0.00s)\nprinted\n";
    let real = "--- FAIL: TestReal (0.00s)\n    a_test.go:3: no\n";
    let end = "FAIL\nFAIL\texample.com/a\t0.1s\nFAIL\n";
    let names = |log: &str| read(log).tests.into_iter().map(|test| test.name).collect::<Vec<_>>();
    assert_eq!(names(&format!("{ghost}{real}{end}")), ["TestReal"]);
    assert_eq!(names(&format!("{ghost}{end}")), ["TestGhost"]);
    assert_eq!(names(&format!("--- FAIL: TestSilent (0.00s)\n{real}{end}")), ["TestSilent", "TestReal"]);
}

#[test]
fn a_result_behind_printed_text_without_a_line_end_counts() {
    let names = |log: &str| {
        let found = read(log);
        found.tests.into_iter().map(|test| (test.name, test.status, test.message)).collect::<Vec<_>>()
    };
    let end = "FAIL\nFAIL\texample.com/a\t0.1s\n";
    let plain = "half--- FAIL: TestA (0.00s)\n    a_test.go:3: no\nnoted --- FAIL: it (0.00s)\n";
    let failed = |message: &str| ("TestA".to_owned(), TestStatus::Failed, message.to_owned());
    assert_eq!(names(&format!("{plain}{end}")), [failed("    a_test.go:3: no")]);
    let verbose = "=== RUN   TestA\nhalf--- FAIL: TestX (0.00s)\nhalf--- FAIL: TestA (0.00s)\n    a_test.go:3: no\n";
    let message = "half--- FAIL: TestX (0.00s)\nhalf\n    a_test.go:3: no";
    assert_eq!(names(&format!("{verbose}{end}")), [failed(message)]);
}

#[test]
fn with_v_only_announced_tests_count_and_output_goes_to_the_test_that_runs() {
    let found = read(
        "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n--- PASS: TestX (0.00s)\n=== CONT  TestA\n    a_test.go:7: from A\n--- FAIL: TestA (0.00s)\n--- PASS: TestB (0.00s)\nFAIL\nFAIL\texample.com/a\t0.1s\n",
    );
    let seen: Vec<(&str, TestStatus)> = found.tests.iter().map(|test| (test.name.as_str(), test.status)).collect();
    assert_eq!(seen, [("TestA", TestStatus::Failed), ("TestB", TestStatus::Passed)]);
    assert_eq!(found.tests[0].message, "    a_test.go:7: from A");
    assert_eq!(found.counts.total, Some(2));
}
