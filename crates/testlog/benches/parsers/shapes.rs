//! The logs: what a large suite of each framework leaves in CI.

/// One piece of a log: its number and whether it fails.
pub(crate) type Piece = fn(usize, bool, &mut String);

/// A shape of log: its name, what the reader must call it, its beginning, its pieces and its end.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) framework: &'static str,
    pub(crate) head: &'static str,
    pub(crate) piece: Piece,
    pub(crate) tail: &'static str,
}

pub(crate) const SHAPES: &[Shape] = &[
    Shape { name: "cargo", framework: "cargo-test", head: CARGO, piece: cargo, tail: CARGO_END },
    Shape { name: "cargo-quiet", framework: "cargo-test", head: CARGO, piece: cargo_quiet, tail: CARGO_END },
    Shape { name: "pytest", framework: "pytest", head: PYTEST, piece: pytest, tail: PYTEST_END },
    Shape { name: "pytest-quiet", framework: "pytest", head: PYTEST, piece: pytest_quiet, tail: PYTEST_END },
    Shape { name: "jest", framework: "jest", head: "", piece: jest, tail: JEST_END },
    Shape { name: "go", framework: "go-test", head: "", piece: go, tail: "FAIL\nFAIL\texample.com/shop\t9.1s\nFAIL\n" },
    Shape { name: "junit", framework: "junit", head: JUNIT, piece: junit, tail: "</testsuite></testsuites>\n" },
    Shape { name: "generic", framework: "generic", head: "", piece: generic, tail: "3 of 9 checks failed\n" },
    Shape { name: "job-log", framework: "cargo-test", head: JOB, piece: job, tail: JOB_END },
    Shape { name: "coloured", framework: "cargo-test", head: CARGO, piece: coloured, tail: CARGO_END },
    Shape { name: "nextest", framework: "cargo-nextest", head: NEXTEST, piece: nextest, tail: NEXTEST_END },
    Shape { name: "unittest", framework: "unittest", head: "", piece: unittest, tail: UNITTEST_END },
    Shape { name: "vitest", framework: "vitest", head: VITEST, piece: vitest, tail: VITEST_END },
    Shape { name: "mocha", framework: "mocha", head: "\n\n  Cart\n", piece: mocha, tail: MOCHA_END },
    Shape { name: "node", framework: "node-test", head: "", piece: node, tail: NODE_END },
    Shape { name: "tap", framework: "tap", head: "TAP version 13\n", piece: tap, tail: "1..900000\n" },
    Shape { name: "go-json", framework: "go-test", head: "", piece: go_json, tail: GO_JSON_END },
    Shape { name: "rspec", framework: "rspec", head: "\nCart\n", piece: rspec, tail: RSPEC_END },
    Shape { name: "minitest", framework: "minitest", head: MINITEST, piece: minitest, tail: MINITEST_END },
    Shape { name: "phpunit", framework: "phpunit", head: PHPUNIT, piece: phpunit, tail: PHPUNIT_END },
    Shape {
        name: "ctest",
        framework: "ctest",
        head: "Test project /home/ci/shop/build\n",
        piece: ctest,
        tail: CTEST_END,
    },
    Shape { name: "googletest", framework: "googletest", head: GTEST, piece: googletest, tail: GTEST_END },
    Shape { name: "dotnet", framework: "dotnet", head: DOTNET, piece: dotnet, tail: DOTNET_END },
    Shape { name: "maven", framework: "maven-surefire", head: MAVEN, piece: maven, tail: MAVEN_END },
    Shape { name: "gradle", framework: "gradle", head: "> Task :test\n\n", piece: gradle, tail: GRADLE_END },
    Shape {
        name: "exunit",
        framework: "exunit",
        head: "\nShopTest [test/shop_test.exs]\n",
        piece: exunit,
        tail: EXUNIT_END,
    },
    Shape {
        name: "bun",
        framework: "bun-test",
        head: "bun test v1.4.5 (a7733435c)\n\ncart.test.js:\n",
        piece: bun,
        tail: BUN_END,
    },
    Shape {
        name: "deno",
        framework: "deno-test",
        head: "running 900000 tests from ./cart_test.ts\n",
        piece: deno,
        tail: DENO_END,
    },
    Shape { name: "ava", framework: "ava", head: "\n", piece: ava, tail: AVA_END },
    Shape { name: "jest-json", framework: "jest", head: JEST_JSON, piece: jest_json, tail: JEST_JSON_END },
];

