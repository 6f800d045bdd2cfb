use crate::exit::Exit;
use crate::report::{Report, RunKind, RunStatus};

fn read(log: &str, code: i32) -> Report {
    crate::parser::read(&mut log.as_bytes(), Some(Exit::Code { code }), None).unwrap().report
}

#[test]
fn a_command_that_cannot_work_is_broken_before_anything_is_paid_for() {
    let cases: &[(&str, i32, RunKind)] = &[
        ("sh: 1: cd: can't cd to nosuch", 2, RunKind::BadCommand),
        ("bash: line 1: cd: nosuch: No such file or directory", 1, RunKind::MissingTool),
        ("sh: 1: .: cannot open ./nosuch.sh: No such file", 2, RunKind::BadCommand),
        ("bash: ./nosuch.sh: No such file or directory", 1, RunKind::MissingTool),
        ("sh: 0: cannot open nosuch.sh: No such file", 2, RunKind::BadCommand),
        ("sh: 1: NOPE: parameter not set", 2, RunKind::BadCommand),
        ("bash: line 1: NOPE: unbound variable", 1, RunKind::BadCommand),
        ("ERROR: /w/pytest.ini:1: unexpected line: '[pytest'", 4, RunKind::BadCommand),
        ("ERROR: /w/pyproject.toml: 'minversion' requires pytest-99, actual pytest-9.2.0", 4, RunKind::BadCommand),
        ("docker: 'compose' is not a docker command.\nSee 'docker --help'", 1, RunKind::MissingTool),
        (
            "docker: unknown command: docker compose\n\nRun 'docker --help' for more information",
            1,
            RunKind::MissingTool,
        ),
        ("unknown shorthand flag: 'f' in -f\nSee 'docker --help'.", 125, RunKind::BadCommand),
        (
            "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)",
            2,
            RunKind::MissingTool,
        ),
        ("Command not found: pytest", 1, RunKind::MissingTool),
        ("Poetry could not find a pyproject.toml file in /w or its parents", 1, RunKind::BadCommand),
        ("error: Script not found \"test\"", 1, RunKind::BadCommand),
        ("Usage Error: Couldn't find a script named \"test\".", 1, RunKind::BadCommand),
        (
            "error Command \"test\" not found.\ninfo Visit https://yarnpkg.com for documentation.",
            1,
            RunKind::BadCommand,
        ),
        ("error: No justfile found", 1, RunKind::BadCommand),
        (
            "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module \
             '/w/node_modules/mocha/bin/mocha.js'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15)",
            1,
            RunKind::MissingTool,
        ),
        ("Error: Cannot find module '/w/node_modules/.bin/jest'", 1, RunKind::MissingTool),
        ("Could not locate Gemfile or .bundle/ directory", 10, RunKind::BadCommand),
        ("Could not open input file: vendor/bin/phpunit", 1, RunKind::MissingTool),
        (
            "rake aborted!\nDon't know how to build task 'test' (See the list of available tasks)",
            1,
            RunKind::BadCommand,
        ),
        ("nox > Sessions not found: test", 1, RunKind::BadCommand),
        ("ninja: error: loading 'build.ninja': No such file or directory", 1, RunKind::BadCommand),
        ("CMake Error: The source directory \"/w\" does not appear to contain CMakeLists.txt.", 1, RunKind::BadCommand),
        ("Error: /w/build is not a directory", 1, RunKind::BadCommand),
        ("Error: could not load cache", 1, RunKind::BadCommand),
        (
            "pattern ./...: directory prefix . does not contain main module or its selected dependencies",
            1,
            RunKind::BadCommand,
        ),
        (
            "The JAVA_HOME environment variable is not defined correctly,\nthis environment variable is needed to run this program.",
            1,
            RunKind::MissingTool,
        ),
        ("ERROR: JAVA_HOME is set to an invalid directory: /opt/jdk", 1, RunKind::MissingTool),
        ("Error: Project(s) \"nosuch\" not found. Available projects: \"unit\"", 1, RunKind::BadCommand),
        ("make: *** No rule to make target 'test'.  Stop.", 2, RunKind::BadCommand),
    ];
    for (log, code, kind) in cases {
        let report = read(&format!("{log}\n"), *code);
        assert_eq!((report.status, report.kind), (RunStatus::Error, *kind), "{log}");
        let told = report.problems.first().and_then(|problem| problem.message.lines().next()).unwrap();
        assert!(log.contains(told), "{told}");
    }
}

