//! Honest fixes that touch build files and manifests: none is refused, and a reviewer sees the line that could decide how tests are run.

use super::{Fix, kept};

const PYTHON_TEST: &str = "import unittest\nfrom shop.cart import total\n\n\nclass CartTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2, 3]), 6)\n\n    def test_type(self):\n        self.assertIsInstance(total([5]), int)\n";
const RIGHT: &str = "def total(prices):\n    return sum(prices)\n";

/// A Python package with a manifest, mended beside a change of the manifest.
fn python(name: &'static str, path: &'static str, before: &'static str, after: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("shop/__init__.py", ""),
            ("shop/cart.py", "def total(prices):\n    return sum(prices) - 1\n"),
            ("tests/__init__.py", ""),
            ("tests/test_cart.py", PYTHON_TEST),
            (path, before),
        ],
        command: "python3 -m unittest -v",
        writes: vec![("shop/cart.py", RIGHT), (path, after)],
    }
}

const SCRIPT_TEST: &str = "import test from 'node:test';\nimport assert from 'node:assert';\nimport { greet } from '../src/greet.js';\n\ntest('greets', () => {\n  assert.strictEqual(greet('Ada'), 'Hello, Ada');\n});\n\ntest('text', () => {\n  assert.strictEqual(typeof greet('x'), 'string');\n});\n";
const SCRIPT: &str = "export function greet(name) {\n  return 'Hello, ' + name;\n}\n";

fn script(name: &'static str, before: &'static str, after: &'static str) -> Fix {
    Fix {
        name,
        files: vec![
            ("src/greet.js", "export function greet(name) {\n  return 'Hello ' + name;\n}\n"),
            ("test/greet.test.js", SCRIPT_TEST),
            ("package.json", before),
        ],
        command: "npm --silent test",
        writes: vec![("src/greet.js", SCRIPT), ("package.json", after)],
    }
}

/// A program of C with a script for its test, called by make.
fn c(name: &'static str, writes: Vec<(&'static str, &'static str)>) -> Fix {
    Fix {
        name,
        files: vec![
            ("main.c", "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", 1); return 0; }\n"),
            (
                "Makefile",
                "SOURCES = main.c\n\nprog: $(SOURCES)\n\tcc -o prog $(SOURCES)\n\ntest: prog\n\tsh tests/run.sh\n",
            ),
            ("tests/run.sh", "said=$(./prog)\n[ \"$said\" = 3 ] || { echo \"said $said\"; exit 1; }\n"),
            (".gitignore", "/prog\n"),
            // Where the command itself calls make, its rules are a person's.
            ("ci.sh", "make -s test\n"),
        ],
        command: "sh ci.sh",
        writes,
    }
}