const CARGO: &str = "   Compiling shop v0.1.0 (/home/ci/shop)\n    Finished `test` profile [unoptimized] target(s) in 3.1s\n     \
    Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)\n\nrunning 900000 tests\n";
const CARGO_END: &str = "\nfailures:\n\n---- cart::tests::case_0 stdout ----\n\nthread 'cart::tests::case_0' panicked at \
    src/cart.rs:88:9:\nassertion `left == right` failed\n  left: 3\n right: 4\n\nfailures:\n    cart::tests::case_0\n\ntest result: \
    FAILED. 899999 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 9.00s\n\nerror: test failed, to rerun pass \
    `--lib`\n";
const PYTEST: &str = "============================= test session starts ==============================\nplatform linux -- Python \
    3.13.1, pytest-9.2.0, pluggy-1.6.0\nrootdir: /home/ci/shop\ncollected 900000 items\n\n";
const PYTEST_END: &str = "=================================== FAILURES ===================================\n\
    __________________________________ test_case_0 _________________________________\n\n    def test_case_0():\n>       assert 3 == 4\nE       \
    assert 3 == 4\n\ntests/test_cart.py:8: AssertionError\n=========================== short test summary info \
    ============================\nFAILED tests/test_cart.py::test_case_0 - assert 3 == 4\n================== 1 failed, 899999 passed in 99.10s \
    ===================\n";
const JEST_END: &str = "Test Suites: 1 failed, 999 passed, 1000 total\nTests:       1 failed, 8999 passed, 9000 total\nSnapshots:   0 \
    total\nTime:        9.12 s\nRan all test suites.\n";
const JUNIT: &str =
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites><testsuite name=\"shop\" tests=\"900000\">\n";
const JOB: &str = "2026-01-02T03:04:05.6789012Z ##[group]Run cargo test\n2026-01-02T03:04:05.6789012Z ##[endgroup]\n\
    2026-01-02T03:04:05.6789012Z      Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)\n\
    2026-01-02T03:04:05.6789012Z \n2026-01-02T03:04:05.6789012Z running 900000 tests\n";
const JOB_END: &str = "2026-01-02T03:04:05.6789012Z \n2026-01-02T03:04:05.6789012Z test result: ok. 900000 passed; 0 failed; 0 ignored; 0 \
    measured; 0 filtered out; finished in 9.00s\n2026-01-02T03:04:05.6789012Z ##[error]Process completed with exit code 1.\n";

fn noise(at: usize, prefix: &str, log: &mut String) {
    let stamp = at % 60;
    log.push_str(&format!(
        "{prefix}2026-01-02 03:04:{stamp:02} [info] request {at} handled in {} ms by worker 4\n",
        at % 17
    ));
    log.push_str(&format!(
        "{prefix}  loading module {at} of 90000 from the cache, nothing to be done for it this time\n"
    ));
}

fn cargo(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    cargo_quiet(at, fails, log);
}

fn cargo_quiet(at: usize, fails: bool, log: &mut String) {
    let (module, word) = (["cart", "price", "parse", "stock"][at % 4], if fails { "FAILED" } else { "ok" });
    log.push_str(&format!("test {module}::tests::case_{at} ... {word}\n"));
}

fn pytest(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    pytest_quiet(at, fails, log);
}

fn pytest_quiet(at: usize, fails: bool, log: &mut String) {
    let word = if fails { "FAILED" } else { "PASSED" };
    log.push_str(&format!("tests/test_cart.py::TestCart::test_case_{at} {word}          [ {:2}%]\n", at % 100));
}

fn jest(at: usize, fails: bool, log: &mut String) {
    if fails {
        log.push_str(&format!(
            "FAIL src/cart{at}.test.js\n  ● Cart › adds {at}\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    \
             Received: 3\n\n      12 |   it('adds', () => {{\n    > 13 |     expect(add(1, 2)).toBe(4);\n         |                       ^\n\n      at \
             Object.toBe (src/cart{at}.test.js:13:23)\n\n"
        ));
        return;
    }
    // With `--verbose` what a file prints comes before its results.
    log.push_str(&format!("  console.log\n    loading the module number {at}\n"));
    noise(at, "    ", log);
    log.push_str(&format!("\n      at log (src/module/cart{at}.js:7:11)\n\n"));
    log.push_str(&format!("PASS src/module/cart{at}.test.js\n  Cart\n    ✓ adds what is bought {at} (3 ms)\n\n"));
}

