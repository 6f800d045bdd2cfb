//! Result files of real runners, as the table asks for them: each writes one, it says what a person reads, and the runner prints what it
//! printed before.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use upshift::domain::stop::Stop;
use upshift::domain::test_report::TestReport;
use upshift::process::Confinement;
use upshift::test_run::{self, Filed, ResultFiles, TestCommand, TestRun};

use super::installed;

/// Two tests of one runner, of which one fails.
struct Suite {
    files: &'static [(&'static str, &'static str)],
    /// What builds them, if anything must.
    build: Option<&'static str>,
    command: &'static str,
    /// The framework, where only configuration can say it.
    framework: Option<&'static str>,
    passing: &'static str,
    failing: &'static str,
}

impl Suite {
    fn run(&self, folder: &Path, line: &str, results: ResultFiles) -> TestRun {
        let home = installed();
        let path = std::env::var("PATH").expect("PATH");
        let bins = ["python/bin", "results/node_modules/.bin", "results/node_modules/bats/bin", "tools/cmake/data/bin"];
        let bins = bins.map(|name| home.join(name).display().to_string()).join(":");
        let env =
            [("PATH", format!("{bins}:{path}")), ("HOME", folder.display().to_string()), ("CI", "true".to_owned())];
        let command = TestCommand {
            command: line.to_owned(),
            checks: Vec::new(),
            cwd: folder.to_owned(),
            env: env
                .into_iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)))
                .collect::<BTreeMap<_, _>>(),
            timeout: Duration::from_secs(300),
            memory_mb: None,
            framework: self.framework.map(str::to_owned),
            junit: None,
            confinement: Confinement::None,
            results,
            streams: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(test_run::run(&command, None, &Stop::never())).expect("a run")
    }

    fn unpack(&self) -> tempfile::TempDir {
        let folder = tempfile::Builder::new().prefix("suite-").tempdir_in(installed()).expect("a folder");
        for (name, text) in self.files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, text).expect("written");
        }
        std::os::unix::fs::symlink(installed().join("results/node_modules"), folder.path().join("node_modules"))
            .expect("a link");
        if let Some(build) = self.build {
            let built = self.run(folder.path(), build, ResultFiles::Unwanted);
            assert!(built.exit.is_success(), "{}", built.output);
        }
        folder
    }

    /// A run that was told to write its results says in the file what it prints, and prints what it prints without.
    fn check(&self) {
        let folder = self.unpack();
        let plain = self.run(folder.path(), self.command, ResultFiles::Unwanted);
        let told = self.run(folder.path(), self.command, ResultFiles::Wanted);
        assert_eq!((plain.exit, &plain.filed), (told.exit, &Filed::NotAsked), "{}", told.output);
        let filed = told.filed.report().unwrap_or_else(|| panic!("{:?}\n{}", told.filed, told.output));
        self.is_said_by(filed);
        assert_eq!(outline(&plain.report), outline(&told.report), "{}\n----\n{}", plain.output, told.output);
    }

    fn is_said_by(&self, report: &TestReport) {
        let passing: Vec<&str> = report.passing_names().collect();
        let failing: Vec<&str> = report.failing().map(|test| test.name.as_str()).collect();
        assert!(matches!(passing.as_slice(), [one] if one.contains(self.passing)), "{report:?}");
        assert!(matches!(failing.as_slice(), [one] if one.contains(self.failing)), "{report:?}");
    }
}

/// What two runs of the same tests have in common.
fn outline(report: &TestReport) -> impl PartialEq + std::fmt::Debug {
    let names: Vec<_> = report.tests.iter().map(|test| (test.name.clone(), test.status)).collect();
    (report.framework.clone(), report.status, report.passed, report.failed, names)
}

const PHP: &str = "<?php\nfinal class CartTest extends PHPUnit\\Framework\\TestCase {\n  public function testAdds(): void { $this->assertSame(5, 2 + 3); }\n  \
    public function testTakes(): void { $this->assertSame(5, 2 - 3); }\n}\n";
const RUBY: &str =
    "RSpec.describe 'cart' do\n  it('adds') { expect(2 + 3).to eq 5 }\n  it('takes') { expect(2 - 3).to eq 5 }\nend\n";
const GTEST: &str =
    "#include <gtest/gtest.h>\nTEST(Cart, Adds) { EXPECT_EQ(5, 2 + 3); }\nTEST(Cart, Takes) { EXPECT_EQ(5, 2 - 3); }\n";
const BOOST: &str = "#define BOOST_TEST_MODULE cart\n#include <boost/test/included/unit_test.hpp>\nBOOST_AUTO_TEST_CASE(adds) { BOOST_TEST(5 == 2 + 3); }\n\
    BOOST_AUTO_TEST_CASE(takes) { BOOST_TEST(5 == 2 - 3); }\n";
const CHECK: &str = "#include <check.h>\nSTART_TEST(adds) { ck_assert_int_eq(5, 2 + 3); } END_TEST\nSTART_TEST(takes) { ck_assert_int_eq(5, 2 - 3); } END_TEST\n\
    int main(void) {\n  Suite *s = suite_create(\"cart\"); TCase *t = tcase_create(\"core\"); tcase_add_test(t, adds); tcase_add_test(t, takes);\n  \
    suite_add_tcase(s, t); SRunner *r = srunner_create(s); srunner_run_all(r, CK_VERBOSE);\n  return srunner_ntests_failed(r) != 0;\n}\n";