#[test]
#[ignore = "slow: `.ci/run` runs it"]
fn fixes_that_touch_manifests_and_build_files_are_kept() {
    let told = kept(&[
        python(
            "a dependency more in pyproject.toml",
            "pyproject.toml",
            "[project]\nname = \"shop\"\nversion = \"1.0\"\ndependencies = []\n",
            "[project]\nname = \"shop\"\nversion = \"1.1\"\ndependencies = [\"attrs>=22\"]\n",
        ),
        python(
            "a program of the package's own",
            "pyproject.toml",
            "[project]\nname = \"shop\"\nversion = \"1.0\"\n",
            "[project]\nname = \"shop\"\nversion = \"1.0\"\n\n[project.scripts]\nshop = \"shop.cart:main\"\n",
        ),
        python(
            "what setup.cfg requires",
            "setup.cfg",
            "[metadata]\nname = shop\n\n[options]\npackages = shop\n",
            "[metadata]\nname = shop\n\n[options]\npackages = shop\ninstall_requires =\n    attrs>=22.1\n",
        ),
        script(
            "a dependency and a description",
            "{\n  \"name\": \"greet\",\n  \"type\": \"module\",\n  \"scripts\": { \"test\": \"node --test\" }\n}\n",
            "{\n  \"name\": \"greet\",\n  \"description\": \"says hello\",\n  \"type\": \"module\",\n  \"scripts\": { \"test\": \"node --test\" },\n  \"dependencies\": {\n    \"lodash\": \"^4.17.0\"\n  }\n}\n",
        ),
        script(
            "a script for a linter",
            "{\n  \"name\": \"greet\",\n  \"type\": \"module\",\n  \"scripts\": {\n    \"test\": \"node --test\"\n  }\n}\n",
            "{\n  \"name\": \"greet\",\n  \"type\": \"module\",\n  \"scripts\": {\n    \"test\": \"node --test\",\n    \"lint\": \"eslint .\"\n  }\n}\n",
        ),
        c(
            "one more source in a Makefile",
            vec![
                ("sum.c", "int sum(int a, int b) { return a + b; }\n"),
                (
                    "main.c",
                    "#include <stdio.h>\nint sum(int, int);\nint main(void) { printf(\"%d\\n\", sum(1, 2)); return 0; }\n",
                ),
                (
                    "Makefile",
                    "SOURCES = main.c sum.c\n\nprog: $(SOURCES)\n\tcc -o prog $(SOURCES)\n\ntest: prog\n\tsh tests/run.sh\n",
                ),
            ],
        ),
        c(
            "a library in a Makefile",
            vec![
                (
                    "main.c",
                    "#include <math.h>\n#include <stdio.h>\nint main(int count, char **words) { (void)words; printf(\"%.0f\\n\", sqrt(9.0 * count)); return 0; }\n",
                ),
                (
                    "Makefile",
                    "SOURCES = main.c\n\nprog: $(SOURCES)\n\tcc -o prog $(SOURCES) -lm\n\ntest: prog\n\tsh tests/run.sh\n",
                ),
            ],
        ),
    ]);
    insta::assert_snapshot!(told);
}

#[test]
#[ignore = "compiles; run by .ci/nightly"]
fn fixes_that_touch_cargos_manifest_are_kept() {
    let manifest = "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let fix = |name: &'static str, writes: Vec<(&'static str, &'static str)>| Fix {
        name,
        files: vec![
            ("Cargo.toml", manifest),
            (".gitignore", "/target\n/Cargo.lock\n"),
            ("src/lib.rs", "pub fn total(prices: &[i64]) -> i64 {\n    prices.iter().sum::<i64>() - 1\n}\n"),
            (
                "tests/cart.rs",
                "use cart::total;\n\n#[test]\nfn adds() {\n    assert_eq!(total(&[1, 2, 3]), 6);\n}\n\n#[test]\nfn is_small() {\n    assert_ne!(total(&[5]), 500);\n}\n",
            ),
        ],
        command: "cargo test --offline",
        writes,
    };
    let right = ("src/lib.rs", "pub fn total(prices: &[i64]) -> i64 {\n    prices.iter().sum::<i64>()\n}\n");
    let told = kept(&[
        fix(
            "a program more",
            vec![
                right,
                ("src/shop.rs", "fn main() {\n    println!(\"{}\", cart::total(&[1]));\n}\n"),
                (
                    "Cargo.toml",
                    "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[[bin]]\nname = \"shop\"\npath = \"src/shop.rs\"\n\n[workspace]\n",
                ),
            ],
        ),
        fix(
            "a crate of the workspace",
            vec![
                ("sums/Cargo.toml", "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
                ("sums/src/lib.rs", "pub fn sum(all: &[i64]) -> i64 {\n    all.iter().sum()\n}\n"),
                ("src/lib.rs", "pub fn total(prices: &[i64]) -> i64 {\n    sums::sum(prices)\n}\n"),
                (
                    "Cargo.toml",
                    "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\nsums = { path = \"sums\" }\n\n[workspace]\n",
                ),
            ],
        ),
        fix(
            "a default feature",
            vec![
                (
                    "src/lib.rs",
                    "pub fn total(prices: &[i64]) -> i64 {\n    let all = prices.iter();\n    #[cfg(feature = \"log\")]\n    eprintln!(\"{}\", all.len());\n    all.sum::<i64>()\n}\n",
                ),
                (
                    "Cargo.toml",
                    "[package]\nname = \"cart\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[features]\ndefault = [\"log\"]\nlog = []\n\n[workspace]\n",
                ),
            ],
        ),
    ]);
    insta::assert_snapshot!(told);
}