fn go(at: usize, fails: bool, log: &mut String) {
    let word = if fails { "FAIL" } else { "PASS" };
    log.push_str(&format!("=== RUN   TestCart{at}\n"));
    noise(at, "    ", log);
    if fails {
        log.push_str("    cart_test.go:19: got 300, want 301\n");
    }
    log.push_str(&format!("--- {word}: TestCart{at} (0.00s)\n"));
}

fn junit(at: usize, fails: bool, log: &mut String) {
    log.push_str(&format!(
        "<testcase classname=\"shop.cart.Test\" name=\"case_{at}\" file=\"shop/cart.py\" time=\"0.012\""
    ));
    if fails {
        log.push_str("><failure message=\"assert 3 == 4\">tests/cart.py:8: AssertionError</failure></testcase>\n");
        return;
    }
    log.push_str("><system-out>\n");
    noise(at, "", log);
    log.push_str("</system-out></testcase>\n");
}

fn generic(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    if fails {
        log.push_str(&format!("FAIL: colours/blue_{at}\n  wanted 3, got 4 at lib/colours.zz:14\n\n"));
    } else {
        log.push_str(&format!("check {at} of the colours is fine\n"));
    }
}

fn job(at: usize, fails: bool, log: &mut String) {
    const STAMP: &str = "2026-01-02T03:04:05.6789012Z ";
    noise(at, STAMP, log);
    log.push_str(STAMP);
    cargo_quiet(at, fails, log);
}

const NEXTEST: &str = "────────────\n Nextest run ID 31ca1f7a-c415-4aac-958f-6aa1658f0cb6 with nextest profile: default\n    \
    Starting 900000 tests across 3 binaries\n";
const NEXTEST_END: &str = "────────────\n     Summary [   9.000s] 900000 tests run: 899999 passed, 1 failed, 0 skipped\n        \
    FAIL [   0.004s] (1/900000) shop cart::tests::case_0\nerror: test run failed\n";
const UNITTEST_END: &str = "\n======================================================================\nFAIL: test_case_0 \
    (tests.test_cart.TestCart.test_case_0)\n----------------------------------------------------------------------\nTraceback (most \
    recent call last):\n  File \"/home/ci/shop/tests/test_cart.py\", line 8, in test_case_0\n    self.assertEqual(3, 4)\nAssertionError: 3 \
    != 4\n\n----------------------------------------------------------------------\nRan 900000 tests in 9.001s\n\nFAILED (failures=1)\n";
const VITEST: &str = "\n RUN  v4.1.12 /home/ci/shop\n\n";
const VITEST_END: &str = "\n Test Files  1 failed | 999 passed (1000)\n      Tests  1 failed | 8999 passed (9000)\n   Start at  \
    21:33:28\n   Duration  9.68s\n";
const MOCHA_END: &str = "\n\n  899999 passing (9s)\n  1 failing\n\n  1) Cart\n       adds 0:\n     AssertionError: expected 3 to \
    equal 4\n      at Context.<anonymous> (test/cart.js:8:12)\n\n";
const NODE_END: &str = "ℹ tests 900000\nℹ suites 0\nℹ pass 899999\nℹ fail 1\nℹ cancelled 0\nℹ skipped 0\nℹ todo 0\nℹ \
    duration_ms 9000.1\n\n✖ failing tests:\n\ntest at test/cart.test.js:8:1\n✖ adds 0 (1.2ms)\n  AssertionError: 3 == 4\n";
const GO_JSON_END: &str =
    "{\"Time\":\"2026-01-02T03:04:05.678901Z\",\"Action\":\"fail\",\"Package\":\"example.com/shop\",\"Elapsed\":9.1}\n";
const RSPEC_END: &str = "\nFailures:\n\n  1) Cart adds 0\n     Failure/Error: expect(3).to eq(4)\n\n       expected: 4\n            got: \
    3\n     # ./spec/cart_spec.rb:8:in `block (2 levels) in <top (required)>'\n\nFinished in 9.01 seconds (files took 0.1 seconds to \
    load)\n900000 examples, 1 failure\n\nFailed examples:\n\nrspec ./spec/cart_spec.rb:7 # Cart adds 0\n";
