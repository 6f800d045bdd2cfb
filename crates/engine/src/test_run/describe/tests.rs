use super::*;
use crate::domain::test_report::TestStatus;
use crate::domain::verdict::Exit;

fn run_of(report: TestReport) -> TestRun {
    TestRun {
        exit: Exit::Code { code: 1 },
        report,
        filed: crate::test_run::Filed::NotAsked,
        output: String::new(),
        duration_ms: 5,
        stopped: None,
    }
}

fn failing(name: &str, message: &str, place: Option<(&str, u32)>) -> TestCase {
    TestCase {
        name: name.to_owned(),
        status: TestStatus::Failed,
        message: message.to_owned(),
        file: place.map(|(file, _)| file.to_owned()),
        line: place.map(|(_, line)| line),
    }
}

fn report(tests: Vec<TestCase>) -> TestReport {
    TestReport {
        status: RunStatus::Failed,
        kind: RunKind::Tests,
        total: Some(tests.len() as u64),
        tests,
        ..TestReport::unreadable("pytest")
    }
}

#[test]
fn twenty_tests_with_one_cause_name_it_once_in_less_than_four_kilobytes() {
    let tests = (0..20)
        .map(|at| {
            let message = format!(
                "self = <tests.Cart object at 0x7f{at:04}>\n\n    def test_case_{at}(self):\n>       price = parse(\"{at},00\")\n\n\
                 tests/test_shop.py:{}: \n_ _ _ _ _ _ _ _ _ _\n\ntext = '{at},00'\n\n    def parse(text):\n        m = PATTERN.match(text)\n\
                 >       return int(m.group(1)) * 100\n                   ^^^^^^^\nE       AttributeError: 'NoneType' object has no attribute 'group'\n\n\
                 shop/price.py:24: AttributeError\n",
                at * 7
            );
            failing(&format!("tests/test_shop.py::TestPrices::test_case_{at}"), &message, Some(("shop/price.py", 24)))
        })
        .collect();
    let text = describe(&run_of(report(tests)), Path::new("/nowhere"), 16_000);
    assert!(text.len() < 4_000, "{} bytes:\n{text}", text.len());
    assert_eq!(text.matches("AttributeError: 'NoneType'").count(), 1, "{text}");
    for at in 0..20 {
        assert!(text.contains(&format!("test_case_{at}\n")), "{text}");
    }
}

