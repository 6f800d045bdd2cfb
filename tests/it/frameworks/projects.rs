//! The small broken projects, one per framework.

use super::{Framework, Needs};

const JS_SOURCE: &str =
    "function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}\n\nmodule.exports = { total };\n";
const ES_SOURCE: &str = "export function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}\n";
const JS_WRONG: &str = "  return prices.reduce((a, b) => a + b, 0) - 1;";
const JS_RIGHT: &str = "  return prices.reduce((a, b) => a + b, 0);";
const JS_UNREADABLE: &str = "  return prices.reduce((a, b => a + b, 0);";

pub(crate) const JEST: Framework = Framework {
    name: "jest",
    needs: Needs::JavaScript,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\" }\n"),
        ("src/price.js", JS_SOURCE),
        (
            "test/price.test.js",
            "const { total } = require('../src/price');\n\ndescribe('price', () => {\n  test('adds what is bought', () => {\n    \
             expect(total([2, 3])).toBe(5);\n  });\n\n  test('is a number', () => {\n    expect(typeof total([1])).toBe('number');\n  });\n});\n",
        ),
    ],
    command: "node_modules/.bin/jest",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["price › adds what is bought"],
    says: &["Expected: 5", "Received: 4", "test/price.test.js:5"],
    nothing: "node_modules/.bin/jest no-such-test",
};

pub(crate) const VITEST: Framework = Framework {
    name: "vitest",
    needs: Needs::JavaScript,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"type\": \"module\" }\n"),
        ("src/price.js", ES_SOURCE),
        (
            "test/price.test.js",
            "import { describe, expect, test } from 'vitest';\nimport { total } from '../src/price.js';\n\ndescribe('price', () => {\n  \
             test('adds what is bought', () => {\n    expect(total([2, 3])).toBe(5);\n  });\n\n  test('is a number', () => {\n    \
             expect(typeof total([1])).toBe('number');\n  });\n});\n",
        ),
    ],
    command: "node_modules/.bin/vitest run",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "src/price.js",
    failing: &["test/price.test.js > price > adds what is bought"],
    says: &["expected 4 to be 5", "test/price.test.js:6"],
    nothing: "node_modules/.bin/vitest run no-such-test",
};

pub(crate) const MOCHA: Framework = Framework {
    name: "mocha",
    needs: Needs::JavaScript,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\" }\n"),
        ("src/price.js", JS_SOURCE),
        (
            "test/price.js",
            "const assert = require('node:assert');\nconst { total } = require('../src/price');\n\ndescribe('price', () => {\n  \
             it('adds what is bought', () => {\n    assert.strictEqual(total([2, 3]), 5);\n  });\n\n  it('is a number', () => {\n    \
             assert.strictEqual(typeof total([1]), 'number');\n  });\n});\n",
        ),
    ],
    command: "node_modules/.bin/mocha",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["price > adds what is bought"],
    says: &["4 !== 5", "test/price.js:6"],
    nothing: "node_modules/.bin/mocha no-such-test.js",
};

pub(crate) const AVA: Framework = Framework {
    name: "ava",
    needs: Needs::JavaScript,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"type\": \"module\" }\n"),
        ("src/price.js", ES_SOURCE),
        (
            "test/price.js",
            "import test from 'ava';\nimport { total } from '../src/price.js';\n\ntest('adds what is bought', t => {\n  t.is(total([2, 3]), 5);\n});\n\n\
             test('is a number', t => {\n  t.is(typeof total([1]), 'number');\n});\n",
        ),
    ],
    command: "node_modules/.bin/ava",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["adds what is bought"],
    says: &["test/price.js:5"],
    nothing: "node_modules/.bin/ava no-such-test.js",
};

