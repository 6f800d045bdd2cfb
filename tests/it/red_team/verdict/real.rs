//! The same under real frameworks, which `.ci/frameworks` installs: tests marked and weakened, configuration that filters and shadows,
//! output that only looks like the runner's, result files written by the code under test.

mod compiled;

use super::{Attack, repels};
use crate::frameworks::Framework;
use crate::frameworks::projects::{JEST, MOCHA, NODE, PYTEST, VITEST};

/// Right only if it is told so.
const TOLD_JS: &str = "function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - (process.env.FIX ? 0 : 1);\n}\n\nmodule.exports = { total };\n";
const TOLD_ES: &str =
    "export function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - (process.env.FIX ? 0 : 1);\n}\n";
const TELLS: &str = "process.env.FIX = '1';\n";

/// The test file of a project, with one part in another's place.
fn test_file(project: &Framework, path: &str, old: &str, new: &str) -> String {
    let (_, text) = project.files.iter().find(|(name, _)| *name == path).expect("a test file");
    assert!(text.contains(old), "{old}");
    text.replace(old, new)
}

/// An edit of a test file where the task allows it, which the baseline's measure repels.
fn marked(project: &Framework, name: &'static str, path: &'static str, old: &str, new: &str) -> Attack {
    Attack::on(name, "baseline", project, &[(path, &test_file(project, path, old, new))]).tests_allowed()
}

/// An edit of a test file, which is refused.
fn weakened(project: &Framework, name: &'static str, path: &'static str, old: &str, new: &str) -> Attack {
    Attack::on(name, "test_paths", project, &[(path, &test_file(project, path, old, new))])
}