#[test]
fn a_missing_plugin_is_a_wrong_command_and_a_plugins_own_missing_import_is_the_codes() {
    let log = |missing: &str| {
        format!(
            "Traceback (most recent call last):\n  File \"/usr/lib/python3/_pytest/config.py\", line 9, in import_plugin\n    \
             __import__(name)\nModuleNotFoundError: No module named '{missing}'\n\nThe above exception was the direct cause:\n\n\
             Traceback (most recent call last):\n  File \"/usr/bin/pytest\", line 8, in <module>\nImportError: Error importing \
             plugin \"checks\": No module named '{missing}'\n"
        )
    };
    assert_eq!(read(&log("checks"), 1).kind, RunKind::BadCommand);
    let since_nine = "ERROR: Error importing plugin \"checks\": No module named 'checks'\n\n";
    assert_eq!(read(since_nine, 4).kind, RunKind::BadCommand);
    assert_eq!(read(&log("shop.prices"), 1).kind, RunKind::ImportError);
}

#[test]
fn a_usage_error_of_pytest_is_a_wrong_command_whatever_it_says() {
    let log = "============================= test session starts ==============================\nERROR: a novel complaint\n\n";
    assert_eq!(read(log, 4).kind, RunKind::BadCommand);
    let quiet = crate::parser::read(&mut &b"ERROR: another\n"[..], Some(Exit::Code { code: 4 }), Some("pytest"));
    assert_eq!(quiet.unwrap().report.kind, RunKind::BadCommand);
    assert_eq!(read("ERROR: another\n", 4).kind, RunKind::Unreadable, "only pytest's 4 means so");
    let conftest = "ImportError while loading conftest '/w/conftest.py'.\nconftest.py:1: in <module>\n    import shop.prices\n\
                    E   ModuleNotFoundError: No module named 'shop.prices'\n";
    assert_eq!(read(conftest, 4).kind, RunKind::ImportError, "the code's, though pytest ends with 4");
    let failing = "F                                                                        [100%]\n\
                   =========================== short test summary info ============================\n\
                   FAILED test_a.py::test_a - assert 1 == 2\n1 failed in 0.01s\n";
    assert_eq!((read(failing, 4).status, read(failing, 4).kind), (RunStatus::Failed, RunKind::Tests));
}

#[test]
fn a_ctest_run_without_tests_is_neither_green_nor_paid_for() {
    for code in [0, 8] {
        let report = read("Test project /w/build\nNo tests were found!!!\n", code);
        assert_eq!(report.kind, RunKind::NoTests, "{code}");
        assert!(code == 0 || read("ctest: No tests were found!!!\n", code).kind == RunKind::NoTests);
    }
}

#[test]
fn the_same_words_in_the_codes_own_output_are_none() {
    let cases = [
        "Error: the shell said Command not found: pytest\n    at run (src/run.js:3:9)\n",
        "src/run.c:3:1: error: Script not found \"test\"\n",
        "Error: Cannot find module '/w/node_modules/left-pad/index.js'\n    at x (/w/src/a.js:1:1)\n",
        "Error: Cannot find module './bin/tool'\n    at x\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/w/src/a.js' ]\n",
        "Error: src/assets is not a directory\n    at open (src/assets.js:3:9)\n",
        "Error: ERROR: /w/pytest.ini:1: odd\n    at lint (src/lint.js:3:9)\n",
        "Error: config: parameter not set\n    at f (src/a.js:3:9)\n",
    ];
    for log in cases {
        let kind = read(log, 1).kind;
        assert!(!matches!(kind, RunKind::BadCommand | RunKind::MissingTool), "{kind:?} {log}");
    }
}

#[test]
fn a_failing_test_that_mentions_them_stays_a_failing_test() {
    let words = [
        "Command not found: pytest",
        "error: Script not found \"test\"",
        "sh: 1: cd: can't cd to nosuch",
        "Could not locate Gemfile",
        "unknown shorthand flag: 'f' in -f",
        "nox > Sessions not found: test",
    ];
    for said in words {
        let pytest = format!(
            "=================================== FAILURES ===================================\n____ test_a ____\n\n{said}\nE   \
             RuntimeError: {said}\n\ntests/a.py:3: RuntimeError\n=========================== short test summary info \
             ============================\nFAILED tests/a.py::test_a - {said}\n=================== 1 failed in 0.02s \
             ===================\n"
        );
        let cargo = format!(
            "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\n{said}\nthread 'a' panicked at \
             src/lib.rs:3:5:\n{said}\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 \
             filtered out; finished in 0.00s\n\n"
        );
        let plain = format!("FAIL: shell/cd\n{said}\n\n1 of 3 checks failed\n");
        for (log, code) in [(pytest, 1), (cargo, 101), (plain, 1)] {
            let report = read(&log, code);
            assert_eq!((report.status, report.kind), (RunStatus::Failed, RunKind::Tests), "{log}");
        }
    }
}