pub(crate) const JASMINE: Framework = Framework {
    name: "jasmine",
    needs: Needs::JavaScript,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\" }\n"),
        ("src/price.js", JS_SOURCE),
        (
            "spec/price.spec.js",
            "const { total } = require('../src/price');\n\ndescribe('price', () => {\n  it('adds what is bought', () => {\n    \
             expect(total([2, 3])).toBe(5);\n  });\n\n  it('is a number', () => {\n    expect(typeof total([1])).toBe('number');\n  });\n});\n",
        ),
    ],
    command: "node_modules/.bin/jasmine 'spec/*.spec.js'",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["price adds what is bought"],
    says: &["Expected 4 to be 5.", "spec/price.spec.js:5"],
    nothing: "node_modules/.bin/jasmine 'spec/*.nothing.js'",
};

pub(crate) const BATS: Framework = Framework {
    name: "bats",
    needs: Needs::JavaScript,
    files: &[
        ("src/price.sh", "total() {\n  echo $(($1 + $2 - 1))\n}\n"),
        (
            "test/price.bats",
            "setup() {\n  source src/price.sh\n}\n\n@test \"adds what is bought\" {\n  [ \"$(total 2 3)\" -eq 5 ]\n}\n\n@test \"says something\" {\n  \
             [ -n \"$(total 1 1)\" ]\n}\n",
        ),
    ],
    command: "node_modules/bats/bin/bats test",
    source: "src/price.sh",
    wrong: "  echo $(($1 + $2 - 1))",
    right: "  echo $(($1 + $2))",
    unreadable: "  echo $(($1 + $2",
    unreadable_says: "src/price.sh",
    failing: &["adds what is bought"],
    says: &["test/price.bats", "line 6"],
    nothing: "node_modules/bats/bin/bats test --filter no-such-test",
};

pub(crate) const NODE: Framework = Framework {
    name: "node-test",
    needs: Needs::Machine,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"type\": \"module\" }\n"),
        ("src/price.js", ES_SOURCE),
        (
            "test/price.test.js",
            "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../src/price.js';\n\n\
             test('adds what is bought', () => {\n  assert.strictEqual(total([2, 3]), 5);\n});\n\ntest('is a number', () => {\n  \
             assert.strictEqual(typeof total([1]), 'number');\n});\n",
        ),
    ],
    command: "node --test",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["adds what is bought"],
    says: &["4 !== 5", "test/price.test.js:6"],
    nothing: "node --test no-such-test.js",
};

/// What nothing but the justfile tells how to test.
pub(crate) const JUST: Framework = Framework {
    needs: Needs::Programs,
    files: &[
        (
            "justfile",
            "default:\n    @just --list\n\ntest:\n    node --test checks/price.mjs\n\nnone:\n    node --test no-such-test.mjs\n",
        ),
        ("shop/price.mjs", ES_SOURCE),
        (
            "checks/price.mjs",
            "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../shop/price.mjs';\n\n\
             test('adds what is bought', () => {\n  assert.strictEqual(total([2, 3]), 5);\n});\n\ntest('is a number', () => {\n  \
             assert.strictEqual(typeof total([1]), 'number');\n});\n",
        ),
    ],
    command: "just test",
    source: "shop/price.mjs",
    says: &["4 !== 5", "checks/price.mjs:6"],
    nothing: "just none",
    ..NODE
};

const PY_SOURCE: &str = "def total(prices):\n    return sum(prices) - 1\n";
const PY_WRONG: &str = "    return sum(prices) - 1";
const PY_RIGHT: &str = "    return sum(prices)";
const PY_UNREADABLE: &str = "    return sum(prices";
const UNITTESTS: &str = "import unittest\n\nfrom shop.price import total\n\n\nclass PriceTest(unittest.TestCase):\n    def test_adds(self):\n        \
    self.assertEqual(total([2, 3]), 5)\n\n    def test_number(self):\n        self.assertIsInstance(total([1]), int)\n";