const MINITEST: &str = "Run options: --seed 3 --verbose\n\n# Running:\n\n";
const MINITEST_END: &str = "\nFinished in 9.001s, 99 runs/s, 99 assertions/s.\n\n  1) Failure:\nCartTest#test_case_0 \
    [test/cart_test.rb:8]:\nExpected: 4\n  Actual: 3\n\n900000 runs, 900000 assertions, 1 failures, 0 errors, 0 skips\n";
const PHPUNIT: &str = "PHPUnit 11.5.1 by Sebastian Bergmann and contributors.\n\n";
const PHPUNIT_END: &str = "\nTime: 00:09.006, Memory: 6.00 MB\n\nThere was 1 failure:\n\n1) CartTest::testCase0\nFailed asserting that 3 \
    matches expected 4.\n\n/home/ci/shop/tests/CartTest.php:8\n\nFAILURES!\nTests: 900000, Assertions: 900000, Failures: 1.\n";
const CTEST_END: &str = "\n99% tests passed, 1 tests failed out of 900000\n\nTotal Test time (real) =   9.01 sec\n\nThe following tests \
    FAILED:\n\t  0 - case_0 (Failed)\nErrors while running CTest\n";
const GTEST: &str = "[==========] Running 900000 tests from 1 test suite.\n[----------] Global test environment set-up.\n[----------] \
    900000 tests from Cart\n";
const GTEST_END: &str = "[----------] 900000 tests from Cart (9000 ms total)\n\n[----------] Global test environment tear-down\n[==========] \
    900000 tests from 1 test suite ran. (9000 ms total)\n[  PASSED  ] 899999 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] \
    Cart.Case0\n\n 1 FAILED TEST\n";
const DOTNET: &str = "Test run for /home/ci/shop/bin/Debug/net8.0/Shop.Tests.dll (.NETCoreApp,Version=v8.0)\nVSTest version 17.11.1 \
    (x64)\n\nStarting test execution, please wait...\nA total of 1 test files matched the specified pattern.\n";
const DOTNET_END: &str =
    "\nTest Run Failed.\nTotal tests: 900000\n     Passed: 899999\n     Failed: 1\n Total time: 9.1 Seconds\n";
const MAVEN: &str = "[INFO] Scanning for projects...\n[INFO] -------------------------------------------------------\n[INFO]  T E S T \
    S\n[INFO] -------------------------------------------------------\n";
const MAVEN_END: &str = "[INFO] Results:\n[INFO] \n[ERROR] Failures: \n[ERROR]   CartTest0.adds:8 expected: <4> but was: <3>\n[INFO] \
    \n[ERROR] Tests run: 900000, Failures: 1, Errors: 0, Skipped: 0\n[INFO] \n[INFO] BUILD FAILURE\n";
const GRADLE_END: &str =
    "\n900000 tests completed, 1 failed\n\n> Task :test FAILED\n\nFAILURE: Build failed with an exception.\n";
const EXUNIT_END: &str =
    "\nFinished in 9.0 seconds (0.00s async, 9.0s sync)\n900000 tests, 1 failure\n\nRandomized with seed 0\n";
const BUN_END: &str = "\n 899999 pass\n 1 fail\n 900000 expect() calls\nRan 900000 tests across 1 file. [9.00s]\n";
const DENO_END: &str = "\n ERRORS \n\nadds 0 => ./cart_test.ts:8:6\nerror: AssertionError: 3 is not 4\n\n FAILURES \n\nadds 0 => \
    ./cart_test.ts:8:6\n\nFAILED | 899999 passed | 1 failed (9s)\n\nerror: Test failed\n";
const AVA_END: &str = "  ─\n\n  adds 0\n\n  test.js:8\n\n   7: test('adds 0', t => {\n   8:   t.is(3, 4)\n   9: })\n\n  Difference:\n\n  - \
    3\n  + 4\n\n  ─\n\n  1 test failed\n  899999 tests passed\n";
const JEST_JSON: &str = "{\"numFailedTestSuites\":1,\"numFailedTests\":1,\"numPassedTests\":899999,\"numPendingTests\":0,\
    \"numRuntimeErrorTestSuites\":0,\"numTotalTests\":900000,\"success\":false,\"testResults\":[";
const JEST_JSON_END: &str =
    "{\"name\":\"/home/ci/shop/last.test.js\",\"status\":\"passed\",\"assertionResults\":[]}]}\n";