/// Twenty tests that fail in one helper, as three runners print them: the log and the words of the cause.
fn twenty_failures() -> [(String, &'static str); 3] {
    let all = |one: &dyn Fn(usize) -> String| (0..20).map(one).collect::<String>();
    let cargo = format!(
        "running 20 tests\n{}\nfailures:\n\n{}\nfailures:\n{}\ntest result: FAILED. 0 passed; 20 failed; 0 ignored; 0 measured; 0 filtered \
         out; finished in 0.01s\n",
        all(&|at| format!("test tests::case_{at} ... FAILED\n")),
        all(&|at| format!(
            "---- tests::case_{at} stdout ----\n\nthread 'tests::case_{at}' ({at}71) panicked at src/price.rs:24:10:\ncalled \
             `Option::unwrap()` on a `None` value\n\n"
        )),
        all(&|at| format!("    tests::case_{at}\n")),
    );
    let jest = format!(
        "FAIL test/cart.test.js\n{}\nTest Suites: 1 failed, 1 total\nTests:       20 failed, 20 total\n",
        all(&|at| format!(
            "  ● Cart › case {at}\n\n    TypeError: Cannot read properties of undefined (reading 'price')\n\n      2 | function total(cart) \
             {{\n    > 4 |   return cart.first.price;\n        |                     ^\n\n      at total (src/cart.js:4:21)\n      at \
             Object.total (test/cart.test.js:{at}:12)\n\n"
        )),
    );
    let unittest = format!(
        "{}{}----------------------------------------------------------------------\nRan 20 tests in 0.004s\n\nFAILED (errors=20)\n",
        all(&|_| "E".to_owned()) + "\n",
        all(&|at| format!(
            "======================================================================\nERROR: test_case_{at} \
             (tests.test_shop.Prices.test_case_{at})\n----------------------------------------------------------------------\nTraceback \
             (most recent call last):\n  File \"/w/tests/test_shop.py\", line {at}, in test_case_{at}\n    price = parse(\"{at},00\")\n  File \
             \"/w/shop/price.py\", line 24, in parse\n    return int(m.group(1)) * 100\nAttributeError: 'NoneType' object has no attribute \
             'group'\n\n"
        )),
    );
    [
        (cargo, "`Option::unwrap()` on a `None` value"),
        (jest, "TypeError: Cannot read properties of undefined"),
        (unittest, "AttributeError: 'NoneType' object"),
    ]
}

#[test]
fn one_cause_behind_twenty_failures_is_told_once_whoever_printed_them() {
    for (log, cause) in twenty_failures() {
        let reading = crate::test_run::read(&mut log.as_bytes(), Some(Exit::Code { code: 1 }), None).unwrap();
        assert_eq!(reading.report.failing().count(), 20, "{log}");
        let text = describe(&run_of(reading.report), Path::new("/nowhere"), 16_000);
        assert!(text.len() < 4_000, "{} bytes:\n{text}", text.len());
        assert_eq!(text.matches(cause).count(), 1, "{text}");
    }
}

#[test]
fn different_causes_are_told_apart_and_compile_errors_come_first() {
    let mut report = report(vec![
        failing(
            "a",
            "thread 'a' panicked at src/lib.rs:5:9:\nassertion `left == right` failed\n  left: 1\n right: 2",
            Some(("src/lib.rs", 5)),
        ),
        failing(
            "b",
            "thread 'b' panicked at src/lib.rs:9:9:\nassertion `left == right` failed\n  left: 3\n right: 4",
            Some(("src/lib.rs", 9)),
        ),
    ]);
    report.problems.push(Problem {
        kind: RunKind::CompileError,
        message: "error[E0308]: mismatched types\n --> src/other.rs:3:5".to_owned(),
        file: Some("src/other.rs".to_owned()),
        line: Some(3),
    });
    let text = describe(&run_of(report), Path::new("/nowhere"), 4_000);
    assert!(text.find("E0308").unwrap() < text.find("FAIL a").unwrap(), "{text}");
    assert!(text.contains("FAIL b") && text.contains("right: 4"), "{text}");
}

#[test]
fn the_source_around_the_place_is_shown_and_nothing_outside_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.py"), "one\ntwo = 'hidden'\n").unwrap();
    std::fs::create_dir(folder.path().join("shop")).unwrap();
    std::fs::write(folder.path().join("shop/cart.py"), "def total():\n    lines = []\n    return sum(lines) - 1\n")
        .unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("secret.py"), folder.path().join("link.py")).unwrap();
    let secret = outside.path().join("secret.py").display().to_string();
    let tests = vec![
        failing("t1", "boom", Some(("shop/cart.py", 3))),
        failing("t2", "bang", Some(("link.py", 2))),
        failing("t3", "bong", Some((&secret, 2))),
    ];
    let text = describe(&run_of(report(tests)), folder.path(), 4_000);
    assert!(text.contains(">   3     return sum(lines) - 1"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

#[test]
fn the_budget_is_kept_and_names_go_on_beyond_the_causes() {
    let tests: Vec<TestCase> = (0..300)
        .map(|at| failing(&format!("test_number_{at}"), &format!("Error: cause {}", "x".repeat(at + 1)), None))
        .collect();
    for budget in [200, 1_000, 5_000] {
        let text = describe(&run_of(report(tests.clone())), Path::new("/nowhere"), budget);
        assert!(text.chars().count() <= budget, "{budget}");
    }
    let text = describe(&run_of(report(tests)), Path::new("/nowhere"), 5_000);
    assert!(text.contains("300 tests fail") && text.contains("more)"), "{text}");
}

#[test]
fn a_run_without_names_shows_the_end_of_its_output() {
    let mut run = run_of(TestReport::unreadable("generic"));
    run.output = "starting\nsomething odd happened\n".to_owned();
    let text = describe(&run, Path::new("/nowhere"), 2_000);
    assert!(text.contains("something odd happened"), "{text}");
}

fn read(log: &str, code: i32) -> TestRun {
    let exit = Exit::Code { code };
    let report = crate::test_run::read(&mut log.as_bytes(), Some(exit), None).unwrap().report;
    TestRun { exit, ..run_of(report) }
}

#[test]
fn one_missing_import_of_twenty_files_is_told_once_without_frames_of_libraries() {
    let library = "/usr/lib/python3.11/importlib/__init__.py:126: in import_module\n    return _bootstrap._gcd_import(name)\n\
                   <frozen importlib._bootstrap>:690: in _load_unlocked\n    ???\n";
    let mut log = "============================= test session starts ==============================\ncollected 0 items / 20 errors\n\n\
                   ==================================== ERRORS ====================================\n"
        .to_owned();
    for at in 0..20 {
        log.push_str(&format!(
            "_________________________ ERROR collecting test_{at}.py __________________________\nImportError while importing test \
             module '/w/test_{at}.py'.\nHint: make sure your test modules/packages have valid Python names.\nTraceback:\n{library}\
             test_{at}.py:1: in <module>\n    import nosuchmod\nE   ModuleNotFoundError: No module named 'nosuchmod'\n"
        ));
    }
    log.push_str("- generated xml file: /w/results-9f3c/results -\n=========================== short test summary info ============================\n");
    (0..20).for_each(|at| log.push_str(&format!("ERROR test_{at}.py\n")));
    log.push_str(
        "!!!!!!!!!!!!!!!!!!! Interrupted: 20 errors during collection !!!!!!!!!!!!!!!!!!!\n\
         ============================== 20 errors in 0.44s ==============================\n",
    );
    let text = describe(&read(&log, 2), Path::new("/nowhere"), 16_000);
    assert_eq!(text.matches("No module named 'nosuchmod'").count(), 1, "{text}");
    assert_eq!(text.matches("  test_7.py\n").count(), 1, "{text}");
    for noise in ["generated xml", "Interrupted", "importlib", "???", "_gcd_import", "ERROR test_"] {
        assert!(!text.contains(noise), "{noise}: {text}");
    }
    assert!(text.contains("    import nosuchmod\n"), "{text}");
}

#[test]
fn one_missing_function_that_twenty_lines_call_is_one_error() {
    let mut log = "   Compiling x v0.1.0 (/w)\n".to_owned();
    for line in 4..24 {
        log.push_str(&format!(
            "error[E0425]: cannot find function `price` in module `super`\n --> src/lib.rs:{line}:27\n  |\n{line} | fn \
             t(){{assert_eq!(super::price({line}),1);}}\n  |                           ^^^^^ not found in `super`\n\n"
        ));
    }
    log.push_str(
        "error[E0308]: mismatched types\n --> src/lib.rs:40:3\n  |\n40 |   a\n  |   ^ expected `i32`, found `u8`\n\nFor more information \
         about this error, try `rustc --explain E0425`.\nerror: could not compile `x` (lib test) due to 21 previous errors\n",
    );
    let text = describe(&read(&log, 101), Path::new("/nowhere"), 16_000);
    assert_eq!(text.matches("cannot find function `price`").count(), 1, "{text}");
    assert!(text.contains("(the same at src/lib.rs:5, 6, ") && text.contains(" and 7 more places)"), "{text}");
    assert!(text.contains("expected `i32`, found `u8`"), "{text}");
}