pub(crate) const PYTEST: Framework = Framework {
    name: "pytest",
    needs: Needs::Python,
    files: &[
        ("pytest.ini", "[pytest]\npythonpath = .\ntestpaths = tests\n"),
        ("shop/__init__.py", ""),
        ("shop/price.py", PY_SOURCE),
        (
            "tests/test_price.py",
            "from shop.price import total\n\n\ndef test_adds():\n    assert total([2, 3]) == 5\n\n\ndef test_number():\n    \
             assert isinstance(total([1]), int)\n",
        ),
    ],
    command: ".venv/bin/python -m pytest",
    source: "shop/price.py",
    wrong: PY_WRONG,
    right: PY_RIGHT,
    unreadable: PY_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["tests/test_price.py::test_adds"],
    says: &["assert 4 == 5", "tests/test_price.py:5"],
    nothing: ".venv/bin/python -m pytest -k no_such_test",
};

pub(crate) const UNITTEST: Framework = Framework {
    name: "unittest",
    needs: Needs::Machine,
    files: &[
        ("shop/__init__.py", ""),
        ("shop/price.py", PY_SOURCE),
        ("tests/__init__.py", ""),
        ("tests/test_price.py", UNITTESTS),
    ],
    command: "python3 -m unittest -v",
    source: "shop/price.py",
    wrong: PY_WRONG,
    right: PY_RIGHT,
    unreadable: PY_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["test_adds (tests.test_price.PriceTest.test_adds)"],
    says: &["4 != 5", "tests/test_price.py", "line 8"],
    nothing: "python3 -m unittest discover -s shop",
};

pub(crate) const NOSE2: Framework = Framework {
    name: "unittest",
    needs: Needs::Python,
    files: &[
        ("shop/__init__.py", ""),
        ("shop/price.py", PY_SOURCE),
        ("tests/__init__.py", ""),
        ("tests/test_price.py", UNITTESTS),
    ],
    command: ".venv/bin/python -m nose2 -v",
    source: "shop/price.py",
    wrong: PY_WRONG,
    right: PY_RIGHT,
    unreadable: PY_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["test_adds (tests.test_price.PriceTest.test_adds)"],
    says: &["4 != 5", "tests/test_price.py", "line 8"],
    nothing: ".venv/bin/python -m nose2 -v -s shop",
};

pub(crate) const BEHAVE: Framework = Framework {
    name: "behave",
    needs: Needs::Python,
    files: &[
        ("shop/__init__.py", ""),
        ("shop/price.py", PY_SOURCE),
        (
            "features/price.feature",
            "Feature: price\n\n  Scenario: adds what is bought\n    Given prices 2 and 3\n    Then the total is 5\n\n  Scenario: nothing is bought\n    \
             Given prices 0 and 1\n    Then there is a total\n",
        ),
        (
            "features/steps/price.py",
            "from behave import given, then\n\nfrom shop.price import total\n\n\n@given('prices {one:d} and {two:d}')\ndef prices(context, one, two):\n    \
             context.total = total([one, two])\n\n\n@then('the total is {wanted:d}')\ndef the_total(context, wanted):\n    \
             assert context.total == wanted, f'{context.total} is not {wanted}'\n\n\n@then('there is a total')\ndef a_total(context):\n    \
             assert context.total is not None\n",
        ),
    ],
    command: ".venv/bin/python -m behave",
    source: "shop/price.py",
    wrong: PY_WRONG,
    right: PY_RIGHT,
    unreadable: PY_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["adds what is bought"],
    says: &["4 is not 5", "features/price.feature:"],
    nothing: ".venv/bin/python -m behave --name no-such-scenario",
};

