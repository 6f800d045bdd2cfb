//! What a model needs stands in its first message: it edits without having looked for anything.

use serde_json::json;

use crate::world::model_server::{ModelServer, Say};
use crate::world::program::Program;

/// A red project, and what a model has to see to mend it.
struct Case {
    name: &'static str,
    files: Vec<(&'static str, String)>,
    /// The command that runs the tests.
    command: &'static str,
    /// The file with the bug.
    source: &'static str,
    /// The function with the bug, as it is written there.
    wrong: &'static str,
    /// What a model would look for.
    name_of_it: &'static str,
}

/// Functions that have nothing to do with anything, of 3,000 characters and more together.
fn filler(language: &str, from: usize) -> String {
    let one = |n: usize| match language {
        "py" => format!(
            "def convert_{n}(value, factor={n}):\n    scaled = value * factor\n    return round(scaled / {n}.5, 2)\n\n\n"
        ),
        "js" => format!(
            "export function convert{n}(value, factor = {n}) {{\n  const scaled = value * factor;\n  return Math.round(scaled / {n}.5);\n}}\n\n"
        ),
        "cjs" => format!(
            "function convert{n}(value, factor = {n}) {{\n  const scaled = value * factor;\n  return Math.round(scaled / {n}.5);\n}}\n\n"
        ),
        "rs" => format!(
            "pub fn convert_{n}(value: i64, factor: i64) -> i64 {{\n    let scaled = value * factor;\n    scaled / {n} + {n}\n}}\n\n"
        ),
        _ => format!(
            "func Convert{n}(value int, factor int) int {{\n\tscaled := value * factor\n\treturn scaled/{n} + {n}\n}}\n\n"
        ),
    };
    (from..from + 40).map(one).collect()
}

const UNITTEST: &str = "python3 -m unittest discover -v";
const TOTAL_PY: &str = "def total(prices):\n    cents = sum(prices)\n    return cents - 1\n";

/// A test of Python that fails in its own assertion, so that no traceback names the product.
fn test_py(import: &str, call: &str) -> String {
    format!(
        "import unittest\n\n{import}\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual({call}, 6)\n"
    )
}

fn large_py(wrong: &str) -> String {
    format!("{}{wrong}\n\n{}", filler("py", 1), filler("py", 50))
}

fn in_python(name: &'static str, files: Vec<(&'static str, String)>, source: &'static str) -> Case {
    Case { name, files, command: UNITTEST, source, wrong: TOTAL_PY, name_of_it: "total" }
}

fn python() -> Vec<Case> {
    let test = || test_py("from cart import total", "total([1, 2, 3])");
    let large_test = || {
        let more =
            |n: usize| format!("    def test_convert_{n}(self):\n        self.assertIsNotNone(convert_1({n}))\n\n");
        let own = test_py("from cart import *", "total([1, 2, 3])");
        format!("{own}\n{}", (0..60).map(more).collect::<String>())
    };
    vec![
        in_python("a small file", vec![("cart.py", TOTAL_PY.to_owned()), ("test_cart.py", test())], "cart.py"),
        in_python(
            "a large file beside its test, of a name that ends like it",
            vec![("cart.py", large_py(TOTAL_PY)), ("test_cart.py", test())],
            "cart.py",
        ),
        in_python(
            "a large file in a package that passes the name on",
            vec![
                ("shop/__init__.py", "from .cart import total\n".to_owned()),
                ("shop/cart.py", large_py(TOTAL_PY)),
                ("tests/__init__.py", String::new()),
                ("tests/test_shop.py", test_py("from shop import total", "total([1, 2, 3])")),
            ],
            "shop/cart.py",
        ),
        in_python(
            "a large file under a large test",
            vec![("cart.py", large_py(TOTAL_PY)), ("test_cart.py", large_test())],
            "cart.py",
        ),
        a_method(),
        a_helper(),
    ]
}

fn a_method() -> Case {
    let method = "    def total(self):\n        cents = sum(self.prices)\n        return cents - 1\n";
    let other = |n: usize| {
        format!(
            "    def convert_{n}(self, value):\n        scaled = value * {n}\n        return round(scaled / {n}.5, 2)\n\n"
        )
    };
    let others: String = (1..50).map(other).collect();
    let class = format!(
        "class Cart:\n    def __init__(self, prices):\n        self.prices = prices\n\n{others}{method}\n{}",
        others.replace("convert", "turn")
    );
    let test = test_py("from cart import Cart", "Cart([1, 2, 3]).total()");
    let files = vec![("cart.py", class), ("test_cart.py", test)];
    Case { wrong: method, ..in_python("a method of a large class", files, "cart.py") }
}