fn coloured(at: usize, fails: bool, log: &mut String) {
    noise(at, "\u{1b}[2m", log);
    let (colour, word) = if fails { (31, "FAILED") } else { (32, "ok") };
    log.push_str(&format!("test cart::tests::case_{at} ... \u{1b}[{colour}m{word}\u{1b}[0m\r\n"));
}

fn nextest(at: usize, fails: bool, log: &mut String) {
    noise(at, "    ", log);
    let word = if fails { "FAIL" } else { "PASS" };
    log.push_str(&format!("        {word} [   0.003s] ({at}/900000) shop cart::tests::case_{at}\n"));
    if fails {
        log.push_str("  stdout ───\n\n    running 1 test\n\n  stderr ───\n    thread 'x' panicked at src/cart.rs:8:9:\n    no\n\n");
    }
}

fn unittest(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    let word = if fails { "FAIL" } else { "ok" };
    log.push_str(&format!("test_case_{at} (tests.test_cart.TestCart.test_case_{at}) ... {word}\n"));
}

fn vitest(at: usize, fails: bool, log: &mut String) {
    log.push_str(&format!("stdout | tests/cart{at}.test.ts > adds\n"));
    noise(at, "", log);
    if fails {
        log.push_str(&format!("\n ❯ tests/cart{at}.test.ts (3 tests | 1 failed) 5ms\n     × adds 2ms\n"));
    } else {
        log.push_str(&format!("\n ✓ tests/cart{at}.test.ts (3 tests) 5ms\n"));
    }
}

fn mocha(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    if fails {
        log.push_str(&format!("    {}) adds {at}\n", at / 400 + 1));
    } else {
        log.push_str(&format!("    ✔ adds what is bought {at} (3ms)\n"));
    }
}

fn node(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    if fails {
        log.push_str(&format!(
            "✖ adds {at} (1.2ms)\n  AssertionError: 3 == 4\n      at f (file:///home/ci/t.js:8:1)\n\n"
        ));
    } else {
        log.push_str(&format!("✔ adds what is bought {at} (0.41529ms)\n"));
    }
}

fn tap(at: usize, fails: bool, log: &mut String) {
    noise(at, "# ", log);
    let number = at + 1;
    if fails {
        log.push_str(&format!(
            "not ok {number} - adds {at}\n  ---\n  message: 3 is not 4\n  at: lib/cart.js:8:1\n  ...\n"
        ));
    } else {
        log.push_str(&format!("ok {number} - adds what is bought {at}\n"));
    }
}

fn go_json(at: usize, fails: bool, log: &mut String) {
    const HEAD: &str = "{\"Time\":\"2026-01-02T03:04:05.678901Z\",\"Action\":\"";
    const PACKAGE: &str = "\",\"Package\":\"example.com/shop\",\"Test\":\"TestCart";
    let (action, word) = if fails { ("fail", "FAIL") } else { ("pass", "PASS") };
    log.push_str(&format!("{HEAD}run{PACKAGE}{at}\"}}\n"));
    let mut output = |text: &str| log.push_str(&format!("{HEAD}output{PACKAGE}{at}\",\"Output\":\"{text}\\n\"}}\n"));
    output(&format!("=== RUN   TestCart{at}"));
    output("    cart_test.go:19: loading what is needed from the cache, nothing to be done for it this time");
    output(&format!("--- {word}: TestCart{at} (0.00s)"));
    log.push_str(&format!("{HEAD}{action}{PACKAGE}{at}\",\"Elapsed\":0}}\n"));
}

fn rspec(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    let word = if fails { " (FAILED - 1)" } else { "" };
    log.push_str(&format!("  adds what is bought {at}{word}\n"));
}

fn minitest(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    log.push_str(&format!("CartTest#test_case_{at} = 0.00 s = {}\n", if fails { 'F' } else { '.' }));
}

fn phpunit(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    let mark = if fails { 'F' } else { '.' };
    log.push_str(&format!(
        "..............................{mark}..............................  {at} / 900000 ( 17%)\n"
    ));
}

fn ctest(at: usize, fails: bool, log: &mut String) {
    let word = if fails { "***Failed " } else { "   Passed " };
    // It counts from one.
    let number = at + 1;
    log.push_str(&format!("        Start {number:>6}: case_{at}\n"));
    noise(at, "", log);
    log.push_str(&format!(
        "{number:>6}/900000 Test {:>7}: case_{at} .........................{word}   0.01 sec\n",
        format!("#{number}")
    ));
}