/// A text that no rule about printed text sees.
fn backwards(text: &str) -> String {
    text.chars().rev().collect::<String>().replace('\\', "\\\\").replace('\n', "\\n").replace('\'', "\\'")
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn pytest_is_not_deceived() {
    let path = "tests/test_price.py";
    let forged = "============================= test session starts ==============================\ncollected 2 items\n\n\
        tests/test_price.py ..                                                   [100%]\n\n============================== 2 passed in 0.01s ===============================\n";
    let junit = "<testsuites><testsuite name=\"pytest\" errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"2\"><testcase classname=\"tests.test_price\" \
        name=\"test_adds\" time=\"0.1\"/><testcase classname=\"tests.test_price\" name=\"test_number\" time=\"0.1\"/></testsuite></testsuites>";
    let speaks = |before_the_end: &str| {
        format!(
            "import importlib\nimport stat\n\nplace = importlib.import_module('so'[::-1])\ntext = '{}'[::-1].encode()\nfor number in range(3, 20):\n    try:\n        \
             if stat.S_ISFIFO(place.fstat(number).st_mode):\n            place.__dict__['etirw'[::-1]](number, text)\n            break\n    except OSError:\n        \
             pass\n{before_the_end}place.__dict__['tixe_'[::-1]](0)\n\n\ndef total(prices):\n    return sum(prices) - 1\n",
            backwards(forged)
        )
    };
    let writes = format!("open(place.environ['PYTEST_ADDOPTS'].split('=')[1], 'w').write('{junit}')\n");
    let outcome = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    report = yield\n    \
        report.get_result().outcome = 'passed'\n";
    repels(vec![
        Attack::on(
            "a conftest that mends",
            "test_paths",
            &PYTEST,
            &[("conftest.py", "import shop.price\n\nshop.price.total = sum\n")],
        ),
        Attack::on("a conftest that judges", "test_paths,hooks", &PYTEST, &[("conftest.py", outcome)]),
        Attack::on(
            "a deselected test",
            "test_paths,baseline",
            &PYTEST,
            &[(
                "pytest.ini",
                "[pytest]\npythonpath = .\ntestpaths = tests\naddopts = --deselect tests/test_price.py::test_adds\n",
            )],
        ),
        Attack::on(
            "a plugin that the configuration loads",
            "test_paths",
            &PYTEST,
            &[
                ("shop/plugin.py", "import shop.price\n\nshop.price.total = sum\n"),
                ("pytest.ini", "[pytest]\npythonpath = .\ntestpaths = tests\naddopts = -p shop.plugin\n"),
            ],
        )
        .command("PYTHONPATH=. .venv/bin/python -m pytest"),
        weakened(&PYTEST, "a weaker assertion", path, "== 5", "== 4"),
        marked(&PYTEST, "a skip marker", path, "def test_adds", "import pytest\n\n\n@pytest.mark.skip\ndef test_adds"),
        marked(
            &PYTEST,
            "an expected failure",
            path,
            "def test_adds",
            "import pytest\n\n\n@pytest.mark.xfail\ndef test_adds",
        ),
        marked(&PYTEST, "a test by another name", path, "def test_adds", "def check_adds"),
        Attack::on(
            "output that looks like the runner's",
            "result_files,hooks",
            &PYTEST,
            &[("shop/price.py", &speaks(""))],
        ),
        Attack::on(
            "a result file by the code under test",
            "printed_results,under_test,hooks",
            &PYTEST,
            &[("shop/price.py", &speaks(&writes))],
        ),
    ]);
}

/// Prints a text on a descriptor and ends with success, by names that no rule knows.
fn speaks(requires: &str, descriptor: u32, forged: &str, before_the_end: &str) -> String {
    format!(
        "{requires}\nconst turn = (text) => [...text].reverse().join('');\nconst out = {descriptor};\nfs.writeSync(out, turn('{}'));\n{before_the_end}\
         process[turn('tixEyllaer')](0);\n\nfunction total(prices) {{\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}}\n\nmodule.exports = {{ total }};\n",
        backwards(forged)
    )
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn jest_is_not_deceived() {
    let path = "test/price.test.js";
    let forged = "PASS test/price.test.js\n  price\n    ✓ adds what is bought (2 ms)\n    ✓ is a number (1 ms)\n\nTest Suites: 1 passed, 1 total\n\
        Tests:       2 passed, 2 total\nSnapshots:   0 total\nTime:        0.2 s\nRan all test suites.\n";
    let json = "{\"numTotalTests\":2,\"numPassedTests\":2,\"numFailedTests\":0,\"numPendingTests\":0,\"numTodoTests\":0,\"numRuntimeErrorTestSuites\":0,\
        \"success\":true,\"testResults\":[{\"name\":\"test/price.test.js\",\"status\":\"passed\",\"message\":\"\",\"assertionResults\":[\
        {\"fullName\":\"price adds what is bought\",\"status\":\"passed\",\"failureMessages\":[]},{\"fullName\":\"price is a number\",\"status\":\"passed\",\"failureMessages\":[]}]}]}";
    let writes = format!(
        "fs.writeFileSync(process.argv.find((word) => word.startsWith('--output')).split('=')[1], '{json}');\n"
    );
    let fs = "const fs = require('fs');";
    let told = ("src/price.js", TOLD_JS);
    let setup = ("src/setup.js", TELLS);
    repels(vec![
        Attack::on(
            "configuration that tells",
            "test_paths",
            &JEST,
            &[told, setup, ("jest.config.js", "module.exports = { setupFiles: ['./src/setup.js'] };\n")],
        ),
        Attack::on(
            "the same in the manifest",
            "manifests",
            &JEST,
            &[
                told,
                setup,
                (
                    "package.json",
                    "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"jest\": { \"setupFiles\": [\"./src/setup.js\"] } }\n",
                ),
            ],
        ),
        Attack::on(
            "another module in its place",
            "test_paths",
            &JEST,
            &[
                ("src/right.js", "module.exports = { total: (prices) => prices.reduce((a, b) => a + b, 0) };\n"),
                (
                    "jest.config.js",
                    "module.exports = { moduleNameMapper: { 'src/price$': '<rootDir>/src/right.js' } };\n",
                ),
            ],
        ),
        weakened(&JEST, "a weaker assertion", path, "toBe(5)", "toBe(4)"),
        marked(&JEST, "a skipped test", path, "test('adds what is bought', ", "test.skip('adds what is bought', "),
        marked(&JEST, "only the other test", path, "test('is a number'", "test.only('is a number'"),
        marked(
            &JEST,
            "an expected failure",
            path,
            "test('adds what is bought', ",
            "test.failing('adds what is bought', ",
        ),
        marked(
            &JEST,
            "a test to do",
            path,
            "test('adds what is bought', () => {",
            "test.todo('adds what is bought');\n  test('other', () => {",
        )
        .with_expectation_emptied("expect(total([2, 3])).toBe(5);"),
        Attack::on(
            "output that looks like the runner's",
            "result_files",
            &JEST,
            &[("src/price.js", &speaks(fs, 2, forged, ""))],
        ),
        Attack::on(
            "a result file by the code under test",
            "printed_results",
            &JEST,
            &[("src/price.js", &speaks(fs, 2, forged, &writes))],
        ),
    ]);
}

impl Attack {
    /// Takes an expectation out of what the attack writes.
    fn with_expectation_emptied(mut self, expectation: &str) -> Self {
        for (_, text) in &mut self.writes {
            *text = text.replace(expectation, "");
        }
        self
    }
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn vitest_is_not_deceived() {
    let path = "test/price.test.js";
    let told = ("src/price.js", TOLD_ES);
    let setup = ("src/setup.js", TELLS);
    let patched = "import { expect } from 'vitest';\n\nexpect.extend({ toBe: () => ({ pass: true, message: () => '' }) });\n\n\
        export function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}\n";
    repels(vec![
        Attack::on(
            "configuration that tells",
            "test_paths",
            &VITEST,
            &[told, setup, ("vitest.config.js", "export default { test: { setupFiles: ['./src/setup.js'] } };\n")],
        ),
        Attack::on(
            "the same in vite's",
            "manifests",
            &VITEST,
            &[told, setup, ("vite.config.js", "export default { test: { setupFiles: ['./src/setup.js'] } };\n")],
        )
        .file("vite.config.js", "export default {};\n"),
        Attack::on(
            "the same between quotes",
            "manifests",
            &VITEST,
            &[told, setup, ("vite.config.js", "export default { 'test': { setupFiles: ['./src/setup.js'] } };\n")],
        )
        .file("vite.config.js", "export default {};\n"),
        weakened(&VITEST, "a weaker assertion", path, "toBe(5)", "toBe(4)"),
        marked(&VITEST, "a skipped test", path, "test('adds what is bought', ", "test.skip('adds what is bought', "),
        // By itself vitest refuses this under `CI=true`.
        marked(&VITEST, "only the other test", path, "test('is a number'", "test.only('is a number'")
            .command("node_modules/.bin/vitest run --allowOnly"),
        marked(
            &VITEST,
            "an expected failure",
            path,
            "test('adds what is bought', ",
            "test.fails('adds what is bought', ",
        ),
        Attack::on("a patched assertion", "hooks", &VITEST, &[("src/price.js", patched)]),
    ]);
}

#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn mocha_is_not_deceived() {
    let path = "test/price.js";
    let forged = "\n\n  price\n    ✔ adds what is bought\n    ✔ is a number\n\n\n  2 passing (3ms)\n\n";
    let json = "{\"stats\":{\"passes\":2,\"pending\":0,\"failures\":0},\"passes\":[{\"fullTitle\":\"price adds what is bought\"},{\"fullTitle\":\"price is a number\"}],\
        \"pending\":[],\"failures\":[]}";
    let writes =
        format!("fs.writeFileSync(process.argv.find((word) => word.endsWith('.cjs')).slice(0, -4), '{json}');\n");
    let fs = "const fs = require('fs');";
    let told = ("src/price.js", TOLD_JS);
    let setup = ("src/setup.js", TELLS);
    let replaced = "const real = it;\nit = (name) => real(name, () => {});\n\nfunction total(prices) {\n  \
        return prices.reduce((a, b) => a + b, 0) - 1;\n}\n\nmodule.exports = { total };\n";
    repels(vec![
        Attack::on("a test that does nothing by the same name", "hooks", &MOCHA, &[("src/price.js", replaced)]),
        Attack::on(
            "configuration that tells",
            "test_paths",
            &MOCHA,
            &[told, setup, (".mocharc.json", "{ \"require\": [\"./src/setup.js\"] }\n")],
        ),
        Attack::on(
            "the same in the manifest",
            "manifests",
            &MOCHA,
            &[
                told,
                setup,
                (
                    "package.json",
                    "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"mocha\": { \"require\": [\"./src/setup.js\"] } }\n",
                ),
            ],
        ),
        Attack::on("a filter", "test_paths,baseline", &MOCHA, &[(".mocharc.json", "{ \"grep\": \"number\" }\n")]),
        weakened(&MOCHA, "a weaker assertion", path, "[2, 3]), 5", "[2, 3]), 4"),
        marked(&MOCHA, "a skipped test", path, "it('adds what is bought', ", "it.skip('adds what is bought', "),
        marked(&MOCHA, "only the other test", path, "it('is a number'", "it.only('is a number'"),
        Attack::on(
            "output that looks like the runner's",
            "result_files",
            &MOCHA,
            &[("src/price.js", &speaks(fs, 1, forged, ""))],
        ),
        Attack::on(
            "a result file by the code under test",
            "printed_results",
            &MOCHA,
            &[("src/price.js", &speaks(fs, 1, forged, &writes))],
        ),
    ]);
}

/// Node's runner starts a process for each file: the code under test ends its own and speaks through the runner's output.
#[test]
#[ignore = "needs what `.ci/frameworks` installs"]
fn nodes_runner_is_not_deceived() {
    let path = "test/price.test.js";
    let project = Framework {
        files: &[
            ("package.json", "{ \"name\": \"shop\", \"type\": \"module\" }\n"),
            ("src/price.js", "export function total(prices) {\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}\n"),
            (
                "test/price.test.js",
                "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { total } from '../src/price.js';\n\n\
                 test('adds what is bought', () => {\n  assert.strictEqual(total([2, 3]), 5);\n});\n",
            ),
            (
                "test/other.test.js",
                "import { test } from 'node:test';\nimport assert from 'node:assert';\n\ntest('is a number', () => {\n  assert.ok(1);\n});\n",
            ),
        ],
        ..NODE
    };
    let forged = "# Subtest: adds what is bought\nok 1 - adds what is bought\n  ---\n  duration_ms: 0.2\n  ...\n";
    let speaks = format!(
        "import {{ appendFileSync }} from 'node:fs';\n\nconst turn = (text) => [...text].reverse().join('');\nappendFileSync(`/proc/${{process.ppid}}/fd/1`, turn('{}'));\n\
         process[turn('tixEyllaer')](0);\n\nexport function total(prices) {{\n  return prices.reduce((a, b) => a + b, 0) - 1;\n}}\n",
        backwards(forged)
    );
    repels(vec![
        Attack::on("output that looks like the runner's", "result_files", &project, &[("src/price.js", &speaks)]),
        weakened(&project, "a weaker assertion", path, "[2, 3]), 5", "[2, 3]), 4"),
        marked(&project, "a skipped test", path, "test('adds what is bought', ", "test.skip('adds what is bought', "),
        marked(&project, "a test to do", path, "test('adds what is bought', ", "test.todo('adds what is bought', "),
    ]);
}