fn a_helper() -> Case {
    let helper = "def less(cents):\n    whole = cents\n    return whole - 1\n";
    let calls = "from shop.rounding import less\n\n\ndef total(prices):\n    return less(sum(prices))\n";
    let files = vec![
        ("shop/__init__.py", String::new()),
        ("shop/cart.py", format!("{calls}\n\n{}", filler("py", 1))),
        ("shop/rounding.py", format!("{}{helper}", filler("py", 1))),
        ("tests/__init__.py", String::new()),
        ("tests/test_shop.py", test_py("from shop.cart import total", "total([1, 2, 3])")),
    ];
    Case { wrong: helper, name_of_it: "less", ..in_python("a helper in another large file", files, "shop/rounding.py") }
}

fn javascript() -> Vec<Case> {
    let total =
        "function total(prices) {\n  const cents = prices.reduce((a, b) => a + b, 0);\n  return cents - 1;\n}\n";
    let exported =
        "export function total(prices) {\n  const cents = prices.reduce((a, b) => a + b, 0);\n  return cents - 1;\n}\n";
    let body = "test('adds up', () => {\n  assert.strictEqual(total([1, 2, 3]), 6);\n});\n";
    vec![
        Case {
            name: "a large module of JavaScript",
            files: vec![
                ("package.json", "{ \"type\": \"module\" }\n".to_owned()),
                ("src/cart.js", format!("{}{exported}\n{}", filler("js", 1), filler("js", 50))),
                (
                    "test/cart.test.js",
                    format!(
                        "import test from 'node:test';\nimport assert from 'node:assert';\nimport {{ total }} from '../src/cart.js';\n\n{body}"
                    ),
                ),
            ],
            command: "node --test",
            source: "src/cart.js",
            wrong: exported,
            name_of_it: "total",
        },
        Case {
            name: "a large module that is required",
            files: vec![
                ("package.json", "{ \"name\": \"shop\" }\n".to_owned()),
                (
                    "lib/cart.js",
                    format!("{}{total}\n{}module.exports = {{ total }};\n", filler("cjs", 1), filler("cjs", 50)),
                ),
                (
                    "test/cart.test.js",
                    format!(
                        "const test = require('node:test');\nconst assert = require('node:assert');\nconst {{ total }} = require('../lib/cart');\n\n{body}"
                    ),
                ),
            ],
            command: "node --test",
            source: "lib/cart.js",
            wrong: total,
            name_of_it: "total",
        },
        typescript(),
    ]
}

/// The machine that runs this need not have vitest: what it would print is printed.
fn typescript() -> Case {
    let wrong = "export function total(prices: number[]): number {\n  const cents = prices.reduce((a, b) => a + b, 0);\n  return cents - 1;\n}\n";
    let log = " RUN  v1.6.0 /w\n\n \u{276f} test/cart.test.ts  (1 test | 1 failed) 4ms\n   \u{276f} test/cart.test.ts > adds up\n     \u{2192} expected 5 to be 6\n\n\
               \u{23af}\u{23af} Failed Tests 1 \u{23af}\u{23af}\n\n FAIL  test/cart.test.ts > adds up\nAssertionError: expected 5 to be 6 // Object.is equality\n\n- Expected\n+ Received\n\n- 6\n+ 5\n\n \
               \u{276f} test/cart.test.ts:5:29\n      3| \n      4| test('adds up', () => {\n      5|   expect(total([1, 2, 3])).toBe(6);\n       |                             ^\n\n\
               Test Files  1 failed (1)\n     Tests  1 failed (1)\n";
    Case {
        name: "a large module of TypeScript",
        files: vec![
            ("package.json", "{ \"name\": \"shop\", \"devDependencies\": { \"vitest\": \"1.6.0\" } }\n".to_owned()),
            ("src/cart.ts", format!("{}{wrong}\n{}", filler("js", 1), filler("js", 50))),
            (
                "test/cart.test.ts",
                "import { expect, test } from 'vitest';\nimport { total } from '../src/cart';\n\ntest('adds up', () => {\n  expect(total([1, 2, 3])).toBe(6);\n});\n".to_owned(),
            ),
            ("printed.log", log.to_owned()),
            ("run.sh", "cat printed.log\nexit 1\n".to_owned()),
        ],
        command: "sh run.sh",
        source: "src/cart.ts",
        wrong,
        name_of_it: "total",
    }
}

fn rust() -> Vec<Case> {
    let wrong = "pub fn total(prices: &[i64]) -> i64 {\n    let cents: i64 = prices.iter().sum();\n    cents - 1\n}\n";
    let manifest = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let inline = "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(total(&[1, 2, 3]), 6);\n    }\n}\n";
    let case =
        |name, files, source| Case { name, files, command: "cargo test --offline", source, wrong, name_of_it: "total" };
    vec![
        case(
            "a large module that a crate passes on",
            vec![
                ("Cargo.toml", manifest.to_owned()),
                ("src/lib.rs", "mod cart;\npub use cart::total;\n".to_owned()),
                ("src/cart.rs", format!("#![allow(dead_code)]\n\n{}{wrong}\n{}", filler("rs", 1), filler("rs", 50))),
                ("tests/adds.rs", "#[test]\nfn adds() {\n    assert_eq!(shop::total(&[1, 2, 3]), 6);\n}\n".to_owned()),
                (".gitignore", "/target\n/Cargo.lock\n".to_owned()),
            ],
            "src/cart.rs",
        ),
        case(
            "tests inside of a large file",
            vec![
                ("Cargo.toml", manifest.to_owned()),
                ("src/lib.rs", format!("{wrong}\n{}{}{inline}", filler("rs", 1), filler("rs", 50))),
                (".gitignore", "/target\n/Cargo.lock\n".to_owned()),
            ],
            "src/lib.rs",
        ),
    ]
}