pub(crate) const CUCUMBER: Framework = Framework {
    name: "cucumber",
    needs: Needs::JavaScript,
    files: &[
        ("package.json", "{ \"name\": \"shop\", \"version\": \"1.0.0\" }\n"),
        ("src/price.js", JS_SOURCE),
        (
            "features/price.feature",
            "Feature: price\n\n  Scenario: adds what is bought\n    Given prices 2 and 3\n    Then the total is 5\n\n  Scenario: nothing is bought\n    \
             Given prices 0 and 1\n    Then there is a total\n",
        ),
        (
            "features/steps.cjs",
            "const assert = require('node:assert');\nconst { Given, Then } = require('@cucumber/cucumber');\nconst { total } = \
             require('../src/price.js');\n\nGiven('prices {int} and {int}', function (one, two) {\n  this.total = total([one, two]);\n});\nThen('the \
             total is {int}', function (wanted) {\n  assert.strictEqual(this.total, wanted);\n});\nThen('there is a total', function () {\n  \
             assert.notStrictEqual(this.total, undefined);\n});\n",
        ),
    ],
    command: "node_modules/.bin/cucumber-js --require features/steps.cjs",
    source: "src/price.js",
    wrong: JS_WRONG,
    right: JS_RIGHT,
    unreadable: JS_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["adds what is bought"],
    says: &["4 !== 5", "features/price.feature:"],
    nothing: "node_modules/.bin/cucumber-js --require features/steps.cjs --name no-such-scenario",
};

pub(crate) const ROBOT: Framework = Framework {
    name: "robot",
    needs: Needs::Python,
    files: &[
        ("shop/__init__.py", ""),
        ("shop/price.py", PY_SOURCE),
        (
            "tests/price.robot",
            "*** Settings ***\nLibrary    shop.price\n\n*** Test Cases ***\nAdds What Is Bought\n    ${prices}=    Evaluate    [2, 3]\n    \
             ${sum}=    Total    ${prices}\n    Should Be Equal As Integers    ${sum}    5\n\nIs A Number\n    ${prices}=    Evaluate    [1]\n    \
             ${sum}=    Total    ${prices}\n    Should Not Be Equal    ${sum}    ${None}\n",
        ),
    ],
    command: ".venv/bin/python -m robot --pythonpath . --outputdir target tests",
    source: "shop/price.py",
    wrong: PY_WRONG,
    right: PY_RIGHT,
    unreadable: PY_UNREADABLE,
    unreadable_says: "SyntaxError",
    failing: &["Adds What Is Bought"],
    says: &["4 != 5"],
    nothing: ".venv/bin/python -m robot --pythonpath . --outputdir target --test Nothing tests",
};

pub(crate) const CARGO: Framework = Framework {
    name: "cargo-test",
    needs: Needs::Machine,
    files: &[
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
        ("src/lib.rs", "pub fn total(prices: &[i64]) -> i64 {\n    prices.iter().sum::<i64>() - 1\n}\n"),
        (
            "tests/price.rs",
            "#[test]\nfn adds() {\n    assert_eq!(shop::total(&[2, 3]), 5, \"the total\");\n}\n\n#[test]\nfn is_positive() {\n    \
             assert!(shop::total(&[7]) > 0);\n}\n",
        ),
    ],
    command: "cargo test --offline",
    source: "src/lib.rs",
    wrong: "    prices.iter().sum::<i64>() - 1",
    right: "    prices.iter().sum::<i64>()",
    unreadable: "    prices.iter().sum::<String>()",
    unreadable_says: "error[E0",
    failing: &["adds"],
    says: &["the total", "tests/price.rs:3"],
    nothing: "cargo test --offline no_such_test",
};

pub(crate) const PROVE: Framework = Framework {
    name: "prove",
    needs: Needs::Machine,
    files: &[
        ("lib/Price.pm", "package Price;\n\nsub total {\n    return $_[0] + $_[1] - 1;\n}\n\n1;\n"),
        ("t/price.t", "use Test::More tests => 1;\nuse Price;\n\nis(Price::total(2, 3), 5, 'adds what is bought');\n"),
        (
            "t/number.t",
            "use Test::More tests => 1;\nuse Price;\n\nlike(Price::total(2, 3), qr/^\\d+$/, 'is a number');\n",
        ),
    ],
    command: "prove -l t",
    source: "lib/Price.pm",
    wrong: "    return $_[0] + $_[1] - 1;",
    right: "    return $_[0] + $_[1];",
    unreadable: "    return $_[0] + ;",
    unreadable_says: "syntax error",
    failing: &["t/price.t"],
    says: &["adds what is bought", "got: '4'", "t/price.t"],
    nothing: "prove -l t/no_such_test.t",
};