const CTEST: &str = "cmake_minimum_required(VERSION 3.21)\nproject(cart NONE)\nenable_testing()\nadd_test(NAME adds COMMAND true)\nadd_test(NAME takes COMMAND false)\n";
const BATS: &str = "@test \"adds\" {\n  [ 5 -eq 5 ]\n}\n@test \"takes\" {\n  [ 5 -eq 6 ]\n}\n";
const FEATURE: &str = "Feature: cart\n  Scenario: adds\n    Given two\n  Scenario: takes\n    Given three\n";
const BEHAVE: &str = "from behave import given\n\n\n@given('two')\ndef two(context):\n    pass\n\n\n@given('three')\ndef three(context):\n    assert 1 == 2\n";
const CUCUMBER: &str = "const { Given } = require('@cucumber/cucumber');\nGiven('two', () => {});\nGiven('three', () => { throw new Error('no'); });\n";
const ROBOT: &str =
    "*** Test Cases ***\nAdds\n    Should Be Equal    ${5}    ${5}\nTakes\n    Should Be Equal    ${5}    ${6}\n";
const NOSE: &str = "import unittest\n\n\nclass Cart(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(5, 2 + 3)\n\n    \
    def test_takes(self):\n        self.assertEqual(5, 2 - 3)\n";
const PLAYWRIGHT: &str = "const { test, expect } = require('@playwright/test');\ntest('adds', () => { expect(2 + 3).toBe(5); });\n\
    test('takes', () => { expect(2 - 3).toBe(5); });\n";
const BUN: &str = "import { expect, test } from 'bun:test';\ntest('adds', () => { expect(2 + 3).toBe(5); });\ntest('takes', () => { expect(2 - 3).toBe(5); });\n";
const DENO: &str = "Deno.test('adds', () => { if (2 + 3 !== 5) throw new Error('no'); });\nDeno.test('takes', () => { if (2 - 3 !== 5) throw new Error('no'); });\n";

macro_rules! suites {
    ($($test:ident: $suite:expr),* $(,)?) => {
        $(
            #[test]
            #[ignore = "needs what `.ci/frameworks` installs"]
            fn $test() {
                $suite.check();
            }
        )*
    };
}

const PLAIN: Suite = Suite { files: &[], build: None, command: "", framework: None, passing: "adds", failing: "takes" };

suites! {
    phpunit_logs_junit: Suite {
        files: &[("tests/CartTest.php", PHP)], command: "phpunit tests", passing: "testAdds", failing: "testTakes", ..PLAIN
    },
    rspec_has_a_second_formatter: Suite { files: &[("spec/cart_spec.rb", RUBY)], command: "rspec", ..PLAIN },
    rspec_keeps_the_formatter_of_its_options: Suite {
        files: &[("spec/cart_spec.rb", RUBY), (".rspec", "--format documentation\n")], command: "rspec", ..PLAIN
    },
    googletest_writes_a_file_for_each_program: Suite {
        files: &[("cart.cc", GTEST)],
        build: Some("g++ cart.cc -o cart -lgtest -lgtest_main -lpthread"),
        command: "./cart",
        framework: Some("googletest"),
        passing: "Adds",
        failing: "Takes",
    },
    boost_has_a_second_logger: Suite {
        files: &[("cart.cc", BOOST)],
        build: Some("g++ cart.cc -o cart"),
        command: "./cart",
        framework: Some("boost-test"),
        ..PLAIN
    },
    libcheck_logs_tap: Suite {
        files: &[("cart.c", CHECK)],
        build: Some("gcc cart.c -o cart $(pkg-config --cflags --libs check)"),
        command: "./cart",
        framework: Some("libcheck"),
        ..PLAIN
    },
    ctest_writes_junit: Suite {
        files: &[("CMakeLists.txt", CTEST)], build: Some("cmake -B build ."), command: "ctest --test-dir build", ..PLAIN
    },
    bats_has_a_report_beside_its_output: Suite { files: &[("cart.bats", BATS)], command: "bats cart.bats", ..PLAIN },
    behave_writes_a_file_for_each_feature: Suite {
        files: &[("features/cart.feature", FEATURE), ("features/steps/cart.py", BEHAVE)], command: "behave", ..PLAIN
    },
    robot_writes_xunit: Suite { files: &[("cart.robot", ROBOT)], command: "robot cart.robot", passing: "Adds", failing: "Takes", ..PLAIN },
    nose2_writes_junit: Suite { files: &[("test_cart.py", NOSE)], command: "nose2 -v", ..PLAIN },
    cucumber_has_a_second_formatter: Suite {
        files: &[("features/cart.feature", FEATURE), ("features/steps.cjs", CUCUMBER)],
        command: "cucumber-js --require features/steps.cjs",
        ..PLAIN
    },
    playwright_has_a_second_reporter: Suite {
        files: &[("cart.spec.js", PLAYWRIGHT)], command: "npx playwright test", ..PLAIN
    },
    bun_writes_junit: Suite { files: &[("cart.test.ts", BUN)], command: "bun test", ..PLAIN },
    deno_writes_junit: Suite { files: &[("cart_test.ts", DENO)], command: "deno test", ..PLAIN },
}