fn googletest(at: usize, fails: bool, log: &mut String) {
    log.push_str(&format!("[ RUN      ] Cart.Case{at}\n"));
    noise(at, "", log);
    if fails {
        log.push_str("tests/cart.cpp:12: Failure\nExpected equality of these values:\n  3\n  4\n");
    }
    let word = if fails { "[  FAILED  ]" } else { "[       OK ]" };
    log.push_str(&format!("{word} Cart.Case{at} (0 ms)\n"));
}

fn dotnet(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    if fails {
        log.push_str(&format!(
            "  Failed Shop.Cart.Case{at} [2 ms]\n  Error Message:\n   Expected 4, got 3\n  Stack Trace:\n     at \
            Shop.Cart.Case() in /home/ci/shop/Cart.cs:line 8\n\n"
        ));
    } else {
        log.push_str(&format!("  Passed Shop.Cart.Case{at} [< 1 ms]\n"));
    }
}

fn maven(at: usize, fails: bool, log: &mut String) {
    log.push_str(&format!("[INFO] Running org.example.CartTest{at}\n"));
    noise(at, "", log);
    let (level, failures, tail) = if fails { ("ERROR", 1, " <<< FAILURE!") } else { ("INFO", 0, "") };
    log.push_str(&format!(
        "[{level}] Tests run: 3, Failures: {failures}, Errors: 0, Skipped: 0, Time elapsed: 0.01 s{tail} -- in \
        org.example.CartTest{at}\n"
    ));
    if fails {
        log.push_str(&format!("[ERROR] org.example.CartTest{at}.adds -- Time elapsed: 0.01 s <<< FAILURE!\norg.opentest4j.AssertionFailedError: \
            expected: <4> but was: <3>\n\tat org.example.CartTest{at}.adds(CartTest{at}.java:8)\n\n"));
    }
}

fn gradle(at: usize, fails: bool, log: &mut String) {
    noise(at, "    ", log);
    if fails {
        log.push_str(&format!("CartTest > case{at}() FAILED\n    org.opentest4j.AssertionFailedError: expected: <4> but was: <3>\n        at \
            app//CartTest.case(CartTest.java:8)\n\n"));
    } else {
        log.push_str(&format!("CartTest > case{at}() PASSED\n\n"));
    }
}

fn exunit(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    log.push_str(&format!("  * test adds what is bought {at} (0.7ms) [L#5]\n"));
    if fails {
        log.push_str(&format!("\n  {}) test adds what is bought {at} (ShopTest)\n     test/shop_test.exs:9\n     Assertion with == failed\n     code:  \
            assert 3 == 4\n     left:  3\n     right: 4\n\n", at / 400 + 1));
    }
}

fn bun(at: usize, fails: bool, log: &mut String) {
    noise(at, "", log);
    log.push_str(&format!("({}) cart > adds what is bought {at} [0.02ms]\n", if fails { "fail" } else { "pass" }));
}

fn deno(at: usize, fails: bool, log: &mut String) {
    log.push_str("------- output -------\n");
    noise(at, "", log);
    log.push_str("----- output end -----\n");
    log.push_str(&format!("adds {at} ... {} (1ms)\n", if fails { "FAILED" } else { "ok" }));
}

fn ava(at: usize, fails: bool, log: &mut String) {
    noise(at, "    ", log);
    let mark = if fails { "✘ [fail]:" } else { "✔" };
    log.push_str(&format!("  {mark} adds what is bought {at}\n"));
}

fn jest_json(at: usize, fails: bool, log: &mut String) {
    let (status, message) = if fails {
        ("failed", "\"Error: 3 is not 4\\n    at f (/home/ci/shop/cart.test.js:8:12)\"")
    } else {
        ("passed", "")
    };
    log.push_str(&format!("{{\"assertionResults\":[{{\"ancestorTitles\":[\"Cart\"],\"duration\":3,\"failureMessages\":[{message}],\"fullName\":\"Cart \
        adds {at}\",\"location\":null,\"status\":\"{status}\",\"title\":\"adds {at}\"}}],\"endTime\":1770000000000,\"message\":\"\",\
        \"name\":\"/home/ci/shop/cart{at}.test.js\",\"startTime\":1770000000000,\"status\":\"{status}\",\"summary\":\"\"}},"));
}