const GO_MODULE: (&str, &str) = ("go.mod", "module shop\n\ngo 1.21\n");
const GO_SOURCE: (&str, &str) = (
    "price.go",
    "package shop\n\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, price := range prices {\n\t\tsum += price\n\t}\n\treturn sum - 1\n}\n",
);
const GO_TESTS: (&str, &str) = (
    "price_test.go",
    "package shop\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {\n\tif got := Total([]int{2, 3}); got != 5 {\n\t\t\
     t.Fatalf(\"got %d, want 5\", got)\n\t}\n}\n\nfunc TestSmall(t *testing.T) {\n\tif Total(nil) > 9 {\n\t\tt.Fatal(\"too much\")\n\t}\n}\n",
);

pub(crate) const GO: Framework = Framework {
    name: "go-test",
    needs: Needs::Programs,
    files: &[GO_MODULE, GO_SOURCE, GO_TESTS],
    command: "go test ./...",
    source: "price.go",
    wrong: "\treturn sum - 1",
    right: "\treturn sum",
    unreadable: "\treturn sum -",
    unreadable_says: "syntax error",
    failing: &["TestAdds"],
    says: &["got 4, want 5", "price_test.go:7"],
    nothing: "go test -run no_such_test ./...",
};

/// Go as most of its repositories call it: what passes is named by nothing but Go's own flag.
pub(crate) const GO_BY_MAKE: Framework = Framework {
    files: &[
        GO_MODULE,
        GO_SOURCE,
        GO_TESTS,
        ("Makefile", "test:\n\tgo vet ./...\n\tgo test -cover ./...\n\nnothing:\n\tgo test -run no_such_test ./...\n"),
    ],
    command: "make test",
    // `go vet` comes first, and says it in words of its own.
    unreadable_says: "price.go:9",
    nothing: "make nothing",
    ..GO
};

/// A C library and its test program, built by CMake and run by CTest.
pub(crate) const CTEST: Framework = Framework {
    name: "ctest",
    needs: Needs::Programs,
    files: &[
        (
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)\nproject(shop C)\nenable_testing()\nadd_executable(price_test tests/price_test.c price.c)\n\
             add_test(NAME adds COMMAND price_test adds)\nadd_test(NAME small COMMAND price_test small)\n",
        ),
        ("price.h", "int total(int one, int two);\n"),
        ("price.c", "#include \"price.h\"\n\nint total(int one, int two) {\n    return one + two - 1;\n}\n"),
        (
            "tests/price_test.c",
            "#include <stdio.h>\n#include <string.h>\n#include \"../price.h\"\n\nint main(int count, char **words) {\n    \
             if (count > 1 && strcmp(words[1], \"adds\") == 0 && total(2, 3) != 5) {\n        printf(\"got %d, want 5\\n\", total(2, 3));\n        \
             return 1;\n    }\n    return 0;\n}\n",
        ),
    ],
    command: "cmake -S . -B target && cmake --build target && ctest --test-dir target --output-on-failure",
    source: "price.c",
    wrong: "    return one + two - 1;",
    right: "    return one + two;",
    unreadable: "    return one + ;",
    unreadable_says: "price.c:4",
    failing: &["adds"],
    says: &["got 4, want 5"],
    nothing: "cmake -S . -B target && cmake --build target && ctest --test-dir target -R no_such_test",
};

pub(crate) const NEXTEST: Framework = Framework {
    name: "cargo-nextest",
    command: "cargo nextest run --offline",
    failing: &["shop::price adds"],
    nothing: "cargo nextest run --offline no_such_test",
    ..CARGO
};