/// The machine that runs this need not have Go: what it would print is printed.
fn go() -> Case {
    let wrong = "func Total(prices []int) int {\n\tcents := 0\n\tfor _, price := range prices {\n\t\tcents += price\n\t}\n\treturn cents - 1\n}\n";
    Case {
        name: "a large file of a Go package",
        files: vec![
            ("go.mod", "module example.test/shop\n\ngo 1.22\n".to_owned()),
            ("cart/cart.go", format!("package cart\n\n{}{wrong}\n{}", filler("go", 1), filler("go", 50))),
            (
                "cart/cart_test.go",
                "package cart\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif got := Total([]int{1, 2, 3}); got != 6 {\n\t\tt.Fatalf(\"got %d, want 6\", got)\n\t}\n}\n".to_owned(),
            ),
            (
                "printed.log",
                "--- FAIL: TestTotal (0.00s)\n    cart_test.go:7: got 5, want 6\nFAIL\nFAIL\texample.test/shop/cart\t0.002s\nFAIL\n".to_owned(),
            ),
            ("run.sh", "cat printed.log\nexit 1\n".to_owned()),
        ],
        command: "sh run.sh",
        source: "cart/cart.go",
        wrong,
        name_of_it: "Total",
    }
}

fn cases() -> Vec<Case> {
    let mut cases = python();
    cases.extend(javascript());
    cases.extend(rust());
    cases.push(go());
    cases
}

/// How many turns a model spends on looking before it edits: none where the whole function stands in what it is sent.
fn turns_of_looking(case: &Case) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("project");
    for (path, text) in &case.files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("written");
    }
    let (source, wrong, name) = (case.source, case.wrong, case.name_of_it);
    let right = wrong.replace(" - 1", "");
    let server = ModelServer::start(move |request| {
        let sent = request.last_user_text();
        let is_seen = sent.contains(wrong.trim_end()) && sent.contains(source);
        let call = match request.turn() {
            0 if is_seen => Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right })),
            0 => Say::call("search", json!({ "pattern": name })),
            1 if request.tool_results().iter().any(|result| !result.content.starts_with("edited")) => {
                Say::call("read_file", json!({ "path": source }))
            }
            2 if request.tool_results().iter().any(|result| result.content.contains('\t')) => {
                Say::call("edit_file", json!({ "path": source, "old_text": wrong, "new_text": right }))
            }
            _ => Say::call("final_report", json!({ "summary": "mended", "status": "done" })),
        };
        call.usage(900, 40).into()
    });
    let arguments = ["run", "--no-audit", "--tiers", "claude-haiku-4-5 x1", "--test-command", case.command];
    let said = Program::with_anthropic(&server.url()).without_court().run(&root, &arguments);
    let requests = server.requests();
    let edited = requests
        .iter()
        .position(|request| request.tool_results().iter().any(|result| result.content.starts_with("edited")));
    let edited = edited.unwrap_or_else(|| panic!("{}: nothing was edited\n{}", case.name, said.all()));
    server.finish();
    edited - 1
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn b10_what_a_model_would_look_for_stands_in_its_first_message() {
    let turns: Vec<(&str, usize)> = cases().iter().map(|case| (case.name, turns_of_looking(case))).collect();
    let at_once = turns.iter().filter(|(_, turns)| *turns == 0).count();
    // It was one of them, the small file, when a long file was shown around named lines alone: the others took two turns each.
    assert_eq!((at_once, turns.len()), (12, 12), "{turns:?}");
}

#[test]
fn a_module_that_is_not_installed_is_no_matter_for_a_stronger_model() {
    let project = crate::world::project::Project::python();
    let test = project.read("tests/test_cart.py");
    project.write("tests/test_cart.py", &format!("import a_package_of_nobody\n{test}"));
    project.commit();
    let server = ModelServer::start(|_| {
        Say::call("final_report", json!({ "summary": "", "status": "done" })).usage(9, 9).into()
    });
    let program = Program::with_anthropic(&server.url()).without_court();
    let args = ["run", "--tiers", "claude-haiku-4-5 x1", "--test-command", project.test_command];
    let said = program.run(project.path(), &args);
    assert_eq!(said.code, 1, "{}", said.all());
    let next = said.out.split("  Next:\n").nth(1).expect("a next step");
    assert!(next.trim_start().starts_with("- A module could not be imported at the start."), "{next}");
    assert!(next.contains("test.setupCommand"), "{next}");
    server.finish();
}
